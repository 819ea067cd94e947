/**
 * HIP-301 section 10: what tools may touch. One policy for file tools, for commands and for every process that a tool
 * starts (reading 10.4); what the kernel enforces is said by `status`.
 *
 * @since 0.1.0
 */
import * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import { Config } from "../config/Config.ts"
import type { IsolationMode } from "../config/Schema.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Environment } from "../platform/Environment.ts"
import { Files } from "../platform/Files.ts"
import { linksOnWay } from "../platform/Look.ts"
import { invalidPath, isWithin, judge, type PathOperation, type PathVerdict } from "./CheckPath.ts"
import { makeClosing } from "./Closing.ts"
import { Container } from "./Detect.ts"
import { Enforcement, type ProbeResult } from "./Enforcement.ts"
import { refusedHost } from "./Network.ts"
import { explain, saysRefused } from "./Explain.ts"
import { expandPath } from "./Policy.ts"
import { type ActiveCommands, commandsOf } from "./Programs.ts"
import { linkRefusal, linkWarning, replaceableLinks } from "./Replaceable.ts"
import { type SandboxSettings, settle } from "./Settings.ts"
import { type ConnectOptions, makeSpawning, type WrapSpawn } from "./Spawning.ts"
import { survey } from "./Survey.ts"

/** @since 0.1.0 @category models */
export interface SandboxStatus {
  /** null = the settings name none. */
  readonly requested_mode: IsolationMode | null
  readonly effective_mode: IsolationMode
  readonly enforcement: "bubblewrap" | "unshare" | "path_check" | "off"
  readonly network: "isolated" | "filtered" | "shared"
  /** Why it is not more than this, and what to change. */
  readonly reason: string | null
  readonly probes: ReadonlyArray<ProbeResult>
  readonly warnings: ReadonlyArray<string>
  /** Canonical; empty in mode off. */
  readonly write_roots: ReadonlyArray<string>
}

/**
 * May commands start, and what holds them? `held_by` null: nothing but their own good will (mode `off`, or a system
 * without means). A refusal's `rule` is `require_enforcement`, `network` or `protected`, with the `path` of a link.
 *
 * @since 0.1.0
 * @category models
 */
export type CommandVerdict =
  | { readonly allowed: true; readonly held_by: "bubblewrap" | "unshare" | null }
  | {
    readonly allowed: false
    readonly rule: "require_enforcement" | "network" | "protected"
    readonly path: string | null
    readonly message: string
  }

/** @since 0.1.0 @category models */
export interface SandboxService {
  readonly settings: SandboxSettings
  /** HIP-301's `check_path`: never fails, false for text that is no path. `~` and relative paths as `judgePath`. */
  readonly checkPath: (path: string, operation?: PathOperation) => Effect.Effect<boolean>
  /** The same with the canonical path to use, or the rule that refuses and why. */
  readonly judgePath: (path: string, operation?: PathOperation) => Effect.Effect<PathVerdict>
  /** Why this host is refused; null = allowed. */
  readonly refusedHost: (host: string, port: number) => string | null
  /** Probes the kernel at the first call. */
  readonly status: Effect.Effect<SandboxStatus>
  /** May commands start, and what holds them? Asks anew each time whether a protected place has become a link. */
  readonly judgeCommands: Effect.Effect<CommandVerdict>
  /** Why no command may start; null = they may. */
  readonly refusal: Effect.Effect<string | null>
  /** One paragraph for the model on what is enforced; null in mode off. */
  readonly notice: Effect.Effect<string | null>
  /**
   * For the model, below the output of a command that ran inside: the paths and rules behind the system's words, and what
   * was moved aside. Null = nothing of this is the sandbox's doing.
   */
  readonly remark: (output: string, failed: boolean) => Effect.Effect<string | null>
  /**
   * The process that runs this one inside. What was made for it in the workspace goes with the scope. Fails with
   * `refused` where the policy cannot be kept.
   */
  readonly wrapSpawn: WrapSpawn
}

/** What else than the settings decides. @since 0.1.0 @category models */
export interface SandboxOptions extends ConnectOptions {
  /** Commands whose program files nobody but the user may write; those of the settings when absent. */
  readonly commands?: ActiveCommands
}

const noFilter =
  "commands can set the set-user-ID bit on files of theirs, which then run under this user for whoever " +
  "starts them outside: there is no filter of system calls here (bubblewrap, or perl with unshare, on x86_64 and aarch64)"

/** Paths named in one remark. */
const max_remarks = 3

const make = (options: SandboxOptions) =>
  Effect.gen(function*() {
    const { config } = yield* Config
    const workspace = yield* Workspace
    const dirs = yield* Dirs
    const environment = yield* Environment
    const files = yield* Files
    const path = yield* Path.Path
    const container = yield* Container
    const enforcement = yield* Enforcement
    const owner = yield* Effect.scope

    const settings = settle(config.sandbox, container.found)
    // Looked at when the first tool asks, not at every start. Until then nothing of the model has run, so the links are
    // those of the session's start; from then on a link that is turned round changes nothing.
    const surveyed = yield* Effect.cached(Effect.suspend(() =>
      survey({
        settings,
        workspace,
        dirs,
        commands: options.commands ?? commandsOf(config),
        files,
        path,
        os: environment.os,
        search_path: config.env["PATH"] ?? environment.vars.get("PATH") ?? ""
      })
    ))

    const judgePath: SandboxService["judgePath"] = (given, operation = "read") => {
      const refuse = (rule: "invalid_path" | "unresolvable", why: string): PathVerdict => ({
        allowed: false,
        path: given.replaceAll("\0", "\\0"),
        rule,
        message: `${JSON.stringify(given)} is refused by the sandbox: ${why} (rule ${rule}, mode ${settings.mode})`
      })
      const invalid = invalidPath(given)
      if (invalid !== null) return Effect.succeed(refuse("invalid_path", invalid))
      return Effect.gen(function*() {
        const { land, pathPolicy } = yield* surveyed
        const { kind, path: at } = yield* files.canonical(expandPath(given, land.workspace, dirs.home, path))
        if (operation === "write") {
          // Whoever writes through a link that stands in a protected place decides what is found there.
          const links = yield* linksOnWay([expandPath(given, land.workspace, dirs.home, path)])
          for (const link of links) {
            const verdict = judge(pathPolicy, { path: link, kind: "file", links: 1 }, operation)
            if (!verdict.allowed && verdict.rule === "protected") return verdict
          }
        }
        const linked = operation === "write" && kind === "file"
        const links = linked ? (yield* files.stat(at))?.links ?? 1 : 1
        return judge(pathPolicy, { path: at, kind, links }, operation)
      }).pipe(Effect.catchAll((error) => Effect.succeed(refuse("unresolvable", error.message))))
    }

    const isolate = settings.network !== "on"
    const filtered = typeof settings.network === "object"
    const allowed = typeof settings.network === "object" ? settings.network.allow : []

    /** The way in force; where the network cannot be cut off, what there is without that, and why. */
    const inForce = yield* Effect.cached(Effect.gen(function*() {
      const wanted = yield* enforcement.available(isolate)
      if (wanted.method !== null || !isolate) return { ...wanted, isolated: isolate && wanted.method !== null }
      const without = yield* enforcement.available(false)
      return { method: without.method, reason: wanted.reason, probes: wanted.probes, isolated: false }
    }))

    const closing = yield* makeClosing(path)

    const replaceable: Effect.Effect<ReadonlyArray<string>> = Effect.gen(function*() {
      if (settings.mode === "off") return []
      const { git, gitRoots, land, wholeWorkspace } = yield* surveyed
      return yield* replaceableLinks({
        land,
        cwd: workspace.cwd,
        git: wholeWorkspace ? yield* closing.exclusively(git) : null,
        git_roots: gitRoots,
        path
      })
    })

    const judgeCommands: SandboxService["judgeCommands"] = Effect.gen(function*() {
      if (settings.mode === "off") return { allowed: true, held_by: null }
      const { isolated, method, reason } = yield* inForce
      const why = reason ?? "?"
      if (method === null && settings.require_enforcement) {
        return {
          allowed: false,
          rule: "require_enforcement",
          path: null,
          message: `the settings require kernel enforcement (sandbox.require_enforcement); there is none here: ${why}`
        }
      }
      if (isolate && !isolated) {
        return {
          allowed: false,
          rule: "network",
          path: null,
          message: `the settings restrict the network (sandbox.network), which cannot be enforced here: ${why}`
        }
      }
      if (method === null) return { allowed: true, held_by: null }
      const [link] = yield* replaceable
      return link === undefined
        ? { allowed: true, held_by: method.kind }
        : { allowed: false, rule: "protected", path: link, message: linkRefusal(link) }
    })

    const refusal: SandboxService["refusal"] = Effect.map(
      judgeCommands,
      (verdict) => verdict.allowed ? null : verdict.message
    )

    const status: SandboxService["status"] = Effect.gen(function*() {
      const { gitAtStart, gitRoots, land } = yield* surveyed
      const links = yield* replaceable
      const common = {
        requested_mode: settings.requested_mode,
        effective_mode: settings.mode,
        warnings: [...settings.warnings, ...land.warnings, ...gitAtStart.warnings, ...links.map(linkWarning)],
        write_roots: [...land.roots, ...gitRoots]
      }
      if (settings.mode === "off") {
        return { ...common, enforcement: "off", network: "shared", reason: settings.reason, probes: [] }
      }
      const { isolated, method, probes, reason } = yield* inForce
      return {
        ...common,
        warnings: method !== null && method.filter === null ? [...common.warnings, noFilter] : common.warnings,
        enforcement: method === null ? "path_check" : method.kind,
        network: !isolated ? "shared" : filtered ? "filtered" : "isolated",
        reason,
        probes
      }
    })

    const notice: SandboxService["notice"] = Effect.gen(function*() {
      if (settings.mode === "off") return null
      const { enforcement: by, network, write_roots } = yield* status
      const refused = yield* refusal
      const places = write_roots.length === 0 ? "no file" : write_roots.join(", ")
      const files = `A sandbox is in force. File tools may use ${places} only; settings (.hanzo), git hooks and git ` +
        "configuration cannot be changed."
      const tmp = settings.private_tmp ? ", have a /tmp of their own" : ""
      const commands = refused !== null
        ? `Commands do not run: ${refused}.`
        : by === "path_check"
        ? "Commands are not held back by the kernel here, but the same rules are meant for them."
        : `Commands see the rest of the file system read-only${tmp} and end with their call.`
      const net = refused !== null || network === "shared"
        ? ""
        : network === "isolated"
        ? " Commands have no network."
        : ` Commands reach ${allowed.join(", ") || "no name"} only, by HTTP and HTTPS through a proxy.`
      return `${files} ${commands}${net} A refusal names the path and the rule; do not try to get around it.`
    })

    const remark: SandboxService["remark"] = (output, failed) =>
      Effect.gen(function*() {
        const said: Array<string> = []
        for (const [from, to] of yield* closing.movedAside) {
          said.push(
            `${from} was moved to ${to}: a hook or server of the user's would run what stands there (rule protected, ` +
              `mode ${settings.mode})`
          )
        }
        const readOnly = /read-only file system/iu.test(output)
        if (settings.mode === "off" || !(failed || saysRefused(output)) || (yield* inForce).method === null) {
          return said.length === 0 ? null : said.map((one) => `[sandbox] ${one}`).join("\n")
        }
        const { lines, paths } = explain(output, settings)
        const judged: Array<string> = []
        for (const path of paths) {
          const at = /^[/~]/u.test(path)
            ? path
            : `${workspace.cwd}${path.startsWith("./") ? path.slice(1) : `/${path}`}`
          const verdict = yield* judgePath(at, "write")
          if (verdict.allowed || judged.length >= max_remarks) continue
          const hidden = settings.private_tmp && isWithin("/tmp", verdict.path)
          judged.push(hidden ? `${verdict.message}; commands have a /tmp of their own` : verdict.message)
        }
        said.push(...judged)
        if (readOnly && judged.length === 0) {
          const { write_roots } = yield* status
          said.push(
            `commands write in ${write_roots.join(", ") || "nothing"} only, but for settings, git hooks and git ` +
              `configuration (rule outside or protected, mode ${settings.mode})`
          )
        }
        said.push(...lines)
        return said.length === 0 ? null : said.map((one) => `[sandbox] ${one}`).join("\n")
      })

    const wrapSpawn = yield* makeSpawning({
      settings,
      workspace,
      path,
      owner,
      surveyed,
      closing,
      refusal,
      method: Effect.map(inForce, ({ method }) => method),
      options
    })

    return {
      settings,
      checkPath: (given, operation) => Effect.map(judgePath(given, operation), (verdict) => verdict.allowed),
      judgePath,
      refusedHost: (host, port) =>
        settings.mode === "off" || settings.network === "on"
          ? null
          : settings.network === "off"
          ? `the sandbox allows no network (sandbox.network is "off"); ${host}:${port} is refused`
          : refusedHost(allowed, host, port),
      status,
      judgeCommands,
      refusal,
      notice,
      remark,
      wrapSpawn
    } satisfies SandboxService
  })

type Needs = Config | Workspace | Dirs | Environment | Files | Path.Path | Container | Enforcement

/** One a workspace. @since 0.1.0 @category services */
export class Sandbox extends Context.Tag("@hanzo/dev/sandbox/Sandbox")<Sandbox, SandboxService>() {
  static readonly layer: Layer.Layer<Sandbox, never, Needs> = Layers.scoped(Sandbox, make({}))

  /** The same with what the settings do not say. */
  static readonly layerWith = (options: SandboxOptions): Layer.Layer<Sandbox, never, Needs> =>
    Layers.scoped(Sandbox, make(options))
}
