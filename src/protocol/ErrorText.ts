/**
 * Words of a provider made fit for a person: no keys, no markup, no control characters, not too long.
 *
 * @since 0.1.0
 */

/** Longest message kept, in characters. @since 0.1.0 @category constants */
export const messageLimit = 2_000
/** Longest excerpt of a page of markup, in characters. @since 0.1.0 @category constants */
export const excerptLimit = 300

const redacted = "[redacted]"

const rules: ReadonlyArray<readonly [RegExp, string]> = [
  // user:password@ in an address
  [/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@]{1,512}@/gi, `$1${redacted}@`],
  // PEM blocks
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, redacted],
  // Authorization values
  [/\b(bearer)\s+(?=[^\s\d]{0,64}\d|\S{20})[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${redacted}`],
  [/\b(basic)\s+[A-Za-z0-9+/=]{16,}/gi, `$1 ${redacted}`],
  // name=value and "name": "value" forms
  [
    /((?:x-)?(?:api[_-]?key|api[_-]?token|access[_-]?token|refresh[_-]?token|auth[_-]?token|client[_-]?secret|password|secret[_-]?key|(?<=[?&])key)["']?\s*[:=]\s*["']?)(?!\[redacted)(?!(?:provided|is|was|not|invalid|missing|required)\b)[^\s"'&,;}<]{4,}/gi,
    `$1${redacted}`
  ],
  // OpenAI's own sentence, which repeats a part of the key
  [/(incorrect api key provided:?\s*)[^\s.]+(?:\.[^\s.]+)*/gi, `$1${redacted}`],
  // keys by their shape
  [/\b(?:sk|pk|rk)[-_][A-Za-z0-9*_-]{6,}[A-Za-z0-9*]/g, redacted],
  [
    /\b(?:gsk|xai|hf|nvapi|pplx|r8|fw|csk|tgp|glpat|xox[abps]|hz|hnz|hanzo)[-_](?=[A-Za-z_-]{0,64}\d|[A-Za-z]{20})[A-Za-z0-9_-]{16,}/g,
    redacted
  ],
  [/\bgh[pousr]_[A-Za-z0-9]{16,}/g, redacted],
  [/\bgithub_pat_[A-Za-z0-9_]{16,}/g, redacted],
  [/\bAIza[A-Za-z0-9_-]{20,}/g, redacted],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g, redacted],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?/g, redacted]
]

/** Replaces everything that looks like a key or a token. @since 0.1.0 @category combinators */
export const maskSecrets = (text: string): string =>
  rules.reduce((masked, [pattern, by]) => masked.replace(pattern, by), text)

const entities: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", "\""],
  ["apos", "'"],
  ["nbsp", " "]
])

/** Is it markup rather than the words of an API? @since 0.1.0 @category combinators */
export const isMarkup = (text: string): boolean => /^\s*(?:<!doctype|<html|<\?xml|<head|<body)/i.test(text)

/** The visible words of a page, the title first. @since 0.1.0 @category decoding */
export const stripMarkup = (page: string): string =>
  page
    .replace(/<!--[\s\S]*?(?:-->|$)/g, " ")
    .replace(/<(script|style|noscript|svg)\b[\s\S]*?(?:<\/\1\s*>|$)/gi, " ")
    .replace(/<[^>]*(?:>|$)/g, " ")
    .replace(/&(#x?[0-9a-f]+|[a-z]+);/gi, (whole, name: string) => {
      if (!name.startsWith("#")) return entities.get(name.toLowerCase()) ?? whole
      const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10)
      return Number.isInteger(code) && code > 31 && code <= 0x10ffff ? String.fromCodePoint(code) : " "
    })
    .replace(/\s+/g, " ")
    .trim()

const cut = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, "")}…`

/**
 * The message as it may be shown and stored: markup stripped to an excerpt, control characters out, keys masked,
 * capped. Masking comes before the cut, so that no key is cut into a shape that is not recognised.
 *
 * @since 0.1.0
 * @category combinators
 */
export const sanitise = (text: string): string => {
  const bounded = text.length > 32_768 ? text.slice(0, 32_768) : text
  const markup = isMarkup(bounded)
  const words = markup ? stripMarkup(bounded) : bounded
  // eslint-disable-next-line no-control-regex
  const plain = words.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, " ").trim()
  return cut(maskSecrets(plain), markup ? excerptLimit : messageLimit)
}
