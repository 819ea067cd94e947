/**
 * Streams from pulls and back, at the cost of a pull: Effect's own `unwrapScoped` and `runForEachChunk` take some hundred
 * steps more for each stream, and every turn of a run reads a stream of its model.
 *
 * @since 0.1.0
 */
import * as Channel from "effect/Channel"
import type * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** One read at a time; `None` = the end. @since 0.1.0 @category models */
export type Pull<A, E = never, R = never> = Effect.Effect<Chunk.Chunk<A>, Option.Option<E>, R>

const step = <A, E, R>(pull: Pull<A, E, R>): Effect.Effect<Chunk.Chunk<A> | null, E, R> =>
  Effect.matchEffect(pull, {
    onFailure: Option.match({ onNone: () => Effect.succeed(null), onSome: Effect.fail }),
    onSuccess: Effect.succeed
  })

/** How the streams of this module are opened, for whoever reads one to its end: no channel has to run for that. */
const opens = new WeakMap<object, object>()

/**
 * The stream of a pull. Every run opens it anew, in a scope that ends with that run, however it ends.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromPull = <A, E, R>(
  open: Effect.Effect<Pull<A, E, R>, E, R | Scope.Scope>
): Stream.Stream<A, E, Exclude<R, Scope.Scope>> => {
  const stream = Stream.suspend(() => {
    let scope: Scope.CloseableScope | null = null
    const opened = Effect.flatMap(Scope.make(), (made) => {
      // known before anything is acquired: what an interruption leaves half open is closed too
      scope = made
      return Scope.extend(open, made)
    })
    const reading = (pull: Pull<A, E, R>) => {
      const read = Channel.fromEffect(step(pull))
      const next: Channel.Channel<Chunk.Chunk<A>, unknown, E, unknown, void, unknown, R> = Channel.flatMap(
        read,
        (chunk) => chunk === null ? Channel.void : Channel.flatMap(Channel.write(chunk), () => next)
      )
      return next
    }
    return Stream.fromChannel(
      Channel.ensuringWith(
        Channel.flatMap(Channel.fromEffect(opened), reading),
        (exit) => scope === null ? Effect.void : Scope.close(scope, exit)
      )
    ) as Stream.Stream<A, E, Exclude<R, Scope.Scope>>
  })
  opens.set(stream, open)
  return stream
}

/** Reads to the end, a chunk at a time. @since 0.1.0 @category combinators */
export const forEachPulled = <A, E, R, E2, R2>(
  pull: Pull<A, E, R>,
  f: (chunk: Chunk.Chunk<A>) => Effect.Effect<unknown, E2, R2>
): Effect.Effect<void, E | E2, R | R2> => {
  const read = step(pull)
  const next: Effect.Effect<void, E | E2, R | R2> = Effect.flatMap(
    read,
    (chunk) => chunk === null ? Effect.void : Effect.flatMap(f(chunk), () => next)
  )
  return next
}

/**
 * Runs a stream, a chunk at a time. What the stream holds is released before this ends.
 *
 * @since 0.1.0
 * @category combinators
 */
export const forEachChunk = <A, E, R, E2, R2>(
  stream: Stream.Stream<A, E, R>,
  f: (chunk: Chunk.Chunk<A>) => Effect.Effect<unknown, E2, R2>
): Effect.Effect<void, E | E2, Exclude<R | R2, Scope.Scope>> => {
  // what was kept for this stream is of its type
  const open = opens.get(stream) as Effect.Effect<Pull<A, E, R>, E, R | Scope.Scope> | undefined
  return Effect.scoped(Effect.flatMap(open ?? Stream.toPull(stream), (pull) => forEachPulled(pull, f)))
}
