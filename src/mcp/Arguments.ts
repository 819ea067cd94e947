/**
 * What a person types around MCP: `/mcp__SERVER__PROMPT arguments`, and `@SERVER:URI` in a prompt (reading 1.14). Pure.
 *
 * @since 0.1.0
 */
import { nearest } from "../codec/Distance.ts"
import { withoutTrailing } from "../codec/Trailing.ts"
import type { McpPrompt } from "./Connection.ts"

/** @since 0.1.0 @category models */
export interface PromptCommand {
  readonly name: string
  readonly rest: string
}

/** A text that is a prompt command; null = it is not. @since 0.1.0 @category decoding */
export const promptCommand = (text: string): PromptCommand | null => {
  const found = /^\s*\/(mcp__[A-Za-z0-9_-]+)(?:\s+([\s\S]*))?$/.exec(text)
  return found === null ? null : { name: found[1] ?? "", rest: (found[2] ?? "").trim() }
}

/** Words as a shell has them: blanks part them, quotes hold them together, a backslash takes what follows as it is. @since 0.1.0 @category decoding */
export const words = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let word: string | null = null
  let quote: string | null = null
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i)
    if (quote === null && /\s/.test(char)) {
      if (word !== null) found.push(word)
      word = null
    } else if (char === "\\" && quote !== "'" && i + 1 < text.length) word = (word ?? "") + text.charAt(++i)
    else if (quote !== null) {
      if (char === quote) quote = null
      else word = (word ?? "") + char
    } else if (char === "\"" || (char === "'" && word === null)) {
      quote = char
      word ??= ""
    } else word = (word ?? "") + char
  }
  if (word !== null) found.push(word)
  return found
}

/** `missing`: what has to be given and was not, beside what was. @since 0.1.0 @category models */
export type PromptArguments =
  | { readonly ok: { readonly [name: string]: string } }
  | {
    readonly why: string
    readonly missing?: ReadonlyArray<string>
    readonly given?: { readonly [name: string]: string }
  }

/**
 * The arguments of a prompt: `name=value` for those it has, the others in their order; what is left over belongs to the
 * last one.
 *
 * @since 0.1.0
 * @category decoding
 */
export const promptArguments = (
  prompt: Pick<McpPrompt, "arguments">,
  rest: string
): PromptArguments => {
  const given = new Map<string, string>()
  const names = prompt.arguments.map(({ name }) => name)
  const loose: Array<string> = []
  for (const word of words(rest)) {
    const at = word.indexOf("=")
    const name = word.slice(0, Math.max(0, at))
    if (at > 0 && names.includes(name) && !given.has(name)) given.set(name, word.slice(at + 1))
    else loose.push(word)
  }
  const open = names.filter((name) => !given.has(name))
  open.forEach((name, i) => {
    const values = i === open.length - 1 ? loose.slice(i) : loose.slice(i, i + 1)
    if (values.length > 0) given.set(name, values.join(" "))
  })
  if (open.length === 0 && loose.length > 0) {
    return {
      why: names.length === 0 ? "it takes no arguments" : `it has no argument for ${JSON.stringify(loose.join(" "))}`
    }
  }
  const missing = prompt.arguments.filter(({ name, required }) => required && !given.has(name)).map(({ name }) => name)
  return missing.length > 0
    ? {
      why: `it needs ${missing.join(" and ")}; write ${missing.map((name) => `${name}=...`).join(" ")}`,
      missing,
      given: Object.fromEntries(given)
    }
    : { ok: Object.fromEntries(given) }
}

/** A resource that a prompt names. `text` is how it stands there. @since 0.1.0 @category models */
export interface Mention {
  readonly server: string
  readonly uri: string
}

/** Mentions that are attached to one prompt; more are left as text. @since 0.1.0 @category constants */
export const maxMentions = 20

/**
 * `@SERVER:URI` for the servers there are, each once. An address ends at a blank; a mark that ends a sentence is not part
 * of it.
 *
 * @since 0.1.0
 * @category decoding
 */
export const mentions = (text: string, servers: Iterable<string>): ReadonlyArray<Mention> => {
  if (!text.includes("@")) return []
  const known = [...servers].toSorted((a, b) => b.length - a.length)
  const found = new Map<string, Mention>()
  for (let at = text.indexOf("@"); at !== -1 && found.size < maxMentions; at = text.indexOf("@", at + 1)) {
    if (at > 0 && !/[\s([{"'`,]/.test(text.charAt(at - 1))) continue
    const server = known.find((name) => text.startsWith(`${name}:`, at + 1))
    if (server === undefined) continue
    const raw = /^[^\s"'`<>]+/.exec(text.slice(at + server.length + 2))?.[0] ?? ""
    const uri = withoutTrailing(raw, ".,;:!?)]}")
    if (uri !== "") found.set(`${server}\0${uri}`, { server, uri })
  }
  return [...found.values()]
}

/**
 * `@NAME:ADDRESS` where no server has this name and one has nearly this name: as they stand, with the name that may be
 * meant.
 *
 * @since 0.1.0
 * @category decoding
 */
export const mistypedMentions = (
  text: string,
  servers: Iterable<string>
): ReadonlyArray<{ readonly mention: string; readonly server: string }> => {
  const known = [...servers]
  const found = new Map<string, string>()
  let looked = 0
  for (
    const [, name = "", uri = ""] of text.matchAll(
      /(?<![^\s([{"'`,])@([\w.-]{1,64}):([a-z][a-z0-9+.-]{0,31}:[^\s"'`<>]+)/gi
    )
  ) {
    if (++looked > maxMentions) break
    if (known.some((server) => `${name}:${uri}`.startsWith(`${server}:`))) continue
    const server = nearest(name, known)
    if (server !== undefined) found.set(`@${name}:${withoutTrailing(uri, ".,;:!?)]}")}`, server)
  }
  return Array.from(found, ([mention, server]) => ({ mention, server }))
}

/** A template (RFC 6570) as far as it says which addresses belong to it. @since 0.1.0 @category combinators */
export const matchesTemplate = (template: string, uri: string): boolean => {
  const parts = template.split(/\{([^}]*)\}/)
  const literals = parts.filter((_, i) => i % 2 === 0)
  const [first = "", ...rest] = literals
  if (rest.length === 0) return uri === template
  if (!uri.startsWith(first)) return false
  let at = first.length
  for (const [i, literal] of rest.entries()) {
    const last = i === rest.length - 1
    const next = literal === ""
      ? (last ? uri.length : at + 1)
      : last
      ? uri.length - literal.length
      : uri.indexOf(literal, at + 1)
    if (next < at || (last && !uri.endsWith(literal))) return false
    at = next + literal.length
  }
  return true
}
