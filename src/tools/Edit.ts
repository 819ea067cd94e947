/**
 * `edit`: one text of a file replaced by another.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { success } from "../domain/ToolExecutor.ts"
import { Changes } from "./Changes.ts"
import { defineTool } from "./Define.ts"
import { replace } from "./edit/Replace.ts"
import { decode, encode, isText } from "./edit/Text.ts"
import { unifiedDiff } from "./edit/UnifiedDiff.ts"
import { FileState } from "./FileState.ts"
import { Paths } from "./Paths.ts"
import { ToolFailure } from "./Tool.ts"

const Input = () =>
  Schema.Struct({
    path: Schema.String.annotations({ description: "File to change." }),
    old_string: Schema.String.annotations({
      description: "The text to replace, exactly as it is in the file (without the line numbers of read)."
    }),
    new_string: Schema.String.annotations({ description: "What to put in its place." }),
    replace_all: Schema.optional(
      Schema.Boolean.annotations({ description: "Replace every occurrence. Default false: old_string must be unique." })
    )
  })

/** @since 0.1.0 @category constructors */
export const makeEditTool = Effect.gen(function*() {
  const paths = yield* Paths
  const state = yield* FileState
  const changes = yield* Changes

  return defineTool({
    name: "edit",
    description:
      "Replaces a text in a file by another. old_string must match exactly, white space included, and occur once, or set " +
      "replace_all. Line endings, byte order mark and file mode are kept. The answer shows the change as a diff.",
    input: Input,
    kind: "edit",
    read_only: false,
    prepare: ({ new_string, old_string, path, replace_all = false }) =>
      Effect.map(paths.resolve(path), (target) => ({
        subjects: [target.subject],
        inside_workspace: target.inside,
        run: ({ session_id }) =>
          Effect.gen(function*() {
            const name = target.display
            const fail = (message: string) => new ToolFailure({ message })
            const before = yield* changes.load(target.path)
            if (before === null) {
              return yield* fail(`${yield* paths.missing(target)} To create a file use write.`)
            }
            yield* changes.check(session_id, target.path, before, false)
            const file = decode(before.bytes)
            if (!isText(file)) return yield* fail(`${name} is not text: ${file.name} (${file.media_type}).`)
            const result = replace(file.text, { old_string, new_string, replace_all })
            if (Either.isLeft(result)) return yield* fail(`${name}: ${result.left}`)
            const { count, text } = result.right
            const bytes = encode({ ...file, text })
            if (bytes === undefined) {
              return yield* fail(
                file.encoding === "latin1"
                  ? `${name} is 8-bit text that is not UTF-8; new_string holds characters beyond Latin-1. ` +
                    "Convert the file with bash (iconv) first."
                  : `${name}: new_string holds half of a surrogate pair, which UTF-8 cannot say; fix it.`
              )
            }
            const written = yield* changes.write(session_id, target.path, bytes, before, "part")
            const diff = unifiedDiff(file.text, text)
            const what = count === 1 ? "1 replacement" : `${count} replacements`
            return success(
              `Edited ${name}: ${what}, +${diff.added} -${diff.removed}.${changes.linkNote(written)}\n${diff.text}`
            )
          }).pipe(state.exclusive([target.path]))
      }))
  })
})
