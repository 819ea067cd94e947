/**
 * Finding out a server's era, and shaking hands with a legacy one (reading 1.2).
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { isJsonObject, type JsonRpcErrorObject, type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import { JsonRpcError } from "../rpc/JsonRpcPeer.ts"
import * as Peer from "../rpc/Peer.ts"
import * as Asked from "./Asked.ts"
import { legacyVersions, type McpServerInfo, modernVersions } from "./Connection.ts"
import { McpError } from "./McpError.ts"
import { type Link, type McpPeer, metaKeys, type Session } from "./Session.ts"
import type { McpEra, McpTransport, OpenTransport, SendContext } from "./Transport.ts"
import * as Wire from "./Wire.ts"

/** @since 0.1.0 @category models */
export interface Agreed extends Greeting {
  /** Ends the link: peer, transport, process. */
  readonly close: Effect.Effect<void>
}

/** What a server said of itself. @since 0.1.0 @category models */
export interface Greeting {
  readonly link: Link
  readonly era: McpEra
  readonly version: string
  readonly server_info: McpServerInfo | null
  readonly capabilities: JsonRpcObject
  readonly instructions: string | null
}

/** Error codes that only a modern server sends. */
const modernCodes: ReadonlyArray<number> = [-32_020, -32_021, -32_022]
const unsupportedVersion = -32_022

/** What the probe said. `silent`: nothing, within its limit. `Exited`: the server is gone, with this. */
type Probed =
  | { readonly _tag: "Modern"; readonly version: string; readonly result: JsonRpcObject }
  | { readonly _tag: "Legacy"; readonly offer: string; readonly silent: boolean }
  | { readonly _tag: "Exited"; readonly error: McpError }

const strings = (values: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  values.filter((value) => typeof value === "string")

const noVersion = (session: Session, theirs: ReadonlyArray<string>, ours: ReadonlyArray<string>): McpError =>
  session.error(
    "unsupported_protocol_version",
    `no protocol version in common: it speaks ${theirs.map(Wire.shown).join(", ") || "none that it names"}, ` +
      `this program ${ours.join(", ")}`
  )

/** What both speak: a modern version if there is one. */
const choose = (session: Session, theirs: ReadonlyArray<string>): Effect.Effect<string, McpError> => {
  const legacy = session.options.protocol === "2026-07-28" ? [] : legacyVersions
  const found = [...modernVersions, ...legacy].find((version) => theirs.includes(version))
  return found === undefined
    ? Effect.fail(noVersion(session, theirs, [...modernVersions, ...legacy]))
    : Effect.succeed(found)
}

const isModern = (version: string): boolean => modernVersions.some((modern) => modern === version)

/** The end of the probe by the connection's end, or by an answer that says something else. */
const afterFailure = (
  session: Session,
  link: Link,
  error: JsonRpcError | McpError
): Effect.Effect<Probed, McpError> => {
  const legacy: Probed = {
    _tag: "Legacy",
    offer: legacyVersions[0],
    silent: error instanceof JsonRpcError && error.reason === "timeout"
  }
  if (error instanceof McpError) {
    if (error.reason === "http_status" && error.status !== undefined && error.status >= 400 && error.status < 500) {
      return Effect.succeed(legacy)
    }
    return (error.reason === "exited" || error.reason === "closed") && link.transport.kind === "stdio"
      ? Effect.succeed<Probed>({ _tag: "Exited", error })
      : Effect.fail(error)
  }
  if (error.reason === "remote") {
    if (error.code === unsupportedVersion) {
      const supported = isJsonObject(error.data) ? strings(Wire.list(error.data, "supported")) : []
      return Effect.flatMap(choose(session, supported), (version) =>
        isModern(version)
          // It refused the very version it names.
          ? Effect.fail(session.toMcpError(error, "connect"))
          : Effect.succeed<Probed>({ _tag: "Legacy", offer: version, silent: false }))
    }
    return error.code !== undefined && modernCodes.includes(error.code)
      ? Effect.fail(session.toMcpError(error, "connect"))
      : Effect.succeed(legacy)
  }
  if (error.reason === "timeout" || error.reason === "invalid_response") return Effect.succeed(legacy)
  const closed = session.toMcpError(error, "connect")
  return link.transport.kind === "stdio"
    ? Effect.succeed<Probed>({ _tag: "Exited", error: closed })
    : Effect.fail(closed)
}

/** It refuses the very version it says it speaks, as one of several servers behind one address may: worth a second try. */
const refusesOwn = (error: JsonRpcError | McpError, version: string): boolean =>
  error instanceof JsonRpcError && error.reason === "remote" && error.code === unsupportedVersion &&
  isJsonObject(error.data) && Wire.list(error.data, "supported").includes(version)

const probe = (
  session: Session,
  link: Link,
  stray: Deferred.Deferred<never, JsonRpcError>
): Effect.Effect<Probed, McpError> =>
  Effect.suspend(() => {
    const silence = session.options.protocol === "2026-07-28" ? null : link.transport.probe_silence
    const version = modernVersions[0]
    const context: SendContext = { era: "modern", version, method: "server/discover", probe: true }
    const ask = Effect.raceFirst(
      session.spanned("server/discover", null, () =>
        link.peer.request("server/discover", { _meta: session.meta(version) }, {
          // A legacy server would not know what is being cancelled.
          cancellable: false,
          context,
          ...(silence === null ? {} : { timeout: silence })
        })),
      Deferred.await(stray)
    )
    return Effect.catchIf(ask, (error) =>
      refusesOwn(error, version), () =>
      ask).pipe(Effect.matchEffect({
        onFailure: (error) =>
          afterFailure(session, link, error),
        onSuccess: (result) => {
          const supported = isJsonObject(result) ? own(result, "supportedVersions") : undefined
          if (!isJsonObject(result) || !Array.isArray(supported)) {
            return Effect.succeed<Probed>({ _tag: "Legacy", offer: legacyVersions[0], silent: false })
          }
          return Effect.map(choose(session, strings(supported)), (chosen): Probed =>
            isModern(chosen)
              ? { _tag: "Modern", version: chosen, result }
              : { _tag: "Legacy", offer: chosen, silent: false })
        }
      }))
  })

interface Opened {
  readonly link: Link
  readonly stray: Deferred.Deferred<never, JsonRpcError>
}

/** Versions that an error of `initialize` names as supported. */
const supportedBy = (error: JsonRpcError | McpError): ReadonlyArray<string> =>
  error instanceof JsonRpcError && isJsonObject(error.data) ? strings(Wire.list(error.data, "supported")) : []

/**
 * `initialize` and `notifications/initialized`. A server that refuses the version offered and names others is offered one
 * of those, once.
 *
 * @since 0.1.0
 * @category combinators
 */
export const initialize = (
  session: Session,
  link: Link,
  offer: string
): Effect.Effect<Greeting, JsonRpcError | McpError> => {
  const ask = (version: string) =>
    session.spanned("initialize", null, () =>
      link.peer.request("initialize", {
        protocolVersion: version,
        capabilities: Asked.capabilities(session.handlers, true),
        clientInfo: session.options.client_info
      }, {
        cancellable: false,
        context: { era: "legacy", version: null, method: "initialize" }
      }))
  return Effect.gen(function*() {
    const result = yield* Effect.catchAll(ask(offer), (error) => {
      const other = legacyVersions.find((version) => version !== offer && supportedBy(error).includes(version))
      return other === undefined ? Effect.fail(error) : ask(other)
    })
    if (!isJsonObject(result)) return yield* session.error("protocol", "initialize gave a result that is no object")
    const version = Wire.text(result, "protocolVersion")
    if (version === undefined || !legacyVersions.some((known) => known === version)) {
      return yield* noVersion(session, version === undefined ? [] : [version], legacyVersions)
    }
    session.era = "legacy"
    session.version = version
    yield* link.open.negotiated({ era: "legacy", version })
    yield* link.peer.notify("notifications/initialized", undefined, session.context("notifications/initialized"))
    return {
      link,
      era: "legacy",
      version,
      server_info: Wire.readServerInfo(own(result, "serverInfo")),
      capabilities: Wire.object(result, "capabilities") ?? {},
      instructions: Wire.text(result, "instructions") ?? null
    }
  })
}

/** The peer, with errors that say what the transport finds out about them. */
const explained = (peer: McpPeer, explain: OpenTransport["explain"]): McpPeer => {
  if (explain === undefined) return peer
  const told = <A>(effect: Effect.Effect<A, JsonRpcError | McpError>): Effect.Effect<A, JsonRpcError | McpError> =>
    Effect.catchAll(
      effect,
      (error): Effect.Effect<never, JsonRpcError | McpError> =>
        error instanceof McpError ? Effect.flatMap(explain(error), Effect.fail) : Effect.fail(error)
    )
  return {
    ...peer,
    request: (method, params, options) => told(peer.request(method, params, options)),
    notify: (method, params, context) => told(peer.notify(method, params, context))
  }
}

const openLink = (
  session: Session,
  transport: McpTransport,
  stray: Deferred.Deferred<never, JsonRpcError>
): Effect.Effect<Link, McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const open = yield* transport.open
    const onStrayError = (error: JsonRpcErrorObject): Effect.Effect<void> =>
      session.era === null
        ? Effect.asVoid(Deferred.fail(
          stray,
          new JsonRpcError({ reason: "remote", method: "server/discover", message: error.message, code: error.code })
        ))
        : Effect.logWarning(
          `MCP server ${session.server}: an error that names no request: ${error.code} ${Wire.shown(error.message)}`
        )
    const spoken = yield* Peer.make<McpError, SendContext>(open, {
      onRequest: session.onRequest,
      onNotification: session.onNotification,
      onStrayError
    }, {
      name: `MCP server ${session.server}`,
      cancel: ({ id, why }) =>
        session.era === null || open.cancelsBy(session.era) === "stream"
          ? null
          : {
            method: "notifications/cancelled",
            params: { requestId: id, reason: why === "timeout" ? "time limit" : "no longer wanted" },
            context: session.context("notifications/cancelled")
          },
      answer_context: (request) => session.context(request.method)
    })
    const peer = explained(spoken, open.explain)
    session.attach(peer)
    return { transport, open, peer }
  })

const isStatus = (error: JsonRpcError | McpError, statuses: ReadonlyArray<number>): boolean =>
  error instanceof McpError && error.reason === "http_status" && statuses.includes(error.status ?? 0)

/**
 * Opens the transport and agrees on era and version. A server that ends on the probe is started once more, as a legacy
 * one. What was opened on the way is closed; what is in use ends with the scope.
 *
 * @since 0.1.0
 * @category combinators
 */
export const agree = (
  session: Session,
  transport: McpTransport
): Effect.Effect<Agreed, McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const parent = yield* Effect.scope
    let inUse: Scope.CloseableScope | null = null
    const closeOld = Effect.suspend(() => {
      const old = inUse
      inUse = null
      return old === null ? Effect.void : Scope.close(old, Exit.void)
    })
    const start = (way: McpTransport) =>
      Effect.gen(function*() {
        yield* closeOld
        const scope = yield* Scope.fork(parent, parent.strategy)
        inUse = scope
        const stray = yield* Deferred.make<never, JsonRpcError>()
        const link = yield* Scope.extend(openLink(session, way, stray), scope)
        return { link, stray }
      })

    const legacy = (link: Link, offer: string): Effect.Effect<Greeting, McpError> =>
      initialize(session, link, offer).pipe(
        Effect.catchAll((error) => {
          const { fallback } = link.transport
          return fallback !== undefined && isStatus(error, [400, 404, 405])
            ? Effect.flatMap(start(fallback), (again) => initialize(session, again.link, legacyVersions[0]))
            : Effect.fail(error)
        }),
        Effect.mapError((error) => session.toMcpError(error, "connect"))
      )

    const modern = (link: Link, { result, version }: Extract<Probed, { readonly _tag: "Modern" }>) =>
      Effect.gen(function*() {
        session.era = "modern"
        session.version = version
        yield* link.open.negotiated({ era: "modern", version })
        const greeting: Greeting = {
          link,
          era: "modern",
          version,
          server_info: Wire.readServerInfo(Wire.at(result, "_meta")?.[metaKeys.server] ?? own(result, "serverInfo")),
          capabilities: Wire.object(result, "capabilities") ?? {},
          instructions: Wire.text(result, "instructions") ?? null
        }
        return greeting
      })

    /**
     * Taken for a legacy server without having said so: because it was one once, or because it was silent, which a server
     * that is slow to start is too. If it refuses the handshake, it is asked (again).
     */
    const legacyIfNotModern = (opened: Opened): Effect.Effect<Greeting, McpError> =>
      Effect.catchIf(
        legacy(opened.link, legacyVersions[0]),
        (error) => error.reason === "rpc",
        (error) =>
          Effect.flatMap(
            probe(session, opened.link, opened.stray),
            (probed) => probed._tag === "Modern" ? modern(opened.link, probed) : Effect.fail(error)
          )
      )

    const byProbe = (opened: Opened) =>
      Effect.gen(function*() {
        const probed = yield* probe(session, opened.link, opened.stray)
        switch (probed._tag) {
          case "Legacy":
            return yield* probed.silent ? legacyIfNotModern(opened) : legacy(opened.link, probed.offer)
          case "Exited": {
            if (session.options.protocol === "2026-07-28") return yield* probed.error
            const again = yield* start(transport)
            return yield* legacy(again.link, legacyVersions[0])
          }
          case "Modern":
            return yield* modern(opened.link, probed)
        }
      })

    const { era = transport.eras?.get(), protocol = "auto" } = session.options
    const work = Effect.flatMap(start(transport), (opened) =>
      // HTTP+SSE is a legacy transport: its servers are not asked.
      protocol === "legacy" || transport.kind === "sse"
        ? legacy(opened.link, legacyVersions[0])
        : protocol === "auto" && era === "legacy"
        ? legacyIfNotModern(opened)
        : byProbe(opened))
    // In a fiber of the caller's scope: a stubborn server does not hold up the news, and closing the scope waits for it.
    const greeting = yield* Effect.onError(
      work,
      () => Effect.asVoid(Effect.forkIn(Effect.uninterruptible(closeOld), parent))
    )
    transport.eras?.set(greeting.era)
    return { ...greeting, close: Effect.uninterruptible(closeOld) }
  })
