/**
 * Changes in a tree of files whose names may be any bytes (`ByteTree`): a file is there whole or not at all, no link is
 * followed on the way, nothing outside the root is ever touched. On Linux each change goes through the descriptor of its
 * directory, so that a part of the way that is exchanged meanwhile cannot lead it elsewhere.
 *
 * Every function throws the system's error; `TreeMoved` where the way to a place is no way of directories any more.
 *
 * @since 0.1.0
 */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import { systemPath } from "./ByteTree.ts"

/** @since 0.1.0 @category errors */
export class TreeMoved extends Error {
  constructor() {
    super("a part of the way to it is no directory any more")
  }
}

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = fs.constants
const byDescriptor = fs.existsSync("/proc/self/fd")

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : ""

interface Directory {
  readonly entry: (name: string) => Buffer
  readonly close: () => void
}

const openAt = (at: Buffer): number => {
  try {
    return fs.openSync(at, O_RDONLY | (O_DIRECTORY ?? 0) | (O_NOFOLLOW ?? 0))
  } catch (error) {
    const code = codeOf(error)
    if (code === "ENOTDIR" || code === "ELOOP") throw new TreeMoved()
    throw error
  }
}

const entryOf = (fd: number, path: Buffer, name: string): Buffer =>
  Buffer.concat([
    byDescriptor ? Buffer.from(`/proc/self/fd/${fd}/`) : Buffer.concat([path, Buffer.from("/")]),
    Buffer.from(name, "latin1")
  ])

/** The directory of a path, opened part by part without following a link. `made` hears of each that had to be made. */
const openParent = (root: string, path: string, made?: (directory: string) => void): Directory => {
  const parts = path.split("/").slice(0, -1)
  let at: Buffer = systemPath(root, "")
  let fd = openAt(at)
  let walked = ""
  for (const part of parts) {
    const next = entryOf(fd, at, part)
    walked = walked === "" ? part : `${walked}/${part}`
    try {
      let child: number
      try {
        child = openAt(next)
      } catch (error) {
        if (made === undefined || codeOf(error) !== "ENOENT") throw error
        fs.mkdirSync(next, { mode: 0o777 })
        made(walked)
        child = openAt(next)
      }
      fs.closeSync(fd)
      fd = child
      at = systemPath(root, walked)
    } catch (error) {
      fs.closeSync(fd)
      throw error
    }
  }
  return { entry: (name) => entryOf(fd, at, name), close: () => fs.closeSync(fd) }
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

const inParent = <A>(
  root: string,
  path: string,
  act: (at: Buffer, directory: Directory) => A,
  made?: (directory: string) => void
): A => {
  const directory = openParent(root, path, made)
  try {
    return act(directory.entry(nameOf(path)), directory)
  } finally {
    directory.close()
  }
}

const quietly = (act: () => void): void => {
  try {
    act()
  } catch {
    // what is not there need not go
  }
}

const tempName = (): string => `.hanzo-${process.pid}-${randomBytes(6).toString("hex")}.tmp`

/** A file that grows beside its place until `commit` puts it there. @since 0.1.0 @category models */
export interface PendingFile {
  readonly write: (bytes: Uint8Array) => void
  /** `still` is asked last: false leaves everything as it was. */
  readonly commit: (still: () => boolean) => boolean
  readonly abort: () => void
}

/** Missing directories above are made. @since 0.1.0 @category constructors */
export const createFile = (
  root: string,
  path: string,
  mode: number,
  made: (directory: string) => void
): PendingFile => {
  const directory = openParent(root, path, made)
  let fd: number
  const temp = directory.entry(tempName())
  try {
    fd = fs.openSync(temp, O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0), 0o600)
  } catch (error) {
    directory.close()
    throw error
  }
  const abort = (): void => {
    quietly(() => fs.closeSync(fd))
    quietly(() => fs.unlinkSync(temp))
    directory.close()
  }
  return {
    write: (bytes) => {
      for (let at = 0; at < bytes.length;) at += fs.writeSync(fd, bytes, at)
    },
    commit: (still) => {
      try {
        fs.fchmodSync(fd, mode)
        fs.fsyncSync(fd)
        if (!still()) {
          abort()
          return false
        }
        fs.renameSync(temp, directory.entry(nameOf(path)))
      } catch (error) {
        abort()
        throw error
      }
      fs.closeSync(fd)
      directory.close()
      return true
    },
    abort
  }
}

/** A link in place of whatever file or link stands there. @since 0.1.0 @category combinators */
export const createLink = (
  root: string,
  path: string,
  target: Uint8Array,
  made: (directory: string) => void
): void =>
  inParent(root, path, (at, directory) => {
    const temp = directory.entry(tempName())
    fs.symlinkSync(Buffer.from(target), temp)
    try {
      fs.renameSync(temp, at)
    } catch (error) {
      quietly(() => fs.unlinkSync(temp))
      throw error
    }
  }, made)

/** Removes a file or a link. @since 0.1.0 @category combinators */
export const removeFile = (root: string, path: string): void => inParent(root, path, (at) => fs.unlinkSync(at))

/** Removes a pipe or a socket, and nothing else. @since 0.1.0 @category combinators */
export const removePipe = (root: string, path: string): void =>
  inParent(root, path, (at) => {
    const is = fs.lstatSync(at)
    if (is.isFIFO() || is.isSocket()) fs.unlinkSync(at)
  })

/** False = something is still in it. @since 0.1.0 @category combinators */
export const removeDirectory = (root: string, path: string): boolean =>
  inParent(root, path, (at) => {
    try {
      fs.rmdirSync(at)
      return true
    } catch (error) {
      if (codeOf(error) === "ENOTEMPTY" || codeOf(error) === "EEXIST") return false
      throw error
    }
  })

/** A directory where there is none, with those above it. @since 0.1.0 @category combinators */
export const createDirectory = (root: string, path: string, made: (directory: string) => void): void =>
  openParent(root, `${path}/x`, made).close()

/** Permission bits of a file or directory; a link has none. @since 0.1.0 @category combinators */
export const setMode = (root: string, path: string, mode: number): void =>
  inParent(root, path, (at) => {
    let fd: number
    try {
      fd = fs.openSync(at, O_RDONLY | (O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0))
    } catch (error) {
      // its own mode keeps its owner from opening it
      if (codeOf(error) !== "EACCES" || fs.lstatSync(at).isSymbolicLink()) throw error
      return fs.chmodSync(at, mode)
    }
    try {
      fs.fchmodSync(fd, mode)
    } finally {
      fs.closeSync(fd)
    }
  })
