import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { join } from "node:path"
import { Environment } from "../../src/platform/Environment.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { type CaseFailure, check, type CheckOptions } from "../../src/vectors/Check.ts"
import * as Report from "../../src/vectors/Report.ts"
import { eventually } from "../support/processes.ts"

const layer = Layer.mergeAll(NodeFileSystem.layer, Processes.layer, Environment.layer)
const faulty = (...args: ReadonlyArray<string>) =>
  ["exec python3", join(import.meta.dirname, "..", "support", "adapters", "faulty.py"), ...args].map((word, i) =>
    i === 0 ? word : `'${word}'`
  ).join(" ")

const cases = ["one", "two", "three", "four", "five"].map((id, i) => ({
  id,
  description: id,
  tags: i === 4 ? ["ext"] : ["reading"],
  input: { base_ms: 2 ** i, max_ms: 100, attempts: 1 },
  expected: { output: { ceilings_ms: [2 ** i] } }
}))

const vectors = (
  files: Readonly<Record<string, unknown>> = {
    "backoff-timing.json": { spec: "HIP-301", version: "1.2.3", cases }
  }
) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const directory = yield* fs.makeTempDirectoryScoped()
    for (const [file, content] of Object.entries(files)) {
      yield* fs.writeFileString(join(directory, file), typeof content === "string" ? content : JSON.stringify(content))
    }
    return directory
  })

const checked = (options: Omit<CheckOptions, "directory">) =>
  Effect.flatMap(vectors(), (directory) => check({ timeout_ms: 20_000, ...options, directory }))

const brief = (failures: ReadonlyArray<CaseFailure>) => failures.map(({ id, kind }) => [id, kind])
const live = <A, E>(
  name: string,
  effect: Effect.Effect<A, E, Scope.Scope | Layer.Layer.Success<typeof layer>>
) => it.scopedLive(name, () => effect.pipe(Effect.provide(layer)))

describe.concurrent("check", () => {
  live(
    "18.5: in process: passed, counted, exit 0",
    Effect.gen(function*() {
      const report = yield* checked({})
      assert.deepStrictEqual(report.failures, [])
      assert.deepStrictEqual([report.passed, report.failed, report.skipped, report.exit_code], [5, 0, 0, 0])
      const [domain] = report.domains
      assert.deepStrictEqual([domain?.domain, domain?.file, domain?.version, domain?.cases], [
        "backoff",
        "backoff-timing.json",
        "1.2.3",
        5
      ])
    })
  )

  live(
    "18.4: a domain without an answer is skipped, in process and by an adapter",
    Effect.gen(function*() {
      const directory = yield* vectors({
        "backoff-timing.json": { spec: "HIP-301", version: "1.0.0", cases },
        "oauth-pkce.json": { spec: "HIP-301", version: "1.0.0", cases }
      })
      const own = yield* check({ directory, registry: new Map([["backoff", () => ({ output: {} })]]) })
      assert.deepStrictEqual([own.passed, own.failed, own.skipped, own.exit_code], [0, 5, 5, 1])
      const other = yield* check({ directory, adapter: faulty("ok"), domains: ["pkce"] })
      assert.deepStrictEqual([other.passed, other.failed, other.skipped, other.exit_code], [0, 0, 5, 0])
      const one = yield* check({ directory, adapter: faulty("unsupported", "backoff/two"), domains: ["backoff"] })
      assert.deepStrictEqual([one.passed, one.failed, one.skipped, one.exit_code], [4, 0, 1, 0])
    })
  )

  live(
    "18.5: filters by domain and tag; one that selects nothing is a usage error",
    Effect.gen(function*() {
      assert.strictEqual((yield* checked({ tags: ["ext"] })).passed, 1)
      assert.strictEqual((yield* checked({ tags: ["ext", "reading"], domains: ["backoff"] })).passed, 5)
      const tag = yield* Effect.flip(checked({ tags: ["nope"] }))
      assert.strictEqual(tag._tag === "CheckError" ? tag.reason : tag._tag, "unknown_tag")
      const domain = yield* Effect.flip(checked({ domains: ["sse"] }))
      assert.strictEqual(domain._tag === "CheckError" ? domain.reason : domain._tag, "unknown_domain")
    })
  )

  live(
    "18.1: a file that is none is said with its name and place",
    Effect.gen(function*() {
      const reasonOf = (files: Readonly<Record<string, unknown>>) =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(check({ directory: yield* vectors(files) }))
          return error._tag === "CheckError" ? `${error.reason} ${error.message}` : error._tag
        })
      assert.match(yield* reasonOf({}), /^no_vectors .*sse-frames\.json/)
      assert.match(yield* reasonOf({ "sse-frames.json": "{" }), /^bad_vectors .*sse-frames\.json/)
      assert.match(
        yield* reasonOf({ "sse-frames.json": { spec: "HIP-301", version: "1", cases: [{ id: "a" }] } }),
        /cases/
      )
      assert.match(
        yield* reasonOf({ "sse-frames.json": { spec: "HIP-301", version: "1", cases: [cases[0], cases[0]] } }),
        /"one" stands twice/
      )
    })
  )

  live(
    "18.3, 18.5: a wrong answer is a failure with path, expected and got; more keys are free",
    Effect.gen(function*() {
      const report = yield* checked({ adapter: faulty("wrong", "backoff/three") })
      assert.deepStrictEqual([report.passed, report.failed, report.exit_code], [4, 1, 1])
      assert.deepStrictEqual(report.failures, [{
        domain: "backoff",
        id: "three",
        kind: "mismatch",
        path: "output.ceilings_ms.0",
        expected: 4,
        got: 1,
        message: "differs at output.ceilings_ms.0"
      }])
      assert.strictEqual((yield* checked({ adapter: faulty("extra", "backoff/three") })).exit_code, 0)
    })
  )

  live(
    "18.4: answers may come in any order, late, or all at the end",
    Effect.gen(function*() {
      for (const mode of ["ok", "reverse", "buffered"]) {
        const report = yield* checked({ adapter: faulty(mode) })
        assert.deepStrictEqual([report.passed, report.failures], [5, []], mode)
      }
    })
  )

  live(
    "18.5: a crash fails that case alone, whatever was lost with it",
    Effect.gen(function*() {
      for (const mode of ["crash", "crash-buffered"]) {
        for (const id of ["one", "three", "five"]) {
          const report = yield* checked({ adapter: faulty(mode, `backoff/${id}`) })
          assert.deepStrictEqual(brief(report.failures), [[id, "crash"]], mode)
          assert.strictEqual(report.passed, 4)
          if (mode === "crash") assert.include(report.failures[0]?.message, "SIGKILL")
          if (mode === "crash") assert.include(report.failures[0]?.message, "out of luck")
        }
      }
    })
  )

  live(
    "18.5: a case over its limit fails alone, and its process is gone",
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const pidFile = join(yield* fs.makeTempDirectoryScoped(), "pid")
      const report = yield* checked({ adapter: faulty("hang", "backoff/two", pidFile), timeout_ms: 3000 })
      assert.deepStrictEqual(brief(report.failures), [["two", "timeout"]])
      assert.strictEqual(report.passed, 4)
      const pid = Number(yield* fs.readFileString(pidFile))
      const gone = yield* eventually(() => {
        try {
          process.kill(pid, 0)
          return false
        } catch {
          return true
        }
      })
      assert.isTrue(gone)
    })
  )

  live(
    "18.5: a case that is never answered fails alone",
    Effect.gen(function*() {
      const report = yield* checked({ adapter: faulty("silent", "backoff/two") })
      assert.deepStrictEqual(brief(report.failures), [["two", "crash"]])
    })
  )

  live(
    "18.5: what is no answer is a protocol_error",
    Effect.gen(function*() {
      for (const mode of ["garbage", "latin1", "twice", "stranger", "both", "no-code", "array"]) {
        const report = yield* checked({ adapter: faulty(mode, "backoff/three") })
        assert.deepStrictEqual(brief(report.failures), [["three", "protocol_error"]], mode)
        assert.strictEqual(report.passed, 4, mode)
        const text = Report.toText(report)
        assert.notInclude(text, "\u001b")
        if (mode === "garbage") assert.include(text, "oh no")
      }
      const banner = yield* checked({ adapter: faulty("banner") })
      assert.deepStrictEqual(brief(banner.failures), cases.map(({ id }) => [id, "protocol_error"]))
    })
  )

  live(
    "18.4: an adapter that answers all but ends badly has failed",
    Effect.gen(function*() {
      for (const mode of ["exit3", "afterthought", "linger"]) {
        const report = yield* checked({ adapter: faulty(mode) })
        assert.deepStrictEqual(brief(report.failures), [[null, "protocol_error"]], mode)
        assert.deepStrictEqual([report.passed, report.failed, report.exit_code], [5, 0, 1], mode)
      }
    })
  )

  live(
    "18.5: an adapter that reads nothing fails every case; one that cannot start is a usage error",
    Effect.gen(function*() {
      const deaf = yield* checked({ adapter: faulty("deaf") })
      assert.deepStrictEqual(brief(deaf.failures), cases.map(({ id }) => [id, "crash"]))
      const error = yield* Effect.flip(checked({ adapter: "/no/such/adapter --flag" }))
      assert.strictEqual(error._tag === "CheckError" ? error.reason : error._tag, "adapter")
      assert.include(error.message, "/no/such/adapter")
    })
  )

  live(
    "18.5: the table and the JSON",
    Effect.gen(function*() {
      const report = yield* checked({ adapter: faulty("wrong", "backoff/three") })
      const text = Report.toText({
        ...report,
        domains: report.domains.map((domain) => ({ ...domain, time_ms: 12 }))
      })
      assert.strictEqual(
        text,
        [
          "domain   cases  passed  failed  skipped   time",
          "backoff      5       4       1        0  12 ms",
          "all          5       4       1        0  12 ms",
          "",
          "FAIL backoff/three",
          "  path      output.ceilings_ms.0",
          "  expected  4",
          "  got       1",
          ""
        ].join("\n")
      )
      assert.deepStrictEqual(JSON.parse(Report.toJson(report)), JSON.parse(JSON.stringify(report)))
      assert.isTrue(Report.toJson(report).endsWith("}\n"))
    })
  )
})
