import { assert, describe, it } from "vitest"
import type { UpstreamOptions, Wire } from "../support/upstream/index.ts"
import { providerFor, run, secret, withUpstream } from "./support.ts"

const wires: ReadonlyArray<Wire> = ["anthropic", "responses", "chat"]

/** Texts of all tool results in a request, whatever its protocol. */
const toolResults = (body: unknown): ReadonlyArray<string> => {
  if (Array.isArray(body)) return body.flatMap(toolResults)
  if (typeof body !== "object" || body === null) return []
  const o = body as Record<string, unknown>
  if (o["type"] === "tool_result" || o["role"] === "tool") return [JSON.stringify(o["content"])]
  if (o["type"] === "function_call_output") return [JSON.stringify(o["output"])]
  return Object.values(o).flatMap(toolResults)
}

const json = (stdout: string) =>
  JSON.parse(stdout) as Record<string, unknown> & { readonly usage: Record<string, number> }

describe.each(wires)("%s, the whole program against an independent server", (wire) => {
  it("20 tool turns: exit 0, exactly 20 executions, right usage", async () => {
    await withUpstream(
      { tool_turns: 20, usage: { input: 100, output: 7 }, final_text: "all done" },
      async (upstream, home) => {
        home.settings(providerFor(wire, upstream))
        const result = await run(home, ["run", "--output-format", "stream-json", "--allow", "bash", "go"])
        assert.strictEqual(result.code, 0, result.stderr)
        assert.deepStrictEqual(upstream.violations(), [])
        const completed = result.lines.filter((line) => line.type === "tool.completed")
        assert.strictEqual(completed.length, 20)
        completed.forEach((line, i) => assert.include(JSON.stringify(line["result"]), `turn-${i + 1}`))
        const last = result.lines.at(-1)
        assert.strictEqual(last?.type, "run.completed")
        assert.strictEqual(last?.["result"], "all done")
        assert.deepInclude(last?.["usage"], { input_tokens: 2100, output_tokens: 147 })
        assert.strictEqual(upstream.counts().generations, 21)
        assert.notInclude(result.stdout + result.stderr, secret)
      }
    )
  })

  const variants: Readonly<Record<string, UpstreamOptions>> = {
    "one byte at a time": { chunk: 1 },
    "CRLF": { line_end: "crlf", chunk: 7 },
    "bare CR": { line_end: "cr", chunk: 3 },
    "split UTF-8 and surrogates": { final_text: "héllo 👍 日本", split_utf8: true, split_surrogates: true },
    "pings between all events": { pings: true },
    "interleaved parallel calls": { parallel: 3, interleave: true, chunk: 5 },
    "no usage": { usage: false },
    "no [DONE], last event without a blank line": { done: false, unterminated: true },
    "reasoning before every answer": { thinking: true, require_reasoning: true },
    "raw reasoning": { thinking: true, raw_reasoning: true },
    "byte order mark, no spaces": { bom: true, no_space: true },
    "gzip": { gzip: true },
    "text before the calls": { preface: "let me see" },
    "cached tokens": { usage: { input: 50, cached: 40, output: 3 } },
    "late names, repeated ids": { quirks: ["late_name", "repeat_ids"] },
    "no ids": { quirks: ["no_ids"] },
    "arguments in the opener, stop with calls": { quirks: ["arguments_in_opener", "stop_with_calls"] },
    "arguments only in done, changed item ids": {
      quirks: ["arguments_only_done", "changed_item_id", "responses_done"]
    },
    "unknown events": { quirks: ["unknown_event"] },
    "duplicate ids": { parallel: 2, quirks: ["duplicate_ids"] }
  }
  it.each(Object.entries(variants))("%s", async (_name, options) => {
    await withUpstream({ tool_turns: 2, final_text: "fin", ...options }, async (upstream, home) => {
      home.settings(providerFor(wire, upstream))
      const result = await run(home, ["run", "--output-format", "stream-json", "--allow", "bash", "go"])
      assert.strictEqual(result.code, 0, `${result.stderr}\n${upstream.violations().join("\n")}`)
      assert.deepStrictEqual(upstream.violations(), [])
      assert.strictEqual(result.lines.filter((l) => l.type === "tool.completed").length, 2 * (options.parallel ?? 1))
      assert.strictEqual(result.lines.at(-1)?.["result"], options.final_text ?? "fin")
      const usage = result.lines.at(-1)?.["usage"] as Record<string, number>
      if (options.usage === false) assert.strictEqual(usage["input_tokens"], 0)
      if (options.usage !== undefined && options.usage !== false) {
        assert.deepInclude(usage, { input_tokens: 150, cache_read_tokens: 120, output_tokens: 9 })
      }
    })
  })

  it("json: one object; text: the answer alone", async () => {
    await withUpstream({ final_text: "the answer" }, async (upstream, home) => {
      home.settings(providerFor(wire, upstream))
      const object = json((await run(home, ["run", "--output-format", "json", "hi"])).stdout)
      assert.deepInclude(object, {
        v: 1,
        status: "completed",
        exit_code: 0,
        result: "the answer",
        turns: 1,
        error: null
      })
      assert.isNumber(object["cost_usd"])
      const text = await run(home, ["run", "hi"])
      assert.strictEqual(text.stdout, "the answer\n")
    })
  })
})

describe.each(wires)("%s, faults", (wire) => {
  const go = (options: UpstreamOptions, extra: Record<string, unknown> = {}, args: ReadonlyArray<string> = []) =>
    withUpstream({ tool_turns: 1, final_text: "fin", ...options }, async (upstream, home) => {
      home.settings(providerFor(wire, upstream, extra))
      const result = await run(home, ["run", "--output-format", "stream-json", "--allow", "bash", ...args, "go"])
      assert.notInclude(result.stdout + result.stderr, secret)
      assert.strictEqual(result.lines.filter((l) => /^run\.(completed|failed|cancelled)$/.test(l.type)).length, 1)
      return {
        ...result,
        counts: upstream.counts(),
        violations: upstream.violations(),
        told: toolResults(upstream.log.at(-1)?.body),
        last: result.lines.at(-1),
        ran: result.lines.filter((l) => l.type === "tool.started").length,
        retries: result.lines.filter((l) => l.type === "retry")
      }
    })

  it.each([429, 529, 503])("HTTP %i with Retry-After waits and succeeds", async (status) => {
    const r = await go({ faults: { "1": { kind: "status", status, retry_after_ms: 30 } } })
    assert.strictEqual(r.code, 0, r.stderr)
    assert.strictEqual(r.retries.length, 1)
    assert.isAtLeast(Number(r.retries[0]?.["delay_ms"]), 30)
  })

  it("a Retry-After beyond the cap is exit 5 with a clear line", async () => {
    const r = await go({ faults: { all: { kind: "status", status: 429, retry_after: 3600 } } })
    assert.strictEqual(r.code, 5)
    assert.strictEqual(r.counts.generations, 1)
    assert.include(JSON.stringify(r.last), "60 min")
  })

  it.each([400, 401, 403, 404])("HTTP %i is exit 5 at once", async (status) => {
    const r = await go({ faults: { all: { kind: "status", status, message: "the words of the provider" } } })
    assert.strictEqual(r.code, 5)
    assert.strictEqual(r.counts.generations, 1)
    assert.include(JSON.stringify(r.last), "the words of the provider")
  })

  it.each(
    [
      { kind: "drop", after: 6 },
      { kind: "drop_before_headers" },
      { kind: "truncate", after: 6 },
      { kind: "error_event", type: "overloaded_error", code: "server_error" },
      { kind: "hang", after: 3 },
      { kind: "hang_before_headers" },
      { kind: "status", status: 500 },
      { kind: "empty" }
    ] as const
  )("$kind is asked for again; its calls do not run", async (fault) => {
    const r = await go({ faults: { "1": fault }, preface: "some text first" }, { idle_ms: 300, headers_ms: 300 })
    assert.strictEqual(r.code, 0, `${r.stderr}\n${JSON.stringify(r.last)}`)
    assert.strictEqual(r.ran, 1)
    assert.deepStrictEqual(r.violations, [])
    if (fault.kind === "truncate" || fault.kind === "drop") {
      assert.isTrue(r.lines.some((l) => l.type === "item.withdrawn"))
    }
  })

  it("a fault that never ends gives up after a bounded number of tries", async () => {
    const r = await go({ faults: { all: { kind: "drop", after: 2 } } }, { max_retries: 2 })
    assert.strictEqual(r.code, 5)
    assert.strictEqual(r.counts.generations, 3)
  })

  it("a length cut inside tool arguments is never executed", async () => {
    // the first tool turn is cut, with a whole call before the cut one; the second is whole
    const r = await go({ tool_turns: 2, parallel: 2, end: "length_in_arguments" })
    assert.strictEqual(r.code, 0, `${r.stderr}\n${JSON.stringify(r.last)}`)
    assert.deepStrictEqual(r.violations, [])
    assert.strictEqual(r.last?.["result"], "fin")
    assert.strictEqual(r.ran, 2, "only the calls of the whole answer")
    assert.notInclude(JSON.stringify(r.lines.filter((l) => l.type.startsWith("tool."))), "turn-1")
    const notices = r.lines.filter((l) => l["code"] === "call_not_run")
    assert.strictEqual(notices.length, 2)
    for (const notice of notices) assert.match(String(notice["message"]), /^bash was not run: .*output limit/)
    assert.lengthOf(r.told.filter((text) => text.includes("make smaller calls")), 2)
  })

  it("calls that are cut again and again end the run", async () => {
    const r = await go({ faults: { all: { kind: "end", end: "length_in_arguments" } }, tool_turns: 9 })
    assert.strictEqual(r.code, 1)
    assert.deepInclude(r.last?.["error"], { code: "max_output_tokens" })
    assert.strictEqual(r.counts.generations, 3)
    assert.strictEqual(r.ran, 0)
    assert.deepStrictEqual(r.violations, [])
  })

  it("a call without a name is answered, and the turn goes on", async () => {
    const r = await go({ tool: "" })
    assert.strictEqual(r.code, 0, `${r.stderr}\n${JSON.stringify(r.last)}`)
    assert.deepStrictEqual(r.violations, [])
    assert.strictEqual(r.last?.["result"], "fin")
    assert.strictEqual(r.counts.generations, 2)
    const [completed] = r.lines.filter((l) => l.type === "tool.completed")
    assert.include(JSON.stringify(completed?.["result"]), "the tools are: ")
    assert.lengthOf(r.told.filter((text) => text.includes("there is no tool")), 1)
  })

  it("an empty answer is said", async () => {
    const r = await go({ tool_turns: 0, final_text: "" })
    assert.strictEqual(r.code, 0, r.stderr)
    assert.strictEqual(r.lines.at(-2)?.["code"], "empty_answer")
    const empty = await go({ script: [{ blocks: [] }] })
    assert.strictEqual(empty.code, 0, empty.stderr)
    assert.strictEqual(empty.lines.at(-2)?.["code"], "empty_answer")
  })

  it("a text cut at the output limit is no success", async () => {
    const r = await go({ tool_turns: 0, end: "length" })
    assert.strictEqual(r.code, 1)
    assert.strictEqual(r.last?.type, "run.failed")
  })

  it("a refusal is exit 1", async () => {
    const r = await go({ tool_turns: 0, end: "refusal" })
    assert.strictEqual(r.code, 1)
    assert.strictEqual(r.last?.type, "run.failed")
  })

  it("a JSON error with status 200, and a page of HTML, are failures", async () => {
    for (const fault of [{ kind: "json_error" }, { kind: "html" }, { kind: "broken_json" }] as const) {
      const r = await go({ faults: { all: fault } }, { max_retries: 1 })
      assert.strictEqual(r.code, 5, fault.kind)
    }
  })
})
