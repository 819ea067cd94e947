/** `hanzo-dev sessions ...`, `--resume`, `--fork` and the commands of the conversation, on a real record. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as PlatformTerminal from "@effect/platform/Terminal"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { check } from "../../src/cli/Check.ts"
import * as Conversation from "../../src/cli/Conversation.ts"
import * as Parser from "../../src/cli/Parser.ts"
import { pick } from "../../src/cli/Pick.ts"
import * as Prompter from "../../src/cli/Prompter.ts"
import { retain } from "../../src/cli/Retain.ts"
import * as Run from "../../src/cli/Run.ts"
import * as Sessions from "../../src/cli/Sessions.ts"
import * as SessionsExport from "../../src/cli/SessionsExport.ts"
import * as SessionsImport from "../../src/cli/SessionsImport.ts"
import * as SessionsPrune from "../../src/cli/SessionsPrune.ts"
import * as Schemas from "../../src/cli/SessionsSchemas.ts"
import * as SessionsSearch from "../../src/cli/SessionsSearch.ts"
import * as Spec from "../../src/cli/Spec.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import type { Line } from "../../src/platform/Terminal.ts"
import { SessionStore, type SessionStoreService } from "../../src/storage/SessionStore.ts"
import * as SqliteSessionStore from "../../src/storage/SqliteSessionStore.ts"
import { type Bench, bench, type BenchOptions } from "./support.ts"

const root = fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-sessions-"))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

const tty = { stdin_is_tty: true, stdout_is_tty: true, stderr_is_tty: true, vars: { NO_COLOR: "1" } }

const valuesOf = <S extends Spec.CommandSpec>(spec: S, argv: ReadonlyArray<string>) => {
  const checked = check([...spec.path, ...argv])
  if (checked.kind !== "command") throw new Error(JSON.stringify(checked))
  return Parser.parse(spec, checked.argv)
}

const people = (typed: ReadonlyArray<string>) => {
  let next = 0
  return (): Effect.Effect<Line> =>
    Effect.sync(() => {
      const text = typed[next++]
      return text === undefined ? { type: "end" } : { type: "line", text }
    })
}

/** The bench over a record in memory with two sessions of this project and one of another. */
const real = (options: BenchOptions = {}) =>
  Effect.gen(function*() {
    const store = yield* SqliteSessionStore.open(":memory:")
    const on = bench(options)
    for (
      const [id, workspace, words] of [
        ["ses_aa1", "/work/project", "mend the parser"],
        ["ses_ab2", "/work/project", "write the docs"],
        ["ses_b", "/else", "mend the kettle"]
      ] as const
    ) {
      yield* store.create({ id, workspace, provider: "fake", model: "model" })
      yield* store.append(id, [
        { key: "user:1", run_id: `run_${id}`, turn: 0, message: { role: "user", content: words } },
        { key: "item:1", run_id: `run_${id}`, turn: 1, message: { role: "assistant", content: `did ${words}` } }
      ])
      yield* TestClock.adjust("1 minute")
    }
    const layer = Layer.mergeAll(
      on.layer,
      Layer.succeed(SessionStore, store),
      NodeFileSystem.layer,
      NodePath.layer,
      Dirs.layerTest(root)
    )
    return { ...on, store, layer }
  })

const json = <A, I>(on: Bench, schema: Schema.Schema<A, I>): A =>
  Schema.decodeUnknownSync(schema)(JSON.parse(on.out.splice(0).join("")))
const stdout = (on: Bench): string => on.out.splice(0).join("")
const stderr = (on: Bench): string => on.err.splice(0).join("")
const ids = (store: SessionStoreService, filter: Parameters<SessionStoreService["list"]>[0] = {}) =>
  Effect.map(store.list(filter), (all) => all.map(({ id }) => id))

describe("sessions search", () => {
  it.scoped("every project or this one; as text and as JSON", () =>
    Effect.gen(function*() {
      const on = yield* real()
      const search = (argv: ReadonlyArray<string>) =>
        Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsSearch, argv), SessionsSearch.execute), on.layer)
      assert.strictEqual(yield* search(["mend"]), 0)
      const text = stdout(on)
      assert.match(text, /^ses_b .*mend the kettle/m)
      assert.match(text, /^ses_aa1 /m)
      assert.match(text, /answer {2}did mend the parser/)
      assert.strictEqual(yield* search(["mend", "-p", "--json"]), 0)
      const found = json(on, Schemas.SessionsSearch)
      assert.deepStrictEqual(found.matches.map(({ kind, session_id }) => [session_id, kind]), [
        ["ses_aa1", "title"],
        ["ses_aa1", "answer"],
        ["ses_aa1", "prompt"]
      ])
      assert.deepStrictEqual([found.query, found.more], ["mend", false])
      for (const { matches, text } of found.matches) {
        assert.deepStrictEqual(matches.map(([from, to]) => text.slice(from, to)), ["mend"])
      }
      assert.strictEqual(yield* search(["mend", "-n", "2", "--json"]), 0)
      const some = json(on, Schemas.SessionsSearch)
      assert.deepStrictEqual([some.matches.length, some.more], [2, true])
      assert.strictEqual(yield* search(["unheard", "of"]), 1)
      assert.match(stderr(on), /nothing was found for unheard of/)
      const error = yield* Effect.flip(search(["***"]))
      assert.deepStrictEqual([error.exit_code, error.message.includes("no word to search for")], [2, true])
    }))
})

describe("sessions rename, archive, pin", () => {
  it.scoped("by id or the beginning of one; all or none", () =>
    Effect.gen(function*() {
      const on = yield* real()
      const rename = (argv: ReadonlyArray<string>) =>
        Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsRename, argv), Sessions.rename), on.layer)
      assert.strictEqual(yield* rename(["aa", "  A better\u001b[31m name\n "]), 0)
      assert.strictEqual((yield* on.store.find("ses_aa1")).title, "A better␛[31m name")
      assert.match((yield* Effect.flip(rename(["a", "x"]))).message, /fits several sessions/)
      assert.match((yield* Effect.flip(rename(["aa", "  "]))).message, /at least one character/)
      const failed = yield* Effect.flip(Effect.provide(Sessions.archive(["ses_aa1", "ses_zz"], true), on.layer))
      assert.strictEqual(failed.exit_code, 2)
      assert.strictEqual((yield* ids(on.store)).length, 3, "none was archived")
      yield* Effect.provide(Sessions.archive(["aa", "ses_b"], true), on.layer)
      assert.deepStrictEqual(yield* ids(on.store), ["ses_ab2"])
      yield* Effect.provide(
        Effect.flatMap(valuesOf(Spec.sessionsList, ["--archived", "--all"]), Sessions.list),
        on.layer
      )
      assert.match(stdout(on), /ses_b[^]*ses_aa1/)
      yield* Effect.provide(Sessions.archive(["ses_b", "ses_aa1"], false), on.layer)
      yield* Effect.provide(Sessions.pin(["aa"], true), on.layer)
      assert.deepStrictEqual(yield* ids(on.store), ["ses_aa1", "ses_b", "ses_ab2"])
      yield* Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsList, []), Sessions.list), on.layer)
      assert.match(stdout(on), /^ses_aa1 .*\* A better/)
    }))
})

describe("sessions fork, export, import", () => {
  it.scoped("a copy; a session that leaves and comes back is the same", () =>
    Effect.gen(function*() {
      const on = yield* real()
      const fork = (argv: ReadonlyArray<string>) =>
        Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsFork, argv), Sessions.fork), on.layer)
      assert.strictEqual(yield* fork(["aa"]), 0)
      const copy = stdout(on).trim()
      assert.deepStrictEqual(yield* on.store.history(copy), yield* on.store.history("ses_aa1"))
      assert.strictEqual(yield* fork(["aa", "--at", "1", "--json"]), 0)
      const { session } = json(on, Schemas.SessionMade)
      assert.deepStrictEqual([session.parent_session_id, session.message_count], ["ses_aa1", 1])
      assert.strictEqual((yield* Effect.flip(fork(["aa", "--at", "77"]))).exit_code, 2)

      const exported = (format: string, id = "aa1") =>
        Effect.provide(
          Effect.flatMap(valuesOf(Spec.sessionsExport, [id, "--format", format]), SessionsExport.execute),
          on.layer
        ).pipe(Effect.map(() => stdout(on)))
      const lines = yield* exported("jsonl")
      assert.match(yield* exported("html"), /^<!doctype html>[^]*did mend the parser[^]*<\/html>\n$/)
      const file = path.join(root, "a b.jsonl")
      fs.writeFileSync(file, `\uFEFF${lines.replaceAll("\n", "\r\n")}`)
      const take = (argv: ReadonlyArray<string>) =>
        Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsImport, argv), SessionsImport.execute), on.layer)
      assert.strictEqual(yield* take([file]), 0)
      const other = stdout(on).trim()
      assert.notStrictEqual(other, "ses_aa1")
      assert.match(stderr(on), /there is a session ses_aa1 already: this one has a new id/)
      yield* on.store.delete("ses_aa1")
      assert.strictEqual(yield* take([file, "--json"]), 0)
      assert.strictEqual(json(on, Schemas.SessionMade).session.id, "ses_aa1")
      const again = yield* exported("jsonl")
      const without = (text: string) =>
        text.replaceAll(/"(?:id|run_id|preview|last_active)":("[^"]*"|\d+(\.\d+)?),?/g, "")
      assert.strictEqual(without(again), without(lines))
    }))

  it.scoped("a file that is no session is refused with its place, and nothing is taken", () =>
    Effect.gen(function*() {
      const on = yield* real()
      const take = (file: string) =>
        Effect.flip(
          Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsImport, [file]), SessionsImport.execute), on.layer)
        )
      yield* Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsExport, ["aa1"]), SessionsExport.execute), on.layer)
      const [session = "", entry = ""] = stdout(on).split("\n")
      const file = path.join(root, "hostile.jsonl")
      const before = yield* ids(on.store)
      for (
        const [content, message] of [
          [`${session}\n${entry}\n{"v":1,"type":"entry"`, /hostile\.jsonl:3: the line is no JSON/],
          [`${session}\n${entry}\n${entry}\n`, /hostile\.jsonl:3: the line id: does not grow/],
          ["", /holds no session/],
          [Buffer.from([0xff, 0xfe, 0x00, 0x41]), /hostile\.jsonl:1: the line is no JSON/]
        ] as const
      ) {
        fs.writeFileSync(file, content)
        const error = yield* take(file)
        assert.strictEqual(error.exit_code, 2)
        assert.match(error.message, message)
      }
      assert.match((yield* take(path.join(root, "missing.jsonl"))).message, /missing\.jsonl cannot be read/)
      assert.deepStrictEqual(yield* ids(on.store), before)
    }))
})

describe("sessions prune", () => {
  const prune = (on: Effect.Effect.Success<ReturnType<typeof real>>, argv: ReadonlyArray<string>) =>
    Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsPrune, argv), SessionsPrune.execute), on.layer)

  it.scoped("says first, asks, and needs --yes without a terminal", () =>
    Effect.gen(function*() {
      const on = yield* real()
      yield* on.store.pin("ses_b", true)
      yield* TestClock.adjust("10 days")
      assert.match((yield* Effect.flip(prune(on, []))).message, /nothing says which sessions may go/)
      assert.strictEqual(yield* prune(on, ["--older-than", "20"]), 0)
      assert.match(stderr(on), /no session has to go/)
      assert.strictEqual(yield* prune(on, ["--older-than", "5", "--dry-run", "--json"]), 0)
      const would = json(on, Schemas.SessionsPrune)
      assert.deepStrictEqual([would.dry_run, would.sessions.map(({ session }) => session.id)], [true, [
        "ses_aa1",
        "ses_ab2"
      ]])
      assert.match((yield* Effect.flip(prune(on, ["--older-than", "5"]))).message, /--yes/)
      assert.strictEqual((yield* ids(on.store)).length, 3)
      assert.strictEqual(yield* prune(on, ["--older-than", "5", "--yes", "--json"]), 0)
      assert.deepStrictEqual(json(on, Schemas.SessionsPrune).sessions.length, 2)
      assert.deepStrictEqual(yield* ids(on.store), ["ses_b"])
    }))

  for (const [typed, left] of [["n", 3], ["y", 0]] as const) {
    it.scoped(`a person who says ${typed}`, () =>
      Effect.gen(function*() {
        const on = yield* real({
          environment: tty,
          terminal: { readLine: people([typed]) },
          settings: "{\"session_retention\": {\"max_age_days\": 3}}"
        })
        yield* TestClock.adjust("4 days")
        assert.strictEqual(yield* prune(on, []), typed === "y" ? 0 : 1)
        assert.strictEqual((yield* ids(on.store)).length, left)
      }))
  }

  it.scoped("what the settings say happens by itself, once a day", () =>
    Effect.gen(function*() {
      const on = yield* real()
      const later = Effect.provide(retain({ max_age_days: 3 }), on.layer)
      yield* TestClock.adjust("2 days")
      yield* later
      assert.strictEqual((yield* ids(on.store)).length, 3)
      yield* TestClock.adjust("23 hours")
      yield* TestClock.adjust("59 minutes")
      yield* later
      yield* TestClock.adjust("10 hours")
      yield* later
      assert.deepStrictEqual(yield* ids(on.store), [])
      assert.match(stderr(on), /3 old sessions were deleted \(session_retention/)
    }))
})

/** A terminal that types these keys; what it showed is kept. */
const keyboard = (names: ReadonlyArray<string>, shown: Array<string> = []) =>
  PlatformTerminal.Terminal.of({
    columns: Effect.succeed(90),
    rows: Effect.succeed(20),
    isTTY: Effect.succeed(true),
    readLine: Effect.die("no lines here"),
    display: (text) => Effect.sync(() => void shown.push(text)),
    readInput: Effect.gen(function*() {
      const mailbox = yield* Mailbox.make<PlatformTerminal.UserInput>()
      for (const name of names) {
        yield* mailbox.offer({
          input: Option.none(),
          key: { name: name === "ctrl-c" ? "c" : name, ctrl: name === "ctrl-c", meta: false, shift: false }
        })
        if (name === "ctrl-c") yield* mailbox.end
      }
      return mailbox
    })
  })

describe("a session from a list", () => {
  const picked = (names: ReadonlyArray<string>, options: BenchOptions = { environment: tty }) =>
    Effect.gen(function*() {
      const on = yield* real(options)
      const shown: Array<string> = []
      const id = yield* pick("ses_aa1").pipe(
        Effect.provide(on.layer),
        Effect.provideService(PlatformTerminal.Terminal, keyboard(names, shown))
      )
      return { id, shown: shown.join(""), frame: shown[0] ?? "" }
    })

  it.scoped("those of this project, the latest first; arrow keys and Enter", () =>
    Effect.gen(function*() {
      const first = yield* picked(["enter"])
      assert.strictEqual(first.id, "ses_ab2")
      assert.include(first.shown, "mend the parser")
      assert.include(first.shown, "(this one)")
      assert.notInclude(first.shown, "kettle")
      assert.strictEqual((yield* picked(["down", "enter"])).id, "ses_aa1")
      assert.strictEqual((yield* picked(["up", "up", "return"])).id, "ses_ab2")
      for (const row of first.frame.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, "").split("\n")) {
        assert.isAtMost([...row].length, 90, "a line never wraps")
      }
    }))

  it.scoped("Ctrl-C leaves it; without a terminal it says what to do", () =>
    Effect.gen(function*() {
      assert.isUndefined((yield* picked(["ctrl-c"])).id)
      const error = yield* Effect.flip(picked(["enter"], {}))
      assert.match(error.message, /--session ID/)
    }))
})

describe("which session a command goes on with", () => {
  const sessionOf = (argv: ReadonlyArray<string>) =>
    Effect.gen(function*() {
      const on = yield* real()
      const values = yield* valuesOf(Spec.run, argv)
      return { on, id: yield* Effect.provide(Run.sessionOf(values), on.layer) }
    })

  it.scoped("--continue, --session with a unique beginning, --fork", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* sessionOf(["--continue", "x"])).id, "ses_ab2")
      assert.strictEqual((yield* sessionOf(["--session", "aa", "x"])).id, "ses_aa1")
      assert.isUndefined((yield* sessionOf(["x"])).id)
      const { id, on } = yield* sessionOf(["--fork", "aa", "x"])
      assert.strictEqual((yield* on.store.find(id ?? "")).parent_session_id, "ses_aa1")
      assert.match((yield* Effect.flip(sessionOf(["--fork", "a", "x"]))).message, /fits several/)
      assert.match((yield* Effect.flip(sessionOf(["--takeover", "x"]))).message, /needs the session/)
    }))
})

describe("in a conversation", () => {
  const converse = (typed: ReadonlyArray<string>, argv: ReadonlyArray<string> = [], keys: ReadonlyArray<string> = []) =>
    Effect.gen(function*() {
      const on = yield* real({ environment: tty, terminal: { readLine: people(typed) } })
      const shared = yield* Prompter.shared
      const values = yield* valuesOf(Spec.conversation, argv)
      yield* Conversation.execute(values, shared).pipe(
        Effect.provide(on.layer),
        Effect.provideService(PlatformTerminal.Terminal, keyboard(keys)),
        Effect.catchTag("CliExit", () => Effect.void)
      )
      return on
    })

  it.scoped("/resume by id and from the list, /sessions WORDS, /title", () =>
    Effect.gen(function*() {
      const on = yield* converse(
        [
          "/resume aa",
          "/title",
          "/title Parser work",
          "/title",
          "/resume",
          "/sessions kettle",
          "/sessions parser",
          "go on",
          "/resume zz"
        ],
        [],
        ["enter"]
      )
      const out = stdout(on)
      assert.match(out, /going on with ses_aa1 {2}mend the parser/)
      assert.match(out, /going on with ses_ab2/)
      assert.match(out, /nothing was found in this project/)
      assert.match(out, /prompt {2}mend the parser/)
      assert.strictEqual((yield* on.store.find("ses_aa1")).title, "Parser work")
      assert.deepStrictEqual(on.inputs.map(({ session_id }) => session_id), ["ses_ab2"])
      assert.match(stderr(on), /there is no session "zz"/)
    }))

  it.scoped("--resume asks first; /fork goes on with a copy", () =>
    Effect.gen(function*() {
      const on = yield* converse(["/fork", "/fork x", "/fork 77", "go on"], ["--resume"], ["down", "enter"])
      const [input] = on.inputs
      const copy = yield* on.store.find(input?.session_id ?? "")
      assert.strictEqual(copy.parent_session_id, "ses_aa1")
      assert.match(stderr(on), /\/fork takes nothing, or the id[^]*has no message 77/)
    }))

  it.scoped("who leaves the list of --resume gets no new session", () =>
    Effect.gen(function*() {
      const on = yield* converse(["never said"], ["--resume"], ["ctrl-c"])
      assert.deepStrictEqual(on.inputs, [])
    }))

  it.scoped("--takeover and /takeover count for one message", () =>
    Effect.gen(function*() {
      const on = yield* converse(["one", "two", "/takeover", "three", "four"], ["--continue", "--takeover"])
      assert.deepStrictEqual(on.inputs.map(({ takeover }) => takeover ?? false), [true, false, true, false])
      const none = yield* converse(["/takeover", "/title", "/fork"])
      assert.match(stdout(none), /no session to take over[^]*no title yet[^]*nothing to copy yet/)
    }))
})
