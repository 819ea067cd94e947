/** `hanzo-dev sessions list|show|export|delete`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import { recordLayer } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as Sessions from "../Sessions.ts"
import * as Spec from "../Spec.ts"

/** @since 0.1.0 @category constructors */
export const list = command(
  Spec.sessionsList,
  (values) => Effect.provide(Sessions.list(values), recordLayer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const show = command(
  Spec.sessionsShow,
  (values) => Effect.provide(Sessions.show(values), recordLayer(undefined))
)

/** @since 0.1.0 @category constructors */
export const exportSession = command(
  Spec.sessionsExport,
  (values) => Effect.provide(Sessions.exportSession(values), recordLayer(undefined))
)

/** @since 0.1.0 @category constructors */
export const remove = command(
  Spec.sessionsDelete,
  (values) => Effect.provide(Sessions.remove(values), recordLayer(undefined))
)
