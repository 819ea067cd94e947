/**
 * One server of the settings over its life: connecting, its lists, ending, connecting again (readings 1.4, 1.5, 1.10).
 * A fiber owns each connection; stopping it returns when nothing of the server runs any more.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { ceiling, delay, sleep } from "../domain/Backoff.ts"
import { connect } from "./Connect.ts"
import type {
  ConnectOptions,
  McpConnection,
  McpHandlers,
  McpListing,
  McpListKind,
  McpPrompt,
  McpResource,
  McpResourceTemplate,
  McpTool
} from "./Connection.ts"
import type { ServerDefinition } from "./Definition.ts"
import { McpError } from "./McpError.ts"
import { isFinal, type McpServerState, problemOf } from "./ServerState.ts"
import type { McpEra, McpTransport } from "./Transport.ts"

/** Reconnecting (1.5): delays, and attempts in all. @since 0.1.0 @category constants */
export const reconnection = { base_ms: 500, max_ms: 30_000, tries: 5 } as const
/** A list that changed is read again so long after the last notice, milliseconds (1.10). @since 0.1.0 @category constants */
export const quietMs = 200
/** And at the latest so long after the first one. @since 0.1.0 @category constants */
export const latestMs = 2_000
/**
 * So long after its limit a handshake has been failed at the latest, milliseconds. The limit counts from the start of the
 * program, and on a busy machine the last of many programs is started seconds after the first.
 */
const verdictMs = 10_000

/** @since 0.1.0 @category models */
export interface ServerOptions {
  readonly definition: ServerDefinition
  readonly transport: Effect.Effect<McpTransport, McpError>
  /** What is asked of us; the lists are the server's own affair. */
  readonly handlers: McpHandlers
  readonly client_info: ConnectOptions["client_info"]
  /** Owns the fibers of connections; ends them side by side. */
  readonly scope: Scope.Scope
  /** The state or a list has changed. Must not wait for the server. */
  readonly onChange: Effect.Effect<void>
  /** Something the user should know. */
  readonly onNotice: (code: string, message: string) => Effect.Effect<void>
}

interface Life {
  readonly ready: Deferred.Deferred<McpConnection, McpError>
  readonly fiber: Fiber.RuntimeFiber<void>
  /** It only cleans up any more. */
  over: boolean
}

interface Lists {
  readonly prompts: McpListing<McpPrompt> | null
  readonly resources: McpListing<McpResource> | null
  readonly templates: McpListing<McpResourceTemplate> | null
}

const noLists: Lists = { prompts: null, resources: null, templates: null }

const emptyListing: McpListing<never> = { items: [], problem: null, dropped: [], ttl_ms: 0, pages: 0 }

const offered = <A>(listing: Effect.Effect<McpListing<A>, McpError>): Effect.Effect<McpListing<A>, McpError> =>
  Effect.catchIf(listing, (error) => error.reason === "not_offered", () => Effect.succeed(emptyListing))

/** @since 0.1.0 @category models */
export class Server {
  readonly name: string
  /** Parts that need no new connection may be exchanged. */
  definition: ServerDefinition
  readonly #options: ServerOptions
  readonly #turn = Effect.unsafeMakeSemaphore(1)
  readonly #listing = Effect.unsafeMakeSemaphore(1)
  #state: McpServerState = { phase: "idle", tools: 0 }
  #life: Life | null = null
  #connection: McpConnection | null = null
  #era: McpEra | undefined
  #tools: ReadonlyArray<McpTool> = []
  #listedAt = 0
  #ttl = 0
  #stale = false
  #lists: Lists = noLists
  /** Attempts that may still follow when this one fails. */
  #left = 0
  /** When the handshake that is on began: its own limit will end it. Null = none is. */
  #greeting: number | null = null
  #retired = false
  #firstNotice: number | null = null
  #lastNotice = 0

  constructor(options: ServerOptions) {
    this.name = options.definition.server
    this.definition = options.definition
    this.#options = options
  }

  readonly state = (): McpServerState => ({
    ...this.#state,
    tools: this.#tools.filter((tool) => this.definition.offers(tool.name)).length
  })

  /** Of the last whole listing, also while the connection is down; without those that the settings leave out. */
  readonly tools = (): ReadonlyArray<McpTool> => this.#tools.filter((tool) => this.definition.offers(tool.name))

  /** The connection, if there is one now. */
  readonly current = (): McpConnection | null => this.#connection

  #set(state: Omit<McpServerState, "tools">): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#state = { ...state, tools: 0 }
      return this.#options.onChange
    })
  }

  #describe(connection: McpConnection, problem: McpError | null): Omit<McpServerState, "tools"> {
    return {
      phase: "ready",
      era: connection.era,
      version: connection.version,
      ...(connection.server_info === null ? {} : { server_info: connection.server_info }),
      ...(problem === null ? {} : { error: problemOf(problem) })
    }
  }

  #failed(error: McpError): Effect.Effect<void> {
    const phase = error.reason === "needs_login"
      ? "needs_login"
      : this.#left > 0 && !isFinal(error)
      ? "closed"
      : "failed"
    return this.#set({ phase, error: problemOf(error) })
  }

  #take(listing: McpListing<McpTool>, now: number): void {
    this.#tools = listing.items
    this.#listedAt = now
    this.#ttl = listing.ttl_ms
  }

  /** A connection from its start to its end; the fiber that runs it owns it. */
  #live(ready: Deferred.Deferred<McpConnection, McpError>): Effect.Effect<void> {
    const over = Effect.sync(() => {
      this.#connection = null
      if (this.#life?.ready === ready) this.#life.over = true
    })
    const greeted = Effect.sync(() => {
      this.#greeting = null
    })
    const life = Effect.gen(this, function*() {
      const { client_info, handlers, transport } = this.#options
      const { limits, protocol } = this.definition
      const way = yield* transport
      this.#greeting = yield* Clock.currentTimeMillis
      const connection = yield* connect(way, {
        client_info,
        limits,
        protocol,
        ...(this.#era === undefined ? {} : { era: this.#era }),
        handlers: { ...handlers, onListChanged: (kind) => this.#listChanged(kind) }
      }).pipe(Effect.ensuring(greeted))
      this.#era = connection.era
      this.#stale = false
      this.#firstNotice = null
      this.#lists = noLists
      const listing = yield* offered(connection.listTools)
      this.#take(listing, yield* Clock.currentTimeMillis)
      this.#connection = connection
      yield* this.#set(this.#describe(connection, listing.problem))
      yield* this.#complain(listing)
      yield* Deferred.succeed(ready, connection)
      const watcher = yield* Effect.forkScoped(this.#watch(connection))
      const why = yield* connection.closed
      yield* Fiber.interruptFork(watcher)
      yield* over
      yield* this.#set({ phase: "closed", error: problemOf(why) })
    })
    // inside the scope: that it failed is said before its process has ended, nobody waits for that
    const told = Effect.catchAll(
      life,
      (error) => over.pipe(Effect.zipRight(this.#failed(error)), Effect.zipRight(Deferred.fail(ready, error)))
    )
    return Effect.scoped(told).pipe(
      Effect.ensuring(Effect.suspend(() => {
        this.#connection = null
        if (this.#life?.ready === ready) this.#life = null
        return Deferred.fail(ready, this.#stoppedError())
      }))
    )
  }

  #stoppedError(): McpError {
    return new McpError({
      reason: "closed",
      server: this.name,
      sent: false,
      message: `MCP server ${this.name} was stopped`
    })
  }

  #complain(listing: McpListing<unknown>): Effect.Effect<void> {
    const { problem } = listing
    const dropped = listing.dropped.length === 0
      ? Effect.void
      : this.#options.onNotice(
        "mcp_tools_dropped",
        `MCP server ${this.name}: ${listing.dropped.length} of its tools cannot be used: ${
          listing.dropped.slice(0, 3).join("; ")
        }${listing.dropped.length > 3 ? "; ..." : ""}`
      )
    return problem === null
      ? dropped
      : Effect.zipRight(dropped, this.#options.onNotice("mcp_list_cut", problem.message))
  }

  /** Begins to connect, if nothing is on. Uninterruptible: a fiber that was begun is known. */
  readonly #begin: Effect.Effect<Deferred.Deferred<McpConnection, McpError>> = Effect.uninterruptible(
    Effect.gen(this, function*() {
      if (this.#life !== null) return this.#life.ready
      const ready = yield* Deferred.make<McpConnection, McpError>()
      if (this.#retired) {
        yield* Deferred.fail(ready, this.#stoppedError())
        return ready
      }
      yield* this.#set({ phase: "connecting" })
      const fiber = yield* Effect.forkIn(Effect.interruptible(this.#live(ready)), this.#options.scope)
      this.#life = { ready, fiber, over: false }
      return ready
    })
  )

  #attempt(left: number): Effect.Effect<McpConnection, McpError> {
    return Effect.suspend(() => {
      this.#left = left
      return Effect.flatMap(this.#begin, Deferred.await)
    })
  }

  #alone<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return this.#turn.withPermits(1)(effect)
  }

  /**
   * Connects for the first time; nothing when that has been tried. Ends when it is known how that went, and never fails.
   */
  readonly start: Effect.Effect<void> = this.#alone(
    Effect.suspend(() =>
      this.#state.phase === "idle"
        ? Effect.ignore(this.#attempt(0))
        : this.#life === null || this.#life.over
        ? Effect.void
        : Effect.ignore(Deferred.await(this.#life.ready))
    )
  )

  /**
   * `start`, waited for no longer than the connect limit: who is still listing then is late. Who is still in the handshake
   * is not, as it fails by that same limit, which began when it did: how it went is known in a moment.
   */
  readonly arrival: Effect.Effect<void> = Effect.suspend(() => {
    const limit_ms = this.definition.limits.connect_timeout_ms
    const verdict = Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => this.#greeting === null ? Effect.void : sleep(Math.max(0, this.#greeting + limit_ms + verdictMs - now))
    )
    return Effect.raceFirst(this.start, Effect.zipRight(sleep(limit_ms), verdict))
  })

  /** The connection; one that has ended is made anew, with growing pauses between attempts (1.5). */
  readonly connection: Effect.Effect<McpConnection, McpError> = Effect.suspend(() =>
    this.#connection !== null ? Effect.succeed(this.#connection) : this.#alone(this.#again)
  )

  readonly #again: Effect.Effect<McpConnection, McpError> = Effect.gen(this, function*() {
    if (this.#connection !== null) return this.#connection
    if (this.#life !== null && !this.#life.over) return yield* Deferred.await(this.#life.ready)
    const { error, phase } = this.#state
    if (phase === "failed" || phase === "needs_login") {
      return yield* new McpError({
        reason: phase === "needs_login" ? "needs_login" : "closed",
        server: this.name,
        sent: false,
        message: `MCP server ${this.name} is not there (${error?.message ?? phase}); ${
          phase === "needs_login" ? "log in first" : "it is not tried again before it is restarted"
        }`
      })
    }
    for (let n = 0;; n++) {
      // the process before has to be gone
      if (this.#life !== null) yield* Fiber.await(this.#life.fiber)
      const left = reconnection.tries - 1 - n
      const tried = yield* Effect.either(this.#attempt(left))
      if (tried._tag === "Right") return tried.right
      if (isFinal(tried.left) || left === 0 || this.#retired) return yield* tried.left
      yield* sleep(delay(ceiling(reconnection.base_ms, reconnection.max_ms, n), yield* Random.next))
    }
  })

  /** Returns when nothing runs any more of a connection that is over or about to be. */
  readonly gone = (connection: McpConnection): Effect.Effect<void> =>
    Effect.suspend(() =>
      this.#life === null || this.#connection !== connection
        ? Effect.void
        : Effect.asVoid(Fiber.await(this.#life.fiber))
    )

  /** Ends the connection; returns when nothing of it runs any more. It can be started again. */
  readonly stop: Effect.Effect<void> = Effect.suspend(() =>
    this.#life === null ? Effect.void : Effect.asVoid(Fiber.interrupt(this.#life.fiber))
  ).pipe(Effect.zipRight(Effect.suspend(() => this.#set({ phase: "idle" }))))

  /** Ends it for good. */
  readonly retire: Effect.Effect<void> = Effect.suspend(() => {
    this.#retired = true
    return this.stop
  })

  /** Ends it and connects anew, also after it has failed. */
  readonly restart: Effect.Effect<void> = Effect.suspend(() => Effect.zipRight(this.stop, this.start))

  #listChanged(kind: McpListKind): Effect.Effect<void> {
    return Effect.map(Clock.currentTimeMillis, (now) => {
      if (kind === "prompts") this.#lists = { ...this.#lists, prompts: null }
      else if (kind === "resources") this.#lists = { ...this.#lists, resources: null, templates: null }
      else {
        this.#stale = true
        this.#firstNotice ??= now
        this.#lastNotice = now
        this.#wake()
      }
    })
  }

  /** Wakes the watcher of this connection. */
  #wake: () => void = () => undefined

  /** Reads the tools again when they have changed and it has been quiet for a while. */
  #watch(connection: McpConnection): Effect.Effect<never> {
    return Effect.gen(this, function*() {
      for (;;) {
        yield* Effect.async<void>((resume) => {
          if (this.#firstNotice !== null) return resume(Effect.void)
          this.#wake = () => resume(Effect.void)
        })
        this.#wake = () => undefined
        for (;;) {
          const now = yield* Clock.currentTimeMillis
          const until = Math.min(this.#lastNotice + quietMs, (this.#firstNotice ?? now) + latestMs)
          if (now >= until) break
          yield* Effect.sleep(until - now)
        }
        this.#firstNotice = null
        yield* this.#refresh(connection)
      }
    })
  }

  #refresh(connection: McpConnection): Effect.Effect<void> {
    return this.#listing.withPermits(1)(Effect.suspend(() => {
      if (!this.#stale || this.#connection !== connection) return Effect.void
      // before the request: what changes while it is on its way is another change
      this.#stale = false
      return offered(connection.listTools).pipe(
        Effect.flatMap((listing) =>
          Effect.gen(this, function*() {
            // as a whole: nobody sees half a list
            this.#take(listing, yield* Clock.currentTimeMillis)
            yield* this.#set(this.#describe(connection, listing.problem))
          })
        ),
        Effect.onInterrupt(() =>
          Effect.sync(() => {
            this.#stale = true
          })
        ),
        Effect.catchAll((error) =>
          this.#options.onNotice(
            "mcp_list_stale",
            `MCP server ${this.name}: its tools have changed and cannot be read again, those known before stay: ${error.message}`
          )
        )
      )
    }))
  }

  /** Its tools are known to have changed since they were read. */
  readonly isStale = (): boolean => this.#stale && this.#connection !== null

  /** Tools that are known to have changed are read again first; the old ones stay if that fails (1.10). */
  readonly refreshed: Effect.Effect<void> = Effect.suspend(() =>
    this.#stale && this.#connection !== null ? this.#refresh(this.#connection) : Effect.void
  )

  /** Tools whose time has run out, by the server's own word, are read again in the background; others are not. */
  readonly refreshExpired: Effect.Effect<void> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    if (this.#ttl <= 0 || now < this.#listedAt + this.#ttl) return Effect.void
    this.#stale = true
    this.#firstNotice ??= now - latestMs
    this.#wake()
    return Effect.void
  })

  #list<K extends keyof Lists>(
    key: K,
    read: (connection: McpConnection) => Effect.Effect<NonNullable<Lists[K]>, McpError>
  ): Effect.Effect<NonNullable<Lists[K]>, McpError> {
    return Effect.flatMap(this.connection, (connection) =>
      Effect.suspend(() => {
        const known = this.#lists[key]
        if (known !== null) return Effect.succeed(known as NonNullable<Lists[K]>)
        return Effect.tap(read(connection), (listing) =>
          Effect.sync(() => {
            this.#lists = { ...this.#lists, [key]: listing }
          }))
      }))
  }

  readonly prompts: Effect.Effect<McpListing<McpPrompt>, McpError> = this.#list(
    "prompts",
    (connection) => offered(connection.listPrompts)
  )
  readonly resources: Effect.Effect<McpListing<McpResource>, McpError> = this.#list(
    "resources",
    (connection) => offered(connection.listResources)
  )
  readonly templates: Effect.Effect<McpListing<McpResourceTemplate>, McpError> = this.#list(
    "templates",
    (connection) => offered(connection.listResourceTemplates)
  )
}
