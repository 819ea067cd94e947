/**
 * Runs that have started other runs: a tree whose limits hold as a whole (readings 14.4, 14.6).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Layer from "effect/Layer"
import type { Effort } from "../domain/ApiClient.ts"
import * as Layers from "../domain/Layers.ts"
import type { Message } from "../domain/Message.ts"
import type { RunPermissionMode } from "../domain/Permission.ts"
import * as Usage from "../domain/Usage.ts"
import { rounded } from "../provider/Cost.ts"
import type { ResolvedModel } from "../provider/Models.ts"
import type { ToolAccess } from "../tools/ToolAccess.ts"
import type { RunInput } from "./Agent.ts"
import type { Checkpoint } from "./Checkpoint.ts"
import type { RunState } from "./Loop.ts"

/** A session's own agent is at 0; what stands here has no subagents any more (reading 14.4). @since 0.1.0 @category constants */
export const maxDepth = 2

/** Model requests of one prompt unless said otherwise (reading 2.8). */
const defaultMaxTurns = 100

/** A run as those that it starts see it. @since 0.1.0 @category models */
export interface RunNode {
  readonly session_id: string
  readonly run_id: string
  /** Null = nobody's subagent. */
  readonly parent: RunNode | null
  readonly depth: number
  /** Names of the agents from the first subagent down to this one, with `/` between them; "" = nobody's subagent. */
  readonly label: string
  readonly access: ToolAccess
  readonly permission_mode: RunPermissionMode
  readonly model: ResolvedModel
  readonly effort: Effort | undefined
  readonly max_turns: number
  /** US dollars that this run and all below it may cost; null = no limit of its own. */
  readonly max_cost_usd: number | null
  readonly system_prompt_append: string
  /** Of the session's own run, for all below it; null = no checkpoints are made. */
  readonly checkpoint: Checkpoint | null
  /** The conversation as it stands. */
  readonly messages: () => ReadonlyArray<Message>
  /** What the run itself has cost, with its subagents that have ended; null = it has no price. */
  readonly cost: () => number | null
  /** Takes over what a subagent has used. */
  readonly absorb: (usage: Usage.Usage, cost_usd: number | null) => void
  /** Subagents that run. */
  readonly running: Set<RunNode>
}

/** `checkpoint` is that of a session's own run; null = none are made. @since 0.1.0 @category constructors */
export const nodeOf = (
  input: RunInput,
  run: Pick<RunNode, "session_id" | "run_id" | "model" | "checkpoint"> & { readonly state: RunState }
): RunNode => {
  const { child } = input
  const { checkpoint, model, run_id, session_id, state } = run
  return {
    session_id,
    run_id,
    parent: child?.parent ?? null,
    depth: child === undefined ? 0 : child.parent.depth + 1,
    label: child?.label ?? "",
    access: child?.access ?? [],
    permission_mode: input.permission_mode ?? "default",
    model,
    effort: input.effort,
    max_turns: input.max_turns ?? defaultMaxTurns,
    max_cost_usd: input.max_cost_usd ?? null,
    system_prompt_append: input.system_prompt_append ?? "",
    checkpoint,
    messages: () => state.messages,
    cost: () => state.cost_usd,
    absorb: (usage, cost_usd) => {
      state.usage = Usage.add(state.usage, usage)
      if (cost_usd !== null) state.cost_usd = rounded((state.cost_usd ?? 0) + cost_usd)
    },
    running: new Set()
  }
}

/** The session's own run at the top of the tree. @since 0.1.0 @category combinators */
export const rootOf = (node: RunNode): RunNode => node.parent === null ? node : rootOf(node.parent)

/** What the run and everything below it has cost up to now, in US dollars. @since 0.1.0 @category combinators */
export const spent = (node: RunNode): number => {
  let all = node.cost() ?? 0
  for (const child of node.running) all += spent(child)
  return all
}

/** A limit that is reached, of this run or of one above it; null = none. @since 0.1.0 @category combinators */
export const exceeded = (node: RunNode): { readonly spent: number; readonly limit: number } | null => {
  for (let at: RunNode | null = node; at !== null; at = at.parent) {
    if (at.max_cost_usd === null) continue
    const all = spent(at)
    if (all >= at.max_cost_usd && (at.cost() !== null || all > 0)) return { spent: all, limit: at.max_cost_usd }
  }
  return null
}

/** Whether a cost limit holds for this run. @since 0.1.0 @category combinators */
export const isLimited = (node: RunNode): boolean =>
  node.max_cost_usd !== null || (node.parent !== null && isLimited(node.parent))

/** From the strictest to the loosest (reading 7.4). */
const modes: ReadonlyArray<RunPermissionMode> = ["plan", "default", "accept-edits", "bypass"]

/** The stricter of two modes: a subagent is never freer than whoever started it. @since 0.1.0 @category combinators */
export const stricter = (one: RunPermissionMode, other: RunPermissionMode): RunPermissionMode =>
  modes.indexOf(one) <= modes.indexOf(other) ? one : other

/** @since 0.1.0 @category models */
export interface RunTreeService {
  /** The run of a session that is on; undefined = there is none. */
  readonly get: (session_id: string) => RunNode | undefined
  readonly add: (node: RunNode) => void
  readonly remove: (node: RunNode) => void
}

/** @since 0.1.0 @category services */
export class RunTree extends Context.Tag("@hanzo/dev/agent/RunTree")<RunTree, RunTreeService>() {
  static readonly layer: Layer.Layer<RunTree> = Layers.sync(RunTree, () => {
    const nodes = new Map<string, RunNode>()
    return {
      get: (session_id) => nodes.get(session_id),
      add: (node) => void nodes.set(node.session_id, node),
      remove: (node) => void nodes.delete(node.session_id)
    }
  })
}
