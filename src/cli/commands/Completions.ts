/** `hanzo-dev completions`. @since 0.1.0 */
import { completions, shells } from "../Completions.ts"
import { command } from "../Entry.ts"
import { usage } from "../Exit.ts"
import { print } from "../Output.ts"
import * as Spec from "../Spec.ts"
import * as Effect from "effect/Effect"

/** @since 0.1.0 @category constructors */
export const main = command(Spec.completions, ({ args }) => {
  const shell = shells.find((known) => known === args[0])
  return shell === undefined
    ? usage(`completions are for ${shells.join(", ")}`)
    : Effect.as(print(completions(shell)), 0)
})
