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

/** @since 0.1.0 @category combinators */
export const repair = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const out: Array<Message> = []
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
    out.push(message)
    if (calls.length === 0) continue
    const results = new Map<string, Message>()
    const strays: Array<Message> = []
    const wanted = new Set(calls.map((call) => call.id))
    // Everything up to the next assistant message may hold the results; what lies between moves behind them.
    while (i < messages.length) {
      const next = messages[i]
      if (next === undefined || next.role === "assistant" || next.role === "system") break
      if (next.role === "tool" && next.tool_call_id !== undefined && wanted.has(next.tool_call_id)) {
        if (!results.has(next.tool_call_id)) results.set(next.tool_call_id, next)
      } else if (next.role === "tool") {
        strays.push({ role: "user", content: [text(`[result of an unknown call] ${textOf(next)}`)] })
      } else {
        strays.push(next)
      }
      i++
    }
    const seen = new Set<string>()
    for (const call of calls) {
      if (seen.has(call.id)) continue
      seen.add(call.id)
      out.push(results.get(call.id) ?? resultFor(call.id, call.name))
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
