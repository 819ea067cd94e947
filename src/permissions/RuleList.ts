/**
 * A list of rules, compiled for many evaluations: patterns are found by the literal text they begin with, so that a
 * thousand rules cost about as much as the few that can match. Pure.
 *
 * @since 0.1.0
 */
import * as Fnmatch from "../codec/Fnmatch.ts"
import type { PermissionRule } from "../domain/Permission.ts"

/** @since 0.1.0 @category models */
export interface TieredRule extends PermissionRule {
  readonly tier?: string
  readonly file?: string
  readonly line?: number
  /** Subjects (without a subject part: tool names) that the rule must match. */
  readonly match?: ReadonlyArray<string>
  /** Those that it must not match. */
  readonly not_match?: ReadonlyArray<string>
  /** It counts in its list and decides nothing: an allow of a workspace that is not trusted (reading 4.9). */
  readonly untrusted?: boolean
}

/** Where `tool(subject)` is split: the first `(`, and the `)` it must end with. @since 0.1.0 @category decoding */
export const splitPattern = (pattern: string): { readonly name: string; readonly subject: string } | null => {
  const open = pattern.indexOf("(")
  return open < 0 || !pattern.endsWith(")") || open === pattern.length - 1
    ? null
    : { name: pattern.slice(0, open), subject: pattern.slice(open + 1, -1) }
}

/** What a pattern begins with before its first special character. @since 0.1.0 @category combinators */
export const literalPrefix = (pattern: string): string => {
  const special = pattern.search(/[*?[]/)
  return special < 0 ? pattern : pattern.slice(0, special)
}

/** @since 0.1.0 @category models */
export interface CompiledRule {
  readonly rule: TieredRule
  /** In the list of its tier, from 0. */
  readonly index: number
  /** In the order of evaluation. */
  readonly position: number
  readonly plain: (tool_name: string) => boolean
  readonly subject: {
    readonly name: (tool_name: string) => boolean
    readonly matches: (subject: string) => boolean
    readonly literal: string
    /** The program that it names for sure, and the word that must follow; null = it begins with a special character. */
    readonly program: { readonly name: string; readonly whole: boolean; readonly next: string | null } | null
  } | null
}

const programOf = (subject: string) => {
  const literal = literalPrefix(subject)
  const [name = "", next = ""] = literal.split(" ")
  return name === ""
    ? null
    : { name, whole: literal === subject || literal.includes(" "), next: /^[A-Za-z0-9]/.test(next) ? next : null }
}

/** @since 0.1.0 @category constructors */
export const compileRule = (rule: TieredRule, index: number, position: number): CompiledRule => {
  const split = splitPattern(rule.tool_pattern)
  return {
    rule,
    index,
    position,
    plain: Fnmatch.compile(rule.tool_pattern),
    subject: split === null ? null : {
      name: Fnmatch.compile(split.name),
      matches: Fnmatch.compile(split.subject),
      literal: literalPrefix(split.subject),
      program: programOf(split.subject)
    }
  }
}

/** Positions by the text that a pattern begins with. */
class PrefixIndex {
  private readonly buckets = new Map<string, Array<number>>()
  private lengths: ReadonlyArray<number> = []

  add(prefix: string, position: number): void {
    const bucket = this.buckets.get(prefix)
    if (bucket !== undefined) return void bucket.push(position)
    this.buckets.set(prefix, [position])
    if (!this.lengths.includes(prefix.length)) {
      this.lengths = [...this.lengths, prefix.length].sort((a, b) => a - b)
    }
  }

  /** Positions of the patterns that may match, in no order. */
  find(text: string, into: Array<number>): void {
    for (const length of this.lengths) {
      if (length > text.length) return
      const bucket = this.buckets.get(length === 0 ? "" : text.slice(0, length))
      if (bucket !== undefined) { for (const position of bucket) into.push(position) }
    }
  }
}

const ascending = (a: number, b: number): number => a - b

/** The rules of a list that concern one tool. @since 0.1.0 @category models */
export class ToolRules {
  /** Rules with a subject that fits the tool, before the first rule that matches every call of it. */
  readonly subjects: ReadonlyArray<CompiledRule>
  /** The first rule that matches the bare name. */
  readonly always: CompiledRule | null
  readonly denies: ReadonlyArray<CompiledRule>
  private readonly index = new PrefixIndex()
  /** Positions of denies by the program they name. */
  private readonly byProgram = new Map<string, Array<number>>()

  constructor(rules: ReadonlyArray<CompiledRule>, tool_name: string) {
    const subjects: Array<CompiledRule> = []
    let always: CompiledRule | null = null
    for (const compiled of rules) {
      if (compiled.plain(tool_name)) {
        always = compiled
        break
      }
      if (compiled.subject?.name(tool_name) !== true) continue
      this.index.add(compiled.subject.literal, subjects.length)
      const named = compiled.rule.mode === "deny" ? compiled.subject.program : null
      if (named?.whole === true) {
        const same = this.byProgram.get(named.name)
        if (same === undefined) this.byProgram.set(named.name, [subjects.length])
        else same.push(subjects.length)
      }
      subjects.push(compiled)
    }
    this.subjects = subjects
    this.always = always
    this.denies = subjects.filter(({ rule }) => rule.mode === "deny")
  }

  /** The first rule that matches a subject; `undefined` = there is none, only bare patterns match. */
  first(subject: string | undefined): CompiledRule | null {
    if (subject === undefined) return this.always
    let best = this.subjects.length
    const found: Array<number> = []
    this.index.find(subject, found)
    if (found.length > 1) found.sort(ascending)
    for (const at of found) {
      if (at >= best) break
      if (this.subjects[at]?.subject?.matches(subject) === true) best = at
    }
    return this.subjects[best] ?? this.always
  }

  /** Every rule that may match one of the texts or denies one of the programs, in order. */
  candidates(texts: ReadonlyArray<string>, programs: ReadonlyArray<string> = []): ReadonlyArray<CompiledRule> {
    const found: Array<number> = []
    for (const name of programs) {
      found.push(...this.byProgram.get(name) ?? [])
      this.index.find(name, found)
    }
    for (const text of texts) this.index.find(text, found)
    found.sort(ascending)
    const rules: Array<CompiledRule> = []
    let last = -1
    for (const at of found) {
      const rule = this.subjects[at]
      if (at !== last && rule !== undefined) rules.push(rule)
      last = at
    }
    return rules
  }
}

const maxTools = 1024

/** @since 0.1.0 @category models */
export class RuleList {
  readonly rules: ReadonlyArray<CompiledRule>
  private readonly index = new PrefixIndex()
  private readonly tools = new Map<string, ToolRules>()

  constructor(rules: ReadonlyArray<CompiledRule>) {
    this.rules = rules
    rules.forEach(({ rule: { tool_pattern }, subject }, at) => {
      const plain = literalPrefix(tool_pattern)
      this.index.add(plain, at)
      if (subject === null) return
      const name = literalPrefix(tool_pattern.slice(0, tool_pattern.indexOf("(")))
      if (name !== plain) this.index.add(name, at)
    })
  }

  for(tool_name: string): ToolRules {
    const known = this.tools.get(tool_name)
    if (known !== undefined) return known
    const found: Array<number> = []
    this.index.find(tool_name, found)
    found.sort(ascending)
    const rules = found.flatMap((at, i) => {
      const rule = this.rules[at]
      return rule === undefined || at === found[i - 1] ? [] : [rule]
    })
    const made = new ToolRules(rules, tool_name)
    if (this.tools.size >= maxTools) this.tools.clear()
    this.tools.set(tool_name, made)
    return made
  }
}
