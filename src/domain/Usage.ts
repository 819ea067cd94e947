/**
 * Token counts of the agent side. `input_tokens` excludes what was read from or written to a prompt cache, so that the
 * whole prompt is `input_tokens + cache_read_tokens + cache_write_tokens`; `reasoning_tokens` is a part of
 * `output_tokens`, never added to it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/** @since 0.1.0 @category schemas */
export const Usage = Schema.Struct({
  input_tokens: Schema.Number,
  output_tokens: Schema.Number,
  cache_read_tokens: Schema.Number,
  cache_write_tokens: Schema.Number,
  reasoning_tokens: Schema.optional(Schema.Number)
})
/** @since 0.1.0 @category models */
export type Usage = typeof Usage.Type

/** @since 0.1.0 @category constructors */
export const empty: Usage = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 }

/** @since 0.1.0 @category combinators */
export const add = (a: Usage, b: Usage): Usage => {
  const reasoning = (a.reasoning_tokens ?? 0) + (b.reasoning_tokens ?? 0)
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_read_tokens: a.cache_read_tokens + b.cache_read_tokens,
    cache_write_tokens: a.cache_write_tokens + b.cache_write_tokens,
    ...(reasoning > 0 ? { reasoning_tokens: reasoning } : {})
  }
}
