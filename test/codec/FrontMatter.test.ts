import * as FastCheck from "effect/FastCheck"
import { assert, describe, it } from "@effect/vitest"
import { type FrontMatter, type FrontValue, maxFrontUnits, parse, textOf } from "../../src/codec/FrontMatter.ts"

const front = (text: string): FrontMatter => {
  const parsed = parse(text)
  if ("problem" in parsed) throw new Error(`${parsed.line}: ${parsed.problem}`)
  return parsed
}

const values = (lines: string): Record<string, unknown> =>
  Object.fromEntries(
    [...front(`---\n${lines}\n---\nbody`).data].map(([key, value]) => [
      key,
      value.kind === "text"
        ? value.text
        : value.kind === "list"
        ? value.items
        : value.kind === "map"
        ? Object.fromEntries(value.entries)
        : null
    ])
  )

const problem = (lines: string): readonly [number, string] => {
  const parsed = parse(`---\n${lines}\n---\nbody`)
  if (!("problem" in parsed)) throw new Error("it was read")
  return [parsed.line, parsed.problem]
}

describe("front matter", () => {
  it("a text without it is a body", () => {
    assert.deepStrictEqual(front("hello\n---\n"), { data: new Map(), body: "hello\n---\n", body_line: 1 })
    assert.strictEqual(front("").body, "")
  })

  it("texts, lists, maps and blocks; a byte order mark and CRLF change nothing", () => {
    const lines = [
      "name: deploy   # a comment",
      "description: 'It''s: quoted'",
      "escaped: \"a\\tb\\u00e9\\\"\"",
      "colon: use when: it fails",
      "hash: a#b",
      "hint: [file] [line]",
      "flow: [a, \"b, c\", 'd', bash(git add, x)]",
      "empty:",
      "list:",
      "  - one",
      "  - \"two # three\"",
      "flat:",
      "- x",
      "map:",
      "  a: 1",
      "  b: 'x y'",
      "inline: {k: v, l: \"m, n\"}",
      "literal: |",
      "  one",
      "    two",
      "",
      "  three",
      "folded: >-",
      "  one",
      "  two",
      "",
      "  three",
      "long: it goes",
      "  on here",
      "deep:",
      "  - a: b",
      "    c: d",
      "version: 1.20",
      "yes: true"
    ]
    const expected = {
      name: "deploy",
      description: "It's: quoted",
      escaped: "a\tb\u00e9\"",
      colon: "use when: it fails",
      hash: "a#b",
      hint: "[file] [line]",
      flow: ["a", "b, c", "d", "bash(git add, x)"],
      empty: "",
      list: ["one", "two # three"],
      flat: ["x"],
      map: { a: "1", b: "x y" },
      inline: { k: "v", l: "m, n" },
      literal: "one\n  two\n\nthree\n",
      folded: "one two\nthree",
      long: "it goes on here",
      deep: null,
      version: "1.20",
      yes: "true"
    }
    assert.deepStrictEqual(values(lines.join("\n")), expected)
    const crlf = front(`\ufeff---\r\n${lines.join("\r\n")}\r\n---\r\nbody\r\n`)
    assert.strictEqual(crlf.body, "body\n")
    assert.strictEqual(textOf(crlf, "name"), "deploy")
    assert.strictEqual(crlf.body_line, lines.length + 3)
  })

  it("every problem names its line", () => {
    assert.deepStrictEqual(problem("a: b\na: c")[0], 3)
    assert.deepStrictEqual(problem("a: b\nnonsense")[0], 3)
    assert.include(problem("a: &x b")[1], "anchors")
    assert.include(problem("a: *x")[1], "aliases")
    assert.include(problem("a: !!js/function x")[1], "tags")
    assert.include(problem("\ta: b")[1], "tab")
    assert.include(problem("a: \"b")[1], "double quotes")
    assert.include(problem("a: 'b' c")[1], "closing quote")
    assert.include(problem("a: \"\\q\"")[1], "no escape")
    assert.include(problem("  a: b")[1], "further in")
    const open = parse("---\na: b\n")
    assert.isTrue("problem" in open && open.problem.includes("does not end"))
  })

  it("names such as __proto__ are names", () => {
    const { data } = front("---\n__proto__: x\nconstructor: {__proto__: y}\n---\n")
    assert.strictEqual(textOf({ data }, "__proto__"), "x")
    const value = data.get("constructor")
    assert.strictEqual(value?.kind === "map" ? value.entries.get("__proto__") : "", "y")
    assert.isUndefined(Reflect.get({}, "x"))
  })

  it("bombs end early: length, names, items, deep brackets, blanks", () => {
    assert.isTrue("problem" in parse(`---\na: ${"x".repeat(maxFrontUnits * 2)}\nb: c\n---\n`))
    assert.isTrue("problem" in parse(`---\n${Array.from({ length: 300 }, (_, i) => `k${i}: v`).join("\n")}\n---\n`))
    assert.isTrue("problem" in parse(`---\na: [${"x,".repeat(5000)}]\n---\n`))
    const started = performance.now()
    parse(`---\na: ${"[".repeat(60_000)}\n---\n`)
    parse(`---\na: [${" ".repeat(60_000)}\n---\n`)
    parse(`---\na${" ".repeat(60_000)}\n---\n`)
    parse(`---\na: ${"'".repeat(60_000)}\n---\n`)
    parse(`---\n${" ".repeat(30_000)}#${"#".repeat(30_000)}\n---\n`)
    parse(`---\na: b\n${"\n".repeat(60_000)} c\n---\n`)
    parse(`---\na: b\n${" \n".repeat(30_000)}c: d\n---\n`)
    assert.isBelow(performance.now() - started, 1000)
  })

  it.prop("never throws, whatever the text", [
    FastCheck.array(
      FastCheck.oneof(
        FastCheck.string(),
        FastCheck.constantFrom(
          "---",
          "a: ",
          "- ",
          "[",
          "]",
          "{",
          "}",
          "'",
          "\"",
          "\n",
          "  ",
          ": ",
          "|",
          ">",
          "#",
          "\\",
          "\t"
        )
      ),
      { maxLength: 40 }
    )
  ], ([pieces]) => {
    const parsed = parse(`---\n${pieces.join("")}\n---\nbody`)
    assert.isTrue("problem" in parsed ? parsed.line >= 1 : parsed.body.endsWith("body"))
  })

  const word = FastCheck.stringMatching(/^[a-z][a-z0-9_-]{0,8}$/)

  it.prop("what is written in quotes is read back, in all places", [
    FastCheck.uniqueArray(word, { minLength: 1, maxLength: 8 }),
    FastCheck.array(FastCheck.string({ unit: "grapheme" }), { minLength: 8, maxLength: 8 }),
    FastCheck.constantFrom("text", "list", "flow", "map", "inline")
  ], ([keys, texts, form]) => {
    const quote = (text: string) => JSON.stringify(text)
    const all = keys.map((key, i): readonly [string, string] => [key, texts[i] ?? ""])
    const lines = form === "text"
      ? all.map(([key, text]) => `${key}: ${quote(text)}`)
      : form === "list"
      ? ["x:", ...all.map(([, text]) => `  - ${quote(text)}`)]
      : form === "flow"
      ? [`x: [${all.map(([, text]) => quote(text)).join(", ")}]`]
      : form === "map"
      ? ["x:", ...all.map(([key, text]) => `  ${key}: ${quote(text)}`)]
      : [`x: {${all.map(([key, text]) => `${key}: ${quote(text)}`).join(", ")}}`]
    const { data } = front(`---\n${lines.join("\n")}\n---\nbody`)
    const read = (value: FrontValue | undefined) =>
      value?.kind === "list" ? value.items : value?.kind === "map" ? [...value.entries] : []
    if (form === "text") {
      assert.deepStrictEqual(
        [...data].map(([key, value]) => [key, value.kind === "text" ? value.text : null] as const),
        all
      )
    } else {
      assert.deepStrictEqual(
        read(data.get("x")) as ReadonlyArray<unknown>,
        form === "list" || form === "flow" ? all.map(([, text]) => text) : all
      )
    }
  })

  it.prop("a literal block is its lines", [
    FastCheck.array(FastCheck.stringMatching(/^[ -~]{0,20}$/), { minLength: 1, maxLength: 10 })
  ], ([rows]) => {
    const body = rows.map((row) => row.trim() === "" ? "" : row.trimStart())
    while (body.length > 0 && body.at(-1) === "") body.pop()
    while (body.length > 0 && body[0] === "") body.shift()
    const { data } = front(`---\nx: |-\n${body.map((row) => row === "" ? "" : `  ${row}`).join("\n")}\ny: z\n---\n`)
    assert.strictEqual(textOf({ data }, "x"), body.join("\n"))
    assert.strictEqual(textOf({ data }, "y"), "z")
  })
})
