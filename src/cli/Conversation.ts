/**
 * The conversation: a person types, the agent answers, line by line. Scrollback and editing stay the terminal's own.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { nearest } from "../codec/Distance.ts"
import { line } from "../codec/TerminalText.ts"
import type { ConfigService } from "../config/Config.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import { Models } from "../provider/Models.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { McpAccess } from "../tools/McpAccess.ts"
import { agentExit, drive } from "./Drive.ts"
import { CliExit, usage } from "./Exit.ts"
import { issueText, soundConfig, stderrStyle, stdoutExit } from "./Output.ts"
import * as McpText from "./McpText.ts"
import type { Shared } from "./Prompter.ts"
import { type AgentValues, inputOf, modelOf, sessionOf } from "./Run.ts"
import { sessionRows } from "./SessionText.ts"
import { program } from "./Spec.ts"
import { version } from "./Version.ts"
import * as View from "./View.ts"

/** What was typed: a command of the conversation, an unknown one, or something for the agent. @since 0.1.0 @category models */
export type Typed =
  | { readonly kind: "nothing" }
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "command"; readonly name: CommandName; readonly argument: string }
  | { readonly kind: "unknown"; readonly name: string; readonly near: string | undefined }

const commandHelp = {
  help: "show this",
  new: "begin a new session",
  model: "say or set the model: /model [MODEL]",
  compact: "replace what came before by a summary: /compact [FOCUS]",
  mcp: "show the MCP servers and their prompts: /mcp, /mcp restart SERVER",
  sessions: "list the latest sessions of this project",
  reload: "apply settings that have changed; background commands end",
  exit: "leave (also Ctrl-D, or Ctrl-C twice)"
} as const

/** @since 0.1.0 @category models */
export type CommandName = keyof typeof commandHelp

const names = Object.keys(commandHelp)

const isCommand = (name: string): name is CommandName => Object.hasOwn(commandHelp, name)

/**
 * A line that begins with a slash and a word is a command; a path (`/etc/hosts is wrong`), a lone slash or several lines
 * are for the agent.
 *
 * @since 0.1.0
 * @category decoding
 */
export const typedOf = (text: string): Typed => {
  const trimmed = text.trim()
  if (trimmed === "") return { kind: "nothing" }
  const found = /^\/([A-Za-z-]+)(?:[ \t]+([^\n]*))?$/.exec(trimmed)
  const name = found?.[1]?.toLowerCase()
  if (name === undefined) return { kind: "prompt", text }
  if (name === "quit") return { kind: "command", name: "exit", argument: "" }
  return isCommand(name)
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
  const store = yield* SessionStore
  const { cwd, root } = yield* Workspace
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
  let announced: string | null = null
  let reload: Reload | undefined
  const servers = yield* Effect.serviceOption(McpAccess)
  const say = (text: string) => Effect.mapError(terminal.out(text), stdoutExit)

  if (going.reloaded !== undefined) yield* say(style.dim("the settings are applied\n"))
  else {
    yield* say(
      `${style.bold(program)} ${version}  ${line(model, 80)}  ${line(cwd, 200)}\n` +
        `${style.dim("/help shows the commands, Ctrl-D leaves")}\n`
    )
  }
  if (session_id !== undefined && going.reloaded === undefined) yield* say(style.dim(`going on with ${session_id}\n`))

  const turn = (prompt: string, compact?: { readonly focus: string }) =>
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
            if (event.type === "permission.asked") announcements.announce(event.call_id)
          })
        )
      const outcome = yield* drive(
        {
          ...inputOf(values),
          ...(chosen === undefined ? {} : { model: chosen }),
          prompt,
          ...(compact === undefined ? {} : { compact }),
          ...(session_id === undefined ? {} : { session_id })
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
      if (outcome.terminal === null || (outcome.signal !== null && outcome.signal !== "SIGINT")) {
        return yield* new CliExit({ exit_code: outcome.exit_code, lines: [] })
      }
    })

  const mcpText = (argument: string): Effect.Effect<string> =>
    Effect.gen(function*() {
      if (Option.isNone(servers)) return "there are no MCP servers here\n"
      const { prompts, restart, status } = servers.value
      const [word = "", server = ""] = argument.split(/\s+/)
      if (word === "restart" && server !== "") {
        if (!(yield* restart(server))) return `no MCP server ${line(server, 60)} is active here\n`
      } else if (word !== "") return "/mcp shows the servers, /mcp restart SERVER connects one anew\n"
      return McpText.serversText(yield* status, yield* prompts, style)
    })

  const command = (name: CommandName, argument: string) =>
    Effect.gen(function*() {
      switch (name) {
        case "help":
          return yield* say(
            names.map((each) => `  /${each.padEnd(10)}${isCommand(each) ? commandHelp[each] : ""}\n`).join("") +
              style.dim("  a line that ends with \\ goes on in the next; a pasted text is one message\n")
          )
        case "new":
          session_id = undefined
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
        case "mcp":
          return yield* say(yield* mcpText(argument))
        case "compact":
          return session_id === undefined
            ? yield* say("there is nothing to compact yet\n")
            : yield* turn("", { focus: argument })
        case "sessions": {
          const listed = yield* Effect.either(store.list({ workspace: root, limit: 10 }))
          return Either.isLeft(listed)
            ? yield* terminal.err(`${style.red("error:")} ${line(listed.left.message, 1000)}\n`)
            : yield* say(listed.right.length === 0 ? "no sessions yet\n" : sessionRows(listed.right))
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

  let warned = false
  while (true) {
    const changed = yield* config.changed
    if (changed !== null && changed !== announced) {
      announced = changed
      yield* say(style.dim("the settings have changed on disk; /reload applies them\n"))
    }
    const input = yield* terminal.readLine("> ")
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
    if (typed.kind === "prompt") yield* turn(typed.text)
    else if (typed.kind === "command") {
      yield* command(typed.name, typed.argument)
      if (reload !== undefined) return reload
    } else if (typed.kind === "unknown") {
      yield* terminal.err(
        `there is no command /${line(typed.name, 40)}${
          typed.near === undefined ? "" : `; did you mean /${typed.near}?`
        } /help lists them\n`
      )
    }
  }
})
