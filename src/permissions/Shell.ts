/**
 * A command line as rules see it (reading 7.6): each simple command, each file it writes by redirection, and whether all
 * of that is known. Pure over a syntax tree.
 *
 * Name rules are convenience, not a boundary; the sandbox is the boundary.
 *
 * @since 0.1.0
 */
import type { ShellParser } from "../platform/ShellGrammar.ts"
import { type CommandView, type MaybeProgram, type View, view } from "./CommandView.ts"
import { plainTree } from "./PlainLine.ts"
import type { Redirection } from "./ShellExpansions.ts"
import { read } from "./ShellReader.ts"

/** @since 0.1.0 @category models */
export interface ShellLine {
  /** As given. */
  readonly line: string
  readonly commands: ReadonlyArray<CommandView>
  readonly writes: ReadonlyArray<Redirection>
  /** Why the line cannot be read for sure; null = `commands` and `writes` are all of it. */
  readonly problem: string | null
  /** No rule at all allows it: there is nothing to read lines with. */
  readonly sealed: boolean
  /** A command may change the directory, so that relative paths of redirections are not known. */
  readonly moves: boolean
  /** A command may make links or move files, so that no path of a redirection is known. */
  readonly relinks: boolean
}

/** What reads lines: the grammar, why there is none, or (absent) plain commands only. @since 0.1.0 @category models */
export type ShellSource = ShellParser | { readonly missing: string } | undefined

const plainLine = /^[A-Za-z0-9_./-][A-Za-z0-9_./:@%+,-]*(?: [A-Za-z0-9_./:@%+,=-]+)*$/

/**
 * Whether a command line is one simple command of plain words, so that its text is what runs. Everything else (lists,
 * pipes, quotes, expansions, redirections, assignments, comments, globs) may hide a command.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isPlainCommand = (line: string): boolean => plainLine.test(line)

const maxNested = 4
const movers: ReadonlySet<string> = new Set(["cd", "pushd", "popd", "eval", "source", ".", "builtin", "dirs"])

/** What a command runs as text of its own, read in turn. */
interface Nested {
  readonly command: CommandView
  readonly writes: ReadonlyArray<Redirection>
  readonly moves: boolean
  readonly relinks: boolean
}

const withNested = (command: CommandView, parse: ShellParser, depth: number): Nested => {
  if (command.lines.length === 0) return { command, writes: [], moves: false, relinks: command.relinks }
  if (depth >= maxNested) return { command: { ...command, opaque: true }, writes: [], moves: true, relinks: true }
  const maybe: Array<View> = [...command.maybe]
  const programs: Array<MaybeProgram> = [...command.programs]
  const writes: Array<Redirection> = []
  let { opaque, relinks } = command
  let moves = false
  for (const line of command.lines) {
    maybe.push({ text: line.trim(), known: null })
    const inner = analyseWith(line, parse, depth + 1)
    opaque ||= inner.problem !== null
    moves ||= inner.moves
    relinks ||= inner.relinks
    writes.push(...inner.writes.map((write) => ({ ...write, start: command.start, nested: true })))
    for (const each of inner.commands) {
      maybe.push({ text: each.text, known: each.known }, ...each.same, ...each.maybe)
      programs.push(...each.programs)
      // The words behind the name of an alias follow its text.
      if (command.program === "alias" && each.program !== "") programs.push({ name: each.program, next: null })
      opaque ||= each.opaque
    }
  }
  return { command: { ...command, maybe, programs, opaque }, writes, moves, relinks }
}

const analyseWith = (line: string, parse: ShellParser, depth: number): ShellLine => {
  const { commands, problems, writes } = read(line, parse)
  const all = [...writes]
  let moves = false
  let relinks = false
  const views = commands.map((simple) => {
    const nested = withNested(view(simple), parse, depth)
    const { command } = nested
    all.push(...nested.writes)
    moves ||= nested.moves || command.name === null || movers.has(command.program)
    relinks ||= nested.relinks
    return command
  })
  const [problem] = problems
  return {
    line,
    commands: views,
    writes: all,
    problem: problem ?? (views.length === 0 && writes.length === 0 ? "there is no command in it" : null),
    sealed: false,
    moves,
    relinks
  }
}

const unread = (line: string, problem: string, sealed: boolean): ShellLine => ({
  line,
  commands: [],
  writes: [],
  problem,
  sealed,
  moves: false,
  relinks: false
})

const plainView = (line: string): CommandView =>
  view({
    assignments: [],
    words: line.split(" ").map((text) => ({ text, known: null, bare: true, start: 0, end: 0 })),
    start: 0
  })

/**
 * Reads a command line. With no grammar given only a single plain command counts as read, and none of a program that runs
 * others; where the grammar is missing, what needs none.
 *
 * @since 0.1.0
 * @category decoding
 */
export const analyse = (line: string, shell: ShellSource): ShellLine => {
  if (typeof shell === "function") return analyseWith(line, shell, 0)
  if (shell !== undefined) return analysePlain(line) ?? unread(line, shell.missing, true)
  const text = line.trim()
  if (!isPlainCommand(text)) return unread(line, "it is more than one plain command", false)
  const only = plainView(text)
  return only.floor !== null || only.same.length > (only.text.includes("/") ? 1 : 0)
    ? unread(line, `${only.program} may run other commands`, false)
    : { line, commands: [only], writes: [], problem: null, sealed: false, moves: false, relinks: false }
}

/**
 * What `analyse` says with the grammar, for a line that needs none: it and all that it has others run are plain commands.
 * null = the grammar has to read it.
 *
 * @since 0.1.0
 * @category decoding
 */
export const analysePlain = (line: string): ShellLine | null => {
  let plain = true
  const read = analyseWith(line, (text) => {
    const tree = plain ? plainTree(text) : null
    plain = tree !== null
    return tree
  }, 0)
  return plain ? read : null
}

/**
 * A path in the form of rules (reading 7.5), by its text alone: relative to `root` with `/`, absolute when outside. `cwd`
 * is where relative paths start, inside `root`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const pathSubject = (path: string, root?: string, cwd?: string): string => {
  const absolute = path.startsWith("/")
  const base = absolute ? [] : (cwd ?? root ?? "").split("/").filter((part) => part !== "")
  const rooted = absolute || root !== undefined
  const parts = [...base]
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue
    if (part !== ".." || (!rooted && (parts.length === 0 || parts.at(-1) === ".."))) parts.push(part)
    else parts.pop()
  }
  if (!rooted) return parts.length === 0 ? "." : parts.join("/")
  const whole = `/${parts.join("/")}`
  if (root === undefined) return whole
  if (whole === root) return "."
  const prefix = root.endsWith("/") ? root : `${root}/`
  return whole.startsWith(prefix) ? whole.slice(prefix.length) : whole
}
