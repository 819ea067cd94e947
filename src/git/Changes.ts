/**
 * What has changed, to read and to put away (reading 12, `/diff`, `/stash`).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import { plainDiff } from "./Commits.ts"
import * as DiffText from "./DiffText.ts"
import { fail, type GitError, lockedBy } from "./GitError.ts"
import { parseFields, parseNames } from "./Porcelain.ts"
import * as Repository from "./Repository.ts"

/** @since 0.1.0 @category models */
export interface Diff {
  readonly branch: string | null
  /** Staged and unstaged changes against HEAD; at most 64 KiB, with a line where it is cut. */
  readonly text: string
  /** Bytes of the whole diff; at least, when it has more than 16 MiB. */
  readonly bytes: number
  readonly cut: boolean
  readonly files: ReadonlyArray<string>
  readonly untracked: ReadonlyArray<string>
}

/** @since 0.1.0 @category constructors */
export const diff = (tools: Repository.Tools): Effect.Effect<Diff, GitError> =>
  Effect.gen(function*() {
    const { top } = yield* Repository.find(tools)
    const status = yield* Repository.status(tools, top)
    const [text, others] = yield* Effect.all([
      tools.runner.must("git diff", {
        args: ["diff", ...plainDiff, ...(status.head === null ? ["--cached"] : ["HEAD"]), "--"],
        cwd: top,
        max_bytes: 16 * 1024 * 1024
      }),
      tools.runner.must("git ls-files", { args: ["ls-files", "--others", "--exclude-standard", "-z"], cwd: top })
    ])
    return {
      branch: status.branch,
      ...DiffText.cut(text.stdout),
      files: [...status.files.map((file) => file.path), ...status.unmerged],
      untracked: parseNames(others.stdout)
    }
  })

/** `at` is in seconds since the epoch. @since 0.1.0 @category models */
export interface Stash {
  /** `stash@{INDEX}` */
  readonly index: number
  readonly commit: string
  readonly message: string
  readonly at: number
}

/** The latest first. @since 0.1.0 @category constructors */
export const stashes = (tools: Repository.Tools): Effect.Effect<ReadonlyArray<Stash>, GitError> =>
  Effect.gen(function*() {
    const { top } = yield* Repository.find(tools)
    const listed = yield* tools.runner.must("git stash list", {
      args: ["stash", "list", "--no-show-signature", "-z", "--format=%H%x00%gs%x00%ct"],
      cwd: top
    })
    return parseFields(listed.stdout, 3).map(([commit = "", message = "", at = ""], index) => ({
      index,
      commit,
      message,
      at: Number(at)
    }))
  })

/** @since 0.1.0 @category models */
export interface Stashed {
  readonly message: string
  readonly files: ReadonlyArray<string>
  /** They stay where they are. */
  readonly untracked: ReadonlyArray<string>
}

/** `git stash push -m "hanzo: TIME"`. Fails with `nothing` when no tracked file has changed. @since 0.1.0 @category constructors */
export const stash = (tools: Repository.Tools): Effect.Effect<Stashed, GitError> =>
  Effect.gen(function*() {
    const { index, top } = yield* Repository.find(tools)
    const status = yield* Repository.status(tools, top)
    if (status.head === null) {
      return yield* fail("state", "there is no commit yet that a stash could stand on; commit first")
    }
    if (status.unmerged.length > 0) {
      return yield* fail(
        "state",
        `there are unmerged files: ${status.unmerged.slice(0, 5).join(", ")}; resolve them first`
      )
    }
    if (status.files.length === 0) {
      const left = status.untracked.length
      return yield* fail(
        "nothing",
        `there is nothing to stash${left === 0 ? "" : `; untracked files are not stashed (${left})`}`
      )
    }
    const now = yield* Clock.currentTimeMillis
    const message = `hanzo: ${DateTime.formatIso(DateTime.unsafeMake(now))}`
    const former = yield* Repository.resolve(tools, top, "refs/stash")
    const lock = `${index}.lock`
    yield* Effect.catchAll(
      tools.runner.must("git stash push", { args: ["stash", "push", "-m", message], cwd: top, writes: true }),
      (error) => {
        // git has no word for either
        if (error.reason !== "refused" || error.stderr !== "") return error
        const silent = fail("refused", `${error.message}: git says no more; perhaps ${index} cannot be written`)
        return Effect.flatMap(tools.files.exists(lock), (locked) => locked ? lockedBy(lock) : silent)
      }
    )
    if ((yield* Repository.resolve(tools, top, "refs/stash")) === former) {
      return yield* fail("nothing", "there is nothing to stash")
    }
    return {
      message,
      files: status.files.map((file) => file.path),
      untracked: status.untracked
    }
  })

/**
 * The latest stash back into the working tree, with what was staged where that fits. On a conflict git keeps the stash.
 *
 * @since 0.1.0
 * @category combinators
 */
export const pop = (tools: Repository.Tools): Effect.Effect<Stash, GitError> =>
  Effect.gen(function*() {
    const { top } = yield* Repository.find(tools)
    const [latest] = yield* stashes(tools)
    if (latest === undefined) return yield* fail("nothing", "there is no stash")
    const withIndex = yield* tools.runner.run({ args: ["stash", "pop", "--index"], cwd: top, writes: true })
    if (withIndex.code === 0) return latest
    const again = /without --index|conflicts in index/iu.test(withIndex.stderr)
      ? yield* tools.runner.run({ args: ["stash", "pop"], cwd: top, writes: true })
      : withIndex
    if (again.code === 0) return latest
    const kept = (yield* Repository.resolve(tools, top, "refs/stash")) === latest.commit
    return yield* fail(
      "refused",
      `git stash pop failed (exit code ${again.code})${kept ? "; the stash is kept" : ""}`,
      `${again.stdout}${again.stderr}`
    )
  })
