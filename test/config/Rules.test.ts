import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { PermissionMode } from "../../src/domain/Permission.ts"
import { assign } from "../../src/config/Assign.ts"
import { allow } from "../../src/config/Edit.ts"
import { definitionText, trustHash, waiting } from "../../src/config/Definitions.ts"
import { covers, patternProblem, toolNames } from "../../src/config/RulePatterns.ts"
import * as Tiers from "../../src/config/Tiers.ts"
import { questionOf, recordOf } from "../../src/config/Trust.ts"
import { PermissionPolicy } from "../../src/permissions/Policy.ts"

const issuesOf = (permissions: unknown) =>
  Tiers.fromText("user", "/u", `{\n"permissions": ${JSON.stringify(permissions)}}`).issues

describe("7.1, 7.5 rules that say nothing", () => {
  it("patterns that never match are told of, with what was meant", () => {
    const table: ReadonlyArray<readonly [pattern: string, severity: string | null, words: RegExp]> = [
      ["bash(rm *", "error", /bracket.*"bash\(rm \*\)"/],
      ["bash)", "error", /bracket/],
      ["bash(rm *) x", "error", /bracket/],
      ["Bash(rm *)", "warning", /did you mean "bash"/],
      ["bsh", "warning", /did you mean "bash"/],
      ["bash (rm *)", "warning", /blank before the bracket; write "bash\(rm \*\)"/],
      ["bash(rm *) ", "warning", /blank at its end/],
      [" bash", "warning", /blank at its beginning/],
      ["bash:rm *", "warning", /write "bash\(rm \*\)"/],
      ["{bash,write}", "warning", /braces/],
      ["", "warning", /"\*"/],
      ["Bash*", "warning", /no tool is called/],
      ["bash", null, /^$/],
      ["bash(a ( b)", null, /^$/],
      ["bash*", null, /^$/],
      ["[bw]*(x)", null, /^$/],
      ["*", null, /^$/],
      ["*(secret/*)", null, /^$/],
      ["mcp__any_thing", null, /^$/],
      ["m*", null, /^$/],
      ["*__search", null, /^$/],
      ["bash([)", null, /^$/]
    ]
    for (const [pattern, severity, words] of table) {
      const problem = patternProblem(pattern)
      assert.strictEqual(problem?.severity ?? null, severity, pattern)
      assert.match(problem?.message ?? "", words, pattern)
      for (const form of [{ [pattern]: "deny" }, [{ tool_pattern: pattern, mode: "deny" }]]) {
        const issues = issuesOf(form)
        assert.deepStrictEqual(issues.map((issue) => issue.severity), severity === null ? [] : [severity], pattern)
        for (const issue of issues) assert.strictEqual(issue.line, 2)
      }
    }
  })

  it("a pattern that is none is no rule, also on the command line", () => {
    const flags = Tiers.fromFlags({ deny: ["bash(rm *", "bash(rm *)", "Bash"], allow: ["read)"] })
    assert.deepStrictEqual(flags.rules.map(({ tool_pattern }) => tool_pattern), ["bash(rm *)", "Bash"])
    assert.deepStrictEqual(flags.issues.map(({ severity, tier }) => `${severity} ${tier}`), [
      "error flag",
      "warning flag",
      "error flag"
    ])
  })

  it("every tool of the program is known", () => {
    for (const name of toolNames) assert.isNull(patternProblem(name), name)
  })

  it("a stricter rule behind a milder one that matches the same calls", () => {
    const shadow = (permissions: unknown) =>
      issuesOf(permissions).filter(({ code }) => code === "rule_shadowed").map(({ key }) => key)
    assert.deepStrictEqual(shadow({ "bash(git *)": "allow", "bash(git push*)": "deny" }), [
      "permissions.bash(git push*)"
    ])
    assert.deepStrictEqual(shadow({ bash: "allow", "bash(git push*)": "deny", write: "prompt" }), [
      "permissions.bash(git push*)"
    ])
    assert.deepStrictEqual(shadow({ "*": "prompt", "bash(x)": "deny" }), ["permissions.bash(x)"])
    assert.deepStrictEqual(
      shadow([{ tool_pattern: "write(a*)", mode: "allow" }, { tool_pattern: "write(ab)", mode: "prompt" }]),
      ["permissions.1"]
    )
    for (
      const sound of [
        { "bash(git push*)": "deny", "bash(git *)": "allow" },
        { "bash(git *)": "allow", "bash(gi*)": "deny" },
        { "bash(git ?)": "allow", "bash(git ??)": "deny" },
        { "bash(git *)": "allow", bash: "deny" },
        { "bash(git *)": "allow", "*(git *)": "deny" },
        { bash: "allow", write: "deny" }
      ]
    ) assert.deepStrictEqual(shadow(sound), [], JSON.stringify(sound))
    const [issue] = issuesOf({ "bash(git *)": "allow", "bash(git push*)": "deny" })
    assert.match(issue?.message ?? "", /"bash\(git \*\)" \(allow, line 2\).*put the deny before it/)
  })

  const glob = FastCheck.array(FastCheck.constantFrom("a", "b", "*", "?", "[ab]", " "), { maxLength: 5 })
    .map((parts) => parts.join(""))
  it.prop("what is said to be covered is never matched alone", [glob, glob, FastCheck.string({ maxLength: 6 })], (
    [above, below, text]
  ) => {
    if (!covers(`bash(${above})`, `bash(${below})`)) return
    const matches = (subject: string, of: string) =>
      new PermissionPolicy([{ tool_pattern: `fetch(${subject})`, mode: "allow" }]).evaluate("fetch", of).mode ===
        "allow"
    for (const  of of[text, below, below.replaceAll("*", "a"), below.replaceAll(/[*?]/g, "b")]) {
      if (matches(below, of)) assert.isTrue(matches(above, of), JSON.stringify([above, below, of]))
    }
  }, { fastCheck: { numRuns: 1_000 } })
})

describe("4.10 a file that holds no object", () => {
  it("is named with what to do, and nothing is written", () => {
    for (const text of ["null", "[]", "1", "\"x\"", "true", " // c\n null"]) {
      for (const tier of ["user", "project", "local"] as const) {
        for (const key of [["theme"], ["permissions", "bash"], ["providers", "a", "base_url"]]) {
          const edited = assign(tier, "/f", text, key, "dark")
          assert.match("problem" in edited ? edited.problem : "", /the file holds .*; put \{\} in its place/, text)
        }
      }
      const allowed = allow(text, "bash(x)")
      assert.match("problem" in allowed ? allowed.problem : "", /put \{\} in its place/, text)
    }
    assert.deepStrictEqual(assign("project", "/f", "", ["theme"], "dark"), { text: "{\n  \"theme\": \"dark\"\n}\n" })
  })

  it("a rule that would come to nothing is not set", () => {
    const problem = (text: string, pattern: string): string => {
      const edited = assign("user", "/f", text, ["permissions", pattern], "deny")
      return "problem" in edited ? edited.problem : ""
    }
    assert.match(problem("", "Bash(rm *)"), /did you mean "bash"/)
    assert.match(problem("", "bash(rm *"), /bracket/)
    assert.match(problem("{\"permissions\": {\"bash\": \"allow\"}}", "bash(rm *)"), /put the deny before it/)
    assert.strictEqual(problem("{\"permissions\": {\"read\": \"allow\"}}", "bash(rm *)"), "")
  })
})

type Rule = readonly [pattern: string, mode: PermissionMode]

const mapOf = (rules: ReadonlyArray<Rule>): string => JSON.stringify({ permissions: Object.fromEntries(rules) })
const listOf = (rules: ReadonlyArray<Rule>): string =>
  JSON.stringify({ permissions: rules.map(([tool_pattern, mode]) => ({ tool_pattern, mode })) })

describe("4.9 what a trusted allow permits", () => {
  const of = (project: string, local = "") =>
    waiting([Tiers.fromText("project", "/p", project), Tiers.fromText("local", "/l", local)]).definitions
  const hashOf = (project: string, local = "") => trustHash("/r", of(project, local))

  it("is bound to the rules before it", () => {
    const rules: ReadonlyArray<Rule> = [["bash(npm publish*)", "prompt"], ["bash(git push*)", "deny"], [
      "bash",
      "allow"
    ]]
    const [first, second, third] = rules
    if (first === undefined || second === undefined || third === undefined) return assert.fail()
    const others: ReadonlyArray<ReadonlyArray<Rule>> = [
      [third],
      [first, third],
      [third, first, second],
      [first, third, second],
      [["bash(npm publish*)", "deny"], second, third],
      [first, ["bash(git push)", "deny"], third],
      [second, first, third]
    ]
    for (const text of [mapOf, listOf]) {
      for (const other of others) assert.notStrictEqual(hashOf(text(other)), hashOf(text(rules)), text(other))
      // What stands behind all allows takes nothing from them.
      assert.strictEqual(hashOf(text([...rules, ["read", "deny"]])), hashOf(text(rules)))
    }
    const local = "{\"permissions\": {\"bash(a)\": \"deny\"}}"
    assert.notStrictEqual(hashOf(mapOf([third]), local), hashOf(mapOf([third])))
  })

  it("the question shows what was and what is", () => {
    const before = of(mapOf([["bash(git push*)", "deny"], ["bash", "allow"]]))
    assert.strictEqual(
      before.map(definitionText).join(),
      "allows bash\nbut before it denies bash(git push*)"
    )
    const now = of(mapOf([["bash", "allow"]]))
    const { items } = questionOf("/r", "h", now, recordOf("h", before, 1))
    assert.deepInclude(items[0], {
      change: "changed",
      before: "allows bash\nbut before it denies bash(git push*)",
      text: "allows bash"
    })
  })

  const rule = FastCheck.tuple(
    FastCheck.constantFrom("bash", "bash(git *)", "bash(git push*)", "b*", "write", "write(a)", "*", "*(a)"),
    FastCheck.constantFrom<PermissionMode>("allow", "deny", "prompt")
  )
  const lists = FastCheck.array(rule, { maxLength: 5 })
  it.prop("the same hash allows the same calls", [lists, lists, FastCheck.boolean()], ([one, two, mutated]) => {
    // Half of the pairs differ by what stands in front or in another order.
    const other = mutated ? [...one.filter(([, mode]) => mode === "allow"), ...one] : two
    if (hashOf(listOf(one)) !== hashOf(listOf(other))) return
    const policy = (list: ReadonlyArray<Rule>) =>
      new PermissionPolicy(list.map(([tool_pattern, mode]) => ({ tool_pattern, mode })))
    for (
      const [tool, subject] of [["bash", "git push"], ["bash", "git log"], ["write", "a"], ["write", "b"], ["x", "a"]]
    ) {
      if (tool === undefined) continue
      const allowed = (list: ReadonlyArray<Rule>) => policy(list).evaluate(tool, subject).mode === "allow"
      assert.strictEqual(allowed(one), allowed(other))
    }
  }, { fastCheck: { numRuns: 2_000 } })
})
