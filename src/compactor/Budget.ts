/**
 * How many tokens a conversation takes, and when it is too much (readings 5.1, 5.2). Pure.
 *
 * @since 0.1.0
 */
import type { Message, Part } from "../domain/Message.ts"
import { placeholder, placeholderTokens } from "./Placeholder.ts"

/** Hundredths of a token for a code point: ASCII, ASCII in JSON, the rest of the basic plane, beyond it. */
const weight = { ascii: 27, json: 40, basic: 75, astral: 200 } as const

/** @since 0.1.0 @category constants */
export const imageTokens = 1600

/** What every message costs on top of its words. */
const messageTokens = 4

const isBlank = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d)

/** Begins with a brace or bracket and ends with one, blanks aside. */
const looksLikeJson = (text: string): boolean => {
  let first = 0
  let last = text.length - 1
  while (first < last && isBlank(text.charCodeAt(first))) first++
  while (last > first && isBlank(text.charCodeAt(last))) last--
  if (last <= first) return false
  const open = text.charCodeAt(first)
  const close = text.charCodeAt(last)
  return (open === 0x7b || open === 0x5b) && (close === 0x7d || close === 0x5d)
}

/** Where the first code unit beyond ASCII may stand, at most seven before it; the length where there is none. */
const asciiUntil = (text: string): number => {
  const whole = text.length - (text.length % 8)
  let i = 0
  for (; i < whole; i += 8) {
    // eight at a time: nearly all that is weighed is ASCII
    const all = text.charCodeAt(i) | text.charCodeAt(i + 1) | text.charCodeAt(i + 2) | text.charCodeAt(i + 3) |
      text.charCodeAt(i + 4) | text.charCodeAt(i + 5) | text.charCodeAt(i + 6) | text.charCodeAt(i + 7)
    if (all >= 0x80) return i
  }
  return i
}

const hundredthsFrom = (text: string): number => {
  let basic = 0
  let astral = 0
  const length = text.length
  for (let i = asciiUntil(text); i < length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x80) continue
    if (code >= 0xd800 && code <= 0xdbff && i + 1 < length) {
      const next = text.charCodeAt(i + 1)
      if (next >= 0xdc00 && next <= 0xdfff) {
        astral++
        i++
        continue
      }
    }
    basic++
  }
  const ascii = length - basic - 2 * astral
  return ascii * (looksLikeJson(text) ? weight.json : weight.ascii) + basic * weight.basic + astral * weight.astral
}

/** Hundredths of a token that a text takes on its own. @since 0.1.0 @category combinators */
export const hundredths = (text: string): number => text === "" ? 0 : hundredthsFrom(text)

/** Tokens of a text on its own, without a message around it. @since 0.1.0 @category combinators */
export const textTokens = (text: string): number => Math.ceil(hundredths(text) / 100)

/** Base64 characters of a document for one token: a page of some 60 kB is read as about 2,000 tokens. */
const documentCharacters = 40

const partHundredths = (part: Part): number => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return hundredths(part.text)
    case "tool_call":
      return hundredths(part.name) + hundredths(part.arguments)
    case "image":
      return imageTokens * 100
    case "file":
      return Math.max(imageTokens, Math.ceil(part.data.length / documentCharacters)) * 100
  }
}

/** The estimate of reading 5.2, whatever `token_count` says. @since 0.1.0 @category combinators */
export const estimate = (message: Message): number => {
  if (message.content === placeholder) return placeholderTokens
  let all = 0
  if (typeof message.content === "string") all += hundredths(message.content)
  else for (const part of message.content) all += partHundredths(part)
  for (const call of message.tool_calls ?? []) all += hundredths(call.name) + hundredths(call.arguments)
  return messageTokens + Math.ceil(all / 100)
}

/** Tokens of a message: its own count where it has a sound one (0 is one), else the estimate. @since 0.1.0 @category combinators */
export const countOf = (message: Message): number => {
  const { token_count } = message
  return typeof token_count === "number" && Number.isFinite(token_count) && token_count >= 0
    ? token_count
    : estimate(message)
}

/** @since 0.1.0 @category combinators */
export const total = (messages: ReadonlyArray<Message>): number => {
  let all = 0
  for (const message of messages) all += countOf(message)
  return all
}

/** Over nine tenths of the budget, strictly. @since 0.1.0 @category combinators */
export const exceeds = (tokens: number, max_tokens: number): boolean => 10 * tokens > 9 * max_tokens
