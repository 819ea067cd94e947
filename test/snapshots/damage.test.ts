/** A repository of snapshots that somebody, or a power failure, has damaged. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { Snapshots } from "../../src/snapshots/Snapshots.ts"
import { place } from "./support.ts"

const take = Effect.flatMap(
  Snapshots,
  (snapshots) =>
    Effect.map(snapshots.take({ session_id: "ses_1", key: null, kind: "before" }), ({ snapshot }) => snapshot)
)

const back = (snapshot_id: string) =>
  Effect.gen(function*() {
    const snapshots = yield* Snapshots
    return yield* (yield* snapshots.plan({ session_id: "ses_1", snapshot_id, key: null })).apply
  })

const damages: ReadonlyArray<readonly [what: string, damage: string, keeps: boolean]> = [
  ["all of it", "rm -rf ../repo ../index.json ../root", false],
  ["the repository", "rm -rf ../repo", false],
  ["its objects", "rm -rf objects", false],
  ["its trees and contents", "find objects -type f -delete", false],
  ["its references", "rm -rf refs packed-refs", false],
  ["its HEAD", "rm HEAD", true],
  ["its settings", "printf '[core' > config", true],
  ["the index of files", "printf 'no json' > ../index.json", true]
]

describe("damage", () => {
  for (const [what, damage, keeps] of damages) {
    it.scoped(`to ${what}: later messages are kept again${keeps ? ", earlier ones still" : ""}`, () =>
      Effect.gen(function*() {
        const at = yield* place
        // one process each, as nothing is remembered
        const apart = <A, E>(effect: Effect.Effect<A, E, Snapshots>) => Effect.provide(effect, at.layer())
        at.write("a", "1")
        at.write("d/b", "1")
        const first = yield* apart(take)
        const [home = ""] = fs.readdirSync(path.join(at.base, "data", "snapshots"))
        at.sh(damage, path.join(at.base, "data", "snapshots", home, "repo"))
        at.write("a", "2")
        if (keeps) {
          yield* apart(back(first.id))
          assert.strictEqual(at.read("a"), "1")
        } else {
          const error = yield* apart(Effect.flip(back(first.id)))
          assert.include(["not_found", "failed"], error.reason)
        }
        const second = yield* apart(take)
        at.write("a", "3")
        fs.rmSync(at.at("d"), { recursive: true })
        const wanted = keeps ? "1" : "2"
        assert.deepStrictEqual((yield* apart(back(second.id))).failed, [])
        assert.deepStrictEqual([at.read("a"), at.read("d/b")], [wanted, "1"])
      }))
  }

  it.scoped("that cannot be made good is told with what to do", () =>
    Effect.gen(function*() {
      const at = yield* place
      at.write("a", "1")
      const first = yield* Effect.provide(take, at.layer())
      const [home = ""] = fs.readdirSync(path.join(at.base, "data", "snapshots"))
      const folder = path.join(at.base, "data", "snapshots", home)
      at.sh("find objects -type f | while read -r f; do chmod u+w \"$f\"; echo bad > \"$f\"; done", `${folder}/repo`)
      const error = yield* Effect.flip(Effect.provide(back(first.id), at.layer()))
      assert.include(error.message, `remove ${folder} to begin anew`)
    }))
})
