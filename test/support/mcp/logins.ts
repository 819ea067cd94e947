/** Processes with a home of their own that log in at MCP servers, and the person who does it. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { ofText } from "../../../src/config/Load.ts"
import { CredentialStore } from "../../../src/credentials/CredentialStore.ts"
import type { LoginEvents } from "../../../src/credentials/LoginEvents.ts"
import { McpAuth, type McpAuthService } from "../../../src/mcp/Auth.ts"
import type { AuthTarget, LoginWay } from "../../../src/mcp/AuthLogins.ts"
import { AtomicFile } from "../../../src/platform/AtomicFile.ts"
import { Dirs } from "../../../src/platform/Dirs.ts"
import { Environment } from "../../../src/platform/Environment.ts"
import { Files } from "../../../src/platform/Files.ts"
import { Http } from "../../../src/platform/Http.ts"
import { load, UserAgent } from "../oidc/UserAgent.ts"

const config = ofText("{}").config

export const home = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "mcp-auth-"))),
  (root) => Effect.sync(() => fs.rmSync(root, { recursive: true, force: true }))
)

/** The services of one process whose home is `root`. */
export const processIn = (root: string, vars: Record<string, string> = {}): Effect.Effect<
  { readonly auth: McpAuthService; readonly context: Context.Context<Http | McpAuth | CredentialStore> },
  never,
  Scope.Scope
> =>
  Effect.map(
    Layer.build(
      McpAuth.layer.pipe(
        Layer.provideMerge(CredentialStore.layer),
        Layer.provideMerge(Layer.mergeAll(Http.layer, AtomicFile.layer, Dirs.layer, Files.layer)),
        Layer.provide(Layer.merge(
          NodeFileSystem.layer,
          Environment.layerTest({ home: root, vars: { HANZO_CONFIG_HOME: root, ...vars } })
        ))
      )
    ),
    (context) => ({ auth: Context.get(context, McpAuth), context })
  )

export const storedIn = (root: string): Record<string, Record<string, unknown>> =>
  (JSON.parse(fs.readFileSync(path.join(root, "credentials.json"), "utf8")) as {
    readonly mcp?: Record<string, Record<string, unknown>>
  }).mcp ?? {}

/** A person at a browser; `logins` counts. */
export const person = () => {
  const agent = new UserAgent()
  const logins: Array<string> = []
  const events: LoginEvents = (event) =>
    Effect.gen(function*() {
      if (event.type === "address") {
        logins.push(event.url)
        yield* Effect.forkDaemon(Effect.flatMap(agent.visit(event.url), load))
      }
      if (event.type === "device_code") {
        logins.push(event.verification_uri)
        yield* Effect.forkDaemon(agent.visit(event.verification_uri, { user_code: event.user_code }))
      }
    })
  const way: LoginWay = { browser: false, events }
  return { logins, way }
}

export const targetOf = (url: string, oauth: AuthTarget["oauth"] = {}): AuthTarget => ({
  server: "remote",
  url,
  oauth,
  config
})
