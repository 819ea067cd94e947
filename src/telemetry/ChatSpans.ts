/**
 * A request to a model: its span (`chat MODEL`) and its metrics, by the conventions for generative AI.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { ApiError } from "../domain/Failure.ts"
import type { StopReason, StreamEvent } from "../domain/StreamEvent.ts"
import type { ChatRequest, Recorder } from "../domain/Telemetry.ts"
import type { Usage } from "../domain/Usage.ts"
import * as Content from "./Content.ts"
import type { Histograms } from "./Histograms.ts"
import type { Attributes } from "./Otlp.ts"
import { type Begin, secondsBetween } from "./Spans.ts"

/** Names of providers that the conventions know under another one. */
const known: Readonly<Record<string, string>> = {
  azure: "azure.ai.openai",
  bedrock: "aws.bedrock",
  gemini: "gcp.gemini",
  google: "gcp.gemini",
  mistral: "mistral_ai",
  vertex: "gcp.vertex_ai",
  xai: "x_ai"
}

/** `gen_ai.provider.name`. @since 0.1.0 @category combinators */
export const providerName = (provider: string): string =>
  Object.hasOwn(known, provider) ? known[provider] ?? provider : provider

const finishReasons: Readonly<Record<StopReason, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_call",
  max_tokens: "length",
  context_window: "length",
  refusal: "content_filter",
  pause_turn: "pause_turn"
}

/** `server.address` and `server.port` of an address. @since 0.1.0 @category combinators */
export const serverOf = (address: string | null): Attributes => {
  if (address === null || !URL.canParse(address)) return {}
  const { hostname, port, protocol } = new URL(address)
  return {
    "server.address": hostname.replace(/^\[(.*)\]$/u, "$1"),
    "server.port": port === "" ? protocol === "http:" ? 80 : 443 : Number(port)
  }
}

const double = (value: number | undefined) => value === undefined ? undefined : { double: value }

const requestAttributes = ({ options }: ChatRequest): Attributes => ({
  "gen_ai.conversation.id": options.session_id,
  "gen_ai.output.type": "text",
  "gen_ai.request.max_tokens": options.max_output_tokens,
  "gen_ai.request.temperature": double(options.temperature),
  "gen_ai.request.top_p": double(options.top_p),
  "gen_ai.request.stop_sequences": options.stop,
  "gen_ai.request.stream": true,
  "hanzo.request.effort": options.effort,
  "hanzo.request.purpose": options.purpose
})

const inputTokens = (usage: Usage): number => usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens

/** Input is the whole prompt, as the conventions have it: what a cache gave is a part of it. @since 0.1.0 @category combinators */
export const usageAttributes = (usage: Usage): Attributes => ({
  "gen_ai.usage.input_tokens": inputTokens(usage),
  "gen_ai.usage.output_tokens": usage.output_tokens,
  "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
  "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
  "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens
})

/** Why a request has failed, in one word; undefined = it has not. */
const errorTypeOf = (exit: Exit.Exit<unknown, unknown>, seen: Seen): string | undefined => {
  if (seen.error !== null || seen.stop !== null) return seen.error ?? undefined
  return Exit.isSuccess(exit) && seen.ended ? "truncated" : "cancelled"
}

/** What came of an answer. */
interface Seen {
  usage: Usage | null
  stop: Extract<StreamEvent, { readonly type: "message_stop" }> | null
  error: string | null
  /** The stream came to its own end: nobody has left it. */
  ended: boolean
  first: bigint | null
}

/** @since 0.1.0 @category constructors */
export const make = (options: {
  readonly begin: Begin
  readonly histograms: Histograms
  readonly content: boolean
}): Recorder["chat"] => {
  const { begin, content, histograms } = options
  return (request, stream) =>
    Stream.unwrapScoped(Effect.gen(function*() {
      const common: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": providerName(request.provider),
        "gen_ai.request.model": request.model,
        ...serverOf(request.address)
      }
      const span = yield* begin({
        name: `chat ${request.model}`,
        kind: "client",
        attributes: {
          ...common,
          ...requestAttributes(request),
          ...(content
            ? {
              "gen_ai.system_instructions": Content.systemInstructions(request.messages),
              "gen_ai.input.messages": Content.inputMessages(request.messages),
              "gen_ai.tool.definitions": Content.toolDefinitions(request.tools)
            }
            : {})
        }
      })
      const seen: Seen = { usage: null, stop: null, error: null, ended: false, first: null }
      const answer = content ? Content.answer() : null

      const settle = (error_type: string | undefined): void => {
        const { first, stop, usage } = seen
        const measured: Attributes = { ...common, "gen_ai.response.model": stop?.model }
        if (stop !== null) {
          const reason = finishReasons[stop.stop_reason]
          span.set({
            "gen_ai.response.id": stop.response_id,
            "gen_ai.response.model": stop.model,
            "gen_ai.response.finish_reasons": [reason]
          })
        }
        if (answer !== null && (stop !== null || first !== null)) {
          span.set({ "gen_ai.output.messages": answer.text(stop === null ? "error" : finishReasons[stop.stop_reason]) })
        }
        if (usage !== null) {
          const cost = request.cost(usage)
          span.set({ ...usageAttributes(usage), "hanzo.usage.cost_usd": cost === null ? undefined : { double: cost } })
          for (const [type, count] of [["input", inputTokens(usage)], ["output", usage.output_tokens]] as const) {
            histograms.record("gen_ai.client.token.usage", count, { ...measured, "gen_ai.token.type": type })
          }
        }
        if (first !== null) {
          const seconds = secondsBetween(span.start, first)
          span.set({ "gen_ai.response.time_to_first_chunk": { double: seconds } })
          histograms.record("gen_ai.client.operation.time_to_first_chunk", seconds, measured)
        }
        histograms.record("gen_ai.client.operation.duration", secondsBetween(span.start, span.now()), {
          ...measured,
          "error.type": error_type
        })
        span.end(error_type)
      }
      yield* Effect.addFinalizer((exit) => Effect.sync(() => settle(errorTypeOf(exit, seen))))

      return stream.pipe(
        Stream.mapChunks((chunk) => {
          for (const event of Chunk.toReadonlyArray(chunk)) {
            seen.first ??= span.now()
            answer?.push(event)
            if (event.type === "usage") seen.usage = event.usage
            else if (event.type === "message_stop") seen.stop = event
            else if (event.type === "error") seen.error = event.code
          }
          return chunk
        }),
        Stream.onEnd(Effect.sync(() => {
          seen.ended = true
        })),
        Stream.tapErrorCause((cause) =>
          Effect.sync(() => {
            const failure: Option.Option<ApiError> = Cause.failureOption(cause)
            seen.error ??= Option.isSome(failure)
              ? failure.value.reason
              : Cause.isInterruptedOnly(cause)
              ? null
              : "internal"
          })
        )
      )
    }))
}
