import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import * as TestServices from "effect/TestServices"
import * as fs from "node:fs"
import * as path from "node:path"
import { Config } from "../../src/config/Config.ts"
import { type Credential, Credentials } from "../../src/credentials/Credentials.ts"
import { OAuthError } from "../../src/credentials/OAuthClient.ts"
import { Files } from "../../src/platform/Files.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { LocalServers } from "../../src/provider/LocalServers.ts"
import { ScriptedModels } from "../../src/provider/ScriptedModels.ts"
import { Targets } from "../../src/provider/Targets.ts"
import { logTo } from "../support/logged.ts"
import { gone } from "../support/processes.ts"
import { answer, configOf, type Home, makeHome, makeServer, type Server, settings, storeLayer } from "./storeSupport.ts"

const unasked: Server = makeServer(() => Effect.dieMessage("nothing was to be asked"))

interface Given {
  readonly vars?: Record<string, string>
  readonly server?: Server
  readonly logins?: unknown
  readonly log?: Array<string>
}

const layerOf = (home: Home, { log = [], server = unasked, vars = {} }: Given) =>
  Credentials.layerStore.pipe(
    Layer.provideMerge(storeLayer(home, server, undefined, vars)),
    Layer.provideMerge(Processes.layer),
    Layer.merge(logTo(log))
  )

const using = <A, E>(
  given: Given,
  body: (credentials: typeof Credentials.Service, home: Home) => Effect.Effect<A, E>
) =>
  Effect.flatMap(makeHome, (home) =>
    Effect.suspend(() => {
      if (given.logins !== undefined) home.write(given.logins)
      return Effect.provide(Effect.flatMap(Credentials, (credentials) => body(credentials, home)), layerOf(home, given))
    }))

const shown = (found: Option.Option<Credential>) =>
  Option.getOrNull(Option.map(found, ({ key, kind, source }) => [Redacted.value(key), kind, source]))

const expired = { access_token: "old", refresh_token: "r0", expires_at: 0 }
const refuse = (reason: OAuthError["reason"]) => Effect.fail(new OAuthError({ reason, message: "the server says no" }))

describe("keyFor", () => {
  it.scoped("13.2, 6.11: environment, settings, command, stored login, oauth_credentials", () =>
    using(
      { vars: { HANZO_API_KEY: "e" }, logins: { hanzo: { access_token: "stored" } } },
      (credentials, home) =>
        Effect.gen(function*() {
          const all = { api_key: "s", api_key_command: "echo c", oauth_credentials: { access_token: "o" } }
          assert.deepStrictEqual(shown(yield* credentials.keyFor("hanzo", configOf(all))), [
            "e",
            "api_key",
            "HANZO_API_KEY"
          ])
          const without = yield* Effect.provide(
            Credentials,
            layerOf(home, {})
          )
          const rest: Array<unknown> = []
          for (const settings of [all, { ...all, api_key: null }, { ...all, api_key: null, api_key_command: " " }]) {
            rest.push(shown(yield* without.keyFor("hanzo", configOf(settings))))
          }
          assert.deepStrictEqual(rest, [
            ["s", "api_key", "settings, api_key"],
            ["c", "api_key", "settings, api_key_command"],
            ["stored", "login", `the login of ${home.file}`]
          ])
          fs.rmSync(home.file)
          assert.deepStrictEqual(
            shown(yield* without.keyFor("hanzo", configOf({ ...all, api_key: null, api_key_command: null }))),
            [
              "o",
              "login",
              "settings, oauth_credentials"
            ]
          )
          for (const provider of ["anthropic", "mine"]) {
            assert.isNull(shown(yield* without.keyFor(provider, configOf(all))), "they belong to hanzo")
          }
        })
    ))

  it.scoped("without logins it looks once at the file; with a key not even that", () =>
    Effect.gen(function*() {
      const home = yield* makeHome
      const looks: Array<string> = []
      const counting = Layer.effect(
        Files,
        Effect.map(Files, (files): typeof Files.Service => {
          const count = <A extends ReadonlyArray<unknown>, B>(call: (...args: A) => B) => (...args: A): B => {
            looks.push(String(args[0]))
            return call(...args)
          }
          return { ...files, stat: count(files.stat), read: count(files.read), canonical: count(files.canonical) }
        })
      )
      const base = layerOf(home, { vars: { ANTHROPIC_API_KEY: "k" } })
      const credentials = yield* Effect.provide(
        Credentials,
        Layer.fresh(Credentials.layerStore).pipe(Layer.provide(counting), Layer.provide(base))
      )
      yield* credentials.keyFor("anthropic", settings)
      yield* credentials.detect("api_key", settings)
      assert.deepStrictEqual(looks, [])
      assert.isNull(shown(yield* credentials.keyFor("openai", settings)))
      assert.deepStrictEqual(looks, [home.file])
      assert.isTrue(Option.isNone(yield* credentials.detect("login", settings)))
      assert.deepStrictEqual(looks, [home.file, home.file])
    }))

  it.scoped("6.7: a login that is due is refreshed; one that still holds does when the refresh fails", () =>
    Effect.gen(function*() {
      const server = makeServer((sent) => Effect.succeed(answer(`after-${sent}`)))
      yield* using({ server, logins: { openai: expired } }, (credentials, home) =>
        Effect.gen(function*() {
          assert.strictEqual(shown(yield* credentials.keyFor("openai", settings))?.[0], "after-r0")
          yield* TestClock.setTime(1_000_000)
          home.write({ openai: { access_token: "t", refresh_token: "r1", expires_at: 1_030 } })
          server.answer = () => refuse("unavailable")
          assert.strictEqual(shown(yield* credentials.keyFor("openai", settings))?.[0], "t")
          yield* TestClock.setTime(1_030_000)
          assert.strictEqual((yield* Effect.flip(credentials.keyFor("openai", settings))).reason, "unavailable")
          assert.deepStrictEqual(server.sent, ["r0", "r1", "r1"])
          server.answer = (sent) => Effect.succeed(answer(`after-${sent}`))
          assert.strictEqual(shown(yield* credentials.keyFor("openai", settings))?.[0], "after-r1")
        }))
    }))

  it.scoped("oauth_credentials are never refreshed, and no use when they have expired", () =>
    using({}, (credentials) =>
      Effect.gen(function*() {
        yield* TestClock.setTime(100_000)
        const read = (value: object) => credentials.keyFor("hanzo", configOf({ oauth_credentials: value }))
        for (const login of [{ access_token: "o", refresh_token: "r", expires_at: 99 }, { nothing: 1 }]) {
          const error = yield* Effect.flip(read(login))
          assert.strictEqual(error.reason, "needs_login")
          assert.match(error.message, /settings, oauth_credentials.*auth login hanzo/u)
        }
        assert.strictEqual(shown(yield* read({ accessToken: "o", expires_at: 101 }))?.[0], "o")
      })))

  it.scoped("a key that no header carries is an error that names its place and nothing of it", () =>
    using(
      {
        vars: { OPENAI_API_KEY: "uno\ndos", ANTHROPIC_API_KEY: " good \n" },
        logins: { mine: { access_token: "uno\ndos" } }
      },
      (credentials) =>
        Effect.gen(function*() {
          const settingsWith = configOf({ api_key: "a\u001b[2Jb", providers: { other: { api_key: "\u00e9\u2713" } } })
          const places = [
            ["openai", "the key of OPENAI_API_KEY has a line break"],
            ["hanzo", "the key of settings, api_key has characters"],
            ["other", "the key of settings, providers.other.api_key has characters"],
            ["mine", "the access_token has a line break"]
          ] as const
          for (const [provider, text] of places) {
            const { message } = yield* Effect.flip(credentials.keyFor(provider, settingsWith))
            assert.include(message, text)
            assert.notMatch(message, /uno|dos|\[2J|\u00e9/u)
          }
          assert.strictEqual(shown(yield* credentials.keyFor("anthropic", settingsWith))?.[0], "good")
        })
    ))

  it.scoped("a corrupt file is an error for who needs a login, not for who has a key", () =>
    using({ vars: { OPENAI_API_KEY: "k" }, logins: "{" }, (credentials) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* Effect.flip(credentials.keyFor("hanzo", settings))).reason, "corrupt")
        assert.strictEqual(shown(yield* credentials.keyFor("openai", settings))?.[0], "k")
      })))
})

describe("api_key_command", () => {
  it.scoped("runs by the shell at home, without credentials around it; white space is no part of the key", () =>
    using(
      { vars: { MY_TOKEN: "hidden", FOREIGN: "seen", UP_KEY: "hidden" } },
      (credentials, home) =>
        TestServices.provideLive(Effect.gen(function*() {
          const key = (api_key_command: string) =>
            Effect.map(
              credentials.keyFor("hanzo", configOf({ api_key_command, providers: { up: { api_key_env: "UP_KEY" } } })),
              (found) => shown(found)?.[0]
            )
          assert.strictEqual(yield* key("printf '  a-key\\n\\n'"), "a-key")
          assert.strictEqual(yield* key("pwd"), home.root)
          assert.strictEqual(yield* key(`echo "$MY_TOKEN,$FOREIGN,$UP_KEY"`), ",seen,")
          assert.strictEqual(yield* key("cat; echo no-input"), "no-input")
        }))
    ))

  it.scoped("kept for five minutes, by all who ask at once; a failure for five seconds", () =>
    using({}, (credentials, home) =>
      Effect.gen(function*() {
        const runs = path.join(home.root, "runs")
        const config = configOf({ api_key_command: `echo x >> ${runs}; wc -l < ${runs}` })
        const key = Effect.map(credentials.keyFor("hanzo", config), (found) => shown(found)?.[0])
        assert.deepStrictEqual(yield* Effect.all([key, key, key], { concurrency: 3 }), ["1", "1", "1"])
        yield* TestClock.adjust(299_000)
        assert.strictEqual(yield* key, "1")
        yield* TestClock.adjust(2_000)
        assert.strictEqual(yield* key, "2")
        const failing = configOf({ api_key_command: `echo x >> ${runs}; exit 3` })
        yield* Effect.flip(credentials.keyFor("hanzo", failing))
        yield* Effect.flip(credentials.keyFor("hanzo", failing))
        assert.strictEqual(fs.readFileSync(runs, "utf8"), "x\n".repeat(3))
        yield* TestClock.adjust(6_000)
        yield* Effect.flip(credentials.keyFor("hanzo", failing))
        assert.strictEqual(fs.readFileSync(runs, "utf8"), "x\n".repeat(4))
      })))

  it.scoped("G2: what goes wrong is said without the output and the command", () =>
    using({}, (credentials) =>
      TestServices.provideLive(Effect.gen(function*() {
        for (
          const [command, words] of [
            ["echo s3cret; echo s3cret >&2; exit 3", "code 3"],
            ["echo s3cret >&2", "printed nothing"],
            ["echo s3cret; echo s3cret", "more than one line"],
            ["printf 's3cret\\000'", "more than one line"],
            ["head -c 100000 /dev/zero | tr '\\0' s", "too much"],
            ["kill -9 $$; s3cret", "SIGKILL"],
            ["/s3cret/program", "code 127"]
          ] as const
        ) {
          const error = yield* Effect.flip(credentials.keyFor("hanzo", configOf({ api_key_command: command })))
          assert.strictEqual(error.reason, "command_failed")
          assert.include(error.message, words)
          assert.include(error.message, "api_key_command")
          assert.notInclude(error.message, "s3cret")
        }
      }))))

  it.scoped("its deadline ends the whole process group", () =>
    using({}, (credentials, home) =>
      Effect.gen(function*() {
        const file = path.join(home.root, "group")
        const config = configOf({ api_key_command: `echo $$ > ${file}; sleep 1000 & sleep 1000` })
        const fiber = yield* Effect.fork(Effect.flip(credentials.keyFor("hanzo", config)))
        yield* Effect.repeat(Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5))), {
          until: () => fs.existsSync(file) && fs.readFileSync(file, "utf8").endsWith("\n")
        })
        yield* TestClock.adjust(61_000)
        yield* TestClock.adjust(3_000)
        assert.include((yield* Fiber.join(fiber)).message, "60 seconds")
        assert.isTrue(yield* TestServices.provideLive(gone(Number(fs.readFileSync(file, "utf8")))))
      })))
})

describe("rejected", () => {
  it.scoped("6.7: a stored login is refreshed once, or the newer one of the file is taken", () =>
    Effect.gen(function*() {
      const server = makeServer((sent) => Effect.succeed(answer(`after-${sent}`)))
      yield* using(
        { server, logins: { openai: { ...expired, expires_at: null } } },
        (credentials, home) =>
          Effect.gen(function*() {
            const old = Redacted.make("old")
            assert.strictEqual(shown(yield* credentials.keyFor("openai", settings))?.[0], "old", "good until a 401")
            assert.deepStrictEqual(shown(yield* credentials.rejected("openai", settings, old)), [
              "after-r0",
              "login",
              `the login of ${home.file}`
            ])
            assert.strictEqual(shown(yield* credentials.rejected("openai", settings, old))?.[0], "after-r0")
            assert.deepStrictEqual(server.sent, ["r0"])
            server.answer = () => refuse("invalid_grant")
            const error = yield* Effect.flip(credentials.rejected("openai", settings, Redacted.make("after-r0")))
            assert.strictEqual(error.reason, "needs_login")
          })
      )
    }))

  it.scoped("a command runs again; what it gave before is nothing new", () =>
    using({}, (credentials, home) =>
      Effect.gen(function*() {
        const runs = path.join(home.root, "runs")
        const config = configOf({ api_key_command: `echo x >> ${runs}; wc -l < ${runs}` })
        const key = (found: Option.Option<Credential>) => shown(found)?.[0]
        assert.strictEqual(key(yield* credentials.keyFor("hanzo", config)), "1")
        assert.strictEqual(key(yield* credentials.rejected("hanzo", config, Redacted.make("1"))), "2")
        assert.strictEqual(
          key(yield* credentials.rejected("hanzo", config, Redacted.make("1"))),
          "2",
          "renewed meanwhile"
        )
        const same = configOf({ api_key_command: "echo same" })
        yield* credentials.keyFor("hanzo", same)
        assert.isTrue(Option.isNone(yield* credentials.rejected("hanzo", same, Redacted.make("same"))))
      })))

  it.scoped("there is no other key for one of the environment or the settings", () =>
    using(
      { vars: { OPENAI_API_KEY: "k" }, logins: { openai: { access_token: "t" } } },
      (credentials) =>
        Effect.gen(function*() {
          assert.isTrue(Option.isNone(yield* credentials.rejected("openai", settings, Redacted.make("k"))))
          assert.isTrue(Option.isNone(yield* credentials.rejected("mine", settings, Redacted.make("k"))))
        })
    ))
})

describe("13.2: which provider is taken", () => {
  const good = { access_token: "t" }

  const chosen = (given: Given, config = settings) =>
    Effect.flatMap(makeHome, (home) => {
      if (given.logins !== undefined) home.write(given.logins)
      const urls = { HANZO_BASE_URL: "https://hanzo.example/v1" }
      const all = layerOf(home, { ...given, vars: { ...urls, ...given.vars } })
      const targets = Targets.layer.pipe(
        Layer.provide([
          Config.layerText(JSON.stringify(config)),
          LocalServers.layerNone,
          Layer.succeed(ScriptedModels, { find: () => Effect.succeedNone, names: Effect.succeed([]) })
        ]),
        Layer.provideMerge(all)
      )
      return Effect.gen(function*() {
        const { resolve } = yield* Targets
        const detection = yield* Effect.flatMap(Credentials, (credentials) => credentials.explain(config))
        const target = yield* Effect.either(resolve())
        return {
          provider: target._tag === "Right" ? target.right.model.provider : target.left.reason,
          explained: detection.winner === null ? null : `${detection.winner.provider} ${detection.winner.kind}`,
          detection
        }
      }).pipe(Effect.provide(targets))
    })

  it.scoped("API keys first, each in the order hanzo, anthropic, openai; the explanation agrees", () =>
    Effect.gen(function*() {
      const rows: ReadonlyArray<readonly [Given, string, string | null]> = [
        [{ vars: { OPENAI_API_KEY: "k" }, logins: { hanzo: good, anthropic: good } }, "openai", "openai api_key"],
        [{ vars: { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" } }, "anthropic", "anthropic api_key"],
        [{ vars: { ANTHROPIC_API_KEY: "k", HANZO_API_KEY: "k" } }, "hanzo", "hanzo api_key"],
        [{ vars: { OPENAI_API_KEY: " " }, logins: { openai: good, anthropic: good } }, "anthropic", "anthropic login"],
        [{ logins: { oauth_openai: good } }, "openai", "openai login"],
        [{ logins: { openai: good, hanzo: good } }, "hanzo", "hanzo login"],
        [{ logins: { mine: good } }, "no_credential", null],
        [{}, "no_credential", null]
      ]
      for (const [given, provider, explained] of rows) {
        const found = yield* chosen(given)
        assert.deepStrictEqual([found.provider, found.explained], [provider, explained])
      }
    }))

  it.scoped("a provider that the settings set up comes before a stored login", () =>
    Effect.gen(function*() {
      const named = configOf({
        providers: { mine: { base_url: "http://127.0.0.1:9/v1", models: { m: {} } }, openai: { effort: "low" } }
      })
      assert.strictEqual((yield* chosen({ logins: { anthropic: good } }, named)).provider, "mine")
      const adjusted = configOf({ providers: { openai: { effort: "low" } } })
      assert.strictEqual((yield* chosen({ logins: { anthropic: good, openai: good } }, adjusted)).provider, "anthropic")
    }))

  it.scoped("valid = not expired, or refreshable; a refresh that fails goes on to the next and is said", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const server = makeServer(() => refuse("unavailable"))
      const logins = { hanzo: { access_token: "t", expires_at: 0 }, anthropic: expired, openai: good }
      const first = yield* chosen({ logins, server, log })
      assert.strictEqual(first.provider, "openai")
      assert.strictEqual(first.explained, "anthropic login", "no server is asked for an explanation")
      assert.deepStrictEqual(server.sent, ["r0"])
      assert.lengthOf(log.filter((line) => line.startsWith("hanzo is not used")), 1)
      assert.lengthOf(log.filter((line) => line.startsWith("anthropic is not used")), 1)
      server.answer = () => Effect.succeed(answer("new"))
      assert.strictEqual((yield* chosen({ logins, server })).provider, "anthropic")
    }))

  it.scoped("the explanation names every candidate, its source and why it is passed over", () =>
    Effect.gen(function*() {
      const { detection } = yield* chosen({
        logins: {
          hanzo: { access_token: "t", expires_at: 0 },
          anthropic: { ...good, expires_at: 1_200 },
          openai: expired
        }
      })
      assert.deepStrictEqual(
        detection.candidates.map(({ kind, outcome, provider }) => `${provider} ${kind} ${outcome}`),
        [
          "hanzo api_key absent",
          "anthropic api_key absent",
          "openai api_key absent",
          "hanzo login unusable",
          "anthropic login wins",
          "openai login would_work"
        ]
      )
      const [, , , hanzo, anthropic, openai] = detection.candidates
      assert.include(hanzo?.detail, "log in again")
      assert.include(anthropic?.detail, "20 min")
      assert.include(openai?.detail, "will be refreshed")
      assert.include(anthropic?.source, "credentials.json")
      assert.include(detection.reason, "passed over: login of hanzo")
    }))

  it.scoped("a login that is set up and does not work ends it, also where no key is needed; without one nobody asks", () =>
    Effect.gen(function*() {
      const local = { base_url: "http://127.0.0.1:9/v1", default_model: "m" }
      const config = configOf({ model: "mine/m", providers: { mine: local } })
      const of = (logins: unknown, given: Given = {}) =>
        Effect.map(chosen({ ...given, logins }, config), (it) => it.provider)
      const server = makeServer(() => refuse("unavailable"))
      assert.strictEqual(yield* of({}), "mine")
      assert.strictEqual(yield* of({ other: expired }), "mine")
      assert.strictEqual(yield* of({ mine: good }), "mine")
      assert.strictEqual(yield* of({ mine: { access_token: "t", expires_at: 0 } }), "no_credential")
      assert.strictEqual(yield* of({ mine: expired }, { server }), "no_credential")
      assert.strictEqual(yield* of({ mine: { access_token: 5 } }), "no_credential", "an entry that is no login")
      assert.strictEqual(yield* of("{"), "mine", "a file of which nobody knows whose logins it holds")
    }))

  it.scoped("oauth_credentials stand in for hanzo's login", () =>
    Effect.gen(function*() {
      const config = configOf({ oauth_credentials: { access_token: "o" } })
      const found = yield* chosen({ logins: { anthropic: good } }, config)
      assert.deepStrictEqual([found.provider, found.explained], ["hanzo", "hanzo login"])
    }))
})
