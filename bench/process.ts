/**
 * Whole processes: start-up, one turn, twenty tool turns, memory; against `node -e 0` and against pi on the same server.
 *
 * The peer stands in its own folder (`.cache/peers`, or `$PEERS_DIR`), never in package.json:
 * `npm i --prefix .cache/peers @mariozechner/pi-coding-agent@0.73.1`.
 *
 * @since 0.1.0
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { startUpstream } from "../test/support/upstream/index.ts"
import { type BenchResult, median, result } from "./Bench.ts"

interface Context {
  readonly root: string
  readonly skip: (what: string) => void
}

const toolTurns = 20

export const run = async ({ root, skip }: Context): Promise<ReadonlyArray<BenchResult>> => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-bench-"))
  // A clean environment: settings such as NODE_EXTRA_CA_CERTS slow every Node and would flatter the ratios to `node -e 0`.
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    LANG: "C.UTF-8",
    HANZO_CONFIG_HOME: path.join(home, "config"),
    HANZO_DATA_HOME: path.join(home, "data"),
    HANZO_STATE_HOME: path.join(home, "state"),
    HANZO_CACHE_HOME: path.join(home, "cache"),
    PI_CODING_AGENT_DIR: path.join(home, "pi"),
    PI_OFFLINE: "1",
    PI_SKIP_VERSION_CHECK: "1"
  }
  const project = path.join(home, "project")
  for (const dir of [project, path.join(home, "config"), path.join(home, "pi")]) fs.mkdirSync(dir, { recursive: true })

  const reply = await startUpstream({ final_text: "hello" })
  const tools = await startUpstream({ tool_turns: toolTurns, final_text: "done" })
  const provider = (url: string) => ({ protocol: "chat", base_url: `${url}/v1`, api_key: "sk-bench" })
  fs.writeFileSync(
    path.join(home, "config", "settings.json"),
    JSON.stringify({ model: "reply/fake-model", providers: { reply: provider(reply.url), tools: provider(tools.url) } })
  )
  const piProvider = (url: string) => ({
    baseUrl: `${url}/v1`,
    api: "openai-completions",
    apiKey: "sk-bench",
    models: [{ id: "fake-model" }]
  })
  fs.writeFileSync(
    path.join(home, "pi", "models.json"),
    JSON.stringify({ providers: { reply: piProvider(reply.url), tools: piProvider(tools.url) } })
  )

  const peers = process.env["PEERS_DIR"] ?? path.join(root, ".cache", "peers")
  const piManifest = path.join(peers, "node_modules", "@mariozechner", "pi-coding-agent", "package.json")
  const piEntry = (): string | null => {
    if (!fs.existsSync(piManifest)) return null
    const manifest = JSON.parse(fs.readFileSync(piManifest, "utf8")) as {
      readonly version: string
      readonly bin: Record<string, string>
    }
    if (manifest.version !== "0.73.1") return null
    return path.join(path.dirname(piManifest), manifest.bin["pi"] ?? "")
  }
  const pi = piEntry()
  if (pi === null) skip("@mariozechner/pi-coding-agent 0.73.1 is not in .cache/peers, nothing is compared with it")

  const own = path.join(root, "dist", "bin", "hanzo-dev.js")
  const time = (args: ReadonlyArray<string>, extra: Record<string, string> = {}): Promise<number> =>
    new Promise((resolve, reject) => {
      const begin = performance.now()
      const child = spawn(process.execPath, args, {
        cwd: project,
        env: { ...env, ...extra },
        stdio: ["ignore", "pipe", "pipe"]
      })
      let err = ""
      child.stdout.resume()
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        err += text
      })
      child.on("error", reject)
      child.on(
        "close",
        (code) =>
          code === 0 ? resolve(performance.now() - begin) : reject(new Error(`${args.join(" ")}: exit ${code}\n${err}`))
      )
    })
  const shellCost = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const begin = performance.now()
      const next = (left: number): void => {
        if (left === 0) return resolve(performance.now() - begin)
        const child = spawn("bash", ["-c", `echo turn-${left}`], {
          cwd: project,
          env,
          stdio: ["ignore", "pipe", "pipe"],
          detached: true
        })
        child.stdout.resume()
        child.stderr.resume()
        child.on("error", reject)
        child.on("close", () => next(left - 1))
      }
      next(toolTurns)
    })

  const ownRun = (
    which: string
  ) => [own, "run", "-m", `${which}/fake-model`, "--allow", "bash", "--output-format", "stream-json", "go"]
  const piRun = (
    which: string
  ) => [pi ?? "", "-p", "--no-session", "--mode", "json", "--provider", which, "--model", "fake-model", "go"]
  const subjects: Record<string, () => Promise<number>> = {
    node: () => time(["-e", "0"]),
    version: () => time([own, "--version"]),
    help: () => time([own, "--help"]),
    reply: () => time(ownRun("reply")),
    tools: () => time(ownRun("tools")),
    shell: shellCost,
    ...(pi === null ? {} : { piReply: () => time(piRun("reply")), piTools: () => time(piRun("tools")) })
  }
  const times: Record<string, Array<number>> = {}
  const rounds = Number(process.env["BENCH_ROUNDS"] ?? 9)
  for (let round = -1; round < rounds; round++) {
    const names = Object.keys(subjects)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const ms = await subjects[name]?.() ?? Number.NaN
      if (round >= 0) (times[name] ??= []).push(ms)
    }
  }
  const ms = (name: string): number => median(times[name] ?? [])
  const ratio = (a: string, b: string): number =>
    median((times[a] ?? []).map((value, i) => value / (times[b]?.[i] ?? Number.NaN)))

  const preload = path.join(home, "peak.mjs")
  fs.writeFileSync(
    preload,
    "import { appendFileSync } from 'node:fs'\nif (process.env.PEAK_FILE) process.on('exit', () => appendFileSync(process.env.PEAK_FILE, process.resourceUsage().maxRSS + '\\n'))\n"
  )
  const peak = async (args: ReadonlyArray<string>): Promise<number> => {
    const values: Array<number> = []
    for (let round = 0; round < 5; round++) {
      const file = path.join(home, `peak-${round}`)
      fs.rmSync(file, { force: true })
      await time(["--import", preload, ...args], { PEAK_FILE: file })
      values.push(Math.max(...fs.readFileSync(file, "utf8").trim().split("\n").map(Number)) / 1024)
    }
    return median(values)
  }
  const ownPeak = await peak(ownRun("tools"))
  const piPeak = pi === null ? null : await peak(piRun("tools"))

  await reply.close()
  await tools.close()
  fs.rmSync(home, { recursive: true, force: true })

  const perTurn = median(
    (times["tools"] ?? []).map((value, i) =>
      (value - (times["reply"]?.[i] ?? Number.NaN) - (times["shell"]?.[i] ?? Number.NaN)) / toolTurns
    )
  )
  return [
    result({
      name: "--version, whole process",
      value: ratio("version", "node"),
      unit: "x",
      target: { at_most: 1.6 },
      peer: "node -e 0"
    }),
    result({
      name: "--help, whole process",
      value: ratio("help", "node"),
      unit: "x",
      target: { at_most: 3 },
      peer: "node -e 0"
    }),
    result({
      name: "one-turn reply, whole process",
      value: ratio("reply", "node"),
      unit: "x",
      target: { at_most: 5 },
      peer: "node -e 0"
    }),
    ...(pi === null ? [] : [
      result({
        name: "one-turn reply, whole process",
        value: ratio("piReply", "reply"),
        unit: "x faster",
        target: { at_least: 1 },
        peer: "pi 0.73.1"
      }),
      result({
        name: `${toolTurns} tool turns, whole process`,
        value: ratio("piTools", "tools"),
        unit: "x faster",
        target: { at_least: 1 },
        peer: "pi 0.73.1"
      })
    ]),
    result({ name: "a tool turn above the cost of the shell", value: perTurn, unit: "ms", target: { at_most: 12 } }),
    result({
      name: `peak memory of ${toolTurns} tool turns`,
      value: ownPeak,
      unit: "MiB",
      target: { at_most: 130 },
      ...(piPeak === null ? {} : { peer: `pi 0.73.1: ${piPeak.toFixed(0)} MiB` })
    }),
    result({ name: "node -e 0 (the floor)", value: ms("node"), unit: "ms", target: { at_most: 1e9 } }),
    result({ name: "one-turn reply (absolute)", value: ms("reply"), unit: "ms", target: { at_most: 1e9 } }),
    result({ name: `${toolTurns} tool turns (absolute)`, value: ms("tools"), unit: "ms", target: { at_most: 1e9 } })
  ]
}
