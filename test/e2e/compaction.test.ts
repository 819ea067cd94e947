import { assert, describe, it } from "vitest"
import type { Turn, TurnRequest, Wire } from "../support/upstream/index.ts"
import { providerFor, run, withUpstream } from "./support.ts"

const wires: ReadonlyArray<Wire> = ["anthropic", "responses", "chat"]

const asksForSummary = (request: TurnRequest): boolean => request.prompt.includes("Write the summary")

/** Twelve outputs of a few hundred tokens, then the end; summaries in between. */
const script = (request: TurnRequest): Turn =>
  asksForSummary(request)
    ? { blocks: [{ kind: "text", text: "## Goal\nsee all numbers\n## Next step\ngo on" }] }
    : request.turn <= 12
    ? { blocks: [{ kind: "call", name: "bash", arguments: { command: `seq ${request.turn}000 ${request.turn}250` } }] }
    : { blocks: [{ kind: "text", text: "all seen" }] }

const windowOf = (context_window: number) => ({
  models: { "fake-model": { context_window, max_output_tokens: 1000, price: { input: 1, output: 2 } } }
})

describe.each(wires)("%s, the whole program in a small window", (wire) => {
  it("compacts by the window of the model, and every request is one that the protocol takes (5.1, D19)", async () => {
    await withUpstream({ script, usage: false }, async (upstream, home) => {
      home.settings(providerFor(wire, upstream, windowOf(4000)))
      const result = await run(home, ["run", "--output-format", "stream-json", "--allow", "bash", "show the numbers"])
      assert.deepStrictEqual(upstream.violations(), [])
      assert.strictEqual(result.code, 0, result.stderr)
      const compactions = result.lines.filter((line) => line.type === "compaction")
      assert.isAtLeast(compactions.length, 1)
      assert.isAtMost(compactions.length, 6)
      assert.strictEqual(result.lines.at(-1)?.["result"], "all seen")
      assert.include(JSON.stringify(upstream.log.at(-1)?.body), "show the numbers")
      for (const { body } of upstream.log) assert.isBelow(JSON.stringify(body).length, 60_000)

      // a session goes on from what was compacted
      const again = await run(home, ["run", "--continue", "--output-format", "json", "--allow", "bash", "and now?"])
      assert.deepStrictEqual(upstream.violations(), [])
      assert.strictEqual(again.code, 0, again.stderr)
    })
  })

  it("0 = never: nothing is compacted", async () => {
    await withUpstream({ script, usage: false }, async (upstream, home) => {
      home.settings({ ...providerFor(wire, upstream, windowOf(4000)), max_tokens: 0 })
      const result = await run(home, ["run", "--output-format", "stream-json", "--allow", "bash", "show the numbers"])
      assert.strictEqual(result.code, 0, result.stderr)
      assert.strictEqual(result.lines.filter((line) => line.type === "compaction").length, 0)
    })
  })

  it("a request that the provider finds too long is compacted and sent again, once", async () => {
    const tooLong = {
      kind: "status",
      status: 400,
      ...(wire === "anthropic"
        ? { message: "prompt is too long: 210000 tokens > 200000 maximum" }
        : { code: "context_length_exceeded", message: "This model's maximum context length is 200000 tokens." })
    } as const
    await withUpstream({ script, usage: false, faults: { "6": tooLong } }, async (upstream, home) => {
      home.settings(providerFor(wire, upstream, windowOf(200_000)))
      const result = await run(home, ["run", "--output-format", "stream-json", "--allow", "bash", "show the numbers"])
      assert.deepStrictEqual(upstream.violations(), [])
      assert.strictEqual(result.code, 0, result.stderr)
      assert.strictEqual(result.lines.filter((line) => line.type === "compaction").length, 1)
      assert.strictEqual(result.lines.at(-1)?.["result"], "all seen")
    })
  })
})
