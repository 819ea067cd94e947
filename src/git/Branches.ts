/**
 * Branches and worktrees (reading 12, `/branch`, `/worktree`). Nothing that is made here follows another branch: a later
 * push goes to its own.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { fail, type GitError } from "./GitError.ts"
import * as Names from "./Names.ts"
import { parseWorktrees, type Worktree } from "./Porcelain.ts"
import * as Repository from "./Repository.ts"

/** `at` is in seconds since the epoch. @since 0.1.0 @category models */
export interface Branch {
  readonly name: string
  readonly current: boolean
  readonly commit: string
  readonly subject: string
  readonly at: number
  /** For example `origin/main`. */
  readonly upstream: string | null
  /** Against the upstream, as git says it: `ahead 1, behind 2`, `gone`. */
  readonly track: string
}

/** @since 0.1.0 @category models */
export interface Branches {
  /** Null = HEAD is detached. A branch without a commit is in no list yet. */
  readonly current: string | null
  readonly branches: ReadonlyArray<Branch>
}

const legal = (name: string): Effect.Effect<void, GitError> => {
  const problem = Names.problemOf(name)
  return problem === null
    ? Effect.void
    : fail("bad_name", `${JSON.stringify(name)} is no name for a branch: ${problem}`)
}

const format = [
  "%(refname)",
  "%(HEAD)",
  "%(objectname:short)",
  "%(committerdate:unix)",
  "%(upstream:short)",
  "%(upstream:track,nobracket)",
  "%(contents:subject)"
].join("%00")

/** The latest first. @since 0.1.0 @category constructors */
export const list = (tools: Repository.Tools): Effect.Effect<Branches, GitError> =>
  Effect.gen(function*() {
    const { top } = yield* Repository.find(tools)
    const [current, refs] = yield* Effect.all([
      tools.runner.run({ args: ["symbolic-ref", "--quiet", "HEAD"], cwd: top }),
      tools.runner.must("git for-each-ref", {
        args: ["for-each-ref", "--sort=-committerdate", `--format=${format}`, "refs/heads"],
        cwd: top
      })
    ])
    return {
      current: current.code === 0 ? current.stdout.trim().replace(/^refs\/heads\//u, "") : null,
      branches: refs.stdout.split("\n").filter((line) => line !== "").map((line): Branch => {
        const [name = "", head = "", commit = "", at = "", upstream = "", track = "", subject = ""] = line.split("\0")
        return {
          name: name.replace(/^refs\/heads\//u, ""),
          current: head === "*",
          commit,
          subject,
          at: Number(at),
          upstream: upstream === "" ? null : upstream,
          track
        }
      })
    }
  })

/** Git ends with the code of the hook `post-checkout`, which runs when everything is done. */
const afterHook = (error: GitError): string => `${error.stderr}it is done; the hook post-checkout ended with an error\n`

/** `git checkout -b NAME` from HEAD; what git says of it. @since 0.1.0 @category constructors */
export const create = (tools: Repository.Tools, name: string): Effect.Effect<string, GitError> =>
  Effect.gen(function*() {
    yield* legal(name)
    const { top } = yield* Repository.find(tools)
    if ((yield* Repository.resolve(tools, top, `refs/heads/${name}`)) !== null) {
      return yield* fail("exists", `there is a branch ${name} already; \`git switch ${name}\` goes there`)
    }
    return yield* tools.runner.must("git checkout -b", {
      args: ["checkout", "--no-track", "-b", name],
      cwd: top,
      writes: true
    }).pipe(
      Effect.map(({ stderr }) => stderr),
      Effect.catchAll((error) =>
        Effect.flatMap(
          tools.runner.run({ args: ["symbolic-ref", "--quiet", "HEAD"], cwd: top }),
          ({ stdout }) =>
            error.reason === "refused" && stdout.trim() === `refs/heads/${name}`
              ? Effect.succeed(afterHook(error))
              : error
        )
      )
    )
  })

/** The main one first. @since 0.1.0 @category constructors */
export const worktrees = (tools: Repository.Tools): Effect.Effect<ReadonlyArray<Worktree>, GitError> =>
  Effect.gen(function*() {
    // also a bare repository has worktrees
    const listed = yield* tools.runner.must("git worktree list", {
      args: ["worktree", "list", "--porcelain", "-z"],
      cwd: tools.cwd
    })
    return parseWorktrees(listed.stdout)
  })

/** The main working tree of the repository, whose neighbours its worktrees are. */
const mainOf = ({ common_dir, git_dir, top }: Repository.Repository): string =>
  git_dir === common_dir
    ? top
    : common_dir.endsWith("/.git")
    ? common_dir.slice(0, -"/.git".length)
    : /\/modules\//u.test(common_dir)
    ? top
    : common_dir.replace(/\.git$/u, "")

/** @since 0.1.0 @category models */
export interface Added {
  readonly path: string
  readonly branch: string
  readonly stderr: string
}

/**
 * `git worktree add --no-track -b NAME ../REPOSITORY-NAME`. Fails with `exists` when anything stands at the path.
 *
 * @since 0.1.0
 * @category constructors
 */
export const addWorktree = (tools: Repository.Tools, name: string): Effect.Effect<Added, GitError> =>
  Effect.gen(function*() {
    yield* legal(name)
    const repository = yield* Repository.find(tools)
    const path = Names.directoryOf(mainOf(repository), name)
    if (yield* tools.files.exists(path)) {
      return yield* fail("exists", `${path} is there already; take another name, or remove it first`)
    }
    if ((yield* Repository.resolve(tools, repository.top, `refs/heads/${name}`)) !== null) {
      return yield* fail("exists", `there is a branch ${name} already; \`git worktree add ${path} ${name}\` takes it`)
    }
    const head = yield* Repository.resolve(tools, repository.top, "HEAD")
    if (head === null) {
      return yield* fail("state", "there is no commit yet that a worktree could begin with; commit first")
    }
    const made = Effect.map(worktrees(tools), (all) => all.some((one) => one.branch === name && one.path === path))
    // git makes the branch first and leaves it where no worktree came of it
    const undo = Effect.flatMap(made, (there) =>
      there
        ? Effect.void
        : tools.runner.run({
          args: ["update-ref", "-d", `refs/heads/${name}`, head],
          cwd: repository.top,
          writes: true
        })).pipe(Effect.ignore)
    return yield* tools.runner.must("git worktree add", {
      args: ["worktree", "add", "--no-track", "-b", name, "--", path],
      cwd: repository.top,
      writes: true
    }).pipe(
      Effect.map(({ stderr }) => ({ path, branch: name, stderr })),
      Effect.onInterrupt(() => undo),
      Effect.catchAll((error) =>
        Effect.gen(function*() {
          if (error.reason === "refused" && (yield* made)) return { path, branch: name, stderr: afterHook(error) }
          yield* undo
          return yield* error
        })
      )
    )
  })

/** The worktree that a path leads to, in whatever way it is written; not one that it leads into. */
const at = (
  { cwd, runner }: Repository.Tools,
  all: ReadonlyArray<Worktree>,
  path: string
): Effect.Effect<Worktree | undefined, GitError> =>
  path === ""
    ? Effect.succeed(undefined)
    : Effect.map(
      runner.run({ args: ["-C", path, "rev-parse", "--show-prefix", "--show-toplevel"], cwd }),
      ({ code, stdout }) => code === 0 ? all.find((one) => `\n${one.path}\n` === stdout) : undefined
    )

/**
 * The worktree of this branch or with this path; its branch stays. Git refuses one with changes or untracked files.
 *
 * @since 0.1.0
 * @category combinators
 */
export const removeWorktree = (tools: Repository.Tools, name: string): Effect.Effect<Worktree, GitError> =>
  Effect.gen(function*() {
    const repository = yield* Repository.find(tools)
    const all = yield* worktrees(tools)
    const path = Names.directoryOf(mainOf(repository), name)
    const linked = all.slice(1)
    const found = linked.find((one) => one.branch === name) ??
      linked.find((one) => one.path === name || one.path === path) ?? (yield* at(tools, linked, name))
    if (found === undefined) {
      return yield* fail("missing", `there is no worktree ${JSON.stringify(name)} of this repository`)
    }
    if (found.path === repository.top) {
      return yield* fail("state", `${found.path} is the worktree you are in; go elsewhere to remove it`)
    }
    yield* tools.runner.must("git worktree remove", {
      args: ["worktree", "remove", "--", found.path],
      cwd: repository.top,
      writes: true
    })
    return found
  })
