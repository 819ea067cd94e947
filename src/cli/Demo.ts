/**
 * `hanzo-dev demo`: shows the agent repair a real failing program. Here everything is the answer, so everything goes to
 * stdout, in its order.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { line, neutralise } from "../codec/TerminalText.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal, type TerminalError } from "../platform/Terminal.ts"
import { failed } from "./Exit.ts"
import { stdoutExit, stdoutStyle } from "./Output.ts"
import { program } from "./Spec.ts"
import * as View from "./View.ts"

/** What the demo tells at its end: `app/Demo`'s report. @since 0.1.0 @category models */
export interface Report {
  readonly repaired: boolean
  readonly test_output: string
  readonly refused: number
}

/** `app/Demo`'s `run`. @since 0.1.0 @category models */
export type RunDemo<E extends { readonly message: string }, R> = (options: {
  readonly begin: (directory: string) => Effect.Effect<void, TerminalError>
  readonly show: (event: AgentEvent) => Effect.Effect<void, TerminalError>
}) => Effect.Effect<Report, E | TerminalError, R>

const isTerminalError = (error: { readonly message: string }): error is TerminalError =>
  "_tag" in error && error._tag === "TerminalError"

/** Exit code 0 when the program is repaired, proved by its tests. @since 0.1.0 @category combinators */
export const execute = <E extends { readonly message: string }, R>(prompt: string, run: RunDemo<E, R>) =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    const environment = yield* Environment
    const style = yield* stdoutStyle
    const view = View.make({ style, columns: yield* terminal.columns, answer: true, progress: true })
    const say = (text: string) => terminal.out(text)
    return yield* Effect.gen(function*() {
      const report = yield* run({
        begin: (directory) =>
          say(
            `${
              style.bold(`${program} demo`)
            }: a scripted model, real tools, real permissions; no account, no network\n` +
              `${style.dim(`scratch copy: ${line(directory, 300)}`)}\n\n${style.bold("task:")} ${line(prompt, 500)}\n\n`
          ),
        show: (event) => Effect.forEach(view.push(event), ({ text }) => say(text), { discard: true })
      })
      yield* say(
        `\n${style.bold("the tests, run once more without the agent:")}\n${
          neutralise(report.test_output).trimEnd().split("\n").map((each) => `  ${each}\n`).join("")
        }\n`
      )
      if (report.refused > 0) {
        yield* say(`${report.refused} ${report.refused === 1 ? "call was" : "calls were"} refused by the rules\n`)
      }
      yield* say(
        report.repaired
          ? `${style.green("repaired")}: the tests pass\n` +
            (environment.stdout_is_tty
              ? `\nwith a provider's key in the environment, ${program} works on your code: ${program} doctor\n`
              : "")
          : `${style.red("not repaired")}\n`
      )
      return report.repaired ? 0 : 1
    }).pipe(
      Effect.mapError((error) => isTerminalError(error) ? stdoutExit(error) : failed(...error.message.split("\n")))
    )
  })
