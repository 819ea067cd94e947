/** A token endpoint that writes down what it is asked, with its metadata, and an MCP server that takes its tokens. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as http from "node:http"
import { createPrivateKey, sign } from "node:crypto"
import * as HttpServers from "./http.ts"

const { json, legacyPlay, result } = HttpServers

export interface TokenRequest {
  readonly path: string
  readonly form: Readonly<Record<string, string>>
  readonly headers: http.IncomingHttpHeaders
}

export interface TokenServer {
  /** Its issuer. */
  readonly origin: string
  readonly requests: ReadonlyArray<TokenRequest>
}

export type Answer = (
  request: TokenRequest,
  count: number
) => { readonly status?: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }

/** `more` lies over the metadata. */
export const tokenServer = (
  answer: Answer,
  more: Readonly<Record<string, unknown>> = {}
): Effect.Effect<TokenServer, never, Scope.Scope> =>
  Effect.gen(function*() {
    const requests: Array<TokenRequest> = []
    const listening: HttpServers.Listening = yield* HttpServers.listen(async (request, response) => {
      const body = await HttpServers.bodyOf(request)
      const { pathname } = new URL(request.url ?? "", "http://x")
      if (pathname === "/.well-known/oauth-authorization-server") {
        return json(response, {
          issuer: listening.origin,
          token_endpoint: `${listening.origin}/token`,
          grant_types_supported: ["urn:ietf:params:oauth:grant-type:jwt-bearer"],
          ...more
        })
      }
      if (pathname !== "/token") return void response.writeHead(404).end()
      const asked = { path: pathname, form: Object.fromEntries(new URLSearchParams(body)), headers: request.headers }
      requests.push(asked)
      const { body: value, headers = {}, status = 200 } = answer(asked, requests.length)
      json(response, value, status, headers)
    })
    return { origin: listening.origin, requests }
  })

/** Takes exactly the tokens of `good`; `say` is what its tool answers. */
export const guarded = (
  issuers: () => ReadonlyArray<string>,
  good: ReadonlyArray<string>,
  say: (seen: HttpServers.Seen) => string = () => "done"
) =>
  Effect.gen(function*() {
    const hands = legacyPlay((seen, response) =>
      json(
        response,
        result(
          seen,
          seen.message["method"] === "tools/list"
            ? { tools: [{ name: "read", inputSchema: { type: "object" } }] }
            : { content: [{ type: "text", text: say(seen) }] }
        )
      )
    )
    const server: HttpServers.Played = yield* HttpServers.play((seen, response, count) => {
      if (seen.url === "/.well-known/oauth-protected-resource/mcp") {
        return json(response, {
          resource: server.url,
          authorization_servers: issuers(),
          scopes_supported: ["mcp:read"]
        })
      }
      if (seen.url.startsWith("/.well-known/")) return void response.writeHead(404).end()
      const [, token = ""] = (seen.headers.authorization ?? "").split(" ")
      if (!good.includes(token)) return void response.writeHead(401, { "www-authenticate": "Bearer" }).end()
      hands(seen, response, count)
    })
    return server
  })

/** A token that `pem` (P-256) has signed. */
export const signedBy = (pem: string, claims: Readonly<Record<string, unknown>>): string => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const text = `${part({ alg: "ES256", typ: "JWT" })}.${part(claims)}`
  const signature = sign("sha256", Buffer.from(text), { key: createPrivateKey(pem), dsaEncoding: "ieee-p1363" })
  return `${text}.${signature.toString("base64url")}`
}

export const claimsIn = (token: string | undefined): Record<string, unknown> =>
  JSON.parse(Buffer.from((token ?? "").split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>
