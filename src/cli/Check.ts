/**
 * The check of the command line before it is parsed (architecture section 5): which command, every token a declared
 * option, a value of one, or an argument that the command takes; numbers in range, words of a choice known.
 *
 * Pure and without dependencies. What passes is handed to the parser in one canonical spelling, with every free text
 * encoded, so that no value can be taken for an option, a command or a truth value.
 *
 * @since 0.1.0
 */
import { nearest } from "../codec/Distance.ts"
import { line } from "../codec/TerminalText.ts"
import { commands, type CommandSpec, groups, later, type OptionSpec, program } from "./Spec.ts"

/** @since 0.1.0 @category models */
export type Checked =
  | { readonly kind: "command"; readonly command: CommandSpec; readonly argv: ReadonlyArray<string> }
  /** `path` names a command or a group. */
  | { readonly kind: "help"; readonly path: ReadonlyArray<string> }
  | { readonly kind: "version" }
  /** Exit code 2; `lines` go to stderr. */
  | { readonly kind: "error"; readonly lines: ReadonlyArray<string> }

/** A free text as one harmless token: a dot, then the text with everything unusual as `_hex_`. @since 0.1.0 @category encoding */
export const encode = (text: string): string =>
  `.${text.replaceAll(/[^A-Za-z0-9/]/gu, (char) => `_${(char.codePointAt(0) ?? 0).toString(16)}_`)}`

/** @since 0.1.0 @category decoding */
export const decode = (token: string): string =>
  token.slice(1).replaceAll(/_([0-9a-f]+)_/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))

const quote = (text: string): string => `"${line(text, 80)}"`

const error = (...lines: ReadonlyArray<string>): Checked => ({ kind: "error", lines })

const laterLine = (what: string): string => `${what} comes with a later version of ${program}`

const named = (path: ReadonlyArray<string>): string => [program, ...path].join(" ")

const seeHelp = (path: ReadonlyArray<string>): string => `see ${named(path)} --help`

const samePath = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a.length === b.length && a.every((word, index) => word === b[index])

const isHelp = (token: string): boolean => token === "--help" || token === "-h"

interface Found {
  readonly command: CommandSpec
  readonly rest: ReadonlyArray<string>
}

const find = (argv: ReadonlyArray<string>): Found | Checked => {
  const first = argv[0]
  const root = commands.find((command) => command.path.length === 0)
  if (first === undefined || first.startsWith("-")) {
    return root === undefined ? error("no command") : { command: root, rest: argv }
  }
  const second = argv[1]
  const known = later.find((path) => path.every((word, index) => argv[index] === word))
  if (known !== undefined) return error(laterLine(named(known)))
  if (first === "help") {
    const path = argv.slice(1)
    return commands.some((command) => samePath(command.path, path)) ||
        (path.length === 1 && Object.hasOwn(groups, path[0] ?? ""))
      ? { kind: "help", path }
      : error(`there is no command ${quote(path.join(" "))}`, seeHelp([]))
  }
  if (Object.hasOwn(groups, first)) {
    const names = commands.filter((command) => command.path[0] === first).map((command) => command.path[1] ?? "")
    if (second === undefined) return error(`${named([first])} needs a command: ${names.join(", ")}`, seeHelp([first]))
    if (isHelp(second)) return { kind: "help", path: [first] }
    if (second === "--version") return { kind: "version" }
    const command = commands.find((command) => samePath(command.path, [first, second]))
    if (command !== undefined) return { command, rest: argv.slice(2) }
    if (second.startsWith("-")) {
      return error(`${named([first])} needs a command before ${quote(second)}: ${names.join(", ")}`, seeHelp([first]))
    }
    const near = nearest(second, names)
    return error(
      `${named([first])} has no command ${quote(second)}${near === undefined ? "" : `; did you mean ${near}?`}`,
      seeHelp([first])
    )
  }
  const command = commands.find((command) => samePath(command.path, [first]))
  if (command !== undefined) return { command, rest: argv.slice(1) }
  const names = [
    ...commands.filter((command) => command.path.length > 0 && command.hidden !== true).map((command) =>
      command.path[0] ?? ""
    ),
    ...later.map((path) => path[0] ?? "")
  ]
  const near = nearest(first, names)
  return error(
    `there is no command ${quote(first)}${near === undefined ? "" : `; did you mean ${near}?`}`,
    near === undefined ? `to run a prompt: ${program} run "..."` : seeHelp([])
  )
}

const spellings = (option: OptionSpec): ReadonlyArray<string> =>
  option.alias === undefined ? [`--${option.name}`] : [`--${option.name}`, `-${option.alias}`]

const problemOf = (option: OptionSpec, value: string): string | null => {
  const name = `--${option.name}`
  switch (option.kind) {
    case "flag":
      return null
    case "text":
      return value === "" && option.may_be_empty !== true ? `${name} needs a value that is not empty` : null
    case "choice": {
      if (option.choices.includes(value)) return null
      const near = nearest(value, option.choices)
      return `${name} must be one of ${option.choices.join(", ")}, not ${quote(value)}${
        near === undefined ? "" : `; did you mean ${near}?`
      }`
    }
    case "integer": {
      const number = Number(value)
      return /^[0-9]+$/.test(value) && number >= option.min && number <= option.max
        ? null
        : `${name} must be a whole number from ${option.min} to ${option.max}, not ${quote(value)}`
    }
    case "number":
      return /^(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$/.test(value) && Number(value) >= option.min &&
          Number.isFinite(Number(value))
        ? null
        : `${name} must be a number, ${option.min} or more, not ${quote(value)}`
  }
}

/** `argv` without the program's name. @since 0.1.0 @category decoding */
export const check = (argv: ReadonlyArray<string>): Checked => {
  const found = find(argv)
  if ("kind" in found) return found
  const { command, rest } = found
  const bySpelling = new Map(command.options.flatMap((option) => spellings(option).map((name) => [name, option])))
  const problems: Array<string> = []
  const seen = new Map<string, number>()
  const options: Array<string> = []
  const args: Array<string> = []
  let ended = false

  for (let i = 0; i < rest.length; i++) {
    const token = rest[i] ?? ""
    if (ended || token === "-" || !token.startsWith("-")) {
      args.push(token)
      continue
    }
    if (token === "--") {
      ended = true
      continue
    }
    if (isHelp(token)) return { kind: "help", path: command.path }
    if (token === "--version") return { kind: "version" }
    const equals = token.indexOf("=")
    const name = equals < 0 ? token : token.slice(0, equals)
    const option = bySpelling.get(name)
    if (option === undefined) {
      const near = nearest(name, [...bySpelling.keys(), "--help", "--version"])
      problems.push(
        `${named(command.path)} has no option ${quote(name)}${near === undefined ? "" : `; did you mean ${near}?`}`
      )
      continue
    }
    if (option.later === true) {
      problems.push(laterLine(`--${option.name}`))
      if (equals < 0 && option.kind !== "flag") i += 1
      continue
    }
    const times = (seen.get(option.name) ?? 0) + 1
    seen.set(option.name, times)
    if (times === 2 && option.repeat !== true) problems.push(`--${option.name} was given more than once`)
    if (option.kind === "flag") {
      if (equals >= 0) problems.push(`--${option.name} takes no value`)
      if (times === 1) options.push(`--${option.name}`)
      continue
    }
    let value: string
    if (equals >= 0) value = token.slice(equals + 1)
    else {
      const next = rest[i + 1]
      if (next === undefined || next === "--" || bySpelling.has(next) || next.startsWith("--") || isHelp(next)) {
        const joined = next !== undefined && next.startsWith("--") && next !== "--" && !bySpelling.has(next)
        problems.push(
          `--${option.name} needs a value${
            joined ? `; for a value that begins with dashes write --${option.name}=${line(next, 40)}` : ""
          }`
        )
        if (joined && !isHelp(next)) i += 1
        continue
      }
      value = next
      i += 1
    }
    const problem = problemOf(option, value)
    if (problem !== null) problems.push(problem)
    else options.push(`--${option.name}`, option.kind === "text" ? encode(value) : value)
  }

  for (const [a, b] of command.excludes ?? []) {
    if (seen.has(a) && seen.has(b)) problems.push(`--${a} and --${b} exclude each other`)
  }
  const extra = args[command.args.length]
  const last = command.args.at(-1)
  if (extra !== undefined && last?.rest !== true && last?.many !== true) {
    const misplaced = command.path.length === 0 &&
      commands.some((known) => known.path[0] === extra && known.path.length > 0)
    problems.push(
      misplaced
        ? `options go after the command: ${program} ${extra} ...`
        : `${named(command.path)} does not take the argument ${quote(extra)}${
          command.too_many === undefined ? "" : `; ${command.too_many}`
        }`
    )
  }
  command.args.forEach((arg, index) => {
    if (arg.optional !== true && args[index] === undefined) {
      problems.push(`${named(command.path)} needs ${arg.name.toUpperCase()}: ${arg.description}`)
    }
  })
  if (problems.length > 0) return error(...problems, seeHelp(command.path))
  return { kind: "command", command, argv: [...command.path, ...options, ...args.map(encode)] }
}
