/**
 * HIP-301's PermissionPrompter protocol (section 2): who is asked when no rule decides.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { JsonObject } from "./Json.ts"
import type { UserAnswer, UserQuestion } from "./UserQuestion.ts"

/** @since 0.1.0 @category models */
export type PermissionDecision =
  | { readonly decision: "allow"; readonly scope?: "once" | "session" | "always" }
  | { readonly decision: "deny"; readonly reason: string }
  | { readonly decision: "escalate" }

/** @since 0.1.0 @category models */
export interface PermissionRequestContext {
  readonly session_id: string
  readonly call_id?: string
  /** The subagent that asks; absent = the session's own agent. */
  readonly agent?: string
  readonly subject?: string
  readonly rule?: string
  /** What an answer for this session would cover, in words. */
  readonly session_covers?: string
  /** Whether a rule can keep the answer for good; absent = it is not known. */
  readonly can_keep?: boolean
}

/** @since 0.1.0 @category models */
export interface PermissionPrompterService {
  /** Name in the audit (`prompter:<name>`; `user` for a person). */
  readonly name: string
  readonly requestPermission: (
    tool_name: string,
    input: JsonObject,
    context: PermissionRequestContext
  ) => Effect.Effect<PermissionDecision>
  /** Questions of other kinds; absent = it answers none, and the next one is asked. */
  readonly ask?: (question: UserQuestion, context: PermissionRequestContext) => Effect.Effect<UserAnswer>
}

/**
 * The prompters of this program, asked in order; `escalate` passes to the next, none left = deny (reading 2.4). An
 * empty chain is the headless case: deny at once with reason `no_prompter`.
 *
 * @since 0.1.0
 * @category services
 */
export class PermissionPrompter extends Context.Tag("@hanzo/dev/domain/PermissionPrompter")<
  PermissionPrompter,
  ReadonlyArray<PermissionPrompterService>
>() {}
