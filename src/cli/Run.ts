/**
 * `hanzo-dev run`: prompts to their ends without a person, the answer on stdout in one of three formats (architecture
 * section 5).
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { RunInput } from "../agent/Agent.ts"
import type { AgentEvent, TerminalEvent } from "../domain/AgentEvent.ts"
import type { AgentError } from "../domain/Failure.ts"
import { ExitCode } from "../domain/Failure.ts"
import type { Part } from "../domain/Message.ts"
import { textOf } from "../domain/MessageParts.ts"
import { empty } from "../domain/Usage.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import { Models } from "../provider/Models.ts"
import { SessionStore, type StorageError } from "../storage/SessionStore.ts"
import { agentExit, drive, type Outcome } from "./Drive.ts"
import { CliExit, failed, usage } from "./Exit.ts"
import { soundConfig, stderrStyle, stdoutExit } from "./Output.ts"
import * as Prompt from "./Prompt.ts"
import type { RunResult } from "./Schemas.ts"
import type * as Spec from "./Spec.ts"
import { warnUntrusted } from "./TrustQuestion.ts"
import * as View from "./View.ts"

/** @since 0.1.0 @category models */
export type RunValues = Omit<Spec.Values<typeof Spec.run>, "command">

/** The values that every command that runs the agent has; only a conversation lets the person choose. @since 0.1.0 @category models */
export type AgentValues = Omit<Spec.Values<typeof Spec.conversation>, "resume"> & { readonly resume?: boolean }

const found = (error: StorageError): CliExit =>
  error.reason === "not_found" ? usage(...error.message.split("\n")) : failed(error.message)

/**
 * The session to go on with: none, the latest of this project, the one with this id, a copy of it, or the one that is
 * chosen from a list; undefined there = nobody chose.
 *
 * @since 0.1.0
 * @category combinators
 */
export const sessionOf = (
  values: Pick<AgentValues, "continue" | "fork" | "resume" | "session" | "takeover">
): Effect.Effect<string | undefined, CliExit, Environment | SessionStore | Workspace> =>
  Effect.gen(function*() {
    const wanted = values.session ?? values.fork
    if (!values.continue && values.resume !== true && wanted === undefined) {
      if (values.takeover) {
        return yield* usage("--takeover needs the session to take over", "name it with --session ID, or --continue")
      }
      return undefined
    }
    const store = yield* SessionStore
    if (values.resume === true) {
      const { pick } = yield* Effect.promise(() => import("./Pick.ts"))
      const chosen = yield* pick()
      // who leaves the list asked for no new session
      return chosen ?? (yield* new CliExit({ exit_code: ExitCode.interrupted, lines: ["no session was chosen"] }))
    }
    if (wanted !== undefined) {
      const session = yield* Effect.mapError(store.find(wanted), found)
      if (values.fork === undefined) return session.id
      const { forked } = yield* Effect.promise(() => import("./Forked.ts"))
      return (yield* Effect.mapError(forked(session.id), found)).id
    }
    const { root } = yield* Workspace
    const latest = yield* Effect.mapError(store.latest(root), (error) => failed(error.message))
    if (Option.isNone(latest)) return yield* usage(`there is no session of ${root} to continue`)
    return latest.value.id
  })

/**
 * The model must be known and have a credential before anything starts; a cost limit needs its price (exit code 2).
 *
 * @since 0.1.0
 * @category combinators
 */
export const modelOf = (
  values: Pick<AgentValues, "model" | "max-cost">
): Effect.Effect<string, CliExit, Models> =>
  Effect.gen(function*() {
    const models = yield* Models
    const model = yield* Effect.mapError(models.resolve(values.model), (error) => usage(...error.message.split("\n")))
    if (values["max-cost"] !== undefined && model.price === null) {
      return yield* usage(
        `--max-cost needs a price, and ${model.name} has none`,
        `set providers.${model.provider}.models["${model.model}"].price in the settings`
      )
    }
    return model.name
  })

/** What the options say about every run of the command. @since 0.1.0 @category constructors */
export const inputOf = (values: AgentValues): Omit<RunInput, "prompt" | "session_id"> => ({
  ...(values.model === undefined ? {} : { model: values.model }),
  ...(values["permission-mode"] === undefined ? {} : { permission_mode: values["permission-mode"] }),
  ...(values["max-turns"] === undefined ? {} : { max_turns: values["max-turns"] }),
  ...(values["max-cost"] === undefined ? {} : { max_cost_usd: values["max-cost"] }),
  ...(values.checkpoints || values["no-checkpoints"] ? { checkpoints: values.checkpoints } : {}),
  ...(values["system-prompt-append"] === undefined ? {} : { system_prompt_append: values["system-prompt-append"] })
})

const ofTerminal = (terminal: TerminalEvent, exit_code: number): RunResult => ({
  v: 1,
  session_id: terminal.session_id,
  status: terminal.type === "run.completed" ? "completed" : terminal.type === "run.failed" ? "failed" : "cancelled",
  exit_code,
  result: terminal.result,
  usage: terminal.usage,
  cost_usd: terminal.cost_usd,
  turns: terminal.turns,
  error: terminal.type === "run.failed"
    ? terminal.error
    : terminal.type === "run.cancelled"
    ? { code: "cancelled", message: terminal.reason }
    : null
})

const withoutTerminal = (
  session_id: string | null,
  status: "failed" | "cancelled",
  exit_code: number,
  error: { readonly code: string; readonly message: string }
): RunResult => ({ v: 1, session_id, status, exit_code, result: "", usage: empty, cost_usd: null, turns: 0, error })

/** The one object of `--output-format json`. @since 0.1.0 @category encoding */
export const resultOf = ({ exit_code, session_id, signal, terminal }: Outcome): RunResult =>
  terminal !== null
    ? ofTerminal(terminal, exit_code)
    : signal === null
    ? withoutTerminal(session_id, "failed", exit_code, {
      code: "no_end",
      message: "the run ended without saying how"
    })
    : withoutTerminal(session_id, "cancelled", exit_code, { code: "cancelled", message: "stopped at once" })

/** One line an event, as it stands. @since 0.1.0 @category encoding */
export const eventLines = (events: Iterable<AgentEvent>): string => {
  let text = ""
  for (const event of events) text += `${JSON.stringify(event)}\n`
  return text
}

/**
 * `special` is what the caller adds to what the options say of every run, what it says when there is no prompt, and which
 * command of the user's own the prompts are for.
 *
 * @since 0.1.0
 * @category combinators
 */
export const execute = Effect.fnUntraced(function*(
  values: RunValues,
  special: {
    readonly input?: Partial<RunInput>
    readonly missing?: CliExit
    /** The prompts are arguments of this command of the user's own. */
    readonly command?: string
  } = {}
) {
  const terminal = yield* Terminal
  const environment = yield* Environment
  const style = yield* stderrStyle
  const format = values["output-format"] ?? "text"
  const streaming = values["input-format"] === "stream-json"
  yield* soundConfig
  yield* warnUntrusted
  // read before the session is looked up: a mistake in the prompt is told before anything is touched
  const prompts: Stream.Stream<string | ReadonlyArray<Part>, CliExit, Terminal> = streaming
    ? Prompt.fromLines(values.args[0])
    : Stream.make(
      yield* special.command === undefined
        ? Prompt.fromText(values.args[0], special.missing)
        : Prompt.argumentsFrom(values.args[0])
    )
  yield* modelOf(values)
  let session_id = yield* sessionOf(values)
  let takeover = values.takeover
  const columns = yield* terminal.columns
  const live = format === "text" && environment.stdout_is_tty
  let exit_code: number = ExitCode.done
  let last: RunResult | undefined

  /** The prompt, or the call of the command with it as arguments. */
  const promptOf = (given: string | ReadonlyArray<Part>) =>
    Effect.gen(function*() {
      const { command } = special
      if (command === undefined) return { prompt: given, input: {} }
      const { called, listed } = yield* Effect.promise(() => import("./CustomCommands.ts"))
      const prompt = `/${command} ${typeof given === "string" ? given : textOf({ role: "user", content: given })}`
      const found = yield* called(prompt, values)
      if (found === null) return yield* usage(`there is no command ${JSON.stringify(command)}`, yield* listed)
      return "refusal" in found ? yield* usage(found.refusal) : { prompt, input: found.input }
    })

  const one = (given: string | ReadonlyArray<Part>) =>
    Effect.gen(function*() {
      const { input, prompt } = yield* promptOf(given)
      const view = View.make({ style, columns, answer: live, progress: environment.stderr_is_tty })
      const show = (events: Chunk.Chunk<AgentEvent>) => {
        const pieces = Chunk.toReadonlyArray(events).flatMap(view.push)
        return pieces.length === 0
          ? Effect.void
          : Effect.forEach(
            pieces,
            ({ text, to }) => to === "answer" ? terminal.out(text) : terminal.err(text),
            { discard: true }
          )
      }
      let seen: TerminalEvent | null = null
      const outcome = yield* drive(
        {
          ...inputOf(values),
          ...special.input,
          ...input,
          prompt,
          ...(session_id === undefined ? {} : { session_id }),
          ...(takeover ? { takeover } : {})
        },
        (events) => {
          const end = Chunk.last(events)
          if (Option.isSome(end) && "exit_code" in end.value) seen = end.value
          return Effect.zipRight(
            format === "stream-json" ? terminal.out(eventLines(events)) : Effect.void,
            show(events)
          )
        }
      ).pipe(
        Effect.catchTag("TerminalError", (error) =>
          // nobody reads any more: the run was stopped and settled, there is nobody to tell
          error.reason === "closed"
            ? new CliExit({ exit_code: (seen as TerminalEvent | null)?.exit_code ?? ExitCode.interrupted, lines: [] })
            : stdoutExit(error)),
        Effect.catchTag("AgentError", (error: AgentError) => {
          const exit = agentExit(error)
          last = withoutTerminal(session_id ?? null, "failed", exit.exit_code, {
            code: error.reason,
            message: error.message
          })
          return exit
        })
      )
      session_id = outcome.session_id ?? session_id
      // Once: what another process begins after that is its own.
      takeover = false
      last = resultOf(outcome)
      if (exit_code === ExitCode.done) exit_code = outcome.exit_code
      if (format === "text" && !live && last.result !== "") {
        yield* Effect.mapError(
          terminal.out(last.result.endsWith("\n") ? last.result : `${last.result}\n`),
          (error) => new CliExit({ ...stdoutExit(error), exit_code: error.reason === "closed" ? exit_code : 1 })
        )
      }
      if (outcome.signal !== null) return yield* new CliExit({ exit_code: outcome.exit_code, lines: [] })
    })

  let unwritten: CliExit | undefined
  // printed however the runs ended: what cannot be printed is told with, not in place of, how they ended
  const printLast = Effect.suspend(() =>
    format === "json" && last !== undefined
      ? Effect.catchAll(terminal.out(`${JSON.stringify(last)}\n`), (error) =>
        Effect.sync(() => {
          if (error.reason !== "closed") unwritten = stdoutExit(error)
        }))
      : Effect.void
  )
  yield* Stream.runForEach(prompts, one).pipe(
    Effect.ensuring(printLast),
    Effect.mapError((exit) =>
      unwritten === undefined
        ? exit
        : new CliExit({ exit_code: exit.exit_code, lines: [...exit.lines, ...unwritten.lines] })
    )
  )
  if (unwritten !== undefined) return yield* unwritten
  if (last === undefined) return yield* Prompt.noPromptExit
  return exit_code
})
