/**
 * What language servers are asked about and what they answer, as HIP-301 section 8 names it: lines and characters count
 * from 0, characters in UTF-16 units, whatever the server counts in.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 @category models */
export interface Position {
  readonly line: number
  readonly character: number
}

/** `end` is exclusive. @since 0.1.0 @category models */
export interface Range {
  readonly start: Position
  readonly end: Position
}

/** @since 0.1.0 @category models */
export interface Location {
  readonly uri: string
  readonly range: Range
}

/** Error, warning, information, hint. @since 0.1.0 @category models */
export type Severity = 1 | 2 | 3 | 4

/** `severity` absent on the wire = 1, `source` absent = "" (reading 8.1). @since 0.1.0 @category models */
export interface Diagnostic {
  readonly uri: string
  readonly range: Range
  readonly severity: Severity
  readonly message: string
  readonly source: string
  /** The rule or number of the message, as text. */
  readonly code?: string
}

/** @since 0.1.0 @category models */
export interface CodeSymbol {
  readonly name: string
  /** `function`, `class`, ...: the words of the protocol. */
  readonly kind: string
  readonly uri: string
  readonly range: Range
  /** Of the name itself. */
  readonly selection: Range
  /** What it is part of; "" = nothing. */
  readonly container: string
}

/** One caller or callee, with the places of the calls. @since 0.1.0 @category models */
export interface CallSite {
  readonly symbol: CodeSymbol
  readonly ranges: ReadonlyArray<Range>
}

/** @since 0.1.0 @category models */
export interface TextEdit {
  readonly range: Range
  readonly new_text: string
}

/** @since 0.1.0 @category models */
export interface FileEdits {
  readonly uri: string
  readonly edits: ReadonlyArray<TextEdit>
  /** What they are for, without a byte order mark: a file with another text is not to be edited. null = not known. */
  readonly text: string | null
}

/**
 * Edits of files. `unsupported` = the server also wants files made, moved or removed: words for a message; nothing of
 * such an edit is applied.
 *
 * @since 0.1.0
 * @category models
 */
export interface WorkspaceEdit {
  readonly files: ReadonlyArray<FileEdits>
  readonly unsupported: string | null
}

/** A change the server offers. `edit` null = it is to be asked for, or none. @since 0.1.0 @category models */
export interface CodeAction {
  readonly title: string
  readonly kind: string
  readonly preferred: boolean
  readonly edit: WorkspaceEdit | null
}

/** How a server counts characters. @since 0.1.0 @category models */
export type PositionEncoding = "utf-8" | "utf-16" | "utf-32"

/** @since 0.1.0 @category combinators */
export const comparePositions = (a: Position, b: Position): number => a.line - b.line || a.character - b.character

/** @since 0.1.0 @category combinators */
export const sameRange = (a: Range, b: Range): boolean =>
  comparePositions(a.start, b.start) === 0 && comparePositions(a.end, b.end) === 0
