import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Streams from "../../src/domain/Streams.ts"

/** What a pull gives, a read each: a chunk, or how it ends. */
type Read = ReadonlyArray<number> | "end" | "fail" | "die"

const reads = FastCheck.array(
  FastCheck.oneof(
    { weight: 6, arbitrary: FastCheck.array(FastCheck.integer(), { maxLength: 4 }) },
    { weight: 1, arbitrary: FastCheck.constantFrom<Read>("end", "fail", "die") }
  ),
  { maxLength: 30 }
)

const traced = (given: ReadonlyArray<Read>) => {
  const log: Array<string> = []
  const open = Effect.acquireRelease(
    Effect.sync((): Streams.Pull<number, string> => {
      log.push("opened")
      let at = 0
      return Effect.suspend(() => {
        const read = given[at] ?? "end"
        at++
        return read === "end"
          ? Effect.fail(Option.none())
          : read === "fail"
          ? Effect.fail(Option.some("broken"))
          : read === "die"
          ? Effect.die("defect")
          : Effect.succeed(Chunk.fromIterable(read))
      })
    }),
    (_, exit) => Effect.sync(() => void log.push(`closed ${exit._tag}`))
  )
  return { log, open }
}

const kept = <E>(exit: Exit.Exit<void, E>): string => Exit.isSuccess(exit) ? "success" : Cause.pretty(exit.cause)

describe("Streams", () => {
  it.effect.prop("give and end as Effect's own", [reads], ([given]) =>
    Effect.gen(function*() {
      const gather = (seen: Array<ReadonlyArray<number>>) => (chunk: Chunk.Chunk<number>) =>
        Effect.sync(() => void seen.push(Chunk.toReadonlyArray(chunk)))
      const a = traced(given)
      const one: Array<ReadonlyArray<number>> = []
      const own = yield* Effect.exit(Stream.runForEachChunk(
        Stream.unwrapScoped(Effect.map(a.open, Stream.repeatEffectChunkOption)),
        gather(one)
      ))
      const b = traced(given)
      const two: Array<ReadonlyArray<number>> = []
      const stream = Streams.fromPull(b.open)
      const ours = yield* Effect.exit(Streams.forEachChunk(stream, gather(two)))
      assert.deepStrictEqual(two, one)
      assert.strictEqual(kept(ours), kept(own))
      assert.deepStrictEqual(b.log, a.log)
      // every run opens anew, also under the operators of Effect
      const three: Array<ReadonlyArray<number>> = []
      const again = yield* Effect.exit(Stream.runForEachChunk(stream, gather(three)))
      assert.deepStrictEqual(three.length, one.length)
      assert.strictEqual(kept(again), kept(own))
      assert.deepStrictEqual(b.log, [...a.log, ...a.log])
      const four: Array<ReadonlyArray<number>> = []
      const through = yield* Effect.exit(Streams.forEachChunk(Stream.mapChunks(stream, (chunk) => chunk), gather(four)))
      assert.deepStrictEqual(four, one)
      assert.strictEqual(kept(through), kept(own))
      assert.deepStrictEqual(b.log, [...a.log, ...a.log, ...a.log])
    }))

  it.effect("a reader that stops early, fails or dies closes what was opened", () =>
    Effect.gen(function*() {
      const early = traced([[1], [2], [3]])
      const first = yield* Stream.runHead(Streams.fromPull(early.open))
      assert.deepStrictEqual(first, Option.some(1))
      assert.deepStrictEqual(early.log, ["opened", "closed Success"])

      const failing = traced([[1], [2]])
      const exit = yield* Effect.exit(Streams.forEachChunk(Streams.fromPull(failing.open), () => Effect.fail("mine")))
      assert.deepStrictEqual(exit, Exit.fail("mine"))
      assert.deepStrictEqual(failing.log.length, 2)

      const refused = Streams.fromPull(Effect.zipRight(traced([]).open, Effect.fail("refused")))
      assert.deepStrictEqual(yield* Effect.exit(Stream.runDrain(refused)), Exit.fail("refused"))
    }))

  it.effect("an interruption while it opens or reads closes what is open", () =>
    Effect.gen(function*() {
      for (const when of ["opening", "reading"] as const) {
        const log: Array<string> = []
        const there = yield* Deferred.make<void>()
        const wait = Effect.zipRight(Deferred.succeed(there, undefined), Effect.never)
        const held = Effect.acquireRelease(Effect.void, () => Effect.sync(() => void log.push("closed")))
        const open: Effect.Effect<Streams.Pull<number>, never, Scope.Scope> = when === "opening"
          ? Effect.zipRight(held, wait)
          : Effect.as(held, wait)
        const fiber = yield* Effect.fork(Streams.forEachChunk(Streams.fromPull(open), () => Effect.void))
        yield* Deferred.await(there)
        const exit = yield* Fiber.interrupt(fiber)
        assert.isTrue(Exit.isInterrupted(exit), when)
        assert.deepStrictEqual(log, ["closed"], when)
      }
    }))

  it.effect("100,000 reads keep no stack", () =>
    Effect.gen(function*() {
      let left = 100_000
      const pull: Streams.Pull<number> = Effect.suspend(() =>
        left-- > 0 ? Effect.succeed(Chunk.of(left)) : Effect.fail(Option.none())
      )
      let seen = 0
      yield* Streams.forEachChunk(Streams.fromPull(Effect.succeed(pull)), () => Effect.sync(() => void seen++))
      assert.strictEqual(seen, 100_000)
    }))
})
