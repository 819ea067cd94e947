/**
 * Forms that servers ask for (`elicitation/create`): the requested schema as fields, defaults, and the check of an answer
 * before it is sent (reading 1.12). Pure. Titled and plain enums, single and multiple, are read in the forms of all
 * revisions; every check takes time linear in its input.
 *
 * @since 0.1.0
 */
import { isJsonObject, type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import type { McpChoice, McpFormField, McpFormRequest, McpFormValue, McpTextFormat } from "./Connection.ts"
import { list, number, object, type Read, shown, text } from "./Wire.ts"

const formats: ReadonlyArray<string> = ["email", "uri", "date", "date-time"]

const isFormat = (value: unknown): value is McpTextFormat => typeof value === "string" && formats.includes(value)

const isText = (value: unknown): value is string => typeof value === "string"

const optional = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  value === undefined ? {} : { [key]: value } as { readonly [P in K]?: V }

/** `[{const, title}]`. */
const titled = (value: unknown): ReadonlyArray<McpChoice> | undefined => {
  if (!Array.isArray(value)) return undefined
  const choices = value.flatMap((each): ReadonlyArray<McpChoice> => {
    const constant = isJsonObject(each) ? text(each, "const") : undefined
    return isJsonObject(each) && constant !== undefined
      ? [{ value: constant, title: text(each, "title") ?? constant }]
      : []
  })
  return choices.length === value.length && choices.length > 0 ? choices : undefined
}

/** `enum`, with the titles of `enumNames` where they are given. */
const plain = (schema: JsonRpcObject): ReadonlyArray<McpChoice> | undefined => {
  const values = own(schema, "enum")
  if (!Array.isArray(values) || values.length === 0 || !values.every(isText)) return undefined
  const names = list(schema, "enumNames")
  return values.map((value, i) => {
    const name = names[i]
    return { value, title: isText(name) ? name : value }
  })
}

const readField = (name: string, schema: unknown, required: boolean): Read<McpFormField> => {
  if (!isJsonObject(schema)) return { why: `field ${shown(name)} has no schema` }
  const base = {
    name,
    title: text(schema, "title") ?? null,
    description: text(schema, "description") ?? null,
    required
  }
  const type = own(schema, "type")
  const given = own(schema, "default")
  if (type === "boolean") {
    return { ok: { ...base, kind: "boolean", ...optional("default", typeof given === "boolean" ? given : undefined) } }
  }
  if (type === "number" || type === "integer") {
    return {
      ok: {
        ...base,
        kind: type,
        ...optional("minimum", number(schema, "minimum")),
        ...optional("maximum", number(schema, "maximum")),
        ...optional("default", number(schema, "default"))
      }
    }
  }
  if (type === "array") {
    const items = object(schema, "items")
    const choices = items === undefined ? undefined : titled(own(items, "anyOf") ?? own(items, "oneOf")) ?? plain(items)
    if (choices === undefined) return { why: `field ${shown(name)} is a list without choices` }
    return {
      ok: {
        ...base,
        kind: "choices",
        choices,
        ...optional("min_items", number(schema, "minItems")),
        ...optional("max_items", number(schema, "maxItems")),
        ...optional("default", Array.isArray(given) && given.every(isText) ? given : undefined)
      }
    }
  }
  const choices = titled(own(schema, "oneOf") ?? own(schema, "anyOf")) ?? plain(schema)
  if (choices !== undefined && (type === "string" || type === undefined)) {
    return { ok: { ...base, kind: "choice", choices, ...optional("default", isText(given) ? given : undefined) } }
  }
  if (type !== "string") return { why: `field ${shown(name)} is of type ${shown(type)}, which no form can ask for` }
  const format = own(schema, "format")
  return {
    ok: {
      ...base,
      kind: "string",
      ...optional("min_length", number(schema, "minLength")),
      ...optional("max_length", number(schema, "maxLength")),
      ...optional("format", isFormat(format) ? format : undefined),
      ...optional("default", isText(given) ? given : undefined)
    }
  }
}

/** `params` of a request in form mode. @since 0.1.0 @category decoding */
export const readForm = (params: JsonRpcObject): Read<McpFormRequest> => {
  const message = text(params, "message")
  if (message === undefined) return { why: "an elicitation without a message" }
  const schema = object(params, "requestedSchema")
  if (schema === undefined) return { why: "an elicitation without a requestedSchema" }
  if (own(schema, "type") !== "object" && own(schema, "type") !== undefined) {
    return { why: "a requestedSchema that is not of type object" }
  }
  const required = new Set(list(schema, "required"))
  const properties = object(schema, "properties") ?? {}
  const fields: Array<McpFormField> = []
  for (const [name, field] of Object.entries(properties)) {
    const read = readField(name, field, required.has(name))
    if ("why" in read) return read
    fields.push(read.ok)
  }
  return { ok: { message, fields } }
}

const email = /^[^\s@"(),:;<>[\\\]]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*$/u
const dateShape = /^(\d{4})-(\d{2})-(\d{2})$/u
const timeShape = /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|[+-](\d{2}):(\d{2}))$/u
const uriShape = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]*$/u

const isDate = (value: string): boolean => {
  const found = dateShape.exec(value)
  if (found === null) return false
  const [year, month, day] = [Number(found[1]), Number(found[2]), Number(found[3])]
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
  return days !== undefined && day >= 1 && day <= days
}

const isDateTime = (value: string): boolean => {
  const found = timeShape.exec(value.slice(11))
  return found !== null && isDate(value.slice(0, 10)) && /[Tt ]/u.test(value.charAt(10)) &&
    Number(found[1]) < 24 && Number(found[2]) < 60 && Number(found[3]) <= 60 &&
    Number(found[4] ?? 0) < 24 && Number(found[5] ?? 0) < 60
}

/** RFC 3339 dates, RFC 3986 URIs with a scheme, addresses as they are in use. @since 0.1.0 @category combinators */
export const hasFormat = (format: McpTextFormat, value: string): boolean => {
  switch (format) {
    case "email":
      return value.length <= 254 && email.test(value)
    case "uri":
      return uriShape.test(value)
    case "date":
      return isDate(value)
    case "date-time":
      return isDateTime(value)
  }
}

/** Characters as JSON Schema counts them: code points. */
const lengthOf = (value: string): number => {
  let count = 0
  for (const _ of value) count++
  return count
}

/** What is wrong with one value; null = it fits. @since 0.1.0 @category combinators */
export const checkValue = (field: McpFormField, value: unknown): string | null => {
  const name = shown(field.name)
  switch (field.kind) {
    case "boolean":
      return typeof value === "boolean" ? null : `${name} must be true or false`
    case "number":
    case "integer": {
      if (typeof value !== "number" || !Number.isFinite(value)) return `${name} must be a number`
      if (field.kind === "integer" && !Number.isInteger(value)) return `${name} must be a whole number`
      if (field.minimum !== undefined && value < field.minimum) return `${name} must be at least ${field.minimum}`
      if (field.maximum !== undefined && value > field.maximum) return `${name} must be at most ${field.maximum}`
      return null
    }
    case "choice":
      return field.choices.some((choice) => choice.value === value) ? null : `${name} must be one of the choices`
    case "choices": {
      if (!Array.isArray(value)) return `${name} must be a list`
      const known = new Set(field.choices.map((choice) => choice.value))
      if (!value.every((each) => known.has(each))) return `${name} holds what is none of the choices`
      if (new Set(value).size !== value.length) return `${name} holds one choice twice`
      if (field.min_items !== undefined && value.length < field.min_items) {
        return `${name} needs at least ${field.min_items} choices`
      }
      if (field.max_items !== undefined && value.length > field.max_items) {
        return `${name} takes at most ${field.max_items} choices`
      }
      return null
    }
    case "string": {
      if (typeof value !== "string") return `${name} must be text`
      const length = lengthOf(value)
      if (field.min_length !== undefined && length < field.min_length) {
        return `${name} must have at least ${field.min_length} characters`
      }
      if (field.max_length !== undefined && length > field.max_length) {
        return `${name} must have at most ${field.max_length} characters`
      }
      return field.format === undefined || hasFormat(field.format, value)
        ? null
        : `${name} must be a valid ${field.format}`
    }
  }
}

/**
 * The content to send: what was given, defaults for what was left out, nothing that was not asked for. `why` names the
 * first field that does not fit.
 *
 * @since 0.1.0
 * @category combinators
 */
export const complete = (
  fields: ReadonlyArray<McpFormField>,
  content: { readonly [name: string]: unknown }
): Read<{ readonly [name: string]: McpFormValue }> => {
  const values: Array<readonly [string, McpFormValue]> = []
  for (const field of fields) {
    const value = own(content, field.name) ?? field.default
    if (value === undefined) {
      if (field.required) return { why: `${shown(field.name)} is required` }
      continue
    }
    const problem = checkValue(field, value)
    if (problem !== null) return { why: problem }
    values.push([field.name, value as McpFormValue])
  }
  return { ok: Object.fromEntries(values) }
}

/** Every field that has one, as a form is shown first. @since 0.1.0 @category combinators */
export const defaults = (fields: ReadonlyArray<McpFormField>): { readonly [name: string]: McpFormValue } =>
  Object.fromEntries(
    fields.flatMap((field) => field.default === undefined ? [] : [[field.name, field.default] as const])
  )
