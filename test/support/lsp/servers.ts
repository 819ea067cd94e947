/** Language servers for tests: real ones, the hostile one, small projects, and a client over plain processes. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { knownServers } from "../../../src/lsp/KnownServers.ts"
import { LspClient, type LspClientOptions } from "../../../src/lsp/LspClient.ts"
import type { LspError } from "../../../src/lsp/LspError.ts"
import * as Reader from "../../../src/lsp/Reader.ts"
import { Files } from "../../../src/platform/Files.ts"
import { Processes } from "../../../src/platform/Processes.ts"
import { alive } from "../processes.ts"

const here = path.dirname(fileURLToPath(import.meta.url))
export const repository = path.resolve(here, "../../..")
const modules = path.join(repository, "node_modules")

type Argv = LspClientOptions["argv"]

const bin = (name: string, ...args: ReadonlyArray<string>): Argv => [path.join(modules, ".bin", name), ...args]

export interface RealServer {
  readonly argv: Argv
  readonly options: Partial<LspClientOptions>
}

const ids: Readonly<Record<string, string>> = {
  ".py": "python",
  ".ts": "typescript",
  ".tsx": "typescriptreact",
  ".js": "javascript",
  ".c": "c",
  ".cpp": "cpp",
  ".h": "c",
  ".sh": "shellscript",
  ".json": "json",
  ".css": "css"
}

const known = (name: string) => knownServers.find((one) => one.name === name)

export const tsserver = path.join(modules, "typescript-5/lib/tsserver.js")

export const real = {
  pyright: { argv: bin("pyright-langserver", "--stdio"), options: {} },
  typescript5: {
    argv: bin("typescript-language-server", "--stdio"),
    options: {
      initialization_options: {
        ...known("typescript-language-server")?.initialization_options,
        tsserver: { path: tsserver }
      },
      silent_when_clean: true
    }
  },
  typescript7: {
    argv: bin("tsc", "--lsp", "--stdio"),
    options: { settings: known("typescript")?.settings ?? {} }
  },
  clangd: { argv: ["clangd", "--background-index=false"], options: {} },
  bash: { argv: bin("bash-language-server", "start"), options: {} },
  json: {
    argv: bin("vscode-json-language-server", "--stdio"),
    options: {
      initialization_options: { handledSchemaProtocols: ["file"] },
      settings: { json: { validate: { enable: true }, schemas: [] } }
    }
  },
  css: { argv: bin("vscode-css-language-server", "--stdio"), options: { settings: { css: { validate: true } } } }
} satisfies Record<string, RealServer>

/** The reason why a program cannot be tested here; null = it can. Printed once. */
export const missing = (program: string): string | null => {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" })
    return null
  } catch {
    return `${program} is not installed`
  }
}

/** A directory of files, with a home of its own for servers; both go with the scope. Canonical. */
export const project = (
  files: Readonly<Record<string, string>>,
  name = "project"
): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "lsp-")))
      const directory = path.join(root, name)
      fs.mkdirSync(directory, { recursive: true })
      for (const [file, text] of Object.entries(files)) write(directory, file, text)
      return directory
    }),
    (directory) => Effect.sync(() => fs.rmSync(path.dirname(directory), { recursive: true, force: true }))
  )

export const write = (root: string, file: string, text: string): string => {
  const at = path.join(root, file)
  fs.mkdirSync(path.dirname(at), { recursive: true })
  fs.writeFileSync(at, text)
  return at
}

/** Without what the machine's user has set up. */
export const environment = (root: string): ReadonlyMap<string, string> =>
  new Map([
    ["PATH", process.env["PATH"] ?? "/usr/bin:/bin"],
    ["HOME", path.dirname(root)],
    ["LANG", "C.UTF-8"],
    ["XDG_CACHE_HOME", path.join(path.dirname(root), "cache")],
    ["NO_UPDATE_NOTIFIER", "1"]
  ])

export const languageId = (file: string): string => ids[path.extname(file)] ?? "plaintext"

export const startAt = (
  root: string,
  { argv, options }: RealServer,
  more: Partial<LspClientOptions> = {}
): Effect.Effect<LspClient, LspError, Processes | Files | Scope.Scope> =>
  Effect.gen(function*() {
    const processes = yield* Processes
    const reader = Reader.make(yield* Files)
    return yield* LspClient.start({
      server: path.basename(argv[0]),
      argv,
      cwd: root,
      root,
      env: environment(root),
      language_id: languageId,
      // the machine may be busy: limits of the tests are not those of a user
      initialize_timeout_ms: 120_000,
      request_timeout_ms: 120_000,
      ...options,
      ...more
    }, { processes, reader })
  })

/** The server that behaves as it is told (hostile.mjs). */
export const hostile = (options: object = {}): RealServer => ({
  argv: [process.execPath, path.join(here, "hostile.mjs"), JSON.stringify(options)],
  options: { server: "hostile", settings: { hostile: { depth: 3 } }, language_id: () => "plaintext" }
})

/** What it has heard and said, in order. */
export const heard = (log: string): ReadonlyArray<Record<string, unknown>> =>
  fs.existsSync(log)
    ? fs.readFileSync(log, "utf8").trim().split("\n").filter((line) => line !== "").map((line) =>
      JSON.parse(line) as Record<string, unknown>
    )
    : []

export const methods = (log: string): ReadonlyArray<unknown> =>
  heard(log).flatMap(({ method }) => method === undefined ? [] : [method])

export const pidsIn = (file: string): ReadonlyArray<number> =>
  fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").filter((line) => line !== "").map(Number) : []

/** No process of this group, now. */
export const isGone = (pid: number): boolean => alive(pid).length === 0
