/**
 * What the commands of `lsp` print with `--json`, as Schemas. Positions are those of HIP-301: lines and characters count
 * from 0, characters in UTF-16 units; `end` is exclusive. Severities: 1 error, 2 warning, 3 information, 4 hint.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const v = Schema.Literal(1)
const Position = Schema.Struct({ line: Schema.Number, character: Schema.Number })
const Range = Schema.Struct({ start: Position, end: Position })
const Location = Schema.Struct({ uri: Schema.String, range: Range })

const Problem = Schema.Struct({ server: Schema.String, reason: Schema.String, message: Schema.String })

/** `ready` false: not every server has looked at the file, which is not "no errors". @since 0.1.0 @category schemas */
export const LspDiagnostics = Schema.Struct({
  v,
  ok: Schema.Boolean,
  files: Schema.Array(Schema.Struct({
    path: Schema.String,
    ready: Schema.Boolean,
    servers: Schema.Array(Schema.String),
    problems: Schema.Array(Problem),
    diagnostics: Schema.Array(Schema.Struct({
      uri: Schema.String,
      range: Range,
      severity: Schema.Literal(1, 2, 3, 4),
      message: Schema.String,
      source: Schema.String,
      code: Schema.optional(Schema.String)
    }))
  }))
})
/** @since 0.1.0 @category models */
export type LspDiagnostics = typeof LspDiagnostics.Type

/** `lsp definition --json`, `lsp references --json`. @since 0.1.0 @category schemas */
export const LspLocations = Schema.Struct({ v, locations: Schema.Array(Location) })
/** @since 0.1.0 @category models */
export type LspLocations = typeof LspLocations.Type

/** `lsp hover --json`; null = nothing is known of the place. @since 0.1.0 @category schemas */
export const LspHover = Schema.Struct({ v, text: Schema.NullOr(Schema.String) })
/** @since 0.1.0 @category models */
export type LspHover = typeof LspHover.Type

/** `lsp symbols --json`; `selection` is the place of the name. @since 0.1.0 @category schemas */
export const LspSymbols = Schema.Struct({
  v,
  symbols: Schema.Array(Schema.Struct({
    name: Schema.String,
    kind: Schema.String,
    container: Schema.String,
    uri: Schema.String,
    range: Range,
    selection: Range
  }))
})
/** @since 0.1.0 @category models */
export type LspSymbols = typeof LspSymbols.Type

/** `lsp rename --json`. @since 0.1.0 @category schemas */
export const LspRename = Schema.Struct({
  v,
  applied: Schema.Boolean,
  files: Schema.Array(Schema.Struct({ path: Schema.String, added: Schema.Number, removed: Schema.Number }))
})
/** @since 0.1.0 @category models */
export type LspRename = typeof LspRename.Type

/** `lsp status --json`: those that serve files of this project, or would. @since 0.1.0 @category schemas */
export const LspStatus = Schema.Struct({
  v,
  servers: Schema.Array(Schema.Struct({
    server: Schema.String,
    languages: Schema.String,
    program: Schema.NullOr(Schema.String),
    problem: Schema.NullOr(Schema.String),
    install: Schema.NullOr(Schema.String),
    note: Schema.NullOr(Schema.String)
  }))
})
/** @since 0.1.0 @category models */
export type LspStatus = typeof LspStatus.Type

/** `lsp doctor --json`; `example` is the file that it was asked about. @since 0.1.0 @category schemas */
export const LspDoctor = Schema.Struct({
  v,
  ok: Schema.Boolean,
  servers: Schema.Array(Schema.Struct({
    server: Schema.String,
    languages: Schema.String,
    ok: Schema.Boolean,
    program: Schema.NullOr(Schema.String),
    example: Schema.NullOr(Schema.String),
    problem: Schema.NullOr(Schema.String),
    install: Schema.NullOr(Schema.String),
    note: Schema.NullOr(Schema.String)
  }))
})
/** @since 0.1.0 @category models */
export type LspDoctor = typeof LspDoctor.Type
