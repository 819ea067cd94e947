/**
 * The way to a server that its definition asks for.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { ProcessesService } from "../platform/Processes.ts"
import type { ServerDefinition } from "./Definition.ts"
import { McpError } from "./McpError.ts"
import { StdioMcpTransport, type StdioServices } from "./StdioTransport.ts"
import type { McpTransport } from "./Transport.ts"

/** A definition with a `url`. @since 0.1.0 @category models */
export type HttpDefinition = ServerDefinition & {
  readonly way: Extract<ServerDefinition["way"], { readonly kind: "http" | "sse" }>
}

/** @since 0.1.0 @category models */
export interface TransportServices extends StdioServices {
  /** The enforcing one, for definitions with `sandbox: true`. */
  readonly spawner: ProcessesService
  /** Servers over HTTP; absent = there are none here. */
  readonly http?: (definition: HttpDefinition) => Effect.Effect<McpTransport, McpError>
}

/** @since 0.1.0 @category constructors */
export const transportOf =
  (services: TransportServices) => (definition: ServerDefinition): Effect.Effect<McpTransport, McpError> => {
    const { max_message_bytes, server, way } = definition
    if (way.kind !== "stdio") {
      return services.http?.({ ...definition, way }) ?? Effect.fail(
        new McpError({
          reason: "config",
          server,
          sent: false,
          message: `MCP server ${server}: servers over HTTP cannot be reached from here`
        })
      )
    }
    const { argv, cwd, env, sandbox } = way
    return Effect.succeed(
      new StdioMcpTransport(
        { server, argv, cwd, env, ...(max_message_bytes === null ? {} : { max_message_bytes }) },
        sandbox ? { ...services, processes: services.spawner } : services
      )
    )
  }
