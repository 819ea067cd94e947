/**
 * Servers that are switched off, told by a look at the text: who keeps many of them does not wait at every start for what
 * no one asked for.
 *
 * Only what the check of the settings takes as it stands, without a word, is recognised: a definition in plain texts, its
 * keys in their usual order, each once, and `"disabled": true` behind them. Everything else is read as ever.
 *
 * @since 0.1.0
 */
import { once } from "../domain/Once.ts"

const space = "[ \\t\\r\\n]*"
const comma = `${space},${space}`
const colon = `${space}:${space}`
/** Without escapes, so that equal names are equal texts. */
const text = "\"[^\"\\\\\\u0000-\\u001f]*\""
const filled = "\"[^\"\\\\\\u0000-\\u001f]+\""
/** An address that every reader of addresses takes. */
const label = "[a-z][a-z0-9]*"
const address = `"https?://(?:127\\.0\\.0\\.1|(?:${label}[.-])*${label})(?::[1-9][0-9]{0,3})?(?:/[\\w.~/-]*)?"`

const key = (name: string, value: string): string => `"${name}"${colon}${value}`
const before = (name: string, value: string): string => `(?:${key(name, value)}${comma})?`
const behind = (name: string, value: string): string => `(?:${comma}${key(name, value)})?`
const item = `${text}(?:${comma}(?=")|${space}(?=\\]))`
const texts = (least: "*" | "+"): string => `\\[${space}(?:${item})${least}\\]`
/** Texts by name; whether one of them stands twice is seen in what was found. */
const byName = `(\\{${space}(?:${text}${colon}${text}(?:${comma}(?=")|${space}(?=\\})))*\\})`

const whole = (definition: string): RegExp =>
  new RegExp(
    `^\\{${space}${definition}${behind("required", "(?:true|false)")}${comma}${key("disabled", "true")}${space}\\}`
  )

const program = once(() =>
  whole(
    before("type", "\"stdio\"") + key("command", `(?:${filled}|${texts("+")})`) + behind("args", texts("*")) +
      behind("env", byName) + behind("cwd", filled)
  )
)

const remote = once(() => whole(before("type", "\"(?:http|sse)\"") + key("url", address) + behind("headers", byName)))

const pair = once(() => new RegExp(`(${text})${colon}${text}`, "g"))

/** In time that grows with the length alone, whatever a checkout puts there. */
const isEachOnce = (found: string): boolean => {
  if (!found.includes(",")) return true
  const names = Array.from(found.matchAll(pair()), ([, name]) => name)
  return new Set(names).size === names.length
}

/** Larger ones are read as ever, so that a look in vain costs little. */
const maxLength = 1_024

/**
 * Where the entry of `mcp_servers` that begins at `at` ends, when it is such a server; else -1.
 *
 * @since 0.1.0
 * @category decoding
 */
export const endOfDisabled = (source: string, at: number): number => {
  const text = source.slice(at, at + maxLength)
  const isRemote = /"(?:command|url)"/.exec(text)?.[0] === "\"url\""
  const found = (isRemote ? remote() : program()).exec(text)
  if (found === null) return -1
  const [{ length }, named] = found
  return named === undefined || isEachOnce(named) ? at + length : -1
}
