/**
 * What a run does between its first event and its terminal: servers attend, hooks hear of the session, then the loop has
 * the prompt, or an agent of its own, or the conversation is compacted.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { ApiClientService } from "../domain/ApiClient.ts"
import { ExitCode } from "../domain/Failure.ts"
import { CurrentSpan, type Span } from "../domain/Telemetry.ts"
import type { AllowancesService } from "../permissions/Allowances.ts"
import type { StorageError } from "../storage/SessionStore.ts"
import type { McpAccessService } from "../tools/McpAccess.ts"
import type { AgentService, RunInput } from "./Agent.ts"
import type { AgentDefinition } from "./AgentDefinition.ts"
import { samplingClient } from "./Booking.ts"
import * as Loop from "./Loop.ts"
import type { PromptExpansion } from "./PromptExpansion.ts"
import type { Prompting } from "./Prompting.ts"
import type { RunContext } from "./RunContext.ts"
import type { RunEvents } from "./RunEvents.ts"
import { rootOf } from "./RunTree.ts"

/** What all runs of a workspace have in common. @since 0.1.0 @category models */
export interface RunBodyServices {
  readonly prompting: Prompting
  readonly allowances: AllowancesService | null
  readonly servers: McpAccessService | null
  /** New sessions are named by their model. */
  readonly titles: boolean
  /** What is wrong with an instruction file is told once, not at every prompt. */
  readonly told_once: Set<string>
  /** What only an agent of its own needs is taken from here when there is one. */
  readonly surroundings: Context.Context<never>
}

/** @since 0.1.0 @category models */
export interface RunBodyInput {
  readonly input: RunInput
  /** The agent that takes the prompt; null = the session's own. */
  readonly definition: AgentDefinition | null
  readonly context: RunContext
  readonly state: Loop.RunState
  readonly inbox: Loop.Inbox
  readonly expansion: PromptExpansion
  readonly events: RunEvents
  /** Null = nobody watches. */
  readonly span: Span | null
  readonly agent: AgentService
}

const refused = (message: string, code = "prompt_refused"): Loop.RunOutcome => ({
  _tag: "Failed",
  error: { code, message },
  exit_code: ExitCode.failed
})

/** Requests that come from elsewhere than the run's own fiber belong to its span all the same. */
const below = (span: Span, api: ApiClientService): ApiClientService => ({
  sendMessage: (messages, tools, options) =>
    Stream.provideService(api.sendMessage(messages, tools, options), CurrentSpan, span)
})

/** The system prompts of a run; `instructions` are those of servers. */
const systemPrompts = (
  { prompting, told_once }: RunBodyServices,
  { context, events, input }: RunBodyInput,
  instructions: string
): Loop.SystemPrompts => ({
  make: (names) =>
    Effect.gen(function*() {
      const { notices, text } = yield* prompting.make({
        session_id: context.session_id,
        permission_mode: context.permission_mode,
        tools: names,
        servers: instructions,
        append: input.system_prompt_append ?? ""
      })
      const fresh = notices.filter((message) => !told_once.has(message))
      for (const message of fresh) told_once.add(message)
      yield* events.emit(fresh.map((message) => ({ type: "notice", code: "instructions", message })))
      return text
    }),
  compacted: prompting.compacted(context.session_id)
})

/** The conversation is compacted, and nothing else is done. */
const compact = (
  { context, state }: RunBodyInput,
  prompts: Loop.SystemPrompts,
  request: { readonly focus: string; readonly tools: ReadonlyArray<string> }
): Effect.Effect<Loop.RunOutcome, StorageError> =>
  Effect.gen(function*() {
    const { manual } = yield* Effect.promise(() => import("./Compacting.ts"))
    const before = state.messages
    const outcome = yield* manual(context, state, context.compaction, {
      system: { role: "system", content: yield* prompts.make(request.tools) },
      focus: request.focus
    })
    if (state.messages !== before) yield* prompts.compacted
    return outcome
  })

/** The prompt is the task of an agent of its own. */
const delegate = (
  { surroundings }: RunBodyServices,
  { agent, context, events, expansion, input, state }: RunBodyInput,
  definition: AgentDefinition
): Effect.Effect<Loop.RunOutcome, StorageError> =>
  Effect.gen(function*() {
    const { delegated } = yield* Effect.promise(() => import("./Delegation.ts"))
    let prompt = input.prompt
    if (input.command !== undefined) {
      const made = yield* context.expand(prompt)
      if ("refusal" in made) {
        return { ...refused(made.refusal), ...(events.refusedUnasked() ? { exit_code: ExitCode.no_prompter } : {}) }
      }
      prompt = made.content
      expansion.literal()
    }
    return yield* Effect.provide(
      delegated(context, state, { definition, prompt, typed: input.command === undefined, agent }),
      surroundings
    )
  })

/** Up to the outcome of the run; servers attend as long. @since 0.1.0 @category constructors */
export const make = (services: RunBodyServices, run: RunBodyInput): Effect.Effect<Loop.RunOutcome, StorageError> => {
  const { allowances, servers } = services
  const { context, definition, events, inbox, input, span, state } = run
  const { child } = input
  const { emit } = events

  // What servers say before the run has started is told behind its first event.
  let early: Array<AgentEventBody> | null = []
  const attend = servers === null ? Effect.succeed(null) : servers.attend({
    session_id: context.session_id,
    mode: context.permission_mode,
    model: context.model.name,
    ...(child === undefined ? {} : { agent: child.label, grants_session_id: rootOf(context.node).session_id }),
    api: span === null ? samplingClient(context, state) : below(span, samplingClient(context, state)),
    report: (event) =>
      Effect.suspend(() => early === null ? context.emit([event]) : Effect.succeed(void early.push(event)))
  })

  /** The first event, with the tools that there are now. */
  const begin = Effect.gen(function*() {
    const tools = (yield* context.tools.definitions).map((tool) => tool.name)
    yield* emit([{
      type: "run.started",
      model: context.model.name,
      cwd: context.workspace.cwd,
      permission_mode: context.permission_mode,
      tools
    }])
    const told = early ?? []
    early = null
    yield* emit(told)
    return tools
  })

  return Effect.scoped(Effect.gen(function*() {
    // a run that is stopped while servers start has begun all the same
    const attendance = input.compact === undefined ? yield* Effect.onInterrupt(attend, () => begin) : null
    const tools = yield* begin
    if (attendance !== null && attendance.refusal !== null) {
      return refused(attendance.refusal, "mcp_required")
    }
    if (input.command !== undefined) {
      const { allows, kind, name } = input.command
      yield* allowances?.add(
        context.session_id,
        allows.map((tool_pattern) => ({ tool_pattern, by: kind === "skill" ? `the skill ${name}` : `/${name}` }))
      ) ?? Effect.void
    }
    yield* context.hooks.sessionStart(input.session_id === undefined ? "new" : "resumed", context.model.name)
    const prompts = systemPrompts(services, run, attendance?.instructions ?? "")
    if (input.compact !== undefined) return yield* compact(run, prompts, { focus: input.compact.focus, tools })
    if (definition !== null) return yield* delegate(services, run, definition)
    const denied = yield* Loop.appendUser(context, state, input.prompt)
    if (denied !== null) {
      // an insert that nobody could be asked about
      return denied._tag === "Failed" && events.refusedUnasked()
        ? { ...denied, exit_code: ExitCode.no_prompter }
        : denied
    }
    const titled = services.titles && input.session_id === undefined && child === undefined
      ? yield* (yield* Effect.promise(() => import("./Titling.ts"))).begin(context, state)
      : null
    const outcome = yield* Loop.run(context, state, inbox, prompts)
    if (titled !== null) yield* titled.wait
    return outcome
  }))
}
