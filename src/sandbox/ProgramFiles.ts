/**
 * The workspace files behind active commands, as far as their lines tell (reading 9.9): every word against the project's
 * root and against every directory that a word names, globs expanded. What a line computes cannot be told.
 *
 * @since 0.1.0
 */
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import type { FilesService } from "../platform/Files.ts"
import { invalidPath, isWithin } from "./CheckPath.ts"
import type { ActiveCommands } from "./Programs.ts"

/** @since 0.1.0 @category models */
export interface ProgramWords {
  readonly words: ReadonlyArray<string>
  /** It says by evaluation, substitution or a variable in a name what runs. */
  readonly computed: boolean
}

const max_directories = 64
const max_files = 1000

const implied = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.flatMap((word, index): ReadonlyArray<string> => {
    const name = word.slice(word.lastIndexOf("/") + 1)
    if (/^(?:pnpm|yarn|bun)$/u.test(name)) return ["package.json"]
    if (name === "npm") {
      return words.some((one) => /^(?:run|run-script|test|t|start)$/u.test(one))
        ? ["package.json"]
        : []
    }
    if (/^g?make$/u.test(name)) return words.includes("-f") ? [] : ["GNUmakefile", "makefile", "Makefile"]
    if (words[index - 1] !== "-m" || !/^[\w.]+$/u.test(word)) return []
    const module = word.replaceAll(".", "/")
    return [`${module}.py`, `${module}/__init__.py`, `${module}/__main__.py`]
  })

/** Words of a command text after quote removal, texts inside of it (`sh -c '...'`) too. @since 0.1.0 @category decoding */
export const programWords = (line: string): ProgramWords => {
  const found = new Set<string>()
  let computed = false
  const todo: Array<readonly [text: string, depth: number]> = [[line, 0]]
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [text, depth] = next
    if (/[`]|\$\(/u.test(text)) computed = true
    const words: Array<string> = []
    for (const [token] of text.matchAll(/(?:[^\s'"\\;&|<>()`]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+/gsu)) {
      const word = token.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gsu, (_, single, double, escaped) => {
        const quoted: unknown = single ?? double ?? escaped
        return typeof quoted === "string" ? quoted.replace(/\\(["\\$`])/gu, "$1") : ""
      })
      if (word === "eval") computed = true
      if (depth < 4 && word !== text && /[\s;&|<>()`]/u.test(word)) todo.push([word, depth + 1])
      words.push(word)
    }
    for (const word of [...words, ...implied(words)]) {
      for (const part of [word, word.slice(word.indexOf("=") + 1)]) {
        // What is before the first slash may be any directory; all that are named are tried.
        const plain = part.replace(/^(?:\$\{?\w+\}?|\$\(.*?\)|`.*?`)\//su, "")
        if (plain.includes("$") && plain.includes("/")) computed = true
        for (const one of [plain, plain.replace(/^\/+/u, "")]) {
          if (one !== "" && !one.startsWith("-") && !one.includes("$") && invalidPath(one) === null) found.add(one)
        }
      }
    }
  }
  return { words: [...found], computed }
}

/** @since 0.1.0 @category models */
export interface ProgramFiles {
  /** As they are named, absolute, links not resolved; all are files. */
  readonly named: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<string>
}

const globOf = (name: string): RegExp | null => {
  const body = name.replace(/[.+^$(){}|\\]/gu, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")
    .replaceAll("[!", "[^")
  try {
    return new RegExp(`^${body}$`, "u")
  } catch {
    return null
  }
}

/** @since 0.1.0 @category constructors */
export const programFiles = (
  input: { readonly root: string; readonly home: string; readonly files: FilesService; readonly path: Path.Path },
  commands: ActiveCommands
): Effect.Effect<ProgramFiles> => {
  const { files, home, path, root } = input
  const look = (at: string) => Effect.option(files.canonical(at))

  const glob = (base: string, pattern: string): Effect.Effect<ReadonlyArray<string>> =>
    Effect.gen(function*() {
      let at: ReadonlyArray<string> = [base]
      for (const part of pattern.split("/")) {
        if (!/[*?[]/u.test(part)) {
          at = at.map((directory) => path.join(directory, part))
          continue
        }
        const matcher = globOf(part)
        if (matcher === null) return []
        const below: Array<string> = []
        for (const directory of at) {
          const real = yield* look(directory)
          if (real._tag === "None" || !isWithin(root, real.value.path, path.sep)) continue
          const entries = yield* Effect.orElseSucceed(files.list(real.value.path), () => [])
          for (const entry of entries) {
            if (below.length < max_files && matcher.test(entry.name)) below.push(path.join(directory, entry.name))
          }
        }
        at = below
      }
      return at
    })

  const resolve = (base: string, word: string): Effect.Effect<ReadonlyArray<string>> => {
    const from = word.startsWith("~/") ? home : word.startsWith("/") ? "/" : base
    const rest = word.startsWith("~/") ? word.slice(2) : word
    if (!/[*?[]/u.test(rest)) return Effect.succeed([path.resolve(from, rest)])
    return from === base ? glob(base, rest) : Effect.succeed([])
  }

  return Effect.gen(function*() {
    const named = new Set<string>()
    const warnings: Array<string> = []
    const lines = [
      ...commands.lines.map(programWords),
      ...commands.argvs.map((argv) => {
        const all = [...argv, ...implied(argv)].map((word) => programWords(word))
        const plain = argv.filter((word) => word !== "" && !word.startsWith("-") && invalidPath(word) === null)
        return { words: [...new Set([...plain, ...all.flatMap((one) => one.words)])], computed: false }
      })
    ]
    for (const [index, { computed, words }] of lines.entries()) {
      if (computed) {
        warnings.push(
          `the command of hook ${
            index + 1
          } computes what it runs (eval, a substitution or a variable in a path): files ` +
            "that cannot be told from its line are not write-protected"
        )
      }
      const directories = [root]
      const seen = new Set(directories)
      for (let at = 0; at < directories.length; at++) {
        for (const word of words) {
          for (const one of yield* resolve(directories[at] ?? root, word)) {
            if (named.size >= max_files || named.has(one) || seen.has(one)) continue
            const real = yield* look(one)
            if (real._tag === "None" || real.value.kind === null) continue
            if (
              real.value.kind === "file" && (isWithin(root, one, path.sep) || isWithin(root, real.value.path, path.sep))
            ) named.add(one)
            if (
              real.value.kind === "directory" && isWithin(root, real.value.path, path.sep) &&
              directories.length < max_directories
            ) {
              seen.add(one)
              directories.push(one)
            }
          }
        }
      }
    }
    return { named: [...named], warnings }
  })
}
