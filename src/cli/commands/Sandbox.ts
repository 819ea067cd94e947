/** `hanzo-dev sandbox status|exec`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import { sandboxLayer } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as SandboxCommands from "../Sandbox.ts"
import * as Spec from "../Spec.ts"

/** @since 0.1.0 @category constructors */
export const status = command(
  Spec.sandboxStatus,
  (values) => Effect.provide(SandboxCommands.status(values), sandboxLayer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const exec = command(
  Spec.sandboxExec,
  (values) => Effect.provide(SandboxCommands.exec(values), sandboxLayer(values.directory))
)
