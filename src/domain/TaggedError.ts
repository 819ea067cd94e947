/**
 * Typed errors as `Schema.TaggedError` declares them, without the schema: a class of schemas takes a tenth of a
 * millisecond to make, a start loads two dozen of them, and none of these errors is ever decoded. The fields are there for
 * whoever asks (`FileError.fields`); what is given to the constructor is checked by the types.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import type * as Schema from "effect/Schema"
import { once } from "./Once.ts"

/** @since 0.1.0 @category models */
export interface TaggedErrorClass<Tag extends string, Fields extends Schema.Struct.Fields> {
  new(
    props: Schema.Struct.Constructor<Fields>
  ): Cause.YieldableError & { readonly _tag: Tag } & Schema.Struct.Type<Fields>
  readonly identifier: string
  readonly fields: Fields
}

/**
 * `identifier` is the class's own name in the package, `@hanzo/dev/<room>/<Name>`; `tag` is what `Effect.catchTag` takes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const TaggedError =
  (identifier: string) =>
  <const Tag extends string, const Fields extends Schema.Struct.Fields>(
    tag: Tag,
    fields: () => Fields
  ): TaggedErrorClass<Tag, Fields> => {
    const made = once(fields)
    class Base extends Data.TaggedError(tag)<Record<never, never>> {
      static readonly identifier = identifier
      static get fields(): Fields {
        return made()
      }
    }
    return Base as unknown as TaggedErrorClass<Tag, Fields>
  }
