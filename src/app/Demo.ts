/**
 * The demo: the agent repairs a real failing program in a scratch copy. Real tools, real policy, real processes; only
 * the model is scripted. No key, no network.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TaggedError } from "../domain/TaggedError.ts"
import { Agent } from "../agent/Agent.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import { isTerminal } from "../domain/RunEnd.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment, type EnvironmentService, variable } from "../platform/Environment.ts"
import { fromPlatform } from "../platform/FileError.ts"
import { Processes } from "../platform/Processes.ts"
import { files } from "./demo/Program.ts"
import { countOf, scenario, settings, testCommand } from "./demo/Repair.ts"
import { layerProcess, layerWorkspace } from "./Runtime.ts"

/** The demo could not be set up; what the agent does wrong is in the report. @since 0.1.0 @category errors */
export class DemoError extends TaggedError("@hanzo/dev/app/DemoError")("DemoError", () => ({
  reason: Schema.Literal("set_up", "run"),
  message: Schema.String
})) {}

/** @since 0.1.0 @category models */
export interface DemoReport {
  /** The run completed, and the tests pass when they are run once more without the agent. */
  readonly repaired: boolean
  /** What that last run of the tests printed. */
  readonly test_output: string
  /** Calls the policy refused. */
  readonly refused: number
}

/** What the agent is asked. @since 0.1.0 @category constants */
export const prompt = "The tests of this project fail. Repair the program and prove it."

/** Where the system puts what is temporary, as it is set. */
const temporary = (environment: EnvironmentService): string =>
  ["TMPDIR", "TMP", "TEMP"].map((name) => variable(environment, name)).find((value) => value !== undefined) ?? "/tmp"

const setUp = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const directory = yield* fs.realPath(yield* fs.makeTempDirectoryScoped({ prefix: "hanzo-demo-" }))
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(directory, name)
    yield* fs.makeDirectory(path.dirname(file), { recursive: true })
    yield* fs.writeFileString(file, content)
  }
  return directory
}).pipe(
  Effect.catchAll((error) =>
    Effect.flatMap(Environment, (environment) => {
      const { message } = fromPlatform("make a directory in", temporary(environment), error)
      return new DemoError({
        reason: "set_up",
        message: `the scratch copy could not be made: ${message}\n` +
          "set TMPDIR to a directory that can be written, or unset it"
      })
    })
  )
)

/** The tests once more, without the agent. */
const prove = (directory: string) =>
  Effect.gen(function*() {
    const processes = yield* Processes
    const environment = yield* Environment
    const { code, stdout } = yield* processes.run({
      argv: ["sh", "-c", testCommand],
      cwd: directory,
      env: childEnvironment(environment.vars),
      timeout: Duration.seconds(60)
    })
    const output = new TextDecoder().decode(stdout)
    return { output, passed: code === 0 && countOf(output, "fail") === 0 && countOf(output, "pass") > 0 }
  }).pipe(Effect.mapError((error) => new DemoError({ reason: "run", message: error.message })))

/**
 * Runs it from the scratch copy to the proof. `begin` is told where the copy is, `show` every event as it comes. The copy
 * is removed at the end.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = <E, R>(options: {
  readonly begin: (directory: string) => Effect.Effect<void, E, R>
  readonly show: (event: AgentEvent) => Effect.Effect<void, E, R>
}) =>
  Effect.scoped(Effect.gen(function*() {
    const directory = yield* setUp
    yield* options.begin(directory)
    let refused = 0
    let completed = false
    const layer = Layer.provideMerge(
      layerWorkspace({ directory, settings, scenarios: [scenario] }),
      layerProcess({ memory: true })
    ).pipe(Layer.mapError((error) => new DemoError({ reason: "set_up", message: error.message })))
    return yield* Effect.gen(function*() {
      const agent = yield* Agent
      const events = Stream.mapError(
        agent.run({ prompt }),
        (error) => new DemoError({ reason: "run", message: error.message })
      )
      yield* Stream.runForEach(events, (event) => {
        if (event.type === "permission.decided" && event.mode === "deny") refused++
        if (isTerminal(event)) completed = event.type === "run.completed" && event.exit_code === 0
        return options.show(event)
      })
      const { output, passed } = yield* prove(directory)
      return { repaired: completed && passed, test_output: output, refused } satisfies DemoReport
    }).pipe(Effect.provide(layer))
  }))
