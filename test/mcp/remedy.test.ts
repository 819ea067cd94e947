/** Commands that messages name: a shell reads them as they are meant, whatever the server is called. */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { execFileSync } from "node:child_process"
import * as os from "node:os"
import * as Remedy from "../../src/mcp/Remedy.ts"

/** What a real shell makes of a line. */
const read = (line: string): ReadonlyArray<string> =>
  execFileSync("/bin/sh", ["-c", `printf '%s\\n' ${line}`], { cwd: os.tmpdir(), encoding: "utf8" }).trimEnd().split(
    "\n"
  )

const nasty = [
  "q n",
  "it's",
  "-x",
  "--json",
  "*",
  "~",
  "$HOME",
  "`id`",
  "a;b",
  "a\\b",
  "\"",
  "#c",
  "a|b>c",
  "!x",
  "{a,b}"
]
const name = FastCheck.oneof(
  FastCheck.constantFrom(...nasty),
  FastCheck.array(FastCheck.constantFrom(...nasty, "a", " "), { minLength: 1, maxLength: 5 }).map((all) => all.join(""))
).map((text) => text.replaceAll(/\s+/gu, " ").trim()).filter((text) => text !== "")

describe("Remedy", () => {
  it("a plain name stands as it is, one with a blank in quotes, one like an option behind --", () => {
    assert.strictEqual(Remedy.command("logs", "files"), "hanzo-dev mcp logs files")
    assert.strictEqual(Remedy.command("logs", "claude.ai/A_1"), "hanzo-dev mcp logs claude.ai/A_1")
    assert.strictEqual(Remedy.command("logs", "q n"), "hanzo-dev mcp logs 'q n'")
    assert.strictEqual(Remedy.command("enable", "it's"), "hanzo-dev mcp enable 'it'\\''s'")
    assert.strictEqual(Remedy.command("get", "-x"), "hanzo-dev mcp get -- -x")
    assert.strictEqual(
      Remedy.command("auth", "-q n", ["--scope", "a;b"]),
      "hanzo-dev mcp auth --scope 'a;b' -- '-q n'"
    )
  })

  it("G8 nothing of a name reaches the terminal but what can be read", () => {
    assert.strictEqual(Remedy.command("logs", "a\u001b[2J\nb"), "hanzo-dev mcp logs 'a\u241b[2J b'")
  })

  it.prop("1.13 a shell reads the words that are meant, also scopes that a server asks for", [name, name], (
    [server, scope]
  ) => {
    const words = read(Remedy.command("auth", server, ["--scope", scope]))
    assert.deepStrictEqual(
      words,
      server.startsWith("-")
        ? ["hanzo-dev", "mcp", "auth", "--scope", scope, "--", server]
        : ["hanzo-dev", "mcp", "auth", server, "--scope", scope]
    )
  }, { fastCheck: { numRuns: 60 } })
})
