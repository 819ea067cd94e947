/**
 * Commands and skills of the user's own and of the project, as the command line uses them. Loaded when something that is no
 * command of the program begins with a slash, or is asked for.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunInput } from "../agent/Agent.ts"
import { nearest } from "../codec/Distance.ts"
import { line } from "../codec/TerminalText.ts"
import type { Invocation } from "../instructions/Catalogue.ts"
import { Instructions } from "../instructions/Instructions.ts"
import { Models } from "../provider/Models.ts"
import type { AgentValues } from "./Run.ts"
import type { Style } from "./Style.ts"

/** A call that can be run, why it cannot, or null: there is no such command. @since 0.1.0 @category models */
export type Called = { readonly input: Partial<RunInput> } | { readonly refusal: string } | null

/** What the command itself says about its run. */
const inputOf = (command: Invocation): Partial<RunInput> => ({
  command,
  ...(command.model === null ? {} : { model: command.model }),
  ...(command.agent === null ? {} : { delegate: { agent: command.agent } })
})

/** The command or skill that a prompt calls. @since 0.1.0 @category combinators */
export const called = (
  prompt: string,
  values: Pick<AgentValues, "max-cost">
): Effect.Effect<Called, never, Models> =>
  Effect.gen(function*() {
    const instructions = yield* Effect.serviceOption(Instructions)
    const found = Option.isNone(instructions) ? null : yield* instructions.value.invocation(prompt)
    if (found === null || "refusal" in found) return found
    if (found.model !== null) {
      const models = yield* Models
      const model = yield* Effect.either(models.resolve(found.model))
      if (model._tag === "Left") return { refusal: `${found.shown}: ${model.left.message}` }
      if (values["max-cost"] !== undefined && model.right.price === null) {
        return { refusal: `${found.shown}: --max-cost needs a price, and ${model.right.name} has none` }
      }
    }
    return { input: inputOf(found) }
  })

/** What there is, by name, without that which a command of the program hides. */
const usable = (taken: ReadonlySet<string>) =>
  Effect.gen(function*() {
    const instructions = yield* Effect.serviceOption(Instructions)
    if (Option.isNone(instructions)) return { commands: [], skills: [], problems: [] }
    const [commands, skills] = yield* Effect.all([instructions.value.commands, instructions.value.skills])
    const hidden = commands.all.filter(({ name }) => taken.has(name))
    const names = new Set([...taken, ...commands.all.map(({ name }) => name)])
    return {
      commands: commands.all.filter(({ name }) => !taken.has(name)),
      skills: skills.all,
      problems: [
        ...commands.problems,
        ...hidden.map(({ name, own, shown }) =>
          `${shown}: /${name} is a command of the program; call this one by /${own ? "user" : "project"}:${name}`
        ),
        ...skills.problems,
        ...skills.all.filter(({ name }) => names.has(name)).map(({ name, shown }) =>
          `${shown}: /${name} is a command; call this skill by /skill ${name}`
        )
      ]
    }
  })

/** The lines for `/help`; empty = there is nothing. `taken` are the commands of the program. @since 0.1.0 @category encoding */
export const helpText = (taken: ReadonlySet<string>, width: number, style: Style): Effect.Effect<string> =>
  Effect.map(usable(taken), ({ commands, problems, skills }) => {
    const row = (name: string, text: string): string => `  ${line(name, 80).padEnd(width)} ${line(text, 300)}\n`
    return [
      ...commands.map(({ argument_hint, description, name, own, waits }) =>
        row(
          `/${name}${argument_hint === "" ? "" : ` ${argument_hint}`}`,
          `${description}${own ? "" : " (project)"}${waits === null ? "" : " - waits for trust"}`
        )
      ),
      ...skills.map(({ description, name, own }) => row(`/skill ${name}`, `${description}${own ? "" : " (project)"}`)),
      ...problems.map((problem) => style.yellow(`  ${line(problem, 500)}\n`))
    ].join("")
  })

/** Words that a line which begins with a slash may go on to. @since 0.1.0 @category combinators */
export const completions = (text: string, taken: ReadonlySet<string>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(usable(taken), ({ commands, skills }) => {
    const names = new Set([
      ...taken,
      ...commands.map(({ name }) => name),
      ...skills.flatMap(({ name }) => [name, `skill ${name}`])
    ])
    return [...names].toSorted().map((name) => `/${name} `).filter((each) => each.startsWith(text))
  })

/** The nearest name, for one that there is not. @since 0.1.0 @category combinators */
export const near = (name: string, taken: ReadonlySet<string>): Effect.Effect<string | undefined> =>
  Effect.map(
    usable(taken),
    ({ commands, skills }) =>
      nearest(name, [...taken, ...commands.map((each) => each.name), ...skills.map((each) => each.name)])
  )

/** Names, for a message. @since 0.1.0 @category encoding */
export const listed: Effect.Effect<string> = Effect.map(usable(new Set()), ({ commands }) =>
  commands.length === 0
    ? "there are no commands of your own here; they are files .hanzo/commands/NAME.md"
    : `the commands are ${commands.map(({ name }) => name).join(", ")}`)
