import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { evaluate } from "../../src/permissions/PermissionVectors.ts"
import { makeParser } from "../../src/platform/ShellGrammar.ts"

interface Case {
  readonly id: string
  readonly tags: ReadonlyArray<string>
  readonly input: Readonly<Record<string, unknown>>
  readonly expected: { readonly output?: Readonly<Record<string, unknown>>; readonly error?: { readonly code: string } }
}

const text = (name: string): string => readFileSync(new URL(`../../test-vectors/${name}`, import.meta.url), "utf8")
const file: { readonly cases: ReadonlyArray<Case> } = JSON.parse(text("permission-policy.json"))
const shell = await makeParser()

/** Plain lists, as a few lines of Python have them: an independent reading of the same rules. */
const python = `
import json, sys
from fnmatch import fnmatchcase
def rules(value):
    pairs = value["rules"] if "rules" in value else json.loads(value["rules_json"], object_pairs_hook=lambda p: p)
    if pairs and isinstance(pairs[0], (tuple, list)) and isinstance(pairs[0][0], str):
        return list(dict(pairs).items())
    return [(r["tool_pattern"], r["mode"]) for r in (dict(r) for r in pairs)]
for line in sys.stdin:
    case = json.loads(line)
    found = next(((i, p, m) for i, (p, m) in enumerate(rules(case)) if fnmatchcase(case["tool_name"], p)), None)
    print(json.dumps([found[2], found[0], found[1]] if found else ["prompt", None, None]))
`

describe("permission-policy.json (18.1, 18.6)", () => {
  it("fits its schema, holds at least 60 cases, ids unique", () => {
    const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(
      JSON.parse(text("permission-policy.schema.json"))
    )
    assert.isTrue(validate(file), JSON.stringify(validate.errors))
    assert.isAtLeast(file.cases.length, 60)
    assert.strictEqual(new Set(file.cases.map((each) => each.id)).size, file.cases.length)
  })

  it("every case with a subject is an extension (18.6)", () => {
    for (const { id, input, tags } of file.cases) if ("subject" in input) assert.include(tags, "ext", id)
  })

  for (const { expected, id, input } of file.cases) {
    it(id, () => {
      const outcome = evaluate(input, shell)
      if (expected.error !== undefined) {
        assert.deepInclude("error" in outcome ? outcome.error : {}, { code: expected.error.code })
      } else assert.deepInclude("output" in outcome ? outcome.output : outcome, expected.output ?? {})
    })
  }

  it("Python agrees on the plain lists", () => {
    const plain = file.cases.filter(({ expected, input, tags }) =>
      expected.output !== undefined && !("tiers" in input) && !("subject" in input) && !tags.includes("ext") &&
      !JSON.stringify(input).includes("toolPattern")
    )
    assert.isAtLeast(plain.length, 50)
    const answers = execFileSync("python3", ["-c", python], {
      input: plain.map(({ input }) => `${JSON.stringify(input)}\n`).join(""),
      encoding: "utf8"
    }).trim().split("\n").map((line): unknown => JSON.parse(line))
    assert.deepStrictEqual(
      answers,
      plain.map(({ expected: { output } }) => [output?.["mode"], output?.["rule_index"], output?.["rule_matched"]])
    )
  })

  it("what is malformed is a bad request, never an answer", () => {
    const bad: ReadonlyArray<unknown> = [
      null,
      [],
      {},
      { tool_name: 1, rules: [] },
      { tool_name: "a" },
      { tool_name: "a", rules: [], rules_json: "{}" },
      { tool_name: "a", rules_json: 1 },
      { tool_name: "a", tiers: [] },
      { tool_name: "a", tiers: { flag: "{}" } },
      { tool_name: "a", tiers: { user: {} } },
      { tool_name: "a", rules: [], subject: 1 },
      { tool_name: "a", tiers: {}, trusted: "yes" }
    ]
    for (const input of bad) {
      const outcome = evaluate(input, shell)
      assert.strictEqual("error" in outcome ? outcome.error.code : "", "bad_request", JSON.stringify(input))
    }
  })
})
