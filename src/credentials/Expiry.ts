/**
 * When a login is refreshed and when it cannot be sent any more (reading 6.7). Pure.
 *
 * @since 0.1.0
 */
import * as Redacted from "effect/Redacted"
import type { ProviderCredential } from "./ProviderCredential.ts"

/** A login is refreshed when less than this is left, in seconds (reading 6.7). @since 0.1.0 @category constants */
export const earlySeconds = 60

/** Is less than a minute left? `now` in milliseconds. @since 0.1.0 @category combinators */
export const isDue = ({ access_token, expires_at }: ProviderCredential, now: number): boolean =>
  Redacted.value(access_token) === "" || (expires_at !== null && expires_at - now / 1000 < earlySeconds)

/** Can it not be sent any more? `now` in milliseconds. @since 0.1.0 @category combinators */
export const isExpired = ({ access_token, expires_at }: ProviderCredential, now: number): boolean =>
  Redacted.value(access_token) === "" || (expires_at !== null && expires_at <= now / 1000)

/** The file of logins below the config home. @since 0.1.0 @category constants */
export const fileIn = (config: string): string => `${config}/credentials.json`
