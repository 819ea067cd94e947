/**
 * What makes an entry of `mcp_servers` a definition or an overlay, and what holds between its keys (readings 1.1, 4.8).
 *
 * @since 0.1.0
 */
import type { Check } from "./Check.ts"
import type * as Document from "./Document.ts"
import { once } from "../domain/Once.ts"
import { identityComplaints, loginComplaints } from "./LoginCheck.ts"
import { mcpServerConfig } from "./Sections.ts"
import { nameComplaint, patternComplaint } from "./ToolLists.ts"
import { quote } from "./Words.ts"

/** Whether an http or https address stands here, or a variable that may hold one. @since 0.1.0 @category combinators */
export const mayBeAddress = (text: string): boolean =>
  text.includes("${") || (URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol))

/** Keys that lie over a definition of any tier. @since 0.1.0 @category combinators */
export const isOverlayKey = (key: string): boolean =>
  key === "disabled" || key === "required" || key === "include_tools" || key === "exclude_tools" ||
  key === "tool_names" || key.endsWith("_ms")

/** An entry with these members needs a definition: it does not only switch one off. @since 0.1.0 @category combinators */
export const isAdjusting = (members: ReadonlyMap<string, unknown>): boolean =>
  !members.has("command") && !members.has("url") && !(members.size === 1 && members.has("disabled"))

type ObjectNode = Document.Node & { readonly type: "object" }

const known = once(() => new Set(Object.keys(mcpServerConfig().fields)))

const snake = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** `transport` is an older name of `type`; the other spellings are the check's own affair. */
const named = (key: string): string => key === "transport" ? "type" : known().has(key) ? key : snake(key)

/** The members that are there, under their names in snake_case. */
const present = (node: ObjectNode): ReadonlyMap<string, Document.Node> =>
  new Map(node.members.flatMap(({ key, value }) => value.type === "null" ? [] : [[snake(key), value]]))

const grants: ReadonlyArray<string> = ["authorization_code", "client_credentials", "jwt_bearer", "enterprise"]

const checkLogin = (check: Check, node: ObjectNode, path: string): void => {
  const members = present(node)
  const grant = members.get("grant")
  const identity = members.get("identity_provider")
  const named = grant === undefined ? "authorization_code" : grant.type === "string" ? grant.value : ""
  const say = (at: ObjectNode, of: string, complaints: ReturnType<typeof loginComplaints>): void => {
    for (const { key, message } of complaints) {
      const place = present(at).get(key) ?? at
      const whole = `${of}${message.startsWith(".") ? "" : " "}${message}`
      check.report("error", "invalid_value", key === "" || place === at ? of : `${of}.${key}`, place.offset, whole)
    }
  }
  say(node, path, loginComplaints(new Set(members.keys()), grants.includes(named) ? named : null))
  if (identity?.type === "object") {
    say(identity, `${path}.identity_provider`, identityComplaints(new Set(present(identity).keys())))
  }
}

/** What only servers of the one kind have: those that are programs, those that have an address. */
const ofPrograms: ReadonlySet<string> = new Set(["args", "env", "cwd", "sandbox"])
const ofAddresses: ReadonlySet<string> = new Set(["headers", "oauth"])

/** It says nothing, so that it does no harm where it does not belong. */
const isIdle = (node: Document.Node): boolean =>
  node.type === "object"
    ? node.members.length === 0
    : node.type === "array"
    ? node.items.length === 0
    : node.value === false || node.value === null

/** What the definition has beside a command, or an address, that counts for the other only. */
const checkKind = (
  check: Check,
  members: ReadonlyArray<Document.Member>,
  has: "command" | "url",
  path: string
): void => {
  const others = has === "command" ? ofAddresses : ofPrograms
  for (const { key, key_offset, value } of members) {
    const name = named(key)
    if (!others.has(name) || isIdle(value)) continue
    check.report(
      "warning",
      "unused_key",
      `${path}.${name}`,
      key_offset,
      has === "command"
        ? `${path}.${name} is for servers with a url; this one is a program, and it is not used`
        : `${path}.${name} is for servers that are programs; this one has a url, and it is not used`
    )
  }
}

/** Entries of its lists of tools that match none. */
const checkTools = (check: Check, given: ReadonlyMap<string, Document.Node>, path: string): void => {
  const say = (key: string, offset: number, text: string, complaint: string | null): void => {
    if (complaint === null) return
    check.report("warning", "tools_never_match", key, offset, `${key}: ${quote(text)} matches no tool: ${complaint}`)
  }
  for (const key of ["include_tools", "exclude_tools"]) {
    const list = given.get(key)
    if (list?.type !== "array") continue
    list.items.forEach((item, at) => {
      if (item.type === "string") say(`${path}.${key}.${at}`, item.offset, item.value, patternComplaint(item.value))
    })
  }
  const names = given.get("tool_names")
  if (names?.type !== "object") return
  for (const { key, key_offset } of names.members) say(`${path}.tool_names`, key_offset, key, nameComplaint(key))
}

/** Keys that nothing but their own type is asked of, beside a `command`. */
const simple: ReadonlySet<string> = new Set(["command", "args", "env", "cwd", "disabled", "required"])

const isSimple = (node: ObjectNode): boolean => {
  let has_command = false
  for (const { key, value } of node.members) {
    if (!simple.has(key) || value.type === "null") return false
    has_command ||= key === "command"
  }
  return has_command
}

/**
 * The entry as it is to be checked key by key; what is wrong with it as a whole is reported here.
 *
 * @since 0.1.0
 * @category decoding
 */
export const checkServer = (check: Check, node: ObjectNode, path: string): ObjectNode => {
  if (isSimple(node)) return node
  const has_type = node.members.some(({ key }) => key === "type")
  const special = ({ key }: Document.Member): boolean => key === "transport" || named(key) === "trust_annotations"
  const members = !node.members.some(special) ?
    node.members :
    node.members.flatMap((member): ReadonlyArray<Document.Member> => {
      if (member.key === "transport") return has_type ? [] : [{ ...member, key: "type" }]
      if (named(member.key) !== "trust_annotations" || check.tier === "user" || member.value.type === "null") {
        return [member]
      }
      check.ignored(`${path}.trust_annotations`, member.value)
      return []
    })
  const given = new Map<string, Document.Node>()
  for (const { key, value } of members) {
    if (value.type === "null") given.delete(named(key))
    else given.set(named(key), value)
  }
  const command = given.get("command")
  const url = given.get("url")
  const wrong = (key: string, offset: number, message: string): void =>
    void check.report("error", "invalid_value", key, offset, message)
  if (command !== undefined && url !== undefined) {
    wrong(path, node.offset, `${path} has both command and url; keep the one that is meant`)
  }
  if (command === undefined && url === undefined) {
    for (const [key, value] of given) {
      if (!known().has(key) || isOverlayKey(key)) continue
      wrong(
        `${path}.${key}`,
        value.offset,
        `${path} has neither command nor url, so it only adjusts another tier's server and cannot have the key ${
          quote(key)
        }`
      )
    }
  }
  if (url?.type === "string" && url.value !== "" && !mayBeAddress(url.value)) {
    wrong(`${path}.url`, url.offset, `${path}.url must be an http or https address`)
  }
  if ((command === undefined) !== (url === undefined)) {
    checkKind(check, members, command === undefined ? "url" : "command", path)
  }
  checkTools(check, given, path)
  const oauth = given.get("oauth")
  if (oauth?.type === "object" && url !== undefined) checkLogin(check, oauth, `${path}.oauth`)
  const type = given.get("type")
  if (type?.type === "string" && (command === undefined) !== (url === undefined)) {
    const needed = type.value === "stdio" ? "command" : type.value === "http" || type.value === "sse" ? "url" : null
    if (needed !== null && !given.has(needed)) {
      wrong(`${path}.type`, type.offset, `${path}.type ${quote(type.value)} needs ${needed}`)
    }
  }
  return { ...node, members }
}
