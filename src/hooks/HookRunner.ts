/**
 * Runs hooks (HIP-301 section 9, readings 9.2 to 9.8): a line for `/bin/sh` in the project's root, outside the sandbox,
 * in an environment without credentials, with a deadline that counts from its start and ends its whole process group.
 * It fails closed: whatever is not a clean "yes" blocks.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fnmatch from "../codec/Fnmatch.ts"
import type { Tier } from "../config/Config.ts"
import type { HookConfig, HookEvent } from "../config/Schema.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { ToolResult } from "../domain/Tool.ts"
import type { JsonObject } from "../domain/Json.ts"
import { resultText } from "../domain/ToolExecutor.ts"
import { programsOfLine } from "../platform/ProgramFiles.ts"
import { type ProgramWatch, watchPrograms } from "../platform/ProgramWatch.ts"
import type { ProcessError } from "../platform/ProcessError.ts"
import type { Completed, ProcessesService } from "../platform/Processes.ts"
import {
  canDeny,
  type HookScene,
  inputJson,
  maxVariableBytes,
  shortVariableBytes,
  variableNames,
  variables
} from "./HookInput.ts"
import type { HookSubject } from "./HookSubject.ts"
import { capturedBytes, type HookResult, judge } from "./HookOutput.ts"

/** A hook and the tier of the settings it comes from. @since 0.1.0 @category models */
export interface TieredHook {
  readonly hook: HookConfig
  readonly tier: Tier
}

/** `number` is the hook's place in the order of reading 9.8, from 0. @since 0.1.0 @category models */
export interface NumberedHook extends TieredHook {
  readonly number: number
  /** In milliseconds from its start. */
  readonly timeout_ms: number
}

/** Where hooks run. @since 0.1.0 @category models */
export interface HookPlace {
  /** The plain one: hooks are the user's own and run outside the sandbox (reading 10.4). */
  readonly processes: ProcessesService
  /** What a hook may inherit; the variables of the call go over it. */
  readonly env: ReadonlyMap<string, string>
  readonly root: string
  readonly cwd: string
}

/** The session a hook runs for. `report` takes one `hook.completed` for each hook that ran. @since 0.1.0 @category models */
export interface HookContext {
  readonly session_id: string
  readonly call_id: string | null
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
}

/**
 * The result of the hook that decided: the first that did not allow, else the last. `context` is what hooks that allowed
 * have to say to the model, empty if nothing; `results` are all that ran, in order.
 *
 * @since 0.1.0
 * @category models
 */
export interface HookOutcome extends HookResult {
  readonly context: string
  readonly results: ReadonlyArray<HookResult>
}

/** Milliseconds, unless a hook says otherwise. @since 0.1.0 @category constants */
export const defaultTimeoutMs = 5_000

/** Between TERM and KILL; a hook has had its time by then. */
const grace = Duration.millis(250)

const tierOrder: ReadonlyArray<Tier> = ["managed", "user", "project", "local"]

const rank = ({ tier }: TieredHook): number => {
  const at = tierOrder.indexOf(tier)
  return at === -1 ? tierOrder.length : at
}

const outcomeOf = (results: ReadonlyArray<HookResult>): HookOutcome => {
  const deciding = results.find((result) => result.decision !== "allow") ?? results.at(-1)
  return {
    ...(deciding ?? { decision: "allow", reason: "", hook: -1, exit_code: null, signal: null, timed_out: false }),
    context: results.flatMap(({ additional_context }) => additional_context ?? []).join("\n\n"),
    results
  }
}

/** No hook matched. @since 0.1.0 @category constants */
export const untouched: HookOutcome = outcomeOf([])

/** @since 0.1.0 @category models */
export class HookRunner {
  /** In the order in which they run: user, project, local, each in file order (reading 9.8). */
  readonly hooks: ReadonlyArray<NumberedHook>
  readonly #place: HookPlace
  /** By the hook's number; null until the first event. */
  #watches: ReadonlyArray<ProgramWatch> | null = null
  readonly #byEvent: ReadonlyMap<HookEvent, ReadonlyArray<readonly [NumberedHook, (tool: string) => boolean]>>

  constructor(hooks: ReadonlyArray<TieredHook>, place: HookPlace) {
    this.hooks = hooks.toSorted((a, b) => rank(a) - rank(b)).map(({ hook, tier }, number) => ({
      hook,
      tier,
      number,
      timeout_ms: hook.timeout_ms ?? defaultTimeoutMs
    }))
    this.#place = {
      ...place,
      env: new Map([...place.env].filter(([name]) => !variableNames.includes(name)))
    }
    const byEvent = new Map<HookEvent, Array<readonly [NumberedHook, (tool: string) => boolean]>>()
    for (const each of this.hooks) {
      const matches = each.hook.tool_pattern === undefined ? () => true : Fnmatch.compile(each.hook.tool_pattern)
      const same = byEvent.get(each.hook.event)
      if (same === undefined) byEvent.set(each.hook.event, [[each, matches]])
      else same.push([each, matches])
    }
    this.#byEvent = byEvent
  }

  /** Is there any hook for this event? */
  readonly handles = (event: HookEvent): boolean => this.#byEvent.has(event)

  /** Before a tool: the first hook that does not allow stops; none after it runs. */
  readonly runPre = (tool_name: string, tool_input: JsonObject, context: HookContext): Effect.Effect<HookOutcome> =>
    this.runEvent({ event: "pre_tool_use", tool_name, tool_input, tool_call_id: context.call_id }, context)

  /** After a tool that ran: all of them, whatever the others say; nothing of the result changes. */
  readonly runPost = (
    tool_name: string,
    tool_input: JsonObject,
    result: ToolResult,
    context: HookContext
  ): Effect.Effect<HookOutcome> =>
    this.runEvent({
      event: "post_tool_use",
      tool_name,
      tool_input,
      tool_call_id: context.call_id,
      tool_output: resultText(result),
      tool_is_error: result.is_error
    }, context)

  /** The same for any event. Where hooks cannot deny, all of them run and `decision` says no more than how they ended. */
  readonly runEvent = (subject: HookSubject, context: HookContext): Effect.Effect<HookOutcome> => {
    if (this.hooks.length > 0 && this.#watches === null) {
      return Effect.flatMap(this.#bind, () => this.runEvent(subject, context))
    }
    const candidates = this.#byEvent.get(subject.event)
    if (candidates === undefined) return Effect.succeed(untouched)
    const tool = subject.event === "pre_tool_use" || subject.event === "post_tool_use" ? subject.tool_name : ""
    const matching = candidates.filter(([, matches]) => matches(tool)).map(([hook]) => hook)
    if (matching.length === 0) return Effect.succeed(untouched)
    return Effect.gen(this, function*() {
      const scene: HookScene = { session_id: context.session_id, root: this.#place.root, cwd: this.#place.cwd }
      const stdin = new TextEncoder().encode(inputJson(subject, scene))
      const results: Array<HookResult> = []
      for (const hook of matching) {
        const result = yield* this.#run(hook, subject, scene, stdin, context)
        results.push(result)
        if (result.decision !== "allow" && canDeny(subject.event)) break
      }
      return outcomeOf(results)
    })
  }

  /**
   * The programs of all hooks as they are before anything of the model has run: whatever event comes first, the first
   * tool's at the latest.
   */
  readonly #bind: Effect.Effect<void> = Effect.suspend(() => {
    const { env, root } = this.#place
    const surroundings = { root, home: env.get("HOME") ?? "", search_path: env.get("PATH") ?? "" }
    return Effect.map(
      Effect.forEach(
        this.hooks,
        ({ hook }) => Effect.flatMap(programsOfLine(surroundings, hook.command), watchPrograms)
      ),
      (watches) => {
        this.#watches ??= watches
      }
    )
  })

  #run(
    { hook, number, timeout_ms }: NumberedHook,
    subject: HookSubject,
    scene: HookScene,
    stdin: Uint8Array,
    context: HookContext
  ): Effect.Effect<HookResult> {
    const { env, processes, root } = this.#place
    const watch = this.#watches?.[number]
    const start = (limit: number): Effect.Effect<Completed, ProcessError> =>
      Effect.suspend(() =>
        processes.run({
          argv: ["/bin/sh", "-c", hook.command],
          cwd: root,
          env: new Map([...env, ...Object.entries(variables(subject, scene, limit))]),
          stdin,
          timeout: Duration.millis(timeout_ms),
          grace,
          max_bytes: capturedBytes
        })
      )
    const pattern = hook.tool_pattern === undefined ? "" : `, ${hook.tool_pattern}`
    const name = `hook ${number} (${hook.event}${pattern}) of the settings`
    return Effect.gen(function*() {
      const began = yield* Clock.currentTimeMillis
      const changed = watch === undefined ? null : yield* watch.changed
      if (changed !== null) {
        const not_started =
          `${changed}, which its line runs; it is not run before the next session, so that you can look`
        const result = judge(hook, number, timeout_ms, { not_started })
        yield* Effect.logWarning(`${name}: ${not_started}`)
        yield* context.report({
          type: "hook.completed",
          call_id: context.call_id,
          event: hook.event,
          hook: number,
          decision: result.decision,
          reason: result.reason,
          duration_ms: (yield* Clock.currentTimeMillis) - began
        })
        return result
      }
      // A small limit on the whole environment: the hook gets less of it, its input is whole all the same.
      const end = yield* start(maxVariableBytes).pipe(
        Effect.catchIf((error) => error.reason === "too_long", () => start(shortVariableBytes)),
        Effect.either,
        // Whoever waits for the answer goes down with it: the tool does not run.
        Effect.onInterrupt(() => Effect.logWarning(`${name}: interrupted`))
      )
      // What a hook does to its own files is the user's doing.
      if (watch !== undefined) yield* watch.renew
      const result = judge(
        hook,
        number,
        timeout_ms,
        Either.isLeft(end) ? { not_started: end.left.message } : end.right
      )
      const duration_ms = (yield* Clock.currentTimeMillis) - began
      if (result.decision !== "allow") {
        // What it said may hold a secret: that goes to the model and the session, not to the log.
        const how = result.timed_out
          ? `no end within ${timeout_ms} ms`
          : Either.isLeft(end)
          ? end.left.message
          : result.signal ?? `exit code ${result.exit_code}`
        const denial = result.decision === "deny" && canDeny(hook.event)
        yield* denial ? Effect.logInfo(`${name}: ${how}`) : Effect.logWarning(`${name}: ${how}`)
      }
      yield* context.report({
        type: "hook.completed",
        call_id: context.call_id,
        event: hook.event,
        hook: number,
        decision: result.decision,
        reason: result.reason,
        duration_ms
      })
      return result
    })
  }
}
