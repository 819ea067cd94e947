/** `hanzo-dev sessions ...`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import { recordLayer, settingsLayer } from "../Compose.ts"
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
export const search = command(Spec.sessionsSearch, (values) =>
  Effect.flatMap(
    Effect.promise(() => import("../SessionsSearch.ts")),
    ({ execute }) => Effect.provide(execute(values), recordLayer(values.directory))
  ))

/** @since 0.1.0 @category constructors */
export const exportSession = command(Spec.sessionsExport, (values) =>
  Effect.flatMap(
    Effect.promise(() => import("../SessionsExport.ts")),
    ({ execute }) => Effect.provide(execute(values), recordLayer(undefined))
  ))

/** @since 0.1.0 @category constructors */
export const importSession = command(Spec.sessionsImport, (values) =>
  Effect.flatMap(
    Effect.promise(() => import("../SessionsImport.ts")),
    ({ execute }) => Effect.provide(execute(values), recordLayer(values.directory))
  ))

/** @since 0.1.0 @category constructors */
export const rename = command(
  Spec.sessionsRename,
  (values) => Effect.provide(Sessions.rename(values), recordLayer(undefined))
)

/** @since 0.1.0 @category constructors */
export const fork = command(
  Spec.sessionsFork,
  (values) => Effect.provide(Sessions.fork(values), recordLayer(undefined))
)

/** @since 0.1.0 @category constructors */
export const archive = command(
  Spec.sessionsArchive,
  (values) => Effect.provide(Sessions.archive(values.args, true), recordLayer(undefined))
)

/** @since 0.1.0 @category constructors */
export const unarchive = command(
  Spec.sessionsUnarchive,
  (values) => Effect.provide(Sessions.archive(values.args, false), recordLayer(undefined))
)

/** @since 0.1.0 @category constructors */
export const pin = command(
  Spec.sessionsPin,
  (values) => Effect.provide(Sessions.pin(values.args, true), recordLayer(undefined))
)

/** @since 0.1.0 @category constructors */
export const unpin = command(
  Spec.sessionsUnpin,
  (values) => Effect.provide(Sessions.pin(values.args, false), recordLayer(undefined))
)

/** @since 0.1.0 @category constructors */
export const prune = command(Spec.sessionsPrune, (values) =>
  Effect.flatMap(
    Effect.promise(() => import("../SessionsPrune.ts")),
    ({ execute }) => execute(values).pipe(Effect.provide(settingsLayer()), Effect.provide(recordLayer(undefined)))
  ))

/** @since 0.1.0 @category constructors */
export const remove = command(
  Spec.sessionsDelete,
  (values) => Effect.provide(Sessions.remove(values), recordLayer(undefined))
)
