/**
 * Going back, in words.
 *
 * @since 0.1.0
 */
import { line } from "../codec/TerminalText.ts"
import type { Done, RewindPoint } from "../agent/Rewind.ts"
import type { FileChange } from "../snapshots/Snapshots.ts"
import { columns } from "./Output.ts"
import { moment } from "./SessionText.ts"

const most = 20

const words: Readonly<Record<FileChange["change"], string>> = {
  created: "comes back",
  changed: "set back",
  deleted: "removed",
  mode: "mode set back"
}

const counted = (number: number, one: string, several: string): string => `${number} ${number === 1 ? one : several}`

/** One line a file, the first twenty. @since 0.1.0 @category encoding */
export const changesText = (changes: ReadonlyArray<FileChange>): string =>
  columns(
    changes.slice(0, most).map(({ change, conflict, path }) => [
      `  ${words[change]}`,
      line(path, 200) + (conflict ? "  (changed since by somebody else)" : "")
    ])
  ) + (changes.length > most ? `  and ${changes.length - most} more\n` : "")

/** What has happened, and what could not be done. @since 0.1.0 @category encoding */
export const doneText = ({ conversation, files }: Done): string => {
  const restored = files === null ? null : counted(files.files, "file", "files")
  const what = [
    ...(conversation ? ["the conversation"] : []),
    ...(restored === null ? [] : [restored])
  ]
  return (what.length === 0 ? "there was nothing to change\n" : `changed: ${what.join(" and ")}\n`) +
    (files?.failed ?? []).map(({ path, why }) => `not done: ${line(path, 200)}: ${line(why, 200)}\n`).join("")
}

/** A message in one line. @since 0.1.0 @category encoding */
export const pointText = (point: RewindPoint, width: number): string => line(point.text.trim(), width) || "(no text)"

/** One line a message: what names it, when, whether the files are kept, its text. @since 0.1.0 @category encoding */
export const pointRows = (
  points: ReadonlyArray<RewindPoint>,
  name: (point: RewindPoint, index: number) => string
): string =>
  columns(points.map((point, index) => [
    name(point, index),
    moment(point.at),
    point.snapshot_id === null ? "-" : "files",
    pointText(point, 70)
  ]))
