/**
 * Where the tools of MCP servers come from in a program: the client is loaded when the first run attends, and only where
 * the settings have servers.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Layers from "../domain/Layers.ts"
import { Config } from "../config/Config.ts"
import type { McpNeeds } from "../mcp/Mcp.ts"
import { Workspace } from "../domain/Workspace.ts"
import { McpAccess, type McpAccessService } from "./McpAccess.ts"
import type { Bridge } from "./McpBridge.ts"
import { McpHost } from "./McpHost.ts"
import { McpTools, type McpToolsService } from "./McpTools.ts"
import { OutputFiles } from "./OutputFiles.ts"

/** Both sides of the servers; private to the composition, since whoever holds `tools` can call one without the Guard. @since 0.1.0 @category models */
export interface McpRoomService {
  readonly tools: McpToolsService
  readonly access: McpAccessService
}

const noTools: McpToolsService = { tools: Effect.succeed([]), isReadOnly: () => false }

const make = Effect.gen(function*() {
  const config = yield* Config
  if (config.mcp_servers.length === 0) {
    const room: McpRoomService = {
      tools: noTools,
      access: {
        attend: () => Effect.succeed({ refusal: null, instructions: "" }),
        expand: (content) =>
          Effect.succeed(
            typeof content === "string" && /^\s*\/mcp__/.test(content)
              ? { refusal: "no MCP server is active here, so there are no prompts of servers" }
              : { content, problems: [] }
          ),
        // disabled, untrusted and undefined servers are of interest only to who asks
        status: Effect.map(
          Effect.promise(() => import("../mcp/Definition.ts")),
          ({ inactive, undefinedServers, untrustedReason }) => [
            ...inactive(config).map(({ phase, server }) => ({
              server,
              kind: null,
              required: false,
              phase,
              tools: 0,
              ...(phase === "untrusted" ? { error: { code: "untrusted", message: untrustedReason } } : {})
            })),
            ...undefinedServers(config)
          ]
        ),
        prompts: Effect.succeed([]),
        restart: () => Effect.succeed(false)
      }
    }
    return room
  }
  const needs = yield* Effect.context<McpNeeds>()
  const files = yield* OutputFiles
  const host = yield* Effect.serviceOption(McpHost)
  const { root } = yield* Workspace
  const scope = yield* Effect.scope
  const turn = yield* Effect.makeSemaphore(1)
  let loaded: Bridge | null = null

  const load: Effect.Effect<Bridge> = Effect.gen(function*() {
    const [client, bridge] = yield* Effect.promise(() =>
      Promise.all([import("../mcp/Mcp.ts"), import("./McpBridge.ts")])
    )
    const world = yield* client.worldOf
    const fresh = client.make(world)
    const { mcp, reused } = Option.isNone(host)
      ? { mcp: yield* fresh, reused: false }
      : yield* host.value.obtain(root, fresh)
    if (reused) yield* mcp.reconcile(world)
    return loaded = bridge.make(mcp, files)
  }).pipe(Effect.provide(needs), Scope.extend(scope), Effect.uninterruptible)

  const bridge: Effect.Effect<Bridge> = Effect.suspend(() =>
    loaded !== null
      ? Effect.succeed(loaded)
      : turn.withPermits(1)(Effect.suspend(() => loaded === null ? load : Effect.succeed(loaded)))
  )
  const { nativeTools } = yield* Effect.promise(() => import("./McpNative.ts"))
  const native = nativeTools(bridge)
  const useless: ReadonlySet<string> = new Set(native.map(({ definition }) => definition.name))

  const room: McpRoomService = {
    tools: {
      tools: Effect.suspend(() => loaded === null ? Effect.succeed([]) : loaded.tools.tools),
      isReadOnly: (name) => loaded !== null && loaded.tools.isReadOnly(name),
      find: (name) => Effect.flatMap(bridge, (made) => made.tools.find(name)),
      explain: (name) => Effect.flatMap(bridge, (made) => made.tools.explain(name)),
      native,
      withheld: Effect.suspend(() => loaded === null ? Effect.succeed(useless) : loaded.tools.withheld)
    },
    access: {
      attend: (run) => Effect.flatMap(bridge, (made) => made.access.attend(run)),
      expand: (content) => Effect.flatMap(bridge, (made) => made.access.expand(content)),
      status: Effect.flatMap(bridge, (made) => made.access.status),
      prompts: Effect.flatMap(bridge, (made) => made.access.prompts),
      restart: (server) => Effect.flatMap(bridge, (made) => made.access.restart(server))
    }
  }
  return room
})

/** @since 0.1.0 @category services */
export class McpRoom extends Context.Tag("@hanzo/dev/tools/McpRoom")<McpRoom, McpRoomService>() {
  static readonly layer: Layer.Layer<McpRoom, never, McpNeeds | OutputFiles> = Layers.scoped(McpRoom, make)
}

/** The tools of the room, for the registry. @since 0.1.0 @category layers */
export const layerMcpTools: Layer.Layer<McpTools, never, McpRoom> = Layers.effect(
  McpTools,
  Effect.map(McpRoom, ({ tools }) => tools)
)

/** What may be given out of it. @since 0.1.0 @category layers */
export const layerMcpAccess: Layer.Layer<McpAccess, never, McpRoom> = Layers.effect(
  McpAccess,
  Effect.map(McpRoom, ({ access }) => access)
)
