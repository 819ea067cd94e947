/** The servers of a workspace under a virtual clock: every server is a function in memory. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { JsonRpcMessage, JsonRpcObject } from "../../src/codec/JsonRpc.ts"
import * as Load from "../../src/config/Load.ts"
import type { AgentEventBody } from "../../src/domain/AgentEvent.ts"
import type { ApiClientService } from "../../src/domain/ApiClient.ts"
import type { PermissionsService } from "../../src/permissions/Permissions.ts"
import type { McpRun, McpToolCall } from "../../src/mcp/Asking.ts"
import { make, type McpService, type McpWorld } from "../../src/mcp/Mcp.ts"
import { McpError } from "../../src/mcp/McpError.ts"
import { logTo } from "../support/logged.ts"
import * as Memory from "../support/mcp/memory.ts"

const tool = (name: string, more: object = {}): JsonRpcObject => ({ name, inputSchema: { type: "object" }, ...more })

const listing = (...names: ReadonlyArray<string>): Memory.Play => ({ method }) =>
  method === "tools/list"
    ? { tools: names.map((name) => tool(name)) }
    : method === "tools/call"
    ? { content: [{ type: "text", text: "called" }] }
    : {}

interface World {
  readonly mcp: McpService
  readonly events: Array<AgentEventBody>
  readonly run: McpRun
  readonly call: (name: string, input?: object) => Effect.Effect<string, McpError>
  readonly context: McpToolCall
  readonly worldOf: (servers: Readonly<Record<string, object>>) => McpWorld
}

const allow: PermissionsService = {
  authorize: () => Effect.succeed({ allowed: true, decided_by: "rule" }),
  evaluate: () => ({ mode: "allow", rule_index: null, rule_matched: null, reason: null }),
  recordSteps: () => Effect.void
}

const api: ApiClientService = {
  sendMessage: () =>
    Stream.make(
      { type: "content_delta", text: "sampled" } as const,
      { type: "message_stop", stop_reason: "end_turn" } as const
    )
}

/** Definitions with what plays them, by name. */
const world = (
  servers: Readonly<Record<string, readonly [definition: object, memory: Memory.Memory]>>,
  more: object = {}
) =>
  Effect.gen(function*() {
    const events: Array<AgentEventBody> = []
    const worldOf = (definitions: Readonly<Record<string, object>>): McpWorld => ({
      config: Load.ofText(JSON.stringify({ mcp_servers: definitions, ...more })),
      root: "/work/project",
      variable: (name) => name === "GIVEN" ? "given" : undefined,
      join: (root, path) => `${root}/${path}`,
      roots: [{ uri: "file:///work/project" }],
      transport: ({ server }) => {
        const memory = servers[server]?.[1]
        return memory === undefined
          ? Effect.fail(new McpError({ reason: "config", server, message: "nothing plays it" }))
          : Effect.succeed(memory.transport)
      },
      permissions: allow,
      prompters: [],
      client_info: { name: "test", version: "1" }
    })
    const definitions = Object.fromEntries(
      Object.entries(servers).map(([name, [definition]]) => [name, { command: name, ...definition }])
    )
    const mcp = yield* make(worldOf(definitions))
    const report = (event: AgentEventBody) => Effect.sync(() => void events.push(event))
    const context: McpToolCall = {
      session_id: "ses_1",
      call_id: "call_1",
      mode: "default",
      report,
      emit: (text) => report({ type: "tool.output", call_id: "call_1", text })
    }
    const call: World["call"] = (name, input = {}) =>
      Effect.gen(function*() {
        const found = yield* mcp.find(name)
        if (found === undefined) return yield* Effect.dieMessage(`no tool ${name}: ${yield* mcp.explain(name)}`)
        const result = yield* mcp.call(found, input as Record<string, unknown>, context)
        return result.content.map((block) => String(block["text"])).join("\n")
      })
    return {
      mcp,
      events,
      call,
      context,
      worldOf,
      run: { session_id: "ses_1", mode: "default", model: "fake/model", api, report }
    } satisfies World
  })

const names = (mcp: McpService) => Effect.map(mcp.tools, (tools) => tools.map(({ name }) => name))

const phases = (mcp: McpService) =>
  Effect.map(mcp.status, (all) => Object.fromEntries(all.map(({ phase, server }) => [server, phase])))

/** Takes the connection and says nothing, to nothing. */
const silent = (): Memory.Memory => Memory.make(() => undefined)

/** Lets fibers go on that wait for nothing but each other. */
const settle = Effect.repeatN(Effect.yieldNow(), 200)

const after = (millis: number) => Effect.zipRight(settle, Effect.zipRight(TestClock.adjust(millis), settle))

const counted = (memory: Memory.Memory, method: string): number =>
  memory.methods().filter((each) => each === method).length

describe("starting", () => {
  it.scoped("1.5 nothing connects before a run attends; then all at once, and once", () =>
    Effect.gen(function*() {
      const [a, b] = [Memory.make(Memory.legacy(listing("x"))), Memory.make(Memory.modern(listing("y")))]
      const { events, mcp, run } = yield* world({ a: [{}, a], b: [{}, b] })
      yield* settle
      assert.deepStrictEqual([a.opened(), b.opened()], [0, 0])
      assert.deepStrictEqual(yield* phases(mcp), { a: "idle", b: "idle" })
      yield* Effect.scoped(mcp.attend(run))
      yield* Effect.scoped(mcp.attend(run))
      assert.deepStrictEqual([a.opened(), b.opened()], [1, 1])
      assert.deepStrictEqual(yield* names(mcp), ["mcp__a__x", "mcp__b__y"])
      const ready = events.filter((event) => event.type === "mcp.server" && event.phase === "ready")
      assert.strictEqual(ready.length, 2)
      const states = yield* mcp.status
      assert.deepStrictEqual(states.map(({ era, version }) => [era, version]), [
        ["legacy", "2025-11-25"],
        ["modern", "2026-07-28"]
      ])
    }))

  it.scoped("1.4 a server that needs 20 s: failed after 10 s by default, ready with connect_timeout_ms 30,000", () =>
    Effect.gen(function*() {
      const slow = () =>
        Memory.make((message, say, opening) =>
          message.method === "server/discover"
            ? Effect.delay(Effect.fail(Memory.rpcError(-32_601)), "20 seconds")
            : Memory.legacy(listing("x"))(message, say, opening), { silence: null })
      const [a, b] = [slow(), slow()]
      const { mcp, run } = yield* world({ a: [{}, a], b: [{ connect_timeout_ms: 30_000 }, b] })
      const attending = yield* Effect.fork(Effect.scoped(mcp.attend(run)))
      yield* after(9_999)
      assert.deepStrictEqual(yield* phases(mcp), { a: "connecting", b: "connecting" })
      yield* after(1)
      assert.deepStrictEqual(yield* phases(mcp), { a: "failed", b: "connecting" })
      const [failed] = yield* mcp.status
      assert.strictEqual(failed?.error?.code, "connect_timeout")
      assert.include(failed?.error?.message, "connect_timeout_ms")
      assert.strictEqual(a.closed(), 1)
      yield* after(10_000)
      yield* Fiber.join(attending)
      assert.deepStrictEqual(yield* phases(mcp), { a: "failed", b: "ready" })
      assert.deepStrictEqual(yield* names(mcp), ["mcp__b__x"])
    }))

  it.scoped("1.5 a prompt that waits longer than two seconds says for whom, once", () =>
    Effect.gen(function*() {
      const late = (seconds: number) =>
        Memory.make((message, say, opening) =>
          message.method === "server/discover"
            ? Effect.delay(Effect.fail(Memory.rpcError(-32_601)), `${seconds * 1_000 + 500} millis`)
            : Memory.legacy(listing("x"))(message, say, opening), { silence: null })
      const all = Array.from({ length: 8 }, (_, i) =>
        [`s${i}`, [i === 7 ? { connect_timeout_ms: 9_000 } : {}, late(i)]] as const)
      const { mcp, run } = yield* world(Object.fromEntries(all))
      const said: Array<string> = []
      const attend = Effect.provide(Effect.scoped(mcp.attend(run)), logTo(said))
      const attending = yield* Effect.fork(attend)
      yield* after(1_999)
      assert.deepStrictEqual(said, [])
      yield* after(1)
      yield* after(20_000)
      yield* Fiber.join(attending)
      assert.deepStrictEqual(said, [
        "waiting for 6 MCP servers: s2, s3, s4, s5, s6 and 1 more; the prompt goes on without them after 10000 ms " +
        "(connect_timeout_ms)"
      ])
      // all are there, so that the next one has nothing to say
      const again = yield* Effect.fork(attend)
      yield* after(20_000)
      yield* Fiber.join(again)
      assert.lengthOf(said, 1)
    }))

  it.scoped("1.5 the first prompt waits no longer than the connect limit; late tools are there when they come", () =>
    Effect.gen(function*() {
      const late = Memory.make(Memory.legacy((message, say, opening) =>
        message.method === "tools/list"
          ? Effect.delay(Effect.succeed({ tools: [tool("x")] }), "25 seconds")
          : listing()(message, say, opening)
      ))
      const { events, mcp, run } = yield* world({ late: [{}, late] })
      yield* Effect.scoped(Effect.gen(function*() {
        const attending = yield* Effect.fork(mcp.attend(run))
        yield* after(10_000)
        assert.isTrue((yield* Fiber.poll(attending))._tag === "Some")
        assert.deepStrictEqual(yield* names(mcp), [])
      }))
      assert.deepStrictEqual(
        events.flatMap((event) => event.type === "notice" ? [event.code] : []),
        ["mcp_late"]
      )
      yield* Effect.scoped(Effect.gen(function*() {
        yield* Effect.fork(mcp.attend(run))
        yield* after(15_000)
        assert.deepStrictEqual(yield* names(mcp), ["mcp__late__x"])
        assert.isTrue(events.some((event) => event.type === "mcp.server" && event.phase === "ready"))
      }))
    }))

  it.scoped("1.5 48 servers that never shake hands have failed when the prompt goes on, each with the reason", () =>
    Effect.gen(function*() {
      const all = Array.from({ length: 48 }, (_, i) => [`s${i}`, [{ required: i === 47 }, silent()]] as const)
      const { events, run, worldOf } = yield* world(Object.fromEntries(all))
      const base = worldOf(
        Object.fromEntries(all.map(([name, [definition]]) => [name, { command: name, ...definition }]))
      )
      const mcp = yield* make({
        ...base,
        // one starts after the other, as on a machine that is busy: so do their limits
        transport: (definition) => Effect.delay(base.transport(definition), 100 * Number(definition.server.slice(1)))
      })
      yield* Effect.scoped(Effect.gen(function*() {
        const attending = yield* Effect.fork(mcp.attend(run))
        yield* after(10_000)
        assert.deepStrictEqual(yield* Fiber.poll(attending), Option.none())
        yield* after(4_700)
        assert.isTrue(Option.isSome(yield* Fiber.poll(attending)), "as soon as the last of them has failed")
        const { missing } = yield* Fiber.join(attending)
        assert.deepStrictEqual(missing.map(({ error, phase }) => [phase, error?.code]), [["failed", "connect_timeout"]])
        for (const { error, phase } of yield* mcp.status) {
          assert.deepStrictEqual([phase, error?.code], ["failed", "connect_timeout"])
        }
        yield* settle
        assert.strictEqual(
          events.filter((event) => event.type === "mcp.server" && event.phase === "failed").length,
          48
        )
      }))
    }))

  it.scoped("1.5 required servers that are not ready are named", () =>
    Effect.gen(function*() {
      const broken = Memory.make(() => Effect.fail(Memory.error("exited")))
      const { mcp, run } = yield* world({ a: [{ required: true }, broken], b: [{}, broken] })
      const { missing } = yield* Effect.scoped(mcp.attend(run))
      assert.deepStrictEqual(missing.map(({ server }) => server), ["a"])
    }))

  it.scoped("4.9 servers that are switched off or wait for trust cost nothing and say why they are not there", () =>
    Effect.gen(function*() {
      const memory = Memory.make(Memory.legacy(listing("x")))
      const { mcp, run, worldOf } = yield* world({ off: [{ disabled: true }, memory] })
      const base = worldOf({ off: { command: "off", disabled: true } })
      yield* mcp.reconcile({
        ...base,
        config: {
          ...base.config,
          trust: {
            status: "untrusted",
            root: "/work/project",
            hash: "",
            record: null,
            definitions: [{
              kind: "mcp_server",
              tier: "project",
              key: "mcp_servers.theirs",
              line: 1,
              value: { command: "x" }
            }]
          }
        }
      })
      yield* Effect.scoped(mcp.attend(run))
      assert.strictEqual(memory.opened(), 0)
      const states = yield* mcp.status
      assert.deepStrictEqual(states.map(({ phase, server }) => [server, phase]), [
        ["off", "disabled"],
        ["theirs", "untrusted"]
      ])
      assert.include(states[1]?.error?.message, "config trust")
      assert.include(yield* mcp.explain("mcp__theirs__x"), "untrusted")
      assert.include(yield* mcp.explain("mcp__off__x"), "disabled")
    }))
})

describe("tools", () => {
  it.scoped("1.7, 1.8 names, filters, other names, collisions", () =>
    Effect.gen(function*() {
      const a = Memory.make(Memory.legacy(listing("read", "write", "drop", "a.b", "a b")))
      const { call, mcp, run } = yield* world({
        a: [{
          include_tools: ["read", "wr*", "a*"],
          exclude_tools: ["write"],
          tool_names: { read: "fetch it" }
        }, a]
      })
      yield* Effect.scoped(mcp.attend(run))
      const offered = yield* names(mcp)
      assert.strictEqual(offered[0], "mcp__a__fetch_it")
      assert.strictEqual(offered.length, 3)
      assert.match(offered[1] ?? "", /^mcp__a__a_b_[0-9a-f]{8}$/)
      assert.match(offered[2] ?? "", /^mcp__a__a_b_[0-9a-f]{8}$/)
      const [state] = yield* mcp.status
      assert.strictEqual(state?.tools, 3)
      yield* call("mcp__a__fetch_it")
      assert.deepStrictEqual(a.paramsOf("tools/call").map((params) => params["name"]), ["read"])
      assert.isUndefined(yield* mcp.find("mcp__a__a_b"))
      assert.include(yield* mcp.explain("mcp__a__a_b"), "tool_name_collision")
      for (const hidden of ["mcp__a__write", "mcp__a__drop", "mcp__a__read", "read"]) {
        assert.isUndefined(yield* mcp.find(hidden), hidden)
      }
    }))

  it.scoped("1.10 a list that changes is read again 200 ms after the last notice, at most 2 s after the first", () =>
    Effect.gen(function*() {
      let offered = ["one"]
      const a = Memory.make(Memory.legacy((message, say, opening) => listing(...offered)(message, say, opening)))
      const { mcp, run } = yield* world({ a: [{}, a] })
      const changed: JsonRpcMessage = { jsonrpc: "2.0", method: "notifications/tools/list_changed" }
      yield* Effect.scoped(mcp.attend(run))
      assert.strictEqual(counted(a, "tools/list"), 1)
      offered = ["one", "two"]
      a.say(changed)
      yield* after(199)
      assert.strictEqual(counted(a, "tools/list"), 1)
      yield* after(1)
      assert.strictEqual(counted(a, "tools/list"), 2)
      assert.deepStrictEqual(yield* names(mcp), ["mcp__a__one", "mcp__a__two"])
      // a notice every 10 ms: ten seconds of it
      for (let i = 0; i < 1_000; i++) {
        a.say(changed)
        yield* Effect.repeatN(Effect.yieldNow(), 30)
        yield* TestClock.adjust(10)
      }
      yield* after(500)
      const reads = counted(a, "tools/list") - 2
      assert.isAtLeast(reads, 4)
      assert.isAtMost(reads, 6)
    }))

  it.scoped("1.10 a call that comes meanwhile reads the list first: a changed schema is the new one, a tool that went is gone", () =>
    Effect.gen(function*() {
      let schema: object = { type: "object", properties: { a: { type: "string" } } }
      let there = ["stays", "goes"]
      const a = Memory.make(Memory.legacy(({ method }) =>
        method === "tools/list"
          ? { tools: there.map((name) => tool(name, { inputSchema: schema })) }
          : { content: [{ type: "text", text: "called" }] }
      ))
      const { call, mcp, run } = yield* world({ a: [{}, a] })
      yield* Effect.scoped(mcp.attend(run))
      const before = yield* mcp.find("mcp__a__stays")
      schema = { type: "object", properties: { b: { type: "number" } }, required: ["b"] }
      there = ["stays"]
      a.say({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
      yield* settle
      assert.strictEqual(yield* call("mcp__a__stays"), "called")
      const now = yield* mcp.find("mcp__a__stays")
      assert.notDeepEqual(now?.input_schema, before?.input_schema)
      assert.deepStrictEqual(now?.input_schema, schema)
      assert.isUndefined(yield* mcp.find("mcp__a__goes"))
      assert.strictEqual(counted(a, "tools/list"), 2)
      assert.strictEqual(counted(a, "tools/call"), 1)
    }))

  it.scoped("1.10 a list that cannot be read again stays as it was, with a word about it", () =>
    Effect.gen(function*() {
      let broken = false
      const a = Memory.make(Memory.legacy((message, say, opening) =>
        broken && message.method === "tools/list"
          ? Effect.fail(Memory.rpcError(-32_603, undefined, "out of order"))
          : listing("x")(message, say, opening)
      ))
      const { call, events, mcp, run } = yield* world({ a: [{}, a] })
      yield* Effect.gen(function*() {
        yield* mcp.attend(run)
        broken = true
        a.say({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
        yield* settle
        assert.strictEqual(yield* call("mcp__a__x"), "called")
        yield* settle
        assert.isTrue(
          events.some((event) =>
            event.type === "notice" && event.code === "mcp_list_stale" &&
            event.message.includes("out of order")
          )
        )
        assert.deepStrictEqual(yield* names(mcp), ["mcp__a__x"])
      })
    }))

  it.scoped("1.10 only a time to live that the server gives makes a list old, and nobody polls", () =>
    Effect.gen(function*() {
      const a = Memory.make(Memory.legacy(({ method }) => method === "tools/list" ? { tools: [], ttlMs: 1_000 } : {}))
      const b = Memory.make(Memory.legacy(listing("x")))
      const { mcp, run } = yield* world({ a: [{}, a], b: [{}, b] })
      yield* Effect.scoped(mcp.attend(run))
      yield* after(60_000)
      assert.deepStrictEqual([counted(a, "tools/list"), counted(b, "tools/list")], [1, 1])
      yield* Effect.scoped(mcp.attend(run))
      yield* settle
      assert.deepStrictEqual([counted(a, "tools/list"), counted(b, "tools/list")], [2, 1])
    }))
})

describe("connections that end", () => {
  it.scoped("1.5 the next call connects again; a call that was sent is not sent twice", () =>
    Effect.gen(function*() {
      const a = Memory.make(Memory.legacy((message, say, opening) =>
        message.method === "tools/call" && opening === 1
          ? Effect.fail(Memory.error("exited"))
          : listing("x")(message, say, opening)
      ))
      const { call, mcp, run } = yield* world({ a: [{}, a] })
      yield* Effect.scoped(mcp.attend(run))
      const lost = yield* Effect.flip(call("mcp__a__x"))
      assert.strictEqual(lost.reason, "exited")
      assert.match(lost.message, /; the call may have run, and is not sent again$/)
      yield* a.end(Memory.error("exited"))
      yield* settle
      assert.deepStrictEqual(yield* phases(mcp), { a: "closed" })
      // what it offered can still be called: that is what connects it again
      assert.deepStrictEqual(yield* names(mcp), ["mcp__a__x"])
      assert.strictEqual(yield* call("mcp__a__x"), "called")
      assert.strictEqual(a.opened(), 2)
      assert.strictEqual(counted(a, "tools/call"), 2)
      assert.deepStrictEqual(yield* phases(mcp), { a: "ready" })
    }))

  it.scoped("1.5, 16 five tries with growing pauses, then failed until it is restarted", () =>
    Effect.gen(function*() {
      let broken = false
      const a = Memory.make((message, say, opening) =>
        broken ? Effect.fail(Memory.error("exited")) : Memory.legacy(listing("x"))(message, say, opening)
      )
      const { call, mcp, run } = yield* world({ a: [{ protocol: "legacy" }, a] })
      yield* Effect.scoped(mcp.attend(run))
      broken = true
      yield* a.end(Memory.error("exited"))
      yield* settle
      const calling = yield* Effect.fork(Effect.flip(call("mcp__a__x")))
      const seen: Array<number> = []
      for (let ms = 0; ms <= 8_000 && a.opened() < 6; ms += 50) {
        if (a.opened() > seen.length + 1) seen.push(ms)
        yield* after(50)
      }
      const error = yield* Fiber.join(calling)
      assert.strictEqual(error.reason, "exited")
      assert.notInclude(error.message, "may have run")
      // one connection at the start and five attempts
      assert.strictEqual(a.opened(), 6)
      assert.deepStrictEqual(yield* phases(mcp), { a: "failed" })
      const again = yield* Effect.flip(call("mcp__a__x"))
      assert.include(again.message, "restarted")
      assert.strictEqual(a.opened(), 6)
      broken = false
      assert.isTrue(yield* mcp.restart("a"))
      assert.strictEqual(yield* call("mcp__a__x"), "called")
      assert.isFalse(yield* mcp.restart("nobody"))
    }))

  it.scoped("1.2 a server that cannot be agreed with is not tried again", () =>
    Effect.gen(function*() {
      let version = "2025-11-25"
      const a = Memory.make((message, say, opening) => Memory.legacy(listing("x"), version)(message, say, opening))
      const { call, mcp, run } = yield* world({ a: [{}, a] })
      yield* Effect.scoped(mcp.attend(run))
      version = "1999-01-01"
      yield* a.end(Memory.error("exited"))
      yield* settle
      const error = yield* Effect.flip(call("mcp__a__x"))
      assert.strictEqual(error.reason, "unsupported_protocol_version")
      assert.strictEqual(a.opened(), 2)
    }))

  it.scoped("1.5 several calls at once make one connection", () =>
    Effect.gen(function*() {
      const a = Memory.make(Memory.legacy(listing("x")))
      const { call, mcp, run } = yield* world({ a: [{}, a] })
      yield* Effect.scoped(mcp.attend(run))
      yield* a.end(Memory.error("exited"))
      yield* settle
      const all = yield* Effect.all(Array.from({ length: 20 }, () => call("mcp__a__x")), { concurrency: "unbounded" })
      assert.strictEqual(all.length, 20)
      assert.strictEqual(a.opened(), 2)
    }))
})

describe("other settings", () => {
  it.scoped("1.5 only what has changed is started again, the old one ends before the new one", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const named = (name: string) =>
        Memory.make((message, say, opening) => {
          if (message.method === "initialize") order.push(`${name} starts`)
          return Memory.legacy(listing(name))(message, say, opening)
        })
      const [same, changes, goes, comes] = [named("same"), named("changes"), named("goes"), named("comes")]
      const { mcp, run, worldOf } = yield* world({
        same: [{}, same],
        changes: [{}, changes],
        goes: [{}, goes],
        comes: [{ disabled: true }, comes]
      })
      yield* Effect.scoped(mcp.attend(run))
      order.length = 0
      yield* mcp.reconcile(worldOf({
        same: { command: "same", exclude_tools: ["same"], required: true },
        changes: { command: "changes", args: ["--more"] },
        comes: { command: "comes" }
      }))
      // ended already, before anything of the new settings was started
      assert.deepStrictEqual([same.closed(), changes.closed(), goes.closed()], [0, 1, 1])
      assert.deepStrictEqual(order, [])
      yield* Effect.scoped(mcp.attend(run))
      assert.sameMembers(order, ["changes starts", "comes starts"])
      assert.strictEqual(same.opened(), 1)
      assert.deepStrictEqual(yield* names(mcp), ["mcp__changes__changes", "mcp__comes__comes"])
      assert.deepStrictEqual(yield* phases(mcp), { same: "ready", changes: "ready", comes: "ready" })
    }))

  it("1.5 whatever the settings were and become: one connection for what is there, none for the rest", () =>
    FastCheck.assert(
      FastCheck.asyncProperty(
        FastCheck.array(
          FastCheck.dictionary(FastCheck.constantFrom("a", "b", "c"), FastCheck.integer({ min: 0, max: 2 })),
          { minLength: 1, maxLength: 5 }
        ),
        (versions) =>
          Effect.runPromise(Effect.scoped(Effect.gen(function*() {
            const memories = Object.fromEntries(["a", "b", "c"].map((name) => [
              name,
              [{}, Memory.make(Memory.legacy(listing("x")))] as const
            ]))
            const { mcp, run, worldOf } = yield* world(memories)
            for (const version of versions) {
              yield* mcp.reconcile(worldOf(
                Object.fromEntries(
                  Object.entries(version).map(([name, n]) => [name, { command: name, args: [String(n)] }])
                )
              ))
              yield* Effect.scoped(mcp.attend(run))
              for (const [name, [, memory]] of Object.entries(memories)) {
                assert.strictEqual(memory.opened() - memory.closed(), name in version ? 1 : 0, name)
              }
              assert.sameMembers([...(yield* names(mcp))], Object.keys(version).map((name) => `mcp__${name}__x`))
            }
          })))
      ),
      { numRuns: 50 }
    ))
})

describe("what servers ask", () => {
  it.scoped("1.12 at most 10 requests to the model in one call, and none when no run is on", () =>
    Effect.gen(function*() {
      const question: JsonRpcObject = {
        messages: [{ role: "user", content: { type: "text", text: "?" } }],
        maxTokens: 5
      }
      const answered = yield* Deferred.make<void>()
      const a = Memory.make(Memory.legacy((message, say, opening) => {
        if (message.method !== "tools/call") return listing("x")(message, say, opening)
        for (let i = 0; i < 12; i++) {
          say({ jsonrpc: "2.0", id: `q${i}`, method: "sampling/createMessage", params: question })
        }
        return Effect.as(Deferred.await(answered), { content: [{ type: "text", text: "over" }] })
      }))
      const { call, mcp, run } = yield* world({ a: [{}, a] })
      yield* Effect.scoped(Effect.gen(function*() {
        yield* mcp.attend(run)
        const calling = yield* Effect.fork(call("mcp__a__x"))
        yield* settle
        yield* Deferred.succeed(answered, undefined)
        yield* Fiber.join(calling)
      }))
      const results = a.answers().filter((answer) => "result" in answer)
      assert.strictEqual(results.length, 10)
      assert.include(JSON.stringify(results[0]), "sampled")
      assert.strictEqual(a.answers().length, 12)
      a.say({ jsonrpc: "2.0", id: "late", method: "sampling/createMessage", params: question })
      yield* settle
      assert.include(JSON.stringify(a.answers().at(-1)), "rejected")
    }))

  it.scoped("1.12 the roots, and that they have changed", () =>
    Effect.gen(function*() {
      const a = Memory.make(Memory.legacy(listing("x")))
      const { mcp, run } = yield* world({ a: [{}, a] })
      yield* Effect.scoped(mcp.attend(run))
      yield* mcp.setRoots([{ uri: "file:///elsewhere" }])
      assert.include(a.methods(), "notifications/roots/list_changed")
      a.say({ jsonrpc: "2.0", id: "r", method: "roots/list" })
      yield* settle
      assert.include(JSON.stringify(a.answers().at(-1)), "file:///elsewhere")
    }))

  it.scoped("1.12 log messages and changed resources reach the run, without secrets and control characters", () =>
    Effect.gen(function*() {
      const a = Memory.make(Memory.legacy(listing("x")))
      const { events, mcp, run } = yield* world({ a: [{ env: { API_KEY: "abcdefgh12345678" } }, a] })
      yield* Effect.scoped(Effect.gen(function*() {
        yield* mcp.attend(run)
        a.say({
          jsonrpc: "2.0",
          method: "notifications/message",
          params: { level: "error", logger: "main", data: "key abcdefgh12345678 \u001b[31m" }
        })
        a.say({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "x://y" } })
        yield* settle
      }))
      const log = events.find((event) => event.type === "mcp.log")
      assert.deepInclude(log, { server: "a", level: "error", logger: "main" })
      assert.notInclude(JSON.stringify(log), "abcdefgh12345678")
      assert.notInclude(JSON.stringify(log), "\\u001b")
      assert.isTrue(events.some((event) => event.type === "notice" && event.code === "mcp_resource_updated"))
    }))
})
