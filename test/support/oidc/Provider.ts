/** A real authorization server for tests: oidc-provider in memory on a free port of 127.0.0.1, for one native client. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as http from "node:http"
import type * as net from "node:net"
import { Storage } from "./Storage.ts"

export interface OidcOptions {
  /** Of the client; default: loopback redirects with any port. */
  readonly redirect_uris?: ReadonlyArray<string>
  /** With it the client must show it, by this method. */
  readonly secret?: { readonly value: string; readonly method: "client_secret_basic" | "client_secret_post" }
  readonly require_pushed?: boolean
  /** Further settings of the provider. */
  readonly configuration?: Readonly<Record<string, unknown>>
}

export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

export interface OidcServer {
  readonly issuer: string
  readonly client_id: string
  /** What came to a path, in order. */
  readonly seen: (path: string) => ReadonlyArray<SeenRequest>
  /** All of this kind, such as `RefreshToken`, is over its time from now on. */
  readonly expire: (model: "AuthorizationCode" | "RefreshToken" | "DeviceCode") => Effect.Effect<void>
}

const client_id = "hanzo-dev-tests"

/** Stays up until the scope closes. */
export const oidcServer = (options: OidcOptions = {}): Effect.Effect<OidcServer, never, Scope.Scope> =>
  Effect.gen(function*() {
    // Its notices on what a production server would change are no output of a test.
    const { default: Provider } = yield* Effect.promise(() => import("oidc-provider"))
    const sockets = new Set<net.Socket>()
    const seen: Array<SeenRequest> = []
    const server = http.createServer()
    server.on("connection", (socket) => {
      sockets.add(socket)
      socket.on("error", () => undefined)
      socket.once("close", () => sockets.delete(socket))
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.async<void>((resume) => {
          for (const socket of sockets) socket.destroy()
          server.close(() => resume(Effect.void))
        })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const issuer = `http://127.0.0.1:${port}`
    const storage = new Storage()
    const provider = new Provider(issuer, {
      adapter: storage.adapter,
      clients: [{
        client_id,
        application_type: "native",
        redirect_uris: options.redirect_uris ?? ["http://127.0.0.1/callback", "http://localhost/callback"],
        grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        response_types: ["code"],
        ...(options.secret === undefined
          ? { token_endpoint_auth_method: "none" }
          : { token_endpoint_auth_method: options.secret.method, client_secret: options.secret.value })
      }],
      pkce: { required: () => true },
      rotateRefreshToken: true,
      issueRefreshToken: () => Promise.resolve(true),
      features: {
        devInteractions: { enabled: true },
        deviceFlow: { enabled: true },
        revocation: { enabled: true, allowedPolicy: () => true },
        pushedAuthorizationRequests: {
          enabled: true,
          requirePushedAuthorizationRequests: options.require_pushed === true
        },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => "https://api.example.com",
          useGrantedResource: () => true,
          getResourceServerInfo: (_: unknown, resource: string) => ({
            audience: resource,
            scope: "read write",
            accessTokenFormat: "jwt"
          })
        }
      },
      ...options.configuration
    })
    const callback = provider.callback()
    server.on("request", (request: http.IncomingMessage, response: http.ServerResponse) => {
      const parts: Array<Buffer> = []
      // Listening for data would start the stream before the provider reads it.
      const emit = request.emit.bind(request) as (...event: ReadonlyArray<unknown>) => boolean
      request.emit = (name: string, ...values: ReadonlyArray<unknown>) => {
        if (name === "data" && values[0] instanceof Uint8Array) parts.push(Buffer.from(values[0]))
        return emit(name, ...values)
      }
      request.once("end", () =>
        seen.push({
          method: request.method ?? "",
          url: request.url ?? "",
          headers: request.headers,
          body: Buffer.concat(parts).toString()
        }))
      callback(request, response)
    })
    return {
      issuer,
      client_id,
      expire: (model) => Effect.sync(() => storage.expire(model)),
      seen: (path) => seen.filter(({ url }) => url === path || url.startsWith(`${path}?`))
    }
  })
