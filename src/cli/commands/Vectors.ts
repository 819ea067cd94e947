/** `hanzo-dev vectors eval`. @since 0.1.0 */
import { command } from "../Entry.ts"
import * as Spec from "../Spec.ts"
import * as Vectors from "../Vectors.ts"

/** @since 0.1.0 @category constructors */
export const evaluate = command(Spec.vectorsEval, () => Vectors.evaluate())
