/**
 * Rules against a call: HIP-301 section 7, readings 7.1 to 7.5. Pure.
 *
 * @since 0.1.0
 */
import * as Fnmatch from "../codec/Fnmatch.ts"
import type { PermissionMode, PermissionRule, Verdict } from "../domain/Permission.ts"

/** @since 0.1.0 @category models */
export interface TieredRule extends PermissionRule {
  readonly tier?: string
}

/** How a pattern fits a call: not at all, or surely, or (a command line that cannot be taken apart) perhaps. */
type Fit = "no" | "yes" | "perhaps"

interface Compiled {
  readonly rule: TieredRule
  readonly index: number
  readonly fit: (tool_name: string, subject: string | undefined) => Fit
}

/** Where `tool(subject)` is split: the first `(`, and the `)` it must end with. @since 0.1.0 @category decoding */
export const splitPattern = (pattern: string): { readonly name: string; readonly subject: string } | null => {
  const open = pattern.indexOf("(")
  return open < 0 || !pattern.endsWith(")") || open === pattern.length - 1
    ? null
    : { name: pattern.slice(0, open), subject: pattern.slice(open + 1, -1) }
}

/**
 * Whether a command line is one simple command of plain words, so that its text is what runs. Everything else (lists,
 * pipes, quotes, expansions, redirections, assignments, comments, globs) may hide a command.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isPlainCommand = (line: string): boolean =>
  /^[A-Za-z0-9_./-][A-Za-z0-9_./:@%+,-]*(?: [A-Za-z0-9_./:@%+,=-]+)*$/.test(line)

const programsThatRunOthers: ReadonlySet<string> = new Set(
  "time nohup nice stdbuf timeout command env xargs find ssh sudo su doas eval source . exec trap alias sh bash dash zsh ksh fish busybox python python3 perl ruby node deno bun php awk gawk setsid chroot unshare nsenter bwrap watch parallel builtin ionice taskset strace script"
    .split(" ")
)

const fitOf = (rule: TieredRule): Compiled["fit"] => {
  const plain = Fnmatch.compile(rule.tool_pattern)
  const split = splitPattern(rule.tool_pattern)
  if (split === null) return (tool_name) => plain(tool_name) ? "yes" : "no"
  const name = Fnmatch.compile(split.name)
  const matches = Fnmatch.compile(split.subject)
  return (tool_name, subject) => {
    if (plain(tool_name)) return "yes"
    if (subject === undefined || !name(tool_name)) return "no"
    if (tool_name !== "bash") return matches(subject) ? "yes" : "no"
    const line = subject.trim()
    const program = line.split(/\s/, 1)[0] ?? ""
    const base = program.slice(program.lastIndexOf("/") + 1)
    if (isPlainCommand(line) && !programsThatRunOthers.has(base)) {
      if (matches(line)) return "yes"
      // A deny must not be escaped by writing out the path of the program.
      return rule.mode === "deny" && matches(base + line.slice(program.length)) ? "yes" : "no"
    }
    if (rule.mode === "allow") {
      return isPlainCommand(line) && split.subject.startsWith(base) && matches(line)
        ? "yes"
        : "no"
    }
    return matches(line) ? "yes" : rule.mode === "deny" ? "perhaps" : "no"
  }
}

const none: Verdict = { mode: "prompt", rule_index: null, rule_matched: null, reason: null }

/**
 * A rule list in order: the first that matches decides, none = prompt. `evaluate` is HIP-301's; with a subject it also
 * takes `tool(subject)` patterns.
 *
 * A `bash(...)` deny that may be hidden in a line this cannot take apart gives `prompt` at the least, `unsure: true`,
 * which no mode lifts.
 *
 * @since 0.1.0
 * @category models
 */
export class PermissionPolicy {
  readonly rules: ReadonlyArray<TieredRule>
  private readonly compiled: ReadonlyArray<Compiled>

  constructor(rules: ReadonlyArray<TieredRule>) {
    this.rules = rules
    this.compiled = rules.map((rule, index) => ({ rule, index, fit: fitOf(rule) }))
  }

  evaluate(tool_name: string, subject?: string): Verdict & { readonly unsure?: boolean } {
    let unsure = false
    for (const { fit, index, rule } of this.compiled) {
      const found = fit(tool_name, subject)
      if (found === "perhaps") unsure = true
      if (found !== "yes") continue
      const mode: PermissionMode = unsure && rule.mode === "allow" ? "prompt" : rule.mode
      return {
        mode,
        rule_index: index,
        rule_matched: rule.tool_pattern,
        reason: rule.reason ?? null,
        ...(rule.tier === undefined ? {} : { tier: rule.tier }),
        ...(unsure && mode !== "deny" ? { unsure } : {})
      }
    }
    return unsure ? { ...none, unsure } : none
  }
}

const strength: Readonly<Record<PermissionMode, number>> = { allow: 0, prompt: 1, deny: 2 }

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
