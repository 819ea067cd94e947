/** Logins at MCP servers with a real authorization server (reading 1.13). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as fs from "node:fs"
import * as path from "node:path"
import type { LoginWay } from "../../src/mcp/AuthLogins.ts"
import * as HttpServers from "../support/mcp/http.ts"
import { home, person, processIn, storedIn, targetOf } from "../support/mcp/logins.ts"
import { issuer, issuerWith, protectedServer } from "../support/mcp/protected.ts"
import { textOf } from "../support/mcp/servers.ts"

const { json, play } = HttpServers

describe("with oidc-provider", () => {
  it.live(
    "1.13 from 401 to a token: registration, resource in both requests, refresh on 401 in mid-session, step-up",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* home
        const oidc = yield* issuer
        const { revoke, server, tokens } = yield* protectedServer(() => oidc.issuer)
        const { auth, context } = yield* processIn(root)
        const { logins, way } = person()
        yield* Effect.gen(function*() {
          const authorizer = yield* auth.authorizer(targetOf(server.url), way)
          const connection = yield* HttpServers.connectTo(server.url, {}, { authorizer })
          assert.strictEqual(logins.length, 1)
          const asked = new URL(logins[0] ?? "").searchParams
          assert.strictEqual(asked.get("resource"), server.url)
          assert.strictEqual(asked.get("scope"), "mcp:read offline_access")
          assert.strictEqual(asked.get("code_challenge_method"), "S256")
          const registered = JSON.parse(oidc.seen("/reg")[0]?.body ?? "{}") as Record<string, unknown>
          assert.strictEqual(registered["application_type"], "native")
          assert.deepStrictEqual(registered["redirect_uris"], [asked.get("redirect_uri")])
          assert.strictEqual(new URLSearchParams(oidc.seen("/token")[0]?.body).get("resource"), server.url)

          assert.include(textOf(yield* connection.callTool("read", {})), "mcp:read")
          const [before = ""] = tokens
          revoke(before)
          assert.include(textOf(yield* connection.callTool("read", {})), "mcp:read")
          assert.strictEqual(logins.length, 1)
          assert.strictEqual(new URLSearchParams(oidc.seen("/token")[1]?.body).get("grant_type"), "refresh_token")
          assert.strictEqual(tokens.length, 2)

          assert.include(textOf(yield* connection.callTool("write", {})), "mcp:write")
          assert.strictEqual(logins.length, 2)
          assert.strictEqual(new URL(logins[1] ?? "").searchParams.get("scope"), "mcp:read mcp:write offline_access")
        }).pipe(Effect.provide(context))
        const [key, ...others] = Object.keys(storedIn(root))
        assert.deepStrictEqual(others, [])
        assert.isTrue(key?.startsWith(`${oidc.issuer} ${server.url} `))
        assert.strictEqual(fs.statSync(path.join(root, "credentials.json")).mode & 0o777, 0o600)
      })),
    30_000
  )

  it.live(
    "1.13 a connection without anybody to ask: needs_login with the command, then what was stored is used",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* home
        const oidc = yield* issuer
        const { server } = yield* protectedServer(() => oidc.issuer)
        const target = targetOf(server.url)
        const first = yield* processIn(root)
        const error = yield* Effect.gen(function*() {
          const authorizer = yield* first.auth.authorizer(target)
          return yield* Effect.flip(HttpServers.connectTo(server.url, {}, { authorizer }))
        }).pipe(Effect.provide(first.context))
        assert.strictEqual(error.reason, "needs_login")
        assert.include(error.message, "hanzo-dev mcp auth remote")
        assert.strictEqual(oidc.seen("/reg").length, 0)

        yield* first.auth.login(target, person().way)
        const second = yield* processIn(root)
        yield* Effect.gen(function*() {
          const authorizer = yield* second.auth.authorizer(target)
          const connection = yield* HttpServers.connectTo(server.url, {}, { authorizer })
          assert.include(textOf(yield* connection.callTool("read", {})), "mcp:read")
          const short = yield* Effect.flip(connection.callTool("write", {}))
          assert.strictEqual(short.reason, "needs_login")
          assert.include(short.message, "--scope mcp:write")
        }).pipe(Effect.provide(second.context))

        const [login] = yield* second.auth.stored(target)
        assert.strictEqual(yield* second.auth.logout(target), 1)
        assert.deepStrictEqual(storedIn(root), {})
        const revoked = new URLSearchParams(oidc.seen("/token/revocation")[0]?.body).get("token")
        assert.strictEqual(revoked, Redacted.value(login?.credential.refresh_token ?? Redacted.make("")))
        assert.strictEqual(yield* second.auth.logout(target), 0)
      })),
    30_000
  )

  it.live(
    "1.13 a client that got a secret when it was registered shows it when it refreshes, in a later process too",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* home
        const oidc = yield* issuerWith({ clientAuthMethods: ["client_secret_basic"] })
        const { revoke, server, tokens } = yield* protectedServer(() => oidc.issuer)
        const target = targetOf(server.url)
        const first = yield* processIn(root)
        yield* first.auth.login(target, person().way)
        const [stored] = Object.values(storedIn(root))
        assert.isString(stored?.["client_secret"])
        const later = yield* processIn(root)
        yield* Effect.gen(function*() {
          const authorizer = yield* later.auth.authorizer(target)
          const connection = yield* HttpServers.connectTo(server.url, {}, { authorizer })
          for (const token of tokens) revoke(token)
          assert.include(textOf(yield* connection.callTool("read", {})), "mcp:read")
        }).pipe(Effect.provide(later.context))
        const refresh = oidc.seen("/token").at(-1)
        assert.include(refresh?.body, "grant_type=refresh_token")
        assert.match(String(refresh?.headers.authorization), /^Basic /u)
        assert.strictEqual(Object.values(storedIn(root))[0]?.["client_secret"], stored?.["client_secret"])
      })),
    30_000
  )

  it.live(
    "1.13 the configured client before all others; a device instead of a browser",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* home
        const oidc = yield* issuer
        const { server } = yield* protectedServer(() => oidc.issuer)
        const { auth } = yield* processIn(root)
        const target = targetOf(server.url, { client_id: oidc.client_id, scopes: ["mcp:write"] })
        const { logins, way } = person()
        const credential = yield* auth.login(target, { ...way, device: true })
        assert.strictEqual(logins.length, 1)
        assert.strictEqual(credential.client_id, oidc.client_id)
        assert.strictEqual(oidc.seen("/reg").length, 0)
        assert.isTrue(credential.scopes?.includes("mcp:write"))
        assert.strictEqual(credential.resource, server.url)
        // Another client's login is not this one's.
        assert.deepStrictEqual(yield* auth.stored(targetOf(server.url, { client_id: "somebody" })), [])
      })),
    40_000
  )

  it.live(
    "1.13 a token goes to its own issuer only: another one in the metadata means a new login",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* home
        const [one, two] = [yield* issuer, yield* issuer]
        let current = one.issuer
        const { revoke, server, tokens } = yield* protectedServer(() => current)
        const { auth, context } = yield* processIn(root)
        const { logins, way } = person()
        yield* Effect.gen(function*() {
          const authorizer = yield* auth.authorizer(targetOf(server.url), way)
          const connection = yield* HttpServers.connectTo(server.url, {}, { authorizer })
          current = two.issuer
          for (const token of tokens) revoke(token)
          assert.include(textOf(yield* connection.callTool("read", {})), "mcp:read")
        }).pipe(Effect.provide(context))
        assert.deepStrictEqual(logins.map((url) => new URL(url).origin), [one.issuer, two.issuer])
        const client = JSON.parse(one.seen("/reg")[0]?.body ?? "{}") as object
        assert.notStrictEqual(client, {})
        assert.isTrue(two.seen("/token").every(({ body }) => !body.includes("refresh_token")))
        assert.strictEqual(one.seen("/token").length, 1)
        assert.deepStrictEqual(Object.keys(storedIn(root)).map((key) => key.split(" ")[0]), [two.issuer])
      })),
    30_000
  )
})

describe("authorization servers that are refused", () => {
  /** A server of tools and its authorization server in one; `more` lies over the metadata. */
  const odd = (more: Record<string, unknown>, resource?: string, path_of_issuer = "") =>
    Effect.gen(function*() {
      const server: HttpServers.Played = yield* play((seen, response) => {
        const { pathname } = new URL(seen.url, "http://x")
        if (pathname === "/.well-known/oauth-protected-resource/mcp") {
          return json(response, {
            resource: resource ?? server.url,
            authorization_servers: [`${server.origin}${path_of_issuer}`]
          })
        }
        if (pathname === `/.well-known/oauth-authorization-server${path_of_issuer}`) {
          return json(response, {
            issuer: `${server.origin}${path_of_issuer}`,
            authorization_endpoint: `${server.origin}/authorize`,
            token_endpoint: `${server.origin}/token`,
            registration_endpoint: `${server.origin}/register`,
            code_challenge_methods_supported: ["S256"],
            ...Object.fromEntries(
              Object.entries(more).map(([key, value]) => [key, value === "origin" ? server.origin : value])
            )
          })
        }
        if (pathname === "/register") return json(response, { client_id: "c" }, 201)
        if (pathname === "/token") return json(response, { access_token: "t", token_type: "Bearer" })
        if (pathname === "/authorize") {
          const asked = new URL(seen.url, "http://x").searchParams
          const back = new URL(asked.get("redirect_uri") ?? "")
          back.searchParams.set("code", "code-1")
          back.searchParams.set("state", asked.get("state") ?? "")
          return void response.writeHead(302, { location: back.href }).end()
        }
        response.writeHead(401).end()
      })
      return server
    })
  const visit: LoginWay = {
    browser: false,
    events: (event) =>
      event.type === "address"
        ? Effect.asVoid(Effect.forkDaemon(Effect.promise(() => fetch(event.url))))
        : Effect.void
  }
  const paths = (server: HttpServers.Played) => server.seen.map(({ url }) => new URL(url, "http://x").pathname)

  for (
    const [what, more, resource, reason] of [
      ["no S256", { code_challenge_methods_supported: ["plain"] }, undefined, "s256_unsupported"],
      ["nothing about S256", { code_challenge_methods_supported: null }, undefined, "s256_unsupported"],
      ["metadata of another issuer", { issuer: "https://attacker.example" }, undefined, "discovery_failed"],
      ["an issuer with a slash more", { issuer: "http://127.0.0.1/" }, undefined, "discovery_failed"],
      ["metadata of another resource", {}, "https://evil.example/mcp", "discovery_failed"],
      ["metadata of a place below", {}, "http://127.0.0.1:1/mcp/deeper", "discovery_failed"],
      [
        "an iss that was announced and is missing",
        { authorization_response_iss_parameter_supported: true },
        undefined,
        "iss_missing"
      ]
    ] as const
  ) {
    it.live(`1.13 ${what}: no token request`, () =>
      Effect.scoped(Effect.gen(function*() {
        const { auth } = yield* processIn(yield* home)
        const server = yield* odd(more, resource)
        const error = yield* Effect.flip(auth.login(targetOf(server.url), visit))
        assert.strictEqual(error.reason, reason)
        assert.notInclude(paths(server), "/token")
      })))
  }

  it.live("1.13 an older server with a path that calls itself by its origin is taken under the name the resource gave", () =>
    Effect.scoped(Effect.gen(function*() {
      const { auth } = yield* processIn(yield* home)
      const server = yield* odd({ issuer: "origin" }, undefined, "/tenant")
      const credential = yield* auth.login(targetOf(server.url), visit)
      assert.strictEqual(credential.issuer, `${server.origin}/tenant`)
      const knows = yield* odd(
        { issuer: "origin", authorization_response_iss_parameter_supported: true },
        undefined,
        "/tenant"
      )
      assert.strictEqual((yield* Effect.flip(auth.login(targetOf(knows.url), visit))).reason, "discovery_failed")
    })))

  it.live("1.13 no way to a client: the user is asked, else told what to set", () =>
    Effect.scoped(Effect.gen(function*() {
      const { auth } = yield* processIn(yield* home)
      const server = yield* odd({ registration_endpoint: null })
      const error = yield* Effect.flip(auth.login(targetOf(server.url), visit))
      assert.strictEqual(error.reason, "not_configured")
      assert.include(error.message, "mcp_servers.remote.oauth.client_id")
      const credential = yield* auth.login(targetOf(server.url), {
        ...visit,
        client: Effect.succeed({ client_id: "typed" })
      })
      assert.strictEqual(credential.client_id, "typed")
    })))

  it.live("1.13 no login over plain http but on this machine", () =>
    Effect.scoped(Effect.gen(function*() {
      const { auth } = yield* processIn(yield* home)
      const target = targetOf("http://mcp.example/mcp")
      assert.strictEqual((yield* Effect.flip(auth.login(target, visit))).reason, "not_configured")
      const authorizer = yield* auth.authorizer(target, visit)
      assert.isNull(yield* authorizer.present({ method: "POST", url: target.url }))
      const error = yield* Effect.flip(
        authorizer.refused({ status: 401, challenge: undefined, used: null, refused: 0 })
      )
      assert.strictEqual(error.reason, "needs_login")
      assert.include(error.message, "https://")
    })))

  it.live("1.13 client id metadata document before registration, where the server has it", () =>
    Effect.scoped(Effect.gen(function*() {
      const { auth } = yield* processIn(yield* home)
      const url = "https://me.example/client.json"
      const server = yield* odd({ client_id_metadata_document_supported: true })
      assert.strictEqual(
        (yield* auth.login(targetOf(server.url, { client_metadata_url: url }), visit)).client_id,
        url
      )
      const without = yield* odd({})
      assert.strictEqual((yield* auth.login(targetOf(without.url, { client_metadata_url: url }), visit)).client_id, "c")
    })))
})
