/**
 * Which tools an agent may use, held by the executor and not by its prompt alone (reading 14.1).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Fnmatch from "../codec/Fnmatch.ts"
import type { JsonObject } from "../domain/Json.ts"
import { failure, type ToolExecutorService } from "../domain/ToolExecutor.ts"

/**
 * One limit: no tools; read-only ones (reading 2.10), as far as the call is read-only too; no subagents; the tools that
 * one of these globs over names matches (reading 7.3).
 *
 * @since 0.1.0
 * @category models
 */
export type ToolLimit = "none" | "read_only" | "no_agents" | ReadonlyArray<string>

/** All limits hold at once, so that each agent has no more than whoever started it; empty = every tool. @since 0.1.0 @category models */
export type ToolAccess = ReadonlyArray<ToolLimit>

/** @since 0.1.0 @category models */
export type IsReadOnly = ToolExecutorService["isReadOnly"]

const passes = (limit: ToolLimit, name: string, input: JsonObject, isReadOnly: IsReadOnly): boolean =>
  limit === "none"
    ? false
    : limit === "read_only"
    ? isReadOnly(name, {}) && isReadOnly(name, input)
    : limit === "no_agents"
    ? name !== "task"
    : limit.some((pattern) => pattern === name || Fnmatch.compile(pattern)(name))

/** @since 0.1.0 @category combinators */
export const permits = (access: ToolAccess, name: string, input: JsonObject, isReadOnly: IsReadOnly): boolean =>
  access.every((limit) => passes(limit, name, input, isReadOnly))

const why = (access: ToolAccess, name: string): string =>
  access.includes("none")
    ? "it has no tools"
    : name === "task" && access.includes("no_agents")
    ? "agents of agents of agents are not started"
    : access.includes("read_only")
    ? "it has read-only tools only"
    : "it is none of its tools"

/**
 * The executor as an agent has it: what is outside of its limits is not offered, and not run when it is called all the
 * same.
 *
 * @since 0.1.0
 * @category combinators
 */
export const restricted = (tools: ToolExecutorService, access: ToolAccess, agent: string): ToolExecutorService =>
  access.length === 0 ? tools : {
    ...tools,
    definitions: Effect.map(
      tools.definitions,
      (all) => all.filter(({ name }) => permits(access, name, {}, tools.isReadOnly))
    ),
    execute: (name, input, session_id, context) =>
      permits(access, name, input, tools.isReadOnly)
        ? tools.execute(name, input, session_id, context)
        : Effect.succeed(
          failure(
            `the agent ${agent} may not call ${JSON.stringify(name.slice(0, 128))}: ${
              why(access, name)
            }; it was not run`
          )
        )
  }
