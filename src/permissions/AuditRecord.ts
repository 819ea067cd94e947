/**
 * The lines of the record as they are read back.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { PermissionMode } from "../domain/Permission.ts"
import { isStep } from "./Audit.ts"
import { StepRecord } from "./Steps.ts"

/**
 * `decided_by`: `rule`, `default`, `session`, `user`, `prompter:NAME`, `mode`, `extension` (a command or skill in use wants
 * it) or `no_prompter`. `timestamp` is RFC 3339 in UTC. A prompt gives two records with one `call_id`: the evaluation and
 * the decision. Records of old have no `step`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AuditRecord = Schema.Struct({
  timestamp: Schema.String,
  step: Schema.optional(Schema.Literal("permission")),
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

const decode = Schema.decodeUnknownEither(Schema.parseJson(Schema.Union(AuditRecord, StepRecord)))

/** `broken` counts the lines that are no records. @since 0.1.0 @category decoding */
export const recordsIn = (
  lines: ReadonlyArray<string>,
  wanted: (record: AuditRecord | StepRecord) => boolean
): { readonly records: Array<AuditRecord>; readonly steps: Array<StepRecord>; readonly broken: number } => {
  const records: Array<AuditRecord> = []
  const steps: Array<StepRecord> = []
  let broken = 0
  for (const line of lines) {
    const decoded = decode(line)
    if (Either.isLeft(decoded)) broken++
    else if (!wanted(decoded.right)) continue
    else if (isStep(decoded.right)) steps.push(decoded.right)
    else records.push(decoded.right)
  }
  return { records, steps, broken }
}
