import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import { type SignalName, Signals } from "../../src/platform/Signals.ts"

describe("signals", () => {
  it.scoped("while another program has the terminal Ctrl-C is its own, and nothing else is", () => {
    let raise: (signal: SignalName) => Effect.Effect<void> = () => Effect.void
    return Effect.gen(function*() {
      const signals = yield* Signals
      const queue = yield* signals.subscribe
      yield* raise("SIGINT")
      assert.deepEqual([...(yield* Queue.takeAll(queue))], ["SIGINT"])
      const outer = yield* Scope.make()
      const inner = yield* Scope.make()
      yield* Scope.extend(signals.lend, outer)
      yield* Scope.extend(signals.lend, inner)
      yield* raise("SIGINT")
      yield* Scope.close(inner, Exit.void)
      yield* raise("SIGINT")
      yield* raise("SIGTERM")
      assert.deepEqual([...(yield* Queue.takeAll(queue))], ["SIGTERM"])
      yield* Scope.close(outer, Exit.void)
      yield* raise("SIGINT")
      assert.deepEqual([...(yield* Queue.takeAll(queue))], ["SIGINT"])
    }).pipe(Effect.provide(Signals.layerTest((connected) => {
      raise = connected
    })))
  })
})
