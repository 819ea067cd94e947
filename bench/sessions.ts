/**
 * Sessions with a long past: a conversation that goes on after 200 MB of history, against one that is empty, and what is
 * done with the record as a whole.
 *
 * The history is what 200 MB are in practice: some 20,000 messages of 10 KB, compacted again and again, with 400 KB
 * (about 100,000 tokens) since the last summary.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Dirs } from "../src/platform/Dirs.ts"
import { type Entry, SessionStore } from "../src/storage/SessionStore.ts"
import { startUpstream } from "../test/support/upstream/index.ts"
import { type BenchResult, median, result } from "./Bench.ts"

const megabytes = 200
const messageBytes = 10_000
const messages = megabytes * 1_000_000 / messageBytes
/** Messages between two compactions, and since the last one. */
const compacted = 500
const live = 40

const words = "the parser reads a line of the settings and says where it stands, then the test runs again and is red "
  .repeat(
    Math.ceil(messageBytes / 100)
  )

/** Questions, calls, results and answers, in turn. */
const entryOf = (n: number): Entry => {
  const text = `${n} ${words.slice(0, messageBytes - 10)}`
  const at = { run_id: "run_bench", turn: n >> 2 }
  switch (n % 4) {
    case 0:
      return { ...at, key: `user:${n}`, message: { role: "user", content: [{ type: "text", text }] } }
    case 1:
      return {
        ...at,
        key: `assistant:call_${n}`,
        message: {
          role: "assistant",
          content: [{ type: "tool_call", id: `call_${n}`, name: "bash", arguments: JSON.stringify({ command: text }) }]
        }
      }
    case 2:
      return {
        ...at,
        key: `tool:call_${n - 1}`,
        message: { role: "tool", tool_call_id: `call_${n - 1}`, tool_name: "bash", content: text }
      }
    default:
      return { ...at, key: `item:${n}`, message: { role: "assistant", content: [{ type: "text", text }] } }
  }
}

const filled = (home: string) =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    yield* store.create({ id: "ses_full", workspace: "/w", provider: "reply", model: "fake-model" })
    let standing: Array<string> = []
    for (let n = 0; n < messages; n += 100) {
      const batch = Array.from({ length: 100 }, (_, i) => entryOf(n + i))
      yield* store.append("ses_full", batch)
      standing.push(...batch.map(({ key }) => key))
      const rest = n + 100 >= messages ? live : 100
      if (standing.length < compacted && rest !== live) continue
      const key = `compaction:${n}`
      yield* store.append("ses_full", [{
        key,
        run_id: "run_bench",
        turn: n,
        message: { role: "user", kind: "summary", content: `What came before message ${n}. ${words.slice(0, 4000)}` },
        replaces: standing.slice(0, -rest)
      }])
      standing = [key, ...standing.slice(-rest)]
    }
  }).pipe(Effect.provide(Layer.provide(SessionStore.layer, Dirs.layerTest(home))))

const empty = (home: string) =>
  Effect.flatMap(
    SessionStore,
    (store) => store.create({ id: "ses_empty", workspace: "/w", provider: "reply", model: "fake-model" })
  ).pipe(Effect.provide(Layer.provide(SessionStore.layer, Dirs.layerTest(home))))

export const run = async ({ root }: { readonly root: string }): Promise<ReadonlyArray<BenchResult>> => {
  const top = fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-bench-"))
  const homes = { empty: path.join(top, "empty"), full: path.join(top, "full") } as const
  const reply = await startUpstream({ final_text: "hello" })
  try {
    for (const home of Object.values(homes)) {
      fs.mkdirSync(path.join(home, "config"), { recursive: true })
      fs.writeFileSync(
        path.join(home, "config", "settings.json"),
        JSON.stringify({
          model: "reply/fake-model",
          providers: { reply: { protocol: "chat", base_url: `${reply.url}/v1`, api_key: "sk-bench" } }
        })
      )
    }
    await Effect.runPromise(empty(homes.empty))
    await Effect.runPromise(filled(homes.full))
    const size = fs.statSync(path.join(homes.full, "data", "sessions.db")).size / 1_000_000

    const preload = path.join(top, "peak.mjs")
    fs.writeFileSync(
      preload,
      "import { appendFileSync } from 'node:fs'\nprocess.on('exit', () => appendFileSync(process.env.PEAK_FILE, process.resourceUsage().maxRSS + '\\n'))\n"
    )
    const own = path.join(root, "dist", "bin", "hanzo-dev.js")
    const time = (home: string, args: ReadonlyArray<string>, peak?: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const begin = performance.now()
        const child = spawn(process.execPath, [...(peak === undefined ? [] : ["--import", preload]), own, ...args], {
          cwd: top,
          env: {
            PATH: process.env["PATH"] ?? "",
            HOME: home,
            LANG: "C.UTF-8",
            HANZO_CONFIG_HOME: path.join(home, "config"),
            HANZO_DATA_HOME: path.join(home, "data"),
            HANZO_STATE_HOME: path.join(home, "state"),
            HANZO_CACHE_HOME: path.join(home, "cache"),
            ...(peak === undefined ? {} : { PEAK_FILE: peak })
          },
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
            code === 0
              ? resolve(performance.now() - begin)
              : reject(new Error(`${args.join(" ")}: exit ${code}\n${err}`))
        )
      })
    const peak = async (home: string, args: ReadonlyArray<string>): Promise<number> => {
      const values: Array<number> = []
      for (let round = 0; round < 5; round++) {
        const file = path.join(top, `peak-${round}`)
        fs.rmSync(file, { force: true })
        await time(home, args, file)
        values.push(Math.max(...fs.readFileSync(file, "utf8").trim().split("\n").map(Number)) / 1024)
      }
      return median(values)
    }

    const goOn = (id: string) => ["run", "--session", id, "go"]
    const subjects: Record<string, () => Promise<number>> = {
      empty: () => time(homes.empty, goOn("ses_empty")),
      full: () => time(homes.full, goOn("ses_full")),
      emptyList: () => time(homes.empty, ["sessions", "list", "--all"]),
      fullList: () => time(homes.full, ["sessions", "list", "--all"])
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
    const ratio = (a: string, b: string): number =>
      median((times[a] ?? []).map((value, i) => value / (times[b]?.[i] ?? Number.NaN)))
    const emptyPeak = await peak(homes.empty, goOn("ses_empty"))
    const fullPeak = await peak(homes.full, goOn("ses_full"))

    const first = await time(homes.full, ["sessions", "search", "settings", "-n", "1"])
    const again: Array<number> = []
    for (let round = 0; round < 5; round++) {
      again.push(await time(homes.full, ["sessions", "search", "settings", "-n", "1"]))
    }
    return [
      result({
        name: `one turn after ${megabytes} MB of history (record ${Math.round(size)} MB), whole process`,
        value: ratio("full", "empty"),
        unit: "x",
        target: { at_most: 2 },
        peer: `an empty session, ${Math.round(median(times["empty"] ?? []))} ms`
      }),
      result({
        name: "sessions list, whole process",
        value: ratio("fullList", "emptyList"),
        unit: "x",
        target: { at_most: 1.5 },
        peer: "the record with an empty session"
      }),
      result({
        name: "peak memory of that turn",
        value: fullPeak - emptyPeak,
        unit: "MB more",
        target: { at_most: 60 },
        peer: `an empty session, ${Math.round(emptyPeak)} MB`
      }),
      result({
        name: `the first search, which reads all ${megabytes} MB`,
        value: first / 1000,
        unit: "s",
        target: { at_most: 60 }
      }),
      result({
        name: "a search after that, whole process",
        value: median(again),
        unit: "ms",
        target: { at_most: 1000 }
      })
    ]
  } finally {
    await reply.close()
    fs.rmSync(top, { recursive: true, force: true })
  }
}
