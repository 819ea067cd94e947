/**
 * Loads the bundled commands with V8's code cache, which halves the time to start: parsing and compiling are read from
 * a file instead of done again. Without a fitting cache the code runs all the same and one is written at the end.
 *
 * The cache of the build lies beside the code; another version of Node makes its own in the user's cache directory. A
 * cache is code: one that others could have written is not used.
 *
 * @since 0.1.0
 */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import * as v8 from "node:v8"
import * as vm from "node:vm"
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

const write = (file: string, data: Buffer): void => {
  const temporary = `${file}.${process.pid}`
  try {
    makeDirectories(path.dirname(file), 0o700)
    writeFileSync(temporary, data, { mode: 0o600, flag: "wx" })
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

/** What the commands see as `performance`: the real one loads ten modules of Node. Milliseconds since the program began. */
const begun = process.hrtime.bigint()
const clock = { now: (): number => Number(process.hrtime.bigint() - begun) / 1e6 }

/**
 * The module's exports. `file` lies beside the running program; its text is ASCII and one function, of what a CommonJS
 * module is given and a clock.
 *
 * @since 0.1.0
 * @category constructors
 */
export const load = (file: string): unknown => {
  // The shell grammar is one large WebAssembly function. Optimising it takes a third of a second of a processor and 25 MB
  // to save microseconds a line. Set first: flags are a part of what a code cache must fit.
  v8.setFlagsFromString("--liftoff-only")
  // A young generation that grows in larger steps: three small collections while the program starts, then none.
  v8.setFlagsFromString("--semi-space-growth-factor=12")
  const at = path.join(__dirname, file)
  // One byte a character: the build escapes everything else.
  const source = readFileSync(at, "latin1")
  const key = `${process.versions.node}-${process.arch}-${v8.cachedDataVersionTag().toString(16)}`
  const built = `${at}.${key}.cache`
  const user = (): string =>
    path.join(
      placeOf("CACHE", {
        variable: (name) => process.env[name] || undefined,
        home: homeOf(process.env["HOME"]) ?? "/"
      }),
      "code",
      `${source.length.toString(36)}-${statSync(at).mtimeMs.toString(36)}-${key}.cache`
    )
  const wanted = mode()
  const cachedData = wanted === "off" ? undefined : read(built) ?? (wanted === "build" ? undefined : read(user()))
  const script = new vm.Script(source, { filename: at, ...(cachedData === undefined ? {} : { cachedData }) })
  if (wanted === "build" || (wanted !== "off" && (cachedData === undefined || script.cachedDataRejected === true))) {
    // At the end, when the functions that were used are compiled and belong to the cache too.
    process.once("exit", () => write(wanted === "build" ? built : user(), script.createCachedData()))
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
