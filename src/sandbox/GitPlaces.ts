/**
 * Where the git repository of a directory keeps what git executes or is configured by, and, for a linked worktree, where
 * its objects are (reading 10.5). Everything is read from files; git itself is not run.
 *
 * @since 0.1.0
 */
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import type { FilesService } from "../platform/Files.ts"

/** @since 0.1.0 @category models */
export interface ProtectedPlace {
  /** Canonical. */
  readonly path: string
  /**
   * What to cover it with when it is missing; `none` = nothing can be put there in time, `aside` = nothing may stand there
   * at all: what a command makes there is moved aside when it has ended.
   */
  readonly missing: "file" | "directory" | "none" | "aside"
}

/** @since 0.1.0 @category models */
export interface GitPlaces {
  /** The shared directory of a linked worktree or the directory of a submodule, outside the worktree. */
  readonly write_roots: ReadonlyArray<string>
  readonly protected: ReadonlyArray<ProtectedPlace>
  /** Where all that is, by the paths that git follows: links among them not resolved. */
  readonly named: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<string>
  /** What all this was read from, missing files among it. */
  readonly sources: ReadonlyArray<string>
}

/** What a git configuration says that matters here. @since 0.1.0 @category models */
export interface GitConfig {
  readonly hooks_paths: ReadonlyArray<string>
  readonly worktrees: ReadonlyArray<string>
  readonly includes: ReadonlyArray<string>
}

const unquote = (text: string): string => {
  let out = ""
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === "\\") out += text[++i] ?? ""
    else if (char === "\"") quoted = !quoted
    else if (!quoted && (char === "#" || char === ";")) break
    else out += char ?? ""
  }
  return out.trim()
}

/**
 * `core.hooksPath`, `core.worktree` and included files of a git configuration (git-config(1)); whatever else stands in
 * it is passed over. Conditions of `includeIf` are not evaluated: all of them count.
 *
 * @since 0.1.0
 * @category decoding
 */
export const parseGitConfig = (text: string): GitConfig => {
  const hooks_paths: Array<string> = []
  const worktrees: Array<string> = []
  const includes: Array<string> = []
  let section = ""
  for (const raw of text.replace(/\\\r?\n/gu, "").split(/\r?\n/u)) {
    let line = raw.trim()
    const header = /^\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]/u.exec(line)
    if (header !== null) {
      section = (header[1] ?? "").toLowerCase()
      line = line.slice(header[0].length).trim()
    }
    const entry = /^([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)$/u.exec(line)
    if (entry === null) continue
    const key = `${section}.${(entry[1] ?? "").toLowerCase()}`
    const value = unquote(entry[2] ?? "")
    if (value === "") continue
    if (key === "core.hookspath") hooks_paths.push(value)
    else if (key === "core.worktree") worktrees.push(value)
    else if (key === "include.path" || key === "includeif.path") includes.push(value)
  }
  return { hooks_paths, worktrees, includes }
}

/** @since 0.1.0 @category models */
export interface GitReader {
  readonly files: FilesService
  readonly path: Path.Path
  readonly home: string
}

const none: GitConfig = { hooks_paths: [], worktrees: [], includes: [] }
const max_text = 1024 * 1024
const max_modules = 64

/** @since 0.1.0 @category constructors */
export const gitPlaces = (reader: GitReader, root: string): Effect.Effect<GitPlaces> => {
  const { files, home, path } = reader

  const sources = new Set<string>()
  const text = (file: string): Effect.Effect<string | null> =>
    Effect.map(
      Effect.option(files.read(file, max_text)),
      (found) => found._tag === "Some" ? new TextDecoder().decode(found.value.bytes) : null
    )
  const canonical = (at: string): Effect.Effect<string | null> =>
    files.canonical(at).pipe(Effect.map((found) => found.path), Effect.orElseSucceed(() => null))
  const realText = (file: string): Effect.Effect<string | null> =>
    Effect.flatMap(
      Effect.zipRight(Effect.sync(() => sources.add(file)), canonical(file)),
      (real) => real === null ? Effect.succeed(null) : text(real)
    )
  const kindOf = (at: string): Effect.Effect<"file" | "directory" | "link" | "other" | null> =>
    files.stat(at).pipe(Effect.map((stamp) => stamp?.kind ?? null), Effect.orElseSucceed(() => null))
  const expand = (value: string, base: string): string =>
    value === "~" || value.startsWith("~/") ? home + value.slice(1) : path.resolve(base, value)

  const config = (file: string, depth = 0): Effect.Effect<GitConfig> =>
    Effect.gen(function*() {
      const found = yield* realText(file)
      if (found === null) return none
      const own = parseGitConfig(found)
      if (depth >= 5 || own.includes.length === 0) return own
      const more = yield* Effect.forEach(
        own.includes.slice(0, 32),
        (value) => config(expand(value, path.dirname(file)), depth + 1)
      )
      return {
        hooks_paths: [...own.hooks_paths, ...more.flatMap((one) => one.hooks_paths)],
        worktrees: own.worktrees,
        includes: []
      }
    })

  /** Git directories of submodules below `modules/`, found by their HEAD. */
  const modules = (directory: string, depth = 0): Effect.Effect<ReadonlyArray<string>> =>
    Effect.gen(function*() {
      if (depth > 4) return []
      sources.add(directory)
      const entries = yield* Effect.orElseSucceed(files.list(directory), () => [])
      const found: Array<string> = []
      for (const entry of entries) {
        if (entry.kind !== "directory" || found.length >= max_modules) continue
        const at = path.join(directory, entry.name)
        if ((yield* kindOf(path.join(at, "HEAD"))) === "file") {
          found.push(at, ...(yield* modules(path.join(at, "modules"), depth + 1)))
        } else found.push(...(yield* modules(at, depth + 1)))
      }
      return found.slice(0, max_modules)
    })

  const control = (directory: string): ReadonlyArray<ProtectedPlace> => [
    { path: path.join(directory, "hooks"), missing: "directory" },
    { path: path.join(directory, "config"), missing: "file" },
    { path: path.join(directory, "config.worktree"), missing: "file" }
  ]

  /** What tells git in each linked worktree where its configuration is. */
  const worktreesOf = (common: string): Effect.Effect<ReadonlyArray<ProtectedPlace>> =>
    Effect.map(
      Effect.suspend(() => {
        sources.add(path.join(common, "worktrees"))
        return Effect.orElseSucceed(files.list(path.join(common, "worktrees")), () => [])
      }),
      (trees) =>
        trees.slice(0, max_modules).flatMap((tree) =>
          ["config.worktree", "gitdir", "commondir"].map((name): ProtectedPlace => ({
            path: path.join(common, "worktrees", tree.name, name),
            missing: name === "config.worktree" ? "file" : "none"
          }))
        )
    )

  /**
   * The directory that a `.git` file points to, if that directory points back here: anybody can write such a file, but
   * only git has written the other end.
   */
  const linked = (file: string): Effect.Effect<{ readonly own: string; readonly common: string } | null> =>
    Effect.gen(function*() {
      const target = /^gitdir:\s*(.+)$/mu.exec((yield* text(file)) ?? "")?.[1]?.trim()
      if (target === undefined) return null
      const own = yield* canonical(path.resolve(root, target))
      for (const name of ["HEAD", "gitdir", "commondir", "config"]) sources.add(path.join(own ?? root, name))
      if (own === null || (yield* kindOf(path.join(own, "HEAD"))) !== "file") return null
      const back = (yield* text(path.join(own, "gitdir")))?.trim()
      if (back !== undefined) {
        if ((yield* canonical(path.resolve(own, back))) !== file) return null
        const up = (yield* text(path.join(own, "commondir")))?.trim()
        const common = up === undefined ? null : yield* canonical(path.resolve(own, up))
        return common !== null && own.startsWith(path.join(common, "worktrees") + path.sep) ? { own, common } : null
      }
      const { worktrees } = parseGitConfig((yield* text(path.join(own, "config"))) ?? "")
      const trees = yield* Effect.forEach(worktrees, (tree) => canonical(path.resolve(own, tree)))
      return trees.includes(root) ? { own, common: own } : null
    })

  return Effect.gen(function*() {
    const dot = path.join(root, ".git")
    sources.add(dot)
    const kind = yield* kindOf(dot)
    const write_roots: Array<string> = []
    const places: Array<ProtectedPlace> = []
    const named: Array<string> = [dot]
    const warnings: Array<string> = []
    const configs: Array<string> = [
      "/etc/gitconfig",
      path.join(home, ".gitconfig"),
      path.join(home, ".config", "git", "config")
    ]
    // An empty one is the mount point of a command, ours or another program's: nothing is to be put into it.
    const empty = kind === "directory" && (yield* Effect.orElseSucceed(files.list(dot), () => ["?"])).length === 0
    if (kind === null || empty) places.push({ path: dot, missing: "directory" })
    else if (kind === "directory") {
      const own = [dot, ...(yield* modules(path.join(dot, "modules")))]
      places.push(...own.flatMap(control), ...(yield* worktreesOf(dot)))
      configs.push(path.join(dot, "config"), path.join(dot, "config.worktree"))
    } else {
      places.push({ path: dot, missing: "none" })
      const file = kind === "file" ? yield* linked(dot) : null
      if (file !== null) {
        write_roots.push(file.common)
        places.push(
          ...control(file.common),
          ...(yield* modules(path.join(file.common, "modules"))).flatMap(control),
          ...(yield* worktreesOf(file.common))
        )
        configs.push(path.join(file.common, "config"), path.join(file.own, "config.worktree"))
      } else if (kind === "link") {
        const real = yield* canonical(dot)
        if (real !== null) {
          places.push(...control(real), ...(yield* worktreesOf(real)))
          configs.push(path.join(real, "config"), path.join(real, "config.worktree"))
        }
      }
    }
    const found = yield* Effect.forEach(configs, (file) => config(file), { concurrency: 4 })
    for (const value of new Set(found.flatMap((one) => one.hooks_paths))) {
      named.push(expand(value, root))
      const at = yield* canonical(expand(value, root))
      if (at === null) continue
      // Husky puts its own scripts into `_`; they run those beside it.
      const directory = path.basename(at) === "_" ? path.dirname(at) : at
      // The root itself as hooks directory would make the whole workspace read-only.
      if (directory !== root) places.push({ path: directory, missing: "directory" })
      else warnings.push(`core.hooksPath is the workspace itself (${root}); it cannot be protected`)
    }
    named.push(...places.map((place) => place.path))
    return { write_roots, protected: places, named, warnings, sources: [...sources] }
  })
}
