/**
 * `hanzo-dev vectors`: our side of the adapter protocol (reading 18.4).
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Terminal } from "../platform/Terminal.ts"
import { evalStream } from "../vectors/Eval.ts"
import { failed } from "./Exit.ts"
import { stdoutExit } from "./Output.ts"

const joined = (parts: Chunk.Chunk<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(Chunk.reduce(parts, 0, (size, part) => size + part.length))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Answers until stdin ends; one write for the answers of one read. @since 0.1.0 @category combinators */
export const evaluate = Effect.fn("Cli.vectors.eval")(function*() {
  const terminal = yield* Terminal
  yield* evalStream()(terminal.bytes).pipe(
    Stream.runForEachChunk((answers) => terminal.out(joined(answers))),
    Effect.mapError((error) =>
      error.reason === "read" ? failed(`stdin cannot be read: ${error.message}`) : stdoutExit(error)
    )
  )
  return 0
})
