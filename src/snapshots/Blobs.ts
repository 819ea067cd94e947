/**
 * Contents of files and links on their way into the repository: each is read once, and what is there already is not
 * written.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { blobHash, linkTarget, lookAt, openFile } from "../platform/ByteTree.ts"
import { writeBlob, type Writer } from "./Import.ts"
import type { Entry, Index } from "./Index.ts"
import type { Opener } from "./Opener.ts"
import type { Scanned } from "./Scan.ts"
import type { SnapshotError } from "./Snapshots.ts"

/** Read as a whole, so that what has not changed is not written. */
const wholeBytes = 4 * 1024 * 1024
const pieceBytes = 1024 * 1024

/** A link or a small file as it is now; null = neither. */
const wholeOf = (root: string, path: string, entry: Entry): Uint8Array | "large" | null => {
  if (entry.kind === "link") return linkTarget(root, path)
  const file = openFile(root, path)
  if (file === null) return null
  try {
    return file.size > wholeBytes ? "large" : file.read(file.size)
  } finally {
    file.close()
  }
}

const hashOf = (bytes: Uint8Array): string => {
  const hash = blobHash(bytes.byteLength)
  hash.update(bytes)
  return hash.digest()
}

/** Writes a large file as it is read; what it lacks at its end is filled up, and it is read again the next time. */
const writeLarge = (writer: Writer, root: string, path: string) =>
  Effect.acquireUseRelease(
    Effect.sync(() => openFile(root, path)),
    (file) =>
      Effect.gen(function*() {
        if (file === null) return null
        const hash = blobHash(file.size)
        let left = file.size
        yield* writeBlob(
          writer,
          file.size,
          Effect.sync(() => {
            if (left === 0) return null
            const wanted = Math.min(pieceBytes, left)
            const read = file.read(wanted)
            const piece = read.byteLength === 0 ? new Uint8Array(wanted) : read
            left -= piece.byteLength
            hash.update(piece)
            return piece
          })
        )
        return hash.digest()
      }),
    (file) => Effect.sync(() => file?.close())
  )

/**
 * Writes what a look has found to be read and puts its names into the entries. What cannot be read by now goes from them,
 * and is left out if it is there: true = there was such.
 *
 * @since 0.1.0
 * @category encoding
 */
export const writePending = (
  writer: Writer,
  options: {
    readonly root: string
    readonly previous: Index | null
    readonly seen: Pick<Scanned, "entries" | "left" | "pending">
    readonly open: Opener["open"]
  }
): Effect.Effect<boolean, SnapshotError> =>
  Effect.gen(function*() {
    const { open, previous, root, seen: { entries, left, pending } } = options
    const known = new Set<string>()
    let vanished = false
    for (const path of pending) {
      const entry = entries.get(path)
      if (entry === undefined) continue
      const old = previous?.entries.get(path)
      let content = wholeOf(root, path, entry)
      if (
        content === null && entry.kind === "file" && (entry.mode & 0o400) === 0 && previous !== null &&
        !previous.left.has(path) && open(path, entry.mode, 0o400)
      ) content = wholeOf(root, path, entry)
      let oid: string | null = null
      let size = entry.size
      if (content === "large") oid = yield* writeLarge(writer, root, path)
      else if (content !== null) {
        oid = hashOf(content)
        size = content.byteLength
        if (oid !== old?.oid && !known.has(oid)) {
          let done = false
          yield* writeBlob(
            writer,
            size,
            Effect.sync(() => {
              if (done || size === 0) return null
              done = true
              return content
            })
          )
          known.add(oid)
        }
      }
      if (oid === null) {
        entries.delete(path)
        vanished = true
        if (lookAt(root, path) !== null) left.set(path, { path, reason: "unreadable", size: null })
      } else {
        entries.set(path, {
          ...entry,
          oid,
          ...(size === entry.size || entry.kind === "link" ? {} : { racy: true })
        })
      }
    }
    return vanished
  })
