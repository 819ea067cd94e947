/**
 * What no summary may lose, kept word for word and carried from one summary to the next (reading 5.7): what the user
 * asked first and last, the list of tasks, the files that were read and changed. Pure.
 *
 * Each fact is a text part of its own behind the summary's words, known by its first line, so that it is read back
 * without guessing.
 *
 * @since 0.1.0
 */
import type { Message, TextPart } from "../domain/Message.ts"
import { text, textOf, toolCallsOf } from "../domain/MessageParts.ts"
import { textTokens } from "./Budget.ts"
import { callers } from "./Turns.ts"

/** Paths and task lines in the order of their last mention. @since 0.1.0 @category models */
export interface Facts {
  readonly goal: string | null
  readonly request: string | null
  /** JSON text of the items as they were given last; null = there was no list. */
  readonly todo: string | null
  readonly files_read: ReadonlyArray<string>
  readonly files_modified: ReadonlyArray<string>
}

/** @since 0.1.0 @category constants */
export const none: Facts = { goal: null, request: null, todo: null, files_read: [], files_modified: [] }

const heads = {
  goal: "\n\n## What the user asked for first, word for word\n",
  request: "\n\n## The latest request in what was compacted, word for word\n",
  todo: "\n\n## Task list, as it stands\n",
  files_read: "\n\n## Files read\n",
  files_modified: "\n\n## Files changed\n"
} as const

const json = (value: string): unknown => {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined

/** Calls that facts are made of; of those that stay only the list of tasks. */
const telling: ReadonlySet<string> = new Set(["todo", "read", "write", "edit", "apply_patch"])
const latest: ReadonlySet<string> = new Set(["todo"])

const patched = (patch: string): ReadonlyArray<string> =>
  [...patch.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ b\/)(.+)$/gm)]
    .map(([, path]) => (path ?? "").trim())
    .filter((path) => path !== "")

/** The facts that an earlier summary carries. @since 0.1.0 @category decoding */
export const ofSummary = (message: Message): Facts => {
  if (message.kind !== "summary" || typeof message.content === "string") return none
  const found = new Map<string, string>()
  for (const part of message.content) {
    if (part.type !== "text") continue
    for (const [name, head] of Object.entries(heads)) {
      if (part.text.startsWith(head)) found.set(name, part.text.slice(head.length))
    }
  }
  const lines = (name: string): ReadonlyArray<string> =>
    (found.get(name) ?? "").split("\n").filter((line) => line.startsWith("- ")).map((line) => line.slice(2))
  return {
    goal: found.get("goal") ?? null,
    request: found.get("request") ?? null,
    todo: found.get("todo") ?? null,
    files_read: lines("files_read"),
    files_modified: lines("files_modified")
  }
}

/** What an earlier summary said, without its facts. @since 0.1.0 @category decoding */
export const wordsOf = (message: Message): string =>
  typeof message.content === "string"
    ? message.content
    : message.content.reduce(
      (all, part) =>
        part.type === "text" && !Object.values(heads).some((head) => part.text.startsWith(head))
          ? all + part.text
          : all,
      ""
    )

/** Moves what was mentioned again to the end. */
class Mentions {
  readonly paths = new Set<string>()
  add(paths: ReadonlyArray<string>): void {
    for (const path of paths) {
      this.paths.delete(path)
      this.paths.add(path)
    }
  }
}

/**
 * The facts of what is compacted. The list of tasks is the latest of the whole conversation. Calls whose result was an
 * error changed and read nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const collect = (messages: ReadonlyArray<Message>, middle: ReadonlyArray<number>): Facts => {
  const caller = callers(messages)
  const failed = new Set<string>()
  caller.forEach((call, index) => {
    const message = messages[index]
    if (call >= 0 && message?.is_error === true) failed.add(`${call}:${message.tool_call_id ?? ""}`)
  })
  const read = new Mentions()
  const modified = new Mentions()
  let goal: string | null = null
  let request: string | null = null
  let todo: string | null = null
  const compacted = new Set(middle)
  messages.forEach((message, index) => {
    const inside = compacted.has(index)
    if (inside && message.kind === "summary") {
      const earlier = ofSummary(message)
      goal ??= earlier.goal
      request = earlier.request ?? request
      todo = earlier.todo ?? todo
      read.add(earlier.files_read)
      modified.add(earlier.files_modified)
      return
    }
    if (inside && message.role === "user" && message.tool_call_id === undefined) {
      const said = textOf(message)
      if (said.trim() !== "") {
        goal ??= said
        request = said
      }
      return
    }
    if (message.role !== "assistant") return
    for (const call of toolCallsOf(message)) {
      if (failed.has(`${index}:${call.id}`)) continue
      if (!(inside ? telling : latest).has(call.name)) continue
      const input = json(call.arguments)
      const path = field(input, "path")
      switch (call.name) {
        case "todo": {
          const items = field(input, "items")
          if (Array.isArray(items)) todo = items.length === 0 ? null : JSON.stringify(items)
          break
        }
        case "read":
          if (typeof path === "string") read.add([path])
          break
        case "write":
        case "edit":
          if (typeof path === "string") modified.add([path])
          break
        case "apply_patch": {
          const patch = field(input, "patch")
          if (typeof patch === "string") modified.add(patched(patch))
          break
        }
      }
    }
  })
  return { goal, request, todo, files_read: [...read.paths], files_modified: [...modified.paths] }
}

/**
 * A text within a number of tokens: as it is, else its begin and its end with what is missing named between; empty where
 * not even that fits.
 *
 * @since 0.1.0
 * @category combinators
 */
export const within = (value: string, tokens: number): string => {
  if (textTokens(value) <= tokens) return value
  for (let size = Math.min(value.length, tokens * 4); size >= 32; size = Math.floor(size / 2)) {
    const cut = both(value, Math.floor(size * 0.7), Math.floor(size * 0.3))
    if (textTokens(cut) <= tokens) return cut
  }
  return ""
}

const both = (value: string, head: number, tail: number): string => {
  const begin = value.slice(0, head).replace(/[\ud800-\udbff]$/, "")
  const end = value.slice(value.length - tail).replace(/^[\udc00-\udfff]/, "")
  return `${begin}\n[... ${value.length - begin.length - end.length} characters left out ...]\n${end}`
}

/** The latest paths that fit. */
const listed = (head: string, paths: ReadonlyArray<string>, tokens: number): string => {
  const lines: Array<string> = []
  let left = tokens - textTokens(head)
  for (const path of [...paths].reverse()) {
    const line = `- ${path.replaceAll(/\s*[\r\n]+\s*/g, " ")}\n`
    left -= textTokens(line)
    if (left < 0) break
    lines.push(line)
  }
  return lines.length === 0 ? "" : head + lines.reverse().join("")
}

/** Tokens that facts may take of what there is: all of it when it is little. @since 0.1.0 @category combinators */
export const share = (tokens: number): number => tokens < 400 ? tokens : Math.floor(tokens * 0.75)

/**
 * The facts as parts of a message, in at most `tokens`. The task list comes first, then the goal, the request and the
 * files; a request that does not fit is cut in its middle, a list of tasks never is.
 *
 * @since 0.1.0
 * @category encoding
 */
export const parts = (facts: Facts, tokens: number): ReadonlyArray<TextPart> => {
  let left = tokens
  const out = new Map<keyof Facts, string>()
  const put = (name: keyof Facts, value: string): void => {
    const cost = textTokens(value)
    if (value === "" || cost > left) return
    out.set(name, value)
    left -= cost
  }
  const said = (name: "goal" | "request", value: string, share: number): void => {
    const body = within(value, share - textTokens(heads[name]))
    if (body !== "") put(name, heads[name] + body)
  }
  if (facts.todo !== null) put("todo", heads.todo + facts.todo)
  const { goal, request } = facts
  const two = goal !== null && request !== null && request !== goal
  if (goal !== null) said("goal", goal, two ? Math.floor(left / 2) : Math.floor(left * 0.8))
  if (request !== null && (two || goal === null)) said("request", request, Math.floor(left * 0.7))
  put("files_modified", listed(heads.files_modified, facts.files_modified, Math.floor(left * 0.6)))
  put("files_read", listed(heads.files_read, facts.files_read, left))
  return (["goal", "request", "todo", "files_modified", "files_read"] as const).flatMap((name) => {
    const value = out.get(name)
    return value === undefined ? [] : [text(value)]
  })
}
