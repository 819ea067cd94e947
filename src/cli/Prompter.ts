/**
 * Asks the person at the terminal whether a call may run (reading 7.7). Questions queue one after another.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Queue from "effect/Queue"
import { line, neutralise } from "../codec/TerminalText.ts"
import type {
  PermissionDecision,
  PermissionPrompterService,
  PermissionRequestContext
} from "../domain/PermissionPrompter.ts"
import type { JsonObject } from "../domain/Json.ts"
import { Terminal } from "../platform/Terminal.ts"
import * as Questions from "./Questions.ts"
import { type Style, styleFor } from "./Style.ts"
import { Environment } from "../platform/Environment.ts"

/** What an answer means; null = ask again. @since 0.1.0 @category models */
export type Answer =
  | { readonly decision: PermissionDecision; readonly note?: string }
  | null

/**
 * | typed | meaning |
 * | --- | --- |
 * | `y`, `yes` | allow once |
 * | `s`, `session` | allow for this session |
 * | `a`, `always` | allow for this session, and for good by a rule in the local settings of the workspace, where one can say it (`can_keep`) |
 * | `n`, `no` | deny |
 * | `n TEXT` | deny, and the text goes to the model |
 *
 * @since 0.1.0
 * @category decoding
 */
export const answerOf = (text: string, can_keep = true): Answer => {
  const [, word = "", rest = ""] = /^\s*(\S*)\s*([\s\S]*?)\s*$/.exec(text) ?? []
  const said = word.toLowerCase()
  if (said === "n" || said === "no") {
    return {
      decision: { decision: "deny", reason: rest === "" ? "denied by the user" : `denied by the user: ${rest}` }
    }
  }
  if (rest !== "") return null
  if (said === "y" || said === "yes") return { decision: { decision: "allow", scope: "once" } }
  if (said === "s" || said === "session") return { decision: { decision: "allow", scope: "session" } }
  if (said === "a" || said === "always") {
    return {
      decision: { decision: "allow", scope: "always" },
      note: can_keep
        ? "allowed for this session; a rule for it goes to the local settings of this project"
        : "allowed for this session only: no rule can say exactly this, so none is written"
    }
  }
  return null
}

/** Everything the call would do, in full: nothing that is approved is hidden (reading 2.3). @since 0.1.0 @category encoding */
export const questionText = (
  tool_name: string,
  input: JsonObject,
  context: PermissionRequestContext,
  style: Style
): string => {
  const indent = (text: string): string => neutralise(text).split("\n").map((each) => `    ${each}`).join("\n")
  const subject = context.subject ?? ""
  const rest = Object.entries(input).filter(([, value]) => value !== subject)
  const details = rest.map(([key, value]) =>
    `  ${line(key, 60)}:\n${indent(typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "")}`
  )
  return [
    "",
    `${style.yellow("?")} ${context.agent === undefined ? "" : `the agent ${style.bold(line(context.agent, 100))}: `}${
      style.bold(line(tool_name, 100))
    } asks for permission${context.rule === undefined ? "" : ` (rule ${line(context.rule, 100)})`}`,
    ...(subject === "" ? [] : [indent(subject)]),
    ...details,
    ...(context.session_covers === undefined
      ? []
      : [`  ${style.dim(`for this session (s): ${line(context.session_covers, 300)}`)}`]),
    ...(context.can_keep === false ? [`  ${style.dim("always (a): no rule can say exactly this; as s")}`] : []),
    ""
  ].join("\n")
}

const choices = "  y once, s this session, a always, n no, n TEXT no and why > "

/** Which questions the person has seen coming, so that none appears before what led to it. @since 0.1.0 @category models */
export interface Announcements {
  /** The events of a run have been shown up to the announcement of this call's question. */
  readonly announce: (call_id: string) => void
  /** Returns when that has happened; at the latest after half a second. */
  readonly wait: (call_id: string) => Effect.Effect<void>
}

/** @since 0.1.0 @category constructors */
export const announcements = (): Announcements => {
  const seen = new Map<string, Deferred.Deferred<void>>()
  const of = (call_id: string): Deferred.Deferred<void> => {
    const known = seen.get(call_id)
    if (known !== undefined) return known
    const made = Deferred.unsafeMake<void>(FiberId.none)
    seen.set(call_id, made)
    return made
  }
  return {
    announce: (call_id) => Deferred.unsafeDone(of(call_id), Effect.void),
    wait: (call_id) =>
      Effect.suspend(() => Deferred.await(of(call_id))).pipe(
        Effect.timeoutOption("500 millis"),
        Effect.zipRight(Effect.sync(() => void seen.delete(call_id)))
      )
  }
}

/** What the prompter shares with the conversation it asks in. @since 0.1.0 @category models */
export interface Shared {
  /** Takes the session when the person answers with Ctrl-C: the run is to be stopped. */
  readonly interrupts: Queue.Queue<string>
  readonly announcements: Announcements
}

/** @since 0.1.0 @category constructors */
export const shared: Effect.Effect<Shared> = Effect.map(
  Queue.unbounded<string>(),
  (interrupts) => ({ interrupts, announcements: announcements() })
)

/** How long a call that was answered with Ctrl-C waits to be interrupted with its run; then it is denied all the same. */
const interruptGrace = "5 seconds"

/** @since 0.1.0 @category constructors */
export const make = (
  { announcements, interrupts }: Shared
): Effect.Effect<PermissionPrompterService, never, Terminal | Environment> =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    const environment = yield* Environment
    const style = styleFor(environment, environment.stderr_is_tty)
    const oneAtATime = yield* Effect.makeSemaphore(1)

    const ask = (session_id: string, can_keep: boolean | undefined): Effect.Effect<PermissionDecision> =>
      Effect.gen(function*() {
        while (true) {
          const typed = yield* terminal.readLine(choices, { fresh: true })
          if (typed.type === "end") return { decision: "deny", reason: "nobody answered" }
          if (typed.type === "interrupt") {
            yield* Queue.offer(interrupts, session_id)
            // the run must not go on with a refusal before it has been stopped
            yield* Effect.sleep(interruptGrace)
            return { decision: "deny", reason: "interrupted by the user" }
          }
          const answer = answerOf(typed.text, can_keep)
          if (answer === null) continue
          if (answer.note !== undefined) yield* terminal.err(`  ${style.dim(answer.note)}\n`)
          return answer.decision
        }
      })

    return {
      name: "user",
      requestPermission: (tool_name, input, context) =>
        oneAtATime.withPermits(1)(
          Effect.gen(function*() {
            if (context.call_id !== undefined) yield* announcements.wait(context.call_id)
            yield* terminal.err(questionText(tool_name, input, context, style))
            return yield* ask(context.session_id, context.can_keep)
          })
        ),
      ask: (question, context) =>
        oneAtATime.withPermits(1)(
          Effect.zipRight(
            context.agent === undefined
              ? Effect.void
              : terminal.err(`\n${style.dim(`while the agent ${line(context.agent, 100)} works`)}`),
            Questions.ask(terminal, style, question, Effect.asVoid(Queue.offer(interrupts, context.session_id)))
          )
        )
    }
  })
