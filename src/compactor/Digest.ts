/**
 * What stands for the compacted messages where the model has written no summary (readings 5.6, 5.7): their facts, and of
 * each message, the latest first, a line. Results of tools are only named. Pure: the same messages give the same digest.
 *
 * @since 0.1.0
 */
import type { Message, Part } from "../domain/Message.ts"
import { text, textOf, toolCallsOf } from "../domain/MessageParts.ts"
import { countOf, textTokens } from "./Budget.ts"
import * as Facts from "./Facts.ts"
import { placeholder, placeholderTokens } from "./Placeholder.ts"

/** Characters of a line. */
const width = 160

const cut = (value: string): string => {
  const flat = value.slice(0, width * 4).replaceAll(/\s+/g, " ").trim()
  return flat.length <= width ? flat : `${flat.slice(0, width).replace(/[\ud800-\udbff]$/, "")}...`
}

/** Not a bracket at the beginning: the text would be weighed as JSON. */
const head = "Compacted:\n"

const line = (message: Message): string => {
  if (message.kind === "summary") {
    const said = Facts.wordsOf(message).replaceAll(head, "").trim()
    return said === "" || said === placeholder ? "" : said
  }
  if (message.role === "tool" || message.tool_call_id !== undefined) {
    return `${message.tool_name ?? "tool"} answered: ${placeholder}`
  }
  const said = cut(textOf(message))
  const calls = message.role === "assistant"
    ? toolCallsOf(message).map((call) => `${call.name} ${cut(call.arguments)}`.trim())
    : []
  const all = [said, ...calls].filter((each) => each !== "")
  return all.length === 0 ? "" : `${message.role}: ${all.join("; ")}`
}

/**
 * A summary message of at most `limit` tokens, its count written on it; null under 4 tokens.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  messages: ReadonlyArray<Message>,
  middle: ReadonlyArray<number>,
  limit: number
): Message | null => {
  if (limit < placeholderTokens) return null
  const bare: Message = {
    role: "assistant",
    kind: "summary",
    content: placeholder,
    token_count: placeholderTokens
  }
  const room = limit - placeholderTokens - textTokens(head)
  if (room <= 0) return bare
  const facts = Facts.parts(Facts.collect(messages, middle), Facts.share(room))
  let left = room - facts.reduce((all, part) => all + textTokens(part.text), 0)
  const lines: Array<string> = []
  for (let i = middle.length - 1; i >= 0; i--) {
    const message = messages[middle[i] ?? -1]
    const whole = message === undefined ? "" : line(message)
    if (whole === "") continue
    // an earlier summary may be longer than what is left of the room
    const fitting = message?.kind === "summary" ? Facts.within(whole, left - 1) : whole
    if (fitting === "") break
    left -= textTokens(`${fitting}\n`)
    if (left < 0) break
    lines.push(fitting)
  }
  if (lines.length === 0 && facts.length === 0) return bare
  const content: ReadonlyArray<Part> = [text(head + lines.reverse().join("\n")), ...facts]
  const made: Message = { role: "assistant", kind: "summary", content }
  const count = countOf(made)
  return count > limit ? bare : { ...made, token_count: count }
}
