/**
 * The tools of this program as HIP-301's ToolExecutor (section 2, D21): names, definitions and guarded execution. It is
 * the only way to a tool; what it hands out never runs around the Guard.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import * as Layers from "../domain/Layers.ts"
import { Ids } from "../domain/Ids.ts"
import type { ToolDef } from "../domain/Tool.ts"
import { failure, ToolExecutor, type ToolExecutorService } from "../domain/ToolExecutor.ts"
import { Guard } from "./Guard.ts"
import { mcpPrefix, McpTools } from "./McpTools.ts"
import { nearest } from "./Nearest.ts"
import type { NativeTool } from "./Tool.ts"

type Maker<E, R> = Effect.Effect<ReadonlyArray<NativeTool>, E, R>

/**
 * The tools that the registry is built from. Provide it to `layer` and keep it out of everything else: whoever holds it
 * can call a tool without the Guard.
 *
 * @since 0.1.0
 * @category services
 */
export class NativeTools extends Context.Tag("@hanzo/dev/tools/NativeTools")<
  NativeTools,
  ReadonlyArray<NativeTool>
>() {
  /** The tools of several makers, in this order. An embedder's own go here too: `Effect.succeed([tool])`. */
  static readonly layerOf = <const M extends ReadonlyArray<Maker<unknown, unknown>>>(
    makers: M
  ): Layer.Layer<NativeTools, Effect.Effect.Error<M[number]>, Effect.Effect.Context<M[number]>> => {
    const all = makers as ReadonlyArray<Maker<Effect.Effect.Error<M[number]>, Effect.Effect.Context<M[number]>>>
    return Layers.effect(NativeTools, Effect.map(Effect.all(all), (tools) => tools.flat()))
  }
}

/**
 * The program's tools are put together wrongly: two of one name, or a name that models and rules cannot use.
 *
 * @since 0.1.0
 * @category errors
 */
export class RegistryError extends TaggedError("@hanzo/dev/tools/RegistryError")(
  "RegistryError",
  () => ({ reason: Schema.Literal("duplicate_name", "invalid_name"), name: Schema.String, message: Schema.String })
) {}

const validName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/u

const indexed = (
  tools: ReadonlyArray<NativeTool>,
  valid: (name: string) => boolean
): Effect.Effect<ReadonlyMap<string, NativeTool>, RegistryError> =>
  Effect.gen(function*() {
    const byName = new Map<string, NativeTool>()
    for (const tool of tools) {
      const { name } = tool.definition
      if (!valid(name)) {
        return yield* new RegistryError({
          reason: "invalid_name",
          name,
          message:
            `tool name "${name}": letters, digits, _ and - only, at most 64, a letter first, and ${mcpPrefix} is ` +
            "reserved for tools of MCP servers"
        })
      }
      if (byName.has(name)) {
        return yield* new RegistryError({
          reason: "duplicate_name",
          name,
          message: `two tools are called "${name}"; rename one or leave it out`
        })
      }
      byName.set(name, tool)
    }
    return byName
  })

const make = Effect.gen(function*() {
  const guard = yield* Guard
  const mcp = yield* McpTools
  const ids = yield* Ids
  const native = yield* indexed(
    [...(yield* NativeTools), ...(mcp.native ?? [])],
    (name) => validName.test(name) && !name.startsWith(mcpPrefix)
  )
  const conditional = Array.from(native.values()).filter((tool) => tool.offered !== undefined)
  const fixed = Array.from(native.values(), (tool): ToolDef => tool.definition)
  const offered = (): ReadonlyArray<ToolDef> => {
    const missing = new Set(conditional.flatMap((tool) => tool.offered?.() === false ? [tool.definition] : []))
    return missing.size === 0 ? fixed : fixed.filter((definition) => !missing.has(definition))
  }

  // A server cannot take the name of a native tool: only names with the prefix come from it, and only those go to it.
  const fromServers = Effect.map(
    mcp.tools,
    (tools) => tools.filter((tool) => tool.definition.name.startsWith(mcpPrefix))
  )

  const listed = Effect.map(
    fromServers,
    (tools): ReadonlyArray<ToolDef> => [...offered(), ...tools.map((tool) => tool.definition)]
  )

  const find = (name: string): Effect.Effect<NativeTool | undefined> =>
    name.startsWith(mcpPrefix)
      ? mcp.find?.(name) ?? Effect.map(fromServers, (tools) => tools.find((tool) => tool.definition.name === name))
      : Effect.sync(() => {
        const tool = native.get(name)
        return tool?.offered?.() === false ? undefined : tool
      })

  const unknown = (name: string) =>
    Effect.map(fromServers, (tools) => {
      const names = [...offered(), ...tools.map((tool) => tool.definition)].map((definition) => definition.name)
      const near = nearest(name, names)
      const shown = JSON.stringify(name.slice(0, 128))
      return failure(
        near.length > 0
          ? `there is no tool ${shown}; did you mean ${near.join(" or ")}?`
          : `there is no tool ${shown}; the tools are: ${names.join(", ")}`
      )
    })

  return {
    execute: (name, input, session_id, context) =>
      Effect.gen(function*() {
        const tool = yield* find(name)
        if (tool === undefined) {
          return name.startsWith(mcpPrefix) && mcp.explain !== undefined
            ? failure(yield* mcp.explain(name))
            : yield* unknown(name)
        }
        return yield* guard.run(tool, input, {
          tool_name: name,
          session_id,
          call_id: context?.call_id ?? (yield* ids.make("call")),
          mode: context?.permission_mode ?? "default",
          ...(context?.agent === undefined ? {} : { agent: context.agent }),
          ...(context?.grants_session_id === undefined ? {} : { grants_session_id: context.grants_session_id }),
          report: context?.report ?? (() => Effect.void)
        })
      }),
    definitions: mcp.withheld === undefined ? listed : Effect.zipWith(
      listed,
      mcp.withheld,
      (all, withheld) => withheld.size === 0 ? all : all.filter(({ name }) => !withheld.has(name))
    ),
    isReadOnly: (name, input) => {
      if (name.startsWith(mcpPrefix)) return mcp.isReadOnly(name)
      const tool = native.get(name)
      return tool?.read_only === true && tool.writes?.(input) !== true
    },
    ready: (names) =>
      Effect.forEach(new Set(names), (name) => native.get(name)?.ready ?? Effect.void, { discard: true }),
    release: (session_id) =>
      Effect.forEach(native.values(), (tool) => tool.release?.(session_id) ?? Effect.void, { discard: true })
  } satisfies ToolExecutorService
})

/**
 * ToolExecutor over the tools of `NativeTools`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ToolExecutor, RegistryError, NativeTools | Guard | McpTools | Ids> = Layers.effect(
  ToolExecutor,
  make
)
