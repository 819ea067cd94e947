/**
 * The record of every evaluation (reading 7.8): one JSON line each in `<state>/audit/permissions.jsonl`. It names the tool,
 * the rule and who decided, never what the tool was given. The further steps of a call that was let through follow as lines
 * of their own.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Layers from "../domain/Layers.ts"
import { fnmatchcase } from "../codec/Fnmatch.ts"
import { AppendLog } from "../platform/AppendLog.ts"
import { Dirs } from "../platform/Dirs.ts"
import { FileError } from "../platform/FileError.ts"
import type { AuditRecord } from "./AuditRecord.ts"
import type { CallStep, StepCall, StepRecord } from "./Steps.ts"

/** What is recorded of an evaluation, but for its time. @since 0.1.0 @category models */
export type AuditEntry = Omit<AuditRecord, "timestamp" | "step">

/** @since 0.1.0 @category models */
export interface AuditFilter {
  readonly session_id?: string
  /** A glob over the tool's name. */
  readonly tool?: string
  /** Milliseconds since the epoch. */
  readonly since?: number
}

/** @since 0.1.0 @category models */
export interface AuditContent {
  /** The oldest first. */
  readonly records: ReadonlyArray<AuditRecord>
  /** In the order of the file; those of one call in the order in which they happened. */
  readonly steps: ReadonlyArray<StepRecord>
  /** Lines that are no record. */
  readonly broken: number
}

/** @since 0.1.0 @category models */
export interface PermissionAuditService {
  readonly file: string
  /** Writes the record with the time of the clock. */
  readonly record: (entry: AuditEntry) => Effect.Effect<void, FileError>
  /** Writes what became of a call, all of it at once. */
  readonly recordSteps: (call: StepCall, steps: ReadonlyArray<CallStep>) => Effect.Effect<void, FileError>
  readonly read: (filter?: AuditFilter) => Effect.Effect<AuditContent, FileError>
}

/** @since 0.1.0 @category constants */
export const maxBytes = 10 * 1024 * 1024

/** The current file and those before it. @since 0.1.0 @category constants */
export const maxFiles = 5

/** @since 0.1.0 @category combinators */
export const matchesFilter = (
  record: Pick<AuditRecord, "session_id" | "tool_name" | "timestamp">,
  filter: AuditFilter
): boolean =>
  (filter.session_id === undefined || record.session_id === filter.session_id) &&
  (filter.tool === undefined || fnmatchcase(record.tool_name, filter.tool)) &&
  (filter.since === undefined || Date.parse(record.timestamp) >= filter.since)

/** A later step of a call, not its evaluation. @since 0.1.0 @category combinators */
export const isStep = (record: AuditRecord | StepRecord): record is StepRecord =>
  record.step !== undefined && record.step !== "permission"

const iso = (at: number): string => DateTime.formatIso(DateTime.unsafeMake(at))

// Each field by name: what else an entry may carry is not written.
const stamped = (entry: AuditEntry): Effect.Effect<AuditRecord> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    timestamp: iso(now),
    step: "permission",
    tool_name: entry.tool_name,
    mode: entry.mode,
    rule_matched: entry.rule_matched,
    session_id: entry.session_id,
    decided_by: entry.decided_by,
    reason: entry.reason,
    call_id: entry.call_id,
    tier: entry.tier
  }))

const stampedStep = ({ call_id, session_id, tool_name }: StepCall, step: CallStep): StepRecord => {
  const timestamp = iso(step.at)
  switch (step.step) {
    case "hook": {
      const { decision, duration_ms, event, hook } = step
      return { timestamp, step: "hook", tool_name, session_id, call_id, event, hook, decision, duration_ms }
    }
    case "sandbox": {
      const { decision, enforcement, rule, sandbox_mode } = step
      return { timestamp, step: "sandbox", tool_name, session_id, call_id, decision, enforcement, sandbox_mode, rule }
    }
    case "run": {
      const { duration_ms, outcome } = step
      return { timestamp, step: "run", tool_name, session_id, call_id, outcome, duration_ms }
    }
  }
}

/** @since 0.1.0 @category services */
export class PermissionAudit
  extends Context.Tag("@hanzo/dev/permissions/PermissionAudit")<PermissionAudit, PermissionAuditService>()
{
  static readonly layerFile: Layer.Layer<PermissionAudit, never, AppendLog | Dirs> = Layers.effect(
    PermissionAudit,
    Effect.gen(function*() {
      const log = yield* AppendLog
      const { state } = yield* Dirs
      const file = `${state}/audit/permissions.jsonl`
      const append = (line: string) => log.append({ file, line, max_bytes: maxBytes, max_files: maxFiles })
      return {
        file,
        record: (entry) => Effect.flatMap(stamped(entry), (record) => append(JSON.stringify(record))),
        recordSteps: (call, steps) =>
          steps.length === 0
            ? Effect.void
            : append(steps.map((step) => JSON.stringify(stampedStep(call, step))).join("\n")),
        read: (filter = {}) =>
          Effect.flatMap(log.read(file, maxFiles), (lines) =>
            Effect.map(
              Effect.promise(() => import("./AuditRecord.ts")),
              ({ recordsIn }) => recordsIn(lines, (record) => matchesFilter(record, filter))
            ))
      }
    })
  )

  static readonly layer: Layer.Layer<PermissionAudit, never, Dirs> = Layer.provide(
    PermissionAudit.layerFile,
    AppendLog.layer
  )

  /** Kept in memory; `fails: true` = it cannot be written. */
  static readonly layerMemory = (options: { readonly fails?: boolean } = {}): Layer.Layer<PermissionAudit> =>
    Layers.effect(
      PermissionAudit,
      Effect.map(Ref.make<ReadonlyArray<AuditRecord | StepRecord>>([]), (kept) => {
        const keep = (records: Effect.Effect<ReadonlyArray<AuditRecord | StepRecord>>) =>
          options.fails === true
            ? Effect.fail(new FileError({ reason: "no_space", operation: "write", path: "memory" }))
            : Effect.flatMap(records, (more) => Ref.update(kept, (all) => [...all, ...more]))
        return {
          file: "memory",
          record: (entry) => keep(Effect.map(stamped(entry), (record) => [record])),
          recordSteps: (call, steps) => keep(Effect.succeed(steps.map((step) => stampedStep(call, step)))),
          read: (filter = {}) =>
            Effect.map(Ref.get(kept), (all) => {
              const chosen = all.filter((record) => matchesFilter(record, filter))
              return {
                records: chosen.filter((record): record is AuditRecord => !isStep(record)),
                steps: chosen.filter(isStep),
                broken: 0
              }
            })
        }
      })
    )
}
