/** A workspace that is built anew keeps the servers whose definitions are the same (reading 1.5). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { layerProcess } from "../../src/app/Runtime.ts"
import { type McpService } from "../../src/mcp/Mcp.ts"
import { idleGrace, McpHost } from "../../src/tools/McpHost.ts"
import * as Agents from "../support/mcp/agent.ts"
import { gone } from "../support/processes.ts"

describe("settings applied while servers run", () => {
  it.live(
    "1.5 the same definition keeps its process, a changed one gets another, and all end with the program",
    () =>
      Effect.gen(function*() {
        const pids: Array<ReadonlyArray<number>> = []
        yield* Effect.scoped(Effect.gen(function*() {
          const root = yield* Agents.workspace
          const built = (changes: object) => ({
            servers: {
              same: Agents.command(Agents.fake, changes),
              other: Agents.command(Agents.fake, { env: { N: JSON.stringify(changes) } })
            },
            turns: Agents.calls(["mcp__same__pid"], ["mcp__other__pid"])
          })
          yield* Effect.gen(function*() {
            for (const changes of [{}, { exclude_tools: ["echo"] }]) {
              const events = yield* Effect.provide(Agents.run(), Agents.layerWorkspaceOf(root, built(changes)))
              pids.push(Agents.results(events).map(({ output }) => Number(output)))
            }
          }).pipe(Effect.provide(Layer.provideMerge(layerProcess({ memory: true }), Agents.layerPlatform(root, {}))))
        }))
        const [[same1, other1] = [], [same2, other2] = []] = pids
        assert.isAbove(same1 ?? 0, 0)
        assert.strictEqual(same2, same1)
        assert.notStrictEqual(other2, other1)
        for (const pid of pids.flat()) assert.isTrue(yield* gone(pid))
      }),
    30_000
  )

  it.scoped("servers end a while after the last workspace, not between two", () =>
    Effect.gen(function*() {
      const host = yield* McpHost
      let made = 0
      let ended = 0
      const make = Effect.acquireRelease(
        Effect.sync(() => {
          made++
          return {} as McpService
        }),
        () => Effect.sync(() => void ended++)
      )
      const use = Effect.scoped(Effect.map(host.obtain("/root", make), ({ reused }) => reused))
      assert.isFalse(yield* use)
      yield* TestClock.adjust("4 seconds")
      assert.isTrue(yield* use)
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(ended, 0)
      yield* TestClock.adjust(idleGrace)
      assert.strictEqual(ended, 1)
      assert.isFalse(yield* use)
      assert.deepStrictEqual([made, ended], [2, 1])
    }).pipe(Effect.provide(McpHost.layer)))
})
