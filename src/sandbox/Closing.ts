/**
 * Closes protected places for the length of a command (reading 10.5): those that stand are named for a read-only mount,
 * missing ones get an empty mount point that goes with the last command that uses it.
 *
 * @since 0.1.0
 */
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Look, lookAtAll } from "../platform/Look.ts"
import { isMountedElsewhere } from "../platform/MountTable.ts"
import { makeMountPoint, moveAside, removeMountPoint } from "../platform/SandboxFiles.ts"
import { isWithin } from "./CheckPath.ts"
import type { ProtectedPlace } from "./GitPlaces.ts"
import type { Place } from "./Plan.ts"

/** @since 0.1.0 @category models */
export interface Closed {
  readonly read_only: ReadonlyArray<Place>
  /** Their mount points stand until the scope closes. */
  readonly masked: ReadonlyArray<Place>
}

/** @since 0.1.0 @category models */
export interface Closing {
  /** Places below `roots` (both canonical). Call it, and what it is told from, inside `exclusively`. */
  readonly close: (
    places: ReadonlyArray<ProtectedPlace>,
    roots: ReadonlyArray<string>
  ) => Effect.Effect<Closed, never, Scope.Scope>
  /** What commands have made where nothing may be, and where it is now; each is told once. */
  readonly movedAside: Effect.Effect<ReadonlyArray<readonly [from: string, to: string]>>
  /** One at a time: looking, making and taking away belong together. */
  readonly exclusively: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

interface Held {
  count: number
  readonly kind: Place["kind"]
}

/** What can be mounted over; null = nothing, a link, a device. @since 0.1.0 @category combinators */
export const placeOf = (kind: Look): Place["kind"] | null => kind === "directory" || kind === "file" ? kind : null

/** @since 0.1.0 @category constructors */
export const makeClosing = (path: Path.Path): Effect.Effect<Closing> =>
  Effect.gen(function*() {
    const held = new Map<string, Held>()
    const moved: Array<readonly [from: string, to: string]> = []
    const oneByOne = yield* Effect.makeSemaphore(1)
    /** A mount point where a protected place is missing; the last command that uses it takes it away. */
    const hold = (at: string, kind: Place["kind"]): Effect.Effect<boolean, never, Scope.Scope> =>
      Effect.acquireRelease(
        Effect.gen(function*() {
          const known = held.get(at)
          if (known !== undefined) known.count++
          else if (yield* makeMountPoint(at, kind)) held.set(at, { count: 1, kind })
          else return false
          return true
        }),
        (got) =>
          oneByOne.withPermits(1)(Effect.gen(function*() {
            const known = held.get(at)
            if (!got || known === undefined || --known.count > 0) return
            // Taking it away would lift the mount of a command that another program of ours runs.
            if (!(yield* isMountedElsewhere(at))) yield* removeMountPoint(at, known.kind)
            held.delete(at)
          }))
      )

    /** The first part of the way to a missing place that is missing itself; null = a link or file is in the way. */
    const firstMissing = (at: string): Effect.Effect<string | null> =>
      Effect.gen(function*() {
        let missing = at
        for (;;) {
          const parent = path.dirname(missing)
          const [kind = null] = yield* lookAtAll([parent])
          if (kind === "directory") return missing
          if (kind !== null || parent === missing) return null
          missing = parent
        }
      })

    const close: Closing["close"] = (places, roots) =>
      Effect.gen(function*() {
        const read_only: Array<Place> = []
        const masked: Array<Place> = []
        // What lies in a closed place is closed with it.
        const concerned = places.filter((place) =>
          roots.some((root) => isWithin(root, place.path)) &&
          !places.some((other) => other.path !== place.path && isWithin(other.path, place.path))
        )
        const kinds = yield* lookAtAll(concerned.map((place) => place.path))
        for (const [index, place] of concerned.entries()) {
          const look = kinds[index] ?? null
          const kind = placeOf(look)
          // What stands there empty because another command needs it is still missing.
          if (kind !== null && !held.has(place.path)) {
            read_only.push({ path: place.path, kind })
            continue
          }
          // A link cannot be mounted over, and must not stop the command.
          if (look === "link" || look === "other") continue
          if (place.missing === "none") continue
          if (place.missing === "aside") {
            yield* Effect.addFinalizer(() =>
              Effect.flatMap(moveAside(place.path), (to) =>
                to === null
                  ? Effect.void
                  : Effect.zipRight(
                    Effect.sync(() => moved.push([place.path, to])),
                    Effect.logWarning(
                      `a command made ${place.path}, which an active hook or server would run; it is ${to} now`
                    )
                  ))
            )
            continue
          }
          const standing = Array.from(held.keys()).find((at) => isWithin(at, place.path))
          const first = standing ?? (yield* firstMissing(place.path))
          if (first === null) continue
          const whole = first === place.path
          // A file whose directory is missing as well: to hold the directory back would break more than it guards.
          if (!whole && place.missing === "file" && path.basename(first) !== ".hanzo") continue
          const as = whole ? place.missing : "directory"
          if (yield* hold(first, as)) masked.push({ path: first, kind: as })
        }
        return { read_only, masked }
      })

    const movedAside = Effect.sync(() => moved.splice(0))

    return { close, movedAside, exclusively: oneByOne.withPermits(1) }
  })
