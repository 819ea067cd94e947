/**
 * Help texts from the table of the command line. Pure and without dependencies: `--help` loads nothing else.
 *
 * @since 0.1.0
 */
import { commands, type CommandSpec, groups, type OptionSpec, program } from "./Spec.ts"
import type { Style } from "./Style.ts"

const width = 100

/** Words of a text in lines of at most `room` columns. */
const wrap = (text: string, room: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let current = ""
  for (const word of text.split(" ")) {
    if (current !== "" && current.length + 1 + word.length > room) {
      lines.push(current)
      current = word
    } else current = current === "" ? word : `${current} ${word}`
  }
  return [...lines, current]
}

type Row = readonly [name: string, description: string]

/** Two columns; a name too long for the first stands on its own line. */
const table = (rows: ReadonlyArray<Row>, style: Style): ReadonlyArray<string> => {
  const column = Math.min(28, Math.max(...rows.map(([name]) => name.length)) + 2)
  return rows.flatMap(([name, description]) => {
    const [first = "", ...rest] = wrap(description, width - column - 2)
    const indent = " ".repeat(column + 2)
    const head = name.length + 2 <= column
      ? [`  ${style.bold(name)}${" ".repeat(column - name.length)}${first}`]
      : [`  ${style.bold(name)}`, `${indent}${first}`]
    return [...head, ...rest.map((line) => `${indent}${line}`)]
  })
}

const valueOf = (option: OptionSpec): string => {
  switch (option.kind) {
    case "flag":
      return ""
    case "text":
      return ` ${option.value}`
    case "choice":
      return ` ${option.choices.join("|")}`
    case "integer":
    case "number":
      return " N"
  }
}

const optionRow = (option: OptionSpec): Row => [
  `${option.alias === undefined ? "    " : `-${option.alias}, `}--${option.name}${valueOf(option)}`,
  `${option.description}${option.repeat === true ? " May be given several times." : ""}`
]

const common: ReadonlyArray<Row> = [
  ["-h, --help", "Show this help."],
  ["    --version", "Show the version."]
]

const argumentsOf = (command: CommandSpec): string =>
  command.args.map((arg) => {
    const name = arg.name.toUpperCase()
    return arg.rest === true
      ? arg.optional === true ? `[-- ${name}...]` : `-- ${name}...`
      : arg.optional === true
      ? `[${name}]`
      : arg.many === true
      ? `${name}...`
      : name
  }).join(" ")

const section = (title: string, rows: ReadonlyArray<Row>, style: Style): ReadonlyArray<string> =>
  rows.length === 0 ? [] : ["", style.bold(title), ...table(rows, style)]

const exitCodes: ReadonlyArray<Row> = [
  ["0", "done"],
  ["1", "failed, or the model refused"],
  ["2", "wrong usage or settings: no credential, unknown model"],
  ["3", "a call was refused because nobody could be asked"],
  ["4", "a limit was reached: turns, cost, context, or a loop that went nowhere"],
  ["5", "the provider failed"],
  ["130", "interrupted, or whoever read stdout has gone; 143 after SIGTERM or SIGHUP"]
]

const commandHelp = (command: CommandSpec, style: Style): ReadonlyArray<string> => {
  const name = [program, ...command.path].join(" ")
  const isRoot = command.path.length === 0
  const rows = commands
    .filter((other) => other.path.length > 0 && other.hidden !== true)
    .map((other): Row => [[...other.path, argumentsOf(other)].join(" ").trimEnd(), other.summary])
  return [
    style.bold([name, "[OPTIONS]", argumentsOf(command)].join(" ").trimEnd()),
    ...(isRoot ? [style.bold(`${program} COMMAND [OPTIONS]`)] : []),
    "",
    ...wrap(command.summary, width),
    ...(isRoot ? section("Commands", rows, style) : []),
    ...section(
      "Arguments",
      command.args.map((arg): Row => [arg.name.toUpperCase(), arg.description]),
      style
    ),
    ...section(
      "Options",
      [...command.options.filter((option) => option.later !== true).map(optionRow), ...common],
      style
    ),
    ...(command.path[0] === "run" ? section("Exit codes", exitCodes, style) : []),
    ...(isRoot ? ["", `${program} COMMAND --help says more. ${program} doctor says what works here.`] : [])
  ]
}

const groupHelp = (group: string, style: Style): ReadonlyArray<string> => [
  style.bold(`${program} ${group} COMMAND [OPTIONS]`),
  "",
  groups[group] ?? "",
  ...section(
    "Commands",
    commands.filter((command) => command.path[0] === group).map((command): Row => [
      [...command.path.slice(1), argumentsOf(command)].join(" ").trimEnd(),
      command.summary
    ]),
    style
  )
]

/** The help of a command or group; the program's own help for a path that names none. @since 0.1.0 @category encoding */
export const help = (path: ReadonlyArray<string>, style: Style): string => {
  const key = path.join(" ")
  const command = commands.find((known) => known.path.join(" ") === key)
  const lines = command !== undefined
    ? commandHelp(command, style)
    : Object.hasOwn(groups, key)
    ? groupHelp(key, style)
    : help([], style).trimEnd().split("\n")
  return `${lines.join("\n")}\n`
}

/** Every path that has a help of its own. @since 0.1.0 @category constants */
export const helpPaths: ReadonlyArray<ReadonlyArray<string>> = [
  ...commands.map((command) => command.path),
  ...Object.keys(groups).map((group) => [group])
]
