/**
 * What can be said of `include_tools`, `exclude_tools` and `tool_names` without the server: that an entry matches no tool.
 * The exact name of a tool always matches it, so these are mistakes of the kind that nobody makes on purpose. Pure.
 *
 * @since 0.1.0
 */
import * as Fnmatch from "../codec/Fnmatch.ts"
import { quote } from "./Words.ts"

const blank = (text: string): string | null =>
  text.trim() === text ? null : `there is a blank at its ${text.trimStart() === text ? "end" : "beginning"}`

/** The name of a tool as models see it, where its own is meant. */
const canonical = (text: string): string | null => {
  if (!text.startsWith("mcp__")) return null
  const own = /^mcp__.*?__(.+)$/su.exec(text)?.[1]
  return `the tool's own name is meant here, without mcp__SERVER__${own === undefined ? "" : `; write ${quote(own)}`}`
}

/** Why no tool can be meant by an entry of `include_tools` or `exclude_tools`; null = nothing that is known. @since 0.1.0 @category combinators */
export const patternComplaint = (pattern: string): string | null => {
  if (pattern === "") return "no tool has an empty name; for every tool write \"*\""
  const simple = blank(pattern) ?? canonical(pattern)
  if (simple !== null) return simple
  switch (Fnmatch.flaw(pattern)) {
    case "open":
      return "a [ has no ]"
    case "empty":
      return "there is a class in it, [...], that holds no character: its range runs backwards"
    case null:
  }
  const plain = pattern.replaceAll(/\[!?\]?[^\]]*\]/gu, "")
  if (/\{.*,.*\}/su.test(plain)) return "braces are plain characters here; write an entry for each of them"
  if (plain.includes(",")) return "an entry is one name or glob; write an entry for each of them"
  const odd = /[\^$|(){}\\]/u.exec(plain)?.[0]
  return odd === undefined
    ? null
    : `${quote(odd)} is a plain character here, and names of tools do not have it; a glob has *, ?, [...] and [!...]`
}

/** Why no tool can be meant by a key of `tool_names`; null = nothing that is known. @since 0.1.0 @category combinators */
export const nameComplaint = (name: string): string | null =>
  name === ""
    ? "no tool has an empty name"
    : blank(name) ?? canonical(name) ??
      (/[*?]/u.test(name) ? "names stand here, no globs; write an entry for each of them" : null)
