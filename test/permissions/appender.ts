/** A process that appends lines: FILE ID COUNT. */
import * as Effect from "effect/Effect"
import { AppendLog } from "../../src/platform/AppendLog.ts"

const [file = "", id = "", count = "0"] = process.argv.slice(2)

const program = Effect.gen(function*() {
  const log = yield* AppendLog
  for (let n = 0; n < Number(count); n++) {
    yield* log.append({ file, line: `${id}-${n}-${"x".repeat(50)}`, max_bytes: 2_000, max_files: 1000 })
  }
})

await Effect.runPromise(Effect.provide(program, AppendLog.layer))
