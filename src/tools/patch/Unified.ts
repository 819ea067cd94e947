/**
 * Unified diffs: those of `diff -u` (POSIX, diff utility, unified format) and of git, with its extended headers for new,
 * deleted, renamed and copied files and modes.
 *
 * @since 0.1.0
 */
import { type FileChange, type Hunk, type HunkLine, type Patch, PatchSyntax, quoteLine } from "./Patch.ts"

const range = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/u

const escapes: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, "\"": 34, "\\": 92 }

/** A path in git's C-style quotes, and where the text after it begins. */
const unquote = (text: string): { readonly path: string; readonly end: number } | undefined => {
  const bytes: Array<number> = []
  for (let i = 1; i < text.length; i++) {
    const char = text.charAt(i)
    if (char === "\"") return { path: new TextDecoder().decode(new Uint8Array(bytes)), end: i + 1 }
    if (char !== "\\") {
      const point = text.codePointAt(i) ?? 0
      bytes.push(...new TextEncoder().encode(String.fromCodePoint(point)))
      if (point > 0xffff) i++
      continue
    }
    const octal = /^[0-7]{1,3}/u.exec(text.slice(i + 1))
    if (octal !== null) {
      bytes.push(Number.parseInt(octal[0], 8) & 0xff)
      i += octal[0].length
    } else {
      const code = escapes[text.charAt(i + 1)]
      if (code === undefined) return undefined
      bytes.push(code)
      i++
    }
  }
  return undefined
}

/** The path of a `---` or `+++` line; null = /dev/null. */
const headerPath = (rest: string): string | null => {
  if (rest.startsWith("\"")) return unquote(rest)?.path ?? rest
  const tab = rest.indexOf("\t")
  const path = (tab === -1 ? rest : rest.slice(0, tab)).trimEnd()
  return path === "/dev/null" ? null : path
}

/** Both paths of `diff --git A B`, when they can be told apart. */
const gitPaths = (rest: string): readonly [string, string] | undefined => {
  if (rest.startsWith("\"")) {
    const first = unquote(rest)
    if (first === undefined) return undefined
    const second = rest.slice(first.end).trimStart()
    return [first.path, second.startsWith("\"") ? unquote(second)?.path ?? second : second]
  }
  const quoted = rest.indexOf(" \"")
  if (quoted !== -1 && rest.endsWith("\"")) {
    const second = unquote(rest.slice(quoted + 1))
    if (second !== undefined) return [rest.slice(0, quoted), second.path]
  }
  // Without a rename both names are the same but for the prefix, so they have the same length.
  const middle = (rest.length - 1) / 2
  return Number.isInteger(middle) && rest[middle] === " " ? [rest.slice(0, middle), rest.slice(middle + 1)] : undefined
}

const prefixes: ReadonlySet<string> = new Set(["ab", "iw", "ci", "cw", "ow", "oi", "wi", "ic", "wc", "wo"])

/** Takes git's `a/` and `b/` (or `i/`, `w/`, ...) away, when both sides have them. */
const strip = (from: string | null, to: string | null): readonly [string | null, string | null] => {
  const letter = (path: string | null): string | undefined => path === null ? "" : /^([a-z])\//u.exec(path)?.[1]
  const [left, right] = [letter(from), letter(to)]
  if (left === undefined || right === undefined) return [from, to]
  const pair = left === "" ? [...prefixes].some((p) => p[1] === right) : right === ""
    ? [...prefixes].some((p) => p[0] === left)
    : prefixes.has(left + right)
  return pair ? [from?.slice(2) ?? null, to?.slice(2) ?? null] : [from, to]
}

const modeOf = (text: string, line: number): number => {
  const mode = Number.parseInt(text, 8)
  const type = mode >> 12
  if (type === 0o12) throw new PatchSyntax(line, "symbolic links cannot be made by a patch; use bash with ln -s")
  if (type !== 0o10) throw new PatchSyntax(line, `mode ${text} is not that of a regular file`)
  return mode & 0o777
}

/** Throws PatchSyntax. @since 0.1.0 @category decoding */
export const parseUnified = (all: ReadonlyArray<string>): Patch => {
  const changes: Array<FileChange> = []
  const notes: Array<string> = []
  let at = 0
  const line = (i = at): string => all[i] ?? ""
  const bare = (i = at): string => line(i).replace(/\r$/u, "")
  const atFile = (i = at): boolean =>
    line(i).startsWith("diff --git ") || (line(i).startsWith("--- ") && line(i + 1).startsWith("+++ "))

  const hunkLine = (text: string, next: string): HunkLine | undefined => {
    const op = text[0]
    const no_newline = next.startsWith("\\")
    if (op === " " || op === "-" || op === "+") return { op, text: text.slice(1), no_newline }
    return text === "" || text === "\r" ? { op: " ", text, no_newline } : undefined
  }

  /** The body as the header's counts have it; undefined when they do not fit what follows. */
  const counted = (old_count: number, new_count: number): ReadonlyArray<HunkLine> | undefined => {
    const lines: Array<HunkLine> = []
    let [old_left, new_left, i] = [old_count, new_count, at]
    while (old_left > 0 || new_left > 0) {
      if (i >= all.length) return undefined
      const one = hunkLine(line(i), line(i + 1))
      if (one === undefined) return undefined
      if (one.op !== "+") old_left--
      if (one.op !== "-") new_left--
      if (old_left < 0 || new_left < 0) return undefined
      lines.push(one)
      i += one.no_newline ? 2 : 1
    }
    let after = i
    while (after < all.length && bare(after) === "") after++
    // What may follow a complete hunk; anything else means that the counts were wrong.
    const fits = after >= all.length || atFile(after) || bare(after) === "-- " || !/^[-+ ]/u.test(line(after))
    if (!fits) return undefined
    at = i
    return lines
  }

  /** The body up to the next header. */
  const delimited = (): ReadonlyArray<HunkLine> => {
    const lines: Array<HunkLine> = []
    let blank = 0
    while (at < all.length && !line().startsWith("@@") && !atFile()) {
      if (line().startsWith("\\")) {
        at++
        continue
      }
      const one = hunkLine(line(), line(at + 1))
      if (one === undefined) break
      blank = line() === "" ? blank + 1 : 0
      lines.push(one)
      at++
    }
    return lines.slice(0, lines.length - blank)
  }

  const hunks = (path: string): ReadonlyArray<Hunk> => {
    const found: Array<Hunk> = []
    while (at < all.length && line().startsWith("@@")) {
      const patch_line = at + 1
      const head = range.exec(line())
      at++
      const [start, old_count, new_count] = head === null
        ? [null, 0, 0]
        : [Number(head[1]), Number(head[2] ?? 1), Number(head[4] ?? 1)]
      let lines = head === null ? undefined : counted(old_count, new_count)
      if (lines === undefined) {
        lines = delimited()
        notes.push(
          head === null
            ? `${path}: hunk at line ${patch_line} of the patch has no line numbers; its place was found by its content`
            : `${path}: the counts in the hunk header at line ${patch_line} of the patch were wrong; its lines were taken as they stand`
        )
      }
      if (!lines.some((one) => one.op !== " ")) {
        throw new PatchSyntax(patch_line, `the hunk in ${path} has no line that begins with - or +`)
      }
      found.push({ patch_line, anchors: [], old_start: start, at_end: false, lines })
      while (at < all.length && bare() === "" && !atFile() && all.slice(at).every((l) => l.trim() === "")) at++
    }
    return found
  }

  while (at < all.length) {
    if (!atFile()) {
      if (line().startsWith("@@ -")) {
        throw new PatchSyntax(at + 1, "a hunk without a file: the lines --- OLD and +++ NEW must stand before it")
      }
      at++
      continue
    }
    const patch_line = at + 1
    let git: readonly [string, string] | undefined
    let [from, to]: readonly [string | null | undefined, string | null | undefined] = [undefined, undefined]
    let [renamed_from, renamed_to]: readonly [string | undefined, string | undefined] = [undefined, undefined]
    let [created, deleted, copy] = [false, false, false]
    let mode: number | undefined
    if (line().startsWith("diff --git ")) {
      git = gitPaths(bare().slice("diff --git ".length))
      const word = (name: string): string | undefined =>
        bare().startsWith(`${name} `) ? bare().slice(name.length + 1) : undefined
      const name = (text: string): string => text.startsWith("\"") ? unquote(text)?.path ?? text : text
      for (at++; at < all.length && !line().startsWith("diff --git ") && !line().startsWith("--- "); at++) {
        if (line().startsWith("@@")) break
        const [new_mode, deleted_mode] = [word("new file mode"), word("deleted file mode")]
        const changed_mode = word("new mode")
        const [rename_from, rename_to] = [word("rename from"), word("rename to")]
        const [copy_from, copy_to] = [word("copy from"), word("copy to")]
        if (new_mode !== undefined) {
          created = true
          mode = modeOf(new_mode, at + 1)
        } else if (deleted_mode !== undefined) {
          deleted = true
          modeOf(deleted_mode, at + 1)
        } else if (changed_mode !== undefined) mode = modeOf(changed_mode, at + 1)
        else if (rename_from !== undefined || copy_from !== undefined) {
          renamed_from = name(rename_from ?? copy_from ?? "")
        } else if (rename_to !== undefined || copy_to !== undefined) {
          renamed_to = name(rename_to ?? copy_to ?? "")
          copy = copy_to !== undefined
        } else if (line().startsWith("GIT binary patch") || line().startsWith("Binary files ")) {
          throw new PatchSyntax(at + 1, "binary patches cannot be applied; write the file by other means")
        } else if (!/^(?:old mode|similarity index|dissimilarity index|index) /u.test(line())) break
      }
    }
    if (line().startsWith("--- ") && line(at + 1).startsWith("+++ ")) {
      from = headerPath(bare().slice(4))
      to = headerPath(bare(at + 1).slice(4))
      at += 2
    }
    const [old_path, new_path] = from !== undefined && to !== undefined
      ? strip(from, to)
      : git === undefined
      ? [undefined, undefined]
      : strip(git[0], git[1])
    if (old_path === null) created = true
    if (new_path === null) deleted = true
    const path = renamed_from ?? (deleted ? old_path : new_path)
    if (path === undefined || path === null || path === "" || (created && deleted)) {
      throw new PatchSyntax(patch_line, `the file's name cannot be told from ${quoteLine(line(patch_line - 1))}`)
    }
    const body = hunks(path)
    if (deleted) changes.push({ kind: "delete", patch_line, path, hunks: body })
    else if (created) {
      const lines = body.flatMap((hunk) => hunk.lines)
      const other = lines.find((one) => one.op !== "+")
      if (other !== undefined) {
        throw new PatchSyntax(patch_line, `the new file ${path} has lines that are not added: ${quoteLine(other.text)}`)
      }
      const content = lines.map((one) => one.no_newline ? one.text : `${one.text}\n`).join("")
      changes.push({ kind: "add", patch_line, path, content, ...(mode === undefined ? {} : { mode }) })
    } else {
      if (body.length === 0 && renamed_to === undefined && mode === undefined) {
        throw new PatchSyntax(patch_line, `${path} has no hunk`)
      }
      changes.push({
        kind: "update",
        patch_line,
        path,
        copy,
        hunks: body,
        ...(renamed_to === undefined ? {} : { move_to: renamed_to }),
        ...(mode === undefined ? {} : { mode })
      })
    }
  }
  if (changes.length === 0) throw new PatchSyntax(1, "no file header was found")
  return { format: "unified", changes, notes }
}
