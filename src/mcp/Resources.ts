/**
 * Resources of all servers: lists, whose an address is, reading it (reading 1.14).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as TerminalText from "../codec/TerminalText.ts"
import { matchesTemplate } from "./Arguments.ts"
import { McpError } from "./McpError.ts"
import type { McpServerResources, McpService } from "./McpService.ts"
import type { Server } from "./Server.ts"

/** @since 0.1.0 @category models */
export interface ResourceServers {
  readonly sorted: () => ReadonlyArray<Server>
  /** Those that are connected, or would be by a call. */
  readonly usable: () => ReadonlyArray<Server>
  readonly serverOf: (name: string) => Effect.Effect<Server, McpError>
  /** Of the registry: owns what goes on beside a reading. */
  readonly scope: Scope.Scope
}

/** @since 0.1.0 @category constructors */
export const make = (
  { scope, serverOf, sorted, usable }: ResourceServers
): Pick<McpService, "resources" | "read"> & { readonly forget: (server: string) => void } => {
  const subscribed = new Set<string>()

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

  return {
    resources,
    read,
    forget: (server) => {
      for (const key of subscribed) if (key.startsWith(`${server}\0`)) subscribed.delete(key)
    }
  }
}
