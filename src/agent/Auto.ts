/**
 * The chain of `/auto`: plan, code, review, each a subagent of its own; what the review finds goes back to the code a
 * bounded number of times (reading 14.5). A stage that fails, is denied or hits a limit stops it, and the report says
 * which and keeps what was done.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { ExitCode, type RunError } from "../domain/Failure.ts"
import type { Part } from "../domain/Message.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { AgentService } from "./Agent.ts"
import { type AgentDefinition, auto, code, plan, solve } from "./AgentDefinition.ts"
import type { RunNode } from "./RunTree.ts"
import * as Since from "./Since.ts"
import { type Ended, start } from "./Subagent.ts"

/** @since 0.1.0 @category models */
export interface AutoInput {
  readonly parent: RunNode
  readonly task: string
  /** What came with the task and is no text. */
  readonly parts: ReadonlyArray<Part>
  /** Files, workspace, repository. */
  readonly context: string
  readonly root: string
  /** How often findings go back to the code (`auto_max_rounds`). */
  readonly max_rounds: number
  readonly call_id: string | null
  readonly agent: Pick<AgentService, "run" | "interrupt">
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
  /** Why a stage may not run; null = it may. */
  readonly denied: (agent: string) => string | null
}

/** What a chain has come to; grows while it is on. @since 0.1.0 @category models */
export interface AutoReport {
  sections: Array<string>
  turns: number
}

/** @since 0.1.0 @category models */
export interface AutoEnd {
  readonly error: RunError | null
  readonly exit_code: number
}

/** @since 0.1.0 @category encoding */
export const reportText = ({ sections }: AutoReport): string => sections.join("\n\n")

/** The review's own word: the last line that gives a verdict. None counts as findings. @since 0.1.0 @category decoding */
export const passes = (review: string): boolean => {
  const found = [...review.matchAll(/^[\s>*_`#-]*verdict[\s*_`]*:[\s*_`]*(pass|findings)\b/gimu)].at(-1)
  return found?.[1]?.toLowerCase() === "pass"
}

/** Longest diff that a review is shown, in UTF-16 units. */
const maxDiff = 60_000

const shownDiff = (diff: string | null, changed: ReadonlyArray<string>): string => {
  if (diff === null) {
    return changed.length === 0
      ? "No diff is at hand; no file was changed by a file tool."
      : `No diff is at hand. Files that were changed:\n${changed.map((path) => `- ${path}`).join("\n")}`
  }
  if (diff.trim() === "") return "Nothing has changed since the start."
  const cut = diff.length > maxDiff
  const text = cut ? diff.slice(0, maxDiff).replace(/[\uD800-\uDBFF]$/u, "") : diff
  const longest = (text.match(/`+/g) ?? []).reduce((max, run) => Math.max(max, run.length), 0)
  const mark = "`".repeat(Math.max(3, longest + 1))
  return `The diff since the start${cut ? ", its beginning; read the files for the rest" : ""}:\n${mark}diff\n${text}${
    text.endsWith("\n") ? "" : "\n"
  }${mark}`
}

const verdictAsked =
  "Review what was done against the task and the plan: is it complete and right, does it break anything, is something " +
  "changed that was not asked for? Read the changed files. List what must be changed, each with file and reason. The " +
  "last line of your answer is `VERDICT: PASS` when nothing must be changed, else `VERDICT: FINDINGS`."

interface Stop {
  readonly code: string
  readonly why: string
  readonly exit_code: number
}

/** Why a stage ends the chain; null = it goes on. */
const stopped = (ended: Ended): Stop | null => {
  if (ended.status !== "completed") {
    const { code: inner, message } = ended.error ?? { code: "failed", message: "it failed" }
    const limit = ended.exit_code === ExitCode.limit
    return {
      code: limit ? "stage_limit" : "stage_failed",
      why: `${message} (${inner})`,
      exit_code: ended.status === "cancelled" ? ExitCode.failed : ended.exit_code
    }
  }
  if (ended.refused !== null) {
    return {
      code: "stage_denied",
      why: `a call was denied, and nothing came after it: ${ended.refused}`,
      exit_code: ended.unasked ? ExitCode.no_prompter : ExitCode.failed
    }
  }
  return ended.result.trim() === ""
    ? { code: "stage_failed", why: "it ended without a word", exit_code: ExitCode.failed }
    : null
}

interface Staged {
  readonly stop: Stop | null
  readonly said: string
}

/** Runs the chain; `report` of the caller's holds what has been done also when it is interrupted. @since 0.1.0 @category constructors */
export const run = (input: AutoInput, report: AutoReport): Effect.Effect<AutoEnd> =>
  Effect.scoped(Effect.gen(function*() {
    const { context, denied, max_rounds, task } = input
    const since = yield* Since.begin(input.root)
    const changed = new Set<string>()
    const head = task.trim().split("\n", 1)[0] ?? ""

    const stage = (
      name: string,
      definition: AgentDefinition,
      sections: ReadonlyArray<string>
    ): Effect.Effect<Staged> =>
      Effect.gen(function*() {
        const refusal = denied(definition.name)
        if (refusal !== null) {
          return { stop: { code: "stage_denied", why: refusal, exit_code: ExitCode.failed }, said: "" }
        }
        const prompt = [definition.prefix, auto.prefix, ...sections, context].filter((each) => each !== "").join("\n\n")
        const ended = yield* start({
          parent: input.parent,
          definition,
          within: auto.name,
          prompt: input.parts.length === 0 ? prompt : [{ type: "text", text: prompt }, ...input.parts],
          title: `${auto.name}/${name}: ${head}`,
          call_id: input.call_id,
          agent: input.agent,
          report: input.report
        })
        report.turns += ended.turns
        for (const path of ended.changed) changed.add(path)
        return { stop: stopped(ended), said: ended.result.trim() }
      })

    const end = (name: string, { code: error, exit_code, why }: Stop, said: string): AutoEnd => {
      const done = changed.size === 0
        ? ""
        : `\n\nFiles changed so far:\n${[...changed].map((path) => `- ${path}`).join("\n")}`
      report.sections.push(
        `## Stopped in the stage ${name}\n\n${why}${said === "" ? "" : `\n\nIts last words:\n\n${said}`}${done}`
      )
      return { error: { code: error, message: `auto stopped in the stage ${name}: ${why}` }, exit_code }
    }

    const planned = yield* stage("plan", plan, [`The task:\n\n${task}`])
    if (planned.stop !== null) return end("plan", planned.stop, planned.said)
    const thePlan = planned.said
    report.sections.push(`## Plan\n\n${thePlan}`)

    let findings = ""
    for (let round = 0;; round++) {
      const again = round === 0 ? "" : `, round ${round + 1}`
      const coded = yield* stage(
        "code",
        code,
        findings === ""
          ? [`The task:\n\n${task}`, `The plan:\n\n${thePlan}`]
          : [
            `The task:\n\n${task}`,
            `The plan:\n\n${thePlan}`,
            shownDiff(yield* since.diff, [...changed]),
            `A review of this has found what follows. Settle each point, or say why it is none:\n\n${findings}`
          ]
      )
      if (coded.stop !== null) return end(`code${again}`, coded.stop, coded.said)
      const { said } = coded
      report.sections.push(`## Changes${again}\n\n${said}`)

      const reviewed = yield* stage("review", solve, [
        verdictAsked,
        `The task:\n\n${task}`,
        `The plan:\n\n${thePlan}`,
        `What was said to be done:\n\n${said}`,
        shownDiff(yield* since.diff, [...changed])
      ])
      if (reviewed.stop !== null) return end(`review${again}`, reviewed.stop, reviewed.said)
      findings = reviewed.said
      report.sections.push(`## Review${again}\n\n${findings}`)
      if (passes(findings)) return { error: null, exit_code: ExitCode.done }
      if (round >= max_rounds) {
        return {
          error: {
            code: "review_findings",
            message:
              `the review still has findings after ${round + 1} ${round === 0 ? "round" : "rounds"} of changes ` +
              `(auto_max_rounds ${max_rounds})`
          },
          exit_code: ExitCode.failed
        }
      }
    }
  }))
