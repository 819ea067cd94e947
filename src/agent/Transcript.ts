/**
 * Makes a conversation a legal request again (readings 2.9, G9): every call has exactly one result directly after the
 * message that made it, in call order; a result without a call becomes text of the user. Role rules of one provider are
 * its adapter's affair.
 *
 * @since 0.1.0
 */
import type { Message } from "../domain/Message.ts"
import { partsOf, text, textOf, toolCallsOf } from "../domain/MessageParts.ts"

/** What the model is told of a call that was never answered. @since 0.1.0 @category constants */
export const interruptedResult = "interrupted: this call was stopped before it finished, its effects are unknown"

const resultFor = (call_id: string, tool_name: string): Message => ({
  role: "tool",
  tool_call_id: call_id,
  tool_name,
  content: interruptedResult,
  is_error: true
})

/** The message with the ids of its calls changed, in order. */
const renamed = (message: Message, ids: ReadonlyArray<string>): Message => {
  let n = 0
  const { tool_calls: _, ...rest } = message
  return {
    ...rest,
    content: partsOf(message).map((part) => part.type === "tool_call" ? { ...part, id: ids[n++] ?? part.id } : part)
  }
}

/**
 * A list that is legal already comes back with the same messages. A call id that stands twice gets another one, and its
 * result with it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const repair = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const out: Array<Message> = []
  const used = new Set<string>()
  const claim = (id: string): string => {
    let unique = id
    for (let n = 2; used.has(unique); n++) unique = `${id}_${n}`
    used.add(unique)
    return unique
  }
  let i = 0
  while (i < messages.length) {
    const message = messages[i]
    i++
    if (message === undefined) continue
    if (message.role === "tool") {
      const content = textOf(message)
      out.push({ role: "user", content: [text(`[result of an unknown call] ${content}`)] })
      continue
    }
    const calls = message.role === "assistant" ? toolCallsOf(message) : []
    if (message.role === "assistant" && partsOf(message).length === 0) continue
    const ids = calls.map((call) => claim(call.id))
    out.push(ids.every((id, n) => id === calls[n]?.id) ? message : renamed(message, ids))
    if (calls.length === 0) continue
    const results = new Map<number, Message>()
    const strays: Array<Message> = []
    const waiting = calls.map((call) => call.id)
    // Everything up to the next assistant message may hold the results; what lies between moves behind them.
    while (i < messages.length) {
      const next = messages[i]
      if (next === undefined || next.role === "assistant" || next.role === "system") break
      const answered = next.role === "tool"
        ? waiting.findIndex((id, n) => id === next.tool_call_id && !results.has(n))
        : -1
      if (answered >= 0) results.set(answered, next)
      else if (next.role === "tool") {
        // a second result of a call says nothing new to the model
        if (waiting.includes(next.tool_call_id ?? "")) {
          i++
          continue
        }
        strays.push({ role: "user", content: [text(`[result of an unknown call] ${textOf(next)}`)] })
      } else {
        strays.push(next)
      }
      i++
    }
    for (const [n, call] of calls.entries()) {
      const id = ids[n] ?? call.id
      const result = results.get(n)
      out.push(
        result === undefined
          ? resultFor(id, call.name)
          : result.tool_call_id === id
          ? result
          : { ...result, tool_call_id: id }
      )
    }
    out.push(...strays)
  }
  return out
}

/** Says what is wrong with a conversation as a request, or null. Used by tests and before a request in development. @since 0.1.0 @category combinators */
export const illegality = (messages: ReadonlyArray<Message>): string | null => {
  const answered = new Set<string>()
  let open: Array<string> = []
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      const id = message.tool_call_id ?? ""
      if (open[0] !== id) {
        return `message ${index}: result of ${JSON.stringify(id)}, expected ${JSON.stringify(open[0] ?? null)}`
      }
      open = open.slice(1)
      continue
    }
    if (open.length > 0) return `message ${index}: ${message.role} before the results of ${open.join(", ")}`
    if (message.role === "assistant") {
      const ids = toolCallsOf(message).map((call) => call.id)
      for (const id of ids) {
        if (answered.has(id)) return `message ${index}: call id ${JSON.stringify(id)} used twice`
        answered.add(id)
      }
      open = ids
    }
  }
  return open.length > 0 ? `no results of ${open.join(", ")}` : null
}
