/**
 * What goes wrong with keys and logins as the end of a command, and how their times are told.
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import type { CredentialError } from "../credentials/CredentialError.ts"
import type { OAuthError } from "../credentials/OAuthClient.ts"
import { type CliExit, failed, usage } from "./Exit.ts"

/** Not logged in, or something that the user has to correct. */
const usageReasons: ReadonlySet<CredentialError["reason"]> = new Set([
  "corrupt",
  "insecure",
  "invalid_name",
  "needs_login",
  "not_configured",
  "not_found"
])

/** Not logged in, settings or files to correct: exit code 2; everything else 1. @since 0.1.0 @category constructors */
export const credentialExit = ({ message, reason }: CredentialError): CliExit =>
  usageReasons.has(reason) ? usage(message) : failed(message)

/** No login set up: exit code 2; refused, too late, or not to be reached: 1. @since 0.1.0 @category constructors */
export const oauthExit = ({ message, reason }: OAuthError): CliExit =>
  reason === "not_configured" ? usage(message) : failed(message)

/** `42 min`, `3 h`, `12 days`. @since 0.1.0 @category encoding */
export const spanText = (seconds: number): string =>
  seconds < 60
    ? `${Math.max(0, Math.floor(seconds))} s`
    : seconds < 2 * 3_600
    ? `${Math.floor(seconds / 60)} min`
    : seconds < 2 * 86_400
    ? `${Math.floor(seconds / 3_600)} h`
    : `${Math.floor(seconds / 86_400)} days`

/** Until when something is good; `expires_at` in seconds since the epoch, `now` in milliseconds. @since 0.1.0 @category encoding */
export const untilText = (expires_at: number | null, now: number): string => {
  if (expires_at === null) return "good until the server says otherwise"
  const left = expires_at - now / 1_000
  // a date that no calendar has is told by its span alone
  const at = Math.abs(expires_at) < 8e12
    ? DateTime.formatIso(DateTime.unsafeMake(expires_at * 1_000)).slice(0, 16).replace("T", " ")
    : null
  return left <= 0
    ? `expired${at === null ? "" : ` at ${at} UTC`}`
    : `good until ${at === null ? "the end of days" : `${at} UTC`} (${spanText(left)})`
}
