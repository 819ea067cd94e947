import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Log from "../../src/platform/Log.ts"

const linesOf = (work: Effect.Effect<void>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.suspend(() => {
    const lines: Array<string> = []
    return work.pipe(
      Logger.withMinimumLogLevel(LogLevel.All),
      Effect.provide(Log.only(Log.makePlain((line) => lines.push(line)))),
      Effect.as(lines)
    )
  })

describe("the log for a person", () => {
  it.effect("says the level in a word, then the message", () =>
    Effect.gen(function*() {
      const lines = yield* linesOf(Effect.all([
        Effect.logWarning("something is odd"),
        Effect.logError("it broke", { at: 3 }),
        Effect.annotateLogs(Effect.logDebug("looked"), "server", "files"),
        Effect.logFatal("the end")
      ], { discard: true }))
      assert.deepStrictEqual(lines, [
        "hanzo-dev: warning: something is odd\n",
        "hanzo-dev: error: it broke {\n    \"at\": 3\n  }\n",
        "hanzo-dev: debug: looked server=files\n",
        "hanzo-dev: fatal: the end\n"
      ])
    }))

  it.effect("a message of several lines passes for no other message", () =>
    Effect.gen(function*() {
      for (const end of ["\n", "\r\n", "\r", "\u2028"]) {
        const [line = ""] = yield* linesOf(Effect.logWarning(`words of a server${end}hanzo-dev: error: forged`))
        const [, ...more] = line.trimEnd().split(/\r\n|[\n\r\u2028]/u)
        for (const each of more) assert.match(each, /^ {2}/u, JSON.stringify(line))
      }
    }))

  it.effect("shows a cause, and no control characters", () =>
    Effect.gen(function*() {
      const [line = ""] = yield* linesOf(Effect.logError("it broke \u001b[31m", Cause.fail(new Error("why it did"))))
      assert.match(line, /^hanzo-dev: error: it broke [^\u001b]*\n[^]*why it did/u)
      assert.notInclude(line, "\u001b")
    }))
})
