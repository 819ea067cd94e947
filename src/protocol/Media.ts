/**
 * Images and files in requests: data URLs, texts inside files, and what to say when a model cannot take them.
 *
 * @since 0.1.0
 */
import type { FilePart, ImagePart, TextPart } from "../domain/Message.ts"
import type { InputPart } from "./History.ts"
import type { Lossiness } from "./Lossiness.ts"
import type { ModelTraits } from "./Protocol.ts"

/** @since 0.1.0 @category encoding */
export const dataUrl = (part: { readonly media_type: string; readonly data: string }): string =>
  `data:${part.media_type};base64,${part.data}`

/** The address of an image, a data URL when its bytes are at hand. @since 0.1.0 @category encoding */
export const imageUrl = (part: ImagePart): string =>
  part.data === undefined ? part.url ?? "" : dataUrl({ media_type: part.media_type, data: part.data })

const textual =
  /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|toml|javascript|typescript|x-sh|sql|graphql)\b|[^;]+\+(?:json|xml)\b)/i

/** Is the file text, whatever it is called? @since 0.1.0 @category combinators */
export const isTextual = (media_type: string): boolean => textual.test(media_type)

/** The text in a base64 file, invalid bytes as U+FFFD; `undefined` when it is not base64. @since 0.1.0 @category decoding */
export const decodeText = (part: FilePart): string | undefined => {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(part.data), (c) => c.charCodeAt(0)))
  } catch {
    return undefined
  }
}

/** A text file as a text part that names it. @since 0.1.0 @category encoding */
export const fileText = (part: FilePart): TextPart | undefined => {
  const text = isTextual(part.media_type) ? decodeText(part) : undefined
  return text === undefined ? undefined : { type: "text", text: `[file ${part.filename ?? part.media_type}]\n${text}` }
}

/** Characters of base64 of an image that the protocols take (5 MiB). */
const maxImageLength = 5 * 1024 * 1024

/** The kinds of images that every protocol takes, by how their bytes begin. */
const imageKinds: ReadonlyArray<readonly [begin: RegExp, media_type: string]> = [
  [/^\x89PNG/, "image/png"],
  [/^\xff\xd8\xff/, "image/jpeg"],
  [/^GIF8/, "image/gif"],
  [/^RIFF[^]{4}WEBP/, "image/webp"]
]

/** Base64 as the protocols want it: no blanks, padded; `undefined` when it is none, or empty. */
const strictBase64 = (data: string): string | undefined => {
  const text = (/\s/.test(data) ? data.replace(/\s+/g, "") : data).replace(/=+$/, "")
  return text === "" || text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)
    ? undefined
    : text.padEnd(Math.ceil(text.length / 4) * 4, "=")
}

/**
 * A part with bytes that a provider would not refuse, or why there is none. What tools hand on is not always what they say it
 * is, and a refused part stays in the history: every later request would fail, too.
 */
const sound = <P extends ImagePart | FilePart>(part: P): P | string => {
  if (part.data === undefined) return part
  const data = strictBase64(part.data)
  if (data === undefined) return "its data is no base64"
  if (part.type === "file") return data === part.data ? part : { ...part, data }
  if (data.length > maxImageLength) {
    return `it is larger than the ${maxImageLength / (1024 * 1024)} MiB that models take`
  }
  const start = atob(data.slice(0, 16))
  const media_type = imageKinds.find(([begin]) => begin.test(start))?.[1]
  if (media_type === undefined) return "it is no PNG, JPEG, GIF or WebP"
  return data === part.data && media_type === part.media_type ? part : { ...part, data, media_type }
}

/** What stands in for a part that cannot be sent. @since 0.1.0 @category encoding */
export const placeholder = (part: ImagePart | FilePart, why?: string): TextPart => ({
  type: "text",
  text: part.type === "image"
    ? `[image left out: ${why ?? "the model takes no images"} (${part.media_type})]`
    : `[file left out: ${why ?? "the model does not take it"} (${part.filename ?? "unnamed"}, ${part.media_type})]`
})

/**
 * Images and files that the model is known not to take become text (section 4, document), and so do those that no model takes:
 * broken base64, an image of another kind, one that is too large.
 *
 * @since 0.1.0
 * @category combinators
 */
export const fit = (
  parts: ReadonlyArray<InputPart>,
  traits: ModelTraits,
  lossiness: Lossiness
): ReadonlyArray<InputPart> =>
  parts.map((part) => {
    if (part.type === "image" && (traits.images === false || (part.data === undefined && part.url === undefined))) {
      lossiness.drop("image", "the model takes none, replaced by a note")
      return placeholder(part)
    }
    if (part.type === "file" && traits.documents === false) {
      const text = fileText(part)
      if (text !== undefined) return text
      lossiness.drop("file", "the model takes none, replaced by a note")
      return placeholder(part)
    }
    if (part.type === "text") return part
    const found = sound(part)
    if (typeof found !== "string") return found
    lossiness.drop(part.type, `${found}, replaced by a note`)
    return placeholder(part, found)
  })
