import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import type { Turn, TurnRequest } from "../support/upstream/index.ts"
import { providerFor, run, withUpstream } from "./support.ts"

/** Runs the prompt as a command line, then is done. */
const script = (request: TurnRequest): Turn =>
  !JSON.stringify((request.body["messages"] as ReadonlyArray<unknown>).at(-1)).includes("tool_result")
    ? { blocks: [{ kind: "call", name: "bash", arguments: { command: request.prompt } }] }
    : { blocks: [{ kind: "text", text: "done" }] }

interface Checkpoints {
  readonly messages: ReadonlyArray<
    { readonly id: number; readonly text: string; readonly checkpoint_id: string | null }
  >
  readonly checkpoints: ReadonlyArray<{ readonly kind: string }>
  readonly redo: { readonly conversation: boolean; readonly files: boolean }
}

describe("checkpoints of the whole program", () => {
  it("run --checkpoints keeps the files, sessions rewind goes back and forward, the repository is left alone", async () => {
    await withUpstream({ script }, async (upstream, home) => {
      home.settings(providerFor("anthropic", upstream))
      const at = (name: string) => path.join(home.project, name)
      const git = (...args: ReadonlyArray<string>) =>
        execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example", ...args], {
          cwd: home.project,
          env: home.env,
          encoding: "utf8"
        })
      git("init", "-q", "-b", "main")
      fs.writeFileSync(at("a.txt"), "one\r\n", { mode: 0o640 })
      fs.writeFileSync(at(".gitattributes"), "* text=auto eol=lf\n")
      git("add", "-A")
      git("commit", "-qm", "one")
      fs.writeFileSync(at("untracked"), "u")
      const index = fs.readFileSync(at(".git/index")).toString("base64")

      const first = await run(home, [
        "run",
        "--checkpoints",
        "--allow",
        "bash",
        "rm a.txt untracked; mkdir -p new/empty"
      ])
      assert.strictEqual(first.code, 0, first.stderr)
      const second = await run(home, [
        "run",
        "--continue",
        "--checkpoints",
        "--permission-mode",
        "bypass",
        "echo two > a.txt"
      ])
      assert.strictEqual(second.code, 0, second.stderr)
      const [session] = (JSON.parse((await run(home, ["sessions", "list", "--json"])).stdout) as {
        sessions: ReadonlyArray<{ id: string }>
      }).sessions
      const id = session?.id ?? ""
      const look = async (): Promise<Checkpoints> => {
        // from anywhere
        const found = await run(home, ["sessions", "checkpoints", id, "--json"], { cwd: home.dir })
        assert.strictEqual(found.code, 0, found.stderr)
        return JSON.parse(found.stdout) as Checkpoints
      }
      const seen = await look()
      assert.deepStrictEqual(seen.messages.map(({ text }) => text), [
        "rm a.txt untracked; mkdir -p new/empty",
        "echo two > a.txt"
      ])
      assert.deepStrictEqual(seen.checkpoints.map(({ kind }) => kind), ["before", "after", "before", "after"])

      const dry = await run(home, ["sessions", "rewind", id, "--dry-run", "--to", `${seen.messages[0]?.id}`])
      assert.strictEqual(dry.code, 0, dry.stderr)
      assert.include(dry.stdout, "untracked")
      assert.isFalse(fs.existsSync(at("untracked")))

      const back = await run(home, ["sessions", "rewind", id, "--to", `${seen.messages[0]?.id}`], { cwd: home.dir })
      assert.strictEqual(back.code, 0, back.stderr)
      assert.strictEqual(fs.readFileSync(at("a.txt"), "utf8"), "one\r\n")
      assert.strictEqual(fs.statSync(at("a.txt")).mode & 0o777, 0o640)
      assert.strictEqual(fs.readFileSync(at("untracked"), "utf8"), "u")
      assert.isFalse(fs.existsSync(at("new")))
      assert.deepStrictEqual((await look()).messages, [])
      assert.deepStrictEqual((await look()).redo, { conversation: true, files: true })

      const again = await run(home, ["sessions", "rewind", id, "--redo", "--json"])
      assert.strictEqual(again.code, 0, again.stderr)
      assert.strictEqual(fs.readFileSync(at("a.txt"), "utf8"), "two\n")
      assert.isTrue(fs.statSync(at("new/empty")).isDirectory())
      assert.strictEqual((await look()).messages.length, 2)

      const files = await run(home, ["sessions", "rewind", id, "--files"])
      assert.strictEqual(files.code, 0, files.stderr)
      assert.isFalse(fs.existsSync(at("a.txt")))
      assert.strictEqual((await look()).messages.length, 2)
      assert.strictEqual(fs.readFileSync(at(".git/index")).toString("base64"), index)
      assert.strictEqual((await run(home, ["sessions", "rewind", id, "--to", "999999"])).code, 2)
    })
  })

  it("without --checkpoints nothing is kept", async () => {
    await withUpstream({ script }, async (upstream, home) => {
      home.settings(providerFor("anthropic", upstream))
      const done = await run(home, ["run", "--permission-mode", "bypass", "echo 1 > a"])
      assert.strictEqual(done.code, 0, done.stderr)
      assert.isFalse(fs.existsSync(path.join(home.dir, "data", "snapshots")))
    })
  })
})
