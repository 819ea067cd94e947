/** `hanzo-dev auth ...`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SettingsWriter } from "../../config/SettingsWriter.ts"
import { Credentials } from "../../credentials/Credentials.ts"
import { TokenRefresh } from "../../credentials/TokenRefresh.ts"
import { AtomicFile } from "../../platform/AtomicFile.ts"
import { Files } from "../../platform/Files.ts"
import { Http } from "../../platform/Http.ts"
import { Processes } from "../../platform/Processes.ts"
import { SecretInput } from "../../platform/SecretInput.ts"
import * as Auth from "../Auth.ts"
import * as AuthKey from "../AuthKey.ts"
import { providerOf } from "../AuthProvider.ts"
import * as AuthStatus from "../AuthStatus.ts"
import { settingsLayer } from "../Compose.ts"
import { command } from "../Entry.ts"
import { soundConfig } from "../Output.ts"
import * as Spec from "../Spec.ts"

const layer = (directory?: string) =>
  Credentials.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(AtomicFile.layer, Files.layer, Processes.layer, Http.layer)),
    Layer.merge(settingsLayer({ directory }))
  )

/** @since 0.1.0 @category constructors */
export const login = command(Spec.authLogin, (values) =>
  Effect.gen(function*() {
    const config = yield* soundConfig
    const provider = providerOf(values, config.config)
    if (typeof provider !== "string") return yield* provider
    if (values["api-key"]) {
      return yield* Effect.provide(
        AuthKey.store(provider, config),
        Layer.merge(SettingsWriter.layer, SecretInput.layer)
      )
    }
    const [{ Login }, AuthLogin] = yield* Effect.promise(() =>
      Promise.all([import("../../credentials/Login.ts"), import("../AuthLogin.ts")])
    )
    return yield* Effect.provide(AuthLogin.login(provider, values), Layer.merge(Login.layer, TokenRefresh.layer))
  }).pipe(Effect.provide(layer())))

/** @since 0.1.0 @category constructors */
export const logout = command(
  Spec.authLogout,
  (values) => Effect.provide(Auth.logout(values), Layer.provideMerge(TokenRefresh.layer, layer()))
)

/** @since 0.1.0 @category constructors */
export const status = command(
  Spec.authStatus,
  (values) => Effect.provide(AuthStatus.execute(values), layer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const refresh = command(Spec.authRefresh, (values) => Effect.provide(Auth.refresh(values), layer()))

/** @since 0.1.0 @category constructors */
export const token = command(
  Spec.authToken,
  (values) => Effect.provide(Auth.token(values), layer(values.directory))
)
