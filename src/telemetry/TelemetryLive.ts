/**
 * Telemetry as the variables and the settings ask for it. Without an endpoint nothing is loaded and nothing is recorded.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { Config } from "../config/Config.ts"
import { choose } from "../config/TelemetryTarget.ts"
import { Credentials } from "../credentials/Credentials.ts"
import * as Layers from "../domain/Layers.ts"
import { once } from "../domain/Once.ts"
import { Telemetry } from "../domain/Telemetry.ts"
import { Environment } from "../platform/Environment.ts"
import { Http } from "../platform/Http.ts"
import { secretsOf } from "../tools/Guard.ts"

/** Its scope ends with what is left being sent, within two seconds. @since 0.1.0 @category layers */
export const layer: Layer.Layer<Telemetry, never, Config | Credentials | Environment | Http> = Layers.scoped(
  Telemetry,
  Effect.gen(function*() {
    const environment = yield* Environment
    const { config, origins } = yield* Config
    const { problem, target } = choose(
      environment.vars,
      config.telemetry,
      (key) => config.telemetry[key] !== undefined && origins.get(`telemetry.${key}`) === "managed"
    )
    if (problem !== null) yield* Effect.logWarning(problem)
    if (target === null) return { recorder: null }
    const credentials = yield* Credentials
    const http = yield* Http
    const { make } = yield* Effect.promise(() => import("./Recording.ts"))
    const fixed = once(() => secretsOf(environment.vars, config))
    let all: { readonly of: ReadonlyArray<string>; readonly secrets: ReadonlyArray<string> } | undefined
    const recorder = yield* make({
      target,
      environment,
      http,
      secrets: Effect.map(credentials.secrets(config), (known) => {
        if (all?.of !== known) all = { of: known, secrets: [...fixed(), ...known] }
        return all.secrets
      })
    })
    return { recorder }
  })
)
