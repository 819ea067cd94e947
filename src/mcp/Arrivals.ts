/**
 * What a prompt says of the servers that it waits for, or goes on without (reading 1.5).
 *
 * @since 0.1.0
 */
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { Server } from "./Server.ts"

/** Milliseconds a prompt waits for servers before it says so. @since 0.1.0 @category constants */
export const quietMs = 2_000

const mostNames = 5

const connecting = (all: ReadonlyArray<Server>): ReadonlyArray<Server> =>
  all.filter((server) => server.state().phase === "connecting")

/** Whom it waits for, and how long at most; null when all are there. @since 0.1.0 @category combinators */
export const waitingText = (all: ReadonlyArray<Server>): string | null => {
  const servers = connecting(all)
  if (servers.length === 0) return null
  const names = servers.slice(0, mostNames).map(({ name }) => name)
  const more = servers.length - names.length
  const limit = Math.max(...servers.map(({ definition }) => definition.limits.connect_timeout_ms))
  return servers.length === 1
    ? `waiting for the MCP server ${names.join()}; the prompt goes on without it after ${limit} ms (connect_timeout_ms)`
    : `waiting for ${servers.length} MCP servers: ${names.join(", ")}${more === 0 ? "" : ` and ${more} more`}; ` +
      `the prompt goes on without them after ${limit} ms (connect_timeout_ms)`
}

/** Servers that the prompt goes on without, although they may still come. @since 0.1.0 @category combinators */
export const lateNotices = (all: ReadonlyArray<Server>): ReadonlyArray<AgentEventBody> =>
  connecting(all).map(({ definition, name }) => ({
    type: "notice",
    code: "mcp_late",
    message: `MCP server ${name} has not listed its tools within ${definition.limits.connect_timeout_ms} ms; ` +
      "they are added when they come; raise connect_timeout_ms if the prompt is to wait for them"
  }))
