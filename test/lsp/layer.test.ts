/** The lives of servers and who serves what (readings 8.3, 8.8, 8.9, 4.9). Time is the test's; waits are for causes. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { Lsp, type LspService } from "../../src/lsp/Lsp.ts"
import * as Rooms from "../support/lsp/room.ts"
import * as Servers from "../support/lsp/servers.ts"
import { eventually, gone } from "../support/processes.ts"

const limit = { timeout: 120_000 }

const hostile = (options: object = {}, more: object = {}) => ({
  command: Servers.hostile(options).argv,
  extensions: [".txt"],
  language_ids: { ".txt": "plaintext" },
  ...more
})

/** A project with the hostile server; afterwards nothing of it runs. */
const inRoom = <A, E>(
  options: object,
  test: (lsp: LspService, root: string, pids: () => ReadonlyArray<number>) => Effect.Effect<A, E>,
  more: Omit<Rooms.Room, "servers"> & { readonly server?: object } = {}
) =>
  Effect.scoped(Effect.gen(function*() {
    const root = yield* Servers.project({ "a.txt": "BAD one\n", "b.txt": "fine\n", "sub/c.txt": "BAD\nBAD\n" })
    const file = path.join(path.dirname(root), "pids")
    const pids = (): ReadonlyArray<number> => Servers.pidsIn(file)
    yield* Effect.flatMap(Lsp, (lsp) => test(lsp, root, pids)).pipe(
      Effect.provide(
        Rooms.layerOf(root, {
          ...more,
          servers: {
            hostile: hostile({ pids: file, log: path.join(path.dirname(root), "log"), ...options }, more.server)
          }
        })
      )
    )
    for (const pid of pids()) assert.isTrue(yield* gone(pid), "nothing of the server runs")
  }))

const said = (lsp: LspService, file: string) =>
  Effect.map(lsp.diagnostics(file), ({ diagnostics, problems, ready }) => ({
    ready,
    count: diagnostics.length,
    reasons: problems.map(({ reason }) => reason)
  }))

const good = (count: number) => ({ ready: true, count, reasons: [] })

describe("8.3 start", () => {
  it.effect(
    "lazy, one process for a server and a root, shared by all who ask",
    () =>
      inRoom({}, (lsp, root, pids) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* lsp.notices, [])
          assert.strictEqual(yield* lsp.context("s"), "")
          assert.deepStrictEqual(pids(), [])
          const all = yield* Effect.all([
            said(lsp, `${root}/a.txt`),
            said(lsp, `${root}/b.txt`),
            said(lsp, `${root}/sub/c.txt`)
          ], {
            concurrency: "unbounded"
          })
          assert.deepStrictEqual(all, [good(1), good(0), good(2)])
          assert.strictEqual(pids().length, 1)
        })),
    limit
  )

  it.effect(
    "another root, another process: the nearest marker inside the workspace",
    () =>
      inRoom({}, (lsp, root, pids) =>
        Effect.gen(function*() {
          Servers.write(root, "sub/project.marker", "")
          Servers.write(path.dirname(root), "project.marker", "")
          yield* said(lsp, `${root}/a.txt`)
          yield* said(lsp, `${root}/sub/c.txt`)
          assert.strictEqual(pids().length, 2)
          assert.deepStrictEqual((yield* lsp.status).map((one) => one.root), [root, `${root}/sub`])
        }), { server: { root_markers: ["project.marker"] } }),
    limit
  )

  it.effect(
    "a file outside the workspace, or of no known kind, is served by nobody",
    () =>
      inRoom({}, (lsp, root, pids) =>
        Effect.gen(function*() {
          const outside = Servers.write(path.dirname(root), "out.txt", "BAD\n")
          const unknown = Servers.write(root, "a.unheardof", "BAD\n")
          for (const file of [outside, unknown]) {
            assert.deepStrictEqual(yield* said(lsp, file), { ready: false, count: 0, reasons: [] })
            const error = yield* Effect.flip(lsp.hover({ path: file, line: 0, character: 0 }))
            assert.strictEqual(error.reason, "no_server")
            assert.include(error.message, file)
          }
          assert.deepStrictEqual(pids(), [])
        })),
    limit
  )

  it.effect(
    "a missing program is reported once, with the command that brings it",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* Servers.project({ "main.rs": "fn main() {}\n", "lib.rs": "" })
        yield* Effect.gen(function*() {
          const lsp = yield* Lsp
          const { problems, ready } = yield* lsp.diagnostics(`${root}/main.rs`)
          assert.isFalse(ready)
          assert.strictEqual(problems[0]?.reason, "missing")
          assert.include(problems[0]?.message, "rustup component add rust-analyzer")
          yield* lsp.diagnostics(`${root}/lib.rs`)
          assert.deepStrictEqual(yield* lsp.notices, [problems[0]?.message ?? ""])
          yield* lsp.diagnostics(`${root}/main.rs`)
          assert.deepStrictEqual(yield* lsp.notices, [])
        }).pipe(Effect.provide(Rooms.layerOf(root, { path: "/nowhere" })))
      })),
    limit
  )

  it.effect(
    "two servers for one extension are both asked, what both say is said once",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* Servers.project({ "a.txt": "BAD one\n" })
        const servers = { first: hostile(), second: hostile({ pull: true }) }
        const found = yield* Effect.flatMap(Lsp, (lsp) => lsp.diagnostics(`${root}/a.txt`)).pipe(
          Effect.provide(Rooms.layerOf(root, { servers }))
        )
        assert.deepStrictEqual(found.servers.toSorted(), ["first", "second"])
        assert.strictEqual(found.diagnostics.length, 1)
      })),
    limit
  )
})

describe("8.8 a server that ends", () => {
  it.effect(
    "pauses, starts again with the next use, opens its documents again; one line for the user",
    () =>
      inRoom({ crash_on: "textDocument/didChange", crash_times: 1 }, (lsp, root, pids) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* said(lsp, `${root}/b.txt`), good(0))
          assert.deepStrictEqual(yield* said(lsp, `${root}/a.txt`), good(1))
          Servers.write(root, "a.txt", "BAD BAD\n")
          const crashed = yield* said(lsp, `${root}/a.txt`)
          assert.deepStrictEqual(crashed, { ready: false, count: 0, reasons: ["server_exited"] })
          assert.isTrue(yield* eventually(() => pids().every((pid) => Servers.isGone(pid))))
          const paused = yield* said(lsp, `${root}/a.txt`)
          assert.deepStrictEqual(paused.reasons, ["server_exited"])
          assert.strictEqual(pids().length, 1)
          assert.strictEqual((yield* lsp.status)[0]?.phase, "paused")
          const notices = yield* lsp.notices
          assert.strictEqual(notices.length, 1)
          assert.include(notices[0], "exit code 7")
          yield* TestClock.adjust("1 second")
          assert.deepStrictEqual(yield* said(lsp, `${root}/a.txt`), good(2))
          assert.strictEqual(pids().length, 2)
          const log = path.join(path.dirname(root), "log")
          assert.isTrue(
            yield* eventually(() =>
              Servers.heard(log).filter(({ method, params }) =>
                method === "textDocument/didOpen" && JSON.stringify(params).includes("b.txt")
              ).length === 2
            )
          )
          assert.deepStrictEqual(yield* lsp.notices, [])
        })),
    limit
  )

  it.effect(
    "five ends in three minutes: left alone, said, until restart",
    () =>
      inRoom({ exit_at_start: 9 }, (lsp, root, pids) =>
        Effect.gen(function*() {
          const pauses = [1, 2, 4, 8]
          for (const [n, seconds] of pauses.entries()) {
            assert.deepStrictEqual((yield* said(lsp, `${root}/a.txt`)).reasons, ["server_exited"])
            assert.strictEqual(pids().length, n + 1)
            yield* TestClock.adjust(Duration.millis(seconds * 1000 - 1))
            yield* said(lsp, `${root}/a.txt`)
            assert.strictEqual(pids().length, n + 1, `no start before ${seconds} s`)
            yield* TestClock.adjust("1 millis")
          }
          assert.deepStrictEqual((yield* said(lsp, `${root}/a.txt`)).reasons, ["failed"])
          assert.strictEqual(pids().length, 5)
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual((yield* said(lsp, `${root}/a.txt`)).reasons, ["failed"])
          assert.strictEqual(pids().length, 5)
          const [first, last, ...more] = yield* lsp.notices
          assert.include(first, "started again when it is needed")
          assert.include(last, "left alone")
          assert.deepStrictEqual(more, [])
          assert.isTrue(yield* lsp.restart("hostile"))
          assert.deepStrictEqual((yield* said(lsp, `${root}/a.txt`)).reasons, ["server_exited"])
          assert.strictEqual(pids().length, 6)
        })),
    limit
  )

  it.effect(
    "many who wait for one start get one start, also when it fails",
    () =>
      inRoom({ exit_at_start: 9 }, (lsp, root, pids) =>
        Effect.gen(function*() {
          const all = yield* Effect.forEach(Array.from({ length: 20 }), () => said(lsp, `${root}/a.txt`), {
            concurrency: "unbounded"
          })
          assert.isTrue(all.every(({ reasons }) => reasons[0] === "server_exited"))
          assert.strictEqual(pids().length, 1)
        })),
    limit
  )

  it.effect(
    "a server that never answers initialize delays a tool by no more than 15 s, the next ones too",
    () =>
      inRoom({ silent_on: ["initialize"] }, (lsp, root, pids) =>
        Effect.gen(function*() {
          const waiting = yield* Effect.fork(said(lsp, `${root}/a.txt`))
          assert.isTrue(yield* eventually(() => pids().length === 1))
          yield* TestClock.adjust("15 seconds")
          assert.deepStrictEqual(yield* Fiber.join(waiting), { ready: false, count: 0, reasons: ["not_ready"] })
        })),
    limit
  )
})

describe("8.9 servers nobody needs", () => {
  it.effect(
    "idle for ten minutes: stopped; the next use starts it again",
    () =>
      inRoom({}, (lsp, root, pids) =>
        Effect.gen(function*() {
          yield* said(lsp, `${root}/a.txt`)
          yield* TestClock.adjust("9 minutes")
          yield* said(lsp, `${root}/a.txt`)
          yield* TestClock.adjust("9 minutes")
          assert.strictEqual((yield* lsp.status)[0]?.phase, "ready")
          yield* TestClock.adjust("90 seconds")
          assert.isTrue(yield* eventually(() => pids().every((pid) => Servers.isGone(pid))))
          assert.strictEqual((yield* lsp.status)[0]?.phase, "idle")
          assert.deepStrictEqual(yield* said(lsp, `${root}/a.txt`), good(1))
          assert.strictEqual(pids().length, 2)
          assert.deepStrictEqual(yield* lsp.notices, [])
        }), { options: { watch_ms: 30_000 } }),
    limit
  )

  it.effect("over its memory: stopped and said", () =>
    inRoom({}, (lsp, root, pids) =>
      Effect.gen(function*() {
        yield* said(lsp, `${root}/a.txt`)
        yield* TestClock.adjust("30 seconds")
        assert.isTrue(yield* eventually(() => pids().every((pid) => Servers.isGone(pid))))
        assert.include((yield* lsp.notices)[0], "MiB of memory and was stopped")
      }), { options: { watch_ms: 30_000, max_memory_bytes: 1024 } }), limit)
})

describe("4.9 what a checkout brings", () => {
  const program = `#!${process.execPath}\nrequire("node:fs").writeFileSync(__dirname + "/ran", "")\n`

  const checkout = Effect.gen(function*() {
    const root = yield* Servers.project({
      "a.txt": "BAD\n",
      "a.py": "x = 1\n",
      ".hanzo/settings.json": JSON.stringify({
        lsp: { servers: { evil: { command: ["./evil"], extensions: [".txt"] } } }
      })
    })
    for (const file of ["evil", "node_modules/.bin/pyright-langserver"]) {
      fs.chmodSync(Servers.write(root, file, program), 0o755)
    }
    return root
  })
  const ran = (root: string): boolean =>
    ["ran", "node_modules/.bin/ran"].some((name) => fs.existsSync(path.join(root, name)))
  const git = (root: string, ...args: ReadonlyArray<string>): void =>
    void execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: root, stdio: "ignore" })

  it.effect(
    "its lsp.servers are inactive and listed; its programs are held back",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* checkout
        git(root, "init", "-q")
        git(root, "add", "-f", ".")
        git(root, "commit", "-qm", "x")
        yield* Effect.gen(function*() {
          const lsp = yield* Lsp
          assert.deepStrictEqual(yield* said(lsp, `${root}/a.txt`), { ready: false, count: 0, reasons: [] })
          const python = yield* lsp.diagnostics(`${root}/a.py`)
          assert.strictEqual(python.problems[0]?.reason, "held_back")
          assert.include(python.problems[0]?.message, "node_modules/.bin/pyright-langserver")
          const checks = yield* lsp.doctor
          assert.include(checks.find(({ server }) => server === "evil")?.problem ?? "", "not trusted")
          assert.isFalse(ran(root))
        }).pipe(Effect.provide(Rooms.layerOf(root, { load: {}, path: "/usr/bin:/bin" })))
      })),
    limit
  )

  it.effect(
    "without a repository nothing says who brought a program: it is held back",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* checkout
        yield* Effect.gen(function*() {
          const { problems } = yield* (yield* Lsp).diagnostics(`${root}/a.py`)
          assert.strictEqual(problems[0]?.reason, "held_back")
          assert.isFalse(ran(root))
        }).pipe(Effect.provide(Rooms.layerOf(root, { load: {}, path: "/usr/bin:/bin" })))
      })),
    limit
  )

  it.effect(
    "what was installed here, and no commit has, is taken; so is all of a trusted workspace",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* checkout
        git(root, "init", "-q")
        Servers.write(root, ".gitignore", "node_modules/\n")
        git(root, "add", ".")
        git(root, "commit", "-qm", "x")
        yield* Effect.gen(function*() {
          const checks = yield* (yield* Lsp).doctor
          assert.strictEqual(
            checks.find(({ server }) => server === "pyright")?.program,
            path.join(root, "node_modules/.bin/pyright-langserver")
          )
        }).pipe(Effect.provide(Rooms.layerOf(root, { load: {}, path: "/usr/bin:/bin" })))
        git(root, "add", "-f", ".")
        yield* Effect.gen(function*() {
          const lsp = yield* Lsp
          const pyright = (yield* lsp.doctor).find(({ server }) => server === "pyright")
          assert.strictEqual(pyright?.program, path.join(root, "node_modules/.bin/pyright-langserver"))
          yield* lsp.diagnostics(`${root}/a.txt`)
          assert.isTrue(ran(root))
        }).pipe(Effect.provide(Rooms.layerOf(root, { load: { trust: "all" }, path: "/usr/bin:/bin" })))
      })),
    limit
  )

  it.effect(
    "servers that run code of the project want the sandbox, or trust",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* Servers.project({ "Cargo.toml": "", "main.rs": "fn main() {}\n" })
        const bin = path.join(path.dirname(root), "bin")
        fs.chmodSync(Servers.write(bin, "rust-analyzer", program), 0o755)
        const check = (room: Rooms.Room) =>
          Effect.map(
            Effect.flatMap(Lsp, (lsp) => lsp.doctor),
            (checks) => checks.find(({ server }) => server === "rust-analyzer")
          ).pipe(
            Effect.provide(Rooms.layerOf(root, { ...room, path: `${bin}:/usr/bin:/bin` }))
          )
        assert.include((yield* check({}))?.problem ?? "", "the sandbox does not hold it")
        assert.isNull((yield* check({ enforced: true }))?.problem)
      })),
    limit
  )
})
