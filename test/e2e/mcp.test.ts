/** MCP servers from the command line: settings, runs, what is left of processes. */
import { Ajv, type AnySchema } from "ajv"
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"
import { everything, fake } from "../support/mcp/servers.ts"
import { eventually, type Home, makeHome, orphans, program, run, start } from "./support.ts"

const here = path.dirname(fileURLToPath(import.meta.url))
const sleepy = (home: Home, late: number) => [
  process.execPath,
  path.join(here, "../support/mcp/sleepy.mjs"),
  String(late),
  path.join(home.dir, "pids")
]

const withHome = async (use: (home: Home) => Promise<void>): Promise<void> => {
  const home = makeHome()
  try {
    await use(home)
    await eventually("nothing is left", () => orphans(home).length === 0)
  } finally {
    home.remove()
  }
}

const settingsFile = (home: Home): string => path.join(home.dir, "config", "settings.json")

const valid = (name: string, text: string): Record<string, unknown> => {
  const schema = JSON.parse(
    fs.readFileSync(path.join(here, `../../docs/schema/${name}.schema.json`), "utf8")
  ) as AnySchema
  const document = JSON.parse(text) as Record<string, unknown>
  const validate = new Ajv({ strict: false }).compile(schema)
  assert.isTrue(validate(document), JSON.stringify(validate.errors))
  return document
}

const scenario = (
  home: Home,
  ...calls: ReadonlyArray<{ readonly name: string; readonly arguments?: object }>
): string => {
  const file = path.join(home.dir, "scenario.json")
  fs.writeFileSync(
    file,
    JSON.stringify({ turns: [...calls.map((call) => ({ calls: [{ arguments: {}, ...call }] })), { text: "done" }] })
  )
  return file
}

const runWith = (file: string, ...args: ReadonlyArray<string>) => [
  "run",
  "--scenario",
  file,
  "--output-format",
  "stream-json",
  "--no-session",
  "--allow",
  "mcp__*",
  ...args,
  "go"
]

describe("mcp add, list, get, remove, enable, disable", () => {
  it("4.10 comments, order and unknown keys of the settings stay", () =>
    withHome(async (home) => {
      fs.writeFileSync(
        settingsFile(home),
        "{\n  // mine\n  \"unknown\": 1,\n  \"model\": \"scripted/echo\" // this one\n}\n"
      )
      const ok = async (...args: ReadonlyArray<string>) => {
        const result = await run(home, ["mcp", ...args])
        assert.strictEqual(result.code, 0, result.stderr)
        return result
      }
      await ok(
        "add",
        "files",
        "--env",
        "TOKEN=${FILES_TOKEN}",
        "--cwd",
        "sub",
        "--",
        "npx",
        "-y",
        "some-server",
        "--flag"
      )
      await ok("add", "web", "--url", "https://mcp.example/mcp", "--header", "Authorization: Bearer abcdef123456")
      const written = fs.readFileSync(settingsFile(home), "utf8")
      assert.include(written, "// mine")
      assert.include(written, "// this one")
      assert.include(written, "\"unknown\": 1")
      assert.strictEqual(fs.statSync(settingsFile(home)).mode & 0o777, 0o644)

      const list = valid("mcp-list", (await ok("list", "--json")).stdout) as {
        readonly servers: ReadonlyArray<{ readonly name: string; readonly status: string; readonly runs: string }>
      }
      assert.deepStrictEqual(list.servers.map(({ name, status }) => [name, status]), [["files", "enabled"], [
        "web",
        "enabled"
      ]])
      assert.include(list.servers[0]?.runs, "runs npx -y some-server --flag")
      const get = (await ok("get", "web", "--json")).stdout
      valid("mcp-get", get)
      assert.notInclude(get + (await ok("get", "web")).stdout, "abcdef123456")

      await ok("add", "args", "--", "prog", "--api-key", "hush1", "--token=hush2", "-k", "seen", "--key", "--flag")
      for (const shown of [await ok("get", "args"), await ok("get", "args", "--json"), await ok("list")]) {
        assert.notInclude(shown.stdout, "hush")
      }
      assert.include((await ok("get", "args")).stdout, "'--token=***' -k seen --key --flag")
      await ok("remove", "args")

      await ok("disable", "web")
      assert.include((await ok("list")).stdout, "disabled")
      await ok("enable", "web")
      assert.notInclude((await ok("list")).stdout, "disabled")
      await ok("remove", "web")
      await ok("remove", "files")
      assert.include((await ok("list")).stderr, "there are no MCP servers")
      assert.include(fs.readFileSync(settingsFile(home), "utf8"), "// mine")
    }))

  it("a tool alone is switched off and on; the server itself stays as it is", () =>
    withHome(async (home) => {
      await run(home, ["mcp", "add", "fake", "--", ...fake()])
      const tools = async (): Promise<ReadonlyArray<string>> => {
        const { stdout } = await run(home, ["mcp", "test", "fake", "--json"])
        return (valid("mcp-test", stdout)["tools"] as ReadonlyArray<{ readonly raw_name: string }>).map((
          { raw_name }
        ) => raw_name)
      }
      const all = await tools()
      const off = await run(home, ["mcp", "disable", "fake", "--tool", "echo", "--tool", "s*"])
      assert.strictEqual(off.code, 0, off.stderr)
      assert.include(off.stderr, "echo, s* of fake are switched off")
      assert.deepStrictEqual(await tools(), all.filter((name) => name !== "echo" && !name.startsWith("s")))
      const on = await run(home, ["mcp", "enable", "fake", "--tool", "echo"])
      assert.strictEqual(on.code, 0, on.stderr)
      assert.include(await tools(), "echo")
      const still = await run(home, ["mcp", "enable", "fake", "--tool", "swap"])
      assert.strictEqual(still.code, 2)
      assert.include(still.stderr, "exclude_tools has s*")
      const never = await run(home, ["mcp", "enable", "fake", "--tool", "never", "--tool", "s*"])
      assert.strictEqual(never.code, 0, never.stderr)
      assert.include(never.stderr, "never of fake was not switched off")
      assert.include(never.stderr, "s* of fake is switched on")
      const before = fs.readFileSync(settingsFile(home), "utf8")
      const idle = await run(home, ["mcp", "enable", "fake", "--tool", "never"])
      assert.strictEqual(idle.code, 0, idle.stderr)
      assert.notInclude(idle.stderr, "switched on")
      assert.strictEqual(fs.readFileSync(settingsFile(home), "utf8"), before)
      assert.deepStrictEqual(await tools(), all)
      assert.notInclude((await run(home, ["mcp", "list"])).stdout, "disabled")
    }))

  it("mistakes are told, and nothing is written", () =>
    withHome(async (home) => {
      await run(home, ["mcp", "add", "a", "--", "x"])
      const before = fs.readFileSync(settingsFile(home), "utf8")
      for (
        const [args, complaint] of [
          [["add", "a", "--", "y"], "--replace"],
          [["add", "b"], "PROGRAM"],
          [["add"], "needs a name"],
          [["add"], "hanzo-dev mcp add files -- npx"],
          [["add", "b", "--url", "https://x", "--", "y"], "not both"],
          [["add", "b", "--type", "http", "--", "y"], "--url"],
          [["add", "b", "--env", "novalue", "--", "y"], "NAME=VALUE"],
          [["remove", "nobody"], "nobody"],
          [["enable", "nobody"], "nobody"],
          [["get", "aa"], "did you mean a"],
          ...(["get", "test", "logs", "auth", "enable", "remove"] as const).map((command) =>
            [[command, "nobody"], "there is a; hanzo-dev mcp list shows them, hanzo-dev mcp add adds one"] as const
          ),
          [["add", "--from", "missing.json"], "missing.json"],
          [["servr"], "serve"]
        ] as const
      ) {
        const result = await run(home, ["mcp", ...args])
        assert.isAbove(result.code ?? 0, 0, args.join(" "))
        assert.include(result.stderr, complaint, args.join(" "))
      }
      assert.strictEqual(fs.readFileSync(settingsFile(home), "utf8"), before)
    }))

  it("4.10 what is said of a server that stays, stays when another one goes", () =>
    withHome(async (home) => {
      const text =
        "{\"mcp_servers\":{ \"a\":{\"command\":\"x\"}, // of a\n // KEEP: b needs VPN\n \"b\":{\"command\":\"y\"} }}\n"
      fs.writeFileSync(settingsFile(home), text)
      assert.strictEqual((await run(home, ["mcp", "remove", "a"])).code, 0)
      assert.strictEqual(
        fs.readFileSync(settingsFile(home), "utf8"),
        "{\"mcp_servers\":{\n // KEEP: b needs VPN\n \"b\":{\"command\":\"y\"} }}\n"
      )
      fs.writeFileSync(settingsFile(home), text)
      assert.strictEqual((await run(home, ["mcp", "remove", "b"])).code, 0)
      assert.strictEqual(
        fs.readFileSync(settingsFile(home), "utf8"),
        "{\"mcp_servers\":{ \"a\":{\"command\":\"x\"} // of a\n }}\n"
      )
    }))

  it("4.8 a server that is only named: everything says what it needs", () =>
    withHome(async (home) => {
      home.settings({ mcp_servers: { d: {}, off: { disabled: true }, web: { url: "https://x.y/mcp", args: ["q"] } } })
      const validated = await run(home, ["config", "validate"])
      assert.strictEqual(validated.code, 0)
      assert.match(validated.stdout + validated.stderr, /the server "d" .*it needs a command or a url/)
      assert.notInclude(validated.stdout + validated.stderr, "\"off\"")
      const list = await run(home, ["mcp", "list"])
      assert.match(list.stdout, /^d +undefined +user +no settings define it: it needs a command or a url$/m)
      assert.match(list.stdout, /^web +enabled +user +talks to https:\/\/x\.y\/mcp$/m)
      valid("mcp-list", (await run(home, ["mcp", "list", "--json"])).stdout)
      for (const command of ["get", "test", "auth"]) {
        const { stderr, stdout } = await run(home, ["mcp", command, "d"])
        assert.include(stdout + stderr, "it needs a command or a url", command)
      }
      home.settings({ mcp_servers: { d: {}, off: { disabled: true } } })
      const status = await run(home, ["mcp", "status"])
      assert.strictEqual(status.code, 1)
      assert.match(status.stdout, /^d +failed +no settings define it: it needs a command or a url$/m)
      assert.notInclude(status.stdout, "off")
      valid("mcp-status", (await run(home, ["mcp", "status", "--json"])).stdout)
    }))

  it("--from takes the servers of another client, those that are there stay", () =>
    withHome(async (home) => {
      const file = path.join(home.project, ".mcp.json")
      fs.writeFileSync(
        file,
        JSON.stringify({ mcpServers: { a: { command: "other" }, b: { command: "b", timeout: 1 } } })
      )
      await run(home, ["mcp", "add", "a", "--", "mine"])
      const result = await run(home, ["mcp", "add", "--from", ".mcp.json"])
      assert.strictEqual(result.code, 0, result.stderr)
      assert.include(result.stderr, "a was there already")
      assert.include(result.stderr, "timeout mean nothing here")
      const servers =
        (JSON.parse(fs.readFileSync(settingsFile(home), "utf8")) as { readonly mcp_servers: object }).mcp_servers
      assert.deepStrictEqual(servers, { a: { command: "mine" }, b: { command: "b" } })
      assert.strictEqual((await run(home, ["mcp", "add", "a", "--from", ".mcp.json", "--replace"])).code, 0)
      assert.include(fs.readFileSync(settingsFile(home), "utf8"), "other")
    }))

  it("4.9 a project's servers wait for trust; then they run", () =>
    withHome(async (home) => {
      const added = await run(home, ["mcp", "add", "theirs", "--tier", "project", "--", ...fake()])
      assert.strictEqual(added.code, 0, added.stderr)
      assert.include(added.stderr, "trust")
      assert.include((await run(home, ["mcp", "list"])).stdout, "untrusted")
      const refused = await run(home, ["mcp", "test", "theirs"])
      assert.strictEqual(refused.code, 2)
      assert.include(refused.stderr, "not trusted")
      const settings = path.join(home.project, ".hanzo", "settings.json")
      const document = JSON.parse(fs.readFileSync(settings, "utf8")) as { readonly mcp_servers: object }
      fs.writeFileSync(
        settings,
        JSON.stringify({ mcp_servers: { ...document.mcp_servers, far: { url: "http://127.0.0.1:1/" } } })
      )
      const login = await run(home, ["mcp", "auth", "far"])
      assert.strictEqual(login.code, 2)
      assert.include(login.stderr, "not trusted")
      const file = scenario(home, { name: "mcp__theirs__pid" })
      const without = await run(home, runWith(file))
      assert.isFalse(without.lines.some(({ type }) => type === "mcp.server"))
      assert.include(without.stdout, "there is no tool")
      assert.strictEqual((await run(home, ["config", "trust", "--yes"])).code, 0)
      const trusted = await run(home, runWith(file))
      assert.isTrue(trusted.lines.some(({ phase, type }) => type === "mcp.server" && phase === "ready"))
    }))

  it("4.9 a trusted server that is switched off is another one, which waits for trust again", () =>
    withHome(async (home) => {
      await run(home, ["mcp", "add", "z", "--tier", "local", "--", "node", "q"])
      assert.strictEqual((await run(home, ["config", "trust", "--yes"])).code, 0)
      const off = await run(home, ["mcp", "disable", "z"])
      assert.strictEqual(off.code, 0, off.stderr)
      assert.include(off.stderr, "z is switched off in")
      assert.notInclude(off.stderr, "other settings")
      assert.include(off.stderr, "the settings of this project have changed and wait for trust again")
      assert.include(off.stderr, "hanzo-dev config trust")
      assert.include((await run(home, ["mcp", "list"])).stdout, "untrusted")
      assert.strictEqual((await run(home, ["config", "trust", "--yes"])).code, 0)
      assert.include((await run(home, ["mcp", "list"])).stdout, "disabled")
    }))
})

describe("mcp test and logs", () => {
  it("what a server offers, and why one cannot be reached", () =>
    withHome(async (home) => {
      await run(home, ["mcp", "add", "every", "--", ...everything])
      await run(home, ["mcp", "add", "ends", "--", ...fake({ exit: 3 })])
      const good = await run(home, ["mcp", "test", "every", "--json"])
      assert.strictEqual(good.code, 0, good.stderr)
      const found = valid("mcp-test", good.stdout) as {
        readonly tools: ReadonlyArray<unknown>
        readonly phase: string
        readonly prompts: ReadonlyArray<string>
      }
      assert.strictEqual(found.phase, "ready")
      assert.isAbove(found.tools.length, 10)
      assert.include(found.prompts, "mcp__every__args-prompt")
      const bad = await run(home, ["mcp", "test", "ends", "--json"])
      assert.strictEqual(bad.code, 1)
      assert.include(JSON.stringify(valid("mcp-test", bad.stdout)["error"]), "KEY missing")
      const told = (await run(home, ["mcp", "test", "ends"])).stdout
      assert.include(told, `it is defined in ${settingsFile(home)}:`)
      assert.include(told, "mcp logs ends shows")
      const status = await run(home, ["mcp", "status"])
      assert.include(status.stdout, "\n  hanzo-dev mcp logs ends shows what it wrote\n")
      assert.notInclude(status.stdout, "mcp logs every")
      const logs = await run(home, ["mcp", "logs", "ends", "-n", "50"])
      assert.include(logs.stdout, "KEY missing")
      assert.strictEqual((await run(home, ["mcp", "logs", "nobody"])).code, 2)
    }))

  it("the words that matter, and a remedy that runs, whatever the server is called", () =>
    withHome(async (home) => {
      for (const [name, shown] of [["q n", "'q n'"], ["-x", "-- -x"]] as const) {
        fs.writeFileSync(
          settingsFile(home),
          JSON.stringify({ mcp_servers: { [name]: { command: [process.execPath, "nofile.js"] } } })
        )
        const told = (await run(home, ["mcp", "test", "--", name])).stdout
        assert.match(
          told,
          /ended \(exit code 1\); the last it wrote to stderr: Error: Cannot find module '[^']*nofile.js'/u
        )
        const [, remedy = ""] = /^ {2}hanzo-dev (.*) shows what it wrote$/mu.exec(told) ?? []
        assert.strictEqual(remedy, `mcp logs ${shown}`)
        const words = execFileSync("/bin/sh", ["-c", `printf '%s\\n' ${remedy}`], { encoding: "utf8" })
        const logs = await run(home, words.trimEnd().split("\n"))
        assert.include(logs.stdout, "Cannot find module")
      }
    }))
})

describe("mcp status", () => {
  it("1.8 what became of each server, and the names that clash", () =>
    withHome(async (home) => {
      assert.include((await run(home, ["mcp", "status"])).stdout, "there are no MCP servers")
      fs.writeFileSync(
        settingsFile(home),
        JSON.stringify({
          mcp_servers: {
            "a.b": { command: fake() },
            "a_b": { command: fake() },
            __odd: { command: fake() },
            ends: { command: fake({ exit: 3 }) },
            off: { command: fake(), disabled: true }
          }
        })
      )
      const json = await run(home, ["mcp", "status", "--json"])
      assert.strictEqual(json.code, 1, json.stderr)
      const status = valid("mcp-status", json.stdout) as {
        readonly servers: ReadonlyArray<{ readonly server: string; readonly phase: string; readonly tools: number }>
        readonly collisions: ReadonlyArray<{ readonly name: string; readonly tools: ReadonlyArray<unknown> }>
        readonly ambiguous_server_names: ReadonlyArray<string>
      }
      assert.deepStrictEqual(status.servers.map(({ phase, server }) => [server, phase]), [
        ["__odd", "ready"],
        ["a.b", "ready"],
        ["a_b", "ready"],
        ["ends", "failed"],
        ["off", "disabled"]
      ])
      assert.deepStrictEqual(status.ambiguous_server_names, ["__odd"])
      assert.deepStrictEqual(status.collisions.find(({ name }) => name === "mcp__a_b__echo")?.tools, [
        { server: "a.b", tool: "echo" },
        { server: "a_b", tool: "echo" }
      ])
      const text = await run(home, ["mcp", "status"])
      assert.include(text.stdout, "KEY missing")
      assert.include(text.stdout, "tool_name_collision: mcp__a_b__echo")
      assert.include(text.stdout, "ambiguous_server_name")

      fs.writeFileSync(settingsFile(home), JSON.stringify({ mcp_servers: { one: { command: fake() } } }))
      assert.strictEqual((await run(home, ["mcp", "status"])).code, 0)
    }))
})

describe("runs with servers", () => {
  it("93087 servers that are still connecting when the run is stopped are not left behind", () =>
    withHome(async (home) => {
      fs.writeFileSync(
        settingsFile(home),
        JSON.stringify({
          model: "scripted/echo",
          mcp_servers: Object.fromEntries(
            Array.from({ length: 3 }, (_, i) => [`s${i}`, { command: sleepy(home, 60_000) }])
          )
        })
      )
      const running = start(home, ["run", "--no-session", "go"])
      await eventually("three have been started", () => {
        try {
          return fs.readFileSync(path.join(home.dir, "pids"), "utf8").trim().split("\n").length === 3
        } catch {
          return false
        }
      })
      running.child.kill("SIGINT")
      const { code } = await running.done
      assert.strictEqual(code, 130)
    }))

  it("a run that waits for a server says so while it waits", () =>
    withHome(async (home) => {
      fs.writeFileSync(
        settingsFile(home),
        JSON.stringify({ model: "scripted/echo", mcp_servers: { slow: { command: sleepy(home, 60_000) } } })
      )
      const running = start(home, ["run", "--no-session", "go"])
      let said = ""
      running.child.stderr?.on("data", (text: string) => {
        said += text
      })
      await eventually("it says for whom", () => said.includes("waiting for the MCP server slow; "), 9_000)
      running.child.kill("SIGINT")
      const { code, stderr } = await running.done
      assert.strictEqual(code, 130)
      assert.notInclude(stderr, "is not there", "nothing else had been decided")
    }))

  it("20 servers that answer after 1 s are ready no more than 1.5 s after one alone", () =>
    withHome(async (home) => {
      const elapsed = async (count: number): Promise<number> => {
        fs.writeFileSync(
          settingsFile(home),
          JSON.stringify({
            mcp_servers: Object.fromEntries(
              Array.from({ length: count }, (_, i) => [`s${i}`, { command: sleepy(home, 1_000) }])
            )
          })
        )
        const began = performance.now()
        const running = start(home, runWith(scenario(home)))
        await running.line(({ type }) => type === "run.started")
        const ms = performance.now() - began
        const { lines } = await running.done
        assert.strictEqual(lines.filter(({ phase, type }) => type === "mcp.server" && phase === "ready").length, count)
        return ms
      }
      const one = await elapsed(1)
      const twenty = await elapsed(20)
      assert.isBelow(twenty - one, 1_500, `${one} ms and ${twenty} ms`)
    }))
})

describe("mcp serve", () => {
  it("a signal ends it, also while the client holds its stdin open and says nothing", () =>
    withHome(async (home) => {
      for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
        const served = spawn(process.execPath, [program, "mcp", "serve"], {
          cwd: home.project,
          env: home.env,
          stdio: ["pipe", "pipe", "inherit"]
        })
        const ended = new Promise<number | null>((resolve) => served.on("exit", resolve))
        const answered = new Promise<string>((resolve) => served.stdout.on("data", (bytes) => resolve(String(bytes))))
        served.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "server/discover" })}\n`)
        assert.include(await answered, "supportedVersions")
        served.kill(signal)
        assert.strictEqual(await ended, signal === "SIGINT" ? 130 : 143)
      }
    }))
})
