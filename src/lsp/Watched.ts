/**
 * Files that change without our tools: servers leave the watching to us, so after a command what has come, changed or gone
 * is looked for. Files that git ignores are not looked at, but for what says that packages were installed.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { FilesService } from "../platform/Files.ts"
import { fingerprint } from "../platform/Look.ts"

/** Files of a workspace that are looked at. @since 0.1.0 @category constants */
export const maxWatched = 20_000

/** @since 0.1.0 @category models */
export interface WatchedChange {
  readonly path: string
  readonly kind: "created" | "changed" | "deleted"
}

/** @since 0.1.0 @category models */
export interface Watched {
  /** What there is, remembered; once, when the first server starts. */
  readonly begin: Effect.Effect<void>
  /** Since `begin`, or the last time. `packages`: other ones are installed now. */
  readonly changes: Effect.Effect<{ readonly files: ReadonlyArray<WatchedChange>; readonly packages: boolean }>
  /** A tool of ours has changed it, and said so: no change of others. */
  readonly known: (path: string) => Effect.Effect<void>
}

/** @since 0.1.0 @category models */
export interface WatchedInput {
  readonly files: FilesService
  /** Absolute. */
  readonly workspace: string
  /** Servers want to know of it. */
  readonly isOfInterest: (path: string) => boolean
}

const packagePlaces = ["node_modules", "node_modules/.package-lock.json", ".venv/lib", "venv/lib"]

/** @since 0.1.0 @category constructors */
export const make = ({ files, isOfInterest, workspace }: WatchedInput): Watched => {
  let known: Map<string, string> | null = null
  let packages = ""

  const stamps = (paths: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
    Effect.map(fingerprint(paths), (text) => paths.length === 0 ? [] : text.split(" "))
  const installed = fingerprint(packagePlaces.map((place) => `${workspace}/${place}`))

  const look: Effect.Effect<Map<string, string>> = Effect.gen(function*() {
    const walked = yield* Effect.option(files.walk({ directory: workspace, pattern: "**" }))
    const paths = (walked._tag === "Some" ? walked.value.files : [])
      .map((file) => `${workspace === "/" ? "" : workspace}/${file}`)
      .filter(isOfInterest)
      .slice(0, maxWatched)
    const found = yield* stamps(paths)
    return new Map(paths.map((path, index) => [path, found[index] ?? "-"]))
  })

  return {
    begin: Effect.suspend(() =>
      known !== null ? Effect.void : Effect.gen(function*() {
        const place = yield* installed
        const found = yield* look
        // whoever looked meanwhile knows more
        if (known !== null) return
        packages = place
        known = found
      })
    ),
    known: (path) =>
      Effect.map(stamps([path]), ([stamp = "-"]) => {
        if (known === null || !isOfInterest(path)) return
        if (stamp === "-") known.delete(path)
        else known.set(path, stamp)
      }),
    changes: Effect.gen(function*() {
      const before = known
      const now = yield* look
      const place = yield* installed
      const others = before !== null && place !== packages
      known = now
      packages = place
      if (before === null) return { files: [], packages: false }
      const changed: Array<WatchedChange> = []
      for (const [path, stamp] of now) {
        const old = before.get(path)
        if (old === undefined) changed.push({ path, kind: "created" })
        else if (old !== stamp) changed.push({ path, kind: "changed" })
      }
      for (const path of before.keys()) if (!now.has(path)) changed.push({ path, kind: "deleted" })
      return { files: changed, packages: others }
    })
  }
}
