/** `hanzo-dev agent ...`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as AgentShow from "../AgentShow.ts"
import { loadSettings, optionsOf, settingsLayer, withAgent, withScenario } from "../Compose.ts"
import { command } from "../Entry.ts"
import { usage } from "../Exit.ts"
import * as Run from "../Run.ts"
import * as Spec from "../Spec.ts"

type TaskValues = Spec.Values<typeof Spec.agentCode>

const delegate = (agent: string, words: string, given: TaskValues, task: string | undefined) =>
  Effect.gen(function*() {
    const values = yield* withScenario(given)
    const options = optionsOf(values, [])
    const config = yield* loadSettings(options)
    const run = {
      ...values,
      "output-format": values.json ? "json" as const : values["output-format"],
      "input-format": undefined,
      args: task === undefined ? [] : [task]
    }
    return yield* withAgent(
      { ...options, config },
      Run.execute(run, {
        input: { delegate: { agent } },
        missing: usage(
          "there is no task",
          `usage: ${Spec.program} agent ${words} TASK`,
          `give it as an argument or on stdin (... | ${Spec.program} agent ${words})`
        )
      })
    )
  })

const of = (spec: typeof Spec.agentPlan | typeof Spec.agentSolve | typeof Spec.agentCode | typeof Spec.agentAuto) =>
  command(spec, (values) => {
    const [, name] = spec.path
    return delegate(name, name, values, values.args[0])
  })

/** @since 0.1.0 @category constructors */
export const plan = of(Spec.agentPlan)

/** @since 0.1.0 @category constructors */
export const solve = of(Spec.agentSolve)

/** @since 0.1.0 @category constructors */
export const code = of(Spec.agentCode)

/** @since 0.1.0 @category constructors */
export const auto = of(Spec.agentAuto)

/** @since 0.1.0 @category constructors */
export const run = command(Spec.agentRun, (values) => {
  const [name = "", task] = values.args
  return delegate(name, `run ${name}`, values, task)
})

/** @since 0.1.0 @category constructors */
export const list = command(
  Spec.agentList,
  (values) => Effect.provide(AgentShow.list(values), settingsLayer({ directory: values.directory }))
)
