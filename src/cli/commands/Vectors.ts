/** `hanzo-dev vectors eval|check`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import { Processes } from "../../platform/Processes.ts"
import { command } from "../Entry.ts"
import * as Spec from "../Spec.ts"
import * as Vectors from "../Vectors.ts"

/** @since 0.1.0 @category constructors */
export const evaluate = command(Spec.vectorsEval, () => Vectors.evaluate())

/** @since 0.1.0 @category constructors */
export const check = command(
  Spec.vectorsCheck,
  (values) => Effect.provide(Vectors.check(values), Processes.layer)
)
