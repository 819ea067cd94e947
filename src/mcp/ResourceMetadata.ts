/**
 * Who issues tokens for an MCP server: the metadata of the protected resource (RFC 9728), from the address that a challenge
 * names, else from the well-known ones (reading 1.13).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import {
  addressFault,
  ask,
  type EndpointAnswer,
  type EndpointCall,
  shown,
  success
} from "../credentials/EndpointCall.ts"
import { OAuthError } from "../credentials/OAuthClient.ts"
import type { HttpService } from "../platform/Http.ts"

/** @since 0.1.0 @category models */
export interface ResourceMetadata {
  /** As it was published, to the letter: it is what tokens are asked for (RFC 8707). */
  readonly resource: string
  /** Not empty. */
  readonly authorization_servers: ReadonlyArray<string>
  readonly scopes_supported: ReadonlyArray<string> | null
  /** Tokens that are bound to a key (RFC 9728, section 2): `only` where no others are taken. */
  readonly dpop: "only" | "offered" | "no"
}

/** Is what `resource` names the server at `url`, or a place above it on the same origin? @since 0.1.0 @category combinators */
export const covers = (resource: string, url: string): boolean => {
  if (!URL.canParse(resource) || !URL.canParse(url)) return false
  const wide = new URL(resource)
  const narrow = new URL(url)
  const path = wide.pathname.endsWith("/") ? wide.pathname : `${wide.pathname}/`
  return wide.origin === narrow.origin && wide.hash === "" &&
    (wide.search === "" || wide.search === narrow.search) &&
    (narrow.pathname === wide.pathname || `${narrow.pathname}/`.startsWith(path))
}

/** The name of a server that publishes none: its address without fragment (RFC 8707, section 2). @since 0.1.0 @category constructors */
export const canonical = (url: string): string => {
  const address = new URL(url)
  address.hash = ""
  return address.pathname === "/" && address.search === "" ? address.origin : address.href
}

const wellKnown = (url: string): ReadonlyArray<string> => {
  const { origin, pathname, search } = new URL(url)
  const path = pathname.replace(/\/+$/u, "")
  const root = `${origin}/.well-known/oauth-protected-resource`
  return [...new Set([`${root}${path}${search}`, root])]
}

const failed = (message: string): OAuthError => new OAuthError({ reason: "discovery_failed", message })

const texts = (value: unknown): ReadonlyArray<string> | null =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string" && item !== "") : null

const read = (
  members: Readonly<Record<string, unknown>>,
  at: string,
  url: string
): Effect.Effect<ResourceMetadata, OAuthError> => {
  const { resource } = members
  const authorization_servers = texts(members["authorization_servers"]) ?? []
  if (typeof resource !== "string" || !covers(resource, url)) {
    return Effect.fail(failed(
      `the metadata at ${shown(at)} are those of ${
        typeof resource === "string" ? shown(resource) : "no resource"
      }, not of ${shown(url)}; nothing is sent to its authorization server`
    ))
  }
  return authorization_servers.length === 0
    ? Effect.fail(failed(`the metadata at ${shown(at)} name no authorization server`))
    : Effect.succeed({
      resource,
      authorization_servers,
      scopes_supported: texts(members["scopes_supported"]),
      dpop: members["dpop_bound_access_tokens_required"] === true
        ? "only"
        : (texts(members["dpop_signing_alg_values_supported"]) ?? []).length > 0
        ? "offered"
        : "no"
    })
}

const isAbsent = ({ json, status }: EndpointAnswer): boolean => (status >= 400 && status < 500) || json === null

/**
 * The metadata, or null where a server publishes none (revisions before 2025-06-18 did not ask for them). Reasons
 * `discovery_failed`, `unavailable`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const find = (
  http: HttpService,
  url: string,
  named: string | null
): Effect.Effect<ResourceMetadata | null, OAuthError> =>
  Effect.gen(function*() {
    const fault = named === null ? null : addressFault(named, url)
    if (fault !== null) return yield* failed(`the address of the resource's metadata, ${shown(named ?? "")}, ${fault}`)
    for (const at of named === null ? wellKnown(url) : [named]) {
      const call: EndpointCall = {
        what: "the metadata of the resource",
        url: at,
        method: "GET",
        headers: { accept: "application/json" },
        secrets: []
      }
      const answer = yield* ask(http, call)
      if (named === null && isAbsent(answer)) continue
      return yield* read(yield* success(call, answer), at, url)
    }
    return null
  })
