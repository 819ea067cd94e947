/**
 * What servers give back, as results and messages of ours (readings 1.12, 1.14). Pure. Text becomes text; images, audio,
 * links and structured content stay parts; binary content is never forced into text.
 *
 * @since 0.1.0
 */
import { isJsonObject, type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import type { Part } from "../domain/Message.ts"
import { text as textPart } from "../domain/MessageParts.ts"
import type { McpCallResult, McpContent, McpPromptResult, McpResourceContent } from "./Connection.ts"
import { object, text } from "./Wire.ts"

/** @since 0.1.0 @category models */
export interface Contents {
  /** Text blocks, joined with LF. */
  readonly output: string
  readonly parts: ReadonlyArray<Part>
}

const binary = (media_type: string, data: string, filename?: string): Part =>
  media_type.startsWith("image/")
    ? { type: "image", media_type, data }
    : { type: "file", media_type, data, ...(filename === undefined ? {} : { filename }) }

const lastSegment = (uri: string): string | undefined => {
  const name = /([^/?#]+)\/?(?:[?#].*)?$/.exec(uri)?.[1]
  return name === undefined || name === "" ? undefined : name
}

/** Where something came from, in a line of its own before it. */
const heading = (uri: string, media_type: string | undefined): string =>
  `[resource ${uri}${media_type === undefined ? "" : ` (${media_type})`}]`

const resource = (given: JsonRpcObject): string | Part => {
  const uri = text(given, "uri") ?? ""
  const media_type = text(given, "mimeType")
  const plain = text(given, "text")
  if (plain !== undefined) return `${heading(uri, media_type)}\n${plain}`
  const blob = text(given, "blob")
  return blob === undefined
    ? heading(uri, media_type)
    : binary(media_type ?? "application/octet-stream", blob, lastSegment(uri))
}

const link = (block: McpContent): Part => {
  const facts = ["title", "mimeType", "description"].flatMap((key) => text(block, key) ?? [])
  return textPart(
    `[resource link ${text(block, "uri") ?? ""}${text(block, "name") === undefined ? "" : ` "${text(block, "name")}"`}${
      facts.length === 0 ? "" : `: ${facts.join("; ")}`
    }]`
  )
}

/** One block: a string is text, anything else a part. @since 0.1.0 @category combinators */
export const block = (given: McpContent): string | Part => {
  const data = text(given, "data")
  const media_type = text(given, "mimeType")
  switch (given.type) {
    case "text":
      return text(given, "text") ?? ""
    case "image":
    case "audio":
      return data === undefined
        ? `[${given.type} without data]`
        : given.type === "image"
        ? { type: "image", media_type: media_type ?? "image/png", data }
        : { type: "file", media_type: media_type ?? "audio/wav", data }
    case "resource_link":
      return link(given)
    case "resource":
      return resource(object(given, "resource") ?? {})
    default:
      // something newer: kept as it came
      return textPart(JSON.stringify(given))
  }
}

const collect = (blocks: ReadonlyArray<string | Part>): Contents => ({
  output: blocks.filter((each) => typeof each === "string").join("\n"),
  parts: blocks.filter((each) => typeof each !== "string")
})

const same = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  const [left, right] = [Object.entries(a), Object.entries(b)]
  return Array.isArray(a) === Array.isArray(b) && left.length === right.length &&
    left.every(([key, value]) => Object.hasOwn(b, key) && same(value, (b as Readonly<Record<string, unknown>>)[key]))
}

const parsed = (value: string): unknown => {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

/**
 * The contents of a result. Structured content is a part of its own, unless a text block says the same: servers repeat it
 * there for older clients.
 *
 * @since 0.1.0
 * @category combinators
 */
export const ofResult = ({ content, structured_content }: McpCallResult): Contents => {
  const { output, parts } = collect(content.map(block))
  if (structured_content === undefined) return { output, parts }
  const repeated = content.some((each) => {
    const said = each.type === "text" ? text(each, "text") : undefined
    return said !== undefined && same(parsed(said), structured_content)
  })
  return { output, parts: repeated ? parts : [...parts, textPart(JSON.stringify(structured_content))] }
}

/** A resource that was read, as one text and parts. @since 0.1.0 @category combinators */
export const ofResource = (contents: ReadonlyArray<McpResourceContent>): Contents =>
  collect(
    contents.map((each) =>
      "text" in each
        ? contents.length === 1 ? each.text : `${heading(each.uri, each.mime_type)}\n${each.text}`
        : binary(each.mime_type ?? "application/octet-stream", each.blob, lastSegment(each.uri))
    )
  )

/** The same as parts of a message, each text under its address. @since 0.1.0 @category combinators */
export const asAttachment = (server: string, contents: ReadonlyArray<McpResourceContent>): ReadonlyArray<Part> =>
  contents.map((each) =>
    "text" in each
      ? textPart(`\n\n${heading(`@${server}:${each.uri}`, each.mime_type)}\n${each.text}`)
      : binary(each.mime_type ?? "application/octet-stream", each.blob, lastSegment(each.uri))
  )

/**
 * The messages of a prompt as one message of the user's: what the server has put into the assistant's mouth is marked as
 * that.
 *
 * @since 0.1.0
 * @category combinators
 */
export const ofPrompt = ({ messages }: McpPromptResult): ReadonlyArray<Part> =>
  messages.flatMap(({ content, role }, i): ReadonlyArray<Part> => {
    const one = block(content)
    const between = i === 0 ? "" : "\n\n"
    if (typeof one !== "string") return role === "user" ? [one] : [textPart(`${between}[assistant]`), one]
    return [textPart(role === "user" ? `${between}${one}` : `${between}[assistant] ${one}`)]
  })

/** `annotations.readOnlyHint`. @since 0.1.0 @category combinators */
export const saysReadOnly = (annotations: JsonRpcObject | undefined): boolean =>
  isJsonObject(annotations) && own(annotations, "readOnlyHint") === true
