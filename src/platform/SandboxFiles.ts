/**
 * The few files a kernel sandbox is set up from, in a directory of their own that goes with the scope: an empty
 * directory and an empty file to cover others with, a place to build the new root in, and a directory of device nodes'
 * mount points. Nobody but this user can enter it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import { type FileError, fromCause } from "./FileError.ts"

/** Absolute, canonical paths. @since 0.1.0 @category models */
export interface SandboxFiles {
  readonly directory: string
  /** An empty, read-only directory. */
  readonly empty_directory: string
  /** An empty, read-only file. */
  readonly empty_file: string
  /** Where the new root is built. */
  readonly root: string
  /** Mount points for device nodes. */
  readonly devices: string
  /** Temporary files of commands when `/tmp` is not theirs. */
  readonly temporary: string
  /** Holds the socket of the filtering proxy. */
  readonly sockets: string
  /** A file with this content; the same content gives the same file. */
  readonly tableOf: (content: string | Uint8Array) => Effect.Effect<string, FileError>
}

/** Names under `/dev` that a sandbox has. @since 0.1.0 @category constants */
export const deviceNames = ["null", "zero", "full", "random", "urandom", "tty"] as const

const attempt = <A>(at: string, run: () => Promise<A>): Effect.Effect<A, FileError> =>
  Effect.uninterruptible(
    Effect.tryPromise({ try: run, catch: (cause) => fromCause("prepare the sandbox in", at, cause) })
  )

const build = async (directory: string): Promise<void> => {
  const at = (...names: ReadonlyArray<string>): string => path.join(directory, ...names)
  for (const name of ["root", "dev", "tmp", "run"]) await fs.mkdir(at(name), { mode: 0o755 })
  for (const name of ["pts", "shm"]) await fs.mkdir(at("dev", name), { mode: 0o755 })
  await Promise.all(deviceNames.map((name) => fs.writeFile(at("dev", name), "", { mode: 0o644 })))
  await fs.symlink("/proc/self/fd", at("dev", "fd"))
  await Promise.all(
    ["stdin", "stdout", "stderr"].map((name, fd) => fs.symlink(`/proc/self/fd/${fd}`, at("dev", name)))
  )
  await fs.symlink("pts/ptmx", at("dev", "ptmx"))
  await fs.mkdir(at("void"), { mode: 0o555 })
  await fs.writeFile(at("blank"), "", { mode: 0o444 })
  await fs.chmod(at("tmp"), 0o700)
}

/** @since 0.1.0 @category constructors */
export const makeSandboxFiles: Effect.Effect<SandboxFiles, FileError, Scope.Scope> = Effect.gen(function*() {
  const above = os.tmpdir()
  const directory = yield* Effect.acquireRelease(
    attempt(above, async () => {
      const made = await fs.realpath(await fs.mkdtemp(path.join(above, "hanzo-")))
      await build(made)
      return made
    }),
    (made) => Effect.promise(() => fs.rm(made, { recursive: true, force: true }).catch(() => undefined))
  )
  const tables = new Map<string, string>()
  let written = 0
  return {
    directory,
    empty_directory: path.join(directory, "void"),
    empty_file: path.join(directory, "blank"),
    root: path.join(directory, "root"),
    devices: path.join(directory, "dev"),
    temporary: path.join(directory, "tmp"),
    sockets: path.join(directory, "run"),
    tableOf: (text) =>
      Effect.suspend(() => {
        const name = createHash("sha256").update(text).digest("hex").slice(0, 32)
        const known = tables.get(name)
        if (known !== undefined) return Effect.succeed(known)
        const file = path.join(directory, `table-${name}`)
        const temporary = `${file}.${written++}`
        return attempt(file, async () => {
          await fs.writeFile(temporary, text, { mode: 0o444, flag: "w" })
          // Under its name only when it is whole: another command may be reading it.
          await fs.rename(temporary, file)
          tables.set(name, file)
          return file
        })
      })
  }
})

/**
 * A mount point that is not there yet: an empty directory or file, made exclusively. False = something is there or
 * nothing can be made (then nobody under this user can make it either).
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeMountPoint = (at: string, kind: "file" | "directory"): Effect.Effect<boolean> =>
  Effect.uninterruptible(Effect.promise(() =>
    (kind === "directory"
      ? fs.mkdir(at, { mode: 0o755 })
      : fs.writeFile(at, "", { flag: "wx", mode: 0o644 })).then(() => true, () => false)
  ))

/** Takes a mount point away if it is still empty. @since 0.1.0 @category combinators */
export const removeMountPoint = (at: string, kind: "file" | "directory"): Effect.Effect<void> =>
  Effect.uninterruptible(Effect.promise(async () => {
    try {
      if (kind === "directory") return await fs.rmdir(at)
      const found = await fs.lstat(at)
      if (found.isFile() && found.size === 0) await fs.unlink(at)
    } catch {
      // Somebody put something there, or took it away: then it is not ours any more.
    }
  }))

/**
 * Moves what stands at a place to a free name beside it, which is the answer; null = nothing stands there. A link is moved
 * as it is.
 *
 * @since 0.1.0
 * @category combinators
 */
export const moveAside = (at: string): Effect.Effect<string | null> =>
  Effect.uninterruptible(Effect.promise(async () => {
    for (let number = 1; number < 1000; number++) {
      const to = `${at}.refused-${number}`
      try {
        await fs.lstat(to)
      } catch {
        return await fs.rename(at, to).then(() => to, () => null)
      }
    }
    return null
  }))

/** Who runs this process; null where the system has no such numbers. @since 0.1.0 @category constructors */
export const identity = (): { readonly uid: number; readonly gid: number } | null =>
  process.geteuid === undefined || process.getegid === undefined
    ? null
    : { uid: process.geteuid(), gid: process.getegid() }

/** The machine's architecture as Node calls it (`x64`, `arm64`, ...). @since 0.1.0 @category constructors */
export const machine = (): string => process.arch

/** The program that runs this one (Node). @since 0.1.0 @category constructors */
export const runtimeProgram = (): string => process.execPath
