import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { bounded } from "../../src/platform/Directories.ts"
import { makeDirectories } from "../../src/platform/MakeDirectories.ts"
import * as Sqlite from "../../src/platform/Sqlite.ts"

const root = fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-directories-"))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

const mode = (at: string): number => fs.statSync(at).mode & 0o777

const ways: Readonly<Record<string, (at: string, bits: number) => Effect.Effect<void, Cause.UnknownException>>> = {
  sync: (at: string, bits: number) => Effect.try(() => makeDirectories(at, bits)),
  effect: (at: string, bits: number) =>
    Effect.flatMap(FileSystem.FileSystem, (inner) => bounded(inner).makeDirectory(at, { recursive: true, mode: bits }))
      .pipe(Effect.provide(NodeFileSystem.layer), Effect.mapError((error) => new Cause.UnknownException(error)))
}

for (const [way, make] of Object.entries(ways)) {
  describe(`directories with their parents (${way})`, () => {
    it.effect("makes what is missing with its mode, leaves what is there, follows links", () =>
      Effect.gen(function*() {
        const at = path.join(root, way, "a", "b")
        yield* make(at, 0o700)
        assert.deepStrictEqual([mode(at), mode(path.dirname(at))], [0o700, 0o700])
        fs.chmodSync(at, 0o755)
        yield* make(at, 0o700)
        assert.strictEqual(mode(at), 0o755)
        fs.symlinkSync(at, path.join(root, way, "link"))
        yield* make(path.join(root, way, "link", "c", "..", "d"), 0o700)
        assert.isTrue(fs.existsSync(path.join(at, "d")))
        yield* make("/", 0o700)
      }))

    it.effect("a file in the way is an error, a dangling link too", () =>
      Effect.gen(function*() {
        fs.mkdirSync(path.join(root, way), { recursive: true })
        const file = path.join(root, way, "file")
        fs.writeFileSync(file, "")
        yield* Effect.flip(make(file, 0o700))
        yield* Effect.flip(make(path.join(file, "x", "y"), 0o700))
        const link = path.join(root, way, "dangling")
        fs.symlinkSync(path.join(root, "nowhere"), link)
        yield* Effect.flip(make(link, 0o700))
        yield* Effect.flip(make(path.join(link, "x"), 0o700))
      }))

    it.effect.runIf(process.platform === "linux")(
      "a place that says ENOENT for new entries ends, with an error",
      () =>
        Effect.gen(function*() {
          yield* Effect.flip(make("/proc/nope/a/b/c", 0o700))
          yield* Effect.flip(make("/proc/self/fd/nope/a", 0o700))
        })
    )
  })
}

it.scoped.runIf(process.platform === "linux")(
  "a data directory that cannot be made is an error with the remedy",
  () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Sqlite.open({ path: "/proc/nope/sessions.db" }))
      assert.strictEqual(error.reason, "open")
      assert.include(error.message, "/proc/nope/sessions.db")
      assert.include(error.message, "HANZO_DATA_HOME")
    })
)

it("nothing else in the program asks Node for a recursive mkdir", () => {
  const source = path.resolve(import.meta.dirname, "../../src")
  const found = spawnSync("grep", [
    "-rnE",
    "mkdir(Sync)?\\([^)]*recursive|NodeFileSystem\\.layer|NodeFiles\\.make",
    source
  ], {
    encoding: "utf8"
  }).stdout.split("\n").filter((line) => line !== "")
  const known = ["/NodeFiles.ts:", "direct(bounded(NodeFiles.make()))"]
  assert.deepStrictEqual(found.filter((line) => !known.some((part) => line.includes(part))), [])
})
