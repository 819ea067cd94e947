/**
 * What the runtime adds to a streamed text event, from the bytes of the provider to the AgentEvent in the consumer's
 * hands: server-sent events, protocol, projection, turn, mailbox, stream. In one process, the record in memory.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agent } from "../src/agent/Agent.ts"
import { SseFrameBuffer } from "../src/codec/Sse.ts"
import { Config } from "../src/config/Config.ts"
import { Ids } from "../src/domain/Ids.ts"
import { PermissionPrompter } from "../src/domain/PermissionPrompter.ts"
import { makeProjection } from "../src/domain/Projection.ts"
import type { StreamEvent } from "../src/domain/StreamEvent.ts"
import { ApiClient } from "../src/domain/ApiClient.ts"
import { ToolExecutor } from "../src/domain/ToolExecutor.ts"
import { Workspace } from "../src/domain/Workspace.ts"
import { Hooks } from "../src/hooks/Hooks.ts"
import { Environment } from "../src/platform/Environment.ts"
import * as Anthropic from "../src/protocol/AnthropicMessages.ts"
import * as Chat from "../src/protocol/ChatCompletions.ts"
import type { Protocol } from "../src/protocol/Protocol.ts"
import * as Responses from "../src/protocol/Responses.ts"
import { SessionStore } from "../src/storage/SessionStore.ts"
import { layerModels } from "../src/testing/StaticModels.ts"
import { type BenchResult, median, result } from "./Bench.ts"

const events = 20_000
const readSize = 16 * 1024

const sse = (frames: ReadonlyArray<{ readonly event?: string; readonly data: unknown }>): Uint8Array =>
  new TextEncoder().encode(
    frames.map(({ data, event }) =>
      `${event === undefined ? "" : `event: ${event}\n`}data: ${
        typeof data === "string" ? data : JSON.stringify(data)
      }\n\n`
    ).join("")
  )

const typed = (data: { readonly type: string; readonly [key: string]: unknown }) => ({ event: data.type, data })
const words = Array.from({ length: events }, (_, i) => `word ${i} `)

const bodies: Readonly<Record<string, readonly [Protocol, Uint8Array]>> = {
  anthropic: [
    Anthropic.protocol,
    sse([
      typed({
        type: "message_start",
        message: {
          id: "m",
          type: "message",
          role: "assistant",
          model: "m",
          content: [],
          usage: { input_tokens: 1, output_tokens: 1 }
        }
      }),
      typed({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      ...words.map((text) => typed({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
      typed({ type: "content_block_stop", index: 0 }),
      typed({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } }),
      typed({ type: "message_stop" })
    ])
  ],
  responses: [
    Responses.protocol,
    sse([
      typed({ type: "response.created", response: { id: "r", model: "m", status: "in_progress", output: [] } }),
      typed({
        type: "response.output_item.added",
        output_index: 0,
        item: { type: "message", id: "i", role: "assistant", content: [] }
      }),
      ...words.map((delta) =>
        typed({ type: "response.output_text.delta", output_index: 0, content_index: 0, item_id: "i", delta })
      ),
      typed({
        type: "response.completed",
        response: {
          id: "r",
          model: "m",
          status: "completed",
          output: [],
          usage: { input_tokens: 1, output_tokens: 9, total_tokens: 10 }
        }
      })
    ])
  ],
  chat: [
    Chat.protocol,
    sse([
      ...words.map((content) => ({
        data: {
          id: "c",
          object: "chat.completion.chunk",
          model: "m",
          choices: [{ index: 0, delta: { content }, finish_reason: null }]
        }
      })),
      { data: { id: "c", model: "m", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] } },
      { data: "[DONE]" }
    ])
  ]
}

const client = ([protocol, bytes]: readonly [Protocol, Uint8Array]) => {
  const reads: Array<Uint8Array> = []
  for (let at = 0; at < bytes.length; at += readSize) reads.push(bytes.subarray(at, at + readSize))
  return Layer.succeed(ApiClient, {
    sendMessage: () =>
      Stream.suspend(() => {
        const buffer = new SseFrameBuffer()
        const decoder = protocol.streamDecoder({ origin: "o", model: "m", names: new Map() })
        const projection = makeProjection("o")
        return Stream.fromIterable(reads).pipe(
          Stream.rechunk(1),
          Stream.mapChunks((chunk) => {
            const out: Array<StreamEvent> = []
            for (const read of chunk) {
              for (const frame of buffer.feed(read)) out.push(...projection.push(decoder.push(frame)))
            }
            return Chunk.unsafeFromArray(out)
          })
        )
      })
  })
}

const layer = (body: readonly [Protocol, Uint8Array]) =>
  Agent.layer.pipe(Layer.provide(Layer.mergeAll(
    client(body),
    Layer.succeed(ToolExecutor, {
      definitions: Effect.succeed([]),
      isReadOnly: () => true,
      execute: () => Effect.dieMessage("no tools here")
    }),
    SessionStore.layerMemory,
    layerModels(),
    Config.layerText("{}"),
    Layer.succeed(PermissionPrompter, []),
    Layer.succeed(Workspace, { root: "/", cwd: "/" }),
    Environment.layerTest(),
    Hooks.layerNone,
    Ids.layer
  )))

export const run = async (): Promise<ReadonlyArray<BenchResult>> => {
  const results: Array<BenchResult> = []
  for (const [name, body] of Object.entries(bodies)) {
    const once = Effect.gen(function*() {
      const agent = yield* Agent
      let seen = 0
      const begin = performance.now()
      yield* Stream.runForEachChunk(agent.run({ prompt: "go" }), (chunk) =>
        Effect.sync(() => {
          for (const event of chunk) if (event.type === "text.delta") seen++
        }))
      if (seen !== events) throw new Error(`${name}: ${seen} of ${events} events came`)
      return performance.now() - begin
    }).pipe(Effect.provide(layer(body)))
    const times: Array<number> = []
    for (let round = -1; round < 7; round++) {
      const ms = await Effect.runPromise(once)
      if (round >= 0) times.push(ms)
    }
    results.push(result({
      name: `${name}: bytes to AgentEvent, a streamed text event`,
      value: (median(times) / events) * 1000,
      unit: "us",
      target: { at_most: 10 }
    }))
  }
  return results
}
