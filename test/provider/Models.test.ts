import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { Config } from "../../src/config/Config.ts"
import { Credentials, find } from "../../src/credentials/Credentials.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { detectWith, type LocalServer, LocalServers, modelIds } from "../../src/provider/LocalServers.ts"
import { lookup, matchName, traitsOfName } from "../../src/provider/ModelCatalogue.ts"
import { type ModelError, Models } from "../../src/provider/Models.ts"
import { ScriptedModels } from "../../src/provider/ScriptedModels.ts"
import { Targets } from "../../src/provider/Targets.ts"
import { freePort, httpLayer, serve } from "./support.ts"

interface Given {
  readonly settings?: object
  readonly vars?: Record<string, string>
  readonly servers?: ReadonlyArray<LocalServer>
}

const scenarios = Layer.succeed(ScriptedModels, {
  find: (name) =>
    Effect.succeed(name === "known" ? Option.some({ sendMessage: () => assert.fail("not called") }) : Option.none()),
  names: Effect.succeed(["known"])
})

const layer = (given: Given) =>
  Models.layer.pipe(
    Layer.provideMerge(Targets.layer),
    Layer.provide([
      Credentials.layerKeys,
      scenarios,
      Layer.succeed(LocalServers, { detect: Effect.succeed(given.servers ?? []) }),
      Config.layerText(JSON.stringify(given.settings ?? {}))
    ]),
    Layer.provide(Environment.layerTest({ vars: given.vars ?? {} }))
  )

const resolve = (given: Given, name?: string) =>
  Effect.flatMap(Targets, (targets) => targets.resolve(name)).pipe(
    Effect.flatMap((target) =>
      target._tag === "Http" ? Effect.succeed(target) : Effect.dieMessage(`scripted: ${target.model.name}`)
    ),
    Effect.provide(layer(given))
  )

const model = (given: Given, name?: string) =>
  Effect.provide(Effect.flatMap(Models, (models) => models.resolve(name)), layer(given))

const refuse = (given: Given, name?: string) => Effect.flip(model(given, name))

const keyOf = (target: Effect.Effect.Success<ReturnType<typeof resolve>>) =>
  Option.match(target.credential, { onNone: () => null, onSome: ({ key }) => Redacted.value(key) })

const anthropic = { ANTHROPIC_API_KEY: "key-a" }
const openai = { OPENAI_API_KEY: "key-o" }
const hanzo = { HANZO_API_KEY: "key-h", HANZO_BASE_URL: "https://gateway.example/api" }
const fake = { protocol: "chat", base_url: "http://127.0.0.1:8080/v1" }

describe("Models", () => {
  describe("names", () => {
    it.effect("text before the first slash is a provider if one has that name", () =>
      Effect.gen(function*() {
        const target = yield* resolve({ vars: { ...anthropic, ...openai } }, "openai/gpt-5")
        assert.strictEqual(target.model.name, "openai/gpt-5")
        assert.strictEqual(target.model.protocol, "responses")
        assert.strictEqual(target.model.origin, "openai:responses")
        assert.strictEqual(target.endpoint.url, "https://api.openai.com/v1/responses")
        assert.strictEqual(keyOf(target), "key-o")
      }))

    it.effect("else the whole is a model of the provider that 13.2 chooses: Hanzo, Anthropic, OpenAI", () =>
      Effect.gen(function*() {
        const all = yield* resolve({ vars: { ...openai, ...anthropic, ...hanzo } }, "vendor/some-model")
        assert.strictEqual(all.model.name, "hanzo/vendor/some-model")
        assert.strictEqual(all.endpoint.url, "https://gateway.example/api/v1/chat/completions")
        assert.strictEqual((yield* resolve({ vars: { ...openai, ...anthropic } }, "m")).model.name, "anthropic/m")
        assert.strictEqual((yield* resolve({ vars: openai }, "m")).model.name, "openai/m")
        assert.strictEqual(keyOf(all), "key-h")
      }))

    it.effect("13.2: a key of the user's settings counts after the environment, an empty variable does not", () =>
      Effect.gen(function*() {
        const settings = { api_key: "from-settings", providers: { hanzo: { base_url: "https://gateway.example" } } }
        const target = yield* resolve({ settings, vars: { HANZO_API_KEY: "", ...anthropic } }, "m")
        assert.strictEqual(target.model.provider, "hanzo")
        assert.strictEqual(keyOf(target), "from-settings")
        assert.strictEqual(keyOf(yield* resolve({ settings, vars: { HANZO_API_KEY: "env" } }, "m")), "env")
      }))

    it.effect("a provider of the settings that lists the model is taken for its bare name", () =>
      Effect.gen(function*() {
        const settings = { providers: { fake: { ...fake, models: { "fake-model": { context_window: 1000 } } } } }
        const target = yield* resolve({ settings, vars: anthropic }, "fake-model")
        assert.strictEqual(target.model.name, "fake/fake-model")
        assert.strictEqual((yield* resolve({ settings, vars: anthropic }, "other")).model.name, "anthropic/other")
      }))

    it.effect("with no key anywhere, a provider of the settings that needs none is taken", () =>
      Effect.gen(function*() {
        const settings = { model: "any", providers: { fake } }
        assert.strictEqual((yield* resolve({ settings })).model.name, "fake/any")
      }))

    it.effect("no name: the configured model; the default of the settings follows the provider", () =>
      Effect.gen(function*() {
        const settings = { model: "openai/gpt-4.1" }
        assert.strictEqual((yield* resolve({ settings, vars: openai })).model.name, "openai/gpt-4.1")
        assert.strictEqual((yield* resolve({ vars: openai })).model.name, "openai/gpt-5")
        assert.strictEqual((yield* resolve({ vars: anthropic })).model.name, "anthropic/claude-sonnet-4-20250514")
      }))

    it.effect("scripted/NAME", () =>
      Effect.gen(function*() {
        const known = yield* model({}, "scripted/known")
        assert.strictEqual(known.protocol, "scripted")
        assert.isNull(known.price)
        const priced = yield* model({
          settings: { providers: { scripted: { models: { known: { price: { input: 3, output: 15 } } } } } }
        }, "scripted/known")
        assert.deepStrictEqual(priced.price, { input: 3, output: 15 })
        const error = yield* refuse({}, "scripted/nope")
        assert.strictEqual(error.reason, "unknown_scenario")
        assert.include(error.message, "known")
      }))
  })

  describe("addresses and keys", () => {
    it.effect("base URLs of the environment win over the settings", () =>
      Effect.gen(function*() {
        const settings = { providers: { anthropic: { base_url: "https://settings.example" } } }
        const vars = { ...anthropic, ANTHROPIC_BASE_URL: "http://127.0.0.1:9/api" }
        assert.strictEqual(
          (yield* resolve({ settings, vars }, "anthropic/m")).endpoint.url,
          "http://127.0.0.1:9/api/v1/messages"
        )
        assert.strictEqual(
          (yield* resolve({ settings, vars: anthropic }, "anthropic/m")).endpoint.url,
          "https://settings.example/v1/messages"
        )
        assert.strictEqual(
          (yield* resolve({ vars: { ...openai, OPENAI_BASE_URL: "http://127.0.0.1:9/v1" } }, "openai/m")).endpoint.url,
          "http://127.0.0.1:9/v1/responses"
        )
      }))

    it.effect("a provider of the settings: protocol, key variable, headers, limits, retries, model facts", () =>
      Effect.gen(function*() {
        const settings = {
          providers: {
            fake: {
              ...fake,
              protocol: "anthropic",
              base_url: "https://fake.example/anthropic",
              api_key_env: "FAKE_KEY",
              headers: { "x-team": "a" },
              effort: "high",
              headers_ms: 7,
              max_retries: 2,
              models: { m: { context_window: 10, max_output_tokens: 5, price: { input: 1, output: 2 }, images: false } }
            }
          }
        }
        const target = yield* resolve({ settings, vars: { FAKE_KEY: " key-f\n", ...anthropic } }, "fake/m")
        assert.strictEqual(target.endpoint.url, "https://fake.example/anthropic/v1/messages")
        assert.strictEqual(keyOf(target), "key-f")
        assert.deepStrictEqual(target.headers, { "x-team": "a" })
        const { effort, limits, price, retry, traits } = target.model
        assert.strictEqual(effort, "high")
        assert.deepStrictEqual(limits, { connect_ms: 10_000, headers_ms: 7, idle_ms: 300_000 })
        assert.deepStrictEqual(retry, { max_retries: 2, base_ms: 500, max_ms: 8_000, retry_after_cap_ms: 60_000 })
        assert.deepStrictEqual(price, { input: 1, output: 2 })
        assert.deepStrictEqual(traits, { context_window: 10, max_output_tokens: 5, images: false })
      }))

    it.effect("the key of one provider never serves another", () =>
      Effect.gen(function*() {
        const settings = { api_key: "key-s", providers: { other: { base_url: "https://other.example" } } }
        const target = yield* resolve({ settings, vars: { ...anthropic, ...openai, ...hanzo } }, "other/m")
        assert.isNull(keyOf(target))
      }))

    it.effect("no key is needed on this machine, with an identity in the headers, or where nobody names a key", () =>
      Effect.gen(function*() {
        assert.isNull(keyOf(yield* resolve({ vars: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" } }, "anthropic/m")))
        assert.isNull(keyOf(yield* resolve({ settings: { providers: { fake } } }, "fake/m")))
        const headers = { providers: { anthropic: { headers: { Authorization: "Bearer x" } } } }
        assert.isNull(keyOf(yield* resolve({ settings: headers }, "anthropic/m")))
        const open = { providers: { open: { base_url: "https://open.example" } } }
        assert.isNull(keyOf(yield* resolve({ settings: open }, "open/m")))
        assert.strictEqual(
          (yield* resolve({}, "ollama/llama3")).endpoint.url,
          "http://127.0.0.1:11434/v1/chat/completions"
        )
        // A variable that leads to this machine makes the provider usable for a bare name too.
        const local = yield* resolve({ vars: { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" } }, "m")
        assert.strictEqual(local.model.name, "openai/m")
      }))

    it.effect("Azure takes the key in its own header", () =>
      Effect.gen(function*() {
        const settings = {
          providers: { azure: { protocol: "chat", base_url: "https://r.openai.azure.com", api_key: "k" } }
        }
        assert.strictEqual((yield* resolve({ settings }, "azure/gpt-4.1")).endpoint.auth, "api-key")
      }))
  })

  describe("errors say what to do, in three lines", () => {
    const threeLines = (error: ModelError, reason: ModelError["reason"], ...words: ReadonlyArray<string>) => {
      assert.strictEqual(error.reason, reason, error.message)
      assert.strictEqual(error.message.split("\n").length, 3, error.message)
      for (const word of words) assert.include(error.message, word)
    }

    it.effect("no credentials at all", () =>
      Effect.gen(function*() {
        threeLines(yield* refuse({}), "no_credential", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "HANZO_BASE_URL")
        threeLines(yield* refuse({}, "claude-x"), "no_credential")
      }))

    it.effect("no credentials, but a local server runs: it is offered", () =>
      Effect.gen(function*() {
        const servers = [
          { provider: "ollama", title: "Ollama", base_url: "http://127.0.0.1:11434", models: ["llama3.2:3b", "x"] }
        ]
        threeLines(yield* refuse({ servers }), "no_credential", "-m ollama/llama3.2:3b", "http://127.0.0.1:11434")
      }))

    it.effect("a provider without key, without address, with a bad one, without the protocol, without a model", () =>
      Effect.gen(function*() {
        threeLines(yield* refuse({ vars: openai }, "anthropic/m"), "no_credential", "ANTHROPIC_API_KEY")
        threeLines(
          yield* refuse(
            { settings: { providers: { f: { base_url: "https://f.example", api_key_env: "F_KEY" } } } },
            "f/m"
          ),
          "no_credential",
          "F_KEY",
          "providers.f.api_key"
        )
        threeLines(yield* refuse({ vars: { HANZO_API_KEY: "k" } }), "bad_url", "HANZO_BASE_URL")
        threeLines(yield* refuse({ settings: { providers: { f: {} } } }, "f/m"), "bad_url", "providers.f.base_url")
        const secret = yield* refuse(
          { vars: { ...openai, OPENAI_BASE_URL: "https://u:sekret@h?key=sekret" } },
          "openai/m"
        )
        threeLines(secret, "bad_url", "OPENAI_BASE_URL")
        assert.notInclude(secret.message, "sekret")
        threeLines(
          yield* refuse({
            settings: { providers: { codex: { base_url: "https://chatgpt.com/backend-api/codex", protocol: "chat" } } }
          }, "codex/m"),
          "protocol_not_offered",
          "providers.codex.protocol"
        )
        threeLines(yield* refuse({ vars: openai }, "openai/"), "unknown_model", "-m openai/MODEL")
        threeLines(yield* refuse({ settings: { providers: { fake } } }), "unknown_model", "-m fake/MODEL")
        threeLines(yield* refuse({ vars: anthropic }, "antropic/claude"), "unknown_provider", "antropic", "openai")
      }))
  })

  describe("catalogue", () => {
    it.effect("window, limits, price and abilities of a known model; the settings win", () =>
      Effect.gen(function*() {
        const known = yield* model({ vars: anthropic }, "anthropic/claude-sonnet-4-20250514")
        assert.deepStrictEqual(known.price, { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 })
        assert.deepStrictEqual(known.traits, {
          cache_control: true,
          context_window: 200_000,
          max_output_tokens: 64_000,
          reasoning: true,
          images: true
        })
        const settings = {
          providers: { anthropic: { models: { "claude-sonnet-4-20250514": { context_window: 1_000_000 } } } }
        }
        const own = yield* model({ settings, vars: anthropic }, "anthropic/claude-sonnet-4-20250514")
        assert.strictEqual(own.traits.context_window, 1_000_000)
        assert.deepStrictEqual(own.price, known.price)
      }))

    it.effect("an unknown model has no price; a gateway's prices are its own", () =>
      Effect.gen(function*() {
        const unknown = yield* model({ vars: anthropic }, "anthropic/no-such-model")
        assert.isNull(unknown.price)
        assert.deepStrictEqual(unknown.traits, { cache_control: true })
        const gateway = yield* model({ vars: hanzo }, "hanzo/claude-sonnet-4-20250514")
        assert.isNull(gateway.price)
        assert.strictEqual(gateway.traits.context_window, 200_000)
        const fakeModel = yield* model({ settings: { providers: { fake } } }, "fake/claude-sonnet-4-20250514")
        assert.isNull(fakeModel.price)
        assert.deepStrictEqual(fakeModel.traits, { prompt_cache_key: false })
      }))

    it.effect("a provider is known by its host, too", () =>
      Effect.gen(function*() {
        const entry = yield* lookup({ provider: "mine", model: "gpt-4.1", origin: "https://api.openai.com" })
        assert.strictEqual(entry.traits.context_window, 1_047_576)
        const other = yield* lookup({
          provider: "mine",
          model: "gpt-4.1",
          origin: "https://api.openai.com.evil.example"
        })
        assert.isNull(other.price)
        const proto = yield* lookup({ provider: "constructor", model: "toString", origin: "" })
        assert.deepStrictEqual(proto, { price: null, traits: {} })
      }))

    it("names with and without a date, and -latest", () => {
      const names = ["claude-opus-4-1-20250805", "claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022", "gpt-5"]
      assert.strictEqual(matchName(names, "claude-opus-4-1"), "claude-opus-4-1-20250805")
      assert.strictEqual(matchName(names, "claude-3-5-sonnet-latest"), "claude-3-5-sonnet-20241022")
      assert.strictEqual(matchName(names, "gpt-5-2025-08-07"), "gpt-5")
      assert.isUndefined(matchName(names, "claude-opus-4-1-20260101"))
      assert.isUndefined(matchName(names, "claude-opus-4"))
      assert.isUndefined(matchName(names, "gpt-5-mini"))
    })

    it("what a name tells", () => {
      assert.deepStrictEqual(traitsOfName("claude-opus-4-6"), { adaptive_thinking: true })
      assert.deepStrictEqual(traitsOfName("claude-sonnet-5-20270101"), { adaptive_thinking: true })
      for (const older of ["claude-sonnet-4-5-20250929", "claude-sonnet-4-20250514", "claude-3-7-sonnet-20250219"]) {
        assert.deepStrictEqual(traitsOfName(older), {})
      }
      assert.deepStrictEqual(traitsOfName("openai/gpt-5-mini"), { max_completion_tokens: true, reasoning: true })
      assert.deepStrictEqual(traitsOfName("o4-mini"), { max_completion_tokens: true, reasoning: true })
      assert.deepStrictEqual(traitsOfName("gpt-4o"), {})
    })
  })

  describe("local servers", () => {
    it.scoped("those that answer are found, whatever the others do", () =>
      Effect.gen(function*() {
        const good = yield* serve((response) => response.end(JSON.stringify({ data: [{ id: "a" }, { id: "b" }, {}] })))
        const other = yield* serve((response) => response.end("<html>"))
        const server = (provider: string, base_url: string) => ({ provider, title: provider, base_url })
        const found = yield* detectWith([
          server("closed", `http://127.0.0.1:${yield* freePort}`),
          server("good", good.origin),
          server("other", other.origin)
        ])
        assert.deepStrictEqual(found, [{ ...server("good", good.origin), models: ["a", "b"] }])
        const silent = yield* serve(() => {})
        const fiber = yield* Effect.fork(detectWith([server("silent", silent.origin)]))
        yield* Queue.take(silent.requests)
        yield* TestClock.adjust(1000)
        assert.deepStrictEqual(yield* Fiber.join(fiber), [])
      }).pipe(Effect.provide(httpLayer())))

    it("a list of models", () => {
      assert.deepStrictEqual(modelIds(`{"object":"list","data":[{"id":"m"}]}`), ["m"])
      assert.deepStrictEqual(modelIds(`{"object":"list","data":null}`), [])
      for (const text of ["", "<html>", "[]", "null", `{"models":[]}`]) assert.isNull(modelIds(text))
    })
  })

  it.effect("Credentials: order, white space, unset", () =>
    Effect.gen(function*() {
      const settings = (more: object) =>
        Effect.map(Effect.provide(Config, Config.layerText(JSON.stringify(more))), ({ config }) => config)
      const empty = yield* settings({})
      const read = (vars: Record<string, string>, provider: string, config = empty) =>
        Option.map(
          find({ vars: new Map(Object.entries(vars)) }, provider, config),
          ({ key, source }) => [Redacted.value(key), source]
        ).pipe(Option.getOrNull)
      const config = yield* settings({ providers: { openai: { api_key_env: "MINE", api_key: "s" } } })
      assert.deepStrictEqual(read({ MINE: "1", OPENAI_API_KEY: "2" }, "openai", config), ["1", "MINE"])
      assert.deepStrictEqual(read({ MINE: " ", OPENAI_API_KEY: "2" }, "openai", config), ["2", "OPENAI_API_KEY"])
      assert.deepStrictEqual(read({}, "openai", config), ["s", "settings, providers.openai.api_key"])
      assert.isNull(read({ OPENAI_API_KEY: "2" }, "anthropic"))
      assert.isNull(read({}, "toString"))
      assert.deepStrictEqual(read({}, "hanzo", yield* settings({ api_key: "h" })), ["h", "settings, api_key"])
      assert.isNull(read({}, "anthropic", yield* settings({ api_key: "h" })))
    }))
})
