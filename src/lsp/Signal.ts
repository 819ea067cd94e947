/**
 * Something has changed: whoever waits looks again.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** @since 0.1.0 @category models */
export class Signal {
  readonly #waiting = new Set<() => void>()

  raise(): void {
    const all = [...this.#waiting]
    this.#waiting.clear()
    for (const wake of all) wake()
  }

  /** Until the next `raise`, or so many milliseconds. */
  wait(limit_ms: number): Effect.Effect<void> {
    const raised = Effect.async<void>((resume) => {
      const wake = (): void => resume(Effect.void)
      this.#waiting.add(wake)
      return Effect.sync(() => void this.#waiting.delete(wake))
    })
    return Effect.asVoid(Effect.timeoutOption(raised, Duration.millis(Math.max(0, limit_ms))))
  }
}
