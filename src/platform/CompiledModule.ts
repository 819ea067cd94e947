/**
 * Loads a bundled part of the program with V8's code cache, which halves the time to start: parsing and compiling are read
 * from a file instead of done again. Without a fitting cache the code runs all the same and one is written at the end.
 *
 * The cache of the build lies beside the code; another version of Node, or other flags of V8, make their own in the user's
 * cache directory. A cache is code: one that others could have written is not used.
 *
 * V8 checks the length of a cache and of the code that it was made of, and nothing else of either: a damaged cache ends the
 * process or never comes back. One of the user's directory, which stays when the program is replaced, has a CRC-32 of both
 * behind it. That of the build is made, kept and replaced together with the code; checking it would cost every start.
 *
 * No flag of V8 is set here: what Node has compiled of its own modules fits the flags it was built with, and would be
 * compiled anew with any other.
 *
 * @since 0.1.0
 */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { cachedDataVersionTag } from "node:v8"
import * as vm from "node:vm"
import { crc32 } from "node:zlib"
import { homeOf } from "./Home.ts"
import { makeDirectories } from "./MakeDirectories.ts"
import { placeOf } from "./Places.ts"

/** `HANZO_CODE_CACHE`: `off` does without; `build` writes beside the code (the package's own build). */
const mode = (): string | undefined => process.env["HANZO_CODE_CACHE"]

const ownAndPrivate = (file: string): boolean => {
  if (process.getuid === undefined) return true
  const info = statSync(file)
  const uid = process.getuid()
  return (info.uid === uid || info.uid === 0) && (info.mode & 0o022) === 0
}

const read = (file: string): Buffer | undefined => {
  try {
    return ownAndPrivate(file) ? readFileSync(file) : undefined
  } catch {
    return undefined
  }
}

const sumBytes = 4

const sealOf = (code: Buffer, data: Buffer): Buffer => {
  const sum = Buffer.alloc(sumBytes)
  sum.writeUInt32LE(crc32(data, crc32(code)))
  return sum
}

/** What `sealed` was made of; undefined when it or the code has changed since. */
const unsealed = (code: Buffer, sealed: Buffer | undefined): Buffer | undefined => {
  if (sealed === undefined || sealed.length < sumBytes) return undefined
  const data = sealed.subarray(0, -sumBytes)
  try {
    return sealOf(code, data).equals(sealed.subarray(-sumBytes)) ? data : undefined
  } catch {
    // a Node that has no crc32
    return undefined
  }
}

/** `built`: it is for all users of the program, and on the disk before it has its name. */
const write = (file: string, data: () => Buffer, built: boolean): void => {
  const temporary = `${file}.${process.pid}`
  try {
    const bytes = data()
    makeDirectories(path.dirname(file), 0o700)
    writeFileSync(temporary, bytes, { mode: built ? 0o644 : 0o600, flag: "wx", flush: built })
    renameSync(temporary, file)
  } catch {
    // A start without cache is slower, nothing else.
    try {
      rmSync(temporary, { force: true })
    } catch {
      // there is no such directory
    }
  }
}

/** So many stay: those of some versions of the program and of Node, side by side. */
const mostKept = 12

/** Removes what has not been written for longest, and what writers have left behind that never came to an end. */
const tidy = (directory: string): void => {
  try {
    const found = readdirSync(directory).flatMap((name) => {
      const file = path.join(directory, name)
      return /\.cache(?:\.\d+)?$/.test(name) ? [{ file, at: statSync(file).mtimeMs }] : []
    })
    for (const { file } of found.sort((a, b) => b.at - a.at).slice(mostKept)) rmSync(file)
  } catch {
    // another start is tidying
  }
}

/** What the commands see as `performance`: the real one loads ten modules of Node. Milliseconds since the program began. */
const begun = process.hrtime.bigint()
const clock = { now: (): number => Number(process.hrtime.bigint() - begun) / 1e6 }

interface Compiled {
  readonly script: vm.Script
  readonly fits: boolean
}

const withCache = (source: string, at: string, cachedData: Buffer | undefined): Compiled | undefined => {
  if (cachedData === undefined) return undefined
  const script = new vm.Script(source, { filename: at, cachedData })
  return { script, fits: script.cachedDataRejected !== true }
}

const version = `${process.versions.node}-${process.arch}`

/** In the user's directory: of this file, for this version and these flags. */
const ownCache = (source: string, at: string): string =>
  path.join(
    placeOf("CACHE", {
      variable: (name) => process.env[name] || undefined,
      home: homeOf(process.env["HOME"]) ?? "/"
    }),
    "code",
    `${source.length.toString(36)}-${statSync(at).mtimeMs.toString(36)}-${version}-${
      cachedDataVersionTag().toString(16)
    }.cache`
  )

/** What writes the caches that are missing, when the functions that were used are compiled and belong to them too. */
const missing: Array<() => void> = []

const compile = (code: Buffer, at: string): vm.Script => {
  // One byte a character: the build escapes everything else.
  const source = code.toString("latin1")
  const wanted = mode()
  const plain = (): vm.Script => new vm.Script(source, { filename: at })
  if (wanted === "off") return plain()
  const built = `${at}.${version}.cache`
  const found = withCache(source, at, read(built))
  if (found?.fits === true) return found.script
  const own = wanted === "build" ? undefined : ownCache(source, at)
  const kept = own === undefined ? undefined : withCache(source, at, unsealed(code, read(own)))
  if (kept?.fits === true) return kept.script
  const script = kept?.script ?? found?.script ?? plain()
  missing.push(() => {
    const made = (): Buffer => script.createCachedData()
    if (own === undefined) return write(built, made, true)
    write(own, () => {
      const data = made()
      return Buffer.concat([data, sealOf(code, data)])
    }, false)
    tidy(path.dirname(own))
  })
  return script
}

/** @since 0.1.0 @category errors */
export class UnusableFile extends Error {
  override readonly name = "UnusableFile"
}

const compiled = (at: string): vm.Script => {
  try {
    return compile(readFileSync(at), at)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new UnusableFile(`the file ${at} of the program cannot be used (${why}); install the package again`)
  }
}

/**
 * The module's exports. `file` lies beside the running program; its text is ASCII and one function, of what a CommonJS
 * module is given and a clock. A cache that is missing is written at the end once a module is loaded that `keeps`. Throws
 * UnusableFile when the file is not there, cannot be read or is not whole.
 *
 * @since 0.1.0
 * @category constructors
 */
export const load = (file: string, keeps: boolean): unknown => {
  const at = path.join(__dirname, file)
  const script = compiled(at)
  if (keeps && missing.length > 0) {
    process.once("exit", () => {
      for (const each of missing) each()
    })
  }
  const module: { exports: unknown } = { exports: {} }
  const run = script.runInThisContext() as (...args: ReadonlyArray<unknown>) => void
  // Reading a stack while the modules are made has V8 parse all of them once more, to find a line in them.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    run(module.exports, require, module, at, __dirname, clock)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
  return module.exports
}
