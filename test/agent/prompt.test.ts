import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { isoDate, make } from "../../src/agent/SystemPrompt.ts"

const base = {
  root: "/work/project",
  cwd: "/work/project",
  platform: "linux",
  date: "2026-01-02",
  tools: ["read", "edit"],
  permission_mode: "default",
  sandbox: "",
  instructions: "",
  custom_instructions: "",
  servers: "",
  append: ""
}

describe("system prompt", () => {
  it("a day is named as the calendar of the language does", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.date({ min: new Date(0), max: new Date("9999-12-31"), noInvalidDate: true }),
        (date) => {
          assert.strictEqual(isoDate(date.getTime()), date.toISOString().slice(0, 10))
        }
      ),
      { numRuns: 2000 }
    )
    assert.strictEqual(isoDate(Date.UTC(2000, 1, 29)), "2000-02-29")
    assert.strictEqual(isoDate(Date.UTC(2100, 1, 28) + 86_400_000), "2100-03-01")
  })

  it("says what the project is, carries the user's instructions, and stays the same otherwise", () => {
    const prompt = make({ ...base, instructions: "Of files.", custom_instructions: "Use tabs.", append: "Be brief." })
    assert.include(prompt, "Project root: /work/project")
    assert.isTrue(prompt.endsWith("Of files.\n\nUse tabs.\n\nBe brief."))
    assert.notInclude(make(base), "background", "nothing is said of tools that are not there")
    assert.include(make({ ...base, permission_mode: "plan" }), "plan mode")
    assert.strictEqual(make(base), make(base))
  })
})
