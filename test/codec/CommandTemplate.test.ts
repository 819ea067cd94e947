import * as FastCheck from "effect/FastCheck"
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { argumentsOf, fill, fillShell, parse, split, takesArguments } from "../../src/codec/CommandTemplate.ts"

const joined = (body: string): string =>
  parse(body).map((piece) =>
    piece.kind === "text" ? piece.text : piece.kind === "shell" ? `!\`${piece.command}\`` : `@${piece.path}`
  ).join("")

describe("templates of commands", () => {
  it("finds shell lines and files, with their lines", () => {
    assert.deepStrictEqual(parse("Look at @src/a.ts,\nand !`git diff $1` by @me (!`date`)."), [
      { kind: "text", text: "Look at " },
      { kind: "file", path: "src/a.ts", line: 1 },
      { kind: "text", text: ",\nand " },
      { kind: "shell", command: "git diff $1", line: 2 },
      { kind: "text", text: " by @me (" },
      { kind: "shell", command: "date", line: 2 },
      { kind: "text", text: ")." }
    ])
  })

  it("mentions, addresses, resources of servers, code and bare backticks are text", () => {
    for (
      const body of [
        "@me",
        "a@b.c/d",
        "x!`date`",
        "@server:file://x/y",
        "`@src/a.ts`",
        "!` `",
        "@",
        "!`",
        "@@a/b",
        "@effect"
      ]
    ) {
      assert.deepStrictEqual(parse(body), [{ kind: "text", text: body }], body)
    }
    const fenced = "```sh\n!`rm -rf .`\n@src/a.ts\n```\n~~~~\n!`date`\n```\n~~~~"
    assert.deepStrictEqual(parse(fenced), [{ kind: "text", text: fenced }])
    assert.strictEqual(parse("```\nx\n```\n!`date`")[1]?.kind, "shell")
  })

  it.prop("the pieces are the template, whatever it is", [FastCheck.array(
    FastCheck.oneof(FastCheck.string(), FastCheck.constantFrom("!`", "`", "@a/b", "\n", "```", " ", "$1"))
  )], ([pieces]) => {
    const body = pieces.join("").replaceAll(/!`[ \t]+/g, "!`").replaceAll(/\s+`/g, "`")
    assert.strictEqual(joined(body), body)
  })

  it("splits words as people mean them", () => {
    assert.deepStrictEqual(split(`fix don't "two words" 'a "b"' c\\ d "" it's`), [
      "fix",
      "don't",
      "two words",
      "a \"b\"",
      "c d",
      "",
      "it's"
    ])
    assert.deepStrictEqual(split("\"open"), ["\"open"])
    assert.deepStrictEqual(split("  "), [])
  })

  it("puts arguments into texts as they were typed", () => {
    const given = argumentsOf("  one \"two three\" ")
    assert.strictEqual(
      fill("a $1 b $2 c $3 d $ARGUMENTS e \\$1 f $ARGUMENTSX", given),
      "a one b two three c  d one \"two three\" e $1 f $ARGUMENTSX"
    )
    assert.isTrue(takesArguments(parse("x @$1.ts")))
    assert.isFalse(takesArguments(parse("x \\$1")))
    // what an argument brings is not filled again
    assert.strictEqual(fill("$1", argumentsOf("'$2' x")), "$2")
  })

  it("refuses what it cannot place safely", () => {
    for (const command of ["echo ${x:-$1}", "echo $(($1))", "case $1 in a) ;; esac", "cat << $1", "echo $'$1'"]) {
      assert.property(fillShell(command, argumentsOf("x")), "problem", command)
    }
    assert.deepStrictEqual(fillShell("echo ${HOME}", argumentsOf("x")), { command: "echo ${HOME}" })
    assert.property(fillShell("echo # $1", argumentsOf("'a\nrm b'")), "problem")
  })

  const nasty = FastCheck.array(
    FastCheck.constantFrom(
      "'",
      "\"",
      "$(echo X)",
      "`echo X`",
      "\\",
      ";",
      "|",
      "&",
      "a",
      " ",
      "#",
      "(",
      ")",
      "$HOME",
      "*",
      "{",
      "}"
    ),
    { minLength: 1, maxLength: 8 }
  )

  it("a real shell takes every argument for the one word it is, wherever it stands", () => {
    const forms: ReadonlyArray<readonly [string, (text: string) => string]> = [
      ["printf '%s|' $1", (text) => text],
      ["printf '%s|' \"$1\"", (text) => text],
      ["printf '%s|' '$1'", (text) => text],
      ["printf '%s|' \"a $1 b\"", (text) => `a ${text} b`],
      ["printf '%s|' \"$(printf '%s' $1)\"", (text) => text],
      ["printf '%s|' \"$(printf '%s' \"$1\")\"", (text) => text],
      ["(printf '%s|' $1) # $1", (text) => text],
      ["printf '%s|' x$1", (text) => `x${text}`],
      ["printf '%s|' \"$(cat <<< $1)\"", (text) => text]
    ]
    const samples = FastCheck.sample(nasty, { numRuns: 25, seed: 7 }).map((parts) => parts.join(""))
    const lines: Array<string> = []
    const expected: Array<string> = []
    for (const text of samples) {
      for (const [form, meant] of forms) {
        const made = fillShell(form, { raw: text, words: [text] })
        if ("problem" in made) throw new Error(made.problem)
        lines.push(made.command)
        // $( ) drops line breaks at the end, of which there are none
        expected.push(`${meant(text)}|`)
      }
    }
    const ran = spawnSync("bash", ["-c", lines.join("\nprintf '\\n'\n")], { encoding: "utf8" })
    assert.strictEqual(ran.stderr, "")
    assert.deepStrictEqual(ran.stdout.split("\n"), expected)
  })

  it("no argument is put where the shell would read it as more than a word", () => {
    for (
      const form of [
        "echo $$1",
        "echo \"$$1\"",
        "echo $[$1+1]",
        "echo $'$1'",
        "echo ${x:-$1}",
        "echo $(($1))",
        "cat << $1"
      ]
    ) {
      assert.property(fillShell(form, argumentsOf("\\'; touch x #")), "problem", form)
      assert.property(fillShell(form.replaceAll("$1", "x"), argumentsOf("y")), "command", form)
    }
  })

  it("time is linear: marks that could end a sentence, and do not", () => {
    const started = performance.now()
    parse(`@${".".repeat(250_000)}x`)
    parse(` !\``.repeat(60_000))
    parse(`@a${"*".repeat(120_000)}x @b${"*".repeat(120_000)}x`)
    assert.isBelow(performance.now() - started, 2000)
  })

  it("$ARGUMENTS outside of quotes is its words", () => {
    const made = fillShell("printf '%s|' $ARGUMENTS", argumentsOf("a 'b c' ; d"))
    const ran = spawnSync("bash", ["-c", "command" in made ? made.command : "false"], { encoding: "utf8" })
    assert.strictEqual(ran.stdout, "a|b c|;|d|")
  })
})
