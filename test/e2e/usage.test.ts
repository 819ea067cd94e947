/** The built program: what it cost, where it stops, and what a collector gets of it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { collector, values } from "../support/collector.ts"
import { providerFor, run, secret, withUpstream } from "./support.ts"

const price = { input: 1000, output: 2000 }
const models = { models: { "fake-model": { context_window: 200_000, price } } }

interface Document {
  readonly total: { readonly requests: number; readonly cost_usd: number | null }
  readonly groups: ReadonlyArray<{ readonly model?: string; readonly turn?: number }>
}

describe("usage", () => {
  it("tells what a run has cost, as the run does", async () => {
    await withUpstream({ tool_turns: 1, final_text: "fin" }, async (upstream, home) => {
      home.settings(providerFor("anthropic", upstream, models))
      const ran = await run(home, ["run", "--allow", "bash", "--output-format", "json", "go"])
      assert.strictEqual(ran.code, 0, ran.stderr)
      const result = JSON.parse(ran.stdout) as { readonly session_id: string; readonly cost_usd: number }
      assert.isAbove(result.cost_usd, 0)
      const by = async (...args: ReadonlyArray<string>) =>
        JSON.parse((await run(home, ["usage", "--json", ...args])).stdout) as Document
      const models_ = await by("--by", "model")
      assert.deepStrictEqual(models_.groups.map(({ model }) => model), ["up/fake-model"])
      assert.deepInclude(models_.total, { requests: 2, cost_usd: result.cost_usd })
      const turns = await by("--session", result.session_id.slice(0, 20))
      assert.deepStrictEqual(turns.groups.map(({ turn }) => turn), [1, 2])
      assert.strictEqual(turns.total.cost_usd, result.cost_usd)
      assert.strictEqual((await run(home, ["usage", "--since", "soon"])).code, 2)
    })
  })

  it("a limit of the day stops the next program, with exit code 4", async () => {
    await withUpstream({ final_text: "fin" }, async (upstream, home) => {
      home.settings({ ...providerFor("chat", upstream, models), limits: { max_cost_per_day: 0.001 } })
      assert.strictEqual((await run(home, ["run", "one"])).code, 0)
      const second = await run(home, ["run", "two"])
      assert.strictEqual(second.code, 4)
      assert.match(second.stderr, /were spent today, .*limits\.max_cost_per_day/)
      assert.strictEqual(upstream.counts().generations, 1)
    })
  })
})

describe("telemetry", () => {
  const withCollector = (use: (on: Effect.Effect.Success<typeof collector>) => Promise<void>) =>
    Effect.runPromise(Effect.scoped(Effect.flatMap(collector, (on) => Effect.promise(() => use(on)))))

  it("a run's spans reach the collector before the program ends, and carry neither key nor words", async () => {
    await withUpstream({ tool_turns: 1, final_text: "fin" }, (upstream, home) =>
      withCollector(async (on) => {
        home.settings(providerFor("responses", upstream, models))
        const { code, stderr } = await run(home, ["run", "--allow", "bash", "the words of the prompt"], {
          env: { OTEL_EXPORTER_OTLP_ENDPOINT: on.url, OTEL_EXPORTER_OTLP_HEADERS: "x-key=of-the-collector" }
        })
        assert.strictEqual(code, 0, stderr)
        const names = on.spans().map(({ name }) => name)
        assert.sameMembers([...names], [
          "invoke_agent hanzo-dev",
          "chat fake-model",
          "execute_tool bash",
          "chat fake-model"
        ])
        const chat = on.spans().find(({ name }) => name === "chat fake-model")
        assert.deepInclude(values(chat?.attributes ?? []), {
          "gen_ai.provider.name": "up",
          "gen_ai.request.model": "fake-model",
          "server.address": "127.0.0.1",
          "server.port": Number(new URL(upstream.url).port)
        })
        assert.isAbove(on.metrics().size, 2)
        const all = on.received.map(({ body }) => body).join()
        for (const word of [secret, "of-the-collector", "the words of the prompt"]) assert.notInclude(all, word)
      }))
  })

  it("a run without a collector at its endpoint is the same run, with one line", async () => {
    await withUpstream({ final_text: "fin" }, async (upstream, home) => {
      home.settings(providerFor("anthropic", upstream, models))
      const { code, stderr, stdout } = await run(home, ["run", "go"], {
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }
      })
      assert.deepStrictEqual([code, stdout], [0, "fin\n"])
      assert.strictEqual(stderr.split("\n").filter((text) => text.includes("telemetry")).length, 1, stderr)
    })
  })
})
