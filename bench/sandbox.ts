/**
 * What the sandbox adds to a command: `/bin/true` through the enforcing Spawner against bare bubblewrap with the very same
 * flags, started by the same Processes, and our unshare recipe against the same peer. Medians of interleaved rounds.
 *
 * @since 0.1.0
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Config } from "../src/config/Config.ts"
import { Workspace } from "../src/domain/Workspace.ts"
import { Dirs } from "../src/platform/Dirs.ts"
import { Environment } from "../src/platform/Environment.ts"
import { Files } from "../src/platform/Files.ts"
import { Processes, type SpawnInput } from "../src/platform/Processes.ts"
import { Spawner } from "../src/platform/Spawner.ts"
import { Container } from "../src/sandbox/Detect.ts"
import { Enforcement, type MethodKind } from "../src/sandbox/Enforcement.ts"
import { layerEnforcing } from "../src/sandbox/Enforcing.ts"
import { Sandbox } from "../src/sandbox/Sandbox.ts"
import { type BenchResult, median, result } from "./Bench.ts"

const rounds = 15
const each = 4

const runtimeOf = (base: string, methods: ReadonlyArray<MethodKind>) => {
  const root = path.join(base, "work")
  const platform = Layer.mergeAll(
    NodeFileSystem.layer,
    Path.layer,
    Files.layer,
    Processes.layer,
    Dirs.layerTest(base),
    Environment.layerTest({ home: path.join(base, "home"), pid: process.pid, os: process.platform }),
    Config.layerText(JSON.stringify({ sandbox: { mode: "workspace" } })),
    Layer.succeed(Workspace, { root, cwd: root }),
    Container.layerProbes({})
  )
  return ManagedRuntime.make(
    layerEnforcing.pipe(
      Layer.provideMerge(Sandbox.layer),
      Layer.provideMerge(Enforcement.layerOf(methods)),
      Layer.provideMerge(platform)
    )
  )
}

/** @since 0.1.0 @category constructors */
export const run = async (): Promise<ReadonlyArray<BenchResult>> => {
  const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "sandbox-bench-")))
  const root = path.join(base, "work")
  fs.mkdirSync(path.join(root, ".hanzo"), { recursive: true })
  fs.mkdirSync(path.join(base, "home"))
  spawnSync("git", ["init", "-q", root])
  const input: SpawnInput = { argv: ["/bin/true"], cwd: root, env: new Map([["PATH", "/usr/bin:/bin"]]) }
  const bubblewrap = runtimeOf(base, ["bubblewrap"])
  const unshare = runtimeOf(base, ["unshare"])
  try {
    const started = await bubblewrap.runPromise(Effect.flatMap(Sandbox, (sandbox) => sandbox.status))
    if (started.enforcement !== "bubblewrap") {
      process.stderr.write(`no bench of the sandbox: ${started.reason ?? "no bubblewrap"}\n`)
      return []
    }
    // With mount points that stand already, so that the flags hold for every round.
    const bare = await bubblewrap.runPromise(
      Effect.scoped(Effect.flatMap(Sandbox, (sandbox) => sandbox.wrapSpawn(input)))
    )
    const through = Effect.flatMap(Spawner, (spawner) => spawner.run(input))
    const subjects: Readonly<Record<string, () => Promise<unknown>>> = {
      bare: () => bubblewrap.runPromise(Effect.flatMap(Processes, (processes) => processes.run(bare))),
      ours: () => bubblewrap.runPromise(through),
      unshare: () => unshare.runPromise(through),
      plain: () => bubblewrap.runPromise(Effect.flatMap(Processes, (processes) => processes.run(input)))
    }
    const names = Object.keys(subjects)
    const times: Record<string, Array<number>> = Object.fromEntries(names.map((name) => [name, []]))
    for (let round = -1; round < rounds; round++) {
      for (const name of round % 2 === 0 ? names : [...names].reverse()) {
        const start = performance.now()
        for (let i = 0; i < each; i++) await subjects[name]?.()
        if (round >= 0) times[name]?.push((performance.now() - start) / each)
      }
    }
    const of = (name: string): ReadonlyArray<number> => times[name] ?? []
    const over = (name: string): number => median(of(name).map((ms, round) => ms / (of("bare")[round] ?? Number.NaN)))
    const peer = `bare bubblewrap, ${median(of("bare")).toFixed(1)} ms; no sandbox ${median(of("plain")).toFixed(1)} ms`
    return [
      result({
        name: "sandbox, bubblewrap",
        value: over("ours"),
        unit: "times bare bwrap",
        target: { at_most: 1.3 },
        peer
      }),
      result({
        name: "sandbox, unshare",
        value: over("unshare"),
        unit: "times bare bwrap",
        target: { at_most: 4 },
        peer
      })
    ]
  } finally {
    await Promise.all([bubblewrap.dispose(), unshare.dispose()])
    fs.rmSync(base, { recursive: true, force: true })
  }
}
