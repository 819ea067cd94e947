/**
 * Servers that mean harm, or are mad: whatever they say or do not say, answers come in time, what is kept is bounded, and
 * nothing is left running (readings 8.1, 8.5 to 8.10). Waits are for causes, limits on time are generous.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as fs from "node:fs"
import type { LspClient } from "../../src/lsp/LspClient.ts"
import type { LspError } from "../../src/lsp/LspError.ts"
import { uriOf } from "../../src/lsp/Uri.ts"
import { Files } from "../../src/platform/Files.ts"
import { Processes } from "../../src/platform/Processes.ts"
import * as Servers from "../support/lsp/servers.ts"
import { eventually, gone } from "../support/processes.ts"

const layer = Layer.mergeAll(Processes.layer, Files.layer, Logger.remove(Logger.defaultLogger))
const limit = { timeout: 120_000 }
const patience = 60_000
const whole = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } }

interface Room {
  readonly file: string
  readonly root: string
  readonly log: string
}

const withServer = <A, E>(
  options: object,
  test: (client: LspClient, room: Room) => Effect.Effect<A, E>,
  more: Parameters<typeof Servers.startAt>[2] = {}
) =>
  Effect.scoped(Effect.gen(function*() {
    const root = yield* Servers.project({ "a.txt": "first\nBAD\n" })
    const [log, pids] = [`${root}/log`, `${root}/pids`]
    yield* Effect.scoped(Effect.gen(function*() {
      const client = yield* Servers.startAt(root, Servers.hostile({ log, pids, ...options }), more)
      yield* test(client, { root, log, file: `${root}/a.txt` })
    }))
    const all = Servers.pidsIn(pids)
    assert.isAbove(all.length, 0)
    for (const pid of all) assert.isTrue(yield* gone(pid), "nothing of the server runs")
  })).pipe(Effect.provide(layer))

const ask = (client: LspClient, file: string) => client.diagnostics(uriOf(file), patience)

const questions = (client: LspClient, file: string): Readonly<Record<string, Effect.Effect<unknown, LspError>>> => {
  const uri = uriOf(file)
  const zero = { line: 0, character: 0 }
  return {
    hover: client.hover(uri, 0, 0),
    definition: client.gotoDefinition(uri, 0, 0),
    implementation: client.implementations(uri, zero),
    references: client.findReferences(uri, 0, 0),
    symbols: client.documentSymbols(uri),
    workspaceSymbols: client.workspaceSymbols("x"),
    calls: client.callHierarchy(uri, zero, "incoming"),
    rename: client.rename(uri, zero, "x"),
    codeActions: client.codeActions(uri, { start: zero, end: zero }),
    diagnostics: client.diagnostics(uri, 50),
    workspaceDiagnostics: client.workspaceDiagnostics(50)
  }
}

const timed = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const began = yield* Clock.currentTimeMillis
    const value = yield* effect
    return { value, ms: (yield* Clock.currentTimeMillis) - began }
  })

describe("8.10 a server that no longer reads its stdin delays nobody beyond the limits", () => {
  it.live(
    "diagnostics, hover, definition of a file that the pipe does not hold; the end",
    () =>
      withServer({ deaf: true, ignore_exit: true }, (client, { file, root }) =>
        Effect.gen(function*() {
          // what was sent before it went deaf has its answer
          yield* Effect.ignore(client.documentSymbols(uriOf(file)))
          const large = Servers.write(root, "large.txt", "words and words\n".repeat(100_000))
          const asked = yield* timed(Effect.either(client.diagnostics(uriOf(large), 400)))
          assert.isBelow(asked.ms, 5_000)
          assert.isFalse(asked.value._tag === "Right" && asked.value.right.ready)
          for (
            const question of [
              Effect.asVoid(client.hover(uriOf(large), 0, 0)),
              Effect.asVoid(client.gotoDefinition(uriOf(large), 0, 0)),
              Effect.asVoid(client.hover(uriOf(file), 0, 0))
            ]
          ) {
            const { ms, value } = yield* timed(Effect.either(question))
            assert.isBelow(ms, 5_000)
            assert.strictEqual(value._tag === "Left" ? value.left.reason : "answered", "timeout")
          }
        }), { request_timeout_ms: 400 }),
    limit
  )
})

describe("8.6 storms", () => {
  it.live(
    "a thousand registrations: the answer comes, and is not asked for a thousand times",
    () =>
      withServer({ storm: 1_000, push: false }, (client, { file, log }) =>
        Effect.gen(function*() {
          assert.isTrue(yield* eventually(() => Servers.heard(log).some((one) => "stormed" in one), 60_000))
          const { diagnostics, ready } = yield* ask(client, file)
          assert.isTrue(ready)
          assert.strictEqual(diagnostics.length, 1)
          const pulls = Servers.methods(log).filter((method) => method === "textDocument/diagnostic")
          assert.isAtMost(pulls.length, 16)
        })),
    limit
  )
})

describe("8.2, 8.6 errors of every kind, results of every shape", () => {
  const codes = [
    -32_700,
    -32_600,
    -32_601,
    -32_602,
    -32_603,
    -32_000,
    -32_001,
    -32_099,
    -32_800,
    -32_801,
    -32_802,
    -32_803,
    0,
    404,
    2 ** 31
  ]
  const errors = [
    ...codes.map((code) => ({ code, message: `error ${code}`, data: { retriggerRequest: false } })),
    { code: 1, message: `\u001b[2J\u0007${"long ".repeat(10_000)}\r\nnext line` },
    { code: "one", message: 7 },
    { message: "no code" },
    {},
    "words",
    null
  ]
  it.live(
    "errors: each question has its answer, which is one clean line; the server stays usable",
    () =>
      withServer({ errors, push: false }, (client, { file }) =>
        Effect.gen(function*() {
          const seen = new Set<unknown>()
          for (let round = 0; round < errors.length; round++) {
            for (const [name, question] of Object.entries(questions(client, file))) {
              const { ms, value } = yield* timed(Effect.either(question))
              assert.isBelow(ms, 10_000, name)
              if (value._tag === "Right") continue
              const { code, message, reason } = value.left
              seen.add(code)
              assert.include(["remote", "protocol", "unsupported", "timeout"], reason, message)
              assert.isAtMost(message.length, 1_200)
              assert.notMatch(message, /\p{Cc}/u)
              assert.include(message, "hostile")
            }
          }
          // -32801 has the question asked again: the error that is seen is the next one
          for (const code of codes) assert.strictEqual(seen.has(code), code !== -32_801, String(code))
        }), { request_timeout_ms: 2_000 }),
    limit
  )

  const place = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } }
  const junk = [
    null,
    true,
    0,
    "",
    "words",
    [],
    {},
    [[[[]]]],
    [null, 1, "a", {}],
    { uri: "file:///x" },
    { uri: null, range: null },
    [{ uri: "file:///x", range: { start: null } }],
    { kind: "full" },
    { kind: "full", items: { length: 5 } },
    { kind: "unchanged" },
    { kind: "full", items: [{ range: place }, { message: [] }, { message: { kind: "markdown", value: 3 } }] },
    { kind: "full", items: [], relatedDocuments: { "file:///y": null, z: { kind: "full", items: 7 } } },
    { items: [{ uri: 7, kind: "full", items: [] }, null] },
    { contents: [[["deep"]], { language: "x" }, { value: {} }] },
    [{ name: 7 }, { name: "a" }, { name: "a", range: place, children: [{ name: "b", children: 7 }] }],
    [{ name: "a", location: { uri: 7 } }, { name: "a", location: { uri: "file:///x", range: 7 } }],
    { changes: { "file:///x": 7 } },
    { documentChanges: [7] },
    { documentChanges: [{ kind: "explode" }, { textDocument: 7 }] },
    [{ title: 7 }, { title: "a", edit: 7, data: 1 }, { title: "b", command: 7, disabled: {} }],
    [{ from: 7, fromRanges: 7 }, { from: { name: "a", uri: "x", range: place }, fromRanges: [7] }]
  ]
  it.live(
    "results: whatever comes, each question ends with something that can be read or an error of its own",
    () =>
      withServer({ junk, pull: true, push: false }, (client, { file }) =>
        Effect.gen(function*() {
          for (let round = 0; round < junk.length; round++) {
            for (const [name, question] of Object.entries(questions(client, file))) {
              const { ms, value } = yield* timed(Effect.either(question))
              assert.isBelow(ms, 10_000, name)
              if (value._tag === "Left") {
                assert.include(["protocol", "unsupported", "timeout"], value.left.reason, value.left.message)
              }
            }
          }
        }), { request_timeout_ms: 2_000 }),
    limit
  )

  const refusals = [
    ["an error", { error: { code: -32_603, message: "no \u001b[31mlicence" } }, "refused initialize"],
    ["null", { result: null }, null],
    ["words", { result: "words" }, null],
    ["capabilities of no kind", { result: { capabilities: [7] } }, null],
    [
      "capabilities of odd kinds",
      { result: { capabilities: { textDocumentSync: 99, hoverProvider: 7, diagnosticProvider: "yes" } } },
      null
    ],
    ["an encoding nobody offered", { result: { capabilities: { positionEncoding: "ebcdic" } } }, null]
  ] as const
  for (const [name, initialize, says] of refusals) {
    it.live(`initialize answered with ${name}`, () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* Servers.project({ "a.txt": "BAD\n" })
        const pids = `${root}/pids`
        const started = yield* Effect.either(Effect.scoped(Effect.gen(function*() {
          const client = yield* Servers.startAt(root, Servers.hostile({ pids, initialize }), {
            request_timeout_ms: 2_000
          })
          for (const question of Object.values(questions(client, `${root}/a.txt`))) yield* Effect.either(question)
        })))
        assert.strictEqual(started._tag, says === null ? "Right" : "Left")
        if (started._tag === "Left") {
          assert.include(started.left.message, says ?? "")
          assert.notMatch(started.left.message, /\p{Cc}/u)
        }
        for (const pid of Servers.pidsIn(pids)) assert.isTrue(yield* gone(pid))
      })).pipe(Effect.provide(layer)), limit)
  }
})

describe("8.5, 8.6 a server that says what nobody asked", () => {
  it.live(
    "files outside, older texts, places that are none: what it says of the file as it is stands alone",
    () =>
      withServer({ slander: true }, (client, { file, root }) =>
        Effect.gen(function*() {
          for (const [text, errors] of [["first\nBAD\n", 1], ["BAD BAD\n", 2], ["fine\n", 0]] as const) {
            Servers.write(root, "a.txt", text)
            const { diagnostics, ready } = yield* ask(client, file)
            assert.isTrue(ready)
            assert.deepStrictEqual(diagnostics.map(({ message }) => message), Array(errors).fill("BAD is not allowed"))
          }
        })),
    limit
  )

  it.live(
    "registers and takes back, wants documents shown and edits made: answered, nothing is done",
    () =>
      withServer({ fickle: 50 }, (client, { file, log }) =>
        Effect.gen(function*() {
          assert.strictEqual((yield* ask(client, file)).diagnostics.length, 1)
          assert.isTrue(yield* eventually(() => Servers.heard(log).some((one) => "applied" in one), 60_000))
          const said = Object.assign({}, ...Servers.heard(log)) as Record<string, Record<string, unknown>>
          assert.deepStrictEqual(said["shown"], { success: false })
          assert.strictEqual(said["applied"]?.["applied"], false)
          assert.strictEqual(fs.readFileSync(file, "utf8"), "first\nBAD\n")
          assert.strictEqual((yield* ask(client, file)).diagnostics.length, 1)
        })),
    limit
  )

  it.live(
    "progress of megabytes",
    () =>
      withServer(
        { progress: 10_000_000 },
        (client, { file }) =>
          Effect.map(ask(client, file), ({ diagnostics, ready }) => {
            assert.isTrue(ready)
            assert.strictEqual(diagnostics.length, 1)
          })
      ),
    limit
  )
})

describe("8.4 edits of another text", () => {
  it.live(
    "an edit of an older version of an open document is refused",
    () =>
      withServer({ version_off: -1 }, (client, { file, root }) =>
        Effect.gen(function*() {
          yield* ask(client, file)
          Servers.write(root, "a.txt", "BAD\n")
          const error = yield* Effect.flip(client.rename(uriOf(file), { line: 0, character: 0 }, "x"))
          assert.include(error.message, `an edit of an older text of ${file}; ask again`)
        })),
    limit
  )

  it.live("in units of bytes, of a file that nobody here can read: nothing of it is to be applied", () =>
    withServer(
      { encoding: "utf-8", edit: { changes: { "file:///nowhere/x": [{ range: whole, newText: "x" }] } } },
      (client, { file }) =>
        Effect.gen(function*() {
          const edit = yield* client.rename(uriOf(file), { line: 0, character: 0 }, "x")
          assert.include(edit?.unsupported, "it would change file:///nowhere/x, which is not there")
        })
    ), limit)
})

describe("8.1 what cannot be a place, or is too long", () => {
  const at = (line: unknown, character: unknown) => ({ line, character })
  const absurd = [
    { start: at(-1, -5), end: at(-1, -1) },
    { start: at(1.5, 0), end: at(2, 0) },
    { start: at(1e308, 1e308), end: at(1e308, 1e308) },
    { start: at(0, 2 ** 53), end: at(0, 2 ** 60) },
    { start: at("1", null), end: {} },
    null,
    7
  ].map((range, n) => ({ range, message: `absurd ${n}`, severity: n - 1 }))

  it.live(
    "absurd places: all are told, each at a place that a file can have",
    () =>
      withServer({ diagnostics: absurd }, (client, { file }) =>
        Effect.gen(function*() {
          const { diagnostics, ready } = yield* ask(client, file)
          assert.isTrue(ready)
          assert.strictEqual(diagnostics.length, absurd.length + 1)
          for (const { range: { end, start }, severity } of diagnostics) {
            assert.include([1, 2, 3, 4], severity)
            for (const unit of [start.line, start.character, end.line, end.character]) {
              assert.isTrue(Number.isInteger(unit) && unit >= 0 && unit < 2 ** 31, String(unit))
            }
          }
        })),
    limit
  )

  it.live("messages, sources, codes and hovers of megabytes are cut", () =>
    withServer(
      {
        message: "é😀 ",
        times: 1_000_000,
        hover: "given",
        diagnostics: [{ message: "x", source: "s".repeat(5_000), code: "c".repeat(5_000) }]
      },
      (client, { file }) =>
        Effect.gen(function*() {
          const { diagnostics } = yield* ask(client, file)
          assert.strictEqual(diagnostics.length, 2)
          for (const { code = "", message, source } of diagnostics) {
            assert.isAtMost(message.length + source.length + code.length, 20_000)
          }
          const hover = yield* client.hover(uriOf(file), 0, 0)
          assert.isAbove(hover?.length ?? 0, 1_000)
          assert.isAtMost(hover?.length ?? Infinity, 100_000)
        })
    ), limit)

  it.live(
    "diagnostics of files outside the root are not the file's",
    () =>
      withServer({ flood: 50 }, (client, { file }) =>
        Effect.gen(function*() {
          const { diagnostics } = yield* ask(client, file)
          assert.deepStrictEqual(diagnostics.map(({ uri }) => uri), [uriOf(file)])
        })),
    limit
  )
})

describe("8.6 answers that are none", () => {
  it.live(
    "ids that nobody asked for, answers that come twice",
    () =>
      withServer({ wrong_ids: true }, (client, { file }) =>
        Effect.gen(function*() {
          assert.strictEqual((yield* ask(client, file)).diagnostics.length, 1)
          assert.strictEqual(yield* client.hover(uriOf(file), 0, 0), "const a: 1\nwords")
          assert.isNotNull(yield* client.gotoDefinition(uriOf(file), 0, 0))
        })),
    limit
  )

  it.live(
    "`unchanged` to who has nothing is not \"no errors\"",
    () =>
      withServer({ pull: true, push: false, unchanged: true }, (client, { file }) =>
        Effect.gen(function*() {
          const answer = yield* Effect.either(client.diagnostics(uriOf(file), 500))
          assert.isFalse(answer._tag === "Right" && answer.right.ready)
        })),
    limit
  )

  it.live("one fix that cannot be read does not take the others along", () =>
    withServer(
      {
        actions: [
          { title: "broken", edit: { changes: { "file:///x": [{ range: "here" }] } } },
          { title: "good", edit: { changes: { "file:///x": [] } } }
        ]
      },
      (client, { file }) =>
        Effect.gen(function*() {
          const zero = { line: 0, character: 0 }
          const actions = yield* client.codeActions(uriOf(file), { start: zero, end: zero })
          assert.deepStrictEqual(actions.map(({ edit, title }) => [title, edit === null]), [
            ["broken", true],
            ["good", false]
          ])
        })
    ), limit)
})

describe("8.3 whoever no longer wants an answer", () => {
  it.live(
    "is cancelled on the wire when interrupted; the server stays usable",
    () =>
      withServer({ silent_on: ["textDocument/hover"] }, (client, { file, log }) =>
        Effect.gen(function*() {
          yield* ask(client, file)
          const asking = yield* Effect.fork(client.hover(uriOf(file), 0, 0))
          assert.isTrue(yield* eventually(() => Servers.methods(log).includes("textDocument/hover"), 60_000))
          yield* Fiber.interrupt(asking)
          assert.isTrue(yield* eventually(() => Servers.methods(log).includes("$/cancelRequest"), 60_000))
          assert.isNotNull(yield* client.gotoDefinition(uriOf(file), 0, 0))
        })),
    limit
  )
})

describe("8.8, 8.9 ends", () => {
  it.live(
    "killed in the middle of a question: it fails at once",
    () =>
      withServer({ die_on: "textDocument/hover" }, (client, { file }) =>
        Effect.gen(function*() {
          yield* ask(client, file)
          const { ms, value } = yield* timed(Effect.flip(client.hover(uriOf(file), 0, 0)))
          assert.strictEqual(value.reason, "server_exited")
          assert.isBelow(ms, 10_000)
        })),
    limit
  )

  it.live(
    "children that hold its stdout and will not go are gone with it",
    () => withServer({ children: true }, (client, { file }) => ask(client, file)),
    limit
  )

  it.live(
    "children of one that is killed",
    () =>
      withServer({ children: true, die_on: "textDocument/hover" }, (client, { file }) =>
        Effect.gen(function*() {
          yield* ask(client, file)
          assert.strictEqual((yield* Effect.flip(client.hover(uriOf(file), 0, 0))).reason, "server_exited")
        })),
    limit
  )
})
