/**
 * A file system in memory: `FileSystem` of @effect/platform over a map, with POSIX paths, without links, owners and
 * watching. Enough for settings, scenarios, sessions' side files and saved tool output. Tools that act on descriptors
 * want real files: `layerTemporaryWorkspace`.
 *
 * @since 0.1.0
 */
import { type PlatformError, SystemError, type SystemErrorReason } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

/** @since 0.1.0 @category models */
export interface MemoryFilesService {
  /** Every file by its absolute path, its content as text; sorted by path. */
  readonly files: Effect.Effect<Readonly<Record<string, string>>>
}

interface FileNode {
  readonly type: "File"
  bytes: Uint8Array
  mode: number
  mtime: number
}
interface DirectoryNode {
  readonly type: "Directory"
  mode: number
  mtime: number
}
type Node = FileNode | DirectoryNode

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const normal = (path: string): string => {
  const parts: Array<string> = []
  for (const part of path.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "" && part !== ".") parts.push(part)
  }
  return `/${parts.join("/")}`
}
const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/"
const below = (directory: string): string => directory === "/" ? "/" : `${directory}/`

const refuse = (method: string, path: string, reason: SystemErrorReason, description: string) =>
  new SystemError({ module: "FileSystem", method, reason, pathOrDescriptor: path, description, syscall: method })

const make = (given: Readonly<Record<string, string | Uint8Array>>) => {
  const nodes = new Map<string, Node>([["/", { type: "Directory", mode: 0o755, mtime: 0 }]])
  let temporary = 0
  let descriptors = 2

  const addDirectories = (path: string, now: number): void => {
    if (nodes.has(path)) return
    addDirectories(parentOf(path), now)
    nodes.set(path, { type: "Directory", mode: 0o755, mtime: now })
  }
  for (const [name, content] of Object.entries(given)) {
    const path = normal(name)
    addDirectories(parentOf(path), 0)
    nodes.set(path, {
      type: "File",
      bytes: typeof content === "string" ? encoder.encode(content) : content,
      mode: 0o644,
      mtime: 0
    })
  }

  const operation = <A>(
    method: string,
    given: string,
    run: (path: string, now: number) => A
  ): Effect.Effect<A, PlatformError> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.try({
        try: () => run(normal(given), now),
        catch: (cause) =>
          cause instanceof SystemError ? cause : refuse(method, given, "Unknown", `it broke: ${String(cause)}`)
      }))

  const existingAbove = (path: string): string => nodes.has(path) ? path : existingAbove(parentOf(path))

  const nodeAt = (method: string, path: string): Node => {
    const node = nodes.get(path)
    if (node !== undefined) return node
    if (nodes.get(existingAbove(path))?.type === "File") {
      throw refuse(method, path, "BadResource", "ENOTDIR: not a directory")
    }
    throw refuse(method, path, "NotFound", "ENOENT: no such file or directory")
  }
  const fileAt = (method: string, path: string): FileNode => {
    const node = nodeAt(method, path)
    if (node.type === "File") return node
    throw refuse(method, path, "BadResource", "EISDIR: illegal operation on a directory")
  }
  const directoryAt = (method: string, path: string): DirectoryNode => {
    const node = nodeAt(method, path)
    if (node.type === "Directory") return node
    throw refuse(method, path, "BadResource", "ENOTDIR: not a directory")
  }
  const childrenOf = (directory: string): ReadonlyArray<string> =>
    [...nodes.keys()].filter((path) => path !== "/" && path.startsWith(below(directory))).sort()

  /** Opens for writing: makes the file when it may, keeps or empties it by the flag. */
  const fileForWriting = (
    method: string,
    path: string,
    now: number,
    flag: FileSystem.OpenFlag,
    mode: number | undefined
  ): FileNode => {
    const known = nodes.get(path)
    if (known !== undefined && flag.includes("x")) {
      throw refuse(method, path, "AlreadyExists", "EEXIST: file already exists")
    }
    if (known === undefined && flag.startsWith("r")) nodeAt(method, path)
    if (known === undefined) {
      directoryAt(method, parentOf(path))
      const node: FileNode = { type: "File", bytes: new Uint8Array(0), mode: mode ?? 0o644, mtime: now }
      nodes.set(path, node)
      return node
    }
    const node = fileAt(method, path)
    if (flag.startsWith("w")) {
      node.bytes = new Uint8Array(0)
      node.mtime = now
    }
    return node
  }

  const infoOf = (node: Node): FileSystem.File.Info => ({
    type: node.type,
    mtime: Option.some(DateTime.toDate(DateTime.unsafeMake(node.mtime))),
    atime: Option.some(DateTime.toDate(DateTime.unsafeMake(node.mtime))),
    birthtime: Option.none(),
    dev: 1,
    ino: Option.none(),
    mode: node.mode,
    nlink: Option.some(1),
    uid: Option.some(0),
    gid: Option.some(0),
    rdev: Option.none(),
    size: FileSystem.Size(node.type === "File" ? node.bytes.length : 0),
    blksize: Option.none(),
    blocks: Option.none()
  })

  const move = (from: string, to: string): void => {
    directoryAt("rename", parentOf(from))
    directoryAt("rename", parentOf(to))
    const node = nodeAt("rename", from)
    const target = nodes.get(to)
    if (target !== undefined && target.type !== node.type) {
      throw refuse("rename", to, "BadResource", "the target is of another kind")
    }
    if (node.type === "Directory" && `${to}/`.startsWith(`${from}/`) && to !== from) {
      throw refuse("rename", to, "BadResource", "EINVAL: a directory cannot move into itself")
    }
    if (target?.type === "Directory" && to !== from && childrenOf(to).length > 0) {
      throw refuse("rename", to, "BadResource", "ENOTEMPTY: directory not empty")
    }
    for (const path of [from, ...(node.type === "Directory" ? childrenOf(from) : [])]) {
      const moved = nodes.get(path)
      nodes.delete(path)
      if (moved !== undefined) nodes.set(to + path.slice(from.length), moved)
    }
  }

  const copyTree = (from: string, to: string, overwrite: boolean, now: number): void => {
    const node = nodeAt("copy", from)
    directoryAt("copy", parentOf(to))
    for (const path of [from, ...(node.type === "Directory" ? childrenOf(from) : [])]) {
      const target = to + path.slice(from.length)
      const source = nodes.get(path)
      if (source === undefined) continue
      const known = nodes.get(target)
      if (known !== undefined && known.type !== source.type) {
        throw refuse("copy", target, "BadResource", "the target is of another kind")
      }
      if (known?.type === "File" && !overwrite) continue
      if (source.type === "File") nodes.set(target, { ...source, bytes: source.bytes.slice(), mtime: now })
      else if (known === undefined) nodes.set(target, { ...source, mtime: now })
    }
  }

  const remove = (path: string, recursive: boolean, force: boolean): void => {
    const known = nodes.get(path)
    if (known === undefined && force && nodes.get(existingAbove(path))?.type === "Directory") return
    const node = known ?? nodeAt("remove", path)
    if (node.type === "Directory" && !recursive) {
      throw refuse("remove", path, "BadResource", "EISDIR: a directory is removed with `recursive` only")
    }
    for (const child of node.type === "Directory" ? childrenOf(path) : []) nodes.delete(child)
    if (path !== "/") nodes.delete(path)
  }

  const temporaryPath = (options: FileSystem.MakeTempDirectoryOptions | undefined, now: number): string => {
    const directory = normal(options?.directory ?? "/tmp")
    addDirectories(directory, now)
    return `${below(directory)}${options?.prefix ?? ""}${++temporary}`
  }
  const makeTempDirectory = (options?: FileSystem.MakeTempDirectoryOptions) =>
    operation("makeTempDirectory", "/", (_, now) => {
      const path = temporaryPath(options, now)
      addDirectories(path, now)
      return path
    })
  const makeTempFile = (options?: FileSystem.MakeTempFileOptions) =>
    operation("makeTempFile", "/", (_, now) => {
      const directory = temporaryPath(options, now)
      addDirectories(directory, now)
      const path = `${directory}/file${options?.suffix ?? ""}`
      fileForWriting("makeTempFile", path, now, "w", 0o600)
      return path
    })

  const open = (given: string, options?: FileSystem.OpenFileOptions) =>
    operation("open", given, (path, now): FileSystem.File => {
      const flag = options?.flag ?? "r"
      const node = flag === "r" ? fileAt("open", path) : fileForWriting("open", path, now, flag, options?.mode)
      const readable = flag === "r" || flag.includes("+")
      const writable = flag !== "r"
      const appends = flag.startsWith("a")
      let position = 0
      const handle = <A>(method: string, run: (now: number) => A) => operation(method, path, (_, now) => run(now))
      const resize = (length: number): void => {
        const bytes = new Uint8Array(length)
        bytes.set(node.bytes.subarray(0, length))
        node.bytes = bytes
      }
      const take = (size: number): Uint8Array => {
        if (!readable) throw refuse("read", path, "PermissionDenied", "EBADF: not open for reading")
        const bytes = node.bytes.slice(position, position + size)
        position += bytes.length
        return bytes
      }
      const put = (bytes: Uint8Array, now: number): void => {
        if (!writable) throw refuse("write", path, "PermissionDenied", "EBADF: not open for writing")
        const at = appends ? node.bytes.length : position
        if (at + bytes.length > node.bytes.length) resize(at + bytes.length)
        node.bytes.set(bytes, at)
        node.mtime = now
        if (!appends) position = at + bytes.length
      }
      return {
        [FileSystem.FileTypeId]: FileSystem.FileTypeId,
        fd: FileSystem.FileDescriptor(++descriptors),
        stat: handle("stat", () => infoOf(node)),
        seek: (offset, from) =>
          Effect.sync(() => {
            position = (from === "start" ? 0 : position) + Number(offset)
          }),
        sync: Effect.void,
        read: (buffer) =>
          handle("read", () => {
            const bytes = take(buffer.length)
            buffer.set(bytes)
            return FileSystem.Size(bytes.length)
          }),
        readAlloc: (size) =>
          handle("readAlloc", () => {
            const bytes = take(Number(size))
            return bytes.length === 0 ? Option.none() : Option.some(bytes)
          }),
        truncate: (length) => handle("truncate", () => resize(Number(length ?? 0))),
        write: (buffer) =>
          handle("write", (now) => {
            put(buffer, now)
            return FileSystem.Size(buffer.length)
          }),
        writeAll: (buffer) => handle("writeAll", (now) => put(buffer, now))
      }
    })

  const unsupported = (method: string) => (path: string) =>
    Effect.fail(refuse(method, path, "Unknown", "links are not part of MemoryFiles"))

  const fs = FileSystem.make({
    access: (path) => operation("access", path, (at) => void nodeAt("access", at)),
    chmod: (path, mode) =>
      operation("chmod", path, (at) => {
        nodeAt("chmod", at).mode = mode
      }),
    chown: (path) => operation("chown", path, (at) => void nodeAt("chown", at)),
    copy: (from, to, options) =>
      operation("copy", from, (at, now) => copyTree(at, normal(to), options?.overwrite ?? true, now)),
    copyFile: (from, to) =>
      operation("copyFile", from, (at, now) => {
        nodeAt("copyFile", at)
        nodeAt("copyFile", parentOf(normal(to)))
        fileAt("copyFile", at)
        copyTree(at, normal(to), true, now)
      }),
    link: unsupported("link"),
    symlink: unsupported("symlink"),
    readLink: unsupported("readLink"),
    makeDirectory: (path, options) =>
      operation("makeDirectory", path, (at, now) => {
        if (options?.recursive === true) {
          if (nodes.get(at)?.type === "File") {
            throw refuse("makeDirectory", at, "AlreadyExists", "EEXIST: file already exists")
          }
          directoryAt("makeDirectory", existingAbove(at))
          addDirectories(at, now)
          return
        }
        if (nodes.has(at)) throw refuse("makeDirectory", at, "AlreadyExists", "EEXIST: file already exists")
        directoryAt("makeDirectory", parentOf(at))
        nodes.set(at, { type: "Directory", mode: options?.mode ?? 0o755, mtime: now })
      }),
    makeTempDirectory,
    makeTempDirectoryScoped: (options) =>
      Effect.acquireRelease(makeTempDirectory(options), (path) => Effect.sync(() => remove(path, true, true))),
    makeTempFile,
    makeTempFileScoped: (options) =>
      Effect.acquireRelease(makeTempFile(options), (path) => Effect.sync(() => remove(parentOf(path), true, true))),
    open,
    readDirectory: (path, options) =>
      operation("readDirectory", path, (at) => {
        directoryAt("readDirectory", at)
        const names = childrenOf(at).map((child) => child.slice(below(at).length))
        return options?.recursive === true ? names : names.filter((name) => !name.includes("/"))
      }),
    readFile: (path) => operation("readFile", path, (at) => fileAt("readFile", at).bytes.slice()),
    realPath: (path) =>
      operation("realPath", path, (at) => {
        nodeAt("realPath", at)
        return at
      }),
    remove: (path, options) =>
      operation("remove", path, (at) => remove(at, options?.recursive === true, options?.force === true)),
    rename: (from, to) => operation("rename", from, (at) => move(at, normal(to))),
    stat: (path) => operation("stat", path, (at) => infoOf(nodeAt("stat", at))),
    truncate: (path, length) =>
      operation("truncate", path, (at, now) => {
        const node = fileAt("truncate", at)
        const bytes = new Uint8Array(Number(length ?? 0))
        bytes.set(node.bytes.subarray(0, bytes.length))
        node.bytes = bytes
        node.mtime = now
      }),
    utimes: (path, _, mtime) =>
      operation("utimes", path, (at) => {
        nodeAt("utimes", at).mtime = typeof mtime === "number" ? mtime * 1000 : mtime.getTime()
      }),
    watch: (path) => Stream.fail(refuse("watch", path, "Unknown", "watching is not part of MemoryFiles")),
    writeFile: (path, bytes, options) =>
      operation("writeFile", path, (at, now) => {
        const flag = options?.flag ?? "w"
        const node = fileForWriting("writeFile", at, now, flag, options?.mode)
        const before = flag.startsWith("a") ? node.bytes : new Uint8Array(0)
        const all = new Uint8Array(before.length + bytes.length)
        all.set(before)
        all.set(bytes, before.length)
        node.bytes = all
        node.mtime = now
      })
  })

  const files = Effect.sync(() =>
    Object.fromEntries(
      [...nodes].flatMap(([path, node]) => node.type === "File" ? [[path, decoder.decode(node.bytes)] as const] : [])
        .sort(([a], [b]) => a < b ? -1 : 1)
    )
  )
  return { fs, files }
}

/** @since 0.1.0 @category services */
export class MemoryFiles extends Context.Tag("@hanzo/dev/testing/MemoryFiles")<MemoryFiles, MemoryFilesService>() {
  /** With these files (absolute path to content); their directories exist. Times come from the Clock. */
  static readonly layer = (
    files: Readonly<Record<string, string | Uint8Array>> = {}
  ): Layer.Layer<MemoryFiles | FileSystem.FileSystem> =>
    Layer.effectContext(Effect.sync(() => {
      const memory = make(files)
      return Context.make(MemoryFiles, { files: memory.files }).pipe(
        Context.add(FileSystem.FileSystem, memory.fs)
      )
    }))
}
