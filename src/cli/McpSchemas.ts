/**
 * What `hanzo-dev mcp ... --json` prints, as Schemas; fields are only ever added.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const v = Schema.Literal(1)

const Kind = Schema.NullOr(Schema.Literal("stdio", "http", "sse"))

/**
 * `status`: `untrusted` servers belong to a project that is not trusted, `invalid` ones have values that the settings
 * refuse, `undefined` ones are adjusted by settings but defined by none. `runs` has no secrets.
 *
 * @since 0.1.0
 * @category schemas
 */
export const McpServerEntry = Schema.Struct({
  name: Schema.String,
  kind: Kind,
  status: Schema.Literal("enabled", "disabled", "untrusted", "invalid", "undefined"),
  required: Schema.Boolean,
  runs: Schema.String,
  tier: Schema.NullOr(Schema.String),
  file: Schema.NullOr(Schema.String),
  line: Schema.NullOr(Schema.Number),
  reason: Schema.NullOr(Schema.String)
})

/** `mcp list --json`. @since 0.1.0 @category schemas */
export const McpList = Schema.Struct({ v, servers: Schema.Array(McpServerEntry) })
/** @since 0.1.0 @category models */
export type McpList = typeof McpList.Type

/** `mcp get --json`. @since 0.1.0 @category schemas */
export const McpGet = Schema.Struct({
  v,
  server: Schema.Struct({ ...McpServerEntry.fields, log_file: Schema.String })
})
/** @since 0.1.0 @category models */
export type McpGet = typeof McpGet.Type

const Problem = Schema.NullOr(Schema.Struct({ code: Schema.String, message: Schema.String }))

/**
 * `mcp status --json`. `collisions`: names that stand for none of their tools (reading 1.8); `ambiguous_server_names`: servers
 * whose tools have names that can be read in two ways.
 *
 * @since 0.1.0
 * @category schemas
 */
export const McpStatus = Schema.Struct({
  v,
  servers: Schema.Array(Schema.Struct({
    server: Schema.String,
    kind: Kind,
    phase: Schema.String,
    era: Schema.NullOr(Schema.Literal("modern", "legacy")),
    version: Schema.NullOr(Schema.String),
    tools: Schema.Number,
    required: Schema.Boolean,
    error: Problem
  })),
  collisions: Schema.Array(Schema.Struct({
    code: Schema.Literal("tool_name_collision"),
    name: Schema.String,
    tools: Schema.Array(Schema.Struct({ server: Schema.String, tool: Schema.String }))
  })),
  ambiguous_server_names: Schema.Array(Schema.String)
})
/** @since 0.1.0 @category models */
export type McpStatus = typeof McpStatus.Type

/** `mcp test --json`. With `phase` other than `ready` the lists are empty and `error` says why. @since 0.1.0 @category schemas */
export const McpTest = Schema.Struct({
  v,
  server: Schema.String,
  phase: Schema.String,
  kind: Kind,
  era: Schema.NullOr(Schema.Literal("modern", "legacy")),
  version: Schema.NullOr(Schema.String),
  server_info: Schema.NullOr(Schema.Struct({ name: Schema.String, version: Schema.String })),
  connect_ms: Schema.Number,
  ping_ms: Schema.NullOr(Schema.Number),
  tools: Schema.Array(Schema.Struct({
    name: Schema.String,
    raw_name: Schema.String,
    description: Schema.String,
    read_only: Schema.Boolean
  })),
  resources: Schema.Array(Schema.String),
  templates: Schema.Array(Schema.String),
  prompts: Schema.Array(Schema.String),
  problems: Schema.Array(Schema.String),
  error: Problem,
  log_file: Schema.String
})
/** @since 0.1.0 @category models */
export type McpTest = typeof McpTest.Type
