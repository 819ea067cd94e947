/**
 * What is searched for in sessions, and where it stands in a text: pure.
 *
 * A query is words, all of which must be there; `"several words"` are a phrase, `begin*` is the beginning of a word. Case
 * and accents do not count. A name with signs in it (`session_busy`, `a.ts`) is a phrase of its parts, and so is a run of
 * Chinese or Japanese characters.
 *
 * @since 0.1.0
 */

/** One thing to find: its words in a row, folded; the last one may be a beginning. @since 0.1.0 @category models */
export interface Term {
  readonly words: ReadonlyArray<string>
  readonly prefix: boolean
}

/** A piece of a text with the places of what was found in it, in UTF-16 units. @since 0.1.0 @category models */
export interface Snippet {
  readonly text: string
  readonly matches: ReadonlyArray<readonly [number, number]>
}

const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
const wides = new RegExp(wide.source, "gu")
const word = new RegExp(`${wide.source}|(?:(?!${wide.source})[\\p{L}\\p{N}\\p{M}])+`, "gu")

const fold = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()

/**
 * A text as the index takes it: folded as a query is (the tokenizer of SQLite knows fewer accents), and characters that are
 * words of their own stand apart.
 *
 * @since 0.1.0
 * @category encoding
 */
export const indexText = (text: string): string => {
  if (!/[\u0080-\uffff]/.test(text)) return text
  const folded = fold(text)
  return /[\u2e80-\uffff]/.test(folded) ? folded.replace(wides, " $& ") : folded
}

const wordsOf = (text: string): ReadonlyArray<string> =>
  (text.match(word) ?? []).map(fold).filter((each) => each !== "")

/** The terms of a query; none = there is no word in it. @since 0.1.0 @category decoding */
export const parse = (query: string): ReadonlyArray<Term> => {
  const terms: Array<Term> = []
  for (const [, phrase, star, bare = ""] of query.matchAll(/"([^"]*)"?(\*?)|([^\s"]+)/gu)) {
    const words = wordsOf(phrase ?? bare)
    const prefix = phrase === undefined ? bare.endsWith("*") : star === "*"
    if (words.length > 0) terms.push({ words, prefix })
  }
  return terms
}

/** The query in the language of SQLite's FTS5. @since 0.1.0 @category encoding */
export const toMatch = (terms: ReadonlyArray<Term>): string =>
  terms.map(({ prefix, words }) => `"${words.join(" ")}"${prefix ? "*" : ""}`).join(" AND ")

interface Found {
  readonly folded: string
  readonly from: number
  readonly to: number
}

const placesOf = (text: string): ReadonlyArray<Found> =>
  [...text.matchAll(word)].map((match) => ({
    folded: fold(match[0]),
    from: match.index,
    to: match.index + match[0].length
  }))

const isAt = (places: ReadonlyArray<Found>, at: number, { prefix, words }: Term): boolean =>
  words.every((each, n) => {
    const found = places[at + n]?.folded
    return found !== undefined && (prefix && n === words.length - 1 ? found.startsWith(each) : found === each)
  })

/** Every place of every term, in the order of the text. */
const rangesOf = (places: ReadonlyArray<Found>, terms: ReadonlyArray<Term>): ReadonlyArray<readonly [number, number]> =>
  places.flatMap((place, at) => {
    const ends = terms.filter((term) => isAt(places, at, term)).map((term) =>
      places[at + term.words.length - 1]?.to ?? place.to
    )
    return ends.length === 0 ? [] : [[place.from, Math.max(...ends)] as const]
  })

/** Is every term in the text? @since 0.1.0 @category predicates */
export const matches = (text: string, terms: ReadonlyArray<Term>): boolean => {
  const places = placesOf(text)
  return terms.every((term) => places.some((_, at) => isAt(places, at, term)))
}

/** A cut that splits no pair of surrogates. */
const whole = (text: string, at: number): number => /[\udc00-\udfff]/.test(text.charAt(at)) ? at - 1 : at

/**
 * The first place of the query with what stands around it, about `width` characters; the beginning of the text when no
 * term is found by itself.
 *
 * @since 0.1.0
 * @category combinators
 */
export const snippet = (text: string, terms: ReadonlyArray<Term>, width = 160): Snippet => {
  // Only so much is looked through: where it stands in a long text decides about nothing but what is shown.
  const ranges = rangesOf(placesOf(text.slice(0, 1_000_000)), terms)
  const first = ranges[0]?.[0] ?? 0
  const from = whole(text, first < width / 3 ? 0 : Math.max(0, first - Math.floor(width / 4)))
  const to = whole(text, Math.min(text.length, from + width))
  const head = from > 0 ? "..." : ""
  const shift = head.length - from
  const shown: Array<readonly [number, number]> = []
  for (const [start, end] of ranges) {
    if (start < from || end > to || start + shift < (shown.at(-1)?.[1] ?? 0)) continue
    shown.push([start + shift, end + shift])
  }
  return { text: `${head}${text.slice(from, to)}${to < text.length ? "..." : ""}`, matches: shown }
}
