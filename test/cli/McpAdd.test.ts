/** What `mcp add` takes: nothing gets into the settings that could never be connected to. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { definitionOf } from "../../src/cli/Mcp.ts"

const values = (url: string, header: ReadonlyArray<string> = []) => ({
  args: ["s"],
  url,
  type: undefined,
  env: [],
  header,
  cwd: undefined,
  from: undefined,
  replace: false,
  tier: undefined,
  directory: undefined
})

describe("mcp add --url", () => {
  it.effect("1.1 what is no address, and what no header may hold, is refused, and no secret is shown", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>, RegExp]> = [
        ["notaurl", [], /notaurl is no http or https address/],
        ["", [], /no http or https address/],
        ["ftp://a/b", [], /ftp:\/\/a\/b is no http or https address/],
        ["http://me:hidden@a/", [], /user or password; use --header/],
        ["http://a/", ["A b: hidden"], /--header A b: a header's name/],
        ["http://a/", ["A: hidden\nC: d"], /--header A: its value holds a character/],
        ["http://a/", ["A: hidden\u{1f600}"], /--header A: its value holds a character/]
      ]
      for (const [url, header, message] of cases) {
        const refused = yield* Effect.flip(definitionOf(values(url, header)))
        assert.strictEqual(refused.exit_code, 2)
        assert.match(refused.message, message)
        assert.notInclude(refused.message, "hidden")
      }
    }))

  it.effect("1.1 variables are known only at the start", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* definitionOf(values("${BASE}/mcp", ["Authorization: Bearer ${T}", "X_y: caf\u00e9"])),
        { url: "${BASE}/mcp", headers: { Authorization: "Bearer ${T}", X_y: "caf\u00e9" } }
      )
    }))
})
