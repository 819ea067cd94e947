/**
 * A commit of tracked files (reading 12, `/commit`), in two steps: what would be committed is put together in an index
 * of its own, so that nothing of the repository has changed while a person reads; then exactly that is committed.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { FileError } from "../platform/FileError.ts"
import type { FileImage } from "../platform/GitFiles.ts"
import { aboveScissors, scissors, tidy } from "./Conventional.ts"
import { fail, type GitError, lockedBy } from "./GitError.ts"
import * as LikelySecrets from "./LikelySecrets.ts"
import type { Change } from "./MessagePrompt.ts"
import type { ChangedFile } from "./Porcelain.ts"
import { withoutUser } from "./Remotes.ts"
import * as Repository from "./Repository.ts"

/** A diff is looked at for secrets up to this. @since 0.1.0 @category constants */
export const mostBytes = 16 * 1024 * 1024

/** @since 0.1.0 @category models */
export interface Prepared {
  readonly repository: Repository.Repository
  readonly branch: string | null
  /** The commit it would stand on; null = the first one. */
  readonly head: string | null
  /** What would be in the commit, against `head`; none = there is nothing to commit. */
  readonly files: ReadonlyArray<ChangedFile>
  /** Of these a part was staged by hand; all of it goes in, as `git add -u` has it. */
  readonly partly: ReadonlyArray<string>
  /** Not in the index, and not going there. */
  readonly untracked: ReadonlyArray<string>
  readonly progress: Exclude<Repository.Progress, "rebase" | "am"> | null
  /** The message that git has ready (a merge), or that an earlier refusal has left; null = there is none. */
  readonly ready: { readonly message: string; readonly source: "git" | "kept" } | null
  readonly change: Change
  readonly secrets: ReadonlyArray<LikelySecrets.LikelySecret>
  /** The index as it is, and as it would be. */
  readonly before: FileImage | null
  readonly after: FileImage | null
  /** The tree of `after`; null = it cannot be written. */
  readonly tree: string | null
  /** What git said on the way. */
  readonly stderr: string
}

/** @since 0.1.0 @category models */
export interface Committed {
  readonly id: string
  readonly short: string
  readonly subject: string
  /** Null = HEAD is detached. */
  readonly branch: string | null
  /** A hook has put something else into the commit than what was shown. */
  readonly changed_by_hook: boolean
  /** Files that a hook, or somebody else, has changed and that are not in the commit. */
  readonly left: ReadonlyArray<string>
  readonly stderr: string
}

const filesError = (error: FileError): GitError =>
  error.reason === "exists" && error.path.endsWith(".lock")
    ? lockedBy(error.path)
    : error.reason === "changed"
    ? fail("changed", "the index has changed meanwhile; nothing was committed: look again")
    : fail("files", error.message)

/** Where a message is kept that no commit has taken. */
const keptAt = (repository: Repository.Repository): string => `${repository.git_dir}/hanzo-commit-message`

const keptText = (message: string, head: string | null): string =>
  `${message}\n${scissors}\n# on ${head ?? "no commit"}\n`

/** A message for the next time, as long as HEAD stays. @since 0.1.0 @category combinators */
export const keep = (
  { files }: Pick<Repository.Tools, "files">,
  { head, repository }: Prepared,
  message: string
): Effect.Effect<void> => Effect.ignore(files.writeText(keptAt(repository), keptText(message, head)))

/** Diffs as they stand in the files, whatever the settings say of how they look. @since 0.1.0 @category constants */
export const plainDiff: ReadonlyArray<string> = [
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--no-relative",
  "--src-prefix=a/",
  "--dst-prefix=b/",
  "--submodule=short",
  "--ignore-submodules=none"
]

const readyMessage = (tools: Repository.Tools, repository: Repository.Repository, head: string | null) =>
  Effect.gen(function*() {
    const kept = yield* tools.files.readText(keptAt(repository))
    if (kept !== null && kept.includes(`\n# on ${head ?? "no commit"}\n`)) {
      const message = aboveScissors(kept)
      if (message !== "") return { message, source: "kept" as const }
    }
    const merge = yield* tools.files.readText(`${repository.git_dir}/MERGE_MSG`)
    if (merge === null) return null
    const lines = merge.split("\n")
    const end = lines.findIndex((line) => line.includes("------------------------ >8 ------------------------"))
    const message = tidy(
      lines.slice(0, end < 0 ? lines.length : end).filter((line) => !line.startsWith("#")).join("\n")
    )
    return message === "" ? null : { message, source: "git" as const }
  })

/**
 * What `git add -u` from the top would make of the index, without touching it. Fails with `state` in a rebase and with
 * unmerged files, which `add -u` would call merged.
 *
 * @since 0.1.0
 * @category constructors
 */
export const prepare = (tools: Repository.Tools): Effect.Effect<Prepared, GitError> =>
  Effect.scoped(Effect.gen(function*() {
    const { files, runner } = tools
    const repository = yield* Repository.find(tools)
    const { top } = repository
    const progress = yield* Repository.progress(tools, repository)
    if (progress === "rebase" || progress === "am") {
      const name = progress === "am" ? "git am" : "a rebase"
      const command = progress === "am" ? "git am" : "git rebase"
      return yield* fail(
        "state",
        `${name} is in progress: finish it with \`${command} --continue\`, or leave it with \`${command} --abort\``
      )
    }
    const first = yield* Repository.status(tools, top)
    if (first.unmerged.length > 0) {
      return yield* fail(
        "state",
        `there are unmerged files: ${first.unmerged.slice(0, 5).join(", ")}${
          first.unmerged.length > 5 ? ` and ${first.unmerged.length - 5} more` : ""
        }; resolve them and \`git add\` them first`
      )
    }
    const before = yield* Effect.mapError(files.read(repository.index), filesError)
    const folder = yield* Effect.mapError(
      files.scratch,
      ({ message }) => fail("files", `${message}; TMPDIR names the folder for files that are soon gone`)
    )
    const index = `${folder}/index`
    if (before !== null) yield* Effect.mapError(files.put(index, before), filesError)
    const added = yield* runner.must("git add -u", {
      args: ["-c", "add.ignoreErrors=false", "add", "-u"],
      cwd: top,
      index,
      writes: true
    })
    const [status, diff, stat, log, tree] = yield* Effect.all([
      Repository.status(tools, top, index),
      runner.must("git diff --cached", {
        args: ["diff", "--cached", ...plainDiff],
        cwd: top,
        index,
        max_bytes: mostBytes
      }),
      runner.must("git diff --cached --stat", {
        args: ["diff", "--cached", ...plainDiff, "--stat=100", "--summary"],
        cwd: top,
        index
      }),
      runner.run({ args: ["log", "-10", "--no-show-signature", "--format=%s"], cwd: top }),
      runner.run({ args: ["write-tree"], cwd: top, index })
    ], { concurrency: 3 })
    const changed = status.files.filter((file) => file.staged !== ".")
    const after = yield* Effect.mapError(files.read(index), filesError)
    const appearing = changed.filter((file) => "ARC".includes(file.staged)).map((file) => file.path)
    return {
      repository,
      branch: status.branch,
      head: status.head,
      files: changed,
      partly: first.files.filter((file) => file.staged !== "." && file.unstaged === "M").map((file) => file.path),
      untracked: status.untracked,
      progress,
      ready: yield* Effect.mapError(readyMessage(tools, repository, status.head), filesError),
      change: {
        branch: status.branch,
        subjects: log.code === 0 ? log.stdout.split("\n").filter((line) => line !== "") : [],
        diff: diff.stdout,
        stat: stat.stdout
      },
      secrets: [...LikelySecrets.inNames(appearing), ...LikelySecrets.inDiff(diff.stdout, { cut: diff.truncated })],
      before,
      after,
      tree: tree.code === 0 ? tree.stdout.trim() : null,
      stderr: added.stderr
    }
  }))

const settled = (tools: Repository.Tools, prepared: Prepared, stderr: string): Effect.Effect<Committed, GitError> =>
  Effect.gen(function*() {
    const { top } = prepared.repository
    const [log, tree, status] = yield* Effect.all([
      tools.runner.must("git log", {
        args: ["log", "-1", "--no-show-signature", "--format=%H%x00%h%x00%s%x00"],
        cwd: top
      }),
      Repository.resolve(tools, top, "HEAD^{tree}"),
      Repository.status(tools, top)
    ])
    const [id = "", short = "", subject = ""] = log.stdout.split("\0")
    return {
      id,
      short,
      subject,
      branch: status.branch,
      changed_by_hook: prepared.tree !== null && tree !== prepared.tree,
      left: status.files.filter((file) => file.unstaged !== ".").map((file) => file.path),
      stderr
    }
  })

/**
 * Commits what was prepared, with the repository's own hooks. Fails with `changed`, nothing done, when index or HEAD are not
 * those that were shown. When git or a hook refuses, or the limit ends it, index and message are kept; an interruption
 * before the commit stands gives the former index back, byte for byte.
 *
 * @since 0.1.0
 * @category combinators
 */
export const commit = (
  tools: Repository.Tools,
  prepared: Prepared,
  message: string
): Effect.Effect<Committed, GitError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const { files, runner } = tools
      const { repository } = prepared
      const { top } = repository
      if ((yield* Repository.resolve(tools, top, "HEAD")) !== prepared.head) {
        return yield* fail("changed", "HEAD has moved meanwhile; nothing was committed: look again")
      }
      yield* Effect.mapError(files.replace(repository.index, prepared.before, prepared.after), filesError)
      const kept = keep(tools, prepared, message)
      const undo = Effect.gen(function*() {
        yield* kept
        const head = yield* Repository.resolve(tools, top, "HEAD")
        if (head !== prepared.head) return
        const now = yield* files.read(repository.index)
        yield* files.replace(repository.index, now, prepared.before)
      }).pipe(Effect.ignore)
      const done = yield* restore(
        runner.run({
          args: ["commit", "--cleanup=whitespace", "--file=-"],
          cwd: top,
          stdin: new TextEncoder().encode(`${message}\n`),
          writes: true
        })
      ).pipe(
        Effect.onInterrupt(() => undo),
        Effect.catchAll((error) =>
          Effect.gen(function*() {
            const head = yield* Repository.resolve(tools, top, "HEAD")
            // what came too late was a hook behind the commit
            if (head !== prepared.head) return { code: 0, stdout: "", stderr: `${error.stderr}${error.message}\n` }
            yield* kept
            return yield* fail(
              error.reason,
              `${error.message}; the index and the message are kept, and the next time begins with them`,
              error.stderr
            )
          })
        )
      )
      if (done.code !== 0) {
        yield* kept
        const locked = /Unable to create '[^']*\.lock': File exists/u.test(done.stderr)
        return yield* fail(
          locked ? "locked" : "refused",
          `git commit failed (exit code ${done.code}); the index and the message are kept, and the next time begins with them`,
          `${done.stdout.trim() === "" ? "" : `${withoutUser(done.stdout.trimEnd())}\n`}${done.stderr}`
        )
      }
      yield* files.remove(keptAt(repository))
      return yield* settled(tools, prepared, done.stderr)
    })
  )
