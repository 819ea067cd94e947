/**
 * The ways in which a secret is spelled by whoever repeats it (reading G2): a server echoes the form it was sent, a page
 * escapes it, a log encodes it. Pure.
 *
 * @since 0.1.0
 */

const encoder = new TextEncoder()

/** What the usual encoders of forms and addresses leave as it is, next to letters and digits. */
const unescapedMarks: ReadonlyArray<string> = ["-_.!~*'()", "-_.*", "-_.~", "-_.", "-_.~/", "-_.!~*'();/?:@&=+$,#", ""]

/** Every other byte as `%XX`. */
const percent = (text: string, marks: string): string =>
  text.replaceAll(/[^A-Za-z0-9]/gu, (char) =>
    marks.includes(char)
      ? char
      : Array.from(encoder.encode(char), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""))

const lowerHex = (text: string): string => text.replaceAll(/%[0-9A-F]{2}/gu, (code) => code.toLowerCase())

const percents = (text: string): ReadonlyArray<string> =>
  unescapedMarks.flatMap((marks) => {
    const upper = percent(text, marks)
    return [upper, upper.replaceAll("%20", "+")].flatMap((form) => [form, lowerHex(form)])
  })

const unit = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`

const jsons = (text: string): ReadonlyArray<string> => {
  const plain = JSON.stringify(text).slice(1, -1)
  const narrow = plain.replaceAll(/[^ -~]/g, unit)
  return [plain, narrow].flatMap((form) => [
    form,
    form.replaceAll("/", "\\/"),
    form.replaceAll(/[<>&]/gu, unit),
    form.replaceAll(/[<>&']/gu, (char) => unit(char).toUpperCase().replace("\\U", "\\u")),
    form.replaceAll(/[<>&']/gu, unit)
  ])
}

const htmls = (text: string): ReadonlyArray<string> => {
  const partly = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
  const quoted = partly.replaceAll("\"", "&quot;")
  return [
    partly,
    quoted,
    partly.replaceAll("\"", "&#34;"),
    ...["&#39;", "&#039;", "&#x27;", "&apos;"].map((quote) => quoted.replaceAll("'", quote)),
    partly.replaceAll("\"", "&#34;").replaceAll("'", "&#39;")
  ]
}

const base64 = (bytes: Uint8Array): string => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))

/** Shorter ones have too little in the middle to be told from other text. */
const shortestEncoded = 12

/**
 * What base64 makes of a text with the secret in it, wherever it stands there (`user:secret` of Basic, a whole form):
 * the characters that nothing next to it can change, so that at most two bytes of either end stay.
 */
const base64s = (text: string): ReadonlyArray<string> => {
  const bytes = encoder.encode(text)
  if (bytes.length < shortestEncoded) return []
  return [0, 1, 2].flatMap((before) => {
    const padded = new Uint8Array(before + bytes.length)
    padded.set(bytes, before)
    const whole = Math.floor(padded.length / 3) * 4
    const core = base64(padded).slice(before === 0 ? 0 : 4, whole)
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")]
  })
}

/**
 * A secret as it is, escaped as in JSON, percent-encoded (addresses, forms; large and small digits) and escaped as in
 * HTML. Each once.
 *
 * @since 0.1.0
 * @category combinators
 */
export const escapes = (secret: string): ReadonlyArray<string> => [
  ...new Set([secret, ...jsons(secret), ...percents(secret), ...htmls(secret)])
]

/** The same, and in base64. @since 0.1.0 @category combinators */
export const spellings = (secret: string): ReadonlyArray<string> => [
  ...new Set([...escapes(secret), ...base64s(secret)])
]

/** Those of all secrets, the longest first: one may be a part of another. @since 0.1.0 @category combinators */
export const spellingsOf = (secrets: Iterable<string>, of = spellings): ReadonlyArray<string> =>
  [...new Set([...new Set(secrets)].filter((secret) => secret !== "").flatMap((secret) => of(secret)))].toSorted((
    a,
    b
  ) => b.length - a.length)

/** @since 0.1.0 @category constants */
export const redacted = "[redacted]"

/** A text without the secrets, however they are spelled in it. @since 0.1.0 @category constructors */
export const without = (secrets: Iterable<string>): (text: string) => string => {
  const forms = spellingsOf(secrets)
  return (text) => forms.reduce((clean, form) => clean.replaceAll(form, redacted), text)
}
