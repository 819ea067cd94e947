/** `hanzo-dev doctor`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { layerServerSpawner } from "../../app/LanguageServers.ts"
import { CredentialStore } from "../../credentials/CredentialStore.ts"
import { Credentials } from "../../credentials/Credentials.ts"
import { Lsp } from "../../lsp/Lsp.ts"
import { AtomicFile } from "../../platform/AtomicFile.ts"
import { Http } from "../../platform/Http.ts"
import { LocalServers } from "../../provider/LocalServers.ts"
import { ScriptedModels } from "../../provider/ScriptedModels.ts"
import { Targets } from "../../provider/Targets.ts"
import { sandboxLayer } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as Doctor from "../Doctor.ts"
import { layerUnasked } from "../DoctorLogins.ts"
import * as Spec from "../Spec.ts"

/** Settings, processes and the sandbox; then what resolves a model's name. */
const layer = (directory: string | undefined) =>
  Targets.layer.pipe(
    Layer.provide(ScriptedModels.layer),
    Layer.provideMerge(Layer.provide(layerUnasked, Credentials.layerStore)),
    Layer.provideMerge(CredentialStore.layer),
    Layer.provideMerge(Layer.merge(AtomicFile.layer, Layer.provideMerge(LocalServers.layer, Http.layer))),
    Layer.provideMerge(Layer.provide(Lsp.layer, layerServerSpawner)),
    Layer.provideMerge(sandboxLayer(directory))
  )

/** @since 0.1.0 @category constructors */
export const main = command(Spec.doctor, (values) => Effect.provide(Doctor.execute(values), layer(values.directory)))
