/** An MCP server that wants a login, and who issues its tokens. */
import * as Effect from "effect/Effect"
import { createHash, createPublicKey, verify } from "node:crypto"
import { oidcServer } from "../oidc/Provider.ts"
import * as HttpServers from "./http.ts"

const { json, legacyPlay, play, result } = HttpServers

const claimsOf = (authorization: string | undefined): Record<string, unknown> => {
  const [, payload = ""] = (authorization ?? "").replace(/^(?:Bearer|DPoP) /u, "").split(".")
  try {
    return JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>
  } catch {
    return {}
  }
}

const decoded = (part: string | undefined): Record<string, unknown> =>
  JSON.parse(Buffer.from(part ?? "", "base64url").toString()) as Record<string, unknown>

/** What is wrong with a proof (RFC 9449, section 4.3) for a token that is bound to `jkt`; null = nothing. */
export const proofFault = (
  proof: string,
  { jkt, method, nonce, token, url }: {
    readonly jkt: unknown
    readonly method: string
    readonly nonce: string | null
    readonly token: string
    readonly url: string
  }
): string | null => {
  const [header, payload, signature = ""] = proof.split(".")
  const { alg, jwk, typ } = decoded(header)
  const claims = decoded(payload)
  const key = jwk as Record<string, string>
  const { crv, kty, x, y } = key
  const digest = (text: string) => createHash("sha256").update(text).digest("base64url")
  return typ !== "dpop+jwt" || alg !== "ES256" || "d" in key
    ? "header"
    : !verify(
        "sha256",
        Buffer.from(`${header}.${payload}`),
        { key: createPublicKey({ key, format: "jwk" }), dsaEncoding: "ieee-p1363" },
        Buffer.from(signature, "base64url")
      )
    ? "signature"
    : digest(JSON.stringify({ crv, kty, x, y })) !== jkt
    ? "jkt"
    : claims["htm"] !== method || claims["htu"] !== url
    ? "htm or htu"
    : claims["ath"] !== digest(token)
    ? "ath"
    : typeof claims["jti"] !== "string" || Math.abs(Number(claims["iat"]) - Date.now() / 1000) > 60
    ? "jti or iat"
    : nonce !== null && claims["nonce"] !== nonce
    ? "use_dpop_nonce"
    : null
}

/** oidc-provider that registers clients, knows the scopes of an MCP server and signs its access tokens. */
export const issuerWith = (
  more: Readonly<Record<string, unknown>>,
  more_features: Readonly<Record<string, unknown>> = {}
) =>
  oidcServer({
    configuration: {
      ...more,
      scopes: ["openid", "offline_access", "mcp:read", "mcp:write"],
      features: {
        ...more_features,
        devInteractions: { enabled: true },
        deviceFlow: { enabled: true },
        revocation: { enabled: true, allowedPolicy: () => true },
        registration: { enabled: true },
        pushedAuthorizationRequests: { enabled: false },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => "urn:none",
          useGrantedResource: () => true,
          getResourceServerInfo: (_: unknown, resource: string) => ({
            audience: resource,
            scope: "mcp:read mcp:write",
            accessTokenFormat: "jwt"
          })
        }
      }
    }
  })

export const issuer = issuerWith({})

/**
 * An MCP server that takes only tokens for itself; the tool `write` wants a scope of its own. With `nonce` the tokens must
 * be bound to a key, and proofs carry what it gives, if that is not null.
 */
export const protectedServer = (issued_by: () => string, nonce?: () => string | null) =>
  Effect.gen(function*() {
    const revoked = new Set<string>()
    const tokens: Array<string> = []
    const proofs = new Set<string>()
    const faults: Array<string> = []
    const hands = legacyPlay((seen, response) =>
      json(
        response,
        result(
          seen,
          seen.message["method"] === "tools/list"
            ? { tools: [{ name: "read", inputSchema: { type: "object" } }] }
            : { content: [{ type: "text", text: String(claimsOf(seen.headers.authorization)["scope"]) }] }
        )
      )
    )
    const server: HttpServers.Played = yield* play((seen, response, count) => {
      if (seen.url === "/.well-known/oauth-protected-resource/mcp") {
        return json(response, {
          resource: server.url,
          authorization_servers: [issued_by()],
          scopes_supported: ["mcp:read"]
        })
      }
      if (seen.url.startsWith("/.well-known/")) return void response.writeHead(404).end()
      const [scheme = "", token = ""] = (seen.headers.authorization ?? "").split(" ")
      const claims = claimsOf(seen.headers.authorization)
      const challenge = (status: number, rest: string) =>
        void response.writeHead(status, {
          ...(nonce === undefined ? {} : { "dpop-nonce": nonce() ?? "" }),
          "www-authenticate": `${
            nonce === undefined ? "Bearer" : "DPoP"
          } realm="x, y", resource_metadata="${server.origin}/.well-known/oauth-protected-resource/mcp"${rest}`
        }).end()
      if (claims["aud"] !== server.url || revoked.has(token)) return challenge(401, "")
      if (!tokens.includes(token)) tokens.push(token)
      if (nonce !== undefined) {
        const proof = String(seen.headers["dpop"] ?? "..")
        const fault = scheme !== "DPoP"
          ? "scheme"
          : proofs.has(proof)
          ? "proof used twice"
          : proofFault(proof, {
            jkt: (claims["cnf"] as Record<string, unknown> | undefined)?.["jkt"],
            method: seen.method,
            nonce: nonce(),
            token,
            url: server.url
          })
        proofs.add(proof)
        if (fault !== null) {
          faults.push(fault)
          return challenge(401, `, error="${fault === "use_dpop_nonce" ? fault : "invalid_dpop_proof"}"`)
        }
      }
      const { params } = seen.message as { readonly params?: { readonly name?: string } }
      if (params?.name === "write" && !String(claims["scope"]).includes("mcp:write")) {
        return challenge(403, ", error=\"insufficient_scope\", scope=\"mcp:write\"")
      }
      hands(seen, response, count)
    })
    return { server, tokens, faults, revoke: (token: string) => revoked.add(token) }
  })
