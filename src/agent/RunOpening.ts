/**
 * How a run begins: its session, the history of it and the run's own row. Nothing of the run exists before this has
 * succeeded.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AgentError, ExitCode } from "../domain/Failure.ts"
import type { Message } from "../domain/Message.ts"
import { toolCallsOf } from "../domain/MessageParts.ts"
import type { ModelError, ModelsService, ResolvedModel } from "../provider/Models.ts"
import type { StorageError } from "../storage/SessionStore.ts"
import type { RunInput } from "./Agent.ts"
import type { AgentDefinition } from "./AgentDefinition.ts"
import type { RunServices } from "./RunContext.ts"

/** @since 0.1.0 @category models */
export interface OpenedRun {
  readonly session_id: string
  readonly run_id: string
  readonly model: ResolvedModel
  /** The agent that takes the prompt; null = the session's own. */
  readonly definition: AgentDefinition | null
  /** The conversation up to now. */
  readonly messages: Array<Message>
  /** Ids of calls that are taken. */
  readonly used: Set<string>
}

const storageError = (error: StorageError): AgentError =>
  new AgentError({
    reason: error.reason === "session_busy" ? error.reason : "storage",
    message: error.message,
    cause: error
  })

const modelError = (error: ModelError): AgentError =>
  new AgentError({ reason: "model", message: error.message, cause: error })

/**
 * `busy`: this process has a run of the session. What agents in files need is taken from `surroundings`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const open = (
  { ids, models, store, surroundings, workspace }: Pick<RunServices, "ids" | "store" | "workspace"> & {
    readonly models: ModelsService
    readonly surroundings: Context.Context<never>
  },
  input: RunInput,
  busy: (session_id: string) => boolean
): Effect.Effect<OpenedRun, AgentError> =>
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
    if (busy(session_id)) {
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
