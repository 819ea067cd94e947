/**
 * A stored session for reading: `sessions export --format md` and `sessions show` (text). Pure, and made for hostile
 * content: no escape sequence, control or bidirectional override of a model or tool gets out (G8).
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import { line, neutralise } from "../codec/TerminalText.ts"
import { withoutTrailing } from "../codec/Trailing.ts"
import type { Message, Part } from "../domain/Message.ts"
import { partsOf } from "../domain/MessageParts.ts"
import type { Usage } from "../domain/Usage.ts"

/** Times are seconds since the epoch, costs US dollars. @since 0.1.0 @category models */
export interface TranscriptSession {
  readonly id: string
  readonly title: string | null
  readonly preview: string | null
  readonly workspace: string
  readonly provider: string
  readonly model: string
  readonly parent_session_id: string | null
  readonly started_at: number
  readonly last_active: number
  readonly ended_at: number | null
  readonly end_reason: string | null
  readonly message_count: number
  readonly tool_call_count: number
  readonly usage: Usage
  readonly cost_usd: number | null
  readonly is_archived: boolean
  readonly is_pinned: boolean
}

/** @since 0.1.0 @category models */
export interface TranscriptRun {
  readonly id: string
  readonly session_id: string
  readonly status: string
  readonly model: string
  readonly started_at: number
  readonly ended_at: number | null
  readonly turns: number
  readonly exit_code: number | null
  readonly error_code: string | null
  readonly error_message: string | null
  readonly usage: Usage
  readonly cost_usd: number | null
}

/** @since 0.1.0 @category models */
export interface TranscriptEntry {
  readonly id: number
  readonly key: string
  readonly run_id: string
  readonly turn: number
  readonly timestamp: number
  readonly withdrawn: boolean
  readonly hidden?: number
  readonly finish_reason?: string
  readonly replaces?: ReadonlyArray<string>
  readonly message: Message
}

/** A session with what was said in it; withdrawn and hidden entries may be among the entries. @since 0.1.0 @category models */
export interface Transcript {
  readonly session: TranscriptSession
  readonly runs: ReadonlyArray<TranscriptRun>
  readonly entries: ReadonlyArray<TranscriptEntry>
}

/** @since 0.1.0 @category encoding */
export const time = (seconds: number): string => DateTime.formatIso(DateTime.unsafeMake(Math.round(seconds * 1000)))

/** Four digits: a turn may cost less than a cent. @since 0.1.0 @category encoding */
export const dollars = (cost: number): string => `$${cost.toFixed(4)}`

/** @since 0.1.0 @category encoding */
export const tokens = (usage: Usage): string =>
  [
    `${usage.input_tokens} in`,
    `${usage.output_tokens} out`,
    ...(usage.cache_read_tokens > 0 ? [`${usage.cache_read_tokens} from cache`] : []),
    ...(usage.cache_write_tokens > 0 ? [`${usage.cache_write_tokens} to cache`] : []),
    ...((usage.reasoning_tokens ?? 0) > 0 ? [`${usage.reasoning_tokens} of it reasoning`] : [])
  ].join(", ")

/** @since 0.1.0 @category encoding */
export const titled = (session: TranscriptSession): string =>
  session.title === null ? `Session ${session.id}` : line(session.title, 200)

/** Entries that are part of the conversation, in blocks of one speaker of one turn. @since 0.1.0 @category encoding */
export interface Block {
  readonly speaker: "user" | "assistant" | "system" | "summary" | "tool"
  readonly run_id: string
  readonly messages: ReadonlyArray<Message>
}

const blocksOf = (entries: ReadonlyArray<TranscriptEntry>): ReadonlyArray<Block> => {
  const blocks: Array<Block & { readonly turn: number; readonly messages: Array<Message> }> = []
  for (const { hidden, message, run_id, turn, withdrawn } of entries) {
    if (withdrawn || hidden !== undefined) continue
    const speaker = message.kind === "summary" ? "summary" : message.role
    const last = blocks.at(-1)
    if (
      last !== undefined && speaker === "assistant" && last.speaker === speaker && last.run_id === run_id &&
      last.turn === turn
    ) last.messages.push(message)
    else blocks.push({ speaker, run_id, turn, messages: [message] })
  }
  return blocks
}

/** Per run: how it ended when it did not end well, to be said behind its last block. */
const endings = (transcript: Transcript): ReadonlyMap<string, string> =>
  new Map(
    transcript.runs.filter((run) => run.status !== "completed").map((run) => [
      run.id,
      run.status === "running"
        ? "This run has not ended."
        : `This run ${run.status === "failed" ? "failed" : `was ${run.status}`}${
          run.error_message === null ? "" : `: ${line(run.error_message, 500)}`
        }.`.replace(/([.!?])\.$/, "$1")
    ])
  )

/** @since 0.1.0 @category encoding */
export const withEndings = <A>(
  transcript: Transcript,
  render: (block: Block) => ReadonlyArray<A>,
  ending: (text: string) => A
): ReadonlyArray<A> => {
  const notes = endings(transcript)
  const blocks = blocksOf(transcript.entries)
  const last = new Map(blocks.map((block, index) => [block.run_id, index]))
  const said = blocks.flatMap((block, index) => {
    const note = last.get(block.run_id) === index ? notes.get(block.run_id) : undefined
    return note === undefined ? render(block) : [...render(block), ending(note)]
  })
  return [...said, ...[...notes].flatMap(([run_id, note]) => last.has(run_id) ? [] : [ending(note)])]
}

/** The longest run of backticks, for a fence that content cannot close. */
const ticks = (content: string): number =>
  (content.match(/`+/g) ?? []).reduce((max, run) => Math.max(max, run.length), 0)

const fence = (content: string, language: string): string => {
  const safe = neutralise(content)
  const mark = "`".repeat(Math.max(3, ticks(safe) + 1))
  return `${mark}${language}\n${safe}${safe.endsWith("\n") || safe === "" ? "" : "\n"}${mark}`
}

const code = (content: string): string => {
  const safe = line(content, 200)
  const mark = "`".repeat(ticks(safe) + 1)
  const pad = safe.startsWith("`") || safe.endsWith("`") ? " " : ""
  return `${mark}${pad}${safe}${pad}${mark}`
}

/** @since 0.1.0 @category encoding */
export const pretty = (json: string): { readonly text: string; readonly language: string } => {
  try {
    const value: unknown = JSON.parse(json)
    return { text: JSON.stringify(value, null, 2), language: "json" }
  } catch {
    return { text: json, language: "" }
  }
}

/** @since 0.1.0 @category encoding */
export const attachment = (part: Part): string =>
  part.type === "image"
    ? `image ${line(part.url ?? part.media_type, 200)}`
    : part.type === "file"
    ? `file ${line(part.filename ?? part.media_type, 200)}`
    : ""

const markdownPart = (part: Part): string => {
  switch (part.type) {
    case "text":
      return neutralise(part.text).trim()
    case "reasoning":
      return part.text.trim() === "" ? "" : `> ${neutralise(part.text).trim().replaceAll("\n", "\n> ")}`
    case "image":
    case "file":
      return `*[${attachment(part)}]*`
    case "tool_call": {
      const input = pretty(part.arguments)
      return `Calls ${code(part.name)} (${code(part.id)}):\n\n${fence(input.text, input.language)}`
    }
  }
}

/** @since 0.1.0 @category encoding */
export const resultText = (message: Message): string =>
  partsOf(message).map((part) => part.type === "text" ? part.text : `[${attachment(part)}]`).join("\n")

/** @since 0.1.0 @category encoding */
export const resultName = (message: Message): string => message.tool_name ?? message.tool_call_id ?? "a tool"

/** @since 0.1.0 @category encoding */
export const headings = {
  user: "User",
  assistant: "Assistant",
  system: "System",
  summary: "Summary of what came before"
} as const

const markdownBlock = (block: Block): ReadonlyArray<string> => {
  if (block.speaker === "tool") {
    return block.messages.map((message) =>
      `### Result of ${code(resultName(message))}${message.is_error === true ? " (error)" : ""}\n\n${
        fence(resultText(message), "")
      }`
    )
  }
  const parts = block.messages.flatMap(partsOf).map(markdownPart).filter((part) => part !== "")
  return parts.length === 0 ? [] : [`## ${headings[block.speaker]}`, ...parts]
}

/**
 * A document for reading: title, facts, then the conversation without what was withdrawn or hidden. Tool input and output stand in
 * fences that their content cannot close; reasoning is quoted; control characters are shown as pictures.
 *
 * @since 0.1.0
 * @category encoding
 */
export const toMarkdown = (transcript: Transcript): string => {
  const { session } = transcript
  const facts = [
    `- Session: ${code(session.id)}${
      session.parent_session_id === null ? "" : `, from ${code(session.parent_session_id)}`
    }`,
    `- Workspace: ${code(session.workspace)}`,
    `- Model: ${code(`${session.provider}/${session.model}`)}`,
    `- Started: ${time(session.started_at)}`,
    ...(session.ended_at === null
      ? []
      : [`- Ended: ${time(session.ended_at)} (${line(session.end_reason ?? "", 80)})`]),
    `- Messages: ${session.message_count}, tool calls: ${session.tool_call_count}`,
    `- Tokens: ${tokens(session.usage)}${session.cost_usd === null ? "" : `; cost: ${dollars(session.cost_usd)}`}`
  ]
  const said = withEndings(transcript, markdownBlock, (note) => `*${note}*`)
  return `${[`# ${titled(session)}`, facts.join("\n"), ...said].join("\n\n")}\n`
}

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, "  ")

const head = (text: string, max: number): string => {
  const lines = withoutTrailing(text, "\n").split("\n")
  return lines.length <= max
    ? lines.join("\n")
    : `${lines.slice(0, max).join("\n")}\n... ${lines.length - max} more lines`
}

const textBlock = (max: number) => (block: Block): ReadonlyArray<string> => {
  if (block.speaker === "tool") {
    return block.messages.map((message) =>
      `result of ${line(resultName(message), 100)}${message.is_error === true ? " (error)" : ""}:\n${
        indented(head(neutralise(resultText(message)), max))
      }`.trimEnd()
    )
  }
  return block.messages.flatMap(partsOf).flatMap((part) => {
    switch (part.type) {
      case "text":
        return part.text.trim() === "" ? [] : [`${block.speaker}:\n${indented(neutralise(part.text).trim())}`]
      case "reasoning":
        return part.text.trim() === "" ? [] : [`reasoning:\n${indented(head(neutralise(part.text).trim(), max))}`]
      case "image":
      case "file":
        return [`${block.speaker}: [${attachment(part)}]`]
      case "tool_call":
        return [`calls ${line(part.name, 100)} ${line(part.arguments, 500)}`]
    }
  })
}

/**
 * Plain text for a terminal. Results and reasoning are cut after `max_lines` lines (default 20), calls stand in one line.
 *
 * @since 0.1.0
 * @category encoding
 */
export const toText = (transcript: Transcript, options: { readonly max_lines?: number } = {}): string => {
  const { session } = transcript
  const facts = [
    titled(session),
    `${session.id}  ${line(session.workspace, 200)}  ${line(`${session.provider}/${session.model}`, 200)}`,
    `${time(session.started_at)}  ${session.message_count} messages, ${session.tool_call_count} tool calls  ` +
    `${tokens(session.usage)}${session.cost_usd === null ? "" : `  ${dollars(session.cost_usd)}`}`
  ]
  const said = withEndings(transcript, textBlock(options.max_lines ?? 20), (note) => note)
  return `${[facts.join("\n"), ...said].join("\n\n")}\n`
}
