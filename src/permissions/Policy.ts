/**
 * Rules against a call: HIP-301 section 7, readings 7.1 to 7.6. Pure.
 *
 * @since 0.1.0
 */
import type { PermissionMode, Verdict } from "../domain/Permission.ts"
import type { CommandView, MaybeProgram, View } from "./CommandView.ts"
import { type CompiledRule, compileRule, RuleList, splitPattern, type TieredRule } from "./RuleList.ts"
import type { Redirection } from "./ShellExpansions.ts"
import { analyse, isPlainCommand, pathSubject, type ShellLine, type ShellSource } from "./Shell.ts"

export { isPlainCommand, splitPattern, type TieredRule }

/** What one part of a command line came to. @since 0.1.0 @category models */
export interface Part extends Verdict {
  /** `line`: the whole of a line that cannot be read; `write`: a file behind an output redirection. */
  readonly kind: "command" | "write" | "line"
  /** The command after quote removal, the path as rules see it, or the line. */
  readonly text: string
  /** A deny may be hidden in it: no mode lifts the question. */
  readonly unsure: boolean
  /** Why it is asked about although a rule would allow it, or why it is unsure; null = the rule or the default decided. */
  readonly why: string | null
  /** A rule for exactly this text would allow it. */
  readonly grantable: boolean
}

/** @since 0.1.0 @category models */
export interface PolicyVerdict extends Verdict {
  /** A rule that denies may be hidden in the call: `prompt` at the least, which no mode lifts. */
  readonly unsure?: boolean
  /** Set when the reading of the command line decided, not a rule. */
  readonly why?: string
  /** Of a command line: what it consists of. */
  readonly parts?: ReadonlyArray<Part>
}

/** @since 0.1.0 @category models */
export interface PolicyOptions {
  /** What reads command lines; absent = only single plain commands are understood. */
  readonly shell?: ShellSource
  /** Absolute root of the workspace, for the paths of redirections; absent = paths stay as they are written. */
  readonly root?: string
  /** Where command lines start. */
  readonly cwd?: string
  /** Where the paths of redirections lead; absent = by their text alone. */
  readonly resolve?: ResolvePath
}

/** From a path in a command line to the subject of `write`; null = it is not known. @since 0.1.0 @category models */
export type ResolvePath = (path: string) => string | null

const strength: Readonly<Record<PermissionMode, number>> = { allow: 0, prompt: 1, deny: 2 }

const none: Verdict = { mode: "prompt", rule_index: null, rule_matched: null, reason: null }

const verdictOf = ({ index, rule }: CompiledRule): Verdict => ({
  mode: rule.mode,
  rule_index: index,
  rule_matched: rule.tool_pattern,
  reason: rule.reason ?? null,
  ...(rule.tier === undefined ? {} : { tier: rule.tier })
})

const bare = (verdict: Verdict): Verdict => ({
  mode: verdict.mode,
  rule_index: verdict.rule_index,
  rule_matched: verdict.rule_matched,
  reason: verdict.reason,
  ...(verdict.tier === undefined ? {} : { tier: verdict.tier })
})

/** Every subject must be allowed: deny before prompt before allow; of equals the first. @since 0.1.0 @category combinators */
export const strictest = <V extends { readonly mode: PermissionMode; readonly unsure?: boolean }>(
  verdicts: readonly [V, ...ReadonlyArray<V>]
): V => {
  let worst = verdicts[0]
  let unsure = false
  for (const verdict of verdicts) {
    if (strength[verdict.mode] > strength[worst.mode]) worst = verdict
    unsure ||= verdict.unsure === true
  }
  return unsure && worst.mode !== "deny" ? { ...worst, unsure: true } : worst
}

/** Some text that begins with `known` may match a pattern that begins with `literal`. */
const mayMatch = (known: string, literal: string): boolean => known.startsWith(literal) || literal.startsWith(known)

/** A text as a deny rule sees it: surely matched, perhaps (the rest is not known), or not. */
const denied = (rule: CompiledRule, seen: View): "yes" | "perhaps" | "no" =>
  rule.subject === null
    ? "no"
    : rule.subject.matches(seen.text)
    ? "yes"
    : seen.known !== null && mayMatch(seen.known, rule.subject.literal)
    ? "perhaps"
    : "no"

/** A deny of a program that another one may run, with arguments that are not known. */
const namedIn = (rule: CompiledRule, programs: ReadonlyArray<MaybeProgram>): boolean => {
  const named = rule.subject?.program
  return named !== null && named !== undefined &&
    programs.some(({ name, next }) =>
      (named.whole ? name === named.name : name.startsWith(named.name)) &&
      (named.next === null || next === null || next.startsWith(named.next) || named.next.startsWith(next))
    )
}

const asPart = (kind: Part["kind"], text: string, verdict: Verdict, more: Partial<Part> = {}): Part => ({
  kind,
  text,
  ...bare(verdict),
  unsure: false,
  why: null,
  grantable: true,
  ...more
})

/** A part that rules would let pass, but which must be asked about. */
const asked = (kind: Part["kind"], text: string, verdict: Verdict, why: string, more: Partial<Part> = {}): Part =>
  verdict.mode === "allow"
    ? asPart(kind, text, none, { why, ...more })
    : asPart(kind, text, verdict, { why, ...more })

/** Views without those that say the same. */
const distinct = (views: ReadonlyArray<View>, before: ReadonlyArray<View>): ReadonlyArray<View> => {
  const seen = new Map(before.map((view) => [view.text, view.known]))
  return views.filter(({ known, text }) => {
    const had = seen.get(text)
    if (had === known || (had !== undefined && had !== null)) return false
    seen.set(text, known)
    return true
  })
}

/** The line as it was given: a deny that matches it holds for every command in it. */
interface RawLine {
  readonly texts: ReadonlyArray<string>
  readonly matches: (rule: CompiledRule) => boolean
}

const rawLine = ({ line }: ShellLine): RawLine => {
  const trimmed = line.trim()
  const texts = trimmed === line ? [line] : [line, trimmed]
  const known = new Map<CompiledRule, boolean>()
  const matches = (rule: CompiledRule): boolean => {
    const before = known.get(rule)
    if (before !== undefined) return before
    const found = texts.some((text) => rule.subject?.matches(text) === true)
    known.set(rule, found)
    return found
  }
  return { texts, matches }
}

const byRule = (rule: CompiledRule): string =>
  `it may come to what the rule ${JSON.stringify(rule.rule.tool_pattern)} denies`

/** The tools that change files: a redirection does what a deny of any of them forbids. */
const changers: ReadonlyArray<string> = ["write", "edit", "apply_patch"]

/** A deny of some file that whatever is not understood may write to. */
const fileDeny = (list: RuleList): CompiledRule | null => {
  for (const name of changers) {
    const rules = list.for(name)
    const found = rules.denies[0] ?? (rules.always?.rule.mode === "deny" ? rules.always : null)
    if (found !== null) return found
  }
  return null
}

/** One simple command against one list: first match, with everything that a deny looks at. */
const judgeCommand = (list: RuleList, raw: RawLine, command: CommandView): Part => {
  const rules = list.for("bash")
  const { text } = command
  const file = command.opaque ? fileDeny(list) : null
  if (rules.subjects.length === 0) {
    const verdict = rules.always === null ? none : verdictOf(rules.always)
    if (file !== null && verdict.mode !== "deny") {
      return asked("command", text, verdict, byRule(file), { unsure: true, grantable: false })
    }
    return asPart("command", text, verdict, { grantable: command.name !== null && command.known === null })
  }
  const sure = distinct([command, ...command.same], [])
  const maybe = rules.denies.length === 0 ? [] : distinct(command.maybe, sure)
  const dynamic = command.opaque || sure.some((seen) => seen.known !== null) ||
    maybe.some((seen) => seen.known !== null)
  const candidates = dynamic
    ? rules.subjects
    : rules.candidates(
      [...sure.map((seen) => seen.text), ...maybe.map((seen) => seen.text), ...raw.texts],
      rules.denies.length === 0 ? [] : command.programs.map(({ name }) => name)
    )
  let hidden: CompiledRule | null = file
  let decided: CompiledRule | null = null
  for (const rule of candidates) {
    const { mode } = rule.rule
    if (mode === "deny") {
      const found = sure.map((seen) => denied(rule, seen))
      if (found.includes("yes") || raw.matches(rule)) {
        decided = rule
        break
      }
      if (
        command.opaque || found.includes("perhaps") || maybe.some((seen) => denied(rule, seen) !== "no") ||
        namedIn(rule, command.programs)
      ) {
        hidden ??= rule
      }
      continue
    }
    const matches = rule.subject?.matches(text) === true ||
      (mode === "prompt" && command.same.some((seen) => rule.subject?.matches(seen.text) === true))
    if (matches) {
      decided = rule
      break
    }
  }
  decided ??= rules.always
  const grantable = command.name !== null && command.known === null && hidden === null
  if (decided === null) {
    return hidden === null
      ? asPart("command", text, none, { grantable, why: command.floor })
      : asPart("command", text, none, { grantable, why: byRule(hidden), unsure: true })
  }
  const verdict = verdictOf(decided)
  if (verdict.mode === "deny") return asPart("command", text, verdict)
  if (hidden !== null) return asked("command", text, verdict, byRule(hidden), { unsure: true, grantable })
  if (verdict.mode === "allow" && command.floor !== null && decided.subject !== null && decided !== rules.always) {
    const enough = command.name !== null && command.name !== "" && decided.subject.literal.startsWith(command.name)
    if (!enough) return asked("command", text, verdict, command.floor, { grantable })
  }
  return asPart("command", text, verdict, { grantable })
}

/** A line that cannot be read, as a whole: only a rule for all of `bash` allows it, and only if no deny may be hidden. */
const judgeWhole = (list: RuleList, line: ShellLine, problem: string): Part => {
  const rules = list.for("bash")
  const text = line.line.trim()
  const seen: ReadonlyArray<string> = text === line.line ? [text] : [text, line.line]
  const why = line.sealed ? problem : `the line cannot be read for sure: ${problem}`
  const more = { grantable: false }
  let hidden: CompiledRule | null = null
  let decided: CompiledRule | null = null
  for (const rule of rules.subjects) {
    if (decided === null && seen.some((each) => rule.subject?.matches(each) === true)) decided = rule
    // A rule that matches the text as a whole does not stand before a deny of something inside it.
    if (rule.rule.mode === "deny") hidden ??= rule
  }
  const bySubject = decided !== null
  if (rules.always?.rule.mode === "deny") hidden ??= rules.always
  hidden ??= fileDeny(list)
  decided ??= rules.always
  const verdict = decided === null ? none : verdictOf(decided)
  if (verdict.mode === "deny") return asPart("line", text, verdict, more)
  if (hidden !== null) return asked("line", text, verdict, `${why}; ${byRule(hidden)}`, { ...more, unsure: true })
  if (line.sealed) return asked("line", text, verdict, why, { ...more, unsure: true })
  if (bySubject) return asked("line", text, verdict, why, more)
  return asPart("line", text, verdict, verdict.mode === "allow" ? more : { ...more, why })
}

const judgeWrite = (list: RuleList, subject: string | null, { nested, text }: Redirection): Part => {
  const rules = list.for("write")
  if (subject !== null) {
    const first = rules.first(subject)
    const verdict = first === null ? none : verdictOf(first)
    const other = changers.flatMap((name) => {
      const found = list.for(name).first(subject)
      return found?.rule.mode === "deny" ? [found] : []
    })[0]
    // Whether the text runs is for the command to say that is given it; another tool's rule names the file all the same.
    return other === undefined || (verdict.mode === "deny" && nested !== true)
      ? asPart("write", subject, verdict)
      : asPart("write", subject, none, { why: byRule(other), unsure: true, grantable: false })
  }
  const hidden = fileDeny(list)
  const verdict = rules.always === null ? none : verdictOf(rules.always)
  if (verdict.mode === "deny") return asPart("write", text, verdict, { grantable: false })
  const why = "the file is not known before the line runs"
  // Only a rule for every file speaks about a file that is not known.
  return hidden === null
    ? verdict.mode === "allow"
      ? asPart("write", text, verdict, { grantable: false })
      : asPart("write", text, verdict, { grantable: false, why })
    : asked("write", text, verdict, `${why}; ${byRule(hidden)}`, { grantable: false, unsure: true })
}

const combined = (parts: readonly [Part, ...ReadonlyArray<Part>]): PolicyVerdict => {
  const worst = strictest(parts)
  const unsure = worst.mode !== "deny" && parts.some((part) => part.unsure)
  const why = (unsure ? parts.find((part) => part.unsure)?.why : null) ?? worst.why ?? null
  return {
    ...bare(worst),
    ...(unsure ? { unsure } : {}),
    ...(why === null || worst.mode !== "prompt" ? {} : { why }),
    parts
  }
}

const judgeLine = (list: RuleList, line: ShellLine, resolve: ResolvePath): PolicyVerdict => {
  const whole = line.problem === null ? [] : [judgeWhole(list, line, line.problem)]
  const raw = rawLine(line)
  const commands = line.commands.map((command) => ({ start: command.start, part: judgeCommand(list, raw, command) }))
  const writes = line.writes.map((write) => {
    const { path, start } = write
    const known = path === null || line.relinks || (line.moves && !path.startsWith("/")) ? null : resolve(path)
    return { start, part: judgeWrite(list, known, write) }
  })
  const [first, ...rest] = [
    ...whole,
    ...[...commands, ...writes].sort((a, b) => a.start - b.start).map(({ part }) => part)
  ]
  return first === undefined
    ? combined([judgeWhole(list, line, "there is no command in it")])
    : combined([first, ...rest])
}

/** Managed rules that are not denies count for nothing (reading 7.4). @since 0.1.0 @category combinators */
export const managedNotDeny = (rules: ReadonlyArray<TieredRule>): ReadonlyArray<TieredRule> =>
  rules.filter((rule) => rule.tier === "managed" && rule.mode !== "deny")

const counts = (rule: TieredRule): boolean =>
  !(rule.tier === "managed" && rule.mode !== "deny") && !(rule.untrusted === true && rule.mode === "allow")

/**
 * `flag` before `session`, `local`, `project`, `user` (reading 7.4), and behind them what commands and skills want allowed;
 * rules of one tier in their own order.
 */
const order: ReadonlyArray<string> = ["flag", "session", "local", "project", "user", "extension"]

const byTier = (rules: ReadonlyArray<CompiledRule>): ReadonlyArray<CompiledRule> =>
  rules.some(({ rule }) => rule.tier === undefined || !order.includes(rule.tier))
    ? rules
    : order.flatMap((tier) => rules.filter(({ rule }) => rule.tier === tier))

/**
 * A rule list in order: the first that matches decides, none = prompt. `evaluate` is HIP-301's; with a subject it also
 * takes `tool(subject)` patterns, and the subject of `bash` is a command line.
 *
 * Rules with a tier are put in the order of reading 7.4; a deny of the managed list alone, then of the user list alone,
 * is final. `rule_index` counts in the list of the rule's tier, without tiers in the list given.
 *
 * @since 0.1.0
 * @category models
 */
export class PermissionPolicy {
  readonly rules: ReadonlyArray<TieredRule>
  /** In the order in which they are tried, with their lists: `managed`, then `user` alone, then all. */
  readonly stages: ReadonlyArray<{ readonly sticky: boolean; readonly list: RuleList }>
  private readonly options: PolicyOptions
  private readonly resolve: ResolvePath

  constructor(rules: ReadonlyArray<TieredRule>, options: PolicyOptions = {}) {
    this.rules = rules
    this.options = options
    this.resolve = options.resolve ?? ((path) => pathSubject(path, options.root, options.cwd))
    const seen = new Map<string, number>()
    const compiled = rules.map((rule, position) => {
      const tier = rule.tier ?? ""
      const index = rule.tier === undefined ? position : seen.get(tier) ?? 0
      seen.set(tier, index + 1)
      return compileRule(rule, index, position)
    }).filter(({ rule }) => counts(rule))
    const of = (tier: string) => compiled.filter(({ rule }) => rule.tier === tier)
    const sticky = ["managed", "user"].map(of).filter((list) => list.some(({ rule }) => rule.mode === "deny"))
    const main = byTier(compiled.filter(({ rule }) => rule.tier !== "managed"))
    this.stages = [
      ...sticky.map((list) => ({ sticky: true, list: new RuleList(list) })),
      { sticky: false, list: new RuleList(main) }
    ]
  }

  evaluate(tool_name: string, subject?: string): PolicyVerdict {
    if (tool_name === "bash" && subject !== undefined) return this.judge(analyse(subject, this.options.shell))
    for (const { list, sticky } of this.stages) {
      const first = list.for(tool_name).first(subject)
      if (sticky ? first?.rule.mode === "deny" : first !== null) return first === null ? none : verdictOf(first)
    }
    return none
  }

  /** A command line that was read before; `resolve` gives the subjects of its redirections. */
  judge(line: ShellLine, resolve: ResolvePath = this.resolve): PolicyVerdict {
    let unsure: PolicyVerdict | null = null
    for (const { list, sticky } of this.stages) {
      const verdict = judgeLine(list, line, resolve)
      if (!sticky) return unsure === null ? verdict : doubted(verdict, unsure)
      if (verdict.mode === "deny") return verdict
      if (verdict.unsure === true) unsure ??= verdict
    }
    return none
  }
}

/** What the sticky lists could not rule out holds for the verdict of all lists. */
const doubted = (verdict: PolicyVerdict, doubt: PolicyVerdict): PolicyVerdict =>
  verdict.mode === "deny"
    ? verdict
    : {
      ...(verdict.mode === "allow" ? none : bare(verdict)),
      unsure: true,
      ...(doubt.why === undefined ? {} : { why: doubt.why }),
      ...(verdict.parts === undefined
        ? {}
        : {
          parts: verdict.parts.map((part, index) => {
            const other = doubt.parts?.[index]
            return other?.unsure === true && part.mode !== "deny"
              ? asked(part.kind, part.text, part, other.why ?? "", { unsure: true, grantable: false })
              : part
          })
        })
    }

/** A rule's pattern that matches exactly this subject. @since 0.1.0 @category constructors */
export const exactPattern = (tool_name: string, subject: string | null): string => {
  const literal = (text: string): string => text.replaceAll(/[*?[]/g, "[$&]")
  return subject === null ? literal(tool_name) : `${literal(tool_name)}(${literal(subject)})`
}
