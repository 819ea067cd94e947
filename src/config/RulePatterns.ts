/**
 * What can be said of a rule's pattern without a call: that it is no pattern, that it never matches anything, that a rule
 * before it decides all it could decide (readings 7.1, 7.3, 7.5). Pure.
 *
 * @since 0.1.0
 */
import { nearest } from "../codec/Distance.ts"
import * as Fnmatch from "../codec/Fnmatch.ts"
import { once } from "../domain/Once.ts"
import type { PermissionMode } from "../domain/Permission.ts"
import { quote } from "./Words.ts"

/** The tools of this program by name; those of MCP servers begin with `mcp__`. @since 0.1.0 @category constants */
export const toolNames: ReadonlyArray<string> = [
  "bash",
  "bash_output",
  "bash_kill",
  "read",
  "write",
  "edit",
  "apply_patch",
  "glob",
  "grep",
  "lsp",
  "fetch",
  "task",
  "todo",
  "skill",
  "mcp_search",
  "mcp_resources",
  "mcp_read",
  "mcp_sampling"
]

const known: ReadonlySet<string> = new Set(toolNames)

interface Split {
  readonly name: string
  /** null = it speaks about the tool's name alone. */
  readonly subject: string | null
}

const split = (pattern: string): Split => {
  const open = pattern.indexOf("(")
  return open < 0 || !pattern.endsWith(")")
    ? { name: pattern, subject: null }
    : { name: pattern.slice(0, open), subject: pattern.slice(open + 1, -1) }
}

/** Something is wrong with a pattern; `error` = it cannot be meant. @since 0.1.0 @category models */
export interface PatternProblem {
  readonly severity: "error" | "warning"
  /** Goes on after the pattern. */
  readonly message: string
}

const mayBeMcp = (name: string): boolean => {
  const special = name.search(/[*?[]/)
  const literal = special < 0 ? name : name.slice(0, special)
  return literal.startsWith("mcp__") || (special >= 0 && "mcp__".startsWith(literal))
}

/** What keeps a pattern from ever matching; null = nothing that is known. @since 0.1.0 @category combinators */
export const patternProblem = (pattern: string): PatternProblem | null => {
  const dead = (message: string): PatternProblem => ({ severity: "warning", message: `never matches: ${message}` })
  if (pattern === "") return dead("no tool has an empty name; for every tool write \"*\"")
  const trimmed = pattern.trim()
  const open = trimmed.indexOf("(")
  if (open < 0 ? trimmed.includes(")") : !trimmed.endsWith(")")) {
    return {
      severity: "error",
      message: `has a bracket without its other half; a pattern is TOOL or TOOL(SUBJECT), for example ${
        quote(open < 0 ? trimmed.replaceAll(")", "") : `${trimmed})`)
      }`
    }
  }
  if (trimmed !== pattern) return dead(`there is a blank at its ${pattern.startsWith(" ") ? "beginning" : "end"}`)
  const { name, subject } = split(pattern)
  if (name !== name.trim()) {
    return dead(`there is a blank before the bracket; write ${quote(`${name.trim()}(${subject ?? ""})`)}`)
  }
  if (known.has(name)) return null
  if (/\{.*,.*\}/.test(name)) return dead("braces are plain characters here; write a rule for each of them")
  if (mayBeMcp(name)) return null
  const matches = Fnmatch.compile(name)
  if (toolNames.some(matches)) return null
  const tool = toolNames.find((each) => name.startsWith(each) && /^[^A-Za-z0-9_]/.test(name.slice(each.length)))
  if (tool !== undefined && subject === null) {
    return dead(
      `no tool is called that; for some calls of ${tool} write ${
        quote(`${tool}(${name.slice(tool.length + 1).trim()})`)
      }`
    )
  }
  const near = nearest(name.toLowerCase(), toolNames)
  return dead(
    `no tool is called ${quote(name)}${near === undefined ? "" : `; did you mean ${quote(near)}?`}`
  )
}

const strength: Readonly<Record<PermissionMode, number>> = { allow: 0, prompt: 1, deny: 2 }

/** A pattern, taken apart, that stands before others. */
class Above {
  private readonly begins: string
  /** Made for the first pattern that begins alike: most never meet one. */
  private readonly parts: () => {
    readonly name: (text: string) => boolean
    readonly subject: ((text: string) => boolean) | null
  }

  constructor(pattern: string) {
    this.begins = /^[^*?[]*/.exec(pattern)?.[0] ?? ""
    this.parts = once(() => {
      const own = split(pattern)
      // A class or `?` is not followed: then it counts as not known.
      const simple = (glob: string) => /[?[]/.test(glob) ? (text: string) => text === glob : Fnmatch.compile(glob)
      return { name: simple(own.name), subject: own.subject === null ? null : simple(own.subject) }
    })
  }

  /** Every call that `below` matches is matched by this one. */
  covers(below: string): boolean {
    if (!below.startsWith(this.begins)) return false
    const own = this.parts()
    const { name, subject } = split(below)
    if (!own.name(name)) return false
    return own.subject === null || (subject !== null && own.subject(subject))
  }
}

/** Every call that `below` matches is matched by `above`. @since 0.1.0 @category combinators */
export const covers = (above: string, below: string): boolean => new Above(above).covers(below)

/** Longer lists are not looked through. */
const maxRules = 1_000

interface Ruled {
  readonly tool_pattern: string
  readonly mode: PermissionMode
}

/**
 * Rules of one list that never decide, because a milder one before them matches the same calls: position to the position
 * of that one.
 *
 * @since 0.1.0
 * @category combinators
 */
export const shadowed = (rules: ReadonlyArray<Ruled>): ReadonlyMap<number, number> => {
  const found = new Map<number, number>()
  if (rules.length > maxRules) return found
  const milder: Array<{ readonly index: number; readonly mode: PermissionMode; readonly above: Above }> = []
  for (const [index, { mode, tool_pattern }] of rules.entries()) {
    const by = mode === "allow"
      ? undefined
      : milder.find((other) => strength[other.mode] < strength[mode] && other.above.covers(tool_pattern))
    if (by !== undefined) found.set(index, by.index)
    if (mode !== "deny") milder.push({ index, mode, above: new Above(tool_pattern) })
  }
  return found
}
