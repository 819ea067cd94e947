import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { check } from "../../src/cli/Check.ts"
import type { CliExit } from "../../src/cli/Exit.ts"
import * as Parser from "../../src/cli/Parser.ts"
import * as Run from "../../src/cli/Run.ts"
import { RunResult } from "../../src/cli/Schemas.ts"
import * as Spec from "../../src/cli/Spec.ts"
import type { AgentEvent } from "../../src/domain/AgentEvent.ts"
import { combine } from "../../src/domain/Piped.ts"
import {
  answer,
  type Bench,
  bench,
  type BenchOptions,
  cancelled,
  completed,
  events,
  failedRun,
  refuses,
  session,
  started
} from "./support.ts"

/** Exit code of `hanzo-dev run ARGV`, and the lines it ended with. */
const run = (
  argv: ReadonlyArray<string>,
  on: Bench
): Effect.Effect<{ readonly code: number; readonly lines: ReadonlyArray<string> }> => {
  const checked = check(["run", ...argv])
  if (checked.kind !== "command") throw new Error(JSON.stringify(checked))
  return Parser.parse(Spec.run, checked.argv).pipe(
    Effect.flatMap(Run.execute),
    Effect.map((code): { readonly code: number; readonly lines: ReadonlyArray<string> } => ({ code, lines: [] })),
    Effect.catchAll((exit: CliExit) => Effect.succeed({ code: exit.exit_code, lines: exit.lines })),
    Effect.provide(on.layer)
  )
}

const table = (
  name: string,
  argv: ReadonlyArray<string>,
  options: BenchOptions,
  expected: { readonly code: number; readonly line?: RegExp }
) =>
  it.effect(name, () =>
    Effect.gen(function*() {
      const on = bench(options)
      const { code, lines } = yield* run(argv, on)
      assert.strictEqual(code, expected.code)
      if (expected.line !== undefined) assert.match(lines.join("\n"), expected.line)
      if (expected.code === 2) assert.deepEqual(on.out, [])
    }))

const says = (...bodies: Parameters<typeof events>[0]) => () => Stream.fromIterable(events([started, ...bodies]))

describe("the prompt", () => {
  const prompt = (argv: ReadonlyArray<string>, options: BenchOptions) =>
    Effect.gen(function*() {
      const on = bench(options)
      yield* run(argv, on)
      return on.inputs.map((input) => input.prompt)
    })

  it.effect("comes from the argument, from stdin, or both", () =>
    Effect.gen(function*() {
      assert.deepEqual(yield* prompt(["fix"], {}), ["fix"])
      assert.deepEqual(yield* prompt([], { terminal: { stdin: "fix\n" } }), ["fix\n"])
      assert.deepEqual(yield* prompt(["-"], { terminal: { stdin: "fix" } }), ["fix"])
      assert.deepEqual(yield* prompt(["fix"], { terminal: { stdin: "log\n" } }), ["fix\n\n<stdin>\nlog\n</stdin>"])
      assert.deepEqual(yield* prompt(["fix"], { terminal: { stdin: " \n" } }), ["fix"])
      assert.deepEqual(yield* prompt(["fix"], { terminal: { stdin_kind: "terminal", stdin: "typed" } }), ["fix"])
      assert.strictEqual(combine("a", ""), "a")
    }))

  table("an empty argument is exit 2", ["  "], {}, { code: 2, line: /there is no prompt/ })
  table("no argument and an empty stdin is exit 2", [], { terminal: { stdin: "\n" } }, { code: 2, line: /no prompt/ })
  table("no argument at a terminal is exit 2", [], { terminal: { stdin_kind: "terminal" } }, { code: 2 })
  table("a stdin beyond its limit is exit 2", ["-"], { terminal: { stdin: "x".repeat(17 * 1024 * 1024) } }, {
    code: 2,
    line: /more than 16777216 bytes/
  })

  it.effect("a pipe that says nothing is left out after its time, and said so", () =>
    Effect.gen(function*() {
      for (const [stdin_kind, seconds] of [["socket", 3], ["pipe", 10]] as const) {
        const on = bench({ terminal: { stdin_kind } })
        const fiber = yield* Effect.fork(run(["fix"], on))
        yield* TestClock.adjust(999)
        assert.deepEqual(on.err, [])
        yield* TestClock.adjust(1)
        assert.deepEqual(on.err, ["reading stdin; close it or use < /dev/null to go on without\n"])
        yield* TestClock.adjust(seconds * 1000 - 1001)
        assert.deepEqual(on.inputs, [])
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Fiber.join(fiber)).code, 0)
        assert.deepEqual(on.inputs.map((input) => input.prompt), ["fix"])
        assert.match(on.err.join(""), new RegExp(`said nothing for ${seconds} s`))
      }
    }))

  it.effect("stream-json: one run a line, in one session; blank lines are skipped", () =>
    Effect.gen(function*() {
      const on = bench({
        terminal: {
          stdin:
            "{\"type\":\"user\",\"content\":\"a\"}\n\n{\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}\n"
        }
      })
      assert.strictEqual((yield* run(["--input-format", "stream-json", "first"], on)).code, 0)
      assert.deepEqual(on.inputs.map(({ prompt, session_id }) => [prompt, session_id]), [
        ["first", undefined],
        ["a", "ses_1"],
        [[{ type: "text", text: "b" }], "ses_1"]
      ])
    }))

  table("stream-json: a broken line is exit 2 and names its number", ["--input-format", "stream-json"], {
    terminal: { stdin: "\n{\"type\":\"user\"" }
  }, { code: 2, line: /line 2 of stdin is no prompt/ })
  table("stream-json: a line without content is exit 2", ["--input-format", "stream-json"], {
    terminal: { stdin: "{\"type\":\"user\",\"content\":\" \"}" }
  }, { code: 2, line: /line 1 of stdin has an empty prompt/ })
  table("stream-json: nothing at all is exit 2", ["--input-format", "stream-json"], { terminal: { stdin: "" } }, {
    code: 2,
    line: /no prompt/
  })
})

describe("what is checked before anything starts (exit 2)", () => {
  table("an unknown model", ["-m", "unknown", "x"], {}, { code: 2, line: /there is no model unknown/ })
  table("--max-cost with a model without price", ["--max-cost", "1", "x"], { price: false }, {
    code: 2,
    line: /--max-cost needs a price, and fake\/model has none/
  })
  table("--session that is not there", ["--session", "ses_9", "x"], {}, { code: 2, line: /no session ses_9/ })
  table("--continue without a session of this project", ["--continue", "x"], {
    sessions: [session("ses_1", { workspace: "/else" })]
  }, { code: 2, line: /no session of \/work\/project/ })

  it.effect("settings with errors: all are printed, nothing starts (4.6)", () =>
    Effect.gen(function*() {
      const on = bench({ settings: "{\"model\": 1,\n \"theme\": 2, \"x\": 3}" })
      assert.strictEqual((yield* run(["x"], on)).code, 2)
      assert.deepEqual(on.inputs, [])
      const text = on.err.join("")
      assert.include(text, "settings.json:1:11: model must be a text, this is a number (wrong_type)")
      assert.include(text, "settings.json:2:11: theme must be a text")
      assert.include(text, "settings.json:2:14: the key \"x\" is not known here")
    }))
})

describe("options reach the agent", () => {
  it.effect("all of them", () =>
    Effect.gen(function*() {
      const on = bench({ sessions: [session("ses_abc")] })
      yield* run(
        [
          "-m",
          "a/b",
          "--session",
          "ses_a",
          "--max-turns",
          "3",
          "--max-cost",
          "0.5",
          "--permission-mode",
          "plan",
          "--system-prompt-append",
          "be brief",
          "x"
        ],
        on
      )
      assert.deepEqual(
        on.inputs.map(({ onOpen, ...input }) => {
          assert.isFunction(onOpen)
          return input
        }),
        [{
          prompt: "x",
          session_id: "ses_abc",
          model: "a/b",
          max_turns: 3,
          max_cost_usd: 0.5,
          permission_mode: "plan",
          system_prompt_append: "be brief"
        }]
      )
    }))

  it.effect("--continue takes the latest session of the project", () =>
    Effect.gen(function*() {
      const on = bench({ sessions: [session("ses_1", { workspace: "/else" }), session("ses_2")] })
      yield* run(["--continue", "x"], on)
      assert.deepEqual(on.inputs.map((input) => input.session_id), ["ses_2"])
    }))
})

describe("stdout carries the answer and nothing else", () => {
  const busy = says(
    { type: "tool.started", call_id: "c", tool: "bash", input: { command: "npm test" } },
    {
      type: "tool.completed",
      call_id: "c",
      tool: "bash",
      result: { output: "ok\n", error: null, is_error: false },
      duration_ms: 400
    },
    { type: "retry", attempt: 1, max_attempts: 4, delay_ms: 2000, reason: "overloaded", message: "busy" },
    { type: "notice", code: "n", message: "look here" },
    ...answer("hello"),
    completed("hello")
  )

  it.effect("text: the result at the end, one line end", () =>
    Effect.gen(function*() {
      const on = bench({ runs: [busy] })
      assert.strictEqual((yield* run(["x"], on)).code, 0)
      assert.strictEqual(on.out.join(""), "hello\n")
      assert.strictEqual(on.err.join(""), "note: look here\n")
    }))

  it.effect("text on a terminal: streamed, neutralised; progress on stderr", () =>
    Effect.gen(function*() {
      const on = bench({
        runs: [says(
          { type: "tool.started", call_id: "c", tool: "bash", input: { command: "npm test" } },
          {
            type: "tool.completed",
            call_id: "c",
            tool: "bash",
            result: { output: "a\nb\n", error: null, is_error: false },
            duration_ms: 400
          },
          ...answer("he\u001b[2Jllo"),
          completed("he\u001b[2Jllo")
        )],
        environment: { stdout_is_tty: true, stderr_is_tty: true, vars: { NO_COLOR: "1" } }
      })
      yield* run(["x"], on)
      assert.strictEqual(on.out.join(""), "he\u241b[2Jllo\n")
      assert.strictEqual(on.err.join(""), "* bash npm test\n  done, 2 lines, 0.4 s\n")
    }))

  it.effect("json: one object, valid", () =>
    Effect.gen(function*() {
      const on = bench({ runs: [busy] })
      yield* run(["--output-format", "json", "x"], on)
      assert.match(on.out.join(""), /^[^\n]*\n$/)
      const result = yield* Schema.decodeUnknown(Schema.parseJson(RunResult))(on.out.join(""))
      assert.deepEqual([result.status, result.exit_code, result.result, result.session_id, result.error], [
        "completed",
        0,
        "hello",
        "ses_1",
        null
      ])
    }))

  it.effect("stream-json: the events as they stand, one line each, whatever they hold", () =>
    Effect.gen(function*() {
      const all = events([started, ...answer("a\u2028b\nc\u001b"), completed("a")])
      const on = bench({ runs: [() => Stream.fromIterable(all).pipe(Stream.rechunk(2))] })
      yield* run(["--output-format", "stream-json", "x"], on)
      const lines = on.out.join("").split("\n")
      assert.strictEqual(lines.pop(), "")
      assert.deepEqual(lines.map((line) => JSON.parse(line) as AgentEvent), all)
    }))
})

describe("exit codes come from the terminal event", () => {
  for (const code of [1, 3, 4, 5]) {
    table(`${code}`, ["x"], { runs: [says(failedRun("c", "m", code))] }, { code })
  }
  table("a completed run with a refused call is 3", ["x"], { runs: [says(completed("done", 3))] }, { code: 3 })
  table("a stream without an end is 1", ["x"], { runs: [says()] }, { code: 1 })
  table("several runs: the first that is not 0", ["--input-format", "stream-json"], {
    terminal: { stdin: "{\"type\":\"user\",\"content\":\"a\"}\n".repeat(3) },
    runs: [says(completed("a")), says(completed("b", 4)), says(completed("c", 5))]
  }, { code: 4 })
  table("what keeps a run from starting: a mistake is 2", ["x"], { runs: [refuses("invalid_input", "no")] }, {
    code: 2,
    line: /^no$/
  })
  table("what keeps a run from starting: storage is 1", ["x"], { runs: [refuses("storage", "disk")] }, { code: 1 })

  for (const format of ["text", "json", "stream-json"]) {
    table(`${format}: a stdout that is full is exit 1 and said so`, ["--output-format", format, "x"], {
      terminal: { full: true }
    }, { code: 1, line: /^stdout cannot be written: ENOSPC/ })
  }

  it.effect("json: what cannot be printed is told with how the run failed", () =>
    Effect.gen(function*() {
      const on = bench({ runs: [refuses("storage", "the record is broken")], terminal: { full: true } })
      const { code, lines } = yield* run(["--output-format", "json", "x"], on)
      assert.strictEqual(code, 1)
      assert.deepEqual(lines.map((line) => line.split(":")[0]), ["the record is broken", "stdout cannot be written"])
    }))

  it.effect("json: a reader that has gone keeps the exit code of the run, quietly", () =>
    Effect.gen(function*() {
      const on = bench({ runs: [says(failedRun("c", "m", 5))], terminal: { closed_after: 0 } })
      assert.deepEqual(yield* run(["--output-format", "json", "x"], on), { code: 5, lines: [] })
    }))

  it.effect("json tells it too when a run could not start", () =>
    Effect.gen(function*() {
      const on = bench({ runs: [refuses("storage", "the disk is full")] })
      assert.strictEqual((yield* run(["--output-format", "json", "x"], on)).code, 1)
      const result = yield* Schema.decodeUnknown(Schema.parseJson(RunResult))(on.out.join(""))
      assert.deepEqual([result.status, result.session_id, result.error?.code, result.exit_code], [
        "failed",
        null,
        "storage",
        1
      ])
    }))

  it.effect("a failed run says why on stderr", () =>
    Effect.gen(function*() {
      const on = bench({ runs: [says(failedRun("overloaded", "try\u001b later", 5))] })
      yield* run(["x"], on)
      assert.deepEqual([on.out.join(""), on.err.join("")], ["", "error: try\u241b later (overloaded)\n"])
    }))
})

describe("signals", () => {
  /** An agent that says it has begun and then waits until it is interrupted; `settles` = it ends in order. */
  const waiting = (settles: boolean) =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const asked = yield* Deferred.make<void>()
      const closed = yield* Deferred.make<void>()
      const head = events([started])
      const tail = events([cancelled("interrupted")])
      const on = bench({
        runs: [() =>
          Stream.fromIterable(head).pipe(
            Stream.concat(Stream.unwrap(Effect.as(Deferred.succeed(begun, undefined), Stream.empty))),
            Stream.concat(Stream.unwrap(Effect.as(Deferred.await(asked), Stream.fromIterable(tail)))),
            Stream.ensuring(Deferred.succeed(closed, undefined))
          )],
        interrupt: () => settles ? Effect.asVoid(Deferred.succeed(asked, undefined)) : Effect.never
      })
      return { on, begun, closed }
    })

  for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 143]] as const) {
    it.effect(`${signal}: the run is cancelled in order, exit ${code}`, () =>
      Effect.gen(function*() {
        const { begun, on } = yield* waiting(true)
        const fiber = yield* Effect.fork(run(["--output-format", "json", "x"], on))
        yield* Deferred.await(begun)
        yield* on.raise(signal)
        assert.strictEqual((yield* Fiber.join(fiber)).code, code)
        assert.deepEqual(on.interrupts, ["ses_1"])
        const result = yield* Schema.decodeUnknown(Schema.parseJson(RunResult))(on.out.join(""))
        assert.deepEqual([result.status, result.exit_code, result.result, result.error?.code], [
          "cancelled",
          code,
          "half",
          "cancelled"
        ])
      }))
  }

  it.effect("the second SIGINT stops at once, and the run is closed", () =>
    Effect.gen(function*() {
      const { begun, closed, on } = yield* waiting(false)
      const fiber = yield* Effect.fork(run(["--output-format", "json", "x"], on))
      yield* Deferred.await(begun)
      yield* on.raise("SIGINT")
      yield* on.raise("SIGINT")
      assert.strictEqual((yield* Fiber.join(fiber)).code, 130)
      yield* Deferred.await(closed)
      const result = yield* Schema.decodeUnknown(Schema.parseJson(RunResult))(on.out.join(""))
      assert.deepEqual([result.status, result.session_id, result.exit_code], ["cancelled", "ses_1", 130])
    }))

  it.effect("a signal stops the prompts that wait behind the run", () =>
    Effect.gen(function*() {
      const { begun, on } = yield* waiting(true)
      const withStdin = { ...on }
      const fiber = yield* Effect.fork(run(["--input-format", "stream-json", "first"], withStdin))
      yield* Deferred.await(begun)
      yield* on.raise("SIGINT")
      assert.strictEqual((yield* Fiber.join(fiber)).code, 130)
      assert.strictEqual(on.inputs.length, 1)
    }))
})

describe("a closed stdout is a quiet end", () => {
  it.effect("stream-json: the run is stopped, nothing is printed, 130", () =>
    Effect.gen(function*() {
      const closed = yield* Deferred.make<void>()
      const on = bench({
        terminal: { closed_after: 1 },
        runs: [() =>
          Stream.fromIterable(events([started, ...answer("hello"), completed("hello")])).pipe(
            Stream.rechunk(1),
            Stream.ensuring(Deferred.succeed(closed, undefined))
          )]
      })
      assert.deepEqual(yield* run(["--output-format", "stream-json", "x"], on), { code: 130, lines: [] })
      yield* Deferred.await(closed)
      assert.deepEqual(on.err, [])
    }))

  it.effect("text: the run has ended, its code stays", () =>
    Effect.gen(function*() {
      const on = bench({ terminal: { closed_after: 0 }, runs: [says(completed("x", 4))] })
      assert.deepEqual(yield* run(["x"], on), { code: 4, lines: [] })
    }))
})
