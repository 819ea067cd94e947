/**
 * A snapshot read back: its files by path, its directories, its manifest. The reading of git's output is pure.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { latin1Of, octetsOf } from "../platform/ByteTree.ts"
import type { Git } from "./Git.ts"
import type { Entry } from "./Index.ts"
import { decodeManifest, type Manifest, pathOfRepository } from "./Manifest.ts"
import { SnapshotError } from "./Snapshots.ts"

/** `mode`: permission bits; of a link 0. @since 0.1.0 @category models */
export interface KeptFile {
  readonly kind: "file" | "link"
  readonly oid: string
  readonly mode: number
  readonly ignored: boolean
}

/** @since 0.1.0 @category models */
export interface KeptDirectory {
  readonly mode: number
  readonly ignored: boolean
}

/** @since 0.1.0 @category models */
export interface Listing {
  readonly files: ReadonlyMap<string, KeptFile>
  readonly directories: ReadonlyMap<string, KeptDirectory>
  readonly manifest: Manifest
}

/** Every directory above a path, the nearest first, without the root. @since 0.1.0 @category combinators */
export const above = (path: string): ReadonlyArray<string> => {
  const out: Array<string> = []
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) out.push(path.slice(0, at))
  return out
}

/** What `ls-tree -r -z` says. @since 0.1.0 @category decoding */
export const listingOf = (output: string, manifest: Manifest): Listing => {
  const modes = new Map(manifest.modes)
  const named = new Map(manifest.directories)
  const ignored = new Set(manifest.ignored)
  const files = new Map<string, KeptFile>()
  const directories = new Map<string, KeptDirectory>()
  const directory = (path: string): void => {
    if (directories.has(path)) return
    directories.set(path, { mode: named.get(path) ?? manifest.usual.directory, ignored: ignored.has(path) })
  }
  for (const line of output.split("\0")) {
    const tab = line.indexOf("\t")
    const name = line.slice(tab + 1)
    if (tab < 0 || !name.startsWith("files/")) continue
    const [git = "", , oid = ""] = line.slice(0, tab).split(" ")
    const path = pathOfRepository(name)
    const link = git === "120000"
    files.set(path, {
      kind: link ? "link" : "file",
      oid,
      mode: link ? 0 : modes.get(path) ?? (git === "100755" ? manifest.usual.program : manifest.usual.file),
      ignored: ignored.has(path)
    })
    for (const at of above(path)) directory(at)
  }
  for (const path of named.keys()) directory(path)
  return { files, directories, manifest }
}

/** The tree as it was just looked at, in the same form. @since 0.1.0 @category constructors */
export const keptOf = (entry: Entry): KeptFile | null =>
  entry.kind === "directory" ? null : {
    kind: entry.kind,
    oid: entry.oid,
    mode: entry.kind === "link" ? 0 : entry.mode,
    ignored: entry.ignored
  }

const gone = (id: string): SnapshotError =>
  new SnapshotError({
    reason: "not_found",
    message: `there is no snapshot ${id}: old ones go after checkpoint_days, and beyond checkpoint_max_mb`
  })

const manifestIn = (id: string, text: string): Effect.Effect<Manifest, SnapshotError> =>
  Either.match(decodeManifest(text), {
    onLeft: (error) =>
      Effect.fail(
        new SnapshotError({
          reason: "failed",
          message: `the manifest of snapshot ${id} cannot be read: ${error.message}`
        })
      ),
    onRight: Effect.succeed
  })

/** What `cat-file --batch` says of objects that were asked for in order; null = not there. @since 0.1.0 @category decoding */
export const batchOf = (output: Uint8Array): ReadonlyArray<Uint8Array | null> => {
  const out: Array<Uint8Array | null> = []
  for (let at = 0; at < output.byteLength;) {
    const end = output.indexOf(10, at)
    if (end < 0) break
    const size = /^[0-9a-f]+ [a-z]+ (\d+)$/u.exec(latin1Of(output.subarray(at, end)))?.[1]
    at = end + 1
    if (size === undefined) {
      out.push(null)
      continue
    }
    out.push(output.subarray(at, at + Number(size)))
    at += Number(size) + 1
  }
  return out
}

/** The manifests of several snapshots, in their order. @since 0.1.0 @category constructors */
export const manifests = (
  git: Git,
  wanted: ReadonlyArray<{ readonly id: string; readonly ref: string }>
): Effect.Effect<ReadonlyArray<Manifest>, SnapshotError> =>
  wanted.length === 0 ? Effect.succeed([]) : Effect.gen(function*() {
    const asked = wanted.map(({ ref }) => `${ref}:manifest\n`).join("")
    const { stdout } = yield* git.ok({ args: ["cat-file", "--batch"], stdin: octetsOf(asked) })
    const found = batchOf(stdout)
    const decoder = new TextDecoder()
    return yield* Effect.forEach(wanted, ({ id }, n) => {
      const bytes = found[n] ?? null
      return bytes === null ? Effect.fail(gone(id)) : manifestIn(id, decoder.decode(bytes))
    })
  })

/** @since 0.1.0 @category constructors */
export const listing = (git: Git, id: string, ref: string): Effect.Effect<Listing, SnapshotError> =>
  Effect.gen(function*() {
    const [manifest] = yield* manifests(git, [{ id, ref }])
    if (manifest === undefined) return yield* gone(id)
    const { stdout } = yield* git.ok({ args: ["ls-tree", "-r", "-z", "--full-tree", ref] })
    return listingOf(latin1Of(stdout), manifest)
  })
