import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { PermissionPolicy } from "../../src/permissions/Policy.ts"
import { failing, world } from "./workspace.ts"

/** What rules deny a tool is not shown by it either, wherever the search begins. */
const denies = (tool: string) => {
  const policy = new PermissionPolicy([{ tool_pattern: "*(secret/*)", mode: "deny" }, {
    tool_pattern: "*(*.key)",
    mode: "deny"
  }])
  return (subject: string): boolean => policy.evaluate(tool, subject).mode === "deny"
}

const tree = Effect.gen(function*() {
  const w = yield* world()
  w.put("secret/n12", "TOP\n")
  w.put("secret/deep/n13", "TOP\n")
  w.put("src/a.ts", "TOP\n")
  w.put("src/b.key", "TOP\n")
  w.put("secret-not/c", "TOP\n")
  return w
})

describe("results below a denied path (7.5)", () => {
  it.scoped("grep, by either engine", () =>
    Effect.gen(function*() {
      const w = yield* tree
      for (const tool of ["grep", "grep_javascript"]) {
        const shown = (input: Record<string, string>) =>
          Effect.map(w.call(tool, { pattern: "TOP", ...input }, "s", denies("grep")), ({ output }) => output)
        for (const path of ["secret", "secret/", "./secret", "secret/deep"]) {
          assert.match(yield* shown({ path }), /^No line matches/, path)
        }
        assert.match(yield* shown({ glob: "secret/*" }), /^No line matches/)
        assert.match(yield* shown({ path: "src", glob: "*.key" }), /^No line matches/)
        const all = yield* shown({})
        assert.include(all, "src/a.ts")
        assert.include(all, "secret-not/c")
        assert.notMatch(all, /secret\/|b\.key|n1[23]/)
      }
    }))

  it.scoped("glob", () =>
    Effect.gen(function*() {
      const w = yield* tree
      const shown = (input: Record<string, string>) =>
        Effect.map(w.call("glob", input, "s", denies("glob")), ({ output }) => output)
      for (
        const input of [
          { pattern: "secret/*" },
          { pattern: "secret/**" },
          { pattern: "*", path: "secret" },
          { pattern: "**/*", path: "secret/" },
          { pattern: "**/*.key" }
        ]
      ) assert.match(yield* shown(input), /^No file matches/, JSON.stringify(input))
      assert.deepStrictEqual((yield* shown({ pattern: "**/*" })).split("\n").sort(), ["secret-not/c", "src/a.ts"])
    }))

  it.scoped("read of a directory", () =>
    Effect.gen(function*() {
      const w = yield* tree
      assert.include(yield* failing(w.call("read", { path: "secret" }, "s", denies("read"))), "(empty directory)")
      const listed = yield* failing(w.call("read", { path: "src" }, "s", denies("read")))
      assert.include(listed, "a.ts")
      assert.notInclude(listed, "b.key")
    }))

  it.scoped("without such a rule all of it is shown", () =>
    Effect.gen(function*() {
      const w = yield* tree
      assert.include((yield* w.call("grep", { pattern: "TOP", path: "secret" })).output, "secret/n12")
    }))
})
