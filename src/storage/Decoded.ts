/**
 * A row that was read back, or why it cannot be.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ParseError } from "effect/ParseResult"
import { StorageError } from "./StorageError.ts"

/** A decoded row, or `corrupt` with the place. @since 0.1.0 @category decoding */
export const decoded = <A>(
  path: string,
  table: string,
  result: Either.Either<A, ParseError>
): Effect.Effect<A, StorageError> =>
  Either.isRight(result) ? Effect.succeed(result.right) : Effect.fail(
    new StorageError({
      reason: "corrupt",
      path,
      message: `A row of ${table} in ${path} cannot be read: ${result.left.message}. ` +
        `Move the file away to begin anew, or repair the row`
    })
  )
