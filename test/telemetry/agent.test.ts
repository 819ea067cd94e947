/** Whole runs with a real collector: which spans and metrics they leave, and what never stands in them. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agent } from "../../src/agent/Agent.ts"
import { type Collector, collector, type Span, values } from "../support/collector.ts"
import * as Agents from "../support/mcp/agent.ts"

const limit = { timeout: 60_000 }
const secret = "hny-0123456789abcdefghij"

const named = (on: Collector, name: string): ReadonlyArray<Span> => on.spans().filter((span) => span.name === name)

const one = (on: Collector, name: string): Span => {
  const found = named(on, name)
  assert.strictEqual(found.length, 1, `${name} among ${on.spans().map((span) => span.name).join(", ")}`)
  return found[0] as Span
}

/** A run of two requests, a call of `bash` between them, and its telemetry. */
const ran = (
  options: {
    readonly vars?: Readonly<Record<string, string>>
    readonly settings?: object
    readonly command?: string
    readonly on?: (on: Collector) => void
  } = {}
) =>
  Effect.scoped(Effect.gen(function*() {
    const on = yield* collector
    options.on?.(on)
    const events = yield* Agents.runOnce({
      servers: {},
      settings: options.settings ?? {},
      vars: { OTEL_EXPORTER_OTLP_ENDPOINT: on.url, ...options.vars },
      turns: Agents.calls(["bash", { command: options.command ?? "echo said-by-bash" }])
    }, { prompt: "the words of the prompt" })
    return { on, events, terminal: events.at(-1), run_id: events[0]?.run_id ?? "" }
  }))

describe("a run", () => {
  it.live("is a tree of spans: invoke_agent above chat and execute_tool", () =>
    Effect.gen(function*() {
      const { events, on, run_id } = yield* ran({
        vars: { OTEL_SERVICE_NAME: "my agent", OTEL_RESOURCE_ATTRIBUTES: "team=a%20b,deployment.environment.name=ci" }
      })
      const root = one(on, "invoke_agent hanzo-dev")
      assert.strictEqual(root.traceId, run_id.slice(4).replaceAll("-", ""))
      assert.isUndefined(root.parentSpanId)
      assert.strictEqual(root.kind, 1)
      assert.deepInclude(values(root.attributes), {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "test",
        "gen_ai.conversation.id": events[0]?.session_id,
        "hanzo.run.id": run_id,
        "hanzo.run.turns": 2,
        "hanzo.run.exit_code": 0
      })
      const chats = named(on, "chat test")
      assert.strictEqual(chats.length, 2)
      const tool = one(on, "execute_tool bash")
      for (const span of [...chats, tool]) {
        assert.strictEqual(span.traceId, root.traceId)
        assert.strictEqual(span.parentSpanId, root.spanId)
        assert.isTrue(BigInt(span.startTimeUnixNano) >= BigInt(root.startTimeUnixNano))
        assert.isTrue(BigInt(span.endTimeUnixNano) <= BigInt(root.endTimeUnixNano))
        assert.deepStrictEqual(span.status, {})
      }
      assert.deepStrictEqual(
        chats.map(({ attributes, kind }) => [kind, values(attributes)["gen_ai.response.finish_reasons"]]),
        [[3, ["tool_call"]], [3, ["stop"]]]
      )
      assert.deepInclude(values(tool.attributes), {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": Agents.ofType(events, "tool.started")[0]?.call_id,
        "hanzo.permission.mode": "allow"
      })
      assert.deepInclude(on.resource(), {
        "service.name": "my agent",
        team: "a b",
        "deployment.environment.name": "ci",
        "telemetry.sdk.language": "nodejs"
      })
      assert.strictEqual(new Set(on.spans().map((span) => span.spanId)).size, on.spans().length)
      assert.strictEqual(on.received[0]?.headers["content-type"], "application/json")
    }), limit)

  it.live("gives the histograms of the conventions, with the tokens that the run tells", () =>
    Effect.gen(function*() {
      const { on, terminal } = yield* ran()
      const tokens = on.metrics().get("gen_ai.client.token.usage")
      const duration = on.metrics().get("gen_ai.client.operation.duration")
      assert.deepStrictEqual([tokens?.unit, duration?.unit], ["{token}", "s"])
      assert.strictEqual(tokens?.histogram.dataPoints[0]?.explicitBounds.length, 14)
      assert.strictEqual(duration?.histogram.dataPoints[0]?.explicitBounds[0], 0.01)
      const sum = (type: string) =>
        tokens?.histogram.dataPoints.filter(({ attributes }) => values(attributes)["gen_ai.token.type"] === type)
          .reduce((all, point) => all + point.sum, 0)
      if (terminal?.type !== "run.completed") return assert.fail(terminal?.type)
      const { usage } = terminal
      assert.isAbove(usage.input_tokens, 0)
      assert.strictEqual(sum("input"), usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens)
      assert.strictEqual(sum("output"), usage.output_tokens)
      const root = values(one(on, "invoke_agent hanzo-dev").attributes)
      assert.strictEqual(root["gen_ai.usage.output_tokens"], usage.output_tokens)
      assert.strictEqual(
        named(on, "chat test").reduce(
          (all, { attributes }) => all + Number(values(attributes)["gen_ai.usage.output_tokens"]),
          0
        ),
        usage.output_tokens
      )
      assert.strictEqual(duration?.histogram.dataPoints.reduce((all, { count }) => all + Number(count), 0), 2)
    }), limit)

  it.live("leaves prompts, answers, arguments and results out unless they are asked for", () =>
    Effect.gen(function*() {
      const quiet = yield* ran()
      const all = quiet.on.received.map(({ body }) => body).join()
      for (const word of ["the words of the prompt", "said-by-bash", "done"]) assert.notInclude(all, word)

      const loud = yield* ran({ settings: { telemetry: { capture_content: true } } })
      const root = values(one(loud.on, "invoke_agent hanzo-dev").attributes)
      assert.include(String(root["gen_ai.input.messages"]), "the words of the prompt")
      const tool = values(one(loud.on, "execute_tool bash").attributes)
      assert.deepStrictEqual(JSON.parse(String(tool["gen_ai.tool.call.arguments"])), { command: "echo said-by-bash" })
      assert.include(String(tool["gen_ai.tool.call.result"]), "said-by-bash")
      const last = values(named(loud.on, "chat test").at(-1)?.attributes ?? [])
      assert.deepStrictEqual(JSON.parse(String(last["gen_ai.output.messages"])), [
        { role: "assistant", parts: [{ type: "text", content: "done" }], finish_reason: "stop" }
      ])
      const input = JSON.parse(String(last["gen_ai.input.messages"])) as ReadonlyArray<{ readonly role: string }>
      assert.deepStrictEqual(input.map(({ role }) => role), ["user", "assistant", "tool"])
    }), limit)

  it.live(
    "G2 no secret stands in what is sent, whoever says it; headers reach the collector alone",
    () =>
      Effect.gen(function*() {
        const { events, on } = yield* ran({
          command: `echo ${secret} $OTEL_EXPORTER_OTLP_HEADERS; echo hny-01234567 89`,
          vars: {
            OTEL_EXPORTER_OTLP_HEADERS: `x-honeycomb-team=${secret}`,
            OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
            OTEL_RESOURCE_ATTRIBUTES: `who=${secret}`
          }
        })
        assert.isTrue(on.received.every(({ headers }) => headers["x-honeycomb-team"] === secret))
        const all = on.received.map(({ body }) => body).join()
        assert.notInclude(all, secret)
        assert.include(all, "[redacted]")
        // and no tool gets them
        assert.notInclude(JSON.stringify(Agents.results(events)), secret)
        assert.notInclude(JSON.stringify(Agents.results(events)), "x-honeycomb-team")
      }),
    limit
  )

  it.live("a run that is refused or fails says so in one word", () =>
    Effect.gen(function*() {
      const denied = yield* ran({ settings: { permissions: { bash: "deny" } } })
      const tool = one(denied.on, "execute_tool bash")
      assert.strictEqual(values(tool.attributes)["error.type"], "permission_denied")
      assert.deepStrictEqual(tool.status, { code: 2 })
      const failing = yield* ran({ command: "exit 3" })
      assert.strictEqual(values(one(failing.on, "execute_tool bash").attributes)["error.type"], "tool_error")

      const broken = yield* Effect.scoped(Effect.gen(function*() {
        const on = yield* collector
        yield* Agents.runOnce({
          servers: {},
          vars: { OTEL_EXPORTER_OTLP_ENDPOINT: on.url },
          turns: [{ fault: { kind: "api_error", reason: "auth", message: "no such key", retryable: false } }]
        })
        return on
      }))
      assert.strictEqual(values(one(broken, "chat test").attributes)["error.type"], "auth")
      assert.strictEqual(values(one(broken, "invoke_agent hanzo-dev").attributes)["error.type"], "auth")
      const point = broken.metrics().get("gen_ai.client.operation.duration")?.histogram.dataPoints[0]
      assert.strictEqual(values(point?.attributes ?? [])["error.type"], "auth")
      assert.notInclude(broken.received.map(({ body }) => body).join(), "no such key")
    }), limit)

  it.live(
    "a run that is stopped, and the request it was waiting for, are cancelled",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const on = yield* collector
        const setting: Agents.Setting = {
          servers: {},
          vars: { OTEL_EXPORTER_OTLP_ENDPOINT: on.url },
          turns: [{ text: "a beginning", fault: { kind: "hang", after: 1 } }]
        }
        yield* Effect.provide(
          Effect.flatMap(Agent, (agent) =>
            Stream.runForEach(
              agent.run({ prompt: "go" }),
              (event) =>
                event.type === "text.delta" ? Effect.forkDaemon(agent.interrupt(event.session_id)) : Effect.void
            )),
          Agents.layerOf(yield* Agents.workspace, setting)
        )
        for (const name of ["chat test", "invoke_agent hanzo-dev"]) {
          assert.strictEqual(values(one(on, name).attributes)["error.type"], "cancelled")
        }
      })),
    limit
  )

  it.live("a trace that is on goes on: TRACEPARENT", () =>
    Effect.gen(function*() {
      const { on } = yield* ran({
        vars: { TRACEPARENT: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" }
      })
      const root = one(on, "invoke_agent hanzo-dev")
      assert.deepStrictEqual([root.traceId, root.parentSpanId], [
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "00f067aa0ba902b7"
      ])
    }), limit)

  it.live(
    "requests to MCP servers stand below the call they are made for, and carry its trace",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const on = yield* collector
        yield* Agents.runOnce({
          servers: { fake: Agents.command(Agents.fake) },
          vars: { OTEL_EXPORTER_OTLP_ENDPOINT: on.url },
          turns: Agents.calls(["mcp__fake__echo", { text: "x" }])
        })
        const root = one(on, "invoke_agent hanzo-dev")
        const tool = one(on, "execute_tool mcp__fake__echo")
        const wire = one(on, "tools/call echo")
        assert.strictEqual(wire.parentSpanId, tool.spanId)
        assert.strictEqual(wire.kind, 3)
        assert.deepInclude(values(wire.attributes), {
          "mcp.method.name": "tools/call",
          "gen_ai.tool.name": "echo",
          "network.transport": "pipe",
          "hanzo.mcp.server": "fake"
        })
        const listed = on.spans().filter((span) => span.name === "tools/list")
        assert.isAbove(listed.length, 0)
        assert.isTrue(listed.every((span) => span.traceId === root.traceId))
        assert.isAbove(
          Number(on.metrics().get("mcp.client.operation.duration")?.histogram.dataPoints[0]?.count ?? 0),
          0
        )
      })),
    limit
  )

  it.live("subagents are spans below the call that starts them", () =>
    Effect.scoped(Effect.gen(function*() {
      const on = yield* collector
      yield* Agents.runOnce({
        servers: {},
        vars: { OTEL_EXPORTER_OTLP_ENDPOINT: on.url },
        turns: [
          { when: (told) => told.results.length === 1, text: "all done", repeat: "forever" },
          {
            when: (told) => JSON.stringify(told.messages).includes("the outermost"),
            calls: [{ name: "task", arguments: { agent: "solve", prompt: "look at it" } }]
          },
          { text: "looked", repeat: "forever" }
        ]
      }, { prompt: "the outermost" })
      const root = one(on, "invoke_agent hanzo-dev")
      const task = one(on, "execute_tool task")
      const child = one(on, "invoke_agent solve")
      assert.strictEqual(task.parentSpanId, root.spanId)
      assert.strictEqual(child.parentSpanId, task.spanId)
      assert.strictEqual(child.traceId, root.traceId)
      assert.isTrue(named(on, "chat test").some((span) => span.parentSpanId === child.spanId))
    })), limit)
})

describe("what never breaks or holds a run", () => {
  const ends = (answer: Collector["answer"]) =>
    ran({
      on: (on) => {
        on.answer = answer
      }
    })

  it.live("a collector that fails, or answers what is no JSON", () =>
    Effect.gen(function*() {
      for (const status of [200, 400, 401, 404, 500, 503]) {
        const { terminal } = yield* ends(() => ({ status, body: "<html>" }))
        assert.strictEqual(terminal?.type, "run.completed", String(status))
      }
    }), limit)

  it.live("a collector that never answers holds the end for two seconds at the most", () =>
    Effect.gen(function*() {
      const started = performance.now()
      const { terminal } = yield* ends(() => ({ silent: true }))
      assert.strictEqual(terminal?.type, "run.completed")
      assert.isBelow(performance.now() - started, 12_000)
    }), limit)

  it.live("a checkout cannot send telemetry anywhere", () =>
    Effect.scoped(Effect.gen(function*() {
      const on = yield* collector
      const root = yield* Agents.workspace
      fs.mkdirSync(path.join(root, ".hanzo"))
      fs.writeFileSync(
        path.join(root, ".hanzo", "settings.json"),
        JSON.stringify({ telemetry: { endpoint: on.url, capture_content: true } })
      )
      const events = yield* Effect.provide(
        Agents.run(),
        Agents.layerOf(root, { servers: {}, turns: [{ text: "done" }], options: { trust: "all" } })
      )
      assert.strictEqual(events.at(-1)?.type, "run.completed")
      assert.strictEqual(on.received.length, 0)
    })), limit)

  it.live("the user's settings name the endpoint, headers go with it", () =>
    Effect.scoped(Effect.gen(function*() {
      const on = yield* collector
      yield* Agents.runOnce({
        servers: {},
        settings: {
          telemetry: { endpoint: `${on.url}/base/`, headers: { "x-key": secret }, service_name: "from-settings" }
        },
        turns: [{ text: "done" }]
      })
      assert.sameMembers(on.received.map((each) => each.path), ["/base/v1/traces", "/base/v1/metrics"])
      assert.isTrue(on.received.every(({ headers }) => headers["x-key"] === secret))
      assert.include(on.received[0]?.body, "from-settings")
    })), limit)
})
