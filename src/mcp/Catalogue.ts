/**
 * Tools and prompts of all servers under their names (readings 1.6 to 1.8): one table from names to what goes on the
 * wire. Pure.
 *
 * @since 0.1.0
 */
import type { JsonRpcObject } from "../codec/JsonRpc.ts"
import type { McpPrompt, McpTool } from "./Connection.ts"
import { saysReadOnly } from "./Contents.ts"
import type { ServerDefinition } from "./Definition.ts"
import { catalogue, isAmbiguousServer } from "./Names.ts"

/** HIP-301 section 1: a tool as it is offered. @since 0.1.0 @category models */
export interface McpToolDefinition {
  /** The name that models, rules and hooks see. */
  readonly name: string
  readonly description: string
  /** As the server sent it. */
  readonly input_schema: JsonRpcObject
  /** Name of the server in the settings. */
  readonly server: string
  /** What goes on the wire. */
  readonly raw_name: string
  readonly title?: string
  readonly output_schema?: JsonRpcObject
  readonly annotations?: JsonRpcObject
  /** The name it shares with others (1.8): rules for it hold for this one too. Null = it shares none. */
  readonly shared_name: string | null
  /** Decided by the user, who trusts the server's word; never by the server alone (2.10). */
  readonly read_only: boolean
  readonly tool: McpTool
}

/** @since 0.1.0 @category models */
export interface McpPromptDefinition {
  /** What stands behind the slash. */
  readonly name: string
  readonly server: string
  readonly raw_name: string
  readonly prompt: McpPrompt
}

/** `tool_name_collision` (1.8). @since 0.1.0 @category models */
export interface McpCollision {
  readonly name: string
  readonly tools: ReadonlyArray<{ readonly server: string; readonly tool: string }>
}

/** @since 0.1.0 @category models */
export interface McpTable<A> {
  readonly byName: ReadonlyMap<string, A>
  readonly collisions: ReadonlyMap<string, McpCollision>
}

interface Offer<A> {
  readonly server: string
  readonly raw_name: string
  /** The name it is known by: another one if the settings say so. */
  readonly named: string
  readonly value: A
}

const table = <A, B>(
  offers: ReadonlyArray<Offer<A>>,
  make: (offer: Offer<A>, name: string, shared_name: string | null) => B
): McpTable<B> => {
  const { collisions, names } = catalogue(
    offers.map(({ named, raw_name, server }) => ({ server, tool: named, raw_name }))
  )
  const shared = new Map(collisions.flatMap(({ name, tools }) => tools.map((i) => [i, name] as const)))
  const byName = new Map<string, B>()
  offers.forEach((offer, i) => {
    const name = names[i]
    if (name !== undefined && !byName.has(name)) byName.set(name, make(offer, name, shared.get(i) ?? null))
  })
  return {
    byName,
    collisions: new Map(collisions.map(({ name, tools }) => [name, {
      name,
      tools: tools.flatMap((i) => {
        const offer = offers[i]
        return offer === undefined ? [] : [{ server: offer.server, tool: offer.raw_name }]
      })
    }]))
  }
}

/** @since 0.1.0 @category models */
export interface Offering<A> {
  readonly definition: ServerDefinition
  readonly items: ReadonlyArray<A>
}

/** Servers in the order given, tools in that of their servers. @since 0.1.0 @category constructors */
export const toolTable = (servers: ReadonlyArray<Offering<McpTool>>): McpTable<McpToolDefinition> =>
  table(
    servers.flatMap(({ definition, items }) =>
      items.filter(({ name }) => name !== "").map((tool) => ({
        server: definition.server,
        raw_name: tool.name,
        named: definition.tool_names.get(tool.name) || tool.name,
        value: { definition, tool }
      }))
    ),
    ({ raw_name, server, value: { definition, tool } }, name, shared_name): McpToolDefinition => ({
      name,
      description: tool.description,
      input_schema: tool.input_schema,
      server,
      raw_name,
      ...(tool.title === undefined ? {} : { title: tool.title }),
      ...(tool.output_schema === undefined ? {} : { output_schema: tool.output_schema }),
      ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
      shared_name,
      read_only: definition.trust_annotations && saysReadOnly(tool.annotations),
      tool
    })
  )

/** @since 0.1.0 @category constructors */
export const promptTable = (servers: ReadonlyArray<Offering<McpPrompt>>): McpTable<McpPromptDefinition> =>
  table(
    servers.flatMap(({ definition, items }) =>
      items.filter(({ name }) => name !== "").map((prompt) => ({
        server: definition.server,
        raw_name: prompt.name,
        named: prompt.name,
        value: prompt
      }))
    ),
    ({ raw_name, server, value }, name): McpPromptDefinition => ({ name, server, raw_name, prompt: value })
  )

/** In words, for whoever called the shared name. @since 0.1.0 @category encoding */
export const collisionText = ({ name, tools }: McpCollision): string =>
  `tool_name_collision: ${name} is the name of ${tools.length} tools (${
    tools.map(({ server, tool }) => `${tool} of ${server}`).join(", ")
  }) and stands for none of them; give one another name with mcp_servers.SERVER.tool_names`

/** Servers whose tools have names that can be read in two ways. @since 0.1.0 @category combinators */
export const ambiguousServers = (servers: Iterable<string>): ReadonlyArray<string> =>
  [...servers].filter((server) => server !== "" && isAmbiguousServer(server))
