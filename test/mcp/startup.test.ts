/** What a start without MCP servers loads of the client: nothing (reading 1.5). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as esbuild from "esbuild"
import { fileURLToPath } from "node:url"
import * as Agents from "../support/mcp/agent.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Modules that are loaded with an entry, without those behind `import()`. */
const loadedWith = async (entry: string): Promise<ReadonlyArray<string>> => {
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    outdir: ".",
    write: false,
    metafile: true,
    logLevel: "error"
  })
  const found = new Set<string>()
  const visit = (file: string): void => {
    if (found.has(file)) return
    found.add(file)
    for (const { kind, path } of metafile.inputs[file]?.imports ?? []) {
      if (kind === "import-statement") visit(path)
    }
  }
  visit(entry)
  return [...found]
}

describe("a start without servers", () => {
  it("run, conversation, the composition: no module of src/mcp", async () => {
    for (const entry of ["src/cli/commands/Run.ts", "src/cli/commands/Conversation.ts", "src/app/Runtime.ts"]) {
      const loaded = await loadedWith(entry)
      assert.include(loaded, entry)
      assert.deepStrictEqual(
        loaded.filter((file) => file.startsWith("src/mcp/") || /McpBridge|McpNative/.test(file)),
        []
      )
    }
  })

  it.live("1.5 disabled servers are not even looked at; no tool about servers is offered", () =>
    Effect.gen(function*() {
      const events = yield* Agents.runOnce({
        servers: Object.fromEntries(
          Array.from({ length: 200 }, (_, i) => [`s${i}`, Agents.command(["no-such-program"], { disabled: true })])
        ),
        turns: Agents.calls()
      })
      assert.strictEqual(Agents.ofType(events, "mcp.server").length, 0)
      const [started] = Agents.ofType(events, "run.started")
      assert.deepStrictEqual(started?.tools.filter((name) => name.startsWith("mcp")), [])
    }))
})

describe("many tools", () => {
  it.live("more than 40 are not listed but searched for, and can be called at once", () =>
    Effect.gen(function*() {
      const offered: Array<ReadonlyArray<string>> = []
      const seen = (tools: ReadonlyArray<{ readonly name: string }>) =>
        offered.push(tools.map(({ name }) => name).filter((name) => name.startsWith("mcp")))
      const servers = Object.fromEntries(["a", "b", "c"].map((name) => [name, Agents.command(Agents.fake)]))
      const events = yield* Agents.runOnce({
        servers,
        turns: [
          {
            when: ({ results, tools }) => results.length === 0 && seen(tools) > 0,
            calls: [{ name: "mcp_search", arguments: { query: "swap things on b" } }]
          },
          {
            when: ({ results, tools }) => results.length === 1 && seen(tools) > 0,
            calls: [{ name: "mcp__c__echo", arguments: { y: 2 } }]
          },
          { when: ({ results, tools }) => results.length === 2 && seen(tools) > 0, text: "done" }
        ]
      })
      const [first, second, third] = offered
      assert.deepStrictEqual(first, ["mcp_search"])
      assert.include(second ?? [], "mcp__b__swap")
      assert.isBelow(second?.length ?? 100, 12)
      assert.include(third ?? [], "mcp__c__echo")
      const [found, echo] = Agents.results(events)
      assert.match(found?.output ?? "", /^mcp__b__swap: /)
      assert.strictEqual(echo?.output, "{\"y\":2}")
    }), 60_000)
})
