/**
 * The MCP servers of a workspace and their tools under their names (HIP-301 section 1; readings 1.5 to 1.14). Servers
 * connect when the first run attends; until then nothing starts. One connection a definition, shared by all sessions.
 *
 * @since 0.1.0
 */
import * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TerminalText from "../codec/TerminalText.ts"
import { Config, type ConfigService } from "../config/Config.ts"
import { secretVariables } from "../config/Secrets.ts"
import { CredentialStore } from "../credentials/CredentialStore.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import * as Layers from "../domain/Layers.ts"
import { PermissionPrompter, type PermissionPrompterService } from "../domain/PermissionPrompter.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Permissions, type PermissionsService } from "../permissions/Permissions.ts"
import { AppendLog } from "../platform/AppendLog.ts"
import { knownSecrets } from "../platform/ChildEnvironment.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Environment, variable } from "../platform/Environment.ts"
import { Http } from "../platform/Http.ts"
import { Processes } from "../platform/Processes.ts"
import { Spawner } from "../platform/Spawner.ts"
import { type CallInFlight, handlers, type McpRun, type McpToolCall } from "./Asking.ts"
import {
  ambiguousServers,
  collisionText,
  type McpCollision,
  type McpPromptDefinition,
  type McpTable,
  type McpToolDefinition,
  promptTable,
  toolTable
} from "./Catalogue.ts"
import type {
  McpCallOptions,
  McpCallResult,
  McpConnection,
  McpPromptResult,
  McpResource,
  McpResourceContent,
  McpResourceTemplate,
  McpRoot
} from "./Connection.ts"
import { matchesTemplate } from "./Arguments.ts"
import {
  connectionKey,
  define,
  type DefinitionContext,
  inactive,
  type ServerDefinition,
  untrustedReason
} from "./Definition.ts"
import { clientInfo } from "./ClientInfo.ts"
import { McpError } from "./McpError.ts"
import { canonicalName } from "./Names.ts"
import { Server } from "./Server.ts"
import { type McpServerStatus, problemOf } from "./ServerState.ts"
import type { McpTransport } from "./Transport.ts"
import { type HttpDefinition, transportOf } from "./Transports.ts"

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

interface Attending {
  readonly run: McpRun
  readonly events: Mailbox.Mailbox<AgentEventBody>
}

/** Events that wait for a run that takes none. */
const heldEvents = 1_024

/** Progress of one call; the latest of it where nobody takes it fast enough. */
const heldProgress = 256

/**
 * Hands texts on in order without making the one who brings them wait: a fiber takes them, there only while there are
 * some.
 */
const relay = (emit: (text: string) => Effect.Effect<void>, scope: Scope.Scope) => {
  const held: Array<string> = []
  let pump: Fiber.RuntimeFiber<void> | null = null
  const drain: Effect.Effect<void> = Effect.suspend(() => {
    const text = held.shift()
    return text === undefined ? Effect.void : Effect.zipRight(emit(text), drain)
  })
  const over = Effect.sync(() => {
    pump = null
  })
  return {
    push: (text: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (held.push(text) > heldProgress) held.shift()
        return pump !== null ? Effect.void : Effect.map(
          Effect.forkIn(Effect.ensuring(Effect.interruptible(drain), over), scope),
          (fiber) => void (pump = fiber)
        )
      }),
    /** Everything has been handed on. */
    end: Effect.suspend(() => pump === null ? Effect.void : Effect.zipRight(Fiber.await(pump), drain)),
    stop: Effect.suspend(() => pump === null ? Effect.void : Fiber.interruptFork(pump))
  }
}

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
    const subscribed = new Set<string>()
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
        for (const key of subscribed) if (key.startsWith(`${server.name}\0`)) subscribed.delete(key)
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

    const resourcesOf = (server: Server): Effect.Effect<McpServerResources> =>
      Effect.gen(function*() {
        const listed = yield* Effect.either(server.resources)
        const templates = yield* Effect.either(server.templates)
        const problem = listed._tag === "Left" ? listed.left : listed.right.problem
        return {
          server: server.name,
          resources: listed._tag === "Right" ? listed.right.items : [],
          templates: templates._tag === "Right" ? templates.right.items : [],
          problem: problem ?? (templates._tag === "Left" ? templates.left : templates.right.problem)
        }
      })

    const usable = (): ReadonlyArray<Server> =>
      sorted().filter((server) => server.state().phase === "ready" || server.state().phase === "closed")

    const resources: McpService["resources"] = (name) =>
      Effect.gen(function*() {
        const asked = name === undefined ? usable() : [yield* serverOf(name)]
        return yield* Effect.forEach(asked, resourcesOf, { concurrency: "unbounded" })
      })

    /** Whose resource an address is: listed by one, named by a prefix, of a template, or the only server there is. */
    const locate = (uri: string): Effect.Effect<{ readonly server: Server; readonly uri: string }, McpError> =>
      Effect.gen(function*() {
        const bare = uri.startsWith("@") ? uri.slice(1) : uri
        const prefixed = sorted().toSorted((a, b) => b.name.length - a.name.length).find((server) =>
          bare.startsWith(`${server.name}:`) && bare.length > server.name.length + 1
        )
        if (prefixed !== undefined && uri.startsWith("@")) {
          return { server: prefixed, uri: bare.slice(prefixed.name.length + 1) }
        }
        const all = yield* Effect.forEach(
          usable(),
          (server) => Effect.map(resourcesOf(server), (found) => ({ server, found })),
          { concurrency: "unbounded" }
        )
        const listed = all.filter(({ found }) => found.resources.some((each) => each.uri === uri))
        const fitting = listed.length > 0 || prefixed !== undefined
          ? listed
          : all.filter(({ found }) => found.templates.some((each) => matchesTemplate(each.uri_template, uri)))
        const [one, another] = fitting
        if (one !== undefined && another === undefined) return { server: one.server, uri }
        if (another !== undefined) {
          return yield* new McpError({
            reason: "config",
            server: "",
            sent: false,
            message: `${TerminalText.line(uri, 500)} is a resource of ${
              fitting.map(({ server }) => server.name).join(" and ")
            }; say which: SERVER:${TerminalText.line(uri, 500)}`
          })
        }
        if (prefixed !== undefined) return { server: prefixed, uri: bare.slice(prefixed.name.length + 1) }
        const having = all.filter(({ found }) => found.resources.length + found.templates.length > 0)
        const [only] = having
        if (only !== undefined && having.length === 1) return { server: only.server, uri }
        return yield* new McpError({
          reason: "config",
          server: "",
          sent: false,
          message: `no MCP server lists ${TerminalText.line(uri, 500)}; name its server: SERVER:URI`
        })
      })

    const read: McpService["read"] = (uri, name) =>
      Effect.gen(function*() {
        const found = name === undefined ? yield* locate(uri) : { server: yield* serverOf(name), uri }
        const connection = yield* found.server.connection
        const contents = yield* connection.readResource(found.uri)
        const key = `${found.server.name}\0${found.uri}`
        if (!subscribed.has(key)) {
          subscribed.add(key)
          yield* Effect.forkIn(
            Effect.catchAll(connection.subscribeResource(found.uri), () => Effect.void),
            scope
          )
        }
        return { server: found.server.name, contents }
      })

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

/** What the servers of a workspace stand on, where nothing answers them. @since 0.1.0 @category models */
export type McpPlainNeeds =
  | Config
  | Workspace
  | Environment
  | Dirs
  | Processes
  | Spawner
  | AppendLog
  | Path.Path

/** @since 0.1.0 @category models */
export type McpNeeds = McpPlainNeeds | Permissions | PermissionPrompter

/** The world of a workspace in which nobody answers what servers ask. @since 0.1.0 @category constructors */
export const plainWorld: Effect.Effect<McpWorld, never, McpPlainNeeds> = Effect.gen(function*() {
  const path = yield* Path.Path
  const environment = yield* Environment
  const { root } = yield* Workspace
  const config = yield* Config
  const dirs = yield* Dirs
  const processes = yield* Processes
  const spawner = yield* Spawner
  const log = yield* AppendLog
  const url = yield* Effect.orDie(path.toFileUrl(root))
  const http = Option.getOrNull(yield* Effect.serviceOption(Http))
  const logins = Option.getOrNull(yield* Effect.serviceOption(CredentialStore))
  const remote = http === null || logins === null
    ? null
    : yield* Effect.cached(Effect.flatMap(
      Effect.promise(() => import("./HttpServers.ts")),
      ({ make }) =>
        make.pipe(
          Effect.provideService(Http, http),
          Effect.provideService(CredentialStore, logins),
          Effect.provideService(Environment, environment)
        )
    ))
  const world: McpWorld = {
    config,
    root,
    variable: (name) => variable(environment, name) ?? config.config.env[name],
    join: (from, to) => path.resolve(from, to),
    roots: [{ uri: url.href, name: path.basename(root) }],
    transport: transportOf({
      processes,
      spawner,
      log,
      vars: environment.vars,
      key_variables: secretVariables(config.config),
      log_directory: path.join(dirs.state, "mcp"),
      ...(remote === null ? {} : {
        http: (definition: HttpDefinition) =>
          Effect.flatMap(remote, (ways) => ways.transportOf(definition, config.config))
      })
    }),
    permissions: null,
    prompters: [],
    client_info: clientInfo
  }
  return world
})

/** The world that the services of a workspace make. @since 0.1.0 @category constructors */
export const worldOf: Effect.Effect<McpWorld, never, McpNeeds> = Effect.gen(function*() {
  const world = yield* plainWorld
  return { ...world, permissions: yield* Permissions, prompters: yield* PermissionPrompter }
})

/** @since 0.1.0 @category services */
export class Mcp extends Context.Tag("@hanzo/dev/mcp/Mcp")<Mcp, McpService>() {
  /** The servers of the settings of a workspace. Nothing starts before a run attends, or one is asked for by name. */
  static readonly layer: Layer.Layer<Mcp, never, McpNeeds> = Layers.scoped(
    Mcp,
    Effect.flatMap(worldOf, make)
  )

  /** Over a world of the caller's own. */
  static readonly layerOf = (world: McpWorld): Layer.Layer<Mcp> => Layers.scoped(Mcp, make(world))
}
