/**
 * `skill`: loads the instructions of a skill, or a file that lies beside them (reading 2.10). The subject of its rules is
 * the skill's name. Tools that the skill wants allowed are so until the run ends, as far as no rule says otherwise.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { line } from "../codec/TerminalText.ts"
import { success } from "../domain/ToolExecutor.ts"
import { Instructions } from "../instructions/Instructions.ts"
import { Allowances } from "../permissions/Allowances.ts"
import { defineTool } from "./Define.ts"
import { nearest } from "./Nearest.ts"
import { type NativeTool, ToolFailure } from "./Tool.ts"

const Input = () =>
  Schema.Struct({
    name: Schema.NonEmptyString.annotations({ description: "Name of the skill, as the list of skills has it." }),
    file: Schema.optional(
      Schema.String.annotations({
        description: "A file in the skill's folder, relative to it. Default: the instructions themselves."
      })
    )
  })

/** @since 0.1.0 @category constructors */
export const makeSkillTool: Effect.Effect<NativeTool, never, Instructions> = Effect.gen(function*() {
  const instructions = yield* Instructions
  const allowances = Option.getOrNull(yield* Effect.serviceOption(Allowances))

  const unknown = (name: string): Effect.Effect<never, ToolFailure> =>
    Effect.flatMap(instructions.skills, ({ all }) => {
      const names = all.map((skill) => skill.name)
      const near = nearest(name, names)
      return new ToolFailure({
        message: `there is no skill ${JSON.stringify(line(name, 80))}${
          names.length === 0
            ? "; there are no skills here"
            : near.length > 0
            ? `; did you mean ${near.join(" or ")}?`
            : `; the skills are: ${names.join(", ")}`
        }`
      })
    })

  const tool = defineTool({
    name: "skill",
    description:
      "Loads a skill: instructions for a particular kind of work, written by the user or the project. Load it before you " +
      "begin such work; with `file` it shows one of the files that the skill names.",
    input: Input,
    kind: "read",
    read_only: true,
    prepare: ({ file, name }) =>
      Effect.succeed({
        subjects: [name],
        inside_workspace: false,
        run: ({ session_id }) =>
          Effect.gen(function*() {
            const wanted = file === undefined || file.trim() === "" ? undefined : file
            const found = yield* instructions.skill(name, wanted)
            if (found === null) return yield* unknown(name)
            if ("problem" in found) return yield* new ToolFailure({ message: found.problem })
            yield* allowances?.add(
              session_id,
              found.allows.map((tool_pattern) => ({ tool_pattern, by: `the skill ${name}` }))
            ) ?? Effect.void
            return success(found.text)
          })
      })
  })
  return {
    ...tool,
    // with its schema still to be made
    definition: tool.definition,
    offered: () => instructions.has_skills
  }
})
