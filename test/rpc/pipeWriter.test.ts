/** Whole messages into a pipe: order, what is taken back, and what may have arrived when the pipe breaks. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as PipeWriter from "../../src/rpc/PipeWriter.ts"
import { settled } from "../support/wire.ts"

type Failed = "may have arrived" | "has not arrived"

/** A pipe that takes what it is given when `take` says so. */
const pipe = () => {
  const written: Array<string> = []
  let done: ((ok: boolean) => void) | null = null
  const writer = PipeWriter.make<Failed>((text, then) => {
    written.push(text)
    done = then
  }, (may_have_arrived) => may_have_arrived ? "may have arrived" : "has not arrived")
  const take = (ok: boolean): boolean => {
    const now = done
    done = null
    now?.(ok)
    return now !== null
  }
  return { writer, written, take }
}

describe("PipeWriter", () => {
  it.effect.prop("every message once, whole, in order, but for those that were taken back", [
    FastCheck.array(FastCheck.boolean(), { minLength: 1, maxLength: 30 })
  ], ([stays]) =>
    Effect.gen(function*() {
      const { take, writer, written } = pipe()
      const taken: Array<number> = []
      const fibers = yield* Effect.forEach(
        stays,
        (_, i) => Effect.fork(writer.write(`${i}\n`, () => void taken.push(i)))
      )
      yield* settled
      yield* Fiber.interruptAll(fibers.filter((_, i) => stays[i] === false))
      while (take(true)) yield* settled
      // the first one was being written already
      const expected = stays.flatMap((stay, i) => stay || i === 0 ? [i] : [])
      assert.deepStrictEqual(written.join(""), expected.map((i) => `${i}\n`).join(""))
      assert.deepStrictEqual(taken, stays.flatMap((stay, i) => stay || i === 0 ? [] : [i]))
    }))

  it.effect("1.5 a pipe that breaks: a message alone has not arrived, one of several may have, later ones have not", () =>
    Effect.gen(function*() {
      const alone = pipe()
      const posted: Array<Failed> = []
      assert.isTrue(alone.writer.post("a", (error) => void posted.push(error)))
      assert.isFalse(alone.writer.post("b", () => undefined))
      alone.take(false)
      assert.deepStrictEqual(posted, ["has not arrived"])

      const { take, writer } = pipe()
      const outcome = (text: string) => Effect.fork(Effect.flip(writer.write(text)))
      const first = yield* Effect.fork(writer.write("1"))
      yield* settled
      const two = [yield* outcome("2"), yield* outcome("3")]
      yield* settled
      take(true)
      yield* Fiber.join(first)
      // both are in one write now
      const behind = [yield* outcome("4"), yield* outcome("5")]
      yield* settled
      take(false)
      take(false)
      assert.deepStrictEqual(yield* Effect.forEach(two, Fiber.join), ["may have arrived", "may have arrived"])
      assert.deepStrictEqual(yield* Effect.forEach(behind, Fiber.join), ["has not arrived", "has not arrived"])
    }))
})
