/**
 * The files as they were before a message changed them: taken before the first call that may change anything, and again at
 * the end of the run. What cannot be kept is told once, and stops nothing.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { SnapshotError, SnapshotsService } from "../snapshots/Snapshots.ts"
import { changedBy } from "./TouchedFiles.ts"

/** @since 0.1.0 @category models */
export interface Checkpoint {
  /** Before a call that may change files. */
  readonly before: (
    call: { readonly name: string; readonly input: Readonly<Record<string, unknown>> }
  ) => Effect.Effect<void>
  /** At the run's end; nothing when nothing was taken before. */
  readonly after: Effect.Effect<void>
}

/** `key` is that of the latest entry of the user. @since 0.1.0 @category constructors */
export const make = (
  snapshots: SnapshotsService,
  run: {
    readonly session_id: string
    readonly cwd: string
    readonly key: () => string
    readonly emit: (events: ReadonlyArray<AgentEventBody>) => Effect.Effect<void>
  }
): Checkpoint => {
  const { cwd, emit, session_id } = run
  // calls of subagents run side by side
  const turn = Effect.unsafeMakeSemaphore(1)
  let first: string | null = null
  let taken: string | null = null
  let told = false

  const notice = (message: string) => emit([{ type: "notice", code: "no_checkpoint", message }])
  const tell = (error: SnapshotError): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (told) return Effect.void
      told = true
      return notice(`the files before this message could not be kept: ${error.message}`)
    })

  const absolute = (path: string): string => path.startsWith("/") ? path : `${cwd}/${path}`

  return {
    before: ({ input, name }) =>
      turn.withPermits(1)(Effect.gen(function*() {
        const key = run.key()
        const paths = changedBy(name, input).map(absolute)
        const uncovered = taken === key
          ? yield* Effect.filter(paths, (path) => Effect.map(snapshots.covers(path), (covered) => !covered))
          : paths
        if (taken === key && (uncovered.length === 0 || told)) return
        const { left_out, snapshot } = yield* snapshots.take({ session_id, key, kind: "before", paths: uncovered })
        first ??= snapshot.id
        taken = key
        for (const { path, size } of left_out) {
          if (paths.some((one) => one === path || one.endsWith(`/${path}`))) {
            yield* notice(`${path} is not kept as it was${size === null ? "" : `: it has ${size} bytes`}`)
          }
        }
      })).pipe(
        Effect.catchAll((error) => Effect.zipRight(Effect.sync(() => void (taken = run.key())), tell(error)))
      ),
    after: Effect.suspend(() =>
      first === null
        ? Effect.void
        : Effect.catchAll(
          Effect.asVoid(snapshots.take({ session_id, key: run.key(), kind: "after", since: first })),
          tell
        )
    )
  }
}
