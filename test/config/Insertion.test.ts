/** 4.10: what is put into a settings file leaves every comment with its neighbour, and every other byte as it is. */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as jsonc from "jsonc-parser"
import * as Document from "../../src/config/Document.ts"
import { allow, set } from "../../src/config/Edit.ts"
import { append, prepend } from "../../src/config/Insertion.ts"

const textOf = (edited: ReturnType<typeof set>): string => "text" in edited ? edited.text : `problem: ${edited.problem}`

const valueOf = (text: string): unknown => {
  const { problem, root } = Document.parse(text)
  assert.isNull(problem, text)
  return root === null ? undefined : Document.toValue(root)
}

describe("4.10 a key that is put in", () => {
  it.each<readonly [what: string, text: string, path: ReadonlyArray<string>, value: unknown, expected: string]>([
    [
      "the comment behind its neighbour stays there",
      "{\n  \"model\": \"m\" // of model\n}\n",
      ["theme"],
      "x",
      "{\n  \"model\": \"m\", // of model\n  \"theme\": \"x\"\n}\n"
    ],
    ["also behind a comma", "{\n  \"a\": 1, // of a\n}", ["b"], 2, "{\n  \"a\": 1, // of a\n  \"b\": 2,\n}"],
    [
      "neighbours on one line stay as they are",
      "{\"mcp_servers\":{\n\t\"a\":{\"command\":\"x\",\"args\":[1,2]}  /* of a */\n\t// nobody's\n}}",
      ["mcp_servers", "b"],
      { command: "y", args: ["z"] },
      "{\"mcp_servers\":{\n\t\"a\":{\"command\":\"x\",\"args\":[1,2]},  /* of a */\n\t\"b\": {\n\t\t\"command\": \"y\",\n\t\t\"args\": [\n\t\t\t\"z\"\n\t\t]\n\t}\n\t// nobody's\n}}"
    ],
    [
      "into one line, a short one",
      "{\"mcp_servers\":{ \"a\":{\"command\":\"x\" /* c */ } }}",
      ["mcp_servers", "a", "disabled"],
      true,
      "{\"mcp_servers\":{ \"a\":{\"command\":\"x\", /* c */ \"disabled\": true } }}"
    ],
    ["brackets in texts", "{\"a\":1}", ["b"], ["[ x ]"], "{\"a\":1, \"b\": [\"[ x ]\"]}"],
    [
      "into one line, a long one",
      "{ \"a\": 1 }",
      ["b"],
      "x".repeat(60),
      `{ "a": 1,\n  "b": "${"x".repeat(60)}"\n}`
    ],
    ["into nothing", "{}", ["a"], 1, "{\n  \"a\": 1\n}"],
    ["into blanks", "{\r\n}\r\n", ["a"], 1, "{\r\n  \"a\": 1\r\n}\r\n"],
    ["into comments", "{ // open\n  // more\n}", ["a"], 1, "{ // open\n  // more\n  \"a\": 1\n}"],
    ["into a comment in one line", "{ /* c */ }", ["a"], 1, "{ /* c */\n  \"a\": 1\n}"],
    [
      "with what it stands in",
      "{\n    \"a\": {}, /* a */ \"b\": 1\n}",
      ["a", "c", "d"],
      1,
      "{\n    \"a\": {\n        \"c\": {\n            \"d\": 1\n        }\n    }, /* a */ \"b\": 1\n}"
    ],
    ["in place of null", "{ \"a\": null } // end", ["a", "b"], 1, "{ \"a\": {\n    \"b\": 1\n  } } // end"],
    [
      "into a file of comments",
      "\uFEFF// only\n",
      ["a"],
      { b: 1 },
      "\uFEFF// only\n{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"
    ],
    [
      "a rule at the end of a list",
      "{ \"permissions\": [\n  { \"tool_pattern\": \"a\", \"mode\": \"ask\" } // of a\n] }",
      ["permissions", "b"],
      "deny",
      "{ \"permissions\": [\n  { \"tool_pattern\": \"a\", \"mode\": \"ask\" }, // of a\n  {\n    \"tool_pattern\": \"b\",\n    \"mode\": \"deny\"\n  }\n] }"
    ],
    [
      "the mode of a rule that has none",
      "{ \"permissions\": [{ \"tool_pattern\": \"a\" /* of a */ }] }",
      ["permissions", "a"],
      "deny",
      "{ \"permissions\": [{ \"tool_pattern\": \"a\", /* of a */ \"mode\": \"deny\" }] }"
    ]
  ])("%s", (_, text, path, value, expected) => {
    assert.strictEqual(textOf(set(text, path, value)), expected)
  })

  it("a rule before all others stands before the comment that is the first one's own", () => {
    assert.strictEqual(
      textOf(allow("{ \"permissions\": { // rules\n  // of a\n  \"a\": \"deny\"\n} }", "b")),
      "{ \"permissions\": { // rules\n  \"b\": \"allow\",\n  // of a\n  \"a\": \"deny\"\n} }"
    )
    assert.strictEqual(
      textOf(allow("{ \"permissions\": { \"a\": \"deny\" } }", "b")),
      "{ \"permissions\": { \"b\": \"allow\", \"a\": \"deny\" } }"
    )
    assert.strictEqual(
      textOf(allow("{ \"permissions\": [\n  // of a\n  { \"tool_pattern\": \"a\", \"mode\": \"deny\" }\n] }", "b")),
      "{ \"permissions\": [\n  {\n    \"tool_pattern\": \"b\",\n    \"mode\": \"allow\"\n  },\n  // of a\n" +
        "  { \"tool_pattern\": \"a\", \"mode\": \"deny\" }\n] }"
    )
  })
})

/** The tokens with comments, without what is between them. */
const tokensOf = (text: string): ReadonlyArray<string> => {
  const scanner = jsonc.createScanner(text, false)
  const found: Array<string> = []
  while (true) {
    const token: number = scanner.scan()
    if (token === Document.Token.eof) return found
    if (token === Document.Token.trivia || token === Document.Token.lineBreak) continue
    const start = scanner.getTokenOffset()
    found.push(text.slice(start, start + scanner.getTokenLength()))
  }
}

const trivia = FastCheck.array(
  FastCheck.constantFrom(" ", "\n", "\r\n", "\t", "", "// c\n", "/* c */", "/* c\n*/"),
  { maxLength: 4 }
).map((parts) => parts.join(""))

const object = FastCheck.tuple(
  FastCheck.array(
    FastCheck.tuple(trivia, trivia, trivia, trivia, FastCheck.constantFrom("1", "\"}\"", "[\n]", "{ /* i */ }")),
    {
      maxLength: 4
    }
  ),
  FastCheck.boolean(),
  trivia
).map(([members, trailing, end]) =>
  `{${
    members.map(([a, b, c, d, value], n) =>
      `${a}"k${n}"${b}:${c}${value}${d}${trailing || n < members.length - 1 ? "," : ""}`
    ).join("")
  }${end}}`
)

describe("4.10 whatever the layout", () => {
  const value = FastCheck.constantFrom<unknown>(1, "x", { a: ["b", { c: null }] }, "x".repeat(80), [], {})
  const style = FastCheck.record({
    indent: FastCheck.constantFrom("  ", "\t"),
    eol: FastCheck.constantFrom("\n", "\r\n")
  })

  it.prop("all that was there is there, in its order, with the new one at its end or its beginning", [
    object,
    value,
    style,
    FastCheck.boolean()
  ], ([text, value, style, first]) => {
    const before = valueOf(text) as Record<string, unknown>
    const after = (first ? prepend : append)(text, 0, { key: "new", value }, style)
    const made = valueOf(after) as Record<string, unknown>
    assert.deepStrictEqual(made, { ...before, new: value })
    assert.deepStrictEqual(Object.keys(made), first ? ["new", ...Object.keys(before)] : [...Object.keys(before), "new"])

    const own = tokensOf(JSON.stringify({ new: value })).slice(1, -1)
    const [old, now] = [tokensOf(text), tokensOf(after)]
    const at = now.indexOf("\"new\"")
    assert.deepStrictEqual(now.slice(at, at + own.length), own)
    const rest = [...now.slice(0, at), ...now.slice(at + own.length)]
    // one comma is new, and where nothing was, none
    assert.strictEqual(rest.length - old.length, Object.keys(before).length === 0 ? 0 : 1)
    const without = (tokens: ReadonlyArray<string>) => tokens.filter((token) => token !== ",")
    assert.deepStrictEqual(without(rest), without(old))
  }, { fastCheck: { numRuns: 3_000 } })

  it.prop("what is said behind the last one on its line stays there", [
    FastCheck.constantFrom("// c", "/* c */", " /* c */ // d", "  /* c\n d */"),
    FastCheck.boolean(),
    value,
    style
  ], ([comment, comma, value, style]) => {
    const text = `{\n  "a": 1${comma ? "," : ""}${comment}\n}`
    const after = append(text, 0, { key: "new", value }, style)
    assert.isTrue(after.startsWith(`{\n  "a": 1,${comment}${style.eol}`), after)
    assert.isTrue(after.endsWith("\n}"), after)
  })
})
