/**
 * `vectors check` (reading 18.5): judges an implementation by the vectors, any command or this program in process.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Environment } from "../platform/Environment.ts"
import type { Processes } from "../platform/Processes.ts"
import * as Adapter from "./Adapter.ts"
import { type Answer, compare } from "./Compare.ts"
import type { Registry } from "./Domain.ts"
import { domains, ready } from "./Domains.ts"
import { evalLine } from "./Eval.ts"
import * as VectorFile from "./VectorFile.ts"

/** @since 0.1.0 @category models */
export interface CheckOptions {
  /** Where the vector files lie. */
  readonly directory: string
  /** Run through `sh -c`; absent = this program, in process. */
  readonly adapter?: string
  /** Only these; empty or absent = all. */
  readonly domains?: ReadonlyArray<string>
  /** Only cases with one of these; empty or absent = all. */
  readonly tags?: ReadonlyArray<string>
  /** Limit of a case; default 10,000. */
  readonly timeout_ms?: number
  /** What answers in process; default all domains of this program. */
  readonly registry?: Registry
}

/** `id` null = the adapter itself failed, behind the last case. `path` is where they differ. @since 0.1.0 @category models */
export interface CaseFailure {
  readonly domain: string
  readonly id: string | null
  readonly kind: "mismatch" | Adapter.Fault["kind"]
  readonly path: string | null
  readonly expected: unknown
  readonly got: unknown
  readonly message: string
}

/** @since 0.1.0 @category models */
export interface DomainReport {
  readonly domain: string
  readonly file: string
  readonly version: string
  readonly cases: number
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly time_ms: number
}

/** `exit_code`: 0 = all passed or skipped, 1 = any failure. @since 0.1.0 @category models */
export interface Report {
  readonly adapter: string | null
  readonly domains: ReadonlyArray<DomainReport>
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly failures: ReadonlyArray<CaseFailure>
  readonly exit_code: 0 | 1
}

const requestOf = (domain: string, vector: VectorFile.VectorCase): Adapter.Request => ({
  id: `${domain}/${vector.id}`,
  line: JSON.stringify({ domain, id: `${domain}/${vector.id}`, input: vector.input })
})

/** Asks this program, through the same lines that another one would get. */
const driveOwn = (
  registry: Registry,
  requests: ReadonlyArray<Adapter.Request>,
  timeout_ms: number
): Effect.Effect<Adapter.AdapterResult> =>
  Effect.map(
    Effect.forEach(requests, ({ id, line }) =>
      Effect.gen(function*() {
        const start = yield* Clock.currentTimeMillis
        const answer = JSON.parse(evalLine(line, registry)) as Answer
        const took = (yield* Clock.currentTimeMillis) - start
        const verdict: Answer | Adapter.Fault = took > timeout_ms
          ? { kind: "timeout", message: `took ${took} ms, the limit is ${timeout_ms} ms` }
          : answer
        return [id, verdict] as const
      })),
    (verdicts) => ({ verdicts: new Map(verdicts), ending: null })
  )

const faultOf = (domain: string, id: string | null, expected: unknown, fault: Adapter.Fault): CaseFailure => ({
  domain,
  id,
  kind: fault.kind,
  path: null,
  expected,
  got: fault.got ?? null,
  message: fault.message
})

const judge = (
  domain: string,
  vector: VectorFile.VectorCase,
  verdict: Answer | Adapter.Fault | undefined
): CaseFailure | "passed" | "skipped" => {
  if (verdict === undefined || "kind" in verdict) {
    return faultOf(domain, vector.id, vector.expected, verdict ?? { kind: "crash", message: "no answer" })
  }
  const found = compare(vector, verdict)
  if (found === null) return "passed"
  if ("error" in verdict && verdict.error.code === "unsupported") return "skipped"
  return { domain, id: vector.id, kind: "mismatch", ...found, message: `differs at ${found.path}` }
}

const select = (
  all: ReadonlyArray<VectorFile.Vectors>,
  options: CheckOptions
): Effect.Effect<ReadonlyArray<VectorFile.Vectors>, VectorFile.CheckError> => {
  for (const domain of options.domains ?? []) {
    if (!all.some((vectors) => vectors.domain === domain)) {
      const known = all.map((vectors) => vectors.domain).join(", ")
      return new VectorFile.CheckError({
        reason: "unknown_domain",
        message: `there are no vectors for the domain ${JSON.stringify(domain)}; there are some for ${known}`
      })
    }
  }
  const wanted = options.domains === undefined || options.domains.length === 0
    ? all
    : all.filter(({ domain }) => options.domains?.includes(domain))
  for (const tag of options.tags ?? []) {
    if (!wanted.some(({ cases }) => cases.some(({ tags }) => tags.includes(tag)))) {
      const known = [...new Set(wanted.flatMap(({ cases }) => cases.flatMap(({ tags }) => tags)))].sort().join(", ")
      return new VectorFile.CheckError({
        reason: "unknown_tag",
        message: `no case has the tag ${JSON.stringify(tag)}; there are ${known}`
      })
    }
  }
  const tags = options.tags ?? []
  return Effect.succeed(
    tags.length === 0 ? wanted : wanted.map((vectors) => ({
      ...vectors,
      cases: vectors.cases.filter((vector) => vector.tags.some((tag) => tags.includes(tag)))
    })).filter(({ cases }) => cases.length > 0)
  )
}

/**
 * Runs the selected cases and reports. Fails with {@link VectorFile.CheckError} (exit code 2) when there is nothing to
 * run or the command cannot be started; a failing case is no error here.
 *
 * @since 0.1.0
 * @category combinators
 */
export const check = (
  options: CheckOptions
): Effect.Effect<Report, VectorFile.CheckError, FileSystem.FileSystem | Processes | Environment> =>
  Effect.gen(function*() {
    const selected = yield* select(yield* VectorFile.load(options.directory), options)
    const timeout_ms = options.timeout_ms ?? 10_000
    const failures: Array<CaseFailure> = []
    const reports: Array<DomainReport> = []
    for (const { cases, domain, file, version } of selected) {
      const requests = cases.map((vector) => requestOf(domain, vector))
      const start = yield* Clock.currentTimeMillis
      const { ending, verdicts } = yield* options.adapter === undefined
        ? Effect.zipRight(ready, driveOwn(options.registry ?? domains, requests, timeout_ms))
        : Adapter.drive(options.adapter, requests, timeout_ms)
      const time_ms = (yield* Clock.currentTimeMillis) - start
      const judged = cases.map((vector) => judge(domain, vector, verdicts.get(`${domain}/${vector.id}`)))
      failures.push(...judged.filter((one) => typeof one !== "string"))
      if (ending !== null) failures.push(faultOf(domain, null, null, ending))
      reports.push({
        domain,
        file,
        version,
        cases: cases.length,
        passed: judged.filter((one) => one === "passed").length,
        failed: judged.filter((one) => typeof one !== "string").length,
        skipped: judged.filter((one) => one === "skipped").length,
        time_ms
      })
    }
    const sum = (key: "passed" | "failed" | "skipped") => reports.reduce((total, report) => total + report[key], 0)
    return {
      adapter: options.adapter ?? null,
      domains: reports,
      passed: sum("passed"),
      failed: sum("failed"),
      skipped: sum("skipped"),
      failures,
      exit_code: failures.length === 0 ? 0 : 1
    }
  })
