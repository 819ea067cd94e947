/**
 * The sandbox in the way of a tool call: paths of file tools, names of `fetch`, and whether commands may run at all
 * (readings 2.3, 10.4). What a command touches is the kernel's to judge.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import type { ToolResult } from "../domain/Tool.ts"
import type { PathVerdict } from "../sandbox/CheckPath.ts"
import { Sandbox, type SandboxService } from "../sandbox/Sandbox.ts"
import { type GuardedCall, type SandboxHold, type SandboxPassage, ToolSandbox } from "./Slots.ts"

/** Tools whose subjects are paths (reading 7.5). */
const pathTools: ReadonlySet<string> = new Set(["read", "write", "edit", "apply_patch", "glob", "grep", "lsp"])

/** Somebody was shown this very path and said yes. */
const isApproved = (call: GuardedCall): boolean =>
  call.decided_by === "user" || call.decided_by === "session" || call.decided_by?.startsWith("prompter:") === true

const judgePaths = (sandbox: SandboxService, call: GuardedCall): Effect.Effect<SandboxPassage> => {
  const { mode } = sandbox.settings
  // Also in mode off nobody's tools write settings and programs that run by themselves.
  const hold: SandboxHold = { enforcement: mode === "off" && call.read_only ? "off" : "path_check", mode }
  return Effect.map(
    Effect.forEach(call.subjects, (subject) => sandbox.judgePath(subject, call.read_only ? "read" : "write")),
    (verdicts: ReadonlyArray<PathVerdict>): SandboxPassage => {
      const warnings: Array<string> = []
      for (const verdict of verdicts) {
        if (verdict.allowed) {
          if (verdict.warning !== null) warnings.push(`Warning: ${verdict.warning}.`)
        } else if (!(verdict.rule === "outside" && call.read_only && isApproved(call))) {
          return { allowed: false, reason: verdict.message, hold, path: verdict.path, rule: verdict.rule }
        }
      }
      return warnings.length === 0 ? { allowed: true, hold } : { allowed: true, hold, context: warnings.join("\n") }
    }
  )
}

const judgeCommand = (sandbox: SandboxService): Effect.Effect<SandboxPassage> => {
  const { mode } = sandbox.settings
  return Effect.map(sandbox.judgeCommands, (verdict): SandboxPassage =>
    verdict.allowed
      ? { allowed: true, hold: { enforcement: verdict.held_by ?? (mode === "off" ? "off" : "none"), mode } }
      : {
        allowed: false,
        reason: `bash is refused: ${verdict.message}`,
        hold: { enforcement: "none", mode },
        rule: verdict.rule,
        ...(verdict.path === null ? {} : { path: verdict.path })
      })
}

const judgeUrl = (sandbox: SandboxService, url: string): SandboxPassage => {
  const { mode, network } = sandbox.settings
  const hold: SandboxHold = { enforcement: mode === "off" ? "off" : network === "on" ? "none" : "host_check", mode }
  const refused = (rule: string, why: string): SandboxPassage => ({
    allowed: false,
    reason: `${url} is refused by the sandbox: ${why} (rule ${rule})`,
    hold,
    rule
  })
  if (!URL.canParse(url)) return refused("invalid_address", "it is no address")
  const { hostname, port, protocol } = new URL(url)
  const number = port === "" ? protocol === "https:" ? 443 : 80 : Number(port)
  const why = sandbox.refusedHost(hostname.replace(/^\[(.*)\]$/su, "$1"), number)
  return why === null ? { allowed: true, hold } : refused("network", why)
}

/** @since 0.1.0 @category layers */
export const layerSandboxSlot: Layer.Layer<ToolSandbox, never, Sandbox> = Layers.effect(
  ToolSandbox,
  Effect.map(Sandbox, (sandbox) => ({
    remark: (call: GuardedCall, result: ToolResult) =>
      call.tool_name === "bash" ? sandbox.remark(result.output, result.is_error) : Effect.succeed(null),
    check: (call: GuardedCall): Effect.Effect<SandboxPassage> => {
      if (pathTools.has(call.tool_name)) return judgePaths(sandbox, call)
      if (call.tool_name === "bash") return judgeCommand(sandbox)
      const [url] = call.subjects
      if (call.tool_name === "fetch" && url !== undefined) return Effect.succeed(judgeUrl(sandbox, url))
      const { mode } = sandbox.settings
      return Effect.succeed({ allowed: true, hold: { enforcement: mode === "off" ? "off" : "none", mode } })
    }
  }))
)
