/**
 * A duplex over two streams of bytes, with a framing: pipes of a child, or our own stdin and stdout.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Framed, Framing, FramingFault } from "../codec/Framing.ts"
import * as JsonRpc from "../codec/JsonRpc.ts"
import type { Inbound, JsonRpcDuplex } from "./Duplex.ts"

/** @since 0.1.0 @category models */
export interface StreamDuplexInput<E> {
  readonly incoming: Stream.Stream<Uint8Array, E>
  /** Writes whole, in the order of the calls; returns when the other side may be given more. */
  readonly write: (bytes: Uint8Array) => Effect.Effect<void, E>
  readonly framing: Framing
  readonly encode: (text: string) => Uint8Array
  /** The stream broke: what to fail with. */
  readonly onFault: (fault: FramingFault) => Effect.Effect<E>
  /** The stream is at its end: what to fail with, or null for a plain end. */
  readonly onEnd?: Effect.Effect<E | null>
  /** A text that is no JSON: it is left out. Default: it is passed on as invalid. */
  readonly onNoise?: (text: string) => Effect.Effect<void>
}

/** @since 0.1.0 @category constructors */
export const make = <E>(input: StreamDuplexInput<E>): JsonRpcDuplex<E, unknown> => {
  const { framing } = input

  const incoming: Stream.Stream<Inbound, E> = Stream.unwrapScoped(
    Effect.map(Stream.toPull(input.incoming), (pull) => {
      let over: Effect.Effect<Chunk.Chunk<Inbound>, Option.Option<E>> | null = null
      const failWith = (error: Effect.Effect<E | null>) =>
        Effect.flatMap(error, (e) => Effect.fail(e === null ? Option.none() : Option.some(e)))

      /** Texts go out first; the fault is what the next pull finds. */
      const read = (framed: ReadonlyArray<Framed>): Effect.Effect<Chunk.Chunk<Inbound>, Option.Option<E>> => {
        const items: Array<Inbound> = []
        const noise: Array<string> = []
        for (const { fault, texts } of framed) {
          for (const text of texts) {
            for (const item of JsonRpc.parse(text).items) {
              if (input.onNoise !== undefined && JsonRpc.isInvalid(item) && item.why === "not_json") noise.push(text)
              else items.push({ item })
            }
          }
          if (fault !== null) over = failWith(input.onFault(fault))
        }
        const chunk = Chunk.unsafeFromArray(items)
        const next = over !== null && items.length === 0 ? over : Effect.succeed(chunk)
        const { onNoise } = input
        return onNoise === undefined || noise.length === 0
          ? next
          : Effect.zipRight(Effect.forEach(noise, onNoise, { discard: true }), next)
      }

      const step: Effect.Effect<Chunk.Chunk<Inbound>, Option.Option<E>> = Effect.suspend(() =>
        over ?? Effect.matchEffect(pull, {
          onSuccess: (pieces) => read(Chunk.toReadonlyArray(pieces).map((piece) => framing.feed(piece))),
          onFailure: (failure) => {
            over = Option.isSome(failure) ? Effect.fail(failure) : failWith(input.onEnd ?? Effect.succeed(null))
            return read([framing.finish()])
          }
        })
      )
      return Stream.repeatEffectChunkOption(step)
    })
  )

  return {
    incoming,
    send: (message) => Effect.suspend(() => input.write(input.encode(JsonRpc.print(message))))
  }
}
