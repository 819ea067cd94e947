/**
 * A duplex over two streams of bytes, with a framing: pipes of a child, or our own stdin and stdout.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Framed, Framing, FramingFault } from "../codec/Framing.ts"
import * as JsonRpc from "../codec/JsonRpc.ts"
import type { Inbound, JsonRpcDuplex } from "./Duplex.ts"

type Arrivals = (ready: (pieces: ReadonlyArray<Uint8Array>) => void) => () => void

/** @since 0.1.0 @category models */
export interface StreamDuplexInput<E, D = Uint8Array> {
  readonly incoming: Stream.Stream<Uint8Array, E>
  /**
   * The same, without a fiber for every read, where there is such a way: `ready` is called once, with what has come (nothing
   * = the end), and the returned function takes that back. It is read until the scope closes.
   */
  readonly arrivals?: Effect.Effect<Arrivals, never, Scope.Scope>
  /** Writes whole, in the order of the calls; returns when the other side may be given more. */
  readonly write: (data: D, taken_back?: () => void) => Effect.Effect<void, E>
  /** Writes if the pipe is free: see `JsonRpcDuplex`. */
  readonly post?: (data: D, failed: (error: E) => void) => boolean
  readonly framing: Framing
  /** The text of a message as it is written. */
  readonly encode: (text: string) => D
  /** The stream broke: what to fail with. */
  readonly onFault: (fault: FramingFault) => Effect.Effect<E>
  /** The stream is at its end: what to fail with, or null for a plain end. */
  readonly onEnd?: Effect.Effect<E | null>
  /** A text that is no JSON: it is left out. Default: it is passed on as invalid. */
  readonly onNoise?: (text: string) => Effect.Effect<void>
}

/** @since 0.1.0 @category constructors */
export const make = <E, D = Uint8Array>(input: StreamDuplexInput<E, D>): JsonRpcDuplex<E, unknown> => {
  const { framing } = input

  const listen = (first: (inbound: Inbound) => boolean): Stream.Stream<Inbound, E> => {
    let over: Effect.Effect<Chunk.Chunk<Inbound>, Option.Option<E>> | null = null
    const failWith = (error: Effect.Effect<E | null>) =>
      Effect.flatMap(error, (e) => Effect.fail(e === null ? Option.none() : Option.some(e)))
    const items: Array<Inbound> = []
    const noise: Array<string> = []

    /** What `first` does not take waits for the reader; so does all that comes behind it. */
    const hear = ({ fault, texts }: Framed): void => {
      for (const text of texts) {
        const parsed = JsonRpc.parse(text)
        for (const item of parsed.items) {
          if (input.onNoise !== undefined && JsonRpc.isInvalid(item) && item.why === "not_json") noise.push(text)
          else {
            const inbound = { item }
            if (items.length > 0 || !first(inbound)) items.push(inbound)
          }
        }
      }
      if (fault !== null) over = failWith(input.onFault(fault))
    }
    const finish = (): void => {
      over = failWith(input.onEnd ?? Effect.succeed(null))
      hear(framing.finish())
    }
    const waits = (): boolean => items.length > 0 || noise.length > 0 || over !== null

    /** Messages go out first; the fault is what the next pull finds. */
    const take: Effect.Effect<Chunk.Chunk<Inbound>, Option.Option<E>> = Effect.suspend(() => {
      const chunk = Chunk.unsafeFromArray(items.splice(0))
      const heard = noise.splice(0)
      const next = over !== null && chunk.length === 0 ? over : Effect.succeed(chunk)
      const { onNoise } = input
      return onNoise === undefined || heard.length === 0
        ? next
        : Effect.zipRight(Effect.forEach(heard, onNoise, { discard: true }), next)
    })

    const past = (source: Arrivals): Stream.Stream<Inbound, E> => {
      const arrived = Effect.async<void>((resume) => {
        let cancel: () => void = () => undefined
        let asked = 0
        const ready = (pieces: ReadonlyArray<Uint8Array>): void => {
          if (pieces.length === 0) finish()
          else for (const piece of pieces) hear(framing.feed(piece))
          if (waits()) resume(Effect.void)
          else ask()
        }
        const ask = (): void => {
          const mine = ++asked
          const take_back = source(ready)
          // It may have called back at once, and been asked again.
          if (asked === mine) cancel = take_back
        }
        ask()
        return Effect.sync(() => cancel())
      })
      return Stream.repeatEffectChunkOption(Effect.suspend(() => over ?? Effect.zipRight(arrived, take)))
    }
    if (input.arrivals !== undefined) return Stream.unwrapScoped(Effect.map(input.arrivals, past))
    return Stream.unwrapScoped(
      Effect.map(
        Stream.toPull(input.incoming),
        (pull) =>
          Stream.repeatEffectChunkOption(Effect.suspend(() =>
            over ?? Effect.matchEffect(pull, {
              onSuccess: (pieces) => {
                for (const piece of pieces) {
                  hear(framing.feed(piece))
                }
                return take
              },
              onFailure: (failure) => {
                if (Option.isSome(failure)) {
                  over = Effect.fail(failure)
                  hear(framing.finish())
                } else finish()
                return take
              }
            })
          ))
      )
    )
  }

  const { post } = input
  return {
    incoming: listen(() => false),
    listen,
    ...(post === undefined ? {} : { post: (message, failed) => post(input.encode(JsonRpc.print(message)), failed) }),
    send: (message, _context, taken_back) =>
      Effect.suspend(() => input.write(input.encode(JsonRpc.print(message)), taken_back))
  }
}
