/**
 * What git says for programs, read apart: records end with NUL, so that no name of a file can be taken for something else.
 * Pure.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 @category models */
export interface ChangedFile {
  readonly path: string
  /** The path it was renamed or copied from. */
  readonly from: string | null
  /** One letter of git-status(1) for the index against HEAD, `.` = the same. */
  readonly staged: string
  /** The same for the working tree against the index. */
  readonly unstaged: string
}

/** @since 0.1.0 @category models */
export interface Status {
  /** Null = no commit yet. */
  readonly head: string | null
  /** Null = detached. */
  readonly branch: string | null
  readonly files: ReadonlyArray<ChangedFile>
  readonly unmerged: ReadonlyArray<string>
  /** Folders of untracked files end with `/`. */
  readonly untracked: ReadonlyArray<string>
}

const records = (text: string): ReadonlyArray<string> => {
  const all = text.split("\0")
  if (all.at(-1) === "") all.pop()
  return all
}

/** What stands behind the first `count` fields; a path may hold spaces. */
const after = (record: string, count: number): string => {
  let at = 0
  for (let i = 0; i < count; i++) {
    const next = record.indexOf(" ", at)
    if (next < 0) return ""
    at = next + 1
  }
  return record.slice(at)
}

/** `git status --porcelain=v2 -z --branch`. Records of an unknown kind are passed over. @since 0.1.0 @category decoding */
export const parseStatus = (text: string): Status => {
  let head: string | null = null
  let branch: string | null = null
  const files: Array<ChangedFile> = []
  const unmerged: Array<string> = []
  const untracked: Array<string> = []
  const all = records(text)
  for (let i = 0; i < all.length; i++) {
    const record = all[i] ?? ""
    const [staged = ".", unstaged = "."] = record.slice(2, 4)
    switch (record.slice(0, 2)) {
      case "# ": {
        const name = record.slice(2)
        if (name.startsWith("branch.oid ")) {
          const oid = name.slice(11)
          head = oid === "(initial)" ? null : oid
        } else if (name.startsWith("branch.head ")) {
          const given = name.slice(12)
          branch = given === "(detached)" ? null : given
        }
        break
      }
      case "1 ":
        files.push({ path: after(record, 8), from: null, staged, unstaged })
        break
      case "2 ":
        i++
        files.push({ path: after(record, 9), from: all[i] ?? "", staged, unstaged })
        break
      case "u ":
        unmerged.push(after(record, 10))
        break
      case "? ":
        untracked.push(record.slice(2))
        break
    }
  }
  return { head, branch, files, unmerged, untracked }
}

/** @since 0.1.0 @category models */
export interface Worktree {
  readonly path: string
  /** Null = bare, or nothing is checked out. */
  readonly head: string | null
  /** Without `refs/heads/`; null = detached or bare. */
  readonly branch: string | null
  readonly bare: boolean
  /** Why it must not be removed; null = it is not locked. */
  readonly locked: string | null
  /** Why it is taken for gone; null = it is there. */
  readonly prunable: string | null
}

/** `git worktree list --porcelain -z`; the first one is the main one. @since 0.1.0 @category decoding */
export const parseWorktrees = (text: string): ReadonlyArray<Worktree> => {
  const found: Array<Worktree> = []
  let open: Worktree | null = null
  const close = (): void => {
    if (open !== null) found.push(open)
    open = null
  }
  for (const record of text.split("\0")) {
    if (record === "") {
      close()
      continue
    }
    const space = record.indexOf(" ")
    const name = space < 0 ? record : record.slice(0, space)
    const value = space < 0 ? "" : record.slice(space + 1)
    if (name === "worktree") {
      close()
      open = { path: value, head: null, branch: null, bare: false, locked: null, prunable: null }
      continue
    }
    const now: Worktree | null = open
    if (now === null) continue
    if (name === "HEAD") open = { ...now, head: value }
    else if (name === "branch") open = { ...now, branch: value.replace(/^refs\/heads\//u, "") }
    else if (name === "bare") open = { ...now, bare: true }
    else if (name === "locked") open = { ...now, locked: value }
    else if (name === "prunable") open = { ...now, prunable: value }
  }
  close()
  return found
}

/** Records of `count` fields each, as a format with `%x00` between and `-z` behind gives them. @since 0.1.0 @category decoding */
export const parseFields = (text: string, count: number): ReadonlyArray<ReadonlyArray<string>> => {
  const all = records(text)
  const rows: Array<ReadonlyArray<string>> = []
  for (let i = 0; i + count <= all.length; i += count) rows.push(all.slice(i, i + count))
  return rows
}

/** Names that end with NUL. @since 0.1.0 @category decoding */
export const parseNames = records

/** The branch that `git ls-remote --symref REMOTE HEAD` calls the default one; null = it names none. @since 0.1.0 @category decoding */
export const parseDefaultBranch = (text: string): string | null =>
  /^ref: refs\/heads\/(\S+)\tHEAD$/mu.exec(text)?.[1] ?? null
