/**
 * Lines that a commit would add and that look like secrets, and files that hold nothing else. A hint to the person, before
 * it is too late; only publishing without a person stops at it. Values are never part of what is told. Pure.
 *
 * @since 0.1.0
 */

/** `line` counts from 1 in the new file; null = the file as a whole. @since 0.1.0 @category models */
export interface LikelySecret {
  readonly path: string
  readonly line: number | null
  readonly what: string
}

const shapes: ReadonlyArray<readonly [what: string, shape: RegExp]> = [
  ["a private key", /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----/u],
  ["an access key of AWS", /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/u],
  ["a token of GitHub", /\b(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})/u],
  ["a token of GitLab", /\bgl(?:pat|ptt|rt)-[\w-]{16,}/u],
  ["a token of Slack", /\bxox[abeprs]-[\w-]{10,}/u],
  ["a key of Google", /\bAIza[\w-]{30,}/u],
  ["a key of Stripe", /\b[sr]k_(?:live|test)_\w{10,}/u],
  ["a key of a model provider", /\bsk-(?:[a-z]+-)*[\w-]{20,}/u],
  ["a token of npm", /\bnpm_[A-Za-z0-9]{30,}/u],
  ["a signed token", /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+/u],
  ["a webhook", /https:\/\/(?:hooks\.slack\.com\/services|(?:\w+\.)?discord(?:app)?\.com\/api\/webhooks)\/\S+/u],
  ["a password in an address", /[a-z][a-z0-9+.-]*:\/\/[^\s/?#:@"'`]*:[^\s/?#@"'`$<{]{3,}@[\w.[]/iu]
]

/** `name = "value"`, `NAME=value`, `"name": "value"` with a name that means a secret. */
const assigned =
  /(?:^|[^A-Za-z0-9])["']?([A-Za-z0-9_.-]*(?:password|passwd|passphrase|secret|token|(?:api|access|private|secret|auth|signing|encryption|master)[_-]?key|credentials?))["']?\s*(?::=|=>|[:=])\s*(?:"([^"]*)"|'([^']*)'|([^\s"',;]+))/iu

const placeholder =
  /^(?:x+|\*+|\.+|-+|_+|null|none|nil|true|false|undefined|test|todo|changeme|change[_-]?me|example|placeholder|secret|password|token|redacted|\[redacted\])$|\$[({]?\w|<[^>]*>|\{\{|%\w+%|process\.env|os\.environ|getenv|your[_-]/iu

/** Long, of several kinds of characters, and no word of a program (`options.secret`, `readSecret()`). */
const looksRandom = (value: string, quoted: boolean): boolean => {
  if (value.length < 8 || value.length > 500 || placeholder.test(value) || /\s/u.test(value)) return false
  if (!quoted && /[()[\]{}]|^[A-Za-z_$][\w$]*(?:[.?!]+[A-Za-z_$][\w$]*)*$/u.test(value) && !/\d/u.test(value)) {
    return false
  }
  if (/^(?:\.{0,2}\/|~\/|https?:\/\/[^@]*$)/u.test(value)) return false
  const kinds = [/[a-z]/u, /[A-Z]/u, /\d/u, /[^A-Za-z0-9]/u].filter((kind) => kind.test(value)).length
  return kinds >= 3 || (kinds === 2 && /\d/u.test(value) && value.length >= 12) || value.length >= 24
}

const files =
  /(?:^|\/)(?:\.env(?:\.(?!example$|sample$|template$|dist$)[^/]+)?|(?!(?:example|sample|template|dist)\.env$)[^/]+\.env|id_(?:rsa|dsa|ecdsa|ed25519)|\.netrc|\.pgpass|\.htpasswd|credentials(?:\.json)?|service[_-]account[^/]*\.json|[^/]+\.(?:pem|p12|pfx|jks|keystore|kdbx|ppk))$/iu

/** What the line looks like; null = nothing of the kind. @since 0.1.0 @category combinators */
export const inLine = (line: string): string | null => {
  for (const [what, shape] of shapes) if (shape.test(line)) return what
  const match = assigned.exec(line)
  if (match === null) return null
  const quoted = match[2] ?? match[3]
  const value = quoted ?? match[4] ?? ""
  return looksRandom(value, quoted !== undefined) ? `a value for "${(match[1] ?? "").slice(-40)}"` : null
}

/** The line with what looks like a secret as `[redacted]`, for a text that goes to a model. @since 0.1.0 @category combinators */
export const withoutIn = (text: string): string => {
  let inKey = false
  return text.split("\n").map((line) => {
    if (inKey) {
      if (/-----END /u.test(line)) inKey = false
      return `${/^[ +-]/u.exec(line)?.[0] ?? ""}[redacted]`
    }
    let clean = line
    if (shapes[0]?.[1].test(line) === true) {
      inKey = !/-----END /u.test(line)
      return `${/^[ +-]/u.exec(line)?.[0] ?? ""}[redacted]`
    }
    for (const [, shape] of shapes) clean = clean.replaceAll(new RegExp(shape.source, `g${shape.flags}`), "[redacted]")
    const match = assigned.exec(clean)
    const quoted = match?.[2] ?? match?.[3]
    const value = quoted ?? match?.[4] ?? ""
    return match !== null && looksRandom(value, quoted !== undefined) ? clean.replaceAll(value, "[redacted]") : clean
  }).join("\n")
}

const escapes: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 }

/** A path as git quotes it in a diff, `"a/\303\244"`. */
const unquoted = (path: string): string => {
  if (!path.startsWith("\"") || !path.endsWith("\"")) return path
  const bytes: Array<number> = []
  for (const part of path.slice(1, -1).match(/\\[0-7]{3}|\\[^]|[^\\]+/gu) ?? []) {
    if (part.startsWith("\\")) {
      const octal = /^\\([0-7]{3})$/u.exec(part)
      bytes.push(
        octal === null ? escapes[part.slice(1)] ?? part.charCodeAt(1) : Number.parseInt(octal[1] ?? "0", 8)
      )
    } else bytes.push(...new TextEncoder().encode(part))
  }
  return new TextDecoder().decode(Uint8Array.from(bytes))
}

/** @since 0.1.0 @category models */
export interface DiffOptions {
  /** At most so many findings; default 50. */
  readonly most?: number
  /** The diff goes on behind its end, where nobody looks: that is a finding of its own. */
  readonly cut?: boolean
}

/**
 * In a diff with the prefixes `a/` and `b/`: every added line; of the combined diff of a merge those that none of its
 * parents has.
 *
 * @since 0.1.0
 * @category decoding
 */
export const inDiff = (diff: string, { cut = false, most = 50 }: DiffOptions = {}): ReadonlyArray<LikelySecret> => {
  const found: Array<LikelySecret> = []
  let path = ""
  let row = 0
  // of the hunk that is open, one number a parent: a line of it may look like a header
  let old: Array<number> = []
  let now = 0
  for (const line of diff.split("\n")) {
    if (found.length >= most) return found
    if (now > 0 || old.some((left) => left > 0)) {
      if (line.startsWith("\\")) continue
      const marks = line.slice(0, old.length)
      if (marks.includes("-")) {
        old = old.map((left, parent) => marks[parent] === "-" ? left - 1 : left)
        continue
      }
      const what = /^\++$/u.test(marks) ? inLine(line.slice(old.length)) : null
      if (what !== null) found.push({ path, line: row, what })
      old = old.map((left, parent) => marks[parent] === "+" ? left : left - 1)
      row++
      now--
      continue
    }
    const hunk = /^(@{2,}) ((?:-\d+(?:,\d+)? )+)\+(\d+)(?:,(\d+))? \1/u.exec(line)
    if (hunk !== null) {
      old = (hunk[2] ?? "").trim().split(" ").map((range) => Number(range.split(",")[1] ?? "1"))
      row = Number(hunk[3])
      now = Number(hunk[4] ?? "1")
      continue
    }
    if (line.startsWith("+++ ") && !line.startsWith("+++ /dev/null")) {
      path = unquoted(line.slice(4).replace(/\t$/u, "")).replace(/^b\//u, "")
    }
  }
  if (cut) found.push({ path, line: null, what: "the change is too long: from here on nobody has looked for secrets" })
  return found
}

/** Of files that come to be: those whose name says that they hold secrets. @since 0.1.0 @category combinators */
export const inNames = (paths: ReadonlyArray<string>): ReadonlyArray<LikelySecret> =>
  paths.filter((path) => files.test(path)).map((path) => ({
    path,
    line: null,
    what: "a file that usually holds secrets"
  }))
