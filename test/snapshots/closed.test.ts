/** Files and folders that keep their own owner out, and what stands in the way of files that come back. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { Snapshots } from "../../src/snapshots/Snapshots.ts"
import { picture, type Place, place } from "./support.ts"

const nobody = 65_534

/** For whom modes count: root may read everything. */
const asPerson = (at: Place) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const root = process.getuid?.() === 0
      if (root) {
        execFileSync("chown", ["-R", `${nobody}:${nobody}`, at.base])
        process.setegid?.(nobody)
        process.seteuid?.(nobody)
      }
      return root
    }),
    (root) =>
      Effect.sync(() => {
        if (!root) return
        process.seteuid?.(0)
        process.setegid?.(0)
      })
  )

/** A line of the shell with the rights that this process has taken on. */
const person = (at: Place, line: string): void =>
  void execFileSync("sh", ["-p", "-c", line], { cwd: at.root, env: at.vars, stdio: "pipe" })

const take = (kind: "before" | "after", since?: string) =>
  Effect.flatMap(Snapshots, (snapshots) =>
    Effect.map(
      snapshots.take({ session_id: "ses_1", key: "user:run_1:0", kind, ...(since === undefined ? {} : { since }) }),
      ({ snapshot }) => snapshot
    ))

const back = (snapshot_id: string) =>
  Effect.gen(function*() {
    const snapshots = yield* Snapshots
    const plan = yield* snapshots.plan({ session_id: "ses_1", snapshot_id, key: null })
    return { present: plan.present, ...(yield* plan.apply) }
  })

/** What root sees, whatever the modes are. */
const seen = (at: Place) =>
  Effect.sync(() => {
    const person = process.geteuid?.() ?? 0
    const root = process.getuid?.() === 0
    if (root) process.seteuid?.(0)
    const closed = at.sh("find . ! -type l ! -perm -u+rwx -printf '%m %p\\n'")
    const modes = at.sh("find . ! -type l -printf '%p %m\\n' | sort")
    if (!root) at.sh("chmod -R u+rwX .")
    const files = picture(at.root)
    if (!root) {
      for (const [mode = "", ...name] of closed.trim().split("\n").reverse().map((one) => one.split(" "))) {
        if (mode !== "") fs.chmodSync(at.at(name.join(" ")), Number.parseInt(mode, 8))
      }
    }
    if (root) process.seteuid?.(person)
    return { modes, files: root ? files : Object.keys(files) }
  })

const withPerson = <A, E>(test: (at: Place) => Effect.Effect<A, E, Snapshots>) =>
  Effect.gen(function*() {
    const at = yield* place
    return yield* Effect.scoped(Effect.zipRight(asPerson(at), Effect.provide(test(at), at.layer())))
  })

describe("what its owner cannot read", () => {
  it.scoped("comes back where it was closed since, changed before that or not; and is closed again by the way forward", () =>
    withPerson((at) =>
      Effect.gen(function*() {
        at.write("folder/one", "1")
        at.write("folder/deep/two", "2")
        at.write("secret", "s")
        at.write("changed", "c")
        at.write("gone/x", "x")
        at.write("fixed/y", "y")
        const before = yield* seen(at)
        const first = yield* take("before")
        person(
          at,
          "echo more >> folder/one; rm folder/deep/two; echo new > folder/deep/three; chmod 000 folder/deep folder"
        )
        person(at, "chmod 000 secret; echo d > changed; chmod 200 changed; rm gone/x; chmod 300 gone; chmod 555 fixed")
        person(at, "mkdir fresh; echo f > fresh/f; chmod 000 fresh")
        const changed = yield* seen(at)
        yield* take("after", first.id)
        assert.deepStrictEqual(yield* seen(at), changed, "to look changes nothing")
        const { failed, present } = yield* back(first.id)
        assert.deepStrictEqual(failed, [])
        assert.deepStrictEqual(yield* seen(at), before)
        assert.deepStrictEqual((yield* back(present.id)).failed, [])
        assert.deepStrictEqual(yield* seen(at), changed)
        assert.deepStrictEqual((yield* back(first.id)).failed, [])
        assert.deepStrictEqual(yield* seen(at), before)
      })
    ))

  it.scoped("was closed from the start: it is left alone, and nothing of it goes when a tool opens it", () =>
    withPerson((at) =>
      Effect.gen(function*() {
        at.write("a", "1")
        at.write("dark/f", "f")
        at.write("half/h", "h")
        at.write("key", "k", 0)
        person(at, "chmod 000 dark; chmod 600 half")
        const first = yield* take("before")
        person(at, "chmod 755 dark half; chmod 644 key; echo 2 > a")
        yield* take("after", first.id)
        yield* back(first.id)
        assert.strictEqual(at.read("a"), "1")
        person(at, "chmod 700 dark half; chmod 600 key")
        assert.deepStrictEqual([at.read("dark/f"), at.read("half/h"), at.read("key")], ["f", "h", "k"])
      })
    ))
})

describe("what stands in the way", () => {
  it.scoped("a pipe or a socket goes, where a file or a folder comes back", () =>
    Effect.gen(function*() {
      const at = yield* place
      yield* Effect.gen(function*() {
        at.write("file", "f")
        at.write("folder/x", "x")
        at.write("other", "o")
        const before = picture(at.root)
        const first = yield* take("before")
        at.sh(
          "rm file; mkfifo file; rm -r folder; mkfifo folder; rm other; mkdir other; mkfifo other/pipe; mkfifo apart"
        )
        yield* take("after", first.id)
        const { failed } = yield* back(first.id)
        assert.deepStrictEqual(failed, [])
        assert.isTrue(fs.statSync(at.at("apart")).isFIFO(), "one that is in nobody's way stays")
        assert.deepStrictEqual(picture(at.root), before)
      }).pipe(Effect.provide(at.layer()))
    }))
})
