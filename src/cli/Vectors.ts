/**
 * `hanzo-dev vectors`: our side of the adapter protocol (reading 18.4), and the check of any adapter (18.5).
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Terminal } from "../platform/Terminal.ts"
import { check as checkVectors } from "../vectors/Check.ts"
import { evalStream } from "../vectors/Eval.ts"
import { toJson, toText } from "../vectors/Report.ts"
import { failed, usage } from "./Exit.ts"
import { print, stdoutExit } from "./Output.ts"
import type * as Spec from "./Spec.ts"

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

/** The vectors that lie beside this program: `test-vectors` of the nearest directory above that has one. */
const directory = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const here = yield* Effect.orDie(path.fromFileUrl(new URL(import.meta.url)))
  for (let at = path.dirname(here); at !== path.dirname(at); at = path.dirname(at)) {
    const found = path.join(at, "test-vectors")
    if (yield* Effect.orElseSucceed(fs.exists(found), () => false)) return found
  }
  return yield* failed("the conformance vectors are not beside this program; install the package again")
})

/** Exit code 1 when any case failed, 2 when there was nothing to check. @since 0.1.0 @category combinators */
export const check = Effect.fn("Cli.vectors.check")(function*(values: Spec.Values<typeof Spec.vectorsCheck>) {
  const report = yield* checkVectors({
    directory: yield* directory,
    ...(values.adapter === undefined ? {} : { adapter: values.adapter }),
    domains: values.domain,
    tags: values.tag,
    ...(values["timeout-ms"] === undefined ? {} : { timeout_ms: values["timeout-ms"] })
  }).pipe(Effect.catchTag("CheckError", (error) => usage(...error.message.split("\n"))))
  yield* print(values.json ? toJson(report) : toText(report))
  return report.exit_code
})
