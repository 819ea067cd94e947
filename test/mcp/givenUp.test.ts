/** What is left of a call that nobody waits for any more, and calls that were never sent (readings 1.4, 1.5, 1.12). */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as JsonRpc from "../../src/codec/JsonRpc.ts"
import { connect } from "../../src/mcp/Connect.ts"
import type { ConnectOptions, McpHandlers } from "../../src/mcp/Connection.ts"
import * as Memory from "../support/mcp/memory.ts"
import { settled } from "../support/wire.ts"

const client: ConnectOptions = { client_info: { name: "hanzo-dev", version: "0.1.0" } }
const to = (memory: Memory.Memory, options: Partial<ConnectOptions> = {}) =>
  connect(memory.transport, { ...client, ...options })

const form = { message: "?", requestedSchema: { type: "object", properties: {} } }
const sampling = { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 5 }

/** Never answers, and says whether it still asks. */
const asking = () => {
  const on = new Set<string>()
  const ask = (name: string) =>
    Effect.onInterrupt(
      Effect.zipRight(Effect.sync(() => on.add(name)), Effect.never),
      () => Effect.sync(() => on.delete(name))
    )
  const handlers: McpHandlers = {
    elicitForm: () => ask("form"),
    elicitUrl: () => ask("url"),
    sampling: () => ask("sampling")
  }
  return { on, handlers }
}

describe("questions of a call that is given up", () => {
  it.scoped("1.12 are asked no longer: forms and addresses are cancelled, the model is not asked on", () =>
    Effect.gen(function*() {
      const { handlers, on } = asking()
      const memory = Memory.make(Memory.legacy(() => undefined))
      const connection = yield* to(memory, { handlers })
      const call = yield* Effect.fork(connection.callTool("t", {}))
      yield* settled
      memory.say(JsonRpc.request("form", "elicitation/create", form))
      memory.say(JsonRpc.request("url", "elicitation/create", { mode: "url", message: "?", url: "https://x.example/" }))
      memory.say(JsonRpc.request("sampling", "sampling/createMessage", sampling))
      yield* settled
      assert.sameMembers([...on], ["form", "url", "sampling"])
      yield* Fiber.interrupt(call)
      yield* settled
      assert.deepStrictEqual([...on], [])
      const answers = new Map(memory.answers().map((answer) => ["id" in answer ? answer.id : null, answer]))
      assert.deepStrictEqual(answers.get("form"), JsonRpc.success("form", { action: "cancel" }))
      assert.deepStrictEqual(answers.get("url"), JsonRpc.success("url", { action: "cancel" }))
      assert.include(JSON.stringify(answers.get("sampling")), "given up")
    }))

  it.scoped("1.12 those of another call, and of one that was answered, are asked on", () =>
    Effect.gen(function*() {
      const { handlers, on } = asking()
      const memory = Memory.make(Memory.legacy(() => undefined))
      const connection = yield* to(memory, { handlers })
      const calls = yield* Effect.forEach([1, 2], () => Effect.fork(connection.callTool("t", {})))
      yield* settled
      // which of two calls it belongs to is not certain
      memory.say(JsonRpc.request("form", "elicitation/create", form))
      yield* settled
      yield* Fiber.interruptAll(calls.slice(0, 1))
      yield* settled
      assert.deepStrictEqual([...on], ["form"])
      // now it is; a server may ask on behind its answer
      memory.say(JsonRpc.request("sampling", "sampling/createMessage", sampling))
      yield* settled
      memory.say(JsonRpc.success(4, { content: [] }))
      yield* Fiber.join(calls[1] ?? Fiber.never)
      yield* settled
      assert.sameMembers([...on], ["form", "sampling"])
    }))

  it.scoped("2025-11-25 tasks: between two looks at the task, too", () =>
    Effect.gen(function*() {
      const { handlers, on } = asking()
      const memory = Memory.make(Memory.legacy(({ method }) =>
        method === "tools/call"
          ? { task: { taskId: "T", status: "working", pollInterval: 5_000 } }
          : method === "tasks/get"
          ? { taskId: "T", status: "working", pollInterval: 5_000 }
          : {}
      ))
      const connection = yield* to(memory, { handlers })
      const tool = { name: "t", description: "", input_schema: {}, task: "required", raw: {} } as const
      const call = yield* Effect.fork(connection.callTool("t", {}, { tool }))
      yield* settled
      memory.say(JsonRpc.request("q", "elicitation/create", {
        ...form,
        _meta: { "io.modelcontextprotocol/related-task": { taskId: "T" } }
      }))
      yield* settled
      assert.deepStrictEqual([...on], ["form"])
      yield* Fiber.interrupt(call)
      yield* settled
      assert.deepStrictEqual([...on], [])
    }))
})

describe("tasks that are given up before they have a name", () => {
  const tool = { name: "t", description: "", input_schema: {}, task: "required", raw: {} } as const
  const born = (created: Deferred.Deferred<object>) =>
    Memory.make(Memory.legacy(({ method }) => method === "tools/call" ? Deferred.await(created) : {}))

  it.scoped("2025-11-25 the answer that comes late names the task, which is cancelled by that", () =>
    Effect.gen(function*() {
      const created = yield* Deferred.make<object>()
      const memory = born(created)
      const connection = yield* to(memory)
      const call = yield* Effect.fork(connection.callTool("t", {}, { tool }))
      yield* settled
      yield* Fiber.interrupt(call)
      yield* Deferred.succeed(created, { task: { taskId: "T", status: "working" } })
      yield* settled
      assert.deepStrictEqual(memory.paramsOf("tasks/cancel").map(({ taskId }) => taskId), ["T"])
      assert.deepStrictEqual(memory.paramsOf("notifications/cancelled"), [])
      assert.deepStrictEqual(connection.calls(), [])
    }))

  it.scoped("2025-11-25 no answer: the request is cancelled, after a while", () =>
    Effect.gen(function*() {
      const memory = born(yield* Deferred.make<object>())
      const connection = yield* to(memory)
      const call = yield* Effect.fork(connection.callTool("t", {}, { tool }))
      yield* settled
      yield* Fiber.interrupt(call)
      yield* TestClock.adjust(Duration.seconds(2))
      yield* settled
      assert.deepStrictEqual(memory.paramsOf("notifications/cancelled").map(({ requestId }) => requestId), [3])
      assert.deepStrictEqual(connection.calls(), [])
    }))
})

describe("what goes out", () => {
  it.scoped("1.5 a call behind the end of its connection was not sent, and says so", () =>
    Effect.gen(function*() {
      const memory = Memory.make(Memory.legacy(() => undefined))
      const connection = yield* to(memory)
      const call = yield* Effect.fork(Effect.flip(connection.callTool("t", {})))
      yield* settled
      yield* memory.end(Memory.error("exited"))
      assert.strictEqual((yield* Fiber.join(call)).sent, undefined)
      const late = yield* Effect.flip(connection.callTool("t", {}))
      assert.deepStrictEqual([late.reason, late.sent], ["exited", false])
      assert.include(late.message, "played")
    }))

  it.scoped("1.4 `_meta` of the caller: kept, but for a progress token, which could be that of another request", () =>
    Effect.gen(function*() {
      const progress: Array<number> = []
      const memory = Memory.make(Memory.legacy(() => undefined))
      const connection = yield* to(memory)
      const onProgress = ({ progress: at }: { readonly progress: number }) => Effect.sync(() => void progress.push(at))
      yield* Effect.fork(connection.callTool("t", {}, { onProgress }))
      yield* settled
      const given = { progressToken: 3, traceparent: "theirs", "x/y": 1 }
      const sent = yield* Effect.fork(Effect.flip(connection.send(JsonRpc.request("a", "m", { _meta: given }))))
      yield* settled
      assert.deepStrictEqual(memory.paramsOf("m"), [{ _meta: { ...given, progressToken: 4 } }])
      // a sign of life of the one, and no progress of the other
      yield* TestClock.adjust(Duration.seconds(59))
      memory.say(JsonRpc.notification("notifications/progress", { progressToken: 4, progress: 1 }))
      yield* settled
      yield* TestClock.adjust(Duration.seconds(59))
      assert.strictEqual((yield* Fiber.poll(sent))._tag, "None")
      assert.deepStrictEqual([progress, connection.calls().length], [[], 0])
    }))
})
