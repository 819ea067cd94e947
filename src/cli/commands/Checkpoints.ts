/** `hanzo-dev sessions checkpoints|rewind`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Processes } from "../../platform/Processes.ts"
import { Snapshots } from "../../snapshots/Snapshots.ts"
import type { SessionStore, SessionSummary } from "../../storage/SessionStore.ts"
import * as Checkpoints from "../Checkpoints.ts"
import { recordLayer, settingsLayer } from "../Compose.ts"
import { command } from "../Entry.ts"
import type { CliExit } from "../Exit.ts"
import * as Sessions from "../Sessions.ts"
import * as Spec from "../Spec.ts"

/** In the workspace of the session, wherever the command is called. */
const inSession = <A, R>(
  id: string,
  use: (session: SessionSummary) => Effect.Effect<A, CliExit, R | SessionStore | Snapshots>
) =>
  Effect.flatMap(Sessions.find(id), (session) =>
    Effect.provide(
      use(session),
      Snapshots.layer.pipe(
        Layer.provide(Layer.merge(settingsLayer({ directory: session.workspace }), Processes.layer))
      )
    )).pipe(Effect.provide(recordLayer(undefined)))

/** @since 0.1.0 @category constructors */
export const checkpoints = command(
  Spec.sessionsCheckpoints,
  (values) => inSession(values.args[0] ?? "", (session) => Checkpoints.checkpoints(session, values))
)

/** @since 0.1.0 @category constructors */
export const rewind = command(
  Spec.sessionsRewind,
  (values) => inSession(values.args[0] ?? "", (session) => Checkpoints.rewind(session, values))
)
