/**
 * Completion scripts from the table of the command line, for bash, zsh and fish.
 *
 * Words are completed by command; values by option: words of a choice, directories, files.
 *
 * @since 0.1.0
 */
import { commands, type CommandSpec, groups, type OptionSpec, program } from "./Spec.ts"

/** @since 0.1.0 @category constants */
export const shells = ["bash", "zsh", "fish"] as const
/** @since 0.1.0 @category models */
export type Shell = (typeof shells)[number]

/** Those that are there without settings. */
const providers = ["hanzo", "anthropic", "openai"]

const listed = commands.filter((command) => command.hidden !== true)

const offered = (command: CommandSpec): ReadonlyArray<OptionSpec> =>
  command.options.filter((option) => option.later !== true)

const spellings = (option: OptionSpec): ReadonlyArray<string> =>
  option.alias === undefined ? [`--${option.name}`] : [`--${option.name}`, `-${option.alias}`]

/** Words that may follow each path: commands and options. */
const wordsByPath = (): ReadonlyArray<readonly [path: string, words: ReadonlyArray<string>]> => [
  ...listed.map((command) =>
    [command.path.join(" "), [
      ...(command.path.length === 0 ? new Set(listed.flatMap(({ path }) => path.slice(0, 1))) : []),
      ...(command.path[0] === "completions" ? shells : []),
      ...(command.args.some(({ name }) => name === "provider") ? providers : []),
      ...offered(command).flatMap(spellings),
      "--help"
    ]] as const
  ),
  ...Object.keys(groups).map((group) =>
    [group, [...listed.filter(({ path }) => path[0] === group).map(({ path }) => path[1] ?? ""), "--help"]] as const
  )
]

/** Steps from a path by a word to the next path. */
const steps = (): ReadonlyArray<readonly [from: string, word: string, to: string]> => [
  ...Object.keys(groups).map((group) => ["", group, group] as const),
  ...listed.filter(({ path }) => path.length > 0).map(({ path }) =>
    [path.slice(0, -1).join(" "), path.at(-1) ?? "", path.join(" ")] as const
  )
]

type Kind = "directories" | "files" | "nothing" | ReadonlyArray<string>

const kindOf = (option: OptionSpec): Kind =>
  option.kind === "choice"
    ? option.choices
    : option.kind === "text" && option.value === "DIR"
    ? "directories"
    : option.kind === "text" && option.value === "FILE"
    ? "files"
    : "nothing"

const values = (): ReadonlyArray<readonly [path: string, names: ReadonlyArray<string>, kind: Kind]> =>
  listed.flatMap((command) =>
    offered(command).filter((option) => option.kind !== "flag").map((option) =>
      [command.path.join(" "), spellings(option), kindOf(option)] as const
    )
  )

const walk = (words: string, first: number, count: string): ReadonlyArray<string> => [
  `  for ((i = ${first}; i < ${count}; i++)); do`,
  `    case "$cmd \${${words}[i]}" in`,
  ...steps().map(([from, word, to]) => `      "${from} ${word}") cmd="${to}" ;;`),
  "    esac",
  "  done"
]

const bash = (): ReadonlyArray<string> => {
  const reply = (kind: Kind): string =>
    kind === "directories"
      ? "COMPREPLY=($(compgen -d -- \"$cur\"))"
      : kind === "files"
      ? "COMPREPLY=($(compgen -f -- \"$cur\"))"
      : kind === "nothing"
      ? "COMPREPLY=()"
      : `COMPREPLY=($(compgen -W "${kind.join(" ")}" -- "$cur"))`
  return [
    "_hanzo_dev() {",
    "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" cmd=\"\" words=\"\" i",
    ...walk("COMP_WORDS", 1, "COMP_CWORD"),
    "  case \"$cmd $prev\" in",
    ...values().map(([path, names, kind]) =>
      `    ${names.map((name) => `"${path} ${name}"`).join("|")}) ${reply(kind)}; return ;;`
    ),
    "  esac",
    "  case \"$cmd\" in",
    ...wordsByPath().map(([path, words]) => `    "${path}") words="${words.join(" ")}" ;;`),
    "  esac",
    "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))",
    "}",
    `complete -F _hanzo_dev ${program}`
  ]
}

const zsh = (): ReadonlyArray<string> => {
  const add = (kind: Kind): string =>
    kind === "directories"
      ? "_files -/"
      : kind === "files"
      ? "_files"
      : kind === "nothing"
      ? ":"
      : `compadd -- ${kind.join(" ")}`
  return [
    `#compdef ${program}`,
    "_hanzo_dev() {",
    "  local cmd=\"\" prev=\"${words[CURRENT-1]}\" i",
    ...walk("words", 2, "CURRENT"),
    "  case \"$cmd $prev\" in",
    ...values().map(([path, names, kind]) =>
      `    ${names.map((name) => `"${path} ${name}"`).join("|")}) ${add(kind)}; return ;;`
    ),
    "  esac",
    "  case \"$cmd\" in",
    ...wordsByPath().map(([path, words]) => `    "${path}") compadd -- ${words.join(" ")} ;;`),
    "  esac",
    "}",
    "if [ \"$funcstack[1]\" = \"_hanzo_dev\" ]; then _hanzo_dev \"$@\"; else compdef _hanzo_dev hanzo-dev; fi"
  ]
}

const fishText = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`

const fish = (): ReadonlyArray<string> => {
  const seen = (path: ReadonlyArray<string>): string => {
    const firsts = [...new Set(listed.flatMap((command) => command.path.slice(0, 1)))]
    return path.length === 0
      ? `not __fish_seen_subcommand_from ${firsts.join(" ")}`
      : path.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ")
  }
  const lines = [`complete -c ${program} -f`]
  const add = (condition: string, rest: string, description: string): void => {
    lines.push(`complete -c ${program} -n ${fishText(condition)} ${rest} -d ${fishText(description)}`)
  }
  for (const [group, about] of Object.entries(groups)) add(seen([]), `-a ${group}`, about)
  for (const command of listed) {
    const [first, second] = command.path
    if (first !== undefined && second === undefined) add(seen([]), `-a ${first}`, command.summary)
    if (first !== undefined && second !== undefined) {
      const siblings = listed.filter(({ path }) => path[0] === first).map(({ path }) => path[1] ?? "")
      add(
        `${seen([first])}; and not __fish_seen_subcommand_from ${siblings.join(" ")}`,
        `-a ${second}`,
        command.summary
      )
    }
    if (first === "completions") add(seen([first]), `-a ${fishText(shells.join(" "))}`, "Shell")
    for (const option of offered(command)) {
      const kind = kindOf(option)
      const value = option.kind === "flag"
        ? ""
        : kind === "files"
        ? " -r -F"
        : kind === "directories"
        ? " -x -a '(__fish_complete_directories)'"
        : kind === "nothing"
        ? " -x"
        : ` -x -a ${fishText(kind.join(" "))}`
      const short = option.alias === undefined ? "" : ` -s ${option.alias}`
      add(seen(command.path), `-l ${option.name}${short}${value}`, option.description)
    }
    add(seen(command.path), "-l help -s h", "Show this help.")
  }
  return lines
}

/** @since 0.1.0 @category encoding */
export const completions = (shell: Shell): string => {
  const lines = shell === "bash" ? bash() : shell === "zsh" ? zsh() : fish()
  return `${lines.join("\n")}\n`
}
