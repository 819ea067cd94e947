import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { fnmatchcase } from "../../src/codec/Fnmatch.ts"
import type { PermissionMode } from "../../src/domain/Permission.ts"
import {
  exactPattern,
  isPlainCommand,
  PermissionPolicy,
  splitPattern,
  type TieredRule
} from "../../src/permissions/Policy.ts"

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

  it("a deny of write says nothing about other tools, one of every tool does (7.5)", () => {
    const allow = ["read", "write", "edit", "apply_patch"].map((tool) => [tool, "allow"] as const)
    const modes = (pattern: string) =>
      allow.map(([tool]) => policy([pattern, "deny"], ...allow).evaluate(tool, "secret/key").mode)
    assert.deepStrictEqual(modes("write(secret/*)"), ["allow", "deny", "allow", "allow"])
    assert.deepStrictEqual(modes("*(secret/*)"), ["deny", "deny", "deny", "deny"])
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

describe("tiers (7.4)", () => {
  const rule = FastCheck.record({
    tier: FastCheck.constantFrom("managed", "flag", "local", "project", "user"),
    tool_pattern: FastCheck.constantFrom("a", "b", "*", "[ab]", "a(x)", "a(*)", "b(x*)"),
    mode: FastCheck.constantFrom<PermissionMode>("allow", "deny", "prompt"),
    untrusted: FastCheck.boolean()
  })

  /** The reading, word for word, without any index. */
  const naive = (rules: ReadonlyArray<TieredRule>, tool: string, subject: string | undefined) => {
    const matches = ({ tool_pattern }: TieredRule): boolean => {
      const split = splitPattern(tool_pattern)
      return fnmatchcase(tool, tool_pattern) ||
        (split !== null && subject !== undefined && fnmatchcase(tool, split.name) &&
          fnmatchcase(subject, split.subject))
    }
    const of = (tier: string) => rules.filter((each) => each.tier === tier)
    const counting = (list: ReadonlyArray<TieredRule>) =>
      list.filter((each) => !(each.untrusted === true && each.mode === "allow"))
    for (const sticky of [of("managed").filter((each) => each.mode === "deny"), counting(of("user"))]) {
      const first = sticky.find(matches)
      if (first?.mode === "deny") return first
    }
    return counting(["flag", "local", "project", "user"].flatMap(of)).find(matches) ?? null
  }

  it("sticky denies first, then flags, local, project, user, each in its own order", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(rule, { maxLength: 10 }),
        FastCheck.constantFrom("a", "b", "c"),
        FastCheck.constantFrom(undefined, "x", "xy", ""),
        (rules, tool, subject) => {
          const expected = naive(rules, tool, subject)
          const verdict = new PermissionPolicy(rules).evaluate(tool, subject)
          assert.strictEqual(verdict.mode, expected?.mode ?? "prompt")
          assert.strictEqual(verdict.rule_matched, expected?.tool_pattern ?? null)
          if (expected !== null) {
            assert.strictEqual(verdict.tier, expected.tier)
            assert.strictEqual(
              verdict.rule_index,
              rules.filter((each) => each.tier === expected.tier).findIndex((each) => each === expected)
            )
          }
        }
      ),
      { numRuns: 3000 }
    )
  })

  it("a thousand rules give what a walk through them gives", () => {
    const rules = Array.from({ length: 1000 }, (_, n): TieredRule => ({
      tool_pattern: n % 7 === 0 ? `*_${n}` : n % 5 === 0 ? `t${n}(s*${n % 3})` : `t${n}_*`,
      mode: n % 2 === 0 ? "allow" : "deny",
      tier: "local"
    }))
    const policy = new PermissionPolicy(rules)
    for (let n = 0; n < 1000; n++) {
      for (
        const [tool, subject] of [[`t${n}_x`, "a"], [`t${n}`, `s${n % 4}`], [`x_${n}`, undefined], [
          `t${n}_${n}`,
          ""
        ]] as const
      ) {
        assert.strictEqual(
          policy.evaluate(tool, subject).rule_matched,
          naive(rules, tool, subject)?.tool_pattern ?? null
        )
      }
    }
  })

  it("an exact pattern matches its subject and nothing else", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string(), FastCheck.string(), (text, other) => {
        const pattern = exactPattern("write", text)
        const p = policy([pattern, "allow"])
        assert.strictEqual(p.evaluate("write", text).mode, "allow")
        if (other !== text) assert.strictEqual(p.evaluate("write", other).mode, "prompt")
      })
    )
  })
})
