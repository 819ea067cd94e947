/**
 * A command of the user in place of a prompt: its task goes to an agent of its own, whose final text is the answer in the
 * session's record (readings 14.1 to 14.6). Loaded with the first such command, or the first call of `task`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Config } from "../config/Config.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import { AgentError, ExitCode, type RunError } from "../domain/Failure.ts"
import type { Part } from "../domain/Message.ts"
import { partsOf, text, textOf } from "../domain/MessageParts.ts"
import { failure, success } from "../domain/ToolExecutor.ts"
import type { ToolResult } from "../domain/Tool.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Permissions } from "../permissions/Permissions.ts"
import { nearest } from "../codec/Distance.ts"
import { line } from "../codec/TerminalText.ts"
import type { StorageError } from "../storage/SessionStore.ts"
import type { AgentService } from "./Agent.ts"
import type { AgentDefinition } from "./AgentDefinition.ts"
import * as AgentFiles from "./AgentFiles.ts"
import * as Auto from "./Auto.ts"
import * as FileContext from "./FileContext.ts"
import { appendUser, type RunOutcome, type RunState } from "./Loop.ts"
import type { RunContext } from "./RunContext.ts"
import type { RunNode } from "./RunTree.ts"
import { bounded, start } from "./Subagent.ts"

/** What there is, in one line, for a name that is none. @since 0.1.0 @category encoding */
export const unknownAgent = (name: string, agents: ReadonlyArray<AgentDefinition>): string => {
  const near = nearest(name, agents.map((agent) => agent.name))
  const all = agents.map((agent) => `${agent.name} (${line(agent.description, 200)})`).join(", ")
  return `there is no agent ${JSON.stringify(line(name, 80))}${
    near === undefined ? "." : `; did you mean ${near}?`
  } The agents are: ${all}`
}

/** The agent of a command. Fails with those that there are. @since 0.1.0 @category constructors */
export const find = (name: string): Effect.Effect<AgentDefinition, AgentError> =>
  Effect.flatMap(AgentFiles.load, ({ agents, problems }) => {
    const found = agents.find((agent) => agent.name === name)
    if (found !== undefined) return Effect.succeed(found)
    const left_out = problems.find((problem) => problem.includes(`the agent ${name} is left out`))
    return Effect.fail(new AgentError({ reason: "invalid_input", message: left_out ?? unknownAgent(name, agents) }))
  })

/** What rules say about an agent by its name: nobody asks about what the user has typed, a deny holds all the same. */
const deniedBy = Effect.map(
  Effect.serviceOption(Permissions),
  (permissions) => (agent: string): string | null => {
    if (Option.isNone(permissions)) return null
    const verdict = permissions.value.evaluate("task", agent)
    return verdict.mode === "deny"
      ? verdict.reason ?? `the agent ${agent} is denied by rule ${JSON.stringify(verdict.rule_matched)}`
      : null
  }
)

/** A piece of work for one agent. @since 0.1.0 @category models */
export interface Work {
  readonly parent: RunNode
  readonly definition: AgentDefinition
  readonly task: string
  readonly parts: ReadonlyArray<Part>
  /** A person has typed the task: files named with `@` are attached. */
  readonly typed: boolean
  readonly call_id: string | null
  readonly agent: Pick<AgentService, "run" | "interrupt">
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
}

interface Done {
  readonly result: string
  readonly error: RunError | null
  readonly exit_code: number
  readonly turns: number
  readonly session_id: string | null
}

/** Does the work; `report` holds what a chain has done so far. */
const work = (input: Work, report: Auto.AutoReport): Effect.Effect<Done> =>
  Effect.gen(function*() {
    const { definition, parent, task } = input
    const denied = yield* deniedBy
    const refusal = denied(definition.name)
    if (refusal !== null) {
      return {
        result: "",
        error: { code: "agent_denied", message: refusal },
        exit_code: ExitCode.failed,
        turns: 0,
        session_id: null
      }
    }
    const context = yield* FileContext.make(parent.messages(), input.typed ? task : null)
    yield* Effect.forEach(
      context.problems,
      (message) => input.report({ type: "notice", code: "not_attached", message }),
      { discard: true }
    )
    if (definition.chain) {
      const config = Option.getOrNull(yield* Effect.serviceOption(Config))
      const workspace = Option.getOrNull(yield* Effect.serviceOption(Workspace))
      const end = yield* Auto.run({
        ...input,
        context: context.text,
        root: workspace?.root ?? "/",
        max_rounds: config?.config.auto_max_rounds ?? 1,
        denied
      }, report)
      return { ...end, result: Auto.reportText(report), turns: report.turns, session_id: null }
    }
    const prompt = [definition.prefix, task, context.text].filter((each) => each.trim() !== "").join("\n\n")
    const ended = yield* start({
      parent,
      definition,
      prompt: input.parts.length === 0 ? prompt : [text(prompt), ...input.parts],
      title: `${definition.name}: ${task.trim().split("\n", 1)[0] ?? ""}`,
      call_id: input.call_id,
      agent: input.agent,
      report: input.report
    })
    const { error, result, session_id, turns } = ended
    return {
      result,
      error: ended.status === "completed" && result.trim() === ""
        ? { code: "empty_answer", message: `the agent ${definition.name} ended without a word` }
        : error,
      exit_code: ended.status === "completed"
        ? result.trim() === "" ? ExitCode.failed : ExitCode.done
        : ended.status === "cancelled"
        ? ExitCode.failed
        : ended.exit_code,
      turns,
      session_id
    }
  })

/** A call of `task`: the final text alone is its result, and what stopped the agent is an error. @since 0.1.0 @category constructors */
export const called = (input: Work): Effect.Effect<ToolResult> =>
  Effect.map(work(input, { sections: [], turns: 0 }), ({ error, result, session_id }) => {
    const output = bounded(result, session_id)
    return error === null
      ? success(output)
      : failure(`the agent ${input.definition.name} has not finished: ${error.message} (${error.code})`, output)
  })

const exits: ReadonlyMap<number, ExitCode> = new Map(Object.values(ExitCode).map((each) => [each, each]))

/**
 * Runs a command's task. What was typed and the final text are recorded in the session, so that the conversation goes on
 * from there; what happened in between stands in the sessions of the subagents.
 *
 * @since 0.1.0
 * @category combinators
 */
export const delegated = (
  context: RunContext,
  state: RunState,
  input: {
    readonly definition: AgentDefinition
    readonly prompt: string | ReadonlyArray<Part>
    /** A person has typed all of it: files named with `@` are attached. */
    readonly typed: boolean
    readonly agent: Pick<AgentService, "run" | "interrupt">
  }
): Effect.Effect<RunOutcome, StorageError> =>
  Effect.gen(function*() {
    const { definition, prompt } = input
    const given = typeof prompt === "string" ? [text(prompt)] : prompt
    const task = textOf({ role: "user", content: given })
    const command = definition.source === "built-in" ? `/${definition.name} ` : `/agent ${definition.name} `
    const before = context.node.messages()
    const denied = yield* appendUser(context, state, [text(command), ...given])
    if (denied !== null) return denied
    const said = state.messages.at(-1)
    // what hooks and servers have added to it goes along
    const extra = said === undefined ? [] : partsOf(said).slice(1 + given.length)
    const attached = [...given.filter((part) => part.type !== "text"), ...extra]
    const report: Auto.AutoReport = { sections: [], turns: 0 }

    /** The answer of the command, stored first, then shown. */
    const answer = (words: string) =>
      Effect.gen(function*() {
        if (words.trim() === "") return
        const item_id = context.nextItemId()
        const message = { role: "assistant", content: [text(words)] } as const
        yield* context.store.append(context.session_id, [
          { key: `item:${item_id}`, run_id: context.run_id, turn: 1, message }
        ])
        state.messages.push(message)
        state.result = words
        yield* context.emit([{ type: "item.completed", item_id, item: { type: "message", text: words } }])
      })

    const done = yield* work({
      parent: { ...context.node, messages: () => before },
      definition,
      task,
      parts: attached,
      typed: input.typed,
      call_id: null,
      agent: input.agent,
      report: (event) => context.emit([event])
    }, report).pipe(
      // what a chain has done is kept
      Effect.onInterrupt(() => {
        state.turns = report.turns
        return report.sections.length === 0
          ? Effect.void
          : Effect.ignore(answer(`${Auto.reportText(report)}\n\n## Interrupted`))
      })
    )
    state.turns = done.turns
    yield* Effect.uninterruptible(answer(done.result))
    return done.error === null
      ? { _tag: "Completed", stop_reason: "end_turn" }
      : { _tag: "Failed", error: done.error, exit_code: exits.get(done.exit_code) ?? ExitCode.failed }
  })
