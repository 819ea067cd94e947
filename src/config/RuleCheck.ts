/**
 * The check of permission rules in both their forms, in file order (readings 7.1, 7.2, 7.9).
 *
 * @since 0.1.0
 */
import type { PermissionMode, PermissionRule } from "../domain/Permission.ts"
import type { Check } from "./Check.ts"
import type * as Document from "./Document.ts"
import { patternProblem, shadowed } from "./RulePatterns.ts"
import { quote, typeName } from "./Words.ts"

/**
 * `key` is its place in the file (`permissions.read`, `permissions.0`). `match` and `not_match` are examples that
 * whoever evaluates the rule holds against it (reading 7.9).
 *
 * @since 0.1.0
 * @category models
 */
export interface LocatedRule extends PermissionRule {
  readonly key: string
  readonly line: number | null
  readonly match?: ReadonlyArray<string>
  readonly not_match?: ReadonlyArray<string>
}

const known = ["tool_pattern", "mode", "reason", "match", "not_match"]

const modeOf = (check: Check, node: Document.Node, path: string): PermissionMode | undefined => {
  if (node.type !== "string") {
    return check.report(
      "error",
      "wrong_type",
      path,
      node.offset,
      `${path} must be "allow", "deny" or "prompt", this is ${typeName(node)}`
    )
  }
  if (node.value === "allow" || node.value === "deny" || node.value === "prompt") return node.value
  return check.report(
    "error",
    "invalid_value",
    path,
    node.offset,
    `${path} must be "allow", "deny" or "prompt", in lower case`
  )
}

/** Undefined = not there, null = rejected. */
const examplesOf = (
  check: Check,
  node: Document.Node | undefined,
  path: string
): ReadonlyArray<string> | undefined | null => {
  if (node === undefined || node.type === "null") return undefined
  if (node.type !== "array") {
    check.report(
      "error",
      "wrong_type",
      path,
      node.offset,
      `${path} must be an array of texts, this is ${typeName(node)}`
    )
    return null
  }
  const examples: Array<string> = []
  let sound = true
  node.items.forEach((item, index) => {
    if (item.type === "string") return void examples.push(item.value)
    sound = false
    const place = `${path}.${index}`
    check.report("error", "wrong_type", place, item.offset, `${place} must be a text, this is ${typeName(item)}`)
  })
  return sound ? examples : null
}

const ruleOf = (check: Check, node: Document.Node, path: string): LocatedRule | undefined => {
  if (node.type !== "object") {
    return check.report(
      "error",
      "wrong_type",
      path,
      node.offset,
      `${path} must be an object with tool_pattern and mode, this is ${typeName(node)}`
    )
  }
  const members = new Map(check.members(node, known, `${path}.`).map((member) => [member.key, member]))
  for (const member of members.values()) {
    if (!known.includes(member.key)) check.unknown(`${path}.${member.key}`, member, known)
  }
  const written = (key: string): Document.Node | undefined => members.get(key)?.value
  for (const name of ["tool_pattern", "mode"]) {
    if (!members.has(name)) {
      check.report("error", "invalid_value", `${path}.${name}`, node.offset, `${path} needs the key ${quote(name)}`)
    }
  }
  const pattern = written("tool_pattern")
  const modeNode = written("mode")
  const reason = written("reason")
  if (pattern !== undefined && pattern.type !== "string") {
    check.report(
      "error",
      "wrong_type",
      `${path}.tool_pattern`,
      pattern.offset,
      `${path}.tool_pattern must be a text, this is ${typeName(pattern)}`
    )
  }
  const badReason = reason !== undefined && reason.type !== "string" && reason.type !== "null"
  if (badReason) {
    check.report(
      "error",
      "wrong_type",
      `${path}.reason`,
      reason.offset,
      `${path}.reason must be a text or null, this is ${typeName(reason)}`
    )
  }
  const mode = modeNode === undefined ? undefined : modeOf(check, modeNode, `${path}.mode`)
  const match = examplesOf(check, written("match"), `${path}.match`)
  const not_match = examplesOf(check, written("not_match"), `${path}.not_match`)
  return pattern?.type !== "string" || mode === undefined || badReason || match === null || not_match === null
    ? undefined
    : {
      tool_pattern: pattern.value,
      mode,
      ...(reason?.type === "string" ? { reason: reason.value } : {}),
      ...(match === undefined ? {} : { match }),
      ...(not_match === undefined ? {} : { not_match }),
      key: path,
      line: check.line(node)
    }
}

/** Only denies count in the managed tier (reading 7.4). */
const counts = (check: Check, rule: LocatedRule, node: Document.Node): boolean => {
  if (check.tier !== "managed" || rule.mode === "deny") return true
  check.report(
    "warning",
    "managed_not_deny",
    rule.key,
    node.offset,
    `managed settings can only deny; this rule with the mode ${quote(rule.mode)} is ignored`
  )
  return false
}

/** A pattern that is none is rejected, one that never matches is told of. @since 0.1.0 @category decoding */
export const checkPattern = (check: Check, pattern: string, key: string, offset: number | null): boolean => {
  const problem = patternProblem(pattern)
  if (problem === null) return true
  const error = problem.severity === "error"
  check.report(
    problem.severity,
    error ? "invalid_value" : "rule_never_matches",
    key,
    offset,
    `the rule ${quote(pattern)} ${problem.message}`
  )
  return !error
}

interface Placed {
  readonly rule: LocatedRule
  readonly offset: number
}

/** The value of `permissions`; rejected rules are left out. @since 0.1.0 @category decoding */
export const checkRules = (check: Check, node: Document.Node): ReadonlyArray<LocatedRule> => {
  const placed = placedRules(check, node)
  for (const [at, above] of shadowed(placed.map(({ rule }) => rule))) {
    const [below, before] = [placed[at], placed[above]]
    if (below === undefined || before === undefined) continue
    check.report(
      "warning",
      "rule_shadowed",
      below.rule.key,
      below.offset,
      `the rule ${quote(below.rule.tool_pattern)} never decides: ${
        quote(before.rule.tool_pattern)
      } (${before.rule.mode}${
        before.rule.line === null ? "" : `, line ${before.rule.line}`
      }) stands before it and matches the same calls; put the ${below.rule.mode} before it`
    )
  }
  return placed.map(({ rule }) => rule)
}

const placedRules = (check: Check, node: Document.Node): ReadonlyArray<Placed> => {
  const path = "permissions"
  if (node.type === "null") return []
  if (node.type === "object") {
    return check.members(node, [], `${path}.`).flatMap(({ key, key_offset, value }) => {
      const mode = modeOf(check, value, `${path}.${key}`)
      const sound = checkPattern(check, key, `${path}.${key}`, key_offset)
      if (mode === undefined || !sound) return []
      const rule: LocatedRule = { tool_pattern: key, mode, key: `${path}.${key}`, line: check.line(value) }
      return counts(check, rule, value) ? [{ rule, offset: key_offset }] : []
    })
  }
  if (node.type !== "array") {
    check.report(
      "error",
      "wrong_type",
      path,
      node.offset,
      `${path} must be an object of patterns or an array of rules, this is ${typeName(node)}`
    )
    return []
  }
  return node.items.flatMap((item, index) => {
    const rule = ruleOf(check, item, `${path}.${index}`)
    if (rule === undefined || !checkPattern(check, rule.tool_pattern, rule.key, item.offset)) return []
    return counts(check, rule, item) ? [{ rule, offset: item.offset }] : []
  })
}
