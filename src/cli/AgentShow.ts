/**
 * `hanzo-dev agent list`: the agents that can be given a task, and the files that are none.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentDefinition } from "../agent/AgentDefinition.ts"
import { type Agents, load } from "../agent/AgentFiles.ts"
import { line } from "../codec/TerminalText.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Terminal } from "../platform/Terminal.ts"
import type { ToolAccess } from "../tools/ToolAccess.ts"
import type { AgentList } from "./AgentSchemas.ts"
import { anyConfig, columns, print, printJson, stderrStyle, stdoutStyle } from "./Output.ts"
import type * as Spec from "./Spec.ts"
import type { Style } from "./Style.ts"

/** Limits as one list of words; null = none. */
const toolsOf = (access: ToolAccess): ReadonlyArray<string> | null =>
  access.length === 0
    ? null
    : access.flatMap((limit) => limit === "read_only" ? ["read-only"] : typeof limit === "string" ? [limit] : limit)

/** @since 0.1.0 @category encoding */
export const documentOf = ({ agents, problems }: Agents): AgentList => ({
  v: 1,
  agents: agents.map((
    { access, description, file, max_cost_usd, max_turns, model, name, permission_mode, source }
  ) => ({
    name,
    description,
    source,
    file,
    tools: toolsOf(access),
    model,
    permission_mode,
    max_turns,
    max_cost_usd
  })),
  problems
})

/** A line an agent: name, where it is from, what it does. @since 0.1.0 @category encoding */
export const agentLines = (agents: ReadonlyArray<AgentDefinition>, style: Style): string =>
  columns(agents.map(({ description, name, source }) => [
    style.bold(line(name, 70)),
    source,
    line(description, 200)
  ]))

/** @since 0.1.0 @category combinators */
export const list = (values: Spec.Values<typeof Spec.agentList>) =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    yield* anyConfig
    const found = yield* load
    if (values.json) yield* printJson(documentOf(found))
    else {
      const style = yield* stderrStyle
      yield* print(agentLines(found.agents, yield* stdoutStyle))
      for (const problem of found.problems) {
        yield* terminal.err(`${style.yellow("warning:")} ${line(problem, 1000)}\n`)
      }
    }
    return ExitCode.done
  })
