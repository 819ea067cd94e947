/** `hanzo-dev config ...`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SettingsWriter } from "../../config/SettingsWriter.ts"
import { Trust } from "../../config/Trust.ts"
import { AtomicFile } from "../../platform/AtomicFile.ts"
import { Editor } from "../../platform/Editor.ts"
import { Files } from "../../platform/Files.ts"
import { ShellGrammar } from "../../platform/ShellGrammar.ts"
import { Processes } from "../../platform/Processes.ts"
import { settingsLayer } from "../Compose.ts"
import * as ConfigEdit from "../ConfigEdit.ts"
import * as ConfigShow from "../ConfigShow.ts"
import { command } from "../Entry.ts"
import * as Spec from "../Spec.ts"
import * as TrustQuestion from "../TrustQuestion.ts"

const layer = (directory: string | undefined) =>
  Layer.mergeAll(SettingsWriter.layer, Trust.layer).pipe(
    Layer.provide(Layer.merge(AtomicFile.layer, Files.layer)),
    Layer.merge(Layer.mergeAll(settingsLayer({ directory }), Processes.layer, Editor.layer, ShellGrammar.layer))
  )

/** @since 0.1.0 @category constructors */
export const show = command(
  Spec.configShow,
  (values) => Effect.provide(ConfigShow.show(values), layer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const get = command(
  Spec.configGet,
  (values) => Effect.provide(ConfigShow.get(values), layer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const set = command(
  Spec.configSet,
  (values) => Effect.provide(ConfigEdit.set(values), layer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const path = command(
  Spec.configPath,
  (values) => Effect.provide(ConfigShow.path(values), layer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const edit = command(
  Spec.configEdit,
  (values) => Effect.provide(ConfigEdit.edit(values), layer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const validate = command(
  Spec.configValidate,
  (values) => Effect.provide(ConfigShow.validate(values), layer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const schema = command(Spec.configSchema, () => ConfigShow.schema())

/** @since 0.1.0 @category constructors */
export const trust = command(
  Spec.configTrust,
  (values) => Effect.provide(TrustQuestion.execute(values), layer(values.directory))
)
