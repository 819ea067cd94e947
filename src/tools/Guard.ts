/**
 * Stands in front of every tool (reading 2.3): permission, prompt, pre hooks, sandbox, the tool, post hooks. A refusal
 * at any step is an `is_error` result with the reason and skips the rest; so is a tool that throws. What was approved is
 * what runs: the input is copied and frozen before anyone looks at it. Known secrets leave no result (G2). Each step is an
 * event when it has been taken, and all of them are in the record when the call ends, however it ends.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Layers from "../domain/Layers.ts"
import * as TerminalText from "../codec/TerminalText.ts"
import { Config } from "../config/Config.ts"
import type { HanzoConfig } from "../config/Schema.ts"
import { secretVariables } from "../config/Secrets.ts"
import { telemetrySecrets } from "../config/TelemetryTarget.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { RunPermissionMode } from "../domain/Permission.ts"
import type { ToolResult } from "../domain/Tool.ts"
import type { JsonObject } from "../domain/Json.ts"
import { failure } from "../domain/ToolExecutor.ts"
import { Permissions } from "../permissions/Permissions.ts"
import { isCredentialVariable, knownSecrets } from "../platform/ChildEnvironment.ts"
import { once } from "../domain/Once.ts"
import { Environment } from "../platform/Environment.ts"
import * as Course from "./Course.ts"
import * as Mask from "./Mask.ts"
import { type GuardedCall, type Passage, type SandboxPassage, ToolHooks, ToolSandbox, ToolSecrets } from "./Slots.ts"
import type { NativeTool, PreparedCall, ToolFailure } from "./Tool.ts"

interface GuardContext {
  /** As it was asked for: rules and hooks go by it, whatever the tool says of itself meanwhile. */
  readonly tool_name: string
  readonly session_id: string
  readonly call_id: string
  readonly mode: RunPermissionMode
  readonly agent?: string
  readonly grants_session_id?: string
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
}

/** @since 0.1.0 @category models */
export interface GuardService {
  /** One call from its input to its result. Never fails; interruption passes through. */
  readonly run: (tool: NativeTool, input: JsonObject, context: GuardContext) => Effect.Effect<ToolResult>
}

/** Live output of one call that reaches the user's screen, in UTF-16 units. @since 0.1.0 @category constants */
export const maxLiveUnits = 1024 * 1024

const freeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) freeze(inner)
  }
  return value
}

/** A copy nobody else holds, frozen to the bottom. */
const frozenCopy = (input: JsonObject): Effect.Effect<JsonObject, string> =>
  Effect.try({ try: () => freeze(structuredClone(input)), catch: () => "the input is not plain JSON" })

/** What a cause says to the model: the tool's own words, or that it broke. */
const complaint = (name: string, cause: Cause.Cause<ToolFailure>): ToolResult => {
  const failed = Cause.failureOption(cause)
  if (Option.isSome(failed)) return failure(failed.value.message, failed.value.output)
  if (Cause.isInterruptedOnly(cause)) return failure(`${name} stopped itself before it had a result`)
  const defect = Cause.squash(cause)
  const why = defect instanceof Error ? `${defect.name}: ${defect.message}` : String(defect)
  return failure(`${name} broke (${why.slice(0, 500)}); this is a fault of the tool, not of the input`)
}

/** Reading 2.1, whatever a tool hands back. */
const lawful = (name: string, result: unknown): ToolResult => {
  if (typeof result !== "object" || result === null) return failure(`${name} returned no result`)
  const given = result as Partial<ToolResult>
  const output = typeof given.output === "string" ? given.output : ""
  const is_error = given.is_error === true
  const error = typeof given.error === "string" ? given.error : ""
  return {
    output,
    error: is_error ? (error === "" ? "failed" : error) : null,
    is_error,
    ...(given.parts === undefined ? {} : { parts: given.parts }),
    ...(given.truncated === undefined ? {} : { truncated: given.truncated })
  }
}

/** Live output: without known secrets (G2), made safe to show (G8) and bounded; the result holds the text itself. */
const liveOutput = (context: Pick<GuardedCall, "call_id" | "report">, mask: Mask.Mask) => {
  const masked = mask.stream()
  const safe = TerminalText.make()
  let left = maxLiveUnits
  const say = (text: string): Effect.Effect<void> => {
    if (left <= 0 || text === "") return Effect.void
    left -= text.length
    const shown = left > 0 ? text : `${text}\n[no more output is shown while this runs]\n`
    return context.report({ type: "tool.output", call_id: context.call_id, text: shown })
  }
  return {
    emit: (text: string): Effect.Effect<void> =>
      Effect.suspend(() => left <= 0 ? Effect.void : say(safe.push(masked.push(text)))),
    flush: Effect.suspend(() => say(safe.push(masked.flush()) + safe.flush()))
  }
}

/** Keys that the settings hold or name, and those of the environment: what no tool may hand on. @since 0.1.0 @category combinators */
export const secretsOf = (vars: ReadonlyMap<string, string>, config: HanzoConfig): ReadonlyArray<string> => {
  const providers = Object.values(config.providers)
  const settings = Object.entries(config.env).filter(([name]) => isCredentialVariable(name))
  const headers = providers.flatMap((provider) => Object.entries(provider.headers ?? {})).flatMap(([name, value]) =>
    /^(?:authorization|.*(?:key|token|secret|auth|password|cookie).*)$/iu.test(name)
      ? [value, value.replace(/^(?:bearer|basic|token)\s+/iu, "")]
      : []
  )
  const servers = Object.values(config.mcp_servers).flatMap(({ env, headers: own }) => [
    ...Object.entries(env ?? {}).filter(([name]) => isCredentialVariable(name)).map(([, value]) => value),
    ...Object.values(own ?? {}).flatMap((value) => [value, value.replace(/^(?:bearer|basic|token)\s+/iu, "")])
  ])
  return knownSecrets(vars, {
    names: secretVariables(config),
    values: [
      config.api_key ?? "",
      ...providers.flatMap((provider) => provider.api_key ?? []),
      ...settings.map(([, value]) => value),
      ...headers,
      ...servers,
      ...telemetrySecrets(vars, config.telemetry)
    ]
  })
}

const make = Effect.gen(function*() {
  const permissions = yield* Permissions
  const hooks = yield* ToolHooks
  const sandbox = yield* ToolSandbox
  const { vars } = yield* Environment
  const slot = yield* ToolSecrets
  const { config } = yield* Config
  const fixed = once(() => secretsOf(vars, config))
  let made: { readonly of: ReadonlyArray<string>; readonly mask: Mask.Mask } | undefined

  /** Tokens are renewed while the program runs. */
  const currentMask: Effect.Effect<Mask.Mask> = Effect.map(slot.known, (known) => {
    if (made?.of !== known) made = { of: known, mask: Mask.make([...fixed(), ...known]) }
    return made.mask
  })

  /** Fails closed: a check that breaks is a refusal. */
  const closed = <A>(what: string, check: Effect.Effect<A>, refuse: (reason: string) => A): Effect.Effect<A> =>
    Effect.flatMap(Effect.exit(Effect.suspend(() => check)), (exit) =>
      Exit.isSuccess(exit)
        ? Effect.succeed(exit.value)
        : Effect.as(
          Effect.logError(`the ${what} check broke: ${Cause.pretty(exit.cause)}`),
          refuse(`the ${what} check broke, so the call was refused`)
        ))

  const passage = <P extends Passage | SandboxPassage>(
    what: string,
    check: () => Effect.Effect<P>
  ): Effect.Effect<P | { readonly allowed: false; readonly reason: string }> =>
    closed<P | { readonly allowed: false; readonly reason: string }>(
      what,
      Effect.suspend(check),
      (reason) => ({ allowed: false, reason })
    )

  const broke = (name: string, cause: Cause.Cause<ToolFailure>): Effect.Effect<ToolResult> =>
    Option.isSome(Cause.failureOption(cause)) || Cause.isInterruptedOnly(cause)
      ? Effect.succeed(complaint(name, cause))
      : Effect.as(Effect.logError(`tool ${name} broke: ${Cause.pretty(cause)}`), complaint(name, cause))

  /** The way of a call that is allowed: pre hooks, sandbox, the tool, post hooks. */
  const onward = (
    call: GuardedCall,
    decided_by: string,
    execute: PreparedCall["run"],
    course: Course.Course,
    mask: Mask.Mask,
    mode: RunPermissionMode,
    other_names: ReadonlyArray<string>
  ): Effect.Effect<ToolResult> =>
    Effect.gen(function*() {
      const { call_id, session_id, tool_name } = call
      const before = yield* passage("hook", () => hooks.before(call))
      yield* course.hooked(before)
      if (!before.allowed) return failure(before.reason)

      const inSandbox = yield* passage("sandbox", () => sandbox.check(Object.freeze({ ...call, decided_by })))
      yield* course.ruled(inSandbox)
      if (!inSandbox.allowed) return failure(inSandbox.reason)

      const live = liveOutput(call, mask)
      const started = yield* Clock.currentTimeMillis
      const denies = (subject: string): boolean =>
        [tool_name, ...other_names].some((name) => permissions.evaluate(name, subject).mode === "deny")
      // A tool that interrupts itself has an end of its own; here it is the call that is interrupted.
      const done = yield* Effect.exit(
        Effect.suspend(() =>
          execute({ session_id, call_id, emit: live.emit, mask, mode, report: course.report, denies })
        )
      ).pipe(Effect.zipLeft(live.flush), Effect.onInterrupt(() => course.ran(started, "interrupted")))
      const result = (yield* currentMask).result(
        Exit.isSuccess(done) ? lawful(tool_name, done.value) : yield* broke(tool_name, done.cause)
      )
      yield* course.ran(started, result.is_error ? "error" : "ok")

      const after = yield* closed<string | void>(
        "post hook",
        Effect.suspend(() => hooks.after(call, result)),
        () => undefined
      )
      const { remark } = sandbox
      const remarked = remark === undefined
        ? null
        : yield* closed("sandbox", Effect.suspend(() => remark(call, result)), () => null)
      const told = [before.context, inSandbox.context, after, remarked].filter((text) =>
        typeof text === "string" && text !== ""
      )
      return told.length === 0
        ? result
        : { ...result, output: [result.output, ...told].filter((text) => text !== "").join("\n\n") }
    })

  const passed: GuardService["run"] = (tool, given, context) =>
    Effect.gen(function*() {
      const name = context.tool_name
      const copied = yield* Effect.either(frozenCopy(given))
      if (copied._tag === "Left") return failure(`invalid input for ${name}: ${copied.left}`)
      const input = copied.right

      const prepared = yield* Effect.exit(Effect.suspend(() => tool.prepare(input)))
      if (Exit.isFailure(prepared)) return yield* broke(name, prepared.cause)
      const { inside_workspace, run: execute, subjects }: PreparedCall = prepared.value
      const mask = yield* currentMask
      const course = Course.make({ tool: name, call_id: context.call_id, report: context.report, safe: mask.text })
      const call: GuardedCall = Object.freeze({
        tool_name: name,
        input,
        subjects: Object.freeze(Array.from(subjects)),
        kind: prepared.value.kind ?? tool.kind,
        read_only: prepared.value.read_only ?? tool.read_only,
        inside_workspace,
        session_id: context.session_id,
        call_id: context.call_id,
        report: course.report
      })

      const authorization = yield* closed(
        "permission",
        Effect.suspend(() =>
          permissions.authorize({
            ...call,
            mode: context.mode,
            ...(context.agent === undefined ? {} : { agent: context.agent }),
            ...(context.grants_session_id === undefined ? {} : { grants_session_id: context.grants_session_id }),
            safe: mask.text,
            ...(tool.other_names === undefined ? {} : { other_names: tool.other_names })
          })
        ),
        (reason) => ({ allowed: false as const, decided_by: "default", reason })
      )
      if (!authorization.allowed) return failure(authorization.reason)

      // In one piece when the call has ended: that it was allowed is written down already.
      return yield* Effect.ensuring(
        onward(call, authorization.decided_by, execute, course, mask, context.mode, tool.other_names ?? []),
        Effect.suspend(() => permissions.recordSteps(call, course.steps)).pipe(
          Effect.catchAllCause((cause) => Effect.logError(`the record of ${name} broke: ${Cause.pretty(cause)}`))
        )
      )
    })

  // Also what hooks, rules and the sandbox say reaches the model.
  const run: GuardService["run"] = (tool, input, context) =>
    Effect.flatMap(passed(tool, input, context), (result) => Effect.map(currentMask, (mask) => mask.result(result)))
  return { run }
})

/** @since 0.1.0 @category services */
export class Guard extends Context.Tag("@hanzo/dev/tools/Guard")<Guard, GuardService>() {
  static readonly layer: Layer.Layer<
    Guard,
    never,
    Permissions | ToolHooks | ToolSandbox | ToolSecrets | Environment | Config
  > = Layers.effect(Guard, make)
}
