import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import { providerFor, run, secret, withUpstream } from "./support.ts"

const wires = ["anthropic", "responses", "chat"] as const

/** All bytes that a run left below a directory. */
const everything = (directory: string): string =>
  fs.readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) =>
    fs.readFileSync(path.join(entry.parentPath, entry.name), "latin1")
  ).join("\n")

describe("keys do not pass through tools (G2)", () => {
  it.each(wires)("%s: a command that prints the environment of its parents, and a file with the key", async (wire) => {
    const command =
      "for p in $PPID $(cut -d' ' -f4 /proc/$PPID/stat); do tr '\\0' '\\n' < /proc/$p/environ; done 2>&1; " +
      "cat /proc/$PPID/environ; cat key.txt; echo end-of-{{turn}}"
    await withUpstream({ tool_turns: 2, arguments: { command } }, async (upstream, home) => {
      home.settings(providerFor(wire, upstream))
      fs.writeFileSync(path.join(home.project, "key.txt"), `the key is ${secret}, and ${secret.slice(0, -1)}\n`)
      const result = await run(home, ["run", "--output-format", "stream-json", "--permission-mode", "bypass", "go"])
      assert.strictEqual(result.code, 0, result.stderr)
      assert.notInclude(result.stdout + result.stderr, secret)
      assert.include(result.stdout, `the key is [redacted], and ${secret.slice(0, -1)}`)
      const bodies = JSON.stringify(upstream.log.map((request) => request.body))
      assert.notInclude(bodies, secret)
      assert.include(bodies, "the key is [redacted]")
      assert.include(bodies, "end-of-2")
      for (const kept of ["data", "state"]) {
        const directory = path.join(home.dir, kept)
        if (fs.existsSync(directory)) assert.notInclude(everything(directory), secret)
      }
      assert.include(everything(path.join(home.dir, "data")), "the key is [redacted]")
    })
  })
})
