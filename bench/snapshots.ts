/**
 * A snapshot of a tree of 10,000 files after one edit, against `git status` of the same tree in the same run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Config } from "../src/config/Config.ts"
import { Workspace } from "../src/domain/Workspace.ts"
import { Dirs } from "../src/platform/Dirs.ts"
import { Environment } from "../src/platform/Environment.ts"
import { Processes } from "../src/platform/Processes.ts"
import { Snapshots } from "../src/snapshots/Snapshots.ts"
import { type BenchResult, median, result } from "./Bench.ts"

const folders = 200
const filesInEach = 50
const rounds = 15

/** @since 0.1.0 @category constructors */
export const run = async (): Promise<ReadonlyArray<BenchResult>> => {
  const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-bench-snapshots-")))
  const root = path.join(base, "project")
  const env = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: base,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@example",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@example"
  }
  const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: root, env, stdio: "pipe" })
  try {
    for (let folder = 0; folder < folders; folder++) {
      const at = path.join(root, `part-${folder % 10}`, `folder-${folder}`)
      fs.mkdirSync(at, { recursive: true })
      for (let file = 0; file < filesInEach; file++) {
        fs.writeFileSync(
          path.join(at, `module-${file}.ts`),
          `export const value${file} = ${folder * 1000 + file}\n`.repeat(20)
        )
      }
    }
    fs.writeFileSync(path.join(root, ".gitignore"), "dist/\n*.log\n")
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "one")
    const layer = Snapshots.layer.pipe(Layer.provide(Layer.mergeAll(
      Layer.succeed(Workspace, { root, cwd: root }),
      Dirs.layerTest(path.join(base, "own")),
      Environment.layerTest({ cwd: root, home: base, vars: env }),
      Processes.layer,
      Layer.orDie(Config.layerText("{}"))
    )))
    return await Effect.runPromise(Effect.provide(
      Effect.gen(function*() {
        const snapshots = yield* Snapshots
        const take = snapshots.take({ session_id: "ses_bench", key: null, kind: "before" })
        const first = yield* take
        if (first.snapshot.changed !== folders * filesInEach + 1) throw new Error("the first snapshot is not whole")
        const own: Array<number> = []
        const peer: Array<number> = []
        const edit = (round: number) =>
          fs.appendFileSync(
            path.join(root, "part-3", "folder-3", `module-${(round + 10) % filesInEach}.ts`),
            "// edit\n"
          )
        const status = () => {
          const start = performance.now()
          git("status", "--porcelain")
          return performance.now() - start
        }
        const snapshot = Effect.gen(function*() {
          const start = performance.now()
          const { snapshot: { changed } } = yield* take
          const took = performance.now() - start
          if (changed !== 1) throw new Error(`${changed} files have changed, and should be one`)
          return took
        })
        for (let round = -5; round < rounds; round++) {
          edit(round)
          // what was written a moment ago is read again by both
          yield* Effect.sleep(100)
          const [mine, theirs] = round % 2 === 0
            ? [yield* snapshot, status()]
            : [status(), yield* snapshot].reverse() as [number, number]
          if (round >= 0) {
            own.push(mine)
            peer.push(theirs)
          }
        }
        return [
          result({
            name: "snapshot of 10,000 files after one edit, times git status",
            value: median(own.map((ms, round) => ms / (peer[round] ?? Number.NaN))),
            unit: "x",
            target: { at_most: 3 },
            peer: `git status --porcelain (${median(peer).toFixed(1)} ms)`
          })
        ]
      }),
      layer
    ))
  } finally {
    fs.rmSync(base, { recursive: true, force: true })
  }
}
