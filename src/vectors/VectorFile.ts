/**
 * The files of `test-vectors/` (reading 18.1): which there are, what is in one.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"

/** The file of each domain. @since 0.1.0 @category constants */
export const files: ReadonlyArray<{ readonly domain: string; readonly file: string }> = [
  { domain: "sse", file: "sse-frames.json" },
  { domain: "names", file: "mcp-normalization.json" },
  { domain: "permission", file: "permission-policy.json" },
  { domain: "compaction", file: "session-compaction.json" },
  { domain: "pkce", file: "oauth-pkce.json" },
  { domain: "config", file: "config-merge.json" },
  { domain: "backoff", file: "backoff-timing.json" }
]

/** Any JSON value; `Unknown` alone would do without the key. */
const Present: Schema.Schema<unknown> = Schema.Unknown.pipe(
  Schema.filter((value): boolean => value !== undefined, { message: () => "is missing" })
)

const Expected = Schema.Union(
  Schema.Struct({ error: Schema.Struct({ code: Schema.String }) }),
  Schema.Struct({ output: Present })
)

/**
 * One case. `expected` is `{output}` or `{error: {code}}`; `absent` lists dotted paths that the output must not have.
 *
 * @since 0.1.0
 * @category schemas
 */
export const VectorCase = Schema.Struct({
  id: Schema.NonEmptyString,
  description: Schema.String,
  tags: Schema.Array(Schema.String),
  input: Present,
  expected: Expected,
  absent: Schema.optional(Schema.Array(Schema.String))
})
/** @since 0.1.0 @category models */
export type VectorCase = typeof VectorCase.Type

const VectorFile = Schema.parseJson(Schema.Struct({
  spec: Schema.Literal("HIP-301"),
  version: Schema.String,
  cases: Schema.Array(VectorCase)
}))

/** A file that was read, with what it is for. @since 0.1.0 @category models */
export interface Vectors {
  readonly domain: string
  readonly file: string
  readonly version: string
  readonly cases: ReadonlyArray<VectorCase>
}

/**
 * Why the vectors cannot be checked; exit code 2.
 *
 * | reason | meaning |
 * | --- | --- |
 * | `no_vectors` | the directory has none of the files |
 * | `bad_vectors` | a file is not what reading 18.1 says |
 * | `unknown_domain`, `unknown_tag` | the filter selects nothing |
 * | `adapter` | the command cannot be started |
 *
 * @since 0.1.0
 * @category errors
 */
export class CheckError extends TaggedError("@hanzo/dev/vectors/CheckError")("CheckError", () => ({
  reason: Schema.Literal("no_vectors", "bad_vectors", "unknown_domain", "unknown_tag", "adapter"),
  message: Schema.String
})) {}

const decode = Schema.decodeUnknown(VectorFile, { errors: "first" })

const read = (directory: string, domain: string, file: string): Effect.Effect<
  Vectors | null,
  CheckError,
  FileSystem.FileSystem
> =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = `${directory}/${file}`
    const bad = (what: string) => new CheckError({ reason: "bad_vectors", message: `${path}: ${what}` })
    if (!(yield* Effect.orElseSucceed(fs.exists(path), () => false))) return null
    const text = yield* Effect.mapError(fs.readFileString(path), (error) => bad(error.message))
    const { cases, version } = yield* Effect.mapError(
      decode(text),
      (error) => bad(ParseResult.TreeFormatter.formatErrorSync(error))
    )
    const ids = new Set<string>()
    for (const { id } of cases) {
      if (ids.has(id)) return yield* bad(`the id ${JSON.stringify(id)} stands twice; ids are unique in a file`)
      ids.add(id)
    }
    return { domain, file, version, cases }
  })

/**
 * All vector files that lie in a directory, in the order of {@link files}. Fails with `no_vectors` or `bad_vectors`.
 *
 * @since 0.1.0
 * @category decoding
 */
export const load = (directory: string): Effect.Effect<ReadonlyArray<Vectors>, CheckError, FileSystem.FileSystem> =>
  Effect.gen(function*() {
    const found = yield* Effect.forEach(files, ({ domain, file }) => read(directory, domain, file))
    const vectors = found.filter((one) => one !== null)
    if (vectors.length === 0) {
      return yield* new CheckError({
        reason: "no_vectors",
        message: `${directory} holds no vector file (${files.map(({ file }) => file).join(", ")})`
      })
    }
    return vectors
  })
