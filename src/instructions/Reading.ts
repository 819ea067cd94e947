/**
 * Reads instruction files and what they import. Loaded when there is one.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { mentions } from "./Mentions.ts"
import { cutTo, decode, maxFileBytes } from "./Text.ts"
import type { InstructionFile, InstructionOrigin } from "./Wording.ts"

/** A file that is there, to be read. @since 0.1.0 @category models */
export interface Found {
  /** Absolute. */
  readonly file: string
  readonly origin: InstructionOrigin
  /** The user's own: links and imports may lead anywhere in the home directory that is not hidden. */
  readonly own: boolean
  /** Of an import: the folder of the file that names it. */
  readonly beside?: string
}

/** @since 0.1.0 @category models */
export interface ReadOptions {
  /** Canonical. */
  readonly root: string
  /** As they are set. */
  readonly home: string
  readonly config: string
  /** What all files may have together, in bytes. */
  readonly max_bytes: number
  /** A rule denies `read` of this canonical path. */
  readonly denies: (path: string) => boolean
  /** Canonical paths that are in the prompt already. */
  readonly known?: ReadonlySet<string>
}

/** `notices`: what was left out and why, for the person; each names its file. @since 0.1.0 @category models */
export interface Gathered {
  readonly files: ReadonlyArray<InstructionFile>
  readonly notices: ReadonlyArray<string>
}

/** How deep imports go, and how many files there are in all. */
const maxDepth = 5
const maxFiles = 50

/** Folders and files of a project whose name begins with a dot, and which are there to be read. */
const readableDots = new Set([
  ".agents",
  ".claude",
  ".hanzo",
  ".github",
  ".cursor",
  ".cursorrules",
  ".windsurfrules",
  ".clinerules"
])

/** Files of a configuration, of the user or of the project, that hold secrets, or say what is trusted. */
const secretFiles: ReadonlySet<string> = new Set([
  "credentials.json",
  "trust.json",
  "settings.json",
  "settings.local.json",
  "mcp.json"
])

const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`)

/** As people know it. @since 0.1.0 @category encoding */
export const shownPath = (path: string, { home, root }: Pick<ReadOptions, "home" | "root">): string =>
  path !== root && isWithin(path, root)
    ? path.slice(root === "/" ? 1 : root.length + 1)
    : isWithin(path, home)
    ? `~${path.slice(home.length)}`
    : path

const dirname = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf("/")))

/** `..` and `.` taken out, without a look at the disk. */
const resolve = (base: string, path: string): string => {
  const parts: Array<string> = []
  for (const part of (path.startsWith("/") ? path : `${base}/${path}`).split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "" && part !== ".") parts.push(part)
  }
  return `/${parts.join("/")}`
}

/** The first bytes of a file that is too long to be read whole. */
const beginning = (fs: FileSystem.FileSystem, path: string): Effect.Effect<Uint8Array> =>
  Effect.scoped(
    Effect.flatMap(fs.open(path, { flag: "r" }), (file) => file.readAlloc(FileSystem.Size(maxFileBytes + 8)))
  ).pipe(Effect.map(Option.getOrElse(() => new Uint8Array())), Effect.orElseSucceed(() => new Uint8Array()))

type Read =
  | { readonly text: string; readonly size: number; readonly cut: boolean; readonly remark: string | null }
  | { readonly problem: string }

const readText = (fs: FileSystem.FileSystem, path: string): Effect.Effect<Read> =>
  Effect.gen(function*() {
    const info = yield* fs.stat(path)
    if (info.type !== "File") return { problem: "is no file" }
    const size = Number(info.size)
    const long = size > maxFileBytes * 4
    const decoded = decode(yield* long ? beginning(fs, path) : fs.readFile(path), !long)
    if ("problem" in decoded) return decoded
    const { cut, text } = cutTo(decoded.text, maxFileBytes)
    return { text, size, cut: cut || long, remark: decoded.remark }
  }).pipe(Effect.catchAll((error) =>
    Effect.succeed({
      problem: `cannot be read: ${error._tag === "SystemError" ? error.reason : error.message}`
    })
  ))

/**
 * The files in their order, each followed by what it imports; none twice. Never fails: what cannot be used is told.
 *
 * @since 0.1.0
 * @category combinators
 */
export const gather = (
  fs: FileSystem.FileSystem,
  found: ReadonlyArray<Found>,
  options: ReadOptions
): Effect.Effect<Gathered> =>
  Effect.gen(function*() {
    const { root } = options
    // what files lead to is compared with where these really are
    const real = (path: string) => Effect.orElseSucceed(fs.realPath(path), () => path)
    const home = yield* real(options.home)
    const config = yield* real(options.config)
    const files: Array<InstructionFile> = []
    const notices: Array<string> = []
    const seen = new Set<string>(options.known)
    const shown = (path: string): string => shownPath(path, { home, root })
    let left = options.max_bytes
    let full = false

    /** Files that nobody means to show: below a folder with a dot, or secrets of the configuration. */
    const isHidden = (real: string, own: boolean, beside: string | undefined): boolean => {
      const base = [root, config, ...(own && beside !== undefined && beside !== "/" ? [beside] : []), home]
        .find((each) => isWithin(real, each)) ?? "/"
      const parts = real.slice(base === "/" ? 0 : base.length).split("/")
      if (
        secretFiles.has(parts.at(-1) ?? "") && (isWithin(real, config) || parts.some((part) => readableDots.has(part)))
      ) return true
      return parts.some((part) => part.startsWith(".") && !readableDots.has(part))
    }

    /** Where the file really is; null = it is not used, and that was told. */
    const place = ({ beside, file, origin, own }: Found, from: string | null): Effect.Effect<string | null> =>
      Effect.gen(function*() {
        const name = from === null ? shown(file) : from
        const real = yield* Effect.orElseSucceed(fs.realPath(file), () => null)
        if (real === null) {
          notices.push(`${name}: ${shown(file)} cannot be read, it leads nowhere`)
          return null
        }
        const inside = own ? [home, config, root].some((each) => isWithin(real, each)) : isWithin(real, root)
        // a user may keep the file itself anywhere, by a link
        if (!inside && !(own && origin === "user")) {
          notices.push(
            `${name}: ${shown(file)} leads out of the ${own ? "home directory" : "project"} and was not read`
          )
          return null
        }
        // a checkout may make the file itself a link to what it would not be given as an import
        if ((origin === "import" || (!own && real !== file)) && isHidden(real, own, beside)) {
          notices.push(`${name}: ${shown(real)} is hidden and was not read`)
          return null
        }
        if (options.denies(real)) {
          notices.push(`${name}: a rule denies read of ${shown(real)}, and it was not read`)
          return null
        }
        return real
      })

    const visit = (each: Found, depth: number, from: string | null): Effect.Effect<void> =>
      Effect.gen(function*() {
        const real = yield* place(each, from)
        if (real === null || seen.has(real)) return
        if (files.length >= maxFiles || left <= 0) {
          if (!full) {
            notices.push(`there are more instruction files than have room; ${shown(real)} and later ones are left out`)
          }
          full = true
          return
        }
        seen.add(real)
        const read = yield* readText(fs, real)
        if ("problem" in read) return void notices.push(`${from ?? shown(real)}: ${shown(real)} ${read.problem}`)
        if (read.remark !== null) notices.push(`${shown(real)} ${read.remark}`)
        const { cut, text } = cutTo(read.text, Math.min(left, maxFileBytes))
        left -= new TextEncoder().encode(text).length
        if (text === "" && !cut) return
        if (cut || read.cut) notices.push(`${shown(real)} is long; only its beginning goes to the model`)
        files.push({
          path: real,
          shown: shown(real),
          origin: each.origin,
          own: each.own,
          text: cut || read.cut
            ? `${text}\n[cut here: the file has ${read.size} bytes; read it for the rest]`
            : text
        })
        for (const { explicit, line, path } of mentions(text)) {
          const target = path.startsWith("~/") ? `${home}${path.slice(1)}` : resolve(dirname(real), path)
          const at = `${shown(real)}:${line}`
          if (seen.has(target)) continue
          const info = yield* Effect.orElseSucceed(fs.stat(target), () => null)
          if (info === null || info.type !== "File") {
            if (explicit) notices.push(`${at}: @${path} is ${info === null ? "not there" : "no file"}`)
          } else if (depth >= maxDepth) {
            notices.push(`${at}: @${path} is imported too deep (${maxDepth}) and was not read`)
          } else {
            yield* visit({ file: target, origin: "import", own: each.own, beside: dirname(real) }, depth + 1, at)
          }
        }
      })

    for (const each of found) yield* visit(each, 0, null)
    return { files, notices }
  })
