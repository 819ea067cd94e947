import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { largestText, makeUtf8Decoder } from "../../src/codec/Utf8.ts"
import { naiveUtf8 } from "../support/naiveSse.ts"

const none = new Uint8Array(0)
const platform = new TextDecoder("utf-8", { ignoreBOM: true })
const encoder = new TextEncoder()

const bytesOf = (hex: string): Array<number> => hex.split(" ").map((byte) => Number.parseInt(byte, 16))

/** Bytes at the edges of the ranges of the UTF-8 table (Unicode D92). */
const edges = bytesOf("00 0a 41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 f8 ff")

describe("makeUtf8Decoder", () => {
  const decode = makeUtf8Decoder()

  it("3.1: every character, with none to four ASCII bytes between", () => {
    for (let first = 0; first <= 0x10ffff; first += 256) {
      if (first >= 0xd800 && first < 0xe000) continue
      const characters = Array.from({ length: 256 }, (_, i) => String.fromCodePoint(first + i))
      for (let between = 0; between <= 4; between++) {
        const text = characters.join("abcd".slice(0, between)) + "\n"
        if (decode(encoder.encode(text), none) !== text) assert.fail(`U+${first.toString(16)}, ${between} between`)
      }
    }
  })

  it("3.1: every sequence of three bytes from the edges of the table, and of four behind the leads of four", () => {
    const bytes = new Uint8Array(5)
    bytes[4] = 10
    for (const a of edges) {
      for (const b of edges) {
        for (const c of edges) {
          for (const d of a >= 0xed ? edges : [0x41]) {
            bytes[0] = a
            bytes[1] = b
            bytes[2] = c
            bytes[3] = d
            const text = decode(bytes, none)
            if (text !== naiveUtf8([...bytes])) assert.fail([...bytes].map((byte) => byte.toString(16)).join(" "))
          }
        }
      }
    }
  })

  it("3.1: any bytes, cut anywhere into head and rest", () => {
    const part = FastCheck.oneof(
      FastCheck.uint8Array({ maxLength: 6 }),
      FastCheck.array(FastCheck.constantFrom(...edges), { maxLength: 6 }).map((list) => new Uint8Array(list)),
      FastCheck.fullUnicodeString({ maxLength: 20 }).map((text) => encoder.encode(text)),
      FastCheck.constantFrom("naïve", " Größe", "漢字", "👍", "\uFEFF", "plain").map((text) => encoder.encode(text))
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(part, { maxLength: 12 }), FastCheck.nat(), (parts, at) => {
        const whole = new Uint8Array([...parts.flatMap((bytes) => [...bytes]), 10])
        const middle = at % whole.length
        const expected = naiveUtf8([...whole])
        assert.strictEqual(decode(whole, none), expected)
        assert.strictEqual(decode(whole.subarray(middle), whole.subarray(0, middle)), expected)
      }),
      { numRuns: 2000 }
    )
  })

  it("3.1: lengths about the largest, of units that take the most room, and longer ones", () => {
    const cases = ["a", "é", "漢", "👍", "ab漢"].flatMap((unit) =>
      ["", "é", "xé", "xxé", "漢"].map((lead) => ({ unit, lead }))
    )
    for (const { unit, lead } of cases) {
      for (let length = largestText - 6; length <= largestText + 6; length++) {
        const room = length - 1 - encoder.encode(lead).length
        const size = encoder.encode(unit).length
        const text = lead + "x".repeat(room % size) + unit.repeat(Math.floor(room / size)) + "\n"
        const bytes = encoder.encode(text)
        assert.strictEqual(bytes.length, length)
        assert.isTrue(decode(bytes, none) === text)
        assert.isTrue(decode(bytes.subarray(7), bytes.subarray(0, 7)) === text)
      }
    }
  })

  it("3.1: what was decoded before leaves no trace, and the input is not kept", () => {
    const bytes = encoder.encode("漢字漢字漢字\n")
    const text = decode(bytes, none)
    bytes.fill(0x21)
    assert.strictEqual(decode(new Uint8Array([0xe6, 0xbc, 10]), none), "\uFFFD\n")
    assert.strictEqual(decode(encoder.encode("a\n"), none), "a\n")
    assert.strictEqual(decode(new Uint8Array([0xf0, 0x9f, 10]), new Uint8Array([0xf0, 0x9f])), "\uFFFD\uFFFD\n")
    assert.strictEqual(text, "漢字漢字漢字\n")
  })

  it("the oracle agrees with the platform", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.constantFrom(...edges), { maxLength: 12 }), (list) => {
        assert.strictEqual(naiveUtf8(list), platform.decode(new Uint8Array(list)))
      }),
      { numRuns: 1000 }
    )
  })
})
