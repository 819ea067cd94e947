/** Sessions as a person handles them: forks, copies from files, going back, search, pins, retention. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import { Ids } from "../../src/domain/Ids.ts"
import { textOf } from "../../src/domain/MessageParts.ts"
import { joined } from "../../src/storage/History.ts"
import { expired } from "../../src/storage/Retention.ts"
import type { Entry, ForeignSession, SessionStoreService } from "../../src/storage/SessionStore.ts"
import * as SqliteSessionStore from "../../src/storage/SqliteSessionStore.ts"
import { temporary } from "./support.ts"

const root = temporary()
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))
let count = 0
const fresh = (): string => path.join(root, `${++count}`, "sessions.db")
const opened = Effect.suspend(() => SqliteSessionStore.open(fresh()))
const memory = SqliteSessionStore.open(":memory:")

const said = (run: string, n: number, words: string): Entry => ({
  key: `user:${run}:${n}`,
  run_id: run,
  turn: n * 10,
  message: { role: "user", content: [{ type: "text", text: words }] }
})
const answered = (run: string, n: number, words: string): Entry => ({
  key: `item:${run}:${n}`,
  run_id: run,
  turn: n * 10 + 1,
  message: { role: "assistant", content: [{ type: "text", text: words }] }
})
const called = (run: string, n: number): ReadonlyArray<Entry> => [
  {
    key: `assistant:c_${run}_${n}`,
    run_id: run,
    turn: n * 10 + 1,
    message: {
      role: "assistant",
      content: [{ type: "tool_call", id: `c_${run}_${n}`, name: "bash", arguments: "{\"command\":\"ls\"}" }]
    }
  },
  {
    key: `tool:c_${run}_${n}`,
    run_id: run,
    turn: n * 10 + 1,
    message: { role: "tool", tool_call_id: `c_${run}_${n}`, tool_name: "bash", content: `files of ${n}` }
  }
]

const made = (store: SessionStoreService, id: string, entries: ReadonlyArray<Entry> = [], workspace = "/w") =>
  Effect.gen(function*() {
    yield* store.create({ id, workspace, provider: "p", model: "m" })
    for (const entry of entries) yield* store.append(id, [entry])
  })
const words = (store: SessionStoreService, id: string) =>
  Effect.map(store.history(id), (all) => all.map((message) => textOf(message)))
const ids = (store: SessionStoreService, id: string) =>
  Effect.map(store.entries(id), (all) => all.map((entry) => entry.id))

describe("fork", () => {
  it.scoped("is a session of its own: neither sees what comes to the other later", () =>
    Effect.gen(function*() {
      const store = yield* memory
      yield* made(store, "ses_a", [said("r", 0, "one"), ...called("r", 0), answered("r", 1, "two")])
      yield* made(store, "ses_b", [said("b", 0, "between")])
      const copy = yield* store.fork({ id: "ses_c", from: "ses_a" })
      assert.deepStrictEqual([copy.parent_session_id, copy.title, copy.message_count, copy.tool_call_count], [
        "ses_a",
        "one",
        4,
        1
      ])
      assert.deepStrictEqual([copy.usage.input_tokens, copy.cost_usd], [0, null], "what was spent stays behind")
      assert.deepStrictEqual(yield* store.history("ses_c"), yield* store.history("ses_a"))
      yield* store.append("ses_c", [said("c", 5, "only here")])
      yield* store.append("ses_a", [said("r", 6, "only there")])
      assert.deepStrictEqual((yield* words(store, "ses_c")).at(-1), "only here")
      assert.deepStrictEqual((yield* words(store, "ses_a")).at(-1), "only there")
      yield* store.delete("ses_a")
      assert.strictEqual((yield* store.find("ses_c")).parent_session_id, null)
      assert.strictEqual((yield* words(store, "ses_c")).length, 5)
    }))

  it.scoped("up to a message; not inside an answer, not between a call and its result", () =>
    Effect.gen(function*() {
      const store = yield* memory
      yield* made(store, "ses_a", [
        said("r", 0, "one"),
        ...called("r", 0),
        answered("r", 1, "two"),
        said("r", 2, "three")
      ])
      const [first, call, result, answer] = yield* ids(store, "ses_a")
      const at = (id: string, message: number | undefined) => store.fork({ id, from: "ses_a", at: message ?? 0 })
      yield* at("ses_1", first)
      assert.deepStrictEqual(yield* words(store, "ses_1"), ["one"])
      yield* at("ses_2", answer)
      assert.deepStrictEqual(yield* words(store, "ses_2"), ["one", "", "files of 0", "two"])
      yield* at("ses_3", result)
      assert.strictEqual((yield* words(store, "ses_3")).length, 3)
      const inside = yield* Effect.flip(at("ses_4", call))
      assert.strictEqual(inside.reason, "invalid")
      assert.include(inside.message, `the nearest places are behind ${first} and ${result}`)
      const nowhere = yield* Effect.flip(at("ses_4", 999))
      assert.include(nowhere.message, "has no message 999")
      assert.strictEqual((yield* store.list({})).length, 4, "what was refused left nothing")
    }))

  it.scoped("from before a compaction: what was replaced later stands for itself", () =>
    Effect.gen(function*() {
      const store = yield* memory
      yield* made(store, "ses_a", [said("r", 0, "one"), answered("r", 0, "two"), said("r", 1, "three")])
      yield* store.append("ses_a", [{
        key: "compaction:1",
        run_id: "r",
        turn: 10,
        message: { role: "user", kind: "summary", content: "both" },
        replaces: ["user:r:0", "item:r:0"]
      }])
      assert.deepStrictEqual(yield* words(store, "ses_a"), ["both", "three"])
      const [, second] = yield* ids(store, "ses_a")
      yield* store.fork({ id: "ses_b", from: "ses_a", at: second ?? 0 })
      assert.deepStrictEqual(yield* words(store, "ses_b"), ["one", "two"])
      yield* store.fork({ id: "ses_c", from: "ses_a" })
      assert.deepStrictEqual(yield* words(store, "ses_c"), ["both", "three"])
      assert.deepStrictEqual(yield* store.conversation("ses_c"), joined(yield* store.entries("ses_c")))
    }))
})

describe("going back", () => {
  it.scoped("hides what came after, brings it back in order, and not once the session went on", () =>
    Effect.gen(function*() {
      const store = yield* memory
      yield* made(store, "ses_a", [
        said("r", 0, "one"),
        answered("r", 0, "a1"),
        said("r", 1, "two"),
        ...called("r", 1),
        said("r", 2, "three")
      ])
      const [, , two, , , three] = yield* ids(store, "ses_a")
      const whole = yield* store.history("ses_a")
      const before = yield* store.find("ses_a")
      const late = yield* store.hide("ses_a", three ?? 0)
      const early = yield* store.hide("ses_a", two ?? 0)
      assert.deepStrictEqual(yield* words(store, "ses_a"), ["one", "a1"])
      assert.deepStrictEqual(
        (yield* store.hidden("ses_a")).map(({ mark }) => mark).toSorted(),
        [late, early].toSorted()
      )
      const shorter = yield* store.find("ses_a")
      assert.deepStrictEqual([shorter.message_count, shorter.tool_call_count, shorter.preview], [2, 0, "a1"])
      assert.deepStrictEqual(yield* store.callIds("ses_a"), ["c_r_1"], "a call id that was used is never used again")
      assert.deepStrictEqual(yield* store.search("three", {}), [], "it is not found while it is hidden")
      const again = yield* Effect.flip(store.unhide("ses_a", 1))
      assert.strictEqual(again.reason, "invalid")
      yield* store.unhide("ses_a", early)
      yield* store.unhide("ses_a", late)
      assert.deepStrictEqual(yield* store.history("ses_a"), whole)
      assert.deepStrictEqual(yield* store.find("ses_a"), before)
      yield* store.hide("ses_a", two ?? 0)
      yield* store.append("ses_a", [said("q", 0, "another way")])
      const error = yield* Effect.flip(store.unhide("ses_a", two ?? 0))
      assert.include(error.message, "went on")
      assert.deepStrictEqual(yield* words(store, "ses_a"), ["one", "a1", "another way"])
    }))

  it.scoped("to before a summary: what it stood for is back, and gone again with it", () =>
    Effect.gen(function*() {
      const store = yield* memory
      yield* made(store, "ses_a", [said("r", 0, "one"), answered("r", 0, "a1"), said("r", 1, "two")])
      yield* store.append("ses_a", [{
        key: "compaction:1",
        run_id: "r",
        turn: 12,
        message: { role: "user", kind: "summary", content: "sum" },
        replaces: ["user:r:0", "item:r:0"]
      }, answered("r", 1, "a2")])
      const all = yield* ids(store, "ses_a")
      const mark = yield* store.hide("ses_a", all[2] ?? 0)
      assert.deepStrictEqual(yield* words(store, "ses_a"), ["one", "a1"])
      assert.deepStrictEqual(yield* store.conversation("ses_a"), joined(yield* store.entries("ses_a")))
      yield* store.unhide("ses_a", mark)
      assert.deepStrictEqual(yield* words(store, "ses_a"), ["sum", "two", "a2"])
    }))

  it.scoped("not while there is a run, not inside an answer", () =>
    Effect.gen(function*() {
      const store = yield* memory
      yield* made(store, "ses_a", [said("r", 0, "one"), ...called("r", 0)])
      const [one, , result] = yield* ids(store, "ses_a")
      assert.strictEqual((yield* Effect.flip(store.hide("ses_a", result ?? 0))).reason, "invalid")
      yield* store.beginRun({ id: "run_1", session_id: "ses_a", model: "m" })
      assert.strictEqual((yield* Effect.flip(store.hide("ses_a", one ?? 0))).reason, "session_busy")
    }))
})

describe("lists", () => {
  it.scoped("pinned first, archived apart, and the latest is neither an archived nor a subagent's", () =>
    Effect.gen(function*() {
      const store = yield* memory
      for (const id of ["ses_1", "ses_2", "ses_3"]) {
        yield* made(store, id)
        yield* TestClock.adjust("1 second")
      }
      yield* store.create({ id: "ses_4", workspace: "/w", provider: "p", model: "m", source: "subagent" })
      yield* store.pin("ses_1", true)
      yield* store.pin("ses_1", true)
      yield* store.archive("ses_3", true)
      const listed = (archived?: boolean) =>
        Effect.map(
          store.list({ workspace: "/w", ...(archived === undefined ? {} : { archived }) }),
          (all) => all.map(({ id }) => id)
        )
      assert.deepStrictEqual(yield* listed(), ["ses_1", "ses_4", "ses_2"])
      assert.deepStrictEqual(yield* listed(true), ["ses_3"])
      const latest = yield* store.latest("/w")
      assert.strictEqual(latest._tag === "Some" ? latest.value.id : "", "ses_2")
      yield* store.pin("ses_1", false)
      yield* store.archive("ses_3", false)
      assert.deepStrictEqual(yield* listed(), ["ses_4", "ses_3", "ses_2", "ses_1"])
      assert.strictEqual((yield* Effect.flip(store.pin("ses_9", true))).reason, "not_found")
    }))

  it.scoped("a title that was set meanwhile is kept", () =>
    Effect.gen(function*() {
      const store = yield* memory
      yield* made(store, "ses_1", [said("r", 0, "first words")])
      yield* store.setTitle("ses_1", "mine")
      yield* store.setTitle("ses_1", "the model's", "first words")
      assert.strictEqual((yield* store.find("ses_1")).title, "mine")
      yield* store.setTitle("ses_1", "the model's", "mine")
      assert.strictEqual((yield* store.find("ses_1")).title, "the model's")
    }))
})

describe("retention", () => {
  it.prop(
    "what goes is the oldest, no more than needed; what is too old goes in any case",
    [
      FastCheck.array(FastCheck.record({ age: FastCheck.nat(100), bytes: FastCheck.nat(50) }), { maxLength: 30 }),
      FastCheck.option(FastCheck.nat(100), { nil: undefined }),
      FastCheck.option(FastCheck.nat(500), { nil: undefined })
    ],
    ([drawn, before, max_bytes]) => {
      const sessions = drawn
        .map(({ age, bytes }, n) => ({ id: `${n}`, last_active: age, bytes }))
        .toSorted((a, b) => a.last_active - b.last_active)
      const used = sessions.reduce((all, { bytes }) => all + bytes, 0)
      const gone = expired(sessions, used, {
        ...(before === undefined ? {} : { before }),
        ...(max_bytes === undefined ? {} : { max_bytes })
      })
      const kept = sessions.filter((one) => !gone.includes(one))
      const left = kept.reduce((all, { bytes }) => all + bytes, 0)
      if (before !== undefined) assert.isTrue(kept.every((one) => one.last_active >= before))
      if (max_bytes !== undefined) assert.isAtMost(left, Math.max(max_bytes, 0))
      const last = gone.at(-1)
      if (last !== undefined && (before === undefined || last.last_active >= before)) {
        assert.isAbove(left + last.bytes, max_bytes ?? Number.POSITIVE_INFINITY)
      }
      if (before === undefined && max_bytes === undefined) assert.deepStrictEqual(gone, [])
    }
  )

  it.scoped("pinned, archived and running sessions stay; what goes leaves the index of words too", () =>
    Effect.gen(function*() {
      const store = yield* opened
      for (const id of ["ses_old", "ses_pinned", "ses_archived", "ses_running"]) {
        yield* made(store, id, [said(`r${id}`, 0, `needle of ${id}`)])
      }
      yield* store.pin("ses_pinned", true)
      yield* store.archive("ses_archived", true)
      yield* store.beginRun({ id: "run_1", session_id: "ses_running", model: "m" })
      yield* store.fork({ id: "ses_child", from: "ses_old" })
      assert.strictEqual((yield* store.search("needle", { archived: true })).length, 10)
      yield* TestClock.adjust("40 days")
      yield* made(store, "ses_new", [said("n", 0, "needle of today")])
      const now = 40 * 86_400
      const going = yield* store.expired({ before: now - 30 * 86_400 })
      assert.deepStrictEqual(going.map(({ session }) => session.id).toSorted(), ["ses_child", "ses_old"])
      assert.deepStrictEqual(
        (yield* store.prune([...going.map(({ session }) => session.id), "ses_pinned", "ses_running"])).toSorted(),
        [
          "ses_child",
          "ses_old"
        ]
      )
      yield* store.vacuum
      assert.deepStrictEqual((yield* store.list({})).map(({ id }) => id).toSorted(), [
        "ses_new",
        "ses_pinned",
        "ses_running"
      ])
      const found = yield* store.search("needle", { archived: true })
      assert.notInclude(JSON.stringify(found), "ses_old")
      assert.deepStrictEqual(yield* store.expired({ max_bytes: 1_000_000_000 }), [])
      const small = yield* store.expired({ max_bytes: 1 })
      assert.deepStrictEqual(small.map(({ session }) => session.id), ["ses_new"])
      assert.isAbove(small[0]?.bytes ?? 0, 100)
    }))
})

const foreign = (store: SessionStoreService, id: string) =>
  Effect.gen(function*() {
    const read: ForeignSession = {
      session: yield* store.find(id),
      runs: yield* store.runs(id),
      entries: yield* store.entries(id)
    }
    return read
  })

describe("a session from elsewhere", () => {
  const make = Effect.provide(Effect.map(Ids, (service) => service.make), Ids.layerCounting)
  const rich = (store: SessionStoreService) =>
    Effect.gen(function*() {
      yield* made(store, "ses_other", [said("o", 0, "first")])
      yield* made(store, "ses_a")
      yield* store.beginRun({ id: "run_r", session_id: "ses_a", model: "m" })
      yield* store.append("ses_a", [said("run_r", 0, "one")])
      yield* store.append("ses_a", [answered("run_r", 0, "broken")])
      yield* store.withdraw("ses_a", ["item:run_r:0"])
      yield* store.append("ses_a", [answered("run_r", 0, "whole"), ...called("run_r", 1), said("run_r", 2, "two")])
      yield* store.append("ses_a", [
        {
          key: "compaction:1",
          run_id: "run_r",
          turn: 30,
          message: { role: "user", kind: "summary", content: "sum" },
          replaces: ["user:run_r:0", "item:run_r:0"]
        },
        said("run_r", 4, "three"),
        said("run_r", 5, "four")
      ])
      yield* store.beginAttempt({ id: "att_1", run_id: "run_r", turn: 1, number: 1 })
      yield* store.endAttempt("att_1", {
        status: "completed",
        usage: { input_tokens: 7, output_tokens: 3, cache_read_tokens: 0, cache_write_tokens: 0 },
        cost_usd: 0.5
      })
      yield* store.endRun("run_r", { status: "completed", turns: 1, exit_code: 0 })
      yield* store.hide("ses_a", (yield* ids(store, "ses_a")).at(-1) ?? 0)
      yield* store.pin("ses_a", true)
      yield* store.setTitle("ses_a", "A \"title\" <b>")
    })

  it.scoped("is exactly what it was, ids of messages too", () =>
    Effect.gen(function*() {
      const from = yield* memory
      yield* TestClock.adjust("5 seconds")
      yield* rich(from)
      const read = yield* foreign(from, "ses_a")
      const into = yield* memory
      yield* TestClock.adjust("5 seconds")
      yield* into.adopt(read, { workspace: "/w", make: yield* make })
      assert.deepStrictEqual(yield* foreign(into, "ses_a"), read)
      assert.deepStrictEqual(yield* into.conversation("ses_a"), yield* from.conversation("ses_a"))
      yield* into.unhide("ses_a", (yield* into.hidden("ses_a"))[0]?.mark ?? 0)
      yield* into.append("ses_a", [said("later", 0, "it goes on")])
      assert.deepStrictEqual(yield* words(into, "ses_a"), [
        "sum",
        "",
        "files of 1",
        "two",
        "three",
        "four",
        "it goes on"
      ])
    }))

  it.scoped("gets new ids where its own are taken; nothing of what is here changes", () =>
    Effect.gen(function*() {
      const store = yield* memory
      yield* rich(store)
      const read = yield* foreign(store, "ses_a")
      const copy = yield* store.adopt(read, { workspace: "/else", make: yield* make })
      assert.notStrictEqual(copy.id, "ses_a")
      assert.strictEqual(copy.workspace, "/else")
      assert.deepStrictEqual(yield* foreign(store, "ses_a"), read)
      assert.deepStrictEqual(yield* words(store, copy.id), yield* words(store, "ses_a"))
      assert.notStrictEqual((yield* store.runs(copy.id))[0]?.id, "run_r")
      assert.strictEqual(yield* store.spent({ since: 0 }), 0.5, "what somebody else has paid is not spent here")
    }))

  it.scoped("cannot use the numbers up, be the latest for ever, or run", () =>
    Effect.gen(function*() {
      const from = yield* memory
      yield* made(from, "ses_a", [said("r", 0, "one"), said("r", 1, "two")])
      yield* from.beginRun({ id: "run_1", session_id: "ses_a", model: "m" })
      const read = yield* foreign(from, "ses_a")
      const store = yield* memory
      const adopted = yield* store.adopt({
        session: { ...read.session, id: "../../etc", last_active: 9e9, title: "\u001b[31mred\nline" },
        runs: read.runs,
        entries: read.entries.map((entry, n) => ({ ...entry, id: Number.MAX_SAFE_INTEGER - 10 + n }))
      }, { workspace: "/w", make: yield* make })
      assert.match(adopted.id, /^ses_\d+$/)
      assert.strictEqual(adopted.last_active, 0)
      assert.notInclude(adopted.title ?? "", "\u001b")
      assert.deepStrictEqual((yield* store.runs(adopted.id)).map(({ status }) => status), ["interrupted"])
      assert.deepStrictEqual(yield* ids(store, adopted.id), [1, 2])
      yield* store.append(adopted.id, [said("x", 0, "goes on")])
    }))
})
