import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { spellings, without } from "../../src/codec/SecretForms.ts"

const secret = "s3cret~!'()*/+=& \"<ü>end"
const clean = without([secret])

const form = (text: string): string => new URLSearchParams({ _: text }).toString().slice(2)
const lower = (text: string): string => text.replaceAll(/%../gu, (code) => code.toLowerCase())
const strict = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/gu, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

describe("G2: a secret, however it is spelled", () => {
  it("as it is, as JSON, percent-encoded, as a form, as HTML", () => {
    const html = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(
      "\"",
      "&quot;"
    )
    const all = [
      secret,
      JSON.stringify(secret).slice(1, -1),
      JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/"),
      JSON.stringify(secret).slice(1, -1).replaceAll("ü", "\\u00fc"),
      encodeURIComponent(secret),
      lower(encodeURIComponent(secret)),
      strict(secret),
      lower(strict(secret)),
      form(secret),
      lower(form(secret)),
      html,
      html.replaceAll("'", "&#39;"),
      html.replaceAll("'", "&#x27;")
    ]
    for (const one of all) assert.strictEqual(clean(`<${one}>`), "<[redacted]>", one)
    assert.strictEqual(clean("s3cret~ other text"), "s3cret~ other text")
  })

  it("in base64, wherever it stands in what is encoded: at most two bytes of either end stay", () => {
    const opaque = "0123456789-abcdefghij~?>"
    for (const encoding of ["base64", "base64url"] as const) {
      for (const before of ["", "a", "id:", "id=1&"]) {
        for (const after of ["", "x", "&y", "&zz"]) {
          const text = without([opaque])(Buffer.from(before + opaque + after).toString(encoding))
          assert.include(text, "[redacted]")
          const [left = "", right = ""] = text.split("[redacted]")
          assert.isAtMost(left.length, Math.ceil(before.length / 3) * 4 + 4)
          assert.isAtMost(right.length, 8 + after.length)
        }
      }
    }
  })

  it.prop("no spelling of any secret survives, and none of a short one is guessed", {
    secret: FastCheck.string({ minLength: 4, maxLength: 40, unit: "binary" })
  }, ({ secret: any }) => {
    const form_of = form(any)
    assert.notInclude(without([any])(`a=${form_of}&b`), form_of)
    assert.notInclude(without([any])(JSON.stringify([any])), any)
    for (const spelling of spellings(any)) assert.notStrictEqual(spelling, "")
  })
})
