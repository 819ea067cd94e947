import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { mentions as filesIn } from "../../src/agent/FileContext.ts"
import { withoutTrailing } from "../../src/codec/Trailing.ts"
import { mentions as importsIn } from "../../src/instructions/Mentions.ts"
import { mentions as resourcesIn } from "../../src/mcp/Arguments.ts"

describe("what ends a text", () => {
  it.prop("is taken off as a pattern would take it", [
    FastCheck.string({ unit: FastCheck.constantFrom("a", ".", "]", "\n", "*", "é"), maxLength: 12 })
  ], ([text]) => {
    assert.strictEqual(withoutTrailing(text, ".]*"), text.replace(/[.\]*]+$/, ""))
    assert.strictEqual(withoutTrailing(text, "\n"), text.replace(/\n+$/, ""))
  })

  it("is found in time that is linear, in every text that may name a file", () => {
    const started = performance.now()
    const text = `@s:${".".repeat(200_000)}x`
    filesIn(text)
    importsIn(text)
    resourcesIn(text, ["s"])
    assert.isBelow(performance.now() - started, 2000)
  })
})
