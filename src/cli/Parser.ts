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
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { decode } from "./Check.ts"
import { type CliExit, usage } from "./Exit.ts"
import { type CommandSpec, type OptionSpec, program, type Values } from "./Spec.ts"
import { plain } from "./Style.ts"
import { absent } from "./Values.ts"
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

/** A command of the table as @effect/cli has it. @since 0.1.0 @category constructors */
export const toCommand = (
  spec: CommandSpec,
  name: string,
  found: (values: Parsed) => Effect.Effect<void>
): AnyCommand => {
  const options = Object.fromEntries(
    spec.options.filter((option) => option.later !== true).map((option) => [option.name, toOption(option)])
  )
  const args = Object.fromEntries(spec.args.map((arg, index) => {
    const text = Args.map(Args.withDescription(Args.text({ name: arg.name.toUpperCase() }), arg.description), decode)
    return [
      `arg:${index}`,
      arg.rest === true || arg.many === true
        ? Args.map(Args.repeated(text), (all) => all)
        : arg.optional === true
        ? Args.map(Args.optional(text), Option.getOrUndefined)
        : text
    ]
  }))
  const config: Command.Command.Config = { ...options, ...args }
  return Command.make(name, config, (values) => found(values)).pipe(
    Command.withDescription(spec.summary)
  ) as unknown as AnyCommand
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

/**
 * The values of a command from its canonical spelling.
 *
 * @effect/cli tries every option at every token, at several milliseconds each: only the options that were given are
 * declared, and the command stands alone, without the tree around it.
 *
 * @since 0.1.0
 * @category decoding
 */
export const parse = <S extends CommandSpec>(
  spec: S,
  argv: ReadonlyArray<string>
): Effect.Effect<Values<S>, CliExit> =>
  Effect.gen(function*() {
    const tokens = argv.slice(spec.path.length)
    const given = new Set(tokens.filter((token) => token.startsWith("--")))
    const options = spec.options.filter((option) => given.has(`--${option.name}`))
    let values: Parsed = {}
    const alone = toCommand({ ...spec, options }, program, (found) => Effect.sync(() => void (values = found)))
    yield* captured(invoke(alone, tokens)).pipe(
      Effect.mapError((error) => usage(plain(HelpDoc.toAnsiText(error.error)).trim()))
    )
    const args = spec.args.flatMap((_, index) => {
      const arg = values[`arg:${index}`]
      return typeof arg === "string" ? [arg] : Array.isArray(arg) ? arg as ReadonlyArray<string> : []
    })
    const all = Object.fromEntries(spec.options.map((option) => [option.name, values[option.name] ?? absent(option)]))
    // the shape follows from the table that both the type and the parser were made from
    return { ...all, args } as unknown as Values<S>
  })
