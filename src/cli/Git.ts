/**
 * `hanzo-dev git ...`: the git commands without a conversation. stdout carries what was asked for; questions, lists and
 * git's own words go to stderr.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { neutralise } from "../codec/TerminalText.ts"
import { ExitCode } from "../domain/Failure.ts"
import type { Committed, Prepared } from "../git/Commits.ts"
import { Git } from "../git/Git.ts"
import { fail, type GitError } from "../git/GitError.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import { CliExit, usage } from "./Exit.ts"
import * as GitMessage from "./GitMessage.ts"
import * as GitPublish from "./GitPublish.ts"
import type { GitBranch, GitCommit, GitCommitPushPr, GitDiff, GitStash, GitWorktree } from "./GitSchemas.ts"
import * as GitText from "./GitText.ts"
import * as GitWords from "./GitWords.ts"
import { print, printJson, stderrStyle, stdoutStyle } from "./Output.ts"
import type * as Spec from "./Spec.ts"

/** Mistakes of the call, and places where git cannot work at all. */
const isUsage = (reason: GitError["reason"]): boolean =>
  reason === "bad_name" || reason === "not_a_repository" || reason === "no_worktree" || reason === "no_git" ||
  reason === "unsafe"

const exitOf = (error: GitError, before = ""): CliExit => {
  const [first = "", ...rest] = GitText.errorLines(error)
  return new CliExit({
    exit_code: isUsage(error.reason) ? ExitCode.usage : ExitCode.failed,
    lines: [`${before}${first}`, ...rest]
  })
}

const told = <A, R>(effect: Effect.Effect<A, GitError | CliExit, R>): Effect.Effect<A, CliExit, R> =>
  Effect.mapError(effect, (error) => error._tag === "GitError" ? exitOf(error) : error)

const err = (text: string) => Effect.flatMap(Terminal, (terminal) => terminal.err(text))

const words = (stderr: string): string => GitText.said(stderr).map((each) => `${each}\n`).join("")

/** @since 0.1.0 @category combinators */
export const branch = Effect.fn("Cli.git.branch")(function*(values: Spec.Values<typeof Spec.gitBranch>) {
  const git = yield* Git
  const [name] = values.args
  if (name !== undefined) yield* err(words(yield* told(git.createBranch(name))))
  if (name === undefined || values.json) {
    const branches = yield* told(git.branches)
    if (values.json) yield* printJson({ v: 1, created: name ?? null, ...branches } satisfies GitBranch)
    else yield* print(GitText.branchesText(branches, yield* stdoutStyle))
  }
  return ExitCode.done
})

/** @since 0.1.0 @category combinators */
export const worktree = Effect.fn("Cli.git.worktree")(function*(values: Spec.Values<typeof Spec.gitWorktree>) {
  const git = yield* Git
  const action = GitWords.worktreeAction(values.args)
  if (action.kind === "wrong") return yield* usage(action.why)
  const added = action.kind === "add" ? yield* told(git.addWorktree(action.name)) : null
  const removed = action.kind === "remove" ? yield* told(git.removeWorktree(action.name)) : null
  if (added !== null) yield* err(words(added.stderr))
  if (values.json) {
    yield* printJson(
      {
        v: 1,
        added: added?.path ?? null,
        removed: removed?.path ?? null,
        worktrees: yield* told(git.worktrees)
      } satisfies GitWorktree
    )
  } else if (action.kind === "list") yield* print(GitText.worktreesText(yield* told(git.worktrees)))
  else if (added !== null) yield* print(`${GitText.name(added.path)}\n`)
  else if (removed !== null) {
    yield* err(
      `removed ${GitText.name(removed.path)}${
        removed.branch === null ? "" : `; the branch ${GitText.name(removed.branch)} stays`
      }\n`
    )
  }
  return ExitCode.done
})

/** @since 0.1.0 @category combinators */
export const diff = Effect.fn("Cli.git.diff")(function*(values: Spec.Values<typeof Spec.gitDiff>) {
  const git = yield* Git
  const { stdout_is_tty } = yield* Environment
  const found = yield* told(git.diff)
  if (values.json) yield* printJson({ v: 1, ...found } satisfies GitDiff)
  else {
    yield* print(stdout_is_tty ? GitText.diffText(found, yield* stdoutStyle) : found.text)
    yield* err(GitText.untrackedText(found))
  }
  return ExitCode.done
})

/** @since 0.1.0 @category combinators */
export const stash = Effect.fn("Cli.git.stash")(function*(values: Spec.Values<typeof Spec.gitStash>) {
  const git = yield* Git
  const action = GitWords.stashAction(values.args[0] ?? "")
  if (action === null) return yield* usage("git stash takes push, list or pop")
  const stashed = action === "push" ? yield* told(git.stash) : null
  const popped = action === "pop" ? yield* told(git.popStash) : null
  if (values.json) {
    yield* printJson({ v: 1, stashed, popped, stashes: yield* told(git.stashes) } satisfies GitStash)
  } else if (action === "list") yield* print(GitText.stashesText(yield* told(git.stashes)))
  else if (stashed !== null) yield* err(GitText.stashedText(stashed))
  else if (popped !== null) yield* err(`brought back: ${neutralise(popped.message)}\n`)
  return ExitCode.done
})

type CommitValues = Spec.Values<typeof Spec.gitCommit>

const deskOf = (values: CommitValues, author: GitMessage.Author | null) =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    const environment = yield* Environment
    const desk: GitMessage.Desk = {
      style: yield* stderrStyle,
      show: terminal.err,
      ask: environment.stdin_is_tty && environment.stdout_is_tty && !values.json
        ? (prompt) => terminal.readLine(prompt, { fresh: true })
        : null,
      author
    }
    return desk
  })

const wishOf = (values: CommitValues, doing: string): GitMessage.Wish => ({
  message: values.message,
  any_form: values["any-form"],
  yes: values.yes,
  doing
})

/** What is said of a commit in JSON, however it ended. */
const document = (
  prepared: Prepared,
  proposal: GitMessage.Proposal | null,
  committed: Committed | null,
  error: GitError | null
): Omit<GitCommit, "v" | "status"> => ({
  message: proposal?.message ?? null,
  source: proposal?.source ?? null,
  model_problem: proposal?.model_problem ?? null,
  files: prepared.files.map(({ from, path, staged }) => ({ path, from, status: staged })),
  untracked: prepared.untracked,
  secrets: prepared.secrets,
  commit: committed === null ? null : {
    id: committed.id,
    short: committed.short,
    subject: committed.subject,
    branch: committed.branch,
    changed_by_hook: committed.changed_by_hook,
    left: committed.left
  },
  error: error === null ? null : { reason: error.reason, message: error.message, stderr: error.stderr }
})

const needsYes = new CliExit({
  exit_code: ExitCode.no_prompter,
  lines: ["nothing was done: nobody can be asked; --yes does it without asking"]
})

const cancelled = new CliExit({ exit_code: ExitCode.failed, lines: [] })

/** @since 0.1.0 @category combinators */
export const commit = Effect.fn("Cli.git.commit")(function*(values: CommitValues, author: GitMessage.Author | null) {
  const git = yield* Git
  const desk = yield* deskOf(values, author)
  const json = (status: GitCommit["status"], rest: Omit<GitCommit, "v" | "status">) =>
    values.json ? printJson({ v: 1, status, ...rest } satisfies GitCommit) : Effect.void
  return yield* told(Effect.gen(function*() {
    const prepared = yield* git.prepare
    if (GitMessage.isEmpty(prepared)) {
      yield* json("nothing", document(prepared, null, null, null))
      return yield* new CliExit({ exit_code: ExitCode.failed, lines: [GitMessage.nothingText(prepared)] })
    }
    const { kind, proposal } = yield* GitMessage.decide(desk, prepared, wishOf(values, "commit this"))
    if (kind !== "commit") {
      yield* json(kind, document(prepared, proposal, null, null))
      if (kind === "proposed" && !values.json) yield* print(`${neutralise(proposal.message)}\n`)
      return yield* kind === "proposed" ? needsYes : cancelled
    }
    const committed = yield* Effect.tapError(
      git.commit(prepared, proposal.message),
      (error) => json("failed", document(prepared, proposal, null, error))
    )
    if (values.json) yield* json("committed", document(prepared, proposal, committed, null))
    else {
      yield* print(GitText.committedText({ ...committed, stderr: "" }, yield* stdoutStyle))
      yield* err(words(committed.stderr))
    }
    return ExitCode.done
  }))
})

type PublishValues = Spec.Values<typeof Spec.gitCommitPushPr>

const publishWish = (values: PublishValues): GitPublish.PublishWish => ({
  draft: values.draft,
  ...(values.title === undefined ? {} : { title: values.title }),
  ...(values.body === undefined ? {} : { body: values.body }),
  ...(values.base === undefined ? {} : { base: values.base })
})

/** @since 0.1.0 @category combinators */
export const commitPushPr = Effect.fn("Cli.git.commitPushPr")(function*(
  values: PublishValues,
  author: GitMessage.Author | null
) {
  const git = yield* Git
  const desk = yield* deskOf(values, author)
  return yield* told(Effect.gen(function*() {
    // before anything is committed: can it go anywhere at all?
    const to = yield* git.destination
    const prepared = yield* GitPublish.withOutgoing(yield* git.prepare, to)
    const empty = GitMessage.isEmpty(prepared)
    const json = (
      status: GitCommitPushPr["status"],
      proposal: GitMessage.Proposal | null,
      committed: Committed | null,
      error: GitError | null,
      { pull_request, pushed }: Partial<GitPublish.Published> = {}
    ) =>
      values.json
        ? printJson(
          {
            v: 1,
            status,
            ...document(prepared, proposal, committed, error),
            branch: to.branch,
            base: values.base ?? to.base,
            remote: to.address,
            pushed: pushed !== undefined && pushed !== null,
            pull_request: pull_request?.url ?? null,
            without: pull_request?.without ?? null,
            compare: pull_request?.compare ?? null
          } satisfies GitCommitPushPr
        )
        : Effect.void
    let proposal: GitMessage.Proposal | null = null
    let committed: Committed | null = null
    // what is pushed cannot be taken back
    const refuseSecrets = Effect.gen(function*() {
      if (!values.yes || prepared.secrets.length === 0 || values["allow-secrets"]) return
      const error = fail(
        "secrets",
        "nothing was done: this would publish what looks like secrets; --allow-secrets does it all the same"
      )
      yield* json("failed", null, null, error)
      yield* err(GitText.secretsText(prepared.secrets, desk.style))
      return yield* error
    })
    if (empty) {
      const { commits } = yield* git.unpublished(to)
      if (commits.length === 0) {
        yield* json("nothing", null, null, null)
        return yield* new CliExit({
          exit_code: ExitCode.failed,
          lines: [`${GitMessage.nothingText(prepared)}, and ${GitText.name(to.branch)} has no commit of its own`]
        })
      }
      yield* desk.show(
        `there is nothing to commit; ${commits.length} commit${commits.length === 1 ? "" : "s"} of ${
          GitText.name(to.branch)
        } to publish\n`
      )
      yield* refuseSecrets
      yield* desk.show(GitText.secretsText(prepared.secrets, desk.style))
      const answer = values.yes ? "yes" : yield* GitPublish.confirm(desk, to)
      if (answer !== "yes") {
        yield* json(answer === "no" ? "cancelled" : "proposed", null, null, null)
        return yield* answer === "no" ? cancelled : needsYes
      }
    } else {
      yield* refuseSecrets
      const decision = yield* GitMessage.decide(
        desk,
        prepared,
        wishOf(values, `commit this, push it to origin/${GitText.name(to.branch)} and open a pull request`)
      )
      proposal = decision.proposal
      if (decision.kind !== "commit") {
        yield* json(decision.kind, proposal, null, null)
        if (decision.kind === "proposed" && !values.json) yield* print(`${neutralise(proposal.message)}\n`)
        return yield* decision.kind === "proposed" ? needsYes : cancelled
      }
      committed = yield* Effect.tapError(
        git.commit(prepared, proposal.message),
        (error) => json("failed", decision.proposal, null, error)
      )
      yield* desk.show(GitText.committedText(committed, desk.style))
    }
    const published = yield* GitPublish.publish(desk, to, publishWish(values))
    const { error, pull_request, pushed } = published
    if (error !== null) {
      yield* json("failed", proposal, committed, error, published)
      return yield* exitOf(error, GitPublish.doneText(committed, pushed !== null, to))
    }
    if (pull_request !== null) {
      const { compare, opened, url } = pull_request
      yield* json(pull_request.without !== null ? "pushed" : opened ? "opened" : "exists", proposal, committed, null, {
        pull_request,
        pushed
      })
      yield* desk.show(GitText.pullRequestText(pull_request))
      const address = url ?? compare
      // for scripts: a person has it on stderr already
      if (!values.json && address !== null && !(yield* Environment).stdout_is_tty) {
        yield* print(`${neutralise(address)}\n`)
      }
    }
    return ExitCode.done
  }))
})
