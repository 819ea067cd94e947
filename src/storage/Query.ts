/**
 * One statement through the client.
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/**
 * Runs a statement with `?` parameters and gives its rows. Inside a transaction it goes straight to the connection: the
 * transaction has a span already, and one for each of its statements would cost more than the statement.
 *
 * @since 0.1.0
 * @category combinators
 */
export const query = <A extends object = object>(
  sql: SqlClient.SqlClient,
  text: string,
  params: ReadonlyArray<unknown> = []
): Effect.Effect<ReadonlyArray<A>, SqlError> =>
  Effect.flatMap(
    Effect.serviceOption(SqlClient.TransactionConnection),
    Option.match({
      onNone: (): Effect.Effect<ReadonlyArray<A>, SqlError> => sql.unsafe<A>(text, params),
      onSome: ([connection]) => connection.execute(text, params, undefined)
    })
  )
