/**
 * Puts files back: what is in the way goes first, then each file comes whole or not at all. A file that is no longer as
 * the snapshot of the present has it is left alone and told.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { contentHash, latin1Of, lookAt, octetsOf, textOf } from "../platform/ByteTree.ts"
import * as Writer from "../platform/ByteTreeWriter.ts"
import type { ProcessesService } from "../platform/Processes.ts"
import { type Git, gitFailure, processFailure } from "./Git.ts"
import type { Entry, Index } from "./Index.ts"
import { above, type KeptFile } from "./Listing.ts"
import type { Steps } from "./Plan.ts"
import type { LeftOut, SnapshotError, Unrestored } from "./Snapshots.ts"

/** @since 0.1.0 @category models */
export interface RestoreInput {
  readonly processes: ProcessesService
  readonly git: Git
  readonly root: string
  readonly present: Index
  readonly steps: Steps
}

/** How many files are as they were, and what could not be done. @since 0.1.0 @category models */
export interface RestoreEnd {
  readonly files: number
  readonly failed: ReadonlyArray<Unrestored>
}

const why = (error: unknown): string => {
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : ""
  const words: Readonly<Record<string, string>> = {
    EACCES: "permission denied",
    EPERM: "permission denied",
    ENOSPC: "the disk is full",
    EROFS: "the file system is read-only",
    EISDIR: "a folder stands there that is not empty",
    ENOTEMPTY: "a folder stands there that is not empty"
  }
  return words[code] ?? (error instanceof Error ? error.message : String(error))
}

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : ""

/** A file or link on its way to its place. */
interface Opened {
  readonly path: string
  readonly file: KeptFile
  pending: Writer.PendingFile | null
  readonly link: Array<Uint8Array>
}

/** Blobs of `cat-file --batch` as they come, in pieces. */
const reader = (on: {
  readonly begin: (size: number | null) => void
  readonly piece: (bytes: Uint8Array) => void
  readonly end: () => void
}) => {
  let head = ""
  let left = -1
  return (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.byteLength;) {
      if (left < 0) {
        const end = bytes.indexOf(10, at)
        head += latin1Of(bytes.subarray(at, end < 0 ? bytes.byteLength : end))
        if (end < 0) return
        at = end + 1
        const size = /^[0-9a-f]+ blob (\d+)$/u.exec(head)?.[1]
        head = ""
        if (size === undefined) {
          on.begin(null)
          continue
        }
        on.begin(Number(size))
        // the newline behind the content is part of what is left
        left = Number(size) + 1
        continue
      }
      const piece = bytes.subarray(at, Math.min(bytes.byteLength, at + left))
      left -= piece.byteLength
      at += piece.byteLength
      const content = left === 0 ? piece.subarray(0, piece.byteLength - 1) : piece
      if (content.byteLength > 0) on.piece(content)
      if (left === 0) {
        on.end()
        left = -1
      }
    }
  }
}

/** @since 0.1.0 @category combinators */
export const restore = (
  { git, present, processes, root, steps }: RestoreInput
): Effect.Effect<RestoreEnd, SnapshotError> =>
  Effect.suspend(() => {
    const failed = new Map<string, string>()
    const modes = new Map(steps.directory_modes)
    let files = 0
    // one that no snapshot names keeps the mode that the system gives it
    const made = (): void => undefined

    /** The path is as the snapshot of the present has it. */
    const still = (path: string): boolean => {
      const entry: Entry | undefined = present.entries.get(path)
      const is = lookAt(root, path)
      if (entry === undefined || is === null) return entry === undefined && is === null
      if (is.kind !== entry.kind) return false
      if (is.kind === "directory") return true
      const alike = is.size === entry.size && is.mtime === entry.mtime && is.ino === entry.ino
      if (alike && is.ctime === entry.ctime) return true
      if (is.mode !== entry.mode) return false
      // another name of the same file was replaced just now; or it was opened to be read, and closed again
      const oid = contentHash(root, path, is.kind)
      return oid === null ? alike : oid === entry.oid
    }

    /** A folder that its owner cannot write to is opened for the time of the restoration. */
    const attempt = (path: string, act: () => void): boolean => {
      try {
        act()
        return true
      } catch (error) {
        if (codeOf(error) === "EACCES") {
          try {
            for (const at of [...above(path)].reverse()) {
              const is = lookAt(root, at)
              if (is?.kind !== "directory" || (is.mode & 0o700) === 0o700) continue
              if (!modes.has(at)) modes.set(at, is.mode)
              Writer.setMode(root, at, is.mode | 0o700)
            }
            act()
            return true
          } catch (again) {
            failed.set(path, why(again))
            return false
          }
        }
        failed.set(path, why(error))
        return false
      }
    }
    const meanwhile = "it was changed meanwhile and was left as it is"
    const inTheWay: Readonly<Record<LeftOut["reason"], string>> = {
      special: "a socket, a pipe or a device stands there",
      unreadable: "what stands there cannot be read and was left as it is",
      size: "what stands there is too large to be kept and was left as it is",
      total: "what stands there is not kept and was left as it is",
      many: "what stands there is not kept and was left as it is"
    }
    const whyNot = (path: string): string => {
      const left = present.left.get(path)
      return left === undefined || lookAt(root, path) === null ? meanwhile : inTheWay[left.reason]
    }

    const needed = new Set(steps.write.map(({ path }) => path))
    // folders that their owner has closed: nothing can be said of what is in them before they are open
    const ways = new Set(
      [...steps.remove, ...needed, ...steps.modes.map(({ path }) => path), ...steps.remove_directories].flatMap(above)
    )
    for (const at of [...ways, ...steps.remove_directories].sort()) {
      const entry = present.entries.get(at)
      if (entry?.kind !== "directory" || (entry.mode & 0o700) === 0o700) continue
      if (lookAt(root, at)?.kind !== "directory") continue
      if (!modes.has(at)) modes.set(at, entry.mode)
      try {
        Writer.setMode(root, at, entry.mode | 0o700)
      } catch {
        // what needs it says so
      }
    }
    const asDirectories = new Set(steps.make_directories)
    for (const [path, { reason }] of present.left) {
      if (
        reason !== "special" || !(asDirectories.has(path) || [path, ...above(path)].some((at) => needed.has(at)))
      ) continue
      attempt(path, () => Writer.removePipe(root, path))
    }

    for (const path of steps.remove) {
      if (!still(path)) failed.set(path, meanwhile)
      else if (attempt(path, () => Writer.removeFile(root, path))) files++
    }
    for (const path of steps.remove_directories) {
      if (lookAt(root, path)?.kind !== "directory") continue
      attempt(path, () => {
        if (Writer.removeDirectory(root, path)) return
        if (lookAt(root, `${path}/.git`) !== null) failed.set(path, "the repository in it was left as it is")
        else if (needed.has(path)) failed.set(path, "a folder stands there that is not empty")
      })
    }
    for (const path of steps.make_directories) {
      if (lookAt(root, path)?.kind === "directory") continue
      attempt(path, () => Writer.createDirectory(root, path, made))
    }

    // what has other names, perhaps outside of here, is written anew: its mode is theirs too
    const shared = steps.modes.flatMap(({ mode, path }) => {
      const entry = present.entries.get(path)
      return entry?.kind === "file" && (lookAt(root, path)?.names ?? 1) > 1
        ? [{ path, file: { kind: "file" as const, oid: entry.oid, mode, ignored: entry.ignored } }]
        : []
    })
    const rewritten = new Set(shared.map(({ path }) => path))
    const write = [...steps.write, ...shared].filter(({ path }) => !failed.has(path))
    const gone = new Set(steps.remove)
    const placed = (path: string): boolean => {
      const entry = present.entries.get(path)
      // what had to go first is gone by now
      return entry === undefined || entry.kind === "directory" || gone.has(path)
        ? lookAt(root, path) === null
        : still(path)
    }

    const writeAll = write.length === 0 ? Effect.void : Effect.scoped(Effect.gen(function*() {
      const args = ["cat-file", "--batch"]
      const asked = octetsOf(write.map(({ file }) => `${file.oid}\n`).join(""))
      const child = yield* Effect.mapError(processes.spawn(git.input({ args, stdin: asked })), processFailure)
      let at = 0
      let open = null as Opened | null
      const push = reader({
        begin: (size) => {
          const one = write[at++]
          open = null
          if (one === undefined) return
          if (size === null) {
            failed.set(one.path, "its content is missing from the snapshots")
            return
          }
          const { file, path } = one
          const opened: Opened = { path, file, pending: null, link: [] }
          if (!placed(path)) failed.set(path, whyNot(path))
          else if (file.kind === "link") open = opened
          else if (
            attempt(path, () => {
              opened.pending = Writer.createFile(root, path, file.mode, made)
            })
          ) open = opened
        },
        piece: (bytes) => {
          const into = open
          if (into === null) return
          if (into.file.kind === "link") return void into.link.push(bytes.slice())
          if (!attempt(into.path, () => into.pending?.write(bytes))) {
            into.pending?.abort()
            open = null
          }
        },
        end: () => {
          const into = open
          open = null
          if (into === null) return
          const { path } = into
          if (into.file.kind === "link") {
            const target = octetsOf(into.link.map(latin1Of).join(""))
            if (attempt(path, () => Writer.createLink(root, path, target, made))) files++
            return
          }
          attempt(path, () => {
            if (into.pending?.commit(() => placed(path)) === true) files++
            else failed.set(path, meanwhile)
          })
        }
      })
      const errors = yield* Effect.fork(Stream.runFold(child.stderr, "", (text, bytes) => text + latin1Of(bytes)))
      yield* Stream.runForEach(child.stdout, (bytes) => Effect.sync(() => push(bytes)))
      const status = yield* child.exit
      open?.pending?.abort()
      for (const { path } of write.slice(at)) failed.set(path, "its content could not be read from the snapshots")
      if (status.code !== 0 && at < write.length) {
        return yield* gitFailure(args, { ...status, stderr: octetsOf(yield* errors) })
      }
    }))

    return Effect.map(writeAll, () => {
      for (const { mode, path } of steps.modes) {
        if (rewritten.has(path)) continue
        if (!still(path)) failed.set(path, meanwhile)
        else if (attempt(path, () => Writer.setMode(root, path, mode))) files++
      }
      const deepest = [...modes].sort(([a], [b]) => b.split("/").length - a.split("/").length)
      for (const [path, mode] of deepest) {
        if (lookAt(root, path)?.kind === "directory") attempt(path, () => Writer.setMode(root, path, mode))
      }
      return { files, failed: [...failed].map(([path, reason]) => ({ path: textOf(path), why: reason })) }
    })
  })
