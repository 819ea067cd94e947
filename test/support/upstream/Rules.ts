/** Helpers for judging a request: the first broken rule is thrown, as a provider answers with one complaint. */

export class Violation extends Error {
  readonly param: string | null
  readonly code: string | null
  readonly status: number
  constructor(message: string, param: string | null = null, code: string | null = null, status = 400) {
    super(message)
    this.param = param
    this.code = code
    this.status = status
  }
}

export type Obj = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Obj =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export function must(
  condition: unknown,
  message: string,
  param: string | null = null,
  code: string | null = null
): asserts condition {
  if (!condition) throw new Violation(message, param, code)
}

export const object = (value: unknown, at: string): Obj => {
  must(isObject(value), `${at}: expected an object, but got ${describe(value)}.`, at, "invalid_type")
  return value
}
export const array = (value: unknown, at: string): ReadonlyArray<unknown> => {
  must(Array.isArray(value), `${at}: expected an array, but got ${describe(value)}.`, at, "invalid_type")
  return value
}
export const string = (value: unknown, at: string): string => {
  must(typeof value === "string", `${at}: expected a string, but got ${describe(value)}.`, at, "invalid_type")
  return value
}
export const filled = (value: unknown, at: string): string => {
  const s = string(value, at)
  must(s !== "", `${at}: must not be empty.`, at, "empty_string")
  return s
}
export const optional = <A>(value: unknown, at: string, check: (value: unknown, at: string) => A): A | undefined =>
  value === undefined || value === null ? undefined : check(value, at)
export const boolean = (value: unknown, at: string): boolean => {
  must(typeof value === "boolean", `${at}: expected a boolean, but got ${describe(value)}.`, at, "invalid_type")
  return value
}
export const within = (min: number, max: number, integer = false) => (value: unknown, at: string): number => {
  must(
    typeof value === "number" && Number.isFinite(value),
    `${at}: expected a number, but got ${describe(value)}.`,
    at,
    "invalid_type"
  )
  must(!integer || Number.isInteger(value), `${at}: expected an integer, but got ${value}.`, at, "invalid_type")
  must(value >= min && value <= max, `${at}: ${value} is not between ${min} and ${max}.`, at, "invalid_value")
  return value
}
export const oneOf = (...allowed: ReadonlyArray<string>) => (value: unknown, at: string): string => {
  must(
    typeof value === "string" && allowed.includes(value),
    `${at}: ${JSON.stringify(value)} is not one of ${allowed.join(", ")}.`,
    at,
    "invalid_value"
  )
  return value
}
export const onlyKeys = (value: Obj, allowed: ReadonlySet<string>, at: string): void => {
  for (const key of Object.keys(value)) {
    must(
      allowed.has(key),
      `${at === "" ? key : `${at}.${key}`}: unknown parameter, extra inputs are not permitted.`,
      at === "" ? key : `${at}.${key}`,
      "unknown_parameter"
    )
  }
}

export const describe = (value: unknown): string =>
  value === undefined ? "nothing" : value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`

export const toolName = (value: unknown, at: string): string => {
  const name = string(value, at)
  must(/^[a-zA-Z0-9_-]{1,64}$/.test(name), `${at}: ${JSON.stringify(name)} must match ^[a-zA-Z0-9_-]{1,64}$.`, at)
  return name
}

/** A schema of a function for OpenAI: an object with properties; strict ones are closed and require everything. */
export const functionSchema = (value: unknown, strict: boolean, name: string, at: string): void => {
  const schema = object(value, at)
  must(
    schema["type"] === "object",
    `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got ${
      JSON.stringify(schema["type"])
    }.`,
    at,
    "invalid_function_parameters"
  )
  must(
    isObject(schema["properties"]),
    `Invalid schema for function '${name}': In context=(), object schema missing properties.`,
    at,
    "invalid_function_parameters"
  )
  if (!strict) return
  must(
    schema["additionalProperties"] === false,
    `Invalid schema for function '${name}': In context=(), 'additionalProperties' is required to be supplied and to be false (strict is on, also when it is not given).`,
    at,
    "invalid_function_parameters"
  )
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  for (const key of Object.keys(schema["properties"])) {
    must(
      required.includes(key),
      `Invalid schema for function '${name}': In context=(), 'required' must include every key in properties. Missing '${key}'.`,
      at,
      "invalid_function_parameters"
    )
  }
}

export const stringMap = (value: unknown, at: string): void => {
  const map = object(value, at)
  must(Object.keys(map).length <= 16, `${at}: at most 16 keys.`, at)
  for (const [key, entry] of Object.entries(map)) {
    const s = string(entry, `${at}.${key}`)
    must(key.length <= 64 && s.length <= 512, `${at}.${key}: too long.`, at)
  }
}

/** FNV-1a, so that what was signed or encrypted here is known again without keeping state. */
const hash = (text: string): string => {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193) >>> 0
  return h.toString(16).padStart(8, "0")
}
export const signatureOf = (thinking: string): string => `sig+/${hash(`thinking:${thinking}`)}==`
export const redactedOf = (data: string): string => `red+/${Buffer.from(data).toString("base64")}.${hash(data)}`
export const isRedacted = (data: string): boolean => {
  const match = /^red\+\/([^.]*)\.([0-9a-f]{8})$/.exec(data)
  return match !== null && hash(Buffer.from(match[1] ?? "", "base64").toString()) === match[2]
}
export const encryptedOf = (text: string): string =>
  `enc+/${Buffer.from(text).toString("base64")}.${hash(`encrypted:${text}`)}`
export const isEncrypted = (data: string): boolean => {
  const match = /^enc\+\/([^.]*)\.([0-9a-f]{8})$/.exec(data)
  return match !== null && hash(`encrypted:${Buffer.from(match[1] ?? "", "base64").toString()}`) === match[2]
}
