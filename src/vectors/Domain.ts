/**
 * What a domain of the conformance vectors is: a function from an input to an output or an error (reading 18.4).
 *
 * @since 0.1.0
 */

/** An answer without its id. Only `code` of an error is compared. @since 0.1.0 @category models */
export type Outcome =
  | { readonly output: unknown }
  | { readonly error: { readonly code: string; readonly message: string } }

/**
 * Evaluates one case; keeps nothing from one to the next. May throw {@link Refusal}; anything else it throws becomes the
 * error `internal`.
 *
 * @since 0.1.0
 * @category models
 */
export type Domain = (input: unknown) => Outcome

/** Domains by the name that stands in a request. @since 0.1.0 @category models */
export type Registry = ReadonlyMap<string, Domain>

/**
 * Ends an evaluation with an error code: one of the domain, `bad_request` (the input is malformed) or `unsupported` (its
 * form is not known).
 *
 * @since 0.1.0
 * @category errors
 */
export class Refusal extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** @since 0.1.0 @category errors */
export const badRequest = (message: string): Refusal => new Refusal("bad_request", message)

/** @since 0.1.0 @category models */
export type Fields = Readonly<Record<string, unknown>>

/** @since 0.1.0 @category combinators */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** @since 0.1.0 @category decoding */
export const fields = (value: unknown, where: string): Fields => {
  if (!isFields(value)) throw badRequest(`${where} must be an object`)
  return value
}

/** @since 0.1.0 @category decoding */
export const list = (value: unknown, where: string): ReadonlyArray<unknown> => {
  if (!Array.isArray(value)) throw badRequest(`${where} must be an array`)
  return value
}

/** Absent = `otherwise`. @since 0.1.0 @category decoding */
export const flag = (value: unknown, where: string, otherwise: boolean): boolean => {
  if (value === undefined) return otherwise
  if (typeof value !== "boolean") throw badRequest(`${where} must be true or false`)
  return value
}

/** An integer from 0 to `most`. @since 0.1.0 @category decoding */
export const count = (value: unknown, where: string, most: number): number => {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > most) {
    throw badRequest(`${where} must be an integer from 0 to ${most}`)
  }
  return value
}

const digits = new Map(
  [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].map((char, i) => [char.charCodeAt(0), i])
)
const values = Uint8Array.from({ length: 128 }, (_, code) => digits.get(code) ?? 255)

/** RFC 4648 section 4, with its padding and without white space, else `bad_base64`. @since 0.1.0 @category decoding */
export const base64 = (value: unknown, where: string): Uint8Array => {
  if (typeof value !== "string") throw badRequest(`${where} must be a string`)
  const padding = value.endsWith("==") ? 2 : value.endsWith("=") ? 1 : 0
  const length = value.length - padding
  if (value.length % 4 !== 0) throw new Refusal("bad_base64", `${where}: the length is no multiple of 4`)
  const bytes = new Uint8Array(value.length / 4 * 3 - padding)
  let at = 0
  for (let i = 0; i < value.length; i += 4) {
    let group = 0
    for (let k = i; k < i + 4; k++) {
      const code = value.charCodeAt(k)
      const digit = k >= length ? 0 : code < 128 ? values[code] ?? 255 : 255
      if (digit === 255) throw new Refusal("bad_base64", `${where}: character ${k} is not of the alphabet`)
      group = group << 6 | digit
    }
    for (let shift = 16; shift >= 0 && at < bytes.length; shift -= 8) bytes[at++] = group >> shift & 255
  }
  return bytes
}
