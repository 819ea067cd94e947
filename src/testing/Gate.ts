/**
 * A gate that holds a scripted stream in mid-flight, so that something can happen at a known point.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Piece } from "../provider/Scenario.ts"

/** @since 0.1.0 @category models */
export interface Gate {
  /** Goes into the `content` of a turn. */
  readonly piece: Piece
  /** Waits until the stream stands at the gate. */
  readonly reached: Effect.Effect<void>
  /** Lets it go on; the gate stays open. */
  readonly open: Effect.Effect<void>
}

/** @since 0.1.0 @category constructors */
export const makeGate: Effect.Effect<Gate> = Effect.gen(function*() {
  const reached = yield* Deferred.make<void>()
  const opened = yield* Deferred.make<void>()
  return {
    piece: { gate: Effect.zipRight(Deferred.succeed(reached, undefined), Deferred.await(opened)) },
    reached: Deferred.await(reached),
    open: Effect.asVoid(Deferred.succeed(opened, undefined))
  }
})
