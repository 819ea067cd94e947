/** `/plan`, `/solve`, `/code`, `/auto TASK`, `/agent [NAME TASK]` (HIP-301 section 14). @since 0.1.0 */
import * as Effect from "effect/Effect"
import { load } from "../../agent/AgentFiles.ts"
import { line } from "../../codec/TerminalText.ts"
import { agentLines } from "../AgentShow.ts"
import type { Talk } from "./Slash.ts"

/** Without a task nothing is spawned (reading 14.6). */
const give = (agent: string, form: string, task: string, talk: Talk) =>
  task.trim() === "" ? talk.say(`usage: /${form} TASK\n`) : talk.turn(task, { delegate: { agent } })

/** The commands that are named after their agent. @since 0.1.0 @category constructors */
export const named = (agent: "plan" | "solve" | "code" | "auto") => (task: string, talk: Talk) =>
  give(agent, agent, task, talk)

/** Lists the agents, or gives a task to one. @since 0.1.0 @category combinators */
export const agent = (argument: string, talk: Talk) =>
  Effect.gen(function*() {
    const [, name = "", task = ""] = /^\s*(\S*)\s*([\s\S]*)$/.exec(argument) ?? []
    if (name !== "") return yield* give(name, `agent ${line(name, 70)}`, task, talk)
    const { agents, problems } = yield* load
    yield* talk.say(agentLines(agents, talk.style))
    for (const problem of problems) yield* talk.say(`${talk.style.yellow("note:")} ${line(problem, 1000)}\n`)
  })
