/** The program as a process: what it loads, what goes to which stream, how it ends. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process"
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import { help } from "../../src/cli/Help.ts"
import { colourless } from "../../src/cli/Style.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
let directory = ""
let program = ""

beforeAll(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), "hanzo-cli-")))
  mkdirSync(join(directory, "project"))
  program = join(root, "dist", "bin", "hanzo-dev.js")
  assert.isTrue(existsSync(program), `${program} is missing: run \`npm test\`, which builds it first`)
})

afterAll(() => rmSync(directory, { recursive: true, force: true }))

const env = (): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: directory,
  NODE_PATH: join(root, "node_modules"),
  HANZO_CONFIG_HOME: join(directory, "config"),
  HANZO_DATA_HOME: join(directory, "data"),
  HANZO_STATE_HOME: join(directory, "state"),
  HANZO_CACHE_HOME: join(directory, "cache")
})

const run = (argv: ReadonlyArray<string>, input = "", more: Record<string, string> = {}) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [program, ...argv], {
    encoding: "utf8",
    cwd: join(directory, "project"),
    env: { ...env(), ...more },
    input,
    timeout: 60_000
  })
  return { code: status, out: stdout, err: stderr }
}

describe("HOME", () => {
  it("empty or relative: the project's .config/hanzo is not the user's; a relative HANZO_CONFIG_HOME ends with 2", () => {
    const project = join(directory, "project")
    const settings = join(project, ".config", "hanzo")
    mkdirSync(settings, { recursive: true })
    writeFileSync(join(settings, "settings.json"), JSON.stringify({ model: "scripted/of-the-checkout" }))
    try {
      for (const HOME of ["", ".", "./"]) {
        const shown = run(["config", "show", "--json"], "", { HOME, HANZO_CONFIG_HOME: "" })
        assert.notInclude(shown.out, "of-the-checkout")
        assert.strictEqual(shown.code, 0)
      }
      const refused = run(["config", "show"], "", { HANZO_CONFIG_HOME: ".config/hanzo" })
      assert.deepEqual([refused.code, refused.out], [2, ""])
      assert.match(refused.err, /HANZO_CONFIG_HOME is a relative path/u)
    } finally {
      rmSync(join(project, ".config"), { recursive: true })
    }
  })
})

describe("answered before anything is loaded", () => {
  it("--version, --help of every level", () => {
    assert.deepEqual(run(["--version"]), { code: 0, out: "0.1.0\n", err: "" })
    assert.deepEqual(run(["run", "x", "--version"]), { code: 0, out: "0.1.0\n", err: "" })
    for (const path of [[], ["run"], ["sessions"], ["sessions", "list"]]) {
      assert.deepEqual(run([...path, "--help"]), { code: 0, out: help(path, colourless), err: "" })
    }
  })

  it("a mistake on the command line: exit 2, nothing on stdout", () => {
    const table: ReadonlyArray<readonly [argv: ReadonlyArray<string>, err: RegExp]> = [
      [
        ["run", "--modle", "x"],
        /^hanzo-dev: hanzo-dev run has no option "--modle"; did you mean --model\?\n {2}see hanzo-dev run --help\n$/
      ],
      [["run", "--record", "x"], /--record comes with a later version/],
      [["acp"], /hanzo-dev acp comes with a later version/],
      [["rnu"], /there is no command "rnu"; did you mean run\?/]
    ]
    for (const [argv, err] of table) {
      const ran = run(argv)
      assert.deepEqual([ran.code, ran.out], [2, ""])
      assert.match(ran.err, err)
    }
  })

  it("neither help nor the check of the command line pulls in Effect", () => {
    const entry = readFileSync(program, "utf8")
    assert.isBelow(entry.length, 60_000)
    assert.notInclude(entry, "FiberRuntime")
  })
})

describe.runIf(existsSync("/dev/full"))("a stdout that is full", () => {
  it("is exit 1 and said so, whatever prints", () => {
    const table = [
      ["--version"],
      ["run", "--help"],
      ["run", "-m", "scripted/echo", "--no-session", "go"],
      ["run", "-m", "scripted/echo", "--no-session", "--output-format", "json", "go"],
      ["run", "-m", "scripted/echo", "--no-session", "--output-format", "stream-json", "go"],
      ["config", "path"],
      ["completions", "bash"]
    ]
    for (const argv of table) {
      const full = openSync("/dev/full", "w")
      const { status, stderr } = spawnSync(process.execPath, [program, ...argv], {
        encoding: "utf8",
        cwd: join(directory, "project"),
        env: env(),
        stdio: ["ignore", full, "pipe"]
      })
      closeSync(full)
      assert.strictEqual(status, 1, argv.join(" "))
      assert.match(stderr, /^hanzo-dev: stdout cannot be written: ENOSPC/, argv.join(" "))
    }
  }, 60_000)
})

describe("commands as processes", () => {
  it("config path and show; broken settings are told with their place and exit 2", () => {
    const file = join(directory, "config", "settings.json")
    assert.deepEqual(run(["config", "path"]), { code: 0, out: `${file}\n`, err: "" })
    assert.strictEqual(
      (JSON.parse(run(["config", "show"], "", { HANZO_MODEL: "m" }).out) as { readonly model: string }).model,
      "m"
    )
    mkdirSync(join(directory, "config"), { recursive: true })
    writeFileSync(file, "{\n  \"max_tokens\": \"many\"\n}")
    const ran = run(["run", "x"])
    rmSync(file)
    assert.deepEqual([ran.code, ran.out], [2, ""])
    assert.include(ran.err, `${file}:2:17: max_tokens must be a number, this is a text (wrong_type)`)
    assert.include(ran.err, "\u2022\u2022\u2022\u2022")
    assert.notInclude(ran.err, "many")
  })

  it("what is no file, and a place that is none: file, what and remedy, in plain words", () => {
    const file = join(directory, "config", "settings.json")
    mkdirSync(join(directory, "config"), { recursive: true })
    const internals = /FileSystem|BadResource|SystemError|characterdevice/i
    const table: ReadonlyArray<readonly [make: () => void, err: RegExp]> = [
      [() => symlinkSync("settings.json", file), /its symbolic links go round in a circle \(ELOOP\); correct the link/],
      [() => symlinkSync("/dev/zero", file), /it is not a regular file .*; put a file there/],
      [() => mkdirSync(file), /it is a directory; put a file there/]
    ]
    for (const [make, err] of table) {
      make()
      const ran = run(["run", "x"])
      const looked = run(["doctor"])
      rmSync(file, { recursive: true })
      assert.deepEqual([ran.code, ran.out, looked.code], [2, "", 1])
      assert.include(ran.err, `${file}: the file cannot be read: `)
      for (const text of [ran.err, looked.out]) {
        assert.match(text, err)
        assert.notMatch(text, internals)
      }
    }
    const demo = run(["demo"], "", { TMPDIR: "/nowhere/at/all" })
    assert.deepEqual([demo.code, demo.out], [1, ""])
    assert.match(
      demo.err,
      /^hanzo-dev: the scratch copy could not be made: cannot make a directory in \/nowhere\/at\/all: no such file or directory \(ENOENT\)\n {2}set TMPDIR to /
    )
  })

  it("run with the scripted model: stdout is the answer, in each format", () => {
    assert.deepEqual(run(["run", "-m", "scripted/echo", "hello"]), { code: 0, out: "hello\n", err: "" })
    assert.deepEqual(run(["run", "-m", "scripted/echo"], "from stdin\n").out.trim(), "from stdin")
    const json = run(["run", "-m", "scripted/echo", "--output-format", "json", "--no-session", "hello"])
    assert.deepInclude(JSON.parse(json.out) as object, { v: 1, status: "completed", exit_code: 0, result: "hello" })
    const lines = run(["run", "-m", "scripted/echo", "--output-format", "stream-json", "hello"]).out.trimEnd().split(
      "\n"
    )
    const types = lines.map((line) => (JSON.parse(line) as { readonly type: string }).type)
    assert.deepEqual([types[0], types.at(-1)], ["run.started", "run.completed"])
    const listed = JSON.parse(run(["sessions", "list", "--json"]).out) as { readonly sessions: ReadonlyArray<object> }
    assert.strictEqual(listed.sessions.length, 3)
  })

  it("--scenario is played as it is, or said why not", () => {
    const at = (name: string) => join(directory, "project", name)
    writeFileSync(at("case.json"), JSON.stringify({ turns: [{ text: "from the file" }] }))
    writeFileSync(at("broken.json"), "{\"turns\": 3}")
    for (const model of [[], ["-m", "scripted/case"]]) {
      const ran = run(["run", ...model, "--scenario", "case.json", "--no-session", "go"])
      assert.deepEqual(ran, { code: 0, out: "from the file\n", err: "" })
    }
    const table: ReadonlyArray<readonly [argv: ReadonlyArray<string>, err: RegExp]> = [
      [
        ["-m", "scripted/echo", "--scenario", "case.json"],
        /^hanzo-dev: --scenario case\.json is played by the model scripted\/case; -m names another one, scripted\/echo\n/
      ],
      [["-m", "anthropic/x", "--scenario", "case.json"], /-m names another one, anthropic\/x/],
      [["--scenario", "missing.json"], /there is no file .*\/project\/missing\.json; give --scenario the path/],
      [["--scenario", "broken.json"], /\/project\/broken\.json is no scenario:\n.*turns/],
      [["--scenario", "."], /cannot read .*\/project: it is a directory/],
      [["--scenario", "/dev/zero"], /cannot read \/dev\/zero: it is not a regular file/]
    ]
    for (const [argv, err] of table) {
      const ran = run(["run", ...argv, "--no-session", "go"])
      assert.deepEqual([ran.code, ran.out], [2, ""], argv.join(" "))
      assert.match(ran.err, err)
      assert.notMatch(ran.err, /known: /)
    }
    rmSync(at("case.json"))
    rmSync(at("broken.json"))
  })

  it("a session that is not there", () => {
    for (
      const argv of [["sessions", "show", "ses_nope"], ["run", "--session", "ses_nope", "-m", "scripted/echo", "x"]]
    ) {
      const ran = run(argv)
      assert.deepEqual([ran.code, ran.out], [2, ""])
      assert.match(ran.err, /^hanzo-dev: there is no session "ses_nope": hanzo-dev sessions list shows/)
    }
  })

  it("the log goes to stderr or its file, never to stdout", () => {
    const file = join(directory, "log.txt")
    const argv = ["run", "-m", "scripted/echo", "--no-session", "hello"]
    const told = run(argv, "", { HANZO_LOG_LEVEL: "all", OTEL_EXPORTER_OTLP_ENDPOINT: "nope" })
    assert.strictEqual(told.out, "hello\n")
    assert.match(told.err, /^hanzo-dev: warning: OTEL_EXPORTER_OTLP_ENDPOINT is no http or https address/mu)
    for (const line of told.err.trimEnd().split("\n")) assert.match(line, /^hanzo-dev: [a-z]+: /u)
    const logged = run(argv, "", { HANZO_LOG_LEVEL: "all", HANZO_LOG_FILE: file })
    assert.deepEqual(logged, { code: 0, out: "hello\n", err: "" })
  })

  it("vectors eval answers line by line", () => {
    const line = "{\"domain\":\"nowhere\",\"id\":\"1\",\"input\":1}\n"
    const ran = run(["vectors", "eval"], `${line}nonsense\n${line}`)
    assert.deepEqual([ran.code, ran.err], [0, ""])
    const codes = ran.out.trimEnd().split("\n").map((each) =>
      (JSON.parse(each) as { readonly error: { readonly code: string } }).error.code
    )
    assert.deepEqual(codes, ["unsupported", "bad_request", "unsupported"])
  })

  it("no credential: exit 2, three lines that say what to do", () => {
    const ran = run(["run", "x"])
    assert.deepEqual([ran.code, ran.out], [2, ""])
    assert.strictEqual(ran.err.trimEnd().split("\n").length, 3)
  })

  it("a wrong directory: exit 2", () => {
    const ran = run(["run", "-C", "/nowhere/at/all", "-m", "scripted/echo", "x"])
    assert.deepEqual([ran.code, ran.out], [2, ""])
    assert.include(ran.err, "/nowhere/at/all")
  })

  it("a reader that goes away is a quiet end", () => {
    const script = "\"$0\" \"$1\" config show --origin | head -1 >/dev/null; echo \"${PIPESTATUS[0]}\" >&2"
    const { stderr } = spawnSync("bash", ["-c", script, process.execPath, program], { encoding: "utf8", env: env() })
    assert.strictEqual(stderr, "0\n")
  })
})

describe("sandbox exec", () => {
  it("stdin goes in, both outputs come out, the exit code is the command's", () => {
    const exec = (argv: ReadonlyArray<string>, input = "") => run(["sandbox", "exec", "--", ...argv], input)
    assert.deepEqual(exec(["sh", "-c", "cat; echo no >&2; exit 7"], "in\n"), { code: 7, out: "in\n", err: "no\n" })
    assert.strictEqual(exec(["sh", "-c", "kill -9 $$"]).code, 137)
    const missing = exec(["no-such-program"])
    assert.deepEqual([missing.code, missing.out], [127, ""])
    assert.match(missing.err, /no such program on PATH/)
  })

  it("ends with the command, though stdin stays open; no key of the environment is in it", async () => {
    const child = spawn(
      process.execPath,
      [program, "sandbox", "exec", "--", "sh", "-c", "echo ${OPENAI_API_KEY-none}"],
      {
        cwd: join(directory, "project"),
        env: { ...env(), OPENAI_API_KEY: "secret" },
        stdio: ["pipe", "pipe", "pipe"]
      }
    )
    let out = ""
    child.stdout.on("data", (chunk: Uint8Array) => (out += Buffer.from(chunk).toString("utf8")))
    const code = await new Promise((resolve) => child.on("close", resolve))
    child.stdin.destroy()
    assert.deepEqual([code, out], [0, "none\n"])
  })
})

const script = "/usr/bin/script"

describe.runIf(process.platform === "linux" && existsSync(script))("a conversation in a terminal", () => {
  /** Types "go", then `keys` while the answer comes; what the terminal showed, and how the program ended. */
  const typedAhead = async (keys: string) => {
    const scenario = join(directory, "slow.json")
    const turn = { text: "one two three four", chunk: 4, delta_delay_ms: 100 }
    writeFileSync(scenario, JSON.stringify({ order: "first_match", turns: [turn] }))
    const command = `"${process.execPath}" "${program}" --scenario "${scenario}" --no-session`
    const child = spawn(script, ["-qec", command, "/dev/null"], {
      cwd: join(directory, "project"),
      env: { ...env(), TERM: "xterm" },
      stdio: ["pipe", "pipe", "pipe"]
    })
    let shown = ""
    const steps: Array<readonly [seen: string, type: string]> = [["> ", "go\r"], ["two", keys]]
    child.stdout.on("data", (chunk: Uint8Array) => {
      shown += Buffer.from(chunk).toString("utf8")
      const [step] = steps
      if (step === undefined || !shown.includes(step[0])) return
      steps.shift()
      child.stdin.write(step[1])
    })
    const code = await new Promise((resolve) => child.on("close", resolve))
    child.stdin.destroy()
    return { code, answers: shown.split("four").length - 1 }
  }

  it("Ctrl-D that is typed while a turn runs ends it afterwards", async () => {
    assert.deepEqual(await typedAhead("\u0004"), { code: 0, answers: 1 })
  })

  it("a line that is typed before it is answered first", async () => {
    assert.deepEqual(await typedAhead("more\n\u0004"), { code: 0, answers: 2 })
  })

  it("what is typed ahead is no answer to a question that comes later", async () => {
    const scenario = join(directory, "asks.json")
    const call = { name: "bash", arguments: { command: "echo it-ran" } }
    writeFileSync(
      scenario,
      JSON.stringify({
        turns: [{ text: "one two three four", chunk: 4, delta_delay_ms: 100, calls: [call] }, { text: "the end" }]
      })
    )
    const command = `"${process.execPath}" "${program}" --scenario "${scenario}" --no-session`
    const child = spawn(script, ["-qec", command, "/dev/null"], {
      cwd: join(directory, "project"),
      env: { ...env(), TERM: "xterm" },
      stdio: ["pipe", "pipe", "pipe"]
    })
    let shown = ""
    const steps: Array<readonly [seen: RegExp, type: string]> = [
      [/> /, "go\r"],
      [/two/, "y\n"],
      [/y once[^]*> [^]{0,400}$/, "n\r"],
      [/the end[^]*> /, "\u0004"]
    ]
    child.stdout.on("data", (chunk: Uint8Array) => {
      shown += Buffer.from(chunk).toString("utf8")
      const [step] = steps
      if (step === undefined || !step[0].test(shown)) return
      steps.shift()
      // the answer of a person comes when the question has been read
      setTimeout(() => child.stdin.write(step[1]), step[1] === "n\r" ? 300 : 0)
    })
    const code = await new Promise((resolve) => child.on("close", resolve))
    child.stdin.destroy()
    assert.strictEqual(code, 0)
    assert.match(shown, /denied/)
    assert.notMatch(shown, /done, 1 line/)
  })
})

describe("signals", () => {
  type Child = ChildProcessByStdio<Writable, Readable, Readable>

  /** Starts a run whose bash call sleeps, and resolves when that call has begun. */
  const sleeping = async (): Promise<
    { readonly child: Child; readonly ended: Promise<{ readonly code: number | null; readonly out: string }> }
  > => {
    const scenario = join(directory, "sleep.json")
    writeFileSync(
      scenario,
      JSON.stringify({
        name: "sleep",
        turns: [{ calls: [{ name: "bash", arguments: { command: "sleep 600" } }] }, { text: "done" }]
      })
    )
    const child = spawn(
      process.execPath,
      [
        program,
        "run",
        "-m",
        "scripted/sleep",
        "--scenario",
        scenario,
        "--allow",
        "bash",
        "--output-format",
        "stream-json",
        "go"
      ],
      { cwd: join(directory, "project"), env: env(), stdio: ["pipe", "pipe", "pipe"] }
    )
    child.stdin.end()
    let out = ""
    const ended = new Promise<{ readonly code: number | null; readonly out: string }>((resolve) =>
      child.on("close", (code) => resolve({ code, out }))
    )
    await new Promise<void>((resolve, reject) => {
      child.stdout.on("data", (chunk: Uint8Array) => {
        out += Buffer.from(chunk).toString("utf8")
        if (out.includes("\"tool.started\"")) resolve()
      })
      let err = ""
      child.stderr.on("data", (chunk: Uint8Array) => (err += Buffer.from(chunk).toString("utf8")))
      child.on("close", (code) => reject(new Error(`ended with ${code} before its tool began: ${out}${err}`)))
    })
    return { child, ended }
  }

  for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    it(`${signal}: settled, cancelled, exit ${code}`, async () => {
      const { child, ended } = await sleeping()
      child.kill(signal)
      const end = await ended
      assert.strictEqual(end.code, code)
      const types = end.out.trimEnd().split("\n").map((line) => (JSON.parse(line) as { readonly type: string }).type)
      assert.strictEqual(types.at(-1), "run.cancelled")
      assert.strictEqual(types.filter((type) => type === "tool.completed").length, 1)
    })
  }
})
