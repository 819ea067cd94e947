/**
 * What a login is made with, and tokens that need none. Loaded when somebody logs in, or a grant is asked for.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { DeviceFlowService } from "../credentials/DeviceFlow.ts"
import type { OAuthFlowService } from "../credentials/OAuthFlow.ts"
import type { SecretSourceService } from "../credentials/SecretSource.ts"
import type { TokenEndpointService } from "../credentials/TokenEndpoint.ts"
import type { Environment } from "../platform/Environment.ts"
import type { Http } from "../platform/Http.ts"

/** @since 0.1.0 @category models */
export interface LoginFlows {
  readonly code: OAuthFlowService
  readonly device: DeviceFlowService
  readonly endpoint: TokenEndpointService
  readonly secrets: SecretSourceService
}

/** Gives the flows, the same ones each time. @since 0.1.0 @category constructors */
export const make: Effect.Effect<Effect.Effect<LoginFlows>, never, Http | Environment> = Effect.flatMap(
  Effect.context<Http | Environment>(),
  (context) =>
    Effect.cached(Effect.gen(function*() {
      const [flow, device, endpoint, secrets, browser, loopback, random, files, processes] = yield* Effect.promise(() =>
        Promise.all([
          import("../credentials/OAuthFlow.ts"),
          import("../credentials/DeviceFlow.ts"),
          import("../credentials/TokenEndpoint.ts"),
          import("../credentials/SecretSource.ts"),
          import("../platform/Browser.ts"),
          import("../platform/Loopback.ts"),
          import("../platform/SecureRandom.ts"),
          import("../platform/Files.ts"),
          import("../platform/Processes.ts")
        ])
      )
      const layer = Layer.mergeAll(flow.OAuthFlow.layer, device.DeviceFlow.layer, secrets.SecretSource.layer).pipe(
        Layer.provideMerge(
          Layer.mergeAll(
            endpoint.TokenEndpoint.layer,
            browser.Browser.layer,
            loopback.Loopback.layer,
            random.SecureRandom.layer,
            files.Files.layer,
            processes.Processes.layer
          )
        )
      )
      // None of them holds anything that has to be released.
      const built = yield* Effect.scoped(Effect.provide(Layer.build(layer), context))
      return {
        code: Context.get(built, flow.OAuthFlow),
        device: Context.get(built, device.DeviceFlow),
        endpoint: Context.get(built, endpoint.TokenEndpoint),
        secrets: Context.get(built, secrets.SecretSource)
      }
    }))
)
