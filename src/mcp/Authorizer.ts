/**
 * Who gives an HTTP transport its tokens and hears of every refusal (reading 1.13).
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
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

/** A request that is about to be sent, or was answered. @since 0.1.0 @category models */
export interface AuthorizedRequest {
  readonly method: string
  readonly url: string
}

/** A token and the headers that show it. @since 0.1.0 @category models */
export interface Presented {
  readonly token: Redacted.Redacted
  readonly headers: Readonly<Record<string, string>>
}

/** For one server and one origin; its tokens go nowhere else. @since 0.1.0 @category models */
export interface McpAuthorizer {
  /** How this request shows the access token; null = there is none yet. For one request: proofs are not used twice. */
  readonly present: (request: AuthorizedRequest) => Effect.Effect<Presented | null, McpError>
  /** Hears of every answer before anything else is made of it: a server may give the nonce of the next proof. */
  readonly answered?: (request: AuthorizedRequest, headers: Readonly<Record<string, string>>) => void
  /**
   * True = there is another token now, send the request again. False = a login is not the matter: the status stands.
   * Fails with `needs_login` when one is.
   */
  readonly refused: (refusal: Refusal) => Effect.Effect<boolean, McpError>
}

/** A token that whoever has it may use (RFC 6750). @since 0.1.0 @category constructors */
export const bearer = (token: Redacted.Redacted): Presented => ({
  token,
  headers: { authorization: `Bearer ${Redacted.value(token)}` }
})
