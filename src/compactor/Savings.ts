/**
 * What can be saved before anything is summarised: results that a later call has made void, then the middles of long
 * outputs. Calls and the newest group stay as they are. Pure.
 *
 * @since 0.1.0
 */
import type { Message, Part } from "../domain/Message.ts"
import { partsOf, text, toolCallsOf } from "../domain/MessageParts.ts"
import { countOf } from "./Budget.ts"
import * as Facts from "./Facts.ts"
import { callers, newestGroup } from "./Turns.ts"

/** Calls that only look, so that the same call later tells all that the earlier one told. */
const looking: ReadonlySet<string> = new Set(["read", "glob", "grep", "lsp"])

/** Tokens from which on an output is long, and what is left of it. */
const long = { from: 600, left: 200 } as const

/** A result in its shorter form, and where it stands. @since 0.1.0 @category models */
export interface Shortened {
  readonly index: number
  readonly message: Message
}

/** @since 0.1.0 @category models */
export interface Savings {
  readonly shortened: ReadonlyArray<Shortened>
  readonly tokens_saved: number
}

const note = (message: Message, said: string): Message => {
  const { token_count: _, ...rest } = message
  return { ...rest, content: said }
}

const shorter = (message: Message): Message => {
  const { token_count: _, ...rest } = message
  const parts = partsOf(message).map((part): Part => {
    if (part.type === "text") return text(Facts.within(part.text, long.left))
    if (part.type === "image" || part.type === "file") return text(`[${part.type} left out to save room]`)
    return part
  })
  return { ...rest, content: parts }
}

const pathOf = (args: string): string | null => {
  try {
    const input: unknown = JSON.parse(args)
    const path = typeof input === "object" && input !== null ? (input as { readonly path?: unknown }).path : null
    return typeof path === "string" ? path : null
  } catch {
    return null
  }
}

/**
 * Shortens, oldest first, until at most `target` tokens are left; null when that cannot be reached.
 *
 * @since 0.1.0
 * @category combinators
 */
export const make = (
  messages: ReadonlyArray<Message>,
  counts: ReadonlyArray<number>,
  target: number
): Savings | null => {
  let tokens = 0
  for (const count of counts) tokens += count
  const before = tokens
  const caller = callers(messages)
  const newest = newestGroup(caller)
  const out = new Map<number, Message>()

  const take = (index: number, message: Message): void => {
    const was = out.get(index)
    const gained = (was === undefined ? counts[index] ?? 0 : countOf(was)) - countOf(message)
    if (gained <= 0) return
    tokens -= gained
    out.set(index, message)
  }

  // from the end: what a later call tells again
  const told = new Set<string>()
  const outdated: Array<readonly [index: number, why: string]> = []
  for (let i = messages.length - 1; i >= 0; i--) {
    const at = caller[i] ?? -1
    const message = messages[i]
    const owner = messages[at]
    if (message === undefined || owner === undefined || message.is_error === true) continue
    const call = toolCallsOf(owner).find(({ id }) => id === message.tool_call_id)
    if (call === undefined) continue
    if (looking.has(call.name)) {
      const same = `${call.name} ${call.arguments}`
      if (told.has(same)) {
        if (at !== newest) outdated.push([i, `[${call.name}: the same was looked up again later]`])
      } else if (call.name === "read" && told.has(`written ${pathOf(call.arguments)}`)) {
        outdated.push([i, "[read: the file was written anew later]"])
      }
      told.add(same)
    } else if (call.name === "write") told.add(`written ${pathOf(call.arguments)}`)
  }
  for (const [index, why] of outdated.reverse()) {
    const message = messages[index]
    if (message !== undefined) take(index, note(message, why))
  }
  for (let i = 0; i < messages.length; i++) {
    if (tokens <= target) break
    const message = messages[i]
    const at = caller[i] ?? -1
    if (message === undefined || at < 0 || at === newest || out.has(i)) continue
    if ((counts[i] ?? 0) >= long.from) take(i, shorter(message))
  }
  if (tokens > target || out.size === 0) return null
  return {
    shortened: [...out].map(([index, message]) => ({ index, message })).sort((a, b) => a.index - b.index),
    tokens_saved: before - tokens
  }
}

/** What fills a conversation, for people: the largest first. @since 0.1.0 @category encoding */
export const fillers = (messages: ReadonlyArray<Message>): string => {
  const named = messages.map((message, index) => {
    const what = message.role === "tool"
      ? `a result of ${message.tool_name ?? "a tool"}`
      : message.role === "system"
      ? "the system prompt"
      : message.kind === "summary"
      ? "the summary of what came before"
      : message.role === "user"
      ? "what the user said"
      : "an answer of the model"
    return { what: `${what} (message ${index + 1})`, tokens: countOf(message) }
  })
  return named.sort((a, b) => b.tokens - a.tokens).slice(0, 3)
    .map(({ tokens, what }) => `${what}: about ${tokens} tokens`).join("; ")
}
