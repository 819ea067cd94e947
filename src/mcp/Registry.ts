/**
 * The registry of servers: the runs that attend to them and what these are told, calls, what servers may ask (readings 1.5
 * to 1.14).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Mailbox from "effect/Mailbox"
import * as Scope from "effect/Scope"
import * as TerminalText from "../codec/TerminalText.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import { lateNotices, quietMs, waitingText } from "./Arrivals.ts"
import { type CallInFlight, handlers, type McpRun } from "./Asking.ts"
import { ambiguousServers, collisionText, promptTable } from "./Catalogue.ts"
import type { McpCallOptions, McpCallResult, McpConnection } from "./Connection.ts"
import { McpError } from "./McpError.ts"
import * as Fleet from "./Fleet.ts"
import type { McpAttendance, McpService, McpWorld } from "./McpService.ts"
import { type Relay, relay } from "./Relay.ts"
import { make as makeResources } from "./Resources.ts"
import type { Server } from "./Server.ts"
import { problemOf } from "./ServerState.ts"

interface Attending {
  readonly run: McpRun
  readonly events: Mailbox.Mailbox<AgentEventBody>
}

/** Events that wait for a run that takes none. */
const heldEvents = 1_024

/** The connection took the call and ended without its answer. */
const mayHaveRun = ({ message, ...error }: McpError): McpError =>
  new McpError({ ...error, message: `${message}; the call may have run, and is not sent again` })

/** Lives as long as its scope, which ends every server. @since 0.1.0 @category constructors */
export const make = (first: McpWorld): Effect.Effect<McpService, never, Scope.Scope> =>
  Effect.gen(function*() {
    // Connections end side by side: each may take as long as its server's grace.
    const scope = yield* Effect.acquireRelease(
      Scope.make(ExecutionStrategy.parallel),
      (lives) => Scope.close(lives, Exit.void)
    )
    const runs = new Set<Attending>()
    const calls = new Map<string, CallInFlight>()
    const turn = yield* Effect.makeSemaphore(1)
    let tokens = 0
    const toldCollisions = new Set<string>()
    const toldServers = new Set<string>()
    /** What was said of each server last. */
    const said = new Map<string, string>()
    /** States that no run has been told of. */
    let untold = new Map<string, AgentEventBody>()

    const tell = (event: AgentEventBody): void => {
      for (const { events } of runs) events.unsafeOffer(event)
    }

    const asking = {
      roots: () => fleet.world().roots,
      permissions: () => fleet.world().permissions,
      prompters: () => fleet.world().prompters,
      call: (token: string) => calls.get(token),
      run: (session_id: string | null): McpRun | undefined => {
        const all = [...runs].map(({ run }) => run)
        return all.findLast((run) => run.session_id === session_id) ?? all.at(-1)
      },
      tell,
      safe: (server: string, text: string) => fleet.safe(server, text)
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
          : { code: error.code, message: TerminalText.line(fleet.safe(server.name, error.message), 2_000) }
      }
    }

    const fleet: Fleet.Fleet = Fleet.make(first, {
      scope,
      handlers: (server) => handlers(server, asking),
      onChange: (server) => {
        if (server.state().phase === "idle") return
        const event = eventOf(server)
        const words = JSON.stringify(event)
        if (said.get(server.name) === words) return
        said.set(server.name, words)
        if (runs.size === 0) untold.set(server.name, event)
        else tell(event)
      },
      onNotice: (server, code, message) =>
        tell({ type: "notice", code, message: TerminalText.line(fleet.safe(server, message), 1_000) }),
      onGone: (server) => {
        forget(server)
        untold.delete(server)
        said.delete(server)
      }
    })
    const { serverOf, sorted, usable } = fleet
    const { forget, read, resources } = makeResources({ sorted, usable, serverOf, scope })

    const reconcile = (next: McpWorld): Effect.Effect<void> =>
      turn.withPermits(1)(Effect.uninterruptible(fleet.settle(next)))

    /** Problems of names, each once. */
    const namingNotices = (): ReadonlyArray<AgentEventBody> => [
      ...[...fleet.table().collisions.values()].flatMap((collision): ReadonlyArray<AgentEventBody> => {
        const message = collisionText(collision)
        if (toldCollisions.has(message)) return []
        toldCollisions.add(message)
        return [{ type: "notice", code: "tool_name_collision", message }]
      }),
      ...ambiguousServers(fleet.names()).flatMap((name): ReadonlyArray<AgentEventBody> => {
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
        for (const each of fleet.broken()) {
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
        // to the log, since the run itself begins, and its events are shown, when the waiting is over
        const saying = yield* Effect.fork(Effect.flatMap(Effect.sleep(quietMs), () => {
          const text = waitingText(all)
          return text === null ? Effect.void : Effect.logWarning(text)
        }))
        yield* Effect.forEach(
          all,
          (server) => Effect.zipRight(server.arrival, server.refreshExpired),
          { concurrency: "unbounded", discard: true }
        )
        yield* Fiber.interrupt(saying)
        for (const notice of [...lateNotices(all), ...namingNotices()]) events.unsafeOffer(notice)
        const missing = [
          ...all.map(fleet.statusOf).filter(({ phase, required }) => required && phase !== "ready"),
          ...fleet.broken().filter(({ required }) => required).map(Fleet.brokenStatus)
        ]
        const instructions = all.flatMap((server) => {
          const text = server.current()?.instructions?.trim() ?? ""
          return text === "" ? [] : [{ server: server.name, text }]
        })
        return { missing, instructions }
      })

    const call: McpService["call"] = (tool, input, context) =>
      Effect.uninterruptibleMask((restore) => {
        const server = fleet.get(tool.server)
        if (server === undefined) return Effect.fail(fleet.noServer(tool.server))
        const token = `call-${tokens++}`
        calls.set(token, { call: context, samplings: 0 })
        let shown: Relay | null = null
        const options: McpCallOptions = {
          tool: tool.tool,
          read_only: tool.read_only,
          token,
          onProgress: ({ message, progress, total }) =>
            (shown ??= relay(context.emit, scope)).push(
              `[${progress}${total === undefined ? "" : ` of ${total}`}]${message === undefined ? "" : ` ${message}`}\n`
            )
        }
        let used: McpConnection | null = null
        const by = (connection: McpConnection) => {
          used = connection
          return connection.callTool(tool.raw_name, input, options)
        }
        const once = Effect.suspend(() => {
          const connection = server.current()
          return connection === null ? Effect.flatMap(server.connection, by) : by(connection)
        })
        const told = (result: McpCallResult): Effect.Effect<McpCallResult> =>
          shown === null ? Effect.succeed(result) : Effect.as(shown.end, result)
        const sent = Effect.matchEffect(once, {
          onFailure: (error) =>
            // what was not sent has not run: another connection may take it
            used === null || (error.reason !== "closed" && error.reason !== "exited")
              ? Effect.fail(error)
              : error.sent === false
              ? Effect.flatMap(Effect.zipRight(server.gone(used), once), told)
              : Effect.fail(mayHaveRun(error)),
          onSuccess: told
        })
        const over = <A, E>(outcome: Effect.Effect<A, E>): Effect.Effect<A, E> => {
          calls.delete(token)
          return shown === null ? outcome : Effect.zipRight(shown.stop, outcome)
        }
        return Effect.matchCauseEffect(
          restore(sent),
          {
            onFailure: (cause) => over(Effect.failCause(cause)),
            onSuccess: (result) => over(Effect.succeed(result))
          }
        )
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

    yield* fleet.settle(first)
    return {
      attend,
      status: Effect.sync(fleet.status),
      tools: Effect.sync(() => [...fleet.table().byName.values()]),
      find: fleet.find,
      explain: (name) => Effect.sync(() => fleet.explain(name)),
      isReadOnly: (name) => fleet.table().byName.get(name)?.read_only === true,
      collisions: Effect.sync(() => [...fleet.table().collisions.values()]),
      call,
      resources,
      read,
      prompts,
      prompt: ({ raw_name, server }, args) =>
        Effect.flatMap(
          serverOf(server),
          (owner) => Effect.flatMap(owner.connection, (connection) => connection.getPrompt(raw_name, args))
        ),
      complete: ({ raw_name, server }, argument, given) =>
        Effect.flatMap(
          serverOf(server),
          (owner) =>
            Effect.flatMap(
              owner.connection,
              (connection) => connection.complete({ ref: { type: "prompt", name: raw_name }, argument, context: given })
            )
        ),
      servers: () => sorted().map(({ name }) => name),
      offersResources: (name) => fleet.get(name)?.current()?.capabilities["resources"] !== undefined,
      restart: (name) => {
        const server = fleet.get(name)
        return server === undefined ? Effect.succeed(false) : Effect.as(server.restart, true)
      },
      connect: (name) =>
        Effect.suspend((): Effect.Effect<McpConnection | null, McpError> => {
          const server = fleet.get(name)
          const wrong = fleet.brokenOf(name)
          if (wrong !== undefined) return Effect.fail(wrong.error)
          return server === undefined ? Effect.succeed(null) : Effect.zipRight(server.start, server.connection)
        }),
      reconcile,
      setRoots: (roots) =>
        Effect.suspend(() => {
          fleet.setWorld({ ...fleet.world(), roots })
          return Effect.forEach(
            sorted(),
            (server) => Effect.ignore(server.current()?.rootsChanged ?? Effect.void),
            { discard: true }
          )
        })
    } satisfies McpService
  })
