import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as TerminalText from "../../src/codec/TerminalText.ts"

const hostile = FastCheck.string({
  unit: FastCheck.oneof(
    FastCheck.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)),
    FastCheck.constantFrom(
      "\r",
      "\n",
      "\u001b[31m",
      "\u001b]52;c;aGk=\u0007",
      "\u202e",
      "\u2066",
      "\u2028",
      "\u{1F600}",
      "\u0639"
    )
  )
})

const dangerous = (text: string): boolean =>
  [...text].some((char) => {
    const code = char.codePointAt(0) ?? 0
    return (code < 0x20 && code !== 0x0a && code !== 0x09) || (code >= 0x7f && code <= 0x9f) ||
      (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)
  })

describe("G8 terminal text", () => {
  it("controls show as pictures, overrides as code points", () => {
    const table: ReadonlyArray<readonly [text: string, shown: string]> = [
      ["plain \u00e4\u{1F600}\tx\n", "plain \u00e4\u{1F600}\tx\n"],
      ["\u001b[2J", "\u241b[2J"],
      ["\u009b31m", "<U+009B>31m"],
      ["a\r\nb", "a\nb"],
      ["a\rb", "a\u240db"],
      ["\u0000\u0007\u0008\u007f", "\u2400\u2407\u2408\u2421"],
      ["rm \u202etxt.exe\u2069", "rm <U+202E>txt.exe<U+2069>"]
    ]
    for (const [text, shown] of table) assert.strictEqual(TerminalText.neutralise(text), shown)
  })

  it.prop("nothing dangerous is left, and a second pass changes nothing", [hostile], ([text]) => {
    const shown = TerminalText.neutralise(text)
    assert.isFalse(dangerous(shown))
    assert.strictEqual(TerminalText.neutralise(shown), shown)
  })

  it.prop("any cut of the text gives the same whole", [hostile, FastCheck.array(FastCheck.nat(40))], ([text, cuts]) => {
    const neutraliser = TerminalText.make()
    let out = ""
    let from = 0
    for (const cut of cuts.toSorted((a, b) => a - b)) {
      out += neutraliser.push(text.slice(from, Math.max(from, cut)))
      from = Math.max(from, Math.min(cut, text.length))
    }
    out += neutraliser.push(text.slice(from)) + neutraliser.flush()
    assert.strictEqual(out, TerminalText.neutralise(text))
  })

  it.prop("one line has no line break and no more than its limit", [hostile, FastCheck.integer({ min: 1, max: 30 })], ([
    text,
    limit
  ]) => {
    const line = TerminalText.line(text, limit)
    assert.isFalse(/[\n\t]/.test(line))
    assert.isAtMost([...line].length, limit)
  })
})
