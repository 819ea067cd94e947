/** Known secrets through every way out of the program (G2): none of them may come out anywhere. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { startTokenServer, type TokenServerOptions } from "../support/tokenServer.ts"
import { startUpstream, type UpstreamOptions } from "../support/upstream/index.ts"
import { credentialsFile, type Ended, entry, executable, home, run, start, writeLogins } from "./authSupport.ts"
import { eventually, type Home } from "./support.ts"

const secrets = {
  access: "at-STORED-access-0123456789",
  refresh: "rt-STORED-refresh-0123456789",
  renewed: "at-RENEWED-access-",
  rotated: "rt-RENEWED-refresh-",
  other: "at-OTHER-provider-0123456789",
  tools: "at-TOOLS-server-0123456789",
  client: "cs-CLIENT-secret-0123456789",
  variable: "sk-VARIABLE-0123456789abcdef",
  settings: "sk-SETTINGS-0123456789abcdef",
  header: "hd-HEADER-0123456789abcdef",
  command: "sk-COMMAND-0123456789abcdef"
} as const

/** What would tell a secret: most of it is enough. */
const traces = [...Object.values(secrets), btoa(`client:${secrets.client}`).slice(9)].map((secret) =>
  secret.slice(0, 18)
)

const clean = (where: string, text: string): void => {
  for (const trace of traces) {
    const at = text.indexOf(trace)
    assert.strictEqual(at, -1, `${where} holds a secret: ...${text.slice(Math.max(0, at - 200), at + 40)}...`)
  }
}

const cleanEnd = (where: string, { stderr, stdout }: Ended): void => {
  clean(`${where}: stdout`, stdout)
  clean(`${where}: stderr`, stderr)
}

/** All bytes below a directory. */
const everything = (directory: string): ReadonlyArray<readonly [file: string, text: string]> =>
  !fs.existsSync(directory) ? [] : fs.readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ name, parentPath }) => {
      const file = path.join(parentPath, name)
      return [file, fs.readFileSync(file, "latin1")] as const
    })

interface World {
  readonly at: Home
  readonly env: Record<string, string>
  readonly log: string
}

const settingsOf = (token_url: string, upstream_url: string, more: Record<string, unknown>) => ({
  model: "corp/fake-model",
  providers: {
    corp: {
      protocol: "chat",
      base_url: `${upstream_url}/v1`,
      retry_base_ms: 1,
      retry_max_ms: 20,
      headers: { "x-gateway-token": secrets.header }
    },
    keyed: { protocol: "chat", base_url: `${upstream_url}/v1`, api_key: secrets.settings },
    hanzo: { base_url: `${upstream_url}/v1` }
  },
  auth: {
    providers: {
      corp: {
        token_endpoint: `${token_url}/token`,
        authorization_endpoint: `${token_url}/authorize`,
        client_id: "client",
        client_secret_env: "CORP_HUSH"
      }
    }
  },
  ...more
})

const world = (
  upstream: UpstreamOptions,
  token: TokenServerOptions = {},
  more: (at: Home) => Record<string, unknown> = () => ({})
) =>
  Effect.gen(function*() {
    const tokens = yield* Effect.acquireRelease(
      Effect.promise(() =>
        startTokenServer({
          names: { access: secrets.renewed, refresh: secrets.rotated },
          answer: firstRefresh,
          ...token
        })
      ),
      (server) => Effect.promise(() => server.close())
    )
    const model = yield* Effect.acquireRelease(
      Effect.promise(() => startUpstream(upstream)),
      (server) => Effect.promise(() => server.close())
    )
    const at = yield* home({})
    at.settings(settingsOf(tokens.url, model.url, more(at)))
    fs.chmodSync(path.join(at.dir, "config", "settings.json"), 0o600)
    writeLogins(at, {
      corp: { access_token: secrets.access, refresh_token: secrets.refresh, expires_at: null },
      anthropic: { access_token: secrets.other, expires_at: null },
      mcp: { "https://issuer.example https://tools.example c": { access_token: secrets.tools, expires_at: null } }
    })
    const log = path.join(at.dir, "trace.log")
    const env = { CORP_HUSH: secrets.client, UP_KEY: secrets.variable, HANZO_LOG_LEVEL: "all", HANZO_LOG_FILE: log }
    return { at, env, log, model } as const
  })

/** The stored refresh token is good once; afterwards the token server goes on by itself. */
const firstRefresh = (form: URLSearchParams) =>
  form.get("refresh_token") !== secrets.refresh ? null : {
    status: 200,
    body: {
      access_token: `${secrets.renewed}0`,
      refresh_token: `${secrets.rotated}0`,
      token_type: "Bearer",
      expires_in: 3600
    }
  }

/** Everything that the program wrote, but for the two files that are there to hold secrets. */
const cleanFiles = ({ at, log }: World): void => {
  for (const directory of ["data", "state", "cache"]) {
    for (const [file, text] of everything(path.join(at.dir, directory))) clean(file, text)
  }
  if (fs.existsSync(log)) clean(log, fs.readFileSync(log, "latin1"))
}

const exports = ({ at, env }: World) =>
  Effect.gen(function*() {
    const listed = yield* run(at, ["sessions", "list", "--json"], { env })
    const { sessions } = JSON.parse(listed.stdout) as { readonly sessions: ReadonlyArray<{ readonly id: string }> }
    assert.isAbove(sessions.length, 0)
    for (const { id } of sessions) {
      for (
        const args of [
          ["sessions", "export", "--format", "jsonl", id],
          ["sessions", "export", "--format", "md", id],
          ["sessions", "show", id],
          ["sessions", "show", "--json", id]
        ]
      ) {
        const ended = yield* run(at, args, { env })
        assert.strictEqual(ended.code, 0, ended.stderr)
        cleanEnd(args.join(" "), ended)
      }
    }
    const audit = yield* run(at, ["permissions", "audit", "--json"], { env })
    assert.strictEqual(audit.code, 0)
    cleanEnd("permissions audit", audit)
  })

/** Reads all that a tool could want to read, also behind the program's back. */
const greedy = [
  "cat $HANZO_CONFIG_HOME/* 2>&1",
  "cat ../config/credentials.json ../config/settings.json 2>&1",
  "for p in $PPID $(cut -d' ' -f4 /proc/$PPID/stat); do tr '\\0' '\\n' < /proc/$p/environ; done 2>&1",
  "env",
  "cat leaked.txt",
  "seq 1 30000",
  "cat leaked.txt",
  "echo end-of-it"
].join("; ")

/** The key of the command and the tokens to come are not known yet. */
const unknown: ReadonlyArray<string> = [secrets.command, secrets.renewed, secrets.rotated]
const leaked = Object.values(secrets).filter((secret) => !unknown.includes(secret)).join("\n")

describe("no secret in any output (G2)", () => {
  for (const format of ["text", "json", "stream-json"] as const) {
    it.scopedLive(`${format}: tools that read everything; record, audit, exports, log at its finest level`, () =>
      Effect.gen(function*() {
        const made = yield* world({
          script: ({ turn }) => ({
            blocks: turn === 1
              ? [{ kind: "call", name: "bash", arguments: { command: greedy } }]
              : turn === 2
              ? [
                { kind: "call", name: "read", arguments: { path: "../config/credentials.json" } },
                { kind: "call", name: "read", arguments: { path: "leaked.txt" } },
                { kind: "call", name: "grep", arguments: { pattern: "STORED", path: "." } }
              ]
              : [{ kind: "text", text: "the end" }]
          })
        })
        const { at, env, model } = made
        fs.writeFileSync(path.join(at.project, "leaked.txt"), `${leaked}\n`)
        const args = ["run", "--permission-mode", "bypass", "--output-format", format, "go"]
        const ended = yield* run(at, args, { env })
        assert.strictEqual(ended.code, 0, ended.stderr)
        assert.include(ended.stdout, "the end")
        cleanEnd(args.join(" "), ended)
        const told = JSON.stringify(model.log.map(({ body }) => body))
        clean("what the model is told", told)
        assert.include(told, "end-of-it")
        assert.include(told, "[redacted]")
        cleanFiles(made)
        yield* exports(made)
      }))
  }

  it.scopedLive("a token that is renewed while a run goes on is masked from then on, the old one too", () =>
    Effect.gen(function*() {
      const keys: Array<string> = [secrets.access]
      const made = yield* world({
        keys,
        script: ({ turn }) => {
          if (turn === 1) keys.splice(0, 1, `${secrets.renewed}0`)
          return {
            blocks: turn < 3
              ? [{
                kind: "call",
                name: "bash",
                arguments: { command: `cat ../config/credentials.json leaked.txt; echo turn-${turn}` }
              }]
              : [{ kind: "text", text: "the end" }]
          }
        }
      })
      const { at, env, model } = made
      fs.writeFileSync(path.join(at.project, "leaked.txt"), `${leaked}\n`)
      const ended = yield* run(at, ["run", "--permission-mode", "bypass", "--output-format", "stream-json", "go"], {
        env
      })
      assert.strictEqual(ended.code, 0, ended.stderr)
      assert.strictEqual(entry(at, "corp").access_token, `${secrets.renewed}0`)
      cleanEnd("run", ended)
      const told = JSON.stringify(model.log.map(({ body }) => body))
      clean("what the model is told", told)
      assert.include(told, "turn-2")
      cleanFiles(made)
    }))

  it.scopedLive("api_key_command: its key is masked, its environment holds nothing, its line is shown nowhere", () =>
    Effect.gen(function*() {
      const made = yield* world(
        {
          script: ({ turn }) => ({
            blocks: turn === 1
              ? [{ kind: "call", name: "bash", arguments: { command: "cat key.txt; echo end-of-it" } }]
              : [{ kind: "text", text: "the end" }]
          })
        },
        {},
        (at) => ({
          model: "hanzo/fake-model",
          api_key_command: executable(at, "give-key", `env > "$HOME/seen.env"; cat "$HOME/key"`)
        })
      )
      const { at, env, model } = made
      fs.writeFileSync(path.join(at.dir, "key"), secrets.command)
      fs.writeFileSync(path.join(at.project, "key.txt"), secrets.command)
      const ended = yield* run(at, ["run", "--permission-mode", "bypass", "--output-format", "stream-json", "go"], {
        env
      })
      assert.strictEqual(ended.code, 0, ended.stderr)
      assert.deepStrictEqual(model.log.at(-1)?.auth, ["bearer"])
      cleanEnd("run", ended)
      clean("what the model is told", JSON.stringify(model.log.map(({ body }) => body)))
      clean("the environment of the command", fs.readFileSync(path.join(at.dir, "seen.env"), "utf8"))
      cleanFiles(made)
    }))

  it.scopedLive("doctor, auth status, auth refresh, config show: each in both forms", () =>
    Effect.gen(function*() {
      const made = yield* world({})
      const { at, env } = made
      for (
        const args of [
          ["doctor"],
          ["doctor", "--json"],
          ["auth", "status"],
          ["auth", "status", "--json"],
          ["auth", "refresh", "corp"],
          ["auth", "status"],
          ["config", "show"],
          ["config", "show", "--origin"],
          ["config", "show", "--origin", "--json"],
          ["config", "get", "providers"],
          ["config", "get", "auth", "--json"],
          ["config", "validate"],
          ["auth", "logout", "corp"]
        ]
      ) {
        const ended = yield* run(at, args, { env })
        assert.include([0, 1], ended.code, `${args.join(" ")}: ${ended.stderr}`)
        cleanEnd(args.join(" "), ended)
      }
      cleanFiles(made)
    }))
})

describe("what others can see of the processes", () => {
  /** Processes below this one; their own id, command line and environment. */
  const below = (pid: number): ReadonlyArray<{ readonly pid: number; readonly argv: string; readonly env: string }> => {
    const parents = new Map<number, number>()
    for (const name of fs.readdirSync("/proc")) {
      if (!/^\d+$/u.test(name)) continue
      try {
        const stat = fs.readFileSync(`/proc/${name}/stat`, "latin1")
        parents.set(Number(name), Number(/\) \S (\d+)/u.exec(stat)?.[1]))
      } catch {
        // it has ended meanwhile
      }
    }
    const isBelow = (one: number | undefined): boolean =>
      one !== undefined && (one === pid || isBelow(parents.get(one)))
    return [...parents.keys()].filter((one) => one !== pid && isBelow(one)).flatMap((one) => {
      try {
        return [{
          pid: one,
          argv: fs.readFileSync(`/proc/${one}/cmdline`, "latin1"),
          env: fs.readFileSync(`/proc/${one}/environ`, "latin1")
        }]
      } catch {
        return []
      }
    })
  }

  it.scopedLive.runIf(process.platform === "linux")(
    "arguments and environments of all children: tools, hooks, background jobs",
    () =>
      Effect.gen(function*() {
        const wait = (name: string) => `: > ../${name}; while [ ! -e ../go ]; do sleep 0.05; done`
        const made = yield* world(
          {
            script: ({ turn }) => ({
              blocks: turn === 1
                ? [{ kind: "call", name: "bash", arguments: { command: wait("job"), background: true } }]
                : turn === 2
                ? [{ kind: "call", name: "bash", arguments: { command: wait("tool") } }]
                : [{ kind: "text", text: "the end" }]
            })
          },
          {},
          (at) => ({
            hooks: [{
              event: "pre_tool_use",
              tool_pattern: "*",
              command: `env >> "${at.dir}/hook.env"; tr '\\0' ' ' < /proc/$PPID/cmdline >> "${at.dir}/hook.env"`
            }]
          })
        )
        const { at, env } = made
        const running = start(at, ["run", "--permission-mode", "bypass", "--output-format", "json", "go"], {
          env,
          stdin: ""
        })
        const pid = running.child.pid ?? 0
        yield* Effect.promise(() =>
          eventually(
            "both calls",
            () =>
              running.child.exitCode !== null ||
              ["job", "tool"].every((name) => fs.existsSync(path.join(at.dir, name))),
            20_000
          )
        )
        const children = below(pid)
        clean("its own arguments", fs.readFileSync(`/proc/${pid}/cmdline`, "latin1"))
        fs.writeFileSync(path.join(at.dir, "go"), "")
        const ended = yield* running.ended
        assert.strictEqual(ended.code, 0, ended.stderr)
        assert.isAtLeast(children.length, 2)
        for (const child of children) {
          clean(`the arguments of ${child.pid}`, child.argv)
          clean(`the environment of ${child.pid}`, child.env)
          assert.notInclude(child.env, "CORP_HUSH")
        }
        assert.isTrue(
          children.some(({ argv }) => argv.includes("../tool")) && children.some(({ argv }) => argv.includes("../job"))
        )
        clean("what a hook sees", fs.readFileSync(path.join(at.dir, "hook.env"), "utf8"))
        cleanFiles(made)
      })
  )
})

describe("what goes wrong says no secret", () => {
  type Answer = NonNullable<TokenServerOptions["answer"]>
  type Headers = Parameters<Answer>[1]

  /** All that the server was sent or has given, and what it is made of. */
  const echoed = (form: URLSearchParams, { authorization = "" }: Headers): string =>
    [secrets.access, ...form.values(), authorization, atob(authorization.replace("Basic ", "")), form.toString()].join(
      " "
    )

  const broken: Readonly<Record<string, Answer>> = {
    "a refusal that repeats what was sent": (form, headers) => ({
      status: 400,
      body: { error: "invalid_grant", error_description: echoed(form, headers) }
    }),
    "an error code that is a token": (form) => ({
      status: 400,
      body: { error: form.get("refresh_token"), error_description: secrets.access }
    }),
    "a server in trouble that repeats it": (form, headers) => ({
      status: 500,
      body: { error: "server_error", error_description: echoed(form, headers) }
    }),
    "tokens in an answer that is none": () => ({
      status: 200,
      body: { access_token: `${secrets.renewed}9`, refresh_token: `${secrets.rotated}9`, token_type: "mac" }
    }),
    "tokens beside an error": (form, headers) => ({
      status: 200,
      body: {
        error: "odd",
        error_description: `${secrets.renewed}9 ${echoed(form, headers)}`,
        access_token: `${secrets.renewed}9`,
        refresh_token: `${secrets.rotated}9`
      }
    })
  }

  for (const [name, answer] of Object.entries(broken)) {
    it.scopedLive(`a broken token server: ${name}`, () =>
      Effect.gen(function*() {
        const made = yield* world({ keys: ["none-at-all-is-good"] }, { answer })
        const { at, env } = made
        for (const expires_at of [1, null]) {
          writeLogins(at, { corp: { access_token: secrets.access, refresh_token: secrets.refresh, expires_at } })
          const before = fs.readFileSync(credentialsFile(at), "utf8")
          for (
            const args of [
              ["auth", "refresh", "corp"],
              ["auth", "status"],
              ["auth", "status", "--json"],
              ["doctor"],
              ["run", "--output-format", "stream-json", "go"],
              ["run", "--output-format", "text", "go"]
            ]
          ) {
            const ended = yield* run(at, args, { env })
            cleanEnd(args.join(" "), ended)
            if (args[1] === "refresh") assert.notStrictEqual(ended.code, 0)
          }
          assert.strictEqual(fs.readFileSync(credentialsFile(at), "utf8"), before)
        }
        cleanFiles(made)
      }))
  }

  it.scopedLive("a provider that repeats the token it was sent", () =>
    Effect.gen(function*() {
      const made = yield* world({
        faults: { all: { kind: "status", status: 403, message: `no: Bearer ${secrets.access} (${secrets.header})` } }
      })
      const { at, env } = made
      for (const format of ["text", "json", "stream-json"]) {
        const ended = yield* run(at, ["run", "--output-format", format, "go"], { env })
        assert.strictEqual(ended.code, 5)
        cleanEnd(format, ended)
      }
      cleanFiles(made)
      yield* exports(made)
    }))

  it.scopedLive("defects: a token that no header can carry, a file that is no file", () =>
    Effect.gen(function*() {
      const made = yield* world({})
      const { at, env } = made
      for (const odd of ["\u0001", "\n", "\u{1F600}", "\\"]) {
        writeLogins(at, { corp: { access_token: `${secrets.access}${odd}${secrets.access}`, expires_at: null } })
        const ended = yield* run(at, ["run", "--output-format", "json", "go"], { env })
        cleanEnd("run", ended)
        cleanEnd("auth status", yield* run(at, ["auth", "status"], { env }))
      }
      fs.writeFileSync(
        credentialsFile(at),
        `{"corp": {"access_token": "${secrets.access}", "refresh_token": ["${secrets.refresh}"`
      )
      for (
        const args of [["auth", "status"], ["auth", "refresh", "corp"], ["auth", "token", "corp"], ["doctor"], [
          "run",
          "go"
        ]]
      ) {
        cleanEnd(args.join(" "), yield* run(at, args, { env }))
      }
      // and what is no sound file is masked in tools all the same
      const greedyRun = yield* run(
        at,
        ["run", "-m", "keyed/fake-model", "--permission-mode", "bypass", "--output-format", "json", "go"],
        { env }
      )
      assert.strictEqual(greedyRun.code, 0, greedyRun.stderr)
      cleanEnd("run", greedyRun)
      cleanFiles(made)
    }))

  it.scopedLive("auth token prints the token to stdout and to nowhere else", () =>
    Effect.gen(function*() {
      const made = yield* world({})
      const { at, env } = made
      const ended = yield* run(at, ["auth", "token", "corp"], { env })
      assert.strictEqual(ended.stdout, `${secrets.access}\n`)
      clean("stderr", ended.stderr)
      cleanFiles(made)
    }))
})
