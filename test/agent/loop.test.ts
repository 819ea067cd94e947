import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { Agent, type RunInput } from "../../src/agent/Agent.ts"
import { illegality, repair } from "../../src/agent/Transcript.ts"
import { AgentEvent } from "../../src/domain/AgentEvent.ts"
import { failure, success } from "../../src/domain/ToolExecutor.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { logTo } from "../support/logged.ts"
import {
  agentLayer,
  apiError,
  call,
  callTurn,
  recordLayer,
  type Request,
  type Step,
  textTurn,
  type Turn,
  type World,
  worldLayer
} from "./support.ts"

const collect = (input: RunInput) =>
  Effect.flatMap(
    Agent,
    (agent) => Effect.map(Stream.runCollect(agent.run(input)), (events) => Chunk.toReadonlyArray(events))
  )

/** Runs with the clock moving until the run has ended. */
const runWith = (world: World, input: RunInput = { prompt: "go" }) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.fork(collect(input))
    yield* TestClock.adjust("1 hour")
    const events = yield* Fiber.join(fiber)
    const store = yield* SessionStore
    const session_id = events[0]?.session_id ?? ""
    return {
      events,
      types: events.map((e) => e.type),
      terminal: events.at(-1),
      session_id,
      history: yield* store.history(session_id),
      runs: yield* store.runs(session_id)
    }
  }).pipe(Effect.provide(agentLayer(world)))

const terminals = (events: ReadonlyArray<AgentEvent>) =>
  events.filter((e) => /^run\.(completed|failed|cancelled)$/.test(e.type))

describe("the loop", () => {
  it.effect("one answer: events in order, dense numbers, one terminal, valid lines", () =>
    Effect.gen(function*() {
      const { events, runs, terminal, types } = yield* runWith({ turns: [textTurn("hello")] })
      assert.deepStrictEqual(types, [
        "run.started",
        "turn.started",
        "text.delta",
        "item.completed",
        "usage",
        "run.completed"
      ])
      assert.deepStrictEqual(events.map((e) => e.seq), events.map((_, i) => i))
      for (const event of events) Schema.decodeUnknownSync(AgentEvent)(JSON.parse(JSON.stringify(event)))
      assert.deepInclude(terminal, { type: "run.completed", result: "hello", exit_code: 0, turns: 1 })
      assert.deepInclude(runs[0], { status: "completed", exit_code: 0 })
    }))

  it.effect("twenty tool turns: twenty executions, one result each, usage summed", () =>
    Effect.gen(function*() {
      const executed: Array<string> = []
      const requests: Array<Request> = []
      const turns = Array.from({ length: 20 }, (_, i) => callTurn(call(`c${i}`, "bash", { command: `echo ${i}` })))
      const { history, terminal } = yield* runWith({
        turns: [...turns, textTurn("done")],
        tools: { bash: (input) => Effect.succeed(success(String(input["command"]))) },
        executed,
        requests
      })
      assert.strictEqual(executed.length, 20)
      assert.deepInclude(terminal, { type: "run.completed", exit_code: 0, turns: 21 })
      if (terminal?.type === "run.completed") assert.strictEqual(terminal.usage.input_tokens, 210)
      assert.strictEqual(illegality(history), null)
      for (const { messages } of requests) assert.strictEqual(illegality(messages), null)
      assert.strictEqual(history.filter((m) => m.role === "tool").length, 20)
    }))

  it.effect("read-only calls run side by side, writing ones in order, results in call order (2.7)", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const slow = (name: string, ms: number) => () =>
        Effect.gen(function*() {
          log.push(`+${name}`)
          yield* Effect.sleep(ms)
          log.push(`-${name}`)
          return success(name)
        })
      const requests: Array<Request> = []
      yield* runWith({
        turns: [callTurn(call("a", "r1"), call("b", "r2"), call("c", "w1"), call("d", "w2")), textTurn("ok")],
        tools: { r1: slow("r1", 50), r2: slow("r2", 10), w1: slow("w1", 20), w2: slow("w2", 5) },
        readOnly: ["r1", "r2"],
        requests
      })
      assert.deepStrictEqual(log, ["+r1", "+r2", "-r2", "-r1", "+w1", "-w1", "+w2", "-w2"])
      const results = requests[1]?.messages.filter((m) => m.role === "tool").map((m) => m.tool_call_id)
      assert.deepStrictEqual(results, ["a", "b", "c", "d"])
    }))

  it.effect("broken arguments are answered, never run (2.2)", () =>
    Effect.gen(function*() {
      const executed: Array<string> = []
      const requests: Array<Request> = []
      yield* runWith({
        turns: [
          callTurn({
            type: "tool_use",
            id: "a",
            name: "bash",
            input: {},
            arguments: "{\"command\": ",
            input_error: "unexpected end"
          }),
          textTurn("ok")
        ],
        executed,
        requests
      })
      assert.deepStrictEqual(executed, [])
      assert.include(JSON.stringify(requests[1]?.messages.at(-1)), "unexpected end")
    }))

  it.effect("a call id that was used before gets another one (2.7)", () =>
    Effect.gen(function*() {
      const { history, terminal } = yield* runWith({
        turns: [
          callTurn(call("x", "bash", { n: 1 }), call("x", "bash", { n: 2 })),
          callTurn(call("x", "bash", { n: 3 })),
          textTurn("ok")
        ]
      })
      assert.strictEqual(terminal?.type, "run.completed")
      assert.strictEqual(illegality(history), null)
      assert.strictEqual(new Set(history.filter((m) => m.role === "tool").map((m) => m.tool_call_id)).size, 3)
    }))

  it.effect("a stream that broke is asked for again; what it had shown is withdrawn, its calls never run (16.5)", () =>
    Effect.gen(function*() {
      const executed: Array<string> = []
      const { events, history, terminal, types } = yield* runWith({
        turns: [
          [
            { type: "content_delta", text: "half an ans" },
            call("lost", "bash"),
            { type: "error", code: "dropped", message: "connection lost", retryable: true }
          ],
          textTurn("whole answer")
        ],
        executed
      })
      assert.deepStrictEqual(executed, [])
      const withdrawn = events.find((e) => e.type === "item.withdrawn")
      assert.strictEqual(withdrawn?.type === "item.withdrawn" ? withdrawn.item_ids.length : 0, 2)
      assert.isBelow(types.indexOf("item.withdrawn"), types.indexOf("retry"))
      assert.deepInclude(terminal, { type: "run.completed", result: "whole answer", exit_code: 0 })
      assert.notInclude(JSON.stringify(history), "half an ans")
    }))

  it.effect("a server that asks for a wait gets at least that wait; the wait is an event (16.4)", () =>
    Effect.gen(function*() {
      const { events, terminal } = yield* runWith({
        turns: [[{ fail: apiError("rate_limited", true, 7_000) }], textTurn("ok")]
      })
      const retry = events.find((e) => e.type === "retry")
      assert.isAtLeast(retry?.type === "retry" ? retry.delay_ms : 0, 7_000)
      assert.strictEqual(terminal?.type, "run.completed")
    }))

  it.effect("a wait beyond the cap fails at once and says how long (16.4)", () =>
    Effect.gen(function*() {
      const { events, terminal } = yield* runWith({ turns: [[{ fail: apiError("rate_limited", true, 600_000) }]] })
      assert.isFalse(events.some((e) => e.type === "retry"))
      assert.deepInclude(terminal, { type: "run.failed", exit_code: 5 })
      assert.include(JSON.stringify(terminal), "600")
    }))

  it.effect("retries are bounded", () =>
    Effect.gen(function*() {
      const broken = [{ fail: apiError("overloaded", true) }]
      const { events, terminal } = yield* runWith({ turns: [broken, broken, broken, broken] })
      assert.strictEqual(events.filter((e) => e.type === "retry").length, 3)
      assert.deepInclude(terminal, { type: "run.failed", exit_code: 5 })
    }))

  it.effect("fatal errors fail at once, with the code the reading gives", () =>
    Effect.gen(function*() {
      for (
        const [reason, exit] of [["auth", 5], ["bad_request", 5], ["not_found", 5], ["context_too_long", 4], [
          "refused",
          1
        ]] as const
      ) {
        const { events, terminal } = yield* runWith({ turns: [[{ fail: apiError(reason, false) }]] })
        assert.isFalse(events.some((e) => e.type === "retry"), reason)
        assert.deepInclude(terminal, { type: "run.failed", exit_code: exit }, reason)
      }
    }))

  it.effect("a refusal is a failure with exit code 1", () =>
    Effect.gen(function*() {
      const { terminal } = yield* runWith({
        turns: [[{ type: "content_delta", text: "no", refusal: true }, {
          type: "message_stop",
          stop_reason: "refusal"
        }]]
      })
      assert.deepInclude(terminal, { type: "run.failed", exit_code: 1, result: "no" })
    }))

  it.effect("an answer cut at the output limit is no success, its calls are not run", () =>
    Effect.gen(function*() {
      const text = yield* runWith({
        turns: [[{ type: "content_delta", text: "cut" }, { type: "message_stop", stop_reason: "max_tokens" }]]
      })
      assert.deepInclude(text.terminal, { type: "run.failed", exit_code: 1, result: "cut" })
      const executed: Array<string> = []
      const calls = yield* runWith({
        turns: [[call("a", "bash"), { type: "message_stop", stop_reason: "max_tokens" }], textTurn("smaller")],
        executed
      })
      assert.deepStrictEqual(executed, [])
      assert.deepInclude(calls.terminal, { type: "run.completed", result: "smaller" })
      assert.strictEqual(illegality(calls.history), null)
    }))

  it.effect("a call cut in its arguments is told to the model, never run; the third such answer ends the run", () =>
    Effect.gen(function*() {
      const cutCall = (id: string): Turn => [
        call(`${id}w`, "read"),
        {
          type: "tool_use",
          id,
          name: "bash",
          input: {},
          arguments: "{\"command\":\"rm -rf /t",
          input_error: "cut off at the output limit"
        },
        { type: "message_stop", stop_reason: "max_tokens" }
      ]
      const executed: Array<string> = []
      const requests: Array<Request> = []
      const once = yield* runWith({ turns: [cutCall("a"), cutCall("b"), textTurn("smaller")], executed, requests })
      assert.deepInclude(once.terminal, { type: "run.completed", result: "smaller" })
      assert.deepStrictEqual(executed, [])
      const told = requests[1]?.messages.filter((message) => message.role === "tool") ?? []
      assert.deepStrictEqual(told.map((message) => [message.tool_call_id, message.is_error]), [["aw", true], [
        "a",
        true
      ]])
      for (const message of told) assert.include(String(message.content), "make smaller calls")
      const notices = once.events.filter((event) => event.type === "notice")
      assert.deepStrictEqual(notices.map((event) => event.code), Array.from({ length: 4 }, () => "call_not_run"))
      assert.match(notices[1]?.message ?? "", /^bash was not run: .*output limit/)
      const thrice = yield* runWith({ turns: [cutCall("a"), cutCall("b"), cutCall("c")], executed })
      assert.deepInclude(thrice.terminal, { type: "run.failed", exit_code: 1 })
      assert.strictEqual(illegality(thrice.history), null)
      assert.deepStrictEqual(executed, [])
    }))

  it.effect("a disk that gets full in mid-run is said once, in the terminal", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const full = new StorageError({ reason: "full", message: "No space left for the database" })
      const record = Layer.map(recordLayer, (context) => {
        const store = Context.get(context, SessionStore)
        return Context.add(context, SessionStore, {
          ...store,
          append: (id, entries) =>
            entries.some((entry) => entry.message.role === "tool") ? Effect.fail(full) : store.append(id, entries),
          endRun: () => Effect.fail(full)
        })
      })
      const events = yield* collect({ prompt: "go" }).pipe(
        Effect.provide(
          Layer.provideMerge(worldLayer({ turns: [callTurn(call("a", "bash")), textTurn("never")] }), record)
        ),
        Effect.provide(logTo(logged))
      )
      assert.deepInclude(events.at(-1), { type: "run.failed", exit_code: 1 })
      assert.strictEqual(JSON.stringify(events).split("No space left").length - 1, 1)
      assert.deepStrictEqual(logged, [])
    }))

  it.effect("costs have no digits of their own", () =>
    Effect.gen(function*() {
      const usage = { input_tokens: 2835, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 }
      const turn = (step: Step): Turn => [
        step,
        { type: "usage", usage },
        { type: "message_stop", stop_reason: step === word ? "end_turn" : "tool_use" }
      ]
      const word: Step = { type: "content_delta", text: "fin" }
      const { runs, terminal } = yield* runWith({
        turns: [turn(call("a", "bash", { i: 1 })), turn(call("b", "bash", { i: 2 })), turn(word)],
        model: { price: { input: 1, output: 2 } }
      })
      assert.deepInclude(terminal, { cost_usd: 0.008505 })
      assert.strictEqual(runs[0]?.cost_usd, 0.008505)
    }))

  it.effect("a call without a name is answered and the turn goes on (2.2, G9)", () =>
    Effect.gen(function*() {
      const { history, terminal } = yield* runWith({
        turns: [callTurn(call("a", "", { x: 1 })), textTurn("fine")],
        tools: { "": () => Effect.succeed(failure("there is no tool \"\"")) }
      })
      assert.deepInclude(terminal, { type: "run.completed", result: "fine" })
      assert.strictEqual(illegality(history), null)
      assert.deepInclude(history.find((message) => message.role === "tool"), { tool_call_id: "a", is_error: true })
    }))

  it.effect("an empty answer is said before the end, and is no failure", () =>
    Effect.gen(function*() {
      const end = { type: "message_stop", stop_reason: "end_turn" } as const
      for (const steps of [[end], [{ type: "content_delta", text: "" } as const, end]]) {
        const { events, terminal } = yield* runWith({ turns: [steps] })
        assert.deepInclude(terminal, { type: "run.completed", exit_code: 0, result: "" })
        assert.deepInclude(events.at(-2), { type: "notice", code: "empty_answer" })
      }
      const said = yield* runWith({ turns: [textTurn("word")] })
      assert.isFalse(said.events.some((event) => event.type === "notice"))
    }))

  it.effect("turn limit, cost limit and doom loop end with exit code 4 and a legal transcript", () =>
    Effect.gen(function*() {
      const again = (i: number) => callTurn(call(`c${i}`, "bash", { i }))
      const turns = yield* runWith({ turns: [again(0), again(1)] }, { prompt: "go", max_turns: 2 })
      assert.include(JSON.stringify(turns.terminal), "stopped after 2 model requests (")
      const one = yield* runWith({ turns: [again(0)] }, { prompt: "go", max_turns: 1 })
      assert.include(JSON.stringify(one.terminal), "stopped after 1 model request (")
      assert.deepInclude(turns.terminal, { type: "run.failed", exit_code: 4 })
      assert.strictEqual(illegality(turns.history), null)

      const executed: Array<string> = []
      const cost = yield* runWith({ turns: [again(0)], executed }, { prompt: "go", max_cost_usd: 0.00001 })
      assert.deepInclude(cost.terminal, { type: "run.failed", exit_code: 4 })
      assert.deepStrictEqual(executed, [])
      assert.strictEqual(illegality(cost.history), null)

      const same = callTurn(call("s", "bash", { same: true }))
      const doom = yield* runWith({ turns: [same, same, same] })
      assert.deepInclude(doom.terminal, { type: "run.failed", exit_code: 4 })
      assert.include(JSON.stringify(doom.terminal), "doom_loop")
    }))

  it.effect("somebody who can be asked may let a repeated call go on (2.8)", () =>
    Effect.gen(function*() {
      const same = callTurn(call("s", "bash", { same: true }))
      const { terminal } = yield* runWith({
        turns: [same, same, same, textTurn("ok")],
        prompters: [{ name: "user", requestPermission: () => Effect.succeed({ decision: "allow" }) }]
      })
      assert.deepInclude(terminal, { type: "run.completed", exit_code: 0 })
    }))

  it.effect("a tool that dies is an error result and the turn goes on (2.2)", () =>
    Effect.gen(function*() {
      const requests: Array<Request> = []
      const { terminal } = yield* runWith({
        turns: [callTurn(call("a", "boom"), call("b", "fine")), textTurn("ok")],
        tools: { boom: () => Effect.die(new Error("secret detail")), fine: () => Effect.succeed(failure("said no")) },
        requests
      })
      assert.strictEqual(terminal?.type, "run.completed")
      const results = requests[1]?.messages.filter((m) => m.role === "tool") ?? []
      assert.deepStrictEqual(results.map((m) => m.is_error), [true, true])
      assert.notInclude(JSON.stringify(results), "secret detail")
    }))

  it.effect("a defect of the model client is a failed run, not a hang", () =>
    Effect.gen(function*() {
      const { terminal } = yield* runWith({ turns: [[{ die: "bug" }]] })
      assert.deepInclude(terminal, { type: "run.failed", exit_code: 1 })
    }))

  it.effect("steering reaches the model at the next turn, a follow-up after the answer", () =>
    Effect.gen(function*() {
      const requests: Array<Request> = []
      const reached = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const world: World = {
        turns: [[{ gate, reached }, ...callTurn(call("a", "bash"))], textTurn("one"), textTurn("two")],
        requests
      }
      yield* Effect.gen(function*() {
        const agent = yield* Agent
        const store = yield* SessionStore
        const fiber = yield* Effect.fork(collect({ prompt: "go" }))
        yield* Deferred.await(reached)
        const [session] = yield* store.list({})
        const id = session?.id ?? ""
        assert.isTrue(yield* agent.send(id, "follow", "follow_up"))
        assert.isTrue(yield* agent.send(id, "steer", "steer"))
        yield* Deferred.succeed(gate, undefined)
        const events = yield* Fiber.join(fiber)
        assert.strictEqual(events.at(-1)?.type, "run.completed")
        const last = (n: number) => JSON.stringify(requests[n]?.messages.at(-1))
        assert.include(last(1), "steer")
        assert.include(last(2), "follow")
        assert.isFalse(yield* agent.send(id, "late", "steer"))
      }).pipe(Effect.provide(agentLayer(world)))
    }))

  it.effect("a second run of one session at a time is refused, after the first it continues", () =>
    Effect.gen(function*() {
      const reached = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const requests: Array<Request> = []
      const world: World = { turns: [[{ gate, reached }, ...textTurn("one")], textTurn("two")], requests }
      yield* Effect.gen(function*() {
        const store = yield* SessionStore
        const fiber = yield* Effect.fork(collect({ prompt: "first" }))
        yield* Deferred.await(reached)
        const id = (yield* store.list({}))[0]?.id ?? ""
        const busy = yield* Effect.flip(collect({ prompt: "second", session_id: id }))
        assert.strictEqual(busy.reason, "session_busy")
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(fiber)
        yield* collect({ prompt: "second", session_id: id })
        assert.deepStrictEqual(requests[1]?.messages.map((m) => m.role), ["system", "user", "assistant", "user"])
        const missing = yield* Effect.flip(collect({ prompt: "x", session_id: "ses_none" }))
        assert.strictEqual(missing.reason, "session_not_found")
      }).pipe(Effect.provide(agentLayer(world)))
    }))
})

/** A run in which every step takes virtual time, so that a stop can fall anywhere. */
const longRun = (): World => {
  const wait = { wait: 10 }
  const busy = (ms: number) => () => Effect.as(Effect.sleep(ms), success("ok"))
  const turn = (n: number): World["turns"][number] => [
    { type: "reasoning_delta", text: "think" },
    wait,
    { type: "content_delta", text: "some " },
    { type: "content_delta", text: "text" },
    call(`a${n}`, "read"),
    wait,
    call(`b${n}`, "read"),
    call(`c${n}`, "write"),
    { type: "message_stop", stop_reason: "tool_use" }
  ]
  return {
    turns: [turn(0), [{ fail: apiError("overloaded", true) }], turn(1), [wait, ...textTurn("done")]],
    tools: { read: busy(25), write: busy(15) },
    readOnly: ["read"]
  }
}

describe("interruption at any point leaves a legal transcript", () => {
  for (const how of ["interrupt", "close"] as const) {
    it.effect(`${how}: 200 random moments, and the session goes on`, () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const moments: Array<number> = []
        for (let i = 0; i < 200; i++) moments.push(5 * (yield* Random.nextIntBetween(0, 40)))

        // All runs start together, each is stopped at its own moment: between two steps of the loop, or amid them.
        const runs = yield* Effect.forEach(moments, (at) =>
          Effect.gen(function*() {
            const agent = yield* Effect.provide(Agent, worldLayer(longRun()))
            const seen: Array<AgentEvent> = []
            const fiber = yield* Effect.fork(
              Stream.runForEach(agent.run({ prompt: "go" }), (event) => Effect.sync(() => seen.push(event)))
            )
            const yields = yield* Random.nextIntBetween(0, 12)
            const stop = Effect.suspend(() =>
              how === "interrupt" ? agent.interrupt(seen[0]?.session_id ?? "", "user") : Fiber.interrupt(fiber)
            )
            yield* Effect.fork(
              Effect.sleep(at).pipe(Effect.zipRight(Effect.repeatN(Effect.yieldNow(), yields)), Effect.zipRight(stop))
            )
            return { at, seen, fiber }
          }))
        yield* TestClock.adjust("1 minute")

        const ends = new Set<string | undefined>()
        for (const { at, fiber, seen } of runs) {
          yield* Fiber.await(fiber)
          const id = seen[0]?.session_id ?? ""
          if (id === "") {
            assert.strictEqual(how, "close", "a run that is closed before it began shows nothing")
            continue
          }
          ends.add(seen.at(-1)?.type)
          if (how === "interrupt") {
            assert.strictEqual(terminals(seen).length, 1, `one terminal, stopped at ${at}`)
            assert.strictEqual(terminals(seen)[0], seen.at(-1))
            const started = seen.flatMap((e) => e.type === "tool.started" ? [e.call_id] : []).sort()
            const settled = seen.flatMap((e) => e.type === "tool.completed" ? [e.call_id] : []).sort()
            assert.deepStrictEqual(settled, started, `settlements, stopped at ${at}`)
          }
          const rows = yield* store.runs(id)
          assert.strictEqual(rows.filter((r) => r.status === "running").length, 0, `run row ended, stopped at ${at}`)
          assert.strictEqual(illegality(repair(yield* store.history(id))), null, `legal, stopped at ${at}`)
          const requests: Array<Request> = []
          const again = yield* collect({ prompt: "go on", session_id: id }).pipe(
            Effect.provide(worldLayer({ turns: [textTurn("here I am")], requests }))
          )
          assert.strictEqual(again.at(-1)?.type, "run.completed", `goes on, stopped at ${at}`)
          assert.strictEqual(illegality(requests[0]?.messages ?? []), null)
        }
        if (how === "interrupt") {
          assert.isTrue(ends.has("run.cancelled") && ends.has("run.completed"), "both ends were seen")
        }
      }).pipe(Effect.provide(recordLayer)), 120_000)
  }
})
