/**
 * `hanzo-dev doctor`: what works here, and how to fix the rest. Looks, changes nothing, and never shows a key.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { line } from "../codec/TerminalText.ts"
import { Config, type ConfigService, type Issue } from "../config/Config.ts"
import type { CredentialStore } from "../credentials/CredentialStore.ts"
import type { Credentials } from "../credentials/Credentials.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Environment } from "../platform/Environment.ts"
import { Processes } from "../platform/Processes.ts"
import type { Http } from "../platform/Http.ts"
import type { LocalServers } from "../provider/LocalServers.ts"
import type { Targets } from "../provider/Targets.ts"
import type { Sandbox } from "../sandbox/Sandbox.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { bad, type Group, ok } from "./DoctorCheck.ts"
import { loginChecks } from "./DoctorLogins.ts"
import { serverChecks } from "./DoctorServers.ts"
import { modelChecks } from "./DoctorModels.ts"
import { sandboxChecks } from "./DoctorSandbox.ts"
import { issueText, print, printJson, stdoutStyle } from "./Output.ts"
import type { DoctorCheck, DoctorReport } from "./Schemas.ts"
import { program } from "./Spec.ts"
import type * as Spec from "./Spec.ts"
import type { Style } from "./Style.ts"
import { version } from "./Version.ts"

/** Node 20.18 or later. @since 0.1.0 @category combinators */
export const nodeCheck = (node_version: string): DoctorCheck => {
  const [major = 0, minor = 0] = node_version.split(".").map(Number)
  return major > 20 || (major === 20 && minor >= 18)
    ? ok("program", "node", node_version)
    : bad("program", "node", "error", `${node_version} is too old`, "install Node.js 20.18 or later")
}

const sqliteCheck: Effect.Effect<DoctorCheck> = Effect.scoped(Layer.build(SessionStore.layerMemory)).pipe(
  Effect.as(ok("program", "sqlite", "works")),
  Effect.catchAll((error) =>
    Effect.succeed(
      bad(
        "program",
        "sqlite",
        "error",
        line(error.message, 500),
        "install Node.js 22.13 or later, or the optional package @photostructure/sqlite"
      )
    )
  )
)

const sessionsCheck: Effect.Effect<DoctorCheck, never, Dirs | FileSystem.FileSystem> = Effect.gen(function*() {
  const dirs = yield* Dirs
  const fs = yield* FileSystem.FileSystem
  const file = `${dirs.data}/sessions.db`
  if (!(yield* Effect.orElseSucceed(fs.exists(file), () => true))) {
    return ok("program", "sessions", `none yet (${file})`)
  }
  return yield* Effect.scoped(Layer.build(SessionStore.layer)).pipe(
    Effect.as(ok("program", "sessions", file)),
    Effect.catchAll((error) =>
      Effect.succeed(
        bad("program", "sessions", "error", line(error.message, 500), `repair or move away ${file}; a new one is made`)
      )
    )
  )
})

/** The nearest directory that exists must be one to write in: the rest is created when it is needed. */
const writable = (
  fs: FileSystem.FileSystem,
  name: string,
  directory: string,
  variable: string
): Effect.Effect<DoctorCheck> =>
  Effect.gen(function*() {
    let place = directory
    while (place !== "/" && !(yield* fs.exists(place))) place = place.slice(0, Math.max(1, place.lastIndexOf("/")))
    const info = yield* fs.stat(place)
    if (info.type !== "Directory") {
      return bad("program", name, "error", `${place} is no directory`, `move it away, or set ${variable}`)
    }
    yield* fs.access(place, { writable: true })
    return ok("program", name, place === directory ? directory : `${directory} (not there yet)`)
  }).pipe(
    Effect.orElseSucceed(() =>
      bad("program", name, "error", `${directory} cannot be written`, `change its permissions, or set ${variable}`)
    )
  )

interface Tool {
  readonly group: Group
  readonly name: string
  readonly argv: readonly [string, ...ReadonlyArray<string>]
  readonly missing: "warning" | "error"
  readonly fix: string
}

const tools: ReadonlyArray<Tool> = [
  {
    group: "tools",
    name: "bash",
    argv: ["bash", "--version"],
    missing: "error",
    fix: "install bash: commands of the agent run in it"
  },
  {
    group: "tools",
    name: "git",
    argv: ["git", "--version"],
    missing: "warning",
    fix: "install git: the project's root is found with it"
  },
  {
    group: "tools",
    name: "rg",
    argv: ["rg", "--version"],
    missing: "warning",
    fix: "install ripgrep: searches are much faster with it (there is a fallback)"
  }
]

const toolCheck = (tool: Tool): Effect.Effect<DoctorCheck, never, Processes | Environment> =>
  Effect.gen(function*() {
    const processes = yield* Processes
    const environment = yield* Environment
    const ran = yield* Effect.either(processes.run({
      argv: tool.argv,
      cwd: "/",
      env: childEnvironment(environment.vars),
      timeout: Duration.seconds(5),
      max_bytes: 64 * 1024
    }))
    if (Either.isLeft(ran)) {
      const missing = ran.left.reason === "not_found"
      return bad(tool.group, tool.name, tool.missing, missing ? "not found" : line(ran.left.message, 300), tool.fix)
    }
    const { code, stdout } = ran.right
    const [first = ""] = new TextDecoder().decode(stdout).split("\n")
    return code === 0
      ? ok(tool.group, tool.name, line(first, 100))
      : bad(tool.group, tool.name, tool.missing, `${tool.argv.join(" ")} ended with ${code ?? "a signal"}`, tool.fix)
  })

const trustChecks = ({ trust: { definitions, root, status } }: ConfigService): ReadonlyArray<DoctorCheck> =>
  status === "nothing" || root === null
    ? []
    : status === "untrusted"
    ? [
      bad(
        "settings",
        "trust",
        "warning",
        `${definitions.length} of this project's settings wait for trust and do not count`,
        `${program} config trust shows them and asks`
      )
    ]
    : [ok("settings", "trust", `${line(root, 200)} is trusted`)]

const unreadable = new Set(["unreadable", "too_large"])

/** There is nothing in it to correct when it is no file at all. */
const remedyOf = ({ code }: Issue): string =>
  unreadable.has(code) ? "put a readable file in its place, or nothing" : "correct it in the file"

const settingsChecks = (config: ConfigService, exists: boolean): ReadonlyArray<DoctorCheck> =>
  config.errors.length === 0 && config.warnings.length === 0
    ? [ok("settings", "settings", exists ? config.user_file : `${config.user_file} (not there yet)`)]
    : [
      ...config.errors.map((issue) =>
        bad(
          "settings",
          issue.key ?? issue.code,
          "error",
          issueText({ ...issue, frame: "" }, "").trim(),
          remedyOf(issue)
        )
      ),
      ...config.warnings.map((issue) =>
        bad(
          "settings",
          issue.key ?? issue.code,
          "warning",
          issueText({ ...issue, frame: "" }, "").trim(),
          remedyOf(issue)
        )
      )
    ]

/** Everything that is looked at. @since 0.1.0 @category constructors */
export const report: Effect.Effect<
  DoctorReport,
  never,
  | Config
  | Credentials
  | CredentialStore
  | Dirs
  | Environment
  | FileSystem.FileSystem
  | Http
  | LocalServers
  | Processes
  | Sandbox
  | Targets
> = Effect.gen(function*() {
  const config = yield* Config
  const dirs = yield* Dirs
  const environment = yield* Environment
  const fs = yield* FileSystem.FileSystem
  const groups = yield* Effect.all([
    Effect.succeed([nodeCheck(environment.node_version)]),
    Effect.all([sqliteCheck, sessionsCheck]),
    Effect.all([
      writable(fs, "data directory", dirs.data, "HANZO_DATA_HOME"),
      writable(fs, "state directory", dirs.state, "HANZO_STATE_HOME"),
      writable(fs, "cache directory", dirs.cache, "HANZO_CACHE_HOME")
    ]),
    Effect.map(
      Effect.orElseSucceed(fs.exists(config.user_file), () => true),
      (exists) => [...settingsChecks(config, exists), ...trustChecks(config)]
    ),
    Effect.all(tools.map(toolCheck), { concurrency: 4 }),
    sandboxChecks,
    serverChecks,
    loginChecks,
    modelChecks
  ], { concurrency: "unbounded" })
  const checks = groups.flat()
  return { v: 1, version, ok: checks.every((check) => check.status !== "error"), checks }
})

/** @since 0.1.0 @category encoding */
export const reportText = ({ checks, ok: sound, version }: DoctorReport, style: Style): string => {
  const mark = { ok: style.green("ok  "), warning: style.yellow("warn"), error: style.red("FAIL") }
  const width = Math.max(...checks.map((check) => check.name.length))
  let text = `hanzo-dev ${version}\n`
  let group: Group | undefined
  for (const check of checks) {
    if (check.group !== group) text += `\n${style.bold(check.group)}\n`
    group = check.group
    text += `  ${mark[check.status]}  ${check.name.padEnd(width)}  ${check.detail}\n`
    if (check.fix !== null) text += `        ${" ".repeat(width)}${style.dim(`-> ${check.fix}`)}\n`
  }
  return `${text}\n${sound ? "everything that is needed works" : "something that is needed does not work"}\n`
}

/** Exit code 1 when something that is needed is broken. @since 0.1.0 @category combinators */
export const execute = Effect.fn("Cli.doctor")(function*(values: Spec.Values<typeof Spec.doctor>) {
  const found = yield* report
  yield* values.json ? printJson(found) : print(reportText(found, yield* stdoutStyle))
  return found.ok ? 0 : 1
})
