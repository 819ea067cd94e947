/**
 * The domain `permission` of the conformance vectors (reading 18.6): rules and a call in, the verdict out. Pure.
 *
 * @since 0.1.0
 */
import * as Document from "../config/Document.ts"
import type { PermissionMode } from "../domain/Permission.ts"
import { PermissionPolicy, type TieredRule } from "./Policy.ts"
import { brokenExamples } from "./Rules.ts"
import type { ShellSource } from "./Shell.ts"

/** @since 0.1.0 @category models */
export type VectorOutcome =
  | {
    readonly output: {
      readonly mode: PermissionMode
      readonly rule_index: number | null
      readonly rule_matched: string | null
      readonly reason: string | null
      readonly tier: string | null
    }
  }
  | { readonly error: { readonly code: "invalid_rule" | "bad_request"; readonly message: string } }

class Complaint extends Error {
  readonly code: "invalid_rule" | "bad_request"
  constructor(code: "invalid_rule" | "bad_request", message: string) {
    super(message)
    this.code = code
  }
}

const invalid = (message: string): Complaint => new Complaint("invalid_rule", message)
const malformed = (message: string): Complaint => new Complaint("bad_request", message)

const modeOf = (node: Document.Node | undefined, where: string): PermissionMode => {
  const mode = node?.type === "string" ? node.value : undefined
  if (mode === "allow" || mode === "deny" || mode === "prompt") return mode
  throw invalid(`${where}: the mode must be "allow", "deny" or "prompt", in lower case`)
}

const textsOf = (node: Document.Node | undefined, where: string): ReadonlyArray<string> | undefined => {
  if (node === undefined || node.type === "null") return undefined
  if (node.type !== "array") throw invalid(`${where} must be an array of texts`)
  return node.items.map((item) => {
    if (item.type !== "string") throw invalid(`${where} must be an array of texts`)
    return item.value
  })
}

/** `tool_pattern`, with `toolPattern` accepted (G3). */
const camel: Readonly<Record<string, string>> = { toolPattern: "tool_pattern", notMatch: "not_match" }

const ruleOf = (node: Document.Node, where: string): TieredRule => {
  if (node.type !== "object") throw invalid(`${where} must be an object`)
  const given = new Map<string, Document.Node>()
  for (const { key, value } of Document.unique(node.members).members) {
    const name = camel[key]
    if (name === undefined) given.set(key, value)
    else if (!given.has(name)) given.set(name, value)
  }
  const pattern = given.get("tool_pattern")
  if (pattern?.type !== "string") throw invalid(`${where}: tool_pattern must be a text`)
  const reason = given.get("reason")
  if (reason !== undefined && reason.type !== "string" && reason.type !== "null") {
    throw invalid(`${where}: reason must be a text or null`)
  }
  const match = textsOf(given.get("match"), `${where}.match`)
  const not_match = textsOf(given.get("not_match"), `${where}.not_match`)
  return {
    tool_pattern: pattern.value,
    mode: modeOf(given.get("mode"), where),
    ...(reason?.type === "string" ? { reason: reason.value } : {}),
    ...(match === undefined ? {} : { match }),
    ...(not_match === undefined ? {} : { not_match })
  }
}

const rulesOf = (node: Document.Node | null, where: string): ReadonlyArray<TieredRule> => {
  if (node?.type === "array") return node.items.map((item, index) => ruleOf(item, `${where}.${index}`))
  if (node?.type !== "object") throw invalid(`${where} must be an object of patterns or an array of rules`)
  return Document.unique(node.members).members.map(({ key, value }) => ({
    tool_pattern: key,
    mode: modeOf(value, `${where}.${key}`)
  }))
}

/** Rules in file order, whatever the keys are (reading 7.2). @since 0.1.0 @category decoding */
export const parseRules = (text: string, where: string): ReadonlyArray<TieredRule> => {
  try {
    JSON.parse(text)
  } catch {
    throw invalid(`${where} is no JSON`)
  }
  const document = Document.parse(text)
  if (document.problem !== null) throw invalid(`${where}: ${document.problem.message}`)
  return rulesOf(document.root, where)
}

const tierNames = ["managed", "user", "project", "local"] as const

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const ruleList = (input: Readonly<Record<string, unknown>>, trusted: boolean): ReadonlyArray<TieredRule> => {
  const { rules, rules_json, tiers } = input
  if ([rules, rules_json, tiers].filter((each) => each !== undefined).length !== 1) {
    throw malformed("exactly one of rules, rules_json and tiers must be given")
  }
  if (rules_json !== undefined) {
    if (typeof rules_json !== "string") throw malformed("rules_json must be a text")
    return parseRules(rules_json, "rules_json")
  }
  if (rules !== undefined) {
    if (!Array.isArray(rules)) throw invalid("rules must be an array")
    return rulesOf(Document.fromValue(rules), "rules")
  }
  if (!isObject(tiers)) throw malformed("tiers must be an object")
  for (const name of Object.keys(tiers)) {
    if (!tierNames.some((tier) => tier === name)) throw malformed(`tiers.${name} is no tier`)
  }
  return tierNames.flatMap((tier) => {
    const text = tiers[tier]
    if (text === undefined) return []
    if (typeof text !== "string") throw malformed(`tiers.${tier} must be a text`)
    const untrusted = (tier === "project" || tier === "local") && !trusted
    return parseRules(text, `tiers.${tier}`).map((rule) => ({
      ...rule,
      tier,
      ...(untrusted && rule.mode === "allow" ? { untrusted } : {})
    }))
  })
}

/** `shell` reads the subjects of `bash`. Never throws. @since 0.1.0 @category combinators */
export const evaluate = (input: unknown, shell: ShellSource): VectorOutcome => {
  try {
    if (!isObject(input)) throw malformed("input must be an object")
    const { subject, tool_name, trusted } = input
    if (typeof tool_name !== "string") throw malformed("tool_name must be a text")
    if (subject !== undefined && typeof subject !== "string") throw malformed("subject must be a text")
    if (trusted !== undefined && typeof trusted !== "boolean") throw malformed("trusted must be true or false")
    const rules = ruleList(input, trusted === true)
    const [broken] = brokenExamples(rules, shell)
    if (broken !== undefined) {
      throw invalid(
        `the rule ${JSON.stringify(broken.rule.tool_pattern)} contradicts its example ${JSON.stringify(broken.example)}`
      )
    }
    const verdict = new PermissionPolicy(rules, { shell }).evaluate(tool_name, subject)
    return {
      output: {
        mode: verdict.mode,
        rule_index: verdict.rule_index,
        rule_matched: verdict.rule_matched,
        reason: verdict.reason,
        tier: verdict.tier ?? null
      }
    }
  } catch (error) {
    if (error instanceof Complaint) return { error: { code: error.code, message: error.message } }
    throw error
  }
}
