/**
 * Where the repository of a directory keeps what, and what is in progress there.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { GitFilesService } from "../platform/GitFiles.ts"
import { fail, type GitError } from "./GitError.ts"
import { parseStatus, type Status } from "./Porcelain.ts"
import type { Runner } from "./Runner.ts"

/** Absolute paths. @since 0.1.0 @category models */
export interface Repository {
  /** Top of the working tree. */
  readonly top: string
  /** Of this working tree. */
  readonly git_dir: string
  /** Of all working trees of the repository. */
  readonly common_dir: string
  readonly index: string
}

/** What was begun and not ended. @since 0.1.0 @category models */
export type Progress = "merge" | "cherry-pick" | "revert" | "rebase" | "am"

/** What the rooms of git commands work with. @since 0.1.0 @category models */
export interface Tools {
  readonly runner: Runner
  readonly files: GitFilesService
  readonly cwd: string
}

const withoutEnd = (text: string): string => text.endsWith("\n") ? text.slice(0, -1) : text

const questions: ReadonlyArray<ReadonlyArray<string>> = [
  ["--show-toplevel"],
  ["--absolute-git-dir"],
  ["--git-common-dir"],
  ["--git-path", "index"]
]

/** Fails with `not_a_repository`, `no_worktree`, `unsafe`. @since 0.1.0 @category constructors */
export const find = ({ cwd, runner }: Tools): Effect.Effect<Repository, GitError> =>
  Effect.gen(function*() {
    const parse = (...args: ReadonlyArray<string>) =>
      Effect.map(
        runner.must("git rev-parse", { args: ["rev-parse", "--path-format=absolute", ...args], cwd }),
        ({ stdout }) => withoutEnd(stdout)
      )
    const all = yield* parse("--is-inside-work-tree", ...questions.flat())
    const [inside, ...answers] = all.split("\n")
    if (inside !== "true") {
      return yield* fail("no_worktree", "there is no working tree here: a bare repository, or the inside of .git")
    }
    // a path may hold line ends: then one question a process
    const [top = "", git_dir = "", common_dir = "", index = ""] = answers.length === questions.length
      ? answers
      : yield* Effect.forEach(questions, (question) => parse(...question))
    return { top, git_dir, common_dir, index }
  })

/** `index`: of another index. Untracked files are always listed. @since 0.1.0 @category constructors */
export const status = (
  { runner }: Pick<Tools, "runner">,
  top: string,
  index?: string
): Effect.Effect<Status, GitError> =>
  Effect.map(
    runner.must("git status", {
      args: ["status", "--porcelain=v2", "-z", "--branch", "--untracked-files=normal", "--ignore-submodules=none"],
      cwd: top,
      max_bytes: 64 * 1024 * 1024,
      ...(index === undefined ? {} : { index })
    }),
    ({ stdout }) => parseStatus(stdout)
  )

/** @since 0.1.0 @category constructors */
export const progress = ({ files }: Pick<Tools, "files">, { git_dir }: Repository): Effect.Effect<Progress | null> =>
  Effect.gen(function*() {
    const at = (name: string) => files.exists(`${git_dir}/${name}`)
    if (yield* at("rebase-merge")) return "rebase"
    if (yield* at("rebase-apply")) return (yield* at("rebase-apply/applying")) ? "am" : "rebase"
    if (yield* at("MERGE_HEAD")) return "merge"
    if (yield* at("CHERRY_PICK_HEAD")) return "cherry-pick"
    return (yield* at("REVERT_HEAD")) ? "revert" : null
  })

/** The commit a name leads to; null = none. @since 0.1.0 @category constructors */
export const resolve = (
  { runner }: Pick<Tools, "runner">,
  top: string,
  name: string
): Effect.Effect<string | null, GitError> =>
  Effect.map(
    runner.run({ args: ["rev-parse", "--verify", "--quiet", "--end-of-options", name], cwd: top }),
    ({ code, stdout }) => code === 0 ? stdout.trim() : null
  )
