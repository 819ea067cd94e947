/**
 * One simple command as rules see it (reading 7.6): its text, what else of it a deny rule looks at, and the programs it may
 * run. Pure.
 *
 * @since 0.1.0
 */
import {
  assignmentLike,
  baseName,
  floorOf,
  harmless,
  harmlessGit,
  inside,
  maxScript,
  runners,
  shellText,
  wrappers
} from "./Programs.ts"
import { assignedCommand, executed, hides, relinks, setsVariables } from "./Hiding.ts"
import { reservedWords, type SimpleCommand } from "./ShellExpansions.ts"
import { join, type ShellWord } from "./ShellWords.ts"

/** A text that a deny rule looks at; `known` as in ShellWord. @since 0.1.0 @category models */
export interface View {
  readonly text: string
  readonly known: string | null
}

/** A word that may be the name of a program that the command runs. @since 0.1.0 @category models */
export interface MaybeProgram {
  readonly name: string
  /** The plain word that surely follows it; null = an option, nothing, or a word that is not known. */
  readonly next: string | null
}

/** One simple command as rules see it. @since 0.1.0 @category models */
export interface CommandView extends View {
  readonly start: number
  /** With what the subject of an allow rule must begin when `floor` is set; null = no subject is enough. */
  readonly name: string | null
  /** Why a broad rule does not allow it; null = any rule may. */
  readonly floor: string | null
  /** Further texts that are surely this command: reduced to the base name, without assignments, with its wrapper. */
  readonly same: ReadonlyArray<View>
  /** Texts that it may come to: what a wrapper may run, options in another order. A deny on one of them asks. */
  readonly maybe: ReadonlyArray<View>
  /** Programs that it may run with arguments of its own: any wrapper, known or not, may append to them. */
  readonly programs: ReadonlyArray<MaybeProgram>
  /** Command lines that it will run, to be read in turn. */
  readonly lines: ReadonlyArray<string>
  /** What it runs is not known at all. */
  readonly opaque: boolean
  /** The base name of the program that is run in the end. */
  readonly program: string
  /** After it a path may lead elsewhere than before. */
  readonly relinks: boolean
}

const maxWrappers = 32

const permutations = (letters: ReadonlyArray<string>): ReadonlyArray<string> =>
  letters.length <= 1
    ? [letters.join("")]
    : letters.flatMap((letter, index) =>
      permutations(letters.filter((_, other) => other !== index)).map((rest) => letter + rest)
    )

const reordered = (words: ReadonlyArray<ShellWord>): ReadonlyArray<View> => {
  const [program, ...rest] = words
  if (program === undefined || rest.length === 0 || rest.length > 64) return []
  const views: Array<View> = []
  const option = (word: ShellWord): boolean => word.text.startsWith("-") && word.text.length > 1
  const end = rest.findIndex((word) => word.text === "--")
  const head = end < 0 ? rest : rest.slice(0, end)
  const tail = end < 0 ? [] : rest.slice(end)
  const options = head.filter(option)
  const operands = head.filter((word) => !option(word))
  if (options.length > 0) {
    // The options before, and behind the first words (`git push --force` for `git push origin --force`).
    for (const at of [0, 1, 2]) {
      if (at > operands.length) continue
      views.push(join([program, ...operands.slice(0, at), ...options, ...operands.slice(at), ...tail]))
      // Each option in the first place: `git push --force` when another option stands before it.
      for (const first of options.slice(0, 12)) {
        const others = options.filter((other) => other !== first)
        views.push(join([program, ...operands.slice(0, at), first, ...others, ...operands.slice(at), ...tail]))
      }
    }
    views.push(join([program, ...operands, ...options, ...tail]))
    // Options with a value before the first word (`git -C dir push`).
    const [first] = head
    if (first !== undefined && option(first)) {
      for (let at = 1; at < Math.min(head.length, 12); at++) views.push(join([program, ...head.slice(at), ...tail]))
    }
    // One-letter options, taken together in any order: `rm -fr`, `rm -f -r` for `rm -rf`.
    const short = options.filter((word) => /^-[A-Za-z]+$/.test(word.text))
    const letters = [...new Set(short.flatMap((word) => word.text.slice(1).split("")))]
    if (short.length > 0 && letters.length > 1 && letters.length <= 4) {
      const others = options.filter((word) => !short.includes(word))
      for (const cluster of permutations(letters)) {
        const one: ShellWord = { text: `-${cluster}`, known: null, bare: true, start: 0, end: 0 }
        for (const at of [0, 1]) {
          if (at > operands.length) continue
          views.push(join([program, ...operands.slice(0, at), one, ...others, ...operands.slice(at), ...tail]))
        }
      }
    }
  }
  return views
}

const suffixes = (words: ReadonlyArray<ShellWord>): ReadonlyArray<View> =>
  words.slice(1, 40).map((_, index) => join(words.slice(index + 1)))

const withBase = (words: ReadonlyArray<ShellWord>): ReadonlyArray<View> => {
  const [program, ...rest] = words
  if (program === undefined || !program.text.includes("/") || program.known !== null) return []
  return [join([{ ...program, text: baseName(program.text) }, ...rest])]
}

/** Every word that may be a program, also where a command begins inside a word. */
const programsIn = (
  program: string,
  words: ReadonlyArray<ShellWord>,
  floor: string | null
): ReadonlyArray<MaybeProgram> => {
  const rest = words.slice(1)
  const [verb] = rest
  const quiet = harmless.has(program) || (program === "git" && harmlessGit.has(verb?.text ?? "")) ||
    (program === "command" && /^-[vV]$/.test(verb?.text ?? ""))
  if (quiet && floor === null) return []
  const replaces = (program === "xargs" || program === "parallel") &&
    rest.some((word) => /^(?:-[A-Za-z]*[IiJ]|--replace)/.test(word.text))
  const plain = (text: string | undefined): string | null =>
    text === undefined || replaces || !/^[A-Za-z0-9][\w.:-]*$/.test(text) ? null : text
  const found: Array<MaybeProgram> = []
  for (const [at, word] of rest.entries()) {
    if (word.text.length > maxScript) continue
    const next = rest[at + 1]
    const after = next === undefined || next.known !== null ? null : plain(next.text)
    // The value of an option may touch it.
    const joined = floor === null ? "" : /^-[A-Za-z]([^\s-][^\s]*)/.exec(word.text)?.[1] ?? ""
    for (let from = 0; from < Math.min(joined.length, 16); from++) {
      found.push({ name: joined.slice(from), next: null })
    }
    if (word.known === null && /^[^\s;|&()`=]+$/.test(word.text)) {
      found.push({ name: word.text.replace(/^!+/, ""), next: after })
    } else {
      for (
        const match of word.text.matchAll(
          /(?:^|[;|&(`\n=])[\s!]*([^\s;|&()`'"=]+)(?=[\s;|&()`'"]|$)\s*([^\s;|&()`'"]*)/g
        )
      ) {
        const last = match.index + match[0].length === word.text.length && match[2] === ""
        found.push({ name: match[1] ?? "", next: last ? after : plain(match[2]) })
      }
    }
  }
  return found.flatMap(({ name, next }) =>
    name.includes("/") ? [{ name, next }, { name: baseName(name), next }] : [{ name, next }]
  )
}

/** One simple command as rules see it. @since 0.1.0 @category combinators */
export const view = (command: SimpleCommand): CommandView => {
  let assignments = command.assignments
  let words = command.words
  const same: Array<View> = []
  const maybe: Array<View> = []

  // A wrapper gives way to what it runs; a deny rule still sees both.
  let left = maxWrappers
  for (; left > 0; left--) {
    const [first] = words
    if (first === undefined || first.known !== null) break
    const name = baseName(first.text)
    const usual = first.text === name || first.text === `/usr/bin/${name}` || first.text === `/bin/${name}`
    if (!wrappers.has(name)) break
    const at = inside(name, words)
    if (at === null) break
    const rest = words.slice(at)
    // Behind the keyword `time` the shell still knows its own words; another of them than `!` begins no simple command.
    const negated = name === "time" ? rest.findIndex((word) => !(word.bare && word.text === "!")) : 0
    const inner = negated < 0 ? rest : rest.slice(negated)
    // To `env` every word with an equals sign is an assignment, whatever the name.
    const sets = (word: ShellWord | undefined): boolean =>
      word !== undefined && (name === "env" ? word.text.includes("=") : assignmentLike.test(word.text))
    if (!usual || sets(inner[0])) {
      const program = inner.findIndex((word) => !sets(word))
      if (name !== "time" || program < 0) break
      // The keyword: what follows is an assignment of the shell.
      same.push(join(words), ...withBase(words))
      assignments = [...assignments, ...inner.slice(0, program)]
      words = inner.slice(program)
      continue
    }
    same.push(join(words), ...withBase(words))
    words = inner
  }

  const plain = join(words)
  const whole = assignments.length === 0 ? plain : join([...assignments, ...words])
  const [first] = words
  same.push(...withBase(words))
  if (assignments.length > 0 && words.length > 0) same.push(plain)

  const reserved = first !== undefined && first.bare && reservedWords.has(first.text)
  const dynamic = (first !== undefined && first.known !== null) || reserved
  const program = first === undefined || dynamic ? "" : baseName(first.text)
  const { lines, opaque } = shellText(program, words)
  maybe.push(...reordered(words))
  if (first !== undefined && first.text.includes("/") && !dynamic) {
    maybe.push(...reordered([{ ...first, text: program }, ...words.slice(1)]))
  }
  if (runners.has(program)) {
    for (const suffix of suffixes(words)) maybe.push(suffix)
    for (let at = 1; at < Math.min(words.length, 40); at++) maybe.push(...withBase(words.slice(at)))
  }
  const floor = left === 0
    ? "it is wrapped too often"
    : dynamic
    ? "the program is not known before the line runs"
    : assignments.length > 0
    ? "it sets variables"
    : floorOf(program, words)
  const [assigned] = assignments
  const programs: Array<MaybeProgram> = dynamic ? [] : [...programsIn(program, words, floor)]
  const nested: Array<string> = [...lines]
  const ownFloor = dynamic ? null : floorOf(program, words)
  let hidden = dynamic || opaque || left === 0 || hides(program, words, ownFloor)
  // A variable that runs what it holds.
  for (const word of [...assignments, ...(setsVariables(program) ? words.slice(1) : [])]) {
    const value = assignedCommand(word)
    if (value === null) continue
    hidden ||= value.opaque
    programs.push(...programsIn("", [word, { ...word, text: value.text, known: null }], "it runs"))
  }
  const inner = /^(?:find|fd|fdfind)$/.test(program) ? executed(program, words) : []
  hidden ||= inner === null
  for (const each of inner ?? []) {
    const seen = view({ assignments: [], words: each, start: command.start })
    maybe.push({ text: seen.text, known: seen.known }, ...seen.same, ...seen.maybe)
    programs.push(...seen.programs)
    nested.push(...seen.lines)
    hidden ||= seen.opaque
  }
  return {
    ...whole,
    start: command.start,
    name: dynamic ? null : assigned !== undefined ? `${assigned.text.split("=", 1)[0] ?? ""}=` : first?.text ?? null,
    floor,
    same,
    maybe,
    programs,
    lines: nested,
    opaque: hidden,
    program,
    relinks: relinks(program, words)
  }
}
