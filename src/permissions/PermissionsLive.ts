/**
 * The Permissions service: rules, then the mode of the run, then the chain of prompters.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { Config } from "../config/Config.ts"
import type { PermissionDecision, PermissionRule } from "../domain/Permission.ts"
import { PermissionPrompter } from "../domain/Permission.ts"
import type { Authorization, PermissionRequest, PermissionsService } from "./Permissions.ts"
import { PermissionPolicy, strictest } from "./Policy.ts"

/** What "for this session" grants: the same call again, or the tool on any path inside the workspace. */
interface Grant {
  readonly tool_name: string
  readonly subject: string | null
}

const grantOf = (request: PermissionRequest): ReadonlyArray<Grant> =>
  request.subjects.length === 0 || ((request.kind === "read" || request.kind === "edit") && request.inside_workspace)
    ? [{ tool_name: request.tool_name, subject: null }]
    : request.subjects.map((subject) => ({ tool_name: request.tool_name, subject }))

const granted = (grants: ReadonlyArray<Grant>, request: PermissionRequest): boolean => {
  const has = (subject: string | null) =>
    grants.some((grant) => grant.tool_name === request.tool_name && grant.subject === subject)
  if (request.subjects.length === 0) return has(null)
  const whole = (request.kind === "read" || request.kind === "edit") && request.inside_workspace && has(null)
  return whole || request.subjects.every((subject) => has(subject))
}

/** @since 0.1.0 @category constructors */
export const make = Effect.gen(function*() {
  const config = yield* Config
  const prompters = yield* PermissionPrompter
  const policy = new PermissionPolicy(config.rules)
  const grants = new Map<string, Array<Grant>>()
  // Questions queue one after another: parallel tools, one person.
  const asking = yield* Effect.makeSemaphore(1)

  const ask = (
    request: PermissionRequest,
    rule: string | null
  ): Effect.Effect<{ readonly by: string; readonly decision: PermissionDecision }> =>
    Effect.gen(function*() {
      const subject = request.subjects.join(", ")
      for (const prompter of prompters) {
        const decision = yield* prompter.requestPermission(request.tool_name, request.input, {
          session_id: request.session_id,
          call_id: request.call_id,
          ...(subject === "" ? {} : { subject }),
          ...(rule === null ? {} : { rule })
        }).pipe(
          // A prompter that fails has not answered (reading 2.4).
          Effect.catchAllDefect((defect) =>
            Effect.as(
              Effect.logError(`permission prompter ${prompter.name} failed: ${String(defect)}`),
              { decision: "escalate" } as const
            )
          )
        )
        if (decision.decision !== "escalate") {
          return { by: prompter.name === "user" ? "user" : `prompter:${prompter.name}`, decision }
        }
      }
      return { by: "default", decision: { decision: "deny", reason: "no prompter has decided" } as const }
    })

  const authorize = (request: PermissionRequest): Effect.Effect<Authorization> =>
    Effect.gen(function*() {
      const [first, ...rest] = request.subjects
      const verdict = strictest([
        policy.evaluate(request.tool_name, first),
        ...rest.map((subject) => policy.evaluate(request.tool_name, subject))
      ])
      const decide = (mode: PermissionRule["mode"], decided_by: string, reason: string | null) =>
        Effect.as(
          request.report({
            type: "permission.decided",
            call_id: request.call_id,
            tool: request.tool_name,
            mode,
            decided_by,
            rule_matched: verdict.rule_matched,
            reason
          }),
          mode === "allow"
            ? { allowed: true, decided_by } as const
            : { allowed: false, decided_by, reason: reason ?? "denied" } as const
        )
      const ruled = verdict.rule_index === null ? "default" : "rule"

      if (verdict.mode === "deny") {
        return yield* decide("deny", "rule", verdict.reason ?? `denied by rule ${JSON.stringify(verdict.rule_matched)}`)
      }
      if (request.mode === "plan" && !request.read_only) {
        return yield* decide("deny", "mode", "plan mode: nothing may be changed, only read-only tools run")
      }
      if (verdict.mode === "allow") return yield* decide("allow", ruled, verdict.reason)
      if (verdict.unsure !== true) {
        if (request.mode === "bypass") return yield* decide("allow", "mode", "permission mode bypass")
        if (request.mode === "accept-edits" && request.kind === "edit" && request.inside_workspace) {
          return yield* decide("allow", "mode", "permission mode accept-edits")
        }
      }
      if (granted(grants.get(request.session_id) ?? [], request)) return yield* decide("allow", "session", null)
      if (prompters.length === 0) {
        return yield* decide(
          "deny",
          "no_prompter",
          `no_prompter: ${request.tool_name} needs permission and nobody can be asked here; allow it with a rule (--allow ${
            JSON.stringify(request.tool_name)
          }) or a permission mode`
        )
      }
      return yield* asking.withPermits(1)(Effect.gen(function*() {
        // Somebody may have granted it while this question waited its turn.
        if (granted(grants.get(request.session_id) ?? [], request)) return yield* decide("allow", "session", null)
        const subject = request.subjects.join(", ")
        yield* request.report({
          type: "permission.asked",
          call_id: request.call_id,
          tool: request.tool_name,
          ...(subject === "" ? {} : { subject })
        })
        const { by, decision } = yield* ask(request, verdict.rule_matched)
        if (decision.decision === "allow") {
          if (decision.scope === "session" || decision.scope === "always") {
            grants.set(request.session_id, [...(grants.get(request.session_id) ?? []), ...grantOf(request)])
          }
          return yield* decide("allow", by, null)
        }
        return yield* decide("deny", by, decision.decision === "deny" ? decision.reason : "no prompter has decided")
      }))
    })

  const service: PermissionsService = {
    authorize,
    evaluate: (tool_name, subject) => policy.evaluate(tool_name, subject)
  }
  return service
})
