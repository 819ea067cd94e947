/**
 * A process that takes a lock: `lockHolder.cjs TARGET hold` says `held` and keeps it until its input ends;
 * `lockHolder.cjs TARGET count N` adds one to the number in TARGET N times, each time under the lock, and says `overlap`
 * when somebody else is inside too. A failure is one line of JSON.
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { FileLock } from "../../src/platform/FileLock.ts"

const [target = "", mode = "", times = "0"] = process.argv.slice(2)
const say = (line: string): void => void fs.writeSync(1, `${line}\n`)

const inside = Effect.acquireUseRelease(
  Effect.sync(() => {
    try {
      fs.closeSync(fs.openSync(`${target}.inside`, "wx"))
    } catch {
      say("overlap")
    }
  }),
  () =>
    Effect.gen(function*() {
      const known = Number(fs.readFileSync(target, "utf8"))
      yield* Effect.sleep(1)
      fs.writeFileSync(target, String(known + 1))
    }),
  () => Effect.sync(() => fs.rmSync(`${target}.inside`, { force: true }))
)

const ended = Effect.async<void>((resume) => {
  process.stdin.resume().on("end", () => resume(Effect.void))
})

const program = Effect.gen(function*() {
  const lock = yield* FileLock
  if (mode === "hold") {
    yield* Effect.scoped(
      Effect.zipRight(lock.acquire(target), Effect.zipRight(Effect.sync(() => say("held")), ended))
    )
    return say("released")
  }
  say("ready")
  yield* ended
  for (let i = 0; i < Number(times); i++) yield* Effect.scoped(Effect.zipRight(lock.acquire(target), inside))
  say("done")
}).pipe(
  Effect.catchAll((error) => Effect.sync(() => say(JSON.stringify({ reason: error.reason, message: error.message })))),
  Effect.provide(FileLock.layer)
)

void Effect.runPromise(program)
