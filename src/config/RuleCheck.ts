/**
 * The check of permission rules in both their forms, in file order (readings 7.1, 7.2, 7.9).
 *
 * @since 0.1.0
 */
import type { PermissionMode, PermissionRule } from "../domain/Permission.ts"
import type { Check } from "./Check.ts"
import type * as Document from "./Document.ts"
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

/** The value of `permissions`; rejected rules are left out. @since 0.1.0 @category decoding */
export const checkRules = (check: Check, node: Document.Node): ReadonlyArray<LocatedRule> => {
  const path = "permissions"
  if (node.type === "null") return []
  if (node.type === "object") {
    return check.members(node, [], `${path}.`).flatMap(({ key, value }) => {
      const mode = modeOf(check, value, `${path}.${key}`)
      if (mode === undefined) return []
      const rule: LocatedRule = { tool_pattern: key, mode, key: `${path}.${key}`, line: check.line(value) }
      return counts(check, rule, value) ? [rule] : []
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
    return rule === undefined || !counts(check, rule, item) ? [] : [rule]
  })
}
