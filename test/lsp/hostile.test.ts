/**
 * Servers that mean harm, or are mad: whatever they say or do not say, answers come in time, what is kept is bounded, and
 * nothing is left running (readings 8.1, 8.5 to 8.10). Waits are for causes, limits on time are generous.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type { LspClient } from "../../src/lsp/LspClient.ts"
import { uriOf } from "../../src/lsp/Uri.ts"
import { Files } from "../../src/platform/Files.ts"
import { Processes } from "../../src/platform/Processes.ts"
import * as Servers from "../support/lsp/servers.ts"
import { eventually, gone } from "../support/processes.ts"

const layer = Layer.mergeAll(Processes.layer, Files.layer, Logger.remove(Logger.defaultLogger))
const limit = { timeout: 120_000 }
const patience = 60_000

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
              client.hover(uriOf(large), 0, 0),
              client.gotoDefinition(uriOf(large), 0, 0),
              client.hover(uriOf(file), 0, 0)
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
