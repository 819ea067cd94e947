/** `hanzo-dev mcp auth`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CredentialStore } from "../../credentials/CredentialStore.ts"
import { McpAuth } from "../../mcp/Auth.ts"
import { AtomicFile } from "../../platform/AtomicFile.ts"
import { Files } from "../../platform/Files.ts"
import { Http } from "../../platform/Http.ts"
import { settingsLayer } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as Auth from "../McpAuth.ts"
import { mcpAuth } from "../spec/McpAuth.ts"

const layer = (directory: string | undefined) =>
  McpAuth.layer.pipe(
    Layer.provideMerge(CredentialStore.layer),
    Layer.provideMerge(Layer.mergeAll(AtomicFile.layer, Files.layer, Http.layer)),
    Layer.merge(settingsLayer({ directory }))
  )

/** @since 0.1.0 @category constructors */
export const auth = command(mcpAuth, (values) => Effect.provide(Auth.execute(values), layer(values.directory)))
