/**
 * Snapshots, at work: one repository for each root, one writer at a time over all processes.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Config } from "../config/Config.ts"
import { Workspace } from "../domain/Workspace.ts"
import { bytesOf } from "../platform/ByteTree.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Environment } from "../platform/Environment.ts"
import { FileLock } from "../platform/FileLock.ts"
import * as Kept from "../platform/KeptFiles.ts"
import { Processes } from "../platform/Processes.ts"
import { sha256Hex } from "../platform/Sha256.ts"
import * as Git from "./Git.ts"
import * as History from "./History.ts"
import * as Ignores from "./Ignores.ts"
import * as IndexCache from "./IndexCache.ts"
import { isBelow } from "./Plan.ts"
import * as Prune from "./Prune.ts"
import * as Repository from "./Repository.ts"
import * as Rollback from "./Rollback.ts"
import type { Snapshot, SnapshotError, SnapshotsService } from "./Snapshots.ts"
import * as Take from "./Take.ts"

const dayMs = 86_400_000

/** @since 0.1.0 @category constructors */
export const make = (
  scope: Scope.Scope
): Effect.Effect<SnapshotsService, never, Workspace | Dirs | Environment | Processes | Config> =>
  Effect.gen(function*() {
    const { root } = yield* Workspace
    const dirs = yield* Dirs
    const environment = yield* Environment
    const processes = yield* Processes
    const { config } = yield* Config
    const lock = Context.get(yield* Layer.buildWithScope(FileLock.layer, scope), FileLock)

    const home = `${dirs.data}/snapshots/${sha256Hex(root).slice(0, 32)}`
    const places = { root, repo: `${home}/repo`, home }
    const prunedFile = `${home}/pruned`
    const git = Git.make(processes, environment, places)
    const ignores = Ignores.make(git, { ...places, excludes: Ignores.personalRules(environment, dirs) })
    const index = IndexCache.make(`${home}/index.json`)
    const repository = Repository.make(lock, git, ignores, places, index.forget)
    const { exclusive, mending } = repository

    /** Directories of this program inside the root. */
    const excluded = (): ReadonlySet<string> => {
      const out = new Set<string>()
      for (const directory of [dirs.data, dirs.state, dirs.cache, dirs.config]) {
        const real = Kept.realPath(directory)
        const inside = real === null ? null : Kept.within(root, real)
        if (inside !== null) out.add(bytesOf(inside))
      }
      return out
    }

    const relative = (path: string): string | null => {
      const inside = Kept.within(root, path)
      return inside === null ? null : bytesOf(inside)
    }

    const take = Take.make({ root, processes, git, ignores, index, ready: repository.ready, excluded, relative })
    const way = { root, processes, git, repository, index, take }

    const listed = (session_id: string): Effect.Effect<ReadonlyArray<Snapshot>, SnapshotError> =>
      repository.isMade() ? History.ofSession(git, session_id) : Effect.succeed([])

    const pruning = Effect.suspend(() =>
      repository.isMade()
        ? Prune.prune(git, {
          repo: places.repo,
          days: config.checkpoint_days,
          max_bytes: config.checkpoint_max_mb * 1024 * 1024,
          forget: index.forget
        })
        : Effect.succeed(0)
    )

    /** Once a day, beside whoever took a snapshot. */
    const pruneSometimes = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const before = Number(Kept.readText(prunedFile) ?? "0")
      if (Math.abs(now - before) < dayMs) return
      yield* Repository.attempt(() => Kept.replaceText(prunedFile, `${now}`))
      if (before > 0) yield* Effect.forkIn(Effect.ignoreLogged(exclusive(pruning)), scope)
    })

    return {
      take: (input) =>
        exclusive(mending(take(input))).pipe(
          Effect.tap(() => input.kind === "after" ? pruneSometimes : Effect.void),
          Effect.withSpan("Snapshots.take")
        ),
      covers: (path) =>
        Effect.sync(() => {
          const inside = relative(path)
          if (inside === null) return true
          const last = index.last()
          if (last === null) return false
          return last.entries.has(inside) || last.extra.has(inside) || !isBelow(inside, new Set(last.left.keys()))
        }),
      list: (session_id) => repository.reading(listed(session_id)),
      plan: (input) => Effect.withSpan(exclusive(mending(Rollback.plan(way, input))), "Snapshots.plan"),
      prune: exclusive(pruning)
    } satisfies SnapshotsService
  })
