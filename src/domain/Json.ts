/**
 * JSON as a type.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/** A JSON object. @since 0.1.0 @category schemas */
export const JsonObject = Schema.Record({ key: Schema.String, value: Schema.Unknown })
/** @since 0.1.0 @category models */
export type JsonObject = typeof JsonObject.Type
