/**
 * `hanzo-dev mcp status`: connects to all servers of the settings side by side, shows what became of each and which names
 * clash (reading 1.8), ends them.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { line } from "../codec/TerminalText.ts"
import { ExitCode } from "../domain/Failure.ts"
import { ambiguousServers, collisionText } from "../mcp/Catalogue.ts"
import * as Mcp from "../mcp/Mcp.ts"
import type { McpStatus } from "./McpSchemas.ts"
import { logsText, serversText } from "./McpText.ts"
import { print, printJson, soundConfig, stdoutStyle } from "./Output.ts"
import type * as Spec from "./Spec.ts"

/** @since 0.1.0 @category combinators */
export const execute = (values: Spec.Values<typeof Spec.mcpStatus>) =>
  Effect.gen(function*() {
    const config = yield* soundConfig
    const style = yield* stdoutStyle
    const world = yield* Mcp.plainWorld
    const { collisions, servers } = yield* Effect.scoped(Effect.gen(function*() {
      const mcp = yield* Mcp.make({ ...world, config })
      yield* Effect.forEach(config.mcp_servers, (name) => Effect.either(mcp.connect(name)), {
        concurrency: "unbounded",
        discard: true
      })
      return { servers: yield* mcp.status, collisions: yield* mcp.collisions }
    }))
    const ambiguous = ambiguousServers(servers.map(({ server }) => server))
    const document: McpStatus = {
      v: 1,
      servers: servers.map(({ era, error, kind, phase, required, server, tools, version }) => ({
        server,
        kind,
        phase,
        era: era ?? null,
        version: version ?? null,
        tools,
        required,
        error: error ?? null
      })),
      collisions: collisions.map(({ name, tools }) => ({ code: "tool_name_collision", name, tools })),
      ambiguous_server_names: ambiguous
    }
    if (values.json) yield* printJson(document)
    else {
      yield* print(
        serversText(servers, [], style) +
          servers.map(({ error, kind, phase, server }) =>
            error !== undefined && (phase === "failed" || phase === "closed") ? logsText(server, kind, error.code) : ""
          ).join("") +
          [
            ...collisions.map(collisionText),
            ...ambiguous.map((name) =>
              `ambiguous_server_name: the names of the tools of ${name} can be read in two ways`
            )
          ].map((text) => `${style.yellow(line(text, 1_000))}\n`).join("")
      )
    }
    const missing = servers.some(({ phase }) => phase !== "ready" && phase !== "disabled" && phase !== "untrusted")
    return missing || collisions.length > 0 ? ExitCode.failed : ExitCode.done
  })
