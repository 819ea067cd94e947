/** `hanzo-dev mcp ...`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CredentialStore } from "../../credentials/CredentialStore.ts"
import { SettingsWriter } from "../../config/SettingsWriter.ts"
import { AppendLog } from "../../platform/AppendLog.ts"
import { AtomicFile } from "../../platform/AtomicFile.ts"
import { Files } from "../../platform/Files.ts"
import { Http } from "../../platform/Http.ts"
import { sandboxLayer, settingsLayer, toolsLayer } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as Mcp from "../Mcp.ts"
import * as McpShow from "../McpShow.ts"
import * as Spec from "../Spec.ts"

const writing = (directory: string | undefined) =>
  SettingsWriter.layer.pipe(
    Layer.provide(Layer.merge(AtomicFile.layer, Files.layer)),
    Layer.merge(settingsLayer({ directory }))
  )

/** @since 0.1.0 @category constructors */
export const add = command(Spec.mcpAdd, (values) => Effect.provide(Mcp.add(values), writing(values.directory)))

/** @since 0.1.0 @category constructors */
export const remove = command(Spec.mcpRemove, (values) => Effect.provide(Mcp.remove(values), writing(values.directory)))

/** @since 0.1.0 @category constructors */
export const enable = command(Spec.mcpEnable, (values) => Effect.provide(Mcp.enable(values), writing(values.directory)))

/** @since 0.1.0 @category constructors */
export const disable = command(
  Spec.mcpDisable,
  (values) => Effect.provide(Mcp.disable(values), writing(values.directory))
)

/** @since 0.1.0 @category constructors */
export const list = command(
  Spec.mcpList,
  (values) => Effect.provide(McpShow.list(values), settingsLayer({ directory: values.directory }))
)

/** @since 0.1.0 @category constructors */
export const get = command(
  Spec.mcpGet,
  (values) => Effect.provide(McpShow.get(values), settingsLayer({ directory: values.directory }))
)

/** @since 0.1.0 @category constructors */
export const logs = command(
  Spec.mcpLogs,
  (values) =>
    Effect.provide(
      McpShow.logs(values),
      Layer.merge(AppendLog.layer, settingsLayer({ directory: values.directory }))
    )
)

/** What connecting needs: a client and the stored logins, for servers over HTTP, too. */
const connecting = (directory: string | undefined) =>
  CredentialStore.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(AtomicFile.layer, Http.layer)),
    Layer.merge(AppendLog.layer),
    Layer.provideMerge(sandboxLayer(directory))
  )

/** @since 0.1.0 @category constructors */
export const test = command(
  Spec.mcpTest,
  (values) =>
    Effect.flatMap(
      Effect.promise(() => import("../McpTest.ts")),
      (McpTest) => Effect.provide(McpTest.execute(values), connecting(values.directory))
    )
)

/** @since 0.1.0 @category constructors */
export const status = command(
  Spec.mcpStatus,
  (values) =>
    Effect.flatMap(
      Effect.promise(() => import("../McpStatus.ts")),
      (McpStatus) => Effect.provide(McpStatus.execute(values), connecting(values.directory))
    )
)

/** @since 0.1.0 @category constructors */
export const serve = command(Spec.mcpServe, (values) =>
  Effect.gen(function*() {
    const McpServe = yield* Effect.promise(() => import("../McpServe.ts"))
    return yield* Effect.provide(
      McpServe.execute(values),
      toolsLayer({
        directory: values.directory,
        flags: { settings: {}, allow: values.allow, deny: values.deny },
        trust_workspace: values["trust-workspace"]
      })
    )
  }))
