/**
 * What a scenario asks of a request: whether a condition holds, and how a request differs from what was
 * expected. Pure functions over a conversation.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { Message } from "../domain/Message.ts"
import { partsOf, textOf, toolCallsOf } from "../domain/MessageParts.ts"
import { type Conversation, lookupIn } from "./Conversation.ts"
import type { Condition, Expectation, ExpectedMessage, TextTest } from "./ScenarioConditions.ts"
import * as Template from "./ScenarioTemplate.ts"

const shown = (text: string): string => {
  const points = Array.from(text)
  return JSON.stringify(points.length <= 200 ? text : `${points.slice(0, 200).join("")}...`)
}

/** The place where two texts part, with a little of both sides. */
const parting = (expected: string, got: string): string => {
  const a = Array.from(expected)
  const b = Array.from(got)
  const at = a.findIndex((point, i) => point !== b[i])
  const first = at < 0 ? a.length : at
  const around = (points: ReadonlyArray<string>) =>
    JSON.stringify(points.slice(Math.max(0, first - 20), first + 40).join(""))
  return `they part at character ${first + 1}: expected ${around(a)}, got ${around(b)}`
}

/**
 * What keeps a text from passing, in words; null when it passes. `text` null = there is none.
 */
const failureOf = (test: TextTest, text: string | null): string | null => {
  if (text === null) return "there is none"
  if (typeof test === "string") {
    return text.includes(test)
      ? null
      : `expected to contain ${shown(test)}, got ${shown(text)}`
  }
  if (test.equals !== undefined && test.equals !== text) {
    return `expected ${shown(test.equals)}, got ${shown(text)}; ${parting(test.equals, text)}`
  }
  const parts = test.contains === undefined ? [] : typeof test.contains === "string" ? [test.contains] : test.contains
  const missing = parts.find((part) => !text.includes(part))
  if (missing !== undefined) return `expected to contain ${shown(missing)}, got ${shown(text)}`
  if (test.matches !== undefined) {
    const pattern = Template.compilePattern(test.matches)
    if (Either.isLeft(pattern)) return pattern.left
    if (!pattern.right.test(text)) return `expected to match /${test.matches}/, got ${shown(text)}`
  }
  if (test.not !== undefined && failureOf(test.not, text) === null) {
    return `expected not to pass ${JSON.stringify(test.not)}, got ${shown(text)}`
  }
  return null
}

/**
 * What is wrong in the patterns and templates of a condition, with the place inside it; empty = nothing.
 *
 * @since 0.1.0
 * @category decoding
 */
export const problemsOf = (value: unknown, place: string): ReadonlyArray<readonly [place: string, message: string]> => {
  if (Array.isArray(value)) return value.flatMap((entry: unknown, i) => problemsOf(entry, `${place}[${i}]`))
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, entry]): ReadonlyArray<readonly [string, string]> => {
    const here = `${place}.${key}`
    if (key === "matches" && typeof entry === "string") {
      const pattern = Template.compilePattern(entry)
      return Either.isLeft(pattern) ? [[here, pattern.left]] : []
    }
    if (key === "value" && typeof entry === "string") {
      const template = Template.parse(entry)
      return Either.isLeft(template) ? [[here, template.left]] : []
    }
    return problemsOf(entry, here)
  })
}

const valueOf = (written: string, conversation: Conversation): string | null => {
  const template = Template.parse(written)
  if (Either.isLeft(template)) return null
  return Either.getOrNull(Template.evaluateText(template.right, lookupIn(conversation)))
}

/** @since 0.1.0 @category combinators */
export const holds = (condition: Condition, conversation: Conversation): boolean => {
  const passes = (test: TextTest | undefined, text: string | null) =>
    test === undefined || failureOf(test, text) === null
  const result = conversation.last_result
  if (condition.value !== undefined) {
    const value = valueOf(condition.value, conversation)
    if (value === null || !passes(condition.is, value)) return false
  }
  return passes(condition.prompt, conversation.prompt) &&
    passes(condition.last_tool_result, result?.text ?? null) &&
    (condition.is_error === undefined || result?.is_error === condition.is_error) &&
    (condition.request === undefined || condition.request === conversation.request) &&
    (condition.tool === undefined || conversation.tools.some((tool) => tool.name === condition.tool)) &&
    (condition.all === undefined || condition.all.every((inner) => holds(inner, conversation))) &&
    (condition.any === undefined || condition.any.some((inner) => holds(inner, conversation))) &&
    (condition.not === undefined || !holds(condition.not, conversation))
}

const summary = (message: Message): string => {
  const calls = toolCallsOf(message).map((call) => call.name)
  const others = partsOf(message).filter((part) => part.type !== "text" && part.type !== "tool_call").map((part) =>
    part.type
  )
  return [
    message.role,
    shown(textOf(message)),
    ...(calls.length > 0 ? [`calls ${calls.join(", ")}`] : []),
    ...(others.length > 0 ? [`with ${others.join(", ")}`] : [])
  ].join(" ")
}

const messageDifferences = (
  expected: ExpectedMessage,
  message: Message | undefined,
  place: string
): ReadonlyArray<string> => {
  if (message === undefined) return [`${place}: expected ${JSON.stringify(expected)}, but there is no such message`]
  const found: Array<string> = []
  if (expected.role !== undefined && expected.role !== message.role) {
    found.push(`${place}.role: expected ${expected.role}, got ${summary(message)}`)
  }
  const text = expected.text === undefined ? null : failureOf(expected.text, textOf(message))
  if (text !== null) found.push(`${place}.text: ${text}`)
  const calls = toolCallsOf(message).map((call) => call.name)
  if (expected.calls !== undefined && expected.calls.join("\n") !== calls.join("\n")) {
    found.push(`${place}.calls: expected [${expected.calls.join(", ")}], got [${calls.join(", ")}]`)
  }
  if (expected.is_error !== undefined && expected.is_error !== (message.is_error === true)) {
    found.push(`${place}.is_error: expected ${expected.is_error}, got ${message.is_error === true}`)
  }
  return found
}

/** Every difference between the request and the expectation, in words; empty = it is as expected. @since 0.1.0 @category combinators */
export const differences = (expected: Expectation, conversation: Conversation): ReadonlyArray<string> => {
  const { messages } = conversation
  const found: Array<string> = []
  const text = (place: string, test: TextTest | undefined, value: string | null) => {
    const failure = test === undefined ? null : failureOf(test, value)
    if (failure !== null) found.push(`${place}: ${failure}`)
  }
  text("system", expected.system, conversation.system)
  text("prompt", expected.prompt, conversation.prompt)
  text("last_tool_result", expected.last_tool_result, conversation.last_result?.text ?? null)
  const roles = messages.map((message) => message.role)
  if (expected.roles !== undefined && expected.roles.join(" ") !== roles.join(" ")) {
    found.push(`roles: expected [${expected.roles.join(", ")}], got [${roles.join(", ")}]`)
  }
  const length = expected.messages?.length ?? messages.length
  if (length !== messages.length) {
    found.push(`messages: expected ${length}, got ${messages.length}: ${messages.map(summary).join(" / ")}`)
  }
  expected.messages?.forEach((message, i) => found.push(...messageDifferences(message, messages[i], `messages[${i}]`)))
  const from = messages.length - (expected.last?.length ?? 0)
  expected.last?.forEach((message, i) =>
    found.push(...messageDifferences(message, messages[from + i], `messages[${from + i}]`))
  )
  const names = conversation.tools.map((tool) => tool.name)
  if (expected.tools !== undefined && [...expected.tools].sort().join("\n") !== [...names].sort().join("\n")) {
    const missing = expected.tools.filter((name) => !names.includes(name))
    const extra = names.filter((name) => !expected.tools?.includes(name))
    found.push(
      `tools: ${missing.length > 0 ? `missing ${missing.join(", ")}` : ""}${
        missing.length > 0 && extra.length > 0 ? "; " : ""
      }${extra.length > 0 ? `unexpected ${extra.join(", ")}` : ""}`
    )
  }
  const absent = expected.offers?.filter((name) => !names.includes(name)) ?? []
  if (absent.length > 0) found.push(`tools: missing ${absent.join(", ")}; offered are ${names.join(", ") || "none"}`)
  for (const [key, value] of Object.entries(expected.options ?? {})) {
    const got: unknown = Reflect.get(conversation.options, key)
    if (JSON.stringify(got) !== JSON.stringify(value)) {
      found.push(`options.${key}: expected ${JSON.stringify(value)}, got ${JSON.stringify(got) ?? "nothing"}`)
    }
  }
  return found
}
