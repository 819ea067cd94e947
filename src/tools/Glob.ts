/**
 * `glob`: files by name, newest first.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { success } from "../domain/ToolExecutor.ts"
import { Files } from "../platform/Files.ts"
import { defineTool } from "./Define.ts"
import { Paths, toFailure } from "./Paths.ts"
import { ToolFailure } from "./Tool.ts"

/** Files of one answer. */
const maxFiles = 200

/**
 * The fixed directories at the beginning of a glob, which belong to the path that rules see, and the rest. `..` may only
 * stand in the fixed part: undefined = it does not.
 *
 * @since 0.1.0
 * @category combinators
 */
export const splitGlob = (pattern: string): { readonly base: string; readonly rest: string } | undefined => {
  const parts = pattern.split("/")
  const home = parts[0] === "~"
  const absolute = pattern.startsWith("/")
  let fixed = 0
  // Only what leads away is moved: a pattern below the starting directory stays whole.
  const leads = absolute || home || parts.includes("..")
  if (leads) { while (fixed < parts.length - 1 && !/[*?[\]{}()!\\]/u.test(parts[fixed] ?? "")) fixed++ }
  const rest = parts.slice(fixed).filter((part) => part !== "." && part !== "")
  if (rest.includes("..")) return undefined
  const base = parts.slice(0, fixed).join("/")
  return { base: leads ? (absolute && base === "" ? "/" : base) : "", rest: rest.join("/") }
}

const Input = () =>
  Schema.Struct({
    pattern: Schema.String.annotations({
      description:
        "Glob below the directory: ** crosses directories, * and ? do not, {a,b} is either. Example: src/**/*.ts"
    }),
    path: Schema.optional(
      Schema.String.annotations({ description: "Directory to search. Default: the working directory." })
    )
  })

/** @since 0.1.0 @category constructors */
export const makeGlobTool = Effect.gen(function*() {
  const paths = yield* Paths
  const files = yield* Files

  return defineTool({
    name: "glob",
    description:
      "Lists files whose path matches a glob, newest first. For any depth write **/*.ts. Files ignored by .gitignore are " +
      "left out, symbolic links are not followed.",
    input: Input,
    kind: "read",
    read_only: true,
    prepare: ({ path = ".", pattern }) =>
      Effect.gen(function*() {
        const fail = (message: string) => new ToolFailure({ message })
        if (pattern.trim() === "") return yield* fail("pattern is empty; give a glob, for example **/*.ts")
        if (pattern.includes("\0")) return yield* fail("pattern contains a NUL character, which no name can")
        if (pattern.length > 4_096) return yield* fail("pattern is longer than 4,096 characters; use a shorter one")
        const split = splitGlob(pattern)
        if (split === undefined) {
          return yield* fail("pattern has .. after a wildcard; give the directory as path and a glob below it")
        }
        const { base, rest } = split
        const start = base === "" ? path : base.startsWith("/") || base.startsWith("~") ? base : `${path}/${base}`
        if (rest === "" || pattern.endsWith("/")) {
          return yield* fail("pattern names a directory only; add what to look for in it, for example **")
        }
        const target = yield* paths.resolve(start)
        return {
          subjects: [target.subject],
          inside_workspace: target.inside,
          run: ({ denies }) =>
            Effect.gen(function*() {
              const found = yield* files.stat(target.path).pipe(Effect.mapError(toFailure))
              if (found === null) return yield* fail(yield* paths.missing(target))
              if (found.kind !== "directory") return yield* fail(`${target.display} is not a directory.`)
              const again = yield* files.canonical(target.path).pipe(Effect.mapError(toFailure))
              if (again.path !== target.path) {
                return yield* fail(`${target.display} leads elsewhere than when it was checked; nothing was read.`)
              }
              const walked = yield* files.walk({ directory: target.path, pattern: rest }).pipe(
                Effect.mapError(toFailure)
              )
              const separator = target.path.endsWith("/") ? "" : "/"
              const open = walked.files.filter((name) =>
                denies?.(paths.subject(`${target.path}${separator}${name}`)) !== true
              )
              const stamped = yield* Effect.forEach(
                open,
                (name) => {
                  const file = `${target.path}${separator}${name}`
                  return files.stat(file).pipe(
                    Effect.orElseSucceed(() => null),
                    Effect.map((stamp) => ({ file, at: stamp?.mtime_ns ?? 0n }))
                  )
                },
                { concurrency: 32 }
              )
              stamped.sort((a, b) => a.at > b.at ? -1 : a.at < b.at ? 1 : a.file < b.file ? -1 : 1)
              if (stamped.length === 0) {
                const near = rest.includes("/") || rest.startsWith("**") ? "" : ` For any depth write **/${rest}.`
                return success(`No file matches ${pattern} below ${paths.place(target.path)}.${near}`)
              }
              const shown = stamped.slice(0, maxFiles).map(({ file }) => paths.display(file))
              const more = stamped.length > maxFiles
                ? [`[the newest ${maxFiles} of ${stamped.length} files; narrow the pattern to see others]`]
                : []
              return success([...shown, ...more].join("\n"))
            })
        }
      })
  })
})
