/**
 * Our MCP client, plugged into a conformance suite: `node test/conformance/client.mjs URL`. It connects, lists what there
 * is and calls every tool, whatever the scenario; a login is done by a person who follows the address at once.
 *
 * `MCP_CONFORMANCE_CONTEXT` may hold the calls to make (`toolCalls`), a client (`client_id`, `client_secret`,
 * `private_key_pem`), a workload's assertion (`valid_jwt`), and a person's identity token with who exchanges it (`idp_*`).
 * All of it becomes settings as a user would write them, secrets as the variables and files that those name.
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { isJsonObject, type JsonRpcObject } from "../../src/codec/JsonRpc.ts"
import { ofText } from "../../src/config/Load.ts"
import { CredentialStore } from "../../src/credentials/CredentialStore.ts"
import type { LoginEvents } from "../../src/credentials/LoginEvents.ts"
import { McpAuth } from "../../src/mcp/Auth.ts"
import type { ConnectOptions, McpConnection, McpHandlers, McpTool } from "../../src/mcp/Connection.ts"
import { HttpMcpTransport } from "../../src/mcp/HttpTransport.ts"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Files } from "../../src/platform/Files.ts"
import { Http } from "../../src/platform/Http.ts"

interface Call {
  readonly name: string
  readonly args: JsonRpcObject
}

const url = process.argv[2] ?? ""
const given: unknown = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}")
const context: JsonRpcObject = isJsonObject(given) ? given : {}
const text = (key: string): string | undefined => typeof context[key] === "string" ? context[key] : undefined
/** The revision that a run is about; without one it is found out. */
const revision = process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"]
/** Named by the settings. */
const secretVariables = {
  secret: "CONFORMANCE_CLIENT_SECRET",
  assertion: "CONFORMANCE_ASSERTION",
  id_token: "CONFORMANCE_ID_TOKEN"
}

const home = fs.mkdtempSync(path.join(os.tmpdir(), "mcp-conformance-"))
process.once("exit", () => fs.rmSync(home, { recursive: true, force: true }))

const say = (line: string): Effect.Effect<void> => Effect.sync(() => void process.stderr.write(`${line}\n`))

/** The person: goes to the address and lets the browser come back to us. */
const visit = (address: string): Effect.Effect<void> =>
  Effect.gen(function*() {
    yield* say(`logs in at ${new URL(address).origin}`)
    const answer = yield* Effect.promise(() => fetch(address, { redirect: "manual" }))
    const location = answer.headers.get("location")
    if (location === null) return yield* say(`no redirect, status ${answer.status}`)
    yield* Effect.promise(() => fetch(new URL(location, address)))
  })

const events: LoginEvents = (event) =>
  event.type === "address" ? Effect.asVoid(Effect.forkDaemon(visit(event.url))) : Effect.void

const handlers: McpHandlers = {
  roots: Effect.succeed([{ uri: "file:///project", name: "project" }]),
  sampling: () =>
    Effect.succeed({ model: "conformance", content: [{ type: "text", text: "a sample" }], stop_reason: "endTurn" }),
  // Nothing is filled in: defaults are the client's to apply.
  elicitForm: () => Effect.succeed({ action: "accept", content: {} })
}

const options: ConnectOptions = {
  client_info: { name: "hanzo-dev", version: "0.1.0" },
  handlers,
  // A login is part of connecting here, and dozens of these share the machine; the suite has a limit of its own.
  limits: { connect_timeout_ms: 120_000 },
  ...(revision !== undefined && revision < "2026" ? { protocol: "legacy" } : {})
}

const valueFor = (schema: unknown, at: number): unknown => {
  const { default: fallback, enum: choices, type } = isJsonObject(schema) ? schema : {}
  if (fallback !== undefined) return fallback
  if (Array.isArray(choices)) return choices[0]
  switch (type) {
    case "number":
    case "integer":
      return at + 2
    case "boolean":
      return true
    case "array":
      return []
    case "object":
      return {}
    default:
      return "text"
  }
}

/** An object named `schema` is filled with the schema of the first tool, as it was received. */
const argumentsFor = ({ input_schema }: McpTool, first: McpTool): JsonRpcObject => {
  const { properties } = input_schema
  return isJsonObject(properties)
    ? Object.fromEntries(
      Object.entries(properties).map(([key, schema], at) => [
        key,
        key === "schema" && isJsonObject(schema) && schema["type"] === "object"
          ? first.input_schema
          : valueFor(schema, at)
      ])
    )
    : {}
}

const callsOf = (tools: ReadonlyArray<McpTool>): ReadonlyArray<Call> => {
  const { toolCalls } = context
  const named = Array.isArray(toolCalls)
    ? toolCalls.flatMap((call): ReadonlyArray<Call> =>
      isJsonObject(call) && typeof call["name"] === "string"
        ? [{ name: call["name"], args: isJsonObject(call["arguments"]) ? call["arguments"] : {} }]
        : []
    )
    : []
  return named.length > 0
    ? named
    : tools.map((tool) => ({ name: tool.name, args: argumentsFor(tool, tools[0] ?? tool) }))
}

const use = (connection: McpConnection) =>
  Effect.gen(function*() {
    yield* say(`connected: ${connection.era} ${connection.version}`)
    const tools = yield* connection.listTools
    for (const line of tools.dropped) yield* say(`left out: ${line}`)
    for (const { args, name } of callsOf(tools.items)) {
      const result = yield* connection.callTool(name, args)
      yield* say(`${name}: ${result.is_error ? "error" : "ok"}`)
    }
    const { capabilities } = connection
    if (capabilities["resources"] !== undefined) {
      const [first] = (yield* connection.listResources).items
      if (first !== undefined) yield* connection.readResource(first.uri)
    }
    if (capabilities["prompts"] !== undefined) {
      const [first] = (yield* connection.listPrompts).items
      if (first !== undefined) yield* connection.getPrompt(first.name, {})
    }
  })

const client_id = text("client_id")
const client_secret = text("client_secret")
const private_key = text("private_key_pem")
const assertion = text("valid_jwt")
const id_token = text("idp_id_token")
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? ""
const keyFile = path.join(home, "client.pem")
if (private_key !== undefined) fs.writeFileSync(keyFile, private_key, { mode: 0o600 })

const given_by = (name: string, value: string | undefined): Record<string, string> =>
  value === undefined ? {} : { [name]: value }

/** How this user has set up the server: by what there is to show. */
const grant = id_token !== undefined
  ? "enterprise"
  : assertion !== undefined
  ? "jwt_bearer"
  : private_key !== undefined || scenario.includes("client-credentials")
  ? "client_credentials"
  : "authorization_code"

const settings = {
  mcp_servers: {
    conformance: {
      url,
      oauth: {
        grant,
        client_metadata_url: "https://conformance-test.local/client-metadata.json",
        ...given_by("client_id", client_id),
        ...(client_secret === undefined ? {} : { client_secret_env: secretVariables.secret }),
        ...(private_key === undefined ? {} : { client_key_file: keyFile }),
        ...(assertion === undefined ? {} : { assertion_env: secretVariables.assertion }),
        ...(id_token === undefined ? {} : {
          assertion_env: secretVariables.id_token,
          identity_provider: {
            ...given_by("issuer", text("idp_issuer")),
            ...given_by("token_endpoint", text("idp_token_endpoint")),
            ...given_by("client_id", text("idp_client_id"))
          }
        })
      }
    }
  }
}

const program = Effect.gen(function*() {
  const http = yield* Http
  const auth = yield* McpAuth
  const { config, errors } = ofText(JSON.stringify(settings))
  for (const { message } of errors) yield* say(message)
  const oauth = config.mcp_servers["conformance"]?.oauth
  const authorizer = yield* auth.authorizer({
    server: "conformance",
    url,
    config,
    ...(oauth === undefined ? {} : { oauth })
  }, { browser: false, events })
  const transport = new HttpMcpTransport({ server: "conformance", url }, { http, authorizer })
  yield* Effect.scoped(Effect.flatMap(transport.connect(options), use))
})

const environment = Environment.layerTest({
  home,
  cwd: home,
  vars: {
    HANZO_CONFIG_HOME: home,
    ...given_by(secretVariables.secret, client_secret),
    ...given_by(secretVariables.assertion, assertion),
    ...given_by(secretVariables.id_token, id_token)
  }
})
const layer = McpAuth.layer.pipe(
  Layer.provideMerge(CredentialStore.layer),
  Layer.provideMerge(Layer.mergeAll(Http.layer, AtomicFile.layer, Dirs.layer, Files.layer)),
  Layer.provideMerge(Layer.merge(NodeFileSystem.layer, environment)),
  Layer.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger)))
)

void Effect.runPromiseExit(
  program.pipe(Effect.provide(layer), Logger.withMinimumLogLevel(LogLevel.Info))
).then((exit) => {
  if (Exit.isFailure(exit)) {
    const failure = Cause.failureOption(exit.cause)
    process.stderr.write(`${failure._tag === "Some" ? failure.value.message : Cause.pretty(exit.cause)}\n`)
  }
  process.exitCode = Exit.isSuccess(exit) ? 0 : 1
})
