/**
 * The files behind active commands, as far as their lines tell (reading 9.9): every word, and every end of a glued option,
 * against the project's root and every directory that a word names; files without their ending, directories that are run,
 * modules and packages, build files that a tool takes without being told, installed programs. Also what is not there yet
 * and would be taken first. What a line computes, and what those files load in turn, cannot be told.
 *
 * Looked at in one go and without the thread pool: it comes before the first tool of a session, once.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import {
  changesDirectory,
  isProgramName,
  mayBeEmpty,
  moduleAt,
  namesIn,
  parseProgramLine,
  programEndings,
  programName,
  runnerKind,
  runsInstalled,
  scriptEndings,
  type SimpleCommand,
  takenFiles,
  takesData
} from "../codec/ProgramLine.ts"

/**
 * What must not be made. `directory`, `file`: while a command runs, an empty one may stand there without an effect.
 * `aside`: nothing may stand there, so what a command makes is moved aside.
 *
 * @since 0.1.0
 * @category models
 */
export interface MissingProgram {
  readonly path: string
  readonly missing: "directory" | "file" | "aside"
}

/** Of one command. Absolute paths as they are named, links not resolved. @since 0.1.0 @category models */
export interface ProgramPlaces {
  /** Files, and directories that are closed as a whole. */
  readonly closed: ReadonlyArray<string>
  /** Of `closed`, what is run and not only named: its content is the user's word. */
  readonly run: ReadonlyArray<string>
  readonly missing: ReadonlyArray<MissingProgram>
  /** Why not all can be told; without a subject. */
  readonly doubts: ReadonlyArray<string>
}

/** @since 0.1.0 @category models */
export interface ProgramSurroundings {
  /** Of the project, canonical. */
  readonly root: string
  readonly home: string
  /** `PATH`. */
  readonly search_path: string
}

const max_directories = 64
const max_files = 1000
/** Looks at the file system for one command. */
const max_looks = 20_000

type Found = "file" | "directory" | null

const within = (root: string, at: string): boolean =>
  at === root || at.startsWith(root.endsWith(path.sep) ? root : root + path.sep)

const kindOf = (at: string): Found => {
  try {
    const stats = fs.statSync(at, { throwIfNoEntry: false })
    return stats === undefined ? null : stats.isDirectory() ? "directory" : stats.isFile() ? "file" : null
  } catch {
    return null
  }
}

const stands = (at: string): boolean => {
  try {
    return fs.lstatSync(at, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

const realOf = (at: string): string => {
  try {
    return fs.realpathSync(at)
  } catch {
    return at
  }
}

const namesOf = (at: string): ReadonlyArray<string> => {
  try {
    return fs.readdirSync(at)
  } catch {
    return []
  }
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

const isGlob = (text: string): boolean => /[*?[]/u.test(text)

/** Where a package of `node_modules` begins that a file belongs to; null = none. */
const packageOf = (at: string): string | null => {
  const parts = at.split(path.sep)
  const last = parts.lastIndexOf("node_modules")
  const name = parts[last + 1]
  if (last < 0 || name === undefined) return null
  const end = last + (name.startsWith("@") ? 3 : 2)
  return end < parts.length ? parts.slice(0, end).join(path.sep) : null
}

const isExecutable = (at: string): boolean => {
  try {
    return (fs.statSync(at).mode & 0o111) !== 0
  } catch {
    return false
  }
}

/** It is named like a program, may be executed, or says by what it is run. */
const isProgram = (at: string): boolean => {
  if (isProgramName(path.basename(at)) || isExecutable(at)) return true
  try {
    const fd = fs.openSync(at, "r")
    try {
      const two = new Uint8Array(2)
      return fs.readSync(fd, two, 0, 2, 0) === 2 && two[0] === 0x23 && two[1] === 0x21
    } finally {
      fs.closeSync(fd)
    }
  } catch {
    return false
  }
}

const mainOf = (directory: string): string | null => {
  try {
    const text = fs.readFileSync(path.join(directory, "package.json"), "utf8")
    const main: unknown = Reflect.get(Object(JSON.parse(text)), "main")
    return typeof main === "string" && main !== "" && !main.includes("\0") ? path.join(directory, main) : null
  } catch {
    return null
  }
}

const surveyCommand = (
  { home, root, search_path }: ProgramSurroundings,
  commands: ReadonlyArray<SimpleCommand>
): ProgramPlaces => {
  const closed = new Set<string>()
  const run = new Set<string>()
  const missing = new Map<string, MissingProgram["missing"]>()
  const doubts = new Set<string>()
  let looks = 0

  const kind = (at: string): Found => ++looks > max_looks ? null : kindOf(at)
  const isOurs = (at: string): boolean => within(root, at) || within(root, realOf(at))
  const close = (at: string, runs: boolean): void => {
    if (closed.size >= max_files && !closed.has(at)) return
    closed.add(at)
    if (runs) run.add(at)
  }
  const guard = (at: string, how: MissingProgram["missing"]): void => {
    if (missing.size >= max_files || !within(root, at) || at === root || missing.has(at)) return
    if (!stands(at)) missing.set(at, how)
    // A link that leads nowhere yet: nothing may stand behind it, and nobody may turn it round.
    else if (kind(at) === null) close(at, true)
  }

  const glob = (base: string, pattern: string): ReadonlyArray<string> => {
    let at: ReadonlyArray<string> = [base]
    for (const part of pattern.split("/")) {
      if (!isGlob(part)) {
        at = at.map((directory) => path.join(directory, part))
        continue
      }
      const matcher = globOf(part)
      if (matcher === null) return []
      at = at.filter(isOurs).flatMap((directory) =>
        namesOf(directory).filter((name) => matcher.test(name)).map((name) => path.join(directory, name))
      ).slice(0, max_files)
    }
    return at
  }
  const resolve = (base: string, text: string): ReadonlyArray<string> => {
    if (text.startsWith("~/")) return isGlob(text) ? [] : [path.join(home, text.slice(2))]
    if (!isGlob(text)) return [path.resolve(base, text)]
    return text.startsWith("/") ? [] : glob(base, text)
  }

  // Directories to look from: the root, and whatever a word names. A command is surely in those that it changes to.
  const bases = [root]
  const surely = new Set([root])
  const names = commands.map(({ words }) => words.map(namesIn))
  for (let at = 0; at < bases.length; at++) {
    commands.forEach(({ words }, command) =>
      words.forEach((word, index) => {
        for (const text of names[command]?.[index] ?? []) {
          for (const one of resolve(bases[at] ?? root, text)) {
            if (kind(one) !== "directory" || !isOurs(one)) continue
            if (changesDirectory(words[index - 1] ?? "") || word !== text) surely.add(one)
            if (bases.length < max_directories && !bases.includes(one)) bases.push(one)
          }
        }
      })
    )
  }

  /** A whole directory, but not all of the workspace. */
  const closeDirectory = (at: string, entries: ReadonlyArray<string>): void => {
    if (realOf(at) !== root && !within(realOf(at), root)) return close(at, true)
    for (const entry of entries) {
      if (kind(path.join(at, entry)) === "file") close(path.join(at, entry), true)
      else guard(path.join(at, entry), "aside")
    }
    const main = mainOf(at)
    if (main !== null && entries.includes("package.json")) {
      for (const one of [main, ...scriptEndings.map((ending) => main + ending), path.join(main, "index.js")]) {
        if (kind(one) === "file") close(one, true)
      }
    }
    doubts.add(`it runs the directory ${at}, which holds the workspace: only the entry files there are write-protected`)
  }

  /** `at` was named, and no file stands there: with an ending, or as a directory that is run. */
  const byEnding = (at: string, as: "script" | "python" | "directory" | "file" | null): boolean => {
    const directory = kind(at) === "directory"
    const found = looks > max_looks ? [] : programEndings.filter((ending) => kind(at + ending) === "file")
    for (const ending of found) if (isOurs(at + ending)) close(at + ending, true)
    const script = found.some((ending) => scriptEndings.some((one) => one === ending))
    if ((as === "script" && (script || directory)) || (as === null && script && !directory)) {
      guard(at, "directory")
      for (const ending of scriptEndings) guard(at + ending, "directory")
    }
    if (directory && isOurs(at) && as !== null && as !== "file") {
      closeDirectory(
        at,
        as === "script"
          ? ["package.json", ...scriptEndings.map((ending) => `index${ending}`)]
          : as === "python"
          ? ["__main__.py"]
          : []
      )
    }
    return found.length > 0 || directory
  }

  /** A word is a program where a runner before it takes it for one. */
  const operandKinds = (
    words: ReadonlyArray<string>
  ): ReadonlyMap<number, "script" | "python" | "directory" | "file"> => {
    const kinds = new Map<number, "script" | "python" | "directory" | "file">()
    words.forEach((word, index) => {
      const as = runnerKind(programName(word), words[index + 1])
      if (as === null) return
      for (let at = index + 1; at < words.length; at++) {
        const operand = words[at] ?? ""
        // A module or a text is run, and all that follows are its arguments.
        if (
          as === "python"
            ? moduleAt(words, at) !== null || operand === "-c"
            : /^(?:-[ep]|--eval|--print)$/u.test(operand)
        ) {
          break
        }
        if (operand.startsWith("-")) continue
        if (!kinds.has(at)) kinds.set(at, as)
        // What follows an option may be its value: the operand may still come.
        const before = words[at - 1] ?? ""
        const alone = as === "python" && /^-[bBdEhiIOPqsSuvVx]+$/u.test(before)
        if ((alone || !before.startsWith("-")) && !/^(?:run|exec|x)$/u.test(operand)) break
      }
    })
    return kinds
  }

  const modules = (words: ReadonlyArray<string>, base: string): void => {
    if (!words.some((word) => runnerKind(programName(word), undefined) === "python")) return
    words.forEach((_, index) => {
      const name = moduleAt(words, index)
      if (name === null) return
      const [top = name] = name.split(".")
      const at = path.join(base, top)
      const present = [`${at}.py`, `${at}.pyc`, `${at}.so`].filter((one) => kind(one) === "file")
      for (const one of present) close(one, true)
      if (kind(at) === "directory") closeDirectory(at, [])
      if (!surely.has(base)) return
      for (const one of [at, `${at}.py`, `${at}.pyc`, `${at}.so`, `${at}.abi3.so`]) guard(one, "directory")
    })
  }

  const installed = (words: ReadonlyArray<string>, index: number, base: string): void => {
    const bin = path.join(base, "node_modules", ".bin")
    if (kind(bin) !== "directory") {
      if (!surely.has(base)) return
      guard(bin, "directory")
      doubts.add(`it runs programs of ${bin}, which is not there yet: commands cannot make it while that is active`)
      return
    }
    close(bin, true)
    for (const word of words.slice(index + 1)) {
      const [, name = word] = /^(?:--package=)?(@?[^@]+)(?:@.*)?$/u.exec(word) ?? []
      for (const one of [name, name.slice(name.lastIndexOf("/") + 1)]) {
        if (one === "" || one.includes("/")) continue
        const target = realOf(path.join(bin, one))
        if (kind(target) !== "file" || !within(root, target)) continue
        close(packageOf(target) ?? target, true)
      }
    }
  }

  /** Where `PATH` leads into the workspace: programs that are found there by name. */
  const places = search_path.split(path.delimiter).map((one) => path.resolve(root, one)).filter((one) => isOurs(one))
  const byName = (word: string): void => {
    if (word.includes("/") || word.startsWith("-") || !/^[\w.+-]+$/u.test(word)) return
    for (const place of places) {
      const at = path.join(place, word)
      if (kind(at) === "file") {
        if (place === root) close(at, true)
        else close(place, true)
      } else if (!stands(at)) guard(at, "directory")
    }
  }

  for (const [command, { words, written }] of commands.entries()) {
    const kinds = operandKinds(words)
    const [first = ""] = words.filter((word) => !/^[A-Za-z_]\w*=/u.test(word))
    words.forEach((word, index) => {
      const as = kinds.get(index) ?? null
      const name = programName(word)
      let told = false
      for (const base of bases) {
        for (const text of names[command]?.[index] ?? []) {
          if (isGlob(text) && (word === first || as !== null || first === "for")) {
            // What matches is run, and so would be what is put beside it.
            for (const one of resolve(base, text)) {
              if (kind(one) === "file" && within(root, one)) closeDirectory(path.dirname(one), [])
            }
          }
          for (const one of resolve(base, text)) {
            const bin = one.lastIndexOf("/node_modules/.bin/")
            if (bin >= 0 && within(root, one)) {
              installed(["", path.basename(one)], 0, one.slice(0, bin))
              continue
            }
            if (kind(one) === "file") {
              const anywhere = text.startsWith("/") || text.startsWith("~/")
              if (!isOurs(one) && !(anywhere && !/^\/(?:usr|bin|sbin|lib\w*|opt|nix|run|proc|dev|sys)\//u.test(one))) {
                continue
              }
              told = true
              const flagged = word !== text && word.startsWith("-")
              const given = /^-[A-Za-z]*f$/u.test(words[index - 1] ?? "")
              close(one, word === first || as !== null || flagged || given || isProgram(one))
            } else if (!isGlob(text)) {
              const directory = kind(one) === "directory"
              if (!byEnding(one, as)) continue
              told = true
              if (
                directory && as === null && word === text && index > 0 && one !== root && within(root, one) &&
                !takesData(programName(first)) && !changesDirectory(words[index - 1] ?? "")
              ) {
                doubts.add(`it names the directory ${one}; if files of it are run, they are not write-protected`)
              }
            }
          }
        }
        for (const file of takenFiles(name)) {
          const at = path.join(base, file)
          if (kind(at) !== null) close(at, true)
          else if (surely.has(base)) guard(at, mayBeEmpty(file) ? "file" : "aside")
        }
        if (runsInstalled(name, words.slice(index + 1))) installed(words, index, base)
      }
      if (places.length > 0) byName(word)
      // A program that is not there yet is nobody's but the user's to make.
      const plain = word.replace(/^(?:\$\{?\w+\}?)\//su, "./")
      if (told || !/^[\w@.+~/-]+$/u.test(plain) || plain.startsWith("-") || plain.startsWith("~")) return
      for (const base of surely) {
        const at = path.resolve(base, plain)
        if (word === first && plain.includes("/")) guard(at, "file")
        else if (as !== null && (plain.includes("/") || isProgramName(plain))) {
          guard(at, "aside")
          if (as === "script") { for (const ending of scriptEndings) guard(at + ending, "aside") }
        }
      }
    })
    for (const base of bases) modules(words, base)
    for (const text of written.flatMap(namesIn)) {
      for (const one of resolve(root, text)) if (kind(one) === "file" && isOurs(one)) close(one, false)
    }
  }
  if (looks > max_looks) doubts.add("it names too much to look at all of it")
  return {
    closed: [...closed],
    run: [...run],
    missing: Array.from(missing, ([at, how]) => ({ path: at, missing: how })),
    doubts: [...doubts]
  }
}

/** A line for a shell. @since 0.1.0 @category constructors */
export const programsOfLine = (surroundings: ProgramSurroundings, line: string): Effect.Effect<ProgramPlaces> =>
  Effect.sync(() => {
    const { commands, computed } = parseProgramLine(line)
    const found = surveyCommand(surroundings, commands)
    return computed
      ? {
        ...found,
        doubts: [
          "it computes what it runs (eval, a substitution or a variable in a path): files that cannot be told from its " +
          "line are not write-protected",
          ...found.doubts
        ]
      }
      : found
  })

/** A list of arguments, for no shell. @since 0.1.0 @category constructors */
export const programsOfArgv = (
  surroundings: ProgramSurroundings,
  argv: ReadonlyArray<string>
): Effect.Effect<ProgramPlaces> =>
  Effect.sync(() => {
    const inner = argv.filter((word) => /[\s;&|<>()`]/u.test(word)).flatMap((word) => parseProgramLine(word).commands)
    return surveyCommand(surroundings, [{ words: argv, written: [] }, ...inner])
  })
