/**
 * What `hanzo-dev doctor` says of logins and of the command that gives a key, which it does not run.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { line } from "../codec/TerminalText.ts"
import { Config } from "../config/Config.ts"
import type { HanzoConfig } from "../config/Schema.ts"
import { commandOf } from "../credentials/ApiKeys.ts"
import { CredentialStore, type StoredLogin } from "../credentials/CredentialStore.ts"
import { type Credential, Credentials, type CredentialsService, find } from "../credentials/Credentials.ts"
import { detectionOrder } from "../credentials/Detection.ts"
import * as Layers from "../domain/Layers.ts"
import { Environment } from "../platform/Environment.ts"
import { untilText } from "./AuthExit.ts"
import { bad, ok } from "./DoctorCheck.ts"
import type { DoctorCheck } from "./Schemas.ts"
import { program } from "./Spec.ts"

/** Nothing is ever sent with it. */
const unasked: Credential = {
  key: Redacted.make("not-asked"),
  source: "settings, api_key_command; it was not run",
  kind: "api_key"
}

/** The credentials as they are, but for `api_key_command`, which counts as a key and is not run. @since 0.1.0 @category layers */
export const layerUnasked = Layers.effect(
  Credentials,
  Effect.gen(function*() {
    const credentials = yield* Credentials
    const environment = yield* Environment
    const isCommand = (provider: string, config: HanzoConfig): boolean =>
      Option.isNone(find(environment, provider, config)) && commandOf(provider, config) !== null
    return {
      ...credentials,
      keyFor: (provider, config) =>
        isCommand(provider, config) ? Effect.succeedSome(unasked) : credentials.keyFor(provider, config),
      rejected: (provider, config, key) =>
        isCommand(provider, config) ? Effect.succeedNone : credentials.rejected(provider, config, key),
      detect: (kind, config) => {
        const first = kind === "api_key"
          ? detectionOrder.find((provider) =>
            Option.isSome(find(environment, provider, config)) || isCommand(provider, config)
          )
          : undefined
        return first !== undefined && isCommand(first, config)
          ? Effect.succeedSome({ provider: first, credential: unasked })
          : credentials.detect(kind, { ...config, api_key_command: null })
      }
    } satisfies CredentialsService
  })
)

const again = (provider: string): string => `log in again: ${program} auth login ${line(provider, 80)}`

const check = ({ credential, provider, state }: StoredLogin, now: number): DoctorCheck => {
  const name = line(provider, 80)
  if (state === "needs_login") return bad("logins", name, "warning", "no longer good", again(provider))
  const until = untilText(credential.expires_at, now)
  return ok("logins", name, state === "due" ? `${until}; it is refreshed when it is used` : until)
}

/** @since 0.1.0 @category constructors */
export const loginChecks: Effect.Effect<ReadonlyArray<DoctorCheck>, never, Config | CredentialStore> = Effect.gen(
  function*() {
    const { config } = yield* Config
    const store = yield* CredentialStore
    const now = yield* Clock.currentTimeMillis
    const commands = commandOf("hanzo", config) === null
      ? []
      : [ok("logins", "api_key_command", "set; it runs when a key of hanzo is needed, and was not run")]
    return yield* Effect.match(store.list, {
      onFailure: ({ message }) => {
        const [what = "", ...remedies] = message.split("; ")
        return [
          ...commands,
          bad(
            "logins",
            "file",
            "warning",
            line(what, 500),
            line(remedies.join("; ") || `see ${program} auth status`, 500)
          )
        ]
      },
      onSuccess: ({ broken, logins }) => [
        ...commands,
        ...logins.map((login) => check(login, now)),
        ...broken.map(({ message, provider }) =>
          bad("logins", line(provider, 80), "warning", line(message, 500), again(provider))
        )
      ]
    })
  }
)
