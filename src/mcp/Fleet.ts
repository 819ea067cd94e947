/**
 * The servers that the settings define: which there are, which of them cannot be used and why, what they offer under which
 * names; brought up to date when the settings change (readings 1.5 to 1.10).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { knownSecrets } from "../platform/ChildEnvironment.ts"
import { collisionText, type McpTable, type McpToolDefinition, toolTable } from "./Catalogue.ts"
import type { McpHandlers } from "./Connection.ts"
import {
  connectionKey,
  define,
  inactive,
  type ServerDefinition,
  undefinedServers,
  untrustedReason
} from "./Definition.ts"
import { McpError } from "./McpError.ts"
import type { McpWorld } from "./McpService.ts"
import { canonicalName } from "./Names.ts"
import { Server } from "./Server.ts"
import { type McpServerStatus, problemOf } from "./ServerState.ts"

/** A server whose definition cannot be used. @since 0.1.0 @category models */
export interface Broken {
  readonly server: string
  readonly required: boolean
  readonly error: McpError
}

/** What a fleet is told with, and tells. None of it waits. @since 0.1.0 @category models */
export interface FleetOptions {
  /** Owns the fibers of connections. */
  readonly scope: Scope.Scope
  readonly handlers: (server: string) => McpHandlers
  readonly onChange: (server: Server) => void
  readonly onNotice: (server: string, code: string, message: string) => void
  /** It is no longer one of them; it may still have to end. */
  readonly onGone: (server: string) => void
}

/** @since 0.1.0 @category models */
export interface Fleet {
  readonly world: () => McpWorld
  readonly setWorld: (world: McpWorld) => void
  /** Servers whose definition has changed or is gone end first; those that stay keep running. */
  readonly settle: (world: McpWorld) => Effect.Effect<void>
  readonly get: (name: string) => Server | undefined
  /** By name, in the order of code points. */
  readonly sorted: () => ReadonlyArray<Server>
  /** Those that are connected, or would be by a call. */
  readonly usable: () => ReadonlyArray<Server>
  readonly names: () => Iterable<string>
  readonly broken: () => ReadonlyArray<Broken>
  readonly brokenOf: (name: string) => Broken | undefined
  /** What can be called, under its names, as the lists are now. */
  readonly table: () => McpTable<McpToolDefinition>
  readonly noServer: (name: string) => McpError
  readonly serverOf: (name: string) => Effect.Effect<Server, McpError>
  readonly find: (name: string) => Effect.Effect<McpToolDefinition | undefined>
  readonly explain: (name: string) => string
  readonly statusOf: (server: Server) => McpServerStatus
  readonly status: () => ReadonlyArray<McpServerStatus>
  /** Takes secrets of a server's definition out of a text. */
  readonly safe: (server: string, text: string) => string
}

const byName = <A>(nameOf: (value: A) => string) => (a: A, b: A): number =>
  nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0

/** @since 0.1.0 @category combinators */
export const brokenStatus = ({ error, required, server }: Broken): McpServerStatus => ({
  server,
  kind: null,
  required,
  phase: "failed",
  tools: 0,
  error: problemOf(error)
})

/** Without servers: they are those of the first world that is settled. @since 0.1.0 @category constructors */
export const make = (first: McpWorld, options: FleetOptions): Fleet => {
  let world = first
  const servers = new Map<string, Server>()
  const broken = new Map<string, Broken>()
  let table: McpTable<McpToolDefinition> | null = null

  const secretsOf = (server: string): ReadonlyArray<string> => {
    const way = servers.get(server)?.definition.way
    if (way === undefined) return []
    return way.kind === "stdio"
      ? knownSecrets(Object.entries(way.env))
      : knownSecrets([], {
        values: Object.values(way.headers).flatMap((value) => [value, value.replace(/^\S+\s+/, "")])
      })
  }
  const safe = (server: string, text: string): string =>
    secretsOf(server).reduce((all, secret) => all.replaceAll(secret, "***"), text)

  const sorted = (): ReadonlyArray<Server> => [...servers.values()].toSorted(byName(({ name }) => name))

  const tableNow = (): McpTable<McpToolDefinition> =>
    table ??= toolTable(sorted().map((server) => ({ definition: server.definition, items: server.tools() })))

  const add = (definition: ServerDefinition): void => {
    const name = definition.server
    servers.set(
      name,
      new Server({
        definition,
        transport: Effect.suspend(() => world.transport(definition)),
        handlers: options.handlers(name),
        client_info: world.client_info,
        scope: options.scope,
        onChange: Effect.sync(() => {
          table = null
          const server = servers.get(name)
          if (server !== undefined) options.onChange(server)
        }),
        onNotice: (code, message) => Effect.sync(() => options.onNotice(name, code, message))
      })
    )
  }

  const retire = (server: Server): Effect.Effect<void> =>
    Effect.suspend(() => {
      servers.delete(server.name)
      table = null
      options.onGone(server.name)
      return server.retire
    })

  const settle = (next: McpWorld): Effect.Effect<void> =>
    Effect.gen(function*() {
      world = next
      broken.clear()
      const wanted = new Map<string, ServerDefinition>()
      for (const name of next.config.mcp_servers) {
        const entry = next.config.config.mcp_servers[name]
        if (entry === undefined) continue
        try {
          // also says whether its tools can have names at all
          canonicalName(name, "x")
          wanted.set(name, define(name, entry, next))
        } catch (cause) {
          const error = cause instanceof McpError
            ? cause
            : new McpError({ reason: "config", server: name, sent: false, message: String(cause) })
          broken.set(name, { server: name, required: entry.required === true, error })
        }
      }
      const gone = [...servers.values()].filter((server) => {
        const definition = wanted.get(server.name)
        return definition === undefined || connectionKey(definition) !== connectionKey(server.definition)
      })
      // the old one ends before the new one may start
      yield* Effect.forEach(gone, retire, { concurrency: "unbounded", discard: true })
      for (const [name, definition] of wanted) {
        const known = servers.get(name)
        if (known === undefined) add(definition)
        else known.definition = definition
      }
      table = null
    })

  const statusOf = (server: Server): McpServerStatus => {
    const { error, ...state } = server.state()
    return {
      server: server.name,
      kind: server.definition.way.kind,
      required: server.definition.required,
      ...state,
      ...(error === undefined ? {} : { error: { code: error.code, message: safe(server.name, error.message) } })
    }
  }

  const entryOf = (name: string) =>
    Object.hasOwn(world.config.config.mcp_servers, name) ? world.config.config.mcp_servers[name] : undefined

  const status = (): ReadonlyArray<McpServerStatus> =>
    [
      ...sorted().map(statusOf),
      ...[...broken.values()].map(brokenStatus),
      ...inactive(world.config).map(({ phase, server }): McpServerStatus => ({
        server,
        kind: entryOf(server) === undefined ? null : entryOf(server)?.url === undefined ? "stdio" : "http",
        required: entryOf(server)?.required === true,
        phase,
        tools: 0,
        ...(phase === "untrusted" ? { error: { code: "untrusted", message: untrustedReason } } : {})
      })),
      ...undefinedServers(world.config)
    ].toSorted(byName(({ server }) => server))

  /** The server that a name may belong to, by its beginning: only to find out what may have changed. */
  const likely = (name: string): ReadonlyArray<Server> =>
    sorted().filter((server) => name.startsWith(canonicalName(server.name, "x").slice(0, -1)))

  const find = (name: string): Effect.Effect<McpToolDefinition | undefined> =>
    Effect.suspend(() => {
      const known = tableNow().byName.get(name)
      const owner = known === undefined ? undefined : servers.get(known.server)
      if (owner?.isStale() === false) return Effect.succeed(known)
      return Effect.map(
        Effect.forEach(owner === undefined ? likely(name) : [owner], (server) => server.refreshed, { discard: true }),
        () => tableNow().byName.get(name)
      )
    })

  const explain = (name: string): string => {
    const collision = tableNow().collisions.get(name)
    if (collision !== undefined) {
      const members = [...tableNow().byName.values()].filter((tool) => tool.shared_name === name)
      return `${collisionText(collision)}. They can be called as ${members.map((tool) => tool.name).join(", ")}`
    }
    const none = `there is no tool ${JSON.stringify(name.slice(0, 128))}`
    const [server] = likely(name)
    const state = server?.state()
    if (server !== undefined && state !== undefined && state.phase !== "ready") {
      const why = state.error === undefined ? "" : ` (${safe(server.name, state.error.message)})`
      return `${none}: the MCP server ${server.name} is ${state.phase}${why}`
    }
    const off = inactive(world.config).find((each) =>
      each.server !== "" && name.startsWith(canonicalName(each.server, "x").slice(0, -1))
    )
    return off === undefined
      ? `${none}; no MCP server offers it now`
      : `${none}: the MCP server ${off.server} is ${off.phase}`
  }

  const noServer = (name: string): McpError =>
    new McpError({
      reason: "config",
      server: name,
      sent: false,
      message: `there is no MCP server ${JSON.stringify(name)}; there are ${
        servers.size === 0 ? "none" : sorted().map((each) => each.name).join(", ")
      }`
    })

  return {
    world: () => world,
    setWorld: (next) => {
      world = next
    },
    settle,
    get: (name) => servers.get(name),
    sorted,
    usable: () => sorted().filter((server) => ["ready", "closed"].includes(server.state().phase)),
    names: () => servers.keys(),
    broken: () => [...broken.values()],
    brokenOf: (name) => broken.get(name),
    table: tableNow,
    noServer,
    serverOf: (name) => {
      const server = servers.get(name)
      return server === undefined ? Effect.fail(noServer(name)) : Effect.succeed(server)
    },
    find,
    explain,
    statusOf,
    status,
    safe
  }
}
