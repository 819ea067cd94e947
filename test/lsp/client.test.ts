/** The client and servers that misbehave (readings 8.1 to 8.9). Waits are for causes, never for a time. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type { LspClient } from "../../src/lsp/LspClient.ts"
import { uriOf } from "../../src/lsp/Uri.ts"
import { Files } from "../../src/platform/Files.ts"
import { Processes } from "../../src/platform/Processes.ts"
import * as Servers from "../support/lsp/servers.ts"
import { alive, eventually, gone } from "../support/processes.ts"

const layer = Layer.mergeAll(Processes.layer, Files.layer, Logger.remove(Logger.defaultLogger))
const patience = 60_000
const limit = { timeout: 180_000 }

interface Room {
  readonly root: string
  readonly log: string
  readonly file: string
}

const text = "first 😀é BAD line\r\n\tsecond line\r\nthird BAD\r\n"

/** A server in a room of its own; afterwards nothing of it runs. */
const withHostile = <A, E>(
  options: object,
  test: (client: LspClient, room: Room) => Effect.Effect<A, E>,
  more: Parameters<typeof Servers.startAt>[2] = {}
) =>
  Effect.scoped(Effect.gen(function*() {
    const root = yield* Servers.project({ "a b%.txt": text })
    const log = `${root}/log.ndjson`
    let pid = 0
    yield* Effect.scoped(Effect.gen(function*() {
      const client = yield* Servers.startAt(root, Servers.hostile({ log, ...options }), more)
      pid = client.pid
      yield* test(client, { root, log, file: `${root}/a b%.txt` })
    }))
    assert.isAbove(pid, 0)
    assert.isTrue(yield* gone(pid), "nothing of the server runs")
  })).pipe(Effect.provide(layer))

const places = (client: LspClient, file: string, wait = patience) =>
  Effect.map(client.diagnostics(uriOf(file), wait), ({ diagnostics, ready }) => ({
    ready,
    at: diagnostics.map(({ range }) => [range.start.line, range.start.character, range.end.character])
  }))

const both = [[0, 10, 13], [2, 6, 9]]

describe("8.7 framing", () => {
  for (const cut of [1, 2, 3, 7, 19, 20, 21, 64]) {
    it.live(
      `output in pieces of ${cut} bytes`,
      () =>
        withHostile({ cut, extra_headers: cut % 2 === 1 }, (client, { file }) =>
          Effect.gen(function*() {
            assert.deepStrictEqual(yield* places(client, file), { ready: true, at: both })
          })),
      limit
    )
  }

  const broken = [
    ["a length too short", { length_off: -1 }],
    ["a length too long", { length_off: 50, exit_at: 1 }],
    ["words on stdout", { noise: "Hello, I am a server\r\n\r\n" }],
    ["a message over the cap", { huge: 70_000_000 }]
  ] as const
  for (const [name, options] of broken) {
    it.live(`${name}: a typed end, and nothing is left`, () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* Servers.project({ "a.txt": text })
        const pids = `${root}/pids`
        const exit = yield* Effect.either(Effect.scoped(Effect.gen(function*() {
          const client = yield* Servers.startAt(root, Servers.hostile({ pids, ...options }), {
            initialize_timeout_ms: 2_000,
            request_timeout_ms: 2_000
          })
          yield* client.diagnostics(uriOf(`${root}/a.txt`), patience)
          return yield* client.hover(uriOf(`${root}/a.txt`), 0, 0)
        })))
        const error = exit._tag === "Left" ? exit.left : exit.right
        if (error === null || typeof error === "string") return assert.fail("it answered")
        assert.include(["protocol", "start_failed", "initialize_timeout", "server_exited"], error.reason)
        assert.include(error.message, "hostile")
        for (const pid of (yield* Effect.sync(() => Servers.pidsIn(pids)))) assert.isTrue(yield* gone(pid))
      })).pipe(Effect.provide(layer)), limit)
  }
})

describe("8.5 diagnostics", () => {
  const ways = [
    ["pushed with versions", {}],
    ["pushed without versions", { versions: false }],
    ["an old version's first", { stale_first: true }],
    ["an empty set first", { versions: false, empty_first: true, push_delay: 300 }],
    ["pulled", { pull: true, push: false }],
    ["pulled and pushed, the same once", { pull: true }],
    ["put off three times", { pull: true, push: false, retrigger: 3 }],
    ["asked while it changed", { pull: true, push: false, modified: 2 }]
  ] as const
  for (const [name, options] of ways) {
    it.live(name, () =>
      withHostile(options, (client, { file, root }) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* places(client, file), { ready: true, at: both })
          Servers.write(root, "a b%.txt", text.replace("third BAD", "third GOOD"))
          assert.deepStrictEqual(yield* places(client, file), { ready: true, at: [[0, 10, 13]] })
          Servers.write(root, "a b%.txt", "nothing\n")
          assert.deepStrictEqual(yield* places(client, file), { ready: true, at: [] })
          Servers.write(root, "a b%.txt", text)
          assert.deepStrictEqual(yield* places(client, file), { ready: true, at: both })
        })), limit)
  }

  it.live(
    "pulled as soon as that is registered; result ids are used",
    () =>
      withHostile({ register: true, push: false }, (client, { file, log }) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* places(client, file), { ready: true, at: both })
          assert.deepStrictEqual(yield* places(client, file), { ready: true, at: both })
          const pulled = Servers.heard(log).flatMap((one) => "pulled" in one ? [one["pulled"]] : [])
          assert.strictEqual(pulled[0], null)
          assert.isString(pulled[1])
        })),
    limit
  )

  it.live(
    "a server that says nothing: not ready, which is not \"no errors\"",
    () =>
      withHostile({ push: false }, (client, { file }) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* places(client, file, 50), { ready: false, at: [] })
        })),
    limit
  )

  it.live(
    "a pull that is never answered: not ready, and cancelled on the wire",
    () =>
      withHostile(
        { pull: true, push: false, silent_on: ["textDocument/diagnostic"] },
        (client, { file, log }) =>
          Effect.gen(function*() {
            assert.deepStrictEqual(yield* places(client, file, 200), { ready: false, at: [] })
            assert.isTrue(
              yield* eventually(() => Servers.methods(log).includes("$/cancelRequest"), 30_000)
            )
          })
      ),
    limit
  )

  it.live(
    "of the workspace, whole and in parts that never end",
    () =>
      Effect.forEach(
        [{ pull: true }, { pull: true, partial: true }],
        (options) =>
          withHostile({ ...options, push: false }, (client, { file }) =>
            Effect.gen(function*() {
              yield* places(client, file)
              const { diagnostics, ready } = yield* client.workspaceDiagnostics(1_000)
              assert.isTrue(ready)
              assert.strictEqual(diagnostics.length, 2)
            }))
      ),
    limit
  )

  it.live(
    "8.1 severity and source that are absent",
    () =>
      withHostile({ bare: true }, (client, { file }) =>
        Effect.gen(function*() {
          const { diagnostics } = yield* client.diagnostics(uriOf(file), patience)
          assert.deepStrictEqual(diagnostics[0], {
            uri: uriOf(file),
            range: { start: { line: 0, character: 10 }, end: { line: 0, character: 13 } },
            severity: 1,
            message: "BAD is not allowed",
            source: ""
          })
        })),
    limit
  )
})

describe("8.1 position encodings", () => {
  for (const encoding of ["utf-8", "utf-16", "utf-32"]) {
    for (const change of [1, 2]) {
      it.live(
        `${encoding}, ${change === 2 ? "incremental" : "full"} sync, characters beyond the plane`,
        () =>
          withHostile(
            { encoding, sync: { openClose: true, change } },
            (client, { file, root }) =>
              Effect.gen(function*() {
                assert.deepStrictEqual(yield* places(client, file), { ready: true, at: both })
                for (const next of [text.replace("😀", "😀😀"), text.replace("é", ""), `😀${text}`, text]) {
                  Servers.write(root, "a b%.txt", next)
                  const lines = next.split("\r\n")
                  const at = [0, 2].flatMap((line) => {
                    const from = (lines[line] ?? "").indexOf("BAD")
                    return from < 0 ? [] : [[line, from, from + 3]]
                  })
                  assert.deepStrictEqual(yield* places(client, file), { ready: true, at })
                }
                const edit = yield* client.rename(uriOf(file), { line: 0, character: 10 }, "GOOD")
                assert.deepStrictEqual(
                  edit?.files[0]?.edits.map((
                    { range }
                  ) => [range.start.line, range.start.character, range.end.character]),
                  both
                )
              })
          ),
        limit
      )
    }
  }
})

describe("8.2 results", () => {
  const forms = {
    null: [],
    empty: [],
    location: ["self"],
    locations: ["self", "file:///other%20place/100%25.txt"],
    links: ["self"],
    scheme: ["jdt://contents/rt.jar/java.lang/String.class"],
    nonsense: []
  } as const
  for (const [definition, expected] of Object.entries(forms)) {
    it.live(
      `definition: ${definition}`,
      () =>
        withHostile({ definition }, (client, { file }) =>
          Effect.gen(function*() {
            const self = uriOf(file)
            const wanted = expected.map((uri: string) => uri === "self" ? self : uri)
            assert.deepStrictEqual((yield* client.findReferences(self, 0, 0)).map(({ uri }) => uri), wanted)
            const first = yield* client.gotoDefinition(self, 0, 0)
            assert.strictEqual(first?.uri, wanted[0])
            if (first !== null && first.uri === self) {
              assert.deepStrictEqual(first.range.start, { line: 1, character: 2 })
            }
          })),
      limit
    )
  }

  const texts = {
    null: null,
    string: "plain *text*",
    marked: "const a: 1\n\nwords",
    markup: "const a: 1\nwords",
    nonsense: null
  } as const
  for (const [hover, expected] of Object.entries(texts)) {
    it.live(`hover: ${hover}`, () =>
      withHostile({ hover }, (client, { file }) =>
        Effect.gen(function*() {
          assert.strictEqual(yield* client.hover(uriOf(file), 0, 0), expected)
        })), limit)
  }
})

describe("8.6 requests of the server", () => {
  it.live(
    "each is answered, a hundred items by a hundred",
    () =>
      withHostile({ register: true }, (client, { file, log, root }) =>
        Effect.gen(function*() {
          yield* places(client, file)
          assert.isTrue(yield* eventually(() => Servers.heard(log).some((one) => "registered" in one), 30_000))
          const said = Object.assign({}, ...Servers.heard(log).filter((one) => !("method" in one))) as Record<
            string,
            unknown
          >
          assert.deepStrictEqual(said["configuration"], Array.from({ length: 100 }, (_, n) => n % 2 === 0 ? 3 : null))
          assert.deepStrictEqual(said["folders"], [{ uri: uriOf(root), name: "project" }])
          assert.strictEqual(said["progress"], null)
          assert.isFalse((said["edit"] as { readonly applied: boolean }).applied)
          assert.strictEqual(said["message"], null)
          assert.strictEqual(said["refresh"], null)
          assert.strictEqual(said["diagnostics"], null)
          assert.strictEqual((said["unknown"] as { readonly code: number }).code, -32_601)
          assert.strictEqual(said["registered"], null)
        })),
    limit
  )
})

describe("8.3 limits", () => {
  it.live(
    "initialize that is never answered: the limit by name, nothing left",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* Servers.project({})
        const pids = `${root}/pids`
        const error = yield* Effect.flip(Effect.scoped(
          Servers.startAt(root, Servers.hostile({ pids, silent_on: ["initialize"] }), { initialize_timeout_ms: 700 })
        ))
        assert.strictEqual(error.reason, "initialize_timeout")
        assert.include(error.message, "700 ms (initialize_timeout_ms)")
        const all = Servers.pidsIn(pids)
        for (const pid of all) assert.isTrue(yield* gone(pid))
      })).pipe(Effect.provide(layer)),
    limit
  )

  it.live(
    "a request that is never answered is cancelled, the server stays usable",
    () =>
      withHostile({ silent_on: ["textDocument/definition"] }, (client, { file, log }) =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(client.gotoDefinition(uriOf(file), 0, 0))
          assert.strictEqual(error.reason, "timeout")
          assert.isTrue(yield* eventually(() => Servers.methods(log).includes("$/cancelRequest"), 30_000))
          assert.isNotNull(yield* client.hover(uriOf(file), 0, 0))
        }), { request_timeout_ms: 500 }),
    limit
  )
})

describe("8.8 a server that ends", () => {
  it.live(
    "on didOpen: open requests fail with server_exited and its last words",
    () =>
      withHostile({ crash_on: "textDocument/didOpen" }, (client, { file }) =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(client.diagnostics(uriOf(file), patience))
          assert.strictEqual(error.reason, "server_exited")
          const ended = yield* client.closed
          assert.include(ended.message, "exit code 7")
          assert.include(ended.message, "going down")
        })),
    limit
  )

  it.live(
    "that closes its stdout and goes on",
    () =>
      withHostile(
        { close_on: "textDocument/didOpen", ignore_exit: true },
        (client, { file }) =>
          Effect.gen(function*() {
            assert.strictEqual((yield* Effect.flip(client.diagnostics(uriOf(file), patience))).reason, "server_exited")
          })
      ),
    limit
  )

  it.live("a program that is not there, one that ends at once", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = yield* Servers.project({})
      const none = yield* Effect.flip(Servers.startAt(root, { argv: ["no-such-server"], options: {} }))
      assert.strictEqual(none.reason, "missing")
      const ended = yield* Effect.flip(
        Servers.startAt(root, Servers.hostile({ exit_at_start: 3, stderr: "no licence\n" }))
      )
      assert.strictEqual(ended.reason, "server_exited")
      assert.include(ended.message, "no licence")
    })).pipe(Effect.provide(layer)), limit)
})

describe("8.9 the end", () => {
  it.live("shutdown, then exit; a code other than 0 is no error", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = yield* Servers.project({})
      const log = `${root}/log`
      const pid = yield* Effect.scoped(
        Effect.map(Servers.startAt(root, Servers.hostile({ log, exit_code: 1 })), (client) => client.pid)
      )
      assert.deepStrictEqual(Servers.methods(log).slice(-2), ["shutdown", "exit"])
      assert.deepStrictEqual(alive(pid), [])
    })).pipe(Effect.provide(layer)), limit)

  it.live("a server that ignores exit and TERM is killed", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = yield* Servers.project({})
      const log = `${root}/log`
      const pid = yield* Effect.scoped(Effect.map(
        Servers.startAt(root, Servers.hostile({ log, ignore_exit: true, ignore_term: true, silent_on: ["shutdown"] })),
        (client) => client.pid
      ))
      assert.isTrue(Servers.heard(log).some(({ signal }) => signal === "SIGTERM"))
      assert.isTrue(yield* gone(pid))
    })).pipe(Effect.provide(layer)), limit)
})

describe("floods", () => {
  it.live(
    "20,000 notifications: the answer comes, what is kept is bounded",
    () =>
      withHostile({ flood: 5_000 }, (client, { file }) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* places(client, file), { ready: true, at: both })
          const { diagnostics } = yield* client.workspaceDiagnostics()
          assert.isAtMost(diagnostics.length, 2_002)
        })),
    limit
  )
})

describe("8.4 documents", () => {
  it.live(
    "100 are open, then the oldest is closed; one that is asked about again is opened again",
    () =>
      withHostile({}, (client, { log, root }) =>
        Effect.gen(function*() {
          for (let n = 0; n < 103; n++) Servers.write(root, `f${n}.txt`, `BAD ${n}\n`)
          for (let n = 0; n < 103; n++) yield* client.documents.sync(`${root}/f${n}.txt`)
          assert.strictEqual(client.documents.paths().length, 100)
          const first = yield* client.diagnostics(uriOf(`${root}/f0.txt`), patience)
          assert.strictEqual(first.diagnostics.length, 1)
          const closed = Servers.heard(log).filter(({ method }) => method === "textDocument/didClose")
          assert.strictEqual(closed.length, 4)
        })),
    limit
  )

  it.live(
    "what is too large, no text, or gone is not opened, and said",
    () =>
      withHostile({}, (client, { file, log, root }) =>
        Effect.gen(function*() {
          Servers.write(root, "large.txt", "x".repeat(2 * 1024 * 1024 + 1))
          Servers.write(root, "binary.txt", "a\0b")
          for (const name of ["large.txt", "binary.txt", "none.txt"]) {
            const error = yield* Effect.flip(client.diagnostics(uriOf(`${root}/${name}`), patience))
            assert.strictEqual(error.reason, "not_opened")
            assert.include(error.message, name)
          }
          yield* places(client, file)
          assert.strictEqual(Servers.methods(log).filter((method) => method === "textDocument/didOpen").length, 1)
          // saved with its text, and a version of its own
          Servers.write(root, "a b%.txt", "short\n")
          yield* places(client, file)
          // the diagnostics answer the change; the word that it is saved comes behind it
          yield* eventually(() => Servers.methods(log).includes("textDocument/didSave"), 30_000)
          const saved = Servers.heard(log).find(({ method }) => method === "textDocument/didSave")
          assert.deepInclude(saved, { params: { textDocument: { uri: uriOf(file) }, text: "short\n" } })
        })),
    limit
  )
})
