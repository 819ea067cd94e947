import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { check } from "../../src/cli/Check.ts"
import * as Conversation from "../../src/cli/Conversation.ts"
import type { CliExit } from "../../src/cli/Exit.ts"
import * as Parser from "../../src/cli/Parser.ts"
import * as Prompter from "../../src/cli/Prompter.ts"
import * as Spec from "../../src/cli/Spec.ts"
import { colourless } from "../../src/cli/Style.ts"
import type { PermissionDecision } from "../../src/domain/PermissionPrompter.ts"
import type { Line } from "../../src/platform/Terminal.ts"
import {
  answer,
  type Bench,
  bench,
  type BenchOptions,
  cancelled,
  completed,
  events,
  refuses,
  session,
  started
} from "./support.ts"

const tty = { stdin_is_tty: true, stdout_is_tty: true, stderr_is_tty: true, vars: { NO_COLOR: "1" } }

/** A person who answers with these, then leaves; what was asked is kept. */
const person = (typed: ReadonlyArray<string | Line>) => {
  const asked: Array<string> = []
  let next = 0
  return {
    asked,
    readLine: (prompt: string): Effect.Effect<Line> =>
      Effect.sync(() => {
        asked.push(prompt)
        const line = typed[next]
        next += 1
        return line === undefined ? { type: "end" } : typeof line === "string" ? { type: "line", text: line } : line
      })
  }
}

const interrupt: Line = { type: "interrupt" }

const converse = (argv: ReadonlyArray<string>, on: Bench, given?: Prompter.Shared) =>
  Effect.gen(function*() {
    const checked = check(argv)
    if (checked.kind !== "command") throw new Error(JSON.stringify(checked))
    const shared = given ?? (yield* Prompter.shared)
    const values = yield* Parser.parse(Spec.conversation, checked.argv)
    return yield* Conversation.execute(values, shared).pipe(
      Effect.map((end): { readonly code: number; readonly lines: ReadonlyArray<string> } => ({
        code: typeof end === "number" ? end : -1,
        lines: []
      })),
      Effect.catchAll((exit: CliExit) => Effect.succeed({ code: exit.exit_code, lines: exit.lines })),
      Effect.provide(on.layer)
    )
  })

const talk = (typed: ReadonlyArray<string | Line>, options: BenchOptions = {}, argv: ReadonlyArray<string> = []) =>
  Effect.gen(function*() {
    const { readLine } = person(typed)
    const on = bench({ ...options, environment: tty, terminal: { readLine } })
    const end = yield* converse(argv, on)
    return { ...end, on, out: on.out.join(""), err: on.err.join("") }
  })

/** A conversation with one Ctrl-C, when the first answer has begun; it goes on to its plain end. */
const interrupted = (on: Bench, begun: Deferred.Deferred<void>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.fork(converse([], on))
    yield* Deferred.await(begun)
    yield* on.raise("SIGINT")
    assert.strictEqual((yield* Fiber.join(fiber)).code, 0)
  })

describe("what was typed", () => {
  it("a slash and a word is a command, a path and a paste are for the agent", () => {
    const table: ReadonlyArray<readonly [text: string, kind: string]> = [
      ["", "nothing"],
      ["  \n", "nothing"],
      ["hello", "prompt"],
      ["/help", "command"],
      ["/HELP ", "command"],
      ["/quit", "command"],
      ["/model a/b", "command"],
      ["/modle", "unknown"],
      ["/etc/hosts is wrong", "prompt"],
      ["/", "prompt"],
      ["/help\nme", "prompt"],
      ["/plan this\nand that", "command"],
      ["/auto", "command"],
      ["// a comment", "prompt"]
    ]
    for (const [text, kind] of table) assert.strictEqual(Conversation.typedOf(text).kind, kind, text)
  })

  it.prop("anything can be typed, and what is for the agent reaches it unchanged", [FastCheck.string()], ([text]) => {
    const typed = Conversation.typedOf(text)
    if (typed.kind === "prompt") assert.strictEqual(typed.text, text)
  })
})

describe("agents of their own", () => {
  it.effect("14.1: /plan, /solve, /code, /auto and /agent NAME give the task on", () =>
    Effect.gen(function*() {
      const { on } = yield* talk(["/plan a thing", "/solve b", "/code c\nd", "/auto e", "/agent reviewer look at it"])
      assert.deepEqual(on.inputs.map(({ delegate, prompt }) => [delegate?.agent, prompt]), [
        ["plan", "a thing"],
        ["solve", "b"],
        ["code", "c\nd"],
        ["auto", "e"],
        ["reviewer", "look at it"]
      ])
    }))

  it.effect("14.6: without a task the usage is shown and nothing is spawned", () =>
    Effect.gen(function*() {
      const { on, out } = yield* talk(["/plan", "/auto  ", "/agent reviewer", "/agent"])
      assert.deepEqual(on.inputs, [])
      for (const form of ["/plan TASK", "/auto TASK", "/agent reviewer TASK"]) assert.include(out, `usage: ${form}`)
      assert.include(out, "writes a step-by-step plan")
    }))
})

describe("the conversation", () => {
  it.effect("answers in one session until Ctrl-D", () =>
    Effect.gen(function*() {
      const { code, on, out } = yield* talk(["first", "", "second\nline"])
      assert.strictEqual(code, 0)
      assert.deepEqual(on.inputs.map(({ prompt, session_id }) => [prompt, session_id]), [
        ["first", undefined],
        ["second\nline", "ses_1"]
      ])
      assert.include(out, "hello\nhello\n")
    }))

  it.effect("/new, /model, /sessions, /help, /exit", () =>
    Effect.gen(function*() {
      const { code, err, on, out } = yield* talk(
        [
          "a",
          "/model x/y",
          "b",
          "/new",
          "c",
          "/model unknown",
          "/model",
          "/sessions",
          "/help",
          "/modle",
          "/exit",
          "never"
        ],
        { sessions: [session("ses_1"), session("ses_2", { workspace: "/else" })] }
      )
      assert.strictEqual(code, 0)
      assert.deepEqual(on.inputs.map(({ model, prompt, session_id }) => [prompt, session_id, model]), [
        ["a", undefined, undefined],
        ["b", "ses_1", "x/y"],
        ["c", undefined, "x/y"]
      ])
      assert.include(err, "there is no model unknown")
      assert.include(err, "there is no command /modle; did you mean /model?")
      assert.include(out, "about ses_1")
      assert.notInclude(out, "about ses_2")
      assert.include(out, "/sessions")
    }))

  it.effect("/compact [FOCUS] compacts the session that is on; before the first message there is none (5.1)", () =>
    Effect.gen(function*() {
      const { code, on, out } = yield* talk(["/compact", "a", "/compact  the parser ", "b"])
      assert.strictEqual(code, 0)
      assert.include(out, "there is nothing to compact yet")
      assert.deepEqual(on.inputs.map(({ compact, prompt, session_id }) => [prompt, session_id, compact]), [
        ["a", undefined, undefined],
        ["", "ses_1", { focus: "the parser" }],
        ["b", "ses_1", undefined]
      ])
    }))

  it.effect("Ctrl-C twice leaves; once does not", () =>
    Effect.gen(function*() {
      const { code, on } = yield* talk([interrupt, "a", interrupt, interrupt, "never"])
      assert.strictEqual(code, 0)
      assert.deepEqual(on.inputs.map((input) => input.prompt), ["a"])
    }))

  it.effect("what keeps a run from starting is told, and the conversation goes on", () =>
    Effect.gen(function*() {
      const { code, err, on } = yield* talk(["a", "b"], {
        runs: [refuses("session_busy", "busy"), () => Stream.fromIterable(events([started, completed("x")]))]
      })
      assert.strictEqual(code, 0)
      assert.include(err, "error: busy")
      assert.strictEqual(on.inputs.length, 2)
    }))

  it.effect("without a terminal it is a mistake (exit 2)", () =>
    Effect.gen(function*() {
      const on = bench({})
      const { code, lines } = yield* converse([], on)
      assert.strictEqual(code, 2)
      assert.match(lines.join("\n"), /a conversation needs a terminal/)
    }))

  it.effect("Ctrl-C during an answer stops it and the conversation goes on", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const asked = yield* Deferred.make<void>()
      const { readLine } = person(["a", "b"])
      const on = bench({
        environment: tty,
        terminal: { readLine },
        runs: [
          () =>
            Stream.fromIterable(events([started])).pipe(
              Stream.concat(Stream.unwrap(Effect.as(Deferred.succeed(begun, undefined), Stream.empty))),
              Stream.concat(
                Stream.unwrap(Effect.as(Deferred.await(asked), Stream.fromIterable(events([cancelled("interrupted")]))))
              )
            ),
          () => Stream.fromIterable(events([started, ...answer("again"), completed("again")]))
        ],
        interrupt: () => Effect.asVoid(Deferred.succeed(asked, undefined))
      })
      yield* interrupted(on, begun)
      assert.deepEqual(on.inputs.map((input) => input.prompt), ["a", "b"])
      assert.include(on.err.join(""), "cancelled: interrupted")
    }))

  it.effect("Ctrl-C before the first event of an answer, while MCP servers start, stops it and no more", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const asked = yield* Deferred.make<void>()
      const { readLine } = person(["a", "b"])
      const on: Bench = bench({
        environment: tty,
        terminal: { readLine },
        runs: [
          () =>
            Stream.unwrap(Effect.gen(function*() {
              on.inputs[0]?.onOpen?.("ses_1")
              yield* Deferred.succeed(begun, undefined)
              yield* Deferred.await(asked)
              return Stream.fromIterable(events([started, cancelled("interrupted")]))
            })),
          () => Stream.fromIterable(events([started, ...answer("again"), completed("again")]))
        ],
        interrupt: () => Effect.asVoid(Deferred.succeed(asked, undefined))
      })
      yield* interrupted(on, begun)
      assert.deepEqual(on.inputs.map((input) => [input.prompt, input.session_id]), [["a", undefined], ["b", "ses_1"]])
      assert.deepEqual(on.interrupts, ["ses_1"])
      assert.include(on.err.join(""), "cancelled: interrupted")
    }))

  it.effect("the second Ctrl-C during an answer leaves at once with 130", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const { readLine } = person(["a", "b"])
      const on = bench({
        environment: tty,
        terminal: { readLine },
        runs: [() =>
          Stream.fromIterable(events([started])).pipe(
            Stream.concat(Stream.unwrap(Effect.as(Deferred.succeed(begun, undefined), Stream.never)))
          )]
      })
      const fiber = yield* Effect.fork(converse([], on))
      yield* Deferred.await(begun)
      yield* on.raise("SIGINT")
      yield* on.raise("SIGINT")
      assert.strictEqual((yield* Fiber.join(fiber)).code, 130)
      assert.deepEqual(on.inputs.map((input) => input.prompt), ["a"])
    }))
})

describe("7.7 the question of permission", () => {
  it("answers", () => {
    const allow = (scope: "once" | "session" | "always"): PermissionDecision => ({ decision: "allow", scope })
    const deny = (reason: string): PermissionDecision => ({ decision: "deny", reason })
    const table: ReadonlyArray<readonly [text: string, decision: PermissionDecision | null]> = [
      ["y", allow("once")],
      [" YES ", allow("once")],
      ["s", allow("session")],
      ["session", allow("session")],
      ["a", allow("always")],
      ["always", allow("always")],
      ["n", deny("denied by the user")],
      ["no", deny("denied by the user")],
      ["n use npm ci instead", deny("denied by the user: use npm ci instead")],
      ["n two\nlines", deny("denied by the user: two\nlines")],
      ["", null],
      ["maybe", null],
      ["y but careful", null],
      ["yn", null]
    ]
    for (const [text, decision] of table) assert.deepEqual(Prompter.answerOf(text)?.decision ?? null, decision, text)
    assert.match(Prompter.answerOf("a")?.note ?? "", /for this session; a rule/)
    // What no rule can say is not promised (7.7).
    assert.match(Prompter.answerOf("a", false)?.note ?? "", /for this session only: .*none is written/)
  })

  it.prop("no answer but a plain yes, session or always allows", [FastCheck.string()], ([text]) => {
    const answer = Prompter.answerOf(text)
    if (answer?.decision.decision === "allow") {
      assert.include(["y", "yes", "s", "session", "a", "always"], text.trim().toLowerCase())
    }
  })

  it("the question shows the whole call, safely", () => {
    const long = `echo ${"x".repeat(5000)}; rm -rf /`
    const text = Prompter.questionText(
      "bash",
      { command: long, timeout_ms: 5 },
      { session_id: "s", subject: long },
      colourless
    )
    assert.include(text, "rm -rf /")
    assert.include(text, "timeout_ms:\n    5")
    const narrow = Prompter.questionText("write", { path: "src/a" }, {
      session_id: "s",
      subject: "src/a",
      session_covers: "write of the files below src/",
      can_keep: false
    }, colourless)
    assert.include(narrow, "for this session (s): write of the files below src/")
    assert.include(narrow, "no rule can say exactly this")
    const hostile = Prompter.questionText("write", { path: "a", content: "\u001b[1A\u202eevil" }, {
      session_id: "s",
      subject: "a"
    }, colourless)
    assert.include(hostile, "\u241b[1A<U+202E>evil")
  })

  const ask = (typed: ReadonlyArray<string | Line>, count = 1) =>
    Effect.gen(function*() {
      const { asked, readLine } = person(typed)
      const shared = yield* Prompter.shared
      const on = bench({ terminal: { readLine } })
      const decisions = yield* Effect.flatMap(Prompter.make(shared), (prompter) =>
        Effect.all(
          Array.from(
            { length: count },
            (_, index) =>
              prompter.requestPermission("bash", { command: `c${index}` }, {
                session_id: "ses_1",
                subject: `c${index}`
              })
          ),
          { concurrency: "unbounded" }
        )).pipe(Effect.provide(on.layer))
      return { decisions, asked, err: on.err.join(""), interrupted: yield* Queue.takeAll(shared.interrupts) }
    })

  it.effect("asks again until it understands", () =>
    Effect.gen(function*() {
      const { asked, decisions } = yield* ask(["", "what?", "y"])
      assert.deepEqual(decisions, [{ decision: "allow", scope: "once" }])
      assert.strictEqual(asked.length, 3)
    }))

  it.effect("the end of input denies, Ctrl-C denies and stops the run", () =>
    Effect.gen(function*() {
      assert.deepEqual((yield* ask([])).decisions, [{ decision: "deny", reason: "nobody answered" }])
      const fiber = yield* Effect.fork(ask([interrupt]))
      yield* TestClock.adjust("5 seconds")
      const { decisions, interrupted } = yield* Fiber.join(fiber)
      assert.deepEqual(decisions, [{ decision: "deny", reason: "interrupted by the user" }])
      assert.deepEqual([...interrupted], ["ses_1"])
    }))

  it.effect("a question waits until what led to it is on the screen, but not for ever", () =>
    Effect.gen(function*() {
      const { asked, readLine } = person(["y", "y"])
      const shared = yield* Prompter.shared
      const on = bench({ terminal: { readLine } })
      const question = (call_id: string) =>
        Effect.flatMap(Prompter.make(shared), (prompter) =>
          prompter.requestPermission("bash", {}, { session_id: "ses_1", call_id })).pipe(Effect.provide(on.layer))
      const first = yield* Effect.fork(question("call_1"))
      yield* TestClock.adjust("400 millis")
      assert.deepEqual(asked, [])
      shared.announcements.announce("call_1")
      yield* Fiber.join(first)
      shared.announcements.announce("call_2")
      yield* question("call_2")
      const last = yield* Effect.fork(question("call_3"))
      yield* TestClock.adjust("500 millis")
      yield* Fiber.join(last)
      assert.strictEqual(asked.length, 3)
    }))

  it.effect("questions come one after another", () =>
    Effect.gen(function*() {
      const { decisions, err } = yield* ask(["y", "n", "s"], 3)
      assert.deepEqual(decisions.map((decision) => decision.decision), ["allow", "deny", "allow"])
      assert.isBelow(err.indexOf("c0"), err.indexOf("c1"))
      assert.isBelow(err.indexOf("c1"), err.indexOf("c2"))
    }))

  it.effect("Ctrl-C at a question stops the run of the conversation", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const asked = yield* Deferred.make<void>()
      const shared = yield* Prompter.shared
      const { readLine } = person(["a"])
      const on = bench({
        environment: tty,
        terminal: { readLine },
        runs: [() =>
          Stream.fromIterable(events([started])).pipe(
            Stream.concat(Stream.unwrap(Effect.as(Deferred.succeed(begun, undefined), Stream.empty))),
            Stream.concat(
              Stream.unwrap(Effect.as(Deferred.await(asked), Stream.fromIterable(events([cancelled("x")]))))
            )
          )],
        interrupt: () => Effect.asVoid(Deferred.succeed(asked, undefined))
      })
      const fiber = yield* Effect.fork(converse([], on, shared))
      yield* Deferred.await(begun)
      yield* Queue.offer(shared.interrupts, "ses_1")
      assert.strictEqual((yield* Fiber.join(fiber)).code, 0)
      assert.deepEqual(on.interrupts, ["ses_1"])
    }))
})
