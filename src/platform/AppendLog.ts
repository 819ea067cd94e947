/**
 * A file of lines that only grows: each line goes out in one write, old files move aside (`FILE.1` is the newest of
 * them). Several processes may write to it.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Layers from "../domain/Layers.ts"
import { makeDirectories } from "./MakeDirectories.ts"
import { type FileError, fromCause } from "./FileError.ts"

/** @since 0.1.0 @category models */
export interface AppendInput {
  /** Absolute. Created with mode 0600, its directories with 0700. */
  readonly file: string
  /** Without its last newline. Several lines, joined by newlines, stay together: one write, one file. */
  readonly line: string
  /** A file that would grow past this many bytes moves aside first. */
  readonly max_bytes: number
  /** Files in all, the current one included. */
  readonly max_files: number
}

/** @since 0.1.0 @category models */
export interface AppendLogService {
  readonly append: (input: AppendInput) => Effect.Effect<void, FileError>
  /** Lines of all files, the oldest first; a missing file is empty. Lines that are not whole are left out. */
  readonly read: (file: string, max_files: number) => Effect.Effect<ReadonlyArray<string>, FileError>
}

const staleLockMs = 10_000

const codeOf = (cause: unknown): unknown =>
  typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined

/** Of a regular file; anything else is left where it is, and opening it fails. */
const sizeOf = (file: string): number => {
  try {
    const stat = fs.lstatSync(file)
    return stat.isFile() ? stat.size : 0
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return 0
    throw cause
  }
}

/** Holds `FILE.lock` while it works; false = another process holds it. */
const locked = (file: string, now: number, work: () => void): boolean => {
  const lock = `${file}.lock`
  const take = (): boolean => {
    try {
      fs.closeSync(fs.openSync(lock, "wx", 0o600))
      return true
    } catch (cause) {
      if (codeOf(cause) === "EEXIST") return false
      throw cause
    }
  }
  let mine = take()
  if (!mine) {
    try {
      // A process that ended while it held the lock does not stop the others.
      if (now - fs.lstatSync(lock).mtimeMs > staleLockMs) {
        fs.unlinkSync(lock)
        mine = take()
      }
    } catch (cause) {
      if (codeOf(cause) !== "ENOENT") throw cause
    }
  }
  if (!mine) return false
  try {
    work()
  } finally {
    fs.unlinkSync(lock)
  }
  return true
}

const rotate = ({ file, line, max_bytes, max_files }: AppendInput, now: number): void => {
  const full = (): boolean => {
    const size = sizeOf(file)
    return size > 0 && size + Buffer.byteLength(line) + 1 > max_bytes
  }
  if (!full()) return
  locked(file, now, () => {
    // Another process may have moved it meanwhile.
    if (!full()) return
    for (let n = max_files - 1; n >= 1; n--) {
      const from = n === 1 ? file : `${file}.${n - 1}`
      if (fs.existsSync(from)) fs.renameSync(from, `${file}.${n}`)
    }
    if (max_files <= 1) fs.unlinkSync(file)
  })
}

const appendFlags = fs.constants.O_RDWR | fs.constants.O_APPEND | fs.constants.O_CREAT | (fs.constants.O_NOFOLLOW ?? 0)

const appendLine = (input: AppendInput, now: number): void => {
  makeDirectories(path.dirname(input.file), 0o700)
  rotate(input, now)
  const fd = fs.openSync(input.file, appendFlags, 0o600)
  try {
    const stat = fs.fstatSync(fd)
    if (!stat.isFile()) throw Object.assign(new Error("it is not a regular file"), { code: "ENXIO" })
    if ((stat.mode & 0o777) !== 0o600) fs.fchmodSync(fd, 0o600)
    // What a full disk left of an earlier line does not spoil this one.
    const last = Buffer.alloc(1)
    const torn = stat.size > 0 && fs.readSync(fd, last, 0, 1, stat.size - 1) === 1 && last[0] !== 0x0a
    const bytes = Buffer.from(`${torn ? "\n" : ""}${input.line}\n`)
    const written = fs.writeSync(fd, bytes)
    if (written !== bytes.length) throw Object.assign(new Error("the line was cut"), { code: "ENOSPC" })
  } finally {
    fs.closeSync(fd)
  }
}

const readLines = (file: string, max_files: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (let n = max_files - 1; n >= 0; n--) {
    try {
      const text = fs.readFileSync(n === 0 ? file : `${file}.${n}`, "utf8")
      const whole = text.endsWith("\n") ? text : text.slice(0, text.lastIndexOf("\n") + 1)
      for (const line of whole.split("\n")) if (line !== "") lines.push(line)
    } catch (cause) {
      if (codeOf(cause) !== "ENOENT") throw cause
    }
  }
  return lines
}

/** @since 0.1.0 @category services */
export class AppendLog extends Context.Tag("@hanzo/dev/platform/AppendLog")<AppendLog, AppendLogService>() {
  /** Synchronous calls: a line is a few hundred bytes, and its order is that of the calls. */
  static readonly layer: Layer.Layer<AppendLog> = Layers.succeed(AppendLog, {
    append: (input) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.try({
          try: () => appendLine(input, now),
          catch: (cause) => fromCause("write", input.file, cause)
        })),
    read: (file, max_files) =>
      Effect.try({ try: () => readLines(file, max_files), catch: (cause) => fromCause("read", file, cause) })
  })
}
