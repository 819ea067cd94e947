/** `mcp auth` and what it makes possible, as processes with a real authorization server (reading 1.13). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { issuer, protectedServer } from "../support/mcp/protected.ts"
import { guarded, tokenServer } from "../support/mcp/tokens.ts"
import { load, UserAgent } from "../support/oidc/UserAgent.ts"
import { address, credentialsFile, home, run, start } from "./authSupport.ts"
import { generateKeyPairSync } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"

const logins = (at: Parameters<typeof credentialsFile>[0]): ReadonlyArray<string> =>
  Object.keys((JSON.parse(fs.readFileSync(credentialsFile(at), "utf8")) as { readonly mcp?: object }).mcp ?? {})

const setUp = Effect.gen(function*() {
  const oidc = yield* issuer
  const { server, tokens } = yield* protectedServer(() => oidc.issuer)
  const at = yield* home({ mcp_servers: { remote: { url: server.url }, local: { command: "true" } } })
  return { at, oidc, server, tokens }
})

describe("hanzo-dev mcp auth", () => {
  it.live(
    "1.13 a server that asks for a login says how; after it, it is ready; then the login is forgotten",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const { at, oidc, server, tokens } = yield* setUp
        const before = yield* run(at, ["mcp", "test", "remote"])
        assert.strictEqual(before.code, 1, before.stderr)
        assert.include(before.stdout, "hanzo-dev mcp auth remote")

        const login = start(at, ["mcp", "auth", "remote", "--no-browser"])
        const url = yield* login.said(address)
        yield* Effect.flatMap(new UserAgent().visit(url), load)
        const ended = yield* login.ended
        assert.strictEqual(ended.code, 0, ended.stderr)
        assert.include(ended.stderr, `logged in to remote at ${oidc.issuer}`)
        assert.strictEqual(ended.stdout, "")
        assert.strictEqual(logins(at).length, 1)

        const after = yield* run(at, ["mcp", "test", "remote", "--json"])
        assert.strictEqual(after.code, 0, after.stdout + after.stderr)
        const document = JSON.parse(after.stdout) as { readonly phase: string; readonly kind: string }
        assert.strictEqual(document.phase, "ready")
        assert.isAbove(tokens.length, 0)
        for (const text of [ended.stderr, after.stdout, after.stderr]) {
          for (const token of tokens) assert.notInclude(text, token)
        }

        const out = yield* run(at, ["mcp", "auth", "remote", "--logout"])
        assert.strictEqual(out.code, 0, out.stderr)
        assert.deepStrictEqual(logins(at), [])
        assert.isAbove(oidc.seen("/token/revocation").length, 0)
        assert.isTrue(server.seen.every(({ url: path }) => !path.includes("token")))
      })),
    60_000
  )

  it.live(
    "1.13 --paste takes the address that a browser elsewhere ended at",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const { at } = yield* setUp
        const login = start(at, ["mcp", "auth", "remote", "--paste", "--scope", "mcp:write"])
        const url = yield* login.said(address)
        assert.include(new URL(url).searchParams.get("scope"), "mcp:write")
        yield* login.type(`${yield* new UserAgent().visit(url)}\n`)
        const ended = yield* login.ended
        assert.strictEqual(ended.code, 0, ended.stderr)
        assert.strictEqual(logins(at).length, 1)
      })),
    60_000
  )

  it.live(
    "1.13 a grant without a login: a token is had to see that it works, nothing is stored, and the server is ready",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const issuing = yield* tokenServer(() => ({
          body: { access_token: "token-for-ci", token_type: "Bearer", expires_in: 600 }
        }))
        const server = yield* guarded(() => [issuing.origin], ["token-for-ci"])
        const at = yield* home({
          mcp_servers: {
            ci: {
              url: server.url,
              oauth: { grant: "client_credentials", client_id: "ci", client_key_file: "~/ci.pem" }
            },
            none: { url: server.url, oauth: { grant: "jwt_bearer", assertion_env: "NOT_THERE" } }
          }
        })
        const { privateKey } = generateKeyPairSync("ed25519")
        fs.writeFileSync(path.join(at.env["HOME"] ?? "", "ci.pem"), privateKey.export({ type: "pkcs8", format: "pem" }))
        const asked = yield* run(at, ["mcp", "auth", "ci"])
        assert.strictEqual(asked.code, 0, asked.stderr)
        assert.match(asked.stderr, /^ci takes a token by client_credentials, good until .*it is not stored/u)
        assert.isFalse(fs.existsSync(credentialsFile(at)))
        const after = yield* run(at, ["mcp", "test", "ci"])
        assert.strictEqual(after.code, 0, after.stdout + after.stderr)
        const none = yield* run(at, ["mcp", "auth", "none"])
        assert.strictEqual(none.code, 2)
        assert.include(none.stderr, "mcp_servers.none.oauth.assertion_env names the variable NOT_THERE")
        assert.notInclude(asked.stderr + after.stdout + after.stderr, "token-for-ci")
      })),
    60_000
  )

  it.live("1.13 what cannot be logged in to is exit code 2, and says why", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at } = yield* setUp
      const local = yield* run(at, ["mcp", "auth", "local"])
      assert.strictEqual(local.code, 2)
      assert.include(local.stderr, "nothing to log in to")
      const none = yield* run(at, ["mcp", "auth", "remot"])
      assert.strictEqual(none.code, 2)
      assert.include(none.stderr, "remote")
      const both = yield* run(at, ["mcp", "auth", "remote", "--paste", "--device"])
      assert.strictEqual(both.code, 2)
    })), 60_000)
})
