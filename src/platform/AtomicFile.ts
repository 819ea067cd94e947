/**
 * Writes a file whole or not at all (reading G4).
 *
 * A unique temporary file in the same directory, opened `O_CREAT|O_EXCL` with the final mode, written, fsynced, renamed,
 * its directory fsynced. A crash at any point leaves the old file or the new one, whole; at worst a temporary file named
 * `.NAME.PID-RANDOM.tmp` stays behind. Everything goes through the descriptor of the directory (10.3), so that a part of
 * the way that is exchanged meanwhile cannot lead the write elsewhere.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as path from "node:path"
import * as Layers from "../domain/Layers.ts"
import { canonicalPath } from "./CanonicalPath.ts"
import { call, lstatOrNull, openAt, type OpenDirectory, openDirectory, syncDirectory, verify } from "./Descriptor.ts"
import { type FileCalls, type FileStamp, flags, nodeCalls } from "./FileCalls.ts"
import { FileError } from "./FileError.ts"

/** @since 0.1.0 @category models */
export interface WriteOptions {
  /** Permission bits. Absent = those of the existing file, else 0666 less the umask. Secrets: 0600. */
  readonly mode?: number
  /** Makes missing parent directories with this mode (less the umask). Secrets: 0700. Absent = they must exist. */
  readonly create_parents?: number
  /** The path is canonical and was approved as such: a link in its place now is refused with `moved`. */
  readonly approved?: boolean
  /**
   * What must be there at the moment of the rename: `"absent"` (checked atomically; else `exists`), or the stamp of the
   * content that the caller knows (else `changed`).
   */
  readonly expect?: "absent" | FileStamp
}

/** @since 0.1.0 @category models */
export interface Written {
  /** The canonical path that was written; another one than given if that was a link. */
  readonly path: string
  readonly created: boolean
  /** Of the new file. */
  readonly stamp: FileStamp
  /** Names the old file had; the others of them (above 1) keep the old content. */
  readonly old_links: number
}

/** @since 0.1.0 @category models */
export interface AtomicFileService {
  /**
   * Replaces or creates the file; returns when it is durable. A symbolic link is written through; mode and, as root,
   * owner of an existing file are kept. Interruption before the rename leaves everything as it was.
   */
  readonly write: (
    path: string,
    content: string | Uint8Array,
    options?: WriteOptions
  ) => Effect.Effect<Written, FileError>
}

const slice_bytes = 1 << 20
const attempts = 8

/** Same file with the same content, as far as a stamp can tell. @since 0.1.0 @category combinators */
export const sameStamp = (a: FileStamp, b: FileStamp): boolean =>
  a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtime_ns === b.mtime_ns

const make = (calls: FileCalls): AtomicFileService => {
  const tempFile = (
    directory: OpenDirectory,
    name: string,
    target: string,
    mode: number
  ): Effect.Effect<{ readonly fd: number; readonly at: string; readonly done: () => void }, FileError, Scope.Scope> => {
    const tempName = Effect.map(Random.nextIntBetween(0, 0x1_0000_0000), (chance) => {
      const suffix = `.${process.pid}-${chance.toString(16).padStart(8, "0")}.tmp`
      // 255 bytes is the usual limit of a name.
      const kept = Buffer.byteLength(name) + suffix.length + 1 > 255 ? "file" : name
      return directory.entry(`.${kept}${suffix}`)
    })
    const mode_bits = flags.write | flags.create | flags.exclusive | flags.no_follow
    const open = (left: number): Effect.Effect<{ readonly fd: number; readonly at: string }, FileError> =>
      tempName.pipe(
        Effect.flatMap((at) =>
          Effect.map(call("write", target, () => calls.open(at, mode_bits, mode)), (fd) => ({ fd, at }))
        ),
        Effect.catchAll((error) => error.reason === "exists" && left > 0 ? open(left - 1) : Effect.fail(error))
      )
    let renamed = false
    return Effect.acquireRelease(open(attempts), ({ fd, at }) =>
      Effect.promise(async () => {
        await calls.close(fd).catch(() => undefined)
        if (!renamed) await calls.unlink(at).catch(() => undefined)
      })).pipe(
        Effect.map(({ fd, at }) => ({
          fd,
          at,
          done: () => {
            renamed = true
          }
        }))
      )
  }

  /** What stands at the target and may be replaced. */
  const existing = (
    directory: OpenDirectory,
    target: string,
    name: string,
    options: WriteOptions
  ): Effect.Effect<FileStamp | null, FileError> =>
    Effect.gen(function*() {
      const at = directory.entry(name)
      const found = yield* lstatOrNull(calls, "write", target, at)
      const refuse = (reason: FileError["reason"]) => new FileError({ reason, operation: "write", path: target })
      if (found === null) {
        if (options.expect !== undefined && options.expect !== "absent") return yield* refuse("changed")
        return null
      }
      if (found.kind === "link") return yield* refuse("moved")
      if (found.kind === "directory") return yield* refuse("is_a_directory")
      if (found.kind === "other") return yield* refuse("not_regular")
      if (options.expect === "absent") return yield* refuse("exists")
      if (options.expect !== undefined && !sameStamp(found, options.expect)) return yield* refuse("changed")
      return found
    })

  /** Opening for writing (no truncation) asks the system whether this file may be changed at all. */
  const mayWrite = (directory: OpenDirectory, target: string, name: string): Effect.Effect<void, FileError> =>
    Effect.scoped(
      openAt(calls, "write", target, directory.entry(name), flags.write | flags.no_follow | flags.no_wait).pipe(
        Effect.flatMap((fd) => verify(calls, "write", fd, target)),
        Effect.catchAll((error) => error.code === "ETXTBSY" ? Effect.void : Effect.fail(error))
      )
    )

  const writeAll = (fd: number, target: string, bytes: Uint8Array): Effect.Effect<void, FileError> =>
    Effect.gen(function*() {
      let offset = 0
      while (offset < bytes.length) {
        const from = offset
        const length = Math.min(slice_bytes, bytes.length - from)
        offset += yield* call("write", target, () => calls.write(fd, bytes, from, length))
      }
    })

  /** The moment of truth: rename and the record of it belong together. */
  const commit = (
    directory: OpenDirectory,
    temp: { readonly at: string; readonly done: () => void },
    target: string,
    name: string,
    options: WriteOptions
  ): Effect.Effect<void, FileError> =>
    Effect.uninterruptible(Effect.gen(function*() {
      yield* existing(directory, target, name, options)
      const at = directory.entry(name)
      const rename = call("write", target, () => calls.rename(temp.at, at)).pipe(
        Effect.zipRight(Effect.sync(temp.done))
      )
      yield* options.expect === "absent"
        // A link fails when the name is taken, a rename would replace it. The temporary name goes with the scope.
        ? call("write", target, () => calls.link(temp.at, at)).pipe(
          Effect.catchAll((error) =>
            error.code === "EPERM" || error.code === "ENOTSUP" || error.code === "ENOSYS" || error.code === "EMLINK"
              ? rename
              : Effect.fail(error)
          )
        )
        : rename
      yield* syncDirectory(calls, "write", directory)
    }))

  const write: AtomicFileService["write"] = (given, content, options = {}) =>
    Effect.scoped(Effect.gen(function*() {
      const canonical = yield* canonicalPath(calls, given)
      if (options.approved === true && canonical.path !== given) {
        return yield* new FileError({
          reason: "moved",
          operation: "write",
          path: given,
          detail: `the path leads to ${canonical.path} now, not where it did when it was checked; nothing was touched`
        })
      }
      const target = canonical.path
      const name = path.basename(target)
      if (name === "") return yield* new FileError({ reason: "is_a_directory", operation: "write", path: target })
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content
      const create = options.create_parents === undefined ? undefined : { mode: options.create_parents }
      const directory = yield* openDirectory(calls, "write", path.dirname(target), create)
      const old = yield* existing(directory, target, name, options)
      if (old !== null) yield* mayWrite(directory, target, name)

      const mode = options.mode ?? old?.mode
      const temp = yield* tempFile(directory, name, target, mode ?? 0o666)
      const fresh = yield* call("write", target, () => calls.fstat(temp.fd))
      if (old !== null && (old.uid !== fresh.uid || old.gid !== fresh.gid)) {
        // Only root may give a file away; for everybody else the new file is their own, as with any editor.
        yield* call("write", target, () => calls.fchown(temp.fd, old.uid, old.gid)).pipe(
          Effect.catchAll((error) => error.reason === "permission" ? Effect.void : Effect.fail(error))
        )
      }
      // After fchown, which clears the set-id bits; and the umask may have taken some away.
      if (mode !== undefined) yield* call("write", target, () => calls.fchmod(temp.fd, mode))
      yield* writeAll(temp.fd, target, bytes)
      yield* call("write", target, () => calls.fsync(temp.fd))
      yield* commit(directory, temp, target, name, options)
      const stamp = yield* call("write", target, () => calls.fstat(temp.fd))
      return { path: target, created: old === null, stamp: { ...stamp, links: 1 }, old_links: old?.links ?? 0 }
    }))

  return { write }
}

/** @since 0.1.0 @category services */
export class AtomicFile extends Context.Tag("@hanzo/dev/platform/AtomicFile")<AtomicFile, AtomicFileService>() {
  static readonly layer: Layer.Layer<AtomicFile> = Layers.succeed(AtomicFile, make(nodeCalls))

  /** Over other calls, for tests that make one of them fail. */
  static readonly layerCalls = (calls: FileCalls): Layer.Layer<AtomicFile> => Layers.succeed(AtomicFile, make(calls))
}
