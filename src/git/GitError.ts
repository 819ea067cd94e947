/**
 * Why a git command did not do what it was asked for.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"

/**
 * | reason | meaning |
 * | --- | --- |
 * | `no_git` | there is no git, or it does not start |
 * | `not_a_repository` | the directory belongs to no repository |
 * | `no_worktree` | a bare repository, or the inside of `.git` |
 * | `unsafe` | git refuses a repository of another owner (`safe.directory`) |
 * | `bad_name` | the name is none for a branch |
 * | `exists` | what is to be made is there already |
 * | `missing` | what is named is not there |
 * | `state` | a rebase, unmerged files, a detached HEAD and the like stand in the way |
 * | `nothing` | there is nothing to do it with |
 * | `locked` | another git works on the index, or died there |
 * | `changed` | index or HEAD changed since what was shown |
 * | `no_remote` | there is no `origin`, or it is empty |
 * | `timeout` | the limit was reached, and the command ended |
 * | `stopped` | a signal ended it |
 * | `refused` | git, a hook or the remote said no; `stderr` has their words |
 * | `secrets` | what looks like a secret would be published, and nobody was asked |
 * | `files` | a file of the git directory could not be read or written |
 *
 * `message` says what and what to do; `stderr` is git's own, without passwords in addresses.
 *
 * @since 0.1.0
 * @category errors
 */
export class GitError extends TaggedError("@hanzo/dev/git/GitError")("GitError", () => ({
  reason: Schema.Literal(
    "no_git",
    "not_a_repository",
    "no_worktree",
    "unsafe",
    "bad_name",
    "exists",
    "missing",
    "state",
    "nothing",
    "locked",
    "changed",
    "no_remote",
    "timeout",
    "stopped",
    "refused",
    "secrets",
    "files"
  ),
  message: Schema.String,
  stderr: Schema.String
})) {}

/** @since 0.1.0 @category constructors */
export const fail = (reason: GitError["reason"], message: string, stderr = ""): GitError =>
  new GitError({ reason, message, stderr })

/** Another git holds the index, or has left its lock. @since 0.1.0 @category constructors */
export const lockedBy = (lock: string): GitError =>
  fail(
    "locked",
    `another git is at work here, or one has ended without its clean-up: ${lock} exists; remove it when no git runs`
  )
