/** Real shell scripts as hooks, in a directory of their own. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { HookConfig } from "../../src/config/Schema.ts"
import type { AgentEventBody } from "../../src/domain/AgentEvent.ts"
import { type HookContext, HookRunner, type TieredHook } from "../../src/hooks/HookRunner.ts"
import { Processes } from "../../src/platform/Processes.ts"

export const pre = (command: string, more: Partial<HookConfig> = {}): HookConfig => ({
  event: "pre_tool_use",
  command,
  tool_pattern: "bash",
  ...more
})

export const post = (command: string, more: Partial<HookConfig> = {}): HookConfig =>
  pre(command, { event: "post_tool_use", ...more })

export const recorded = (call_id: string | null = "call_1") => {
  const events: Array<AgentEventBody> = []
  const context: HookContext = {
    session_id: "ses_1",
    call_id,
    report: (event) => Effect.sync(() => void events.push(event))
  }
  return { events, context }
}

/** `test` gets a runner over the hooks, working in a fresh directory that is gone afterwards. */
export const withRunner = <A, E, R>(
  hooks: ReadonlyArray<HookConfig | TieredHook>,
  test: (runner: HookRunner, root: string) => Effect.Effect<A, E, R>,
  options: { readonly vars?: Readonly<Record<string, string>>; readonly log?: Layer.Layer<never> } = {}
) =>
  Effect.acquireUseRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hooks-")))),
    (root) =>
      Effect.flatMap(Processes, (processes) =>
        test(
          new HookRunner(hooks.map((hook) => "tier" in hook ? hook : { hook, tier: "user" }), {
            processes,
            env: new Map(Object.entries({ PATH: process.env["PATH"] ?? "/usr/bin:/bin", ...options.vars })),
            root,
            cwd: root
          }),
          root
        )),
    (root) => Effect.sync(() => fs.rmSync(root, { recursive: true, force: true }))
  ).pipe(Effect.provide(Layer.merge(Processes.layer, options.log ?? Logger.remove(Logger.defaultLogger))))
