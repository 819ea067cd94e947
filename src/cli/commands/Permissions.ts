/** `hanzo-dev permissions explain|list|audit`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { PermissionAudit } from "../../permissions/Audit.ts"
import { Files } from "../../platform/Files.ts"
import { ShellGrammar } from "../../platform/ShellGrammar.ts"
import { settingsLayer } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as Permissions from "../Permissions.ts"
import * as Spec from "../Spec.ts"

/** @since 0.1.0 @category constructors */
export const explain = command(Spec.permissionsExplain, (values) =>
  Effect.provide(
    Permissions.explain(values),
    Layer.mergeAll(settingsLayer({ directory: values.directory }), ShellGrammar.layer, Files.layer)
  ))

/** @since 0.1.0 @category constructors */
export const list = command(
  Spec.permissionsList,
  (values) => Effect.provide(Permissions.list(values), settingsLayer({ directory: values.directory }))
)

/** @since 0.1.0 @category constructors */
export const audit = command(
  Spec.permissionsAudit,
  (values) => Effect.provide(Permissions.audit(values), PermissionAudit.layer)
)
