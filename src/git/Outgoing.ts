/**
 * What a push would make public beside the commit that is being made: lines of commits that `origin` has not yet, also
 * lines that a later one has taken out again.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { mostBytes, plainDiff } from "./Commits.ts"
import type { GitError } from "./GitError.ts"
import * as LikelySecrets from "./LikelySecrets.ts"
import { parseNames } from "./Porcelain.ts"
import { type Destination, remote } from "./Publish.ts"
import * as Repository from "./Repository.ts"

/** Commits that are looked at, the latest first. */
const mostCommits = 1000

/** A diff of each commit behind its short id; NUL stands in no text that git takes for one. */
const commitsOf = (log: string): ReadonlyArray<{ readonly commit: string; readonly diff: string }> => {
  const found: Array<{ commit: string; diff: string }> = []
  for (const part of log.split("\0")) {
    const [, commit, diff = ""] = /^([0-9a-f]{4,64})(?:\n([^]*))?$/u.exec(part) ?? []
    const last = found.at(-1)
    if (commit !== undefined) found.push({ commit, diff })
    else if (last !== undefined) last.diff += part
  }
  return found
}

/**
 * What looks like a secret in the commits of the branch that no known branch of `origin` has. At most 50 findings.
 *
 * @since 0.1.0
 * @category constructors
 */
export const secrets = (
  tools: Repository.Tools,
  { tip, top }: Destination
): Effect.Effect<ReadonlyArray<LikelySecrets.LikelySecret>, GitError> =>
  Effect.gen(function*() {
    const { runner } = tools
    if ((yield* Repository.resolve(tools, top, "HEAD")) === null) return []
    // what is out already cannot be kept back; without a fetch only the remote's own word says so
    const known = tip === null ? null : yield* Repository.resolve(tools, top, `${tip}^{commit}`)
    const log = ["-c", "log.showRoot=true", "log", "--no-show-signature", "-c", ...plainDiff]
    const range = [
      `--max-count=${mostCommits}`,
      "HEAD",
      "--not",
      `--remotes=${remote}`,
      ...(known === null ? [] : [known]),
      "--"
    ]
    const [lines, names] = yield* Effect.all([
      runner.must("git log -p", {
        args: [...log, "-p", "--format=%x00%h", ...range],
        cwd: top,
        max_bytes: mostBytes
      }),
      runner.must("git log --name-only", {
        args: [...log, "-z", "--name-only", "--diff-filter=ARC", "--format=", ...range],
        cwd: top,
        max_bytes: mostBytes
      })
    ])
    const commits = commitsOf(lines.stdout)
    const cut = lines.truncated || names.truncated || commits.length >= mostCommits
    return [
      ...LikelySecrets.inNames([...new Set(parseNames(names.stdout))]),
      ...commits.flatMap(({ commit, diff }, index) =>
        LikelySecrets.inDiff(diff, { cut: cut && index === commits.length - 1 }).map((one) => ({
          ...one,
          what: `${one.what} (in commit ${commit})`
        }))
      )
    ].slice(0, 50)
  })
