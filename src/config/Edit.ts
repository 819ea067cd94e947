/**
 * Changes to a settings file that keep its comments, its order, its indentation and the keys nobody knows (reading
 * 4.10). Pure: text in, text out.
 *
 * @since 0.1.0
 */
import * as jsonc from "jsonc-parser"
import * as Document from "./Document.ts"
import { append, prepend, type Style } from "./Insertion.ts"
import { remove } from "./Removal.ts"
import { camel, quote, typeName } from "./Words.ts"

/** @since 0.1.0 @category models */
export type Edited =
  | { readonly text: string }
  | { readonly problem: string }

/** What has to be mended before anything can be set; null = nothing. */
const notAnObject = (root: Document.Node | null): Edited | null =>
  root === null || root.type === "object"
    ? null
    : { problem: `the file holds ${typeName(root)} where an object is expected; put {} in its place` }

const styleOf = (text: string): Style => {
  const indent = /\n([ \t]+)(?=\S)/u.exec(text)?.[1] ?? "  "
  return { indent: indent.startsWith("\t") ? "\t" : indent.slice(0, 8), eol: text.includes("\r\n") ? "\r\n" : "\n" }
}

const bom = "\uFEFF"

/** A change of the text behind its byte order mark, which places do not count. */
const changed = (source: string, change: (text: string) => string): string =>
  source.startsWith(bom) ? `${bom}${change(source.slice(1))}` : change(source)

/** Another value where one stands. */
const replace = (source: string, path: ReadonlyArray<string | number>, value: unknown): string =>
  changed(source, (text) => {
    const { eol, indent } = styleOf(text)
    const formattingOptions = {
      insertSpaces: indent !== "\t",
      tabSize: indent.length,
      eol
    }
    return jsonc.applyEdits(text, jsonc.modify(text, [...path], value, { formattingOptions }))
  })

/** `keys` from the outermost on, each in the one before it. */
const nested = (keys: ReadonlyArray<string>, value: unknown): unknown =>
  keys.reduceRight((inner, key) => ({ [key]: inner }), value)

/** A file in which nothing but blanks and comments stands: the value goes below them. */
const begin = (source: string, value: unknown): string =>
  changed(source, (text) => {
    const { eol, indent } = styleOf(text)
    const comments = text.trim() === "" ? "" : `${text.trimEnd()}${eol}`
    return `${comments}${JSON.stringify(value, null, indent).replaceAll("\n", eol)}${eol}`
  })

interface Target {
  /** Segments as the file spells them. */
  readonly path: ReadonlyArray<string | number>
  /** What is there; null = nothing yet. */
  readonly node: Document.Node | null
}

/** Follows a path through the tree of a file; a key that stands twice, or a value in the way, is a problem. */
const locate = (root: Document.Node | null, path: ReadonlyArray<string>): Target | { readonly problem: string } => {
  const spelled: Array<string | number> = []
  let node = root
  for (const [depth, segment] of path.entries()) {
    if (node === null || node.type === "null") {
      node = null
      spelled.push(segment)
      continue
    }
    const here = path.slice(0, depth).join(".")
    if (node.type !== "object") {
      return {
        problem: here === ""
          ? "the file holds no object; correct it first"
          : `${here} is no object in the file; set ${here} as a whole`
      }
    }
    const members: ReadonlyArray<Document.Member> = node.members
    const exact = members.filter((member) => member.key === segment)
    const found = exact.length > 0 ? exact : members.filter((member) => member.key === camel(segment))
    if (found.length > 1) {
      return { problem: `the key ${quote(segment)} stands twice in the file; remove one of them first` }
    }
    const only = found[0]
    spelled.push(only?.key ?? segment)
    node = only?.value ?? null
  }
  return { path: spelled, node }
}

/** The text without what the path leads to; without anything there, it stays as it is. */
const unset = (text: string, root: Document.Node | null, path: ReadonlyArray<string>): Edited => {
  const target = locate(root, path)
  if ("problem" in target) return target
  const parent = locate(root, path.slice(0, -1))
  if ("problem" in parent || parent.node?.type !== "object") return { text }
  const at = parent.node.members.findIndex(({ value }) => value === target.node)
  return { text: at < 0 ? text : without(text, parent.node, at) }
}

const without = (source: string, parent: Document.Node, at: number): string =>
  changed(source, (text) => remove(text, parent.offset, at))

/**
 * Sets one value. `null` counts as absent in its tier (reading 4.3), so it is how a setting is taken back; `undefined`
 * takes the key itself out, with the comments that are its own. Parents that are missing or null are made.
 *
 * @since 0.1.0
 * @category combinators
 */
export const set = (text: string, path: ReadonlyArray<string>, value: unknown): Edited => {
  const document = Document.parse(text)
  if (document.problem !== null) return { problem: `the file is no JSON: ${document.problem.message}` }
  const other = notAnObject(document.root)
  if (other !== null) return other
  const [head, pattern] = path
  if (head === "permissions" && pattern !== undefined && path.length === 2) {
    const list = locate(document.root, ["permissions"])
    if (!("problem" in list) && list.node?.type === "array") {
      return { text: setInList(text, list.path, list.node, pattern, value) }
    }
  }
  if (value === undefined) return unset(text, document.root, path)
  const target = locate(document.root, path)
  if ("problem" in target) return target
  if (target.node !== null) return { text: replace(text, target.path, value) }
  if (document.root === null) return { text: begin(text, nested(path, value)) }
  // the innermost that is there takes the rest of the path; a null makes room for it
  for (let depth = path.length - 1; depth >= 0; depth--) {
    const parent = locate(document.root, path.slice(0, depth))
    if ("problem" in parent || parent.node === null) continue
    const { node } = parent
    const [key = "", ...rest] = path.slice(depth)
    if (node.type === "null") return { text: replace(text, parent.path, nested([key, ...rest], value)) }
    return {
      text: changed(text, (plain) => append(plain, node.offset, { key, value: nested(rest, value) }, styleOf(plain)))
    }
  }
  return { text }
}

const patternOf = (item: Document.Node): string | null => {
  if (item.type !== "object") return null
  const pattern = item.members.findLast(({ key }) => key === "tool_pattern" || key === "toolPattern")?.value
  return pattern?.type === "string" ? pattern.value : null
}

const setMode = (
  text: string,
  path: ReadonlyArray<string | number>,
  rule: Document.Node | undefined,
  mode: unknown
): string =>
  rule?.type === "object" && !rule.members.some(({ key }) => key === "mode")
    ? changed(text, (plain) => append(plain, rule.offset, { key: "mode", value: mode }, styleOf(plain)))
    : replace(text, [...path, "mode"], mode)

/** Rules as an array: the first one with the pattern takes the mode, or goes without one, else a new one is put there. */
const setInList = (
  text: string,
  path: ReadonlyArray<string | number>,
  list: Document.Node & { readonly type: "array" },
  pattern: string,
  mode: unknown,
  put = append
): string => {
  const known = list.items.findIndex((item) => patternOf(item) === pattern)
  if (mode === undefined) return known < 0 ? text : without(text, list, known)
  return known >= 0
    ? setMode(text, [...path, known], list.items[known], mode)
    : changed(text, (plain) => put(plain, list.offset, { value: { tool_pattern: pattern, mode } }, styleOf(plain)))
}

/**
 * Adds an allow-rule before all other rules, so that it decides; a rule with just this pattern is changed where it
 * stands.
 *
 * @since 0.1.0
 * @category combinators
 */
export const allow = (text: string, pattern: string): Edited => {
  const document = Document.parse(text)
  if (document.problem !== null) return { problem: `the file is no JSON: ${document.problem.message}` }
  const other = notAnObject(document.root)
  if (other !== null) return other
  const target = locate(document.root, ["permissions"])
  if ("problem" in target) return target
  const { node, path } = target
  if (node === null || node.type === "null") return set(text, ["permissions", pattern], "allow")
  if (node.type === "array") return { text: setInList(text, path, node, pattern, "allow", prepend) }
  if (node.type !== "object") return { problem: "permissions is neither an object nor an array in the file" }
  if (node.members.some(({ key }) => key === pattern)) return set(text, ["permissions", pattern], "allow")
  return {
    text: changed(text, (plain) => prepend(plain, node.offset, { key: pattern, value: "allow" }, styleOf(plain)))
  }
}
