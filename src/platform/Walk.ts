/**
 * Files below a directory by glob: `.gitignore` files respected, nested ones too, symbolic links never followed, `.git`
 * never entered. The rules that hold are those of `git` for a work tree: every `.gitignore` from its top directory (or,
 * outside of any, from the root of the file system) down to the file, the deepest with a word deciding. A directory with
 * a `.git` of its own starts anew. If the starting directory is itself ignored, only rules inside of it count: whoever
 * names an ignored directory wants to see it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Ignore } from "ignore"
import * as fs from "node:fs"
import { lstat, readFile } from "node:fs/promises"
import * as path from "node:path"
import { type FileError, fromCause } from "./FileError.ts"

/** @since 0.1.0 @category models */
export interface WalkInput {
  /** Canonical path of the directory to start from. */
  readonly directory: string
  /** A glob relative to it: `*`, `**`, `?`, `[...]`, `{a,b}`. */
  readonly pattern: string
  /** Has the first word on an entry, before `.gitignore`; `relative` has no leading or trailing slash. */
  readonly choose?: (relative: string, is_directory: boolean) => "include" | "exclude" | "none"
}

/** @since 0.1.0 @category models */
export interface Walked {
  /** Relative to the directory, with `/`, in no order. */
  readonly files: ReadonlyArray<string>
  /** The directory itself is ignored by rules above it; those rules were left out. */
  readonly start_ignored: boolean
}

interface Rules {
  readonly base: string
  readonly rules: Ignore
}

type Chain = ReadonlyArray<Rules>

const relative = (base: string, at: string): string => path.relative(base, at).split(path.sep).join("/")

/** The deepest file with a word decides. */
const isIgnored = (chain: Chain, at: string, is_directory: boolean): boolean => {
  for (let i = chain.length - 1; i >= 0; i--) {
    const level = chain[i]
    if (level === undefined) continue
    const { ignored, unignored } = level.rules.test(relative(level.base, at) + (is_directory ? "/" : ""))
    if (ignored) return true
    if (unignored) return false
  }
  return false
}

const rulesOf = async (directory: string): Promise<Chain> => {
  try {
    const text = await readFile(path.join(directory, ".gitignore"), "utf8")
    const { default: ignore } = await import("ignore")
    const rules = ignore({ ignorecase: false }).add(text.replace(/^\uFEFF/u, ""))
    // A pattern that cannot be compiled throws at its first use; such a file is left out.
    rules.test("probe")
    return [{ base: directory, rules }]
  } catch {
    return []
  }
}

const exists = async (at: string): Promise<boolean> => {
  try {
    await lstat(at)
    return true
  } catch {
    return false
  }
}

const isLink = async (at: string): Promise<boolean> => {
  try {
    return (await lstat(at)).isSymbolicLink()
  } catch {
    return true
  }
}

/** Rules from above the starting directory, and whether they ignore it. */
const above = async (start: string): Promise<{ readonly chain: Chain; readonly start_ignored: boolean }> => {
  const ways = [start]
  for (let at = start; !(await exists(path.join(at, ".git"))) && path.dirname(at) !== at;) {
    at = path.dirname(at)
    ways.unshift(at)
  }
  let chain: Chain = []
  for (const at of ways) {
    if (isIgnored(chain, at, true)) return { chain: [], start_ignored: true }
    if (at !== start) chain = [...chain, ...await rulesOf(at)]
  }
  return { chain, start_ignored: false }
}

const nothing: Array<fs.Dirent> = []

const run = async (input: WalkInput, signal: AbortSignal): Promise<Walked> => {
  const start = input.directory
  const upper = await above(start)
  const chains = new Map<string, Promise<Chain | null>>()
  // Directories that a listing of their parent has shown to be none but directories.
  const seen = new Set<string>([start])

  /** Rules that hold for the entries of a directory; null = it is ignored itself, or a link. */
  const chainOf = (directory: string, entries?: ReadonlyArray<fs.Dirent>): Promise<Chain | null> => {
    const known = chains.get(directory)
    if (known !== undefined) return known
    const has = (name: string): boolean | Promise<boolean> =>
      entries === undefined ? exists(path.join(directory, name)) : entries.some((entry) => entry.name === name)
    const found = directory === start
      ? rulesOf(start).then((own) => [...upper.chain, ...own])
      : chainOf(path.dirname(directory)).then(async (chain) => {
        if (chain === null || !keep(chain, directory, true)) return null
        // A fixed part of the pattern is entered without a listing: it may be a link.
        if (!seen.has(directory) && await isLink(directory)) return null
        const own = await has(".gitignore") ? await rulesOf(directory) : []
        return await has(".git") ? own : own.length === 0 ? chain : [...chain, ...own]
      })
    chains.set(directory, found)
    return found
  }

  const keep = (chain: Chain, at: string, is_directory: boolean): boolean => {
    if (path.basename(at) === ".git") return false
    const choice = input.choose?.(relative(start, at), is_directory) ?? "none"
    return choice === "include" || (choice === "none" && !isIgnored(chain, at, is_directory))
  }

  const readdir = (
    directory: string,
    _options: unknown,
    done: (error: NodeJS.ErrnoException | null, entries: Array<fs.Dirent>) => void
  ): void => {
    const at = path.resolve(directory)
    fs.readdir(at, { withFileTypes: true }, (error, entries) => {
      if (error !== null) return done(error, nothing)
      chainOf(at, entries).then(
        (chain) =>
          done(
            null,
            chain === null ? nothing : entries.filter((entry) => {
              const below = path.join(at, entry.name)
              if (entry.isDirectory()) seen.add(below)
              return keep(chain, below, entry.isDirectory())
            })
          ),
        () => done(null, nothing)
      )
    })
  }

  const { glob } = await import("tinyglobby")
  const files = await glob(input.pattern, {
    cwd: start,
    dot: true,
    onlyFiles: true,
    expandDirectories: false,
    followSymbolicLinks: false,
    // The declared overloads ask for more than what is called with `followSymbolicLinks: false`.
    fs: { readdir: readdir as unknown as typeof fs.readdir },
    signal
  })
  return { files, start_ignored: upper.start_ignored }
}

/** @since 0.1.0 @category constructors */
export const walk = (input: WalkInput): Effect.Effect<Walked, FileError> =>
  Effect.tryPromise({
    try: (signal) => run(input, signal),
    catch: (cause) => fromCause("list", input.directory, cause)
  })

/** Whether rules above a directory ignore it. @since 0.1.0 @category combinators */
export const startIgnored = (directory: string): Effect.Effect<boolean> =>
  Effect.promise(async () => (await above(directory)).start_ignored)
