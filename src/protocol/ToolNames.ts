/**
 * Provider aliases of tool names that are too long (reading 1.9). Rules, hooks and audit see canonical names only: an
 * alias is made for one request and mapped back in its answer.
 *
 * @since 0.1.0
 */
import { sha256Hex } from "../codec/Sha256.ts"

/** Longest tool name, in characters, unless the model says otherwise. @since 0.1.0 @category constants */
export const defaultLimit = 64

/**
 * `name` itself when it fits; else its first `limit - digits - 1` characters, `_`, and the first `digits` hexadecimal
 * digits of its SHA-256. Characters are code points; `limit` is at least 10.
 *
 * @since 0.1.0
 * @category encoding
 */
export const alias = (name: string, limit: number = defaultLimit, digits: 8 | 16 = 8): string => {
  if (name.length <= limit) return name
  return [...name].length <= limit ? name : marked(name, name, limit, digits)
}

/** The beginning of `text` and a mark that stands for `name`. */
const marked = (text: string, name: string, limit: number, digits: 8 | 16): string => {
  const hash = sha256Hex(name).slice(0, Math.min(digits, limit - 1))
  return `${[...text].slice(0, limit - hash.length - 1).join("")}_${hash}`
}

/** Sent for a call that the model gave no name. */
const unnamed = "unnamed_tool"

const legal = /^[A-Za-z0-9_-]+$/

/** A name that a model made up may have characters that no provider takes back. */
const sendable = (name: string, limit: number, digits: 8 | 16): string =>
  name === "" && digits === 8
    ? alias(unnamed, limit, digits)
    : legal.test(name)
    ? alias(name, limit, digits)
    : marked(name === "" ? unnamed : name.replace(/[^A-Za-z0-9_-]/gu, "_"), name, limit, digits)

/**
 * `wire` gives the name to send for a canonical one, `names` maps what was sent back; it holds only names that differ.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolNames {
  readonly wire: (name: string) => string
  readonly names: ReadonlyMap<string, string>
}

/**
 * The aliases of one request: of names that are too long, and of names that are empty or have characters other than
 * letters, digits, `_` and `-` (a call to a tool that never was). An alias that meets another name of the request takes 16 digits; the
 * result does not depend on the order of the names.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (canonical: Iterable<string>, limit: number = defaultLimit): ToolNames => {
  const all = new Set(canonical)
  const claims = new Map<string, number>()
  for (const name of all) {
    const short = sendable(name, limit, 8)
    claims.set(short, (claims.get(short) ?? 0) + 1)
  }
  const toWire = new Map<string, string>()
  const names = new Map<string, string>()
  for (const name of all) {
    const short = sendable(name, limit, 8)
    if (short === name) continue
    const sent = (claims.get(short) ?? 0) > 1 ? sendable(name, limit, 16) : short
    toWire.set(name, sent)
    names.set(sent, name)
  }
  return { wire: (name) => toWire.get(name) ?? sendable(name, limit, 8), names }
}
