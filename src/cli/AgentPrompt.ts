/**
 * `hanzo-dev agent prompt`: the system prompt exactly as it is sent.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { preview } from "../agent/PromptPreview.ts"
import { line, neutralise } from "../codec/TerminalText.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Ids } from "../domain/Ids.ts"
import { ToolExecutor } from "../domain/ToolExecutor.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import type { AgentPrompt } from "./AgentPromptSchemas.ts"
import { failed } from "./Exit.ts"
import { soundConfig, stderrStyle, stdoutExit } from "./Output.ts"
import type * as Spec from "./Spec.ts"
import { warnUntrusted } from "./TrustQuestion.ts"

/** @since 0.1.0 @category combinators */
export const execute = Effect.fn("Cli.agent.prompt")(function*(values: Spec.Values<typeof Spec.agentPrompt>) {
  const terminal = yield* Terminal
  const environment = yield* Environment
  const style = yield* stderrStyle
  yield* soundConfig
  yield* warnUntrusted
  const [tools, ids] = yield* Effect.all([Effect.serviceOption(ToolExecutor), Effect.serviceOption(Ids)])
  if (Option.isNone(tools) || Option.isNone(ids)) return yield* failed("there are no tools here")
  const { notices, parts, text, tools: offered } = yield* preview({
    permission_mode: values["permission-mode"] ?? "default",
    append: values["system-prompt-append"] ?? ""
  }).pipe(Effect.provideService(ToolExecutor, tools.value), Effect.provideService(Ids, ids.value))
  for (const notice of notices) yield* terminal.err(`${style.yellow("note:")} ${line(notice, 1000)}\n`)
  const document: AgentPrompt = {
    v: 1,
    prompt: text,
    parts,
    tools: offered.map(({ description, input_schema, name }) => ({ name, description, input_schema })),
    notices
  }
  yield* Effect.mapError(
    terminal.out(
      values.json
        ? `${JSON.stringify(document)}\n`
        // byte for byte where a program reads it
        : `${environment.stdout_is_tty ? neutralise(text) : text}\n`
    ),
    stdoutExit
  )
  return ExitCode.done
})
