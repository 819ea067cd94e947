/** The expressions of scenario files: what they give, what they say when something is not there, and that they always end. */
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import type { Message } from "../../src/domain/Message.ts"
import { conversationOf, lookupIn } from "../../src/provider/Conversation.ts"
import * as Template from "../../src/provider/ScenarioTemplate.ts"

const messages: ReadonlyArray<Message> = [
  { role: "system", content: "be brief" },
  { role: "user", content: "first" },
  { role: "assistant", content: [{ type: "tool_call", id: "c1", name: "read", arguments: "{\"path\":\"a/b.ts\"}" }] },
  { role: "tool", tool_call_id: "c1", content: "line one\nconst answer = 41 // fix {{me}}\nline three" },
  { role: "assistant", content: "seen" },
  { role: "user", content: "Second – 日本" },
  {
    role: "assistant",
    content: "",
    tool_calls: [{ id: "c2", name: "bash", arguments: "{\"command\":\"ls\"}" }]
  },
  { role: "tool", tool_call_id: "c2", content: "{\"files\":[{\"name\":\"x/y\",\"size\":3}],\"a/b\":{\"~\":true}}" }
]
const lookup = lookupIn(
  conversationOf(messages, [{ name: "bash", description: "", input_schema: {} }], { model: "scripted/x" }, 7)
)

const give = (text: string): Either.Either<unknown, string> =>
  Either.flatMap(Template.parse(text), (template) => Template.evaluate(template, lookup))

describe("values", () => {
  const rows: ReadonlyArray<readonly [string, unknown]> = [
    ["plain text", "plain text"],
    ["", ""],
    ["{{prompt}}", "Second – 日本"],
    ["<{{ prompt }}>", "<Second – 日本>"],
    ["{{system}}", "be brief"],
    ["{{last_text}}", "seen"],
    ["{{request}}", "7"],
    ["{{model}}", "scripted/x"],
    ["{{tools}}", "bash"],
    ["{{\"{{\"}} stays", "{{ stays"],
    ["{{tool_result:read | line 1}}", "line one"],
    ["{{tool_result:c1 | line -1}}", "line three"],
    ["{{tool_result:read | lines 1 2}}", "line one\nconst answer = 41 // fix {{me}}"],
    ["{{tool_result:read | match /answer = (\\d+)/}}", "41"],
    ["{{tool_result:read | match /answer = \\d+/}}", "answer = 41"],
    ["{{tool_result:read | match /(?<word>\\w+) = (\\d+)/ word}}", "answer"],
    ["{{tool_result:read | match /(\\w+) = (\\d+)/ 2}}", "41"],
    ["{{tool_result:read | after \"= \" | before \" /\"}}", "41"],
    ["{{tool_result:read | line 2 | replace /(\\d+).*/ \"$1;\"}}", "const answer = 41;"],
    ["{{prompt | replace \"Second\" \"$&\"}}", "$& – 日本"],
    ["{{prompt | replace /[a-z]/g _}}", "S_____ – 日本"],
    ["{{prompt | upper}}", "SECOND – 日本"],
    ["{{prompt | lower | quote}}", "\"second – 日本\""],
    ["{{\"  x \" | trim}}", "x"],
    ["{{tool_arguments:read#/path}}", "a/b.ts"],
    ["{{last_tool_result#/files/0/name}}", "x/y"],
    ["{{last_tool_result#/files/0/size}}", 3],
    ["{{last_tool_result#/a~1b/~0}}", true],
    ["{{last_tool_result#/files}}", [{ name: "x/y", size: 3 }]],
    ["size {{last_tool_result#/files/0/size}}", "size 3"],
    ["{{last_tool_result | json}}", { "files": [{ "name": "x/y", "size": 3 }], "a/b": { "~": true } }],
    ["{{tool_result:nothing | trim | default \"none\"}}", "none"],
    ["{{prompt | default \"none\"}}", "Second – 日本"],
    ["{{tool_result:read | match /nope/ | default \"\"}}", ""]
  ]
  for (const [text, value] of rows) {
    it(text, () => assert.deepStrictEqual(give(text), Either.right(value)))
  }
})

describe("what is missing or wrong is said", () => {
  const rows: ReadonlyArray<readonly [string, string]> = [
    ["{{tool_result:write}}", "there is no result of a tool or call \"write\""],
    ["{{tool_result:read | match /nope/}}", "/nope/ does not match \"line one"],
    ["{{tool_result:read | line 9}}", "no line 9 in a text of 3"],
    ["{{tool_result:read | after \"zzz\"}}", "\"zzz\" does not occur"],
    ["{{tool_result:read#/x}}", "is no JSON"],
    ["{{last_tool_result#/files/1}}", "there is no \"1\""],
    ["{{last_tool_result#/__proto__}}", "there is no \"__proto__\""],
    ["{{session_id}}", "names no session"],
    ["{{promt}}", "unknown source \"promt\"; did you mean \"prompt\"?"],
    ["a {{prompt | uper}}", "at character 3: unknown operation \"uper\"; did you mean \"upper\"?"],
    ["{{tool_result}}", "needs a tool or call id"],
    ["{{prompt:x}}", "takes no key"],
    ["{{prompt", "not closed"],
    ["{{}}", "a source is missing"],
    ["{{prompt | match \"x\"}}", "needs a /pattern/"],
    ["{{prompt | match /(/}}", "egular expression"],
    ["{{prompt | match /x/y}}", "only g, i, m, s and u"],
    ["{{prompt | line 0}}", "counts from 1"],
    ["{{prompt | trim 1}}", "takes 0 arguments, not 1"],
    ["{{\"open}}", "not closed with a double quote"]
  ]
  for (const [text, words] of rows) {
    it(text, () => {
      const outcome = give(text)
      assert.isTrue(Either.isLeft(outcome), JSON.stringify(outcome))
      if (Either.isLeft(outcome)) assert.include(outcome.left, words)
    })
  }
})

const parts = FastCheck.constantFrom(
  "{{",
  "}}",
  "|",
  " ",
  "\"",
  "/",
  "prompt",
  "tool_result",
  ":read",
  "#/a",
  "match",
  "replace",
  "default",
  "(",
  "\\",
  "é"
)
it.prop("any text is read or refused, never thrown on", [FastCheck.array(parts, { maxLength: 14 })], ([tokens]) => {
  const outcome = give(tokens.join(""))
  return Either.isLeft(outcome) ? outcome.left !== "" : true
}, { fastCheck: { numRuns: 500 } })

it.prop("text without braces is itself", [FastCheck.fullUnicodeString()], ([text]) => {
  const plain = text.replaceAll("{", "")
  return Either.getOrNull(give(plain)) === plain
})
