/**
 * The `*** Begin Patch` format:
 *
 * ```
 * *** Begin Patch
 * *** Add File: PATH            every line begins with +
 * *** Delete File: PATH
 * *** Update File: PATH
 * *** Move to: PATH             optional
 * @@ ANCHOR                     a line of the file, optional, may repeat
 *  context
 * -removed
 * +added
 * *** End of File               optional
 * *** End Patch
 * ```
 *
 * @since 0.1.0
 */
import { type FileChange, type Hunk, type HunkLine, type Patch, PatchSyntax, quoteLine } from "./Patch.ts"

const header = /^\*\*\* (Add File|Delete File|Update File): *(.*?)\s*$/u
const range = /^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@(.*)$/u

/** Reads the lines between begin and end. Throws PatchSyntax. @since 0.1.0 @category decoding */
export const parseEnvelope = (all: ReadonlyArray<string>): Patch => {
  const begin = all.findIndex((line) => line.trimEnd() === "*** Begin Patch")
  const end = all.findLastIndex((line) => line.trimEnd() === "*** End Patch")
  if (end < begin) {
    throw new PatchSyntax(all.length, "*** End Patch is missing: the patch seems to be cut off. Send it whole.")
  }
  const before = all.slice(0, begin).findIndex((line) => line.trim() !== "" && !/^(?:```|.*<<)/u.test(line.trim()))
  if (before !== -1) throw new PatchSyntax(before + 1, `text before *** Begin Patch: ${quoteLine(all[before] ?? "")}`)

  const changes: Array<FileChange> = []
  let at = begin + 1
  const line = (): string => at < end ? all[at] ?? "" : "*** End Patch"
  const isHeader = (): boolean => at >= end || header.test(line())

  const addContent = (path: string, patch_line: number): FileChange => {
    const content: Array<string> = []
    for (; !isHeader(); at++) {
      const text = line()
      if (text.startsWith("+")) content.push(text.slice(1))
      else if (text.trim() !== "") {
        throw new PatchSyntax(
          at + 1,
          `every line of a new file must begin with +, found ${quoteLine(text)} in ${path}`
        )
      } else if (!onlyBlanksFollow()) content.push("")
    }
    return { kind: "add", patch_line, path, content: content.map((text) => `${text}\n`).join("") }
  }

  const onlyBlanksFollow = (): boolean => {
    for (let i = at; i < end; i++) {
      const text = all[i] ?? ""
      if (header.test(text)) return true
      if (text.trim() !== "") return false
    }
    return true
  }

  const readHunk = (path: string): Hunk => {
    const patch_line = at + 1
    const anchors: Array<string> = []
    let old_start: number | null = null
    for (; line().startsWith("@@"); at++) {
      const ranged = range.exec(line())
      if (ranged !== null) {
        old_start = Number(ranged[1])
        continue
      }
      const anchor = line().slice(2).replace(/\s*@@\s*$/u, "").replace(/^ /u, "")
      if (anchor.trim() !== "") anchors.push(anchor)
    }
    const lines: Array<HunkLine> = []
    // A line without its leading blank is taken as an empty one; such lines at the end only separate.
    let bare = 0
    let at_end = false
    for (; !isHeader() && !line().startsWith("@@"); at++) {
      const text = line()
      if (text.trim() === "*** End of File") {
        at_end = true
        at++
        while (!isHeader() && line().trim() === "") at++
        break
      }
      const op = text[0]
      if (op === " " || op === "-" || op === "+") {
        lines.push({ op, text: text.slice(1), no_newline: false })
        bare = 0
      } else if (text.trim() === "") {
        lines.push({ op: " ", text: text.endsWith("\r") ? "\r" : "", no_newline: false })
        bare++
      } else if (text.startsWith("\\")) {
        continue
      } else {
        throw new PatchSyntax(
          at + 1,
          `a line of a hunk must begin with a blank, - or +, found ${quoteLine(text)} in ${path}`
        )
      }
    }
    if (bare > 0) lines.splice(lines.length - bare)
    if (!lines.some((one) => one.op !== " ")) {
      throw new PatchSyntax(patch_line, `the hunk in ${path} has no line that begins with - or +`)
    }
    return { patch_line, anchors, old_start, at_end, lines }
  }

  while (at < end) {
    const text = line()
    const found = header.exec(text)
    if (found === null) {
      if (text.trim() === "") {
        at++
        continue
      }
      throw new PatchSyntax(
        at + 1,
        `expected *** Add File, *** Update File or *** Delete File, found ${quoteLine(text)}`
      )
    }
    const [, kind, path = ""] = found
    const patch_line = at + 1
    if (path === "") throw new PatchSyntax(patch_line, "the path is missing")
    at++
    if (kind === "Add File") changes.push(addContent(path, patch_line))
    else if (kind === "Delete File") {
      while (!isHeader() && line().trim() === "") at++
      if (!isHeader()) throw new PatchSyntax(at + 1, `nothing may follow *** Delete File, found ${quoteLine(line())}`)
      changes.push({ kind: "delete", patch_line, path, hunks: [] })
    } else {
      const moved = /^\*\*\* Move to: *(.*?)\s*$/u.exec(line())
      if (moved !== null) {
        if (moved[1] === "") throw new PatchSyntax(at + 1, "the path is missing")
        at++
      }
      const hunks: Array<Hunk> = []
      while (!isHeader()) {
        if (line().trim() === "" && onlyBlanksFollow()) at++
        else hunks.push(readHunk(path))
      }
      if (hunks.length === 0 && moved === null) throw new PatchSyntax(patch_line, `${path} has no hunk`)
      changes.push({
        kind: "update",
        patch_line,
        path,
        copy: false,
        hunks,
        ...(moved?.[1] === undefined ? {} : { move_to: moved[1] })
      })
    }
  }
  if (changes.length === 0) throw new PatchSyntax(begin + 1, "the patch changes no file")
  return { format: "envelope", changes, notes: [] }
}
