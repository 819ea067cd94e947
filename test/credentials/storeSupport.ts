/** A home with a file of logins, and a store over it whose refreshes are the test's to answer. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { ofText } from "../../src/config/Load.ts"
import { CredentialStore } from "../../src/credentials/CredentialStore.ts"
import { type OAuthError, type TokenAnswer } from "../../src/credentials/OAuthClient.ts"
import type { ProviderCredential } from "../../src/credentials/ProviderCredential.ts"
import { TokenRefresh } from "../../src/credentials/TokenRefresh.ts"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { type FileCalls, nodeCalls } from "../../src/platform/FileCalls.ts"
import { FileLock } from "../../src/platform/FileLock.ts"
import { Files } from "../../src/platform/Files.ts"

export interface Home {
  readonly root: string
  readonly config: string
  readonly file: string
  readonly write: (content: unknown, mode?: number) => void
  readonly text: () => string
  readonly json: () => Record<string, Record<string, unknown>>
  readonly mode: () => string
  /** What tells whether the file was touched. */
  readonly stamp: () => string
  readonly left: () => ReadonlyArray<string>
}

export const makeHome = Effect.acquireRelease(
  Effect.sync((): Home => {
    const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-logins-")))
    const config = path.join(root, "config")
    const file = path.join(config, "credentials.json")
    return {
      root,
      config,
      file,
      write: (content, mode = 0o600) => {
        fs.mkdirSync(config, { recursive: true, mode: 0o700 })
        fs.writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
        fs.chmodSync(file, mode)
      },
      text: () => fs.readFileSync(file, "utf8"),
      json: () => JSON.parse(fs.readFileSync(file, "utf8")),
      mode: () => (fs.statSync(file).mode & 0o7777).toString(8),
      stamp: () => {
        const { ino, mtimeNs, size } = fs.statSync(file, { bigint: true })
        return `${ino} ${mtimeNs} ${size}`
      },
      left: () => fs.readdirSync(config).sort()
    }
  }),
  ({ root }) => Effect.sync(() => fs.rmSync(root, { recursive: true, force: true }))
)

export const login = (provider: string, more: Partial<ProviderCredential> = {}): ProviderCredential => ({
  provider,
  access_token: Redacted.make(`access-${provider}`),
  refresh_token: Redacted.make(`refresh-${provider}`),
  expires_at: null,
  ...more
})

export const answer = (token: string, more: Partial<TokenAnswer> = {}): TokenAnswer => ({
  access_token: Redacted.make(token),
  refresh_token: Redacted.make(`${token}-refresh`),
  expires_at: 10_000_000,
  scopes: null,
  ...more
})

export const { config: settings } = ofText("{}")

export const configOf = (value: unknown) => ofText(JSON.stringify(value)).config

/** The refresh tokens that were sent, in order. */
export interface Server {
  readonly sent: Array<string>
  answer: (refresh_token: string) => Effect.Effect<TokenAnswer, OAuthError>
}

export const makeServer = (respond: Server["answer"]): Server => ({ sent: [], answer: respond })

export const refreshOver = (server: Server): Layer.Layer<TokenRefresh> =>
  Layer.succeed(TokenRefresh, {
    serverOf: () => Effect.succeed({ server: { issuer: null }, client: { client_id: "c" } }),
    refresh: (_, { refresh_token }) =>
      Effect.suspend(() => {
        server.sent.push(Redacted.value(refresh_token))
        return server.answer(Redacted.value(refresh_token))
      }),
    revoke: () => Effect.void
  })

export const platform = (
  home: Home,
  options: { readonly vars?: Record<string, string>; readonly calls?: FileCalls } = {}
) =>
  Layer.mergeAll(
    NodeFileSystem.layer,
    Files.layer,
    AtomicFile.layerCalls(options.calls ?? nodeCalls),
    Dirs.layerTest(home.root),
    Environment.layerTest({ home: home.root, cwd: home.root, vars: { PATH: "/usr/bin:/bin", ...options.vars } })
  )

export const storeLayer = (home: Home, server: Server, calls?: FileCalls, vars: Record<string, string> = {}) =>
  CredentialStore.layerOver.pipe(
    Layer.provide(Layer.merge(FileLock.layer, refreshOver(server))),
    Layer.provideMerge(platform(home, { vars, ...(calls === undefined ? {} : { calls }) }))
  )
