/**
 * One member of an object, or one item of an array, taken out of a text: with it go its own comments and one comma, and
 * every other byte stays (reading 4.10). Pure: text in, text out.
 *
 * Its own comments are those that begin on lines of their own directly above it, without a blank line between, and those
 * behind it up to the end of its line.
 *
 * @since 0.1.0
 */
import {
  blockAbove,
  breakLength,
  breaksIn,
  type Child,
  isFirst,
  partsOf,
  skipBlanks,
  skipBlanksBack,
  type Span
} from "./Layout.ts"

/** Where the child ends with its comma and what is said of it on its line. `next` is where the following one begins. */
const endOf = (
  text: string,
  { comma, end }: Child,
  comments: ReadonlyArray<Span>,
  own: number | null,
  next: number | null
): number => {
  const byStart = new Map(comments.map((comment) => [comment.start, comment]))
  let last = end
  while (true) {
    const at = skipBlanks(text, last)
    if (at === comma && own === comma) {
      last = at + 1
      continue
    }
    const comment = byStart.get(at)
    if (comment !== undefined) {
      last = comment.end
      continue
    }
    // what stands between a comma and the next one on the same line may be said of that
    if (at === next) return own === null || own !== comma ? end : own + 1
    return at === comma ? end : last
  }
}

/** A comma alone on its line takes the line with it. */
const commaSpan = (text: string, at: number): Span => {
  const after = skipBlanks(text, at + 1)
  const length = breakLength(text, after)
  return length > 0 && isFirst(text, at)
    ? { start: skipBlanksBack(text, at), end: after + length }
    : { start: at, end: at + 1 }
}

/** With the blanks, or the whole lines, that nothing is left in. */
const widened = (text: string, { end, start }: Span, open: number, close: number): Span => {
  const after = skipBlanks(text, end)
  const before = skipBlanksBack(text, start)
  const length = breakLength(text, after)
  if (isFirst(text, start)) return length > 0 ? { start: before, end: after + length } : { start, end: after }
  if (length > 0) return { start: before, end: after }
  return after === close && before !== open + 1 ? { start: before, end } : { start, end: after }
}

/**
 * `open` is where the object or array begins in a text that is JSONC without a byte order mark; `index` counts its members
 * or items from 0. Without such a one the text stays as it is.
 *
 * @since 0.1.0
 * @category combinators
 */
export const remove = (text: string, open: number, index: number): string => {
  const { children, close, comments } = partsOf(text, open)
  const child = children[index]
  if (child === undefined) return text
  const before = children[index - 1]
  const next = children[index + 1]?.start ?? null
  const previous = before?.comma ?? null
  // written with commas in front, it begins with the one before it
  const leads = previous !== null && isFirst(text, previous) && breaksIn(text.slice(previous, child.start)) === 0 &&
    (child.comma === null || breaksIn(text.slice(child.end, child.comma)) > 0)
  const own = leads ? previous : child.comma ?? previous
  const from = leads ? previous : child.start
  const above = leads ? before?.end ?? open : previous ?? open
  const span: Span = {
    start: blockAbove(text, comments.filter(({ end, start }) => start >= above && end <= from), from),
    end: endOf(text, child, comments.filter(({ start }) => start >= child.end), own, next)
  }
  const gone = [widened(text, span, open, close)]
  if (own !== null && (own < span.start || own >= span.end)) gone.push(commaSpan(text, own))
  return gone
    .toSorted((a, b) => b.start - a.start)
    .reduce((left, { end, start }) => left.slice(0, start) + left.slice(end), text)
}
