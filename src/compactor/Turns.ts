/**
 * What belongs together in a conversation and what is never compacted (reading 5.3). Pure, by index.
 *
 * @since 0.1.0
 */
import type { Message } from "../domain/Message.ts"
import { toolCallsOf } from "../domain/MessageParts.ts"

/** Results of tools may come as a message of the user that names the call. */
const isResult = (message: Message): boolean =>
  message.role === "tool" || (message.role === "user" && message.tool_call_id !== undefined)

/** Does a turn begin here? @since 0.1.0 @category combinators */
export const beginsTurn = (message: Message): boolean => message.role === "user" && !isResult(message)

/**
 * For each message the one whose call it answers: the latest before it that made a call of that id; -1 where it answers
 * none.
 *
 * @since 0.1.0
 * @category combinators
 */
export const callers = (messages: ReadonlyArray<Message>): ReadonlyArray<number> => {
  const made = new Map<string, number>()
  return messages.map((message, index) => {
    if (isResult(message)) {
      return message.tool_call_id === undefined ? -1 : made.get(message.tool_call_id) ?? -1
    }
    if (message.role === "assistant") { for (const call of toolCallsOf(message)) made.set(call.id, index) }
    return -1
  })
}

/** The message with the calls of the last group, or -1: a call without any result is no group. @since 0.1.0 @category combinators */
export const newestGroup = (caller: ReadonlyArray<number>): number => {
  let newest = -1
  for (const at of caller) if (at > newest) newest = at
  return newest
}

/** The cut, moved towards the start until it splits no group. */
const aligned = (cut: number, caller: ReadonlyArray<number>): number => {
  let at = cut
  for (let i = caller.length - 1; i >= at; i--) {
    const call = caller[i] ?? -1
    if (call >= 0 && call < at) at = call
  }
  return at
}

/**
 * Which messages stay: index 0 where its role is `system`, and the reserved ones.
 *
 * `reserve_recent` 0, and a conversation without a single turn: the last message of the user, and the last group where
 * the conversation ends in one; neither = the last message, unless it is a summary.
 *
 * @since 0.1.0
 * @category combinators
 */
export const kept = (
  messages: ReadonlyArray<Message>,
  caller: ReadonlyArray<number>,
  reserve_recent: number
): ReadonlyArray<boolean> => {
  const keep = messages.map(() => false)
  const first = messages[0]?.role === "system" ? 1 : 0
  if (first === 1) keep[0] = true
  const starts: Array<number> = []
  for (let i = first; i < messages.length; i++) {
    const message = messages[i]
    if (message !== undefined && beginsTurn(message)) starts.push(i)
  }
  if (reserve_recent > 0 && starts.length > 0) {
    const cut = aligned(starts[Math.max(0, starts.length - reserve_recent)] ?? messages.length, caller)
    for (let i = cut; i < messages.length; i++) keep[i] = true
    return keep
  }
  const user = starts.at(-1)
  if (user !== undefined) keep[user] = true
  const last = messages.length - 1
  const ending = messages[last]
  const group = caller[last] ?? -1
  if (group >= 0) { for (let i = group; i <= last; i++) if (i === group || caller[i] === group) keep[i] = true }
  if (user === undefined && group < 0 && ending !== undefined && ending.kind !== "summary") keep[last] = true
  return keep
}
