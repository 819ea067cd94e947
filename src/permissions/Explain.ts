/**
 * Why a call is allowed, denied or asked about: every rule in the order in which it is tried, every part of a command line
 * (reading 7.9). Data and its two renderings; pure.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { line as safeLine } from "../codec/TerminalText.ts"
import { patternProblem, shadowed } from "../config/RulePatterns.ts"
import { PermissionMode } from "../domain/Permission.ts"
import { managedNotDeny, type Part, PermissionPolicy, type PolicyOptions, type PolicyVerdict } from "./Policy.ts"
import type { TieredRule } from "./RuleList.ts"

const Place = {
  tier: Schema.NullOr(Schema.String),
  file: Schema.NullOr(Schema.String),
  line: Schema.NullOr(Schema.Number)
}

const Decision = {
  mode: PermissionMode,
  rule_index: Schema.NullOr(Schema.Number),
  rule_matched: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String),
  tier: Schema.NullOr(Schema.String),
  /** What decided when no rule did, or what kept a rule from allowing. */
  why: Schema.NullOr(Schema.String),
  /** A rule that denies may be hidden in it; no permission mode lifts the question. */
  unsure: Schema.Boolean
}

/**
 * `index` counts in the list of the rule's tier, as `rule_index` does. `outcome`: `matched` = it matches the call or a part
 * of it; `decided` = and the verdict is its; `ignored` = it does not count (`note` says why).
 *
 * @since 0.1.0
 * @category schemas
 */
export const RuleTrial = Schema.Struct({
  index: Schema.Number,
  tool_pattern: Schema.String,
  mode: PermissionMode,
  reason: Schema.NullOr(Schema.String),
  ...Place,
  outcome: Schema.Literal("decided", "matched", "no_match", "ignored"),
  note: Schema.NullOr(Schema.String)
})
/** @since 0.1.0 @category models */
export type RuleTrial = typeof RuleTrial.Type

/** `hanzo-dev permissions explain --json`. @since 0.1.0 @category schemas */
export const Explanation = Schema.Struct({
  v: Schema.Literal(1),
  tool: Schema.String,
  subject: Schema.NullOr(Schema.String),
  verdict: Schema.Struct(Decision),
  /** In the order in which they are tried: sticky denies (`managed`, `user`) are final wherever they stand. */
  rules: Schema.Array(RuleTrial),
  /** Of a command line: each command, each file behind a redirection, and the line itself when it cannot be read. */
  parts: Schema.Array(Schema.Struct({
    kind: Schema.Literal("command", "write", "line"),
    text: Schema.String,
    ...Decision
  }))
})
/** @since 0.1.0 @category models */
export type Explanation = typeof Explanation.Type

/** `hanzo-dev permissions list --json`. @since 0.1.0 @category schemas */
export const RuleListing = Schema.Struct({
  v: Schema.Literal(1),
  rules: Schema.Array(Schema.Struct({
    index: Schema.Number,
    tool_pattern: Schema.String,
    mode: PermissionMode,
    reason: Schema.NullOr(Schema.String),
    ...Place,
    note: Schema.NullOr(Schema.String)
  }))
})
/** @since 0.1.0 @category models */
export type RuleListing = typeof RuleListing.Type

/** Managed first, then as reading 7.4 tries them; rules without a tier as they stand. */
const order = ["managed", "flag", "session", "local", "project", "user"]

interface Numbered {
  readonly rule: TieredRule
  readonly index: number
}

const inOrder = (rules: ReadonlyArray<TieredRule>): ReadonlyArray<Numbered> => {
  const seen = new Map<string, number>()
  const numbered = rules.map((rule, position) => {
    const tier = rule.tier ?? ""
    const index = rule.tier === undefined ? position : seen.get(tier) ?? 0
    seen.set(tier, index + 1)
    return { rule, index }
  })
  const rank = ({ rule }: Numbered): number => rule.tier === undefined ? -1 : order.indexOf(rule.tier)
  return numbered.some((each) => rank(each) < 0)
    ? numbered
    : numbered.toSorted((a, b) => rank(a) - rank(b))
}

const placeOf = (rule: TieredRule) => ({
  tier: rule.tier ?? null,
  file: rule.file ?? null,
  line: rule.line ?? null
})

/** Rules that never decide, with the one that decides in their place; each tier is a list of its own. */
const deadRules = (rules: ReadonlyArray<TieredRule>): ReadonlyMap<TieredRule, TieredRule> => {
  const dead = new Map<TieredRule, TieredRule>()
  for (const tier of new Set(rules.map((rule) => rule.tier))) {
    const own = rules.filter((rule) => rule.tier === tier && !ignored(rule))
    for (const [below, above] of shadowed(own)) {
      const [rule, by] = [own[below], own[above]]
      if (rule !== undefined && by !== undefined) dead.set(rule, by)
    }
  }
  return dead
}

const noteOf = (rule: TieredRule, shadow: TieredRule | undefined): string | null =>
  shadow !== undefined
    ? `it never decides: ${JSON.stringify(shadow.tool_pattern)} (${shadow.mode}) stands before it`
    : patternProblem(rule.tool_pattern)?.message !== undefined
    ? `it ${patternProblem(rule.tool_pattern)?.message ?? ""}`
    : managedNotDeny([rule]).length > 0
    ? "managed rules other than denies do not count"
    : rule.untrusted === true && rule.mode === "allow"
    ? "it counts once the workspace is trusted"
    : rule.tier === "managed" || (rule.tier === "user" && rule.mode === "deny")
    ? "no other tier can lift this deny"
    : null

const ignored = (rule: TieredRule): boolean =>
  managedNotDeny([rule]).length > 0 || (rule.untrusted === true && rule.mode === "allow")

const decisionOf = (verdict: PolicyVerdict | Part) => ({
  mode: verdict.mode,
  rule_index: verdict.rule_index,
  rule_matched: verdict.rule_matched,
  reason: verdict.reason,
  tier: verdict.tier ?? null,
  why: verdict.why ?? (verdict.rule_index === null && verdict.mode === "prompt" ? "no rule matches" : null),
  unsure: verdict.unsure === true
})

/** @since 0.1.0 @category constructors */
export const explain = (
  rules: ReadonlyArray<TieredRule>,
  tool: string,
  subject?: string,
  options: PolicyOptions = {}
): Explanation => {
  const verdict = new PermissionPolicy(rules, options).evaluate(tool, subject)
  const parts = verdict.parts ?? []
  const dead = deadRules(rules)
  const decides = (each: Numbered, by: PolicyVerdict | Part): boolean =>
    by.rule_index === each.index && by.rule_matched === each.rule.tool_pattern &&
    (by.tier ?? null) === (each.rule.tier ?? null)
  const trial = (each: Numbered): RuleTrial => {
    const { index, rule } = each
    // The rule alone: whether it speaks about the call, or about any part of it.
    const { tier: _tier, ...alone } = rule
    const matched = (): boolean => {
      const own = new PermissionPolicy([alone], options).evaluate(tool, subject)
      return own.rule_index === 0 || (own.parts ?? []).some((part) => part.rule_index === 0)
    }
    return {
      index,
      tool_pattern: rule.tool_pattern,
      mode: rule.mode,
      reason: rule.reason ?? null,
      ...placeOf(rule),
      outcome: ignored(rule)
        ? "ignored"
        : decides(each, verdict)
        ? "decided"
        : parts.some((part) => decides(each, part)) || matched()
        ? "matched"
        : "no_match",
      note: noteOf(rule, dead.get(rule))
    }
  }
  return {
    v: 1,
    tool,
    subject: subject ?? null,
    verdict: decisionOf(verdict),
    rules: inOrder(rules).map(trial),
    parts: parts.map((part) => ({ kind: part.kind, text: part.text, ...decisionOf(part) }))
  }
}

/** Every rule in force in the order in which it is tried. @since 0.1.0 @category constructors */
export const list = (rules: ReadonlyArray<TieredRule>): RuleListing => {
  const dead = deadRules(rules)
  return {
    v: 1,
    rules: inOrder(rules).map(({ index, rule }) => ({
      index,
      tool_pattern: rule.tool_pattern,
      mode: rule.mode,
      reason: rule.reason ?? null,
      ...placeOf(rule),
      note: noteOf(rule, dead.get(rule))
    }))
  }
}

const table = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widths: Array<number> = []
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)))
  return rows.map((row) =>
    row.map((cell, i) => i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)).join("  ").trimEnd()
  )
}

const where = (
  rule: { readonly tier: string | null; readonly file: string | null; readonly line: number | null }
): string =>
  [rule.tier ?? "", rule.file === null ? "" : `${rule.file}${rule.line === null ? "" : `:${rule.line}`}`]
    .filter((text) => text !== "").join(" ")

const shown = (text: string): string => safeLine(text, 160)

const by = (decision: Explanation["verdict"]): string =>
  [
    decision.rule_matched === null
      ? ""
      : `rule ${shown(decision.rule_matched)}${decision.tier === null ? "" : ` (${decision.tier})`}`,
    decision.why === null ? "" : shown(decision.why),
    decision.reason === null ? "" : shown(decision.reason),
    decision.unsure ? "no mode lifts this question" : ""
  ].filter((text) => text !== "").join("; ")

const outcomes: Readonly<Record<RuleTrial["outcome"], string>> = {
  decided: "=>",
  matched: "+",
  no_match: "-",
  ignored: "x"
}

/** For people: the verdict, what the line consists of, the rules (`=>` decided, `+` matched, `-` not, `x` ignored). @since 0.1.0 @category encoding */
export const explainText = (explanation: Explanation): string => {
  const { parts, rules, subject, tool, verdict } = explanation
  const head = `${verdict.mode}: ${shown(tool)}${subject === null ? "" : ` ${shown(subject)}`}`
  const kinds = { command: "command", write: "writes", line: "line" }
  return [
    head,
    `  ${by(verdict)}`,
    ...(parts.length === 0 ? [] : [
      "parts:",
      ...table(parts.map((part) => [`  ${part.mode}`, kinds[part.kind], shown(part.text), by(part)]))
    ]),
    rules.length === 0 ? "no rules" : "rules, in the order in which they are tried:",
    ...table(
      rules.map((rule) => [
        `  ${outcomes[rule.outcome]}`,
        rule.mode,
        shown(rule.tool_pattern),
        where(rule),
        rule.note === null ? "" : shown(rule.note)
      ])
    )
  ].map((text) => `${text}\n`).join("")
}

/** @since 0.1.0 @category encoding */
export const listText = (listing: RuleListing): string =>
  listing.rules.length === 0
    ? "no rules: every call is asked about\n"
    : table(
      listing.rules.map((rule) => [
        rule.mode,
        shown(rule.tool_pattern),
        where(rule),
        [rule.reason, rule.note].filter((text) => text !== null).map(shown).join("; ")
      ])
    ).map((text) => `${text}\n`).join("")

/** One JSON document and a newline. @since 0.1.0 @category encoding */
export const toJson = (document: Explanation | RuleListing): string => `${JSON.stringify(document, null, 2)}\n`
