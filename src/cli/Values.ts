/**
 * The values of a command straight from its canonical spelling, for the one command whose start is counted in
 * milliseconds: `run`. What @effect/cli makes of the same spelling is the same, which a test holds it to.
 *
 * @since 0.1.0
 */
import { decode } from "./Check.ts"
import type { CommandSpec, OptionSpec, Values } from "./Spec.ts"

const valueOf = (option: OptionSpec, token: string): unknown =>
  option.kind === "text" ? decode(token) : option.kind === "choice" ? token : Number(token)

/** What an option is that was not given: no switch, no value, nothing repeated. @since 0.1.0 @category constants */
export const absent = (option: OptionSpec): unknown =>
  option.kind === "flag" ? false : option.repeat === true ? [] : undefined

/** `argv` as `Check` gives it: the path, options with their values, arguments. @since 0.1.0 @category decoding */
export const read = <S extends CommandSpec>(spec: S, argv: ReadonlyArray<string>): Values<S> => {
  const byName = new Map(spec.options.map((option) => [`--${option.name}`, option]))
  const values: Record<string, unknown> = {}
  for (const option of spec.options) values[option.name] = absent(option)
  const args: Array<string> = []
  for (let i = spec.path.length; i < argv.length; i++) {
    const token = argv[i] ?? ""
    const option = byName.get(token)
    if (option === undefined) {
      args.push(decode(token))
      continue
    }
    if (option.kind === "flag") {
      values[option.name] = true
      continue
    }
    i += 1
    const value = valueOf(option, argv[i] ?? "")
    const before = values[option.name]
    values[option.name] = Array.isArray(before) ? [...before as ReadonlyArray<unknown>, value] : value
  }
  // the shape follows from the table that the type was made from
  return { ...values, args } as unknown as Values<S>
}
