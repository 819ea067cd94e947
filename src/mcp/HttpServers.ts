/**
 * The ways to servers over HTTP: transports with the tokens that are stored for them. Loaded with the first such server.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { HanzoConfig } from "../config/Schema.ts"
import type { CredentialStore } from "../credentials/CredentialStore.ts"
import type { Environment } from "../platform/Environment.ts"
import { Http } from "../platform/Http.ts"
import { McpAuth, type McpAuthService } from "./Auth.ts"
import { HttpMcpTransport, type HttpTransportServices } from "./HttpTransport.ts"
import type { HttpDefinition as WireDefinition } from "./HttpWire.ts"
import { SseMcpTransport } from "./SseTransport.ts"
import type { McpEra, McpTransport } from "./Transport.ts"
import type { HttpDefinition } from "./Transports.ts"

/** @since 0.1.0 @category models */
export interface HttpWays {
  readonly auth: McpAuthService
  /** A connection that uses what is stored and asks nobody: `needs_login` says what to run. */
  readonly transportOf: (definition: HttpDefinition, config: HanzoConfig) => Effect.Effect<McpTransport>
}

/** What the transports of one process share: connections, logins, eras by origin. @since 0.1.0 @category constructors */
export const make: Effect.Effect<HttpWays, never, Http | Environment | CredentialStore> = Effect.gen(function*() {
  const http = yield* Http
  // Nothing of it has to be released: connections are the client's, files are the store's.
  const auth = Context.get(yield* Effect.scoped(Layer.build(McpAuth.layer)), McpAuth)
  const eras = new Map<string, McpEra>()
  return {
    auth,
    transportOf: ({ max_message_bytes, server, way }, config) =>
      Effect.map(
        auth.authorizer({ server, url: way.url, config, ...(way.oauth === undefined ? {} : { oauth: way.oauth }) }),
        (authorizer) => {
          const definition: WireDefinition = {
            server,
            url: way.url,
            headers: way.headers,
            ...(max_message_bytes === null ? {} : { max_message_bytes })
          }
          const services: HttpTransportServices = { http, authorizer, eras }
          return way.kind === "sse"
            ? new SseMcpTransport(definition, services)
            : new HttpMcpTransport(definition, services)
        }
      )
  }
})
