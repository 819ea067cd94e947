/**
 * Anthropic Messages: stream and whole answer into canonical events (protocols, section 5).
 *
 * @since 0.1.0
 */
import type { SseFrame } from "../../codec/Sse.ts"
import type { ResponseEvent } from "../../domain/ResponseEvent.ts"
import type { JsonObject } from "../../domain/Json.ts"
import { errorWithin, responseError } from "../Errors.ts"
import type { CallWriter } from "../CallWriter.ts"
import { EventBuilder } from "../EventBuilder.ts"
import { decodeWhole, makeDecoder, type Reader } from "../Frames.ts"
import type { OpaqueWriter } from "../ItemWriter.ts"
import { asArray, asIndex, asObject, asText, isObject, isWholeObject, parse } from "../Json.ts"
import type { MessageWriter } from "../MessageWriter.ts"
import type { DecodeOptions, StreamDecoder } from "../Protocol.ts"
import type { ReasoningWriter } from "../ReasoningWriter.ts"
import { type AnthropicCounts, fromAnthropic, mergeAnthropic } from "../Usage.ts"

/** A content block of the upstream and the item it becomes; text and thinking become one with their first delta. */
type Block =
  | { readonly kind: "text"; item: MessageWriter | undefined }
  | { readonly kind: "thinking"; item: ReasoningWriter | undefined; signature: string }
  | { readonly kind: "tool"; readonly item: CallWriter; input: string }
  | { readonly kind: "other"; readonly item: OpaqueWriter; input: string }

class MessageReader implements Reader {
  readonly builder: EventBuilder
  #counts: AnthropicCounts = {}
  readonly #blocks = new Map<number, Block>()
  /** Index of the block that was begun last. */
  #last = -1
  #stop: string | undefined
  #sequence: string | undefined
  #explanation: string | undefined
  #said = false
  #lastCall: CallWriter | undefined

  constructor(options: DecodeOptions) {
    this.builder = new EventBuilder({ ...options, sequential: true })
  }

  event(data: JsonObject, frame: SseFrame): void {
    const type = typeof data["type"] === "string" ? data["type"] : frame.event
    switch (type) {
      case "content_block_delta":
        return this.#delta(data, frame)
      case "content_block_start":
        return this.#begin(data)
      case "content_block_stop":
        return this.#stopBlock(asIndex(data["index"]) ?? this.#last)
      case "message_start":
        return this.start(asObject(data["message"]) ?? {})
      case "message_delta":
        return this.#messageDelta(data)
      case "message_stop":
        this.#count(data["usage"])
        return this.#end()
      case "error":
        return this.builder.fail(responseError(errorWithin(data) ?? { message: "" }))
    }
    const error = errorWithin(data)
    if (error !== undefined) this.builder.fail(responseError(error))
    else this.builder.opaque(frame.event, frame.data)
  }

  /** Some compatible servers add the sentinel of the other family. */
  sentinel(): void {
    this.conclude()
  }

  settled(): boolean {
    return this.#stop !== undefined
  }

  conclude(): void {
    if (this.#stop !== undefined) this.#end()
  }

  start(message: JsonObject): void {
    this.#count(message["usage"])
    this.builder.start(asText(message["id"]), asText(message["model"]))
  }

  whole(message: JsonObject): void {
    this.start(message)
    for (const [index, block] of asArray(message["content"]).entries()) {
      if (!isObject(block)) continue
      this.#begin({ index, content_block: block })
      this.#stopBlock(index)
    }
    this.#messageDelta({ delta: message })
    // a whole body was not cut, also when it does not say why it ends
    this.#end()
  }

  #count(usage: unknown): void {
    if (!isObject(usage)) return
    this.#counts = mergeAnthropic(this.#counts, usage)
    this.builder.usage = fromAnthropic(this.#counts)
  }

  #begin(data: JsonObject): void {
    const index = asIndex(data["index"]) ?? this.#last + 1
    const start = asObject(data["content_block"]) ?? {}
    // a block under an index that is still open ends the one before
    this.#stopBlock(index)
    this.#last = index
    const type = asText(start["type"])
    switch (type) {
      case "text": {
        const block = this.#use(index, { kind: "text", item: undefined })
        this.#text(block, asText(start["text"]) ?? "")
        for (const citation of asArray(start["citations"])) this.#cite(block, citation)
        return
      }
      case "thinking": {
        const block = this.#use(index, { kind: "thinking", item: undefined, signature: "" })
        this.#think(block, asText(start["thinking"]) ?? "")
        block.signature = asText(start["signature"]) ?? ""
        return
      }
      case "redacted_thinking": {
        const item = this.builder.reasoning()
        const redacted_data = asText(start["data"])
        if (redacted_data !== undefined) item.seal({ redacted_data })
        return item.end()
      }
      case "tool_use": {
        const item = this.builder.call({ callId: asText(start["id"]), name: asText(start["name"]) })
        this.#lastCall = item
        this.#use(index, { kind: "tool", item, input: inputText(start["input"]) })
        return
      }
      default: {
        const item = this.builder.opaqueItem(asText(start["id"]), start)
        this.#use(index, { kind: "other", item, input: "" })
      }
    }
  }

  #delta(data: JsonObject, frame: SseFrame): void {
    const index = asIndex(data["index"]) ?? this.#last
    const delta = asObject(data["delta"]) ?? {}
    switch (delta["type"]) {
      case "text_delta":
        return this.#text(this.#textBlock(index), typeof delta["text"] === "string" ? delta["text"] : "")
      case "input_json_delta": {
        const text = typeof delta["partial_json"] === "string" ? delta["partial_json"] : ""
        const block = this.#blocks.get(index)
        if (block?.kind === "tool") {
          block.item.arguments(text)
          if (text !== "") block.input = ""
        } else if (block?.kind === "other") block.input += text
        else if (text === "") return
        else if (this.#lastCall !== undefined && !this.#lastCall.ended) this.#lastCall.arguments(text)
        else this.builder.opaque(frame.event, frame.data)
        return
      }
      case "thinking_delta":
        return this.#think(this.#thinkingBlock(index), typeof delta["thinking"] === "string" ? delta["thinking"] : "")
      case "signature_delta": {
        const signature = asText(delta["signature"])
        if (signature !== undefined) this.#thinkingBlock(index).signature += signature
        return
      }
      case "citations_delta":
        return this.#cite(this.#textBlock(index), delta["citation"])
    }
    this.builder.opaque(frame.event, frame.data)
  }

  #messageDelta(data: JsonObject): void {
    // counts first: the delta may be the last thing that comes
    this.#count(data["usage"])
    const delta = asObject(data["delta"]) ?? {}
    this.#stop = asText(delta["stop_reason"]) ?? this.#stop
    this.#sequence = asText(delta["stop_sequence"]) ?? this.#sequence
    this.#explanation = asText(asObject(delta["stop_details"])?.["explanation"]) ?? this.#explanation
  }

  #end(): void {
    // a signature that no block stop followed still belongs to its block
    for (const block of this.#blocks.values()) if (block.kind === "thinking") this.#sealThinking(block)
    switch (this.#stop) {
      case "max_tokens":
        return this.builder.incomplete("max_output_tokens", "max_tokens")
      case "model_context_window_exceeded":
        return this.builder.incomplete("max_output_tokens", "context_window")
      case "refusal":
        if (!this.#said && this.#explanation !== undefined) {
          const item = this.builder.message()
          item.refusal(this.#explanation)
        }
        return this.builder.incomplete("content_filter", "refusal")
      case "pause_turn":
        return this.builder.complete("pause_turn")
      case "stop_sequence":
        return this.builder.complete("stop_sequence", this.#sequence)
      case "tool_use":
        return this.builder.complete("tool_use")
      case "end_turn":
      case undefined:
        return this.builder.complete("end_turn")
    }
    this.builder.opaque("message_delta", JSON.stringify({ stop_reason: this.#stop }))
    return this.builder.complete("end_turn")
  }

  #stopBlock(index: number): void {
    const block = this.#blocks.get(index)
    if (block === undefined) return
    this.#blocks.delete(index)
    switch (block.kind) {
      case "text":
        return block.item?.end()
      case "thinking":
        this.#sealThinking(block)
        return block.item?.end()
      case "tool":
        if (block.input !== "") block.item.arguments(block.input)
        return block.item.settle()
      case "other":
        if (isWholeObject(block.input)) {
          block.item.replace({ ...asObject(block.item.raw), input: parse(block.input) })
        }
        return block.item.end()
    }
  }

  #sealThinking(block: Extract<Block, { readonly kind: "thinking" }>): void {
    if (block.signature === "") return
    block.item ??= this.builder.reasoning()
    block.item.seal({ signature: block.signature })
  }

  #use<B extends Block>(index: number, block: B): B {
    this.#blocks.set(index, block)
    return block
  }

  /** The text block at an index; a block of another kind there ends, since a delta decides what it is. */
  #textBlock(index: number): Extract<Block, { readonly kind: "text" }> {
    const block = this.#blocks.get(index)
    if (block?.kind === "text" && block.item?.ended !== true) return block
    this.#stopBlock(index)
    return this.#use(index, { kind: "text", item: undefined })
  }

  #thinkingBlock(index: number): Extract<Block, { readonly kind: "thinking" }> {
    const block = this.#blocks.get(index)
    if (block?.kind === "thinking" && block.item?.ended !== true) return block
    this.#stopBlock(index)
    return this.#use(index, { kind: "thinking", item: undefined, signature: "" })
  }

  #text(block: Extract<Block, { readonly kind: "text" }>, text: string): void {
    if (text === "") return
    this.#said = true
    block.item ??= this.builder.message()
    block.item.text(text)
  }

  #think(block: Extract<Block, { readonly kind: "thinking" }>, text: string): void {
    if (text === "") return
    block.item ??= this.builder.reasoning()
    block.item.summary(text)
  }

  #cite(block: Extract<Block, { readonly kind: "text" }>, citation: unknown): void {
    if (!isObject(citation)) return
    block.item ??= this.builder.message()
    block.item.annotate(citation)
  }
}

/** Input that stands in the opener: some servers send no deltas. An object without keys is the usual placeholder. */
const inputText = (input: unknown): string =>
  typeof input === "string" ? input : isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : ""

/** @since 0.1.0 @category decoding */
export const streamDecoder = (options: DecodeOptions): StreamDecoder => makeDecoder(new MessageReader(options))

/** @since 0.1.0 @category decoding */
export const decodeResponse = (body: unknown, options: DecodeOptions): ReadonlyArray<ResponseEvent> => {
  const reader = new MessageReader(options)
  return decodeWhole(body, reader.builder, (message) => {
    if (Array.isArray(message["content"]) || asText(message["stop_reason"]) !== undefined) reader.whole(message)
  })
}
