/** `hanzo-dev config show|path`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import { configLayer } from "../Compose.ts"
import * as ConfigShow from "../ConfigShow.ts"
import { command } from "../Entry.ts"
import * as Spec from "../Spec.ts"

/** @since 0.1.0 @category constructors */
export const show = command(Spec.configShow, (values) => Effect.provide(ConfigShow.show(values), configLayer))

/** @since 0.1.0 @category constructors */
export const path = command(Spec.configPath, () => Effect.provide(ConfigShow.path(), configLayer))
