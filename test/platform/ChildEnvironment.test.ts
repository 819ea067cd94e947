import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { childEnvironment, isCredentialVariable, knownSecrets } from "../../src/platform/ChildEnvironment.ts"

describe("G6: childEnvironment", () => {
  const secrets = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "OPENAI_KEY",
    "HANZO_API_KEY",
    "HANZO_OAUTH_REFRESH",
    "HANZO_CREDENTIALS",
    "GH_TOKEN",
    "GITHUB_TOKEN_2",
    "GITHUB_PAT",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "DB_PASSWORD",
    "PGPASSWORD",
    "SSHPASS",
    "STRIPE_SECRET",
    "npm_config_//registry.example/:_authToken",
    "NPM_CONFIG__AUTH",
    "TOKEN",
    "SERVICE_PRIVATE_KEY",
    "JWT",
    "SUPABASE_SERVICE_JWT",
    "MCP_BEARER",
    "STRIPE_SK",
    "SENTRY_DSN",
    "SLACK_WEBHOOK_URL",
    "DISCORD_WEBHOOK",
    "AZURE_STORAGE_CONNECTION_STRING",
    "SQLCONNSTR",
    "BLOB_SAS_URL",
    "GIT_ASKPASS",
    "SSH_ASKPASS"
  ]
  const harmless = [
    "PATH",
    "HOME",
    "LANG",
    "SSH_AUTH_SOCK",
    "MAX_TOKENS",
    "TOKENIZERS_PARALLELISM",
    "HANZO_CONFIG_HOME",
    "HANZO_MODEL",
    "HTTP_PROXY",
    "COMPASS",
    "KEYBOARD",
    "MONKEY",
    "KUBECONFIG",
    "AWS_REGION",
    "PATH_TO_PASSENGER",
    "NODE_OPTIONS",
    "VAULT_ADDR",
    "DATABASE_URL",
    "HTTPS_PROXY",
    "DISK",
    "TASK",
    "PGHOST",
    "DSNAME",
    "WEBHOOK_PORT",
    "XDG_SESSION_ID",
    "npm_config_registry"
  ]
  for (const name of secrets) it(`${name} is kept back`, () => assert.isTrue(isCredentialVariable(name)))
  for (const name of harmless) it(`${name} passes`, () => assert.isFalse(isCredentialVariable(name)))

  it("keeps the rest, drops the named, and what a definition names always reaches the child", () => {
    const vars = new Map([["PATH", "/bin"], ["ODD_NAME", "secret"], ["GH_TOKEN", "t"], ["EMPTY", ""]])
    assert.deepStrictEqual(
      childEnvironment(vars, { drop: ["ODD_NAME"], set: { GH_TOKEN: "named", PATH: "/usr/bin" } }),
      new Map([["PATH", "/usr/bin"], ["EMPTY", ""], ["GH_TOKEN", "named"]])
    )
    assert.strictEqual(vars.size, 4)
  })

  const addresses: ReadonlyArray<readonly [string, string, boolean]> = [
    ["DATABASE_URL", "postgres://app:s3cret@db.example:5432/app", true],
    ["DATABASE_URL", "postgres://app@db.example/app", false],
    ["DATABASE_URL", "postgres://localhost/app", false],
    ["HTTPS_PROXY", "http://me:pw@proxy.example:3128", true],
    ["HTTPS_PROXY", "http://proxy.example:3128", false],
    ["REDIS", "redis://:pw@cache.example", true],
    ["GIT_REMOTE", "ssh://git@host.example/x", false],
    ["GIT_REMOTE", "git@host.example:a/b", false],
    ["PIP_INDEX_URL", "https://u:p@index.example/simple", true],
    ["NODE_OPTIONS", "--import http://a.example:80/x@1", false],
    ["MANPATH", "/a:/b@c", false],
    ["SOME_ID", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", true],
    ["SOME_ID", "sk_live_abcdefgh12", true],
    ["SOME_ID", "ghp_abcdefghijklmnopqrstuvwx", true],
    ["SOME_ID", "-----BEGIN OPENSSH PRIVATE KEY-----\nx", true],
    ["CONN", "Server=a;User Id=b;Password=c;", true],
    ["CONN", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=b==", true],
    ["HOOK", "https://hooks.slack.com/services/T/B/x", true],
    ["TEXT", "the word password: none", false],
    ["SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh", false]
  ]
  for (const [name, value, kept] of addresses) {
    it(`by its value, ${name}=${value.slice(0, 30)} ${kept ? "is kept back" : "passes"}`, () => {
      assert.strictEqual(childEnvironment(new Map([[name, value]])).has(name), !kept)
      assert.deepStrictEqual(knownSecrets([[name, value]]).length, kept ? 1 : 0)
    })
  }

  it("lets no secret through, whatever the spelling", () => {
    const casing = FastCheck.tuple(FastCheck.constantFrom(...secrets), FastCheck.boolean()).map(([name, lower]) =>
      lower ? name.toLowerCase() : name
    )
    FastCheck.assert(FastCheck.property(FastCheck.array(casing), (names) => {
      const env = childEnvironment(new Map([...names, "PATH"].map((name) => [name, "x"])))
      assert.deepStrictEqual(Array.from(env.keys()), ["PATH"])
    }))
  })
})
