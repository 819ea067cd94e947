import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import { eventually, type Home, orphans, providerFor, run, start, withUpstream } from "./support.ts"

/** Calls that leave children behind if nobody kills the group. */
const slowCall = { command: "sleep 30 & echo turn-{{turn}}; sleep 0.02", timeout_ms: 20_000 }

const moments = (count: number, spread: number, seed: number): ReadonlyArray<number> => {
  let state = seed
  return Array.from({ length: count }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return (state / 2_147_483_648) * spread
  })
}

const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const export_ = async (home: Home, id: string) => {
  const result = await run(home, ["sessions", "export", id, "--format", "jsonl"])
  assert.strictEqual(result.code, 0, result.stderr)
  return result.stdout
}

describe("two runs on one session", () => {
  it("the second is refused with the pid of the first; after kill -9 the session is free", async () => {
    await withUpstream({ restart: true, faults: { "2": { kind: "hang", after: 1 } } }, async (upstream, home) => {
      home.settings(providerFor("anthropic", upstream))
      const made = await run(home, ["run", "--output-format", "json", "hi"])
      const id = String((JSON.parse(made.stdout) as Record<string, unknown>)["session_id"])
      const first = start(home, ["run", "--session", id, "--output-format", "stream-json", "one"])
      await first.line((line) => line.type === "turn.started")
      const second = await run(home, ["run", "--session", id, "--output-format", "stream-json", "two"])
      assert.strictEqual(second.code, 1, second.stderr)
      assert.include(second.stderr, `process ${first.pid}`)
      first.child.kill("SIGKILL")
      await first.done
      const third = await run(home, ["run", "--session", id, "--output-format", "json", "three"])
      assert.strictEqual(third.code, 0, third.stderr)
      assert.notInclude(await export_(home, id), "\"two\"")
      assert.deepStrictEqual(upstream.violations(), [])
    })
  })

  it.runIf(process.platform === "linux")("a data directory that cannot be made is said at once", async () => {
    await withUpstream({}, async (upstream, home) => {
      home.settings(providerFor("anthropic", upstream))
      for (const name of ["HANZO_DATA_HOME", "HANZO_STATE_HOME", "HANZO_CACHE_HOME"]) {
        const ended = await run(home, ["run", "hi"], { env: { [name]: "/proc/nope" } })
        if (name !== "HANZO_DATA_HOME") continue
        assert.strictEqual(ended.code, 1, ended.stderr)
        assert.include(ended.stderr, "/proc/nope/sessions.db")
        assert.include(ended.stderr, "HANZO_DATA_HOME")
      }
    })
  })
})

describe("a stop at a random moment", () => {
  it(
    "Ctrl-C in 20 real runs: no orphan, one settlement a call, the session goes on",
    { timeout: 180_000 },
    async () => {
      await withUpstream({ tool_turns: 6, pace_ms: 2, arguments: slowCall, restart: true }, async (upstream, home) => {
        home.settings(providerFor("anthropic", upstream))
        for (const [round, moment] of moments(20, 900, 7).entries()) {
          const running = start(home, ["run", "--output-format", "stream-json", "--allow", "bash", `round ${round}`])
          await running.line((line) => line.type === "run.started")
          await after(moment)
          running.child.kill("SIGINT")
          const ended = await running.done
          const last = ended.lines.at(-1)
          const finished = last?.type === "run.completed"
          assert.strictEqual(ended.code, finished ? 0 : 130, `round ${round} at ${moment}: ${ended.stderr}`)
          if (!finished) assert.strictEqual(last?.type, "run.cancelled")
          const started = ended.lines.filter((l) => l.type === "tool.started").map((l) => l["call_id"])
          const settled = ended.lines.filter((l) => l.type === "tool.completed").map((l) => l["call_id"])
          assert.deepStrictEqual(settled, started)
          await eventually("no orphan process", () => orphans(home).length === 0)
          const id = String(last?.["session_id"])
          assert.include(await export_(home, id), `round ${round}`)
          const again = await run(home, ["run", "--session", id, "--output-format", "json", "--allow", "bash", "go on"])
          assert.strictEqual(again.code, 0, again.stderr)
          await eventually("no orphan process", () => orphans(home).length === 0)
        }
        assert.deepStrictEqual(upstream.violations(), [], "every request was legal")
      })
    }
  )

  it("kill -9 in 50 real runs: the database opens, the session resumes", { timeout: 300_000 }, async () => {
    await withUpstream({ tool_turns: 6, pace_ms: 1, restart: true }, async (upstream, home) => {
      home.settings(providerFor("chat", upstream))
      for (const [round, moment] of moments(50, 500, 11).entries()) {
        const running = start(home, ["run", "--output-format", "stream-json", "--allow", "bash", `round ${round}`])
        const first = await running.line((line) => line.type === "run.started")
        await after(moment)
        running.child.kill("SIGKILL")
        const ended = await running.done
        const id = String(first["session_id"])
        const stored = await export_(home, id)
        // What had been offered as finished had been stored before.
        for (const line of ended.lines) {
          if (line.type !== "tool.completed") continue
          assert.include(stored, String(line["call_id"]), `round ${round}`)
        }
        if (round % 5 === 0) {
          const again = await run(home, ["run", "--session", id, "--output-format", "json", "--allow", "bash", "go on"])
          assert.strictEqual(again.code, 0, again.stderr)
        }
      }
      const list = await run(home, ["sessions", "list", "--json"])
      assert.strictEqual(list.code, 0, list.stderr)
      assert.deepStrictEqual(upstream.violations(), [], "every request was legal")
      assert.isTrue(fs.existsSync(path.join(home.env["HANZO_DATA_HOME"] ?? "", "sessions.db")))
    })
  })
})
