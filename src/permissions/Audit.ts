/**
 * The record of every evaluation (reading 7.8): one JSON line each in `<state>/audit/permissions.jsonl`. It names the tool,
 * the rule and who decided, never what the tool was given.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import { fnmatchcase } from "../codec/Fnmatch.ts"
import { PermissionMode } from "../domain/Permission.ts"
import { AppendLog } from "../platform/AppendLog.ts"
import { Dirs } from "../platform/Dirs.ts"
import { FileError } from "../platform/FileError.ts"

/**
 * `decided_by`: `rule`, `default`, `session`, `user`, `prompter:NAME`, `mode` or `no_prompter`. `timestamp` is RFC 3339 in
 * UTC. A prompt gives two records with one `call_id`: the evaluation and the decision.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AuditRecord = Schema.Struct({
  timestamp: Schema.String,
  tool_name: Schema.String,
  mode: PermissionMode,
  rule_matched: Schema.NullOr(Schema.String),
  session_id: Schema.String,
  decided_by: Schema.String,
  reason: Schema.NullOr(Schema.String),
  call_id: Schema.String,
  tier: Schema.NullOr(Schema.String)
})
/** @since 0.1.0 @category models */
export type AuditRecord = typeof AuditRecord.Type

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
  /** Lines that are no record. */
  readonly broken: number
}

/** @since 0.1.0 @category models */
export interface PermissionAuditService {
  readonly file: string
  /** Writes the record with the time of the clock. */
  readonly record: (entry: Omit<AuditRecord, "timestamp">) => Effect.Effect<void, FileError>
  readonly read: (filter?: AuditFilter) => Effect.Effect<AuditContent, FileError>
}

/** @since 0.1.0 @category constants */
export const maxBytes = 10 * 1024 * 1024

/** The current file and those before it. @since 0.1.0 @category constants */
export const maxFiles = 5

const decode = Schema.decodeUnknownEither(Schema.parseJson(AuditRecord))
const encode = Schema.encodeSync(Schema.parseJson(AuditRecord))

/** @since 0.1.0 @category combinators */
export const matchesFilter = (record: AuditRecord, filter: AuditFilter): boolean =>
  (filter.session_id === undefined || record.session_id === filter.session_id) &&
  (filter.tool === undefined || fnmatchcase(record.tool_name, filter.tool)) &&
  (filter.since === undefined || Date.parse(record.timestamp) >= filter.since)

const select = (lines: ReadonlyArray<string>, filter: AuditFilter): AuditContent => {
  const records: Array<AuditRecord> = []
  let broken = 0
  for (const line of lines) {
    const decoded = decode(line)
    if (Either.isLeft(decoded)) broken++
    else if (matchesFilter(decoded.right, filter)) records.push(decoded.right)
  }
  return { records, broken }
}

const stamped = (entry: Omit<AuditRecord, "timestamp">): Effect.Effect<AuditRecord> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    timestamp: DateTime.formatIso(DateTime.unsafeMake(now)),
    tool_name: entry.tool_name,
    mode: entry.mode,
    rule_matched: entry.rule_matched,
    session_id: entry.session_id,
    decided_by: entry.decided_by,
    reason: entry.reason,
    call_id: entry.call_id,
    tier: entry.tier
  }))

/** @since 0.1.0 @category services */
export class PermissionAudit
  extends Context.Tag("@hanzo/dev/permissions/PermissionAudit")<PermissionAudit, PermissionAuditService>()
{
  static readonly layerFile: Layer.Layer<PermissionAudit, never, AppendLog | Dirs> = Layer.effect(
    PermissionAudit,
    Effect.gen(function*() {
      const log = yield* AppendLog
      const { state } = yield* Dirs
      const file = `${state}/audit/permissions.jsonl`
      return {
        file,
        record: (entry) =>
          Effect.flatMap(
            stamped(entry),
            (record) => log.append({ file, line: encode(record), max_bytes: maxBytes, max_files: maxFiles })
          ),
        read: (filter = {}) => Effect.map(log.read(file, maxFiles), (lines) => select(lines, filter))
      }
    })
  )

  static readonly layer: Layer.Layer<PermissionAudit, never, Dirs> = Layer.provide(
    PermissionAudit.layerFile,
    AppendLog.layer
  )

  /** Kept in memory; `fails: true` = it cannot be written. */
  static readonly layerMemory = (options: { readonly fails?: boolean } = {}): Layer.Layer<PermissionAudit> =>
    Layer.effect(
      PermissionAudit,
      Effect.map(Ref.make<ReadonlyArray<AuditRecord>>([]), (kept) => ({
        file: "memory",
        record: (entry) =>
          options.fails === true
            ? Effect.fail(new FileError({ reason: "no_space", operation: "write", path: "memory" }))
            : Effect.flatMap(stamped(entry), (record) => Ref.update(kept, (records) => [...records, record])),
        read: (filter = {}) =>
          Effect.map(Ref.get(kept), (records) => ({
            records: records.filter((record) => matchesFilter(record, filter)),
            broken: 0
          }))
      }))
    )
}
