import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { direct } from "../../src/platform/DirectFiles.ts"

const scratch = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-direct-"))),
  (at) => Effect.sync(() => fs.rmSync(at, { recursive: true, force: true }))
)

/** What an answer says, without the words of an error that only one of the two has. */
const said = (answer: Either.Either<unknown, unknown>): unknown =>
  Either.isRight(answer)
    ? answer.right
    : { failed: (answer.left as { readonly reason?: string }).reason ?? answer.left }

describe("DirectFiles", () => {
  it.scoped("answers as the file system that it stands before, whatever is at the path", () =>
    Effect.gen(function*() {
      const usual = yield* FileSystem.FileSystem
      const files = direct(usual)
      const at = yield* scratch
      const place = (name: string) => path.join(at, name)
      fs.writeFileSync(place("text"), "grüße\n")
      fs.writeFileSync(place("bytes"), Uint8Array.from([0xef, 0xbb, 0xbf, 0xff, 0, 10]))
      fs.writeFileSync(place("empty"), "")
      fs.writeFileSync(place("large"), new Uint8Array(1024 * 1024 + 1))
      fs.mkdirSync(place("directory"))
      fs.symlinkSync("text", place("link"))
      fs.symlinkSync("nowhere", place("dangling"))
      fs.symlinkSync("loop", place("loop"))
      const names = [
        "text",
        "bytes",
        "empty",
        "large",
        "directory",
        "link",
        "dangling",
        "loop",
        "missing",
        "text/below"
      ]
      const paths = [...names.map(place), "/proc/self/status", "/dev/null", `${at}/../${path.basename(at)}/text`, ""]
      for (const each of paths) {
        for (const ask of ["stat", "realPath", "exists", "readDirectory"] as const) {
          const mine = yield* Effect.either<unknown, PlatformError, never>(files[ask](each))
          const theirs = yield* Effect.either<unknown, PlatformError, never>(usual[ask](each))
          // below a file there is nothing: a plain no instead of an error
          if (ask === "exists" && Either.isLeft(theirs) && Either.isRight(mine)) {
            assert.strictEqual(mine.right, false, each)
            continue
          }
          assert.deepEqual(said(mine), said(theirs), `${ask} ${each}`)
        }
        if (each.startsWith("/proc")) continue
        for (const ask of ["readFile", "readFileString"] as const) {
          const mine = yield* Effect.either<unknown, PlatformError, never>(files[ask](each))
          const theirs = yield* Effect.either<unknown, PlatformError, never>(usual[ask](each))
          assert.deepEqual(said(mine), said(theirs), `${ask} ${each}`)
        }
      }
      assert.include(yield* files.readFileString("/proc/self/status"), "Pid:")
      assert.strictEqual(
        yield* files.readFileString(place("text"), "utf-16le"),
        yield* usual.readFileString(place("text"), "utf-16le")
      )
    }).pipe(Effect.provide(NodeFileSystem.layer)))

  it.scoped("a pipe that nobody writes to does not hold the process", () =>
    Effect.gen(function*() {
      const files = direct(yield* FileSystem.FileSystem)
      const at = path.join(yield* scratch, "pipe")
      execFileSync("mkfifo", [at])
      assert.strictEqual((yield* files.stat(at)).type, "FIFO")
      // the usual way waits for a writer in the thread pool: this fiber and the process go on
      const fiber = yield* Effect.fork(files.readFileString(at))
      const writer = yield* Effect.promise(() => fs.promises.open(at, "w"))
      yield* Effect.promise(() => writer.writeFile("said at last"))
      yield* Effect.promise(() => writer.close())
      assert.strictEqual(yield* fiber, "said at last")
    }).pipe(Effect.provide(NodeFileSystem.layer)))
})
