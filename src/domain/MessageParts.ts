/**
 * Reading and making messages. Without the schemas: what runs at every start needs only these.
 *
 * @since 0.1.0
 */
import type { Message, Part, TextPart, ToolCallPart } from "./Message.ts"

/** @since 0.1.0 @category constructors */
export const text = (value: string): TextPart => ({ type: "text", text: value })

/** All parts of a message in order, the short forms expanded; an empty string gives no part. @since 0.1.0 @category combinators */
export const partsOf = (message: Message): ReadonlyArray<Part> => {
  const content = typeof message.content === "string"
    ? (message.content === "" ? [] : [text(message.content)])
    : message.content
  const calls = message.tool_calls ?? []
  return calls.length === 0
    ? content
    : [
      ...content,
      ...calls.map((call): ToolCallPart => ({
        type: "tool_call",
        id: call.id,
        name: call.name,
        arguments: call.arguments
      }))
    ]
}

/** The text parts joined with nothing between them. @since 0.1.0 @category combinators */
export const textOf = (message: Message): string =>
  typeof message.content === "string"
    ? message.content
    : message.content.reduce((all, part) => part.type === "text" ? all + part.text : all, "")

/** The tool calls of an assistant message, in order. @since 0.1.0 @category combinators */
export const toolCallsOf = (message: Message): ReadonlyArray<ToolCallPart> =>
  partsOf(message).filter((part): part is ToolCallPart => part.type === "tool_call")
