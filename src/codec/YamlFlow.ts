/**
 * Flow collections of YAML (YAML 1.2.2, chapter 7.4): a list or a map in brackets, in one line, one level deep.
 *
 * @since 0.1.0
 */
import type { FrontValue } from "./FrontMatter.ts"
import { Broken, keyOf, quotedAt, scalar } from "./YamlScalar.ts"

/** Of one list or map. @since 0.1.0 @category constants */
export const maxItems = 1000

/** Items between brackets; null = the brackets do not close at the end, so that it is a text. @since 0.1.0 @category decoding */
export const flow = (text: string, close: string, line: number): ReadonlyArray<string> | null => {
  const items: Array<string> = []
  let at = 1
  for (;;) {
    while (/\s/.test(text[at] ?? "")) at++
    if (text[at] === close) {
      return text.slice(at + 1).trim() === "" ? items : null
    }
    const quoted = quotedAt(text, at, line)
    let end = quoted === null ? at : quoted.end
    let depth = 0
    for (; end < text.length; end++) {
      const character = text[end] ?? ""
      // a map's value may be quoted behind its colon
      if (quoted === null && (character === "\"" || character === "'") && /[\s:]/.test(text[end - 1] ?? "")) {
        end = (quotedAt(text, end, line)?.end ?? end + 1) - 1
        continue
      }
      if (depth === 0 && (character === "," || character === close)) break
      // "(" is no YAML, and rules of permissions have commas in it
      if (character === "[" || character === "{" || character === "(") depth++
      if ((character === "]" || character === "}" || character === ")") && depth > 0) depth--
    }
    if (end >= text.length) return null
    items.push(text.slice(at, end).trim())
    if (items.length > maxItems) throw new Broken(`there are more than ${maxItems} items`, line)
    at = text[end] === "," ? end + 1 : end
  }
}

const pair = (text: string, line: number): readonly [string, string] => {
  const found = keyOf(text, line)
  if (found === null) throw new Broken("expected `name: text` between the braces", line)
  return [found.key, scalar(found.value.trim(), line)]
}

/** The value of what stood in `[]`. @since 0.1.0 @category decoding */
export const sequenceOf = (items: ReadonlyArray<string>, line: number): FrontValue =>
  items.some((item) => /^[[{]/.test(item))
    ? { kind: "other", line }
    : { kind: "list", items: items.filter((item) => item !== "").map((item) => scalar(item, line)), line }

/** The value of what stood in `{}`. @since 0.1.0 @category decoding */
export const mappingOf = (items: ReadonlyArray<string>, line: number): FrontValue => {
  if (items.some((item) => /:\s*[[{]/.test(item))) return { kind: "other", line }
  const entries = new Map<string, string>()
  for (const item of items) {
    if (item === "") continue
    const [key, value] = pair(item, line)
    if (entries.has(key)) throw new Broken(`${JSON.stringify(key)} stands here twice`, line)
    entries.set(key, value)
  }
  return { kind: "map", entries, line }
}
