/**
 * Names of MCP tools as models, rules and hooks see them (HIP-301 section 1; readings 1.6 to 1.9). Pure. Names are made
 * here and looked up in a table; nothing ever takes one apart again (1.7).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { sha256Hex } from "../codec/Sha256.ts"
import { TaggedError } from "../domain/TaggedError.ts"

/** A tool without a server, or without a name of its own (1.6). @since 0.1.0 @category errors */
export class McpNameError extends TaggedError("@hanzo/dev/mcp/McpNameError")("McpNameError", () => ({
  reason: Schema.Literal("empty_server", "empty_tool"),
  message: Schema.String
})) {}

/** Every code point that no tool name may have becomes one `_`; a lone surrogate is one code point. @since 0.1.0 @category combinators */
export const normalise = (part: string): string => part.replaceAll(/[^A-Za-z0-9_-]/gu, "_")

/** Servers whose names begin so have runs of `_` collapsed and none at the ends (D4). */
const collapsing = "claude.ai "

/** @since 0.1.0 @category combinators */
export const normaliseServer = (server: string): string =>
  server.startsWith(collapsing)
    ? normalise(server).replaceAll(/_+/g, "_").replace(/^_/, "").replace(/_$/, "")
    : normalise(server)

/**
 * `mcp__<server>__<tool>`, whatever the tool's own name looks like. Throws {@link McpNameError}.
 *
 * @since 0.1.0
 * @category constructors
 */
export const canonicalName = (server: string, tool: string): string => {
  if (server === "") throw new McpNameError({ reason: "empty_server", message: "an MCP server without a name" })
  if (tool === "") {
    throw new McpNameError({
      reason: "empty_tool",
      message: `a tool without a name, of the MCP server ${JSON.stringify(server)}`
    })
  }
  return `mcp__${normaliseServer(server)}__${normalise(tool)}`
}

/** Names of its tools could be read in two ways by a person: warning `ambiguous_server_name` (1.8). @since 0.1.0 @category combinators */
export const isAmbiguousServer = (server: string): boolean => {
  const name = normaliseServer(server)
  return name.includes("__") || name.startsWith("_") || name.endsWith("_")
}

/** A tool by its server's name in the settings and its own. @since 0.1.0 @category models */
export interface NamedTool {
  readonly server: string
  readonly tool: string
  /** Its own name, where the settings give it another; members of a collision are told apart by it. */
  readonly raw_name?: string
}

/** Tools with one canonical name; `tools` are their places in what was given, ascending. @since 0.1.0 @category models */
export interface NameCollision {
  readonly name: string
  readonly tools: ReadonlyArray<number>
}

/**
 * `names[i]` is what tool `i` is offered as. Members of a collision have names of their own beside the shared one, which
 * is bound to none of them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Catalogue {
  readonly names: ReadonlyArray<string>
  /** In the order of their first members. */
  readonly collisions: ReadonlyArray<NameCollision>
}

const digest = ({ raw_name, server, tool }: NamedTool): string => sha256Hex(`${server}\0${raw_name ?? tool}`)

/**
 * Names for tools of several servers, the same for the same tools in any order (1.8). A member's name is
 * `<canonical>_` and the first 8 hexadecimal digits of SHA-256(server NUL tool); 16 where that meets another name. Throws
 * {@link McpNameError}.
 *
 * @since 0.1.0
 * @category constructors
 */
export const catalogue = (tools: ReadonlyArray<NamedTool>): Catalogue => {
  const canonical = tools.map(({ server, tool }) => canonicalName(server, tool))
  const byName = new Map<string, Array<number>>()
  canonical.forEach((name, i) => {
    const members = byName.get(name)
    if (members === undefined) byName.set(name, [i])
    else members.push(i)
  })
  const collisions = [...byName].flatMap(([name, members]) => members.length > 1 ? [{ name, tools: members }] : [])
  if (collisions.length === 0) return { names: canonical, collisions }

  // Two equal pairs are one tool: they share their digest and do not meet each other.
  const hashes = new Map(
    collisions.flatMap(({ tools: members }) =>
      members.map((i) => [i, digest(tools[i] ?? { server: "", tool: "" })] as const)
    )
  )
  const short = (i: number): string => `${canonical[i]}_${hashes.get(i)?.slice(0, 8)}`
  const claims = new Map<string, Set<string>>()
  for (const [i, hash] of hashes) {
    const claim = claims.get(short(i)) ?? new Set()
    claims.set(short(i), claim.add(hash))
  }
  const names = canonical.map((name, i) => {
    const hash = hashes.get(i)
    if (hash === undefined) return name
    const met = byName.has(short(i)) || (claims.get(short(i))?.size ?? 0) > 1
    return `${name}_${hash.slice(0, met ? 16 : 8)}`
  })
  return { names, collisions }
}
