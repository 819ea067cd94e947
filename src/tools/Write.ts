/**
 * `write`: a whole file, new or in place of the old one.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { success } from "../domain/ToolExecutor.ts"
import { Changes } from "./Changes.ts"
import { defineTool } from "./Define.ts"
import { encode, linesOf } from "./edit/Text.ts"
import { FileState } from "./FileState.ts"
import { Paths } from "./Paths.ts"
import { ToolFailure } from "./Tool.ts"

const Input = () =>
  Schema.Struct({
    path: Schema.String.annotations({ description: "File to write; missing directories are made." }),
    content: Schema.String.annotations({ description: "The whole content of the file, exactly as it is to be." })
  })

const count = (n: number): string => n === 1 ? "1 line" : `${n} lines`

/** @since 0.1.0 @category constructors */
export const makeWriteTool = Effect.gen(function*() {
  const paths = yield* Paths
  const state = yield* FileState
  const changes = yield* Changes

  return defineTool({
    name: "write",
    description:
      "Writes a whole file, creating it or replacing what it held. An existing file must have been read in this session " +
      "first. To change a part of a file use edit or apply_patch.",
    input: Input,
    kind: "edit",
    read_only: false,
    prepare: ({ content, path }) =>
      Effect.flatMap(paths.resolve(path), (target) => {
        const bytes = encode({ text: content, encoding: "utf-8", bom: false })
        if (bytes === undefined) {
          return new ToolFailure({ message: "content holds half of a surrogate pair, which UTF-8 cannot say; fix it." })
        }
        if (path.endsWith("/")) {
          return new ToolFailure({ message: `path ${JSON.stringify(path)} ends in "/": give the name of a file.` })
        }
        return Effect.succeed({
          subjects: [target.subject],
          inside_workspace: target.inside,
          run: ({ session_id }) =>
            Effect.gen(function*() {
              const before = yield* changes.load(target.path)
              if (before !== null) yield* changes.check(session_id, target.path, before, true)
              const written = yield* changes.write(session_id, target.path, bytes, before, "whole")
              const lines = linesOf(content).length
              return success(
                (before === null
                  ? `Created ${target.display} (${count(lines)}).`
                  : `Overwrote ${target.display} (${count(lines)}).`) + changes.linkNote(written)
              )
            }).pipe(state.exclusive([target.path]))
        })
      })
  })
})
