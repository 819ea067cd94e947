/**
 * What a person sees of a run: its events to pieces of text, for stdout (the answer) and stderr (everything else).
 *
 * Pure but for its own state. Text of the model and of tools is neutralised (G8); colours are put around it afterwards.
 *
 * @since 0.1.0
 */
import * as TerminalText from "../codec/TerminalText.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { Style } from "./Style.ts"

/** @since 0.1.0 @category models */
export interface Piece {
  readonly to: "answer" | "note"
  readonly text: string
}

/** @since 0.1.0 @category models */
export interface ViewOptions {
  readonly style: Style
  readonly columns: number
  /** Answers are shown as they come; else the caller shows the result at the end. */
  readonly answer: boolean
  /** Tools, retries and the like are shown; else only what the user must know. */
  readonly progress: boolean
}

/** @since 0.1.0 @category models */
export interface View {
  readonly push: (event: AgentEventBody) => ReadonlyArray<Piece>
}

const subjectKeys = ["command", "path", "pattern", "url", "query", "prompt", "action", "id", "name"]

/** What a call is about, in one safe line: its command, path, address, else its input. @since 0.1.0 @category encoding */
export const subjectOf = (input: JsonObject, limit: number): string => {
  for (const key of subjectKeys) {
    const value = input[key]
    if (typeof value === "string" && value !== "") return TerminalText.line(value, limit)
  }
  const keys = Object.keys(input)
  return keys.length === 0 ? "" : TerminalText.line(JSON.stringify(input), limit)
}

/** `0.4 s`, `12 s`, `2 min 5 s`. @since 0.1.0 @category encoding */
export const duration = (ms: number): string => {
  const seconds = ms / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 60) return `${Math.round(seconds)} s`
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

const lineCount = (text: string): number => text === "" ? 0 : text.replace(/\n$/, "").split("\n").length

const phaseWords: ReadonlyMap<string, string> = new Map([
  ["failed", "is not there"],
  ["closed", "has ended; the next call starts it again"],
  ["needs_login", "needs a login"]
])

/** Levels of log messages that only programs want. */
const quietLevels: ReadonlySet<string> = new Set(["debug", "info"])

/** @since 0.1.0 @category constructors */
export const make = (options: ViewOptions): View => {
  const { style } = options
  const room = Math.max(20, options.columns - 4)
  let neutraliser = TerminalText.make()
  let atLineStart = true
  let shown = false
  const streamed = new Set<string>()
  /** Calls that were announced and have not ended, with how they were announced. */
  const open = new Map<string, string>()
  const denied = new Set<string>()
  let lastStarted = ""
  /** Subagents that work, by their sessions: each has a view of its own. */
  const below = new Map<string, View>()

  const answer = (text: string): ReadonlyArray<Piece> => {
    if (text === "") return []
    atLineStart = text.endsWith("\n")
    shown = true
    return [{ to: "answer", text }]
  }
  const endLine = (): ReadonlyArray<Piece> => atLineStart ? [] : answer(`${neutraliser.flush()}\n`)
  const note = (text: string): ReadonlyArray<Piece> => [...endLine(), { to: "note", text: `${text}\n` }]
  const progress = (text: string): ReadonlyArray<Piece> => options.progress ? note(text) : []
  const safe = (text: string): string => TerminalText.line(text, room * 4)

  const push = (event: AgentEventBody): ReadonlyArray<Piece> => {
    switch (event.type) {
      case "text.delta": {
        if (!options.answer) return []
        const first = !streamed.has(event.item_id)
        const gap = first && shown ? endLine() : []
        if (first) neutraliser = TerminalText.make()
        streamed.add(event.item_id)
        return [...gap, ...answer(neutraliser.push(event.text))]
      }
      case "item.completed": {
        if (!options.answer || event.item.type !== "message") return []
        if (streamed.has(event.item_id)) return endLine()
        return event.item.text === ""
          ? []
          : [...endLine(), ...answer(TerminalText.neutralise(event.item.text)), ...endLine()]
      }
      case "item.withdrawn":
        return event.item_ids.some((id) => streamed.has(id))
          ? note(style.yellow(`(the answer above is void: ${safe(event.reason)})`))
          : []
      case "tool.started": {
        const call = `${style.bold(safe(event.tool))} ${subjectOf(event.input, room - event.tool.length)}`.trimEnd()
        open.set(event.call_id, call)
        lastStarted = event.call_id
        return progress(`${style.cyan("*")} ${call}`)
      }
      case "tool.completed": {
        const { result } = event
        const call = open.get(event.call_id) ?? safe(event.tool)
        open.delete(event.call_id)
        if (denied.has(event.call_id)) return []
        const lines = lineCount(result.output)
        const what = event.interrupted === true
          ? style.yellow("interrupted")
          : result.is_error
          ? style.red(TerminalText.line(result.error ?? "failed", room))
          : `done${lines > 0 ? `, ${lines} ${lines === 1 ? "line" : "lines"}` : ""}`
        const time = event.duration_ms < 100 ? "" : style.dim(`, ${duration(event.duration_ms)}`)
        // calls that run side by side end in any order: say whose end this is, unless it stands right below the call
        const below_it = event.call_id === lastStarted && open.size === 0
        lastStarted = ""
        return progress(`  ${below_it ? "" : `${call}: `}${what}${time}`)
      }
      case "permission.decided":
        if (event.mode !== "deny") return []
        denied.add(event.call_id)
        return progress(
          `  ${style.yellow(`denied (${safe(event.decided_by)})`)}${
            event.rule_matched === null ? "" : ` by the rule ${safe(event.rule_matched)}`
          }${event.reason === null ? "" : `: ${safe(event.reason)}`}`
        )
      case "hook.completed":
        return event.decision === "allow"
          ? []
          : progress(
            `  ${style.yellow(`hook ${event.hook} (${safe(event.event)}): ${safe(event.decision)}`)} ${
              safe(event.reason)
            }`
          )
      case "retry":
        return progress(
          style.yellow(
            `retry ${event.attempt} of ${event.max_attempts} in ${duration(event.delay_ms)}: ${safe(event.message)} (${
              safe(event.reason)
            })`
          )
        )
      case "compaction":
        return progress(
          style.dim(
            event.compacted_count === 0
              ? `(older outputs were shortened, ${event.tokens_saved} tokens saved)`
              : `(${event.compacted_count} messages became ${
                event.fallback ? "a digest" : "a summary"
              }, ${event.tokens_saved} tokens saved)`
          )
        )
      case "notice":
        return note(`${style.yellow("note:")} ${safe(event.message)}`)
      case "mcp.server":
        return event.phase === "ready" || event.phase === "connecting"
          ? []
          : note(
            `${style.yellow("note:")} MCP server ${safe(event.server)} ${
              phaseWords.get(event.phase) ?? `is ${safe(event.phase)}`
            }${event.error === null ? "" : `: ${safe(event.error.message)}`}`
          )
      case "mcp.log":
        return quietLevels.has(event.level)
          ? []
          : progress(style.dim(`  ${safe(event.server)} ${safe(event.level)}: ${safe(event.text)}`))
      case "subagent.started":
        below.set(event.child_session_id, make({ ...options, answer: false, columns: options.columns - 4 }))
        return progress(
          `${style.cyan(">")} ${style.bold(safe(event.agent))} ${style.dim(`begins, ${safe(event.model)}`)}`
        )
      case "subagent.event": {
        const pieces = below.get(event.child_session_id)?.push(event.event) ?? []
        // several may work at once: each line says whose it is
        const whose = below.size > 1 ? style.dim(`[${safe(event.agent)}] `) : ""
        return pieces.flatMap(({ text }) => note(`  ${whose}${text.replace(/\n$/, "")}`))
      }
      case "subagent.completed": {
        below.delete(event.child_session_id)
        const how = event.status === "completed"
          ? style.dim("has ended")
          : event.status === "cancelled"
          ? style.yellow("was stopped")
          : style.red(`has failed: ${safe(event.error?.message ?? "")}`)
        return progress(`${style.cyan("<")} ${style.bold(safe(event.agent))} ${how}`)
      }
      case "run.completed":
        return endLine()
      case "run.failed":
        return note(`${style.red("error:")} ${safe(event.error.message)} (${safe(event.error.code)})`)
      case "run.cancelled":
        return note(style.yellow(`cancelled: ${safe(event.reason)}`))
      default:
        return []
    }
  }
  return { push }
}
