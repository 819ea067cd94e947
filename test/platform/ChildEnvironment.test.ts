import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { childEnvironment, isCredentialVariable } from "../../src/platform/ChildEnvironment.ts"

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
    "SERVICE_PRIVATE_KEY"
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
    "NODE_OPTIONS"
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
