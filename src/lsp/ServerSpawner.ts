/**
 * How language servers are started: under the policy in force, which is made when the first one is needed.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ProcessesService } from "../platform/Processes.ts"

/** @since 0.1.0 @category models */
export interface ServerSpawnerService {
  /** The enforcing spawner of language servers (reading 10.4). */
  readonly processes: Effect.Effect<ProcessesService>
  /** Whether the kernel holds what is started: then servers that run code of the project may start untrusted. */
  readonly enforced: Effect.Effect<boolean>
}

/** @since 0.1.0 @category services */
export class ServerSpawner extends Context.Tag("@hanzo/dev/lsp/ServerSpawner")<ServerSpawner, ServerSpawnerService>() {}
