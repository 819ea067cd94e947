/**
 * The manifest beside the files of a snapshot: what git does not keep. And the names that git does not take. Pure.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { Entry } from "./Index.ts"
import type { LeftOut } from "./Snapshots.ts"

// pairs and no record: a file may be called __proto__
const ModeByPath = Schema.Array(Schema.Tuple(Schema.String, Schema.Number))

/**
 * Paths are bytes, one character each. `usual` are the modes of whatever is named in neither `modes` nor `directories`;
 * `directories` are the empty ones too. `ignored`: files of the snapshot that ignore rules match; `touched`: those that
 * tools have changed since the snapshot before; `extra`: those a tool was about to change, there or not. `left` is not in
 * the snapshot and is left alone, with all that is below it.
 *
 * @since 0.1.0
 * @category schemas
 */
const ManifestSchema = Schema.Struct({
  v: Schema.Literal(1),
  usual: Schema.Struct({ file: Schema.Number, program: Schema.Number, directory: Schema.Number }),
  modes: ModeByPath,
  directories: ModeByPath,
  nested: Schema.Array(Schema.String),
  ignored: Schema.Array(Schema.String),
  touched: Schema.Array(Schema.String),
  extra: Schema.Array(Schema.String),
  left: Schema.Array(Schema.Tuple(
    Schema.String,
    Schema.Literal("size", "many", "total", "unreadable", "special"),
    Schema.NullOr(Schema.Number)
  ))
})
/** @since 0.1.0 @category models */
export type Manifest = typeof ManifestSchema.Type

/** @since 0.1.0 @category decoding */
export const decodeManifest = Schema.decodeUnknownEither(Schema.parseJson(ManifestSchema))

/** The file counts as a program for git. @since 0.1.0 @category combinators */
export const isProgram = (mode: number): boolean => (mode & 0o100) !== 0

const most = (counts: ReadonlyMap<number, number>, fallback: number): number => {
  let best = fallback
  let times = 0
  for (const [mode, count] of counts) {
    if (count > times) [best, times] = [mode, count]
  }
  return best
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")))

interface Rest {
  readonly nested: ReadonlyArray<string>
  readonly touched: ReadonlyArray<string>
  readonly extra: Iterable<string>
  readonly left: ReadonlyMap<string, LeftOut>
}

/** What does not come from the entries. @since 0.1.0 @category constructors */
export const manifestRest = (rest: Rest): Pick<Manifest, "nested" | "touched" | "extra" | "left"> => ({
  nested: rest.nested,
  touched: rest.touched,
  extra: [...rest.extra],
  left: [...rest.left.values()].map(({ path, reason, size }) => [path, reason, size] as const)
})

/** @since 0.1.0 @category constructors */
export const manifestOf = (entries: ReadonlyMap<string, Entry>, rest: Rest): Manifest => {
  const counts = {
    file: new Map<number, number>(),
    program: new Map<number, number>(),
    directory: new Map<number, number>()
  }
  const kindOf = (entry: Entry) => entry.kind === "directory" ? "directory" : isProgram(entry.mode) ? "program" : "file"
  const full = new Set<string>()
  for (const [path, entry] of entries) {
    if (entry.kind !== "link") {
      const of = counts[kindOf(entry)]
      of.set(entry.mode, (of.get(entry.mode) ?? 0) + 1)
    }
    if (entry.kind !== "directory") full.add(parentOf(path))
  }
  const usual = {
    file: most(counts.file, 0o644),
    program: most(counts.program, 0o755),
    directory: most(counts.directory, 0o755)
  }
  const modes: Array<[string, number]> = []
  const directories: Array<[string, number]> = []
  const ignored: Array<string> = []
  for (const [path, entry] of entries) {
    if (entry.ignored) ignored.push(path)
    if (entry.kind === "directory") {
      if (entry.mode !== usual.directory || !full.has(path)) directories.push([path, entry.mode])
    } else if (entry.kind === "file" && entry.mode !== usual[kindOf(entry)]) modes.push([path, entry.mode])
  }
  return {
    v: 1,
    usual,
    modes,
    directories,
    ignored,
    ...manifestRest(rest)
  }
}

const escaped = /(^|\/)(?=%|\.git|git~)/giu

/** A path as the repository of the snapshots holds it: no part of it can be taken for `.git`. @since 0.1.0 @category encoding */
export const repositoryPath = (path: string): string => `files/${path.replace(escaped, "$1%")}`

/** @since 0.1.0 @category decoding */
export const pathOfRepository = (path: string): string => path.slice("files/".length).replace(/(^|\/)%/gu, "$1")

/** A path as fast-import reads it, bytes and all. @since 0.1.0 @category encoding */
export const quoted = (path: string): string => {
  let out = "\""
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    out += code < 32 || code > 126 || code === 34 || code === 92
      ? `\\${code.toString(8).padStart(3, "0")}`
      : path[i]
  }
  return `${out}"`
}
