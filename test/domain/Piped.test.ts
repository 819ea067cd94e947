import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { combine, typedIn } from "../../src/domain/Piped.ts"

describe("a prompt and what is piped in behind it", () => {
  const words = FastCheck.string({
    unit: FastCheck.constantFrom("a", "@b", "\n", " ", "<stdin>", "</stdin>"),
    maxLength: 12
  })

  it.prop("whatever is piped, nothing of it counts as typed", [words, words], ([typed, piped]) => {
    const prompt = combine(typed, piped)
    assert.isTrue(typed.startsWith(typedIn(prompt)))
    if (!`${typed}\n`.includes("\n\n<stdin>\n")) {
      assert.strictEqual(typedIn(prompt), typed)
    }
  })
})
