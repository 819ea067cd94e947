import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { brokenExamples } from "../../src/permissions/Rules.ts"
import { analyse, analysePlain } from "../../src/permissions/Shell.ts"
import { makeParser } from "../../src/platform/ShellGrammar.ts"
import { lines } from "./lines.ts"

const shell = await makeParser()

/** Every word that means something to the reader of commands or to bash, and what stands beside them. */
const words = (
  "rm git status ls echo npm test a x1 A a=b A=1 X=y,z - -- -c -x -v -p -n -i -exec -f -- . .. / ./a /usr/bin/env " +
  "env sudo doas su nohup nice time timeout 5 5s 10 -5 5.3 0x1F 1e5 16 %1 @ + - : , sh bash dash zsh ssh host xargs " +
  "find -delete eval exec command builtin source cd pushd popd dirs alias unalias trap export declare typeset readonly " +
  "local unset unsetenv let test read printf mapfile readarray getopts set shift wait set -o history fc hash type " +
  "for if then else elif fi case esac in do done while until select function coproc docker exec run kubectl make sed " +
  "s/a/b/e awk perl python3 -e node tee ln -s mv cp chmod dd of=x ld-linux-x86-64.so.2 script -q flock parallel watch " +
  "strace busybox setsid stdbuf -oL env.x a.b:c/d user@host 1 2 0 -1 --x=y,z@1 --adj=5 crontab at batch"
).split(" ")

const same = (line: string): void => {
  const plain = analysePlain(line)
  const missing = analyse(line, { missing: "there is none" })
  assert.strictEqual(missing.sealed, plain === null, JSON.stringify(line))
  if (plain === null) return
  assert.deepStrictEqual(plain, analyse(line, shell), JSON.stringify(line))
  assert.deepStrictEqual(missing, plain, JSON.stringify(line))
}

describe("lines of plain words (7.6)", () => {
  it("need no grammar", () => {
    for (
      const line of [
        "ls",
        "npm test",
        "git status",
        "make CC=gcc -j8",
        "sudo timeout 5 rm x",
        "xargs rm",
        "/bin/ls -la ./a",
        "sh -c ls",
        "echo if"
      ]
    ) {
      assert.isNotNull(analysePlain(line), line)
      same(line)
    }
  })

  it("are nothing else", () => {
    for (
      const line of [
        "",
        " ls",
        "ls ",
        "ls  -l",
        "ls\n",
        "ls;rm x",
        "A=b ls",
        "ls *",
        "ls ~",
        "echo {a,b}",
        "echo \"a\"",
        "if x",
        "export A=b",
        "unset x",
        "time ls",
        "coproc ls",
        "[ a",
        "echo $x",
        "ls # x",
        "ls \u00e9",
        "ls\u00a0-l",
        "- x",
        "a@b",
        "a == b",
        "sh -c a@b",
        "a".repeat(70_000)
      ]
    ) assert.isNull(analysePlain(line), JSON.stringify(line))
  })

  it("are read as the grammar reads them: each word first, alone and before another", () => {
    for (const first of words) {
      same(first)
      for (const second of words) same(`${first} ${second}`)
    }
    for (const [line] of lines) same(line)
  })

  it.prop(
    "are read as the grammar reads them",
    [
      FastCheck.array(FastCheck.constantFrom(...words), { minLength: 1, maxLength: 8 })
    ],
    ([parts]) => same(parts.join(" ")),
    { fastCheck: { numRuns: 3000 } }
  )

  it.prop("are read as the grammar reads them, whatever the words", [
    FastCheck.array(
      FastCheck.string({
        unit: FastCheck.constantFrom(..."abzAZ0159_./:@%+,=-"),
        minLength: 1,
        maxLength: 6
      }),
      { minLength: 1, maxLength: 5 }
    )
  ], ([parts]) => {
    const line = parts.join(" ")
    same(line)
  }, { fastCheck: { numRuns: 3000 } })

  it("are what the examples of rules are checked by where the grammar is missing; of the others nothing is said", () => {
    const examplesOf = (
      shown: { readonly match?: ReadonlyArray<string>; readonly not_match?: ReadonlyArray<string> }
    ) =>
      (["allow", "deny", "prompt"] as const).map((mode) =>
        brokenExamples([{ tool_pattern: "bash(git *)", mode, tier: "user", ...shown }], { missing: "there is none" })
          .map(({ example }) => example)
      )
    assert.deepStrictEqual(
      examplesOf({ match: ["git log", "git 'log'", "git log; ls"], not_match: ["ls", "'git' log", "ls; git x"] }),
      [[], [], []]
    )
    assert.deepStrictEqual(examplesOf({ match: ["ls"] }), [["ls"], ["ls"], ["ls"]])
    assert.deepStrictEqual(examplesOf({ not_match: ["git x"] }), [["git x"], ["git x"], ["git x"]])
  })
})
