/** Layers under the tools for tests: real files and processes in a scratch directory, scripted permissions. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Config } from "../../src/config/Config.ts"
import type { HanzoConfig } from "../../src/config/Schema.ts"
import type { AgentEventBody } from "../../src/domain/AgentEvent.ts"
import { Ids } from "../../src/domain/Ids.ts"
import type { Verdict } from "../../src/domain/Permission.ts"
import { type ToolCallContext, ToolExecutor } from "../../src/domain/ToolExecutor.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { type PermissionRequest, Permissions } from "../../src/permissions/Permissions.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Http } from "../../src/platform/Http.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { Spawner } from "../../src/platform/Spawner.ts"
import { layerExecutor, layerSystemServices, systemTools } from "../../src/tools/Layers.ts"
import { McpTools } from "../../src/tools/McpTools.ts"
import { NativeTools } from "../../src/tools/Registry.ts"
import { ToolHooks, ToolSandbox, ToolSecrets } from "../../src/tools/Slots.ts"
import type { NativeTool } from "../../src/tools/Tool.ts"

/** The settings' own defaults with some of them replaced. */
const layerConfig = (config: Partial<HanzoConfig> = {}): Layer.Layer<Config> =>
  Layer.map(Config.layerText("{}"), (context) => {
    const defaults = Context.get(context, Config)
    return Context.make(Config, { ...defaults, config: { ...defaults.config, ...config } })
  })

/** Lets everything through and remembers the requests. */
export const recordingPermissions = (
  decide: (request: PermissionRequest) => string | null = () => null,
  evaluate: (tool: string, subject?: string) => Verdict["mode"] = () => "prompt"
) => {
  const requests: Array<PermissionRequest> = []
  const layer = Layer.succeed(Permissions, {
    authorize: (request) =>
      Effect.sync(() => {
        requests.push(request)
        const reason = decide(request)
        return reason === null
          ? { allowed: true, decided_by: "rule" } as const
          : { allowed: false, decided_by: "rule", reason } as const
      }),
    evaluate: (tool, subject) => ({
      mode: evaluate(tool, subject),
      rule_index: null,
      rule_matched: null,
      reason: null
    }),
    recordSteps: () => Effect.void
  })
  return { requests, layer }
}

export const allowAll: Layer.Layer<Permissions> = recordingPermissions().layer

export const scratch = (): { readonly root: string; readonly remove: () => void } => {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "tools-")))
  fs.mkdirSync(path.join(root, "work"))
  return { root, remove: () => fs.rmSync(root, { recursive: true, force: true }) }
}

/** What the system tools need from below, over `root`. */
export const layerBelow = (
  root: string,
  options: { readonly config?: Partial<HanzoConfig>; readonly vars?: Record<string, string> } = {}
) =>
  Layer.mergeAll(
    Layer.provide(Spawner.layerPlain, Processes.layer),
    Ids.layerCounting,
    Environment.layerTest({ cwd: root, vars: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", ...options.vars } }),
    layerConfig(options.config),
    Layer.succeed(Workspace, { root: path.join(root, "work"), cwd: path.join(root, "work") }),
    Dirs.layerTest(root),
    NodeFileSystem.layer,
    NodePath.layer
  )

/** No key in environment or settings, no login: there is nothing to mask. */
export const layerNoSecrets = Layer.mergeAll(Environment.layerTest(), Config.layerText("{}"), ToolSecrets.layerNone)

/** ToolExecutor over the given tools, nothing else. */
export const layerTools = (
  tools: ReadonlyArray<NativeTool>,
  permissions: Layer.Layer<Permissions> = allowAll,
  secrets: Layer.Layer<Environment | Config> = layerNoSecrets
) =>
  layerExecutor.pipe(
    Layer.provide([
      Layer.succeed(NativeTools, tools),
      permissions,
      McpTools.layerEmpty,
      ToolHooks.layerNoop,
      ToolSandbox.layerNoop,
      ToolSecrets.layerNone,
      Ids.layerCounting,
      secrets
    ])
  )

/** ToolExecutor over the system tools with real processes in `root`. */
export const layerSystem = (
  root: string,
  options: Parameters<typeof layerBelow>[1] & { readonly permissions?: Layer.Layer<Permissions> } = {}
) => {
  const below = layerBelow(root, options)
  const permissions = options.permissions ?? allowAll
  const services = Layer.provideMerge(layerSystemServices, below)
  const http = Layer.provide(Http.layer, below)
  const native = Layer.provide(NativeTools.layerOf([systemTools]), Layer.mergeAll(services, http, permissions))
  return Layer.merge(
    services,
    Layer.provide(
      layerExecutor,
      Layer.mergeAll(
        native,
        permissions,
        McpTools.layerEmpty,
        ToolHooks.layerNoop,
        ToolSandbox.layerNoop,
        ToolSecrets.layerNone,
        below
      )
    )
  )
}

/** A call context that keeps what was reported. */
export const recordingContext = (call_id = "call_t") => {
  const events: Array<AgentEventBody> = []
  const context: ToolCallContext = { call_id, report: (event) => Effect.sync(() => void events.push(event)) }
  const shown = (): string => events.map((event) => event.type === "tool.output" ? event.text : "").join("")
  return { events, context, shown }
}

export const execute = (name: string, input: Record<string, unknown>, context?: ToolCallContext) =>
  Effect.flatMap(ToolExecutor, (tools) => tools.execute(name, input, "ses_t", context))
