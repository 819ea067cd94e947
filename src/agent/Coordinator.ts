/**
 * One run a session: starts it, stops it, hands it input. Home of `Agent.layer`'s service.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { Compactor } from "../compactor/Compactor.ts"
import { Config } from "../config/Config.ts"
import type { AgentEvent, AgentEventBody } from "../domain/AgentEvent.ts"
import { ApiClient } from "../domain/ApiClient.ts"
import type { AgentError } from "../domain/Failure.ts"
import { Ids } from "../domain/Ids.ts"
import { PermissionPrompter } from "../domain/PermissionPrompter.ts"
import * as Streams from "../domain/Streams.ts"
import { CurrentSpan, Telemetry } from "../domain/Telemetry.ts"
import { ToolExecutor } from "../domain/ToolExecutor.ts"
import * as Usage from "../domain/Usage.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Hooks } from "../hooks/Hooks.ts"
import { Lsp } from "../lsp/Lsp.ts"
import { Allowances } from "../permissions/Allowances.ts"
import * as CostLimits from "../provider/CostLimits.ts"
import { Models } from "../provider/Models.ts"
import { Snapshots } from "../snapshots/Snapshots.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { McpAccess } from "../tools/McpAccess.ts"
import type { AgentService, RunInput } from "./Agent.ts"
import * as Checkpoint from "./Checkpoint.ts"
import * as Gate from "./CompactionGate.ts"
import type * as Loop from "./Loop.ts"
import * as PromptExpansion from "./PromptExpansion.ts"
import * as Prompting from "./Prompting.ts"
import * as RunBody from "./RunBody.ts"
import * as RunContext from "./RunContext.ts"
import { drive } from "./RunDriver.ts"
import * as RunEvents from "./RunEvents.ts"
import * as RunHooks from "./RunHooks.ts"
import { open } from "./RunOpening.ts"
import { nodeOf, RunTree } from "./RunTree.ts"
import * as Takeover from "./Takeover.ts"

/** Events a slow consumer may lie behind before the run waits for it. */
const mailboxCapacity = 256

interface ActiveRun {
  readonly cancel: Deferred.Deferred<string>
  readonly ended: Deferred.Deferred<void>
  /** Its own agent works, and not one of a command. */
  readonly listens: boolean
  readonly steering: Array<string>
  readonly followUps: Array<string>
}

/** @since 0.1.0 @category constructors */
export const make = Effect.gen(function*() {
  const models = yield* Models
  const { config } = yield* Config
  const hooks = yield* Hooks
  const prompting = yield* Prompting.make
  const allowances = Option.getOrNull(yield* Effect.serviceOption(Allowances))
  const servers = Option.getOrNull(yield* Effect.serviceOption(McpAccess))
  const lsp = yield* Effect.serviceOption(Lsp)
  const telemetry = Option.getOrNull(yield* Effect.serviceOption(Telemetry))?.recorder ?? null
  const snapshots = Option.getOrNull(yield* Effect.serviceOption(Snapshots))
  const compactor = Option.getOrNull(yield* Effect.serviceOption(Compactor))
  const tree = Option.getOrNull(yield* Effect.serviceOption(RunTree))
  const surroundings = yield* Effect.context<never>()
  const services: RunContext.RunServices = {
    api: yield* ApiClient,
    tools: yield* ToolExecutor,
    store: yield* SessionStore,
    prompters: yield* PermissionPrompter,
    ids: yield* Ids,
    workspace: yield* Workspace
  }
  const { store, workspace } = services
  const limits = CostLimits.make(config.limits, store)
  const active = new Map<string, ActiveRun>()
  const sessions = new Map<string, string>()
  const opening = { ...services, models, surroundings }
  const shared: RunBody.RunBodyServices = {
    prompting,
    allowances,
    servers,
    titles: config.session_titles === "model",
    told_once: new Set(),
    surroundings
  }

  // Uninterruptible as a whole: from the moment the session counts as busy, the driver that frees it must come to be.
  const start = (input: RunInput): Effect.Effect<Streams.Pull<AgentEvent, AgentError>, AgentError, Scope.Scope> =>
    Effect.uninterruptible(Effect.gen(function*() {
      const mailbox = yield* Mailbox.make<AgentEvent, AgentError>({ capacity: mailboxCapacity })
      const run: ActiveRun = {
        cancel: yield* Deferred.make<string>(),
        ended: yield* Deferred.make<void>(),
        listens: input.delegate === undefined,
        steering: [],
        followUps: []
      }
      const opened = yield* open(opening, input, (session_id) => active.has(session_id))
      active.set(opened.session_id, run)
      input.onOpen?.(opened.session_id)
      const { definition, model, run_id, session_id, used } = opened
      const { child } = input

      const traced = telemetry === null ? null : yield* telemetry.run({
        session_id,
        run_id,
        agent: child?.label ?? "",
        provider: model.provider,
        model: model.model,
        permission_mode: input.permission_mode ?? "default",
        prompt: input.prompt
      })
      const events = RunEvents.make(mailbox, opened, traced)
      const { emit } = events
      const runHooks = RunHooks.make(hooks, {
        session_id,
        sessions,
        scope: yield* Effect.scope,
        child: child !== undefined,
        emit
      })

      const budget = compactor?.budget(model.traits.context_window) ?? null
      const state: Loop.RunState = {
        messages: opened.messages,
        turns: 0,
        usage: Usage.empty,
        cost_usd: model.price === null ? null : 0,
        result: "",
        inputs: 0,
        warned: false
      }
      const node = nodeOf(input, {
        session_id,
        run_id,
        model,
        state,
        checkpoint: child === undefined && snapshots !== null && (input.checkpoints ?? config.checkpoints ?? false)
          ? Checkpoint.make(snapshots, {
            session_id,
            cwd: workspace.cwd,
            key: () => `user:${run_id}:${Math.max(0, state.inputs - 1)}`,
            emit
          })
          : null
      })
      // what a subagent is told nobody has typed
      const expansion = PromptExpansion.make(input.command ?? null, child === undefined ? servers : null)
      const context = RunContext.make(services, {
        node,
        hooks: runHooks,
        compaction: compactor === null || budget === null ? null : Gate.make(compactor, budget),
        expansion,
        code: Option.isNone(lsp) ? Effect.succeed("") : lsp.value.context(session_id),
        limits,
        emit: hooks.handles("notification")
          ? (bodies: ReadonlyArray<AgentEventBody>) => Effect.zipRight(emit(bodies), runHooks.notify(bodies))
          : emit,
        used
      })
      const work = RunBody.make(shared, {
        input,
        definition,
        context,
        state,
        inbox: {
          takeSteering: () => run.steering.splice(0),
          takeFollowUp: () => run.followUps.shift()
        },
        expansion,
        events,
        span: traced?.span ?? null,
        agent: service
      })

      const driver = drive(work, { context, state, events, tools: services.tools, cancel: run.cancel }).pipe(
        Effect.ensuring(Effect.suspend(() => {
          active.delete(session_id)
          traced?.end()
          tree?.remove(node)
          // also of a subagent that was stopped: what it has used is used
          if (child !== undefined && child.parent.running.delete(node)) child.parent.absorb(state.usage, state.cost_usd)
          return Effect.zipRight(allowances?.clear(session_id) ?? Effect.void, Deferred.succeed(run.ended, undefined))
        }))
      )

      tree?.add(node)
      child?.parent.running.add(node)
      const spanned = traced === null ? driver : Effect.provideService(driver, CurrentSpan, traced.span)
      yield* spanned.pipe(Effect.interruptible, Mailbox.into(mailbox), Effect.forkScoped)
      if (child === undefined) {
        yield* Effect.forkScoped(Effect.interruptible(Takeover.heed(store, run_id, run.cancel)))
      }
      // Registered last, so that it runs first: a consumer that stops early must not leave the driver waiting in offer.
      yield* Effect.addFinalizer(() => mailbox.shutdown)
      return Effect.matchEffect(mailbox.takeAll, {
        onFailure: (error) => Effect.fail(Option.some(error)),
        onSuccess: ([events, done]) =>
          done && Chunk.isEmpty(events) ? Effect.fail(Option.none()) : Effect.succeed(events)
      })
    }))

  const service: AgentService = {
    run: (input) => Streams.fromPull(start(input)),
    interrupt: (session_id, reason) =>
      Effect.suspend(() => {
        const run = active.get(session_id)
        return run === undefined
          ? Effect.void
          : Effect.zipRight(Deferred.succeed(run.cancel, reason ?? "interrupted"), Deferred.await(run.ended))
      }),
    send: (session_id, content, kind) =>
      Effect.sync(() => {
        const run = active.get(session_id)
        if (run === undefined || !run.listens) return false
        ;(kind === "steer" ? run.steering : run.followUps).push(content)
        return true
      })
  }
  return service
})
