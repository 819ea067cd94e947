/**
 * `hanzo-dev sessions export`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { htmlPieces } from "../render/Html.ts"
import { jsonlLines } from "../render/Jsonl.ts"
import { toMarkdown, type Transcript } from "../render/Transcript.ts"
import { print } from "./Output.ts"
import { transcript } from "./Sessions.ts"
import type * as Spec from "./Spec.ts"

/** Characters that are written at once: a session may be larger than a text can be. */
const piece = 1 << 20

const pieces = (found: Transcript, format: Spec.Values<typeof Spec.sessionsExport>["format"]): Iterable<string> => {
  switch (format) {
    case "markdown":
    case "md":
      return [toMarkdown(found)]
    case "html":
      return htmlPieces(found)
    case "jsonl":
    case undefined:
      return jsonlLines(found)
  }
}

/** @since 0.1.0 @category combinators */
export const execute = Effect.fn("Cli.sessions.export")(function*(values: Spec.Values<typeof Spec.sessionsExport>) {
  const found = yield* transcript(values.args[0] ?? "")
  let waiting = ""
  for (const each of pieces(found, values.format)) {
    waiting += each
    if (waiting.length < piece) continue
    yield* print(waiting)
    waiting = ""
  }
  yield* print(waiting)
  return 0
})
