/** An MCP server that wants a login, and who issues its tokens. */
import * as Effect from "effect/Effect"
import { oidcServer } from "../oidc/Provider.ts"
import * as HttpServers from "./http.ts"

const { json, legacyPlay, play, result } = HttpServers

const claimsOf = (authorization: string | undefined): Record<string, unknown> => {
  const [, payload = ""] = (authorization ?? "").replace(/^Bearer /u, "").split(".")
  try {
    return JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** oidc-provider that registers clients, knows the scopes of an MCP server and signs its access tokens. */
export const issuerWith = (more: Readonly<Record<string, unknown>>) =>
  oidcServer({
    configuration: {
      ...more,
      scopes: ["openid", "offline_access", "mcp:read", "mcp:write"],
      features: {
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

/** An MCP server that takes only tokens for itself; the tool `write` wants a scope of its own. */
export const protectedServer = (issued_by: () => string) =>
  Effect.gen(function*() {
    const revoked = new Set<string>()
    const tokens: Array<string> = []
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
      const token = seen.headers.authorization?.slice("Bearer ".length) ?? ""
      const claims = claimsOf(seen.headers.authorization)
      const challenge = (status: number, rest: string) =>
        void response.writeHead(status, {
          "www-authenticate":
            `Bearer realm="x, y", resource_metadata="${server.origin}/.well-known/oauth-protected-resource/mcp"${rest}`
        }).end()
      if (claims["aud"] !== server.url || revoked.has(token)) return challenge(401, "")
      if (!tokens.includes(token)) tokens.push(token)
      const { params } = seen.message as { readonly params?: { readonly name?: string } }
      if (params?.name === "write" && !String(claims["scope"]).includes("mcp:write")) {
        return challenge(403, ", error=\"insufficient_scope\", scope=\"mcp:write\"")
      }
      hands(seen, response, count)
    })
    return { server, tokens, revoke: (token: string) => revoked.add(token) }
  })
