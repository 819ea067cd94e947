/**
 * Call ids as providers take them: letters, digits, `_` and `-`, at most 64 characters, unique within a request
 * (protocols, section 4). Both sides of a pair go through the same map, and the result is the same for the same history.
 *
 * @since 0.1.0
 */
import { sha256Hex } from "../codec/Sha256.ts"

/** `short` is the form of servers that take exactly nine letters and digits. @since 0.1.0 @category models */
export type CallIdForm = "usual" | "short"

const usual = /^[A-Za-z0-9_-]{1,64}$/
const short = /^[A-Za-z0-9]{9}$/

const shorten = (seed: string): string => sha256Hex(seed).slice(0, 9)

const clean = (id: string): string => {
  const safe = id.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 55)
  return `${safe === "" ? "call" : safe}_${sha256Hex(id).slice(0, 8)}`
}

/** One request's ids, handed out in the order of the calls. @since 0.1.0 @category models */
export interface CallIds {
  /** The id to send for the next call; call it once a call. */
  readonly next: (id: string) => string
}

/** @since 0.1.0 @category constructors */
export const make = (form: CallIdForm = "usual"): CallIds => {
  const used = new Set<string>()
  const first = (id: string): string =>
    form === "short" ? (short.test(id) ? id : shorten(id)) : (usual.test(id) ? id : clean(id))
  const again = (id: string, n: number): string =>
    form === "short" ? shorten(`${id}#${n}`) : `${first(id).slice(0, 60 - String(n).length)}_${n}`
  return {
    next: (id) => {
      let wire = first(id)
      for (let n = 2; used.has(wire); n++) wire = again(id, n)
      used.add(wire)
      return wire
    }
  }
}
