/**
 * The rules of the settings as the policy takes them, and the examples that a rule may carry (reading 7.9).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import type { ConfigService } from "../config/Config.ts"
import { compileRule, splitPattern, type TieredRule } from "./RuleList.ts"
import { PermissionPolicy } from "./Policy.ts"
import { analyse, type ShellSource } from "./Shell.ts"

/**
 * Every rule of the settings with its tier and place; what waits for trust keeps its place in the count and decides
 * nothing (reading 4.9).
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromConfig = (config: Pick<ConfigService, "all_rules">): ReadonlyArray<TieredRule> => config.all_rules

/** An example of a rule that does not hold. @since 0.1.0 @category models */
export interface BrokenExample {
  readonly rule: TieredRule
  readonly example: string
  readonly expected: "match" | "not_match"
}

/**
 * A rule's examples against the rule alone. With a subject part an example is a subject of that tool, else a tool name. A
 * command line matches an allow rule when the rule alone allows all of it, another rule when a part of it is matched. Of one
 * that cannot be read because the grammar is missing nothing can be said: the rule is not to blame.
 *
 * @since 0.1.0
 * @category combinators
 */
export const brokenExamples = (
  rules: ReadonlyArray<TieredRule>,
  shell?: ShellSource
): ReadonlyArray<BrokenExample> =>
  rules.flatMap((rule) => {
    if (rule.match === undefined && rule.not_match === undefined) return []
    const matches = matcher(rule, shell)
    const wrong = (examples: ReadonlyArray<string> | undefined, expected: BrokenExample["expected"]) =>
      (examples ?? []).filter((example) => matches(example) === (expected !== "match"))
        .map((example) => ({ rule, example, expected }))
    return [...wrong(rule.match, "match"), ...wrong(rule.not_match, "not_match")]
  })

/** null = it cannot be told. */
const matcher = (rule: TieredRule, shell: ShellSource): (example: string) => boolean | null => {
  const compiled = compileRule(rule, 0, 0)
  if (compiled.subject === null) return (example) => compiled.plain(example)
  const { matches, name } = compiled.subject
  if (!name("bash")) return (example) => matches(example)
  const { file: _file, line: _line, tier: _tier, untrusted: _untrusted, ...alone } = rule
  const policy = new PermissionPolicy([alone], { shell })
  return (example) => {
    const line = analyse(example, shell)
    return line.sealed ? null : policy.judge(line).rule_index === 0
  }
}

/** Whether checking the examples needs the shell grammar. @since 0.1.0 @category combinators */
export const examplesNeedShell = (rules: ReadonlyArray<TieredRule>): boolean =>
  rules.some((rule) =>
    (rule.match !== undefined || rule.not_match !== undefined) && splitPattern(rule.tool_pattern) !== null
  )

const place = (rule: TieredRule): string => {
  const tier = rule.tier === undefined ? "" : ` (${rule.tier}`
  const file = rule.file === undefined ? "" : ` ${rule.file}${rule.line === undefined ? "" : `:${rule.line}`}`
  return tier === "" ? file : `${tier}${file})`
}

/** What an example says against its rule, without the rule's place. @since 0.1.0 @category encoding */
export const brokenText = ({ example, expected, rule }: BrokenExample, where = ""): string =>
  `permission rule ${JSON.stringify(rule.tool_pattern)}${where} ${
    expected === "match" ? "does not match its example" : "matches what it must not match:"
  } ${JSON.stringify(example)}`

/** A rule whose own examples say that it does not mean what was meant. @since 0.1.0 @category errors */
export class PermissionRuleError
  extends TaggedError("@hanzo/dev/permissions/PermissionRuleError")("PermissionRuleError", () => ({
    reason: Schema.Literal("example"),
    /** One line an example. */
    details: Schema.Array(Schema.String)
  }))
{
  override get message(): string {
    return [...this.details, "Correct the pattern or the example; until then nothing is run by these rules."].join("\n")
  }

  static of(broken: ReadonlyArray<BrokenExample>): PermissionRuleError {
    return new PermissionRuleError({
      reason: "example",
      details: broken.map((each) => brokenText(each, place(each.rule)))
    })
  }
}
