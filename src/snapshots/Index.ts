/**
 * What the tree was like when it was looked at last: it says which files need not be read again. A cache: without it
 * everything is read once more.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { LeftOut } from "./Snapshots.ts"

/** @since 0.1.0 @category models */
export interface Entry {
  readonly kind: "file" | "link" | "directory"
  readonly size: number
  readonly mtime: number
  readonly ctime: number
  readonly ino: number
  readonly mode: number
  /** Of its content, as git names it; "" for directories, and for what has not been read yet. */
  readonly oid: string
  readonly ignored: boolean
  /** Changed so shortly before it was looked at that its stamp may hide a later change. */
  readonly racy: boolean
}

/** Paths are bytes (`ByteTree`). @since 0.1.0 @category models */
export interface Index {
  /** Of the snapshot it belongs to. */
  readonly snapshot_id: string
  /** The tree of that snapshot. */
  readonly tree: string
  readonly entries: ReadonlyMap<string, Entry>
  readonly left: ReadonlyMap<string, LeftOut>
  /** Directories with a `.git` of their own. */
  readonly nested: ReadonlyArray<string>
  /** Ignored files that tools were told to change. */
  readonly extra: ReadonlySet<string>
  /** Files of the project's index that its ignore rules match. */
  readonly tracked: ReadonlySet<string>
  /** Stamps of all that says what is ignored. */
  readonly sources: string
  /** Stamp of the project's index. */
  readonly project_index: string
}

const head = {
  v: Schema.Literal(1),
  snapshot_id: Schema.String,
  tree: Schema.String,
  nested: Schema.Array(Schema.String),
  extra: Schema.Array(Schema.String),
  tracked: Schema.Array(Schema.String),
  sources: Schema.String,
  project_index: Schema.String,
  left: Schema.Array(Schema.Unknown)
}

/** One line of the file: the first one is whole, those behind it say what has changed since. */
const Line = Schema.parseJson(Schema.Struct({
  ...head,
  entries: Schema.Array(Schema.Unknown),
  gone: Schema.optional(Schema.Array(Schema.String))
}))

const decodeLine = Schema.decodeUnknownOption(Line)

const kinds = ["file", "link", "directory"] as const

/** Text for the file; the tree takes its place when it is known. @since 0.1.0 @category models */
export interface Encoded {
  /** It is all of the file; else a line behind what is there. */
  readonly whole: boolean
  readonly text: (tree: string) => string
}

const rowOf = (path: string, e: Entry): string =>
  `[${JSON.stringify(path)},${kinds.indexOf(e.kind)},${e.size},${e.mtime},${e.ctime},${e.ino},${e.mode},"${e.oid}",${
    (e.ignored ? 1 : 0) + (e.racy ? 2 : 0)
  }]`

const encoded = (
  index: Omit<Index, "tree">,
  rows: ReadonlyArray<string>,
  gone: ReadonlyArray<string> | null
): (tree: string) => string => {
  const rest = JSON.stringify({
    v: 1,
    snapshot_id: index.snapshot_id,
    nested: index.nested,
    extra: [...index.extra],
    tracked: [...index.tracked],
    sources: index.sources,
    project_index: index.project_index,
    left: [...index.left].map(([path, { reason, size }]) => [path, reason, size]),
    ...(gone === null ? {} : { gone })
  }).slice(0, -1)
  return (tree) => `${rest},"tree":${JSON.stringify(tree)},"entries":[${rows.join(",")}]}\n`
}

/** @since 0.1.0 @category encoding */
export const whole = (index: Omit<Index, "tree">): Encoded => ({
  whole: true,
  text: encoded(index, [...index.entries].map(([path, entry]) => rowOf(path, entry)), null)
})

/** What has changed since the line before: these paths, without those that are gone. @since 0.1.0 @category encoding */
export const delta = (
  index: Omit<Index, "tree">,
  changed: ReadonlyArray<string>,
  gone: ReadonlyArray<string>
): Encoded => ({
  whole: false,
  text: encoded(
    index,
    changed.flatMap((path) => {
      const entry = index.entries.get(path)
      return entry === undefined ? [] : [rowOf(path, entry)]
    }),
    gone
  )
})

const reasons: ReadonlyArray<LeftOut["reason"]> = ["size", "many", "total", "unreadable", "special"]

const entryIn = (row: unknown): readonly [string, Entry] | null => {
  if (!Array.isArray(row)) return null
  const [path, kind, size, mtime, ctime, ino, mode, oid, bits] = row as ReadonlyArray<unknown>
  const named = typeof kind === "number" ? kinds[kind] : undefined
  return typeof path !== "string" || named === undefined || typeof size !== "number" || typeof mtime !== "number" ||
      typeof ctime !== "number" || typeof ino !== "number" || typeof mode !== "number" || typeof oid !== "string" ||
      typeof bits !== "number"
    ? null
    : [path, {
      kind: named,
      size,
      mtime,
      ctime,
      ino,
      mode,
      oid,
      ignored: (bits & 1) !== 0,
      racy: (bits & 2) !== 0
    }]
}

const leftIn = (rows: ReadonlyArray<unknown>): ReadonlyMap<string, LeftOut> =>
  new Map(rows.flatMap((row) => {
    if (!Array.isArray(row)) return []
    const [path, reason, size] = row as ReadonlyArray<unknown>
    const known = reasons.find((one) => one === reason)
    return typeof path !== "string" || known === undefined
      ? []
      : [[path, { path, reason: known, size: typeof size === "number" ? size : null }] as const]
  }))

/**
 * Null = it cannot be read, and is as good as none. Not `intact`: what stands behind a line that cannot be read is not
 * counted, and nothing must be put behind it.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decode = (text: string): { readonly index: Index; readonly intact: boolean } | null => {
  const entries = new Map<string, Entry>()
  let index: Index | null = null
  const lines = text.split("\n")
  const rest = lines.pop()
  let intact = rest === ""
  for (const line of lines) {
    const read = decodeLine(line)
    if (read._tag === "None") {
      intact = false
      break
    }
    const { entries: rows, extra, gone, left, tracked, v: _, ...others } = read.value
    if ((gone === undefined) !== (index === null)) return null
    for (const path of gone ?? []) entries.delete(path)
    for (const row of rows) {
      const found = entryIn(row)
      if (found === null) return null
      entries.set(found[0], found[1])
    }
    index = { ...others, entries, left: leftIn(left), extra: new Set(extra), tracked: new Set(tracked) }
  }
  return index === null ? null : { index, intact }
}
