/**
 * Signals of the process as values: whoever subscribes decides what Ctrl-C means; without a subscriber it ends the
 * program in order (scopes close, processes are stopped, records settle).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Layers from "../domain/Layers.ts"

/** @since 0.1.0 @category models */
export type SignalName = "SIGINT" | "SIGTERM" | "SIGHUP"

/** @since 0.1.0 @category models */
export interface SignalsService {
  /**
   * The signals from now on, in order, until the scope closes. The latest subscriber gets them. Holds 16; a further one
   * while 16 wait is dropped, since they all ask for the same.
   */
  readonly subscribe: Effect.Effect<Queue.Dequeue<SignalName>, never, Scope.Scope>
  /** The first signal that nobody had subscribed to. */
  readonly unhandled: Effect.Effect<SignalName>
  /** Until the scope closes another program has the terminal: Ctrl-C is its own and nothing here. */
  readonly lend: Effect.Effect<void, never, Scope.Scope>
}

/** Exit code of a program ended by this signal (reading 0). @since 0.1.0 @category combinators */
export const exitCodeOf = (signal: SignalName): 130 | 143 => signal === "SIGINT" ? 130 : 143

/** Time for an orderly end after the second signal; the third ends the process at once. */
const graceMs = 2_000

const names: ReadonlyArray<SignalName> = ["SIGINT", "SIGTERM", "SIGHUP"]

/** `calm` is called when what was asked to stop has ended: the next signal is a first one again. */
const make = (unhandled: Deferred.Deferred<SignalName>, calm: () => void = () => {}) => {
  const subscribers: Array<Queue.Queue<SignalName>> = []
  let lent = 0
  const service: SignalsService = {
    subscribe: Effect.acquireRelease(
      Effect.tap(Queue.dropping<SignalName>(16), (queue) => Effect.sync(() => void subscribers.push(queue))),
      (queue) =>
        Effect.zipRight(
          Effect.sync(() => {
            subscribers.splice(subscribers.indexOf(queue), 1)
            if (subscribers.length === 0) calm()
          }),
          Queue.shutdown(queue)
        )
    ),
    unhandled: Deferred.await(unhandled),
    lend: Effect.acquireRelease(
      Effect.sync(() => {
        lent += 1
      }),
      () =>
        Effect.sync(() => {
          lent -= 1
        })
    )
  }
  /** False = it is not ours. */
  const raise = (signal: SignalName): boolean => {
    if (signal === "SIGINT" && lent > 0) return false
    const queue = subscribers.at(-1)
    if (queue === undefined) Deferred.unsafeDone(unhandled, Effect.succeed(signal))
    else queue.unsafeOffer(signal)
    return true
  }
  return { service, raise }
}

/** @since 0.1.0 @category services */
export class Signals extends Context.Tag("@hanzo/dev/platform/Signals")<Signals, SignalsService>() {
  static readonly layer: Layer.Layer<Signals> = Layers.scoped(
    Signals,
    Effect.gen(function*() {
      let count = 0
      const { raise, service } = make(yield* Deferred.make<SignalName>(), () => {
        if (count < 2) count = 0
      })
      const listeners = names.map((name) => ({
        name,
        listener: (): void => {
          if (!raise(name)) return
          count += 1
          if (count === 2) setTimeout(() => process.exit(exitCodeOf(name)), graceMs).unref()
          if (count >= 3) process.exit(exitCodeOf(name))
        }
      }))
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          for (const { listener, name } of listeners) process.on(name, listener)
        }),
        () =>
          Effect.sync(() => {
            for (const { listener, name } of listeners) process.off(name, listener)
          })
      )
      return service
    })
  )

  /** No signal comes but those of `raise`. */
  static readonly layerTest = (
    connect: (raise: (signal: SignalName) => Effect.Effect<void>) => void = () => {}
  ): Layer.Layer<Signals> =>
    Layers.effect(
      Signals,
      Effect.map(Deferred.make<SignalName>(), (unhandled) => {
        const { raise, service } = make(unhandled)
        connect((signal) => Effect.sync(() => void raise(signal)))
        return service
      })
    )
}
