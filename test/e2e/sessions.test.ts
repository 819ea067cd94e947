/** Sessions through the built program: takeover between processes, the list at a terminal, leaving and coming back, upgrades. */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"
import { type Home, makeHome, orphans, program, providerFor, run, start, withUpstream } from "./support.ts"

const fixture = fileURLToPath(new URL("../storage/fixtures/schema-1.db", import.meta.url))

const ask = async (home: Home, args: ReadonlyArray<string>) => {
  const ended = await run(home, ["run", "--output-format", "json", ...args])
  assert.strictEqual(ended.code, 0, ended.stderr)
  return String((JSON.parse(ended.stdout) as Record<string, unknown>)["session_id"])
}
const output = async (home: Home, args: ReadonlyArray<string>) => {
  const ended = await run(home, args)
  assert.strictEqual(ended.code, 0, ended.stderr)
  return ended.stdout
}

describe("a session that two processes want", () => {
  it("--takeover: the first is asked, ends as cancelled and says by whom; the second goes on", async () => {
    await withUpstream({ restart: true, faults: { "2": { kind: "hang", after: 1 } } }, async (upstream, home) => {
      home.settings(providerFor("anthropic", upstream))
      const id = await ask(home, ["hi"])
      const first = start(home, ["run", "--session", id, "--output-format", "stream-json", "one"])
      await first.line((line) => line.type === "turn.started")
      const refused = await run(home, ["run", "--session", id, "two"])
      assert.strictEqual(refused.code, 1)
      assert.match(refused.stderr, new RegExp(`process ${first.pid}.*--takeover.*--fork`))
      const second = start(home, ["run", "--session", id, "--takeover", "--output-format", "json", "three"])
      const [ended, taken] = await Promise.all([first.done, second.done])
      assert.strictEqual(taken.code, 0, taken.stderr)
      const last = ended.lines.at(-1)
      assert.strictEqual(last?.type, "run.cancelled")
      assert.include(String(last?.["reason"]), `process ${second.pid}`)
      assert.notStrictEqual(ended.code, 0)
      const shown = JSON.parse(await output(home, ["sessions", "show", id, "--json"])) as {
        readonly runs: ReadonlyArray<{ readonly status: string }>
      }
      assert.deepStrictEqual(shown.runs.map(({ status }) => status), ["completed", "cancelled", "completed"])
      assert.deepStrictEqual(upstream.violations(), [])
      assert.deepStrictEqual(orphans(home), [])
    })
  })
})

describe("a session leaves and comes back", () => {
  it("export, import elsewhere, search, fork, rename; and it goes on there", async () => {
    await withUpstream({ restart: true, final_text: "the kettle \"boils\" <b>now</b>" }, async (upstream, home) => {
      home.settings(providerFor("responses", upstream))
      const id = await ask(home, ["mend the kettle"])
      const lines = await output(home, ["sessions", "export", id])
      const other = makeHome()
      try {
        other.settings(providerFor("responses", upstream))
        fs.writeFileSync(path.join(other.project, "kettle.jsonl"), lines)
        assert.strictEqual((await output(other, ["sessions", "import", "kettle.jsonl"])).trim(), id)
        const again = await output(other, ["sessions", "export", id])
        assert.strictEqual(
          again.replaceAll(JSON.stringify(other.project), JSON.stringify(home.project)),
          lines,
          "byte for byte, but for the project"
        )
        await output(other, ["sessions", "rename", id, "Kettle"])
        const copy = (await output(other, ["sessions", "fork", id.slice(0, 20)])).trim()
        assert.strictEqual(await ask(other, ["--session", copy, "and the lid"]), copy)
        const found = JSON.parse(await output(other, ["sessions", "search", "--json", "\"kettle boils\""])) as {
          readonly matches: ReadonlyArray<{ readonly session_id: string }>
        }
        assert.includeMembers(found.matches.map(({ session_id }) => session_id), [id, copy])
        const page = await output(other, ["sessions", "export", "--format", "html", id])
        assert.include(page, "the kettle &quot;boils&quot; &lt;b&gt;now&lt;/b&gt;")
        const refused = await run(other, ["sessions", "import", "-"], { stdin: `${lines}{"v":1,"type":"entry"}\n` })
        assert.strictEqual(refused.code, 2)
        assert.include(refused.stderr, `stdin:${lines.split("\n").length}:`)
      } finally {
        other.remove()
      }
      assert.deepStrictEqual(upstream.violations(), [])
    })
  })
})

describe("the record of another version", () => {
  it("of the first version: a session goes on after the upgrade; its killed run is told as interrupted", async () => {
    await withUpstream({ restart: true }, async (upstream, home) => {
      home.settings(providerFor("anthropic", upstream))
      const data = home.env["HANZO_DATA_HOME"] ?? ""
      fs.mkdirSync(data, { recursive: true })
      fs.copyFileSync(fixture, path.join(data, "sessions.db"))
      const listed = await output(home, ["sessions", "list", "--all"])
      for (const id of ["whole", "compacted", "killed"]) assert.include(listed, `ses_fixture-${id}`)
      await ask(home, ["--session", "ses_fixture-killed", "go on"])
      await ask(home, ["--session", "ses_fixture-compacted", "go on"])
      assert.include(await output(home, ["sessions", "show", "ses_fixture-killed"]), "This run was interrupted")
      assert.deepStrictEqual(upstream.violations(), [])
    })
  })

  it("of a newer version: refused with the remedy, left byte for byte", async () => {
    const home = makeHome()
    try {
      const data = home.env["HANZO_DATA_HOME"] ?? ""
      fs.mkdirSync(data, { recursive: true })
      const file = path.join(data, "sessions.db")
      const bytes = fs.readFileSync(fixture)
      bytes.writeInt32BE(9999, 60)
      fs.writeFileSync(file, bytes)
      for (const args of [["sessions", "list"], ["run", "--scenario", "x.json", "hi"], ["sessions", "search", "x"]]) {
        fs.writeFileSync(path.join(home.project, "x.json"), JSON.stringify({ turns: [{ text: "x" }] }))
        const ended = await run(home, args)
        assert.strictEqual(ended.code, 1, args.join(" "))
        assert.match(ended.stderr, /sessions\.db.*schema 9999.*update/s)
      }
      assert.isTrue(bytes.equals(fs.readFileSync(file)))
    } finally {
      home.remove()
    }
  })
})

const script = "/usr/bin/script"

describe.runIf(process.platform === "linux" && fs.existsSync(script))("--resume in a terminal", () => {
  it("the arrow keys choose, and the conversation goes on with that session", async () => {
    const home = makeHome()
    try {
      const scenario = path.join(home.project, "x.json")
      fs.writeFileSync(scenario, JSON.stringify({ order: "first_match", turns: [{ text: "the answer" }] }))
      const first = await ask(home, ["--scenario", scenario, "about apples"])
      const second = await ask(home, ["--scenario", scenario, "about pears"])
      const child = spawn(script, [
        "-qec",
        `"${process.execPath}" "${program}" --scenario "${scenario}" --resume`,
        "/dev/null"
      ], {
        cwd: home.project,
        env: { ...home.env, TERM: "xterm" },
        stdio: ["pipe", "pipe", "pipe"]
      })
      let shown = ""
      const steps: Array<readonly [seen: string, type: string]> = [
        ["about apples", "\u001b[B"],
        ["\u001b[?25l", "\r"],
        [`going on with ${first}`, ""],
        ["> ", "more\r"],
        ["the answer", "/resume\r"],
        ["about pears", "\u0003"],
        ["> ", "/title\r"],
        ["about apples", "\u0004"]
      ]
      child.stdout.on("data", (chunk: Uint8Array) => {
        shown += Buffer.from(chunk).toString("utf8")
        for (let [step] = steps; step !== undefined && shown.includes(step[0]); [step] = steps) {
          shown = shown.slice(shown.indexOf(step[0]) + step[0].length)
          steps.shift()
          if (step[1] !== "") {
            child.stdin.write(step[1])
            break
          }
        }
      })
      const code = await new Promise((resolve) => child.on("close", resolve))
      child.stdin.destroy()
      assert.deepStrictEqual(steps, [])
      assert.strictEqual(code, 0)
      const counts = JSON.parse(await output(home, ["sessions", "list", "--json"])) as {
        readonly sessions: ReadonlyArray<{ readonly id: string; readonly message_count: number }>
      }
      assert.deepStrictEqual(counts.sessions.map(({ id, message_count }) => [id, message_count]), [[first, 4], [
        second,
        2
      ]])
    } finally {
      home.remove()
    }
  })
})
