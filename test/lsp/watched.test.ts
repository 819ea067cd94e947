/** What commands do to files reaches the servers that run, real ones too (reading 8.4). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { Lsp } from "../../src/lsp/Lsp.ts"
import * as Rooms from "../support/lsp/room.ts"
import * as Servers from "../support/lsp/servers.ts"
import { eventually, gone } from "../support/processes.ts"

const limit = { timeout: 300_000 }
const patience = 120_000

const projects = [
  {
    name: "TypeScript 7",
    servers: { typescript: { command: Servers.real.typescript7.argv } },
    files: {
      "tsconfig.json": "{\"compilerOptions\":{\"strict\":true,\"noEmit\":true}}",
      "a.ts": "import { b } from \"./b\"\nexport const a: number = b\n"
    },
    main: "a.ts",
    other: "b.ts",
    right: "export const b = 1\n",
    wrong: "export const b = \"one\"\n"
  },
  {
    name: "pyright",
    servers: { pyright: { command: Servers.real.pyright.argv } },
    files: { "pyrightconfig.json": "{}", "a.py": "from b import b\na: int = b\n" },
    main: "a.py",
    other: "b.py",
    right: "b: int = 1\n",
    wrong: "b: str = \"one\"\n"
  }
] as const

describe("8.4 files that a command makes, changes and removes", () => {
  for (const { files, main, name, other, right, servers, wrong } of projects) {
    it.live(name, () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* Servers.project(files)
        yield* Effect.gen(function*() {
          const lsp = yield* Lsp
          const errors = Effect.map(lsp.diagnostics(`${root}/${main}`, patience), ({ diagnostics, ready }) => {
            assert.isTrue(ready)
            return diagnostics.filter(({ severity }) => severity === 1).length
          })
          const after = (act: () => void) =>
            Effect.zipRight(Effect.sync(act), Effect.zipRight(lsp.changed(null), errors))
          assert.strictEqual(yield* errors, 1, "nothing to import")
          assert.strictEqual(yield* after(() => void Servers.write(root, other, right)), 0, "made")
          assert.strictEqual(yield* after(() => void Servers.write(root, other, wrong)), 1, "changed")
          assert.strictEqual(yield* after(() => fs.rmSync(`${root}/${other}`)), 1, "removed")
          assert.strictEqual(yield* after(() => void Servers.write(root, other, right)), 0, "made again")
        }).pipe(Effect.provide(Rooms.layerOf(root, { servers })))
      })), limit)
  }

  it.effect("packages that were installed: the server starts anew", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = yield* Servers.project({ "a.txt": "BAD\n" })
      const pids = path.join(path.dirname(root), "pids")
      const log = path.join(path.dirname(root), "log")
      const servers = { hostile: { command: Servers.hostile({ pids, log }).argv, extensions: [".txt"] } }
      yield* Effect.gen(function*() {
        const lsp = yield* Lsp
        const look = lsp.diagnostics(`${root}/a.txt`)
        yield* look
        yield* lsp.changed(null)
        yield* look
        assert.strictEqual(Servers.pidsIn(pids).length, 1)
        assert.notInclude(Servers.methods(log), "workspace/didChangeWatchedFiles")
        Servers.write(root, "b.txt", "new\n")
        yield* lsp.changed(null)
        yield* look
        assert.isTrue(
          yield* eventually(() => Servers.methods(log).includes("workspace/didChangeWatchedFiles"), 30_000)
        )
        const told = Servers.heard(log).find(({ method }) => method === "workspace/didChangeWatchedFiles")
        assert.deepInclude(told, { params: { changes: [{ uri: `file://${root}/b.txt`, type: 1 }] } })
        Servers.write(root, "node_modules/p/index.js", "")
        yield* lsp.changed(null)
        yield* look
        assert.strictEqual(Servers.pidsIn(pids).length, 2)
        assert.deepStrictEqual(yield* lsp.notices, [])
      }).pipe(Effect.provide(Rooms.layerOf(root, { servers })))
      for (const pid of Servers.pidsIn(pids)) assert.isTrue(yield* gone(pid))
    })), limit)
})

describe("3.6 nothing of it is loaded before it is used", () => {
  const source = (file: string): string => fs.readFileSync(path.join(Servers.repository, "src", file), "utf8")
  const loads = (file: string): ReadonlyArray<string> =>
    [...source(file).matchAll(/^import (?!type )[^;]*? from "(\.[^"]+)"/gmu)].map(([, from = ""]) =>
      path.posix.normalize(path.posix.join(path.posix.dirname(file), from))
    )

  it("what a start loads of the room is the layer and the tag of its spawner", () => {
    const room = new Set<string>()
    const todo = ["lsp/Lsp.ts", "tools/FileAwareness.ts", "tools/Lsp.ts", "app/LanguageServers.ts"]
    for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
      if (file.startsWith("lsp/") || file.startsWith("tools/lsp/")) room.add(file)
      for (const next of loads(file)) if (/^(lsp|tools\/lsp)\//u.test(next) && !room.has(next)) todo.push(next)
    }
    assert.deepStrictEqual([...room].toSorted(), ["lsp/Lsp.ts", "lsp/ServerSpawner.ts"])
  })
})
