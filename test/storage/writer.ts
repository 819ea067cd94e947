/**
 * A process that writes to a session database: `writer.mjs ROOT MODE SESSION WHO COUNT`.
 * `write` appends COUNT entries in a run and says each number once it is stored, `append` does so without a run, `hold` begins a run and waits for the end of
 * stdin, then appends one entry; `heed` begins a run and ends it when another process asks for that; `take` and `force` take the
 * session over, with and without asking, and hold it. `open` only opens. A failure is one line of JSON and exit 1.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as fs from "node:fs"
import { Dirs } from "../../src/platform/Dirs.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { entryAt } from "./sequence.ts"

const [root = "", mode = "", session = "", who = "", count = "0"] = process.argv.slice(2)
const say = (line: string) => Effect.sync(() => fs.writeSync(1, `${line}\n`))

const program = Effect.gen(function*() {
  const store = yield* SessionStore
  yield* say("open")
  if (mode === "open") return
  if (Option.isNone(yield* store.get(session))) {
    yield* store.create({ id: session, workspace: "/w", provider: "p", model: "m" }).pipe(
      // The other process may have been quicker.
      Effect.catchAll((error) =>
        Effect.flatMap(store.get(session), (found) => Option.isSome(found) ? Effect.void : error)
      )
    )
  }
  const takeover = mode === "take" || mode === "force"
  if (mode === "take") yield* store.askToStop(session)
  if (mode !== "append") yield* store.beginRun({ id: `run_${who}`, session_id: session, model: "m", takeover })
  yield* say("begun")
  if (mode === "heed") {
    yield* Effect.repeat(store.stopAsked(`run_${who}`), {
      until: Option.isSome,
      schedule: Schedule.spaced("20 millis")
    })
    yield* store.append(session, [entryAt(who, 0)])
    yield* store.endRun(`run_${who}`, { status: "cancelled", turns: 1, exit_code: 130 })
    yield* say("stopped")
    return
  }
  if (mode === "hold" || takeover) {
    yield* Effect.async<void>((resume) => {
      process.stdin.resume().on("end", () => resume(Effect.void))
    })
    yield* store.append(session, [entryAt(who, 0)])
    return
  }
  for (let index = 0; index < Number(count); index++) {
    yield* store.append(session, [entryAt(who, index)])
    yield* say(String(index))
  }
  if (mode !== "append") yield* store.endRun(`run_${who}`, { status: "completed", turns: 1, exit_code: 0 })
}).pipe(
  Effect.provide(Layer.provide(SessionStore.layer, Dirs.layerTest(root))),
  Effect.catchAll((error) =>
    Effect.zipRight(
      say(JSON.stringify({ reason: error.reason, message: error.message })),
      Effect.sync(() => process.exitCode = 1)
    )
  )
)

void Effect.runPromise(program)
