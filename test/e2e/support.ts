/** Runs the built command line as a user would: its own home, its own directories, a real process. */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { timer } from "../support/processes.ts"
import type { Upstream, UpstreamOptions, Wire } from "../support/upstream/index.ts"
import { startUpstream } from "../support/upstream/index.ts"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..")
export const program = path.join(root, "dist/bin/hanzo-dev.js")
if (!fs.existsSync(program)) throw new Error(`${program} is missing: run \`npm test\`, which builds it first`)

export interface Home {
  readonly dir: string
  readonly project: string
  readonly env: Record<string, string>
  readonly settings: (value: unknown) => void
  readonly remove: () => void
}

export const makeHome = (): Home => {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-e2e-")))
  const project = path.join(dir, "project")
  fs.mkdirSync(project)
  const config = path.join(dir, "config")
  fs.mkdirSync(config)
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "",
    HOME: dir,
    TMPDIR: os.tmpdir(),
    LANG: "C.UTF-8",
    HANZO_CONFIG_HOME: config,
    HANZO_DATA_HOME: path.join(dir, "data"),
    HANZO_STATE_HOME: path.join(dir, "state"),
    HANZO_CACHE_HOME: path.join(dir, "cache")
  }
  return {
    dir,
    project,
    env,
    settings: (value) => fs.writeFileSync(path.join(config, "settings.json"), JSON.stringify(value)),
    remove: () => fs.rmSync(dir, { recursive: true, force: true, maxRetries: 10 })
  }
}

export const secret = "sk-test-0123456789abcdef"

/** Settings for an upstream of the test; the key comes from the environment. */
export const providerFor = (wire: Wire, upstream: Upstream, extra: Record<string, unknown> = {}) => ({
  model: "up/fake-model",
  providers: {
    up: {
      protocol: wire,
      base_url: `${upstream.url}/v1`,
      api_key_env: "UP_KEY",
      retry_base_ms: 1,
      retry_max_ms: 20,
      models: { "fake-model": { context_window: 200_000, max_output_tokens: 8_000, price: { input: 1, output: 2 } } },
      ...extra
    }
  }
})

export interface Line {
  readonly type: string
  readonly [key: string]: unknown
}

export interface Finished {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  readonly lines: ReadonlyArray<Line>
}

export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  readonly done: Promise<Finished>
  /** Resolves when a line of stdout satisfies the predicate. */
  readonly line: (predicate: (line: Line) => boolean) => Promise<Line>
}

export const start = (
  home: Home,
  args: ReadonlyArray<string>,
  options: { readonly stdin?: string; readonly env?: Record<string, string>; readonly cwd?: string } = {}
): Running => {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: options.cwd ?? home.project,
    env: { ...home.env, UP_KEY: secret, ...options.env },
    stdio: ["pipe", "pipe", "pipe"]
  })
  child.stdin.on("error", () => {})
  child.stdin.end(options.stdin ?? "")
  let stdout = ""
  let stderr = ""
  let waiting: ReadonlyArray<{ readonly predicate: (line: Line) => boolean; readonly resolve: (line: Line) => void }> =
    []
  let taken = 0
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text
    for (let end = stdout.indexOf("\n", taken); end >= 0; end = stdout.indexOf("\n", taken)) {
      const line = parse(stdout.slice(taken, end))
      taken = end + 1
      if (line === null) continue
      waiting = waiting.filter((w) => {
        if (!w.predicate(line)) return true
        w.resolve(line)
        return false
      })
    }
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text
  })
  const done = new Promise<Finished>((resolve, reject) => {
    child.on("error", reject)
    child.on(
      "close",
      (code, signal) =>
        resolve({ code, signal, stdout, stderr, lines: stdout.split("\n").flatMap((text) => parse(text) ?? []) })
    )
  })
  return {
    child,
    pid: child.pid ?? 0,
    done,
    line: (predicate) =>
      new Promise((resolve, reject) => {
        const seen = stdout.slice(0, taken).split("\n").map(parse).find((line) => line !== null && predicate(line))
        if (seen !== undefined && seen !== null) return resolve(seen)
        waiting = [...waiting, { predicate, resolve }]
        void done.then((f) => reject(new Error(`ended (${f.code ?? f.signal}) before the line came: ${f.stderr}`)))
      })
  }
}

const parse = (text: string): Line | null => {
  if (!text.startsWith("{")) return null
  try {
    return JSON.parse(text) as Line
  } catch {
    return null
  }
}

export const run = (
  home: Home,
  args: ReadonlyArray<string>,
  options: Parameters<typeof start>[2] = {}
): Promise<Finished> => start(home, args, options).done

export const withUpstream = async <A>(
  options: UpstreamOptions,
  use: (upstream: Upstream, home: Home) => Promise<A>
): Promise<A> => {
  const upstream = await startUpstream(options)
  const home = makeHome()
  try {
    return await use(upstream, home)
  } finally {
    await upstream.close()
    home.remove()
  }
}

/** Processes whose environment carries the home of this test: whoever is left was orphaned by us. */
export const orphans = (home: Home): ReadonlyArray<string> => {
  if (process.platform !== "linux") return []
  const marker = `HANZO_CONFIG_HOME=${home.env["HANZO_CONFIG_HOME"]}`
  const homeMarker = `HOME=${home.dir}`
  return fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const env = fs.readFileSync(`/proc/${pid}/environ`, "latin1").split("\0")
      const state = /\) (\S)/.exec(fs.readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1]
      if (state === "Z" || (!env.includes(marker) && !env.includes(homeMarker))) return []
      return [`${pid} ${fs.readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ")}`]
    } catch {
      return []
    }
  })
}

/** Waits for a condition that another process brings about; a watchdog, not a pause. */
export const eventually = async (what: string, condition: () => boolean, limit_ms = 5_000): Promise<void> => {
  const over = timer(limit_ms)
  while (!condition()) {
    if (over()) throw new Error(`${what}: not within ${limit_ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
