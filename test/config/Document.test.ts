import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as jsonc from "jsonc-parser"
import * as Document from "../../src/config/Document.ts"
import { readTree } from "../../src/config/TreeReader.ts"

const value = (text: string): unknown => {
  const { problem, root } = Document.parse(text)
  assert.isNull(problem)
  return root === null ? undefined : Document.toValue(root)
}

const problem = (text: string): string | null => {
  const { problem, text: stripped } = Document.parse(text)
  if (problem === null) return null
  const { column, line } = Document.places(stripped).position(problem.offset)
  return `${line}:${column}`
}

describe("4.4 syntax", () => {
  it("comments, a trailing comma and one byte order mark are accepted", () => {
    assert.deepEqual(
      value("\uFEFF// settings\n{ /* a */ \"a\": [1, 2,], }") as object,
      Object.assign(Object.create(null), { a: [1, 2] })
    )
  })

  it("empty, blank and comment-only texts are absent", () => {
    for (const text of ["", " \n\t\r\n", "// nothing", "/* a */ // b\n", "\uFEFF"]) {
      assert.deepEqual(Document.parse(text), { text: text.replace("\uFEFF", ""), root: null, problem: null })
    }
  })

  it("what is no JSONC is found at its place", () => {
    const table: ReadonlyArray<readonly [text: string, place: string]> = [
      ["{\"a\": 1", "1:8"],
      ["{\n  \"a\": 1\n  \"b\": 2\n}", "3:3"],
      ["{\r\n\"a\" 1}", "2:5"],
      ["{\"\u{1F600}\": 'x'}", "1:7"],
      ["{a: 1}", "1:2"],
      ["[1,,]", "1:4"],
      ["01", "1:2"],
      ["1.", "1:1"],
      ["nul", "1:1"],
      ["{\"a\": \"b\nc\"}", "1:7"],
      ["/* open", "1:1"],
      ["{} {}", "1:4"],
      ["\"\\x\"", "1:1"]
    ]
    for (const [text, place] of table) assert.strictEqual(problem(text), place, JSON.stringify(text))
  })

  it("nesting over 200 is an error, 200 is not", () => {
    assert.isNull(problem("[".repeat(200) + "]".repeat(200)))
    assert.strictEqual(problem("[".repeat(201) + "]".repeat(201)), "1:201")
    assert.strictEqual(problem("[".repeat(100_000)), "1:201")
  })
})

describe("G3 keys", () => {
  it("integer-like keys and __proto__ keep the order of the file", () => {
    const { root } = Document.parse("{\"z\": 1, \"10\": 2, \"__proto__\": 3, \"2\": 4}")
    assert.strictEqual(root?.type, "object")
    if (root?.type === "object") {
      assert.deepEqual(root.members.map((member) => member.key), ["z", "10", "__proto__", "2"])
    }
  })

  it("plain values have no prototype and change nothing global", () => {
    const object = value("{\"__proto__\": {\"polluted\": true}, \"constructor\": 1}") as Record<string, unknown>
    assert.isNull(Object.getPrototypeOf(object))
    assert.deepEqual(Object.keys(object), ["__proto__", "constructor"])
    assert.isUndefined(({} as Record<string, unknown>)["polluted"])
  })

  it("the last of duplicate keys counts, at the place of the first", () => {
    const { root } = Document.parse("{\"a\": 1, \"b\": 2, \"a\": 3}")
    assert.strictEqual(root?.type, "object")
    if (root?.type !== "object") return
    const { duplicates, members } = Document.unique(root.members)
    assert.deepEqual(members.map(({ key, value }) => [key, Document.toValue(value)]), [["a", 3], ["b", 2]])
    assert.deepEqual(duplicates.map((member) => member.key_offset), [17])
  })
})

describe("places", () => {
  it.prop("a place is the same, whatever was asked before", [
    FastCheck.string({ unit: FastCheck.constantFrom("\r", "\n", "\r\n", "a", "bc", "\u{1F600}"), maxLength: 20 }),
    FastCheck.array(FastCheck.nat({ max: 45 }), { maxLength: 8 })
  ], ([text, offsets]) => {
    const places = Document.places(text)
    for (const each of offsets) {
      const at = Math.min(each, text.length)
      const ends = [...text.matchAll(/\r\n|\r|\n/g)].map(({ index, 0: end }) => index + end.length).filter((end) =>
        end <= at
      )
      assert.strictEqual(places.line(each), ends.length + 1)
      assert.deepStrictEqual(places.position(each), {
        line: ends.length + 1,
        column: Array.from(text.slice(ends.at(-1) ?? 0, at)).length + 1
      })
    }
  }, { fastCheck: { numRuns: 500 } })

  it("CR, LF and CRLF end a line, columns count code points", () => {
    const places = Document.places("a\rb\nc\r\nd\u{1F600}e")
    assert.deepEqual([0, 2, 4, 7, 10].map(places.position), [
      { line: 1, column: 1 },
      { line: 2, column: 1 },
      { line: 3, column: 1 },
      { line: 4, column: 1 },
      { line: 4, column: 3 }
    ])
  })

  it("are the same whatever was asked before, also within characters of two units", () => {
    const text = `{"a\u{1F600}": "\u{1F600}\u{1F600}",\r\n "${"\u{1F600}".repeat(90)}\ud800\udc00\udc00": [1,2]}`
    const offsets = Array.from({ length: text.length + 1 }, (_, i) => i)
    const answer = (of: Document.Places) => (offset: number) => [of.position(offset), of.frame(offset)]
    const expected = offsets.map((offset) => answer(Document.places(text))(offset))
    const known = Document.places(text)
    assert.deepStrictEqual(offsets.map(answer(known)), expected)
    assert.deepStrictEqual(offsets.toReversed().map(answer(known)), expected.toReversed())
  })

  it("thousands of them in one line of megabytes are told", () => {
    const text = `{"a":[${"1,".repeat(1_000_000)}1]}`
    const known = Document.places(text)
    for (let at = 6; at < text.length; at += 500) {
      assert.strictEqual(known.position(at).column, at + 1)
      assert.isBelow(known.frame(at).length, 200)
    }
  })

  it("a frame shows keys and hides every value that may be a secret (G2)", () => {
    const table: ReadonlyArray<readonly [text: string, at: string]> = [
      ["{\"api_key\": \"sk-secret\", \"model\": 1}", "1}"],
      ["{\"api_key\": sk-secret}", "sk"],
      ["{\"api_key\": 'sk-secret'}", "'sk"],
      ["{\"a\": 1 // sk-secret\n \"b\": 2}", "1 //"],
      ["{\"headers\": {\"x\": \"Bearer sk-secret\" \"y\"}}", "\"y"],
      ["{\"api_key\": \"sk-secret", "\"sk"],
      ["[\"sk-secret\"", "\"sk"]
    ]
    for (const [text, at] of table) {
      const frame = Document.places(text).frame(text.indexOf(at))
      assert.notInclude(frame, "secret", text)
      assert.include(frame, "^")
    }
    assert.include(Document.places("{\"api_key\": \"s\"}").frame(11), "\"api_key\": \"\u2022\"")
  })

  it("the caret stands under the place", () => {
    const text = "{\n  \"max_tokens\": true\n}"
    assert.strictEqual(
      Document.places(text).frame(text.indexOf("true")),
      "  2 |   \"max_tokens\": true\n    |                 ^"
    )
  })
})

describe("properties", () => {
  it.prop("any text is parsed or refused, never a crash, and its places lie in it", [
    FastCheck.string({
      unit: FastCheck.constantFrom(
        ..."{}[]:,\"\\/*\n\r\t ",
        "0",
        "-",
        ".",
        "e",
        "true",
        "null",
        "a",
        "\u{1F600}",
        "\uFEFF",
        "\u0000",
        "\\u12",
        "//"
      )
    })
  ], ([text]) => {
    const document = Document.parse(text)
    const places = Document.places(document.text)
    if (document.problem !== null) {
      const { column, line } = places.position(document.problem.offset)
      const lines = document.text.split(/\r\n|\r|\n/)
      assert.isAtMost(line, lines.length)
      assert.isAtMost(column, [...(lines[line - 1] ?? "")].length + 2)
      assert.include(places.frame(document.problem.offset), "^")
    }
  }, { fastCheck: { numRuns: 500 } })

  it.prop("what JSON.parse accepts has the same value here", [FastCheck.json()], ([text]) => {
    assert.deepEqual(JSON.parse(JSON.stringify(value(text))), JSON.parse(text))
  })

  it.prop("what JSON.parse refuses of a text without comments and trailing commas is refused here", [
    FastCheck.string({ unit: FastCheck.constantFrom(..."{}[]:\" ", "1", "0", "-", ".", "e", "true", "a") })
  ], ([text]) => {
    let accepted = true
    try {
      JSON.parse(text)
    } catch {
      accepted = false
    }
    const document = Document.parse(text)
    if (text.trim() !== "") assert.strictEqual(document.problem === null, accepted, text)
  }, { fastCheck: { numRuns: 500 } })

  /** A tree as the careful parser gives it; null when it complains. */
  const careful = (text: string): Document.Node | null => {
    const of = (node: jsonc.Node): Document.Node => {
      const { children = [], offset } = node
      switch (node.type) {
        case "object":
          return {
            type: "object",
            offset,
            members: children.map(({ children: [key, value] = [] }) => ({
              key: String(key?.value),
              key_offset: key?.offset ?? -1,
              value: value === undefined ? { type: "null", offset: -1, value: null } : of(value)
            }))
          }
        case "array":
          return { type: "array", offset, items: children.map(of) }
        default:
          return { type: node.type, offset, value: node.value } as Document.Node
      }
    }
    const errors: Array<jsonc.ParseError> = []
    const tree = jsonc.parseTree(text, errors, { allowTrailingComma: true })
    return tree === undefined || errors.length > 0 ? null : of(tree)
  }

  const pieces = FastCheck.string({
    unit: FastCheck.constantFrom(
      ..."{}[]:,\"\\/*\n\r\t 0-.eE+x\u0000\u0085\u2028\u00a0",
      "\"a\"",
      "\"a\":",
      "[1,",
      "true",
      "false",
      "null",
      "12.5e-3",
      "\\u0041",
      "\\n",
      "// c\n",
      "/* c */",
      "\u{1F600}"
    ),
    maxLength: 24
  })

  it.prop(
    "the reader of usual texts gives the tree of the careful parser, or leaves the text to it",
    [pieces],
    ([text]) => {
      const read = readTree(text, Document.maxDepth)
      if (read !== null) assert.deepStrictEqual(read, careful(text), text)
    },
    { fastCheck: { numRuns: 3_000 } }
  )

  it.prop("what a program writes is a usual text, with blanks and comments and commas at ends too", [
    FastCheck.json(),
    FastCheck.constantFrom("", " ", "\n", "\r\n", "\t", "// c \"{\n", "/* [ */")
  ], ([text, between]) => {
    const spread = `${between}${JSON.stringify(JSON.parse(text), null, 2).replaceAll("\n", `${between}\n`)}${between}`
    for (const each of [text, spread, spread.replaceAll(/([^[{,\s/*"])\n(\s*)([}\]])/g, "$1,\n$2$3")]) {
      const read = readTree(each, Document.maxDepth)
      assert.isNotNull(read, each)
      assert.deepStrictEqual(read, careful(each), each)
    }
  }, { fastCheck: { numRuns: 300 } })

  it("a text that is cut anywhere is left to the careful parser", () => {
    const whole = "{\"a\": [\"x\\\"y\", -1.5e3, true, {\"b\\u0041\": null,},], /* c */ \"z\": \"\\\\\"}"
    assert.deepStrictEqual(readTree(whole, 4), careful(whole))
    for (let end = 0; end < whole.length; end++) assert.isNull(readTree(whole.slice(0, end), 4), whole.slice(0, end))
    assert.isNull(readTree(whole, 2))
  })
})
