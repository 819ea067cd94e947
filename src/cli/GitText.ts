/**
 * What git commands show to people. Pure; every name and every word of git is safe for a terminal afterwards.
 *
 * @since 0.1.0
 */
import { line, neutralise } from "../codec/TerminalText.ts"
import type { Branches } from "../git/Branches.ts"
import type { Diff, Stash, Stashed } from "../git/Changes.ts"
import type { Committed, Prepared } from "../git/Commits.ts"
import type { GitError } from "../git/GitError.ts"
import type { LikelySecret } from "../git/LikelySecrets.ts"
import type { Worktree } from "../git/Porcelain.ts"
import type { Destination, PullRequest, Pushed } from "../git/Publish.ts"
import { columns } from "./Output.ts"
import { moment } from "./SessionText.ts"
import type { Style } from "./Style.ts"

/** A name as it is, in quotes when a line would change it. @since 0.1.0 @category encoding */
export const name = (text: string): string => {
  const safe = line(text, 300)
  return safe === text ? text : neutralise(JSON.stringify(text))
}

const most = 100

const listed = (all: ReadonlyArray<string>): string =>
  all.slice(0, most).map((text) => `  ${text}\n`).join("") +
  (all.length > most ? `  and ${all.length - most} more\n` : "")

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`

const secretText = ({ line: row, path, what }: LikelySecret): string =>
  `${name(path)}${row === null ? "" : `:${row}`}: ${line(what, 200)}`

/** Lines that look like secrets, with their places. @since 0.1.0 @category encoding */
export const secretsText = (secrets: ReadonlyArray<LikelySecret>, style: Style): string =>
  secrets.length === 0
    ? ""
    : `${style.yellow("warning:")} this looks like secrets:\n${listed(secrets.map(secretText))}`

/** The last of what a program has said. @since 0.1.0 @category encoding */
export const said = (stderr: string): ReadonlyArray<string> => {
  const lines = neutralise(stderr).split("\n").map((each) => each.trimEnd()).filter((each) => each !== "")
  return lines.length <= 200 ? lines : [`(${lines.length - 200} lines before this are left out)`, ...lines.slice(-200)]
}

/** The error, then git's own words. @since 0.1.0 @category encoding */
export const errorLines = (error: GitError): ReadonlyArray<string> => [error.message, ...said(error.stderr)]

/** Files of the commit that is proposed, and what stays out of it. @since 0.1.0 @category encoding */
export const preparedText = (prepared: Prepared, style: Style): string => {
  const { branch, files, partly, progress, secrets, untracked } = prepared
  const whole = new Set(partly)
  const where = branch === null ? "on a detached HEAD" : `on ${name(branch)}`
  return [
    style.bold(
      `${count(files.length, "file")} to commit ${where}${progress === null ? "" : `, which ends the ${progress}`}`
    ),
    "\n",
    listed(
      files.map(({ from, path, staged }) =>
        `${staged} ${from === null ? name(path) : `${name(from)} -> ${name(path)}`}${
          whole.has(path) ? " (was staged in part; all of it goes in)" : ""
        }`
      )
    ),
    untracked.length === 0 ? "" : style.dim(`not included, because untracked:\n${listed(untracked.map(name))}`),
    secretsText(secrets, style)
  ].join("")
}

/** @since 0.1.0 @category encoding */
export const messageText = (message: string): string =>
  `\n${neutralise(message).split("\n").map((each) => `    ${each}`.trimEnd()).join("\n")}\n\n`

/** @since 0.1.0 @category encoding */
export const committedText = (done: Committed, style: Style): string =>
  [
    ...said(done.stderr).map((each) => style.dim(`  ${each}`)),
    `committed ${style.bold(done.short)} ${done.branch === null ? "on a detached HEAD" : `on ${name(done.branch)}`}: ${
      line(done.subject, 200)
    }`,
    ...(done.changed_by_hook ? [`${style.yellow("note:")} a hook has changed what was committed`] : []),
    ...(done.left.length === 0
      ? []
      : [`${style.yellow("note:")} not in it, changed meanwhile: ${done.left.slice(0, 10).map(name).join(", ")}`]),
    ""
  ].join("\n")

/** @since 0.1.0 @category encoding */
export const pushedText = ({ address, branch }: Destination, pushed: Pushed): string =>
  pushed.up_to_date
    ? `${name(branch)} was at origin already (${line(address, 300)})\n`
    : `pushed ${name(branch)} to origin (${line(address, 300)})\n`

/** @since 0.1.0 @category encoding */
export const pullRequestText = ({ compare, opened, url, without }: PullRequest): string =>
  without !== null
    ? `no pull request: ${line(without, 300)}\n${compare === null ? "" : `open it yourself: ${line(compare, 1000)}\n`}`
    : `${opened ? "pull request" : "there is a pull request already"}: ${line(url ?? "gh told no address", 1000)}\n`

/** @since 0.1.0 @category encoding */
export const branchesText = ({ branches, current }: Branches, style: Style): string =>
  (current === null ? style.dim("HEAD is detached\n") : "") + (branches.length === 0
    ? current === null ? "" : `${name(current)} has no commit yet\n`
    : columns(branches.map((branch) => [
      `${branch.current ? "*" : " "} ${name(branch.name)}`,
      branch.commit,
      moment(branch.at),
      branch.upstream === null
        ? "-"
        : `${name(branch.upstream)}${branch.track === "" ? "" : ` (${line(branch.track, 60)})`}`,
      line(branch.subject, 60)
    ])))

/** @since 0.1.0 @category encoding */
export const worktreesText = (worktrees: ReadonlyArray<Worktree>): string =>
  columns(worktrees.map((one) => [
    name(one.path),
    one.bare ? "(bare)" : one.branch === null ? "(detached)" : name(one.branch),
    one.head === null ? "-" : one.head.slice(0, 7),
    one.prunable !== null ? "gone; git worktree prune forgets it" : one.locked !== null ? "locked" : ""
  ]))

/** @since 0.1.0 @category encoding */
export const stashesText = (stashes: ReadonlyArray<Stash>): string =>
  stashes.length === 0
    ? "there is no stash\n"
    : columns(stashes.map(({ at, index, message }) => [`stash@{${index}}`, moment(at), line(message, 100)]))

/** @since 0.1.0 @category encoding */
export const stashedText = ({ files, message, untracked }: Stashed): string =>
  `stashed ${count(files.length, "file")} as "${
    line(message, 100)
  }"; /stash pop, or git stash pop, brings them back\n` +
  (untracked.length === 0 ? "" : `untracked files stay where they are (${untracked.length})\n`)

/** @since 0.1.0 @category encoding */
export const untrackedText = ({ untracked }: Diff): string =>
  untracked.length === 0 ? "" : `untracked, not shown:\n${listed(untracked.map(name))}`

/** A diff in colours. @since 0.1.0 @category encoding */
export const diffText = ({ text }: Diff, style: Style): string =>
  neutralise(text).split("\n").map((each) =>
    /^(?:diff --git |index |(?:---|\+\+\+) )/u.test(each)
      ? style.bold(each)
      : each.startsWith("@@")
      ? style.cyan(each)
      : each.startsWith("+")
      ? style.green(each)
      : each.startsWith("-")
      ? style.red(each)
      : each
  ).join("\n")
