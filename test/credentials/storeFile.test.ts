import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Redacted from "effect/Redacted"
import {
  fromObject,
  nameProblem,
  parse,
  serverKey,
  withLogin,
  withoutLogin
} from "../../src/credentials/CredentialFile.ts"
import type { ProviderCredential } from "../../src/credentials/ProviderCredential.ts"

const login = (provider: string, more: Partial<ProviderCredential> = {}): ProviderCredential => ({
  provider,
  access_token: Redacted.make(`access-${provider}`),
  refresh_token: Redacted.make(`refresh-${provider}`),
  expires_at: 1_800_000_000,
  ...more
})

/** What a text says, with the secrets shown. */
const read = (text: string): unknown => {
  const parsed = parse(text)
  if ("problem" in parsed) return parsed.problem
  return Object.fromEntries([...parsed.entries].map(([name, entry]) => [
    name,
    "problem" in entry ? entry.problem : plain(entry.credential)
  ]))
}

const plain = (credential: ProviderCredential) => ({
  ...credential,
  access_token: Redacted.value(credential.access_token),
  refresh_token: credential.refresh_token === null ? null : Redacted.value(credential.refresh_token)
})

describe("the file of logins", () => {
  it("13.1: one login a provider, servers of tools below mcp", () => {
    const key = serverKey("https://id.example", "https://tools.example/a b", "client 1")
    const text = [login("hanzo"), login("openai", { refresh_token: null, expires_at: null }), login(key)].reduce(
      withLogin,
      ""
    )
    assert.deepStrictEqual(read(text), {
      hanzo: plain(login("hanzo")),
      openai: plain(login("openai", { refresh_token: null, expires_at: null })),
      [key]: plain(login(key))
    })
    assert.deepStrictEqual(Object.keys(JSON.parse(text)), ["hanzo", "openai", "mcp"])
    assert.strictEqual(text, withLogin(text, login("hanzo")), "the same login again changes nothing")
  })

  it("13.1: older layouts are read, and written only in the new form", () => {
    const old = {
      oauth: { accessToken: "h", refreshToken: "hr", expiresAt: 1_800_000_000_000, scopes: ["a"], future: { n: 1 } },
      oauth_anthropic: { access_token: "a", refresh_token: null, expires_at: 1_800_000_000.5 },
      oauth_openai: { access_token: "o", expires_at: null }
    }
    const text = JSON.stringify(old)
    const seen = {
      hanzo: { provider: "hanzo", access_token: "h", refresh_token: "hr", expires_at: 1_800_000_000, scopes: ["a"] },
      anthropic: { provider: "anthropic", access_token: "a", refresh_token: null, expires_at: 1_800_000_000.5 },
      openai: { provider: "openai", access_token: "o", refresh_token: null, expires_at: null }
    }
    assert.deepStrictEqual(read(text), seen)
    const written = withLogin(text, login("mine"))
    assert.deepStrictEqual(read(written), { ...seen, mine: plain(login("mine")) })
    assert.deepStrictEqual(JSON.parse(written).hanzo, {
      access_token: "h",
      refresh_token: "hr",
      expires_at: 1_800_000_000,
      scopes: ["a"],
      future: { n: 1 }
    })
    assert.notInclude(written, "oauth")
    assert.notInclude(written, "accessToken")
  })

  it("13.1: the new form wins over the old one; a change takes both away, a change of another keeps both", () => {
    const text = `{"oauth_openai": {"access_token": "old"}, "openai": {"access_token": "new"}}`
    assert.nestedPropertyVal(read(text), "openai.access_token", "new")
    assert.notInclude(withoutLogin(text, "openai"), "openai")
    assert.notInclude(withLogin(text, login("openai")), "old")
    assert.nestedPropertyVal(JSON.parse(withLogin(text, login("hanzo"))), "oauth_openai.access_token", "old")
    assert.deepStrictEqual(read(withoutLogin(`{"oauth": {"access_token": "x"}}`, "hanzo")), {})
    const null_ = `{"oauth_openai": {"access_token": "old"}, "openai": null}`
    assert.nestedPropertyVal(read(withLogin(null_, login("hanzo"))), "openai.access_token", "old")
  })

  it("6.10: unknown keys and providers keep their bytes", () => {
    const unknown = [
      `"future":   {"big":12345678901234567890,"e":1e400,"s":"\\u0041\\/","o":[ 1,\t2 ]}`,
      `"__proto__": {"access_token": "p", "x": {"__proto__":1.0}}`,
      `"7": "text"`,
      `"constructor": [1.10]`
    ]
    for (const sep of [",", ", ", ",\n  "]) {
      const text = `{${sep === ",\n  " ? "\n  " : ""}${unknown.join(sep)}}`
      let now = withLogin(text, login("hanzo"))
      now = withLogin(now, login("hanzo", { access_token: Redacted.make("second"), scopes: ["x"] }))
      now = withLogin(now, login("mcp/a"))
      now = withoutLogin(now, "mcp/a")
      for (const part of unknown) assert.include(now, part)
      assert.nestedPropertyVal(read(now), "hanzo.access_token", "second")
      now = withoutLogin(now, "hanzo")
      for (const part of unknown) assert.include(now, part)
      assert.notInclude(now, "hanzo")
    }
  })

  it("a login of before leaves none of its known fields behind, and all of the others", () => {
    const text = `{"hanzo": {"access_token": "a", "issuer": "i", "resource": "r", "note": {"kept":1}}}`
    assert.deepStrictEqual(JSON.parse(withLogin(text, login("hanzo"))).hanzo, {
      access_token: "access-hanzo",
      refresh_token: "refresh-hanzo",
      expires_at: 1_800_000_000,
      note: { kept: 1 }
    })
  })

  it("what is wrong is said with its place and without its value", () => {
    assert.deepStrictEqual(read(`{\n  "hanzo": {"access_token": "s3cret"\n`), {
      line: 3,
      column: 1,
      message: "a closing brace } is missing"
    })
    for (const text of [`[]`, `"s3cret"`, `5`, `{"mcp": "s3cret"}`, `{"hanzo": s3cret}`, `{"a": "s3cret`]) {
      const parsed = parse(text)
      if (!("problem" in parsed)) return assert.fail(text)
      assert.notInclude(parsed.problem.message, "s3cret")
    }
    for (
      const entry of [
        `"s3cret"`,
        `{}`,
        `{"access_token": 5}`,
        `{"access_token": " "}`,
        `{"access_token": "s3cret", "expires_at": "soon"}`,
        `{"access_token": "s3cret", "scopes": [1]}`
      ]
    ) {
      const parsed = parse(`{"openai": {"access_token": "fine"},\n "hanzo": ${entry}}`)
      if ("problem" in parsed) return assert.fail(entry)
      const [openai, hanzo] = [parsed.entries.get("openai"), parsed.entries.get("hanzo")]
      if (openai === undefined || hanzo === undefined || !("problem" in hanzo)) return assert.fail(entry)
      assert.isTrue("credential" in openai, "the others can be used")
      assert.strictEqual(hanzo.problem.line, 2)
      assert.notInclude(hanzo.problem.message, "s3cret")
    }
  })

  it("blank files, comments, a byte order mark and null entries", () => {
    for (const text of ["", " \n", "{}", "// nothing", `{"hanzo": null, "mcp": null}`]) {
      assert.deepStrictEqual(read(text), {})
      assert.deepStrictEqual(read(withLogin(text, login("hanzo"))), { hanzo: plain(login("hanzo")) })
    }
    assert.deepStrictEqual(read(withLogin("\uFEFF{}", login("hanzo"))), { hanzo: plain(login("hanzo")) })
    const commented = `{\n  // mine\n  "hanzo": {"access_token": "a",},\n}`
    assert.include(withLogin(commented, login("openai")), "// mine")
    assert.deepStrictEqual(Object.keys(read(withLogin(commented, login("openai"))) as object), ["hanzo", "openai"])
    assert.deepStrictEqual(read(withoutLogin(commented, "hanzo")), {})
  })

  it("G3: both spellings and duplicates: snake_case wins, the last one counts, one is left", () => {
    const text =
      `{"hanzo": {"access_token": "1"}, "hanzo": {"accessToken": "2", "access_token": "3", "access_token": "4"}}`
    assert.nestedPropertyVal(read(text), "hanzo.access_token", "4")
    const written = withLogin(text, login("openai"))
    assert.nestedPropertyVal(read(written), "hanzo.access_token", "4")
    assert.strictEqual(written.split(`"hanzo"`).length, 2)
    assert.strictEqual(written.split("access").length, 2 + 2)
  })

  it("names that cannot be stored", () => {
    for (const name of ["", "mcp", "mcp/", "oauth", "oauth_openai"]) assert.isNotNull(nameProblem(name))
    for (const name of ["hanzo", "mcp/x", "toString", "__proto__"]) {
      assert.isNull(nameProblem(name))
      assert.deepStrictEqual(Object.keys(read(withLogin("", login(name))) as object), [name])
    }
  })

  it("oauth_credentials of the settings", () => {
    const found = fromObject("hanzo", { access_token: "t", expires_at: 5 })
    assert.isTrue(typeof found === "object" && Redacted.value(found.access_token) === "t" && found.expires_at === 5)
    assert.isString(fromObject("hanzo", { token: "t" }))
  })

  it("any JSON: other values survive a login and its removal", () => {
    const names = FastCheck.string({ maxLength: 6 }).filter((name) => nameProblem(name) === null && name !== "hanzo")
    FastCheck.assert(
      FastCheck.property(
        FastCheck.dictionary(names, FastCheck.jsonValue({ maxDepth: 3 })),
        FastCheck.nat(3),
        FastCheck.string(),
        (others, indent, token) => {
          const text = JSON.stringify(others, null, indent)
          const now = withLogin(text, login("hanzo", { access_token: Redacted.make(`t${token}`.trim()) }))
          assert.nestedPropertyVal(read(now), "hanzo.access_token", `t${token}`.trim())
          const { hanzo: _, ...rest } = JSON.parse(now)
          assert.strictEqual(JSON.stringify(rest), JSON.stringify(JSON.parse(text)))
          assert.deepStrictEqual(JSON.parse(withoutLogin(now, "hanzo")), rest)
        }
      )
    )
  })
})
