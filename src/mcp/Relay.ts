/**
 * Progress of a call on its way to whoever watches it: the wire does not wait for them.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

/** Progress of one call; the latest of it where nobody takes it fast enough. */
const heldProgress = 256

/** @since 0.1.0 @category models */
export interface Relay {
  readonly push: (text: string) => Effect.Effect<void>
  /** Returns when everything has been handed on. */
  readonly end: Effect.Effect<void>
  /** Hands nothing on any more. */
  readonly stop: Effect.Effect<void>
}

/**
 * Hands texts on in order without making the one who brings them wait: a fiber takes them, there only while there are
 * some.
 *
 * @since 0.1.0
 * @category constructors
 */
export const relay = (emit: (text: string) => Effect.Effect<void>, scope: Scope.Scope): Relay => {
  const held: Array<string> = []
  let pump: Fiber.RuntimeFiber<void> | null = null
  const drain: Effect.Effect<void> = Effect.suspend(() => {
    const text = held.shift()
    return text === undefined ? Effect.void : Effect.zipRight(emit(text), drain)
  })
  const over = Effect.sync(() => {
    pump = null
  })
  return {
    push: (text: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (held.push(text) > heldProgress) held.shift()
        return pump !== null ? Effect.void : Effect.map(
          Effect.forkIn(Effect.ensuring(Effect.interruptible(drain), over), scope),
          (fiber) => void (pump = fiber)
        )
      }),
    end: Effect.suspend(() => pump === null ? Effect.void : Effect.zipRight(Fiber.await(pump), drain)),
    stop: Effect.suspend(() => pump === null ? Effect.void : Fiber.interruptFork(pump))
  }
}
