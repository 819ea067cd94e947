/**
 * `hanzo-dev auth logout|refresh|token`.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { line } from "../codec/TerminalText.ts"
import type { HanzoConfig } from "../config/Schema.ts"
import { carried } from "../credentials/ApiKeys.ts"
import type { CredentialError } from "../credentials/CredentialError.ts"
import { CredentialStore } from "../credentials/CredentialStore.ts"
import { type Credential, Credentials, find } from "../credentials/Credentials.ts"
import type { ProviderCredential } from "../credentials/ProviderCredential.ts"
import { TokenRefresh } from "../credentials/TokenRefresh.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import { credentialExit, untilText } from "./AuthExit.ts"
import { keyPath } from "./AuthKey.ts"
import { CliExit, usage } from "./Exit.ts"
import { print, soundConfig } from "./Output.ts"
import { program } from "./Spec.ts"
import type * as Spec from "./Spec.ts"

const shown = (provider: string): string => line(provider, 200)

/** Names in the file, sound entries or not. */
const stored: Effect.Effect<ReadonlyArray<string>, CliExit, CredentialStore> = Effect.flatMap(
  CredentialStore,
  (store) => Effect.mapError(store.list, credentialExit)
).pipe(Effect.map(({ broken, logins }) => [...logins, ...broken].map(({ provider }) => provider)))

const noLogin = (
  provider: string,
  key: Option.Option<Credential>,
  remedy = `to log in: ${program} auth login ${shown(provider)}`
): CliExit =>
  usage(
    `there is no login of ${shown(provider)}`,
    Option.match(key, {
      onNone: () => remedy,
      onSome: ({ source }) =>
        source.startsWith("settings")
          ? `its API key stands in the settings; to take it back: ${program} config set ${
            keyPath(provider).join(".")
          } null`
          : `its API key comes from ${line(source, 200)}`
    })
  )

/**
 * RFC 7009. The refresh token, since with it its access tokens end; what fails here does not keep the login. True = the
 * server has revoked it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const revoke = (
  credential: ProviderCredential,
  config: HanzoConfig
): Effect.Effect<boolean, never, TokenRefresh | Terminal> =>
  Effect.gen(function*() {
    const tokens = yield* TokenRefresh
    const terminal = yield* Terminal
    const token = credential.refresh_token ?? credential.access_token
    return yield* Effect.flatMap(tokens.serverOf(credential, config), (party) => tokens.revoke(party, token)).pipe(
      Effect.as(true),
      Effect.catchAll(({ message, reason }) =>
        Effect.as(
          reason === "not_configured"
            ? terminal.err(
              `the server of ${
                shown(credential.provider)
              } cannot be told: no revocation_endpoint is known; its tokens end by themselves\n`
            )
            : terminal.err(
              `the server of ${shown(credential.provider)} could not be told, its tokens end by themselves: ${
                line(message, 500)
              }\n`
            ),
          false
        )
      )
    )
  })

const forget = (provider: string, config: HanzoConfig) =>
  Effect.gen(function*() {
    const store = yield* CredentialStore
    const terminal = yield* Terminal
    // an entry that is no login any more can be taken away all the same
    const found = yield* Effect.orElseSucceed(store.get(provider), () => Option.none<ProviderCredential>())
    if (Option.isSome(found)) {
      yield* Effect.mapError(store.ready, credentialExit)
      yield* revoke(found.value, config)
    }
    const removed = yield* Effect.mapError(store.remove(provider), credentialExit)
    if (removed) yield* terminal.err(`logged out of ${shown(provider)}\n`)
    return removed
  })

/** Exit code 2 when there is no such login. @since 0.1.0 @category combinators */
export const logout = Effect.fn("Cli.auth.logout")(function*(values: Spec.Values<typeof Spec.authLogout>) {
  const { config } = yield* soundConfig
  const terminal = yield* Terminal
  const environment = yield* Environment
  const [given] = values.args
  if (values.all && given !== undefined) return yield* usage("name a provider or say --all, not both")
  const names = yield* stored
  if (values.all) {
    for (const name of names) yield* forget(name, config)
    if (names.length === 0) yield* terminal.err("there are no logins\n")
    return ExitCode.done
  }
  const provider = given ?? names[0]
  if (provider === undefined) return yield* usage("there are no logins")
  if (given === undefined && names.length > 1) {
    return yield* usage("there are several logins: name one, or say --all", `stored: ${line(names.join(", "), 500)}`)
  }
  if (!names.includes(provider)) {
    const others = names.length === 0 ? "nobody is logged in" : `stored: ${line(names.join(", "), 500)}`
    return yield* noLogin(provider, find(environment, provider, config), others)
  }
  yield* forget(provider, config)
  const key = find(environment, provider, config)
  if (Option.isSome(key)) {
    yield* terminal.err(`an API key of ${shown(provider)} is still set: ${line(key.value.source, 200)}\n`)
  }
  return ExitCode.done
})

/** Each login, due or not; exit code 2 when one has to be made anew, 1 when a server could not be asked. @since 0.1.0 @category combinators */
export const refresh = Effect.fn("Cli.auth.refresh")(function*(values: Spec.Values<typeof Spec.authRefresh>) {
  const { config } = yield* soundConfig
  const store = yield* CredentialStore
  const terminal = yield* Terminal
  const environment = yield* Environment
  const [given] = values.args
  const names = yield* stored
  if (given !== undefined && !names.includes(given)) {
    return yield* noLogin(given, find(environment, given, config))
  }
  if (names.length === 0) return yield* usage("there are no logins", `to log in: ${program} auth login PROVIDER`)
  const problems: Array<CredentialError> = []
  for (const name of given === undefined ? names : [given]) {
    const done = yield* Effect.either(store.refresh(name, config))
    if (done._tag === "Right") {
      const until = untilText(done.right.expires_at, yield* Clock.currentTimeMillis)
      yield* terminal.err(`${shown(name)} is refreshed, ${until}\n`)
    } else problems.push(done.left)
  }
  if (problems.length === 0) return ExitCode.done
  const exits = problems.map(credentialExit)
  return yield* new CliExit({
    exit_code: Math.max(...exits.map(({ exit_code }) => exit_code)),
    lines: exits.flatMap(({ lines }) => lines)
  })
})

/** What a request would carry: prints it and nothing else. @since 0.1.0 @category combinators */
export const token = Effect.fn("Cli.auth.token")(function*(values: Spec.Values<typeof Spec.authToken>) {
  const { config } = yield* soundConfig
  const credentials = yield* Credentials
  const [given] = values.args
  const of = (provider: string) => Effect.mapError(credentials.keyFor(provider, config), credentialExit)
  if (given !== undefined) {
    const found = yield* of(given)
    if (Option.isNone(found)) {
      return yield* usage(
        `there is no key and no login of ${shown(given)}`,
        `to log in: ${program} auth login ${shown(given)}`
      )
    }
    yield* print(`${Redacted.value(found.value.key)}\n`)
    return ExitCode.done
  }
  for (const kind of ["api_key", "login"] as const) {
    const found = yield* credentials.detect(kind, config)
    if (Option.isSome(found)) {
      yield* Effect.mapError(carried(Option.some(found.value.credential)), credentialExit)
      yield* print(`${Redacted.value(found.value.credential.key)}\n`)
      return ExitCode.done
    }
  }
  const names = yield* stored
  const [only] = names
  const last = names.length === 1 && only !== undefined ? yield* of(only) : Option.none<Credential>()
  if (Option.isNone(last)) {
    return yield* usage(
      "there is no key and no login to print",
      names.length > 1
        ? `name one of the logins: ${line(names.join(", "), 500)}`
        : `to log in: ${program} auth login PROVIDER`
    )
  }
  yield* print(`${Redacted.value(last.value.key)}\n`)
  return ExitCode.done
})
