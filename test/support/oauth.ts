/** Layers and small helpers of the login tests: a browser that the test drives, settings, and a recorder of events. */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as TestClock from "effect/TestClock"
import { Config } from "../../src/config/Config.ts"
import type { AuthProviderConfig, HanzoConfig } from "../../src/config/Schema.ts"
import { DeviceFlow } from "../../src/credentials/DeviceFlow.ts"
import { Login } from "../../src/credentials/Login.ts"
import type { LoginEvent } from "../../src/credentials/LoginEvents.ts"
import { LoginServers } from "../../src/credentials/LoginServers.ts"
import { OAuthFlow } from "../../src/credentials/OAuthFlow.ts"
import { TokenEndpoint } from "../../src/credentials/TokenEndpoint.ts"
import { Browser } from "../../src/platform/Browser.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Http } from "../../src/platform/Http.ts"
import { Loopback } from "../../src/platform/Loopback.ts"
import { SecureRandom } from "../../src/platform/SecureRandom.ts"

/** The settings' defaults with logins. */
export const configWith = (providers: Readonly<Record<string, AuthProviderConfig>>): Effect.Effect<HanzoConfig> =>
  Effect.map(Config, ({ config }) => ({ ...config, auth: { providers } })).pipe(
    Effect.provide(Config.layerText("{}")),
    Effect.orDie
  )

/** Everything of a login; addresses that a browser would open go to `opened`. */
export const loginLayer = (
  options: {
    readonly vars?: Record<string, string>
    readonly missing?: string | null
    readonly open?: (url: string, drop?: Iterable<string>) => Effect.Effect<boolean>
  } = {}
) => {
  const environment = Environment.layerTest({ vars: options.vars ?? {} })
  const browser = Layer.succeed(Browser, {
    missing: options.missing ?? null,
    open: options.open ?? (() => Effect.succeed(true))
  })
  const http = Http.layer.pipe(Layer.provide(environment))
  const base = Layer.mergeAll(environment, browser, http, Loopback.layer, SecureRandom.layer)
  const endpoints = Layer.mergeAll(TokenEndpoint.layer, LoginServers.layer).pipe(Layer.provideMerge(base))
  const flows = Layer.mergeAll(OAuthFlow.layer, DeviceFlow.layer).pipe(Layer.provideMerge(endpoints))
  return Login.layerFlows.pipe(Layer.provideMerge(flows))
}

/** Waits until somebody sleeps for exactly this long from now. */
export const awaitSleep = (ms: number): Effect.Effect<void> =>
  Effect.gen(function*() {
    const end = (yield* Clock.currentTimeMillis) + ms
    while (!Chunk.contains(yield* TestClock.sleeps(), end)) {
      yield* Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
    }
  })

/** The same, and lets that time pass. */
export const passSleep = (ms: number): Effect.Effect<void> => Effect.zipRight(awaitSleep(ms), TestClock.adjust(ms))

/** Events of a login, one after the other. */
export const recorder = Effect.map(Queue.unbounded<LoginEvent>(), (queue) => {
  const next: <T extends LoginEvent["type"]>(type: T) => Effect.Effect<Extract<LoginEvent, { readonly type: T }>> = (
    type
  ) =>
    Effect.flatMap(Queue.take(queue), (event) =>
      event.type === type
        ? Effect.succeed(event as Extract<LoginEvent, { readonly type: typeof type }>)
        : next(type))
  return { events: (event: LoginEvent) => Effect.asVoid(Queue.offer(queue, event)), next, all: queue }
})
