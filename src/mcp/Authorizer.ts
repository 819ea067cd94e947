/**
 * Who gives an HTTP transport its tokens and hears of every refusal (reading 1.13).
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { McpError } from "./McpError.ts"

/** A server said 401 or 403. @since 0.1.0 @category models */
export interface Refusal {
  readonly status: 401 | 403
  /** The header `www-authenticate`; several of them joined. */
  readonly challenge: string | undefined
  /** What was sent; null = nothing. */
  readonly used: Redacted.Redacted | null
  /** How often this request has been refused before. */
  readonly refused: number
}

/** For one server and one origin; its tokens go nowhere else. @since 0.1.0 @category models */
export interface McpAuthorizer {
  /** The access token for the next request; null = none yet. */
  readonly token: Effect.Effect<Redacted.Redacted | null, McpError>
  /**
   * True = there is another token now, send the request again. False = a login is not the matter: the status stands.
   * Fails with `needs_login` when one is.
   */
  readonly refused: (refusal: Refusal) => Effect.Effect<boolean, McpError>
}
