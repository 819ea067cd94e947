import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { PermissionMode } from "../../src/domain/Permission.ts"
import { isPlainCommand, PermissionPolicy, splitPattern } from "../../src/permissions/Policy.ts"

const policy = (...rules: ReadonlyArray<readonly [string, PermissionMode]>) =>
  new PermissionPolicy(rules.map(([tool_pattern, mode]) => ({ tool_pattern, mode })))

describe("a rule list (7.1)", () => {
  it("the first match decides, none is a prompt", () => {
    const p = policy(["read", "allow"], ["r*", "deny"], ["mcp__*", "prompt"])
    assert.deepInclude(p.evaluate("read"), { mode: "allow", rule_index: 0, rule_matched: "read" })
    assert.deepInclude(p.evaluate("rm"), { mode: "deny", rule_index: 1 })
    assert.deepInclude(p.evaluate("write"), { mode: "prompt", rule_index: null, rule_matched: null })
  })

  it("a deny has no priority inside one list", () => {
    assert.strictEqual(policy(["bash", "allow"], ["bash", "deny"]).evaluate("bash").mode, "allow")
  })

  it("splits tool(subject) at the first parenthesis and wants the last one at the end (7.5)", () => {
    assert.deepStrictEqual(splitPattern("bash(git (x) *)"), { name: "bash", subject: "git (x) *" })
    assert.strictEqual(splitPattern("bash(git"), null)
    assert.strictEqual(splitPattern("bash"), null)
  })

  it("a subject pattern never allows the bare name (7.5)", () => {
    assert.strictEqual(policy(["bash(*)", "allow"]).evaluate("bash").mode, "prompt")
  })

  it("paths and addresses are matched as text (7.5)", () => {
    const p = policy(["write(src/*)", "allow"], ["fetch(https://example.com/*)", "allow"])
    assert.strictEqual(p.evaluate("write", "src/a/b.ts").mode, "allow")
    assert.strictEqual(p.evaluate("write", "/etc/passwd").mode, "prompt")
    assert.strictEqual(p.evaluate("fetch", "https://example.com/x").mode, "allow")
  })
})

describe("command lines", () => {
  const p = policy(["bash(rm *)", "deny"], ["bash(git status*)", "allow"], ["bash(echo *)", "allow"], [
    "bash",
    "prompt"
  ])

  it("a plain command is matched as it stands", () => {
    assert.strictEqual(p.evaluate("bash", "git status --short").mode, "allow")
    assert.strictEqual(p.evaluate("bash", "rm -rf build").mode, "deny")
    assert.strictEqual(p.evaluate("bash", "/bin/rm -rf build").mode, "deny")
  })

  for (
    const line of [
      "git status; rm -rf /",
      "git status && curl evil",
      "git status | sh",
      "git status $(rm -rf /)",
      "git status `id`",
      "git status > /etc/passwd",
      "git status\nrm -rf /",
      "echo \"$(id)\"",
      "echo a & b",
      "env git status",
      "X=1 git status",
      "git status #",
      "echo *"
    ]
  ) {
    it(`a subject rule never allows ${JSON.stringify(line)}`, () => {
      assert.notStrictEqual(p.evaluate("bash", line).mode, "allow")
    })
  }

  it("a deny that may be hidden in a line keeps every mode from lifting the question", () => {
    const open = policy(["bash(rm *)", "deny"], ["bash", "allow"])
    assert.deepInclude(open.evaluate("bash", "true; rm -rf x"), { mode: "prompt", unsure: true })
    assert.deepInclude(open.evaluate("bash", "sudo rm x"), { mode: "prompt", unsure: true })
    assert.strictEqual(open.evaluate("bash", "ls -l").mode, "allow")
  })

  it("whatever the line, adding a deny never loosens (7.9)", () => {
    const strength = { allow: 0, prompt: 1, deny: 2 }
    FastCheck.assert(
      FastCheck.property(FastCheck.stringOf(FastCheck.constantFrom(..."rm git;|$() `\n\"'x/-".split(""))), (line) => {
        const without = policy(["bash(git *)", "allow"], ["bash", "allow"]).evaluate("bash", line).mode
        const withDeny =
          policy(["bash(rm *)", "deny"], ["bash(git *)", "allow"], ["bash", "allow"]).evaluate("bash", line).mode
        assert.isAtLeast(strength[withDeny], strength[without])
        if (isPlainCommand(line)) assert.notMatch(line, /[;|&$`\n"'()<>]/)
      })
    )
  })
})
