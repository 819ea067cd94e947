/** 14.3: which files a subagent hears of. */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { passes } from "../../src/agent/Auto.ts"
import { mentions, recentFiles } from "../../src/agent/FileContext.ts"
import type { Message } from "../../src/domain/Message.ts"

let id = 0
const call = (name: string, input: object, failed = false): ReadonlyArray<Message> => {
  const call_id = `c${id++}`
  return [
    { role: "assistant", content: [{ type: "tool_call", id: call_id, name, arguments: JSON.stringify(input) }] },
    { role: "tool", tool_call_id: call_id, tool_name: name, content: "", is_error: failed }
  ]
}

describe("files of the session", () => {
  it("read or changed, the latest last, each once; those of calls that failed are none", () => {
    const messages = [
      call("read", { path: "a" }),
      call("write", { path: "/work/b" }),
      call("edit", { path: "c" }, true),
      call("apply_patch", { patch: "*** Begin Patch\n*** Update File: d\n*** Move to: e\n*** End Patch" }),
      call("bash", { command: "cat f" }),
      call("read", { path: "./a" })
    ].flat()
    assert.deepStrictEqual(recentFiles(messages, "/work"), ["b", "d", "e", "a"])
  })

  it("20 at the most", () => {
    const messages = Array.from({ length: 30 }, (_, n) => call("read", { path: `f${n}` })).flat()
    assert.deepStrictEqual(recentFiles(messages, "/"), Array.from({ length: 20 }, (_, n) => `f${n + 10}`))
  })

  it.prop("arguments of any kind are no failure", [FastCheck.string(), FastCheck.anything()], ([name, input]) => {
    const [message] = call(name, {})
    if (message === undefined || typeof message.content === "string") return
    recentFiles(
      [{
        role: "assistant",
        content: [{ type: "tool_call", id: "x", name: "read", arguments: JSON.stringify(input) ?? name }]
      }],
      "/"
    )
  })
})

describe("files that are named", () => {
  it("a word behind an @, in quotes with blanks", () => {
    assert.deepStrictEqual(mentions("see @a/b.ts, @\"c d.txt\" and (@e)\n@f"), ["a/b.ts,", "c d.txt", "e)", "f"])
    assert.deepStrictEqual(mentions("me@example.org @@ @ `@x`"), ["@"])
  })

  it.prop("whatever was typed", [FastCheck.string()], ([text]) => {
    for (const each of mentions(text)) assert.include(text, each)
  })
})

describe("14.5: the word of the review", () => {
  it("the last verdict counts; none is findings", () => {
    const table: ReadonlyArray<readonly [string, boolean]> = [
      ["VERDICT: PASS", true],
      ["fine\n\n**Verdict: PASS**", true],
      ["`VERDICT: PASS`", true],
      ["VERDICT: PASS\nbut no:\nVERDICT: FINDINGS", false],
      ["VERDICT: FINDINGS", false],
      ["everything passes", false],
      ["I would not say VERDICT: PASS here", false],
      ["VERDICT: PASSABLE", false],
      ["", false]
    ]
    for (const [text, passed] of table) assert.strictEqual(passes(text), passed, text)
  })
})
