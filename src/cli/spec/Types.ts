/**
 * What the table of the command line is made of. Imports nothing.
 *
 * @since 0.1.0
 */

interface OptionBase {
  /** Without the dashes. */
  readonly name: string
  /** One letter. */
  readonly alias?: string
  readonly description: string
  /** May stand several times. */
  readonly repeat?: true
  /** Not built yet: the option is known and refused with this. */
  readonly later?: true
}

/** @since 0.1.0 @category models */
export type OptionSpec =
  | (OptionBase & { readonly kind: "flag" })
  | (OptionBase & { readonly kind: "text"; readonly value: string; readonly may_be_empty?: true })
  | (OptionBase & { readonly kind: "choice"; readonly choices: ReadonlyArray<string> })
  | (OptionBase & { readonly kind: "integer"; readonly min: number; readonly max: number })
  | (OptionBase & { readonly kind: "number"; readonly min: number })

/** @since 0.1.0 @category models */
export interface ArgumentSpec {
  readonly name: string
  readonly description: string
  readonly optional?: true
  /** The last one: whatever stands behind `--`, at least one word. */
  readonly rest?: true
  /** The last one: may stand several times, at least once. */
  readonly many?: true
}

/** @since 0.1.0 @category models */
export interface CommandSpec {
  /** Words after the program's name; empty for the command without one. */
  readonly path: ReadonlyArray<string>
  readonly summary: string
  readonly options: ReadonlyArray<OptionSpec>
  readonly args: ReadonlyArray<ArgumentSpec>
  /** Pairs of options that exclude each other. */
  readonly excludes?: ReadonlyArray<readonly [string, string]>
  /** Works, but is not listed. */
  readonly hidden?: true
  /** What to say about an argument too many. */
  readonly too_many?: string
}

type Single<O extends OptionSpec> = O extends { readonly kind: "flag" } ? boolean
  : O extends { readonly kind: "text" } ? string
  : O extends { readonly kind: "choice"; readonly choices: ReadonlyArray<infer C> } ? C
  : number

type Value<O extends OptionSpec> = O extends { readonly kind: "flag" } ? boolean
  : O extends { readonly repeat: true } ? ReadonlyArray<Single<O>>
  : Single<O> | undefined

/** The values of a command's options by name, and its arguments in order. @since 0.1.0 @category models */
export type Values<S extends CommandSpec> =
  & { readonly [O in S["options"][number] as O["name"]]: Value<O> }
  & { readonly args: ReadonlyArray<string> }
