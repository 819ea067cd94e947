/**
 * A branch to its own place at `origin`, and a pull request for it (reading 12, `/commit-push-pr`).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { fail, type GitError } from "./GitError.ts"
import { parseDefaultBranch, parseFields } from "./Porcelain.ts"
import * as Remotes from "./Remotes.ts"
import * as Repository from "./Repository.ts"

/** @since 0.1.0 @category constants */
export const remote = "origin"

/** Where the branch may go: found out before anything is committed. @since 0.1.0 @category models */
export interface Destination {
  readonly top: string
  readonly branch: string
  /** The default branch of the remote. */
  readonly base: string
  /** The address pushes go to; without user and password. */
  readonly address: string
  /** The commit of the default branch there; null = it did not tell. It need not be known here. */
  readonly tip: string | null
}

/**
 * Fails with `state` on a detached HEAD, in a rebase and on the default branch of the remote, with `no_remote` without
 * `origin` or when that is empty, with `refused` when it does not answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const destination = (tools: Repository.Tools): Effect.Effect<Destination, GitError> =>
  Effect.gen(function*() {
    const repository = yield* Repository.find(tools)
    const { top } = repository
    const progress = yield* Repository.progress(tools, repository)
    if (progress === "rebase" || progress === "am") {
      return yield* fail("state", `a ${progress} is in progress: finish it or leave it first`)
    }
    const { branch } = yield* Repository.status(tools, top)
    if (branch === null) {
      return yield* fail(
        "state",
        "HEAD is detached: there is no branch to push; make one with /branch NAME (`git branch NAME`)"
      )
    }
    const url = yield* tools.runner.run({ args: ["remote", "get-url", "--push", remote], cwd: top })
    if (url.code !== 0) {
      return yield* fail(
        "no_remote",
        `this repository has no remote "${remote}"; \`git remote add ${remote} ADDRESS\` adds it`,
        url.stderr
      )
    }
    const known = yield* tools.runner.run({
      args: ["symbolic-ref", "--quiet", `refs/remotes/${remote}/HEAD`],
      cwd: top
    })
    const onDefault = (base: string): GitError =>
      fail(
        "state",
        `${base} is the default branch of ${remote}, which takes changes by pull request; make a branch with /branch NAME ` +
          `(\`hanzo-dev git branch NAME\`) first`
      )
    if (known.code === 0 && known.stdout.trim() === `refs/remotes/${remote}/${branch}`) return yield* onDefault(branch)
    // what the remote says now counts: the local note of it may be missing or old
    const asked = yield* tools.runner.must(`asking ${remote} for its default branch`, {
      args: ["ls-remote", "--symref", "--", remote, "HEAD"],
      cwd: top,
      network: true
    })
    const base = parseDefaultBranch(asked.stdout)
    if (base === null) {
      return yield* fail(
        "no_remote",
        `${remote} is empty or names no default branch; push its first branch yourself: \`git push -u ${remote} ${branch}\``
      )
    }
    if (base === branch) return yield* onDefault(base)
    const [address = ""] = url.stdout.split("\n")
    return {
      top,
      branch,
      base,
      address: Remotes.withoutUser(address.trim()),
      tip: /^([0-9a-f]{40,64})\tHEAD$/mu.exec(asked.stdout)?.[1] ?? null
    }
  })

/** A commit that the base has not. @since 0.1.0 @category models */
export interface Unpublished {
  /** The latest first; as far as the last fetch of the base knows. */
  readonly commits: ReadonlyArray<{ readonly subject: string; readonly body: string }>
}

/** At most 100. @since 0.1.0 @category constructors */
export const unpublished = (
  tools: Repository.Tools,
  { base, top }: Destination
): Effect.Effect<Unpublished, GitError> =>
  Effect.gen(function*() {
    const known = yield* Repository.resolve(tools, top, `refs/remotes/${remote}/${base}`)
    const listed = yield* tools.runner.run({
      args: [
        "log",
        "-z",
        "--no-show-signature",
        "--format=%s%x00%b",
        ...(known === null ? ["-1"] : ["-100"]),
        "HEAD",
        ...(known === null ? [] : [`^${known}`]),
        "--"
      ],
      cwd: top
    })
    return {
      commits: listed.code !== 0 ? [] : parseFields(listed.stdout, 2).map(([subject = "", body = ""]) => ({
        subject,
        body: body.trim()
      }))
    }
  })

/** @since 0.1.0 @category models */
export interface Pushed {
  readonly up_to_date: boolean
  readonly stderr: string
}

/** `git push -u origin HEAD:refs/heads/BRANCH`, never anywhere else. @since 0.1.0 @category combinators */
export const push = (tools: Repository.Tools, { branch, top }: Destination): Effect.Effect<Pushed, GitError> =>
  Effect.gen(function*() {
    const done = yield* tools.runner.run({
      args: ["push", "--porcelain", "-u", remote, `HEAD:refs/heads/${branch}`],
      cwd: top,
      network: true,
      writes: true
    })
    if (done.code === 0) return { up_to_date: /^=\t/mu.test(done.stdout), stderr: done.stderr }
    const why = /^!\t[^\t]*\t\[([^\]]+)\](?: \(([^)]*)\))?/mu.exec(done.stdout)
    const reason = why?.[2] ?? ""
    const hint = /fetch first|non-fast-forward|stale info/u.test(reason)
      ? `: ${remote}/${branch} has commits that this branch has not (${reason}); \`git pull --rebase ${remote} ${branch}\`, then push again`
      : why === null
      ? ` (exit code ${done.code})`
      : `: ${remote} refused it${reason === "" ? "" : ` (${reason})`}`
    return yield* fail("refused", `push failed${hint}`, done.stderr)
  })

/** `opened` false = there was one already, or none could be made; then `compare` is where a person makes it. @since 0.1.0 @category models */
export interface PullRequest {
  readonly url: string | null
  readonly opened: boolean
  /** Why there is no pull request: no `gh`, not signed in, another kind of host; null = there is one. */
  readonly without: string | null
  readonly compare: string | null
}

/** @since 0.1.0 @category models */
export interface PullRequestInput {
  readonly title: string
  readonly body: string
  readonly draft: boolean
  /** Absent = the default branch. */
  readonly base?: string
}

/**
 * A pull request by `gh`, or where a person can make one. Fails with `refused` when `gh` is signed in and cannot make it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const pullRequest = (
  tools: Repository.Tools,
  to: Destination,
  input: PullRequestInput
): Effect.Effect<PullRequest, GitError> =>
  Effect.gen(function*() {
    const { branch, top } = to
    const compare = Remotes.compareAddress(to.address, branch, input.base ?? to.base)
    const none = (without: string): PullRequest => ({ url: null, opened: false, without, compare })
    const site = Remotes.websiteOf(to.address)
    if (site !== null && (site.kind === "gitlab" || site.kind === "bitbucket")) {
      return none(`gh makes no pull requests at ${site.host}`)
    }
    const gh = (args: ReadonlyArray<string>, stdin?: string) =>
      tools.runner.run({
        program: "gh",
        args,
        cwd: top,
        network: true,
        ...(stdin === undefined ? {} : { stdin: new TextEncoder().encode(stdin) })
      })
    const signedIn = yield* gh(["auth", "status", ...(site === null ? [] : ["--hostname", site.host])]).pipe(
      Effect.catchAll((error) => error.reason === "no_git" ? Effect.succeed(null) : Effect.fail(error))
    )
    if (signedIn === null) return none("there is no gh on PATH")
    if (signedIn.code !== 0) return none("gh is not signed in; `gh auth login` does that")
    const fields = "url,headRepositoryOwner"
    const listed = yield* gh(["pr", "list", `--head=${branch}`, "--state=open", `--json=${fields}`, "--limit=100"])
    const existing = listed.code === 0 ? Remotes.ownPullRequest(listed.stdout, to.address) : null
    if (existing !== null) return { url: existing, opened: false, without: null, compare }
    const made = yield* gh([
      "pr",
      "create",
      `--head=${branch}`,
      `--base=${input.base ?? to.base}`,
      `--title=${input.title}`,
      "--body-file=-",
      ...(input.draft ? ["--draft"] : [])
    ], input.body)
    const url = Remotes.pullRequestIn(made.stdout) ?? Remotes.pullRequestIn(made.stderr)
    if (made.code === 0) return { url, opened: true, without: null, compare }
    if (url !== null && /already exists/u.test(made.stderr)) return { url, opened: false, without: null, compare }
    return yield* fail(
      "refused",
      `gh pr create failed (exit code ${made.code})${compare === null ? "" : `; by hand: ${compare}`}`,
      made.stderr
    )
  })
