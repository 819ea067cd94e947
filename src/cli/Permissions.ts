/**
 * `hanzo-dev permissions explain|list|audit`: what the rules say about a call, which rules there are, what was decided.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { line } from "../codec/TerminalText.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Workspace } from "../domain/Workspace.ts"
import { PermissionAudit } from "../permissions/Audit.ts"
import type { AuditRecord } from "../permissions/AuditRecord.ts"
import type { StepRecord } from "../permissions/Steps.ts"
import * as Explain from "../permissions/Explain.ts"
import type { PolicyOptions } from "../permissions/Policy.ts"
import { fromConfig } from "../permissions/Rules.ts"
import { analyse, pathSubject, type ShellSource } from "../permissions/Shell.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Files } from "../platform/Files.ts"
import { ShellGrammar } from "../platform/ShellGrammar.ts"
import { Terminal } from "../platform/Terminal.ts"
import { type CliExit, failed, usage } from "./Exit.ts"
import { anyConfig, columns, print, printJson } from "./Output.ts"
import type { PermissionsAudit } from "./Schemas.ts"
import type * as Spec from "./Spec.ts"

/** Tools whose subject is a path (reading 7.5). */
const fileTools: ReadonlySet<string> = new Set(["read", "write", "edit", "apply_patch", "glob", "grep", "lsp"])

/** Where paths lead, links followed, as the tools see it; null = a path that cannot be followed. */
const canonicalSubject = Effect.gen(function*() {
  const { cwd, root } = yield* Workspace
  const files = yield* Files
  return (path: string): Effect.Effect<string | null> =>
    Effect.match(files.canonical(path.startsWith("/") ? path : `${cwd}/${path}`), {
      onFailure: () => null,
      onSuccess: (canonical) => pathSubject(canonical.path, root)
    })
})

const subjectOf = (tool: string, subject: string) =>
  Effect.gen(function*() {
    if (!fileTools.has(tool)) return subject
    const { home } = yield* Dirs
    const canonical = yield* canonicalSubject
    const found = yield* canonical(subject === "~" || subject.startsWith("~/") ? home + subject.slice(1) : subject)
    return found ?? (yield* failed(`${line(subject, 500)} cannot be followed to a file`))
  })

const redirections = (subject: string, shell: ShellSource) =>
  Effect.gen(function*() {
    const canonical = yield* canonicalSubject
    const paths = new Set(analyse(subject, shell).writes.flatMap(({ path }) => path === null ? [] : [path]))
    const found = yield* Effect.forEach(paths, (path) => Effect.map(canonical(path), (to) => [path, to] as const))
    const known = new Map(found)
    return { shell, resolve: (path) => known.get(path) ?? null } satisfies PolicyOptions
  })

/** Nothing runs and nobody is asked; with broken settings too (reading 4.6), which the exit code says. @since 0.1.0 @category combinators */
export const explain = Effect.fn("Cli.permissions.explain")(
  function*(values: Spec.Values<typeof Spec.permissionsExplain>) {
    const config = yield* anyConfig
    const { cwd, root } = yield* Workspace
    const grammar = yield* ShellGrammar
    const [tool = "", given] = values.args
    const subject = given === undefined ? undefined : yield* subjectOf(tool, given)
    const reading: PolicyOptions = tool === "bash" && subject !== undefined
      ? yield* Effect.flatMap(
        Effect.catchAll(grammar.parser, (error) => Effect.succeed<ShellSource>({ missing: error.message })),
        (shell) => redirections(subject, shell)
      )
      : {}
    const explanation = Explain.explain(fromConfig(config), tool, subject, {
      root,
      cwd,
      ...reading
    })
    yield* values.json ? printJson(explanation) : print(Explain.explainText(explanation))
    return config.errors.length > 0 ? ExitCode.usage : ExitCode.done
  }
)

/** @since 0.1.0 @category combinators */
export const list = Effect.fn("Cli.permissions.list")(function*(values: Spec.Values<typeof Spec.permissionsList>) {
  const config = yield* anyConfig
  const listing = Explain.list(fromConfig(config))
  yield* values.json ? printJson(listing) : print(Explain.listText(listing))
  return config.errors.length > 0 ? ExitCode.usage : ExitCode.done
})

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** `2h` before `now`, or a date; milliseconds since the epoch, null when it is neither. @since 0.1.0 @category decoding */
export const sinceOf = (text: string, now: number): number | null => {
  const ago = /^(\d{1,9})([smhdw])$/.exec(text.trim())
  if (ago !== null) return now - Number(ago[1]) * (units[ago[2] ?? ""] ?? 0)
  const date = /^\d{4}-\d{2}-\d{2}/.test(text.trim()) ? Date.parse(text.trim()) : Number.NaN
  return Number.isNaN(date) ? null : date
}

const since = (text: string): Effect.Effect<number, CliExit> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const found = sinceOf(text, now)
    return found === null
      ? usage(`--since: ${line(text, 40)} is no time`, "write 30m, 12h, 7d, or a date such as 2026-11-29")
      : Effect.succeed(found)
  })

/** `sandbox allowed (workspace, bubblewrap)`, `run ok (12 ms)`. */
const stepText = (step: StepRecord): string => {
  switch (step.step) {
    case "hook": {
      const which = step.hook === null ? "" : ` ${step.hook}`
      const took = step.duration_ms === null ? "" : ` (${step.duration_ms} ms)`
      return `${step.event === "pre_tool_use" ? "pre hook" : "post hook"}${which} ${step.decision}${took}`
    }
    case "sandbox": {
      const rule = step.rule === null ? "" : `, rule ${line(step.rule, 60)}`
      const mode = step.sandbox_mode === null || step.sandbox_mode === step.enforcement ? "" : `${step.sandbox_mode}, `
      return `sandbox ${step.decision} (${mode}${step.enforcement}${rule})`
    }
    case "run":
      return `run ${step.outcome} (${step.duration_ms} ms)`
  }
}

const callOf = ({ call_id, session_id }: { readonly call_id: string; readonly session_id: string }): string =>
  JSON.stringify([session_id, call_id])

/** One row an evaluation; below the last of a call what became of it, in one line. @since 0.1.0 @category encoding */
export const auditText = (records: ReadonlyArray<AuditRecord>, steps: ReadonlyArray<StepRecord>): string => {
  const byCall = new Map<string, Array<StepRecord>>()
  for (const step of steps) {
    const same = byCall.get(callOf(step))
    if (same === undefined) byCall.set(callOf(step), [step])
    else same.push(step)
  }
  const last = new Map(records.map((record, index) => [callOf(record), index]))
  // Evaluations that are older than what was asked for, or than the record.
  const orphans = [...byCall.entries()].filter(([call]) => !last.has(call))
  const when = (timestamp: string): string => timestamp.slice(0, 19).replace("T", " ")
  const rows = [
    ...orphans.map(([, own]) => {
      const [first] = own
      return first === undefined
        ? []
        : [when(first.timestamp), "-", line(first.tool_name, 80), "-", "-", line(first.session_id, 60), ""]
    }),
    ...records.map((each) => [
      when(each.timestamp),
      each.mode,
      line(each.tool_name, 80),
      line(each.decided_by, 60),
      each.rule_matched === null
        ? "-"
        : line(each.tier === null ? each.rule_matched : `${each.rule_matched} (${each.tier})`, 120),
      line(each.session_id, 60),
      line(each.reason ?? "", 160)
    ])
  ]
  const below = [
    ...orphans.map(([call]) => call),
    ...records.map((record, index) => last.get(callOf(record)) === index ? callOf(record) : "")
  ]
  return columns(rows).split("\n").map((row, index) => {
    const own = byCall.get(below[index] ?? "")
    return own === undefined ? row : `${row}\n    ${own.map(stepText).join(" > ")}`
  }).join("\n")
}

/** @since 0.1.0 @category combinators */
export const audit = Effect.fn("Cli.permissions.audit")(function*(values: Spec.Values<typeof Spec.permissionsAudit>) {
  const record = yield* PermissionAudit
  const terminal = yield* Terminal
  const content = yield* Effect.mapError(
    record.read({
      ...(values.tool === undefined ? {} : { tool: values.tool }),
      ...(values.since === undefined ? {} : { since: yield* since(values.since) })
    }),
    (error) => failed(error.message)
  )
  const ofSession = ({ session_id }: { readonly session_id: string }): boolean =>
    session_id.startsWith(values.session ?? "")
  const records = content.records.filter(ofSession)
  const steps = content.steps.filter(ofSession)
  if (values.json) {
    yield* printJson({ v: 1, file: record.file, records, steps, broken: content.broken } satisfies PermissionsAudit)
    return ExitCode.done
  }
  if (content.broken > 0) {
    yield* terminal.err(`${content.broken} lines of ${line(record.file, 500)} cannot be read and are left out\n`)
  }
  if (records.length === 0 && steps.length === 0) {
    yield* terminal.err(`nothing is recorded in ${line(record.file, 500)} for that\n`)
  }
  yield* print(auditText(records, steps))
  return ExitCode.done
})
