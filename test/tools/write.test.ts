import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { failing, world } from "./workspace.ts"

describe("write", () => {
  it.scoped("creates with parents, overwrites what was read, counts lines", () =>
    Effect.gen(function*() {
      const { call, root, text } = yield* world()
      assert.strictEqual(
        (yield* call("write", { path: "a/b/c.txt", content: "1\n2\n" })).output,
        "Created a/b/c.txt (2 lines)."
      )
      assert.strictEqual(
        (yield* call("write", { path: "a/b/c.txt", content: "x" })).output,
        "Overwrote a/b/c.txt (1 line)."
      )
      assert.strictEqual(text("a/b/c.txt"), "x")
      assert.strictEqual((yield* call("write", { path: "e", content: "" })).output, "Created e (0 lines).")
      assert.deepStrictEqual(fs.readdirSync(path.join(root, "a", "b")), ["c.txt"])
    }))

  it.scoped("an existing file must have been read, and be as it was read", () =>
    Effect.gen(function*() {
      const { call, put, text } = yield* world()
      put("f", "theirs\n")
      assert.match(yield* failing(call("write", { path: "f", content: "mine" })), /has not been read.*Read it first/u)
      yield* call("read", { path: "f" })
      put("f", "theirs, again\n")
      assert.match(yield* failing(call("write", { path: "f", content: "mine" })), /changed on disk.*Read it again/u)
      assert.strictEqual(text("f"), "theirs, again\n")
      yield* call("read", { path: "f" })
      // Touched only: the content is the one that was read.
      fs.utimesSync(put("f", "theirs, again\n"), 1, 1)
      yield* call("write", { path: "f", content: "mine" })
      assert.strictEqual(text("f"), "mine")
      // What one session read another one does not know.
      assert.match(yield* failing(call("write", { path: "f", content: "x" }, "other")), /has not been read/u)
      // An edit alone does not make the rest of the file known.
      put("e", "first\nsecond\n")
      yield* call("edit", { path: "e", old_string: "first", new_string: "1" })
      assert.match(yield* failing(call("write", { path: "e", content: "x" })), /has not been read/u)
      // What cannot be shown as text is known once read has said so.
      put("bin", new Uint8Array([0, 1]))
      assert.match(yield* failing(call("write", { path: "bin", content: "x" })), /has not been read/u)
      assert.match(yield* failing(call("read", { path: "bin" })), /is not text/u)
      yield* call("write", { path: "bin", content: "x" })
      // Same size, same time: the content decides.
      const at = put("g", "aaa")
      fs.utimesSync(at, 5, 5)
      yield* call("read", { path: "g" })
      put("g", "bbb")
      fs.utimesSync(at, 5, 5)
      assert.match(yield* failing(call("write", { path: "g", content: "x" })), /changed on disk/u)
    }))

  it.scoped("links are written through, other names of the file are told, mode is kept", () =>
    Effect.gen(function*() {
      const { call, put, root, text } = yield* world()
      fs.chmodSync(put("real", "old"), 0o754)
      fs.symlinkSync("real", path.join(root, "link"))
      const prepared = yield* (yield* world()).tool("write").prepare({ path: "link", content: "" })
      assert.deepStrictEqual(prepared.subjects, ["link"])
      yield* call("read", { path: "link" })
      assert.include((yield* call("write", { path: "link", content: "new" })).output, "Overwrote real")
      assert.isTrue(fs.lstatSync(path.join(root, "link")).isSymbolicLink())
      assert.strictEqual(text("real"), "new")
      assert.strictEqual(fs.statSync(path.join(root, "real")).mode & 0o777, 0o754)
      fs.linkSync(path.join(root, "real"), path.join(root, "second"))
      assert.include(
        (yield* call("write", { path: "real", content: "newer" })).output,
        "the file had 2 names (hard links); the others keep the old content"
      )
      assert.strictEqual(text("second"), "new")
    }))

  it.scoped("refuses directories, half surrogates, names that end in a slash, URIs", () =>
    Effect.gen(function*() {
      const { call, put } = yield* world()
      put("d/x", "")
      assert.match(yield* failing(call("write", { path: "d", content: "" })), /d is a directory/u)
      assert.match(yield* failing(call("write", { path: "n/", content: "" })), /ends in "\/"/u)
      assert.match(yield* failing(call("write", { path: "n", content: "\ud800" })), /surrogate/u)
      assert.match(yield* failing(call("write", { path: "file:///x", content: "" })), /URI/u)
      assert.match(yield* failing(call("write", { path: "n" })), /"content" is missing/u)
    }))

  it.scoped("10.3: a link put in the place of the approved file is not followed", () =>
    Effect.gen(function*() {
      const { base, root, tool } = yield* world()
      const outside = path.join(base, "outside")
      const write = (name: string) => tool("write").prepare({ path: name, content: "mine" })
      const later = { session_id: "s", call_id: "c", emit: () => Effect.void }
      const [file, directory] = [yield* write("f"), yield* write("d/f")]
      fs.mkdirSync(outside)
      fs.symlinkSync(path.join(outside, "f"), path.join(root, "f"))
      fs.symlinkSync(outside, path.join(root, "d"))
      assert.match(yield* failing(file.run(later)), /elsewhere|leads to/u)
      assert.match(yield* failing(directory.run(later)), /elsewhere|leads to/u)
      assert.deepStrictEqual(fs.readdirSync(outside), [])
    }))

  it.scoped("two calls for one file run one after the other", () =>
    Effect.gen(function*() {
      const { call, put, text } = yield* world()
      put("n", "0\n".repeat(8))
      yield* Effect.forEach(
        [1, 2, 3, 4, 5, 6, 7, 8],
        (n) =>
          call("edit", { path: "n", old_string: "0\n", new_string: `${n}\n`, replace_all: false }).pipe(Effect.either),
        { concurrency: "unbounded" }
      )
      yield* Effect.forEach(
        ["a", "b", "c", "d"],
        (name) =>
          call("apply_patch", {
            patch: `*** Begin Patch\n*** Update File: n\n@@\n+${name}\n*** End of File\n*** End Patch`
          }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(text("n").split("\n").slice(8, 12).sort(), ["a", "b", "c", "d"])
    }))
})
