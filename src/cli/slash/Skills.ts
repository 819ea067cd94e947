/** `/skills`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { line } from "../../codec/TerminalText.ts"
import { Instructions } from "../../instructions/Instructions.ts"
import type { Talk } from "./Slash.ts"

/** @since 0.1.0 @category combinators */
export const skills = (_: string, talk: Talk) =>
  Effect.gen(function*() {
    const instructions = yield* Effect.serviceOption(Instructions)
    const { all, problems } = Option.isNone(instructions) ? { all: [], problems: [] } : yield* instructions.value.skills
    yield* talk.say([
      all.length === 0 ? "there are no skills; one is a folder .hanzo/skills/NAME with a file SKILL.md\n" : "",
      ...all.map(({ description, name, own, shown }) =>
        `  ${line(name, 64).padEnd(20)} ${line(description, 300)}${own ? "" : " (project)"}  ${
          talk.style.dim(line(shown, 200))
        }\n`
      ),
      ...problems.map((problem) => talk.style.yellow(`  ${line(problem, 500)}\n`)),
      all.length === 0
        ? ""
        : talk.style.dim("the model loads them when they fit; /skill NAME [TEXT] puts one into a message\n")
    ].join(""))
  })
