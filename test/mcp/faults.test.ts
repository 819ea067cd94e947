/**
 * A server that misbehaves beside a good one, through the whole agent with real processes (readings 1.2 to 1.5, 1.10,
 * 1.11, G5, G9). For every fault: a clear result, the good server goes on, the session goes on, nothing is left running.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Load from "../../src/config/Load.ts"
import type { AgentEvent } from "../../src/domain/AgentEvent.ts"
import type { JsonObject } from "../../src/domain/Json.ts"
import type { ToolResult } from "../../src/domain/Tool.ts"
import { make } from "../../src/mcp/Mcp.ts"
import { StdioMcpTransport } from "../../src/mcp/StdioTransport.ts"
import { AppendLog } from "../../src/platform/AppendLog.ts"
import { Processes } from "../../src/platform/Processes.ts"
import type { TurnInput } from "../../src/provider/Scenario.ts"
import * as Agents from "../support/mcp/agent.ts"
import * as HttpServers from "../support/mcp/http.ts"
import * as Servers from "../support/mcp/servers.ts"
import { alive, eventually, gone } from "../support/processes.ts"

type Call = readonly [tool: string, args?: JsonObject | undefined]

/** Calls of the first prompt in their order, then those of the second; inner lists are one answer of the model. */
const turns = (...prompts: ReadonlyArray<ReadonlyArray<ReadonlyArray<Call>>>): ReadonlyArray<TurnInput> => {
  let before = 0
  return prompts.flatMap((steps, number): ReadonlyArray<TurnInput> => {
    const prompt = `prompt ${number}`
    const made = steps.map((step): TurnInput => {
      const at = before
      before += step.length
      return {
        when: (conversation) => conversation.prompt === prompt && conversation.results.length === at,
        calls: step.map(([name, args = {}]) => ({ name, arguments: args }))
      }
    })
    const all = before
    return [...made, {
      when: (conversation) => conversation.prompt === prompt && conversation.results.length === all,
      text: "done"
    }]
  })
}

interface Seen {
  readonly first: ReadonlyArray<ToolResult>
  readonly second: ReadonlyArray<ToolResult>
  readonly events: ReadonlyArray<AgentEvent>
}

interface Fault {
  readonly what: string
  readonly fake?: object
  readonly definition?: object
  /** Before the good server is called. */
  readonly first: ReadonlyArray<ReadonlyArray<Call>>
  /** In the next prompt, behind the good server. */
  readonly second: ReadonlyArray<ReadonlyArray<Call>>
  readonly check: (seen: Seen) => void
}

const bad = (tool: string, args?: JsonObject): Call => [`mcp__bad__${tool}`, args]
const good: Call = ["mcp__good__pid"]

const isError = (result: ToolResult | undefined, ...words: ReadonlyArray<string>): void => {
  assert.strictEqual(result?.is_error, true)
  for (const word of words) assert.include(result?.error ?? "", word)
}
const says = (result: ToolResult | undefined, output: string): void => {
  assert.strictEqual(result?.is_error, false, result?.error ?? "no result")
  assert.strictEqual(result?.output, output)
}
const echoes: ReadonlyArray<ReadonlyArray<Call>> = [[bad("echo", { x: 1 })]]
const goesOn = ({ second }: Seen): void => says(second.at(-1), "{\"x\":1}")

/** Results in the order of their calls, whichever ended first. */
const inOrder = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<ToolResult> => {
  const completed = new Map(Agents.ofType(events, "tool.completed").map(({ call_id, result }) => [call_id, result]))
  return Agents.ofType(events, "tool.started").flatMap(({ call_id }) => completed.get(call_id) ?? [])
}

const pidsIn = (file: string): ReadonlyArray<number> =>
  fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").map(Number) : []

/** Two prompts of one session with both servers; then the process table. */
const play = (
  { definition = {}, fake = {}, first, second }: Omit<Fault, "what" | "check">,
  server?: object
) => {
  let pids: ReadonlyArray<number> = []
  return Effect.scoped(Effect.gen(function*() {
    const root = yield* Agents.workspace
    const pidfile = path.join(root, "pids")
    const seen = yield* Effect.scoped(
      Effect.gen(function*() {
        const one = yield* Agents.run({ prompt: "prompt 0" })
        const two = yield* Agents.run({ prompt: "prompt 1", session_id: one[0]?.session_id ?? "" })
        pids = pidsIn(pidfile)
        return { first: inOrder(one), second: inOrder(two), events: [...one, ...two] } satisfies Seen
      }).pipe(Effect.provide(Agents.layerOf(root, {
        servers: {
          bad: server ?? Agents.command(Servers.fake({ ...fake, pidfile }), definition),
          good: Agents.command(Servers.fake({ pidfile }))
        },
        turns: turns([...first, [good]], [[good], ...second])
      })))
    )
    const [before, after] = [seen.first.at(-1), seen.second[0]]
    assert.isFalse(before?.is_error, before?.error ?? "")
    assert.isFalse(after?.is_error, after?.error ?? "")
    // the same process: the good server has not noticed anything
    assert.strictEqual(after?.output, before?.output)
    assert.deepStrictEqual(Agents.ofType(seen.events, "run.completed").map(({ exit_code }) => exit_code), [0, 0])
    assert.strictEqual(
      Agents.ofType(seen.events, "tool.completed").length,
      Agents.ofType(seen.events, "tool.started").length
    )
    assert.isAtLeast(pids.length, server === undefined ? 2 : 1)
    for (const pid of pids) assert.isTrue(yield* gone(pid), `the group of ${pid} has ended`)
    return seen
  }))
}

const limit = { timeout: 60_000 }

const faults: ReadonlyArray<Fault> = [
  {
    what: "1.4 never answers a call",
    definition: { call_timeout_ms: 300 },
    first: [[bad("hang")]],
    second: echoes,
    check: (seen) => {
      isError(seen.first[0], "bad", "300", "call_timeout_ms")
      goesOn(seen)
    }
  },
  {
    what: "1.4 never answers at all",
    fake: { silent: true },
    definition: { connect_timeout_ms: 500 },
    first: [[bad("echo")]],
    second: echoes,
    check: ({ events, first, second }) => {
      const failed = Agents.ofType(events, "mcp.server").find(({ phase, server }) =>
        server === "bad" && phase === "failed"
      )
      assert.strictEqual(failed?.error?.code, "connect_timeout")
      assert.include(failed?.error?.message, "connect_timeout_ms")
      isError(first[0], "the MCP server bad is failed", "connect_timeout_ms")
      isError(second.at(-1), "bad", "failed")
    }
  },
  {
    what: "1.5 dies in a call",
    first: [[bad("die")]],
    second: echoes,
    check: (seen) => {
      isError(seen.first[0], "bad", "exit code 3", "out of luck", "may have run")
      goesOn(seen)
    }
  },
  {
    what: "1.5 dies between two calls, as soon as it has answered, again and again",
    fake: { worse: true },
    first: [1, 2, 3, 4].map((n) => [bad("last", { n })]),
    second: [[bad("echo", { n: 1 })], ...echoes],
    check: (seen) => {
      says(seen.first[0], "the last answer")
      // what the pipe of a process took that was about to end may have run; what it did not is sent to the next one
      for (const result of seen.first.slice(1, 4)) {
        if (result.is_error) isError(result, "bad", "ended (exit code 0)", "may have run")
        else says(result, "the last answer")
      }
      goesOn(seen)
    }
  },
  {
    what: "1.5 closes its stdin and lives on",
    fake: { worse: true, ignore: "stdin" },
    first: [[bad("closein")], [bad("echo", { n: 1 })]],
    second: echoes,
    check: (seen) => {
      says(seen.first[0], "hears nothing any more")
      const closed = Agents.ofType(seen.events, "mcp.server").find(({ phase }) => phase === "closed")
      assert.include(closed?.error?.message, "no longer read its stdin and was stopped")
      // it had not been sent: the server is ended and started again for it
      says(seen.first[1], "{\"n\":1}")
      goesOn(seen)
    }
  },
  {
    what: "1.3 answers without a result",
    fake: { worse: true },
    first: [[bad("nothing")]],
    second: echoes,
    check: (seen) => {
      isError(seen.first[0], "bad", "neither a method nor a result nor an error")
      goesOn(seen)
    }
  },
  {
    what: "1.3 floods stderr",
    first: [[bad("flood", { lines: 20_000 })]],
    second: echoes,
    check: (seen) => {
      says(seen.first[0], "flooded")
      goesOn(seen)
    }
  },
  {
    what: "1.3 sends a line of 100 MB",
    first: [[bad("big", { bytes: 100_000_000 })]],
    second: echoes,
    check: (seen) => {
      isError(seen.first[0], "bad", "33554432", "max_message_bytes")
      goesOn(seen)
    }
  },
  {
    what: "1.3 answers out of order",
    fake: { annotations: { readOnlyHint: true } },
    definition: { trust_annotations: true },
    // neighbours that only read run side by side; the server answers when it has all, the last one first
    first: [[1, 2, 3, 4].map((n) => bad("swap", { n, of: 4 }))],
    second: echoes,
    check: (seen) => {
      assert.deepStrictEqual(seen.first.slice(0, 4).map(({ output }) => output), ["1", "2", "3", "4"])
      goesOn(seen)
    }
  },
  {
    what: "1.3 answers one id twice",
    first: [[bad("twice")], [bad("spell")]],
    second: echoes,
    check: (seen) => {
      says(seen.first[0], "first")
      says(seen.first[1], "spelled")
      goesOn(seen)
    }
  },
  {
    what: "1.5 closes its stdout and lives on",
    fake: { ignore: "stdin" },
    first: [[bad("closeout")]],
    second: echoes,
    check: (seen) => {
      isError(seen.first[0], "bad", "closed its stdout")
      goesOn(seen)
    }
  },
  {
    what: "G5 forks children that hold its pipes and ignore TERM, and dies",
    fake: { children: 2 },
    first: [[bad("echo", { x: 1 })], [bad("die")]],
    second: echoes,
    check: (seen) => {
      says(seen.first[0], "{\"x\":1}")
      isError(seen.first[1], "bad", "exit code 3")
      goesOn(seen)
    }
  },
  {
    what: "1.10 says a thousand times a second that its tools have changed",
    fake: { changing: true },
    first: [[bad("rain", { ms: 1_200 })], [bad("echo", { n: 1 })], [bad("echo", { n: 2 })]],
    second: [[bad("heard")], ...echoes],
    check: (seen) => {
      says(seen.first[0], "it rains")
      says(seen.first[1], "{\"n\":1}")
      says(seen.first[2], "{\"n\":2}")
      const methods = (JSON.parse(seen.second[1]?.output ?? "[]") as ReadonlyArray<{ readonly method: string }>)
        .map(({ method }) => method)
      // one at the start, one for each call that came meanwhile, and what is read when it has been quiet
      assert.isAtMost(methods.filter((method) => method === "tools/list").length, 8)
      goesOn(seen)
    }
  },
  {
    what: "1.11 repeats a cursor",
    fake: { list: "repeat" },
    first: [[bad("ta", { n: 1 })]],
    second: [[bad("tb", { x: 1 })]],
    check: (seen) => {
      says(seen.first[0], "{\"n\":1}")
      const ready = Agents.ofType(seen.events, "mcp.server").find(({ phase, server }) =>
        server === "bad" && phase === "ready"
      )
      assert.strictEqual(ready?.tools, 3)
      assert.include(ready?.error?.message, "cursor")
      goesOn(seen)
    }
  }
]

describe("over stdio", () => {
  for (const { check, what, ...fault } of faults) {
    it.live(
      `${what}: a clear result; the other server, the session and the process table`,
      () => Effect.map(play(fault), check),
      limit
    )
  }

  it.live(
    "1.10 changes a tool's schema in mid-session: the model gets the new one, what was there before is not lost",
    () =>
      Effect.gen(function*() {
        const schemas: Array<unknown> = []
        const looking = (given: ReadonlyArray<TurnInput>): ReadonlyArray<TurnInput> =>
          given.map(({ when, ...turn }) => ({
            ...turn,
            when: (conversation) => {
              const holds = typeof when === "function" && when(conversation)
              if (holds) schemas.push(conversation.tools.find(({ name }) => name === "mcp__fake__echo")?.input_schema)
              return holds
            }
          }))
        const events = yield* Agents.runOnce({
          servers: { fake: Agents.command(Servers.fake({ changing: true })) },
          turns: looking(
            turns([[["mcp__fake__echo", { x: 1 }]], [["mcp__fake__mutate"]], [["mcp__fake__echo", { y: 2 }]], [[
              "mcp__fake__echo",
              { y: 3 }
            ]]])
          )
        }, { prompt: "prompt 0" })
        const [before, changed, after, last] = Agents.results(events)
        says(before, "{\"x\":1}")
        says(changed, "changed")
        says(after, "{\"y\":2}")
        says(last, "{\"y\":3}")
        const old = { type: "object" }
        const now = { type: "object", properties: { y: { type: "number" } }, required: ["y"] }
        assert.deepStrictEqual(schemas.slice(0, 2), [old, old])
        // read again before the first call that follows, at the latest
        assert.deepStrictEqual(schemas.slice(3), [now, now])
      }),
    limit
  )
})

describe("slow to start", () => {
  it.scoped("1.4 20 s: failed after 10 s by default, ready with connect_timeout_ms 30,000; real processes, a clock that is moved", () =>
    Effect.gen(function*() {
      const root = yield* Servers.scratch
      const file = (name: string): string => path.join(root, name)
      const pids = (name: string): ReadonlyArray<number> => pidsIn(file(`${name}.pid`))
      const services = {
        processes: yield* Processes,
        log: yield* AppendLog,
        vars: new Map([["PATH", process.env["PATH"] ?? ""]]),
        log_directory: file("logs")
      }
      yield* Effect.scoped(Effect.gen(function*() {
        const mcp = yield* make({
          config: Load.ofText(JSON.stringify({
            mcp_servers: {
              usual: { command: "usual" },
              patient: { command: "patient", connect_timeout_ms: 30_000 },
              quick: { command: "quick" }
            }
          })),
          root,
          variable: () => undefined,
          join: (from, to) => path.join(from, to),
          roots: [],
          transport: ({ server }) =>
            Effect.succeed(
              new StdioMcpTransport({
                server,
                argv: Servers.fake({
                  pidfile: file(`${server}.pid`),
                  ...(server === "quick" ? {} : { gate: file("gate") })
                }),
                cwd: root
              }, services)
            ),
          permissions: null,
          prompters: [],
          client_info: { name: "test", version: "1" }
        })
        const phases = Effect.map(
          mcp.status,
          (all) => Object.fromEntries(all.map(({ phase, server }) => [server, phase]))
        )
        const run = {
          session_id: "ses_1",
          mode: "default",
          model: "m",
          api: { sendMessage: () => Effect.die("not asked") as never },
          report: () => Effect.void
        } as const
        const attending = yield* Effect.fork(Effect.scoped(mcp.attend(run)))
        const when = (server: string, phase: string) =>
          Effect.repeat(Effect.zipRight(Effect.promise(() => new Promise((done) => setTimeout(done, 5))), phases), {
            until: (all) => all[server] === phase
          })
        yield* when("quick", "ready")
        assert.isTrue(yield* eventually(() => pids("usual").length === 1 && pids("patient").length === 1))
        yield* TestClock.adjust("9999 millis")
        assert.deepStrictEqual(yield* phases, { patient: "connecting", quick: "ready", usual: "connecting" })
        yield* TestClock.adjust("1 millis")
        yield* when("usual", "failed")
        const failed = (yield* mcp.status).find(({ server }) => server === "usual")
        assert.strictEqual(failed?.error?.code, "connect_timeout")
        assert.include(failed?.error?.message, "connect_timeout_ms")
        // nothing of it runs, long before the others are ready
        assert.isTrue(yield* gone(pids("usual")[0] ?? 0))
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual((yield* phases)["patient"], "connecting")
        fs.writeFileSync(file("gate"), "")
        yield* when("patient", "ready")
        yield* Fiber.join(attending)
        assert.include((yield* mcp.tools).map(({ name }) => name), "mcp__patient__echo")
        assert.include((yield* mcp.tools).map(({ name }) => name), "mcp__quick__echo")
        assert.isAbove(alive(pids("patient")[0] ?? 0).length, 0)
      }))
      for (const server of ["usual", "patient", "quick"]) {
        for (const pid of pids(server)) assert.isTrue(yield* gone(pid), server)
      }
    }).pipe(Effect.provide(Layer.mergeAll(Processes.layer, AppendLog.layer, Logger.remove(Logger.defaultLogger)))))
})

describe("over HTTP", () => {
  const { json, legacyPlay, result } = HttpServers
  const content = (text: string) => ({ content: [{ type: "text", text }] })
  const tools = {
    tools: [{ name: "odd", inputSchema: { type: "object" } }, { name: "echo", inputSchema: { type: "object" } }]
  }

  type Play = (seen: HttpServers.Seen, response: Parameters<HttpServers.Play>[1]) => void
  const cases: ReadonlyArray<{
    readonly what: string
    readonly odd: Play
    readonly definition?: object
    readonly check: (result: ToolResult | undefined, server: HttpServers.Played) => void
    /** What `echo` gives in the next prompt. */
    readonly then?: string
  }> = [
    {
      what: "1.2 a session that is lost (404): a new one, and the call again, which had not run",
      odd: (seen, response) =>
        seen.headers["mcp-session-id"] === "s1"
          ? json(response, { jsonrpc: "2.0", id: null, error: { code: -32_001, message: "Session not found" } }, 404)
          : json(response, result(seen, content(String(seen.headers["mcp-session-id"])))),
      check: (given, server) => {
        says(given, "s2")
        assert.strictEqual(server.methods().filter((method) => method === "initialize").length, 2)
      }
    },
    {
      what: "1.2 a session that is lost again and again (404)",
      odd: (_, response) => void response.writeHead(404).end(),
      check: (given) => isError(given, "bad", "session")
    },
    {
      what: "1.13 401 in mid-session",
      odd: (_, response) => void response.writeHead(401).end(),
      check: (given) => isError(given, "bad", "login", "mcp auth bad")
    },
    {
      what: "1.2 a redirect to another origin",
      odd: (_, response) => void response.writeHead(307, { location: "http://127.0.0.2:1/mcp?token=x" }).end(),
      check: (given) => {
        isError(given, "bad", "127.0.0.2")
        assert.notInclude(given?.error ?? "", "token=")
      }
    },
    {
      what: "1.4 a half-open socket",
      odd: () => undefined,
      definition: { call_timeout_ms: 300 },
      check: (given) => isError(given, "bad", "300", "call_timeout_ms")
    },
    {
      what: "1.3 a connection that breaks in the answer",
      odd: (_, response) => {
        HttpServers.events(response, ": hello")
        response.destroy()
      },
      check: (given) => isError(given, "bad", "may have run")
    }
  ]

  for (const { check, definition = {}, odd, then = "fine", what } of cases) {
    it.live(
      `${what}: a clear result; the other server, the session, and no socket is left`,
      () =>
        Effect.scoped(Effect.gen(function*() {
          const server = yield* HttpServers.play(legacyPlay((seen, response) => {
            const { name } = (seen.message["params"] ?? {}) as { readonly name?: unknown }
            if (seen.message["method"] === "tools/list") return json(response, result(seen, tools))
            return name === "odd" ? odd(seen, response) : json(response, result(seen, content("fine")))
          }))
          const seen = yield* play({ first: [[bad("odd")]], second: [[bad("echo")]] }, {
            url: server.url,
            ...definition
          })
          check(seen.first[0], server)
          says(seen.second.at(-1), then)
          assert.isTrue(yield* eventually(() => server.open() === 0), "no connection is left")
        })),
      limit
    )
  }
})
