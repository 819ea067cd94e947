import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { PermissionMode } from "../../src/domain/Permission.ts"
import { PermissionPolicy } from "../../src/permissions/Policy.ts"
import { analyse, pathSubject } from "../../src/permissions/Shell.ts"
import { makeParser, maxLineUnits, type ShellNode } from "../../src/platform/ShellGrammar.ts"
import { broadRules, lines, openRules, rules } from "./lines.ts"

const shell = await makeParser()
const policyOf = (list: ReadonlyArray<readonly [string, PermissionMode]>) =>
  new PermissionPolicy(list.map(([tool_pattern, mode]) => ({ tool_pattern, mode })), { shell, root: "/work" })
const strength = { allow: 0, prompt: 1, deny: 2 }

/** Pieces of command lines in any order: most of what comes out is nonsense, some of it is not. */
const soup = FastCheck.array(
  FastCheck.constantFrom(
    ..."rm|git status|git|x|y| | |;|&|&&|\n|(|)|{ |; }|'|\"|$(|`|\\|#|<<E|\nE\n|$x|${x|}|>f|2>&1|<|if |; then |; fi|for i in |; do |; done|case x in |x) |;; esac|f(){ |! |[[ |]]|((|))|=|A=|$'|*|~|{|,|time |eval |xargs |-f|\\\n|é|👍|\t"
      .split("|"),
    "|",
    "||"
  ),
  { maxLength: 24 }
).map((parts) => parts.join(""))

describe("command lines (7.6)", () => {
  assert.isAtLeast(lines.length, 150)
  const sets = [policyOf(rules), policyOf(openRules), policyOf(broadRules)] as const
  for (const [line, ...expected] of lines) {
    it(JSON.stringify(line), () => {
      assert.deepStrictEqual(sets.map((policy) => policy.evaluate("bash", line).mode), expected)
    })
  }

  it("what is asked about although all is allowed but what is denied: no mode lifts it", () => {
    for (const [line] of lines) {
      const verdict = sets[1].evaluate("bash", line)
      if (verdict.mode === "prompt") assert.isTrue(verdict.unsure, line)
    }
  })

  it("a deny of files alone is looked for in all that is not understood, whichever tool it names", () => {
    for (const pattern of ["write(.env)", "edit(.env)", "apply_patch(.env)", "*(.env)", "[we]*(.e*)"]) {
      const policy = policyOf([[pattern, "deny"], ["bash", "allow"], ["write", "allow"]])
      for (
        const line of [
          "echo a 5<>.env",
          "cat <<E>.env\na\nE",
          "sh -c 'echo a >.env'",
          "eval 'echo a >.env'",
          "eval \"$x\"",
          "ln -s .env q; echo a>q",
          "$x .env",
          "python3 -c 'open()'",
          "find . -exec sh -c 'echo a > .env' \\;",
          "echo a > $x"
        ]
      ) assert.deepInclude(policy.evaluate("bash", line), { mode: "prompt", unsure: true }, `${pattern} ${line}`)
      assert.include(["deny", "prompt"], policy.evaluate("bash", "echo a > .env").mode, pattern)
      for (const line of ["rm x", "echo a > b", "sh -c 'echo a > b'", "sudo ls", "for x in a; do ls $x; done"]) {
        assert.strictEqual(policy.evaluate("bash", line).mode, "allow", `${pattern} ${line}`)
      }
    }
  })

  it("without a deny nothing is hidden: what all of bash may, it may", () => {
    const policy = policyOf([["bash", "allow"], ["write", "allow"]])
    for (const [line] of lines) assert.strictEqual(policy.evaluate("bash", line).mode, "allow", line)
  })

  it.prop("no way to write a denied program behind a wrapper passes for certain", [
    FastCheck.constantFrom(
      ..."nohup|nice --adj=5|nice|command|time|/usr/bin/time -o l|stdbuf --out=L|stdbuf -oL|timeout 5|timeout --foo 5|env|env a.b=1|env -iv|sudo|doas|setsid|exec|flock l|unshare|xargs|builtin|ionice|script -q|docker exec c|/lib64/ld-linux-x86-64.so.2|find . -exec|eval|trap --"
        .split("|")
    ),
    FastCheck.constantFrom(
      "/bin/r[m] x",
      "/bin/r? x",
      "$a x",
      "sh -c 'r\"\"m x'",
      "sh -c 'r\\m x'",
      "sh -oc errexit \"r''m x\"",
      "bash -c -O extglob '$a x'",
      "bash <<< 'rm x'",
      "env -S 'r\\cm x'",
      "sed '1s_.*_rm x_e' f",
      "python3 -c 'rm(\"x\")'",
      "git -c alias.z='!r\"\"m x' z",
      "awk 'BEGIN{system(\"r\" \"m x\")}'"
    ),
    FastCheck.constantFrom("", "nohup ", "nice --adj=5 ", "X=1 ", "cd a && ", "true | ")
  ], ([wrapper, inner, before]) => {
    // An unknown program is no wrapper for a word that is not known; its interpreters are.
    if (wrapper === "docker exec c" && /^(?:\/bin|\$|bash <)/.test(inner)) return
    const line = `${before}${wrapper} ${inner}${wrapper.startsWith("find") ? " \\;" : ""}`
    for (
      const policy of [
        policyOf([["bash(rm *)", "deny"], ["bash", "allow"]]),
        policyOf([["bash(rm *)", "deny"], ["bash(*)", "allow"]])
      ]
    ) {
      const verdict = policy.evaluate("bash", line)
      assert.isTrue(verdict.mode === "deny" || verdict.unsure === true, line)
    }
  }, { fastCheck: { numRuns: 600 } })

  it("several commands: the first one that has the combined mode is reported", () => {
    const policy = policyOf([["bash(a)", "allow"], ["bash(b *)", "deny"], ["bash(c *)", "deny"], ["bash(d)", "prompt"]])
    assert.deepInclude(policy.evaluate("bash", "a; c 1; b 2"), {
      mode: "deny",
      rule_index: 2,
      rule_matched: "bash(c *)"
    })
    assert.deepInclude(policy.evaluate("bash", "a; d; e"), { mode: "prompt", rule_index: 3 })
    assert.deepInclude(policy.evaluate("bash", "a; e; d"), { mode: "prompt", rule_index: null, rule_matched: null })
    assert.deepInclude(policy.evaluate("bash", "a; a"), { mode: "allow", rule_index: 0 })
  })

  it("the parser decides: no rule is named, and why is said", () => {
    const verdict = policyOf([["bash(*)", "allow"]]).evaluate("bash", "xargs x")
    assert.deepInclude(verdict, { mode: "prompt", rule_index: null, rule_matched: null, reason: null })
    assert.include(verdict.why ?? "", "xargs")
  })

  it("only a rule that begins with the program's name, or one for all of bash, allows what is at least a prompt", () => {
    const line = "find . -delete"
    assert.strictEqual(policyOf([["bash(find *)", "allow"]]).evaluate("bash", line).mode, "allow")
    assert.strictEqual(policyOf([["bash(fi*)", "allow"]]).evaluate("bash", line).mode, "prompt")
    assert.strictEqual(policyOf([["bash(*)", "allow"]]).evaluate("bash", line).mode, "prompt")
    assert.strictEqual(policyOf([["bash", "allow"]]).evaluate("bash", line).mode, "allow")
    assert.strictEqual(policyOf([["*", "allow"]]).evaluate("bash", line).mode, "allow")
  })

  it("denies see the raw line, other rules do not", () => {
    assert.strictEqual(policyOf([["bash(*; b*)", "deny"]]).evaluate("bash", "a; b").mode, "deny")
    assert.strictEqual(policyOf([["bash(*; b*)", "allow"]]).evaluate("bash", "a; b").mode, "prompt")
  })

  it("a deny that may be hidden is unsure, whatever else allows the line", () => {
    const policy = policyOf([["bash(rm -rf *)", "deny"], ["bash", "allow"]])
    for (
      const line of [
        "rm $x",
        "rm -fr x",
        "rm -r -f x",
        "rm x -rf",
        "$x -rf y",
        "sudo rm -rf x",
        "eval 'rm -rf x'",
        "a '"
      ]
    ) {
      assert.deepInclude(policy.evaluate("bash", line), { mode: "prompt", unsure: true }, line)
    }
    for (const line of ["rm x", "echo $x", "git rm $x", "sudo ls"]) {
      assert.strictEqual(policy.evaluate("bash", line).mode, "allow", line)
    }
  })

  it("where the grammar is missing, plain words are read as ever, no rule allows any other line, and denies hold", () => {
    const policy = new PermissionPolicy([{ tool_pattern: "bash(rm *)", mode: "deny" }, {
      tool_pattern: "bash",
      mode: "allow"
    }], {
      shell: { missing: "there is none" }
    })
    const verdict = policy.evaluate("bash", "git 'status'")
    assert.deepInclude(verdict, { mode: "prompt", unsure: true })
    assert.include(verdict.why ?? "", "there is none")
    for (const line of ["git status; ls", "git status\n", "A=b ls", "sh -c \"ls\"", "ls; rm x"]) {
      assert.deepInclude(policy.evaluate("bash", line), { mode: "prompt", unsure: true }, line)
    }
    assert.strictEqual(policy.evaluate("bash", "git status").mode, "allow")
    for (const line of ["rm x", "rm 'x'"]) assert.strictEqual(policy.evaluate("bash", line).mode, "deny", line)
    assert.strictEqual(policy.evaluate("bash").mode, "allow")
  })

  it("a line that is too long or too deep cannot be read", () => {
    const policy = policyOf([["bash(echo *)", "allow"]])
    assert.strictEqual(policy.evaluate("bash", `echo ${"x".repeat(maxLineUnits)}`).mode, "prompt")
    assert.strictEqual(policy.evaluate("bash", `echo ${"$(echo ".repeat(300)}${")".repeat(300)}`).mode, "prompt")
    assert.strictEqual(policy.evaluate("bash", `echo ${"\"$(".repeat(5000)}`).mode, "prompt")
    assert.strictEqual(policy.evaluate("bash", `${"(".repeat(5000)}echo x`).mode, "prompt")
  })

  it("no line takes long, however it is made", () => {
    const policy = new PermissionPolicy(
      [
        ...Array.from({ length: 1000 }, (_, n) => ({ tool_pattern: `bash(*x${n}y*)`, mode: "deny" as const })),
        { tool_pattern: "bash(*)", mode: "allow" as const }
      ],
      { shell }
    )
    const units = 60_000
    const times = (text: string): string => text.repeat(Math.floor(units / text.length))
    const made = [
      `a${times("  \\\n")}\r b`,
      `echo ${times("{,")}`,
      `cat <<E\n${times("\\")}\nE`,
      `sed '${times("\n")}'`,
      `sed '${times(";  ")}'`,
      `sed '${" ".repeat(4000)}'`,
      `bash -${times("c")}1`,
      ...[
        "a;",
        "(",
        "$(",
        "\"$(",
        "`",
        "cat <<E\nE\n",
        "a ",
        "-a ",
        "'a'",
        "if a; then ",
        "case x in ",
        "${x:-",
        "<",
        "A=1 "
      ].map(times),
      ...["eval ", "nohup ", "sudo ", "time "].map(times)
    ]
    for (const line of made) {
      const start = performance.now()
      policy.evaluate("bash", line)
      assert.isBelow(performance.now() - start, 10_000, JSON.stringify(line.slice(0, 40)))
    }
  })

  it("redirections are named as rules name files", () => {
    assert.deepStrictEqual(
      ["a", "./a", "b/../a", "../a", "/w/a", "/w/../x", "/w", ".", "/", "//w//b"].map((path) =>
        pathSubject(path, "/w")
      ),
      ["a", "a", "a", "/a", "a", "/x", ".", ".", "/", "b"]
    )
    assert.strictEqual(pathSubject("a", "/w", "/w/sub"), "sub/a")
    assert.deepStrictEqual(["../../a", "./b", "/c/../d"].map((path) => pathSubject(path)), ["../../a", "b", "/d"])
  })
})

describe("the grammar", () => {
  const inside = (node: ShellNode): boolean =>
    node.start <= node.end &&
    node.children.every((child) => node.start <= child.start && child.end <= node.end && inside(child))

  it("takes any text without failing, and its nodes lie within each other", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.oneof(FastCheck.string16bits({ maxLength: 200 }), FastCheck.fullUnicodeString(), soup),
        (text) => {
          const tree = shell(text)
          if (tree !== null) assert.isTrue(tree.end <= text.length && inside(tree))
          analyse(text, shell)
        }
      ),
      { numRuns: 700 }
    )
  })

  it("takes random bytes", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.uint8Array({ maxLength: 300 }), (bytes) => {
        analyse(new TextDecoder("latin1").decode(bytes), shell)
        analyse(new TextDecoder().decode(bytes), shell)
      }),
      { numRuns: 300 }
    )
  })
})

describe("properties of rules over command lines", () => {
  const patterns = FastCheck.constantFrom(
    "bash",
    "*",
    "bash(*)",
    "bash(git *)",
    "bash(git status*)",
    "bash(rm *)",
    "bash(x*)",
    "bash(*x*)",
    "bash(f)",
    "write",
    "write(f)",
    "write(*)"
  )
  const rule = FastCheck.record({
    tool_pattern: patterns,
    mode: FastCheck.constantFrom<PermissionMode>("allow", "deny", "prompt")
  })

  it("adding a deny, wherever it stands, never loosens", () => {
    FastCheck.assert(
      FastCheck.property(
        soup,
        FastCheck.array(rule, { maxLength: 5 }),
        patterns,
        FastCheck.nat(5),
        (line, list, tool_pattern, at) => {
          const before = new PermissionPolicy(list, { shell }).evaluate("bash", line)
          const after = new PermissionPolicy(list.toSpliced(at, 0, { tool_pattern, mode: "deny" }), { shell }).evaluate(
            "bash",
            line
          )
          assert.isAtLeast(strength[after.mode], strength[before.mode])
          if (before.unsure === true) assert.isTrue(after.unsure === true || after.mode === "deny")
        }
      ),
      { numRuns: 700 }
    )
  })

  it("what is allowed by subjects alone consists of parts that each are allowed", () => {
    FastCheck.assert(
      FastCheck.property(soup, (line) => {
        const policy = policyOf([["bash(git *)", "allow"], ["bash(x*)", "allow"], ["write(f)", "allow"]])
        const verdict = policy.evaluate("bash", line)
        if (verdict.mode !== "allow") return
        assert.isTrue((verdict.parts ?? []).length > 0 && (verdict.parts ?? []).every((part) => part.mode === "allow"))
        assert.strictEqual(analyse(line, shell).problem, null)
      }),
      { numRuns: 500 }
    )
  })
})
