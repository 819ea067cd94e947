import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Config } from "../../src/config/Config.ts"
import { Credentials } from "../../src/credentials/Credentials.ts"
import { OAuthError } from "../../src/credentials/OAuthClient.ts"
import { text } from "../../src/domain/MessageParts.ts"
import type { StreamEvent } from "../../src/domain/StreamEvent.ts"
import { ApiClient } from "../../src/domain/ApiClient.ts"
import { Http } from "../../src/platform/Http.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { AgentRunGateway } from "../../src/provider/AgentRunGateway.ts"
import * as ApiClientLive from "../../src/provider/ApiClientLive.ts"
import { LocalServers } from "../../src/provider/LocalServers.ts"
import { ScriptedModels } from "../../src/provider/ScriptedModels.ts"
import { Targets } from "../../src/provider/Targets.ts"
import { serve } from "../provider/support.ts"
import { answer, type Home, makeHome, makeServer, type Server, storeLayer } from "./storeSupport.ts"

const unasked: Server = makeServer(() => Effect.dieMessage("nothing was to be asked"))

interface Given {
  readonly settings: object
  readonly logins?: unknown
  readonly server?: Server
  readonly model: string
  readonly vars?: Record<string, string>
}

const send = (home: Home, { model, server = unasked, settings, vars = {} }: Given) => {
  const layer = ApiClientLive.layer.pipe(
    Layer.provide(AgentRunGateway.layer),
    Layer.provide(Targets.layer),
    Layer.provide([
      Credentials.layerStore,
      LocalServers.layerNone,
      Layer.succeed(ScriptedModels, { find: () => Effect.succeedNone, names: Effect.succeed([]) })
    ]),
    Layer.provide(Config.layerText(JSON.stringify(settings))),
    Layer.provide(Layer.mergeAll(Http.layer, Processes.layer)),
    Layer.provide(storeLayer(home, server, undefined, vars))
  )
  return Effect.flatMap(ApiClient, (client) =>
    Effect.either(
      Effect.map(
        Stream.runCollect(client.sendMessage([{ role: "user", content: [text("hi")] }], [], { model })),
        Chunk.toReadonlyArray
      )
    )).pipe(Effect.provide(layer))
}

const textOf = (events: ReadonlyArray<StreamEvent>) =>
  events.reduce((all, event) => event.type === "content_delta" ? all + event.text : all, "")

const chat =
  `data: {"id":"1","choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`

/** Answers 401 to every key but `good`; `seen` are the identities that came. */
const upstream = (good: string) =>
  Effect.gen(function*() {
    const seen: Array<unknown> = []
    const { origin } = yield* serve((response, { headers }) => {
      seen.push(headers["authorization"] ?? { key: headers["x-api-key"] })
      if (headers["authorization"] === `Bearer ${good}`) {
        response.writeHead(200, { "content-type": "text/event-stream" }).end(chat)
      } else {
        const repeated = String(headers["authorization"])
        response.writeHead(401, { "content-type": "application/json" }).end(
          JSON.stringify({ error: { message: `bad key ${repeated}` } })
        )
      }
    })
    return { origin, seen }
  })

const up = (origin: string, more: object = {}) => ({
  providers: { up: { protocol: "chat", base_url: origin, ...more } }
})

const stored = { up: { access_token: "first-token", refresh_token: "r0", expires_at: null } }

describe("13.5, 6.7: one retry after a 401", () => {
  it.scoped("a stored login is refreshed, the request repeated, the output whole", () =>
    Effect.gen(function*() {
      const home = yield* makeHome
      home.write(stored)
      const { origin, seen } = yield* upstream("second-token")
      const server = makeServer(() => Effect.succeed(answer("second-token")))
      const result = yield* send(home, { settings: up(origin), server, model: "up/m" })
      if (result._tag === "Left") return assert.fail(result.left.message)
      assert.strictEqual(textOf(result.right), "done")
      assert.deepStrictEqual(seen, ["Bearer first-token", "Bearer second-token"])
      assert.deepStrictEqual(server.sent, ["r0"])
      assert.strictEqual(home.json()["up"]?.["access_token"], "second-token")
    }))

  it.scoped("exactly one: a second 401 is the end, without a key in its words", () =>
    Effect.gen(function*() {
      const home = yield* makeHome
      home.write(stored)
      const { origin, seen } = yield* upstream("never")
      let n = 1
      const server = makeServer(() => Effect.succeed(answer(`renewed-token-${++n}`)))
      const result = yield* send(home, { settings: up(origin), server, model: "up/m" })
      if (result._tag === "Right") return assert.fail()
      assert.deepStrictEqual([result.left.reason, result.left.status, result.left.retryable], ["auth", 401, false])
      assert.include(result.left.message, home.file)
      for (const secret of ["first-token", "renewed-token"]) assert.notInclude(result.left.message, secret)
      assert.deepStrictEqual(seen, ["Bearer first-token", "Bearer renewed-token-2"])
      assert.deepStrictEqual(server.sent, ["r0"])
    }))

  it.scoped("a refresh that fails says what to do; nothing is sent again", () =>
    Effect.gen(function*() {
      const home = yield* makeHome
      home.write(stored)
      const { origin, seen } = yield* upstream("never")
      const server = makeServer(() => Effect.fail(new OAuthError({ reason: "invalid_grant", message: "revoked" })))
      const result = yield* send(home, { settings: up(origin), server, model: "up/m" })
      if (result._tag === "Right") return assert.fail()
      assert.strictEqual(result.left.reason, "auth")
      assert.include(result.left.message, "log in again")
      assert.lengthOf(seen, 1)
    }))

  it.scoped("api_key_command runs again", () =>
    Effect.gen(function*() {
      const home = yield* makeHome
      const { origin, seen } = yield* upstream("key-2")
      const runs = path.join(home.root, "runs")
      const result = yield* send(home, {
        settings: {
          api_key_command: `echo x >> ${runs}; echo key-$(wc -l < ${runs})`,
          providers: { hanzo: { base_url: origin } }
        },
        model: "hanzo/m"
      })
      if (result._tag === "Left") return assert.fail(result.left.message)
      assert.strictEqual(textOf(result.right), "done")
      assert.deepStrictEqual(seen, ["Bearer key-1", "Bearer key-2"])
      assert.strictEqual(fs.readFileSync(runs, "utf8"), "x\nx\n")
    }))

  it.scoped("a key of the environment or of the settings' headers is not tried again", () =>
    Effect.gen(function*() {
      const home = yield* makeHome
      home.write(stored)
      const { origin, seen } = yield* upstream("second-token")
      for (const more of [{ api_key: "key" }, { headers: { authorization: "Bearer own" } }]) {
        const result = yield* send(home, { settings: up(origin, more), model: "up/m" })
        assert.strictEqual(result._tag, "Left")
      }
      assert.deepStrictEqual(seen, ["Bearer key", "Bearer own"])
    }))

  it.scoped("the token of a login is a bearer token, whatever header the keys of the protocol take", () =>
    Effect.gen(function*() {
      const home = yield* makeHome
      home.write({ ...stored, anthropic: { access_token: "login-token" } })
      const { origin, seen } = yield* upstream("never")
      const settings = { providers: { anthropic: { base_url: origin } } }
      yield* send(home, { settings, model: "anthropic/m" })
      yield* send(home, { settings, model: "anthropic/m", vars: { ANTHROPIC_API_KEY: "api-key" } })
      assert.deepStrictEqual(seen, ["Bearer login-token", { key: "api-key" }])
    }))
})
