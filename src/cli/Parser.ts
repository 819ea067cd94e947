/**
 * The parser: @effect/cli commands made from the table of the command line.
 *
 * It only ever sees the canonical spelling of `Check`: left alone it takes an unknown option for an argument, a truth
 * word after a switch for the switch's value, and trims texts.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as PlatformTerminal from "@effect/platform/Terminal"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { decode } from "./Check.ts"
import { type CliExit, usage } from "./Exit.ts"
import { commands, type CommandSpec, groups, type OptionSpec, program, type Values } from "./Spec.ts"
import { plain } from "./Style.ts"
import { version } from "./Version.ts"

/** @since 0.1.0 @category models */
export type AnyCommand = Command.Command<string, never, never, Record<string, unknown>>

type Parsed = Readonly<Record<string, unknown>>

const optional = <A>(option: Options.Options<A>): Options.Options<A | undefined> =>
  Options.map(Options.optional(option), Option.getOrUndefined)

const named = <A>(option: Options.Options<A>, spec: OptionSpec): Options.Options<A> => {
  const described = Options.withDescription(option, spec.description)
  return spec.alias === undefined ? described : Options.withAlias(described, spec.alias)
}

const toOption = (spec: OptionSpec): Options.Options<unknown> => {
  switch (spec.kind) {
    case "flag":
      return named(Options.boolean(spec.name), spec)
    case "text": {
      const option = named(Options.withPseudoName(Options.text(spec.name), spec.value), spec)
      return spec.repeat === true
        ? Options.map(Options.repeated(option), (all) => all.map(decode))
        : optional(Options.map(option, decode))
    }
    case "choice":
      return optional(named(Options.choice(spec.name, spec.choices), spec))
    case "integer":
      return optional(named(Options.integer(spec.name), spec))
    case "number":
      return optional(named(Options.float(spec.name), spec))
  }
}

const builtIn = (name: string, alias: string | undefined, description: string): Options.Options<boolean> => {
  const option = Options.withDescription(Options.boolean(name), description)
  return alias === undefined ? option : Options.withAlias(option, alias)
}

const toCommand = (spec: CommandSpec, name: string, found: (values: Parsed) => Effect.Effect<void>): AnyCommand => {
  const options = Object.fromEntries(
    spec.options.filter((option) => option.later !== true).map((option) => [option.name, toOption(option)])
  )
  const args = Object.fromEntries(spec.args.map((arg, index) => {
    const text = Args.map(Args.withDescription(Args.text({ name: arg.name.toUpperCase() }), arg.description), decode)
    return [`arg:${index}`, arg.optional === true ? Args.map(Args.optional(text), Option.getOrUndefined) : text]
  }))
  const config: Command.Command.Config = {
    ...options,
    help: builtIn("help", "h", "Show this help."),
    version: builtIn("version", undefined, "Show the version."),
    ...args
  }
  return Command.make(name, config, (values) => found(values)).pipe(
    Command.withDescription(spec.summary)
  ) as unknown as AnyCommand
}

const withChildren = (parent: AnyCommand, children: ReadonlyArray<AnyCommand>): AnyCommand => {
  const [first, ...rest] = children
  if (first === undefined) return parent
  const all: NonEmptyReadonlyArray<AnyCommand> = [first, ...rest]
  return Command.withSubcommands(parent, all) as unknown as AnyCommand
}

/** The tree of the given commands; the command without a path is its root and always there. */
const tree = (
  specs: ReadonlyArray<CommandSpec>,
  found: (spec: CommandSpec, values: Parsed) => Effect.Effect<void>
): AnyCommand => {
  const children: Array<AnyCommand> = []
  const seen = new Set<string>()
  const one = (spec: CommandSpec, name: string): AnyCommand => toCommand(spec, name, (values) => found(spec, values))
  for (const spec of specs) {
    const [first, second] = spec.path
    if (first === undefined || seen.has(first)) continue
    if (second === undefined) children.push(one(spec, first))
    else {
      seen.add(first)
      const members = specs.filter((member) => member.path[0] === first)
      const group = Command.make(first).pipe(Command.withDescription(groups[first] ?? "")) as unknown as AnyCommand
      children.push(withChildren(group, members.map((member) => one(member, member.path[1] ?? ""))))
    }
  }
  const root = commands.find((spec) => spec.path.length === 0)
  return root === undefined
    ? Command.make(program) as unknown as AnyCommand
    : withChildren(one(root, program), children)
}

const unused = Effect.die("the command line asks no questions")

/** What @effect/cli wants of a terminal; wizards and prompts, which would use it, are never reached. */
const environment = Layer.mergeAll(
  FileSystem.layerNoop({}),
  Path.layer,
  Layer.succeed(
    PlatformTerminal.Terminal,
    PlatformTerminal.Terminal.of({
      columns: Effect.succeed(80),
      rows: Effect.succeed(24),
      isTTY: Effect.succeed(false),
      readInput: unused,
      readLine: unused,
      display: () => Effect.void
    })
  ),
  CliConfig.layer({ showBuiltIns: false, isCaseSensitive: true })
)

const invoke = (command: AnyCommand, argv: ReadonlyArray<string>) =>
  Command.run(command, { name: program, version, executable: program })(["node", program, ...argv]).pipe(
    Effect.provide(environment)
  )

/** What an effect prints through Console, instead of printing it. */
const captured = <E>(effect: Effect.Effect<void, E>): Effect.Effect<string, E> =>
  Console.consoleWith((console) => {
    const lines: Array<string> = []
    const add = (...args: ReadonlyArray<unknown>) => Effect.sync(() => void lines.push(args.join(" ")))
    return Effect.as(Effect.withConsole(effect, { ...console, log: add, error: add }), lines).pipe(
      Effect.map((all) => all.join("\n"))
    )
  })

/** The values of a command from its canonical spelling. @since 0.1.0 @category decoding */
export const parse = <S extends CommandSpec>(
  spec: S,
  argv: ReadonlyArray<string>
): Effect.Effect<Values<S>, CliExit> =>
  Effect.gen(function*() {
    let values: Parsed | undefined
    yield* captured(invoke(tree([spec], (_, found) => Effect.sync(() => void (values = found))), argv)).pipe(
      Effect.mapError((error) => usage(plain(HelpDoc.toAnsiText(error.error)).trim()))
    )
    const found: Parsed = values ?? {}
    const args = spec.args.flatMap((_, index) => {
      const arg = found[`arg:${index}`]
      return typeof arg === "string" ? [arg] : []
    })
    // the shape follows from the table that both the type and the parser were made from
    return { ...found, args } as unknown as Values<S>
  })

/** Every listed command in one tree; running it does nothing. @since 0.1.0 @category constructors */
export const everything = (): AnyCommand => tree(commands.filter((spec) => spec.hidden !== true), () => Effect.void)
