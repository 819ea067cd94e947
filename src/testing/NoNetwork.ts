/**
 * An Http that reaches nothing: every request is refused and written down.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Http, HttpError } from "../platform/Http.ts"

/** @since 0.1.0 @category models */
export interface NoNetworkService {
  /** Method and URL of every request that was tried, in order. */
  readonly attempts: Effect.Effect<ReadonlyArray<{ readonly method: string; readonly url: string }>>
}

/** @since 0.1.0 @category services */
export class NoNetwork extends Context.Tag("@hanzo/dev/testing/NoNetwork")<NoNetwork, NoNetworkService>() {
  static readonly layer: Layer.Layer<NoNetwork | Http> = Layer.effectContext(Effect.sync(() => {
    const attempts: Array<{ readonly method: string; readonly url: string }> = []
    return Context.make(NoNetwork, { attempts: Effect.sync(() => [...attempts]) }).pipe(
      Context.add(Http, {
        request: ({ method, url }) =>
          Effect.suspend(() => {
            attempts.push({ method, url })
            const origin = URL.canParse(url) ? new URL(url).origin : "an address that is none"
            return Effect.fail(
              new HttpError({ reason: "blocked", message: `no network in tests: refused ${method} to ${origin}` })
            )
          })
      })
    )
  }))
}
