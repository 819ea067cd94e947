/**
 * One subagent from its start to its end: a run of its own, in a session of its own, within the limits of the run that
 * starts it (readings 14.1 to 14.6). Loaded when the first one starts.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { line } from "../codec/TerminalText.ts"
import type { AgentEvent, AgentEventBody, TerminalEvent } from "../domain/AgentEvent.ts"
import { ExitCode, type RunError } from "../domain/Failure.ts"
import type { Part } from "../domain/Message.ts"
import { isTerminal } from "../domain/RunEnd.ts"
import { Models } from "../provider/Models.ts"
import type { ToolAccess } from "../tools/ToolAccess.ts"
import type { AgentService, RunInput } from "./Agent.ts"
import type { AgentDefinition } from "./AgentDefinition.ts"
import { exceeded, maxDepth, type RunNode, stricter } from "./RunTree.ts"
import { changedBy } from "./TouchedFiles.ts"

/** @since 0.1.0 @category models */
export interface SubagentInput {
  readonly parent: RunNode
  readonly definition: AgentDefinition
  /** The name of a chain that this one is a stage of; absent = none. */
  readonly within?: string
  /** Role, task and context in one. */
  readonly prompt: string | ReadonlyArray<Part>
  /** What its session is called. */
  readonly title: string
  /** The call of `task` that it works for; null = a command of the user. */
  readonly call_id: string | null
  readonly agent: Pick<AgentService, "run" | "interrupt">
  /** Takes what it says, for the run that has started it. */
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
}

/** @since 0.1.0 @category models */
export interface Ended {
  readonly status: "completed" | "failed" | "cancelled"
  /** Its final text. */
  readonly result: string
  readonly error: RunError | null
  readonly exit_code: number
  readonly turns: number
  /** Null = it has not started. */
  readonly session_id: string | null
  /** What the policy refused last, when no call has succeeded since; null = nothing. */
  readonly refused: string | null
  /** Something was refused because nobody could be asked. */
  readonly unasked: boolean
  /** Files that its calls have changed, as they were named, in order. */
  readonly changed: ReadonlyArray<string>
}

const notStarted = (code: string, message: string, exit_code: number): Ended => ({
  status: "failed",
  result: "",
  error: { code, message },
  exit_code,
  turns: 0,
  session_id: null,
  refused: null,
  unasked: false,
  changed: []
})

/** How long a subagent that was stopped may take to settle what it has started. */
const stopGrace = "40 seconds"

/** The names from the run down to a subagent. @since 0.1.0 @category combinators */
export const labelOf = (parent: RunNode, name: string, within?: string): string =>
  [parent.label, within ?? "", name].filter((each) => each !== "").join("/")

const bodyOf = (event: AgentEvent): AgentEventBody => {
  const { run_id: _run, seq: _seq, session_id: _session, v: _v, ...body } = event
  return body
}

/** Follows a run: what of it is told, and what it comes to. */
const follow = (input: SubagentInput, label: string) => {
  const { call_id, parent } = input
  let terminal: TerminalEvent | null = null
  let session_id: string | null = null
  let refused: string | null = null
  let unasked = false
  const open = new Map<string, ReadonlyArray<string>>()
  const changed = new Set<string>()

  const note = (event: AgentEventBody): void => {
    switch (event.type) {
      case "tool.started":
        open.set(event.call_id, changedBy(event.tool, event.input))
        break
      case "permission.decided":
        if (event.mode === "deny") refused = `${event.tool}: ${event.reason ?? "denied"}`
        if (event.decided_by === "no_prompter") unasked = true
        break
      case "sandbox.decided":
        if (event.decision === "refused") refused = `${event.tool}: ${event.reason ?? "refused by the sandbox"}`
        break
      case "hook.completed":
        if (event.event === "pre_tool_use" && event.decision !== "allow") refused = event.reason
        break
      case "tool.completed": {
        if (!event.result.is_error) {
          refused = null
          for (const path of open.get(event.call_id) ?? []) changed.add(path)
        }
        open.delete(event.call_id)
        break
      }
      case "subagent.event":
        // a subagent of its own that nobody could be asked for
        if (event.event.type === "permission.decided" && event.event.decided_by === "no_prompter") unasked = true
        break
      default:
    }
  }

  const told = (event: AgentEvent): ReadonlyArray<AgentEventBody> => {
    session_id = event.session_id
    if (isTerminal(event)) {
      terminal = event
      return []
    }
    const body = bodyOf(event)
    note(body)
    switch (body.type) {
      case "run.started":
        return [{
          type: "subagent.started",
          agent: label,
          child_session_id: event.session_id,
          call_id,
          depth: parent.depth + 1,
          model: body.model,
          tools: body.tools
        }]
      case "run.completed":
      case "run.failed":
      case "run.cancelled":
      // the run above attends to the servers too, and is told
      case "mcp.server":
      case "mcp.log":
        return []
      case "subagent.started":
      case "subagent.event":
      case "subagent.completed":
        return [body]
      default:
        return [{ type: "subagent.event", agent: label, child_session_id: event.session_id, event: body }]
    }
  }

  return {
    told,
    session_id: () => session_id,
    terminal: () => terminal,
    ended: (): Ended => {
      const rest = { session_id, refused, unasked, changed: [...changed] }
      if (terminal === null) {
        return { ...notStarted("no_end", "the run ended without saying how", ExitCode.failed), ...rest }
      }
      const { exit_code, result, turns } = terminal
      return {
        status: terminal.type === "run.completed"
          ? "completed"
          : terminal.type === "run.failed"
          ? "failed"
          : "cancelled",
        result,
        error: terminal.type === "run.failed"
          ? terminal.error
          : terminal.type === "run.cancelled"
          ? { code: "cancelled", message: terminal.reason }
          : null,
        exit_code,
        turns,
        ...rest
      }
    }
  }
}

/** The model an agent names, if there is one; a checkout's agent leads no request to another provider. */
const modelOf = ({ definition, parent, report }: SubagentInput): Effect.Effect<string> =>
  Effect.gen(function*() {
    const { model, name, source } = definition
    if (model === null) return parent.model.name
    const models = yield* Effect.serviceOption(Models)
    const resolved = Option.isNone(models) ? null : yield* Effect.option(models.value.resolve(model))
    const provider = resolved !== null && Option.isSome(resolved) ? resolved.value.provider : null
    if (provider !== null && (source !== "project" || provider === parent.model.provider)) return model
    yield* report({
      type: "notice",
      code: "agent_model_ignored",
      message: `the agent ${name} asks for the model ${line(model, 100)}, ${
        provider === null ? "which is not known here" : "and an agent of a project chooses no other provider"
      }; it works with ${parent.model.name}`
    })
    return parent.model.name
  })

/**
 * Runs a subagent to its end. Never fails: what kept it from starting is an end too. Interruption stops it and all it has
 * started; its calls are settled and what it has used is with its parent when this returns.
 *
 * @since 0.1.0
 * @category constructors
 */
export const start = (input: SubagentInput): Effect.Effect<Ended> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const { agent, call_id, definition, parent, report } = input
      if (parent.depth >= maxDepth) {
        return notStarted(
          "depth_limit",
          `the agent ${definition.name} was not started: agents start agents ${maxDepth} deep at the most`,
          ExitCode.limit
        )
      }
      const over = exceeded(parent)
      if (over !== null) {
        return notStarted(
          "max_cost",
          `the agent ${definition.name} was not started: $${
            over.spent.toFixed(4)
          } are spent (--max-cost ${over.limit})`,
          ExitCode.limit
        )
      }
      const label = labelOf(parent, definition.name, input.within)
      const access: ToolAccess = [
        ...parent.access,
        ...definition.access,
        ...(parent.depth + 1 >= maxDepth ? ["no_agents" as const] : [])
      ]
      const child: RunInput = {
        prompt: input.prompt,
        model: yield* restore(modelOf(input)),
        ...(parent.effort === undefined ? {} : { effort: parent.effort }),
        permission_mode: stricter(parent.permission_mode, definition.permission_mode ?? parent.permission_mode),
        max_turns: Math.min(parent.max_turns, definition.max_turns ?? parent.max_turns),
        ...(definition.max_cost_usd === null ? {} : { max_cost_usd: definition.max_cost_usd }),
        ...(parent.system_prompt_append === "" ? {} : { system_prompt_append: parent.system_prompt_append }),
        child: { parent, label, access, title: input.title }
      }
      const followed = follow(input, label)
      const completed = (ended: Ended): Effect.Effect<void> => {
        const terminal = followed.terminal()
        return ended.session_id === null ? Effect.void : report({
          type: "subagent.completed",
          agent: label,
          child_session_id: ended.session_id,
          call_id,
          status: ended.status,
          result: ended.result,
          error: ended.error,
          usage: terminal?.usage ?? { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 },
          cost_usd: terminal?.cost_usd ?? null,
          turns: ended.turns
        })
      }
      // A daemon: an interrupt goes to all fibers below at once, and this one is to hear what the subagent settles.
      const fiber = yield* Effect.forkDaemon(restore(
        Stream.runForEach(agent.run(child), (event) => Effect.forEach(followed.told(event), report, { discard: true }))
          .pipe(
            Effect.as(null),
            Effect.catchAll(({ message, reason: code }) => Effect.succeed({ code, message }))
          )
      ))
      const exit = yield* Effect.exit(restore(Fiber.join(fiber)))
      if (Exit.isSuccess(exit)) {
        const failure = exit.value
        const ended = failure === null
          ? followed.ended()
          : { ...notStarted(failure.code, failure.message, ExitCode.failed), session_id: followed.session_id() }
        yield* completed(ended)
        return ended
      }
      if (!Cause.isInterrupted(exit.cause)) return yield* Effect.failCause(exit.cause)
      // It ends by itself, so that whoever watches sees what it settles and that it has ended; bounded by those ends.
      const session_id = followed.session_id()
      if (session_id !== null) yield* Effect.forkDaemon(agent.interrupt(session_id))
      // In a fiber of its own: further interrupts go to every fiber below this one, and cut no wait short.
      const wait = Effect.forkDaemon(
        Fiber.await(fiber).pipe(Effect.interruptible, Effect.timeoutOption(stopGrace))
      ).pipe(Effect.flatMap(Fiber.join), Effect.map(Option.isSome))
      if (session_id === null || !(yield* wait)) {
        yield* Fiber.interruptFork(fiber)
        yield* wait
      }
      yield* completed(
        followed.terminal() === null
          ? { ...followed.ended(), status: "cancelled", error: { code: "cancelled", message: "interrupted" } }
          : followed.ended()
      )
      return yield* Effect.interrupt
    })
  )

/** Longest final text that goes back whole, in UTF-16 units; of a longer one both ends do. */
const maxResult = 48_000
const headResult = 36_000

/** A final text as a result: bounded, and it says where the whole is. @since 0.1.0 @category combinators */
export const bounded = (text: string, session_id: string | null): string => {
  if (text.length <= maxResult) return text
  const head = text.slice(0, headResult).replace(/[\uD800-\uDBFF]$/u, "")
  const tail = text.slice(text.length - (maxResult - headResult)).replace(/^[\uDC00-\uDFFF]/u, "")
  const left = text.length - head.length - tail.length
  return `${head}\n[... ${left} characters left out; the whole is in the session ${session_id ?? ""} ...]\n${tail}`
}
