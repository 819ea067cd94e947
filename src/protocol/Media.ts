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

/** What stands in for a part that cannot be sent. @since 0.1.0 @category encoding */
export const placeholder = (part: ImagePart | FilePart): TextPart => ({
  type: "text",
  text: part.type === "image"
    ? `[image left out: the model takes no images (${part.media_type})]`
    : `[file left out: the model does not take it (${part.filename ?? "unnamed"}, ${part.media_type})]`
})

/** Images and files that the model is known not to take become text (section 4, document). @since 0.1.0 @category combinators */
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
    return part
  })
