/**
 * The file system calls that this room stands on, as a plain record, so that a fault can be put in front of any of them.
 *
 * @since 0.1.0
 */
import * as fs from "node:fs"
import { promisify } from "node:util"

/** Nanoseconds since the epoch and bytes. @since 0.1.0 @category models */
export interface FileStamp {
  readonly kind: "file" | "directory" | "link" | "other"
  readonly size: number
  readonly mtime_ns: bigint
  /** Permission bits, `0o7777`. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly dev: bigint
  readonly ino: bigint
  /** Names (hard links) of the file. */
  readonly links: number
}

/** Every call rejects with the system's error (`code`). @since 0.1.0 @category models */
export interface FileCalls {
  readonly open: (path: string, flags: number, mode?: number) => Promise<number>
  readonly close: (fd: number) => Promise<void>
  readonly fstat: (fd: number) => Promise<FileStamp>
  readonly lstat: (path: string) => Promise<FileStamp>
  readonly read: (fd: number, into: Uint8Array, offset: number, length: number) => Promise<number>
  readonly write: (fd: number, bytes: Uint8Array, offset: number, length: number) => Promise<number>
  readonly fsync: (fd: number) => Promise<void>
  readonly fchmod: (fd: number, mode: number) => Promise<void>
  readonly fchown: (fd: number, uid: number, gid: number) => Promise<void>
  readonly readlink: (path: string) => Promise<string>
  readonly realpath: (path: string) => Promise<string>
  readonly rename: (from: string, to: string) => Promise<void>
  readonly link: (from: string, to: string) => Promise<void>
  readonly unlink: (path: string) => Promise<void>
  readonly mkdir: (path: string, mode: number) => Promise<void>
  readonly rmdir: (path: string) => Promise<void>
  readonly readdir: (path: string) => Promise<ReadonlyArray<fs.Dirent>>
}

const stamp = (s: fs.BigIntStats): FileStamp => ({
  kind: s.isFile() ? "file" : s.isDirectory() ? "directory" : s.isSymbolicLink() ? "link" : "other",
  size: Number(s.size),
  mtime_ns: s.mtimeNs,
  mode: Number(s.mode & 0o7777n),
  uid: Number(s.uid),
  gid: Number(s.gid),
  dev: s.dev,
  ino: s.ino,
  links: Number(s.nlink)
})

const open = promisify(fs.open)
const read = promisify(fs.read)
const write = promisify(fs.write)
const readdir = promisify(fs.readdir)

/**
 * What is where is asked at once: the detour through the thread pool takes ten times as long as the system call.
 *
 * @since 0.1.0
 * @category constants
 */
export const nodeCalls: FileCalls = {
  open: (path, flags, mode) => open(path, flags, mode),
  close: promisify(fs.close),
  fstat: async (fd) => stamp(fs.fstatSync(fd, { bigint: true })),
  lstat: async (path) => stamp(fs.lstatSync(path, { bigint: true })),
  read: async (fd, into, offset, length) => (await read(fd, into, offset, length, null)).bytesRead,
  write: async (fd, bytes, offset, length) => (await write(fd, bytes, offset, length, null)).bytesWritten,
  fsync: promisify(fs.fsync),
  fchmod: promisify(fs.fchmod),
  fchown: promisify(fs.fchown),
  readlink: async (path) => fs.readlinkSync(path),
  realpath: async (path) => fs.realpathSync.native(path),
  rename: promisify(fs.rename),
  link: promisify(fs.link),
  unlink: promisify(fs.unlink),
  mkdir: async (path, mode) => {
    await promisify(fs.mkdir)(path, { mode })
  },
  rmdir: (path) => promisify(fs.rmdir)(path),
  readdir: (path) => readdir(path, { withFileTypes: true })
}

/** @since 0.1.0 @category constants */
export const flags = {
  read: fs.constants.O_RDONLY,
  write: fs.constants.O_WRONLY,
  create: fs.constants.O_CREAT,
  exclusive: fs.constants.O_EXCL,
  /** Zero where the system has no such flag. */
  no_follow: fs.constants.O_NOFOLLOW ?? 0,
  directory: fs.constants.O_DIRECTORY ?? 0,
  no_wait: fs.constants.O_NONBLOCK ?? 0
} as const
