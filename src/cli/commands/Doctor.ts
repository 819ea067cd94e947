/** `hanzo-dev doctor`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Credentials } from "../../credentials/Credentials.ts"
import { Http } from "../../platform/Http.ts"
import { Processes } from "../../platform/Processes.ts"
import { LocalServers } from "../../provider/LocalServers.ts"
import { settingsLayer } from "../Compose.ts"
import * as Doctor from "../Doctor.ts"
import { command } from "../Entry.ts"
import * as Spec from "../Spec.ts"

const layer = (directory: string | undefined) =>
  Layer.mergeAll(
    settingsLayer({ directory }),
    Credentials.layer,
    Processes.layer,
    Layer.provide(LocalServers.layer, Http.layer)
  )

/** @since 0.1.0 @category constructors */
export const main = command(Spec.doctor, (values) => Effect.provide(Doctor.execute(values), layer(values.directory)))
