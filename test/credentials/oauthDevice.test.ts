import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { DeviceFlow, type DeviceInput } from "../../src/credentials/DeviceFlow.ts"
import { OAuthError, type TokenAnswer } from "../../src/credentials/OAuthClient.ts"
import {
  type DeviceAuthorization,
  type DevicePoll,
  TokenEndpoint,
  type TokenEndpointService
} from "../../src/credentials/TokenEndpoint.ts"
import { Browser } from "../../src/platform/Browser.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Http } from "../../src/platform/Http.ts"
import { type Answer, serve } from "../provider/support.ts"
import { loginLayer, passSleep, recorder } from "../support/oauth.ts"

const done: TokenAnswer = {
  access_token: Redacted.make("at"),
  refresh_token: null,
  expires_at: null,
  scopes: null
}
const device: DeviceAuthorization = {
  device_code: Redacted.make("dc"),
  user_code: "WDJB-MJHT",
  verification_uri: "https://login.example.com/device",
  verification_uri_complete: "https://login.example.com/device?user_code=WDJB-MJHT",
  expires_at: 600,
  interval_ms: 5000
}
const down = new OAuthError({ reason: "unavailable", message: "the token endpoint could not be asked: down" })
const server = {
  issuer: "https://login.example.com",
  token_endpoint: "https://login.example.com/token",
  device_authorization_endpoint: "https://login.example.com/device/auth"
}
const unused = () => Effect.die("not asked here")

/** A flow over answers that are written down; the times of the polls, in seconds. */
const flow = (
  answers: ReadonlyArray<DevicePoll | OAuthError>,
  given: Partial<DeviceAuthorization> = {},
  input: Partial<DeviceInput> = {}
) =>
  Effect.gen(function*() {
    const times: Array<number> = []
    const opened: Array<string> = []
    const endpoint: TokenEndpointService = {
      refresh: unused,
      clientCredentials: unused,
      jwtBearer: unused,
      identityAssertion: unused,
      exchange: unused,
      push: unused,
      revoke: unused,
      authorizeDevice: () => Effect.succeed({ ...device, ...given }),
      pollDevice: () =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          times.push(now / 1000)
          const answer = answers[Math.min(times.length, answers.length) - 1] ?? "pending"
          return answer instanceof OAuthError ? Effect.fail(answer) : Effect.succeed(answer)
        })
    }
    const layer = DeviceFlow.layer.pipe(
      Layer.provide(Layer.mergeAll(
        Layer.succeed(TokenEndpoint, endpoint),
        Layer.succeed(Browser, {
          missing: null,
          open: (url) => Effect.sync(() => opened.push(url) > 0)
        }),
        Http.layer.pipe(Layer.provide(Environment.layerTest()))
      ))
    )
    const { all, events } = yield* recorder
    const fiber = yield* Effect.fork(
      Effect.flatMap(DeviceFlow, ({ authorize }) =>
        authorize({ server, client: { client_id: "app" }, scopes: ["a"], events, ...input })).pipe(
          Effect.provide(layer)
        )
    )
    return { fiber, times, opened, all }
  })

describe("13.4: the device flow", () => {
  it.scoped("the code and its page are shown, the browser stays closed; polls come at the interval", () =>
    Effect.gen(function*() {
      const { all, fiber, opened, times } = yield* flow(["pending", "pending", done])
      yield* TestClock.adjust("14 seconds")
      assert.deepStrictEqual(times, [5, 10])
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).tokens, done)
      assert.deepStrictEqual([...yield* Queue.takeAll(all)], [{
        type: "device_code",
        user_code: "WDJB-MJHT",
        verification_uri: "https://login.example.com/device",
        verification_uri_complete: "https://login.example.com/device?user_code=WDJB-MJHT",
        expires_at: 600
      }])
      assert.deepStrictEqual(opened, [])
    }))

  it.scoped("RFC 8628, 3.5: slow_down adds 5 s for good, each time", () =>
    Effect.gen(function*() {
      const { fiber, times } = yield* flow(["pending", "slow_down", "pending", "pending", "slow_down", "pending", done])
      yield* TestClock.adjust("2 minutes")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(times, [5, 10, 20, 30, 40, 55, 70])
    }))

  it.scoped("a failed poll doubles the wait, up to a minute; a good one ends that; nothing is lost", () =>
    Effect.gen(function*() {
      const { all, fiber, times } = yield* flow([down, down, down, down, down, "pending", "slow_down", down, done])
      yield* TestClock.adjust("10 minutes")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(times, [5, 15, 35, 75, 135, 195, 200, 210, 230])
      const delayed = [...yield* Queue.takeAll(all)].filter((event) => event.type === "delayed")
      assert.deepStrictEqual(delayed.map((event) => event.delay_ms), [10_000, 20_000, 40_000, 60_000, 60_000, 20_000])
      assert.isTrue(delayed.every((event) => event.message === down.message))
    }))

  it.scoped("it ends when the code expires, and says what went wrong last", () =>
    Effect.gen(function*() {
      const { fiber, times } = yield* flow(["pending"], { expires_at: 12 })
      yield* TestClock.adjust("12 seconds")
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(error.reason, "expired_token")
      assert.deepStrictEqual(times, [5, 10])
      const failing = yield* flow([down], { expires_at: 30 })
      yield* TestClock.adjust("30 seconds")
      const other = yield* Effect.flip(Fiber.join(failing.fiber))
      assert.match(other.message, /expired .*the last poll failed: the token endpoint could not be asked/u)
    }))

  it.scoped("a code that has expired already is not polled for", () =>
    Effect.gen(function*() {
      const { fiber, times } = yield* flow(["pending"], { expires_at: 0 })
      assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason, "expired_token")
      assert.deepStrictEqual(times, [])
    }))

  for (const reason of ["access_denied", "expired_token", "invalid_grant", "authorization_error"] as const) {
    it.scoped(`${reason} ends it with the server's text`, () =>
      Effect.gen(function*() {
        const refused = new OAuthError({ reason, message: "the server's words", error: reason })
        const { fiber, times } = yield* flow(["pending", refused])
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* Effect.flip(Fiber.join(fiber)), refused)
        assert.deepStrictEqual(times, [5, 10])
      }))
  }

  it.scoped("the browser opens on request, at the address with the code in it", () =>
    Effect.gen(function*() {
      const { fiber, opened } = yield* flow([done], {}, { browser: true })
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(opened, [device.verification_uri_complete])
    }))

  it.scoped("G8: what the server names is safe for a terminal; a page that is no web address is refused", () =>
    Effect.gen(function*() {
      const { all } = yield* flow([done], { user_code: "A\u001b[2J\nB" })
      const event = yield* Queue.take(all)
      assert.isTrue(event.type === "device_code" && event.user_code === "A\u241b[2J B")
      for (const verification_uri of ["javascript:alert(1)", "file:///etc/passwd", "http://login.example.com/"]) {
        const { fiber, opened } = yield* flow([done], { verification_uri }, { browser: true })
        assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason, "unavailable")
        assert.deepStrictEqual(opened, [])
      }
    }))
})

const json = (status: number, body: unknown): Answer => (response) => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

it.layer(loginLayer())("device endpoints", (it) => {
  describe("RFC 8628, 3.2", () => {
    const authorized = (body: unknown, status = 200) =>
      Effect.gen(function*() {
        const fake = yield* serve(json(status, body))
        const endpoint = yield* TokenEndpoint
        const answer = yield* endpoint.authorizeDevice(
          { issuer: null, device_authorization_endpoint: fake.origin },
          { client_id: "app" },
          { scopes: ["a", "b"], resource: "https://r.example/" }
        )
        return { answer, seen: yield* Queue.take(fake.requests) }
      })
    const body = { device_code: "dc", user_code: "UC", verification_uri: "https://v.example/", expires_in: 600 }

    it.scoped("the request is a form; 5 s without an interval", () =>
      Effect.gen(function*() {
        const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        const { answer, seen } = yield* authorized(body)
        assert.deepStrictEqual(Object.fromEntries(new URLSearchParams(seen.body)), {
          client_id: "app",
          scope: "a b",
          resource: "https://r.example/"
        })
        assert.deepStrictEqual({ ...answer, device_code: Redacted.value(answer.device_code) }, {
          device_code: "dc",
          user_code: "UC",
          verification_uri: "https://v.example/",
          verification_uri_complete: null,
          expires_at: now + 600,
          interval_ms: 5000
        })
      }))

    const variants: ReadonlyArray<readonly [string, object, number]> = [
      ["an interval", { interval: 7 }, 7000],
      ["an interval as digits", { interval: "7" }, 7000],
      ["an interval of zero", { interval: 0 }, 5000],
      ["a negative interval", { interval: -3 }, 5000],
      ["the older name of the page", { verification_uri: undefined, verification_url: "https://v.example/" }, 5000],
      ["a lifetime as digits", { expires_in: "600" }, 5000]
    ]
    for (const [name, change, interval_ms] of variants) {
      it.scoped(name, () =>
        Effect.gen(function*() {
          const { answer } = yield* authorized({ ...body, ...change })
          assert.strictEqual(answer.interval_ms, interval_ms)
          assert.strictEqual(answer.verification_uri, "https://v.example/")
        }))
    }

    for (const key of ["device_code", "user_code", "verification_uri", "expires_in"]) {
      it.scoped(`without ${key} it is no answer`, () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(authorized({ ...body, [key]: undefined }))
          assert.strictEqual(error.reason, "unavailable")
          assert.include(error.message, key)
        }))
    }

    const polls: ReadonlyArray<readonly [unknown, number, string]> = [
      [{ error: "authorization_pending" }, 400, "pending"],
      [{ error: "slow_down" }, 400, "slow_down"],
      [{ error: "slow_down" }, 429, "slow_down"],
      [{ error: "access_denied", error_description: "The user said no" }, 400, "access_denied"],
      [{ error: "expired_token" }, 400, "expired_token"],
      [{ error: "server_error" }, 500, "unavailable"]
    ]
    for (const [answer, status, expected] of polls) {
      it.scoped(`a poll with ${expected}, status ${status}`, () =>
        Effect.gen(function*() {
          const fake = yield* serve(json(status, answer))
          const endpoint = yield* TokenEndpoint
          const found = yield* endpoint.pollDevice(
            { issuer: null, token_endpoint: fake.origin },
            { client_id: "app" },
            Redacted.make("the-device-code")
          ).pipe(Effect.catchAll((error) => {
            assert.notInclude(error.message, "the-device-code")
            return Effect.succeed(error.reason)
          }))
          assert.strictEqual<unknown>(found, expected)
          const sent = new URLSearchParams((yield* Queue.take(fake.requests)).body)
          assert.strictEqual(sent.get("grant_type"), "urn:ietf:params:oauth:grant-type:device_code")
          assert.strictEqual(sent.get("device_code"), "the-device-code")
        }))
    }
  })

  describe("the variant that speaks JSON", () => {
    /** A server of it; each poll takes the next answer. */
    const variant = (polls: ReadonlyArray<readonly [number, unknown]>, first: readonly [number, unknown]) =>
      Effect.gen(function*() {
        let count = 0
        const fake = yield* serve((response, seen, request) => {
          const answer: readonly [number, unknown] = seen.url === "/usercode"
            ? first
            : seen.url === "/poll"
            ? polls[Math.min(count++, polls.length - 1)] ?? [500, {}]
            : [200, { access_token: "at", token_type: "Bearer", refresh_token: "rt" }]
          json(...answer)(response, seen, request)
        })
        const { events, next } = yield* recorder
        const fiber = yield* Effect.fork((yield* DeviceFlow).authorize({
          server: { issuer: null, token_endpoint: `${fake.origin}/token` },
          client: { client_id: "app" },
          scopes: ["ignored"],
          device_json: {
            authorization_endpoint: `${fake.origin}/usercode`,
            poll_endpoint: `${fake.origin}/poll`,
            verification_uri: "https://login.example.com/device",
            redirect_uri: "https://login.example.com/deviceauth/callback"
          },
          events
        }))
        const taken = (url: string) =>
          Effect.map(Queue.take(fake.requests), (seen) => {
            assert.strictEqual(seen.url, url)
            return seen
          })
        return { fake, fiber, next, taken }
      })
    const issued = { device_auth_id: "dai", user_code: "UC-1", interval: "5" }

    it.scoped("code, polls, exchange with the server's own verifier and the fixed redirect", () =>
      Effect.gen(function*() {
        const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        const { fiber, next, taken } = yield* variant(
          [[403, { error: "pending" }], [404, {}], [200, {
            authorization_code: "ac",
            code_verifier: "cv",
            code_challenge: "x"
          }]],
          [200, issued]
        )
        const start = yield* taken("/usercode")
        assert.strictEqual(start.headers["content-type"], "application/json")
        assert.deepStrictEqual(JSON.parse(start.body), { client_id: "app" })
        const shown = yield* next("device_code")
        assert.strictEqual(shown.user_code, "UC-1")
        assert.strictEqual(shown.verification_uri, "https://login.example.com/device")
        assert.strictEqual(shown.expires_at, now + 900)
        for (let poll = 0; poll < 3; poll++) {
          yield* passSleep(5000)
          const seen = yield* taken("/poll")
          assert.deepStrictEqual(JSON.parse(seen.body), { device_auth_id: "dai", user_code: "UC-1" })
        }
        const { tokens } = yield* Fiber.join(fiber)
        assert.strictEqual(Redacted.value(tokens.access_token), "at")
        assert.deepStrictEqual(Object.fromEntries(new URLSearchParams((yield* taken("/token")).body)), {
          client_id: "app",
          grant_type: "authorization_code",
          code: "ac",
          code_verifier: "cv",
          redirect_uri: "https://login.example.com/deviceauth/callback"
        })
      }))

    it.scoped("the other spelling of the user code", () =>
      Effect.gen(function*() {
        const { next } = yield* variant([], [200, { device_auth_id: "dai", usercode: "UC-2" }])
        assert.strictEqual((yield* next("device_code")).user_code, "UC-2")
      }))

    it.scoped("an answer that is none, a service that is not there", () =>
      Effect.gen(function*() {
        const empty = yield* variant([], [200, { user_code: "x" }])
        assert.match((yield* Effect.flip(Fiber.join(empty.fiber))).message, /without device_auth_id/u)
        const none = yield* variant([], [404, {}])
        assert.match((yield* Effect.flip(Fiber.join(none.fiber))).message, /status 404/u)
      }))

    it.scoped("a refusal ends the polling, a server in trouble does not", () =>
      Effect.gen(function*() {
        const { fiber, next, taken } = yield* variant([[503, {}], [400, { message: "dai is gone" }]], [200, issued])
        yield* next("device_code")
        yield* taken("/usercode")
        yield* passSleep(5000)
        assert.match((yield* next("delayed")).message, /status 503/u)
        yield* passSleep(10_000)
        const error = yield* Effect.flip(Fiber.join(fiber))
        assert.strictEqual(error.reason, "authorization_error")
        assert.notInclude(error.message, "dai")
      }))
  })
})
