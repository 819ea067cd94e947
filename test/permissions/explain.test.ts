import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import {
  explain,
  explainText,
  Explanation,
  list,
  listText,
  RuleListing,
  toJson
} from "../../src/permissions/Explain.ts"
import type { TieredRule } from "../../src/permissions/Policy.ts"
import { PermissionPolicy } from "../../src/permissions/Policy.ts"
import { makeParser } from "../../src/platform/ShellGrammar.ts"

const shell = await makeParser()
const rules: ReadonlyArray<TieredRule> = [
  { tool_pattern: "bash(echo *)", mode: "allow", tier: "flag" },
  {
    tool_pattern: "bash(ls*)",
    mode: "allow",
    tier: "project",
    file: "/p/.hanzo/settings.json",
    line: 3,
    untrusted: true
  },
  { tool_pattern: "bash(git *)", mode: "allow", tier: "user", file: "/u/settings.json", line: 4, reason: "fine" },
  { tool_pattern: "bash(rm *)", mode: "deny", tier: "user", file: "/u/settings.json", line: 5 },
  { tool_pattern: "read", mode: "allow", tier: "managed", file: "/etc/hanzo/managed-settings.json", line: 1 },
  { tool_pattern: "bash(curl *)", mode: "deny", tier: "managed", file: "/etc/hanzo/managed-settings.json", line: 2 }
]

describe("permissions explain (7.9)", () => {
  it("names every rule in order with file and line, every part of a line, and why", () => {
    const explanation = explain(rules, "bash", "git status; ls && X=1 echo a > f", { shell })
    assert.deepStrictEqual(explanation.verdict, {
      mode: "prompt",
      rule_index: null,
      rule_matched: null,
      reason: null,
      tier: null,
      why: "no rule matches",
      unsure: false
    })
    assert.deepStrictEqual(
      explanation.rules.map((
        { file, index, line, outcome, tier, tool_pattern }
      ) => [tier, index, tool_pattern, file, line, outcome]),
      [
        ["managed", 0, "read", "/etc/hanzo/managed-settings.json", 1, "ignored"],
        ["managed", 1, "bash(curl *)", "/etc/hanzo/managed-settings.json", 2, "no_match"],
        ["flag", 0, "bash(echo *)", null, null, "no_match"],
        ["project", 0, "bash(ls*)", "/p/.hanzo/settings.json", 3, "ignored"],
        ["user", 0, "bash(git *)", "/u/settings.json", 4, "matched"],
        ["user", 1, "bash(rm *)", "/u/settings.json", 5, "no_match"]
      ]
    )
    assert.deepStrictEqual(
      explanation.parts.map(({ kind, mode, rule_matched, text, why }) => [kind, text, mode, rule_matched, why]),
      [
        ["command", "git status", "allow", "bash(git *)", null],
        ["command", "ls", "prompt", null, "no rule matches"],
        ["command", "X=1 echo a", "prompt", null, "it sets variables"],
        ["write", "f", "prompt", null, "no rule matches"]
      ]
    )
    Schema.decodeUnknownSync(Explanation)(JSON.parse(toJson(explanation)))
  })

  it("says which rule decided, and that a sticky deny is final", () => {
    const explanation = explain(rules, "bash", "echo a; rm x", { shell })
    assert.deepInclude(explanation.verdict, { mode: "deny", rule_matched: "bash(rm *)", tier: "user", rule_index: 1 })
    const decided = explanation.rules.filter((rule) => rule.outcome === "decided")
    assert.deepStrictEqual(decided.map((rule) => [rule.tool_pattern, rule.note]), [[
      "bash(rm *)",
      "no other tier can lift this deny"
    ]])
  })

  it("always agrees with the policy", () => {
    for (
      const [tool, subject] of [["bash", "eval x"], ["bash", "git $x '"], ["read", "a"], ["read"], ["bash"], [
        "bash",
        "curl x | sh"
      ]] as const
    ) {
      const verdict = new PermissionPolicy(rules, { shell }).evaluate(tool, subject)
      const explained = explain(rules, tool, subject, { shell }).verdict
      assert.deepStrictEqual([explained.mode, explained.rule_matched, explained.unsure], [
        verdict.mode,
        verdict.rule_matched,
        verdict.unsure === true
      ])
    }
  })

  it("as text: the whole story, safe to show (G8)", () => {
    assert.strictEqual(
      explainText(explain(rules, "bash", "git status; rm \u001b[31mx", { shell })),
      `deny: bash git status; rm ␛[31mx
  rule bash(rm *) (user)
parts:
  prompt  line     git status; rm ␛[31mx  the line cannot be read for sure: a control character; it may come to what the rule "bash(rm *)" denies; no mode lifts this question
  allow   command  git status             rule bash(git *) (user); fine
  deny    command  rm ␛[31mx              rule bash(rm *) (user)
rules, in the order in which they are tried:
  x   allow  read          managed /etc/hanzo/managed-settings.json:1  managed rules other than denies do not count
  -   deny   bash(curl *)  managed /etc/hanzo/managed-settings.json:2  no other tier can lift this deny
  -   allow  bash(echo *)  flag
  x   allow  bash(ls*)     project /p/.hanzo/settings.json:3           it counts once the workspace is trusted
  +   allow  bash(git *)   user /u/settings.json:4
  =>  deny   bash(rm *)    user /u/settings.json:5                     no other tier can lift this deny
`
    )
  })

  it("lists the rules", () => {
    assert.strictEqual(listText(list([])), "no rules: every call is asked about\n")
    const listing = list(rules)
    Schema.decodeUnknownSync(RuleListing)(JSON.parse(toJson(listing)))
    assert.deepStrictEqual(listing.rules.map((rule) => rule.tier), [
      "managed",
      "managed",
      "flag",
      "project",
      "user",
      "user"
    ])
    assert.include(listText(listing), "allow  bash(git *)   user /u/settings.json:4")
  })

  it("a rule that never decides is not said to be final", () => {
    const dead: ReadonlyArray<TieredRule> = [
      { tool_pattern: "bash(git *)", mode: "allow", tier: "user" },
      { tool_pattern: "bash(git push*)", mode: "deny", tier: "user" },
      { tool_pattern: "Bash(rm *)", mode: "deny", tier: "user" },
      { tool_pattern: "bash(rm *)", mode: "deny", tier: "user" },
      { tool_pattern: "bash(rm *)", mode: "allow", tier: "project" }
    ]
    const notes = (of: ReadonlyArray<{ readonly note: string | null; readonly tier: string | null }>) =>
      of.filter(({ tier }) => tier === "user").map(({ note }) => note)
    const explanation = explain(dead, "bash", "git push", { shell })
    assert.strictEqual(explanation.verdict.mode, "allow")
    for (const found of [notes(explanation.rules), notes(list(dead).rules)]) {
      assert.strictEqual(found[0], null)
      assert.strictEqual(found[1], "it never decides: \"bash(git *)\" (allow) stands before it")
      assert.include(found[2] ?? "", "did you mean \"bash\"")
      assert.strictEqual(found[3], "no other tier can lift this deny")
    }
  })
})
