/** TOML against Python's own reader. */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { spawnSync } from "node:child_process"
import { parse, type TomlValue } from "../../src/codec/Toml.ts"

const ok = (text: string): unknown => {
  const found = parse(text)
  assert.property(found, "ok", JSON.stringify(found))
  return "ok" in found ? JSON.parse(JSON.stringify(found.ok)) : null
}

describe("TOML 1.0", () => {
  it("tables, dotted keys, arrays of tables, every kind of value", () => {
    const text = [
      "# a comment",
      "title = \"a\\tb \\u00e9 \\U0001F600\" # behind",
      "\"quoted key\".'and this' = 1",
      "int = [+1_000, -2, 0, 0xff, 0o17, 0b1_1]",
      "float = [1.5, -1e3, 6.02_2e+2]",
      "yes = true",
      "day = 1979-05-27",
      "at = 1979-05-27T07:32:00.5-07:00",
      "literal = 'C:\\x'",
      "long = \"\"\"",
      "one\\",
      "   two \"quoted\"\"\"\"",
      "raw = '''",
      "a\\b'''",
      "inline = { a.b = 1, c = [ { d = 2 } ] }",
      "spread = [",
      "  1, # one",
      "  2,",
      "]",
      "[a.b]",
      "x = 1",
      "[a]",
      "y = 2",
      "[[list]]",
      "n = 1",
      "[list.inner]",
      "m = 2",
      "[[list]]",
      "n = 3",
      ""
    ]
    for (const end of ["\n", "\r\n"]) {
      assert.deepStrictEqual(ok(text.join(end)), {
        title: "a\tb \u00e9 \u{1F600}",
        "quoted key": { "and this": 1 },
        int: [1000, -2, 0, 255, 15, 3],
        float: [1.5, -1000, 602.2],
        yes: true,
        day: "1979-05-27",
        at: "1979-05-27T07:32:00.5-07:00",
        literal: "C:\\x",
        long: "onetwo \"quoted\"",
        raw: "a\\b",
        inline: { a: { b: 1 }, c: [{ d: 2 }] },
        spread: [1, 2],
        a: { b: { x: 1 }, y: 2 },
        list: [{ n: 1, inner: { m: 2 } }, { n: 3 }]
      })
    }
  })

  it("what is no TOML is refused at its place", () => {
    for (
      const [text, offset] of [
        ["a = ", 4],
        ["a = b", 4],
        ["a = 01", 4],
        ["a = 1 2", 6],
        ["a = \"b", 4],
        ["a = \"\\x\"", 5],
        ["a = \"\\ud800\"", 5],
        ["a 1", 2],
        ["[a", 2],
        ["a = 1\na = 2", 6],
        ["[a]\n[a]", 4],
        ["a.b = 1\n[a]", 8],
        ["a = {b = 1}\n[a.c]", 12],
        ["a = [1]\n[[a]]", 8],
        ["a = [1 2]", 7],
        ["a = {b = 1,}", 11],
        ["a = 1_", 4]
      ] as const
    ) {
      const found = parse(text)
      assert.deepStrictEqual("problem" in found ? found.offset : found, offset, text)
    }
    assert.property(parse(`a = ${"[".repeat(100_000)}`), "problem")
  })

  it("names of prototypes are keys", () => {
    const found = parse("[__proto__]\npolluted = true\n[constructor]\na = 1")
    assert.deepStrictEqual("ok" in found ? Object.keys(found.ok) : found, ["__proto__", "constructor"])
    assert.isUndefined(({} as Record<string, unknown>)["polluted"])
  })

  it("what Python reads, and what it refuses", () => {
    const python = spawnSync("python3", ["-c", "import tomllib"])
    if (python.status !== 0) process.stderr.write("python3 with tomllib is not there: TOML is compared with nothing\n")
    const pieces = FastCheck.array(
      FastCheck.constantFrom(
        ..."[]{}=.,\"'\n\n \\#",
        "a",
        "b",
        "a = ",
        "b.a = ",
        "[a]\n",
        "[a.b]\n",
        "[[b]]\n",
        "[[a.b]]\n",
        "1",
        "-0.5e3",
        "0x1f",
        "1_0",
        "true",
        "\"x\\n\"",
        "'y'",
        "\"\"\"",
        "'''",
        "[1, 2]",
        "{ a = 1 }",
        "\r\n",
        "# c",
        "\\u00e9",
        "\u{1F600}"
      ),
      { maxLength: 16 }
    ).map((parts) => parts.join(""))
    const lines = FastCheck.array(
      FastCheck.tuple(
        FastCheck.constantFrom("a", "b", "a.b", "\"c d\"", "b.c"),
        FastCheck.constantFrom("1", "'x'", "\"\"\"\ny\"\"\"", "[[1], ['a']]", "{ x.y = true }", "[\n1,\n]", "-1.5"),
        FastCheck.constantFrom("", "[a]\n", "[c]\n", "[[d]]\n", "[d.e]\n", "# c\n")
      ),
      { maxLength: 6 }
    ).map((all) => all.map(([key, value, before]) => `${before}${key} = ${value}\n`).join(""))
    const texts = [
      ...FastCheck.sample(pieces, { numRuns: 3_000, seed: 7 }),
      ...FastCheck.sample(lines, { numRuns: 2_000, seed: 8 })
    ]
    const program = "import json,sys,tomllib\nout=[]\nfor t in json.load(sys.stdin):\n" +
      "  try: out.append([tomllib.loads(t)])\n  except Exception: out.append(None)\nprint(json.dumps(out).replace('-Infinity','null').replace('Infinity','null'))"
    const theirs = python.status !== 0
      ? []
      : JSON.parse(
        spawnSync("python3", ["-c", program], { input: JSON.stringify(texts), encoding: "utf8", maxBuffer: 1e9 }).stdout
      ) as ReadonlyArray<readonly [TomlValue] | null>
    let accepted = 0
    theirs.forEach((expected, i) => {
      const text = texts[i] ?? ""
      const found = parse(text)
      if (expected === null) assert.property(found, "problem", JSON.stringify(text))
      else {
        accepted++
        assert.deepStrictEqual(ok(text), expected[0], JSON.stringify(text))
      }
    })
    if (python.status === 0) assert.isAbove(accepted, 500)
  })

  it.prop("never throws", [FastCheck.string({ unit: "binary" })], ([text]) => {
    const found = parse(text)
    if ("problem" in found) assert.isAtMost(found.offset, text.length)
  })
})
