/** Reading 1.12: forms, field by field; what is sent fits what was asked. */
import { assert, describe, it } from "@effect/vitest"
import Ajv from "ajv"
import * as FastCheck from "effect/FastCheck"
import type { McpFormField } from "../../src/mcp/Connection.ts"
import { checkValue, complete, defaults, hasFormat, readForm } from "../../src/mcp/Elicitation.ts"

const form = (properties: Record<string, unknown>, required: ReadonlyArray<string> = []) => {
  const read = readForm({ message: "m", requestedSchema: { type: "object", properties, required } })
  return "ok" in read ? read.ok.fields : read.why
}

const fieldsOf = (
  properties: Record<string, unknown>,
  required: ReadonlyArray<string> = []
): ReadonlyArray<McpFormField> => {
  const fields = form(properties, required)
  return typeof fields === "string" ? assert.fail(fields) : fields
}

describe("forms", () => {
  it("1.12 every field kind, in the forms of all revisions", () => {
    const base = { description: null, required: false, title: null }
    assert.deepStrictEqual(
      fieldsOf({
        text: { type: "string", title: "T", description: "D", minLength: 1, maxLength: 5, default: "a" },
        mail: { type: "string", format: "email" },
        odd: { type: "string", format: "hostname", default: 3 },
        size: { type: "number", minimum: 0.5, maximum: 2, default: 1.5 },
        count: { type: "integer", default: 0 },
        yes: { type: "boolean", default: false },
        one: { type: "string", enum: ["a", "b"], default: "b" },
        named: { type: "string", enum: ["a", "b"], enumNames: ["A"] },
        titled: { type: "string", oneOf: [{ const: "x", title: "X" }, { const: "y" }] },
        many: { type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 1, maxItems: 2, default: ["a"] },
        manyTitled: { type: "array", items: { anyOf: [{ const: "x", title: "X" }] } }
      }, ["text", "nobody"]),
      [
        {
          name: "text",
          title: "T",
          description: "D",
          required: true,
          kind: "string",
          min_length: 1,
          max_length: 5,
          default: "a"
        },
        { ...base, name: "mail", kind: "string", format: "email" },
        { ...base, name: "odd", kind: "string" },
        { ...base, name: "size", kind: "number", minimum: 0.5, maximum: 2, default: 1.5 },
        { ...base, name: "count", kind: "integer", default: 0 },
        { ...base, name: "yes", kind: "boolean", default: false },
        {
          ...base,
          name: "one",
          kind: "choice",
          choices: [{ value: "a", title: "a" }, { value: "b", title: "b" }],
          default: "b"
        },
        { ...base, name: "named", kind: "choice", choices: [{ value: "a", title: "A" }, { value: "b", title: "b" }] },
        { ...base, name: "titled", kind: "choice", choices: [{ value: "x", title: "X" }, { value: "y", title: "y" }] },
        {
          ...base,
          name: "many",
          kind: "choices",
          choices: [{ value: "a", title: "a" }, { value: "b", title: "b" }],
          min_items: 1,
          max_items: 2,
          default: ["a"]
        },
        { ...base, name: "manyTitled", kind: "choices", choices: [{ value: "x", title: "X" }] }
      ]
    )
  })

  it("1.12 what no form can ask for is refused, by the field's name", () => {
    for (
      const schema of [
        { type: "object" },
        { type: "array", items: { type: "string" } },
        { type: "array" },
        { type: "null" },
        "text",
        {}
      ]
    ) {
      const why = form({ good: { type: "string" }, bad: schema })
      assert.isTrue(typeof why === "string" && why.includes("\"bad\""), JSON.stringify(schema))
    }
  })

  it("1.12 defaults fill what was left out, what was given stays, what was not asked for goes", () => {
    const fields = fieldsOf(
      {
        a: { type: "string", default: "x" },
        b: { type: "boolean", default: false },
        c: { type: "integer" },
        d: { type: "string" }
      },
      ["d"]
    )
    assert.deepStrictEqual(complete(fields, { a: "given", d: "", more: 1 }), { ok: { a: "given", b: false, d: "" } })
    assert.deepStrictEqual(complete(fields, {}), { why: "\"d\" is required" })
    assert.deepStrictEqual(defaults(fields), { a: "x", b: false })
  })

  it("1.12 a default that does not fit is not sent either", () => {
    assert.deepStrictEqual(complete(fieldsOf({ n: { type: "integer", minimum: 3, default: 1 } }), {}), {
      why: "\"n\" must be at least 3"
    })
  })

  it("G3 names of prototypes are field names like any other", () => {
    const fields = fieldsOf(JSON.parse("{\"__proto__\":{\"type\":\"string\"},\"constructor\":{\"type\":\"string\"}}"), [
      "constructor"
    ])
    assert.deepStrictEqual(fields.map(({ name }) => name), ["__proto__", "constructor"])
    assert.deepStrictEqual(complete(fields, {}), { why: "\"constructor\" is required" })
    const content = complete(fields, JSON.parse("{\"__proto__\":\"p\",\"constructor\":\"c\"}"))
    assert.isTrue("ok" in content && Object.hasOwn(content.ok, "__proto__"))
  })

  const formats: ReadonlyArray<
    readonly [Parameters<typeof hasFormat>[0], ReadonlyArray<string>, ReadonlyArray<string>]
  > = [
    ["email", ["a@b", "a.b+c@d-e.org", "ä@x.de"], [
      "",
      "a",
      "@b",
      "a@",
      "a b@c",
      "a@b c",
      "a@@b",
      `${"x".repeat(65)}@b`,
      "a@b..c"
    ]],
    ["uri", ["http://x", "urn:a:b", "mailto:a@b", "file:///x%20y?z#f"], [
      "",
      "x",
      "//x",
      "1a:b",
      "http://a b",
      "a:<b>",
      ":x"
    ]],
    ["date", ["2024-02-29", "2000-02-29", "2026-12-31"], [
      "2023-02-29",
      "1900-02-29",
      "2026-13-01",
      "2026-00-01",
      "2026-1-1",
      "2026-06-31",
      "26-01-01",
      ""
    ]],
    [
      "date-time",
      ["2026-01-01T00:00:00Z", "2026-01-01T23:59:60.123+02:00", "2026-01-01t00:00:00z"],
      [
        "2026-01-01",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:00",
        "2026-02-30T00:00:00Z",
        "2026-01-01T00:00:00+24:00"
      ]
    ]
  ]
  for (const [format, good, bad] of formats) {
    it(`1.12 format ${format}`, () => {
      for (const value of good) assert.isTrue(hasFormat(format, value), value)
      for (const value of bad) assert.isFalse(hasFormat(format, value), value)
    })
  }

  it("formats take time in proportion to their text", () => {
    const began = performance.now()
    for (const format of ["email", "uri", "date", "date-time"] as const) {
      for (const text of ["a", "a.", "a@", "@", "-", "0", ":", "a@a."]) hasFormat(format, text.repeat(100_000))
    }
    assert.isBelow(performance.now() - began, 2_000)
  })

  const schemaOf = FastCheck.oneof(
    FastCheck.record({
      type: FastCheck.constant("string"),
      minLength: FastCheck.nat(3),
      maxLength: FastCheck.integer({ min: 2, max: 6 })
    }),
    FastCheck.record({
      type: FastCheck.constantFrom("integer", "number"),
      minimum: FastCheck.integer(),
      maximum: FastCheck.integer()
    }),
    FastCheck.record({ type: FastCheck.constant("boolean") }),
    FastCheck.record({
      type: FastCheck.constant("string"),
      enum: FastCheck.uniqueArray(FastCheck.string(), { minLength: 1, maxLength: 4 })
    }),
    FastCheck.record({
      type: FastCheck.constant("array"),
      items: FastCheck.record({ type: FastCheck.constant("string"), enum: FastCheck.constant(["a", "b", "c"]) }),
      uniqueItems: FastCheck.constant(true),
      minItems: FastCheck.nat(2),
      maxItems: FastCheck.integer({ min: 1, max: 3 })
    })
  )
  const value = FastCheck.oneof(
    FastCheck.string(),
    FastCheck.string({ unit: "grapheme", maxLength: 6 }),
    FastCheck.integer(),
    FastCheck.double({ noNaN: true, noDefaultInfinity: true }),
    FastCheck.boolean(),
    FastCheck.array(FastCheck.constantFrom("a", "b", "c", "d"), { maxLength: 4 })
  )
  it.prop("1.12 the same verdict as a JSON Schema validator of others", [schemaOf, value], ([schema, given]) => {
    const [field] = fieldsOf({ x: schema })
    const theirs = new Ajv.Ajv({ strict: false }).validate(schema, given)
    assert.strictEqual(
      field !== undefined && checkValue(field, given) === null,
      theirs,
      JSON.stringify([schema, given])
    )
  }, { fastCheck: { numRuns: 300 } })
})
