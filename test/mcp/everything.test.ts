/**
 * The reference servers over stdio, whole: every tool, prompt and resource that they list is used, so that a new one fails the
 * test until it is used too (readings 1.2, 1.11, 1.12, 1.14).
 */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Queue from "effect/Queue"
import * as fs from "node:fs"
import * as path from "node:path"
import type { JsonRpcObject } from "../../src/codec/JsonRpc.ts"
import type { McpCallResult, McpConnection, McpHandlers, McpLogMessage } from "../../src/mcp/Connection.ts"
import type { McpError } from "../../src/mcp/McpError.ts"
import { AppendLog } from "../../src/platform/AppendLog.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { gone } from "../support/processes.ts"
import * as Servers from "../support/mcp/servers.ts"

const layer = Layer.mergeAll(Processes.layer, AppendLog.layer, Logger.remove(Logger.defaultLogger))

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

type Use = readonly [
  tool: string,
  args: JsonRpcObject,
  check: (result: McpCallResult, text: string) => void
]

const includes = (...words: ReadonlyArray<string>): Use[2] => (result, text) => {
  assert.isFalse(result.is_error, text)
  for (const word of words) assert.include(text, word)
}

/** All tools of the listing, one after the other, and none besides. */
const useAll = (connection: McpConnection, uses: ReadonlyArray<Use>): Effect.Effect<void, McpError> =>
  Effect.gen(function*() {
    const listing = yield* connection.listTools
    assert.strictEqual(listing.problem, null)
    assert.deepStrictEqual(listing.dropped, [])
    assert.sameMembers([...new Set(uses.map(([tool]) => tool))], listing.items.map(({ name }) => name))
    for (const [tool, args, check] of uses) {
      const result = yield* connection.callTool(tool, args)
      assert.strictEqual(result.schema_problem, null, tool)
      check(result, Servers.textOf(result))
    }
  })

const kinds = (result: McpCallResult): ReadonlyArray<string> => result.content.map(({ type }) => type)

describe("server-everything", () => {
  it.live("every tool, its questions answered, its progress and log messages heard", () =>
    Effect.gen(function*() {
      const logs = yield* Queue.unbounded<McpLogMessage>()
      const updates = yield* Queue.unbounded<string>()
      const handlers: McpHandlers = {
        roots: Effect.succeed([{ uri: "file:///work/project", name: "project" }]),
        sampling: ({ max_tokens }) =>
          Effect.succeed({ model: "scripted", content: [{ type: "text", text: `said ${max_tokens}` }] }),
        elicitForm: () => Effect.succeed({ action: "accept", content: { name: "Ada" } }),
        elicitUrl: ({ host }) => Effect.succeed(host === "example.com" ? "accept" : "decline"),
        onLog: (message) => Queue.offer(logs, message),
        onResourceUpdated: (uri) => Queue.offer(updates, uri)
      }
      const uri = "demo://resource/dynamic/text/1"
      yield* withServer(Servers.connectTo(Servers.everything, { handlers }), (connection) =>
        Effect.gen(function*() {
          yield* connection.setLogLevel("debug")
          yield* connection.subscribeResource(uri)
          yield* useAll(connection, [
            ["echo", { message: "hi" }, includes("Echo: hi")],
            ["get-annotated-message", { messageType: "error", includeImage: true }, (result) => {
              assert.deepStrictEqual(kinds(result), ["text", "image"])
            }],
            ["get-env", {}, includes("PATH")],
            ["get-resource-links", { count: 3 }, (result) => {
              assert.strictEqual(kinds(result).filter((type) => type === "resource_link").length, 3)
            }],
            ["get-resource-reference", { resourceType: "Blob", resourceId: 2 }, (result) => {
              assert.include(kinds(result), "resource")
            }],
            ["get-structured-content", { location: "Chicago" }, (result) => {
              assert.hasAllKeys(result.structured_content, ["temperature", "conditions", "humidity"])
            }],
            ["get-sum", { a: 2, b: 40 }, includes("42")],
            ["get-tiny-image", {}, (result) => assert.include(kinds(result), "image")],
            [
              "gzip-file-as-resource",
              { name: "a.gz", data: "data:text/plain,hello", outputType: "resource" },
              (result) => {
                assert.deepStrictEqual(kinds(result), ["resource"])
              }
            ],
            ["toggle-simulated-logging", {}, includes("Started")],
            ["toggle-subscriber-updates", {}, includes("Started")],
            ["trigger-long-running-operation", { duration: 0.1, steps: 2 }, includes("completed")],
            ["get-roots-list", {}, includes("file:///work/project")],
            ["trigger-elicitation-request", {}, includes("Ada", "It was a dark and stormy night.")],
            ["trigger-url-elicitation", { url: "https://example.com/visit" }, includes("accept")],
            ["trigger-sampling-request", { prompt: "x", maxTokens: 7 }, includes("said 7")],
            ["simulate-research-query", { topic: "python" }, includes("python")]
          ])
          assert.include(
            ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"],
            (yield* Queue.take(logs)).level
          )
          assert.strictEqual(yield* Queue.take(updates), uri)
          yield* connection.unsubscribeResource(uri)
        }))
    }), 60_000)

  it.live(
    "every prompt, every resource, every template, completion, ping",
    () =>
      withServer(Servers.connectTo(Servers.everything), (connection) =>
        Effect.gen(function*() {
          const given: Readonly<Record<string, Readonly<Record<string, string>>>> = {
            "simple-prompt": {},
            "args-prompt": { city: "Paris", state: "Texas" },
            "completable-prompt": { department: "Engineering", name: "Alice" },
            "resource-prompt": { resourceType: "Text", resourceId: "1" }
          }
          const prompts = yield* connection.listPrompts
          assert.sameMembers(prompts.items.map(({ name }) => name), Object.keys(given))
          for (const { name } of prompts.items) {
            const { messages } = yield* connection.getPrompt(name, given[name] ?? {})
            assert.isAbove(messages.length, 0, name)
            if (name === "args-prompt") assert.include(JSON.stringify(messages), "Paris, Texas")
            if (name === "resource-prompt") assert.include(messages.map(({ content }) => content.type), "resource")
          }
          const completion = yield* connection.complete({
            ref: { type: "prompt", name: "completable-prompt" },
            argument: { name: "department", value: "Eng" }
          })
          assert.deepStrictEqual(completion.values, ["Engineering"])
          const resources = yield* connection.listResources
          assert.isAtLeast(resources.items.length, 7)
          for (const { uri } of resources.items) {
            const [content] = yield* connection.readResource(uri)
            assert.isAbove(content !== undefined && "text" in content ? content.text.length : 0, 0, uri)
          }
          const templates = (yield* connection.listResourceTemplates).items.map(({ uri_template }) => uri_template)
          assert.sameMembers(templates, [
            "demo://resource/dynamic/text/{resourceId}",
            "demo://resource/dynamic/blob/{resourceId}"
          ])
          for (const template of templates) {
            const [content] = yield* connection.readResource(template.replace("{resourceId}", "3"))
            assert.isDefined(content)
            if (content !== undefined) assert.property(content, template.includes("/blob/") ? "blob" : "text")
          }
          yield* connection.ping
        })),
    60_000
  )

  it.live(
    "a long operation: progress, then given up; the server is told, and goes on",
    () =>
      withServer(Servers.connectTo(Servers.everything), (connection) =>
        Effect.gen(function*() {
          const begun = yield* Deferred.make<number>()
          const fiber = yield* Effect.fork(
            connection.callTool("trigger-long-running-operation", { duration: 60, steps: 600 }, {
              onProgress: ({ total }) => Effect.asVoid(Deferred.succeed(begun, total ?? 0))
            })
          )
          assert.strictEqual(yield* Deferred.await(begun), 600)
          assert.strictEqual(connection.calls().length, 1)
          yield* Fiber.interrupt(fiber)
          assert.deepStrictEqual(connection.calls(), [])
          const after = yield* connection.callTool("echo", { message: "after" })
          assert.strictEqual(Servers.textOf(after), "Echo: after")
        })),
    60_000
  )
})

describe("server-filesystem", () => {
  it.live("every tool", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = fs.realpathSync(yield* Servers.scratch)
      const file = (name: string): string => path.join(root, name)
      fs.writeFileSync(file("a.txt"), "one\ntwo\nthree\n")
      fs.writeFileSync(file("p.png"), Buffer.from("iVBORw0KGgo=", "base64"))
      yield* withServer(Servers.connectTo(Servers.filesystem(root)), (connection) =>
        useAll(connection, [
          ["list_allowed_directories", {}, includes(root)],
          ["read_file", { path: file("a.txt") }, includes("three")],
          ["read_text_file", { path: file("a.txt"), head: 1 }, (result, text) => {
            assert.isFalse(result.is_error)
            assert.strictEqual(text, "one")
          }],
          ["read_media_file", { path: file("p.png") }, (result) => assert.deepStrictEqual(kinds(result), ["image"])],
          ["read_multiple_files", { paths: [file("a.txt"), file("none.txt")] }, includes("two", "none.txt")],
          ["write_file", { path: file("b.txt"), content: "new" }, includes("b.txt")],
          ["edit_file", { path: file("b.txt"), edits: [{ oldText: "new", newText: "newer" }] }, includes("+newer")],
          ["create_directory", { path: file("sub") }, includes("sub")],
          ["move_file", { source: file("b.txt"), destination: file("sub/c.txt") }, () => {
            assert.strictEqual(fs.readFileSync(file("sub/c.txt"), "utf8"), "newer")
          }],
          ["list_directory", { path: root }, includes("[DIR] sub", "[FILE] a.txt")],
          ["list_directory_with_sizes", { path: root }, includes("a.txt")],
          ["directory_tree", { path: root }, includes("c.txt")],
          ["search_files", { path: root, pattern: "**/*.txt" }, includes("c.txt", "a.txt")],
          ["get_file_info", { path: file("a.txt") }, includes("size: 14")]
        ]))
    })), 60_000)
})

describe("server-memory", () => {
  it.live("every tool, and its resource", () =>
    Effect.scoped(Effect.gen(function*() {
      const stored = path.join(yield* Servers.scratch, "memory.jsonl")
      const relations = [{ from: "Ada", to: "Engine", relationType: "wrote for" }]
      yield* withServer(Servers.connectTo(Servers.memory, {}, { env: { MEMORY_FILE_PATH: stored } }), (connection) =>
        Effect.gen(function*() {
          yield* useAll(connection, [
            ["create_entities", {
              entities: [
                { name: "Ada", entityType: "person", observations: ["counts"] },
                { name: "Engine", entityType: "machine", observations: [] }
              ]
            }, includes("Ada")],
            ["create_relations", { relations }, includes("wrote for")],
            ["add_observations", { observations: [{ entityName: "Ada", contents: ["sings"] }] }, includes("sings")],
            ["read_graph", {}, includes("Ada", "Engine", "wrote for")],
            ["search_nodes", { query: "sings" }, includes("Ada")],
            ["open_nodes", { names: ["Engine"] }, includes("machine")],
            [
              "delete_observations",
              { deletions: [{ entityName: "Ada", observations: ["counts"] }] },
              includes("deleted")
            ],
            ["delete_relations", { relations }, includes("deleted")],
            ["delete_entities", { entityNames: ["Engine"] }, includes("deleted")]
          ])
          const [resource] = (yield* connection.listResources).items
          assert.isDefined(resource)
          const graph = JSON.stringify(yield* connection.readResource(resource?.uri ?? ""))
          assert.include(graph, "sings")
          assert.notInclude(graph, "Engine")
        }))
      assert.include(fs.readFileSync(stored, "utf8"), "Ada")
    })), 60_000)
})
