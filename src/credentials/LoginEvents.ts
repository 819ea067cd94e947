/**
 * What a login says while it goes on, for whoever shows it. Texts of servers are safe for a terminal.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"

/**
 * | type | meaning |
 * | --- | --- |
 * | `address` | log in at `url`; `opening` = a browser is being opened, else `why` says why not, and the user opens it |
 * | `browser_failed` | the browser could not be opened after all: the user opens `url` |
 * | `paste_rejected` | what was pasted is no answer of this login; the next one is waited for |
 * | `device_code` | type `user_code` at `verification_uri`, until `expires_at` (seconds since the epoch) |
 * | `delayed` | a poll failed, the next one comes after `delay_ms` |
 * | `exchanging` | the user is done, the tokens are being fetched |
 *
 * @since 0.1.0
 * @category models
 */
export type LoginEvent =
  | { readonly type: "address"; readonly url: string; readonly opening: boolean; readonly why: string | null }
  | { readonly type: "browser_failed"; readonly url: string }
  | { readonly type: "paste_rejected"; readonly message: string }
  | {
    readonly type: "device_code"
    readonly user_code: string
    readonly verification_uri: string
    readonly verification_uri_complete: string | null
    readonly expires_at: number
  }
  | { readonly type: "delayed"; readonly message: string; readonly delay_ms: number }
  | { readonly type: "exchanging" }

/** @since 0.1.0 @category models */
export type LoginEvents = (event: LoginEvent) => Effect.Effect<void>
