/** The program as whoever logs in drives it: a process, a provider in this one, a browser in the test. */
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import type { OidcServer } from "../support/oidc/Provider.ts"
import { eventually, type Home, makeHome, program } from "./support.ts"

export const scopes = ["openid", "offline_access"]

export const corp = ({ client_id, issuer }: OidcServer, more: Record<string, unknown> = {}) => ({
  auth: {
    providers: { corp: { issuer, client_id, scopes, authorization_parameters: { prompt: "consent" }, ...more } }
  }
})

export const home = (settings: unknown) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const made = makeHome()
      made.settings(settings)
      return made
    }),
    (made) => Effect.sync(made.remove)
  )

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly ended: Effect.Effect<Ended>
  /** Waits for what stderr says; gives the first group. */
  readonly said: (what: RegExp) => Effect.Effect<string>
  readonly type: (text: string) => Effect.Effect<void>
}

export interface StartOptions {
  readonly env?: Record<string, string>
  /** Whole stdin; absent = it stays open. */
  readonly stdin?: string
  /** A program before it, with its arguments. */
  readonly before?: ReadonlyArray<string>
  /** Runs as this user and group. */
  readonly user?: number
  /** The whole command in its place. */
  readonly command?: ReadonlyArray<string>
}

export const start = (at: Home, args: ReadonlyArray<string>, options: StartOptions = {}): Started => {
  const [file = "", ...rest] = options.command ?? [...options.before ?? [], process.execPath, program, ...args]
  const child = spawn(file, rest, {
    cwd: at.project,
    env: { ...at.env, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
    ...(options.user === undefined ? {} : { uid: options.user, gid: options.user })
  })
  child.stdin.on("error", () => {})
  if (options.stdin !== undefined) child.stdin.end(options.stdin)
  let stdout = ""
  let stderr = ""
  let closed = false
  child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text)
  child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text)
  const done = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", (code, signal) => {
      closed = true
      resolve({ code, signal, stdout, stderr })
    })
  })
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended: Effect.promise(() => done),
    said: (what) =>
      Effect.promise(async () => {
        await eventually(`${String(what)} in ${args.join(" ")}`, () => what.test(stderr) || closed, 20_000)
        const found = what.exec(stderr)
        if (found === null) throw new Error(`it ended without ${String(what)}: ${stderr}`)
        return found[1] ?? ""
      }),
    type: (text) => Effect.sync(() => void child.stdin.write(text))
  }
}

export const run = (at: Home, args: ReadonlyArray<string>, options: StartOptions = {}): Effect.Effect<Ended> =>
  start(at, args, { stdin: "", ...options }).ended

/** The address that a login shows. */
export const address = /^ {2}(https?:\/\/\S+)$/mu

export const credentialsFile = (at: Home): string => path.join(at.env["HANZO_CONFIG_HOME"] ?? "", "credentials.json")

export interface StoredEntry {
  readonly access_token: string
  readonly refresh_token?: string
  readonly expires_at: number | null
  readonly [key: string]: unknown
}

export const entries = (at: Home): Readonly<Record<string, StoredEntry>> =>
  JSON.parse(fs.readFileSync(credentialsFile(at), "utf8")) as Record<string, StoredEntry>

export const entry = (at: Home, provider: string): StoredEntry => {
  const found = entries(at)[provider]
  if (found === undefined) throw new Error(`no login of ${provider}`)
  return found
}

export const writeLogins = (at: Home, logins: object): void =>
  fs.writeFileSync(credentialsFile(at), JSON.stringify(logins), { mode: 0o600 })

/** An executable of the test. */
export const executable = (at: Home, name: string, text: string): string => {
  const directory = path.join(at.dir, "bin")
  fs.mkdirSync(directory, { recursive: true })
  const file = path.join(directory, name)
  fs.writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return file
}
