/**
 * How the settings are spoken of.
 *
 * @since 0.1.0
 */
import type * as Document from "./Document.ts"

/** @since 0.1.0 @category encoding */
export const quote = (key: string): string => JSON.stringify(key)

/** The camelCase spelling of a key (reading G3). @since 0.1.0 @category combinators */
export const camel = (key: string): string => key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** How messages name the type of a value. @since 0.1.0 @category encoding */
export const typeName = (node: Document.Node): string =>
  ({
    object: "an object",
    array: "an array",
    string: "a text",
    number: "a number",
    boolean: "a boolean",
    null: "null"
  })[node.type]
