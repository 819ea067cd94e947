/** `hanzo-dev mcp serve` as clients of others see it. */
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import { eventually, type Home, makeHome, orphans, program, run } from "./support.ts"

const server = (home: Home, ...args: ReadonlyArray<string>) => ({
  command: process.execPath,
  args: [program, "mcp", "serve", ...args],
  env: home.env,
  cwd: home.project,
  stderr: "pipe" as const
})

const text = (result: unknown): string =>
  (result as { readonly content: ReadonlyArray<{ readonly text?: string }> }).content.map((block) => block.text ?? "")
    .join("\n")

const withHome = async (use: (home: Home) => Promise<void>): Promise<void> => {
  const home = makeHome()
  try {
    fs.writeFileSync(path.join(home.project, "note.txt"), "from the file\n")
    await use(home)
    await eventually("nothing is left", () => orphans(home).length === 0)
  } finally {
    home.remove()
  }
}

describe("mcp serve", () => {
  for (const mode of ["2026-07-28", "legacy"] as const) {
    it(`@modelcontextprotocol/client, ${mode}`, () =>
      withHome(async (home) => {
        const client = new Client({ name: "independent", version: "1" }, {
          versionNegotiation: { mode: mode === "legacy" ? "legacy" : { pin: mode } }
        })
        await client.connect(new StdioClientTransport(server(home, "--allow", "read", "--allow", "bash(echo*)")))
        assert.deepInclude(client.getServerVersion() ?? {}, { name: "hanzo-dev" })
        const { tools } = await client.listTools()
        const names = tools.map(({ name }) => name)
        assert.includeMembers(names, ["read", "write", "edit", "glob", "grep", "bash", "todo"])
        assert.isTrue(tools.find(({ name }) => name === "read")?.annotations?.readOnlyHint)
        assert.isFalse(tools.find(({ name }) => name === "write")?.annotations?.readOnlyHint)
        const read = await client.callTool({ name: "read", arguments: { path: "note.txt" } })
        assert.include(text(read), "from the file")
        const said: Array<string> = []
        const bash = await client.callTool({ name: "bash", arguments: { command: "echo one; echo two" } }, {
          onprogress: ({ message }) => void said.push(message ?? "")
        })
        assert.include(text(bash), "one\ntwo")
        const denied = await client.callTool({ name: "write", arguments: { path: "x.txt", content: "x" } })
        assert.isTrue(denied.isError)
        assert.include(text(denied), "no_prompter")
        assert.isFalse(fs.existsSync(path.join(home.project, "x.txt")))
        const wrong = await client.callTool({ name: "read", arguments: { path: 5 } })
        assert.isTrue(wrong.isError)
        let refused = ""
        try {
          await client.callTool({ name: "nothing", arguments: {} })
        } catch (error) {
          refused = String(error)
        }
        assert.include(refused, "there is no tool")
        await client.close()
      }))
  }

  it("the client of sdk 1.32.2; a call that is cancelled is stopped", () =>
    withHome(async (home) => {
      const client = new OldClient({ name: "old", version: "1" })
      await client.connect(new OldTransport(server(home, "--permission-mode", "bypass")))
      assert.include((await client.listTools()).tools.map(({ name }) => name), "bash")
      const stop = new AbortController()
      const marker = path.join(home.project, "still")
      const calling = client.callTool(
        { name: "bash", arguments: { command: `touch ${marker}; sleep 60; touch ${marker}.over` } },
        undefined,
        { signal: stop.signal }
      )
      await eventually("the command runs", () => fs.existsSync(marker))
      stop.abort("enough")
      await calling.then(() => assert.fail("it has a result"), () => undefined)
      await eventually("the command has ended", () => orphans(home).every((line) => !line.includes("sleep 60")))
      await client.ping()
      await client.close()
    }))

  it("raw lines: noise, unknown methods, unknown versions; stdout carries the protocol alone; the end of stdin is the end", () =>
    withHome(async (home) => {
      const request = (id: number, method: string, params: object = {}) =>
        JSON.stringify({ jsonrpc: "2.0", id, method, params })
      const meta = (version: string) => ({ _meta: { "io.modelcontextprotocol/protocolVersion": version } })
      const { code, lines, stdout } = await run(home, ["mcp", "serve"], {
        stdin: [
          "not json",
          request(1, "nope"),
          request(2, "ping"),
          request(3, "tools/list", meta("2099-01-01")),
          request(4, "server/discover", meta("2026-07-28")),
          request(5, "initialize", {
            protocolVersion: "2024-11-05",
            capabilities: {},
            clientInfo: { name: "x", version: "1" }
          }),
          ""
        ].join("\n")
      })
      assert.strictEqual(code, 0)
      for (const each of stdout.trim().split("\n")) assert.doesNotThrow(() => JSON.parse(each))
      const answer = (id: number) => JSON.stringify(lines.find((each) => each["id"] === id))
      assert.include(answer(1), "-32601")
      assert.include(answer(2), "\"result\":{}")
      assert.include(answer(3), "-32022")
      assert.include(answer(3), "2026-07-28")
      assert.include(answer(4), "\"supportedVersions\":[\"2026-07-28\"]")
      assert.include(answer(5), "\"protocolVersion\":\"2024-11-05\"")
    }))
})
