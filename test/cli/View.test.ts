import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as FastCheck from "effect/FastCheck"
import { coloured, colourless, plain } from "../../src/cli/Style.ts"
import * as View from "../../src/cli/View.ts"
import { type AgentEventBody, AgentEventBody as Body } from "../../src/domain/AgentEvent.ts"
import { answer, completed, events, failedRun, started } from "./support.ts"

const render = (bodies: ReadonlyArray<AgentEventBody>, over: Partial<View.ViewOptions> = {}): string => {
  const view = View.make({ style: colourless, columns: 80, answer: true, progress: true, ...over })
  return events(bodies).flatMap((event) => view.push(event)).map(({ text, to }) =>
    to === "answer" ? text : `[${text.trimEnd()}]\n`
  )
    .join("")
}

const ran = (call_id: string, output: string): AgentEventBody => ({
  type: "tool.completed",
  call_id,
  tool: "read",
  result: { output, error: null, is_error: false },
  duration_ms: 10
})

const began = (call_id: string, path: string): AgentEventBody => ({
  type: "tool.started",
  call_id,
  tool: "read",
  input: { path }
})

describe("what a person sees of a run", () => {
  it("answers and tools, each on its own line", () => {
    assert.strictEqual(
      render([
        started,
        { type: "text.delta", item_id: "i", text: "Let me" },
        began("c", "a.ts"),
        ran("c", "1\n2\n"),
        ...answer("hello", "j"),
        completed("hello")
      ]),
      "Let me\n[* read a.ts]\n[  done, 2 lines]\nhello\n"
    )
  })

  it("calls side by side say whose end it is", () => {
    assert.strictEqual(
      render([began("c", "a"), began("d", "b"), ran("c", "x"), ran("d", "")]),
      "[* read a]\n[* read b]\n[  read a: done, 1 line]\n[  read b: done]\n"
    )
  })

  it("an agent of its own is told from its beginning to its end, each line with whose it is while several work", () => {
    const of = (agent: string, event: Extract<AgentEventBody, { readonly type: "subagent.event" }>["event"]) =>
      ({ type: "subagent.event", agent, child_session_id: `s_${agent}`, event }) as const
    const begins = (agent: string): AgentEventBody => ({
      type: "subagent.started",
      agent,
      child_session_id: `s_${agent}`,
      call_id: null,
      depth: 1,
      model: "a/b",
      tools: []
    })
    const ends = (
      agent: string,
      error: { readonly code: string; readonly message: string } | null
    ): AgentEventBody => ({
      type: "subagent.completed",
      agent,
      child_session_id: `s_${agent}`,
      call_id: null,
      status: error === null ? "completed" : "failed",
      result: "",
      error,
      usage: { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 },
      cost_usd: null,
      turns: 1
    })
    assert.strictEqual(
      render([
        begins("plan"),
        of("plan", { type: "tool.started", call_id: "c", tool: "read", input: { path: "a" } }),
        of("plan", { type: "text.delta", item_id: "i", text: "thinking" }),
        begins("solve"),
        of("solve", { type: "tool.started", call_id: "c", tool: "grep", input: { pattern: "x" } }),
        ends("solve", { code: "max_turns", message: "stopped" }),
        ends("plan", null)
      ]),
      "[> plan begins, a/b]\n[  * read a]\n[> solve begins, a/b]\n[  [solve] * grep x]\n" +
        "[< solve has failed: stopped]\n[< plan has ended]\n"
    )
  })

  it("a refused call is told once, with its reason", () => {
    assert.strictEqual(
      render([
        began("c", "a"),
        {
          type: "permission.decided",
          call_id: "c",
          tool: "read",
          mode: "deny",
          decided_by: "rule",
          rule_matched: "read(a)",
          reason: "no"
        },
        {
          type: "tool.completed",
          call_id: "c",
          tool: "read",
          result: { output: "", error: "no", is_error: true },
          duration_ms: 1
        }
      ]),
      "[* read a]\n[  denied (rule) by the rule read(a): no]\n"
    )
  })

  it("a withdrawn answer is said to be void, a retry with its delay", () => {
    assert.strictEqual(
      render([
        { type: "text.delta", item_id: "i", text: "half" },
        { type: "item.withdrawn", item_ids: ["i"], reason: "connection lost" },
        { type: "retry", attempt: 1, max_attempts: 4, delay_ms: 2500, reason: "dropped", message: "reset" },
        ...answer("whole", "j")
      ]),
      "half\n[(the answer above is void: connection lost)]\n[retry 1 of 4 in 2.5 s: reset (dropped)]\nwhole\n"
    )
  })

  it("a message that was not streamed is shown whole; without answers and progress only what must be known", () => {
    assert.strictEqual(
      render([{ type: "item.completed", item_id: "i", item: { type: "message", text: "all" } }]),
      "all\n"
    )
    const quiet = { answer: false, progress: false }
    assert.strictEqual(
      render([
        began("c", "a"),
        ran("c", ""),
        ...answer("x"),
        { type: "notice", code: "n", message: "m" },
        failedRun("c", "why", 1)
      ], quiet),
      "[note: m]\n[error: why (c)]\n"
    )
  })

  it("times in words", () => {
    assert.deepEqual([0, 940, 12_400, 125_000].map(View.duration), ["0.0 s", "0.9 s", "12 s", "2 min 5 s"])
  })

  it.prop("nothing that comes from outside reaches the terminal raw (G8)", [
    FastCheck.array(Arbitrary.make(Body), { maxLength: 6 }),
    FastCheck.constantFrom("\u001b[2J", "\u009b31m", "\u202e", "\u0007", "\r")
  ], ([bodies, evil]) => {
    const hostile = JSON.parse(
      JSON.stringify(
        bodies,
        (key, value: unknown) => typeof value === "string" && key !== "type" ? value + evil : value
      )
    ) as ReadonlyArray<AgentEventBody>
    const view = View.make({ style: coloured, columns: 80, answer: true, progress: true })
    const text = events(hostile).flatMap((event) => view.push(event)).map((piece) => plain(piece.text)).join("")
    assert.notMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
  })
})
