/**
 * The file of stored logins as text (readings 6.10, 13.1): `{"hanzo": {...}, "anthropic": {...}, "mcp": {KEY: {...}}}`.
 * Pure: text in, logins or a new text out.
 *
 * Changes are made in the text itself, so that whatever this version does not know keeps its bytes. Read are also the
 * older keys `oauth` (of hanzo), `oauth_anthropic` and `oauth_openai`, fields in camelCase, and times in milliseconds;
 * the first change of a file brings all of them into the new form.
 *
 * @since 0.1.0
 */
import * as Redacted from "effect/Redacted"
import * as jsonc from "jsonc-parser"
import * as Document from "../config/Document.ts"
import { camel, quote, typeName } from "../config/Words.ts"
import { headerFault } from "./HeaderText.ts"
import type { ProviderCredential } from "./ProviderCredential.ts"

/** Why a file, or one login of it, cannot be used; `line` and `column` from 1. @since 0.1.0 @category models */
export interface Problem {
  readonly line: number
  readonly column: number
  /** Without any value of the file. */
  readonly message: string
}

/** One login, or what makes it none. `key` is how the file spells it. @since 0.1.0 @category models */
export type Entry =
  | { readonly provider: string; readonly key: string; readonly credential: ProviderCredential }
  | { readonly provider: string; readonly key: string; readonly problem: Problem }

/** The logins by provider, in the order of the file; `problem` = the text as a whole is no file of logins. @since 0.1.0 @category models */
export type Parsed =
  | { readonly entries: ReadonlyMap<string, Entry> }
  | { readonly problem: Problem }

const legacy: Readonly<Record<string, string>> = {
  oauth: "hanzo",
  oauth_anthropic: "anthropic",
  oauth_openai: "openai"
}

const legacyOf = (key: string): string | undefined => Object.hasOwn(legacy, key) ? legacy[key] : undefined

const servers = "mcp"
const prefix = `${servers}/`

/**
 * The name under which a login at a server of tools is stored: its issuer, the resource it is for and the client
 * (reading 1.13).
 *
 * @since 0.1.0
 * @category constructors
 */
export const serverKey = (issuer: string, resource: string, client_id: string): string =>
  `${prefix}${[issuer, resource, client_id].map((part) => part.replaceAll(/[\s%]/gu, encodeURIComponent)).join(" ")}`

/** Why nothing can be stored under this name; null = it can. @since 0.1.0 @category combinators */
export const nameProblem = (provider: string): string | null =>
  provider === "" || provider === prefix
    ? "the name of a provider is empty"
    : provider === servers || legacyOf(provider) !== undefined
    ? `${quote(provider)} has another meaning in the file of logins; give the provider another name`
    : null

const pathOf = (provider: string): ReadonlyArray<string> =>
  provider.startsWith(prefix) ? [servers, provider.slice(prefix.length)] : [provider]

/** Known fields in the order in which they are written. */
const fields = [
  "access_token",
  "refresh_token",
  "expires_at",
  "scopes",
  "client_id",
  "client_secret",
  "issuer",
  "token_endpoint",
  "resource",
  "dpop_key"
] as const
type Field = typeof fields[number]

/** A time above this many seconds (the year 5138) was meant in milliseconds. */
const latestSeconds = 100_000_000_000

const seconds = (value: number): number => value > latestSeconds ? value / 1000 : value

const fieldOf = (members: ReadonlyArray<Document.Member>, name: Field): Document.Node | null => {
  const found = members.findLast(({ key }) => key === name) ?? members.findLast(({ key }) => key === camel(name))
  return found === undefined || found.value.type === "null" ? null : found.value
}

class Wrong {
  readonly offset: number
  readonly message: string
  constructor(offset: number, message: string) {
    this.offset = offset
    this.message = message
  }
}

const textOf = (members: ReadonlyArray<Document.Member>, name: Field): string | null => {
  const node = fieldOf(members, name)
  if (node === null) return null
  if (node.type !== "string") throw new Wrong(node.offset, `${name} must be a text, this is ${typeName(node)}`)
  return node.value.trim()
}

const timeOf = (members: ReadonlyArray<Document.Member>): number | null => {
  const node = fieldOf(members, "expires_at")
  if (node === null) return null
  const value = node.type === "number"
    ? node.value
    : node.type === "string" && node.value.trim() !== ""
    ? Number(node.value)
    : Number.NaN
  if (!Number.isFinite(value)) {
    throw new Wrong(node.offset, "expires_at must be a number of seconds since 1970, or null")
  }
  return seconds(value)
}

const scopesOf = (members: ReadonlyArray<Document.Member>): ReadonlyArray<string> | null => {
  const node = fieldOf(members, "scopes")
  if (node === null) return null
  if (node.type === "string") return node.value.split(" ").filter((scope) => scope !== "")
  if (node.type !== "array") throw new Wrong(node.offset, `scopes must be an array of texts, this is ${typeName(node)}`)
  return node.items.map((item) => {
    if (item.type !== "string") throw new Wrong(item.offset, `a scope must be a text, this is ${typeName(item)}`)
    return item.value
  })
}

const credentialOf = (provider: string, node: Document.Node): ProviderCredential => {
  if (node.type !== "object") throw new Wrong(node.offset, `a login must be an object, this is ${typeName(node)}`)
  const { members, offset } = node
  const access_token = textOf(members, "access_token") ?? ""
  const refresh_token = textOf(members, "refresh_token") ?? ""
  if (access_token === "" && refresh_token === "") throw new Wrong(offset, "a login needs an access_token")
  const fault = access_token === "" ? null : headerFault(access_token)
  if (fault !== null) throw new Wrong(offset, `the access_token ${fault}; log in again`)
  const scopes = scopesOf(members)
  const optional = (name: "client_id" | "issuer" | "token_endpoint" | "resource") => {
    const value = textOf(members, name)
    return value === null ? {} : { [name]: value }
  }
  const client_secret = textOf(members, "client_secret")
  const dpop_key = textOf(members, "dpop_key")
  return {
    provider,
    access_token: Redacted.make(access_token),
    refresh_token: refresh_token === "" ? null : Redacted.make(refresh_token),
    expires_at: timeOf(members),
    ...(scopes === null ? {} : { scopes }),
    ...optional("client_id"),
    ...(client_secret === null ? {} : { client_secret: Redacted.make(client_secret) }),
    ...optional("issuer"),
    ...optional("token_endpoint"),
    ...optional("resource"),
    ...(dpop_key === null ? {} : { dpop_key: Redacted.make(dpop_key) })
  }
}

/** A login from a plain object, as the settings hold one; a text says what is wrong with it. @since 0.1.0 @category decoding */
export const fromObject = (provider: string, value: unknown): ProviderCredential | string => {
  try {
    return credentialOf(provider, Document.fromValue(value))
  } catch (wrong) {
    if (wrong instanceof Wrong) return wrong.message
    throw wrong
  }
}

const entryOf = (provider: string, key: string, node: Document.Node, places: Document.Places): Entry => {
  try {
    return { provider, key, credential: credentialOf(provider, node) }
  } catch (wrong) {
    if (!(wrong instanceof Wrong)) throw wrong
    return { provider, key, problem: { ...places.position(wrong.offset), message: `${quote(key)}: ${wrong.message}` } }
  }
}

/** Never throws, whatever the text. A file that is empty holds no login. @since 0.1.0 @category decoding */
export const parse = (source: string): Parsed => {
  const { problem, root, text } = Document.parse(source)
  const places = Document.places(text)
  if (problem !== null) return { problem: { ...places.position(problem.offset), message: problem.message } }
  const entries = new Map<string, Entry>()
  if (root === null) return { entries }
  if (root.type !== "object") {
    return {
      problem: {
        ...places.position(root.offset),
        message: `the file must hold an object with one login a provider, this is ${typeName(root)}`
      }
    }
  }
  const { members } = Document.unique(root.members)
  for (const { key, value } of members) {
    if (value.type === "null") continue
    const old = legacyOf(key)
    if (old !== undefined) {
      // the new form wins
      if (!members.some((other) => other.key === old && other.value.type !== "null")) {
        entries.set(old, entryOf(old, key, value, places))
      }
    } else if (key !== servers) entries.set(key, entryOf(key, key, value, places))
    else if (value.type === "object") {
      for (const server of Document.unique(value.members).members) {
        if (server.value.type === "null") continue
        entries.set(
          `${prefix}${server.key}`,
          entryOf(`${prefix}${server.key}`, `mcp.${server.key}`, server.value, places)
        )
      }
    } else {
      return {
        problem: { ...places.position(value.offset), message: `"mcp" must be an object, this is ${typeName(value)}` }
      }
    }
  }
  return { entries }
}

/** A part of the tree with its extent, which is all that changes of a text need; the text is JSON by now. */
const nodeAt = (text: string, path: ReadonlyArray<string>): jsonc.Node | undefined => {
  const root = jsonc.parseTree(text, [], { allowTrailingComma: true })
  return root === undefined ? undefined : jsonc.findNodeAtLocation(root, [...path])
}

const splice = (text: string, from: number, to: number, by: string): string => text.slice(0, from) + by + text.slice(to)

const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/u.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1))?.[0] ?? ""

const step = "  "

/** Sets one value; nothing else of the text is touched, not even its layout. */
const setAt = (text: string, path: ReadonlyArray<string>, value: unknown): string => {
  const written = JSON.stringify(value)
  const there = nodeAt(text, path)
  if (there !== undefined) return splice(text, there.offset, there.offset + there.length, written)
  const parent = nodeAt(text, path.slice(0, -1))
  if (parent?.type !== "object") return text
  const member = `${quote(path.at(-1) ?? "")}: ${written}`
  const eol = text.includes("\r\n") ? "\r\n" : "\n"
  const last = parent.children?.at(-1)
  if (last !== undefined) {
    const own = indentAt(text, last.offset)
    const lines = text.slice(parent.offset, last.offset).includes("\n")
    return splice(text, last.offset + last.length, last.offset + last.length, `,${lines ? eol + own : " "}${member}`)
  }
  const inside = text.slice(parent.offset + 1, parent.offset + parent.length - 1)
  const own = indentAt(text, parent.offset)
  return splice(
    text,
    parent.offset + 1,
    parent.offset + 1 + (inside.trim() === "" ? inside.length : 0),
    `${eol}${own}${step}${member}${eol}${own}`
  )
}

/** Takes the first member with this name away, with the comma that belongs to it. */
const cutAt = (text: string, path: ReadonlyArray<string>): string => {
  const property = nodeAt(text, path)?.parent
  const all = property?.parent?.children ?? []
  if (property === undefined) return text
  const at = all.indexOf(property)
  const end = (node: jsonc.Node) => node.offset + node.length
  const [before, after] = [all[at - 1], all[at + 1]]
  if (before !== undefined) return splice(text, end(before), end(property), "")
  if (after !== undefined) return splice(text, property.offset, after.offset, "")
  // it may have a comma behind it
  const rest = /^\s*,/u.exec(text.slice(end(property)))?.[0] ?? ""
  return splice(text, property.offset, end(property) + rest.length, "")
}

const rootMembers = (text: string): ReadonlyArray<Document.Member> => {
  const { root } = Document.parse(text)
  return root?.type === "object" ? root.members : []
}

const membersAt = (text: string, path: ReadonlyArray<string>): ReadonlyArray<Document.Member> => {
  let members = rootMembers(text)
  for (const key of path) {
    const value = members.findLast((member) => member.key === key)?.value
    members = value?.type === "object" ? value.members : []
  }
  return members
}

const rename = (text: string, { key_offset }: Document.Member, to: string): string => {
  const spelled = /^"(?:[^"\\]|\\.)*"/su.exec(text.slice(key_offset))?.[0] ?? ""
  return splice(text, key_offset, key_offset + spelled.length, quote(to))
}

const removeAt = (text: string, path: ReadonlyArray<string>): string => {
  const key = path.at(-1)
  let left = text
  while (membersAt(left, path.slice(0, -1)).some((member) => member.key === key)) {
    const next = cutAt(left, path)
    if (next === left) return left
    left = next
  }
  return left
}

/** Each key once, the last of equal ones: the value that counts when the text is read. */
const withoutDuplicates = (text: string, path: ReadonlyArray<string>): string => {
  let left = text
  for (;;) {
    const members = membersAt(left, path)
    const first = members.find(({ key }, at) => members.findLastIndex((other) => other.key === key) !== at)
    if (first === undefined) return left
    // a name that is nowhere else makes the first of them the one that is removed
    let name = "duplicate"
    while (members.some(({ key }) => key === name)) name += "_"
    left = cutAt(rename(left, first, name), [...path, name])
  }
}

/** Old spellings of one login's fields, and its time in milliseconds. */
const modernFields = (text: string, path: ReadonlyArray<string>): string => {
  let left = withoutDuplicates(text, path)
  for (const name of fields) {
    const members = membersAt(left, path)
    const old = name === camel(name) ? undefined : members.find(({ key }) => key === camel(name))
    if (old === undefined) continue
    left = members.some(({ key }) => key === name) ? removeAt(left, [...path, camel(name)]) : rename(left, old, name)
  }
  const time = membersAt(left, path).find(({ key }) => key === "expires_at")?.value
  return time?.type === "number" && seconds(time.value) !== time.value
    ? setAt(left, [...path, "expires_at"], seconds(time.value))
    : left
}

/** The text in the new form. `edited` loses what an older key says of it. */
const modern = (source: string, edited: string): string => {
  const bare = source.startsWith("\uFEFF") ? source.slice(1) : source
  if (Document.parse(bare).root === null) return "{}\n"
  let text = withoutDuplicates(bare, [])
  for (const { key } of rootMembers(text)) {
    const provider = legacyOf(key)
    if (provider === undefined) continue
    const now = rootMembers(text)
    const taken = now.find((member) => member.key === provider)
    const old = now.find((member) => member.key === key)
    if (old === undefined || old.value.type === "null") continue
    if (taken !== undefined && taken.value.type !== "null") {
      if (provider === edited) text = removeAt(text, [key])
      continue
    }
    if (taken !== undefined) text = removeAt(text, [provider])
    const again = rootMembers(text).find((member) => member.key === key)
    if (again !== undefined) text = rename(text, again, provider)
  }
  for (const { key, value } of rootMembers(text)) {
    if (key === servers) {
      if (value.type !== "object") continue
      text = withoutDuplicates(text, [servers])
      for (const server of membersAt(text, [servers])) text = modernFields(text, [servers, server.key])
    } else if (value.type === "object" && legacyOf(key) === undefined) text = modernFields(text, [key])
  }
  return text
}

const ended = (text: string): string => text.endsWith("\n") ? text : `${text}\n`

const valueOf = (credential: ProviderCredential, field: Field): unknown => {
  switch (field) {
    case "access_token":
      return Redacted.value(credential.access_token)
    case "refresh_token":
      return credential.refresh_token === null ? null : Redacted.value(credential.refresh_token)
    case "client_secret":
    case "dpop_key":
      return credential[field] === undefined ? undefined : Redacted.value(credential[field])
    default:
      return credential[field]
  }
}

/**
 * The text with this login in it; fields of the entry that nobody knows stay. Only for a text that `parse` can read.
 *
 * @since 0.1.0
 * @category encoding
 */
export const withLogin = (source: string, credential: ProviderCredential): string => {
  const path = pathOf(credential.provider)
  let text = modern(source, credential.provider)
  // jsonc-parser adds nothing to what is no object
  for (const depth of [1, 2].slice(0, path.length)) {
    const at = path.slice(0, depth)
    const there = membersAt(text, at.slice(0, -1)).find(({ key }) => key === at.at(-1))
    if (there === undefined || there.value.type !== "object") text = setAt(text, at, {})
  }
  for (const field of fields) {
    const value = valueOf(credential, field)
    text = value === undefined ? removeAt(text, [...path, field]) : setAt(text, [...path, field], value)
  }
  return ended(text)
}

/** The text without the login of a provider, whichever key it stands under. @since 0.1.0 @category encoding */
export const withoutLogin = (source: string, provider: string): string => {
  const old = Object.keys(legacy).find((key) => legacy[key] === provider)
  const text = modern(source, provider)
  return ended([pathOf(provider), ...(old === undefined ? [] : [[old]])].reduce(removeAt, text))
}
