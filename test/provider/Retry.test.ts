import { assert, describe, it } from "@effect/vitest"
import { ApiError } from "../../src/domain/Failure.ts"
import { classify } from "../../src/provider/Retry.ts"

const policy = { retry_after_cap_ms: 60_000 }
const error = (retryable: boolean, retry_after_ms?: number) =>
  new ApiError({
    reason: retryable ? "rate_limited" : "bad_request",
    message: "slow down",
    retryable,
    ...(retry_after_ms === undefined ? {} : { retry_after_ms })
  })

describe("Retry", () => {
  it("16.5: what is not retryable is fatal with the provider's words", () => {
    assert.deepStrictEqual(classify(error(false), policy), { _tag: "Fatal", reason: "slow down" })
    assert.deepStrictEqual(classify(error(false, 1000), policy), { _tag: "Fatal", reason: "slow down" })
  })

  it("16.4: Retry-After is a minimum, up to and including the cap", () => {
    assert.deepStrictEqual(classify(error(true), policy), { _tag: "Retry", min_delay_ms: 0 })
    assert.deepStrictEqual(classify(error(true, 1500), policy), { _tag: "Retry", min_delay_ms: 1500 })
    assert.deepStrictEqual(classify(error(true, 60_000), policy), { _tag: "Retry", min_delay_ms: 60_000 })
  })

  it("16.4: beyond the cap it fails at once and says how long the server asked for", () => {
    for (const [ms, words] of [[60_001, "61 s"], [900_000, "15 min"], [6 * 3_600_000, "6 h"]] as const) {
      const decision = classify(error(true, ms), policy)
      assert.strictEqual(decision._tag, "Fatal")
      if (decision._tag === "Fatal") {
        assert.include(decision.reason, "slow down")
        assert.include(decision.reason, words)
      }
    }
  })
})
