/**
 * A file system whose quick questions are answered at once: whether something is there, what it is, where it leads, what
 * a small file says. Through the thread pool each of them takes ten times as long as its system call, and a start asks
 * dozens. What fails or is no regular file goes the usual way, with its errors.
 *
 * @since 0.1.0
 */
import { SystemError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as fs from "node:fs"

const maxBytes = 1024 * 1024

const typeOf = (stats: fs.Stats): FileSystem.File.Type =>
  stats.isFile()
    ? "File"
    : stats.isDirectory()
    ? "Directory"
    : stats.isSymbolicLink()
    ? "SymbolicLink"
    : stats.isFIFO()
    ? "FIFO"
    : stats.isSocket()
    ? "Socket"
    : stats.isCharacterDevice()
    ? "CharacterDevice"
    : stats.isBlockDevice()
    ? "BlockDevice"
    : "Unknown"

const infoOf = (stats: fs.Stats): FileSystem.File.Info => ({
  type: typeOf(stats),
  mtime: Option.some(stats.mtime),
  atime: Option.some(stats.atime),
  birthtime: Option.some(stats.birthtime),
  dev: stats.dev,
  rdev: Option.some(stats.rdev),
  ino: Option.some(stats.ino),
  mode: stats.mode,
  nlink: Option.some(stats.nlink),
  uid: Option.some(stats.uid),
  gid: Option.some(stats.gid),
  size: FileSystem.Size(stats.size),
  blksize: Option.some(FileSystem.Size(stats.blksize)),
  blocks: Option.some(stats.blocks)
})

/** Without waiting for anybody: a pipe that nobody writes to would hold the whole process. */
const readSmall = (path: string): Uint8Array | undefined => {
  const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  try {
    const stats = fs.fstatSync(fd)
    return stats.isFile() && stats.size <= maxBytes ? new Uint8Array(fs.readFileSync(fd)) : undefined
  } finally {
    fs.closeSync(fd)
  }
}

const missing = (path: string): SystemError =>
  new SystemError({
    reason: "NotFound",
    module: "FileSystem",
    method: "stat",
    pathOrDescriptor: path,
    syscall: "stat",
    description: "no such file or directory"
  }, { disableValidation: true })

/** By the name of the system's error. */
const reasons: Readonly<Record<string, SystemError["reason"]>> = {
  ENOENT: "NotFound",
  EACCES: "PermissionDenied",
  EPERM: "PermissionDenied",
  ENOTDIR: "BadResource",
  ELOOP: "BadResource",
  EBUSY: "Busy"
}

const unlisted = (path: string, cause: unknown): SystemError => {
  const code = cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : ""
  return new SystemError({
    reason: reasons[code] ?? "Unknown",
    module: "FileSystem",
    method: "readDirectory",
    pathOrDescriptor: path,
    syscall: "scandir",
    description: cause instanceof Error ? cause.message : String(cause),
    cause
  }, { disableValidation: true })
}

/** Node's own functions with a callback: its promises are behind a getter, which the bundle does not follow. */
const listing = (path: string, recursive: boolean): Effect.Effect<Array<string>, SystemError> =>
  recursive
    ? Effect.async((resume) =>
      fs.readdir(path, { recursive: true, encoding: "utf8" }, (error, names) =>
        resume(error === null ? Effect.succeed(names) : Effect.fail(unlisted(path, error))))
    )
    : Effect.try({
      try: () =>
        fs.readdirSync(path),
      catch: (cause) =>
        unlisted(path, cause)
    })

/** `at_once` answers, or says by undefined or by throwing that it cannot. */
const orElse = <A, E>(at_once: () => A | undefined, usual: () => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    try {
      const answer = at_once()
      return answer === undefined ? usual() : Effect.succeed(answer)
    } catch {
      return usual()
    }
  })

/** @since 0.1.0 @category combinators */
export const direct = (inner: FileSystem.FileSystem): FileSystem.FileSystem => ({
  ...inner,
  exists: (path) => orElse(() => fs.statSync(path, { throwIfNoEntry: false }) !== undefined, () => inner.exists(path)),
  realPath: (path) => orElse(() => fs.realpathSync.native(path), () => inner.realPath(path)),
  stat: (path) =>
    Effect.flatten(orElse(() => {
      const stats = fs.statSync(path, { throwIfNoEntry: false })
      return stats === undefined ? Effect.fail(missing(path)) : Effect.succeed(infoOf(stats))
    }, () => Effect.succeed(inner.stat(path)))),
  readDirectory: (path, options) => listing(path, options?.recursive === true),
  readFile: (path) => orElse(() => readSmall(path), () => inner.readFile(path)),
  readFileString: (path, encoding) =>
    Effect.suspend(() => {
      if (encoding !== undefined && encoding !== "utf8" && encoding !== "utf-8") {
        return inner.readFileString(path, encoding)
      }
      return orElse(() => {
        const bytes = readSmall(path)
        return bytes === undefined ? undefined : new TextDecoder().decode(bytes)
      }, () => inner.readFileString(path, encoding))
    })
})
