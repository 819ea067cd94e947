/**
 * Branded identifiers and the service that mints them.
 *
 * Shape: `<prefix>_<UUIDv7>`, for example `ses_0199c3f2-7c1e-7b34-9d0a-5d2a7c1b9e42`. UUIDv7 sorts by creation time
 * (RFC 9562, section 5.7), so ids order like the rows they name.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Layers from "./Layers.ts"

/** @since 0.1.0 @category schemas */
export const SessionId = Schema.String.pipe(Schema.brand("SessionId"))
/** @since 0.1.0 @category models */
export type SessionId = typeof SessionId.Type

/** @since 0.1.0 @category schemas */
export const RunId = Schema.String.pipe(Schema.brand("RunId"))
/** @since 0.1.0 @category models */
export type RunId = typeof RunId.Type

/** @since 0.1.0 @category models */
export type IdPrefix = "ses" | "run" | "item" | "call" | "att" | "job"

/**
 * @since 0.1.0
 * @category models
 */
export interface IdsService {
  /** A fresh id `<prefix>_<UUIDv7>`; time from Clock, chance from Random. */
  readonly make: (prefix: IdPrefix) => Effect.Effect<string>
  readonly session: Effect.Effect<SessionId>
  readonly run: Effect.Effect<RunId>
}

const hex = (n: number, width: number): string => n.toString(16).padStart(width, "0")

const fromMake = (make: IdsService["make"]): IdsService => ({
  make,
  session: Effect.map(make("ses"), (id) => SessionId.make(id)),
  run: Effect.map(make("run"), (id) => RunId.make(id))
})

/** UUIDv7 from a millisecond time stamp and four 32-bit random words. */
const uuid7 = (now: number, words: readonly [number, number, number, number]): string => {
  const time = hex(now, 12)
  const a = hex(words[0] & 0xfff, 3)
  const b = hex(0x8 | (words[1] & 0x3), 1) + hex((words[1] >>> 4) & 0xfff, 3)
  const c = hex(words[2] >>> 0, 8) + hex(words[3] & 0xffff, 4)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${a}-${b}-${c}`
}

/**
 * @since 0.1.0
 * @category services
 */
export class Ids extends Context.Tag("@hanzo/dev/domain/Ids")<Ids, IdsService>() {
  static readonly layer: Layer.Layer<Ids> = Layers.succeed(
    Ids,
    fromMake((prefix) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const word = Random.nextIntBetween(0, 0x1_0000_0000)
        return `${prefix}_${uuid7(now, [yield* word, yield* word, yield* word, yield* word])}`
      })
    )
  )

  /** Counting ids for tests: `ses_1`, `run_2`, ... in the order of the calls. */
  static readonly layerCounting: Layer.Layer<Ids> = Layers.effect(
    Ids,
    Effect.map(
      Ref.make(0),
      (ref) => fromMake((prefix) => Effect.map(Ref.updateAndGet(ref, (n) => n + 1), (n) => `${prefix}_${n}`))
    )
  )
}
