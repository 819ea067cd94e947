/** `auth login`, `logout`, `status`, `refresh`, `token` as processes, against a real authorization server. */
import { assert, describe, it } from "@effect/vitest"
import { Ajv } from "ajv"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { type OidcOptions, type OidcServer, oidcServer } from "../support/oidc/Provider.ts"
import { load, UserAgent } from "../support/oidc/UserAgent.ts"
import {
  address,
  corp,
  credentialsFile,
  entries,
  entry,
  executable,
  home,
  run,
  scopes,
  start,
  type StartOptions,
  writeLogins
} from "./authSupport.ts"
import { eventually, type Home, program } from "./support.ts"

const setUp = (options: OidcOptions = {}, more: Record<string, unknown> = {}) =>
  Effect.gen(function*() {
    const server = yield* oidcServer(options)
    return { server, at: yield* home(corp(server, more)) }
  })

/** A login without a browser, up to the address that the browser would end at. */
const toCallback = (at: Home, args: ReadonlyArray<string> = ["--no-browser"], options: StartOptions = {}) =>
  Effect.gen(function*() {
    const login = start(at, ["auth", "login", "corp", ...args], options)
    const url = yield* login.said(address)
    const callback = yield* new UserAgent().visit(url)
    return { login, url, callback }
  })

const loggedIn = (at: Home) =>
  Effect.gen(function*() {
    const { callback, login } = yield* toCallback(at)
    yield* load(callback)
    const ended = yield* login.ended
    assert.strictEqual(ended.code, 0, ended.stderr)
    return ended
  })

const exchanges = (server: OidcServer) =>
  server.seen("/token").filter(({ body }) => body.includes("grant_type=authorization_code"))

describe("auth login: the code flow", () => {
  it.scopedLive("the browser of BROWSER opens the address; the login is stored, 0600, and nothing goes to stdout", () =>
    Effect.gen(function*() {
      const { at, server } = yield* setUp()
      const browser = executable(at, "browser", `env > "$OUT.env"; printf %s "$1" > "$OUT.new"; mv "$OUT.new" "$OUT"`)
      const out = path.join(at.dir, "opened")
      const login = start(at, ["auth", "login"], { env: { BROWSER: browser, OUT: out, MY_TOKEN: "hush-hush-hush" } })
      yield* Effect.promise(() => eventually("the browser", () => fs.existsSync(out), 20_000))
      const page = yield* Effect.flatMap(new UserAgent().visit(fs.readFileSync(out, "utf8")), load)
      assert.strictEqual(page.status, 200)
      const { code, stderr, stdout } = yield* login.ended
      assert.deepStrictEqual([code, stdout], [0, ""], stderr)
      assert.include(stderr, "opening the browser")
      assert.include(stderr, `logged in to corp at ${server.issuer}; good until `)
      const stored = entry(at, "corp")
      assert.strictEqual(stored["issuer"], server.issuer)
      assert.deepStrictEqual(stored["scopes"], scopes)
      for (const token of [stored.access_token, stored.refresh_token ?? "?"]) assert.notInclude(stderr, token)
      assert.strictEqual(fs.statSync(credentialsFile(at)).mode & 0o777, 0o600)
      assert.notInclude(fs.readFileSync(`${out}.env`, "utf8"), "hush-hush-hush")
    }))

  it.scopedLive("no browser: the address is shown and why, a browser elsewhere on this machine ends it", () =>
    Effect.gen(function*() {
      const { at } = yield* setUp()
      const { callback, login } = yield* toCallback(at, [])
      assert.include(login.stderr(), "there is no display: open this address")
      yield* load(callback)
      assert.strictEqual((yield* login.ended).code, 0)
    }))

  it.scopedLive("SSH: no browser is tried, the address that it ends at is pasted through stdin (openai/codex#2798)", () =>
    Effect.gen(function*() {
      const { at, server } = yield* setUp()
      const mark = path.join(at.dir, "mark")
      const browser = executable(at, "xdg-open", `: > "${mark}"`)
      const { callback, login } = yield* toCallback(at, ["--paste"], {
        env: {
          SSH_CONNECTION: "1 2 3 4",
          DISPLAY: ":0",
          BROWSER: browser,
          PATH: `${path.dirname(browser)}:${at.env["PATH"]}`
        }
      })
      yield* login.type("what is this\n")
      yield* login.said(/(this is neither an address nor a code)/u)
      yield* login.type(`${callback}\n`)
      const ended = yield* login.ended
      assert.strictEqual(ended.code, 0, ended.stderr)
      assert.isFalse(fs.existsSync(mark))
      assert.strictEqual(exchanges(server).length, 1)
      assert.notInclude(ended.stderr, new URL(callback).searchParams.get("code") ?? "?")
    }))

  it.scopedLive("6.5: --paste takes the code alone; stdin may end with it", () =>
    Effect.gen(function*() {
      const { at } = yield* setUp()
      const { callback, login } = yield* toCallback(at, ["--paste"])
      login.child.stdin?.end(`${new URL(callback).searchParams.get("code") ?? ""}\n`)
      assert.strictEqual((yield* login.ended).code, 0)
    }))

  it.scopedLive("denial: exit 1 with the server's words, nothing is stored", () =>
    Effect.gen(function*() {
      const { at, server } = yield* setUp()
      const login = start(at, ["auth", "login", "corp", "--no-browser"])
      const url = yield* login.said(address)
      yield* Effect.flatMap(new UserAgent().visit(url, { deny: true }), load)
      const { code, stderr, stdout } = yield* login.ended
      assert.deepStrictEqual([code, stdout], [1, ""])
      assert.include(stderr, "access_denied")
      assert.isFalse(fs.existsSync(credentialsFile(at)))
      assert.deepStrictEqual(exchanges(server), [])
    }))

  for (
    const [name, change, says] of [
      ["wrong state", (url: URL) => url.searchParams.set("state", "x".repeat(43)), /state/u],
      ["no state", (url: URL) => url.searchParams.delete("state"), /state/u],
      [
        "wrong issuer",
        (url: URL) => url.searchParams.set("iss", "https://evil.example"),
        /comes from https:\/\/evil\.example/u
      ]
    ] as const
  ) {
    it.scopedLive(`6.4: ${name}: the login ends, no token is asked for, exit 1`, () =>
      Effect.gen(function*() {
        for (const pasted of [true, false]) {
          const { at, server } = yield* setUp()
          const { callback, login } = yield* toCallback(at, pasted ? ["--paste"] : [])
          const changed = new URL(callback)
          change(changed)
          if (pasted) yield* login.type(`${changed.href}\n`)
          else assert.strictEqual((yield* load(changed.href)).status, 400)
          const { code, stderr } = yield* login.ended
          assert.strictEqual(code, 1, stderr)
          assert.match(stderr, says)
          assert.deepStrictEqual(exchanges(server), [])
          assert.isFalse(fs.existsSync(credentialsFile(at)))
        }
      }))
  }

  it.scopedLive("6.6: a replayed code is refused, the login of before stays in the file", () =>
    Effect.gen(function*() {
      const { at } = yield* setUp()
      const { callback, login } = yield* toCallback(at)
      yield* load(callback)
      assert.strictEqual((yield* login.ended).code, 0)
      const before = fs.readFileSync(credentialsFile(at), "utf8")
      const again = start(at, ["auth", "login", "corp", "--paste"])
      yield* again.said(address)
      const code = new URL(callback).searchParams.get("code") ?? ""
      yield* again.type(`${code}\n`)
      const ended = yield* again.ended
      assert.strictEqual(ended.code, 1)
      assert.include(ended.stderr, "invalid_grant")
      assert.notInclude(ended.stderr, code)
      assert.strictEqual(fs.readFileSync(credentialsFile(at), "utf8"), before)
    }))

  it.scopedLive("6.4: a port scan is answered and ignored, the login goes on", () =>
    Effect.gen(function*() {
      const { at } = yield* setUp()
      const { callback, login } = yield* toCallback(at)
      const { origin, port } = new URL(callback)
      for (const [path, method] of [["/", "GET"], ["/callback", "GET"], ["/callback", "POST"], ["/x?code=1", "GET"]]) {
        const { status } = yield* Effect.promise(() => fetch(`${origin}${path}`, { method: method ?? "GET" }))
        assert.include([400, 404, 405], status)
      }
      // somebody who only connects, and somebody who speaks no HTTP
      for (const text of ["", "\u0016\u0003\u0001 hello\r\n\r\n"]) {
        yield* Effect.async<void>((resume) => {
          const socket = net.connect(Number(port), "127.0.0.1", () => socket.end(text))
          socket.on("error", () => {})
          socket.on("close", () => resume(Effect.void))
          socket.resume()
        })
      }
      yield* load(callback)
      assert.strictEqual((yield* login.ended).code, 0)
    }))

  it.scopedLive("6.3: localhost over IPv6", () =>
    Effect.gen(function*() {
      const { at } = yield* setUp({}, { redirect_host: "localhost" })
      const { callback, login } = yield* toCallback(at)
      const { pathname, port, search } = new URL(callback)
      const six = yield* Effect.async<number>((resume) => {
        const request = http.get(
          { host: "::1", port, path: `${pathname}${search}`, headers: { host: `localhost:${port}` } },
          (response) => {
            response.resume()
            resume(Effect.succeed(response.statusCode ?? 0))
          }
        )
        request.on("error", () => resume(Effect.succeed(0)))
      })
      // a machine without IPv6 has nobody there, and the login still works
      if (six === 0) yield* load(callback)
      else assert.strictEqual(six, 200)
      assert.strictEqual((yield* login.ended).code, 0)
    }))

  it.scopedLive("6.3: a fixed port in use: exit 1 before anything is shown, with what to do", () =>
    Effect.gen(function*() {
      const taken = yield* Effect.acquireRelease(
        Effect.async<net.Server>((resume) => {
          const server = net.createServer()
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const bound = taken.address()
      const { at, server } = yield* setUp({}, {
        redirect_port: typeof bound === "object" && bound !== null ? bound.port : 0
      })
      const { code, stderr } = yield* run(at, ["auth", "login", "corp", "--no-browser"])
      assert.strictEqual(code, 1)
      assert.match(stderr, /another program listens on .*; end that program or configure another redirect port/u)
      assert.notMatch(stderr, address)
      assert.deepStrictEqual(server.seen("/request"), [])
    }))

  it.scopedLive("Ctrl-C: exit 130, nothing is stored, nobody listens any more", () =>
    Effect.gen(function*() {
      const { at } = yield* setUp()
      const { callback, login } = yield* toCallback(at)
      login.child.kill("SIGINT")
      assert.strictEqual((yield* login.ended).code, 130)
      assert.isFalse(fs.existsSync(credentialsFile(at)))
      assert.isTrue(yield* Effect.promise(() => fetch(callback).then(() => false, () => true)))
    }))

  it.scopedLive("6.10: a corrupt file is told before anybody logs in, exit 2, and stays", () =>
    Effect.gen(function*() {
      const { at, server } = yield* setUp()
      fs.writeFileSync(credentialsFile(at), "{ this is", { mode: 0o600 })
      const { code, stderr } = yield* run(at, ["auth", "login", "corp", "--no-browser"])
      assert.strictEqual(code, 2)
      assert.include(stderr, `${credentialsFile(at)}, line 1, column 3`)
      assert.strictEqual(fs.readFileSync(credentialsFile(at), "utf8"), "{ this is")
      assert.deepStrictEqual(server.seen("/request"), [])
    }))

  it.scopedLive("6.11: without a client id: exit 2, what to set, and that a key is the default way", () =>
    Effect.gen(function*() {
      const at = yield* home({})
      const { code, stderr, stdout } = yield* run(at, ["auth", "login"])
      assert.deepStrictEqual([code, stdout], [2, ""])
      assert.match(stderr, /set auth\.providers\.hanzo\.client_id .*An API key is the default way/u)
    }))
})

describe("auth login --device", () => {
  const device = (deny: boolean) =>
    Effect.gen(function*() {
      const { at, server } = yield* setUp()
      const login = start(at, ["auth", "login", "corp", "--device"], { stdin: "", env: { SSH_TTY: "/dev/pts/0" } })
      const url = yield* login.said(address)
      const user_code = yield* login.said(/type this code:\n {2}(\S+)$/mu)
      yield* new UserAgent().visit(url, { user_code, deny })
      return { at, server, ended: yield* login.ended }
    })

  it.scopedLive("13.4: the code is typed on another device, over SSH", () =>
    Effect.gen(function*() {
      const { at, ended } = yield* device(false)
      assert.deepStrictEqual([ended.code, ended.stdout], [0, ""], ended.stderr)
      assert.isString(entry(at, "corp").refresh_token)
    }))

  it.scopedLive("13.4: denial is exit 1 with the server's words", () =>
    Effect.gen(function*() {
      const { at, ended } = yield* device(true)
      assert.strictEqual(ended.code, 1)
      assert.include(ended.stderr, "access_denied")
      assert.isFalse(fs.existsSync(credentialsFile(at)))
    }))
})

const script = "/usr/bin/script"
const onTerminal = process.platform === "linux" && fs.existsSync(script)

describe.runIf(onTerminal)("auth login on a terminal", () => {
  const atTerminal = (at: Home) =>
    Effect.gen(function*() {
      const command = `"${process.execPath}" "${program}" auth login corp`
      const child = start(at, [], { command: [script, "-qefc", command, "/dev/null"], env: { TERM: "xterm" } })
      const shown = /^ {2}(http\S+?)\r?$/mu
      yield* Effect.promise(() => eventually("the address", () => shown.test(child.stdout()), 20_000))
      return { child, url: shown.exec(child.stdout())?.[1] ?? "" }
    })

  it.scopedLive("the address that the browser ends at can be pasted", () =>
    Effect.gen(function*() {
      const { at } = yield* setUp()
      const { child, url } = yield* atTerminal(at)
      assert.include(child.stdout(), "then paste the address")
      yield* child.type(`${yield* new UserAgent().visit(url)}\r`)
      const { code, stdout } = yield* child.ended
      assert.strictEqual(code, 0, stdout)
      assert.isString(entry(at, "corp").refresh_token)
    }))

  it.scopedLive("nobody has to paste: the answer to the listener ends it, and the terminal is as it was", () =>
    Effect.gen(function*() {
      const { at } = yield* setUp()
      const { child, url } = yield* atTerminal(at)
      yield* Effect.flatMap(new UserAgent().visit(url), load)
      assert.strictEqual((yield* child.ended).code, 0)
    }))

  it.scopedLive("Ctrl-C at the question: exit 130", () =>
    Effect.gen(function*() {
      const { at } = yield* setUp()
      const { child } = yield* atTerminal(at)
      yield* child.type("\u0003")
      assert.strictEqual((yield* child.ended).code, 130)
      assert.isFalse(fs.existsSync(credentialsFile(at)))
    }))
})

const key = "sk-test-ABCDEFGH-0123456789"

describe("auth login --api-key", () => {
  it.scopedLive("from stdin into the user's settings, which are made private first; comments stay", () =>
    Effect.gen(function*() {
      const at = yield* home({})
      const file = path.join(at.env["HANZO_CONFIG_HOME"] ?? "", "settings.json")
      fs.writeFileSync(file, "{\n  // mine\n  \"max_tokens\": 1000\n}\n")
      fs.chmodSync(file, 0o644)
      const { code, stderr, stdout } = yield* run(at, ["auth", "login", "anthropic", "--api-key"], {
        stdin: ` ${key}\n`
      })
      assert.deepStrictEqual([code, stdout], [0, ""], stderr)
      assert.include(stderr, "could be read by others; it is readable for you alone now")
      assert.notInclude(stderr, key)
      const text = fs.readFileSync(file, "utf8")
      assert.include(text, "// mine")
      assert.include(text, `"api_key": "${key}"`)
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.strictEqual((yield* run(at, ["auth", "token", "anthropic"])).stdout, `${key}\n`)
      const other = yield* run(at, ["auth", "login", "hanzo", "--api-key"], {
        stdin: key,
        env: { HANZO_API_KEY: "another-key-of-the-environment" }
      })
      assert.include(other.stderr, "it does not count for now: HANZO_API_KEY is set and goes first")
    }))

  it.scopedLive("what is no key is refused without being shown, exit 2", () =>
    Effect.gen(function*() {
      const at = yield* home({})
      for (
        const stdin of [
          "",
          "short",
          "two words-and-more",
          `OPENAI_API_KEY=${key}`,
          `"${key}"`,
          `${key}\n${key}`,
          "kéyéééééééé"
        ]
      ) {
        const { code, stderr } = yield* run(at, ["auth", "login", "openai", "--api-key"], { stdin })
        assert.strictEqual(code, 2, stdin)
        assert.include(stderr, "nothing was stored: ")
        assert.strictEqual(stderr.includes("--api-key < FILE"), stdin.trim() === "", stderr)
        if (stdin.length > 6) assert.notInclude(stderr, stdin)
      }
      const unknown = yield* run(at, ["auth", "login", "opnai", "--api-key"], { stdin: key })
      assert.strictEqual(unknown.code, 2)
      assert.include(unknown.stderr, "did you mean openai?")
      assert.strictEqual((yield* run(at, ["auth", "login", "--api-key"], { stdin: key })).code, 2)
      assert.strictEqual((yield* run(at, ["auth", "login", "openai", key], { stdin: "" })).code, 2)
    }))

  it.scopedLive.runIf(onTerminal)(
    "typed on a terminal: nothing of it is shown; Ctrl-C is exit 130",
    () =>
      Effect.gen(function*() {
        const at = yield* home({})
        const typing = (keys: string) =>
          Effect.gen(function*() {
            const command = `"${process.execPath}" "${program}" auth login openai --api-key`
            const child = start(at, [], { command: [script, "-qefc", command, "/dev/null"] })
            yield* Effect.promise(() => eventually("the question", () => child.stdout().includes("not shown"), 20_000))
            yield* child.type(keys)
            const { code, stdout } = yield* child.ended
            return { code, shown: stdout }
          })
        const done = yield* typing(`${key}x\u007f\r`)
        assert.strictEqual(done.code, 0, done.shown)
        assert.notInclude(done.shown, key.slice(0, 8))
        assert.strictEqual((yield* run(at, ["auth", "token", "openai"])).stdout, `${key}\n`)
        assert.strictEqual((yield* typing("\u0003")).code, 130)
      })
  )
})

describe("auth logout", () => {
  it.scopedLive("RFC 7009: the server is told, the token is dead there, the entry is gone and the others stay", () =>
    Effect.gen(function*() {
      const { at, server } = yield* setUp()
      yield* loggedIn(at)
      const { refresh_token = "" } = entry(at, "corp")
      writeLogins(at, { ...entries(at), other: { access_token: "keep-me-here", expires_at: null } })
      const several = yield* run(at, ["auth", "logout"])
      assert.strictEqual(several.code, 2)
      assert.match(several.stderr, /several logins: name one, or say --all/u)
      const { code, stderr, stdout } = yield* run(at, ["auth", "logout", "corp"])
      assert.deepStrictEqual([code, stdout, stderr], [0, "", "logged out of corp\n"])
      assert.deepStrictEqual(Object.keys(entries(at)), ["other"])
      const [told] = server.seen("/token/revocation")
      assert.strictEqual(new URLSearchParams(told?.body).get("token"), refresh_token)
      const answer = yield* Effect.promise(() =>
        fetch(`${server.issuer}/token`, {
          method: "POST",
          body: new URLSearchParams({ grant_type: "refresh_token", refresh_token, client_id: server.client_id })
        }).then((response) => response.json() as Promise<{ readonly error: string }>)
      )
      assert.strictEqual(answer.error, "invalid_grant")
      const again = yield* run(at, ["auth", "logout", "corp"])
      assert.strictEqual(again.code, 2)
      assert.include(again.stderr, "there is no login of corp")
      assert.notInclude(again.stderr, "to log in")
    }))

  it.scopedLive("--all; a server that is not there keeps no login", () =>
    Effect.gen(function*() {
      const at = yield* home({
        auth: {
          providers: {
            gone: {
              token_endpoint: "http://127.0.0.1:9/t",
              authorization_endpoint: "http://127.0.0.1:9/a",
              revocation_endpoint: "http://127.0.0.1:9/r",
              client_id: "c"
            }
          }
        }
      })
      writeLogins(at, {
        gone: { access_token: "gone-token-1", refresh_token: "gone-token-2" },
        b: 7,
        c: { access_token: "cccccccc" }
      })
      const { code, stderr } = yield* run(at, ["auth", "logout", "--all"])
      assert.strictEqual(code, 0, stderr)
      assert.match(stderr, /the server of gone could not be told/u)
      assert.notInclude(stderr, "gone-token")
      assert.deepStrictEqual(entries(at), {})
      assert.strictEqual((yield* run(at, ["auth", "logout", "--all"])).code, 0)
      assert.strictEqual((yield* run(at, ["auth", "logout"])).code, 2)
      assert.strictEqual((yield* run(at, ["auth", "logout", "b", "--all"])).code, 2)
    }))
})

const schema = new Ajv({ strict: false }).compile(
  JSON.parse(
    fs.readFileSync(fileURLToPath(new URL("../../docs/schema/auth-status.schema.json", import.meta.url)), "utf8")
  ) as object
)

interface StatusDocument {
  readonly ok: boolean
  readonly problem: string | null
  readonly logins: ReadonlyArray<{
    readonly provider: string
    readonly state: string
    readonly expires_at: number | null
    readonly scopes: ReadonlyArray<string> | null
    readonly client_id: string | null
    readonly issuer: string | null
    readonly refreshable: boolean
    readonly problem: string | null
  }>
  readonly providers: ReadonlyArray<
    { readonly provider: string; readonly uses: { readonly kind: string; readonly source: string } | null }
  >
  readonly detection: { readonly provider: string | null; readonly kind: string | null; readonly reason: string }
}

const statusOf = (at: Home, options: StartOptions = {}) =>
  Effect.map(run(at, ["auth", "status", "--json"], options), ({ code, stderr, stdout }) => {
    const status = JSON.parse(stdout) as StatusDocument
    assert.isTrue(schema(status), JSON.stringify(schema.errors))
    return { code, stderr, stdout, status }
  })

describe("auth status, refresh, token", () => {
  it.scopedLive("who, where from, until when, scopes, what would win and why; no token in either form", () =>
    Effect.gen(function*() {
      const { at, server } = yield* setUp()
      yield* loggedIn(at)
      const { access_token, expires_at, refresh_token = "" } = entry(at, "corp")
      const env = { ANTHROPIC_API_KEY: key }
      const { code, status, stdout } = yield* statusOf(at, { env })
      assert.strictEqual(code, 0)
      assert.deepInclude(status.logins[0], {
        provider: "corp",
        state: "valid",
        expires_at,
        issuer: server.issuer,
        client_id: server.client_id,
        scopes,
        refreshable: true
      })
      assert.deepInclude(status.detection, { provider: "anthropic", kind: "api_key" })
      const text = yield* run(at, ["auth", "status"], { env })
      assert.match(text.stdout, /corp: good until \d{4}-\d\d-\d\d \d\d:\d\d UTC \(\d+ min\), refreshed when due/u)
      assert.include(text.stdout, `scopes ${scopes.join(" ")}`)
      assert.include(text.stdout, "the API key of anthropic (ANTHROPIC_API_KEY) is the first that can be used")
      for (const secret of [access_token, refresh_token, key]) {
        assert.notInclude(stdout + text.stdout + text.stderr, secret)
      }
    }))

  it.scopedLive("nothing is set up: exit 2, and says so", () =>
    Effect.gen(function*() {
      const at = yield* home({})
      const { code, status } = yield* statusOf(at)
      assert.deepStrictEqual([code, status.ok, status.detection.provider], [2, false, null])
      for (const command of ["token", "refresh", "logout"]) {
        const ended = yield* run(at, ["auth", command])
        assert.deepStrictEqual([ended.code, ended.stdout], [2, ""])
      }
    }))

  it.scopedLive("api_key_command is shown and not run, by doctor neither; auth token runs it", () =>
    Effect.gen(function*() {
      const at = yield* home({})
      const mark = path.join(at.dir, "mark")
      at.settings({
        api_key_command: `: > '${mark}'; echo ${key}`,
        providers: { hanzo: { base_url: "http://127.0.0.1:9/v1" } }
      })
      const { status } = yield* statusOf(at)
      assert.deepStrictEqual(status.providers[0]?.uses, {
        kind: "api_key_command",
        source: "settings, api_key_command"
      })
      const doctor = yield* run(at, ["doctor"])
      assert.include(doctor.stdout, "api_key_command")
      assert.isFalse(fs.existsSync(mark), doctor.stdout)
      assert.strictEqual((yield* run(at, ["auth", "token"])).stdout, `${key}\n`)
      assert.isTrue(fs.existsSync(mark))
    }))

  it.scopedLive("refresh rotates now; status refreshes what is due; token prints what is good", () =>
    Effect.gen(function*() {
      const { at, server } = yield* setUp()
      yield* loggedIn(at)
      const first = entry(at, "corp")
      const refreshed = yield* run(at, ["auth", "refresh"])
      assert.deepStrictEqual([refreshed.code, refreshed.stdout], [0, ""], refreshed.stderr)
      assert.match(refreshed.stderr, /^corp is refreshed, good until /u)
      const second = entry(at, "corp")
      assert.notStrictEqual(second.refresh_token, first.refresh_token)
      writeLogins(at, { corp: { ...second, expires_at: 1 } })
      const { status } = yield* statusOf(at)
      assert.strictEqual(status.logins[0]?.state, "valid")
      const third = entry(at, "corp")
      assert.notStrictEqual(third.refresh_token, second.refresh_token)
      const token = yield* run(at, ["auth", "token"])
      assert.deepStrictEqual([token.code, token.stdout, token.stderr], [0, `${third.access_token}\n`, ""])
      assert.strictEqual(server.seen("/token").length, 3)
      // a family that the server has ended
      writeLogins(at, { corp: { ...first, expires_at: 1 } })
      const ended = yield* run(at, ["auth", "token", "corp"])
      assert.deepStrictEqual([ended.code, ended.stdout], [2, ""])
      assert.match(ended.stderr, /the login of corp is no longer good: .*log in again \(hanzo-dev auth login corp\)/u)
      assert.notInclude(ended.stderr, first.refresh_token ?? "?")
      const dead = yield* statusOf(at)
      assert.strictEqual(dead.status.logins[0]?.state, "needs_login")
      assert.include(dead.status.logins[0]?.problem ?? "", "invalid_grant")
    }))

  it.scopedLive("6.10: a file that others can read is tightened, and that is said; a corrupt one is named", () =>
    Effect.gen(function*() {
      const at = yield* home({})
      writeLogins(at, { openai: { access_token: "a-token-of-openai", expires_at: null } })
      fs.chmodSync(credentialsFile(at), 0o644)
      const { code, stderr } = yield* statusOf(at)
      assert.strictEqual(code, 0)
      assert.include(stderr, "others could read it (mode 0644); it is readable for you alone now")
      assert.strictEqual(fs.statSync(credentialsFile(at)).mode & 0o777, 0o600)
      fs.writeFileSync(credentialsFile(at), "[")
      const corrupt = yield* statusOf(at)
      assert.strictEqual(corrupt.code, 2)
      assert.match(corrupt.status.problem ?? "", /credentials\.json, line 1/u)
      assert.strictEqual((yield* run(at, ["auth", "token", "openai"])).code, 2)
    }))
})

/** libfaketime, which gives a whole process another time. */
const libfaketime = "faketime"
const faketime = spawnSync(libfaketime, ["-f", "+1h", "date"]).status === 0
if (!faketime) {
  process.stderr.write("skipped: the expiry of a whole process, since there is no faketime (Debian package faketime)\n")
}

describe.runIf(faketime)("6.7: expiry of a whole process", () => {
  const later = (hours: number) => ({
    before: [libfaketime, "-f", `+${hours}h`],
    env: { FAKETIME_DONT_FAKE_MONOTONIC: "1" }
  })

  it.scopedLive("two hours later the token is refreshed before it is used, once, and what is stored holds then", () =>
    Effect.gen(function*() {
      const { at, server } = yield* setUp()
      yield* loggedIn(at)
      const first = entry(at, "corp")
      assert.strictEqual((yield* run(at, ["auth", "token"])).stdout, `${first.access_token}\n`)
      const token = yield* run(at, ["auth", "token"], later(2))
      const second = entry(at, "corp")
      assert.deepStrictEqual([token.code, token.stdout], [0, `${second.access_token}\n`], token.stderr)
      assert.notStrictEqual(second.access_token, first.access_token)
      assert.closeTo(second.expires_at ?? 0, Date.now() / 1000 + 3 * 3600, 120)
      // the same time again: nothing is due any more
      assert.strictEqual((yield* run(at, ["auth", "token"], later(2))).stdout, token.stdout)
      assert.strictEqual(server.seen("/token").length, 2)
      const status = yield* statusOf(at, later(4))
      assert.strictEqual(status.status.logins[0]?.state, "valid")
      assert.strictEqual(server.seen("/token").length, 3)
    }))

  it.scopedLive("two hours later without a way to refresh: needs_login, exit 2", () =>
    Effect.gen(function*() {
      const { at } = yield* setUp()
      yield* loggedIn(at)
      const { refresh_token: _, ...login } = entry(at, "corp")
      writeLogins(at, { corp: login })
      assert.strictEqual((yield* run(at, ["auth", "token"])).code, 0)
      const token = yield* run(at, ["auth", "token"], later(2))
      assert.deepStrictEqual([token.code, token.stdout], [2, ""])
      assert.match(token.stderr, /log in again \(hanzo-dev auth login corp\)/u)
    }))
})
