import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import { Dirs } from "../../src/platform/Dirs.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { entryAt } from "./sequence.ts"
import { bundle, start, temporary } from "./support.ts"

const root = temporary()
let program = ""
beforeAll(() => {
  program = bundle(root, { driver: true })
})
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

const withStore = <A, E>(home: string, body: Effect.Effect<A, E, SessionStore>): Promise<A> =>
  Effect.runPromise(Effect.provide(body, Layer.provide(Layer.fresh(SessionStore.layer), Dirs.layerTest(home))))

describe("kill -9 at a random moment (protocols 13)", () => {
  it("20 rounds on one database: it opens, what was stored is a prefix of what was written, at most the unfinished item is lost", async () => {
    const home = path.join(root, "kill")
    let state = 20_240_601
    const random = () => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return state / 2_147_483_648
    }
    let total = 0
    for (let round = 0; round < 20; round++) {
      const id = `ses_${round}`
      const writer = start(program, [home, "write", id, `w${round}`, "100000"])
      await writer.line((line) => line === "begun")
      // Some rounds end in the first appends, some in the middle of a checkpoint.
      await new Promise((resolve) => setTimeout(resolve, random() * random() * 400))
      writer.child.kill("SIGKILL")
      const { stderr } = await writer.ended
      assert.strictEqual(stderr, "")
      const said = writer.lines.filter((line) => /^\d+$/.test(line)).length
      await withStore(
        home,
        Effect.gen(function*() {
          const store = yield* SessionStore
          const stored = yield* store.entries(id)
          assert.include([said, said + 1], stored.length, `round ${round}`)
          assert.deepStrictEqual(
            stored.map(({ key, message, run_id, turn }) => ({ key, run_id, turn, message })),
            Array.from({ length: stored.length }, (_, index) => entryAt(`w${round}`, index))
          )
          const found = yield* store.find(id)
          assert.strictEqual(
            found.message_count,
            stored.length - stored.filter((_, index) => index % 4 === 1).length,
            "reasoning on its own is not counted"
          )
          assert.strictEqual(yield* store.recover, 1)
          assert.deepStrictEqual((yield* store.runs(id)).map((run) => run.status), ["interrupted"])
          total += stored.length
          assert.strictEqual((yield* store.list({})).length, round + 1)
        })
      )
    }
    assert.isAbove(total, 100, "the rounds did write")
  })
})

describe("two processes", () => {
  it("write at once, to one session too: no error, nothing lost, the counters agree", async () => {
    const home = path.join(root, "two")
    const writers = ["a", "b"].map((who) => start(program, [home, "append", "ses_shared", who, "200"]))
    for (const { ended } of writers) assert.deepStrictEqual(await ended, { code: 0, stderr: "" })
    await withStore(
      home,
      Effect.gen(function*() {
        const store = yield* SessionStore
        const stored = yield* store.entries("ses_shared")
        for (const who of ["a", "b"]) {
          assert.deepStrictEqual(
            stored.filter((one) => one.run_id === `run_${who}`).map((one) => one.key),
            Array.from({ length: 200 }, (_, index) => `${who}:${index}`)
          )
        }
        const found = yield* store.find("ses_shared")
        assert.deepStrictEqual([found.message_count, found.tool_call_count], [300, 100])
      })
    )
    assert.deepStrictEqual(
      fs.readdirSync(path.join(home, "data")).filter((name) => !name.startsWith("sessions.db")),
      []
    )
  })

  it("a living process' run is not touched; once it is gone, it is interrupted", async () => {
    const home = path.join(root, "owner")
    const writer = start(program, [home, "hold", "ses_held", "h"])
    await writer.line((line) => line === "begun")
    const recover = withStore(
      home,
      Effect.gen(function*() {
        const store = yield* SessionStore
        return [yield* store.recover, (yield* store.runs("ses_held"))[0]?.status]
      })
    )
    assert.deepStrictEqual(await recover, [0, "running"])
    writer.child.kill("SIGKILL")
    await writer.ended
    assert.deepStrictEqual(
      await withStore(
        home,
        Effect.gen(function*() {
          const store = yield* SessionStore
          return [yield* store.recover, (yield* store.runs("ses_held"))[0]?.status]
        })
      ),
      [1, "interrupted"]
    )
  })
})

describe("one run of a session at a time, over processes", () => {
  const hold = (home: string, who: string) => start(program, [home, "hold", "ses_one", who])
  const refusal = async (writer: ReturnType<typeof start>) => {
    const line = await writer.line((one) => one.startsWith("{"))
    assert.strictEqual((await writer.ended).code, 1)
    return JSON.parse(line) as { readonly reason: string; readonly message: string }
  }
  const runs = (home: string) =>
    withStore(
      home,
      Effect.flatMap(SessionStore, (store) => Effect.map(store.runs("ses_one"), (all) => all.map((run) => run.status)))
    )

  it("the second is refused with the pid of the first and changes nothing; kill -9 frees the session", async () => {
    const home = path.join(root, "busy")
    const first = hold(home, "a")
    await first.line((line) => line === "begun")
    const error = await refusal(hold(home, "b"))
    assert.strictEqual(error.reason, "session_busy")
    assert.include(error.message, `process ${first.child.pid}`)
    assert.include(error.message, "ses_one")
    assert.deepStrictEqual(await runs(home), ["running"])
    first.child.kill("SIGKILL")
    await first.ended
    const second = hold(home, "b")
    await second.line((line) => line === "begun")
    assert.deepStrictEqual(await runs(home), ["interrupted", "running"])
    second.child.kill("SIGKILL")
    await second.ended
  })

  it("of six that begin at once one gets it", async () => {
    const home = path.join(root, "rush")
    await withStore(
      home,
      Effect.flatMap(
        SessionStore,
        (store) => store.create({ id: "ses_one", workspace: "/w", provider: "p", model: "m" })
      )
    )
    const all = Array.from({ length: 6 }, (_, i) => hold(home, `r${i}`))
    const ends = await Promise.all(all.map((one) => one.line((line) => line === "begun" || line.startsWith("{"))))
    assert.strictEqual(ends.filter((line) => line === "begun").length, 1)
    for (const line of ends) if (line !== "begun") assert.include(line, "session_busy")
    assert.deepStrictEqual(await runs(home), ["running"])
    for (const one of all) one.child.kill("SIGKILL")
    await Promise.all(all.map((one) => one.ended))
  })
})

describe("a session is taken over by another process", () => {
  const entries = (home: string) =>
    withStore(
      home,
      Effect.flatMap(SessionStore, (store) => Effect.map(store.entries("ses_one"), (all) => all.map((one) => one.key)))
    )
  const runs = (home: string) =>
    withStore(
      home,
      Effect.flatMap(
        SessionStore,
        (store) => Effect.map(store.runs("ses_one"), (all) => all.map((run) => [run.id, run.status, run.error_code]))
      )
    )

  it("one that listens ends its run itself, with all that it had to store; then the other one begins", async () => {
    const home = path.join(root, "take")
    const first = start(program, [home, "heed", "ses_one", "a"])
    await first.line((line) => line === "begun")
    const second = start(program, [home, "take", "ses_one", "b"])
    await second.line((line) => line === "begun")
    assert.deepStrictEqual(await first.ended, { code: 0, stderr: "" })
    assert.include(first.lines, "stopped")
    assert.deepStrictEqual(await runs(home), [["run_a", "cancelled", null], ["run_b", "running", null]])
    assert.deepStrictEqual(await entries(home), ["a:0"])
    second.child.kill("SIGKILL")
    await second.ended
  })

  it("one that does not loses its run: nothing more of it is stored, and it is told by whom", async () => {
    const home = path.join(root, "force")
    const first = start(program, [home, "hold", "ses_one", "a"])
    await first.line((line) => line === "begun")
    const second = start(program, [home, "force", "ses_one", "b"])
    await second.line((line) => line === "begun")
    first.child.stdin?.end()
    const line = await first.line((one) => one.startsWith("{"))
    const error = JSON.parse(line) as { readonly reason: string; readonly message: string }
    assert.strictEqual(error.reason, "session_busy")
    assert.include(
      error.message,
      `ses_one was taken over by process ${second.child.pid}: this run records nothing any more`
    )
    await first.ended
    second.child.stdin?.end()
    await second.ended
    assert.deepStrictEqual(await entries(home), ["b:0"])
    assert.deepStrictEqual((await runs(home)).map(([id, status, code]) => [id, status === "running", code]), [
      ["run_a", false, "taken_over"],
      ["run_b", true, null]
    ])
  })

  it("two that take it at once: one has it in the end, the other one is told", async () => {
    const home = path.join(root, "both")
    const first = start(program, [home, "hold", "ses_one", "a"])
    await first.line((line) => line === "begun")
    const takers = ["b", "c"].map((who) => start(program, [home, "force", "ses_one", who]))
    await Promise.all(takers.map((one) => one.line((line) => line === "begun")))
    assert.deepStrictEqual((await runs(home)).filter(([, status]) => status === "running").length, 1)
    for (const one of [first, ...takers]) one.child.stdin?.end()
    await Promise.all([first, ...takers].map((one) => one.ended))
    assert.strictEqual((await entries(home)).length, 1)
  })
})

describe("a machine that lacks something", () => {
  it("a directory that may not be written: open, with path and remedy, nothing left behind", async () => {
    const home = path.join(root, "readonly")
    fs.mkdirSync(path.join(home, "data"), { recursive: true })
    fs.chmodSync(root, 0o755)
    fs.chmodSync(path.join(home, "data"), 0o555)
    const asUser = process.getuid?.() === 0 ? 65_534 : undefined
    const writer = start(program, [home, "open"], asUser)
    const line = await writer.line((one) => one.startsWith("{"))
    assert.strictEqual((await writer.ended).code, 1)
    const error = JSON.parse(line) as { readonly reason: string; readonly message: string }
    assert.strictEqual(error.reason, "open")
    assert.include(error.message, path.join(home, "data", "sessions.db"))
    assert.include(error.message, "HANZO_DATA_HOME")
    assert.deepStrictEqual(fs.readdirSync(path.join(home, "data")), [])
    fs.chmodSync(path.join(home, "data"), 0o755)
  })

  it("without the optional package: the built-in driver where Node has it, else the remedy", async () => {
    const bare = temporary()
    try {
      const writer = start(bundle(bare, { driver: false }), [path.join(bare, "home"), "open"])
      const line = await writer.line((one) => one === "open" || one.startsWith("{"))
      const { code, stderr } = await writer.ended
      assert.strictEqual(stderr, "", "no warning that SQLite is experimental")
      if (process.getBuiltinModule?.("node:sqlite") !== undefined) {
        assert.deepStrictEqual([line, code], ["open", 0])
        return
      }
      const error = JSON.parse(line) as { readonly reason: string; readonly message: string }
      assert.deepStrictEqual([error.reason, code], ["unavailable", 1])
      assert.include(error.message, "Node 22.13")
      assert.include(error.message, "npm install @photostructure/sqlite")
    } finally {
      fs.rmSync(bare, { recursive: true, force: true })
    }
  })
})
