/**
 * The inserts of a command of the user's own: shell lines and files of its template are calls of `bash` and `read`, which
 * pass the Guard like those of a model. What is refused stops the command; what fails is told to the model. Loaded with
 * the first command.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { line } from "../codec/TerminalText.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { Part } from "../domain/Message.ts"
import { text } from "../domain/MessageParts.ts"
import type { ToolResult } from "../domain/Tool.ts"
import { failure } from "../domain/ToolExecutor.ts"
import type { Invocation } from "../instructions/Catalogue.ts"
import type { Expansion } from "../tools/McpAccess.ts"
import type { RunContext } from "./RunContext.ts"
import { interruptedResult } from "./Transcript.ts"

/** Inserts of one command. */
const maxInserts = 50

interface Inserted {
  readonly result: ToolResult
  /** The tool itself was reached: no rule, person, hook or sandbox has refused the call. */
  readonly ran: boolean
}

/** One call, with the events of a call that a model makes. */
const call = (context: RunContext, tool: string, input: JsonObject): Effect.Effect<Inserted> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const call_id = context.claimCallId("")
      const started = yield* Clock.currentTimeMillis
      let ran = false
      const report = (event: AgentEventBody): Effect.Effect<void> => {
        if (event.type === "tool.ran") ran = true
        return context.emit([event])
      }
      yield* context.emit([{ type: "tool.started", call_id, tool, input }])
      const done = yield* Effect.exit(
        restore(
          context.tools.execute(tool, input, context.session_id, {
            call_id,
            permission_mode: context.permission_mode,
            report
          })
        )
      )
      const result = Exit.isSuccess(done) ? done.value : failure(interruptedResult)
      yield* context.emit([{
        type: "tool.completed",
        call_id,
        tool,
        result,
        duration_ms: (yield* Clock.currentTimeMillis) - started,
        ...(Exit.isSuccess(done) ? {} : { interrupted: true })
      }])
      return Exit.isSuccess(done) ? { result, ran } : yield* Effect.failCause(done.cause)
    })
  )

/** Longer than every run of backticks in it. */
const fenced = (content: string): string => {
  const longest = (content.match(/`+/g) ?? []).reduce((max, run) => Math.max(max, run.length), 2)
  const mark = "`".repeat(longest + 1)
  return `${mark}\n${content.replace(/\n$/, "")}\n${mark}`
}

const shown = ({ error, is_error, output }: ToolResult): string =>
  is_error
    ? [output.trimEnd(), `[failed: ${error ?? "no reason was given"}]`].filter((each) => each !== "").join("\n")
    : output

/**
 * What the prompt comes to: as it was typed, then the template with its inserts in their places.
 *
 * @since 0.1.0
 * @category combinators
 */
export const expand = (context: RunContext, invocation: Invocation, typed: string): Effect.Effect<Expansion> =>
  Effect.gen(function*() {
    const { pieces, shown: file } = invocation
    const parts: Array<Part> = []
    let words = `${line(typed.trim().split("\n", 1)[0] ?? "", 500)}\n\n`
    if (pieces.filter(({ kind }) => kind !== "text").length > maxInserts) {
      return { refusal: `${file} has more than ${maxInserts} inserts; it was not run` }
    }
    for (const piece of pieces) {
      if (piece.kind === "text") {
        words += piece.text
        continue
      }
      const { ran, result } = yield* piece.kind === "shell"
        ? call(context, "bash", { command: piece.command })
        : call(context, "read", { path: piece.path })
      const what = piece.kind === "shell" ? `!\`${line(piece.command, 200)}\`` : `@${line(piece.path, 200)}`
      if (!ran) {
        return {
          refusal: `${file}:${piece.line}: ${what} was refused, so the command was not run: ${result.error ?? "denied"}`
        }
      }
      if (piece.kind === "shell") {
        // Output of one short line stands where the insert stood, as it is meant in a sentence.
        const output = shown(result).trimEnd()
        words += output !== "" && !output.includes("\n") && !output.includes("`") && output.length <= 200
          ? output
          : `\n${fenced(output === "" ? "(no output)" : output)}\n`
      } else words += `${piece.path}\n${fenced(shown(result))}\n`
      if (result.parts !== undefined && result.parts.length > 0) {
        parts.push(text(words), ...result.parts)
        words = ""
      }
    }
    if (words !== "") parts.push(text(words))
    const [only] = parts
    return {
      content: parts.length === 1 && only?.type === "text" ? only.text : parts,
      problems: []
    }
  })
