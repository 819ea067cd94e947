/**
 * Loading the settings: a user's, a project's and a local file of ordinary size, read from disk, checked, merged, with
 * what waits for trust told apart. Warm, as when `/reload` is typed; the first load of a process pays for compiling.
 *
 * @since 0.1.0
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { load } from "../src/config/Config.ts"
import { bounded } from "../src/platform/Directories.ts"
import { direct } from "../src/platform/DirectFiles.ts"
import { Dirs } from "../src/platform/Dirs.ts"
import { Environment } from "../src/platform/Environment.ts"
import type { BenchResult } from "./Bench.ts"
import { median, result } from "./Bench.ts"

const rounds = 200

/** The file system that the program gives its settings. */
const files = Layer.project(
  NodeFileSystem.layer,
  FileSystem.FileSystem,
  FileSystem.FileSystem,
  (usual) => direct(bounded(usual))
)

const providers = (from: string) =>
  Object.fromEntries(
    Array.from({ length: 4 }, (_, index) => [`${from}-${index}`, {
      protocol: "chat",
      base_url: `http://127.0.0.1:80${index}/v1`,
      api_key_env: "SOME_KEY",
      models: { large: { context_window: 200_000, max_output_tokens: 32_000, price: { input: 3, output: 15 } } }
    }])
  )

const rules = (from: string, count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`bash(${from} ${index}*)`, index % 3 === 0 ? "deny" : "allow"])
  )

const user = {
  model: "user-0/large",
  providers: providers("user"),
  permissions: rules("user", 40),
  hooks: [{ event: "stop", command: "notify" }],
  mcp_servers: { files: { command: ["npx", "-y", "server"], env: { A: "1" } }, remote: { url: "https://example/mcp" } },
  env: { EDITOR: "vi" },
  input_mode: "vim"
}

const project = {
  model: "project-0/large",
  providers: providers("project"),
  permissions: rules("project", 40),
  hooks: [{ event: "pre_tool_use", tool_pattern: "bash", command: "./check.sh", timeout_ms: 5000 }],
  mcp_servers: { db: { command: "db-server", args: ["--read-only"] }, files: { disabled: true } },
  lsp: { servers: { own: { command: ["own-lsp"], extensions: [".own"] } } },
  sandbox: { mode: "workspace", network: { allow: ["example.com"] } }
}

const local = { permissions: rules("local", 20), theme: "dark", env: { DEBUG: "1" } }

/** @since 0.1.0 @category constructors */
export const run = (): Promise<ReadonlyArray<BenchResult>> =>
  Effect.runPromise(
    Effect.scoped(Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const base = yield* fs.realPath(yield* fs.makeTempDirectoryScoped())
      const write = (directory: string, name: string, value: object) =>
        Effect.zipRight(
          fs.makeDirectory(`${base}/${directory}`, { recursive: true }),
          fs.writeFileString(`${base}/${directory}/${name}`, `// settings\n${JSON.stringify(value, null, 2)}\n`)
        )
      yield* write("config", "settings.json", user)
      yield* write("project/.hanzo", "settings.json", project)
      yield* write("project/.hanzo", "settings.local.json", local)
      const services = yield* Layer.build(Layer.merge(Dirs.layerTest(base), Environment.layerTest()))
      const once = Effect.provide(
        load({ root: `${base}/project`, managed_file: `${base}/none.json` }),
        services
      )
      const times: Array<number> = []
      for (let round = 0; round < rounds + 20; round++) {
        const start = performance.now()
        const { errors, trust } = yield* once
        if (errors.length > 0 || trust.status !== "untrusted") throw new Error("the settings are not as they should be")
        if (round >= 20) times.push(performance.now() - start)
      }
      return [
        result({
          name: "config, three files of 100 rules and 8 providers, warm",
          value: median(times),
          unit: "ms",
          target: { at_most: 5 }
        })
      ]
    })).pipe(Effect.provide(files))
  )
