/** Tokens of MCP servers that nobody has to log in for (RFC 6749, section 4.4; RFC 7523; RFC 8693). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { secretVariables } from "../../src/config/Secrets.ts"
import { ofText } from "../../src/config/Load.ts"
import { CredentialStore } from "../../src/credentials/CredentialStore.ts"
import { claimsOf } from "../../src/credentials/SignedToken.ts"
import type { AuthTarget } from "../../src/mcp/AuthLogins.ts"
import { readSigningKey } from "../../src/platform/SigningKey.ts"
import * as HttpServers from "../support/mcp/http.ts"
import * as Agents from "../support/mcp/agent.ts"
import { home, processIn, targetOf } from "../support/mcp/logins.ts"
import { issuerWith, protectedServer } from "../support/mcp/protected.ts"
import { textOf } from "../support/mcp/servers.ts"
import { type Answer, claimsIn, guarded, signedBy, tokenServer } from "../support/mcp/tokens.ts"

const pemOf = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString()
const keyPairs = {
  ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  RS256: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  EdDSA: generateKeyPairSync("ed25519")
}
const { privateKey: issuing, publicKey: trusted } = keyPairs.ES256
const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
const soon = () => Math.floor(Date.now() / 1000) + 300

const clientOf = (client_id: string, more: object) => ({
  client_id,
  redirect_uris: [],
  response_types: [],
  grant_types: ["client_credentials"],
  ...more
})

/** oidc-provider with clients that have rights of their own. */
const issuerFor = (...clients: ReadonlyArray<object>) =>
  issuerWith({
    clients,
    ttl: { ClientCredentials: 600 },
    enabledJWA: {
      clientAuthSigningAlgValues: ["ES256", "RS256", "EdDSA"],
      idTokenSigningAlgValues: ["RS256"],
      requestObjectSigningAlgValues: ["RS256"],
      dPoPSigningAlgValues: ["ES256"]
    }
  }, { clientCredentials: { enabled: true } })

const formOf = (body: string | undefined) => new URLSearchParams(body)

/** A whole process with these settings against a server: what the connection says. */
const connected = (
  url: string,
  oauth: NonNullable<AuthTarget["oauth"]>,
  vars: Record<string, string> = {}
) =>
  Effect.gen(function*() {
    const root = yield* home
    const { auth, context } = yield* processIn(root, vars)
    const config = ofText(JSON.stringify({ mcp_servers: { remote: { url, oauth } } })).config
    const target: AuthTarget = { ...targetOf(url, oauth), config }
    const authorizer = yield* auth.authorizer(target)
    const connection = yield* Effect.provide(HttpServers.connectTo(url, {}, { authorizer }), context)
    const store = yield* Effect.provide(CredentialStore, context)
    return { auth, connection, root, target, secrets: store.secrets }
  })

describe("client credentials", () => {
  it.live(
    "a secret: resource and scopes asked, renewed on 401 in mid-session, more rights when needed, nothing stored",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const oidc = yield* issuerFor(
          clientOf("ci", { client_secret: "s:e cret+1", token_endpoint_auth_method: "client_secret_basic" })
        )
        const { revoke, server, tokens } = yield* protectedServer(() => oidc.issuer)
        const oauth = { grant: "client_credentials", client_id: "ci", client_secret_env: "CI_S" } as const
        const { auth, connection, root, target } = yield* connected(server.url, oauth, { CI_S: " s:e cret+1\n" })
        const first = formOf(oidc.seen("/token")[0]?.body)
        assert.strictEqual(first.get("grant_type"), "client_credentials")
        assert.strictEqual(first.get("resource"), server.url)
        assert.strictEqual(first.get("scope"), "mcp:read")
        assert.include(textOf(yield* connection.callTool("read", {})), "mcp:read")
        for (const token of tokens) revoke(token)
        assert.include(textOf(yield* connection.callTool("read", {})), "mcp:read")
        assert.strictEqual(oidc.seen("/token").length, 2)
        assert.include(textOf(yield* connection.callTool("write", {})), "mcp:write")
        assert.strictEqual(formOf(oidc.seen("/token").at(-1)?.body).get("scope"), "mcp:read mcp:write")
        assert.isFalse(fs.existsSync(path.join(root, "credentials.json")))
        // `mcp auth` asks for one too, and keeps nothing.
        const credential = yield* auth.login(target, {})
        assert.isNull(credential.refresh_token)
        assert.isFalse(fs.existsSync(path.join(root, "credentials.json")))
      })),
    30_000
  )

  for (const [algorithm, { privateKey, publicKey }] of Object.entries(keyPairs)) {
    it.live(
      `a private key, ${algorithm}: an authorization server that checks it gives a token`,
      () =>
        Effect.scoped(Effect.gen(function*() {
          const jwk = { ...publicKey.export({ format: "jwk" }), kid: "2026", use: "sig", alg: algorithm }
          const oidc = yield* issuerFor(
            clientOf("ci", { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [jwk] } })
          )
          const { server, tokens } = yield* protectedServer(() => oidc.issuer)
          const file = path.join(yield* home, "ci.pem")
          fs.writeFileSync(file, pemOf(privateKey))
          const { connection, secrets } = yield* connected(server.url, {
            grant: "client_credentials",
            client_id: "ci",
            client_key_file: file,
            client_key_id: "2026",
            issuer: oidc.issuer
          })
          assert.include(textOf(yield* connection.callTool("read", {})), "mcp:read")
          // G2: neither the key nor the token is handed on by a tool.
          assert.includeMembers([...yield* secrets], [pemOf(privateKey).trim(), tokens[0] ?? "-"])
          const assertion = formOf(oidc.seen("/token")[0]?.body).get("client_assertion") ?? ""
          const { aud, exp, iat, iss, jti, sub } = claimsIn(assertion)
          assert.deepStrictEqual([iss, sub, aud], ["ci", "ci", oidc.issuer])
          assert.isString(jti)
          assert.isAtMost(Number(exp) - Number(iat), 300)
        })),
      30_000
    )
  }

  it.live(
    "a JWK in a variable, its kid; each request has an assertion of its own",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const { privateKey, publicKey } = keyPairs.ES256
        const jwks = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "in it", use: "sig" }] }
        const oidc = yield* issuerFor(clientOf("ci", { token_endpoint_auth_method: "private_key_jwt", jwks }))
        const { revoke, server, tokens } = yield* protectedServer(() => oidc.issuer)
        const text = JSON.stringify({ ...privateKey.export({ format: "jwk" }), kid: "in it" })
        const oauth = { grant: "client_credentials", client_id: "ci", client_key_env: "CI_KEY" } as const
        const { connection } = yield* connected(server.url, oauth, { CI_KEY: text })
        for (const token of tokens) revoke(token)
        yield* connection.callTool("read", {})
        const ids = oidc.seen("/token").map(({ body }) => claimsIn(formOf(body).get("client_assertion") ?? "")["jti"])
        assert.strictEqual(new Set(ids).size, 2)
      })),
    30_000
  )

  it.live(
    "what is wrong is said with its place and no secret, and no request is made",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* home
        const server = yield* protectedServer(() => "http://127.0.0.1:1")
        const issuer = yield* tokenServer(() => ({ body: {} }))
        const { server: own } = yield* protectedServer(() => issuer.origin)
        const noKey = path.join(root, "no-key")
        fs.writeFileSync(noKey, "hunter2-not-a-key")
        const locked = path.join(root, "locked.pem")
        fs.writeFileSync(
          locked,
          issuing.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "p" })
        )
        const grant = "client_credentials"
        const table = [
          [{ grant, client_id: "a", client_secret_env: "NOT_THERE" }, "client_secret_env names the variable NOT_THERE"],
          [{ grant, client_id: "a", client_key_file: path.join(root, "none") }, "client_key_file cannot be read"],
          [{ grant, client_id: "a", client_key_file: noKey }, `${noKey} holds is no private key`],
          [{ grant, client_id: "a", client_key_file: locked }, "is encrypted"],
          [{ grant, client_id: "a", client_key_file: "key.pem" }, "must be an absolute path"],
          [{ grant, client_id: "a" }, "has neither client_secret_env nor a client_key"],
          [{ grant }, "client_id is missing"]
        ] as const
        for (const [oauth, words] of table) {
          const error = yield* Effect.flip(connected(own.url, oauth))
          assert.strictEqual(error.reason, "config")
          assert.include(error.message, "mcp_servers.remote.oauth")
          assert.include(error.message, words)
          assert.notInclude(error.message, "hunter2")
        }
        assert.deepStrictEqual(issuer.requests, [])
        // Nobody is there: trying later may help.
        const away = yield* Effect.flip(
          connected(server.server.url, { grant, client_id: "a", client_secret_env: "S" }, { S: "x" })
        )
        assert.notStrictEqual(away.reason, "needs_login")
      })),
    30_000
  )

  it.live("a key of a kind that the server does not take is never tried", () =>
    Effect.scoped(Effect.gen(function*() {
      const issuer = yield* tokenServer(() => ({ body: {} }), {
        token_endpoint_auth_signing_alg_values_supported: ["RS256"]
      })
      const server = yield* guarded(() => [issuer.origin], [])
      const oauth = { grant: "client_credentials", client_id: "a", client_key_env: "K" } as const
      const error = yield* Effect.flip(connected(server.url, oauth, { K: pemOf(issuing) }))
      assert.include(error.message, "RS256")
      assert.include(error.message, "ES256")
      assert.deepStrictEqual(issuer.requests, [])
    })))

  it.live("issuer: a server that names another one gets nothing sent there; of several the right one is asked", () =>
    Effect.scoped(Effect.gen(function*() {
      const answer: Answer = () => ({ body: { access_token: "good", token_type: "Bearer" } })
      const [mine, other] = [yield* tokenServer(answer), yield* tokenServer(answer)]
      const oauth = {
        grant: "client_credentials",
        client_id: "a",
        client_secret_env: "S",
        issuer: mine.origin
      } as const
      const evil = yield* guarded(() => [other.origin], ["good"])
      const error = yield* Effect.flip(connected(evil.url, oauth, { S: "a secret" }))
      assert.include(error.message, "oauth.issuer")
      const both = yield* guarded(() => [other.origin, mine.origin], ["good"])
      yield* connected(both.url, oauth, { S: "a secret" })
      assert.deepStrictEqual([mine.requests.length, other.requests.length], [1, 0])
    })))

  it.live("a refusal is an error of the settings, with the server's words; a token that is refused at once, too", () =>
    Effect.scoped(Effect.gen(function*() {
      const oauth = { grant: "client_credentials", client_id: "a", client_secret_env: "S" } as const
      const issuer = yield* tokenServer(() => ({
        status: 401,
        body: { error: "invalid_client", error_description: "no such client, secret swordfish" }
      }))
      const server = yield* guarded(() => [issuer.origin], [])
      const error = yield* Effect.flip(connected(server.url, oauth, { S: "swordfish" }))
      assert.strictEqual(error.reason, "config")
      assert.include(error.message, "invalid_client")
      assert.notInclude(error.message, "swordfish")
      assert.strictEqual(issuer.requests.length, 1)
      const useless = yield* tokenServer(() => ({ body: { access_token: "bad", token_type: "Bearer" } }))
      const strict = yield* guarded(() => [useless.origin], [])
      assert.include((yield* Effect.flip(connected(strict.url, oauth, { S: "x" }))).message, "just made")
      assert.strictEqual(useless.requests.length, 1)
    })))

  it.live("a token that is about to expire is replaced before it is shown; where that fails, it is still good", () =>
    Effect.scoped(Effect.gen(function*() {
      const issuer = yield* tokenServer((_, count) =>
        count < 3
          ? { body: { access_token: `t${count}`, token_type: "bearer", expires_in: 30 } }
          : { status: 503, body: {} }
      )
      const server = yield* guarded(() => [issuer.origin], ["t1", "t2"])
      const oauth = { grant: "client_credentials", client_id: "a", client_secret_env: "S" } as const
      const { connection } = yield* connected(server.url, oauth, { S: "x" })
      yield* connection.callTool("read", {})
      const shown = server.seen.map(({ headers }) => headers.authorization)
      assert.include(shown, "Bearer t2")
      assert.isAtLeast(issuer.requests.length, 3)
    })))
})

describe("jwt-bearer, a workload's identity", () => {
  /** Checks the assertion's signature, as a server that trusts its signer. */
  const federated: Answer = ({ form }) => {
    const [header = "", payload = "", signature = ""] = (form["assertion"] ?? "").split(".")
    const sound = verify(
      "sha256",
      Buffer.from(`${header}.${payload}`),
      { key: trusted, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url")
    )
    return sound
      ? { body: { access_token: "good", token_type: "Bearer", expires_in: 600 } }
      : { status: 400, body: { error: "invalid_grant", error_description: form["assertion"] } }
  }
  const assertionFor = (aud: string, exp = soon()) =>
    signedBy(pemOf(issuing), { iss: "https://cluster", sub: "pod", aud, exp })

  it.live("from a file, a variable and a command: sent whole, with or without a client id", () =>
    Effect.scoped(Effect.gen(function*() {
      const issuer = yield* tokenServer(federated)
      const server = yield* guarded(() => [issuer.origin], ["good"])
      const file = path.join(yield* home, "token")
      const assertion = assertionFor(issuer.origin)
      fs.writeFileSync(file, `${assertion}\n`)
      yield* connected(server.url, { grant: "jwt_bearer", assertion_file: file })
      yield* connected(server.url, { grant: "jwt_bearer", client_id: "w", assertion_env: "WHO" }, { WHO: assertion })
      yield* connected(server.url, { grant: "jwt_bearer", assertion_command: `cat '${file}'`, scopes: ["more"] })
      for (const { form, headers } of issuer.requests) {
        assert.strictEqual(form["grant_type"], jwtBearer)
        assert.strictEqual(form["assertion"], assertion)
        assert.strictEqual(form["resource"], server.url)
        assert.isUndefined(headers.authorization)
      }
      assert.deepStrictEqual(issuer.requests.map(({ form }) => form["client_id"]), [undefined, "w", undefined])
      assert.deepStrictEqual(issuer.requests.map(({ form }) => form["scope"]), [
        "mcp:read",
        "mcp:read",
        "more mcp:read"
      ])
    })))

  it.live("a file that was renewed is read anew for the next token", () =>
    Effect.scoped(Effect.gen(function*() {
      const issuer = yield* tokenServer((_, count) => ({ body: { access_token: `t${count}`, token_type: "Bearer" } }))
      const good = ["t1"]
      const server = yield* guarded(() => [issuer.origin], good)
      const file = path.join(yield* home, "token")
      const [first, second] = [assertionFor(issuer.origin, soon()), assertionFor(issuer.origin, soon() + 1)]
      fs.writeFileSync(file, first)
      const { connection } = yield* connected(server.url, { grant: "jwt_bearer", assertion_file: file })
      fs.writeFileSync(file, second)
      good.splice(0, 1, "t2")
      yield* connection.callTool("read", {})
      assert.deepStrictEqual(issuer.requests.map(({ form }) => form["assertion"]), [first, second])
    })))

  it.live("a command is told whom the assertion is for, and gets no secrets; what it prints stands in no message", () =>
    Effect.scoped(Effect.gen(function*() {
      const issuer = yield* tokenServer(federated)
      const server = yield* guarded(() => [issuer.origin], ["good"])
      const file = path.join(yield* home, "seen")
      const seen = `env > '${file}'; pwd >> '${file}'; echo no-token-at-all`
      const oauth = {
        grant: "jwt_bearer",
        assertion_command: seen,
        client_id: "w",
        client_secret_env: "ODD_NAME"
      } as const
      const error = yield* Effect.flip(connected(server.url, oauth, { ODD_NAME: "sesame-1", GH_TOKEN: "sesame-2" }))
      const text = fs.readFileSync(file, "utf8")
      assert.include(text, `MCP_OAUTH_AUDIENCE=${issuer.origin}\n`)
      assert.include(text, `MCP_OAUTH_RESOURCE=${server.url}\n`)
      assert.notInclude(text, "sesame")
      assert.include(error.message, "does not say which server it is for")
      assert.notInclude(error.message, "no-token-at-all")
      const failed = yield* Effect.flip(
        connected(server.url, { grant: "jwt_bearer", assertion_command: "echo hunter2; exit 3" })
      )
      assert.include(failed.message, "assertion_command gave nothing: it ended with code 3")
      assert.notInclude(failed.message, "hunter2")
      assert.deepStrictEqual(issuer.requests, [])
    })))

  it.live("for another server, or over its time: never sent; one that names nobody only to the issuer of the settings", () =>
    Effect.scoped(Effect.gen(function*() {
      const issuer = yield* tokenServer(() => ({ body: { access_token: "good", token_type: "Bearer" } }))
      const server = yield* guarded(() => [issuer.origin], ["good"])
      const by = (WHO: string, more: object = {}) =>
        connected(server.url, { grant: "jwt_bearer", assertion_env: "WHO", ...more }, { WHO })
      const foreign = yield* Effect.flip(by(assertionFor("https://login.example")))
      assert.include(foreign.message, "is for https://login.example")
      assert.include((yield* Effect.flip(by(assertionFor(issuer.origin, 1_000)))).message, "expired at 1970-01-01")
      assert.include((yield* Effect.flip(by("opaque"))).message, "set issuer")
      assert.deepStrictEqual(issuer.requests, [])
      yield* by("opaque", { issuer: issuer.origin })
      yield* by(assertionFor(`${issuer.origin}/`))
      yield* by(assertionFor(`${issuer.origin}/token`))
      assert.strictEqual(issuer.requests.length, 3)
    })))

  it.live("a refusal ends it: asked once, by no other grant, and the assertion stands in no message", () =>
    Effect.scoped(Effect.gen(function*() {
      const issuer = yield* tokenServer(federated)
      const server = yield* guarded(() => [issuer.origin], ["good"])
      const stranger = pemOf(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey)
      const WHO = signedBy(stranger, { aud: issuer.origin, exp: soon() })
      const error = yield* Effect.flip(connected(server.url, { grant: "jwt_bearer", assertion_env: "WHO" }, { WHO }))
      assert.strictEqual(error.reason, "config")
      assert.include(error.message, "invalid_grant")
      assert.notInclude(error.message, WHO)
      assert.strictEqual(issuer.requests.length, 1)
    })))
})

describe("enterprise: an identity provider in between", () => {
  const idJag = "urn:ietf:params:oauth:token-type:id-jag"
  const both = (assertion: (audience: string | undefined) => string, type = idJag) =>
    Effect.gen(function*() {
      const provider = yield* tokenServer(({ form }) => ({
        body: { access_token: assertion(form["audience"]), issued_token_type: type, token_type: "N_A", expires_in: 300 }
      }))
      const issuer = yield* tokenServer(() => ({ body: { access_token: "good", token_type: "Bearer" } }))
      const server = yield* guarded(() => [issuer.origin], ["good"])
      const oauth: AuthTarget["oauth"] = {
        grant: "enterprise",
        client_id: "at the server",
        client_secret_env: "ONE",
        assertion_env: "ID_TOKEN",
        identity_provider: { issuer: provider.origin, client_id: "at the idp", client_key_env: "TWO" }
      }
      const vars = { ONE: "first secret", TWO: pemOf(issuing), ID_TOKEN: "the.id.token" }
      return { issuer, oauth, provider, server, vars }
    })

  it.live("the identity token is exchanged at the provider, and what it gives at the server's issuer", () =>
    Effect.scoped(Effect.gen(function*() {
      const jag = (aud: string | undefined) => signedBy(pemOf(issuing), { aud, exp: soon() })
      const { issuer, oauth, provider, server, vars } = yield* both(jag)
      const { connection } = yield* connected(server.url, oauth, vars)
      assert.strictEqual(textOf(yield* connection.callTool("read", {})), "done")
      const asked = provider.requests[0]?.form ?? {}
      assert.deepInclude(asked, {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        requested_token_type: idJag,
        subject_token: "the.id.token",
        subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
        audience: issuer.origin,
        resource: server.url,
        scope: "mcp:read",
        client_id: "at the idp"
      })
      assert.strictEqual(claimsIn(asked["client_assertion"])["aud"], provider.origin)
      const [granted] = issuer.requests
      assert.strictEqual(granted?.form["grant_type"], jwtBearer)
      assert.strictEqual(claimsIn(granted?.form["assertion"])["aud"], issuer.origin)
      assert.strictEqual(
        Buffer.from(String(granted?.headers.authorization).slice(6), "base64").toString(),
        "at+the+server:first+secret"
      )
      assert.isFalse(JSON.stringify(issuer.requests).includes("the.id.token"))
    })))

  it.live("an assertion for somebody else, or something else than one, is not passed on", () =>
    Effect.scoped(Effect.gen(function*() {
      for (
        const [assertion, type, words] of [
          [
            () => signedBy(pemOf(issuing), { aud: "https://other.example", exp: soon() }),
            idJag,
            "https://other.example"
          ],
          [() => "x", "urn:ietf:params:oauth:token-type:access_token", "no identity assertion"]
        ] as const
      ) {
        const { issuer, oauth, server, vars } = yield* both(assertion, type)
        const error = yield* Effect.flip(connected(server.url, oauth, vars))
        assert.include(error.message, words)
        assert.deepStrictEqual(issuer.requests, [])
      }
    })))
})

describe("in a run", () => {
  it.live(
    "a tool is called with the token, and neither that nor what it was had for reaches the model or a command",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const issuer = yield* tokenServer(() => ({ body: { access_token: "token-of-the-run", token_type: "Bearer" } }))
        const server = yield* guarded(
          () => [issuer.origin],
          ["token-of-the-run"],
          ({ headers }) => `you sent ${headers.authorization}`
        )
        const file = path.join(yield* home, "workload")
        fs.writeFileSync(file, "opaque-workload-token")
        const remote = (oauth: object) => ({ url: server.url, oauth: { issuer: issuer.origin, ...oauth } })
        const events = yield* Agents.runOnce({
          servers: {
            one: remote({ grant: "jwt_bearer", assertion_file: file }),
            two: remote({ grant: "client_credentials", client_id: "c", client_secret_env: "UNUSUAL" })
          },
          vars: { UNUSUAL: "open-sesame" },
          turns: Agents.calls(
            ["mcp__one__read"],
            ["mcp__two__read"],
            ["bash", { command: `env; cat '${file}'` }]
          )
        })
        const outputs = Agents.results(events).map(({ output }) => output)
        assert.strictEqual(outputs.length, 3)
        assert.include(outputs[0], "you sent Bearer [redacted]")
        assert.include(outputs[1], "you sent Bearer [redacted]")
        assert.include(outputs[2], "PATH=")
        const all = JSON.stringify(events)
        for (const secret of ["token-of-the-run", "opaque-workload-token", "open-sesame"]) {
          assert.notInclude(all, secret)
        }
        assert.strictEqual(issuer.requests.length, 2)
      })),
    30_000
  )
})

describe("keys and tokens", () => {
  it.prop("a text that is no key says so and nothing of itself", { text: fc.string({ minLength: 3 }) }, ({ text }) => {
    const key = readSigningKey(text)
    assert.isString(key)
    const marked = readSigningKey(
      `-----BEGIN PRIVATE KEY-----\n${Buffer.from(text).toString("base64")}\n-----END PRIVATE KEY-----`
    )
    assert.isString(marked)
  })

  it.prop(
    "what a key signs its public half knows, in every algorithm that it has",
    { text: fc.string() },
    ({ text }) => {
      for (const { privateKey } of Object.values(keyPairs)) {
        const key = readSigningKey(pemOf(privateKey))
        if (typeof key === "string") return assert.fail(key)
        assert.notProperty(key.public_jwk, "d")
        const publicKey = createPublicKey({ key: { ...key.public_jwk }, format: "jwk" })
        for (const algorithm of key.algorithms) {
          const padding = algorithm.startsWith("PS") ? { padding: 6, saltLength: -1 } : {}
          const hash = algorithm.startsWith("Ed") ? null : `sha${algorithm.slice(2)}`
          assert.isTrue(verify(
            hash,
            Buffer.from(text),
            { key: publicKey, dsaEncoding: "ieee-p1363", ...padding },
            key.sign(algorithm, text)
          ))
        }
      }
    },
    { fastCheck: { numRuns: 10 } }
  )

  it("a short RSA key and a curve without an algorithm are not used", () => {
    const short = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey
    assert.include(String(readSigningKey(pemOf(short))), "2048")
    const odd = generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey
    assert.include(String(readSigningKey(pemOf(odd))), "P-256")
    assert.include(String(readSigningKey(pemOf(generateKeyPairSync("x25519").privateKey))), "signs no tokens")
  })

  it.prop("what a token says is read without a throw, whatever it is", { text: fc.string(), claims: fc.jsonValue() }, (
    { claims, text }
  ) => {
    claimsOf(text)
    claimsOf(`a.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.b`)
    claimsOf(`a.${text}.b`)
  })

  it("the variables of a login are secrets, whatever their names", () => {
    const oauth = {
      grant: "enterprise",
      client_id: "a",
      client_key_env: "A",
      assertion_env: "B",
      identity_provider: { issuer: "https://i", client_id: "c", client_secret_env: "C" }
    }
    const { config } = ofText(JSON.stringify({ mcp_servers: { a: { url: "https://a/mcp", oauth } } }))
    assert.sameMembers([...secretVariables(config)], ["A", "B", "C"])
  })
})
