/**
 * The few files of a git directory that are touched without git: the index as bytes, under git's own lock, a message
 * that is kept, marks of what is in progress, and a scratch folder.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import * as Layers from "../domain/Layers.ts"
import { FileError, fromCause } from "./FileError.ts"

/**
 * A file as it was: its bytes and its time in whole seconds. Git takes an entry of an index for unchanged by comparing
 * its time with that of the index file, so a copy must never look younger than what it is a copy of.
 *
 * @since 0.1.0
 * @category models
 */
export interface FileImage {
  readonly bytes: Uint8Array
  /** Seconds since the epoch. */
  readonly modified: number
}

/** @since 0.1.0 @category models */
export interface GitFilesService {
  /** Null = there is no such file. */
  readonly read: (file: string) => Effect.Effect<FileImage | null, FileError>
  /** Writes a file of a scratch folder, with the time of the image. */
  readonly put: (file: string, image: FileImage) => Effect.Effect<void, FileError>
  /**
   * Replaces `file` under the lock `file.lock`, as git itself does: `exists` while another one holds it, `changed` when the
   * bytes are not those of `expected`; nothing is touched then. Null = no file. Not interruptible.
   */
  readonly replace: (
    file: string,
    expected: FileImage | null,
    next: FileImage | null
  ) => Effect.Effect<void, FileError>
  /** Is anything at this path? */
  readonly exists: (at: string) => Effect.Effect<boolean>
  readonly readText: (file: string) => Effect.Effect<string | null, FileError>
  /** Whole or not at all, mode 0600. */
  readonly writeText: (file: string, text: string) => Effect.Effect<void, FileError>
  /** What is not there is removed already. */
  readonly remove: (file: string) => Effect.Effect<void>
  /** An own folder, mode 0700, gone with the scope. */
  readonly scratch: Effect.Effect<string, FileError, Scope.Scope>
}

const attempt = <A>(operation: string, at: string, run: () => Promise<A>): Effect.Effect<A, FileError> =>
  Effect.uninterruptible(Effect.tryPromise({
    try: run,
    catch: (cause) => cause instanceof FileError ? cause : fromCause(operation, at, cause)
  }))

const isMissing = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && "code" in cause && cause.code === "ENOENT"

const readImage = async (file: string): Promise<FileImage | null> => {
  const handle = await fs.open(file, "r").catch((cause: unknown) => {
    if (isMissing(cause)) return null
    throw cause
  })
  if (handle === null) return null
  try {
    const { mtimeMs } = await handle.stat()
    return { bytes: await handle.readFile(), modified: Math.floor(mtimeMs / 1000) }
  } finally {
    await handle.close()
  }
}

const same = (a: FileImage | null, b: FileImage | null): boolean =>
  a === null || b === null ? a === b : Buffer.compare(a.bytes, b.bytes) === 0

const lockedReplace = async (file: string, expected: FileImage | null, next: FileImage | null): Promise<void> => {
  const lock = `${file}.lock`
  const handle = await fs.open(lock, "wx", 0o666).catch((cause: unknown) => {
    throw fromCause("write", lock, cause)
  })
  try {
    try {
      const old = await fs.stat(file).catch(() => null)
      if (!same(await readImage(file), expected)) {
        throw new FileError({ reason: "changed", operation: "write", path: file })
      }
      if (next !== null) {
        if (old !== null) await handle.chmod(old.mode & 0o777)
        await handle.writeFile(next.bytes)
        await handle.utimes(next.modified, next.modified)
        await handle.sync()
      }
    } finally {
      await handle.close()
    }
    if (next === null) {
      await fs.rm(file, { force: true })
      await fs.unlink(lock)
    } else await fs.rename(lock, file)
  } catch (cause) {
    await fs.unlink(lock).catch(() => undefined)
    throw cause
  }
}

const service: GitFilesService = {
  read: (file) => attempt("read", file, () => readImage(file)),
  put: (file, image) =>
    attempt("write", file, async () => {
      await fs.writeFile(file, image.bytes, { mode: 0o600 })
      await fs.utimes(file, image.modified, image.modified)
    }),
  replace: (file, expected, next) => attempt("write", file, () => lockedReplace(file, expected, next)),
  exists: (at) =>
    Effect.promise(() =>
      fs.lstat(at).then(
        () => true,
        () => false
      )
    ),
  readText: (file) =>
    attempt("read", file, () =>
      fs.readFile(file, "utf8").catch((cause: unknown) => {
        if (isMissing(cause)) return null
        throw cause
      })),
  writeText: (file, text) =>
    attempt("write", file, async () => {
      const temp = `${file}.${process.pid}.tmp`
      try {
        await fs.rm(temp, { force: true })
        await fs.writeFile(temp, text, { mode: 0o600, flag: "wx", flush: true })
        await fs.rename(temp, file)
      } catch (cause) {
        await fs.rm(temp, { force: true }).catch(() => undefined)
        throw cause
      }
    }),
  remove: (file) => Effect.promise(() => fs.rm(file, { force: true }).catch(() => undefined)),
  scratch: Effect.acquireRelease(
    attempt("write", os.tmpdir(), () => fs.mkdtemp(path.join(os.tmpdir(), "hanzo-git-"))),
    (folder) => Effect.promise(() => fs.rm(folder, { recursive: true, force: true }).catch(() => undefined))
  )
}

/** @since 0.1.0 @category services */
export class GitFiles extends Context.Tag("@hanzo/dev/platform/GitFiles")<GitFiles, GitFilesService>() {
  static readonly layer: Layer.Layer<GitFiles> = Layers.succeed(GitFiles, service)
}
