/**
 * From a branch to its pull request, step by step, with what is done at each (reading 12, `/commit-push-pr`).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Committed, Prepared } from "../git/Commits.ts"
import { Git } from "../git/Git.ts"
import type { GitError } from "../git/GitError.ts"
import type { Destination, PullRequest, PullRequestInput, Pushed, Unpublished } from "../git/Publish.ts"
import type { CliExit } from "./Exit.ts"
import type { Desk } from "./GitMessage.ts"
import * as GitText from "./GitText.ts"

/** What the person wants of the pull request; absent = made of the commits. @since 0.1.0 @category models */
export interface PublishWish {
  readonly title?: string
  readonly body?: string
  readonly base?: string
  readonly draft: boolean
}

/** How far it came. @since 0.1.0 @category models */
export interface Published {
  readonly pushed: Pushed | null
  readonly pull_request: PullRequest | null
  /** What ended it before its end. */
  readonly error: GitError | null
}

/** Title and text out of the commits: the latest one's, and the list of all when there are more. @since 0.1.0 @category constructors */
export const pullRequestOf = (
  wish: PublishWish,
  { commits }: Unpublished,
  branch: string
): PullRequestInput => {
  const [latest] = commits
  const list = commits.length > 1 ? commits.map(({ subject }) => `- ${subject}`).reverse().join("\n") : ""
  const body = [latest?.body ?? "", list].filter((part) => part !== "").join("\n\n")
  return {
    title: wish.title ?? latest?.subject ?? branch,
    body: wish.body ?? body,
    draft: wish.draft,
    ...(wish.base === undefined ? {} : { base: wish.base })
  }
}

/** `proposed` = nobody can be asked. @since 0.1.0 @category combinators */
export const confirm = ({ ask }: Desk, { branch }: Destination): Effect.Effect<"yes" | "no" | "proposed"> =>
  Effect.gen(function*() {
    if (ask === null) return "proposed"
    while (true) {
      const typed = yield* ask(`  push ${GitText.name(branch)} to origin and open a pull request? y/n > `)
      const word = typed.type === "line" ? typed.text.trim().toLowerCase() : "n"
      if (word === "y" || word === "yes") return "yes"
      if (word === "n" || word === "no") return "no"
    }
  })

/**
 * The commit with all that looks like a secret and would be public after the push: its own, and what is in the commits
 * that go with it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withOutgoing = (prepared: Prepared, to: Destination): Effect.Effect<Prepared, GitError, Git> =>
  Effect.gen(function*() {
    const git = yield* Git
    return { ...prepared, secrets: [...prepared.secrets, ...(yield* git.outgoingSecrets(to))] }
  })

/** What is done so far, for the message of what went wrong after it. @since 0.1.0 @category encoding */
export const doneText = (committed: Committed | null, pushed: boolean, { branch }: Destination): string =>
  [
    ...(committed === null ? [] : [`committed ${committed.short}`]),
    ...(pushed ? [`pushed ${GitText.name(branch)}`] : [])
  ].map((part) => `${part}, `).join("")

/** Pushes, then opens the pull request. Never fails for git's sake: the outcome says how far it came. @since 0.1.0 @category combinators */
export const publish = (
  { show, style }: Desk,
  to: Destination,
  wish: PublishWish
): Effect.Effect<Published, CliExit, Git> =>
  Effect.gen(function*() {
    const git = yield* Git
    const pushed = yield* Effect.either(git.push(to))
    if (pushed._tag === "Left") return { pushed: null, pull_request: null, error: pushed.left }
    yield* show(GitText.said(pushed.right.stderr).map((each) => `${style.dim(`  ${each}`)}\n`).join(""))
    yield* show(GitText.pushedText(to, pushed.right))
    const made = yield* Effect.either(
      Effect.flatMap(git.unpublished(to), (commits) => git.pullRequest(to, pullRequestOf(wish, commits, to.branch)))
    )
    return made._tag === "Left"
      ? { pushed: pushed.right, pull_request: null, error: made.left }
      : { pushed: pushed.right, pull_request: made.right, error: null }
  })
