/**
 * `hanzo-dev mcp auth SERVER`: a login at an MCP server from the question to the file, and the way back. Everything is
 * said on stderr.
 *
 * @since 0.1.0
 */
import * as Path from "@effect/platform/Path"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { line } from "../codec/TerminalText.ts"
import type { CredentialError } from "../credentials/CredentialError.ts"
import { CredentialStore } from "../credentials/CredentialStore.ts"
import type { OAuthClient, OAuthError } from "../credentials/OAuthClient.ts"
import { ExitCode } from "../domain/Failure.ts"
import { McpAuth } from "../mcp/Auth.ts"
import { type AuthTarget, headlessGrant } from "../mcp/AuthLogins.ts"
import { define } from "../mcp/Definition.ts"
import { McpError } from "../mcp/McpError.ts"
import { Environment, variable } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import { credentialExit, oauthExit, untilText } from "./AuthExit.ts"
import { eventText, pasting, resultText } from "./AuthLogin.ts"
import { type CliExit, usage } from "./Exit.ts"
import { entryOf } from "./McpShow.ts"
import { anyConfig, soundConfig } from "./Output.ts"
import type { Values } from "./Spec.ts"
import type { mcpAuth } from "./spec/McpAuth.ts"

type AuthValues = Values<typeof mcpAuth>

/** The server as its definition names it, variables expanded; it must be one over HTTP. */
const targetOf = (name: string, settled: typeof anyConfig | typeof soundConfig) =>
  Effect.gen(function*() {
    const config = yield* settled
    const environment = yield* Environment
    const path = yield* Path.Path
    const entry = yield* entryOf(config, name)
    const shown = line(entry.name, 100)
    const settings = config.config.mcp_servers[entry.name]
    if (entry.status === "untrusted") {
      return yield* usage(`the MCP server ${shown} is untrusted`, ...(entry.reason === null ? [] : [entry.reason]))
    }
    if (settings?.url === undefined) {
      return yield* usage(
        settings?.command === undefined
          ? `the MCP server ${shown} has no definition`
          : `the MCP server ${shown} is a program on this machine: there is nothing to log in to`,
        ...(entry.reason === null ? [] : [entry.reason])
      )
    }
    const { way } = yield* Effect.try({
      try: () =>
        define(entry.name, settings, {
          root: environment.cwd,
          variable: (each) => variable(environment, each) ?? config.config.env[each],
          join: (root, to) => path.resolve(root, to)
        }),
      catch: (cause) => usage(cause instanceof McpError ? cause.message : String(cause))
    })
    if (way.kind === "stdio") return yield* usage(`the MCP server ${shown} is a program on this machine`)
    const target: AuthTarget = {
      server: entry.name,
      url: way.url,
      config: config.config,
      ...(way.oauth === undefined ? {} : { oauth: way.oauth })
    }
    return { entry, target, authorized: Object.keys(way.headers).some((key) => /^authorization$/iu.test(key)) }
  })

const exitOf = (error: OAuthError | CredentialError): CliExit =>
  error._tag === "OAuthError" ? oauthExit(error) : credentialExit(error)

/** A client id that the person has from the server's owner, where nothing else leads to one. */
const askClient: Effect.Effect<OAuthClient | null, never, Terminal> = Effect.gen(function*() {
  const terminal = yield* Terminal
  if (terminal.stdin_kind !== "terminal") return null
  yield* terminal.err("the authorization server registers no clients by itself; client id, or nothing to stop:\n")
  const answer = yield* terminal.readLine("> ")
  const client_id = answer.type === "line" ? answer.text.trim() : ""
  return client_id === "" ? null : { client_id }
})

const logIn = (target: AuthTarget, values: AuthValues) =>
  Effect.gen(function*() {
    const auth = yield* McpAuth
    const terminal = yield* Terminal
    const store = yield* CredentialStore
    // A file that no login can be put into is found out before anybody logs in.
    yield* Effect.mapError(store.list, credentialExit)
    const by_hand = values.paste || values["no-browser"]
    const stop = yield* Deferred.make<never, CliExit>()
    const pastes = !values.device && (by_hand || terminal.stdin_kind === "terminal")
    const pasted = pastes ? yield* pasting(stop, values.paste) : undefined
    const client = yield* Effect.map(Effect.context<Terminal>(), (context) => Effect.provide(askClient, context))
    const credential = yield* Effect.raceFirst(
      Effect.mapError(
        auth.login(target, {
          ...(by_hand ? { browser: false } : {}),
          ...(values.device ? { device: true } : {}),
          ...(pasted === undefined ? {} : { pasted }),
          scopes: values.scope,
          client,
          events: (event) =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => terminal.err(eventText(event, now, pastes)))
        }),
        exitOf
      ),
      Deferred.await(stop)
    )
    const now = yield* Clock.currentTimeMillis
    const grant = headlessGrant(target)
    yield* terminal.err(
      grant === null
        ? `${resultText({ ...credential, provider: target.server }, now)}; stored in ${line(store.file, 1_000)}\n`
        : `${line(target.server, 100)} takes a token by ${grant}, ${
          untilText(credential.expires_at, now)
        }; it is not stored: the program gets one whenever it needs one\n`
    )
    return ExitCode.done
  })

/** Exit code 2 when there is nothing to log in to, 1 when it was refused or nobody finished it. @since 0.1.0 @category combinators */
export const execute = Effect.fn("Cli.mcp.auth")(function*(values: AuthValues) {
  const { authorized, entry, target } = yield* targetOf(values.args[0] ?? "", values.logout ? anyConfig : soundConfig)
  const terminal = yield* Terminal
  const auth = yield* McpAuth
  const shown = line(target.server, 100)
  if (values.logout) {
    const count = yield* Effect.mapError(auth.logout(target), credentialExit)
    yield* terminal.err(count === 0 ? `there is no login at ${shown}\n` : `the login at ${shown} is forgotten\n`)
    return ExitCode.done
  }
  if (entry.status !== "enabled" && entry.status !== "disabled") {
    return yield* usage(
      `the MCP server ${shown} is ${line(entry.status, 40)}`,
      ...(entry.reason === null ? [] : [entry.reason])
    )
  }
  if (authorized) {
    return yield* usage(
      `the MCP server ${shown} has an authorization of its own in its headers, which goes before any login`,
      "take it out of the settings to log in"
    )
  }
  return yield* logIn(target, values)
})
