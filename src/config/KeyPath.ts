/**
 * Keys as they are typed: `max_tokens`, `providers."my.name".base_url`, `permissions.bash(git status*)`.
 *
 * @since 0.1.0
 */
import * as AST from "effect/SchemaAST"
import { nearest } from "../codec/Distance.ts"
import { knownKeys, strip, unrefined } from "./SchemaTypes.ts"
import { HanzoConfig } from "./Schema.ts"
import { camel, quote } from "./Words.ts"

/** Where a key leads: its segments in snake_case, or why it leads nowhere. @since 0.1.0 @category models */
export type FoundKey =
  | { readonly path: ReadonlyArray<string> }
  | { readonly problem: string }

const split = (key: string): ReadonlyArray<string> | null => {
  const segments: Array<string> = []
  let at = 0
  while (at <= key.length) {
    if (key[at] === "\"") {
      const quoted = /^"(?:[^"\\]|\\.)*"/u.exec(key.slice(at))?.[0]
      if (quoted === undefined) return null
      const end = at + quoted.length
      if (end < key.length && key[end] !== ".") return null
      try {
        segments.push(String(JSON.parse(quoted)))
      } catch {
        return null
      }
      at = end + 1
    } else if (segments.length === 1 && camel(segments[0] ?? "") === "permissions") {
      // a pattern may hold anything, dots too
      segments.push(key.slice(at))
      break
    } else {
      const dot = key.indexOf(".", at)
      const end = dot < 0 ? key.length : dot
      segments.push(key.slice(at, end))
      at = end + 1
    }
    if (at === key.length + 1) break
  }
  return segments
}

/** One step down from a type; the segment as the settings spell it. */
const step = (
  types: ReadonlyArray<AST.AST>,
  segment: string
): { readonly name: string; readonly types: ReadonlyArray<AST.AST> } | { readonly known: ReadonlyArray<string> } => {
  const known: Array<string> = []
  for (const type of types.map(unrefined)) {
    if (AST.isUnknownKeyword(type)) return { name: segment, types: [type] }
    if (AST.isTypeLiteral(type)) {
      for (const property of type.propertySignatures) {
        const name = String(property.name)
        known.push(name)
        if (name === segment || camel(name) === segment) return { name, types: strip(property.type) }
      }
      const index = type.indexSignatures[0]
      if (index !== undefined) return { name: segment, types: strip(index.type) }
    }
    const item = AST.isTupleType(type) ? type.rest[0] : undefined
    if (item !== undefined && /^\d+$/u.test(segment)) return { name: segment, types: strip(item.type) }
  }
  return { known }
}

/** @since 0.1.0 @category decoding */
export const parseKey = (key: string): FoundKey => {
  const segments = split(key)
  if (segments === null || segments.includes("")) {
    return {
      problem: `${quote(key)} is no key; segments are joined by dots, names with dots stand in double quotes: ` +
        "providers.\"my.name\".base_url"
    }
  }
  const path: Array<string> = []
  let types: ReadonlyArray<AST.AST> = [HanzoConfig.ast]
  for (const segment of segments) {
    if (path.length === 1 && path[0] === "permissions") {
      path.push(segment)
      continue
    }
    const next = step(types, segment)
    if ("known" in next) {
      const near = nearest(segment, path.length === 0 ? knownKeys : next.known)
      const where = path.length === 0 ? "there is no setting" : `${path.join(".")} has no key`
      return { problem: `${where} ${quote(segment)}${near === undefined ? "" : `; did you mean ${quote(near)}?`}` }
    }
    path.push(next.name)
    types = next.types
  }
  return { path }
}
