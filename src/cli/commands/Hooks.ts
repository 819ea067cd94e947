/** `hanzo-dev hooks list|test`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Ids } from "../../domain/Ids.ts"
import { Hooks } from "../../hooks/Hooks.ts"
import { Processes } from "../../platform/Processes.ts"
import { settingsLayer } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as HooksCommands from "../Hooks.ts"
import * as Spec from "../Spec.ts"

const layer = (directory: string | undefined) =>
  Hooks.layer.pipe(
    Layer.provide(Processes.layer),
    Layer.provideMerge(Layer.merge(settingsLayer({ directory }), Ids.layer))
  )

/** @since 0.1.0 @category constructors */
export const list = command(
  Spec.hooksList,
  (values) => Effect.provide(HooksCommands.list(values), layer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const test = command(
  Spec.hooksTest,
  (values) => Effect.provide(HooksCommands.test(values), layer(values.directory))
)
