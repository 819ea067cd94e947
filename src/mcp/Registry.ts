/**
 * The registry of servers: their lives, their tools under their names, what they may ask (readings 1.5 to 1.14).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Mailbox from "effect/Mailbox"
import * as Scope from "effect/Scope"
import * as TerminalText from "../codec/TerminalText.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import { knownSecrets } from "../platform/ChildEnvironment.ts"
import { type CallInFlight, handlers, type McpRun } from "./Asking.ts"
import {
  ambiguousServers,
  collisionText,
  type McpTable,
  type McpToolDefinition,
  promptTable,
  toolTable
} from "./Catalogue.ts"
import type { McpCallOptions, McpConnection } from "./Connection.ts"
import { connectionKey, define, inactive, type ServerDefinition, untrustedReason } from "./Definition.ts"
import { McpError } from "./McpError.ts"
import type { McpAttendance, McpService, McpWorld } from "./McpService.ts"
import { canonicalName } from "./Names.ts"
import { relay } from "./Relay.ts"
import { make as makeResources } from "./Resources.ts"
import { Server } from "./Server.ts"
import { type McpServerStatus, problemOf } from "./ServerState.ts"

interface Attending {
  readonly run: McpRun
  readonly events: Mailbox.Mailbox<AgentEventBody>
}

/** Events that wait for a run that takes none. */
const heldEvents = 1_024

/** A server whose definition cannot be used. */
interface Broken {
  readonly server: string
  readonly required: boolean
  readonly error: McpError
}

/** Lives as long as its scope, which ends every server. @since 0.1.0 @category constructors */
export const make = (first: McpWorld): Effect.Effect<McpService, never, Scope.Scope> =>
  Effect.gen(function*() {
    // Connections end side by side: each may take as long as its server's grace.
    const scope = yield* Effect.acquireRelease(
      Scope.make(ExecutionStrategy.parallel),
      (lives) => Scope.close(lives, Exit.void)
    )
    let world = first
    const servers = new Map<string, Server>()
    const broken = new Map<string, Broken>()
    const runs = new Set<Attending>()
    const calls = new Map<string, CallInFlight>()
    const turn = yield* Effect.makeSemaphore(1)
    let tokens = 0
    let table: McpTable<McpToolDefinition> | null = null
    const toldCollisions = new Set<string>()
    const toldServers = new Set<string>()
    /** What was said of each server last. */
    const said = new Map<string, string>()
    /** States that no run has been told of. */
    let untold = new Map<string, AgentEventBody>()

    const tell = (event: AgentEventBody): void => {
      for (const { events } of runs) events.unsafeOffer(event)
    }

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

    const asking = {
      roots: () => world.roots,
      permissions: () => world.permissions,
      prompters: () => world.prompters,
      call: (token: string) => calls.get(token),
      run: (session_id: string | null): McpRun | undefined => {
        const all = [...runs].map(({ run }) => run)
        return all.findLast((run) => run.session_id === session_id) ?? all.at(-1)
      },
      tell,
      safe
    }

    const eventOf = (server: Server): AgentEventBody => {
      const { error, phase, tools } = server.state()
      return {
        type: "mcp.server",
        server: server.name,
        phase,
        tools,
        error: error === undefined
          ? null
          : { code: error.code, message: TerminalText.line(safe(server.name, error.message), 2_000) }
      }
    }

    const changed = (name: string): Effect.Effect<void> =>
      Effect.sync(() => {
        table = null
        const server = servers.get(name)
        if (server === undefined || server.state().phase === "idle") return
        const event = eventOf(server)
        const words = JSON.stringify(event)
        if (said.get(name) === words) return
        said.set(name, words)
        if (runs.size === 0) untold.set(name, event)
        else tell(event)
      })

    const sorted = (): ReadonlyArray<Server> =>
      [...servers.values()].toSorted((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0)

    const tableNow = (): McpTable<McpToolDefinition> =>
      table ??= toolTable(sorted().map((server) => ({ definition: server.definition, items: server.tools() })))

    const add = (definition: ServerDefinition): void => {
      const name = definition.server
      servers.set(
        name,
        new Server({
          definition,
          transport: Effect.suspend(() => world.transport(definition)),
          handlers: handlers(name, asking),
          client_info: world.client_info,
          scope,
          onChange: Effect.suspend(() => changed(name)),
          onNotice: (code, message) =>
            Effect.sync(() => tell({ type: "notice", code, message: TerminalText.line(safe(name, message), 1_000) }))
        })
      )
    }

    const retire = (server: Server): Effect.Effect<void> =>
      Effect.suspend(() => {
        servers.delete(server.name)
        forget(server.name)
        table = null
        untold.delete(server.name)
        said.delete(server.name)
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

    const reconcile = (next: McpWorld): Effect.Effect<void> => turn.withPermits(1)(Effect.uninterruptible(settle(next)))

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
    const brokenStatus = ({ error, required, server }: Broken): McpServerStatus => ({
      server,
      kind: null,
      required,
      phase: "failed",
      tools: 0,
      error: problemOf(error)
    })
    const entryOf = (name: string) =>
      Object.hasOwn(world.config.config.mcp_servers, name) ? world.config.config.mcp_servers[name] : undefined

    const status = Effect.sync((): ReadonlyArray<McpServerStatus> =>
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
        }))
      ].toSorted((a, b) => a.server < b.server ? -1 : a.server > b.server ? 1 : 0)
    )

    /** Problems of names, each once. */
    const namingNotices = (): ReadonlyArray<AgentEventBody> => [
      ...[...tableNow().collisions.values()].flatMap((collision): ReadonlyArray<AgentEventBody> => {
        const message = collisionText(collision)
        if (toldCollisions.has(message)) return []
        toldCollisions.add(message)
        return [{ type: "notice", code: "tool_name_collision", message }]
      }),
      ...ambiguousServers(servers.keys()).flatMap((name): ReadonlyArray<AgentEventBody> => {
        if (toldServers.has(name)) return []
        toldServers.add(name)
        return [{
          type: "notice",
          code: "ambiguous_server_name",
          message: `the MCP server ${
            JSON.stringify(name)
          } has a name with which those of its tools can be read in two ways`
        }]
      })
    ]

    const attend = (run: McpRun): Effect.Effect<McpAttendance, never, Scope.Scope> =>
      Effect.gen(function*() {
        const events = yield* Mailbox.make<AgentEventBody>({ capacity: heldEvents, strategy: "sliding" })
        const attending: Attending = { run, events }
        runs.add(attending)
        const untoldNow = untold
        untold = new Map()
        for (const event of untoldNow.values()) events.unsafeOffer(event)
        for (const each of broken.values()) {
          events.unsafeOffer({
            type: "mcp.server",
            server: each.server,
            phase: "failed",
            tools: 0,
            error: problemOf(each.error)
          })
        }
        // what has been said is passed on also when the run ends
        yield* Effect.addFinalizer(() =>
          Effect.suspend(() => {
            runs.delete(attending)
            return Effect.flatMap(events.clear, (rest) => Effect.forEach(rest, run.report, { discard: true }))
          })
        )
        yield* Effect.forkScoped(
          Effect.forever(Effect.flatMap(events.take, run.report)).pipe(Effect.catchAll(() => Effect.void))
        )
        const all = sorted()
        yield* Effect.forEach(
          all,
          (server) =>
            Effect.zipRight(
              Effect.timeoutOption(server.start, server.definition.limits.connect_timeout_ms),
              server.refreshExpired
            ),
          { concurrency: "unbounded", discard: true }
        )
        for (const notice of namingNotices()) events.unsafeOffer(notice)
        const missing = [
          ...all.map(statusOf).filter(({ phase, required }) => required && phase !== "ready"),
          ...[...broken.values()].filter(({ required }) => required).map(brokenStatus)
        ]
        const instructions = all.flatMap((server) => {
          const text = server.current()?.instructions?.trim() ?? ""
          return text === "" ? [] : [{ server: server.name, text }]
        })
        return { missing, instructions }
      })

    /** The server that a name may belong to, by its beginning: only to find out what may have changed. */
    const likely = (name: string): ReadonlyArray<Server> =>
      sorted().filter((server) => name.startsWith(canonicalName(server.name, "x").slice(0, -1)))

    const find = (name: string): Effect.Effect<McpToolDefinition | undefined> =>
      Effect.gen(function*() {
        const known = tableNow().byName.get(name)
        const owner = known === undefined ? undefined : servers.get(known.server)
        yield* Effect.forEach(owner === undefined ? likely(name) : [owner], (server) => server.refreshed, {
          discard: true
        })
        return tableNow().byName.get(name)
      })

    const explain = (name: string): Effect.Effect<string> =>
      Effect.sync(() => {
        const collision = tableNow().collisions.get(name)
        if (collision !== undefined) {
          const members = [...tableNow().byName.values()].filter((tool) => tool.shared_name === name)
          return `${collisionText(collision)}. They can be called as ${members.map((tool) => tool.name).join(", ")}`
        }
        const [server] = likely(name)
        const state = server?.state()
        if (server !== undefined && state !== undefined && state.phase !== "ready") {
          return `there is no tool ${
            JSON.stringify(name.slice(0, 128))
          }: the MCP server ${server.name} is ${state.phase}${
            state.error === undefined ? "" : ` (${safe(server.name, state.error.message)})`
          }`
        }
        const off = inactive(world.config).find((each) =>
          each.server !== "" && name.startsWith(canonicalName(each.server, "x").slice(0, -1))
        )
        return off === undefined
          ? `there is no tool ${JSON.stringify(name.slice(0, 128))}; no MCP server offers it now`
          : `there is no tool ${JSON.stringify(name.slice(0, 128))}: the MCP server ${off.server} is ${off.phase}`
      })

    const noServer = (server: string): McpError =>
      new McpError({
        reason: "config",
        server,
        sent: false,
        message: `there is no MCP server ${JSON.stringify(server)}; there are ${
          servers.size === 0 ? "none" : sorted().map(({ name }) => name).join(", ")
        }`
      })

    const serverOf = (name: string): Effect.Effect<Server, McpError> => {
      const server = servers.get(name)
      return server === undefined ? Effect.fail(noServer(name)) : Effect.succeed(server)
    }

    const call: McpService["call"] = (tool, input, context) =>
      Effect.suspend(() => {
        const server = servers.get(tool.server)
        if (server === undefined) return Effect.fail(noServer(tool.server))
        const token = `call-${tokens++}`
        calls.set(token, { call: context, samplings: 0 })
        const shown = relay(context.emit, scope)
        const options: McpCallOptions = {
          tool: tool.tool,
          read_only: tool.read_only,
          token,
          onProgress: ({ message, progress, total }) =>
            shown.push(
              `[${progress}${total === undefined ? "" : ` of ${total}`}]${message === undefined ? "" : ` ${message}`}\n`
            )
        }
        const once = Effect.suspend(() => {
          const connection = server.current()
          return connection === null
            ? Effect.flatMap(server.connection, (again) => again.callTool(tool.raw_name, input, options))
            : connection.callTool(tool.raw_name, input, options)
        })
        return once.pipe(
          // what was not sent has not run: another connection may take it
          Effect.catchIf(
            (error) =>
              error.sent === false && (error.reason === "closed" || error.reason === "exited") &&
              server.state().phase === "closed",
            () => once
          ),
          Effect.zipLeft(shown.end),
          Effect.ensuring(Effect.suspend(() => {
            calls.delete(token)
            return shown.stop
          }))
        )
      })

    const usable = (): ReadonlyArray<Server> =>
      sorted().filter((server) => server.state().phase === "ready" || server.state().phase === "closed")
    const { forget, read, resources } = makeResources({ sorted, usable, serverOf, scope })

    const prompts = Effect.suspend(() =>
      Effect.map(
        Effect.forEach(usable(), (server) =>
          Effect.map(Effect.either(server.prompts), (listing) => ({
            definition: server.definition,
            items: listing._tag === "Right" ? listing.right.items : []
          })), { concurrency: "unbounded" }),
        promptTable
      )
    )

    yield* settle(first)
    return {
      attend,
      status,
      tools: Effect.sync(() => [...tableNow().byName.values()]),
      find,
      explain,
      isReadOnly: (name) => tableNow().byName.get(name)?.read_only === true,
      collisions: Effect.sync(() => [...tableNow().collisions.values()]),
      call,
      resources,
      read,
      prompts,
      prompt: ({ raw_name, server }, args) =>
        Effect.flatMap(
          serverOf(server),
          (owner) => Effect.flatMap(owner.connection, (connection) => connection.getPrompt(raw_name, args))
        ),
      servers: () => sorted().map(({ name }) => name),
      offersResources: (name) => servers.get(name)?.current()?.capabilities["resources"] !== undefined,
      restart: (name) => {
        const server = servers.get(name)
        return server === undefined ? Effect.succeed(false) : Effect.as(server.restart, true)
      },
      connect: (name) =>
        Effect.suspend((): Effect.Effect<McpConnection | null, McpError> => {
          const server = servers.get(name)
          const wrong = broken.get(name)
          if (wrong !== undefined) return Effect.fail(wrong.error)
          return server === undefined ? Effect.succeed(null) : Effect.zipRight(server.start, server.connection)
        }),
      reconcile,
      setRoots: (roots) =>
        Effect.suspend(() => {
          world = { ...world, roots }
          return Effect.forEach(
            servers.values(),
            (server) => Effect.ignore(server.current()?.rootsChanged ?? Effect.void),
            { discard: true }
          )
        })
    } satisfies McpService
  })
