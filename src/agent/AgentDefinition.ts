/**
 * Agents that can be given a task: the four of HIP-301 section 14, and what one of a file is.
 *
 * @since 0.1.0
 */
import type { RunPermissionMode } from "../domain/Permission.ts"
import type { ToolAccess } from "../tools/ToolAccess.ts"

/** Where an agent comes from; `project` is a checkout's. @since 0.1.0 @category models */
export type AgentSource = "built-in" | "user" | "project"

/** @since 0.1.0 @category models */
export interface AgentDefinition {
  readonly name: string
  readonly description: string
  readonly source: AgentSource
  /** Absolute; null = built in. */
  readonly file: string | null
  /** Put in front of the task (reading 14.2). */
  readonly prefix: string
  /** Its own limits; those of whoever starts it hold too. */
  readonly access: ToolAccess
  /** Null = as whoever starts it. */
  readonly model: string | null
  readonly permission_mode: RunPermissionMode | null
  readonly max_turns: number | null
  readonly max_cost_usd: number | null
  /** Its work is the chain of the others (reading 14.5). */
  readonly chain: boolean
}

const builtIn = (
  name: string,
  description: string,
  access: ToolAccess,
  prefix: string,
  chain = false
): AgentDefinition => ({
  name,
  description,
  source: "built-in",
  file: null,
  prefix,
  access,
  model: null,
  permission_mode: null,
  max_turns: null,
  max_cost_usd: null,
  chain
})

/** @since 0.1.0 @category constants */
export const plan = builtIn(
  "plan",
  "writes a step-by-step plan; no tools",
  ["none"],
  "You are a planning agent. Analyse the task and write a plan in steps that somebody else can carry out: what is to be " +
    "changed and where, in which order, how to prove that it works, and what may go wrong. You have no tools: name what " +
    "has to be looked up first, and claim nothing that you have not been shown."
)

/** @since 0.1.0 @category constants */
export const solve = builtIn(
  "solve",
  "looks at everything, reasons, changes nothing; read-only tools",
  ["read_only"],
  "You are a problem-solving agent. Reason the problem through and answer it with what you have found. You can look at " +
    "everything with read-only tools; you change nothing and run no commands."
)

/** @since 0.1.0 @category constants */
export const code = builtIn(
  "code",
  "carries out changes and proves them; all tools",
  [],
  "You are a coding agent. Carry out the task: make the changes, run what proves them, and end with what you did, what " +
    "you saw and what is left."
)

/** @since 0.1.0 @category constants */
export const auto = builtIn(
  "auto",
  "plan, code and review one after another; all tools",
  [],
  "You are an autonomous agent: the task goes through the stages plan, code and review, and nobody answers questions in " +
    "between. Decide what is left open, and say how you decided.",
  true
)

/** @since 0.1.0 @category constants */
export const builtIns: ReadonlyArray<AgentDefinition> = [plan, solve, code, auto]

/** Tools that change nothing whatever they are called with (reading 2.10, without `lsp`, which renames too). */
const looking: ReadonlySet<string> = new Set(
  ["read", "glob", "grep", "bash_output", "todo", "fetch", "skill", "mcp_search", "mcp_resources", "mcp_read"]
)

/** Whether it can change nothing, as far as its own limits say. @since 0.1.0 @category combinators */
export const changesNothing = ({ access, chain }: Pick<AgentDefinition, "access" | "chain">): boolean =>
  !chain &&
  access.some((limit) =>
    limit === "none" || limit === "read_only" || (Array.isArray(limit) && limit.every((name) => looking.has(name)))
  )
