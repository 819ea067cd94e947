/**
 * The git commands of HIP-301 (section 12), for people: no tool of the model leads here, nobody is asked, no sandbox stands
 * around them.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Environment } from "../platform/Environment.ts"
import { GitFiles } from "../platform/GitFiles.ts"
import { Processes } from "../platform/Processes.ts"
import * as Branches from "./Branches.ts"
import * as Changes from "./Changes.ts"
import * as Commits from "./Commits.ts"
import type { GitError } from "./GitError.ts"
import type { LikelySecret } from "./LikelySecrets.ts"
import * as Outgoing from "./Outgoing.ts"
import type { Worktree } from "./Porcelain.ts"
import * as Publish from "./Publish.ts"
import * as Runner from "./Runner.ts"

/**
 * In the working directory of the workspace. Every method runs git in a process group of its own, which ends with the
 * limit (60 s, with a remote 180 s) and with an interruption.
 *
 * @since 0.1.0
 * @category models
 */
export interface GitService {
  readonly branches: Effect.Effect<Branches.Branches, GitError>
  /** What git says of it. */
  readonly createBranch: (name: string) => Effect.Effect<string, GitError>
  readonly prepare: Effect.Effect<Commits.Prepared, GitError>
  readonly commit: (prepared: Commits.Prepared, message: string) => Effect.Effect<Commits.Committed, GitError>
  /** A message that a person has written and not used: the next `prepare` on this commit has it ready. */
  readonly keep: (prepared: Commits.Prepared, message: string) => Effect.Effect<void>
  readonly destination: Effect.Effect<Publish.Destination, GitError>
  /** What a pull request would bring beside the latest commit. */
  readonly unpublished: (to: Publish.Destination) => Effect.Effect<Publish.Unpublished, GitError>
  /** What looks like a secret in the commits that a push would take along. */
  readonly outgoingSecrets: (to: Publish.Destination) => Effect.Effect<ReadonlyArray<LikelySecret>, GitError>
  readonly push: (to: Publish.Destination) => Effect.Effect<Publish.Pushed, GitError>
  readonly pullRequest: (
    to: Publish.Destination,
    input: Publish.PullRequestInput
  ) => Effect.Effect<Publish.PullRequest, GitError>
  readonly worktrees: Effect.Effect<ReadonlyArray<Worktree>, GitError>
  readonly addWorktree: (name: string) => Effect.Effect<Branches.Added, GitError>
  readonly removeWorktree: (name: string) => Effect.Effect<Worktree, GitError>
  readonly diff: Effect.Effect<Changes.Diff, GitError>
  readonly stash: Effect.Effect<Changes.Stashed, GitError>
  readonly stashes: Effect.Effect<ReadonlyArray<Changes.Stash>, GitError>
  readonly popStash: Effect.Effect<Changes.Stash, GitError>
}

/** @since 0.1.0 @category services */
export class Git extends Context.Tag("@hanzo/dev/git/Git")<Git, GitService>() {
  static readonly layer: Layer.Layer<Git, never, Environment | GitFiles | Processes | Workspace> = Layers.effect(
    Git,
    Effect.gen(function*() {
      const { cwd } = yield* Workspace
      const tools = { runner: Runner.make(yield* Processes, yield* Environment), files: yield* GitFiles, cwd }
      return {
        branches: Branches.list(tools),
        createBranch: (name) => Branches.create(tools, name),
        prepare: Commits.prepare(tools),
        commit: (prepared, message) => Commits.commit(tools, prepared, message),
        keep: (prepared, message) => Commits.keep(tools, prepared, message),
        destination: Publish.destination(tools),
        unpublished: (to) => Publish.unpublished(tools, to),
        outgoingSecrets: (to) => Outgoing.secrets(tools, to),
        push: (to) => Publish.push(tools, to),
        pullRequest: (to, input) => Publish.pullRequest(tools, to, input),
        worktrees: Branches.worktrees(tools),
        addWorktree: (name) => Branches.addWorktree(tools, name),
        removeWorktree: (name) => Branches.removeWorktree(tools, name),
        diff: Changes.diff(tools),
        stash: Changes.stash(tools),
        stashes: Changes.stashes(tools),
        popStash: Changes.pop(tools)
      }
    })
  )
}
