/**
 * Runs (`invoke_agent NAME`), calls of tools (`execute_tool NAME`) and requests to MCP servers (`tools/call NAME`) as
 * spans, by the conventions for generative AI.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import { CurrentSpan, type Recorder, type RunSpan } from "../domain/Telemetry.ts"
import { resultText } from "../domain/ToolExecutor.ts"
import { providerName, usageAttributes } from "./ChatSpans.ts"
import * as Content from "./Content.ts"
import type { Histograms } from "./Histograms.ts"
import type { Attributes } from "./Otlp.ts"
import { type Begin, type OpenSpan, secondsBetween } from "./Spans.ts"

interface Options {
  readonly begin: Begin
  readonly histograms: Histograms
  readonly content: boolean
}

/** A run's id is `run_` and a UUID: without its dashes it is the id of the trace. */
const traceIdOf = (run_id: string): string | undefined => {
  const digits = run_id.slice(run_id.indexOf("_") + 1).replaceAll("-", "")
  return /^[0-9a-f]{32}$/u.test(digits) && !/^0+$/u.test(digits) ? digits : undefined
}

/** What of a run's events stands in its span; never a text that a model, a tool or a person has written. */
const noted = (event: AgentEventBody): { readonly name: string; readonly attributes: Attributes } | null => {
  switch (event.type) {
    case "retry":
      return {
        name: "hanzo.retry",
        attributes: { "error.type": event.reason, "hanzo.attempt": event.attempt, "hanzo.delay_ms": event.delay_ms }
      }
    case "compaction":
      return {
        name: "hanzo.compaction",
        attributes: {
          "hanzo.compaction.messages": event.compacted_count,
          "hanzo.compaction.tokens_saved": event.tokens_saved,
          "hanzo.compaction.fallback": event.fallback
        }
      }
    case "notice":
      return { name: "hanzo.notice", attributes: { "hanzo.notice.code": event.code } }
    default:
      return null
  }
}

/** @since 0.1.0 @category constructors */
export const run = ({ begin, content }: Options): Recorder["run"] => (request) =>
  Effect.map(
    Effect.suspend(() => {
      const name = request.agent === "" ? "hanzo-dev" : request.agent
      const trace_id = traceIdOf(request.run_id)
      return begin({
        name: `invoke_agent ${name}`,
        kind: "internal",
        ...(trace_id === undefined ? {} : { trace_id }),
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.provider.name": providerName(request.provider),
          "gen_ai.request.model": request.model,
          "gen_ai.agent.name": name,
          "gen_ai.conversation.id": request.session_id,
          "hanzo.run.id": request.run_id,
          "hanzo.permission_mode": request.permission_mode,
          ...(content ? { "gen_ai.input.messages": Content.promptMessages(request.prompt) } : {})
        }
      })
    }),
    (span): RunSpan => ({
      span,
      observe: (events) => {
        for (const event of events) {
          if (event.type !== "run.completed" && event.type !== "run.failed" && event.type !== "run.cancelled") {
            const note = noted(event)
            if (note !== null) span.event(note.name, note.attributes)
            continue
          }
          span.set({
            ...usageAttributes(event.usage),
            "hanzo.usage.cost_usd": event.cost_usd === null ? undefined : { double: event.cost_usd },
            "hanzo.run.turns": event.turns,
            "hanzo.run.exit_code": event.exit_code,
            ...(content
              ? {
                "gen_ai.output.messages": Content.answerMessages(
                  event.result,
                  event.type === "run.completed" ? "stop" : "error"
                )
              }
              : {})
          })
          span.end(
            event.type === "run.failed" ? event.error.code : event.type === "run.cancelled" ? "cancelled" : undefined
          )
        }
      },
      end: () => span.end("internal")
    })
  )

/** What the policy and the tool itself said on the way, for the span of the call. */
const follow = (span: OpenSpan) => {
  let refused: string | null = null
  return {
    refused: () => refused,
    heard: (event: AgentEventBody): void => {
      switch (event.type) {
        case "permission.asked":
          return span.event("hanzo.permission.asked")
        case "permission.decided":
          if (event.mode === "deny") refused = "permission_denied"
          return span.set({ "hanzo.permission.mode": event.mode, "hanzo.permission.decided_by": event.decided_by })
        case "hook.completed":
          if (event.event === "pre_tool_use" && event.decision !== "allow") refused = "hook_denied"
          return span.event("hanzo.hook", {
            "hanzo.hook.event": event.event,
            "hanzo.hook.decision": event.decision,
            "hanzo.duration_ms": event.duration_ms
          })
        case "sandbox.decided":
          if (event.decision === "refused") refused = "sandbox_refused"
          return span.set({ "hanzo.sandbox.decision": event.decision, "hanzo.sandbox.mode": event.mode })
        case "tool.ran":
          return span.set({ "hanzo.tool.duration_ms": event.duration_ms })
        default:
      }
    }
  }
}

/** Nanoseconds are what a span has; the rest of an exit is one word. */
const interruptedOr = (exit: Exit.Exit<unknown, { readonly reason: string }>, other: string): string => {
  if (Exit.isSuccess(exit)) return other
  const failure = Cause.failureOption(exit.cause)
  return Option.isSome(failure)
    ? failure.value.reason
    : Cause.isInterruptedOnly(exit.cause)
    ? "cancelled"
    : other
}

/** @since 0.1.0 @category constructors */
export const tool = ({ begin, content }: Options): Recorder["tool"] => (request, execute) =>
  Effect.flatMap(
    begin({
      name: `execute_tool ${request.name}`,
      kind: "internal",
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": request.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": request.call_id,
        "gen_ai.conversation.id": request.session_id,
        ...(content ? { "gen_ai.tool.call.arguments": JSON.stringify(request.input) } : {})
      }
    }),
    (span) => {
      const followed = follow(span)
      return Effect.onExit(
        Effect.provideService(Effect.suspend(() => execute(followed.heard)), CurrentSpan, span),
        (exit) =>
          Effect.sync(() => {
            if (Exit.isFailure(exit)) return span.end(interruptedOr(exit, "internal"))
            if (content) span.set({ "gen_ai.tool.call.result": resultText(exit.value) })
            span.end(exit.value.is_error ? followed.refused() ?? "tool_error" : undefined)
          })
      )
    }
  )

/** @since 0.1.0 @category constructors */
export const mcp = ({ begin, histograms }: Options): Recorder["mcp"] => (request, send) =>
  Effect.suspend(() => {
    const { method, server, target, transport, version } = request
    const kind = method === "tools/call" ? "gen_ai.tool.name" : method === "prompts/get" ? "gen_ai.prompt.name" : null
    const common: Attributes = {
      "mcp.method.name": method,
      "mcp.protocol.version": version,
      "network.transport": transport === "stdio" ? "pipe" : "tcp",
      "hanzo.mcp.server": server,
      ...(kind === null || target === null ? {} : { [kind]: target }),
      ...(method === "tools/call" ? { "gen_ai.operation.name": "execute_tool" } : {})
    }
    return Effect.flatMap(
      begin({
        name: kind === null || target === null ? method : `${method} ${target}`,
        kind: "client",
        attributes: { ...common, ...(kind === null && target !== null ? { "mcp.resource.uri": target } : {}) }
      }),
      (span) =>
        Effect.onExit(
          Effect.suspend(() => send(`00-${span.trace_id}-${span.span_id}-01`)),
          (exit) =>
            Effect.sync(() => {
              const error_type = Exit.isSuccess(exit) ? undefined : interruptedOr(exit, "internal")
              histograms.record("mcp.client.operation.duration", secondsBetween(span.start, span.now()), {
                ...common,
                "error.type": error_type
              })
              span.end(error_type)
            })
        )
    )
  })
