/**
 * Files by their canonical path, for tools that act on what was approved: open first, then compare (reading 10.3).
 *
 * Every method but `canonical` takes a canonical path and fails with `moved` when that path leads elsewhere by now.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { createHash } from "node:crypto"
import * as path from "node:path"
import * as Layers from "../domain/Layers.ts"
import { sameStamp } from "./AtomicFile.ts"
import { type CanonicalPath, canonicalPath } from "./CanonicalPath.ts"
import { call, lstatOrNull, openAt, openDirectory, syncDirectory, verify } from "./Descriptor.ts"
import { type FileCalls, type FileStamp, flags, nodeCalls } from "./FileCalls.ts"
import { FileError } from "./FileError.ts"
import { startIgnored, walk, type Walked, type WalkInput } from "./Walk.ts"

/** `sha256` in hexadecimal, of all bytes. @since 0.1.0 @category models */
export interface FileContent {
  readonly bytes: Uint8Array
  readonly stamp: FileStamp
  readonly sha256: string
}

/** @since 0.1.0 @category models */
export interface DirectoryEntry {
  readonly name: string
  readonly kind: FileStamp["kind"]
}

/** @since 0.1.0 @category models */
export interface FilesService {
  /** Where an absolute path really leads, existing or not (reading 10.2). */
  readonly canonical: (path: string) => Effect.Effect<CanonicalPath, FileError>
  /** The stamp of what is there, null = nothing. Links are not followed: a canonical path has none. */
  readonly stat: (path: string) => Effect.Effect<FileStamp | null, FileError>
  /** All bytes of a regular file. More than `max_bytes` fails with `too_large`, before anything is read where possible. */
  readonly read: (path: string, max_bytes: number) => Effect.Effect<FileContent, FileError>
  /** SHA-256 in hexadecimal, as in `FileContent`. */
  readonly digest: (bytes: Uint8Array) => string
  /** Entries in the order of their names (UTF-16 units). */
  readonly list: (path: string) => Effect.Effect<ReadonlyArray<DirectoryEntry>, FileError>
  /** Removes a regular file; with `expect`, only while it is still that one (else `changed`). */
  readonly remove: (path: string, expect?: FileStamp) => Effect.Effect<void, FileError>
  /** Removes a directory if it is empty; true = it is gone. */
  readonly removeEmptyDirectory: (path: string) => Effect.Effect<boolean, FileError>
  /** Files below a directory that match a glob, without ignored ones and without following links. */
  readonly walk: (input: WalkInput) => Effect.Effect<Walked, FileError>
  /** Whether `.gitignore` rules above a directory ignore it. */
  readonly startIgnored: (directory: string) => Effect.Effect<boolean>
}

/** @since 0.1.0 @category combinators */
export const formatBytes = (bytes: number): string =>
  bytes < 1024
    ? `${bytes} bytes`
    : bytes < 1024 * 1024
    ? `${(bytes / 1024).toFixed(1)} KiB`
    : `${(bytes / 1024 / 1024).toFixed(1)} MiB`

const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const make = (calls: FileCalls): FilesService => {
  const tooLarge = (file: string, size: number, max_bytes: number): FileError =>
    new FileError({
      reason: "too_large",
      operation: "read",
      path: file,
      detail: `it has ${formatBytes(size)}, the limit is ${formatBytes(max_bytes)}`
    })

  const read: FilesService["read"] = (file, max_bytes) =>
    Effect.scoped(Effect.gen(function*() {
      const fd = yield* openAt(calls, "read", file, file, flags.read | flags.no_follow | flags.no_wait)
      yield* verify(calls, "read", fd, file)
      const stamp = yield* call("read", file, () => calls.fstat(fd))
      if (stamp.kind !== "file") {
        const reason = stamp.kind === "directory" ? "is_a_directory" : "not_regular"
        return yield* new FileError({ reason, operation: "read", path: file })
      }
      if (stamp.size > max_bytes) return yield* tooLarge(file, stamp.size, max_bytes)
      // The size is a hint only: files of /proc say 0, others grow. One byte more than it finds the end in one read.
      let bytes = new Uint8Array(stamp.size > 0 ? stamp.size + 1 : 65_536)
      let length = 0
      for (;;) {
        if (length === bytes.length) {
          if (length > max_bytes) return yield* tooLarge(file, length, max_bytes)
          const larger = new Uint8Array(bytes.length * 2)
          larger.set(bytes)
          bytes = larger
        }
        const [into, at] = [bytes, length]
        const count = yield* call("read", file, () => calls.read(fd, into, at, into.length - at))
        if (count === 0) break
        length += count
      }
      if (length > max_bytes) return yield* tooLarge(file, length, max_bytes)
      const content = bytes.subarray(0, length)
      return { bytes: content, stamp, sha256: digest(content) }
    }))

  const list: FilesService["list"] = (directory) =>
    Effect.scoped(Effect.gen(function*() {
      const open = yield* openDirectory(calls, "list", directory)
      const entries = yield* call("list", directory, () => calls.readdir(open.entry(".")))
      return entries.map((entry): DirectoryEntry => ({
        name: entry.name,
        kind: entry.isFile() ? "file" : entry.isDirectory() ? "directory" : entry.isSymbolicLink() ? "link" : "other"
      })).sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
    }))

  const remove: FilesService["remove"] = (file, expect) =>
    Effect.scoped(Effect.uninterruptible(Effect.gen(function*() {
      const directory = yield* openDirectory(calls, "remove", path.dirname(file))
      const at = directory.entry(path.basename(file))
      const found = yield* call("remove", file, () => calls.lstat(at))
      const refuse = (reason: FileError["reason"]) => new FileError({ reason, operation: "remove", path: file })
      if (found.kind === "directory") return yield* refuse("is_a_directory")
      if (found.kind === "link") return yield* refuse("moved")
      if (found.kind === "other") return yield* refuse("not_regular")
      if (expect !== undefined && !sameStamp(found, expect)) return yield* refuse("changed")
      yield* call("remove", file, () => calls.unlink(at))
      yield* syncDirectory(calls, "remove", directory)
    })))

  const removeEmptyDirectory: FilesService["removeEmptyDirectory"] = (directory) =>
    Effect.scoped(Effect.gen(function*() {
      const parent = yield* openDirectory(calls, "remove", path.dirname(directory))
      yield* call("remove", directory, () => calls.rmdir(parent.entry(path.basename(directory))))
      return true
    })).pipe(
      Effect.catchAll((error) => error.reason === "exists" ? Effect.succeed(false) : Effect.fail(error))
    )

  return {
    canonical: (given) => canonicalPath(calls, given),
    stat: (file) => lstatOrNull(calls, "read", file, file),
    read,
    digest,
    list,
    remove,
    removeEmptyDirectory,
    walk,
    startIgnored
  }
}

/** @since 0.1.0 @category services */
export class Files extends Context.Tag("@hanzo/dev/platform/Files")<Files, FilesService>() {
  static readonly layer: Layer.Layer<Files> = Layers.succeed(Files, make(nodeCalls))

  /** Over other calls, for tests that make one of them fail. */
  static readonly layerCalls = (calls: FileCalls): Layer.Layer<Files> => Layers.succeed(Files, make(calls))
}
