/**
 * `hanzo-dev hooks`: which hooks are in force, and what they say to a call that is made up.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { nearest } from "../codec/Distance.ts"
import { line, neutralise } from "../codec/TerminalText.ts"
import type { ConfigService } from "../config/Config.ts"
import { HookEvent } from "../config/Schema.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import { Ids } from "../domain/Ids.ts"
import { HookSubject } from "../hooks/HookSubject.ts"
import type { HookOutcome, NumberedHook } from "../hooks/HookRunner.ts"
import { Hooks } from "../hooks/Hooks.ts"
import { Terminal } from "../platform/Terminal.ts"
import { type CliExit, usage } from "./Exit.ts"
import { columns, print, printJson, soundConfig, stdoutStyle } from "./Output.ts"
import type { HooksList, HooksTest } from "./Schemas.ts"
import type * as Spec from "./Spec.ts"

/** The document of `hooks list --json`. @since 0.1.0 @category encoding */
export const listDocument = (
  hooks: ReadonlyArray<NumberedHook>,
  sources: ConfigService["sources"]
): HooksList => ({
  v: 1,
  hooks: hooks.map(({ hook, number, tier, timeout_ms }) => {
    const source = sources.get(`hooks.${number}`)?.[0]
    return {
      hook: number,
      event: hook.event,
      tool_pattern: hook.tool_pattern ?? null,
      timeout_ms,
      command: hook.command,
      tier,
      ...(source?.file === undefined ? {} : { file: source.file }),
      ...(source?.line === undefined ? {} : { line: source.line })
    }
  })
})

/** @since 0.1.0 @category combinators */
export const list = Effect.fn("Cli.hooks.list")(function*(values: Spec.Values<typeof Spec.hooksList>) {
  const { sources } = yield* soundConfig
  const { hooks } = yield* Hooks
  const document = listDocument(hooks, sources)
  if (values.json) {
    yield* printJson(document)
    return 0
  }
  if (document.hooks.length === 0) {
    const terminal = yield* Terminal
    yield* terminal.err("no hooks are in force\n")
    return 0
  }
  yield* print(columns(document.hooks.map((hook) => [
    String(hook.hook),
    hook.event,
    line(hook.tool_pattern ?? "", 40),
    `${hook.timeout_ms} ms`,
    line(hook.file === undefined ? hook.tier : `${hook.tier} ${hook.file}:${hook.line ?? 1}`, 100),
    line(hook.command, 200)
  ])))
  return 0
})

const isEvent = Schema.is(HookEvent)

/** Members that were not given. */
const unsaid: Readonly<Record<HookEvent, object>> = {
  pre_tool_use: { tool_call_id: "call_test" },
  post_tool_use: { tool_call_id: "call_test", tool_output: "", tool_is_error: false },
  session_start: { source: "new", model: "" },
  user_prompt_submit: { prompt: "" },
  pre_compact: { trigger: "auto" },
  stop: { status: "completed", exit_code: 0, result: "" },
  notification: { kind: "permission", message: "", tool_name: "", tool_call_id: "call_test" }
}

const decodeSubject = Schema.decodeUnknownEither(HookSubject)

const jsonObject = (text: string): Effect.Effect<object, CliExit> =>
  Effect.suspend(() => {
    try {
      const value: unknown = JSON.parse(text)
      if (typeof value === "object" && value !== null && !Array.isArray(value)) return Effect.succeed(value)
    } catch {
      // said below
    }
    return usage(`this is not a JSON object: ${line(text, 80)}`)
  })

/** What is to be told to the hooks, from the words of the command line. @since 0.1.0 @category decoding */
export const subjectOf = (
  args: ReadonlyArray<string>,
  output: string | undefined
): Effect.Effect<HookSubject, CliExit> =>
  Effect.gen(function*() {
    const [event = "", ...rest] = args
    if (!isEvent(event)) {
      const near = nearest(event, HookEvent.literals)
      return yield* usage(
        `there is no event ${line(event, 40)}${near === undefined ? "" : `; did you mean ${near}?`}`,
        `events: ${HookEvent.literals.join(", ")}`
      )
    }
    const of_tool = event === "pre_tool_use" || event === "post_tool_use"
    if (of_tool && rest[0] === undefined) return yield* usage(`${event} needs the name of a tool`)
    if (!of_tool && rest.length > 1) return yield* usage(`${event} is about no tool; give its JSON object alone`)
    if (output !== undefined && event !== "post_tool_use") return yield* usage("--output is for post_tool_use")
    const given = yield* jsonObject(rest[of_tool ? 1 : 0] ?? "{}")
    const decoded = decodeSubject({
      ...unsaid[event],
      ...(of_tool ? { tool_name: rest[0], tool_input: given } : given),
      ...(output === undefined ? {} : { tool_output: output }),
      event
    })
    if (Either.isRight(decoded)) return decoded.right
    const [issue] = ParseResult.ArrayFormatter.formatErrorSync(decoded.left).filter(({ path }) => path[0] !== "event")
    return yield* usage(`${event}: ${issue === undefined ? "wrong JSON" : `${issue.path.join(".")}: ${issue.message}`}`)
  })

/** The document of `hooks test --json`. @since 0.1.0 @category encoding */
export const testDocument = (
  event: HookEvent,
  outcome: HookOutcome,
  durations: ReadonlyMap<number, number>
): HooksTest => ({
  v: 1,
  event,
  decision: outcome.decision,
  reason: outcome.reason,
  context: outcome.context,
  hooks: outcome.results.map(({ additional_context, ...result }) => ({
    ...result,
    duration_ms: durations.get(result.hook) ?? 0,
    additional_context: additional_context ?? null
  }))
})

/** Runs them for real, as a run would. @since 0.1.0 @category combinators */
export const test = Effect.fn("Cli.hooks.test")(function*(values: Spec.Values<typeof Spec.hooksTest>) {
  const subject = yield* subjectOf(values.args, values.output)
  yield* soundConfig
  const hooks = yield* Hooks
  const ids = yield* Ids
  const style = yield* stdoutStyle
  const durations = new Map<number, number>()
  const outcome = yield* hooks.runEvent(subject, {
    session_id: yield* ids.session,
    call_id: "tool_call_id" in subject ? subject.tool_call_id : null,
    report: (event: AgentEventBody) =>
      Effect.sync(() => {
        if (event.type === "hook.completed") durations.set(event.hook, event.duration_ms)
      })
  })
  const document = testDocument(subject.event, outcome, durations)
  if (values.json) yield* printJson(document)
  else if (document.hooks.length === 0) yield* print(`no hook in force is for this\n`)
  else {
    const rows = document.hooks.map((result) => {
      const word = result.decision === "allow" ? style.green(result.decision) : style.red(result.decision)
      const reason = result.reason === "" ? "" : `\n  ${neutralise(result.reason).replaceAll("\n", "\n  ")}`
      const told = result.additional_context === null
        ? ""
        : `\n  ${style.dim("to the model:")} ${neutralise(result.additional_context).replaceAll("\n", "\n  ")}`
      return `hook ${result.hook}: ${word} ${style.dim(`(${result.duration_ms} ms)`)}${reason}${told}\n`
    })
    yield* print(rows.join(""))
  }
  return document.decision === "allow" ? 0 : 1
})
