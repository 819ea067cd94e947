/**
 * A note put behind what stands in an instruction file; pure.
 *
 * @since 0.1.0
 */

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/**
 * The file with the note as the last item of its list. Line ends are those of the file, and every byte of it stays.
 * `problem`: the file is no text that a note can be added to.
 *
 * @since 0.1.0
 * @category combinators
 */
export const appended = (
  before: Uint8Array,
  note: string
): { readonly bytes: Uint8Array } | { readonly problem: string } => {
  let text: string
  try {
    text = decoder.decode(before)
  } catch {
    return { problem: "is not UTF-8" }
  }
  if (text.includes("\0")) return { problem: "is no text" }
  const end = /\r\n/.test(text) ? "\r\n" : "\n"
  const [first = "", ...more] = note.trim().split(/\r\n?|\n/)
  const item = [`- ${first}`, ...more.map((each) => each.trim() === "" ? "" : `  ${each}`)].join(end) + end
  const lead = text === "" || text === "\ufeff" || text.endsWith("\n") ? "" : end
  // behind a paragraph a list needs an empty line
  const last = text.replace(/^\ufeff/, "").replace(/[\r\n]+$/, "").split(/\r?\n/).at(-1) ?? ""
  const gap = last === "" || /^\s*[-*+]\s/.test(last) || /^ {2,}\S/.test(last) || /\n\r?\n$/.test(text) ? "" : end
  const added = new TextEncoder().encode(lead + gap + item)
  const bytes = new Uint8Array(before.length + added.length)
  bytes.set(before)
  bytes.set(added, before.length)
  return { bytes }
}
