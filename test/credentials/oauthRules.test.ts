import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { type ExpectedResponse, isAnswer, readResponse } from "../../src/credentials/AuthorizationResponse.ts"
import { answerCallback } from "../../src/credentials/CallbackPage.ts"
import { addressFault, shown } from "../../src/credentials/EndpointCall.ts"
import { credentialOf } from "../../src/credentials/Login.ts"
import { readPasted } from "../../src/credentials/PastedAnswer.ts"
import { PkceChallenge } from "../../src/credentials/PkceChallenge.ts"
import { metadataAddresses } from "../../src/credentials/ServerMetadata.ts"
import { Browser, missingBrowser, openers } from "../../src/platform/Browser.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { SecureRandom } from "../../src/platform/SecureRandom.ts"

const unreserved = FastCheck.stringMatching(/^[A-Za-z0-9._~-]{43,128}$/u)
const anything = FastCheck.string({ unit: "binary" })
/** As UTF-8 can carry it. */
const wellFormed = (text: string): string => Buffer.from(text).toString()
const issuer = "https://login.example.com"
const expected: ExpectedResponse = { state: "the-state", issuer, iss_supported: false }

describe("6.1, 6.2: PKCE", () => {
  it.prop("the challenge is that of node:crypto, for every verifier", [unreserved], ([verifier]) => {
    const pair = Either.getOrThrow(PkceChallenge.fromVerifier(verifier))
    assert.strictEqual(pair.challenge, createHash("sha256").update(verifier, "ascii").digest("base64url"))
    assert.strictEqual(Redacted.value(pair.verifier), verifier)
  })

  it.prop("what is no verifier is refused, and never repeated", [anything], ([text]) => {
    const result = PkceChallenge.fromVerifier(text)
    assert.strictEqual(Either.isRight(result), /^[A-Za-z0-9._~-]{43,128}$/u.test(text) && !text.endsWith("\n"))
    if (Either.isLeft(result) && text.length > 8) assert.notInclude(result.left.message, text)
  })

  it.prop(
    "octets are base64url without padding",
    [FastCheck.uint8Array({ minLength: 0, maxLength: 120 })],
    ([octets]) => {
      const result = PkceChallenge.fromOctets(octets)
      assert.strictEqual(Either.isRight(result), octets.length >= 32 && octets.length <= 96)
      if (Either.isRight(result)) {
        const verifier = Redacted.value(result.right.verifier)
        assert.strictEqual(verifier, Buffer.from(octets).toString("base64url"))
        assert.isTrue(Either.isRight(PkceChallenge.fromVerifier(verifier)))
      }
    }
  )

  it("the rule that was broken is named", () => {
    const fault = (verifier: string) =>
      Either.match(PkceChallenge.fromVerifier(verifier), { onLeft: ({ message }) => message, onRight: () => "" })
    assert.strictEqual(fault("a".repeat(42)), "a code verifier has 43 to 128 characters, this one has 42")
    assert.strictEqual(fault("a".repeat(129)), "a code verifier has 43 to 128 characters, this one has 129")
    assert.match(fault(`${"a".repeat(42)}\n`), /character 43 is U\+000A$/u)
    assert.match(fault(`${"a".repeat(4)}\ud800${"a".repeat(40)}`), /character 5 is U\+D800$/u)
  })

  it.effect("a pair is made of 32 octets of the cryptographic source, and shows no verifier", () =>
    Effect.gen(function*() {
      const counts: Array<number> = []
      const pair = yield* Effect.provideService(PkceChallenge.generate, SecureRandom, {
        bytes: (count) =>
          Effect.sync(() => {
            counts.push(count)
            return new Uint8Array(count)
          })
      })
      assert.deepStrictEqual(counts, [32])
      assert.strictEqual(Redacted.value(pair.verifier), "A".repeat(43))
      assert.notInclude(JSON.stringify(pair), "A".repeat(43))
      const pairs = yield* Effect.all([PkceChallenge.generate, PkceChallenge.generate]).pipe(
        Effect.provide(SecureRandom.layer)
      )
      assert.notStrictEqual(pairs[0].challenge, pairs[1].challenge)
    }))
})

/** Queries of the known names and others, with any values, in any order. */
const parameter = FastCheck.tuple(
  FastCheck.constantFrom("code", "state", "iss", "error", "error_description", "error_uri", "scope", ""),
  FastCheck.oneof(FastCheck.constantFrom("the-state", issuer, "", "other"), anything)
)
const queries = FastCheck.array(parameter, { maxLength: 8 }).map((pairs) => {
  const query = new URLSearchParams()
  for (const [name, value] of pairs) query.append(name, wellFormed(value))
  return query
})

describe("6.4: the parser of the answer", () => {
  it.prop(
    "a code comes out only of a query that says so in full",
    [queries, FastCheck.boolean()],
    ([query, promised]) => {
      const found = readResponse(query.toString(), { ...expected, iss_supported: promised })
      const one = (name: string) => query.getAll(name).length === 1 ? query.get(name) : null
      if (Either.isRight(found)) {
        assert.strictEqual(one("state"), "the-state")
        assert.strictEqual(found.right, one("code"))
        assert.notStrictEqual(found.right, "")
        assert.isTrue(query.get("error") === null || query.get("error") === "")
        const iss = query.get("iss")
        assert.isTrue(iss === issuer || (!promised && (iss === null || iss === "")))
      } else if (query.getAll("state").length < 2 && query.get("state") !== "the-state") {
        assert.strictEqual(found.left.reason, "state_mismatch")
      }
    }
  )

  it.prop("never fails on any text, and says nothing that harms a terminal", [anything, anything], ([query, state]) => {
    const found = readResponse(query, { ...expected, state })
    if (Either.isLeft(found)) assert.notMatch(found.left.message, /[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/u)
    isAnswer(query)
  })

  it.prop("round trip: what a server writes is what comes out", [anything.filter((code) => code !== "")], ([text]) => {
    const code = wellFormed(text)
    const query = new URLSearchParams({ iss: issuer, code, state: "the-state" }).toString()
    assert.deepStrictEqual(readResponse(query, expected), Either.right(code))
  })

  it.prop("the state is compared whole", [anything, anything], ([left, right]) => {
    const query = new URLSearchParams({ code: "c", state: wellFormed(left) }).toString()
    const same = left !== "" && wellFormed(left) === right
    assert.strictEqual(Either.isRight(readResponse(query, { ...expected, state: right })), same)
  })

  it.prop("requests of strangers end nothing", [
    FastCheck.constantFrom("GET", "POST", "HEAD", "PUT"),
    FastCheck.oneof(anything, queries.map((query) => `/callback?${query.toString()}`)),
    FastCheck.oneof(FastCheck.constant("127.0.0.1:80"), anything)
  ], ([method, target, host]) => {
    const { page, result } = answerCallback({ method, target, host, port: 80 }, "127.0.0.1", expected)
    const query = target.slice("/callback?".length)
    const counts = method === "GET" && (host === "127.0.0.1:80" || host === "127.0.0.1") &&
      target.startsWith("/callback?") && isAnswer(query)
    assert.strictEqual(result !== null, counts)
    if (result === null) assert.isAtLeast(page.status, 400)
    const pages = new Set([
      "Back to the terminal",
      "The login did not succeed",
      "The login was stopped",
      "Nothing here",
      "Not an answer of a login"
    ])
    assert.isTrue(pages.has(/<title>([^<]*)/u.exec(page.body)?.[1] ?? ""))
  })
})

it("6.4: a browser leaves out the default port, and no other", () => {
  const asked = (port: number, host: string | null) =>
    answerCallback({ method: "GET", target: "/callback?code=c&state=the-state", host, port }, "127.0.0.1", expected)
      .result
  assert.deepStrictEqual(asked(80, "127.0.0.1"), Either.right("c"))
  assert.deepStrictEqual(asked(80, "127.0.0.1:80"), Either.right("c"))
  assert.deepStrictEqual(asked(8080, "127.0.0.1:8080"), Either.right("c"))
  for (
    const host of ["127.0.0.1", "127.0.0.1:80", "localhost:8080", "evil.example:8080", "127.0.0.1:8080.evil", "", null]
  ) {
    assert.isNull(asked(8080, host))
  }
})

describe("6.5: what is pasted", () => {
  const read = (text: string, allow = true) => {
    const found = readPasted(text, expected, allow)
    return "again" in found
      ? "again"
      : Either.match(found.result, { onLeft: ({ reason }) => reason, onRight: (code) => code })
  }
  const cases: ReadonlyArray<readonly [string, string, string]> = [
    ["http://127.0.0.1:4711/callback?code=c%2F1&state=the-state", "c/1", "c/1"],
    ["  http://127.0.0.1:4711/callback?state=the-state&code=c\n", "c", "c"],
    ["HTTP://LOCALHOST:1/callback?state=the-state&code=c#_=_", "c", "c"],
    ["http://127.0.0.1/callback?code=c&state=other", "state_mismatch", "state_mismatch"],
    ["http://127.0.0.1/callback?code=c", "state_mismatch", "state_mismatch"],
    ["http://127.0.0.1/callback?error=access_denied&state=the-state", "authorization_error", "authorization_error"],
    ["http://127.0.0.1/callback?state=the-state", "again", "again"],
    ["http://127.0.0.1/callback?code=c&state=the-state&iss=https%3A%2F%2Fevil.example", "iss_mismatch", "iss_mismatch"],
    ["https://login.example.com/done", "again", "again"],
    ["http://[", "again", "again"],
    ["code=c&state=the-state", "c", "c"],
    ["?code=c&state=the-state", "c", "c"],
    ["/callback?code=c&state=the-state", "c", "c"],
    ["code=c", "state_mismatch", "state_mismatch"],
    ["state=the-state", "again", "again"],
    ["", "again", "again"],
    [" \t\n", "again", "again"],
    ["two words", "again", "again"],
    ["4/0AX4XfWh-_=", "4/0AX4XfWh-_=", "again"],
    ["c1#the-state", "c1", "c1"],
    ["c1#other", "state_mismatch", "state_mismatch"],
    ["#the-state", "#the-state", "again"]
  ]
  for (const [text, by_hand, with_browser] of cases) {
    it(JSON.stringify(text), () => {
      assert.strictEqual(read(text), by_hand)
      assert.strictEqual(read(text, false), with_browser)
    })
  }

  it.prop("never fails; with a browser nothing passes without the state", [anything], ([text]) => {
    read(text)
    assert.isFalse(
      "result" in readPasted(text, expected, false) && Either.isRight(Either.try(() => read(text, false))) &&
        !text.includes("the-state") && !/(?:code|error|state|iss)=|#|%/u.test(text)
    )
  })
})

describe("addresses", () => {
  it("1.13: where metadata lies, in order", () => {
    assert.deepStrictEqual(metadataAddresses("https://a.example"), [
      "https://a.example/.well-known/oauth-authorization-server",
      "https://a.example/.well-known/openid-configuration"
    ])
    assert.deepStrictEqual(metadataAddresses("https://a.example:8443/realms/x/"), [
      "https://a.example:8443/.well-known/oauth-authorization-server/realms/x",
      "https://a.example:8443/.well-known/openid-configuration/realms/x",
      "https://a.example:8443/realms/x/.well-known/openid-configuration"
    ])
  })

  it("plain http is for this machine alone", () => {
    for (
      const good of [
        "https://a.example",
        "http://127.0.0.1:1",
        "http://127.9.9.9",
        "http://[::1]:80",
        "http://localhost"
      ]
    ) {
      assert.isNull(addressFault(good, null), good)
    }
    for (
      const bad of [
        "http://a.example",
        "http://localhost.a.example",
        "http://0.0.0.0",
        "http://10.0.0.1",
        "ws://localhost",
        ""
      ]
    ) {
      assert.isNotNull(addressFault(bad, null), bad)
    }
    assert.isNotNull(addressFault("http://127.0.0.1", "https://a.example"))
    assert.isNull(addressFault("http://127.0.0.1", "http://localhost:8"))
  })

  it("G2: messages show no query, user or password", () => {
    assert.strictEqual(shown("https://u:p@a.example/token?secret=1#x"), "https://a.example/token")
  })
})

describe("6.5: is there a browser", () => {
  const missing = (platform: string, vars: Record<string, string>) =>
    missingBrowser({ os: platform, vars: new Map(Object.entries(vars)) })

  it("over SSH and without a display there is none", () => {
    assert.isNull(missing("darwin", {}))
    assert.isNull(missing("win32", {}))
    assert.isNull(missing("linux", { DISPLAY: ":0" }))
    assert.isNull(missing("linux", { WAYLAND_DISPLAY: "wayland-0" }))
    assert.isNull(missing("linux", { WSL_DISTRO_NAME: "Debian" }))
    assert.isNull(missing("linux", { BROWSER: "lynx" }))
    assert.strictEqual(missing("linux", {}), "there is no display")
    assert.strictEqual(missing("linux", { DISPLAY: "" }), "there is no display")
    for (const name of ["SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"]) {
      for (const platform of ["darwin", "linux", "win32"]) {
        assert.strictEqual(missing(platform, { [name]: "x", DISPLAY: ":10" }), "this is a session over SSH")
      }
    }
  })

  it("the address is one argument, never a part of a command line", () => {
    const url = "https://a.example/?a=1&b=$(x);'\"%20"
    for (const platform of ["darwin", "linux", "win32"]) {
      for (const argv of openers({ os: platform, vars: new Map() }, url)) {
        assert.strictEqual(argv.at(-1), url)
        assert.notInclude(["cmd", "cmd.exe", "sh", "powershell"], argv[0])
      }
    }
  })

  it("BROWSER names programs, one after the other, with the address in place of %s or last; no shell reads them", () => {
    const url = "https://a.example/?a=1&b=$&%20"
    assert.deepStrictEqual(
      openers({ os: "linux", vars: new Map([["BROWSER", "one --new  %s -x:two; rm:: :/a/three"]]) }, url),
      [["one", "--new", url, "-x"], ["two;", "rm", url], ["/a/three", url], ["xdg-open", url]]
    )
    assert.deepStrictEqual(openers({ os: "linux", vars: new Map([["BROWSER", ""]]) }, url), [["xdg-open", url]])
  })

  /** Programs of a scratch directory are the only ones on PATH. */
  const opening = (
    scripts: Readonly<Record<string, string>>,
    url: string,
    vars: Record<string, string> = {},
    drop?: ReadonlyArray<string>
  ) =>
    Effect.gen(function*() {
      const directory = yield* Effect.acquireRelease(
        Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-browser-"))),
        (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
      )
      for (const [name, text] of Object.entries(scripts)) {
        fs.writeFileSync(path.join(directory, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
      }
      const environment = Environment.layerTest({
        home: directory,
        vars: { PATH: directory, OUT: path.join(directory, "out"), MY_TOKEN: "hush", ...vars }
      })
      const { open } = yield* Browser.pipe(Effect.provide(Browser.layer.pipe(Layer.provide(environment))))
      const result = yield* open(url, drop)
      const out = path.join(directory, "out")
      return { result, out: fs.existsSync(out) ? fs.readFileSync(out, "utf8") : null }
    })

  it.scoped("the opener gets the address and no credentials", () =>
    Effect.gen(function*() {
      const script = "printf '%s|%s|%s' \"$#\" \"$1\" \"$MY_TOKEN\" > \"$OUT\""
      const url = "https://a.example/?a=1&b=$(touch%20x)"
      assert.deepStrictEqual(yield* opening({ "xdg-open": script }, url), { result: true, out: `1|${url}|` })
    }))

  it.scoped("G6: nor the variables that the settings name", () =>
    Effect.gen(function*() {
      const vars = { UP_ACCESS: "hush", CORP_HUSH: "hush", OTHER: "known" }
      const script = "printf '%s|%s|%s' \"$UP_ACCESS\" \"$CORP_HUSH\" \"$OTHER\" > \"$OUT\""
      const drop = ["UP_ACCESS", "CORP_HUSH"]
      const { out } = yield* opening({ "xdg-open": script }, "https://a.example/", vars, drop)
      assert.strictEqual(out, "||known")
    }))

  it.scoped("no opener, or one that fails, is told; under WSL its own comes first", () =>
    Effect.gen(function*() {
      const url = "https://a.example/"
      assert.isFalse((yield* opening({}, url)).result)
      assert.isFalse((yield* opening({ "xdg-open": "exit 3" }, url)).result)
      const both = { wslview: "exit 1", "xdg-open": "printf x > \"$OUT\"" }
      assert.deepStrictEqual(yield* opening(both, url, { WSL_DISTRO_NAME: "Debian" }), { result: true, out: "x" })
    }))

  it.scoped("an opener that goes on running has the address", () =>
    Effect.gen(function*() {
      // It ends when the test's directory goes.
      const script = "printf x > \"$OUT\"\nwhile [ -e \"$OUT\" ]; do :; done"
      const fiber = yield* Effect.fork(opening({ "xdg-open": script }, "https://a.example/"))
      while (fiber.unsafePoll() === null) {
        yield* TestClock.adjust("1 second")
        yield* Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
      }
      assert.isTrue((yield* Fiber.join(fiber)).result)
    }))

  it.scoped("only addresses of the web are opened", () =>
    Effect.gen(function*() {
      const scripts = { "xdg-open": "printf x > \"$OUT\"" }
      for (const url of ["file:///etc/passwd", "javascript:alert(1)", "-version", "vscode://x", ""]) {
        assert.deepStrictEqual(yield* opening(scripts, url), { result: false, out: null })
      }
    }))
})

it("13.1: what is stored of a login", () => {
  const tokens = { access_token: Redacted.make("a"), refresh_token: null, expires_at: null, scopes: null }
  const login = { server: { issuer, token_endpoint: `${issuer}/token` }, scopes: ["x"], resource: "https://r.example" }
  const stored = {
    provider: "corp",
    access_token: tokens.access_token,
    refresh_token: null,
    expires_at: null,
    scopes: ["x"],
    client_id: "app",
    issuer,
    token_endpoint: `${issuer}/token`,
    resource: "https://r.example"
  }
  assert.deepStrictEqual(credentialOf("corp", login, { tokens, client: { client_id: "app" } }), stored)
  const granted = { tokens: { ...tokens, scopes: ["y"] }, client: { client_id: "app" } }
  assert.deepStrictEqual(credentialOf("corp", login, granted), { ...stored, scopes: ["y"] })
  assert.deepStrictEqual(
    credentialOf("corp", { server: { issuer: null }, scopes: [] }, { tokens, client: { client_id: "app" } }),
    { provider: "corp", access_token: tokens.access_token, refresh_token: null, expires_at: null, client_id: "app" }
  )
})
