/** Real servers of others over stdio, both eras (readings 1.2, 1.10 to 1.12, 1.14). */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as fs from "node:fs"
import * as path from "node:path"
import type { JsonRpcObject } from "../../src/codec/JsonRpc.ts"
import type { McpConnection, McpHandlers, McpListKind, McpLogMessage } from "../../src/mcp/Connection.ts"
import { legacyVersions } from "../../src/mcp/Connection.ts"
import { AppendLog } from "../../src/platform/AppendLog.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { gone } from "../support/processes.ts"
import * as Servers from "../support/mcp/servers.ts"

const layer = Layer.merge(Processes.layer, AppendLog.layer)

/** Connects, tests, closes; then nothing of the server may run. */
const withServer = <A, E>(
  connect: ReturnType<typeof Servers.connectTo>,
  test: (connection: McpConnection) => Effect.Effect<A, E>
) =>
  Effect.gen(function*() {
    let pid = 0
    yield* Effect.scoped(Effect.gen(function*() {
      const connection = yield* connect
      pid = (yield* connection.report).pid ?? 0
      yield* test(connection)
    }))
    assert.isAbove(pid, 0)
    assert.isTrue(yield* gone(pid), "the server's process group has ended")
  }).pipe(Effect.provide(layer))

const jsonOf = (text: string): JsonRpcObject => JSON.parse(text.slice(text.indexOf("{"))) as JsonRpcObject

describe("sdk 1.32.2, every legacy revision", () => {
  for (const version of legacyVersions) {
    it.live(`1.2 ${version}: handshake, lists, calls, resources, prompts, completion, logging, roots, list_changed`, () =>
      Effect.gen(function*() {
        const changed = yield* Queue.unbounded<McpListKind>()
        const updated = yield* Queue.unbounded<string>()
        const logs = yield* Queue.unbounded<McpLogMessage>()
        const steps: Array<number> = []
        const handlers: McpHandlers = {
          roots: Effect.succeed([{ uri: "file:///work/project", name: "project" }]),
          onListChanged: (kind) => Queue.offer(changed, kind),
          onResourceUpdated: (uri) => Queue.offer(updated, uri),
          onLog: (message) => Queue.offer(logs, message)
        }
        yield* withServer(
          Servers.connectTo(Servers.legacy(version), { handlers }),
          (connection) =>
            Effect.gen(function*() {
              assert.strictEqual(connection.era, "legacy")
              assert.strictEqual(connection.version, version)
              assert.deepStrictEqual(connection.server_info, { name: "legacy", version: "1.0.0" })
              assert.strictEqual(connection.instructions, "Ask before you act.")
              const tools = yield* connection.listTools
              assert.deepStrictEqual(tools.items.map(({ name }) => name), [
                "add",
                "fail",
                "roots",
                "grow",
                "slow",
                "log"
              ])
              assert.strictEqual(tools.problem, null)
              const sum = yield* connection.callTool("add", { a: 2, b: 3 })
              assert.deepStrictEqual(sum.structured_content, { sum: 5 })
              assert.strictEqual(sum.schema_problem, null)
              assert.strictEqual(Servers.textOf(sum), "5")
              assert.isTrue((yield* connection.callTool("fail", {})).is_error)
              assert.deepStrictEqual(jsonOf(Servers.textOf(yield* connection.callTool("roots", {}))), {
                roots: [{ uri: "file:///work/project", name: "project" }]
              })
              yield* connection.callTool("slow", {}, {
                onProgress: ({ progress, total }) =>
                  Effect.sync(() => {
                    assert.strictEqual(total, 3)
                    steps.push(progress)
                  })
              })
              assert.deepStrictEqual(steps, [1, 2, 3])
              yield* connection.setLogLevel("info")
              yield* connection.callTool("log", {})
              assert.deepStrictEqual(yield* Queue.take(logs), { level: "warning", logger: "here", data: { x: 1 } })
              const resources = yield* connection.listResources
              assert.deepStrictEqual(resources.items.map(({ uri }) => uri), ["note://one", "note://blob"])
              assert.deepStrictEqual(yield* connection.readResource("note://one"), [
                { uri: "note://one", mime_type: "text/plain", text: "a note" }
              ])
              assert.deepStrictEqual(yield* connection.readResource("note://blob"), [{
                uri: "note://blob",
                blob: "AP8="
              }])
              const templates = yield* connection.listResourceTemplates
              assert.deepStrictEqual(templates.items.map((each) => each.uri_template), ["note://named/{name}"])
              const prompts = yield* connection.listPrompts
              assert.deepStrictEqual(prompts.items.map((prompt) => [prompt.name, prompt.arguments]), [
                ["greet", [{ name: "who", required: true }]]
              ])
              assert.deepStrictEqual(yield* connection.getPrompt("greet", { who: "you" }), {
                messages: [{ role: "user", content: { type: "text", text: "Hello you" } }]
              })
              const words = yield* connection.complete({
                ref: { type: "prompt", name: "greet" },
                argument: { name: "who", value: "w" }
              })
              assert.deepStrictEqual(words.values, ["world"])
              yield* connection.subscribeResource("note://one")
              assert.strictEqual(yield* Queue.take(updated), "note://one")
              yield* connection.unsubscribeResource("note://one")
              yield* Queue.takeAll(changed)
              yield* connection.callTool("grow", {})
              assert.strictEqual(yield* Queue.take(changed), "tools")
              assert.include((yield* connection.listTools).items.map(({ name }) => name), "grown")
              yield* connection.ping
              const error = yield* Effect.flip(connection.readResource("note://none"))
              assert.strictEqual(error.reason, "rpc")
            })
        )
      }))
  }
})

describe("server 2.4.0, both eras", () => {
  const handlers = (asked: Array<unknown>): McpHandlers => ({
    roots: Effect.succeed([{ uri: "file:///work/project" }]),
    elicitForm: (request, asking) =>
      Effect.sync(() => {
        asked.push(request.fields.map(({ kind, name }) => `${name}:${kind}`), asking.call)
        return { action: "accept", content: { name: "Anna" } }
      }),
    sampling: (request) =>
      Effect.sync(() => {
        asked.push(request.max_tokens)
        return { model: "m", content: [{ type: "text", text: "Paris" }], stop_reason: "endTurn" }
      })
  })

  for (const [era, version] of [["modern", "2026-07-28"], ["legacy", "2025-11-25"]] as const) {
    it.live(`1.2 ${era}: found out or chosen, rounds of input, state byte for byte, progress`, () =>
      Effect.gen(function*() {
        const asked: Array<unknown> = []
        const connect = Servers.connectTo(Servers.modern(), {
          protocol: era === "modern" ? "auto" : "legacy",
          handlers: handlers(asked)
        })
        yield* withServer(connect, (connection) =>
          Effect.gen(function*() {
            assert.strictEqual(connection.era, era)
            assert.strictEqual(connection.version, version)
            assert.strictEqual(connection.server_info?.name, "modern")
            assert.strictEqual(connection.instructions, "Modern.")
            const tools = yield* connection.listTools
            assert.strictEqual(tools.problem, null)
            assert.include(tools.items.map(({ name }) => name), "ask")
            assert.deepStrictEqual((yield* connection.callTool("add", { a: 1, b: 2 })).structured_content, { sum: 3 })
            const answer = jsonOf(Servers.textOf(yield* connection.callTool("ask", {}, { token: "call-1" })))
            assert.deepStrictEqual(answer["same"], true)
            assert.deepStrictEqual(Reflect.get(answer["answers"] as object, "who"), {
              action: "accept",
              content: { name: "Anna", age: 7 }
            })
            assert.deepStrictEqual(asked, [["name:string", "age:integer"], { tool: "ask", token: "call-1" }, 10])
            assert.strictEqual(Servers.textOf(yield* connection.callTool("again", { rounds: 7 })), "after 7")
            const steps: Array<number> = []
            yield* connection.callTool("slow", {}, {
              onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
            })
            assert.deepStrictEqual(steps, [1, 2, 3])
            assert.deepStrictEqual((yield* connection.getPrompt("greet", { who: "you" })).messages, [
              { role: "user", content: { type: "text", text: "Hello you" } }
            ])
            assert.deepStrictEqual(yield* connection.readResource("note://named/bert"), [
              { uri: "note://named/bert", text: "note of bert" }
            ])
            yield* connection.ping
          }))
      }))
  }

  it.live("1.2 modern: a server that takes longer to start than silence may last", () =>
    Effect.gen(function*() {
      const [node, file] = Servers.modern()
      const slow = `setTimeout(() => import(${JSON.stringify(file)}), 2300)`
      yield* withServer(Servers.connectTo([node, "-e", slow, "serve"]), (connection) =>
        Effect.gen(function*() {
          assert.include(["2026-07-28", "2025-11-25"], connection.version)
          assert.deepStrictEqual((yield* connection.callTool("add", { a: 1, b: 2 })).structured_content, { sum: 3 })
        }))
    }))

  it.live("1.2 modern: at most 10 rounds", () =>
    withServer(Servers.connectTo(Servers.modern()), (connection) =>
      Effect.gen(function*() {
        assert.strictEqual(Servers.textOf(yield* connection.callTool("again", { rounds: 10 })), "after 10")
        const error = yield* Effect.flip(connection.callTool("again", { rounds: 11 }))
        assert.strictEqual(error.reason, "too_many_rounds")
      })))

  it.live("1.2 modern: changes come on subscriptions/listen, resources when subscribed to", () =>
    Effect.gen(function*() {
      const changed = yield* Queue.unbounded<McpListKind>()
      const updated = yield* Queue.unbounded<string>()
      const connect = Servers.connectTo(Servers.modern(), {
        handlers: {
          onListChanged: (kind) => Queue.offer(changed, kind),
          onResourceUpdated: (uri) => Queue.offer(updated, uri)
        }
      })
      yield* withServer(connect, (connection) =>
        Effect.gen(function*() {
          // A second subscription is acknowledged after the first one: from here on both are there.
          yield* connection.subscribeResource("note://one")
          yield* connection.callTool("grow", {})
          assert.strictEqual(yield* Queue.take(changed), "tools")
          yield* connection.callTool("touch", {})
          assert.strictEqual(yield* Queue.take(updated), "note://one")
          yield* connection.unsubscribeResource("note://one")
        }))
    }))

  it.live("1.2 modern: a server of this era alone, forced and found out; legacy forced fails by name", () =>
    Effect.gen(function*() {
      for (const protocol of ["auto", "2026-07-28"] as const) {
        yield* withServer(
          Servers.connectTo(Servers.modern("reject"), { protocol, era: "legacy" }),
          (connection) => Effect.sync(() => assert.strictEqual(connection.version, "2026-07-28"))
        )
      }
      const error = yield* Effect.flip(
        Effect.scoped(Servers.connectTo(Servers.modern("reject"), { protocol: "legacy" }))
      )
      assert.include(["rpc", "unsupported_protocol_version"], error.reason)
    }).pipe(Effect.provide(layer)))
})

describe("server-everything", () => {
  const all = (answers: { readonly form: McpHandlers["elicitForm"] }): McpHandlers => ({
    roots: Effect.succeed([{ uri: "file:///work/project", name: "project" }]),
    sampling: (request) =>
      Effect.succeed({ model: "scripted", content: [{ type: "text", text: `said ${request.max_tokens}` }] }),
    elicitUrl: () => Effect.succeed("decline"),
    ...(answers.form === undefined ? {} : { elicitForm: answers.form })
  })

  it.live("1.2, 1.12 legacy by its error; tools, sampling, forms of every kind with defaults, roots", () =>
    withServer(
      Servers.connectTo(Servers.everything, {
        handlers: all({ form: () => Effect.succeed({ action: "accept", content: { name: "Anna", email: "a@b.c" } }) })
      }),
      (connection) =>
        Effect.gen(function*() {
          assert.strictEqual(connection.era, "legacy")
          assert.strictEqual(connection.version, "2025-11-25")
          const names = (yield* connection.listTools).items.map(({ name }) => name)
          assert.include(names, "trigger-sampling-request")
          assert.include(names, "trigger-elicitation-request")
          assert.strictEqual(Servers.textOf(yield* connection.callTool("echo", { message: "hi" })), "Echo: hi")
          const sampled = jsonOf(Servers.textOf(
            yield* connection.callTool("trigger-sampling-request", { prompt: "x", maxTokens: 7 })
          ))
          assert.deepStrictEqual(sampled["content"], { type: "text", text: "said 7" })
          const formed = Servers.textOf(yield* connection.callTool("trigger-elicitation-request", {}))
          const raw = jsonOf(formed.slice(formed.indexOf("Raw result")))
          assert.deepStrictEqual(raw, {
            action: "accept",
            content: {
              name: "Anna",
              firstLine: "It was a dark and stormy night.",
              email: "a@b.c",
              integer: 42,
              number: 3.14,
              untitledSingleSelectEnum: "Monica",
              untitledMultipleSelectEnum: ["Guitar"],
              titledSingleSelectEnum: "hero-1",
              titledMultipleSelectEnum: ["fish-1"],
              legacyTitledEnum: "pet-1"
            }
          })
          assert.include(Servers.textOf(yield* connection.callTool("get-roots-list", {})), "file:///work/project")
          const structured = yield* connection.callTool("get-structured-content", { location: "New York" })
          assert.strictEqual(structured.schema_problem, null)
          assert.isDefined(structured.structured_content)
          const kinds = (yield* connection.callTool("get-tiny-image", {})).content.map(({ type }) => type)
          assert.include(kinds, "image")
          const steps: Array<number> = []
          yield* connection.callTool("trigger-long-running-operation", { duration: 0.1, steps: 3 }, {
            onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
          })
          assert.deepStrictEqual(steps, [1, 2, 3])
          const resources = yield* connection.listResources
          assert.isAbove(resources.items.length, 0)
          assert.isAbove((yield* connection.listResourceTemplates).items.length, 0)
          assert.isAbove((yield* connection.listPrompts).items.length, 0)
        })
    ))

  it.live("1.12 decline and cancel are two answers, and an answer that does not fit is a cancel", () =>
    Effect.gen(function*() {
      const answers = [
        { action: "decline" },
        { action: "cancel" },
        { action: "accept", content: { name: "A", email: "no address" } }
      ] as const
      let next = 0
      const form: McpHandlers["elicitForm"] = () => Effect.sync(() => answers[next++] ?? { action: "cancel" })
      yield* withServer(
        Servers.connectTo(Servers.everything, { handlers: all({ form }) }),
        (connection) =>
          Effect.gen(function*() {
            yield* connection.listTools
            const said: Array<unknown> = []
            for (const _ of answers) {
              const text = Servers.textOf(yield* connection.callTool("trigger-elicitation-request", {}))
              said.push(jsonOf(text.slice(text.indexOf("Raw result"))))
            }
            assert.deepStrictEqual(said, [{ action: "decline" }, { action: "cancel" }, { action: "cancel" }])
          })
      )
    }))

  it.live("2025-11-25 tasks: a tool that only runs as one, with a question in between", () =>
    Effect.gen(function*() {
      const asking = yield* Deferred.make<string | null>()
      const form: McpHandlers["elicitForm"] = (request, { call }) => {
        const [field] = request.fields
        return Effect.as(Deferred.succeed(asking, call?.token ?? null), {
          action: "accept",
          content: field?.kind === "choice" ? { interpretation: field.choices[0]?.value ?? "" } : {}
        })
      }
      yield* withServer(Servers.connectTo(Servers.everything, { handlers: all({ form }) }), (connection) =>
        Effect.gen(function*() {
          const tools = yield* connection.listTools
          const tool = tools.items.find(({ name }) =>
            name === "simulate-research-query"
          )
          assert.strictEqual(tool?.task, "required")
          const result = yield* connection.callTool("simulate-research-query", { topic: "python", ambiguous: true }, {
            token: "call-9"
          })
          assert.isFalse(result.is_error)
          assert.include(Servers.textOf(result), "python")
          assert.strictEqual(yield* Deferred.await(asking), "call-9")
        }))
    }))
})

describe("server-filesystem, server-memory", () => {
  it.live("1.3 reads a file under its root, asked for by argument", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = fs.realpathSync(yield* Servers.scratch)
      fs.writeFileSync(path.join(root, "a.txt"), "words")
      yield* withServer(Servers.connectTo(Servers.filesystem(root)), (connection) =>
        Effect.gen(function*() {
          assert.strictEqual((yield* connection.listTools).items.length, 14)
          const result = yield* connection.callTool("read_text_file", { path: path.join(root, "a.txt") })
          assert.strictEqual(Servers.textOf(result), "words")
          assert.strictEqual(result.schema_problem, null)
          assert.isTrue((yield* connection.callTool("read_text_file", { path: "/etc/passwd" })).is_error)
        }))
    })))

  it.live("1.3 keeps what it was given, in the file that its environment names", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = yield* Servers.scratch
      const file = path.join(root, "memory.json")
      yield* withServer(
        Servers.connectTo(Servers.memory, {}, { env: { MEMORY_FILE_PATH: file } }),
        (connection) =>
          Effect.gen(function*() {
            assert.strictEqual((yield* connection.listTools).items.length, 9)
            const result = yield* connection.callTool("create_entities", {
              entities: [{ name: "anna", entityType: "person", observations: ["sings"] }]
            })
            assert.isFalse(result.is_error)
            assert.strictEqual(result.schema_problem, null)
          })
      )
      assert.include(fs.readFileSync(file, "utf8"), "anna")
    })))
})
