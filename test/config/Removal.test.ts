/** 4.10: what is taken out of a settings file goes with its own comments, and nothing else does. */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as jsonc from "jsonc-parser"
import * as Document from "../../src/config/Document.ts"
import { set } from "../../src/config/Edit.ts"
import { remove } from "../../src/config/Removal.ts"

const unset = (text: string, ...path: ReadonlyArray<string>): string => {
  const edited = set(text, path, undefined)
  return "text" in edited ? edited.text : `problem: ${edited.problem}`
}

const valueOf = (text: string): unknown => {
  const { problem, root } = Document.parse(text)
  assert.isNull(problem, text)
  return root === null ? undefined : JSON.parse(JSON.stringify(Document.toValue(root)))
}

const commentsOf = (text: string): ReadonlyArray<{ readonly start: number; readonly text: string }> => {
  const found: Array<{ readonly start: number; readonly text: string }> = []
  jsonc.visit(text, {
    onComment: (start, length) => void found.push({ start, text: text.slice(start, start + length) })
  })
  return found
}

describe("4.10 a key that is taken out", () => {
  const table: ReadonlyArray<
    readonly [what: string, text: string, path: ReadonlyArray<string>, expected: string]
  > = [
    [
      "the comment above its neighbour stays",
      "{\"mcp_servers\":{ \"a\":{\"command\":\"x\"},\n // KEEP: b needs VPN\n \"b\":{\"command\":\"y\"} }}",
      ["mcp_servers", "a"],
      "{\"mcp_servers\":{\n // KEEP: b needs VPN\n \"b\":{\"command\":\"y\"} }}"
    ],
    [
      "the comment behind its neighbour stays",
      "{\"mcp_servers\":{\n  \"a\":{\"command\":\"x\"}, // KEEP: a needs VPN\n  \"b\":{\"command\":\"y\"}\n}}",
      ["mcp_servers", "b"],
      "{\"mcp_servers\":{\n  \"a\":{\"command\":\"x\"} // KEEP: a needs VPN\n}}"
    ],
    [
      "its own comments go, those of the file and of nobody stay",
      "// file\n{ // open\n  // nobody\n\n  // of a 1\n  /* of a 2\n   */\n  \"a\": 1, // of a 3\n  \"b\": 2 // of b\n  // end\n}\n",
      ["a"],
      "// file\n{ // open\n  // nobody\n\n  \"b\": 2 // of b\n  // end\n}\n"
    ],
    ["its own comment does not move to its neighbour", "{\"a\": 1, \"b\": 2 /* of b */ }", ["b"], "{\"a\": 1 }"],
    ["before the comma", "{\"a\": 1 /* of a */, /* of b */ \"b\": 2}", ["a"], "{/* of b */ \"b\": 2}"],
    ["a comma behind the last one stays", "{\n  \"a\": 1,\n  \"b\": 2,\n}", ["b"], "{\n  \"a\": 1,\n}"],
    ["the only one", "{ \"a\": 1 }", ["a"], "{ }"],
    ["the only one, with a comma", "{\"a\": 1,}", ["a"], "{}"],
    ["commas in front, the last", "{ \"a\": 1 // of a\n, \"b\": 2 // of b\n}", ["b"], "{ \"a\": 1 // of a\n}"],
    [
      "commas in front, the middle",
      "{\n  \"a\": 1\n  // of b\n, \"b\": 2\n  // of c\n, \"c\": 3\n}",
      ["b"],
      "{\n  \"a\": 1\n  // of c\n, \"c\": 3\n}"
    ],
    ["commas in front, the first", "{ \"a\": 1 // of a\n, \"b\": 2\n}", ["a"], "{\n \"b\": 2\n}"],
    ["a comma on its own line", "{\n  \"a\": 1\n  ,\n  \"b\": 2\n}", ["b"], "{\n  \"a\": 1\n}"],
    [
      "line ends, tabs and the mark",
      "\uFEFF{\r\n\t\"a\": 1,\r\n\t\"b\": 2\r\n}\r\n",
      ["a"],
      "\uFEFF{\r\n\t\"b\": 2\r\n}\r\n"
    ],
    ["another spelling", "{\"maxTokens\": 1, \"model\": \"m\"}", ["max_tokens"], "{\"model\": \"m\"}"],
    ["null", "{\"model\": null}", ["model"], "{}"],
    [
      "a rule of a list",
      "{\"permissions\": [\n  // of a\n  {\"tool_pattern\": \"a\", \"mode\": \"deny\"},\n  // of b\n  {\"tool_pattern\": \"b\", \"mode\": \"deny\"}\n]}",
      ["permissions", "a"],
      "{\"permissions\": [\n  // of b\n  {\"tool_pattern\": \"b\", \"mode\": \"deny\"}\n]}"
    ],
    ["what is not there", "{ \"a\":1 }", ["mcp_servers", "a"], "{ \"a\":1 }"],
    ["nothing at all", "// only this\n", ["a"], "// only this\n"],
    ["a parent that is null", "{\"mcp_servers\": null}", ["mcp_servers", "a"], "{\"mcp_servers\": null}"]
  ]
  for (const [what, text, path, expected] of table) {
    it(what, () => assert.strictEqual(unset(text, ...path), expected))
  }

  it("a key that stands twice is not guessed at", () => {
    assert.match(unset("{\"a\": 1, \"a\": 2}", "a"), /^problem: .*stands twice/)
  })

  /** A member as people write them. */
  interface Written {
    readonly nobody: string | null
    readonly above: ReadonlyArray<string>
    readonly value: string
    readonly behind: string | null
    readonly beforeComma: string | null
  }
  interface Layout {
    readonly eol: string
    readonly indent: string
    readonly trailing: boolean
    readonly open: string | null
    readonly end: string | null
    readonly mark: boolean
  }

  const word = FastCheck.stringMatching(/^[a-z ,{}:"[\]]{0,6}$/)
  const lineComment = word.map((text) => `//${text}`)
  const blockComment = word.map((text) => `/*${text}*/`)
  const comment = FastCheck.oneof(lineComment, blockComment)
  const value = FastCheck.constantFrom(
    "1",
    "\"// no comment, \\\" {\"",
    "[1, 2,]",
    "{\"command\": [\"x\"], // inside\n \"env\": {} /* too */ }",
    "{ /* only */ }",
    "null"
  )
  const optional = <A>(of: FastCheck.Arbitrary<A>) => FastCheck.option(of, { freq: 1 })
  const written: FastCheck.Arbitrary<Written> = FastCheck.record({
    nobody: optional(comment),
    above: FastCheck.array(comment, { maxLength: 2 }),
    value,
    behind: optional(comment),
    beforeComma: optional(blockComment)
  })
  const layout: FastCheck.Arbitrary<Layout> = FastCheck.record({
    eol: FastCheck.constantFrom("\n", "\r\n", "\r"),
    indent: FastCheck.constantFrom("", "  ", "\t"),
    trailing: FastCheck.boolean(),
    open: optional(comment),
    end: optional(comment),
    mark: FastCheck.boolean()
  })

  const render = (members: ReadonlyArray<readonly [key: string, Written]>, at: Layout): string => {
    const lines = members.flatMap(([key, { above, beforeComma, behind, nobody, value }], n) => [
      ...(nobody === null ? [] : [nobody, ""]),
      ...above,
      `${JSON.stringify(key)}: ${value}${beforeComma === null ? "" : ` ${beforeComma}`}${
        n < members.length - 1 || at.trailing ? "," : ""
      }${behind === null ? "" : ` ${behind}`}`
    ])
    const text = [
      `{${at.open === null ? "" : ` ${at.open}`}`,
      ...lines.map((each) => each === "" ? "" : at.indent + each),
      ...(at.end === null ? [] : [`${at.indent}${at.end}`]),
      "}"
    ].join("\n")
    return `${at.mark ? "\uFEFF" : ""}${text.replaceAll("\n", at.eol)}`
  }

  /** Comments of nobody stay where they are, with the blank line behind them. */
  const removed = (
    members: ReadonlyArray<readonly [key: string, Written]>,
    index: number,
    at: Layout
  ): string => {
    const nobody = members[index]?.[1].nobody ?? null
    const rest = members.filter((_, n) => n !== index)
    if (nobody === null) return render(rest, at)
    const mark = "@@@"
    const next = rest[index]
    const whole = next === undefined
      ? render(rest, { ...at, end: at.end === null ? mark : `${mark}\n${at.indent}${at.end}` })
      : render(
        rest.map((each, n) =>
          n === index
            ? [
              each[0],
              next[1].nobody === null ?
                { ...next[1], above: [mark, ...next[1].above] } :
                { ...next[1], nobody: `${mark}\n${at.indent}${next[1].nobody}` }
            ]
            : each
        ),
        at
      )
    return whole.replace(mark, () => `${nobody}${at.eol}`)
  }

  const members = FastCheck.uniqueArray(FastCheck.tuple(FastCheck.stringMatching(/^[ -~]{0,4}$/), written), {
    minLength: 1,
    maxLength: 4,
    selector: ([key]) => key
  })

  it.prop("a file written a member a line is as if the member had never been there, byte for byte", [
    members,
    layout,
    FastCheck.nat()
  ], ([all, at, chance]) => {
    const index = chance % all.length
    const source = render(all, at)
    const [key = ""] = all[index] ?? []
    const text = source.replace("\uFEFF", "")
    const after = (at.mark ? "\uFEFF" : "") + remove(text, 0, index)
    assert.strictEqual(after, removed(all, index, at), source)
    // a key may be another one's spelling; then the file is not touched by `set`
    const edited = set(source, [key], undefined)
    if ("text" in edited) assert.strictEqual(edited.text, after)
  }, { fastCheck: { numRuns: 500 } })

  const trivia = FastCheck.array(
    FastCheck.oneof(
      FastCheck.constantFrom(" ", "\n", "\r\n", "\t", ""),
      FastCheck.constantFrom("//", "/*", "/*\n")
    ),
    { maxLength: 5 }
  )

  it.prop(
    "whatever the layout: the tree lacks the member alone, comments of others stay in order, nothing is written",
    [
      FastCheck.array(FastCheck.array(trivia, { minLength: 6, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
      FastCheck.boolean(),
      FastCheck.nat()
    ],
    ([gaps, trailing, chance]) => {
      const index = chance % gaps.length
      let text = ""
      let count = 0
      const zones = new Map<string, string>()
      const put = (parts: ReadonlyArray<string> | undefined, zone: string): void => {
        for (const part of parts ?? []) {
          const name = ` ${count++} `
          const whole = part.startsWith("//") ? `${part}${name}\n` : part.startsWith("/*") ? `${part}${name}*/` : part
          text += whole
          if (part.startsWith("/")) zones.set(whole.replace(/\n$/, ""), zone)
        }
      }
      text += "{"
      gaps.forEach((gap, n) => {
        put(gap[0], `before ${n}`)
        text += `"k${n}"`
        put(gap[1], `inside ${n}`)
        text += ":"
        put(gap[2], `inside ${n}`)
        text += "["
        put(gap[3], `inside ${n}`)
        text += "]"
        put(gap[4], `behind ${n}`)
        if (n < gaps.length - 1 || trailing) text += ","
        else put(gap[5], `before ${n + 1}`)
      })
      if (trailing) put(gaps.at(-1)?.[5], `before ${gaps.length}`)
      text += "}"

      const before = commentsOf(text)
      const after = remove(text, 0, index)
      const { [`k${index}`]: _, ...rest } = valueOf(text) as Record<string, unknown>
      assert.deepStrictEqual(valueOf(after), rest, text)
      const left = commentsOf(after).map((each) => each.text)
      // in order, byte for byte: what is left of the comments is the list without some
      let from = 0
      for (const each of left) {
        const found = before.findIndex((one, n) => n >= from && one.text === each)
        assert.isAtLeast(found, from, text)
        from = found + 1
      }
      const first = (start: number): boolean => /(?:^|[\r\n])[ \t]*$/.test(text.slice(0, start))
      const mayGo = ({ start, text: each }: { readonly start: number; readonly text: string }): boolean => {
        const zone = zones.get(each)
        return zone === `inside ${index}` || zone === `before ${index}` || zone === `behind ${index}` ||
          // on the line of the member, behind its comma
          (zone === `before ${index + 1}` && !first(start)) ||
          // above a member that begins with its comma
          (zone === `behind ${index - 1}` &&
            text.slice(start).match(/^(?:\/\/.*|\/\*[^]*?\*\/)[^]*?\n[ \t]*,/) !== null)
      }
      for (const each of before) if (!mayGo(each)) assert.include(left, each.text, text)
      for (const each of before) if (zones.get(each.text) === `inside ${index}`) assert.notInclude(left, each.text)
      // only taken out, never written: what is left stands in the text in this order
      let at = 0
      for (const char of after) {
        at = text.indexOf(char, at) + 1
        assert.isAbove(at, 0, text)
      }
    },
    { fastCheck: { numRuns: 1000 } }
  )
})
