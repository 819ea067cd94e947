/**
 * The conversation: a person types, the agent answers, line by line. Scrollback and editing stay the terminal's own.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { RunInput } from "../agent/Agent.ts"
import { nearest } from "../codec/Distance.ts"
import { line } from "../codec/TerminalText.ts"
import type { ConfigService } from "../config/Config.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Workspace } from "../domain/Workspace.ts"
import type { Invocation } from "../instructions/Catalogue.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import { Models } from "../provider/Models.ts"
import { agentExit, drive } from "./Drive.ts"
import { CliExit, usage } from "./Exit.ts"
import { issueText, soundConfig, stderrStyle, stdoutExit } from "./Output.ts"
import type { Shared } from "./Prompter.ts"
import { type AgentValues, inputOf, modelOf, sessionOf } from "./Run.ts"
import type { Talk } from "./slash/Slash.ts"
import { slashes } from "./slash/Table.ts"
import { program } from "./Spec.ts"
import { version } from "./Version.ts"
import * as View from "./View.ts"

/** What was typed: a command of the conversation, an unknown one, or something for the agent. @since 0.1.0 @category models */
export type Typed =
  | { readonly kind: "nothing" }
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "command"; readonly name: string; readonly argument: string }
  | { readonly kind: "unknown"; readonly name: string; readonly near: string | undefined }

const ownHelp = {
  help: "show this",
  new: "begin a new session",
  model: "say or set the model: /model [MODEL]",
  reload: "apply settings that have changed; background commands end",
  exit: "leave (also Ctrl-D, or Ctrl-C twice)"
} as const

type OwnName = keyof typeof ownHelp

const isOwn = (name: string): name is OwnName => Object.hasOwn(ownHelp, name)

const { exit: exitHelp, reload: reloadHelp, ...first } = ownHelp

/** Every command of the conversation and its line of help, in order. @since 0.1.0 @category constants */
export const commandHelp: Readonly<Record<string, string>> = {
  ...first,
  ...Object.fromEntries(Object.entries(slashes).map(([name, { help }]) => [name, help])),
  reload: reloadHelp,
  exit: exitHelp
}

const names = Object.keys(commandHelp)

const helpWidth = Math.max(10, ...names.map((one) => one.length + 2))

/** What commands of the user's own cannot be called. */
const taken: ReadonlySet<string> = new Set([...names, "quit"])

/** The name of a command in a folder, which no path looks like: `/git:log`; null = the text calls none. */
const namespaced = (text: string): string | null =>
  /^\/([\p{L}\p{N}_.-]+(?::[\p{L}\p{N}_.-]+)+)(?:[ \t][^\n]*)?$/u.exec(text.trim())?.[1] ?? null

const customCommands = Effect.promise(() => import("./CustomCommands.ts"))

/**
 * A line that begins with a slash and a word is a command; a path (`/etc/hosts is wrong`), a lone slash or several lines
 * are for the agent, unless the command takes several.
 *
 * @since 0.1.0
 * @category decoding
 */
export const typedOf = (text: string): Typed => {
  const trimmed = text.trim()
  if (trimmed === "") return { kind: "nothing" }
  const found = /^\/([A-Za-z-]+)(?:\s+([\s\S]*))?$/.exec(trimmed)
  const name = found?.[1]?.toLowerCase()
  if (name === undefined) return { kind: "prompt", text }
  if (trimmed.includes("\n") && !(Object.hasOwn(slashes, name) && slashes[name]?.lines === true)) {
    return { kind: "prompt", text }
  }
  if (name === "quit") return { kind: "command", name: "exit", argument: "" }
  return Object.hasOwn(commandHelp, name)
    ? { kind: "command", name, argument: (found?.[2] ?? "").trim() }
    : { kind: "unknown", name, near: nearest(name, names) }
}

/** What a conversation takes along when its workspace is built anew. @since 0.1.0 @category models */
export interface Going {
  readonly session_id?: string
  /** The model that was chosen in it. */
  readonly model?: string
  readonly reloaded?: true
}

/** The person wants these settings applied: the workspace is to be built anew. @since 0.1.0 @category models */
export interface Reload {
  readonly config: ConfigService
  readonly going: Going
}

/**
 * Until the person leaves or reloads; the second argument is what it shares with its prompter. The second signal during one answer
 * leaves at once with its exit code; leaving on purpose is 0.
 *
 * @since 0.1.0
 * @category combinators
 */
export const execute = Effect.fn("Cli.conversation")(function*(
  values: AgentValues,
  { announcements, interrupts }: Shared,
  going: Going = {}
) {
  const terminal = yield* Terminal
  const environment = yield* Environment
  const models = yield* Models
  const { cwd } = yield* Workspace
  if (!environment.stdin_is_tty || !environment.stdout_is_tty) {
    return yield* usage("a conversation needs a terminal", `for scripts: ${program} run "..."`)
  }
  const config = yield* soundConfig
  const style = yield* stderrStyle
  let chosen = going.model ?? values.model
  const named = modelOf({ ...values, model: chosen })
  let model = yield* going.reloaded === undefined ?
    named :
    Effect.catchAll(
      named,
      (exit) =>
        Effect.as(terminal.err(`${style.red("error:")} ${line(exit.message, 1000)}\n`), chosen ?? config.config.model)
    )
  let session_id = going.session_id ?? (going.reloaded === undefined ? yield* sessionOf(values) : undefined)
  let takeover = going.reloaded === undefined && values.takeover
  let announced: string | null = null
  let reload: Reload | undefined
  const say = (text: string) => Effect.mapError(terminal.out(text), stdoutExit)

  if (going.reloaded !== undefined) yield* say(style.dim("the settings are applied\n"))
  else {
    yield* say(
      `${style.bold(program)} ${version}  ${line(model, 80)}  ${line(cwd, 200)}\n` +
        `${style.dim("/help shows the commands, Ctrl-D leaves")}\n`
    )
  }
  if (session_id !== undefined && going.reloaded === undefined) yield* say(style.dim(`going on with ${session_id}\n`))

  const attached: Array<string> = []
  const withAttached = (prompt: RunInput["prompt"]): RunInput["prompt"] => {
    const texts = attached.splice(0)
    if (texts.length === 0) return prompt
    return typeof prompt === "string"
      ? [...texts, prompt].join("\n\n")
      : [...texts.map((text) => ({ type: "text" as const, text })), ...prompt]
  }

  /** What is attached goes in front of what a command comes to. */
  const commandWithAttached = (command: Invocation): Invocation => {
    const texts = attached.splice(0)
    return texts.length === 0 ? command : {
      ...command,
      pieces: [{ kind: "text", text: `${texts.join("\n\n")}\n\n` }, ...command.pieces]
    }
  }

  const turn = (prompt: RunInput["prompt"], more: Partial<RunInput> = {}) =>
    Effect.gen(function*() {
      const view = View.make({ style, columns: yield* terminal.columns, answer: true, progress: true })
      const show = (event: AgentEvent) =>
        Effect.zipRight(
          Effect.forEach(
            view.push(event),
            ({ text, to }) => to === "answer" ? terminal.out(text) : terminal.err(text),
            { discard: true }
          ),
          Effect.sync(() => {
            const said = event.type === "subagent.event" ? event.event : event
            if (said.type === "permission.asked") announcements.announce(said.call_id)
          })
        )
      const outcome = yield* drive(
        {
          checkpoints: config.config.checkpoints ?? true,
          ...inputOf(values),
          ...(chosen === undefined ? {} : { model: chosen }),
          prompt: more.compact === undefined && more.command === undefined ? withAttached(prompt) : prompt,
          ...(session_id === undefined ? {} : { session_id }),
          ...(takeover ? { takeover } : {}),
          ...more,
          ...(more.command === undefined ? {} : { command: commandWithAttached(more.command) })
        },
        (events) => Effect.forEach(events, show, { discard: true }),
        interrupts
      ).pipe(
        Effect.catchTag("TerminalError", (error) => stdoutExit(error)),
        Effect.catchTag("AgentError", (error) =>
          Effect.as(terminal.err(`${style.red("error:")} ${line(agentExit(error).message, 1000)}\n`), null))
      )
      if (outcome === null) {
        return
      }
      session_id = outcome.session_id ?? session_id
      // Once: what another process begins after that is its own.
      takeover = false
      if (outcome.terminal === null || (outcome.signal !== null && outcome.signal !== "SIGINT")) {
        return yield* new CliExit({ exit_code: outcome.exit_code, lines: [] })
      }
    })

  const talk: Talk = {
    values,
    style,
    say,
    fail: (message) => terminal.err(`${style.red("error:")} ${line(message, 1000)}\n`),
    session: {
      get: () => session_id,
      set: (id) => {
        session_id = id
        takeover = false
      },
      take: () => {
        takeover = true
      }
    },
    model: () => model,
    turn,
    attach: (text) => {
      attached.push(text)
    }
  }

  const own = (name: OwnName, argument: string) =>
    Effect.gen(function*() {
      switch (name) {
        case "help":
          return yield* say(
            names.map((each) => `  /${each.padEnd(helpWidth)}${commandHelp[each] ?? ""}\n`).join("") +
              (yield* (yield* customCommands).helpText(taken, helpWidth, style)) +
              style.dim("  a line that ends with \\ goes on in the next; a pasted text is one message\n")
          )
        case "new":
          session_id = undefined
          takeover = false
          return yield* say(style.dim("the next message begins a new session\n"))
        case "model": {
          if (argument === "") return yield* say(`${line(model, 200)}\n`)
          const resolved = yield* Effect.either(models.resolve(argument))
          if (Either.isLeft(resolved)) {
            return yield* terminal.err(`${style.red("error:")} ${line(resolved.left.message, 1000)}\n`)
          }
          if (values["max-cost"] !== undefined && resolved.right.price === null) {
            return yield* terminal.err(
              `${style.red("error:")} --max-cost needs a price, and ${line(resolved.right.name, 200)} has none\n`
            )
          }
          model = resolved.right.name
          chosen = argument
          return yield* say(`${line(model, 200)}\n`)
        }
        case "reload": {
          const next = yield* config.reload
          for (const issue of next.errors) yield* terminal.err(`${issueText(issue, style.red("error:"))}\n`)
          if (next.errors.length > 0) {
            announced = yield* config.changed
            return yield* terminal.err("the settings have errors; those that are running stay\n")
          }
          reload = {
            config: next,
            going: {
              reloaded: true,
              ...(session_id === undefined ? {} : { session_id }),
              ...(chosen === undefined ? {} : { model: chosen })
            }
          }
          return
        }
        case "exit":
          return yield* new CliExit({ exit_code: ExitCode.done, lines: [] })
      }
    })

  /** A command or skill of the user's own that was called; false = there is none of this name. */
  const custom = (text: string) =>
    Effect.gen(function*() {
      const called = yield* (yield* customCommands).called(text, values)
      if (called === null) return false
      if ("refusal" in called) yield* talk.fail(called.refusal)
      else yield* turn(text.trim(), called.input)
      return true
    })

  const complete = (text: string) => Effect.flatMap(customCommands, ({ completions }) => completions(text, taken))

  let warned = false
  while (true) {
    const changed = yield* config.changed
    if (changed !== null && changed !== announced) {
      announced = changed
      yield* say(style.dim("the settings have changed on disk; /reload applies them\n"))
    }
    const input = yield* terminal.readLine("> ", { complete })
    if (input.type === "end") {
      yield* say("\n")
      return ExitCode.done
    }
    if (input.type === "interrupt") {
      yield* say(warned ? "\n" : style.dim("\n(Ctrl-C again or Ctrl-D leaves)\n"))
      if (warned) return ExitCode.done
      warned = true
      continue
    }
    warned = false
    const typed = typedOf(input.text)
    const slashed = typed.kind === "unknown" || (typed.kind === "prompt" && /^\s*\/[\p{L}\p{N}]/u.test(typed.text))
    if (slashed && (yield* custom(input.text))) continue
    const missing = typed.kind === "unknown" ? typed.name : namespaced(input.text)
    if (typed.kind === "prompt" && missing === null) yield* turn(typed.text)
    else if (typed.kind === "command") {
      if (isOwn(typed.name)) yield* own(typed.name, typed.argument)
      else {
        const slash = slashes[typed.name]
        if (slash !== undefined) yield* (yield* Effect.promise(slash.load))(typed.argument, talk)
      }
      if (reload !== undefined) return reload
    } else if (missing !== null) {
      const near = (typed.kind === "unknown" ? typed.near : undefined) ??
        (yield* (yield* customCommands).near(missing, taken))
      yield* terminal.err(
        `there is no command /${line(missing, 80)}${
          near === undefined ? "" : `; did you mean /${line(near, 80)}?`
        } /help lists them\n`
      )
    }
  }
})
