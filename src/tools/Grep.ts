/**
 * `grep`: lines that match a regular expression, by ripgrep where it is on PATH, else by our own search with the same
 * answers.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { once } from "../domain/Once.ts"
import { success } from "../domain/ToolExecutor.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment } from "../platform/Environment.ts"
import { Files } from "../platform/Files.ts"
import { Spawner } from "../platform/Spawner.ts"
import { defineTool } from "./Define.ts"
import { decode, decodeLoosely, isText } from "./edit/Text.ts"
import { Paths, toFailure } from "./Paths.ts"
import { type GlobFilter, globFilter } from "./search/GlobFilter.ts"
import { fromRipgrep, type Match, renderMatches } from "./search/Matches.ts"
import { noCharacter, portable, spansLines, toJavaScript } from "./search/Regex.ts"
import { ToolFailure } from "./Tool.ts"

/** Larger files are not searched. */
const maxFileBytes = 20 * 1024 * 1024
/** Output of ripgrep that is kept. */
const max_output = 16 * 1024 * 1024
/** Matches after which our own search stops. */
const enough = 20_000
const deadline = Duration.seconds(60)

/** `directory` is canonical; `file` = search this one of it only. */
interface Search {
  readonly pattern: string
  readonly directory: string
  readonly file: string | undefined
  readonly filter: GlobFilter
}

interface Found {
  readonly matches: ReadonlyArray<Match>
  readonly incomplete: boolean
}

const newline = 10

/** `tested` is what the pattern sees: bytes that are no character stay none. */
interface Line {
  readonly text: string
  readonly tested: string
}

/** Each line of a file, without its end; undefined = it is not text. */
const searchable = (bytes: Uint8Array): ReadonlyArray<Line> | undefined => {
  const text = decode(bytes)
  const withoutEnd = (line: string): string => line.endsWith("\r") ? line.slice(0, -1) : line
  if (isText(text) && text.encoding !== "latin1") {
    return text.text.split("\n").map((raw) => {
      const line = withoutEnd(raw)
      return { text: line, tested: line }
    })
  }
  if (bytes.includes(0)) return undefined
  const lines: Array<Line> = []
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  for (let from = 0; from <= bytes.length;) {
    const at = bytes.indexOf(newline, from)
    const end = at === -1 ? bytes.length : at
    const raw = bytes.subarray(from, end)
    lines.push({
      text: withoutEnd(decodeLoosely(raw)),
      tested: withoutEnd(decoder.decode(raw)).replaceAll("\uFFFD", noCharacter)
    })
    from = end + 1
  }
  return lines
}

const Input = () =>
  Schema.Struct({
    pattern: Schema.String.annotations({
      description: "Regular expression (ripgrep syntax), matched within one line. (?i) in front ignores case."
    }),
    path: Schema.optional(
      Schema.String.annotations({ description: "File or directory to search. Default: the working directory." })
    ),
    glob: Schema.optional(
      Schema.String.annotations({ description: "Only files that match, at any depth: *.ts, {a,b}.json, !*.test.ts" })
    )
  })

const make = (engine: "auto" | "javascript") =>
  Effect.gen(function*() {
    const paths = yield* Paths
    const files = yield* Files
    const spawner = yield* Spawner
    const environment = yield* Environment
    const env = once(() => childEnvironment(environment.vars))

    /** null = there is no ripgrep. */
    const withRipgrep = (search: Search): Effect.Effect<Found | null, ToolFailure> =>
      Effect.gen(function*() {
        const start_ignored = search.file === undefined && (yield* files.startIgnored(search.directory))
        const run = yield* spawner.run({
          argv: [
            "rg",
            "--json",
            "--no-config",
            "--hidden",
            "--no-require-git",
            "--no-ignore-dot",
            "--no-ignore-global",
            "--no-ignore-exclude",
            ...(start_ignored ? ["--no-ignore-parent"] : []),
            "--no-messages",
            "--crlf",
            `--max-filesize=${maxFileBytes}`,
            ...search.filter.globs.map((glob) => `--glob=${glob}`),
            "--glob=!.git",
            `--regexp=${portable(search.pattern)}`,
            "--",
            search.file === undefined ? "." : `./${search.file}`
          ],
          cwd: search.directory,
          env: env(),
          timeout: deadline,
          max_bytes: max_output
        })
        const stderr = new TextDecoder().decode(run.stderr).trim()
        const matches = fromRipgrep(new TextDecoder().decode(run.stdout))
        if (run.timed_out && matches.length === 0) {
          return yield* new ToolFailure({ message: "the search took longer than 60 s; narrow the path or the glob." })
        }
        // 2 also stands for files that could not be read; then there is no word on stderr.
        if (run.code !== 0 && run.code !== 1 && stderr !== "" && matches.length === 0) {
          return yield* new ToolFailure({
            message: `pattern is not a valid regular expression: ${stderr.slice(0, 2_000)}\n` +
              "Escape characters that are meant literally, for example \\( or \\{."
          })
        }
        return { matches, incomplete: run.truncated || run.timed_out }
      }).pipe(
        Effect.catchTag("ProcessError", (error) =>
          error.reason === "not_found" || error.reason === "not_executable"
            ? Effect.succeed(null)
            : Effect.fail(new ToolFailure({ message: error.message })))
      )

    const withJavaScript = (search: Search): Effect.Effect<Found, ToolFailure> =>
      Effect.gen(function*() {
        const regex = toJavaScript(search.pattern)
        if (Either.isLeft(regex)) {
          return yield* new ToolFailure({
            message: `pattern is not a valid regular expression: ${regex.left}\n` +
              "Escape characters that are meant literally, for example \\( or \\{."
          })
        }
        const test = regex.right
        const { choose } = search.filter
        const walked = search.file === undefined
          ? yield* files.walk({ directory: search.directory, pattern: "**", choose }).pipe(Effect.mapError(toFailure))
          : { files: [search.file] }
        const separator = search.directory.endsWith("/") ? "" : "/"
        const matches: Array<Match> = []
        for (const file of [...walked.files].sort()) {
          const content = yield* files.read(`${search.directory}${separator}${file}`, maxFileBytes).pipe(Effect.option)
          if (content._tag === "None") continue
          const lines = searchable(content.value.bytes) ?? []
          const last = lines.length - 1
          lines.forEach(({ tested, text }, i) => {
            if ((i < last || text !== "") && test.test(tested)) matches.push({ file, line: i + 1, text })
          })
          if (matches.length > enough) return { matches, incomplete: true }
        }
        return { matches, incomplete: false }
      })

    return defineTool({
      name: "grep",
      description:
        "Finds lines by regular expression and answers PATH:LINE:TEXT. Files ignored by .gitignore, binary files and .git " +
        "are left out, symbolic links are not followed.",
      input: Input,
      kind: "read",
      read_only: true,
      prepare: ({ glob, path = ".", pattern }) =>
        Effect.gen(function*() {
          const fail = (message: string) => new ToolFailure({ message })
          if (pattern === "") return yield* fail("pattern is empty; to list files use glob")
          if (pattern.includes("\0") || glob?.includes("\0") === true) {
            return yield* fail("a NUL character cannot be searched for; use bash")
          }
          if (spansLines(pattern)) {
            return yield* fail(
              "pattern holds a line break, but it is matched within one line; search for one of the lines"
            )
          }
          const filter = globFilter(glob === undefined || glob === "" ? [] : [glob])
          if (Either.isLeft(filter)) return yield* fail(filter.left)
          const target = yield* paths.resolve(path)
          return {
            subjects: [target.subject],
            inside_workspace: target.inside,
            run: ({ denies }) =>
              Effect.gen(function*() {
                const found = yield* files.stat(target.path).pipe(Effect.mapError(toFailure))
                if (found === null) return yield* fail(yield* paths.missing(target))
                const again = yield* files.canonical(target.path).pipe(Effect.mapError(toFailure))
                if (again.path !== target.path) {
                  return yield* fail(`${target.display} leads elsewhere than when it was checked; nothing was read.`)
                }
                const is_directory = found.kind === "directory"
                if (!is_directory && found.kind !== "file") {
                  return yield* fail(`${target.display} is not a regular file.`)
                }
                const cut = target.path.lastIndexOf("/")
                const search: Search = {
                  pattern,
                  filter: filter.right,
                  directory: is_directory ? target.path : target.path.slice(0, cut) || "/",
                  file: is_directory ? undefined : target.path.slice(cut + 1)
                }
                const all = (engine === "auto" ? yield* withRipgrep(search) : null) ??
                  (yield* withJavaScript(search))
                const separator = search.directory.endsWith("/") ? "" : "/"
                const absolute = (file: string) => `${search.directory}${separator}${file}`
                // A directory may hold what a rule keeps from this tool: no line and no name of it is shown.
                const closed = new Map<string, boolean>()
                const open = (file: string): boolean => {
                  const known = closed.get(file) ?? denies?.(paths.subject(absolute(file))) === true
                  closed.set(file, known)
                  return !known
                }
                const result = { ...all, matches: all.matches.filter(({ file }) => open(file)) }
                if (result.matches.length === 0) {
                  const place = paths.place(target.path)
                  const where = glob === undefined ? place : `${glob} of ${place}`
                  return success(`No line matches ${JSON.stringify(pattern)} in ${where}.`)
                }
                const display = (file: string) => paths.display(absolute(file))
                return success(renderMatches(result.matches, display, result.incomplete))
              })
          }
        })
    })
  })

/** Takes ripgrep when it is there. @since 0.1.0 @category constructors */
export const makeGrepTool = make("auto")

/** Never starts a process. @since 0.1.0 @category constructors */
export const makeGrepToolJavaScript = make("javascript")
