import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { Message } from "../../src/domain/Message.ts"
import { jsonlLines } from "../../src/render/Jsonl.ts"
import { toMarkdown, toText, type Transcript, type TranscriptEntry } from "../../src/render/Transcript.ts"

const toJsonl = (transcript: Transcript): string => [...jsonlLines(transcript)].join("")

const usage = { input_tokens: 1200, output_tokens: 34, cache_read_tokens: 0, cache_write_tokens: 0 }
const entry = (id: number, turn: number, message: Message, more: Partial<TranscriptEntry> = {}): TranscriptEntry => ({
  id,
  key: `k${id}`,
  run_id: "run_1",
  turn,
  timestamp: 1_700_000_000 + id,
  withdrawn: false,
  message,
  ...more
})
const transcript = (entries: ReadonlyArray<TranscriptEntry>, more: Partial<Transcript> = {}): Transcript => ({
  session: {
    id: "ses_1",
    title: "fix the parser",
    preview: "done",
    workspace: "/w",
    provider: "anthropic",
    model: "claude",
    parent_session_id: null,
    started_at: 1_700_000_000,
    last_active: 1_700_000_009,
    ended_at: 1_700_000_009.5,
    end_reason: "completed",
    message_count: 4,
    tool_call_count: 1,
    usage,
    cost_usd: 0.0421,
    is_archived: false,
    is_pinned: false
  },
  runs: [{
    id: "run_1",
    session_id: "ses_1",
    status: "completed",
    model: "anthropic/claude",
    started_at: 1_700_000_000,
    ended_at: 1_700_000_009.5,
    turns: 2,
    exit_code: 0,
    error_code: null,
    error_message: null,
    usage,
    cost_usd: 0.0421
  }],
  entries,
  ...more
})
const said = (value: string): Message => ({ role: "assistant", content: [{ type: "text", text: value }] })

const conversation = transcript([
  entry(1, 0, { role: "user", content: "fix the parser" }),
  entry(2, 1, { role: "assistant", content: [{ type: "reasoning", text: "look first\nthen act" }] }),
  entry(3, 1, said("half a sen"), { withdrawn: true }),
  entry(4, 1, said("Let me look.")),
  entry(5, 1, {
    role: "assistant",
    content: [{ type: "tool_call", id: "call_1", name: "bash", arguments: "{\"command\":\"cat a.md\"}" }]
  }, { finish_reason: "tool_calls" }),
  entry(6, 1, {
    role: "tool",
    tool_call_id: "call_1",
    tool_name: "bash",
    content: "```\nfenced\u001b[31m red\n```",
    is_error: true
  }),
  entry(7, 2, said("Done."))
])

describe("markdown", () => {
  it("the whole document", () => {
    assert.strictEqual(
      toMarkdown(conversation),
      `# fix the parser

- Session: \`ses_1\`
- Workspace: \`/w\`
- Model: \`anthropic/claude\`
- Started: 2023-11-14T22:13:20.000Z
- Ended: 2023-11-14T22:13:29.500Z (completed)
- Messages: 4, tool calls: 1
- Tokens: 1200 in, 34 out; cost: $0.0421

## User

fix the parser

## Assistant

> look first
> then act

Let me look.

Calls \`bash\` (\`call_1\`):

\`\`\`json
{
  "command": "cat a.md"
}
\`\`\`

### Result of \`bash\` (error)

\`\`\`\`
\`\`\`
fenced␛[31m red
\`\`\`
\`\`\`\`

## Assistant

Done.
`
    )
  })

  it("says how a run ended that did not end well", () => {
    const [run] = conversation.runs
    if (run === undefined) throw new Error("there is a run")
    const ended = (status: string, error_message: string | null) =>
      toMarkdown({ ...conversation, runs: [{ ...run, status, error_message }] }).trim().split("\n").at(-1)
    assert.strictEqual(ended("failed", "no bytes for 300 s."), "*This run failed: no bytes for 300 s.*")
    assert.strictEqual(ended("cancelled", null), "*This run was cancelled.*")
    assert.strictEqual(ended("running", null), "*This run has not ended.*")
  })

  it("arguments that are no JSON stay as they are", () => {
    const broken: Message = {
      role: "assistant",
      content: [{ type: "tool_call", id: "c`", name: "bash", arguments: "{\"a\":" }]
    }
    assert.include(toMarkdown(transcript([entry(1, 1, broken)])), "Calls `bash` (`` c` ``):\n\n```\n{\"a\":\n```")
  })
})

describe("text", () => {
  it("the whole text, results cut by lines", () => {
    assert.strictEqual(
      toText(conversation, { max_lines: 2 }),
      `fix the parser
ses_1  /w  anthropic/claude
2023-11-14T22:13:20.000Z  4 messages, 1 tool calls  1200 in, 34 out  $0.0421

user:
  fix the parser

reasoning:
  look first
  then act

assistant:
  Let me look.

calls bash {"command":"cat a.md"}

result of bash (error):
  \`\`\`
  fenced␛[31m red
  ... 1 more lines

assistant:
  Done.
`
    )
  })
})

const hostile = FastCheck.array(
  FastCheck.constantFrom(
    "\u001b]0;x\u0007",
    "\u009b2J",
    "\r",
    "\n",
    "\u202e",
    "\u2066",
    "\0",
    "`",
    "```",
    "~~~",
    "a",
    "\u007f",
    "\u2028",
    "> ",
    "# "
  ),
  { maxLength: 12 }
).map((parts) => parts.join(""))
const anyMessage: FastCheck.Arbitrary<Message> = FastCheck.tuple(hostile, FastCheck.integer({ min: 0, max: 5 })).map(
  ([value, kind]): Message => {
    switch (kind) {
      case 0:
        return { role: "user", content: value }
      case 1:
        return said(value)
      case 2:
        return { role: "assistant", content: [{ type: "reasoning", text: value }] }
      case 3:
        return { role: "assistant", content: [{ type: "tool_call", id: value, name: value, arguments: value }] }
      case 4:
        return { role: "user", content: [{ type: "file", media_type: value, data: "", filename: value }] }
      default:
        return { role: "tool", tool_call_id: value, tool_name: value, content: value }
    }
  }
)
const anyTranscript = FastCheck.tuple(FastCheck.array(anyMessage, { maxLength: 8 }), hostile).map(([messages, title]) =>
  transcript(messages.map((message, index) => entry(index, index % 3, message)), {
    session: { ...conversation.session, title, workspace: title, model: title, end_reason: title },
    runs: conversation.runs.map((run) => ({ ...run, status: "failed", error_message: title }))
  })
)
const acting = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/

describe("hostile content (G8)", () => {
  it.prop("nothing a terminal could act on gets out of any form", [anyTranscript], ([one]) => {
    for (const form of [toMarkdown(one), toText(one), toJsonl(one)]) assert.notMatch(form, acting)
  })

  it.prop("no result closes its fence", [hostile], ([value]) => {
    const document = toMarkdown(transcript([
      entry(1, 1, { role: "tool", tool_name: "bash", tool_call_id: "c", content: value }),
      entry(2, 2, said("MARK"))
    ]))
    const lines = document.split("\n")
    const opening = lines.findIndex((line) => /^`{3,}$/.test(line))
    const closing = lines.findIndex((line, index) =>
      index > opening && /^`{3,}$/.test(line) && line.length >= (lines[opening] ?? "").length
    )
    assert.deepStrictEqual(lines.slice(closing + 1), ["", "## Assistant", "", "MARK", ""])
  })

  it.prop("jsonl is lossless: one object a line, session, runs, entries", [anyTranscript], ([one]) => {
    const out = toJsonl(one)
    assert.isTrue(out.endsWith("\n"))
    const lines = out.trimEnd().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>)
    assert.deepStrictEqual(lines, [
      { v: 1, type: "session", ...one.session },
      ...one.runs.map((run) => ({ v: 1, type: "run", ...run })),
      ...one.entries.map((entry) => ({ v: 1, type: "entry", ...entry }))
    ])
  })
})
