/** Readings 1.3, G2, G8: what is kept of a server's stderr, and of its noise. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as TestClock from "effect/TestClock"
import * as ServerLog from "../../src/mcp/ServerLog.ts"
import { FileError } from "../../src/platform/FileError.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const make = (secrets: ReadonlyArray<string> = []) => {
  const lines: Array<string> = []
  const log = ServerLog.make({
    log: { append: ({ line }) => Effect.sync(() => void lines.push(line)), read: () => Effect.succeed([]) },
    file: "/state/mcp/x.log",
    server: "x",
    secrets
  })
  return { log, lines }
}

describe("ServerLog", () => {
  it.effect("1.3 lines are whole however they come, the last 64 KiB are kept", () =>
    Effect.gen(function*() {
      const { lines, log } = make()
      const whole = bytes("first \u{1f600}\nsecond\n\nthird")
      for (const byte of whole) yield* log.stderr(new Uint8Array([byte]))
      assert.deepStrictEqual(lines, [
        "1970-01-01T00:00:00.000Z stderr first \u{1f600}",
        "1970-01-01T00:00:00.000Z stderr second"
      ])
      yield* log.flush
      assert.strictEqual(lines.at(-1), "1970-01-01T00:00:00.000Z stderr third")
      assert.strictEqual(log.tail(), "first \u{1f600}\nsecond\n\nthird")
    }))

  it.effect.prop("1.3 the tail is the end of what was written", [
    FastCheck.array(FastCheck.string({ maxLength: 20 }).map((text) => text.replaceAll(/[^ -~]/gu, "?").repeat(1_000)), {
      maxLength: 12
    })
  ], ([pieces]) =>
    Effect.gen(function*() {
      const { log } = make()
      for (const piece of pieces) yield* log.stderr(bytes(piece))
      assert.strictEqual(log.tail(), pieces.join("").slice(-65_536))
    }))

  it.effect("1.3 a flood costs a bounded number of lines; what was left out is counted", () =>
    Effect.gen(function*() {
      const { lines, log } = make()
      yield* log.stderr(bytes("x\n".repeat(100_000)))
      assert.strictEqual(lines.length, 500)
      yield* log.stderr(bytes("y\n".repeat(10)))
      assert.strictEqual(lines.length, 500)
      yield* TestClock.adjust(Duration.seconds(1))
      yield* log.stderr(bytes("z\n"))
      assert.deepStrictEqual(lines.slice(500), [
        "1970-01-01T00:00:01.000Z note 99510 lines left out: too many at once",
        "1970-01-01T00:00:01.000Z stderr z"
      ])
    }))

  it.effect("1.3 a line without end is written in pieces, not kept", () =>
    Effect.gen(function*() {
      const { lines, log } = make()
      for (let i = 0; i < 100; i++) yield* log.stderr(bytes("x".repeat(1_000)))
      assert.isAbove(lines.length, 5)
      for (const line of lines) assert.isBelow(line.length, 2_100)
    }))

  it.effect("G2, G8 secrets and escape sequences show nowhere", () =>
    Effect.gen(function*() {
      const { lines, log } = make(["tok-12345678"])
      yield* log.stderr(bytes("key tok-12345678 \u001b[31mred\u001b[0m \u202eevil\n"))
      yield* log.noise("out tok-12345678")
      yield* log.note("started")
      const all = lines.join("\n") + log.tail()
      assert.notInclude(all, "tok-12345678")
      assert.notMatch(all, /[\u001b\u202e]/u)
      assert.include(all, "key *** \u241b[31mred")
    }))

  it.effect("a log that cannot be written stops nothing", () =>
    Effect.gen(function*() {
      let tries = 0
      const log = ServerLog.make({
        log: {
          append: () =>
            Effect.suspend(() => {
              tries++
              return Effect.fail(
                new FileError({ reason: "no_space", operation: "write", path: "/x", detail: "disk full" })
              )
            }),
          read: () => Effect.succeed([])
        },
        file: "/x",
        server: "x",
        secrets: []
      })
      yield* log.stderr(bytes("a\nb\nc\n"))
      assert.strictEqual(tries, 1)
      assert.strictEqual(log.tail(), "a\nb\nc\n")
    }))

  it("a server's name never leads out of the directory, and two names never share a file", () => {
    const names = ["files", "a/b", "a_b", "../../etc/passwd", "..", "", "ä", "x".repeat(300), "a b", "a.b"]
    const files = names.map((name, i) => ServerLog.fileName(name, `${i}`.repeat(8)))
    assert.strictEqual(files[0], "files.log")
    assert.strictEqual(new Set(files).size, names.length)
    for (const file of files) assert.match(file, /^[A-Za-z0-9_-]{1,80}\.log$/u)
  })
})
