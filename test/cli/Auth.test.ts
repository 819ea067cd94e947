import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { mkdirSync } from "node:fs"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { spanText, untilText } from "../../src/cli/AuthExit.ts"
import { implausible, keyPath } from "../../src/cli/AuthKey.ts"
import { eventText, flowOf, login } from "../../src/cli/AuthLogin.ts"
import { providerOf } from "../../src/cli/AuthProvider.ts"
import * as AuthStatus from "../../src/cli/AuthStatus.ts"
import type { CliExit } from "../../src/cli/Exit.ts"
import type * as Schemas from "../../src/cli/Schemas.ts"
import type * as Spec from "../../src/cli/Spec.ts"
import { Config } from "../../src/config/Config.ts"
import type { AuthProviderConfig } from "../../src/config/Schema.ts"
import { CredentialStore } from "../../src/credentials/CredentialStore.ts"
import { Login, type LoginService } from "../../src/credentials/Login.ts"
import { OAuthError } from "../../src/credentials/OAuthClient.ts"
import { TokenRefresh } from "../../src/credentials/TokenRefresh.ts"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Files } from "../../src/platform/Files.ts"
import { Http } from "../../src/platform/Http.ts"
import { type Line, Terminal } from "../../src/platform/Terminal.ts"
import { configWith } from "../support/oauth.ts"

type LoginValues = Spec.Values<typeof Spec.authLogin>

const values = (given: Partial<LoginValues> = {}): LoginValues => ({
  device: false,
  paste: false,
  "api-key": false,
  "no-browser": false,
  args: [],
  ...given
})

const server: AuthProviderConfig = { issuer: "https://a.example", client_id: "c" }

describe("what is asked for", () => {
  it.effect("the provider: the named one, the only one that is set up, hanzo; several have to be told apart", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ corp: server })
      assert.strictEqual(providerOf(values(), config), "corp")
      assert.strictEqual(providerOf(values({ args: ["other"] }), config), "other")
      assert.strictEqual(providerOf(values(), yield* configWith({})), "hanzo")
      for (
        const [given, providers] of [
          [values(), { a: server, b: server }],
          [values({ "api-key": true }), { corp: server }],
          [values({ args: ["mcp"] }), {}],
          [values({ args: [""] }), {}]
        ] as const
      ) {
        const refused = providerOf(given, yield* configWith(providers))
        assert.strictEqual(typeof refused === "string" ? refused : refused.exit_code, 2)
      }
    }))

  it.effect("the flow: --device keeps the variant that the settings have", () =>
    Effect.gen(function*() {
      const config = yield* configWith({
        corp: server,
        odd: { ...server, flow: "device_json" },
        polls: { ...server, device_poll_endpoint: "https://a.example/poll" }
      })
      const flows = ["corp", "odd", "polls"].map((name) => flowOf(values({ device: true }), name, config))
      assert.deepStrictEqual(flows, ["device", "device_json", "device_json"])
      assert.strictEqual(flowOf(values({ paste: true }), "odd", config), "code")
      assert.isUndefined(flowOf(values({ "no-browser": true }), "corp", config))
    }))

  it("what may be a key", () => {
    for (const key of ["sk-ant-api03-abc_DEF-123", "12345678", "a".repeat(16_384), "AIzaSy0123456789"]) {
      assert.isNull(implausible(key), key)
    }
    for (
      const text of [
        "",
        "1234567",
        "a".repeat(16_385),
        "two words here",
        "line\nbreak-in-it",
        "KEY=12345678",
        "export KEY=12345678",
        "'12345678'",
        "12345678\"",
        "pass\u0001word1",
        "schlüssel1",
        "https://example.com/key"
      ]
    ) {
      assert.isString(implausible(text), text)
      if (text.length > 6) assert.notInclude(implausible(text) ?? "", text)
    }
    assert.deepStrictEqual([keyPath("hanzo"), keyPath("a.b")], [["api_key"], ["providers", "a.b", "api_key"]])
  })
})

describe("what is said", () => {
  it("times", () => {
    const now = 1_700_000_000_000
    const at = now / 1000
    assert.strictEqual(untilText(at + 3600, now), "good until 2023-11-14 23:13 UTC (60 min)")
    assert.strictEqual(untilText(at - 1, now), "expired at 2023-11-14 22:13 UTC")
    assert.strictEqual(untilText(null, now), "good until the server says otherwise")
    assert.match(untilText(Number.MAX_SAFE_INTEGER, now), /^good until the end of days \(\d+ days\)$/u)
    assert.deepStrictEqual([0.5, 59, 60, 7199, 7200, 172_799, 172_800].map(spanText), [
      "0 s",
      "59 s",
      "1 min",
      "119 min",
      "2 h",
      "47 h",
      "2 days"
    ])
  })

  it("events, safe for a terminal (G8)", () => {
    const url = "https://a.example/?state=1"
    const opening = eventText({ type: "address", url, opening: true, why: null }, 0, true)
    assert.include(opening, `opening the browser; if nothing happens, open this address:\n  ${url}\nor paste`)
    const shown = eventText({ type: "address", url, opening: false, why: "this is a session over SSH" }, 0, false)
    assert.strictEqual(shown, `this is a session over SSH: open this address in any browser and log in:\n  ${url}\n`)
    const device = eventText(
      {
        type: "device_code",
        user_code: "AB\u001b[2JCD",
        verification_uri: "https://a.example/device",
        verification_uri_complete: null,
        expires_at: 600
      },
      0,
      false
    )
    assert.include(device, "the code is good for 10 min")
    assert.notInclude(device, "\u001b")
    assert.strictEqual(
      eventText({ type: "delayed", message: "down", delay_ms: 10_000 }, 0, false),
      "down; trying again in 10 s\n"
    )
  })

  it("the status", () => {
    const login = {
      expires_at: null,
      scopes: null,
      client_id: null,
      issuer: null,
      resource: null,
      refreshable: false,
      problem: null
    }
    const status: Schemas.AuthStatus = {
      v: 1,
      ok: true,
      file: "/home/user/.config/hanzo/credentials.json",
      problem: null,
      logins: [
        {
          ...login,
          provider: "a\u001b[1m",
          state: "valid",
          refreshable: true,
          scopes: ["x", "y"],
          issuer: "https://i"
        },
        { ...login, provider: "b", state: "needs_login", expires_at: 1, problem: "the server refuses" }
      ],
      broken: [{ provider: "c", message: "line 3: a login must be an object" }],
      providers: [
        { provider: "a", uses: { kind: "login", source: "credentials.json" } },
        { provider: "b", uses: null },
        { provider: "hanzo", uses: { kind: "api_key_command", source: "settings, api_key_command" } }
      ],
      model: { model: "a/m", provider: "a", origin: "user" },
      detection: { provider: null, kind: null, reason: "nothing", candidates: [] }
    }
    assert.strictEqual(
      AuthStatus.text(status, 0),
      [
        "logins in /home/user/.config/hanzo/credentials.json",
        "  a\u241b[1m: good until the server says otherwise, refreshed when due",
        "    issuer https://i",
        "    scopes x y",
        "  b: no longer good; to log in again: hanzo-dev auth login b",
        "    the server refuses",
        "  line 3: a login must be an object",
        "",
        "what a request carries",
        "  a      login (credentials.json)",
        "  hanzo  API key of a command, run when it is needed (settings, api_key_command)",
        "",
        "when no provider is named",
        "  the model of the settings names it: a/m (user), so a is asked",
        "  nothing",
        "",
        ""
      ].join("\n")
    )
  })
})

const credential = {
  provider: "corp",
  access_token: Redacted.make("access-1"),
  refresh_token: null,
  expires_at: null
}

/** A login over a scripted flow, with a person at the terminal who says these lines. */
const session = (
  file: string | null,
  lines: ReadonlyArray<Line>,
  flow: LoginService["login"],
  given: Partial<LoginValues> = {},
  before: (path: string) => Effect.Effect<void> = () => Effect.void,
  stdin?: string
) =>
  Effect.scoped(Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const root = yield* fs.makeTempDirectoryScoped()
    const dirs = Dirs.layerTest(root)
    const { config } = yield* Effect.provide(Dirs, dirs)
    yield* fs.makeDirectory(config, { recursive: true, mode: 0o700 })
    const path = `${config}/credentials.json`
    if (file !== null) yield* fs.writeFileString(path, file, { mode: 0o600 })
    const err: Array<string> = []
    const out: Array<string> = []
    const left = [...lines]
    const revoked: Array<string> = []
    yield* before(path)
    const environment = Environment.layerTest({ home: root })
    const store = CredentialStore.layer.pipe(
      Layer.provide(Layer.mergeAll(dirs, AtomicFile.layer, Files.layer, Layer.provide(Http.layer, environment))),
      Layer.provideMerge(environment)
    )
    const ended: Either.Either<number, CliExit> = yield* Effect.either(login("corp", values(given))).pipe(
      Effect.provide(Layer.mergeAll(
        store,
        Config.layerText("{}"),
        Layer.succeed(Login, { login: flow }),
        Layer.succeed(TokenRefresh, {
          serverOf: () => Effect.succeed({ server: { issuer: null }, client: { client_id: "c" } }),
          refresh: () => Effect.die("nothing is refreshed"),
          revoke: (_, token) => Effect.sync(() => void revoked.push(Redacted.value(token)))
        }),
        Terminal.layerTest({
          stdin_kind: stdin === undefined ? "terminal" : "pipe",
          ...(stdin === undefined ? {} : { stdin }),
          out,
          err,
          readLine: () =>
            Effect.suspend(() => {
              const next = left.shift()
              return next === undefined ? Effect.never : Effect.succeed(next)
            })
        })
      ))
    )
    const names = yield* fs.readDirectory(config)
    return {
      code: Either.match(ended, { onLeft: ({ exit_code }) => exit_code, onRight: (code) => code }),
      err: err.join(""),
      revoked,
      lines: Either.match(ended, { onLeft: ({ lines }) => lines.join("\n"), onRight: () => "" }),
      out,
      names: names.sort(),
      text: names.includes("credentials.json") ? yield* fs.readFileString(path) : null
    }
  })).pipe(Effect.provide(NodeFileSystem.layer))

const gives = () => Effect.succeed(credential)

describe("a login at the terminal", () => {
  it.live("stores what the flow gives and says where, nothing of it on stdout", () =>
    Effect.gen(function*() {
      const { code, err, out, text } = yield* session(null, [], gives)
      assert.deepStrictEqual([code, out], [0, []])
      assert.match(
        err,
        /^logged in to corp; good until the server says otherwise, and not to be refreshed; stored in /u
      )
      assert.notInclude(err, "access-1")
      assert.include(text ?? "", "access-1")
    }))

  it.live("what is pasted reaches the flow", () =>
    Effect.gen(function*() {
      const { code, text } = yield* session(
        null,
        [{ type: "line", text: "the-code" }],
        (_, __, options) =>
          Effect.map(
            options?.pasted ?? Effect.never,
            (pasted) => ({ ...credential, access_token: Redacted.make(pasted) })
          )
      )
      assert.strictEqual(code, 0)
      assert.include(text ?? "", "the-code")
    }))

  it.live("Ctrl-C at the question: exit 130, nothing stored", () =>
    Effect.gen(function*() {
      const { code, names } = yield* session(
        null,
        [{ type: "interrupt" }],
        (_, __, options) => Effect.as(options?.pasted ?? Effect.never, credential)
      )
      assert.deepStrictEqual([code, names], [130, []])
    }))

  it.live("--paste: the end of the input ends the login with 1, also behind lines; without it a browser still may", () =>
    Effect.gen(function*() {
      const asks: LoginService["login"] = (_, __, options) =>
        Effect.map(
          Effect.repeat(options?.pasted ?? Effect.never, { until: (text) => text === "good" }),
          () => credential
        )
      const ctrlD = yield* session(null, [{ type: "end" }], asks, { paste: true })
      assert.deepStrictEqual([ctrlD.code, ctrlD.names], [1, []])
      assert.include(ctrlD.lines, "stdin has ended")
      for (const [stdin, code] of [["", 1], ["bad\n", 1], ["bad\ngood", 0]] as const) {
        assert.strictEqual(
          (yield* session(null, [], asks, { paste: true }, () => Effect.void, stdin)).code,
          code,
          stdin
        )
      }
      const waits = Effect.timeoutOption(session(null, [{ type: "end" }], asks), "300 millis")
      assert.strictEqual((yield* waits)._tag, "None")
    }))

  it.live("a device flow asks for no paste", () =>
    Effect.gen(function*() {
      const { code } = yield* session(
        null,
        [{ type: "interrupt" }],
        (_, __, options) => options?.pasted === undefined ? gives() : Effect.die("it must not be asked"),
        { device: true }
      )
      assert.strictEqual(code, 0)
    }))

  it.live("a place where nothing can be stored is found out before anybody logs in", () =>
    Effect.gen(function*() {
      const lockTaken = (path: string) => Effect.sync(() => mkdirSync(`${path}.lock`))
      const { code, lines } = yield* session(null, [], () => Effect.die("nobody may be sent to log in"), {}, lockTaken)
      assert.strictEqual(code, 1)
      assert.include(lines, "cannot be changed")
    }))

  it.live("tokens that cannot be stored are revoked, and that is said", () =>
    Effect.gen(function*() {
      let place = ""
      const { code, lines, revoked } = yield* session(
        null,
        [],
        () =>
          Effect.sync(() => {
            mkdirSync(`${place}.lock`)
            return { ...credential, refresh_token: Redacted.make("refresh-1") }
          }),
        {},
        (path) => Effect.sync(() => void (place = path))
      )
      assert.deepStrictEqual([code, revoked], [1, ["refresh-1"]])
      assert.include(lines, "the server has revoked it")
      assert.notInclude(lines, "refresh-1")
    }))

  it.live("6.10: a corrupt file is replaced only with a yes, and is kept under another name", () =>
    Effect.gen(function*() {
      const corrupt = "{ not json"
      const yes = yield* session(corrupt, [{ type: "line", text: "y" }], gives)
      assert.strictEqual(yes.code, 0, yes.err)
      assert.include(yes.text ?? "", "access-1")
      assert.match(yes.names.join(" "), /credentials\.json\.corrupt-\d+/u)
      assert.match(yes.err, /the old file is kept as .*corrupt-/u)
      for (const answer of [{ type: "line", text: "no" }, { type: "end" }, { type: "interrupt" }] as const) {
        const no = yield* session(corrupt, [answer], () => Effect.die("nobody may be sent to log in"))
        assert.deepStrictEqual([no.code, no.text], [answer.type === "interrupt" ? 130 : 2, corrupt])
      }
    }))

  it.live("exit codes: 2 when no login is set up, 1 when it was refused, too late, or nobody was there", () =>
    Effect.gen(function*() {
      for (
        const [reason, code] of [
          ["not_configured", 2],
          ["login_timeout", 1],
          ["expired_token", 1],
          ["access_denied", 1],
          ["authorization_error", 1],
          ["state_mismatch", 1],
          ["iss_mismatch", 1],
          ["invalid_grant", 1],
          ["unavailable", 1],
          ["listen_failed", 1]
        ] as const
      ) {
        const ended = yield* session(null, [], () => new OAuthError({ reason, message: "why" }))
        assert.deepStrictEqual([ended.code, ended.names], [code, []], reason)
      }
    }))
})
