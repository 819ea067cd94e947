import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Ref from "effect/Ref"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import * as Backoff from "../../src/domain/Backoff.ts"
import { httpDate, retryAfter } from "../../src/domain/RetryAfter.ts"

const max = 2n ** 53n - 1n
const exact = (base: bigint, top: bigint, n: bigint): bigint => {
  const product = base << n
  return product < top ? product : top
}
const amount = FastCheck.oneof(
  FastCheck.constantFrom(0, 1, 2, 3, 500, 8000, 2 ** 31, 2 ** 32 - 1, 2 ** 52, 2 ** 53 - 1),
  FastCheck.maxSafeNat()
)

describe("Backoff", () => {
  it("16.1: ceilings are those of exact integers at every n", () => {
    FastCheck.assert(
      FastCheck.property(
        amount,
        amount,
        FastCheck.oneof(FastCheck.nat({ max: 70 }), FastCheck.constantFrom(1000, 2 ** 31, 2 ** 32 - 1)),
        (base, top, n) => {
          const shift = n > 200 ? 200n : BigInt(n)
          const got = Backoff.ceiling(base, top, n)
          assert.isTrue(Number.isSafeInteger(got))
          assert.isFalse(Object.is(got, -0))
          assert.strictEqual(BigInt(got), exact(BigInt(base), BigInt(top), shift))
        }
      ),
      { numRuns: 2000 }
    )
    assert.strictEqual(Backoff.ceiling(0, 1000, 2 ** 32 - 1), 0)
    assert.strictEqual(Backoff.ceiling(500, 200, 0), 200)
  })

  it("16.2: delays fill [0, ceiling], both ends, and never leave it", () => {
    FastCheck.assert(
      FastCheck.property(amount, FastCheck.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (top, r) => {
        const got = Backoff.delay(top, r)
        assert.isTrue(Number.isSafeInteger(got) && got >= 0 && got <= top)
      }),
      { numRuns: 2000 }
    )
    const largest = 1 - Number.EPSILON / 2
    for (const top of [0, 1, 2, 499, 500, 8000, 2 ** 53 - 1]) {
      assert.strictEqual(Backoff.delay(top, 0), 0)
      assert.strictEqual(Backoff.delay(top, largest), top)
    }
    const seen = new Map<number, number>()
    for (let k = 0; k < 4000; k++) {
      const value = Backoff.delay(3, k / 4000)
      seen.set(value, (seen.get(value) ?? 0) + 1)
    }
    assert.deepStrictEqual([...seen], [[0, 1000], [1, 1000], [2, 1000], [3, 1000]])
  })

  it("16.3: integers from 0, digits as text, clamped; all else is refused", () => {
    const taken: ReadonlyArray<readonly [unknown, number]> = [
      [0, 0],
      [-0, 0],
      [500, 500],
      ["500", 500],
      ["007", 7],
      [2 ** 53, Number(max)],
      [1e300, Number(max)],
      [Number("1e400"), Number(max)],
      ["9007199254740993", Number(max)],
      ["9".repeat(400), Number(max)]
    ]
    for (const [value, expected] of taken) {
      assert.isTrue(Object.is(Backoff.milliseconds(value, "base_ms"), expected), String(value))
    }
    const refused = [
      -1,
      0.5,
      Number.NaN,
      -Infinity,
      "",
      "-1",
      "+1",
      "1.0",
      "1e3",
      " 1",
      "٣",
      null,
      undefined,
      true,
      [],
      {},
      1n
    ]
    for (const value of refused) {
      const got = Either.try({ try: () => Backoff.milliseconds(value, "max_ms"), catch: (error) => error })
      assert.isTrue(Either.isLeft(got) && got.left instanceof Backoff.InvalidBackoff, String(value))
      if (Either.isLeft(got)) assert.include(String((got.left as Backoff.InvalidBackoff).message), "max_ms")
    }
    assert.throws(() => new Backoff.Backoff({ base_ms: -1, max_ms: 1, random: () => 0 }), Backoff.InvalidBackoff)
  })

  it("the class counts up, saturates, resets and asks its source once a delay", () => {
    const draws = [0, 0.5, 0.999, 0.25]
    let asked = 0
    const backoff = new Backoff.Backoff({ base_ms: "100", max_ms: 350, random: () => draws[asked++] ?? 0 })
    assert.deepStrictEqual([backoff.nextCeiling(), backoff.nextDelay()], [100, 0])
    assert.deepStrictEqual([backoff.nextCeiling(), backoff.nextDelay()], [200, 100])
    assert.deepStrictEqual([backoff.nextCeiling(), backoff.nextDelay()], [350, 350])
    assert.strictEqual(backoff.attempt, 3)
    backoff.reset()
    assert.deepStrictEqual([backoff.attempt, backoff.nextCeiling(), backoff.nextDelay()], [0, 100, 25])
    assert.strictEqual(asked, 4)
  })

  it.effect("the Schedule, its announced waits and the class give the same delays for the same draws", () =>
    Effect.gen(function*() {
      const policy = { base_ms: 500, max_ms: 8000, max_retries: 6 }
      const draws = yield* Effect.withRandom(Effect.replicateEffect(Random.next, 6), Random.make("backoff"))
      let k = 0
      const backoff = new Backoff.Backoff({ ...policy, random: () => draws[k++] ?? 0 })
      const expected = draws.map(() => backoff.nextDelay())

      const announced = yield* Backoff.waits(policy)
      const waits = yield* Effect.replicateEffect(announced.next, 7).pipe(
        Effect.withRandom(Random.make("backoff"))
      )
      assert.deepStrictEqual(waits, [...expected, null])

      const times = yield* Ref.make<ReadonlyArray<number>>([])
      const attempt = Effect.zipRight(
        Effect.flatMap(Clock.currentTimeMillis, (now) => Ref.update(times, (all) => [...all, now])),
        Effect.fail("down" as const)
      )
      const fiber = yield* attempt.pipe(
        Effect.retry(Backoff.schedule(policy)),
        Effect.withRandom(Random.make("backoff")),
        Effect.either,
        Effect.fork
      )
      yield* TestClock.adjust(Duration.minutes(1))
      assert.deepStrictEqual(yield* Fiber.join(fiber), Either.left("down"))
      const stamps = yield* Ref.get(times)
      assert.deepStrictEqual(stamps.slice(1).map((at, i) => at - (stamps[i] ?? 0)), expected)
    }))

  it.effect("the Schedule gives the number of recurrences, and without a limit it does not end", () =>
    Effect.gen(function*() {
      const outputs = yield* Schedule.run(Backoff.schedule({ base_ms: 1, max_ms: 1, max_retries: 3 }), 0, [
        1,
        2,
        3,
        4,
        5
      ])
      assert.deepStrictEqual([...outputs], [0, 1, 2, 3])
      const endless = yield* Schedule.run(
        Backoff.schedule({ base_ms: 1, max_ms: 1 }),
        0,
        Array.from({ length: 99 }, () => 0)
      )
      assert.strictEqual(endless.length, 99)
    }))

  it.effect("G7: a wait longer than a timer takes ends at its time, not at once and not never", () =>
    Effect.gen(function*() {
      const wait = 2 ** 31 * 3
      const almost = Random.fixed([1 - Number.EPSILON / 2])
      const retried = yield* Effect.fail("down").pipe(
        Effect.retry(Backoff.schedule({ base_ms: wait, max_ms: wait, max_retries: 1 })),
        Effect.withRandom(almost),
        Effect.either,
        Effect.fork
      )
      const slept = yield* Effect.fork(Backoff.sleep(wait))
      yield* TestClock.adjust(wait - 1)
      assert.isNull(retried.unsafePoll())
      assert.isNull(slept.unsafePoll())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(retried), Either.left("down"))
      yield* Fiber.join(slept)
    }))

  it.effect("16.5: a wait ends on interruption", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(Backoff.sleep(2 ** 40))
      yield* TestClock.adjust(1000)
      yield* Fiber.interrupt(fiber)
    }))
})

describe("RetryAfter", () => {
  const now = Date.UTC(2026, 10, 29, 12, 0, 0)

  it("16.4: seconds, milliseconds, dates; what cannot be read says nothing", () => {
    const table: ReadonlyArray<readonly [Readonly<Record<string, string>>, number | null]> = [
      [{}, null],
      [{ "retry-after": "0" }, 0],
      [{ "retry-after": " 120 " }, 120_000],
      [{ "retry-after": "1.5" }, 1500],
      [{ "retry-after-ms": "850" }, 850],
      [{ "retry-after-ms": "0.2" }, 1],
      [{ "retry-after": "1", "retry-after-ms": "850" }, 850],
      [{ "retry-after": "1", "retry-after-ms": "soon" }, 1000],
      [{ "retry-after": "9".repeat(400) }, Number.MAX_SAFE_INTEGER],
      [{ "retry-after": "Sun, 29 Nov 2026 12:00:30 GMT" }, 30_000],
      [{ "retry-after": "Sunday, 29-Nov-26 12:01:00 GMT" }, 60_000],
      [{ "retry-after": "Sun Nov 29 12:00:05 2026" }, 5000],
      [{ "retry-after": "Wed Dec  2 12:00:00 2026" }, 3 * 86_400_000],
      [{ "retry-after": "Sun, 29 Nov 2026 11:59:59 GMT" }, 0],
      [{ "retry-after": "Sunday, 06-Nov-94 08:49:37 GMT" }, 0],
      [{ "retry-after": "-1" }, null],
      [{ "retry-after": "" }, null],
      [{ "retry-after": "soon" }, null],
      [{ "retry-after": "2026-11-29T12:00:30Z" }, null],
      [{ "retry-after": "Sun, 31 Nov 2026 12:00:30 GMT" }, null],
      [{ "retry-after": "Sun, 29 Nov 2026 24:00:00 GMT" }, null],
      [{ "retry-after": "Sun, 29 Nov 2026 12:00:30 PST" }, null]
    ]
    for (const [headers, expected] of table) {
      assert.strictEqual(retryAfter(headers, now), expected, JSON.stringify(headers))
    }
  })

  it("16.4: HTTP dates agree with the platform's calendar", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.integer({ min: 0, max: 7_258_118_399 }), (seconds) => {
        const date = new Date(seconds * 1000)
        assert.strictEqual(httpDate(date.toUTCString(), now), seconds * 1000)
      }),
      { numRuns: 1000 }
    )
    assert.strictEqual(httpDate("Saturday, 29-Feb-76 00:00:00 GMT", now), Date.UTC(2076, 1, 29))
    assert.strictEqual(httpDate("Wednesday, 30-Nov-77 00:00:00 GMT", now), Date.UTC(1977, 10, 30))
    assert.isNull(httpDate("Thu, 29 Feb 2100 00:00:00 GMT", now))
  })
})
