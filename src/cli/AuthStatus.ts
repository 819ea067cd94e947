/**
 * `hanzo-dev auth status`: which keys and logins there are, where from, until when, and which one a request would carry;
 * never a key or token. A login that is due is refreshed first, as a request would do, so that what is said is true.
 * `api_key_command` is not run.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { line } from "../codec/TerminalText.ts"
import type { ConfigService } from "../config/Config.ts"
import type { HanzoConfig } from "../config/Schema.ts"
import { commandOf, settingsLoginOf } from "../credentials/ApiKeys.ts"
import { CredentialStore, type LoginList, type StoredLogin } from "../credentials/CredentialStore.ts"
import { Credentials, find } from "../credentials/Credentials.ts"
import { detectionOrder } from "../credentials/Detection.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Environment, type EnvironmentService } from "../platform/Environment.ts"
import { entryOf } from "../provider/Providers.ts"
import { untilText } from "./AuthExit.ts"
import { columns, print, printJson, soundConfig } from "./Output.ts"
import type { AuthStatus } from "./Schemas.ts"
import { program } from "./Spec.ts"
import type * as Spec from "./Spec.ts"

type Status = AuthStatus
type LoginStatus = Status["logins"][number]
type Used = Status["providers"][number]["uses"]

const none: LoginList = { logins: [], broken: [] }

/** Logins at servers of tools are refreshed when their server is used. */
const ofTools = (provider: string): boolean => provider.startsWith("mcp/")

const statusOf = ({ credential, provider, state }: StoredLogin, problem: string | null): LoginStatus => ({
  provider,
  state,
  expires_at: credential.expires_at,
  scopes: credential.scopes ?? null,
  client_id: credential.client_id ?? null,
  issuer: credential.issuer ?? null,
  resource: credential.resource ?? null,
  refreshable: credential.refresh_token !== null,
  problem
})

/** As a request would do: a login that is due is refreshed. */
const looked = (login: StoredLogin, config: HanzoConfig): Effect.Effect<LoginStatus, never, CredentialStore> =>
  Effect.gen(function*() {
    const store = yield* CredentialStore
    if (login.state !== "due" || ofTools(login.provider)) return statusOf(login, null)
    const renewed = yield* Effect.either(store.refresh(login.provider, config, { than: login.credential.access_token }))
    const now = yield* Effect.orElseSucceed(store.look(login.provider), () => Option.none<StoredLogin>())
    return statusOf(Option.getOrElse(now, () => login), renewed._tag === "Left" ? renewed.left.message : null)
  })

/** What a request to this provider would carry, as far as it can be told without running a command. */
const usesOf = (
  provider: string,
  config: HanzoConfig,
  environment: EnvironmentService,
  logins: ReadonlyArray<LoginStatus>,
  file: string
): Used => {
  const key = find(environment, provider, config)
  if (Option.isSome(key)) return { kind: "api_key", source: key.value.source }
  if (commandOf(provider, config) !== null) return { kind: "api_key_command", source: "settings, api_key_command" }
  const login = logins.find((each) => each.provider === provider)
  if (login !== undefined && login.state !== "needs_login") return { kind: "login", source: file }
  return settingsLoginOf(provider, config) === null ? null : { kind: "login", source: "settings, oauth_credentials" }
}

/** The provider that the settings' model names, when somebody has set one. */
const modelOf = ({ config, origins }: ConfigService, environment: EnvironmentService): Status["model"] => {
  const origin = origins.get("model")
  const slash = config.model.indexOf("/")
  if (origin === undefined || origin === "default" || slash <= 0) return null
  const provider = config.model.slice(0, slash)
  return entryOf(provider, config, environment) === null ? null : { model: config.model, provider, origin }
}

/** @since 0.1.0 @category constructors */
export const report = (
  loaded: ConfigService
): Effect.Effect<Status, never, CredentialStore | Credentials | Environment> =>
  Effect.gen(function*() {
    const { config } = loaded
    const store = yield* CredentialStore
    const credentials = yield* Credentials
    const environment = yield* Environment
    const listed = yield* Effect.either(store.list)
    const { broken, logins: before } = listed._tag === "Right" ? listed.right : none
    const logins = yield* Effect.forEach(before, (login) => looked(login, config), { concurrency: 4 })
    const names = new Set([
      ...detectionOrder,
      ...Object.keys(config.providers),
      ...Object.keys(config.auth.providers),
      ...logins.map(({ provider }) => provider).filter((provider) => !ofTools(provider))
    ])
    const providers = [...names].map((provider) => ({
      provider,
      uses: usesOf(provider, config, environment, logins, store.file)
    }))
    const { candidates, reason, winner } = yield* credentials.explain(config)
    return {
      v: 1,
      ok: providers.some(({ uses }) => uses !== null),
      file: store.file,
      problem: listed._tag === "Left" ? listed.left.message : null,
      logins,
      broken,
      providers,
      model: modelOf(loaded, environment),
      detection: {
        provider: winner?.provider ?? null,
        kind: winner?.kind ?? null,
        reason,
        candidates
      }
    }
  })

const kindText = { api_key: "API key", api_key_command: "API key of a command, run when it is needed", login: "login" }

/** `now` in milliseconds. @since 0.1.0 @category encoding */
export const text = (status: Status, now: number): string => {
  const { broken, detection, file, logins, model, problem, providers } = status
  const shown = (value: string): string => line(value, 200)
  const loginLines = logins.flatMap((login) => [
    `  ${shown(login.provider)}: ${
      login.state === "needs_login"
        ? `no longer good; to log in again: ${program} auth login ${shown(login.provider)}`
        : untilText(login.expires_at, now)
    }${login.state !== "needs_login" && login.refreshable ? ", refreshed when due" : ""}`,
    ...(login.problem === null ? [] : [`    ${line(login.problem, 500)}`]),
    ...[
      ["issuer", login.issuer],
      ["client", login.client_id],
      ["for", login.resource],
      ["scopes", login.scopes === null ? null : login.scopes.join(" ")]
    ].flatMap(([name, value]) => value === null || value === undefined ? [] : [`    ${name} ${line(value, 500)}`])
  ])
  const used = providers.flatMap(({ provider, uses }) =>
    uses === null ? [] : [[`  ${shown(provider)}`, `${kindText[uses.kind]} (${line(uses.source, 300)})`]]
  )
  return [
    `logins in ${line(file, 500)}`,
    ...(problem === null ? [] : [`  ${line(problem, 1000)}`]),
    ...(problem === null && loginLines.length + broken.length === 0 ? ["  none"] : loginLines),
    ...broken.map(({ message }) => `  ${line(message, 500)}`),
    "",
    "what a request carries",
    ...(used.length === 0 ? ["  nothing is set up"] : [columns(used).trimEnd()]),
    "",
    "when no provider is named",
    ...(model === null
      ? []
      : [
        `  the model of the settings names it: ${shown(model.model)} (${model.origin}), so ${
          shown(model.provider)
        } is asked`
      ]),
    `  ${line(detection.reason, 1000)}`,
    ...columns(
      detection.candidates.map((candidate) => [
        `    ${candidate.provider}`,
        candidate.kind === "api_key" ? "API key" : "login",
        candidate.outcome.replaceAll("_", " "),
        candidate.source === null
          ? line(candidate.detail, 300)
          : `${line(candidate.source, 300)}: ${line(candidate.detail, 300)}`
      ])
    ).trimEnd().split("\n"),
    ""
  ].join("\n")
}

/** Exit code 2 when there is neither key nor login. @since 0.1.0 @category combinators */
export const execute = Effect.fn("Cli.auth.status")(function*(values: Spec.Values<typeof Spec.authStatus>) {
  const status = yield* report(yield* soundConfig)
  yield* values.json ? printJson(status) : print(text(status, yield* Clock.currentTimeMillis))
  return status.ok ? ExitCode.done : ExitCode.usage
})
