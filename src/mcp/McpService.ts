/**
 * What the registry of servers is to others, and what it works with.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ConfigService } from "../config/Config.ts"
import type { PermissionPrompterService } from "../domain/PermissionPrompter.ts"
import type { PermissionsService } from "../permissions/Permissions.ts"
import type { McpRun, McpToolCall } from "./Asking.ts"
import type { McpCollision, McpPromptDefinition, McpTable, McpToolDefinition } from "./Catalogue.ts"
import type {
  McpCallResult,
  McpCompletion,
  McpConnection,
  McpPromptResult,
  McpResource,
  McpResourceContent,
  McpResourceTemplate,
  McpRoot
} from "./Connection.ts"
import type { DefinitionContext, ServerDefinition } from "./Definition.ts"
import type { McpError } from "./McpError.ts"
import type { McpServerStatus } from "./ServerState.ts"
import type { McpTransport } from "./Transport.ts"

/** What the registry works with: exchanged as a whole when the settings change. @since 0.1.0 @category models */
export interface McpWorld extends DefinitionContext {
  readonly config: Pick<ConfigService, "config" | "mcp_servers" | "trust">
  readonly roots: ReadonlyArray<McpRoot>
  readonly transport: (definition: ServerDefinition) => Effect.Effect<McpTransport, McpError>
  readonly permissions: PermissionsService | null
  readonly prompters: ReadonlyArray<PermissionPrompterService>
  readonly client_info: { readonly name: string; readonly version: string }
}

/** What a run finds. @since 0.1.0 @category models */
export interface McpAttendance {
  /** Required servers that are not ready: the run must not start. */
  readonly missing: ReadonlyArray<McpServerStatus>
  /** What servers say about themselves, for the model. */
  readonly instructions: ReadonlyArray<{ readonly server: string; readonly text: string }>
}

/** Of one server; `problem` = some of it could not be read. @since 0.1.0 @category models */
export interface McpServerResources {
  readonly server: string
  readonly resources: ReadonlyArray<McpResource>
  readonly templates: ReadonlyArray<McpResourceTemplate>
  readonly problem: McpError | null
}

/** @since 0.1.0 @category models */
export interface McpService {
  /**
   * A run begins: servers that have not been started connect, all at once; returns when it is known how that went, for
   * each at most after its connect limit. Changes are reported to the run until its scope ends. Never fails.
   */
  readonly attend: (run: McpRun) => Effect.Effect<McpAttendance, never, Scope.Scope>
  /** All servers of the settings, disabled and untrusted ones too, by name. */
  readonly status: Effect.Effect<ReadonlyArray<McpServerStatus>>
  /** What can be called now, in a stable order. */
  readonly tools: Effect.Effect<ReadonlyArray<McpToolDefinition>>
  /** By its name; a list that is known to have changed is read again first. */
  readonly find: (name: string) => Effect.Effect<McpToolDefinition | undefined>
  /** Why a name that begins with `mcp__` stands for nothing, in words for the model. */
  readonly explain: (name: string) => Effect.Effect<string>
  readonly isReadOnly: (name: string) => boolean
  readonly collisions: Effect.Effect<ReadonlyArray<McpCollision>>
  /** Sent once and never repeated by us; a connection that had ended is made anew first. */
  readonly call: (
    tool: McpToolDefinition,
    input: { readonly [key: string]: unknown },
    call: McpToolCall
  ) => Effect.Effect<McpCallResult, McpError>
  readonly resources: (server?: string) => Effect.Effect<ReadonlyArray<McpServerResources>, McpError>
  /** `uri` alone or `SERVER:URI`; a resource that is read is subscribed to where that is offered. */
  readonly read: (
    uri: string,
    server?: string
  ) => Effect.Effect<{ readonly server: string; readonly contents: ReadonlyArray<McpResourceContent> }, McpError>
  readonly prompts: Effect.Effect<McpTable<McpPromptDefinition>>
  readonly prompt: (
    prompt: McpPromptDefinition,
    args: { readonly [name: string]: string }
  ) => Effect.Effect<McpPromptResult, McpError>
  /** What the server suggests for an argument of a prompt that begins like this; `given`: what the others are. */
  readonly complete: (
    prompt: McpPromptDefinition,
    argument: { readonly name: string; readonly value: string },
    given: { readonly [name: string]: string }
  ) => Effect.Effect<McpCompletion, McpError>
  /** Names of the servers that can be used now or after a reconnection. */
  readonly servers: () => ReadonlyArray<string>
  /** It is connected and has resources. */
  readonly offersResources: (server: string) => boolean
  /** Ends a server and connects it anew, also after it has failed; false = there is none of this name. */
  readonly restart: (server: string) => Effect.Effect<boolean>
  /** Connects one server, or tries to; null = there is none of this name. */
  readonly connect: (server: string) => Effect.Effect<McpConnection | null, McpError>
  /** Other settings: servers whose definition has changed or is gone end first, those that stay keep running. */
  readonly reconcile: (world: McpWorld) => Effect.Effect<void>
  /** The roots are others now; servers that are connected are told. */
  readonly setRoots: (roots: ReadonlyArray<McpRoot>) => Effect.Effect<void>
}
