/**
 * The tools about MCP servers (reading 2.10): `mcp_search`, `mcp_resources`, `mcp_read`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { defineTool } from "./Define.ts"
import type { Bridge } from "./McpBridge.ts"
import type { NativeTool } from "./Tool.ts"

/** The tools about servers, over a bridge that is made when one of them is called. @since 0.1.0 @category constructors */
export const nativeTools = (bridge: Effect.Effect<Bridge>): ReadonlyArray<NativeTool> => [
  defineTool({
    name: "mcp_search",
    description:
      "Finds tools of MCP servers by what they do; there are too many to list. Those that are found can be called from then on.",
    input: () =>
      Schema.Struct({
        query: Schema.NonEmptyString.annotations({
          description: "Words for what the tool should do, or a part of its name."
        })
      }),
    kind: "read",
    read_only: true,
    prepare: ({ query }) =>
      Effect.succeed({
        subjects: [],
        inside_workspace: false,
        run: () => Effect.flatMap(bridge, (made) => made.searchTools(query))
      })
  }),
  defineTool({
    name: "mcp_resources",
    description: "Lists the resources of MCP servers: what can be read with mcp_read.",
    input: () =>
      Schema.Struct({
        server: Schema.optional(Schema.String.annotations({ description: "Only of this server." }))
      }),
    kind: "read",
    read_only: true,
    prepare: ({ server }) =>
      Effect.succeed({
        subjects: server === undefined ? [] : [server],
        inside_workspace: false,
        run: (run) => Effect.flatMap(bridge, (made) => made.listResources(server, run))
      })
  }),
  defineTool({
    name: "mcp_read",
    description: "Reads a resource of an MCP server.",
    input: () =>
      Schema.Struct({
        uri: Schema.NonEmptyString.annotations({
          description: "As mcp_resources lists it: SERVER:URI, or the URI alone."
        })
      }),
    kind: "read",
    read_only: true,
    prepare: ({ uri }) =>
      Effect.succeed({
        subjects: [uri],
        inside_workspace: false,
        run: (run) => Effect.flatMap(bridge, (made) => made.readResource(uri, run))
      })
  })
]
