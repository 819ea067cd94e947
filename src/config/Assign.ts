/**
 * A value from the command line into a settings file: text or JSON, whichever the setting takes, and nothing that would
 * make the settings worse. Pure.
 *
 * @since 0.1.0
 */
import type { FoundIssue, Tier } from "./Issue.ts"
import * as Document from "./Document.ts"
import { type Edited, set } from "./Edit.ts"
import * as Tiers from "./Tiers.ts"

const under = (key: string | null, path: string): boolean =>
  key !== null && (key === path || key.startsWith(`${path}.`) || path.startsWith(`${key}.`))

/** Warnings that say that the value would come to nothing. */
const refused: ReadonlySet<string> = new Set([
  "unknown_key",
  "sensitive_ignored",
  "rule_never_matches",
  "rule_shadowed"
])

/** What the change would bring that was not there before: errors anywhere, warnings about the key itself. */
const complaint = (before: ReadonlyArray<FoundIssue>, after: ReadonlyArray<FoundIssue>, path: string) => {
  const known = new Set(before.map(({ code, key }) => `${code} ${key}`))
  return after.find((issue) =>
    issue.severity === "error" ? !known.has(`${issue.code} ${issue.key}`) || under(issue.key, path) : (
      refused.has(issue.code) && under(issue.key, path)
    )
  )
}

/** The text of a number that no double holds, which JSON would write as `null`. */
const tooLarge = (node: Document.Node, text: string): string | null => {
  switch (node.type) {
    case "number":
      return Number.isFinite(node.value) ? null : /^-?[\w.+-]+/.exec(text.slice(node.offset))?.[0] ?? text
    case "array":
      return node.items.map((item) => tooLarge(item, text)).find((found) => found !== null) ?? null
    case "object":
      return node.members.map(({ value }) => tooLarge(value, text)).find((found) => found !== null) ?? null
    default:
      return null
  }
}

/** @since 0.1.0 @category combinators */
export const assign = (
  tier: Tier,
  file: string,
  text: string,
  path: ReadonlyArray<string>,
  raw: string
): Edited => {
  const key = path.join(".")
  const before = Tiers.fromText(tier, file, text).issues
  const attempt = (value: unknown): Edited => {
    const edited = set(text, path, value)
    if ("problem" in edited) return edited
    const problem = complaint(before, Tiers.fromText(tier, file, edited.text).issues, key)
    return problem === undefined ? edited : { problem: problem.message }
  }
  const json = Document.parse(raw)
  const asText = attempt(raw)
  if (json.root === null) return asText
  const large = tooLarge(json.root, json.text)
  const asJson: Edited = large === null
    ? attempt(Document.toValue(json.root))
    : { problem: `${key}: ${large} is too large a number` }
  return "text" in asJson || "problem" in asText ? asJson : asText
}
