/**
 * What the loopback listener of a login answers (reading 6.4): which requests are the answer of the authorization server,
 * and the static pages. Nothing of a request is repeated in a page.
 *
 * @since 0.1.0
 */
import type * as Either from "effect/Either"
import type { LoopbackAnswer, LoopbackRequest } from "../platform/Loopback.ts"
import { type ExpectedResponse, isAnswer, readResponse } from "./AuthorizationResponse.ts"
import type { OAuthError } from "./OAuthClient.ts"

/** The path of every redirect. @since 0.1.0 @category constants */
export const callbackPath = "/callback"

const headers: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
}

const page = (status: number, title: string, text: string): LoopbackAnswer => ({
  status,
  headers,
  body: `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>` +
    `<body><h1>${title}</h1><p>${text}</p></body></html>\n`
})

const done = page(200, "Back to the terminal", "The answer of the login has arrived. You can close this window.")
const refused = page(
  200,
  "The login did not succeed",
  "The server refused it; the terminal shows its reason. You can close this window."
)
const foreign = page(
  400,
  "The login was stopped",
  "This answer does not belong to the login that the terminal waits for. Start the login again there."
)
const notFound = page(404, "Nothing here", "This address only takes the answer of a login.")
const bad = page(400, "Not an answer of a login", "The terminal goes on waiting.")

const pageOf = (result: Either.Either<string, OAuthError>): LoopbackAnswer =>
  result._tag === "Right" ? done : result.left.reason === "authorization_error" ? refused : foreign

/**
 * The page for a request, and the end of the login if it is one. `authority` is the redirect's own host: another one in
 * the request is a name that somebody pointed at this machine (DNS rebinding).
 *
 * @since 0.1.0
 * @category combinators
 */
export const answerCallback = (
  request: LoopbackRequest,
  host: string,
  expected: ExpectedResponse
): { readonly page: LoopbackAnswer; readonly result: Either.Either<string, OAuthError> | null } => {
  const ignored = (answer: LoopbackAnswer) => ({ page: answer, result: null })
  const authority = request.host?.toLowerCase()
  // A browser leaves out the default port.
  if (authority !== `${host}:${request.port}` && !(request.port === 80 && authority === host)) return ignored(bad)
  const mark = request.target.indexOf("?")
  const path = mark < 0 ? request.target : request.target.slice(0, mark)
  const query = mark < 0 ? "" : request.target.slice(mark + 1)
  if (path !== callbackPath) return ignored(notFound)
  if (request.method !== "GET" || !isAnswer(query)) return ignored(bad)
  const result = readResponse(query, expected)
  return { page: pageOf(result), result }
}
