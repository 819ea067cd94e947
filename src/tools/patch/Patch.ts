/**
 * A patch as data, whichever of the two formats it came in.
 *
 * @since 0.1.0
 */

/** `text` has no LF; a CR before it is kept. `no_newline`: the line is the file's last and has no line break. @since 0.1.0 @category models */
export interface HunkLine {
  readonly op: " " | "-" | "+"
  readonly text: string
  readonly no_newline: boolean
}

/** @since 0.1.0 @category models */
export interface Hunk {
  /** Where it begins in the patch, from 1. */
  readonly patch_line: number
  /** Lines to be found, one after the other, before the hunk is looked for. */
  readonly anchors: ReadonlyArray<string>
  /** Line number of the old file as the header says, 0 for an empty file; null = nothing is said. */
  readonly old_start: number | null
  /** It ends at the end of the file. */
  readonly at_end: boolean
  readonly lines: ReadonlyArray<HunkLine>
}

/** `path`, `from` and `to` as written in the patch. `mode` = permission bits. @since 0.1.0 @category models */
export type FileChange =
  | {
    readonly kind: "add"
    readonly patch_line: number
    readonly path: string
    readonly content: string
    readonly mode?: number
  }
  | {
    readonly kind: "delete"
    readonly patch_line: number
    readonly path: string
    readonly hunks: ReadonlyArray<Hunk>
  }
  | {
    readonly kind: "update"
    readonly patch_line: number
    readonly path: string
    readonly move_to?: string
    /** With `move_to`: the old file stays. */
    readonly copy: boolean
    readonly hunks: ReadonlyArray<Hunk>
    readonly mode?: number
  }

/** @since 0.1.0 @category models */
export interface Patch {
  /** `envelope` = `*** Begin Patch`; line endings and the final line break are then those of the file. */
  readonly format: "envelope" | "unified"
  readonly changes: ReadonlyArray<FileChange>
  /** What was read generously. */
  readonly notes: ReadonlyArray<string>
}

/** A line of the patch that could not be understood, from 1. @since 0.1.0 @category errors */
export class PatchSyntax extends Error {
  readonly line: number
  constructor(line: number, message: string) {
    super(`line ${line} of the patch: ${message}`)
    this.line = line
  }
}

/** For messages: the line as it is, cut. @since 0.1.0 @category combinators */
export const quoteLine = (line: string): string => JSON.stringify(line.length > 120 ? `${line.slice(0, 120)}...` : line)
