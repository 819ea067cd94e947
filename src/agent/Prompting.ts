/**
 * What the system prompt of a run is made from: settings, sandbox, instruction files, servers, options.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Config } from "../config/Config.ts"
import type { RunPermissionMode } from "../domain/Permission.ts"
import { Workspace } from "../domain/Workspace.ts"
import { type InstructionPart, Instructions } from "../instructions/Instructions.ts"
import { Environment } from "../platform/Environment.ts"
import { Sandbox } from "../sandbox/Sandbox.ts"
import * as SystemPrompt from "./SystemPrompt.ts"

/** What a run says of itself. @since 0.1.0 @category models */
export interface PromptInput {
  /** Absent = of no session that has begun. */
  readonly session_id?: string
  readonly permission_mode: RunPermissionMode
  /** Names of those that are offered. */
  readonly tools: ReadonlyArray<string>
  /** What servers say about themselves. */
  readonly servers: string
  readonly append: string
}

/** The prompt with what it is made of; `notices` are for the person. @since 0.1.0 @category models */
export interface MadePrompt {
  readonly text: string
  readonly sections: ReadonlyArray<SystemPrompt.Section>
  /** What the section `instructions` is made of. */
  readonly instructions: ReadonlyArray<InstructionPart>
  readonly notices: ReadonlyArray<string>
}

/** @since 0.1.0 @category models */
export interface Prompting {
  /** Files are read anew at each call (reading 5.7). */
  readonly make: (input: PromptInput) => Effect.Effect<MadePrompt>
  /** Results of the session's tools were summarised: instructions of folders that stood in them move into the prompt. */
  readonly compacted: (session_id: string) => Effect.Effect<void>
}

/** @since 0.1.0 @category constructors */
export const make: Effect.Effect<Prompting, never, Config | Workspace | Environment> = Effect.gen(function*() {
  const { config: { custom_instructions } } = yield* Config
  const { cwd, root } = yield* Workspace
  const { os } = yield* Environment
  const sandbox = Option.getOrNull(yield* Effect.serviceOption(Sandbox))
  const instructions = Option.getOrNull(yield* Effect.serviceOption(Instructions))
  return {
    make: ({ append, permission_mode, servers, session_id, tools }) =>
      Effect.gen(function*() {
        const notice = sandbox === null ? null : yield* sandbox.notice
        const { notices, parts, text } = instructions === null
          ? { notices: [], parts: [], text: "" }
          : yield* instructions.read(session_id)
        const sections = SystemPrompt.sections({
          root,
          cwd,
          platform: os,
          date: SystemPrompt.isoDate(yield* Clock.currentTimeMillis),
          tools,
          permission_mode,
          sandbox: notice ?? "",
          instructions: text,
          custom_instructions,
          servers,
          append
        })
        return { text: sections.map((section) => section.text).join("\n\n"), sections, instructions: parts, notices }
      }),
    compacted: (session_id) => instructions?.compacted(session_id) ?? Effect.void
  }
})
