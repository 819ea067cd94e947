/** `hanzo-dev demo`. @since 0.1.0 */
import { demo } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as Spec from "../Spec.ts"

/** @since 0.1.0 @category constructors */
export const main = command(Spec.demo, () => demo)
