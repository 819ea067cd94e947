/** A program with a bug that has a key in its words. */
import * as Effect from "effect/Effect"
import { Environment } from "../../src/platform/Environment.ts"
import { runMain } from "../../src/platform/NodePlatform.ts"

runMain(
  Effect.flatMap(Environment, ({ vars }) => Effect.die(new Error(`the key ${vars.get("UP_API_KEY") ?? ""} is odd`)))
)
