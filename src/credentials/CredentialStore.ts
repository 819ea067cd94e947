/**
 * The stored logins of all providers (HIP-301 section 13, readings 6.7 to 6.10): `<config home>/credentials.json`.
 *
 * Nothing is read and none of its modules is loaded before the first question.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { HanzoConfig } from "../config/Schema.ts"
import * as Layers from "../domain/Layers.ts"
import type { AtomicFile } from "../platform/AtomicFile.ts"
import { Dirs } from "../platform/Dirs.ts"
import type { Environment } from "../platform/Environment.ts"
import { Files } from "../platform/Files.ts"
import type { FileLock } from "../platform/FileLock.ts"
import type { Http } from "../platform/Http.ts"
import type { CredentialError } from "./CredentialError.ts"
import { fileIn } from "./Expiry.ts"
import { make as knownTokens } from "./KnownTokens.ts"
import type { ProviderCredential } from "./ProviderCredential.ts"
import type { Party, TokenRefresh } from "./TokenRefresh.ts"

/**
 * | state | meaning |
 * | --- | --- |
 * | `valid` | good for at least another minute, as far as anybody knows |
 * | `due` | expired or about to, and can be refreshed |
 * | `needs_login` | expired without a way to refresh, or the server refused its refresh token |
 *
 * @since 0.1.0
 * @category models
 */
export type LoginState = "valid" | "due" | "needs_login"

/** @since 0.1.0 @category models */
export interface StoredLogin {
  readonly provider: string
  readonly credential: ProviderCredential
  readonly state: LoginState
}

/** An entry that is no login; `message` names its place and no value. @since 0.1.0 @category models */
export interface BrokenLogin {
  readonly provider: string
  readonly message: string
}

/** @since 0.1.0 @category models */
export interface LoginList {
  /** In the order of the file. */
  readonly logins: ReadonlyArray<StoredLogin>
  readonly broken: ReadonlyArray<BrokenLogin>
}

/** @since 0.1.0 @category models */
export interface StoreOptions {
  /** A corrupt file, or entry, is replaced; the old file is kept beside it under the name that is given back. */
  readonly replace_corrupt?: boolean
}

/** @since 0.1.0 @category models */
export interface RefreshOptions {
  /**
   * The token that is no longer good. Any other one in the file that is not due is the answer, without a request.
   * Absent = the one in the file at this moment.
   */
  readonly than?: Redacted.Redacted
  /** Who is asked, as which client. Absent = as the settings, else the login itself say. */
  readonly party?: Party
}

/**
 * `provider` is a provider of models or the key of a login at a server of tools (`CredentialFile.serverKey`).
 *
 * @since 0.1.0
 * @category models
 */
export interface CredentialStoreService {
  /** Absolute path, as it was configured; it may be a symbolic link. */
  readonly file: string
  /** What the file holds now, good or not. Reasons `corrupt`, `insecure`, `unreadable`. */
  readonly get: (provider: string) => Effect.Effect<Option.Option<ProviderCredential>, CredentialError>
  /** The same with its state. */
  readonly look: (provider: string) => Effect.Effect<Option.Option<StoredLogin>, CredentialError>
  /** Returns when it is durable; `kept` is the name of a corrupt file that was replaced. */
  readonly store: (
    credential: ProviderCredential,
    options?: StoreOptions
  ) => Effect.Effect<{ readonly kept: string | null }, CredentialError>
  /**
   * A login with a new access token, stored before it is given to anybody. Reasons also `not_found`, `needs_login`,
   * `not_configured`, `unavailable`, `busy`, `unwritable`; a refresh that failed has written nothing.
   */
  readonly refresh: (
    provider: string,
    config: HanzoConfig,
    options?: RefreshOptions
  ) => Effect.Effect<ProviderCredential, CredentialError>
  /**
   * Could a login be stored, or taken away, now? Asked before what cannot be undone: a person logs in, a server revokes.
   * A corrupt file is no matter here.
   */
  readonly ready: Effect.Effect<void, CredentialError>
  /** True = there was one. */
  readonly remove: (provider: string) => Effect.Effect<boolean, CredentialError>
  readonly list: Effect.Effect<LoginList, CredentialError>
  /**
   * Tokens that the file holds or has held since the program began, for whoever keeps them out of texts. Costs one look
   * when there is no file; the same array as long as nothing is new.
   */
  readonly secrets: Effect.Effect<ReadonlyArray<string>>
  /** Adds tokens that are kept in memory alone to `secrets`. */
  readonly remember: (secrets: ReadonlyArray<string>) => Effect.Effect<void>
}

/** The platform that it stands on. @since 0.1.0 @category models */
export type StoreNeeds = AtomicFile | Dirs | Environment | Files | FileSystem.FileSystem

const load = Effect.promise(() => import("./StoredLogins.ts"))

/** @since 0.1.0 @category services */
export class CredentialStore extends Context.Tag("@hanzo/dev/credentials/CredentialStore")<
  CredentialStore,
  CredentialStoreService
>() {
  static readonly layer: Layer.Layer<CredentialStore, never, StoreNeeds | Http> = Layers.scoped(
    CredentialStore,
    Effect.gen(function*() {
      const context = yield* Effect.context<StoreNeeds | Http | Scope.Scope>()
      const dirs = yield* Dirs
      const file = fileIn(dirs.config)
      const { remember, secrets } = knownTokens(yield* Files, file)
      const live = yield* Effect.cached(
        Effect.flatMap(load, (module) => Effect.provide(module.live, context))
      )
      return {
        file,
        get: (provider) => Effect.flatMap(live, (store) => store.get(provider)),
        look: (provider) => Effect.flatMap(live, (store) => store.look(provider)),
        store: (credential, options) => Effect.flatMap(live, (store) => store.store(credential, options)),
        refresh: (provider, config, options) =>
          Effect.flatMap(live, (store) => store.refresh(provider, config, options)),
        ready: Effect.flatMap(live, (store) => store.ready),
        remove: (provider) => Effect.flatMap(live, (store) => store.remove(provider)),
        list: Effect.flatMap(live, (store) => store.list),
        secrets,
        remember
      }
    })
  )

  /** Over another lock or another way to refresh. */
  static readonly layerOver: Layer.Layer<CredentialStore, never, StoreNeeds | FileLock | TokenRefresh> = Layers.scoped(
    CredentialStore,
    Effect.flatMap(load, (module) => module.make)
  )
}
