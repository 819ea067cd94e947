import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { Agent, type RunInput } from "../../src/agent/Agent.ts"
import { illegality } from "../../src/agent/Transcript.ts"
import { total } from "../../src/compactor/Budget.ts"
import * as Facts from "../../src/compactor/Facts.ts"
import type { AgentEvent } from "../../src/domain/AgentEvent.ts"
import type { Message } from "../../src/domain/Message.ts"
import { partsOf, textOf, toolCallsOf } from "../../src/domain/MessageParts.ts"
import { failure, success } from "../../src/domain/ToolExecutor.ts"
import { Hooks, type HooksService } from "../../src/hooks/Hooks.ts"
import { untouched } from "../../src/hooks/HookRunner.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { agentLayer, apiError, call, type Request, type Step, type Turn, type World } from "./support.ts"

const collect = (input: RunInput) =>
  Effect.map(
    Effect.flatMap(Agent, (agent) => Stream.runCollect(agent.run(input))),
    (events) => Chunk.toReadonlyArray(events)
  )

type Of<T extends AgentEvent["type"]> = Extract<AgentEvent, { readonly type: T }>
const of = <T extends AgentEvent["type"]>(events: ReadonlyArray<AgentEvent>, type: T): ReadonlyArray<Of<T>> =>
  events.filter((event): event is Of<T> => event.type === type)

const usage = (input_tokens: number): Step => ({
  type: "usage",
  usage: { input_tokens, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 }
})
/** No counts, so that the estimates are all there is. */
const answers = (text: string, input_tokens?: number): ReadonlyArray<Step> => [
  { type: "content_delta", text },
  ...(input_tokens === undefined ? [] : [usage(input_tokens)]),
  { type: "message_stop", stop_reason: "end_turn" }
]
const calls = (id: string, name: string, input: Readonly<Record<string, unknown>>, tokens?: number) => [
  call(id, name, input),
  ...(tokens === undefined ? [] : [usage(tokens)]),
  { type: "message_stop", stop_reason: "tool_use" } as const
]
const words = (n: number): string => "word ".repeat(n)

/** Questions with long answers, one run each, then the last. */
const talk = (turns: number) =>
  Effect.gen(function*() {
    let session_id: string | undefined
    let events: ReadonlyArray<AgentEvent> = []
    for (let n = 1; n <= turns; n++) {
      events = yield* collect({ prompt: `question ${n}`, ...(session_id === undefined ? {} : { session_id }) })
      session_id = events[0]?.session_id
    }
    return { events, session_id: session_id ?? "" }
  })

const summaryText = (request: Request | undefined): string => {
  const found = request?.messages.find(({ kind }) => kind === "summary")
  return found === undefined ? "" : textOf(found)
}

const run = <A, E>(world: World, program: Effect.Effect<A, E, Agent | SessionStore>) =>
  Effect.provide(program, agentLayer(world))

describe("before a request (5.1)", () => {
  it.effect("over nine tenths the conversation is compacted, and the record says so (5.10)", () => {
    const requests: Array<Request> = []
    return run(
      {
        settings: "{\"max_tokens\": 3000, \"reserve_recent\": 1}",
        requests,
        turns: Array.from({ length: 5 }, (_, n) => answers(`answer ${n + 1} ${words(500)}`)),
        summary: () => answers("## Goal: to see", 77)
      },
      Effect.gen(function*() {
        const { events, session_id } = yield* talk(5)
        const told = of(events, "compaction")
        assert.strictEqual(told.length, 1)
        assert.isFalse(told[0]?.fallback)
        assert.isAbove(told[0]?.tokens_saved ?? 0, 1000)
        assert.isBelow(
          events.findIndex(({ type }) => type === "compaction"),
          events.findIndex(({ type }) => type === "turn.started")
        )
        const last = requests.at(-1)
        assert.deepStrictEqual(last?.messages.map(({ kind, role }) => kind ?? role), ["system", "summary", "user"])
        assert.include(summaryText(last), "## Goal: to see")
        assert.include(summaryText(last), "question 1")
        assert.isFalse(requests.slice(0, -1).some((request) => summaryText(request) !== ""))
        // the summary call is paid for
        assert.strictEqual(of(events, "run.completed")[0]?.usage.input_tokens, 77)

        const store = yield* SessionStore
        const entries = yield* store.entries(session_id)
        const questions = entries.filter(({ message }) => message.role === "user").length
        assert.strictEqual(questions, 5, "the full history stays")
        const summary = entries.find(({ message }) => message.kind === "summary")
        assert.strictEqual(summary?.replaces?.length, 8)
        assert.deepStrictEqual(
          (yield* store.history(session_id)).map(({ kind, role }) => kind ?? role),
          ["summary", "user", "assistant"]
        )
      })
    )
  })

  it.effect("what the provider counted comes before the estimate", () => {
    const requests: Array<Request> = []
    return run(
      {
        settings: "{\"max_tokens\": 1000, \"reserve_recent\": 1}",
        model: { price: null },
        requests,
        turns: [calls("a", "look", {}, 950), answers("done")],
        tools: { look: () => Effect.succeed(success("seen")) },
        summary: () => answers("s")
      },
      Effect.gen(function*() {
        const events = yield* collect({ prompt: "go" })
        assert.strictEqual(of(events, "run.completed").length, 1)
        // one turn and one group: there is nothing to compact, and it is not over the budget
        assert.strictEqual(of(events, "compaction").length, 0)
        const again = yield* run(
          {
            settings: "{\"max_tokens\": 2000, \"reserve_recent\": 1}",
            turns: [calls("a", "look", {}, 500), calls("b", "look", {}, 1900), answers("done")],
            tools: { look: () => Effect.succeed(success(words(200))) },
            summary: () => answers("s")
          },
          collect({ prompt: "go" })
        )
        assert.strictEqual(of(again, "compaction").length, 1)
      })
    )
  })

  it.effect("without max_tokens and without a window nothing is ever compacted; 0 = never (D19)", () =>
    Effect.gen(function*() {
      for (const [settings, traits] of [["{}", {}], ["{\"max_tokens\": 0}", { context_window: 300 }]] as const) {
        const { events } = yield* run(
          { settings, model: { traits }, turns: Array.from({ length: 3 }, () => answers(words(400))) },
          talk(3)
        )
        assert.strictEqual(of(events, "compaction").length, 0)
        assert.strictEqual(of(events, "run.completed").length, 1)
      }
    }))

  it.effect("the window of the model is the budget where the settings name none (D19)", () =>
    Effect.gen(function*() {
      const { events } = yield* run(
        {
          settings: "{\"reserve_recent\": 1}",
          model: { traits: { context_window: 2500 } },
          turns: Array.from({ length: 4 }, () => answers(words(500))),
          summary: () => answers("s")
        },
        talk(4)
      )
      assert.strictEqual(of(events, "compaction").length, 1)
    }))
})

/** A turn that reads more and more. */
const reading = (sizes: ReadonlyArray<number>, last: ReadonlyArray<Step>): ReadonlyArray<Turn> => [
  ...sizes.map((size, n) => calls(`c${n}`, "bash", { command: `cat file${n} # ${size}` })),
  last
]
const cat = (input: Readonly<Record<string, unknown>>) =>
  Effect.succeed(success(words(Number(/# (\d+)/.exec(String(input["command"]))?.[1] ?? 1))))

describe("one long turn (5.8)", () => {
  it.effect("older results are emptied, the newest stays, the record takes it over", () => {
    const requests: Array<Request> = []
    return run(
      {
        settings: "{\"max_tokens\": 2600}",
        requests,
        turns: reading([430, 430, 430, 430], answers("done")),
        tools: { bash: cat },
        summary: () => answers("s")
      },
      Effect.gen(function*() {
        const events = yield* collect({ prompt: "read it all" })
        assert.strictEqual(of(events, "run.completed").length, 1)
        const results = (request: Request | undefined) =>
          request?.messages.filter(({ role }) => role === "tool").map((message) => textOf(message).slice(0, 11))
        assert.deepStrictEqual(results(requests.at(-1)), [
          "[compacted]",
          "word word w",
          "word word w",
          "word word w"
        ])
        const store = yield* SessionStore
        const history = yield* store.history(events[0]?.session_id ?? "")
        assert.deepStrictEqual(results({ messages: history, tools: [] }), results(requests.at(-1)))
        assert.isNull(illegality(history))
      })
    )
  })

  it.effect("and when that was not enough all but the request and the newest group becomes a summary", () => {
    const requests: Array<Request> = []
    return run(
      {
        settings: "{\"max_tokens\": 2400}",
        requests,
        turns: reading(Array.from({ length: 12 }, () => 400), answers("done")),
        tools: { bash: cat },
        summary: () => answers("## State: half of it is read")
      },
      Effect.gen(function*() {
        const events = yield* collect({ prompt: "read it all" })
        assert.strictEqual(of(events, "run.completed").length, 1)
        const summarised = requests.filter((request) => summaryText(request) !== "")
        assert.isAbove(summarised.length, 0)
        for (const request of requests) {
          assert.isNull(illegality(request.messages))
          assert.isAtMost(total(request.messages), 2400)
          assert.strictEqual(request.messages.filter(({ role }) => role === "user").map(textOf).join(), "read it all")
        }
      })
    )
  })

  it.effect("what cannot be made to fit ends the run with exit 4 and says what fills it", () =>
    Effect.gen(function*() {
      const events = yield* run(
        { settings: "{\"max_tokens\": 900}", turns: reading([1500], answers("never")), tools: { bash: cat } },
        collect({ prompt: "read it all" })
      )
      const [end] = of(events, "run.failed")
      assert.strictEqual(end?.exit_code, 4)
      assert.strictEqual(end?.error.code, "context_too_long")
      assert.include(end?.error.message, "a result of bash")
      assert.include(end?.error.message, "900 tokens")
    }))

  it.effect("reads that were made again are given up before anything else, without a summary", () => {
    const requests: Array<Request> = []
    return run(
      {
        settings: "{\"max_tokens\": 3000}",
        requests,
        turns: [
          calls("a", "read", { path: "x" }),
          calls("b", "read", { path: "x" }),
          calls("c", "bash", { command: "# 1" }),
          answers("done")
        ],
        tools: { read: () => Effect.succeed(success(words(950))), bash: cat },
        summary: () => [{ die: "nobody asks" }]
      },
      Effect.gen(function*() {
        const events = yield* collect({ prompt: "go" })
        assert.deepStrictEqual(of(events, "compaction").map((event) => event.compacted_count), [0])
        const results = requests[2]?.messages.filter(({ role }) => role === "tool").map(textOf)
        assert.strictEqual(results?.[0], "[read: the same was looked up again later]")
        assert.strictEqual(results?.[1], words(950))
      })
    )
  })
})

describe("the loop breaker (5.9)", () => {
  it.effect("three compactions running that save little end it for the message, visibly; the next one has it again", () => {
    // the provider counts what our estimates do not see: the conversation is always too long
    let n = 0
    const long = () => Array.from({ length: 8 }, () => calls(`c${n++}`, "bash", { command: `${n} # 30` }, 1900))
    return run(
      {
        settings: "{\"max_tokens\": 2000, \"reserve_recent\": 1}",
        turns: [...long(), answers("done", 100), ...long(), answers("done", 100)],
        tools: { bash: cat },
        summary: () => answers("s")
      },
      Effect.gen(function*() {
        let session_id: string | undefined
        for (let prompt = 0; prompt < 2; prompt++) {
          const events: ReadonlyArray<AgentEvent> = yield* collect({
            prompt: "go",
            ...(session_id === undefined ? {} : { session_id })
          })
          session_id = events[0]?.session_id
          assert.strictEqual(of(events, "run.completed").length, 1)
          const off = events.findIndex((event) => event.type === "notice" && event.code === "compaction_off")
          assert.isAbove(off, 0)
          assert.isAtLeast(of(events, "compaction").length, 3)
          assert.isFalse(events.slice(off).some(({ type }) => type === "compaction"))
        }
      })
    )
  })

  it.effect("ten for one message end it, too", () => {
    let n = 0
    return run(
      {
        settings: "{\"max_tokens\": 3000}",
        turns: [
          ...Array.from({ length: 90 }, () => calls(`c${n++}`, "bash", { command: `${n} # 400` })),
          answers("never")
        ],
        tools: { bash: cat },
        summary: () => answers("s")
      },
      Effect.gen(function*() {
        const events = yield* collect({ prompt: "go" })
        assert.strictEqual(of(events, "compaction").length, 10)
        assert.include(of(events, "notice").map(({ message }) => message).join(), "10 times")
        // nothing holds it any more: the provider says when it is enough
        assert.strictEqual(of(events, "turn.started").length, 91)
      })
    )
  })
})

describe("looking the same up again and again", () => {
  it.effect("ends: outputs are shortened 20 times at the most, then there are 10 summaries, then none (5.9)", () => {
    let n = 0
    const turns: ReadonlyArray<Turn> = [
      ...Array.from(
        { length: 150 },
        () => calls(`c${n++}`, "bash", { command: `cat ${n % 2 === 0 ? "a" : "b"} # 900` })
      ),
      answers("done")
    ]
    return run(
      { settings: "{\"max_tokens\": 3000}", turns, tools: { bash: cat }, summary: () => answers(words(20)) },
      Effect.gen(function*() {
        const events = yield* collect({ prompt: "compare a with b", max_turns: 151 })
        const counts = of(events, "compaction").map((event) => event.compacted_count)
        assert.isAtMost(counts.length, 31)
        assert.strictEqual(of(events, "notice").filter(({ code }) => code === "compaction_off").length, 1)
      })
    )
  })
})

describe("the provider says that the request is too long", () => {
  it.effect("the conversation is compacted and asked once more", () => {
    const requests: Array<Request> = []
    let asked = 0
    return run(
      {
        settings: "{\"max_tokens\": 100000, \"reserve_recent\": 1}",
        requests,
        turns: [
          answers(words(500)),
          answers(words(500)),
          [{ fail: apiError("context_too_long", false) }],
          answers("it fits")
        ],
        summary: () => {
          asked++
          return answers("s")
        }
      },
      Effect.gen(function*() {
        const { events } = yield* talk(3)
        assert.strictEqual(of(events, "run.completed")[0]?.result, "it fits")
        assert.strictEqual(of(events, "compaction").length, 1)
        assert.strictEqual(of(events, "turn.started").length, 1)
        assert.strictEqual(asked, 1)
        assert.isBelow(total(requests.at(-1)?.messages ?? []), total(requests.at(-2)?.messages ?? []))
      })
    )
  })

  it.effect("twice running is the end, exit 4; so is once without a budget", () =>
    Effect.gen(function*() {
      const tooLong: Turn = [{ fail: apiError("context_too_long", false) }]
      for (const [settings, failures] of [["{\"max_tokens\": 100000, \"reserve_recent\": 1}", 2], ["{}", 1]] as const) {
        const { events } = yield* run(
          {
            settings,
            turns: [answers(words(500)), ...Array.from({ length: failures }, () => tooLong)],
            summary: () => answers("s")
          },
          talk(2)
        )
        const [end] = of(events, "run.failed")
        assert.strictEqual(end?.exit_code, 4)
        assert.strictEqual(end?.error.code, "context_too_long")
      }
    }))
})

describe("the answer itself was cut at the end of the window", () => {
  it.effect("the conversation is compacted and goes on", () => {
    const cut: Turn = [{ type: "content_delta", text: "half of" }, {
      type: "message_stop",
      stop_reason: "context_window"
    }]
    return run(
      {
        settings: "{\"max_tokens\": 100000, \"reserve_recent\": 1}",
        turns: [answers(words(500)), cut, answers("the rest")],
        summary: () => answers("s")
      },
      Effect.gen(function*() {
        const { events } = yield* talk(2)
        assert.strictEqual(of(events, "compaction").length, 1)
        assert.strictEqual(of(events, "run.completed")[0]?.result, "the rest")
      })
    )
  })
})

describe("/compact", () => {
  const four = Array.from({ length: 4 }, (_, n) => answers(`answer ${n}`))

  it.effect("compacts whatever the size, by the focus, and asks for nothing else", () => {
    const summaries: Array<Request> = []
    return run(
      {
        settings: "{\"max_tokens\": 100000}",
        turns: [...four, answers("after")],
        summary: (request) => {
          summaries.push(request)
          return answers("## Goal: questions")
        }
      },
      Effect.gen(function*() {
        const { session_id } = yield* talk(4)
        const events = yield* collect({ prompt: "", session_id, compact: { focus: "the numbers" } })
        assert.deepStrictEqual(
          events.map(({ type }) => type),
          ["run.started", "usage", "compaction", "run.completed"].filter((type) => type !== "usage")
        )
        assert.include(JSON.stringify(summaries[0]?.messages[0]), "the numbers")
        const after = yield* collect({ prompt: "go on", session_id })
        assert.strictEqual(of(after, "run.completed")[0]?.result, "after")
      })
    )
  })

  it.effect("with nothing to compact, and without a budget, it says so; without a session it is refused", () =>
    Effect.gen(function*() {
      for (const settings of ["{\"max_tokens\": 100000}", "{}"]) {
        const events = yield* run(
          { settings, turns: [answers("hi")] },
          Effect.gen(function*() {
            const agent = yield* Agent
            const refused = yield* Effect.flip(Stream.runDrain(agent.run({ prompt: "", compact: { focus: "" } })))
            assert.strictEqual(refused.reason, "invalid_input")
            const { session_id } = yield* talk(1)
            yield* collect({ prompt: "", session_id, compact: { focus: "" } })
            return yield* collect({ prompt: "", session_id, compact: { focus: "" } })
          })
        )
        assert.strictEqual(of(events, "notice")[0]?.code, "nothing_compacted")
        assert.strictEqual(of(events, "run.completed").length, 1)
      }
    }))
})

describe("an interruption in the middle of a summary", () => {
  it.effect("leaves the conversation as it was, and the next run goes on", () =>
    Effect.gen(function*() {
      const reached = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      let asked = 0
      yield* run(
        {
          settings: "{\"max_tokens\": 1500, \"reserve_recent\": 1}",
          turns: [...Array.from({ length: 3 }, () => answers(words(500))), answers("after")],
          summary: () => asked++ === 0 ? [{ gate, reached }] : answers("s")
        },
        Effect.gen(function*() {
          const { session_id } = yield* talk(2)
          const store = yield* SessionStore
          const before = yield* store.history(session_id)
          const agent = yield* Agent
          const fiber = yield* Effect.fork(collect({ prompt: "third", session_id }))
          yield* Deferred.await(reached)
          yield* agent.interrupt(session_id)
          const events = yield* Fiber.join(fiber)
          assert.strictEqual(of(events, "run.cancelled").length, 1)
          assert.deepStrictEqual((yield* store.history(session_id)).slice(0, before.length), before)
          const again = yield* collect({ prompt: "fourth", session_id })
          assert.strictEqual(of(again, "compaction").length, 1)
          assert.strictEqual(of(again, "run.completed").length, 1)
        })
      )
    }))
})

describe("hooks before a compaction (9.1)", () => {
  const denying: Layer.Layer<Hooks> = Layer.succeed(
    Hooks,
    {
      hooks: [],
      handles: (event) => event === "pre_compact",
      runPre: () => Effect.succeed(untouched),
      runPost: () => Effect.succeed(untouched),
      runEvent: ({ event }) =>
        Effect.succeed(
          event === "pre_compact" ? { ...untouched, decision: "deny" as const, reason: "not now" } : untouched
        )
    } satisfies HooksService
  )

  it.effect("what an allowing hook has to say goes to whoever writes the summary; nothing to compact, no hook", () => {
    const asked: Array<string> = []
    const summaries: Array<Request> = []
    return run(
      {
        settings: "{\"max_tokens\": 1500, \"reserve_recent\": 1}",
        hooks: Layer.succeed(Hooks, {
          hooks: [],
          handles: () => false,
          runPre: () => Effect.succeed(untouched),
          runPost: () => Effect.succeed(untouched),
          runEvent: (subject) =>
            Effect.sync(() => {
              if (subject.event !== "pre_compact") return untouched
              asked.push(subject.trigger)
              return { ...untouched, context: "keep the port numbers" }
            })
        }),
        turns: Array.from({ length: 3 }, () => answers(words(500))),
        summary: (request) => {
          summaries.push(request)
          return answers("s")
        }
      },
      Effect.gen(function*() {
        const { session_id } = yield* talk(3)
        assert.deepStrictEqual(asked, ["auto"])
        assert.include(JSON.stringify(summaries[0]?.messages[0]), "keep the port numbers")
        yield* collect({ prompt: "", session_id, compact: { focus: "" } })
        yield* collect({ prompt: "", session_id, compact: { focus: "" } })
        yield* collect({ prompt: "", session_id, compact: { focus: "" } })
        assert.isAtMost(asked.length, 3)
      })
    )
  })

  it.effect("a denial leaves the conversation as it is, and is told once", () =>
    Effect.gen(function*() {
      const events = yield* run(
        {
          settings: "{\"max_tokens\": 1200}",
          hooks: denying,
          turns: reading([200, 200, 200], answers("done")),
          tools: { bash: cat }
        },
        Effect.gen(function*() {
          const first = yield* collect({ prompt: "go" })
          const asked = yield* collect({ prompt: "", session_id: first[0]?.session_id ?? "", compact: { focus: "" } })
          assert.strictEqual(of(asked, "run.failed")[0]?.error.code, "compaction_denied")
          return first
        })
      )
      assert.strictEqual(of(events, "compaction").length, 0)
      assert.deepStrictEqual(of(events, "notice").map(({ code }) => code), ["compaction_denied"])
      assert.strictEqual(of(events, "run.completed").length, 1)
    }))
})

describe("hours of work", () => {
  const goal =
    "Raise every counter in files f0 to f19 in turn, keep the list of tasks, and never touch LICENSE. Token: zx-81."
  const rounds = 500

  interface Memory {
    readonly goal: boolean
    readonly tasks: ReadonlyArray<{ readonly content: string; readonly status: string }>
  }

  /** All that the model can know: what stands in the request. */
  const remembered = (request: Request): Memory => {
    let tasks: Memory["tasks"] = []
    let seen = false
    for (const message of request.messages) {
      const facts = Facts.ofSummary(message)
      if (facts.todo !== null) tasks = JSON.parse(facts.todo) as Memory["tasks"]
      if (facts.goal === goal) seen = true
      if (message.role === "user" && textOf(message).includes("zx-81")) seen = true
      for (const called of toolCallsOf(message)) {
        if (called.name === "todo") tasks = (JSON.parse(called.arguments) as { items: Memory["tasks"] }).items
      }
    }
    return { goal: seen, tasks }
  }

  const world = () => {
    const files = new Map(Array.from({ length: 20 }, (_, n) => [`f${n}`, 0]))
    const requests: Array<Request> = []
    const lost: Array<string> = []
    let summaries = 0
    const turn = (n: number) => (request: Request): ReadonlyArray<Step> => {
      const memory = remembered(request)
      if (!memory.goal) lost.push(`turn ${n}: the goal`)
      const done = memory.tasks.filter(({ status }) => status === "completed").length
      if (done !== Math.floor(Math.max(0, n - 1) / 25)) lost.push(`turn ${n}: the list says ${done}`)
      // the provider counts a bit more than we do, and the tools on top
      const tokens = Math.round(total(request.messages) * 1.1) + 1500
      if (tokens > 32_000) return [{ fail: apiError("context_too_long", false) }]
      if (n === rounds) return answers(`all done, ${done} tasks`, tokens)
      if (n % 25 === 0) {
        const items = Array.from({ length: 20 }, (_, k) => ({
          content: `round ${k}`,
          status: k < n / 25 ? "completed" : "pending"
        }))
        return calls(`call_${n}`, "todo", { items }, tokens)
      }
      const path = `f${n % 20}`
      return n % 3 === 0
        ? calls(`call_${n}`, "read", { path }, tokens)
        : n % 3 === 1
        ? calls(`call_${n}`, "edit", { path, old_string: `n = ${files.get(path)}`, new_string: "n = n + 1" }, tokens)
        : calls(`call_${n}`, "bash", { command: `npm test ${n}` }, tokens)
    }
    const given: World = {
      settings: "{}",
      model: { traits: { context_window: 32_000 } },
      requests,
      turns: Array.from({ length: rounds + 60 }, (_, n) => (request: Request) => {
        const results = request.messages.filter(({ role }) => role === "tool")
        const last = /^call_(\d+)$/.exec(results.at(-1)?.tool_call_id ?? "")
        void n
        return turn(last === null ? 1 : Number(last[1]) + 1)(request)
      }),
      tools: {
        todo: () => Effect.succeed(success("kept")),
        read: ({ path }) =>
          Effect.as(Effect.sleep("1 second"), success(`file ${String(path)}\n${"some line of code();\n".repeat(80)}`)),
        edit: ({ path }) =>
          Effect.sync(() => {
            const name = String(path)
            const was = files.get(name)
            if (was === undefined) return failure(`there is no ${name}`)
            files.set(name, was + 1)
            return success(`edited ${name}`)
          }),
        bash: () => Effect.as(Effect.sleep("10 seconds"), success(`ok\n${"test passed in 3 ms\n".repeat(60)}`))
      },
      summary: () => {
        summaries++
        // one of them never comes, one fails
        if (summaries === 2) return [{ wait: 10 * 60_000 }]
        if (summaries === 3) return [{ fail: apiError("overloaded", true) }]
        return answers(`## Goal\nraise counters\n## State\n${words(100)}`, 9000)
      }
    }
    return { files, given, lost, requests, summaries: () => summaries }
  }

  it.effect("500 turns in a window of 32k: goal, tasks and files are intact, compactions are few", () => {
    const { files, given, lost, requests, summaries } = world()
    return run(
      given,
      Effect.gen(function*() {
        const fiber = yield* Effect.fork(collect({ prompt: goal, max_turns: rounds + 10 }))
        while (fiber.unsafePoll() === null) yield* TestClock.adjust("30 seconds")
        const events = yield* Fiber.join(fiber)
        assert.deepStrictEqual(lost, [])
        assert.deepStrictEqual(of(events, "run.failed").map(({ error }) => error), [])
        assert.strictEqual(of(events, "run.completed")[0]?.result, "all done, 19 tasks")
        const edits = Array.from({ length: rounds - 1 }, (_, n) => n + 1).filter((n) => n % 25 !== 0 && n % 3 === 1)
        for (const [path, count] of files) {
          assert.strictEqual(count, edits.filter((n) => `f${n % 20}` === path).length, path)
        }
        for (const request of requests) assert.isNull(illegality(request.messages))
        const compactions = of(events, "compaction")
        assert.isAtMost(compactions.length, 30)
        assert.isAtMost(summaries(), 10)
        assert.isAbove(compactions.length, 3)
        assert.strictEqual(of(events, "notice").filter(({ code }) => code === "compaction_off").length, 0)

        const store = yield* SessionStore
        const session_id = events[0]?.session_id ?? ""
        const entries = yield* store.entries(session_id)
        assert.strictEqual(
          entries.filter(({ key }) => key.startsWith("tool:")).length,
          rounds - 1,
          "the record is whole"
        )
        const history = yield* store.history(session_id)
        const summary: Message | undefined = history.find(({ kind }) => kind === "summary")
        const facts = summary === undefined ? Facts.none : Facts.ofSummary(summary)
        const known = new Set([
          ...facts.files_modified,
          ...history.flatMap((message) =>
            partsOf(message).flatMap((part) =>
              part.type === "tool_call" && part.name === "edit"
                ? [(JSON.parse(part.arguments) as { readonly path: string }).path]
                : []
            )
          )
        ])
        assert.strictEqual(known.size, 20, "every changed file is named")
      })
    )
  }, 60_000)
})
