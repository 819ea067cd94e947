/**
 * Text to patch: tells the two formats apart.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { parseEnvelope } from "./Envelope.ts"
import { type Patch, PatchSyntax } from "./Patch.ts"
import { parseUnified } from "./Unified.ts"

const expected =
  "Expected either *** Begin Patch ... *** End Patch, or a unified diff (--- OLD, +++ NEW, @@ -1,3 +1,4 @@)."

/** Left = what is wrong, with the line of the patch. Never throws. @since 0.1.0 @category decoding */
export const parsePatch = (text: string): Either.Either<Patch, string> => {
  if (text.trim() === "") return Either.left(`the patch is empty. ${expected}`)
  // If every line ends in CRLF, CR belongs to the way the patch was sent, not to the lines in it.
  const sent = /\r\n/u.test(text) && !/(?:^|[^\r])\n/u.test(text) ? text.replaceAll("\r\n", "\n") : text
  const lines = sent.split("\n")
  if (lines.at(-1) === "") lines.pop()
  try {
    if (lines.some((line) => line.trimEnd() === "*** Begin Patch")) return Either.right(parseEnvelope(lines))
    const unified = lines.some((line, i) =>
      line.startsWith("diff --git ") || line.startsWith("@@ -") ||
      (line.startsWith("--- ") && lines[i + 1]?.startsWith("+++ ") === true)
    )
    return unified ? Either.right(parseUnified(lines)) : Either.left(`the patch was not understood. ${expected}`)
  } catch (error) {
    if (error instanceof PatchSyntax) return Either.left(error.message)
    throw error
  }
}
