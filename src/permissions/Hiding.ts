/**
 * What the words of a command may hide from the rules (reading 7.6): a program behind a wrapper whose options are not
 * known, text that something else reads by rules of its own, names that a line gives to other files. Pure.
 *
 * What is not a plain word here is not guessed at: a deny may be hidden in it.
 *
 * @since 0.1.0
 */
import {
  baseName,
  dangerous,
  floorOf,
  harmless,
  harmlessGit,
  interpreters,
  isInline,
  runners,
  sameAs,
  shells,
  shellText,
  startsShell,
  takesCommands,
  wrappers
} from "./Programs.ts"
import type { ShellWord } from "./ShellWords.ts"

const set = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** Text that reads the same to every shell and every program: no quotes, expansions, globs or braces. */
const plain = /^[\w@%+=:,./^ \t\n;|&()!-]*$/

/** @since 0.1.0 @category combinators */
export const isPlainText = (text: string): boolean => text === "{}" || plain.test(text)

/** They hand on their words as they are; every other program that takes a command may read it anew. */
const handsOn = set(
  "xargs sudo doas pkexec exec builtin chroot setsid unshare nsenter bwrap ionice chrt taskset setpriv prlimit setarch " +
    "linux32 linux64 fakeroot chronic time nohup nice stdbuf timeout command unbuffer numactl tini dumb-init jobs"
)

/** Behind an unknown program these are taken for what it runs. */
const evaluators = set("eval env awk gawk mawk sed xargs find ssh su script watch parallel make git")

const ownLanguage = set("awk sed ed ex vi vim nvim emacs sqlite3 gdb expect")

const isEvaluator = (name: string): boolean =>
  shells.has(name) || interpreters.test(name) || takesCommands(name) || Object.hasOwn(dangerous, sameAs[name] ?? name)

/** An unquoted variable, which may bring options along. */
const maybeOption = (word: ShellWord): boolean => word.bare && word.known === "" && /[$`]/.test(word.text)

const maxInner = 40

/** A wrapper whose command is not looked through: what stands behind it may begin at any of its words. */
const hidesInner = (words: ReadonlyArray<ShellWord>): boolean =>
  words.slice(1, maxInner).some(({ text }, at) => {
    const name = baseName(text)
    if (!isEvaluator(name)) return false
    const inner = words.slice(at + 1)
    // What `find` runs ends before the last of its words.
    const end = inner.findIndex((word) => word.known === null && /^[;+]$/.test(word.text))
    return [inner, ...(end < 0 ? [] : [inner.slice(0, end)])].some((each) =>
      shellText(name, each).opaque || hidesItself(name, each, floorOf(name, each))
    )
  })

/**
 * Something is run, or may be, that the words do not show. `floor`: why no broad rule allows the command, as of `floorOf`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const hides = (program: string, words: ReadonlyArray<ShellWord>, floor: string | null): boolean =>
  hidesItself(program, words, floor) || (takesCommands(program) && floor !== null && hidesInner(words)) ||
  hidesLaunched(program, words)

const launchers = set("npx bunx pnpx uvx cross-env dotenv env-cmd")

/** Where the program begins that a runner of packages is given; -1 = it is given none. */
const launchedAt = (program: string, words: ReadonlyArray<ShellWord>): number => {
  if (launchers.has(program)) return 1
  const verb = words[1]?.text ?? ""
  return /^(?:npm|pnpm|yarn|bun)$/.test(program)
    ? /^(?:exec|dlx|x)$/.test(verb) ? 2 : -1
    : /^(?:uv|poetry|pdm|rye|hatch|pipenv|pipx|mise|conda|bundle|direnv)$/.test(program)
    ? /^(?:run|exec)$/.test(verb) ? 2 : -1
    : -1
}

const hidesLaunched = (program: string, words: ReadonlyArray<ShellWord>): boolean => {
  let at = launchedAt(program, words)
  if (at < 0) return false
  while (at < words.length && /^(?:-y|--yes|-q|--quiet|--|[A-Za-z_]\w*=.*)$/s.test(words[at]?.text ?? "")) at++
  const inner = words.slice(at)
  const [first] = inner
  if (first === undefined) return false
  // An option that is not known may take the next word, or any.
  if (first.known !== null || first.text.startsWith("-")) return inner.some((word) => word.known !== null)
  const name = baseName(first.text)
  const floor = floorOf(name, inner)
  return shellText(name, inner).opaque || hides(name, inner, floor) ||
    (wrappers.has(name) && inner.some((word) => word.known !== null))
}

const hidesItself = (program: string, words: ReadonlyArray<ShellWord>, floor: string | null): boolean => {
  const rest = words.slice(1)
  const known = sameAs[program] ?? program
  const dynamic = rest.some((word) => word.known !== null)
  const strange = rest.some((word) => !isPlainText(word.text))
  if (takesCommands(program) && floor !== null) {
    if (program === "fc") return !rest.some((word) => /^-[a-z]*l/.test(word.text))
    // Their text is read as a line.
    if (/^(?:eval|trap|alias|source|\.)$/.test(program)) return false
    if (startsShell(program, rest)) return true
    // Where the text ends that a shell is started with is for the program to know.
    if (!handsOn.has(program)) return dynamic || strange || rest.some((word) => shells.has(baseName(word.text)))
    return dynamic || (strange && rest.some((word) => isEvaluator(baseName(word.text))))
  }
  if (shells.has(program)) return false
  if (floor !== null && (isInline(program) || interpreters.test(program) || ownLanguage.has(known))) return true
  if (known === "find" || known === "fd" || known === "fdfind") {
    return rest.some(maybeOption) || executed(known, words) === null
  }
  const options = dangerous[known]
  if (options !== undefined) {
    // A file of its own input is a program that is not in the line.
    if (floor !== null) return dynamic || strange || known === "make"
    const verb = rest.findIndex((word) => !word.text.startsWith("-"))
    if (known === "git" ? rest.slice(0, verb < 0 ? rest.length : verb + 1).some(maybeOption) : rest.some(maybeOption)) {
      return true
    }
  }
  const [verb] = rest
  if (harmless.has(program) || (program === "git" && harmlessGit.has(verb?.text ?? ""))) return false
  return rest.slice(0, maxInner).some(({ text }, at) => {
    const name = baseName(text)
    return ((dynamic || strange) && (shells.has(name) || interpreters.test(name) || evaluators.has(name))) ||
      // A shell without a script, wherever it is started.
      (shells.has(name) && shellText(name, rest.slice(at)).opaque)
  })
}

/** The commands that `find` and `fd` are given to run; null = they cannot be told apart. @since 0.1.0 @category combinators */
export const executed = (
  program: string,
  words: ReadonlyArray<ShellWord>
): ReadonlyArray<ReadonlyArray<ShellWord>> | null => {
  const found: Array<ReadonlyArray<ShellWord>> = []
  for (let at = 1; at < words.length; at++) {
    const text = words[at]?.text ?? ""
    const runs = program === "find"
      ? /^-(?:exec|execdir|ok|okdir)$/.test(text)
      : dangerous[program]?.test(text) === true
    if (!runs) continue
    if (program !== "find" && !/^(?:-[xX]|--exec|--exec-batch)$/.test(text)) return null
    const inner: Array<ShellWord> = []
    for (at++; at < words.length; at++) {
      const word = words[at]
      if (word === undefined || (word.known === null && word.text === ";")) break
      if (word.known === null && word.text === "+" && inner.at(-1)?.text === "{}") break
      inner.push(word)
    }
    // What it finds may be the program.
    if (inner.length === 0 || inner[0]?.text.includes("{") === true) return null
    found.push(inner)
  }
  return found
}

const linkers = set(
  "ln link symlink mv rename mount umount rsync tar bsdtar gtar unzip cpio pax 7z 7za svn hg install mknod patch stow"
)
const linkingGit = set(
  "checkout switch restore reset stash merge pull clone apply am rebase worktree submodule cherry-pick revert read-tree " +
    "checkout-index bisect filter-branch"
)

/** After it a path may lead elsewhere: it makes links, moves what stands there, or brings files along. @since 0.1.0 @category combinators */
export const relinks = (program: string, words: ReadonlyArray<ShellWord>): boolean => {
  const rest = words.slice(1)
  if (linkers.has(program)) return true
  if (program === "cp") return rest.some((word) => word.text.startsWith("-") || word.known === "")
  if (program === "git") return rest.some((word) => linkingGit.has(word.text) || word.known !== null)
  return (takesCommands(program) || program === "find" || program === "fd") &&
    rest.some((word) => /^(?:cp|git)$/.test(baseName(word.text)) || linkers.has(baseName(word.text)))
}

/** Variables whose value something runs, or reads as program text. */
const commandVariable =
  /^(?:BASH_ENV|BASH_CMDS|BASH_ALIASES|ENV|PS[0-4]|BASH_FUNC_.*|.*(?:COMMAND|PAGER|EDITOR|VISUAL|BROWSER|ASKPASS)|SHELL|LESSOPEN|LESSCLOSE|GIT_(?:SSH|CONFIG.*|EXTERNAL_DIFF|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR)|RSYNC_RSH|CVS_RSH|MAKEFLAGS|PERL5(?:OPT|DB)|RUBYOPT|PYTHONSTARTUP|NODE_OPTIONS|TAR_OPTIONS|RIPGREP_CONFIG_PATH)$/

/** Text that runs by way of a variable; null = the assignment sets no such variable, or what it holds is not known. @since 0.1.0 @category combinators */
export const assignedCommand = (
  word: ShellWord
): { readonly text: string; readonly opaque: boolean } | null => {
  const at = word.text.indexOf("=")
  if (at < 0) return null
  const name = word.text.slice(0, at).replace(/\+$/, "").replace(/\[.*$/, "")
  if (!commandVariable.test(name)) return null
  const text = word.text.slice(at + 1)
  return { text, opaque: word.known !== null || !isPlainText(text) }
}

/** Words that set variables: those before a command, and those of `env`, `export` and their like. @since 0.1.0 @category combinators */
export const setsVariables = (program: string): boolean =>
  /^(?:env|export|declare|typeset|local|readonly|sudo|doas)$/.test(program) || runners.has(program)
