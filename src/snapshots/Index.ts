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

const Stored = Schema.parseJson(Schema.Struct({
  v: Schema.Literal(1),
  snapshot_id: Schema.String,
  tree: Schema.String,
  nested: Schema.Array(Schema.String),
  extra: Schema.Array(Schema.String),
  tracked: Schema.Array(Schema.String),
  sources: Schema.String,
  project_index: Schema.String,
  left: Schema.Array(Schema.Unknown),
  entries: Schema.Array(Schema.Unknown)
}))

const decodeStored = Schema.decodeUnknownOption(Stored)

const kinds = ["file", "link", "directory"] as const

/** All but the tree, which takes its place when it is known. @since 0.1.0 @category encoding */
export const encoded = (index: Omit<Index, "tree">): (tree: string) => string => {
  const rest = JSON.stringify({
    v: 1,
    snapshot_id: index.snapshot_id,
    nested: index.nested,
    extra: [...index.extra],
    tracked: [...index.tracked],
    sources: index.sources,
    project_index: index.project_index,
    left: [...index.left].map(([path, { reason, size }]) => [path, reason, size])
  }).slice(0, -1)
  const lines: Array<string> = []
  for (const [path, e] of index.entries) {
    const bits = (e.ignored ? 1 : 0) + (e.racy ? 2 : 0)
    lines.push(
      `[${JSON.stringify(path)},${
        kinds.indexOf(e.kind)
      },${e.size},${e.mtime},${e.ctime},${e.ino},${e.mode},"${e.oid}",${bits}]`
    )
  }
  const entries = lines.join(",\n")
  return (tree) => `${rest},"tree":${JSON.stringify(tree)},"entries":[\n${entries}\n]}`
}

const reasons: ReadonlyArray<LeftOut["reason"]> = ["size", "many", "total", "unreadable", "special"]

/** Null = it cannot be read, and is as good as none. @since 0.1.0 @category decoding */
export const decode = (text: string): Index | null => {
  const stored = decodeStored(text)
  if (stored._tag === "None") return null
  const { entries: rows, extra, left: lefts, tracked, v: _, ...rest } = stored.value
  const entries = new Map<string, Entry>()
  for (const row of rows) {
    if (!Array.isArray(row)) return null
    const [path, kind, size, mtime, ctime, ino, mode, oid, bits] = row as ReadonlyArray<unknown>
    const named = typeof kind === "number" ? kinds[kind] : undefined
    if (
      typeof path !== "string" || named === undefined || typeof size !== "number" || typeof mtime !== "number" ||
      typeof ctime !== "number" || typeof ino !== "number" || typeof mode !== "number" || typeof oid !== "string" ||
      typeof bits !== "number"
    ) return null
    entries.set(path, {
      kind: named,
      size,
      mtime,
      ctime,
      ino,
      mode,
      oid,
      ignored: (bits & 1) !== 0,
      racy: (bits & 2) !== 0
    })
  }
  const left = new Map<string, LeftOut>()
  for (const row of lefts) {
    if (!Array.isArray(row)) return null
    const [path, reason, size] = row as ReadonlyArray<unknown>
    const known = reasons.find((one) => one === reason)
    if (typeof path !== "string" || known === undefined) return null
    left.set(path, { path, reason: known, size: typeof size === "number" ? size : null })
  }
  return { ...rest, entries, left, extra: new Set(extra), tracked: new Set(tracked) }
}
