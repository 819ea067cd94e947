/**
 * Whole messages into a pipe, one write at a time and in order, without a fiber for any of them.
 *
 * A message that is being written is held until the pipe has it, even if its sender gives up: half a message ruins the
 * stream. One that waits for its turn goes when its sender does: who reads no more costs the memory of one write, not of
 * all that was meant for him. What waits together is written together: when that fails, some of it may have arrived.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/** Characters that one write takes of what waits; a longer message is written alone. */
const together = 65_536

/** @since 0.1.0 @category models */
export interface PipeWriter<E> {
  /** Now, if nothing is being written: false = it was not taken. `failed` is called if the pipe does not take it. */
  readonly post: (text: string, failed: (error: E) => void) => boolean
  /** Returns when the pipe has it. `taken_back` is called if it was interrupted before its turn came. */
  readonly write: (text: string, taken_back?: () => void) => Effect.Effect<void, E>
}

interface Waiting {
  readonly text: string
  readonly done: (outcome: Outcome) => void
}

/** `lost`: it has not arrived. `unknown`: it may have. */
type Outcome = "written" | "lost" | "unknown"

/**
 * `write` hands a text to the pipe and calls back, later, once: true = the pipe has it, false = nobody reads it any more.
 * `error` is told whether the message may have arrived all the same.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E>(
  write: (text: string, done: (ok: boolean) => void) => void,
  error: (may_have_arrived: boolean) => E
): PipeWriter<E> => {
  const waiting: Array<Waiting> = []
  let writing = false
  let broken = false
  const failed = (messages: number): Outcome => {
    const outcome = broken || messages === 1 ? "lost" : "unknown"
    broken = true
    return outcome
  }

  const next = (): void => {
    const batch: Array<Waiting> = []
    let size = 0
    for (const each of waiting) {
      if (batch.length > 0 && size + each.text.length > together) break
      batch.push(each)
      size += each.text.length
    }
    if (batch.length === 0) return
    waiting.splice(0, batch.length)
    writing = true
    write(batch.length === 1 ? batch[0]?.text ?? "" : batch.map(({ text }) => text).join(""), (ok) => {
      writing = false
      const outcome = ok ? "written" : failed(batch.length)
      for (const { done } of batch) done(outcome)
      // One of those may have begun the next write.
      if (!writing) next()
    })
  }

  return {
    post: (text, refused) => {
      if (writing || waiting.length > 0) return false
      writing = true
      write(text, (ok) => {
        writing = false
        if (!ok) refused(error(failed(1) === "unknown"))
        if (!writing) next()
      })
      return true
    },
    write: (text, taken_back) =>
      Effect.async((resume) => {
        const entry: Waiting = {
          text,
          done: (outcome) => resume(outcome === "written" ? Effect.void : Effect.fail(error(outcome === "unknown")))
        }
        waiting.push(entry)
        if (!writing) next()
        return Effect.sync(() => {
          const at = waiting.indexOf(entry)
          if (at === -1) return
          waiting.splice(at, 1)
          taken_back?.()
        })
      })
  }
}
