/**
 * `hanzo-dev auth login`: one login from the question to the file, in the browser, by a code typed elsewhere, or by
 * pasting. Everything is said on stderr.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { line, neutralise } from "../codec/TerminalText.ts"
import { Config } from "../config/Config.ts"
import type { HanzoConfig } from "../config/Schema.ts"
import { CredentialStore } from "../credentials/CredentialStore.ts"
import { find } from "../credentials/Credentials.ts"
import { Login } from "../credentials/Login.ts"
import type { LoginEvent } from "../credentials/LoginEvents.ts"
import type { LoginFlow } from "../credentials/LoginServers.ts"
import type { ProviderCredential } from "../credentials/ProviderCredential.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import { revoke } from "./Auth.ts"
import { credentialExit, oauthExit, spanText, untilText } from "./AuthExit.ts"
import { CliExit, failed } from "./Exit.ts"
import type * as Spec from "./Spec.ts"

type LoginValues = Spec.Values<typeof Spec.authLogin>

/** The flow that the switches ask for; undefined = as the settings and the server suggest. @since 0.1.0 @category combinators */
export const flowOf = (values: LoginValues, provider: string, config: HanzoConfig): LoginFlow | undefined => {
  if (values.paste) return "code"
  if (!values.device) return undefined
  const { providers } = config.auth
  const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined
  return own?.flow === "device_json" || (own?.flow === undefined && own?.device_poll_endpoint !== undefined)
    ? "device_json"
    : "device"
}

/** What of a login is said to the person. `now` in milliseconds. @since 0.1.0 @category encoding */
export const eventText = (event: LoginEvent, now: number, pastes: boolean): string => {
  switch (event.type) {
    case "address":
      return [
        event.why === null
          ? "opening the browser; if nothing happens, open this address:"
          : `${event.why}: open this address in any browser and log in:`,
        `  ${neutralise(event.url)}`,
        ...(pastes
          ? [
            event.why === null
              ? "or paste the address that the browser ends at:"
              : "then paste the address that the browser ends at, even if it shows an error there, or the code it shows:"
          ]
          : []),
        ""
      ].join("\n")
    case "browser_failed":
      return `the browser could not be opened: open this address yourself:\n  ${neutralise(event.url)}\n`
    case "paste_rejected":
      return `${line(event.message, 500)}\n`
    case "device_code":
      return [
        "open this address on any device:",
        `  ${neutralise(event.verification_uri)}`,
        "and type this code:",
        `  ${neutralise(event.user_code)}`,
        ...(event.verification_uri_complete === null
          ? []
          : ["or open the address with the code in it:", `  ${neutralise(event.verification_uri_complete)}`]),
        `the code is good for ${spanText(event.expires_at - now / 1_000)}`,
        ""
      ].join("\n")
    case "delayed":
      return `${line(event.message, 500)}; trying again in ${spanText(event.delay_ms / 1_000)}\n`
    case "exchanging":
      return "fetching the tokens\n"
  }
}

const interrupted = new CliExit({ exit_code: ExitCode.interrupted, lines: [] })

const nothingPasted = failed(
  "nothing was pasted that ends the login: stdin has ended",
  "give the address that the browser ended at, or the code, on the terminal or through stdin"
)

/**
 * Lines that the person pastes, on a terminal or through stdin; Ctrl-C at the question fails `stop`. So does the end of
 * the input where nothing else can end the login (`only`); else a browser still may.
 *
 * @since 0.1.0
 * @category combinators
 */
export const pasting = (
  stop: Deferred.Deferred<never, CliExit>,
  only = false
): Effect.Effect<Effect.Effect<string>, never, Terminal> =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    const atEnd = only ? Effect.zipRight(Deferred.fail(stop, nothingPasted), Effect.never) : Effect.never
    if (terminal.stdin_kind === "terminal") {
      return Effect.flatMap(terminal.readLine(""), (answer) =>
        answer.type === "line"
          ? Effect.succeed(answer.text)
          : answer.type === "interrupt"
          ? Effect.zipRight(Deferred.fail(stop, interrupted), Effect.never)
          : atEnd)
    }
    const lines = yield* Queue.unbounded<string | null>()
    // A read of stdin that waits cannot be taken back: it ends with the process, not with the login.
    yield* terminal.lines.pipe(
      Stream.runForEach((text) => text.trim() === "" ? Effect.void : Queue.offer(lines, text)),
      Effect.ignore,
      // behind the lines: one of them may end the login
      Effect.zipRight(Queue.offer(lines, null)),
      Effect.forkDaemon
    )
    return Effect.flatMap(Queue.take(lines), (text) => text === null ? atEnd : Effect.succeed(text))
  })

/** A file that no login can be put into is found out before anybody logs in. True = it may be replaced. */
const mayReplace = (provider: string): Effect.Effect<boolean, CliExit, CredentialStore | Terminal> =>
  Effect.gen(function*() {
    const store = yield* CredentialStore
    const terminal = yield* Terminal
    const found = yield* Effect.either(store.get(provider))
    if (found._tag === "Right") return false
    if (found.left.reason !== "corrupt" || terminal.stdin_kind !== "terminal") return yield* credentialExit(found.left)
    yield* terminal.err(`${line(found.left.message, 1000)}\n`)
    yield* terminal.err("y replaces it; the old one is kept under another name. Anything else ends the login.\n")
    const answer = yield* terminal.readLine("> ")
    if (answer.type === "interrupt") return yield* interrupted
    return answer.type === "line" && /^y(?:es)?$/iu.test(answer.text.trim()) ? true : yield* credentialExit(found.left)
  })

/** What became of a login, in one line. `now` in milliseconds. @since 0.1.0 @category encoding */
export const resultText = (
  { expires_at, issuer, provider, refresh_token, scopes }: ProviderCredential,
  now: number
): string =>
  [
    `logged in to ${line(provider, 80)}${issuer === undefined ? "" : ` at ${line(issuer, 200)}`}`,
    untilText(expires_at, now) + (refresh_token === null ? ", and not to be refreshed" : ", refreshed when due"),
    ...(scopes === undefined ? [] : [`scopes ${line(scopes.join(" "), 500)}`])
  ].join("; ")

/** Exit code 2 when no login is set up, 1 when it was refused or nobody finished it. @since 0.1.0 @category combinators */
export const login = (provider: string, values: LoginValues) =>
  Effect.gen(function*() {
    const { config } = yield* Config
    const terminal = yield* Terminal
    const environment = yield* Environment
    const store = yield* CredentialStore
    const logins = yield* Login
    const replace_corrupt = yield* mayReplace(provider)
    yield* Effect.mapError(store.ready, credentialExit)
    const flow = flowOf(values, provider, config)
    const by_hand = values.paste || values["no-browser"]
    const stop = yield* Deferred.make<never, CliExit>()
    const pastes = flow !== "device" && flow !== "device_json" && (by_hand || terminal.stdin_kind === "terminal")
    const pasted = pastes ? yield* pasting(stop, values.paste) : undefined
    const credential = yield* Effect.raceFirst(
      Effect.mapError(
        logins.login(provider, config, {
          ...(flow === undefined ? {} : { flow }),
          ...(by_hand ? { browser: false } : {}),
          ...(pasted === undefined ? {} : { pasted }),
          events: (event) =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => terminal.err(eventText(event, now, pastes)))
        }),
        oauthExit
      ),
      Deferred.await(stop)
    )
    const { kept } = yield* Effect.catchAll(store.store(credential, { replace_corrupt }), (error) =>
      Effect.gen(function*() {
        const { exit_code, lines } = credentialExit(error)
        const revoked = yield* revoke(credential, config)
        return yield* new CliExit({
          exit_code,
          lines: [
            ...lines,
            revoked
              ? "the login could not be stored, so the server has revoked it: log in again when it can be"
              : "the login could not be stored and is lost: log in again when it can be"
          ]
        })
      }))
    if (kept !== null) {
      yield* terminal.err(`the old file is kept as ${line(kept, 1000)}\n`)
    }
    yield* terminal.err(
      `${resultText(credential, yield* Clock.currentTimeMillis)}; stored in ${line(store.file, 1000)}\n`
    )
    const first = find(environment, provider, config)
    if (Option.isSome(first)) {
      yield* terminal.err(
        `it is not used for now: the API key of ${
          line(first.value.source, 200)
        } goes first; take that away to use the login\n`
      )
    }
    return ExitCode.done
  })
