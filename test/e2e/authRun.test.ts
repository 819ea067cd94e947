/** Logins and runs share one path: many processes, refreshes between turns, disks and directories that take nothing. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { startTokenServer, type TokenServer, type TokenServerOptions } from "../support/tokenServer.ts"
import { startUpstream, type Upstream, type UpstreamOptions, type Wire } from "../support/upstream/index.ts"
import { credentialsFile, entry, home, run, start, type StartOptions, writeLogins } from "./authSupport.ts"
import { eventually, type Home } from "./support.ts"

const tokenServer = (options: TokenServerOptions = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => startTokenServer(options)),
    (server) => Effect.promise(() => server.close())
  )

const upstreamOf = (options: UpstreamOptions) =>
  Effect.acquireRelease(
    Effect.promise(() => startUpstream(options)),
    (upstream) => Effect.promise(() => upstream.close())
  )

const authOf = (server: TokenServer) => ({
  providers: {
    corp: {
      token_endpoint: `${server.url}/token`,
      authorization_endpoint: `${server.url}/authorize`,
      client_id: "client"
    }
  }
})

const settings = (server: TokenServer, upstream?: Upstream, protocol: Wire = "responses") => ({
  auth: authOf(server),
  ...(upstream === undefined ? {} : {
    model: "corp/fake-model",
    providers: { corp: { protocol, base_url: `${upstream.url}/v1`, retry_base_ms: 1, retry_max_ms: 20 } }
  })
})

const expired = { corp: { access_token: "access-0", refresh_token: "refresh-0", expires_at: 1 } }
const runArgs = ["run", "--permission-mode", "bypass", "--output-format", "json", "go"]

describe("many processes", () => {
  it.scopedLive("6.8: 20 that need a token at the same moment after expiry: one refresh, all succeed, the family lives", () =>
    Effect.gen(function*() {
      const server = yield* tokenServer({ delay_ms: 300 })
      const at = yield* home(settings(server))
      writeLogins(at, expired)
      const all = Array.from({ length: 20 }, () => start(at, ["auth", "token", "corp"], { stdin: "" }))
      const ended = yield* Effect.all(all.map((one) => one.ended))
      for (const { code, stderr, stdout } of ended) {
        assert.deepStrictEqual([code, stdout, stderr], [0, "access-1\n", ""])
      }
      assert.deepStrictEqual(server.refreshes, ["refresh-0"])
      assert.isFalse(server.reused())
      assert.isTrue(server.opens("access-1"))
      // the family is alive: what was stored can be refreshed again
      assert.strictEqual((yield* run(at, ["auth", "refresh", "corp"])).code, 0)
      assert.isTrue(server.opens(entry(at, "corp").access_token))
      assert.deepStrictEqual(fs.readdirSync(path.dirname(credentialsFile(at))).sort(), [
        "credentials.json",
        "settings.json"
      ])
    }))

  it.scopedLive("6.9: kill -9 while the answer is on its way: the old file is whole, nobody is blocked, the way out is said", () =>
    Effect.gen(function*() {
      const server = yield* tokenServer({ delay_ms: 2_000 })
      const at = yield* home(settings(server))
      writeLogins(at, expired)
      const before = fs.readFileSync(credentialsFile(at), "utf8")
      const one = start(at, ["auth", "token", "corp"], { stdin: "" })
      yield* Effect.promise(() => eventually("the request", () => server.refreshes.length === 1, 20_000))
      one.child.kill("SIGKILL")
      assert.strictEqual((yield* one.ended).signal, "SIGKILL")
      assert.strictEqual(fs.readFileSync(credentialsFile(at), "utf8"), before)
      const next = yield* run(at, ["auth", "token", "corp"])
      assert.deepStrictEqual([next.code, next.stdout], [2, ""])
      assert.match(next.stderr, /log in again \(hanzo-dev auth login corp\)/u)
      assert.strictEqual(fs.readFileSync(credentialsFile(at), "utf8"), before)
    }))

  it.scopedLive("6.9: kill -9 between the answer and the rename: the old file is whole, nothing is readable for others", () =>
    Effect.gen(function*() {
      const server = yield* tokenServer()
      const at = yield* home(settings(server))
      writeLogins(at, expired)
      const before = fs.readFileSync(credentialsFile(at), "utf8")
      const trap = path.join(at.dir, "kill.cjs")
      fs.writeFileSync(
        trap,
        "const fs = require('node:fs'); const { rename } = fs\n" +
          "fs.rename = (from, to, done) => {\n" +
          "  if (String(to).endsWith('credentials.json')) process.kill(process.pid, 'SIGKILL')\n" +
          "  rename(from, to, done) }\n"
      )
      const killed = yield* run(at, ["auth", "refresh", "corp"], { env: { NODE_OPTIONS: `--require ${trap}` } })
      assert.strictEqual(killed.signal, "SIGKILL", killed.stderr)
      assert.deepStrictEqual(server.refreshes, ["refresh-0"])
      assert.strictEqual(fs.readFileSync(credentialsFile(at), "utf8"), before)
      const config = path.dirname(credentialsFile(at))
      for (const name of fs.readdirSync(config).filter((each) => each !== "settings.json")) {
        assert.strictEqual(fs.statSync(path.join(config, name)).mode & 0o077, 0, name)
      }
      // what was lost cannot be had again: a new login is all it takes
      const next = yield* run(at, ["auth", "token", "corp"])
      assert.strictEqual(next.code, 2)
      assert.match(next.stderr, /log in again/u)
      writeLogins(at, { corp: { access_token: "access-1", expires_at: null } })
      assert.strictEqual((yield* run(at, ["auth", "token", "corp"])).stdout, "access-1\n")
    }))
})

describe("places that take nothing", () => {
  const nobody = 65_534
  const root = process.getuid?.() === 0

  it.scopedLive("6.10: a read-only directory: a clear error, exit 1, no refresh token is used up; a login that holds is used", () =>
    Effect.gen(function*() {
      const server = yield* tokenServer()
      const at = yield* home(settings(server))
      writeLogins(at, expired)
      const config = path.dirname(credentialsFile(at))
      fs.chmodSync(at.dir, 0o755)
      if (root) {
        for (const file of [config, credentialsFile(at), path.join(config, "settings.json")]) {
          fs.chownSync(file, nobody, nobody)
        }
      }
      fs.chmodSync(config, 0o500)
      const options: StartOptions = root ? { user: nobody } : {}
      const due = yield* run(at, ["auth", "token", "corp"], options)
      const forced = yield* run(at, ["auth", "refresh", "corp"], options)
      fs.chmodSync(config, 0o700)
      for (const { code, stderr, stdout } of [due, forced]) {
        assert.deepStrictEqual([code, stdout], [1, ""], stderr)
        assert.match(stderr, /credentials\.json\.lock: .*the directory must be writable/u)
      }
      assert.deepStrictEqual(server.refreshes, [])
      writeLogins(at, { corp: { ...expired.corp, expires_at: null } })
      fs.chmodSync(config, 0o500)
      const good = yield* run(at, ["auth", "token", "corp"], options)
      fs.chmodSync(config, 0o700)
      assert.deepStrictEqual([good.code, good.stdout], [0, "access-0\n"], good.stderr)
    }))

  const mounts = spawnSync("unshare", ["-rm", "sh", "-c", "mount -t tmpfs -o size=32k none /mnt"]).status === 0
  if (!mounts) process.stderr.write("skipped: a full disk, since no file system can be made here (unshare -rm)\n")

  it.scopedLive.runIf(mounts)(
    "a full disk: exit 1, no refresh token is used up, the old file is whole",
    () =>
      Effect.gen(function*() {
        const server = yield* tokenServer()
        const at = yield* home(settings(server))
        writeLogins(at, expired)
        const config = path.dirname(credentialsFile(at))
        const keep = path.join(at.dir, "keep")
        fs.cpSync(config, keep, { recursive: true })
        const script =
          `mount -t tmpfs -o size=32k none "${config}" && cp "${keep}"/* "${config}" && chmod 600 "${config}"/* && ` +
          `{ head -c 100000 /dev/zero > "${config}/fill"; "$@"; code=$?; cp "${config}/credentials.json" "${keep}/after"; exit $code; }`
        const { code, stderr } = yield* run(at, ["auth", "refresh", "corp"], {
          before: ["unshare", "-rm", "sh", "-c", script, "sh"]
        })
        assert.strictEqual(code, 1, stderr)
        assert.match(stderr, /no space left/u)
        assert.deepStrictEqual(server.refreshes, [])
        assert.strictEqual(
          fs.readFileSync(path.join(keep, "after"), "utf8"),
          fs.readFileSync(credentialsFile(at), "utf8")
        )
      })
  )
})

describe("login and chat share one path", () => {
  for (const protocol of ["anthropic", "responses", "chat"] as const) {
    it.scopedLive(`${protocol}: what refreshes in auth status refreshes in run, and each sees what the other has stored`, () =>
      Effect.gen(function*() {
        const keys: Array<string> = []
        const server = yield* tokenServer({ issued: (token) => keys.splice(0, keys.length, token) })
        const upstream = yield* upstreamOf({ keys, final_text: "the end" })
        const at = yield* home(settings(server, upstream, protocol))
        writeLogins(at, expired)
        const first = yield* run(at, runArgs)
        assert.strictEqual(first.code, 0, first.stderr)
        assert.deepStrictEqual(server.refreshes, ["refresh-0"])
        const expire = () => writeLogins(at, { corp: { ...entry(at, "corp"), expires_at: 1 } })
        expire()
        const status = yield* run(at, ["auth", "status"])
        assert.match(status.stdout, /corp: good until/u)
        assert.deepStrictEqual(server.refreshes, ["refresh-0", "refresh-1"])
        assert.strictEqual((yield* run(at, runArgs)).code, 0)
        assert.deepStrictEqual(server.refreshes, ["refresh-0", "refresh-1"])
        expire()
        assert.strictEqual((yield* run(at, runArgs)).code, 0)
        assert.deepStrictEqual(server.refreshes, ["refresh-0", "refresh-1", "refresh-2"])
        assert.strictEqual((yield* run(at, ["auth", "refresh", "corp"])).code, 0)
        assert.strictEqual((yield* run(at, runArgs)).code, 0)
        assert.strictEqual(server.refreshes.length, 4)
        assert.isFalse(server.reused())
        assert.deepStrictEqual(
          upstream.log.filter(({ kind }) => kind === "generate").map(({ auth, status }) => [auth, status]),
          Array.from({ length: 4 }, () => [["bearer"], 200])
        )
      }))

    it.scopedLive(`${protocol}: a token that a server ends between two turns of one run: 401, one refresh, the turn goes on`, () =>
      Effect.gen(function*() {
        const keys = ["access-0"]
        const server = yield* tokenServer({ issued: (token) => void keys.push(token) })
        const upstream = yield* upstreamOf({
          keys,
          script: ({ turn }) => {
            // served with the old one: from now on it is no longer good
            if (turn === 1) keys.splice(0)
            return turn === 1
              ? { blocks: [{ kind: "call", name: "bash", arguments: { command: "echo between" } }] }
              : { blocks: [{ kind: "text", text: "the end" }] }
          }
        })
        const at = yield* home(settings(server, upstream, protocol))
        writeLogins(at, { corp: { ...expired.corp, expires_at: null } })
        const { code, stderr, stdout } = yield* run(at, runArgs)
        assert.strictEqual(code, 0, stderr)
        assert.include(stdout, "the end")
        assert.deepStrictEqual(server.refreshes, ["refresh-0"])
        assert.deepStrictEqual(
          upstream.log.filter(({ kind }) => kind === "generate").map(({ status }) => status),
          [200, 401, 200]
        )
        assert.strictEqual(entry(at, "corp").access_token, "access-1")
      }))
  }

  it.scopedLive("a token whose time comes between two turns of one run is refreshed before the second, without a 401", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      // a minute before its time it is due: two seconds after it was given
      const server = yield* tokenServer({ expires_in: 62, issued: (token) => keys.splice(0, keys.length, token) })
      const upstream = yield* upstreamOf({
        keys,
        tool_turns: 1,
        arguments: { command: "sleep 3" },
        final_text: "the end"
      })
      const at = yield* home(settings(server, upstream))
      writeLogins(at, expired)
      const { code, stderr } = yield* run(at, runArgs)
      assert.strictEqual(code, 0, stderr)
      assert.deepStrictEqual(server.refreshes, ["refresh-0", "refresh-1"])
      assert.deepStrictEqual(
        upstream.log.filter(({ kind }) => kind === "generate").map(({ status }) => status),
        [200, 200]
      )
    }))

  it.scopedLive("a login that cannot be refreshed: the run ends with exit 2 and says how to log in", () =>
    Effect.gen(function*() {
      const server = yield* tokenServer({ answer: () => ({ status: 400, body: { error: "invalid_grant" } }) })
      const at = yield* home({
        auth: authOf(server),
        model: "corp/fake-model",
        providers: {
          corp: { protocol: "chat", base_url: "https://models.example.invalid/v1", api_key_env: "CORP_KEY" }
        }
      })
      writeLogins(at, expired)
      const { code, stderr } = yield* run(at, ["run", "go"])
      assert.strictEqual(code, 2)
      assert.include(stderr, "the login of corp is no longer good")
      assert.include(stderr, "hanzo-dev auth login corp")
    }))
})

describe("what a run loads", () => {
  /** oauth4webapi looks at `navigator` when it is initialised, which nothing else of the program does. */
  const trapped = (at: Home): StartOptions => {
    const trap = path.join(at.dir, "trap.cjs")
    fs.writeFileSync(
      trap,
      "Object.defineProperty(globalThis, 'navigator', { configurable: true, get() {\n" +
        "  require('node:fs').writeFileSync(process.env.TRAP, ''); return undefined } })\n"
    )
    return { env: { NODE_OPTIONS: `--require ${trap}`, TRAP: path.join(at.dir, "trapped") } }
  }

  it.scopedLive("no OAuth module with a key, nor with a login that holds; only a refresh brings them", () =>
    Effect.gen(function*() {
      const keys = ["access-0", "a-key-of-the-environment", "access-1"]
      const server = yield* tokenServer()
      const upstream = yield* upstreamOf({ keys })
      const at = yield* home({
        ...settings(server, upstream),
        providers: { corp: { protocol: "responses", base_url: `${upstream.url}/v1`, api_key_env: "CORP_KEY" } }
      })
      const options = trapped(at)
      const mark = path.join(at.dir, "trapped")
      const withKey = yield* run(at, runArgs, { env: { ...options.env, CORP_KEY: "a-key-of-the-environment" } })
      assert.strictEqual(withKey.code, 0, withKey.stderr)
      assert.isFalse(fs.existsSync(mark))
      writeLogins(at, { corp: { ...expired.corp, expires_at: null } })
      assert.strictEqual((yield* run(at, runArgs, options)).code, 0)
      assert.isFalse(fs.existsSync(mark))
      writeLogins(at, expired)
      assert.strictEqual((yield* run(at, runArgs, options)).code, 0)
      assert.isTrue(fs.existsSync(mark))
    }))
})
