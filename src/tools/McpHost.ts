/**
 * Keeps the MCP servers of a workspace running while it is built anew with other settings: only what has changed in them
 * is started again. Servers end a few seconds after the last workspace that uses them, and with the process.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Layers from "../domain/Layers.ts"
import type { McpService } from "../mcp/Mcp.ts"

/** Between the end of a workspace and that of its servers. @since 0.1.0 @category constants */
export const idleGrace = Duration.seconds(5)

/** @since 0.1.0 @category models */
export interface McpHostService {
  /**
   * The servers of a project root: those that run, else `make`, in a scope of the host's. Held until the caller's scope
   * ends.
   */
  readonly obtain: (
    root: string,
    make: Effect.Effect<McpService, never, Scope.Scope>
  ) => Effect.Effect<{ readonly mcp: McpService; readonly reused: boolean }, never, Scope.Scope>
}

interface Kept {
  readonly mcp: McpService
  readonly scope: Scope.CloseableScope
  users: number
  /** How often it has been taken: what was to end it after an earlier use does not end it after a later one. */
  taken: number
}

/** @since 0.1.0 @category services */
export class McpHost extends Context.Tag("@hanzo/dev/tools/McpHost")<McpHost, McpHostService>() {
  static readonly layer: Layer.Layer<McpHost> = Layers.scoped(
    McpHost,
    Effect.gen(function*() {
      const kept = new Map<string, Kept>()
      const turn = Effect.unsafeMakeSemaphore(1)
      const own = yield* Effect.scope

      const end = (root: string, one: Kept): Effect.Effect<void> =>
        Effect.suspend(() => {
          if (kept.get(root) === one) kept.delete(root)
          return Scope.close(one.scope, Exit.void)
        })

      const release = (root: string, one: Kept): Effect.Effect<void> =>
        Effect.suspend(() => {
          one.users--
          if (one.users > 0) return Effect.void
          const { taken } = one
          return Effect.asVoid(Effect.forkIn(
            Effect.interruptible(Effect.sleep(idleGrace)).pipe(
              Effect.zipRight(
                turn.withPermits(1)(Effect.suspend(() => one.taken !== taken ? Effect.void : end(root, one)))
              )
            ),
            own
          ))
        })

      return {
        obtain: (root, make) =>
          Effect.acquireRelease(
            turn.withPermits(1)(Effect.gen(function*() {
              const known = kept.get(root)
              if (known !== undefined) {
                known.users++
                known.taken++
                return { one: known, reused: true }
              }
              const scope = yield* Scope.fork(own, ExecutionStrategy.sequential)
              const one: Kept = { mcp: yield* Scope.extend(make, scope), scope, users: 1, taken: 1 }
              kept.set(root, one)
              return { one, reused: false }
            })),
            ({ one }) => release(root, one)
          ).pipe(Effect.map(({ one, reused }) => ({ mcp: one.mcp, reused })))
      }
    })
  )
}
