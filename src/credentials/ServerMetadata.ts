/**
 * The metadata of an authorization server: where it lies (RFC 8414, section 3; OpenID Connect Discovery 1.0, section 4)
 * and what is taken from it.
 *
 * @since 0.1.0
 */
import { addressFault } from "./EndpointCall.ts"
import type { AuthorizationServer } from "./OAuthClient.ts"

/** Why an issuer is none; null = it is one (RFC 8414, section 2). @since 0.1.0 @category combinators */
export const issuerFault = (issuer: string): string | null => {
  const fault = addressFault(issuer, null)
  if (fault !== null) return fault
  const url = new URL(issuer)
  return /[?#]/u.test(issuer)
    ? "must have neither query nor fragment"
    : url.username !== "" || url.password !== ""
    ? "must have neither user nor password"
    : null
}

/**
 * The addresses to ask, in order: RFC 8414, then OpenID Connect with its path put in and appended.
 *
 * @since 0.1.0
 * @category combinators
 */
export const metadataAddresses = (issuer: string): ReadonlyArray<string> => {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/+$/u, "")
  return [
    ...new Set([
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}/.well-known/openid-configuration${path}`,
      `${origin}${path}/.well-known/openid-configuration`
    ])
  ]
}

type Members = Readonly<Record<string, unknown>>

const text = (members: Members, name: string): string | undefined => {
  const value = members[name]
  return typeof value === "string" && value !== "" ? value : undefined
}

const texts = (members: Members, name: string): ReadonlyArray<string> | undefined => {
  const value = members[name]
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : undefined
}

const endpoints = [
  "authorization_endpoint",
  "token_endpoint",
  "device_authorization_endpoint",
  "pushed_authorization_request_endpoint",
  "revocation_endpoint",
  "registration_endpoint"
] as const

const lists = [
  "code_challenge_methods_supported",
  "token_endpoint_auth_methods_supported",
  "token_endpoint_auth_signing_alg_values_supported",
  "dpop_signing_alg_values_supported",
  "scopes_supported"
] as const

const flags = [
  "require_pushed_authorization_requests",
  "authorization_response_iss_parameter_supported",
  "client_id_metadata_document_supported"
] as const

/**
 * What the program needs of a metadata document, or what is wrong with it. Its issuer must be exactly the expected one,
 * and no endpoint may be less safe than the issuer.
 *
 * @since 0.1.0
 * @category decoding
 */
export const readMetadata = (issuer: string, members: Members): AuthorizationServer | { readonly fault: string } => {
  const own = text(members, "issuer")
  if (own === undefined) return { fault: "names no issuer" }
  if (own !== issuer) return { fault: `is that of the issuer ${own}, and ${issuer} was asked for` }
  const server: { -readonly [K in keyof AuthorizationServer]: AuthorizationServer[K] } = { issuer }
  for (const name of endpoints) {
    const address = text(members, name)
    if (address === undefined) continue
    const fault = addressFault(address, issuer)
    if (fault !== null) return { fault: `has a ${name} that ${fault}` }
    server[name] = address
  }
  for (const name of lists) {
    const values = texts(members, name)
    if (values !== undefined) server[name] = values
  }
  for (const name of flags) {
    const value = members[name]
    if (typeof value === "boolean") server[name] = value
  }
  return server
}
