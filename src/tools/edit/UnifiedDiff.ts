/**
 * Compact unified diffs for results and messages.
 *
 * @since 0.1.0
 */
import { structuredPatch } from "diff"

/** @since 0.1.0 @category models */
export interface DiffOptions {
  /** Unchanged lines around a change; default 3. */
  readonly context?: number
  /** Lines shown at most; default 200. */
  readonly max_lines?: number
}

/** @since 0.1.0 @category models */
export interface UnifiedDiff {
  /** Hunks without file headers, no final line break; empty when the texts are equal. */
  readonly text: string
  readonly added: number
  readonly removed: number
}

/** Edit distance (in lines) after which the work is no longer worth it. */
const max_edits = 1_000

const countLines = (text: string): number => text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0)

/** Long lines say little in a diff: cut for display. */
const shorten = (line: string): string => line.length > 500 ? `${line.slice(0, 500)}…` : line

/**
 * The difference of two texts by lines. Line endings are no difference as long as both sides have the same ones; CR is
 * not shown. Texts with more than 1,000 changed lines are summed up only.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unifiedDiff = (before: string, after: string, options: DiffOptions = {}): UnifiedDiff => {
  if (before === after) return { text: "", added: 0, removed: 0 }
  const patch = structuredPatch("a", "b", before, after, undefined, undefined, {
    context: options.context ?? 3,
    maxEditLength: max_edits
  })
  if (patch === undefined) {
    const [removed, added] = [countLines(before), countLines(after)]
    return { text: `@@ too many changes to show: ${removed} lines before, ${added} after @@`, added, removed }
  }
  const lines: Array<string> = []
  let added = 0
  let removed = 0
  for (const hunk of patch.hunks) {
    lines.push(`@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`)
    for (const line of hunk.lines) {
      if (line.startsWith("+")) added++
      else if (line.startsWith("-")) removed++
      lines.push(shorten(line.endsWith("\r") ? line.slice(0, -1) : line))
    }
  }
  const max = options.max_lines ?? 200
  const text = lines.length > max
    ? [...lines.slice(0, max), `... ${lines.length - max} more lines of diff`].join("\n")
    : lines.join("\n")
  return { text, added, removed }
}
