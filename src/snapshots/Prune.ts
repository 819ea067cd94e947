/**
 * Removes snapshots that are too old, and the oldest ones while all of them take too much room.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { octetsOf } from "../platform/ByteTree.ts"
import { sizeBelow } from "../platform/KeptFiles.ts"
import type { Git } from "./Git.ts"
import type { SnapshotError } from "./Snapshots.ts"

interface Ref {
  readonly name: string
  readonly at: number
}

/** What `for-each-ref` names, oldest first; the time is in the name. @since 0.1.0 @category decoding */
export const refsOf = (output: string): ReadonlyArray<Ref> =>
  output.split("\n").flatMap((name) => {
    const at = /\/(\d{14})-\d+-[0-9a-f]+$/u.exec(name)?.[1]
    return at === undefined ? [] : [{ name, at: Number(at) }]
  }).sort((a, b) => a.at - b.at)

/** Loose objects above this many bytes are put together. */
const looseBytes = 16 * 1024 * 1024
const rounds = 8

/** `days` 0 = no limit, `max_bytes` 0 = no limit. @since 0.1.0 @category combinators */
export const prune = (
  git: Git,
  options: {
    readonly repo: string
    readonly days: number
    readonly max_bytes: number
    /** What is remembered of the last snapshot goes with it. */
    readonly forget: () => void
  }
): Effect.Effect<number, SnapshotError> =>
  Effect.gen(function*() {
    const { days, max_bytes, repo } = options
    const limit = max_bytes > 0 ? max_bytes : Number.POSITIVE_INFINITY
    const now = yield* Clock.currentTimeMillis
    const { stdout } = yield* git.ok({ args: ["for-each-ref", "--format=%(refname)", "refs/snapshots"] })
    let refs = refsOf(new TextDecoder().decode(stdout))
    let gone = 0
    const drop = (going: ReadonlyArray<Ref>) =>
      going.length === 0 ? Effect.void : Effect.zipRight(
        git.ok({
          args: ["update-ref", "--stdin"],
          stdin: octetsOf(going.map(({ name }) => `delete ${name}\n`).join(""))
        }),
        Effect.sync(() => {
          gone += going.length
          refs = refs.filter((ref) => !going.includes(ref))
          options.forget()
        })
      )
    const collect = git.ok({ args: ["gc", "--quiet", "--prune=now"] })
    if (days > 0) yield* drop(refs.filter(({ at }) => at < now - days * 86_400_000))
    const objects = `${repo}/objects`
    if (gone > 0 || sizeBelow(objects) - sizeBelow(`${objects}/pack`) > looseBytes) yield* collect
    for (let round = 0; round < rounds && refs.length > 1 && sizeBelow(objects) > limit; round++) {
      yield* drop(refs.slice(0, Math.max(1, refs.length >> 2)))
      yield* collect
    }
    return gone
  })
