/**
 * A tree of files whose names may be any bytes: looking at it and reading it.
 *
 * A path is relative to the root, its parts joined by `/`, one character a byte (latin1), so that no name is changed on
 * its way; `""` is the root itself. Questions are answered at once: through the thread pool each of them takes ten times
 * as long as its system call, and a tree asks ten thousands. Links are never followed.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"

/** @since 0.1.0 @category models */
export type NodeKind = "file" | "link" | "directory" | "other"

/** Times in milliseconds with a fraction; `mode` the permission bits; `names` of a file that has several are above 1. @since 0.1.0 @category models */
export interface NodeStat {
  readonly kind: NodeKind
  readonly size: number
  readonly mtime: number
  readonly ctime: number
  readonly ino: number
  readonly mode: number
  readonly names: number
}

/** The system's path of a place in the tree. @since 0.1.0 @category encoding */
export const systemPath = (root: string, path: string): Buffer =>
  path === ""
    ? Buffer.from(root)
    : Buffer.concat([Buffer.from(root.endsWith("/") ? root : `${root}/`), Buffer.from(path, "latin1")])

/** A text (UTF-8) as a path of bytes. @since 0.1.0 @category encoding */
export const bytesOf = (text: string): string => Buffer.from(text).toString("latin1")

/** For people: what is no UTF-8 is replaced. @since 0.1.0 @category decoding */
export const textOf = (path: string): string => {
  for (let i = 0; i < path.length; i++) {
    if (path.charCodeAt(i) > 126) return Buffer.from(path, "latin1").toString("utf8")
  }
  return path
}

const pieceBytes = 1024 * 1024

const typeBits = 0o170000

const kindOf = (mode: number): NodeKind => {
  const type = mode & typeBits
  return type === 0o100000 ? "file" : type === 0o040000 ? "directory" : type === 0o120000 ? "link" : "other"
}

const statOf = (s: fs.Stats): NodeStat => {
  return {
    kind: kindOf(s.mode),
    size: s.size,
    mtime: s.mtimeMs,
    ctime: s.ctimeMs,
    ino: s.ino,
    mode: s.mode & 0o7777,
    names: s.nlink
  }
}

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : ""

/** Ascii paths go as they are, which saves a copy. @since 0.1.0 @category encoding */
export const placeOf = (root: string, path: string): Place => {
  for (let i = 0; i < path.length; i++) {
    if (path.charCodeAt(i) > 127) return systemPath(root, path)
  }
  return path === "" ? root : root.endsWith("/") ? root + path : `${root}/${path}`
}

/** What is there; null = nothing, or nothing that can be looked at. @since 0.1.0 @category combinators */
export const lookAt = (root: string, path: string): NodeStat | null => {
  try {
    const found = fs.lstatSync(placeOf(root, path), { throwIfNoEntry: false })
    return found === undefined ? null : statOf(found)
  } catch {
    return null
  }
}

/** A place as the system takes it. @since 0.1.0 @category models */
export type Place = string | Buffer

const quietly = { throwIfNoEntry: false } as const

/**
 * As `lookAt`; true = what is there has the stamps that were given. Looking at what has not changed makes nothing: a tree
 * has ten thousands of such.
 *
 * @since 0.1.0
 * @category combinators
 */
export const lookUnlessAs = (place: Place, old: Omit<NodeStat, "names">): NodeStat | true | null => {
  try {
    const s = fs.lstatSync(place, quietly)
    if (s === undefined) return null
    return s.ctimeMs === old.ctime && s.mtimeMs === old.mtime && s.size === old.size && s.ino === old.ino &&
        (s.mode & 0o7777) === old.mode && kindOf(s.mode) === old.kind
      ? true
      : statOf(s)
  } catch {
    return null
  }
}

/** The names in a directory; `gone` = it is none any more, `denied` = it cannot be read. @since 0.1.0 @category combinators */
export const namesIn = (root: string, path: string): ReadonlyArray<string> | "gone" | "denied" => {
  try {
    return fs.readdirSync(placeOf(root, path), { encoding: "latin1" })
  } catch (error) {
    const code = codeOf(error)
    return code === "ENOENT" || code === "ENOTDIR" ? "gone" : "denied"
  }
}

/** What is in a directory can be looked at, not only its names. @since 0.1.0 @category combinators */
export const canEnter = (root: string, path: string): boolean => lookAt(root, `${path}/.`) !== null

/** An open regular file; `read` gives at most `length` bytes, an empty array at its end. @since 0.1.0 @category models */
export interface OpenFile {
  readonly size: number
  readonly read: (length: number) => Uint8Array
  readonly close: () => void
}

/** Null = it is no regular file any more, or cannot be read. @since 0.1.0 @category constructors */
export const openFile = (root: string, path: string): OpenFile | null => {
  let fd: number
  try {
    const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants
    fd = fs.openSync(systemPath(root, path), O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0))
  } catch {
    return null
  }
  const stats = fs.fstatSync(fd)
  if (!stats.isFile()) {
    fs.closeSync(fd)
    return null
  }
  return {
    size: stats.size,
    read: (length) => {
      const into = new Uint8Array(length)
      let at = 0
      while (at < length) {
        const count = fs.readSync(fd, into, at, length - at, null)
        if (count === 0) break
        at += count
      }
      return at === length ? into : into.subarray(0, at)
    },
    close: () => fs.closeSync(fd)
  }
}

/** Where a link leads, as its bytes; null = it is no link any more. @since 0.1.0 @category combinators */
export const linkTarget = (root: string, path: string): Uint8Array | null => {
  try {
    return fs.readlinkSync(systemPath(root, path), { encoding: "buffer" })
  } catch {
    return null
  }
}

/** Digests bytes as git names a blob of them; `size` is what will come. @since 0.1.0 @category constructors */
export const blobHash = (
  size: number
): { readonly update: (bytes: Uint8Array) => void; readonly digest: () => string } => {
  const hash = createHash("sha1").update(`blob ${size}\0`)
  return { update: (bytes) => void hash.update(bytes), digest: () => hash.digest("hex") }
}

/** The name that git has for what a file or a link holds; null = it is neither any more. @since 0.1.0 @category combinators */
export const contentHash = (root: string, path: string, kind: NodeKind): string | null => {
  if (kind === "link") {
    const target = linkTarget(root, path)
    if (target === null) return null
    const hash = blobHash(target.byteLength)
    hash.update(target)
    return hash.digest()
  }
  const file = openFile(root, path)
  if (file === null) return null
  try {
    const hash = blobHash(file.size)
    for (let piece = file.read(pieceBytes); piece.byteLength > 0; piece = file.read(pieceBytes)) hash.update(piece)
    return hash.digest()
  } finally {
    file.close()
  }
}

/** Lets everything else that waits in this process go first. @since 0.1.0 @category combinators */
export const breathe: Effect.Effect<void> = Effect.async((resume) => {
  const waiting = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(waiting))
})

/** Bytes as a text of one character each. @since 0.1.0 @category decoding */
export const latin1Of = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")

/** A text of one character a byte as its bytes. @since 0.1.0 @category encoding */
export const octetsOf = (text: string): Uint8Array => Buffer.from(text, "latin1")

const live = Clock.make()

/** Milliseconds since the epoch by the clock that stamps files, which no test moves. @since 0.1.0 @category combinators */
export const fileClock = (): number => live.unsafeCurrentTimeMillis()
