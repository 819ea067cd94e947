/**
 * The metadata of the authorization server that a resource names (RFC 8414, then OpenID Connect Discovery 1.0; reading 1.13).
 *
 * Its `issuer` must be exactly the name the resource gave. One form of older servers is taken all the same, with a warning:
 * a server whose name has a path, whose metadata lie at the addresses of that name, and call the issuer by its bare
 * origin. The name that the resource gave stays the one that counts: logins are kept under it, and an `iss` in an answer
 * is compared with it. Servers that send `iss` (RFC 9207) know their name, so for them there is no exception.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { ask, type EndpointCall, shown, success } from "../credentials/EndpointCall.ts"
import { type AuthorizationServer, OAuthError } from "../credentials/OAuthClient.ts"
import { issuerFault, metadataAddresses, readMetadata } from "../credentials/ServerMetadata.ts"
import type { HttpService } from "../platform/Http.ts"

const failed = (message: string): OAuthError => new OAuthError({ reason: "discovery_failed", message })

/** Does it call itself by the bare origin of its name, and send no `iss`? @since 0.1.0 @category combinators */
export const isBareOrigin = (issuer: string, members: Readonly<Record<string, unknown>>): boolean => {
  const { origin, pathname } = new URL(issuer)
  return pathname !== "/" && members["issuer"] === origin &&
    members["authorization_response_iss_parameter_supported"] !== true
}

/** Reason `discovery_failed`. @since 0.1.0 @category combinators */
export const discover = (http: HttpService, issuer: string): Effect.Effect<AuthorizationServer, OAuthError> =>
  Effect.gen(function*() {
    const fault = issuerFault(issuer)
    if (fault !== null) return yield* failed(`the issuer ${shown(issuer)} ${fault}`)
    const problems: Array<string> = []
    for (const url of metadataAddresses(issuer)) {
      const call: EndpointCall = {
        what: "the metadata",
        url,
        method: "GET",
        headers: { accept: "application/json" },
        secrets: []
      }
      const found = yield* Effect.either(Effect.flatMap(ask(http, call), (answer) => success(call, answer)))
      if (found._tag === "Left") {
        problems.push(found.left.message)
        continue
      }
      const bare = isBareOrigin(issuer, found.right)
      if (bare) {
        yield* Effect.logWarning(
          `the metadata at ${shown(url)} call the issuer by its origin alone; ${shown(issuer)} is what counts here`
        )
      }
      const server = readMetadata(issuer, bare ? { ...found.right, issuer } : found.right)
      // Another issuer's document ends it: asking on would let that issuer choose which document counts.
      if ("fault" in server) return yield* failed(`the metadata at ${shown(url)} ${server.fault}`)
      return server
    }
    return yield* failed(`no metadata of the issuer ${shown(issuer)}: ${problems.join("; ")}`)
  })
