/**
 * One run a session: starts it, stops it, hands it input, writes its terminal. Home of `Agent.layer`'s service.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Compactor } from "../compactor/Compactor.ts"
import { Config } from "../config/Config.ts"
import type { AgentEvent, AgentEventBody } from "../domain/AgentEvent.ts"
import { AgentError, ExitCode } from "../domain/Failure.ts"
import { Ids } from "../domain/Ids.ts"
import { textOf, toolCallsOf } from "../domain/MessageParts.ts"
import { PermissionPrompter, type PermissionPrompterService } from "../domain/PermissionPrompter.ts"
import { ApiClient, type ApiClientService } from "../domain/ApiClient.ts"
import { CurrentSpan, type Span, Telemetry } from "../domain/Telemetry.ts"
import * as Streams from "../domain/Streams.ts"
import { ToolExecutor } from "../domain/ToolExecutor.ts"
import * as Usage from "../domain/Usage.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Allowances } from "../permissions/Allowances.ts"
import { Hooks } from "../hooks/Hooks.ts"
import type { Invocation } from "../instructions/Catalogue.ts"
import { Lsp } from "../lsp/Lsp.ts"
import { rounded } from "../provider/Cost.ts"
import * as CostLimits from "../provider/CostLimits.ts"
import { type ModelError, Models } from "../provider/Models.ts"
import { Snapshots } from "../snapshots/Snapshots.ts"
import { SessionStore, type StorageError } from "../storage/SessionStore.ts"
import { McpAccess } from "../tools/McpAccess.ts"
import { restricted } from "../tools/ToolAccess.ts"
import type { AgentService, RunInput } from "./Agent.ts"
import { samplingClient } from "./Booking.ts"
import * as Checkpoint from "./Checkpoint.ts"
import * as Gate from "./CompactionGate.ts"
import * as Loop from "./Loop.ts"
import * as Prompting from "./Prompting.ts"
import type { RunContext, RunServices } from "./RunContext.ts"
import * as RunHooks from "./RunHooks.ts"
import { rootOf, type RunNode, RunTree } from "./RunTree.ts"

/** Model requests of one prompt unless said otherwise (reading 2.8). @since 0.1.0 @category constants */
export const defaultMaxTurns = 100

/** A run looks this often (milliseconds) at the least whether another process wants its session. */
const stopPollMost = 3000

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

const storageError = (error: StorageError): AgentError =>
  new AgentError({
    reason: error.reason === "session_busy" ? error.reason : "storage",
    message: error.message,
    cause: error
  })

const refused = (message: string, code = "prompt_refused"): Loop.RunOutcome => ({
  _tag: "Failed",
  error: { code, message },
  exit_code: ExitCode.failed
})

const modelError = (error: ModelError): AgentError =>
  new AgentError({ reason: "model", message: error.message, cause: error })

/** Questions of a subagent carry its name. */
const named = (agent: string) => (prompter: PermissionPrompterService): PermissionPrompterService => ({
  name: prompter.name,
  requestPermission: (tool_name, input, context) => prompter.requestPermission(tool_name, input, { ...context, agent }),
  ...(prompter.ask === undefined
    ? {}
    : {
      ask: (question, context) =>
        prompter.ask?.(question, { ...context, agent }) ?? Effect.succeed({ action: "escalate" })
    })
})

/** Requests that come from elsewhere than the run's own fiber belong to its span all the same. */
const below = (span: Span, api: ApiClientService): ApiClientService => ({
  sendMessage: (messages, tools, options) =>
    Stream.provideService(api.sendMessage(messages, tools, options), CurrentSpan, span)
})

/** @since 0.1.0 @category constructors */
export const make = Effect.gen(function*() {
  const models = yield* Models
  const config = yield* Config
  const hooks = yield* Hooks
  const prompting = yield* Prompting.make
  const allowances = Option.getOrNull(yield* Effect.serviceOption(Allowances))
  const servers = yield* Effect.serviceOption(McpAccess)
  const lsp = yield* Effect.serviceOption(Lsp)
  const telemetry = Option.getOrNull(yield* Effect.serviceOption(Telemetry))?.recorder ?? null
  const snapshots = Option.getOrNull(yield* Effect.serviceOption(Snapshots))
  const compactor = Option.getOrNull(yield* Effect.serviceOption(Compactor))
  const tree = Option.getOrNull(yield* Effect.serviceOption(RunTree))
  // What only an agent of its own needs is taken from here when there is one.
  const surroundings = yield* Effect.context<never>()
  const services: RunServices = {
    api: yield* ApiClient,
    tools: yield* ToolExecutor,
    store: yield* SessionStore,
    prompters: yield* PermissionPrompter,
    ids: yield* Ids,
    workspace: yield* Workspace
  }
  const { ids, store, workspace } = services
  const limits = CostLimits.make(config.config.limits, store)
  const active = new Map<string, ActiveRun>()
  // What is wrong with an instruction file is told once, not at every prompt.
  const toldOnce = new Set<string>()
  const sessions = new Map<string, string>()

  /** The session, its history and the run's own row; nothing of the run exists before this has succeeded. */
  const open = (input: RunInput) =>
    Effect.gen(function*() {
      const empty = typeof input.prompt === "string" ? input.prompt.trim() === "" : input.prompt.length === 0
      if (empty && input.compact === undefined) {
        return yield* new AgentError({ reason: "invalid_input", message: "the prompt is empty" })
      }
      if (input.compact !== undefined && input.session_id === undefined) {
        return yield* new AgentError({ reason: "invalid_input", message: "there is no session to compact" })
      }
      const definition = input.delegate === undefined ? null : yield* Effect.provide(
        Effect.flatMap(
          Effect.promise(() => import("./Delegation.ts")),
          (delegation) => delegation.find(input.delegate?.agent ?? "")
        ),
        surroundings
      )
      const model = yield* Effect.mapError(models.resolve(input.model), modelError)
      const session_id = input.session_id ?? (yield* ids.session)
      if (active.has(session_id)) {
        return yield* new AgentError({ reason: "session_busy", message: `session ${session_id} has a run already` })
      }
      if (input.session_id === undefined) {
        yield* store.create({
          id: session_id,
          workspace: workspace.root,
          provider: model.provider,
          model: model.model,
          ...(input.child === undefined ? {} : {
            parent_session_id: input.child.parent.session_id,
            source: "subagent",
            title: input.child.title
          })
        })
      } else if (Option.isNone(yield* store.get(session_id))) {
        return yield* new AgentError({
          reason: "session_not_found",
          message: `there is no session ${session_id}; \`hanzo-dev sessions list --all\` shows what there is`
        })
      }
      const run_id = yield* ids.run
      const takeover = input.takeover === true
      if (takeover) yield* Effect.interruptible(store.askToStop(session_id))
      yield* store.beginRun({ id: run_id, session_id, model: model.name, takeover })
      // Read once the session is ours: a run of another process that has just ended belongs to it.
      const messages = yield* Effect.tapError(
        store.history(session_id),
        ({ message, reason: code }) =>
          Effect.ignore(
            store.endRun(run_id, { status: "failed", turns: 0, exit_code: ExitCode.failed, error: { code, message } })
          )
      )
      const used = new Set<string>()
      // Compacted and hidden calls are not in the history, and their ids are taken all the same: they are keys of the record.
      if (input.session_id !== undefined) {
        for (const id of yield* store.callIds(session_id)) used.add(id)
      }
      for (const message of messages) {
        for (const call of toolCallsOf(message)) used.add(call.id)
      }
      return { definition, model, session_id, run_id, used, messages: [...messages] }
    }).pipe(Effect.catchTag("StorageError", (error) => Effect.fail(storageError(error))))

  /** Another process may want the session: it says so in the record. */
  const heedStop = (run_id: string, cancel: Deferred.Deferred<string>): Effect.Effect<void> =>
    Effect.gen(function*() {
      for (let pause = 1000;; pause = Math.min(stopPollMost, pause + 100)) {
        yield* Effect.sleep(pause)
        const asked = yield* Effect.option(store.stopAsked(run_id))
        const by = Option.getOrNull(Option.flatten(asked))
        if (by !== null) return yield* Deferred.succeed(cancel, `process ${by} takes the session over`)
      }
    })

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
      const opened = yield* open(input)
      active.set(opened.session_id, run)
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

      let seq = 0
      let refusedUnasked = false
      const emit = (bodies: ReadonlyArray<AgentEventBody>): Effect.Effect<void> =>
        Effect.suspend(() => {
          if (bodies.length === 0) return Effect.void
          traced?.observe(bodies)
          const events = bodies.map((body): AgentEvent => {
            const told = body.type === "subagent.event" ? body.event : body
            if (told.type === "permission.decided" && told.decided_by === "no_prompter") refusedUnasked = true
            return { v: 1, seq: seq++, session_id, run_id, ...body }
          })
          return mailbox.offerAll(events)
        })

      const runHooks = RunHooks.make(hooks, {
        session_id,
        sessions,
        scope: yield* Effect.scope,
        child: child !== undefined,
        emit
      })
      const heard = hooks.handles("notification")
        ? (bodies: ReadonlyArray<AgentEventBody>) => Effect.zipRight(emit(bodies), runHooks.notify(bodies))
        : emit

      const budget = compactor?.budget(model.traits.context_window) ?? null
      let items = 0
      const stem = run_id.slice(run_id.indexOf("_") + 1)
      const state: Loop.RunState = {
        messages: opened.messages,
        turns: 0,
        usage: Usage.empty,
        cost_usd: model.price === null ? null : 0,
        result: "",
        inputs: 0,
        warned: false
      }
      const node: RunNode = {
        session_id,
        run_id,
        parent: child?.parent ?? null,
        depth: child === undefined ? 0 : child.parent.depth + 1,
        label: child?.label ?? "",
        access: child?.access ?? [],
        permission_mode: input.permission_mode ?? "default",
        model,
        effort: input.effort,
        max_turns: input.max_turns ?? defaultMaxTurns,
        max_cost_usd: input.max_cost_usd ?? null,
        system_prompt_append: input.system_prompt_append ?? "",
        checkpoint:
          child === undefined && snapshots !== null && (input.checkpoints ?? config.config.checkpoints ?? false)
            ? Checkpoint.make(snapshots, {
              session_id,
              cwd: workspace.cwd,
              key: () => `user:${run_id}:${Math.max(0, state.inputs - 1)}`,
              emit
            })
            : null,
        messages: () => state.messages,
        cost: () => state.cost_usd,
        absorb: (usage, cost_usd) => {
          state.usage = Usage.add(state.usage, usage)
          if (cost_usd !== null) state.cost_usd = rounded((state.cost_usd ?? 0) + cost_usd)
        },
        running: new Set()
      }
      // what a subagent is told nobody has typed
      const expandTyped: RunContext["expand"] = Option.isSome(servers) && child === undefined
        ? servers.value.expand
        : (content) => Effect.succeed({ content, problems: [] })
      // The next prompt is that of a command, or one that came out of it, in which nothing is expanded again.
      let pending: Invocation | "literal" | null = input.command ?? null
      const context: RunContext = {
        ...services,
        tools: restricted(services.tools, child?.access ?? [], child?.label ?? ""),
        prompters: child === undefined ? services.prompters : services.prompters.map(named(child.label)),
        hooks: runHooks,
        compaction: compactor === null || budget === null ? null : Gate.make(compactor, budget),
        expand: (content) => {
          const command = pending
          pending = null
          if (command === "literal") return Effect.succeed({ content, problems: [] })
          return command === null ? expandTyped(content) : Effect.flatMap(
            Effect.promise(() => import("./CommandInserts.ts")),
            (inserts) => inserts.expand(context, command, textOf({ role: "user", content }))
          )
        },
        code: Option.isNone(lsp) ? Effect.succeed("") : lsp.value.context(session_id),
        session_id,
        run_id,
        model,
        permission_mode: node.permission_mode,
        send: {
          model: model.name,
          session_id,
          booked: true,
          ...(input.effort === undefined ? {} : { effort: input.effort })
        },
        max_turns: node.max_turns,
        max_cost_usd: node.max_cost_usd,
        node,
        limits,
        emit: heard,
        nextItemId: () => `item_${stem}_${items++}`,
        claimCallId: (id) => {
          let unique = id === "" ? `call_${stem}_${used.size}` : id
          for (let n = 2; used.has(unique); n++) unique = `${id}_${n}`
          used.add(unique)
          return unique
        }
      }
      const inbox: Loop.Inbox = {
        takeSteering: () => run.steering.splice(0),
        takeFollowUp: () => run.followUps.shift()
      }

      // What servers say before the run has started is told behind its first event.
      let early: Array<AgentEventBody> | null = []
      const attend = Option.isNone(servers) ? Effect.succeed(null) : servers.value.attend({
        session_id,
        mode: context.permission_mode,
        model: model.name,
        ...(child === undefined ? {} : { agent: child.label, grants_session_id: rootOf(node).session_id }),
        api: traced === null
          ? samplingClient(context, state)
          : below(traced.span, samplingClient(context, state)),
        report: (event) =>
          Effect.suspend(() => early === null ? heard([event]) : Effect.succeed(void early.push(event)))
      })

      const work = Effect.scoped(Effect.gen(function*() {
        const attendance = input.compact === undefined ? yield* attend : null
        const tools = yield* context.tools.definitions
        yield* emit([{
          type: "run.started",
          model: model.name,
          cwd: workspace.cwd,
          permission_mode: context.permission_mode,
          tools: tools.map((tool) => tool.name)
        }])
        const told = early ?? []
        early = null
        yield* emit(told)
        if (attendance !== null && attendance.refusal !== null) {
          return refused(attendance.refusal, "mcp_required")
        }
        if (input.command !== undefined) {
          const { allows, kind, name } = input.command
          yield* allowances?.add(
            session_id,
            allows.map((tool_pattern) => ({ tool_pattern, by: kind === "skill" ? `the skill ${name}` : `/${name}` }))
          ) ?? Effect.void
        }
        yield* runHooks.sessionStart(input.session_id === undefined ? "new" : "resumed", model.name)
        const prompts: Loop.SystemPrompts = {
          make: (names) =>
            Effect.gen(function*() {
              const { notices, text } = yield* prompting.make({
                session_id,
                permission_mode: context.permission_mode,
                tools: names,
                servers: attendance?.instructions ?? "",
                append: input.system_prompt_append ?? ""
              })
              const fresh = notices.filter((message) => !toldOnce.has(message))
              for (const message of fresh) toldOnce.add(message)
              yield* emit(fresh.map((message) => ({ type: "notice", code: "instructions", message })))
              return text
            }),
          compacted: prompting.compacted(session_id)
        }
        if (input.compact !== undefined) {
          const { manual } = yield* Effect.promise(() => import("./Compacting.ts"))
          const before = state.messages
          const outcome = yield* manual(context, state, context.compaction, {
            system: { role: "system", content: yield* prompts.make(tools.map((tool) => tool.name)) },
            focus: input.compact.focus
          })
          if (state.messages !== before) yield* prompts.compacted
          return outcome
        }
        if (definition !== null) {
          const { delegated } = yield* Effect.promise(() => import("./Delegation.ts"))
          let prompt = input.prompt
          if (input.command !== undefined) {
            const made = yield* context.expand(prompt)
            if ("refusal" in made) {
              return { ...refused(made.refusal), ...(refusedUnasked ? { exit_code: ExitCode.no_prompter } : {}) }
            }
            prompt = made.content
            pending = "literal"
          }
          return yield* Effect.provide(
            delegated(context, state, { definition, prompt, typed: input.command === undefined, agent: service }),
            surroundings
          )
        }
        const denied = yield* Loop.appendUser(context, state, input.prompt)
        if (denied !== null) {
          // an insert that nobody could be asked about
          return denied._tag === "Failed" && refusedUnasked ? { ...denied, exit_code: ExitCode.no_prompter } : denied
        }
        const titled = input.session_id === undefined && child === undefined && config.config.session_titles === "model"
          ? yield* (yield* Effect.promise(() => import("./Titling.ts"))).begin(context, state)
          : null
        const outcome = yield* Loop.run(context, state, inbox, prompts)
        if (titled !== null) yield* titled.wait
        return outcome
      }))

      const summary = () => ({ result: state.result, usage: state.usage, cost_usd: state.cost_usd, turns: state.turns })

      const terminalOf = (exit: Exit.Exit<Loop.RunOutcome, StorageError>, reason: string) => {
        if (Exit.isSuccess(exit)) {
          const outcome = exit.value
          return outcome._tag === "Completed"
            ? {
              status: "completed" as const,
              event: {
                type: "run.completed" as const,
                ...summary(),
                exit_code: refusedUnasked ? ExitCode.no_prompter : ExitCode.done,
                stop_reason: outcome.stop_reason
              }
            }
            : {
              status: "failed" as const,
              error: outcome.error,
              event: { type: "run.failed" as const, ...summary(), exit_code: outcome.exit_code, error: outcome.error }
            }
        }
        const failure = Cause.failureOption(exit.cause)
        if (Option.isNone(failure) && Cause.isInterrupted(exit.cause)) {
          return {
            status: "cancelled" as const,
            event: { type: "run.cancelled" as const, ...summary(), exit_code: ExitCode.interrupted, reason }
          }
        }
        const error = Option.isSome(failure)
          ? { code: "storage", message: `the session could not be recorded: ${failure.value.message}` }
          : { code: "internal", message: "hanzo-dev failed; this is a bug, the log has the details" }
        return {
          status: "failed" as const,
          error,
          event: { type: "run.failed" as const, ...summary(), exit_code: ExitCode.failed, error }
        }
      }

      const driver = Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          const fiber = yield* Effect.fork(restore(work))
          // Either the work ends by itself, or someone asks for its end, or the consumer has gone and this fiber is interrupted.
          const ended = yield* restore(
            Effect.raceFirst(Effect.as(Fiber.await(fiber), "consumer gone"), Deferred.await(run.cancel))
          ).pipe(Effect.exit)
          yield* Fiber.interrupt(fiber)
          const exit = yield* Fiber.await(fiber)
          if (Exit.isFailure(exit) && Cause.isDie(exit.cause)) yield* Effect.logError(Cause.pretty(exit.cause))
          // nobody sees the background commands of a subagent any more
          if (child !== undefined) yield* services.tools.release?.(session_id) ?? Effect.void
          const terminal = terminalOf(exit, Exit.isSuccess(ended) ? ended.value : "consumer gone")
          // Interruptible: whoever stops a second time, or has gone, waits for no hook.
          yield* restore(runHooks.stop({
            status: terminal.status,
            exit_code: terminal.event.exit_code,
            result: state.result
          })).pipe(Effect.exit)
          if (node.checkpoint !== null) yield* restore(node.checkpoint.after).pipe(Effect.exit)
          // Stored first, then offered.
          yield* store.endRun(run_id, {
            status: terminal.status,
            turns: state.turns,
            exit_code: terminal.event.exit_code,
            ...(terminal.error === undefined ? {} : { error: terminal.error })
          }).pipe(Effect.catchAll((error) =>
            // a run that failed for the same reason says so itself
            terminal.error?.code === "storage"
              ? Effect.void
              : emit([{
                type: "notice",
                code: "not_recorded",
                message: `the end of this run could not be recorded: ${error.message}`
              }])
          ))
          yield* emit([terminal.event])
        })
      ).pipe(
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
      if (child === undefined) yield* Effect.forkScoped(Effect.interruptible(heedStop(run_id, run.cancel)))
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
