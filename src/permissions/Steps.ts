/**
 * What became of a call that the permissions have let through, for the record: the hooks before it, the sandbox, the
 * run, the hooks after it. Each step is one line with a `step`; none says what the tool was given, what it gave back, or
 * what a hook has said.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { SandboxDecision, SandboxEnforcement, SandboxMode } from "../domain/SandboxRuling.ts"

const line = <const S extends string, F extends Schema.Struct.Fields>(step: S, fields: F) =>
  Schema.Struct({
    /** RFC 3339 in UTC: when the step ended. */
    timestamp: Schema.String,
    step: Schema.Literal(step),
    tool_name: Schema.String,
    session_id: Schema.String,
    call_id: Schema.String,
    ...fields
  })

/** `hook` and `duration_ms` are null where the answer came from no single hook. @since 0.1.0 @category schemas */
export const HookStep = line("hook", {
  event: Schema.String,
  hook: Schema.NullOr(Schema.Number),
  decision: Schema.Literal("allow", "deny", "error"),
  duration_ms: Schema.NullOr(Schema.Number)
})

/** `rule` of a refusal; the path is not recorded. `sandbox_mode` is null where no sandbox has answered. @since 0.1.0 @category schemas */
export const SandboxStep = line("sandbox", {
  decision: SandboxDecision,
  enforcement: SandboxEnforcement,
  sandbox_mode: Schema.NullOr(SandboxMode),
  rule: Schema.NullOr(Schema.String)
})

/** @since 0.1.0 @category schemas */
export const RunStep = line("run", {
  outcome: Schema.Literal("ok", "error", "interrupted"),
  duration_ms: Schema.Number
})

/** @since 0.1.0 @category schemas */
export const StepRecord = Schema.Union(HookStep, SandboxStep, RunStep)
/** @since 0.1.0 @category models */
export type StepRecord = typeof StepRecord.Type

/** Whose steps they are. @since 0.1.0 @category models */
export type StepCall = Pick<StepRecord, "tool_name" | "session_id" | "call_id">

type Unstamped<S> = S extends StepRecord ? Omit<S, "timestamp" | keyof StepCall> & { readonly at: number } : never

/** A step before it is written; `at` in milliseconds since the epoch. @since 0.1.0 @category models */
export type CallStep = Unstamped<StepRecord>
