/** Tokens of MCP servers that are bound to a key (DPoP, RFC 9449). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { dpopKeyOf, dpopProof, newDpopKey, noteNonce } from "../../src/credentials/Dpop.ts"
import { ofText } from "../../src/config/Load.ts"
import { CredentialStore } from "../../src/credentials/CredentialStore.ts"
import * as HttpServers from "../support/mcp/http.ts"
import { home, person, processIn, storedIn, targetOf } from "../support/mcp/logins.ts"
import { issuerWith, proofFault, protectedServer } from "../support/mcp/protected.ts"
import { textOf } from "../support/mcp/servers.ts"
import { claimsIn, guarded, tokenServer } from "../support/mcp/tokens.ts"

const binding = (nonces: boolean) =>
  issuerWith({
    enabledJWA: { dPoPSigningAlgValues: ["ES256"] }
  }, {
    dPoP: {
      enabled: true,
      ...(nonces ? { nonceSecret: randomBytes(32), requireNonce: () => true } : {})
    }
  })

describe("with oidc-provider", () => {
  for (const nonces of [false, true]) {
    it.live(
      `a login, ${
        nonces ? "nonces of both servers, " : ""
      }a later process, a refresh: bound to one key that is kept with it`,
      () =>
        Effect.scoped(Effect.gen(function*() {
          const root = yield* home
          const oidc = yield* binding(nonces)
          let nonce: string | null = nonces ? "n-1" : null
          const { faults, revoke, server, tokens } = yield* protectedServer(() => oidc.issuer, () => nonce)
          const target = targetOf(server.url)
          const { logins, way } = person()
          const first = yield* processIn(root)
          yield* Effect.gen(function*() {
            const authorizer = yield* first.auth.authorizer(target, way)
            const connection = yield* HttpServers.connectTo(server.url, {}, { authorizer })
            assert.include(textOf(yield* connection.callTool("read", {})), "mcp:read")
          }).pipe(Effect.provide(first.context))
          assert.strictEqual(logins.length, 1)
          const [stored] = Object.values(storedIn(root))
          const key = dpopKeyOf(Redacted.make(String(stored?.["dpop_key"])))
          assert.strictEqual(new URL(logins[0] ?? "").searchParams.get("dpop_jkt"), key?.thumbprint)
          const cnf = claimsIn(tokens[0])["cnf"] as Record<string, unknown>
          assert.strictEqual(cnf["jkt"], key?.thumbprint)

          const second = yield* processIn(root)
          yield* Effect.gen(function*() {
            const authorizer = yield* second.auth.authorizer(target)
            const connection = yield* HttpServers.connectTo(server.url, {}, { authorizer })
            if (nonces) nonce = "n-2"
            assert.include(textOf(yield* connection.callTool("read", {})), "mcp:read")
            for (const token of tokens) revoke(token)
            assert.include(textOf(yield* connection.callTool("read", {})), "mcp:read")
          }).pipe(Effect.provide(second.context))
          assert.strictEqual(logins.length, 1)
          assert.strictEqual(tokens.length, 2)
          const after = Object.values(storedIn(root))[0]
          assert.strictEqual(after?.["dpop_key"], stored?.["dpop_key"])
          const requests = oidc.seen("/token")
          assert.isTrue(requests.every(({ headers }) => typeof headers["dpop"] === "string"))
          // The first process got its nonce before it had a key; the later one and the change cost a refusal each, two where
          // two requests were out.
          assert.isTrue(faults.every((fault) => fault === "use_dpop_nonce"))
          assert.include(nonces ? [2, 3] : [0], faults.length)
          const jtis = requests.map(({ headers }) => claimsIn(String(headers["dpop"]))["jti"])
          assert.strictEqual(new Set(jtis).size, jtis.length)
          // What no tool may hand on.
          const store = yield* Effect.provide(CredentialStore, second.context)
          assert.include(yield* store.secrets, String(stored?.["dpop_key"]))
          assert.strictEqual(fs.statSync(path.join(root, "credentials.json")).mode & 0o777, 0o600)
        })),
      40_000
    )
  }

  it.live(
    "a server that takes plain tokens gets them, whatever its issuer can do; the settings say otherwise",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const oidc = yield* binding(false)
        const { server } = yield* protectedServer(() => oidc.issuer)
        const { auth } = yield* processIn(yield* home)
        assert.isUndefined((yield* auth.login(targetOf(server.url), person().way)).dpop_key)
        assert.isUndefined(oidc.seen("/token")[0]?.headers["dpop"])
        assert.isDefined((yield* auth.login(targetOf(server.url, { dpop: true }), person().way)).dpop_key)
        const { server: bound } = yield* protectedServer(() => oidc.issuer, () => null)
        assert.isUndefined((yield* auth.login(targetOf(bound.url, { dpop: false }), person().way)).dpop_key)
      })),
    40_000
  )

  it.live(
    "a key that cannot be read any more: its token is not shown, a login is asked for",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* home
        const oidc = yield* binding(false)
        const { server, tokens } = yield* protectedServer(() => oidc.issuer, () => null)
        const { auth, context } = yield* processIn(root)
        yield* auth.login(targetOf(server.url), person().way)
        const file = path.join(root, "credentials.json")
        const text = fs.readFileSync(file, "utf8")
        fs.writeFileSync(file, text.replace(/"dpop_key": "(?:[^"\\]|\\.)*"/u, "\"dpop_key\": \"{broken\""))
        const later = yield* processIn(root)
        const authorizer = yield* later.auth.authorizer(targetOf(server.url))
        const error = yield* Effect.flip(
          Effect.provide(HttpServers.connectTo(server.url, {}, { authorizer }), context)
        )
        assert.strictEqual(error.reason, "needs_login")
        assert.deepStrictEqual(tokens, [])
      })),
    40_000
  )
})

describe("servers that are odd", () => {
  const settings = (dpop: boolean) =>
    ({ grant: "client_credentials", client_id: "a", client_secret_env: "S", dpop }) as const
  const connect = (url: string, dpop: boolean) =>
    Effect.gen(function*() {
      const { auth, context } = yield* processIn(yield* home, { S: "secret" })
      const authorizer = yield* auth.authorizer({ ...targetOf(url, settings(dpop)), config: ofText("{}").config })
      return yield* Effect.provide(HttpServers.connectTo(url, {}, { authorizer }), context)
    })

  it.live("a plain token where one that is bound was asked for is not taken", () =>
    Effect.scoped(Effect.gen(function*() {
      const issuer = yield* tokenServer(() => ({ body: { access_token: "good", token_type: "Bearer" } }))
      const server = yield* guarded(() => [issuer.origin], ["good"])
      const error = yield* Effect.flip(connect(server.url, true))
      assert.include(error.message, "token_type is not DPoP")
      yield* connect(server.url, false)
    })))

  it.live("an issuer that takes no proofs by ES256: nothing is asked, with the key of the settings", () =>
    Effect.scoped(Effect.gen(function*() {
      const issuer = yield* tokenServer(() => ({ body: {} }), { dpop_signing_alg_values_supported: ["PS256"] })
      const server = yield* guarded(() => [issuer.origin], [])
      const error = yield* Effect.flip(connect(server.url, true))
      assert.include(error.message, "mcp_servers.remote.oauth.dpop")
      assert.deepStrictEqual(issuer.requests, [])
    })))

  it.live("a nonce is tried once more at the token endpoint, and not for ever", () =>
    Effect.scoped(Effect.gen(function*() {
      const issuer = yield* tokenServer((_, count) => ({
        status: 400,
        headers: { "dpop-nonce": `n${count}` },
        body: { error: "use_dpop_nonce" }
      }))
      const server = yield* guarded(() => [issuer.origin], [])
      const error = yield* Effect.flip(connect(server.url, true))
      assert.include(error.message, "use_dpop_nonce")
      const nonces = issuer.requests.map(({ headers }) => claimsIn(String(headers["dpop"]))["nonce"])
      assert.deepStrictEqual(nonces, [undefined, "n1"])
    })))

  it.live("a server of tools that never has enough of nonces ends in an error, not in a circle", () =>
    Effect.scoped(Effect.gen(function*() {
      const issuer = yield* tokenServer(() => ({ body: { access_token: "good", token_type: "DPoP" } }))
      let count = 0
      const server: HttpServers.Played = yield* HttpServers.play((seen, response) => {
        if (seen.url === "/.well-known/oauth-protected-resource/mcp") {
          return HttpServers.json(response, { resource: server.url, authorization_servers: [issuer.origin] })
        }
        if (seen.url.startsWith("/.well-known/")) return void response.writeHead(404).end()
        count++
        response.writeHead(401, {
          "dpop-nonce": `n${count}`,
          "www-authenticate": seen.headers["dpop"] === undefined ? "DPoP" : "DPoP error=\"use_dpop_nonce\""
        }).end()
      })
      const error = yield* Effect.flip(connect(server.url, true))
      assert.include(error.message, "nonce")
      assert.isAtMost(count, 6)
      assert.strictEqual(issuer.requests.length, 1)
    })))
})

describe("proofs", () => {
  it.effect("4.2: method, address without query, token and nonce; the nonces of servers and roles are apart", () =>
    Effect.gen(function*() {
      const key = yield* newDpopKey
      const url = "https://user:word@mcp.example/a?b=c#d"
      const token = Redacted.make("a token")
      assert.isTrue(noteNonce(key, { url, role: "resource" }, "n"))
      assert.isFalse(noteNonce(key, { url, role: "resource" }, "n"))
      assert.isFalse(noteNonce(key, { url, role: "resource" }, undefined))
      const proof = yield* dpopProof(key, { method: "POST", url, role: "resource", access_token: token })
      const expected = { jkt: key.thumbprint, method: "POST", token: "a token", url: "https://mcp.example/a" }
      const claims = claimsIn(proof)
      assert.include(["jti or iat", null], proofFault(proof, { ...expected, nonce: "n" }))
      assert.strictEqual(claims["htu"], "https://mcp.example/a")
      assert.notInclude(proof, "word")
      for (
        const other of [
          { url, role: "authorization" },
          { url: "https://mcp.example:444/", role: "resource" }
        ] as const
      ) {
        assert.isUndefined(claimsIn(yield* dpopProof(key, { method: "GET", ...other }))["nonce"])
      }
    }))
})
