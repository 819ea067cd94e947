import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { createHash } from "node:crypto"
import { sha256Hex } from "../../src/codec/Sha256.ts"

const reference = (input: string | Uint8Array): string => createHash("sha256").update(input).digest("hex")

describe("SHA-256", () => {
  it("FIPS 180-4 examples", () => {
    assert.strictEqual(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    assert.strictEqual(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    assert.strictEqual(
      sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    )
  })

  it("every length around the block borders", () => {
    for (let n = 0; n <= 200; n++) {
      const bytes = new Uint8Array(n).map((_, i) => i * 7 + n)
      assert.strictEqual(sha256Hex(bytes), reference(bytes))
    }
  })

  it("a lone surrogate is hashed as U+FFFD", () => {
    assert.strictEqual(sha256Hex("a\ud800b"), reference("a\ufffdb"))
  })

  it.prop("equals the platform's digest", [FastCheck.uint8Array({ maxLength: 600 })], ([bytes]) => {
    assert.strictEqual(sha256Hex(bytes), reference(bytes))
  })
})
