import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Sqlite from "../../src/platform/Sqlite.ts"
import { indexText, matches, parse, snippet, toMatch } from "../../src/storage/SearchQuery.ts"
import type { Entry, SessionStoreService } from "../../src/storage/SessionStore.ts"
import * as SqliteSessionStore from "../../src/storage/SqliteSessionStore.ts"
import { temporary } from "./support.ts"

const root = temporary()
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))
let count = 0
const fresh = (): string => path.join(root, `${++count}`, "sessions.db")

const entry = (n: number, text: string, role: "user" | "assistant" = "user"): Entry => ({
  key: `${role}:${n}`,
  run_id: "r",
  turn: n,
  message: { role, content: [{ type: "text", text }] }
})
const told = (store: SessionStoreService, id: string, texts: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    yield* store.create({ id, workspace: `/w/${id}`, provider: "p", model: "m", title: `titel von ${id}` })
    for (const [n, text] of texts.entries()) yield* store.append(id, [entry(n, text)])
  })
const found = (store: SessionStoreService, query: string) =>
  Effect.map(store.search(query, { limit: 100 }), (all) => all.map((match) => `${match.session_id}:${match.text}`))

describe("the words of a query", () => {
  it("signs part words, quotes hold them together, a star is the beginning of one", () => {
    assert.deepStrictEqual(parse("Foo \"bar baz\" qu* session_busy a.ts \"x y\"*"), [
      { words: ["foo"], prefix: false },
      { words: ["bar", "baz"], prefix: false },
      { words: ["qu"], prefix: true },
      { words: ["session", "busy"], prefix: false },
      { words: ["a", "ts"], prefix: false },
      { words: ["x", "y"], prefix: true }
    ])
    for (const nothing of ["", "  ", "\"\"", "*", "-- \" \"", "'()^:"]) assert.deepStrictEqual(parse(nothing), [])
  })

  it("case and accents do not count; Chinese characters are words of their own", () => {
    assert.deepStrictEqual(parse("ÄRGER résumé"), [
      { words: ["arger"], prefix: false },
      { words: ["resume"], prefix: false }
    ])
    assert.deepStrictEqual(parse("文件夹"), [{ words: ["文", "件", "夹"], prefix: false }])
    assert.strictEqual(indexText("读文件a").trim(), "读  文  件 a")
  })

  it.prop(
    "whatever is typed is a query that FTS5 understands",
    [FastCheck.string({ unit: "grapheme", maxLength: 40 })],
    ([typed]) => {
      const match = toMatch(parse(typed))
      // Nothing but quoted words, stars and AND: no operator of the query language can come from what was typed.
      assert.match(match, /^(?:"[^"]*"\*?(?: AND "[^"]*"\*?)*)?$/)
    }
  )

  it("a snippet shows the first place and says where the words are", () => {
    const text = `${"before ".repeat(50)}the needle here${" after".repeat(50)}`
    const shown = snippet(text, parse("needle"))
    const [[from, to] = [0, 0]] = shown.matches
    assert.strictEqual(shown.text.slice(from, to), "needle")
    assert.isBelow(shown.text.length, 180)
    assert.match(shown.text, /^\.\.\..*\.\.\.$/)
  })

  it.prop(
    "a snippet splits no character, and its places are in it",
    [FastCheck.string({ unit: "grapheme", maxLength: 400 }), FastCheck.string({ unit: "grapheme", maxLength: 5 })],
    ([text, word]) => {
      const terms = parse(word)
      const shown = snippet(text, terms, 40)
      if (text.isWellFormed()) assert.isTrue(shown.text.isWellFormed())
      let last = 0
      for (const [from, to] of shown.matches) {
        assert.isTrue(from >= last && from < to && to <= shown.text.length)
        last = to
      }
    }
  )
})

describe("search over all sessions", () => {
  it.scoped("quotes, operators and signs in the query are text", () =>
    Effect.gen(function*() {
      const store = yield* SqliteSessionStore.open(fresh())
      yield* told(store, "ses_a", [
        "he said \"stop\" AND went",
        "NOT here OR there",
        "a NEAR(b) column:value",
        "50% of C++"
      ])
      assert.deepStrictEqual(yield* found(store, "\"stop\" AND"), ["ses_a:he said \"stop\" AND went"])
      assert.deepStrictEqual(yield* found(store, "NOT"), ["ses_a:NOT here OR there"])
      assert.deepStrictEqual(yield* found(store, "NEAR(b"), ["ses_a:a NEAR(b) column:value"])
      assert.deepStrictEqual(yield* found(store, "column:value"), ["ses_a:a NEAR(b) column:value"])
      assert.deepStrictEqual(yield* found(store, "\"said stop"), ["ses_a:he said \"stop\" AND went"])
      assert.deepStrictEqual(yield* found(store, "c++ 50%"), ["ses_a:50% of C++"])
      assert.deepStrictEqual(yield* found(store, "'; DROP TABLE sessions; --"), [])
      const error = yield* Effect.flip(store.search("\"\" *", {}))
      assert.strictEqual(error.reason, "invalid")
    }))

  it.scoped("unicode: accents, Greek, Cyrillic, Chinese, emoji beside words", () =>
    Effect.gen(function*() {
      const store = yield* SqliteSessionStore.open(fresh())
      yield* told(store, "ses_a", [
        "Größe und Maß",
        "ΕΛΛΗΝΙΚΑ λόγια",
        "Привет, Мир",
        "请读取配置文件",
        "ship it🚀now",
        "e\u0301clair",
        "Мой дом",
        "한국어로"
      ])
      assert.deepStrictEqual(yield* found(store, "grosse"), [], "ß is no ss")
      assert.deepStrictEqual(yield* found(store, "größe"), ["ses_a:Größe und Maß"])
      assert.deepStrictEqual(yield* found(store, "GROßE"), ["ses_a:Größe und Maß"])
      assert.deepStrictEqual(yield* found(store, "привет мир"), ["ses_a:Привет, Мир"])
      assert.deepStrictEqual(yield* found(store, "λογια"), ["ses_a:ΕΛΛΗΝΙΚΑ λόγια"])
      assert.deepStrictEqual(yield* found(store, "ΛΌΓΙΑ"), ["ses_a:ΕΛΛΗΝΙΚΑ λόγια"])
      assert.deepStrictEqual(yield* found(store, "мой"), ["ses_a:Мой дом"])
      assert.deepStrictEqual(yield* found(store, "한국"), [], "a part of a word is none")
      assert.deepStrictEqual(yield* found(store, "한국*"), ["ses_a:한국어로"])
      assert.deepStrictEqual(yield* found(store, "配置"), ["ses_a:请读取配置文件"])
      assert.deepStrictEqual(yield* found(store, "now"), ["ses_a:ship it🚀now"])
      assert.deepStrictEqual(yield* found(store, "éclair"), ["ses_a:e\u0301clair"])
    }))

  it.scoped("titles first, then messages, the latest first; archived ones only when asked; withdrawn ones never", () =>
    Effect.gen(function*() {
      const store = yield* SqliteSessionStore.open(fresh())
      yield* told(store, "ses_a", ["alpha one", "alpha two"])
      yield* told(store, "ses_b", ["beta"])
      yield* told(store, "ses_c", ["alpha three"])
      yield* store.setTitle("ses_b", "on alpha")
      yield* store.archive("ses_c", true)
      yield* store.append("ses_a", [entry(9, "alpha withdrawn", "assistant")])
      yield* store.withdraw("ses_a", ["assistant:9"])
      assert.deepStrictEqual(yield* found(store, "alpha"), ["ses_b:on alpha", "ses_a:alpha two", "ses_a:alpha one"])
      assert.strictEqual((yield* store.search("alpha", { archived: true })).length, 4)
      assert.strictEqual((yield* store.search("alpha", { workspace: "/w/ses_b" })).length, 1)
      assert.strictEqual((yield* store.search("alpha", { limit: 2 })).length, 2)
    }))

  it.scoped("calls and results are found, images are not; what is deleted is gone", () =>
    Effect.gen(function*() {
      const store = yield* SqliteSessionStore.open(fresh())
      yield* told(store, "ses_a", ["start"])
      yield* store.append("ses_a", [
        {
          key: "assistant:c1",
          run_id: "r",
          turn: 1,
          message: {
            role: "assistant",
            content: [{ type: "tool_call", id: "c1", name: "bash", arguments: "{\"command\":\"make frobnicate\"}" }]
          }
        },
        {
          key: "tool:c1",
          run_id: "r",
          turn: 1,
          message: { role: "tool", tool_call_id: "c1", tool_name: "bash", content: "frobnicate: no such target" }
        },
        {
          key: "user:i",
          run_id: "r",
          turn: 2,
          message: { role: "user", content: [{ type: "image", media_type: "image/png", data: "frobnicate" }] }
        }
      ])
      assert.deepStrictEqual((yield* store.search("frobnicate", {})).map(({ kind }) => kind), ["result", "call"])
      yield* store.delete("ses_a")
      assert.deepStrictEqual(yield* store.search("frobnicate", {}), [])
    }))

  it.effect("the index is damaged, of another version or of another record: it is made anew", () =>
    Effect.gen(function*() {
      const file = fresh()
      const index = path.join(path.dirname(file), "search.db")
      const look = Effect.scoped(Effect.flatMap(SqliteSessionStore.open(file), (store) => found(store, "alpha")))
      yield* Effect.scoped(
        Effect.flatMap(SqliteSessionStore.open(file), (store) => told(store, "ses_a", ["alpha one"]))
      )
      assert.deepStrictEqual(yield* look, ["ses_a:alpha one"])
      fs.writeFileSync(index, Buffer.alloc(8192, 0xab))
      assert.deepStrictEqual(yield* look, ["ses_a:alpha one"])
      yield* Effect.scoped(Effect.gen(function*() {
        const sql = yield* Sqlite.open({ path: index })
        yield* sql`PRAGMA user_version = 99`
      }))
      assert.deepStrictEqual(yield* look, ["ses_a:alpha one"])
      fs.rmSync(file)
      for (const end of ["-wal", "-shm"]) fs.rmSync(`${file}${end}`, { force: true })
      yield* Effect.scoped(
        Effect.flatMap(SqliteSessionStore.open(file), (store) => told(store, "ses_b", ["alpha two"]))
      )
      assert.deepStrictEqual(yield* look, ["ses_b:alpha two"])
      assert.strictEqual(fs.statSync(index).mode & 0o077, 0, "nobody else reads what was said")
    }))

  it.effect("several that search at once, while another one writes, find the same", () =>
    Effect.gen(function*() {
      const file = fresh()
      yield* Effect.scoped(Effect.gen(function*() {
        const writer = yield* SqliteSessionStore.open(file)
        yield* told(writer, "ses_a", Array.from({ length: 250 }, (_, n) => `alpha number ${n}`))
        const look = Effect.scoped(
          Effect.flatMap(SqliteSessionStore.open(file), (store) => store.search("alpha", { limit: 1000 }))
        )
        const more = Effect.forEach([1, 2, 3, 4, 5], (n) => writer.append("ses_a", [entry(1000 + n, `beta ${n}`)]))
        const [all] = yield* Effect.all([Effect.all([look, look, look], { concurrency: 3 }), more], { concurrency: 2 })
        for (const one of all) assert.strictEqual(one.length, 250)
        assert.strictEqual((yield* writer.search("beta", {})).length, 5)
      }))
    }))

  it.scoped.prop(
    "finds what a plain look through all texts finds",
    [
      FastCheck.array(
        FastCheck.array(FastCheck.constantFrom("red", "Réd", "blue", "green", "x_y", "文件", "a.b", "ends"), {
          minLength: 1,
          maxLength: 5
        }),
        {
          minLength: 1,
          maxLength: 12
        }
      ),
      FastCheck.constantFrom(
        "red",
        "blue green",
        "\"red blue\"",
        "gr*",
        "x",
        "文",
        "件",
        "a.b",
        "b ends",
        "\"文件 red\""
      )
    ],
    ([texts, query]) =>
      Effect.gen(function*() {
        const store = yield* SqliteSessionStore.open(":memory:")
        const said = texts.map((words) => words.join(" "))
        yield* told(store, "ses_a", said)
        const terms = parse(query)
        assert.deepStrictEqual(
          (yield* store.search(query, { limit: 100 })).map(({ text }) => text),
          said.filter((text) => matches(text, terms)).toReversed()
        )
      }),
    { fastCheck: { numRuns: 40 } }
  )
})
