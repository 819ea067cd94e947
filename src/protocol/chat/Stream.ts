/**
 * Chat Completions: stream and whole answer into canonical events (protocols, section 5).
 *
 * @since 0.1.0
 */
import type { SseFrame } from "../../codec/Sse.ts"
import type { ResponseEvent } from "../../domain/ResponseEvent.ts"
import type { JsonObject } from "../../domain/Json.ts"
import { complaintOf, errorWithin, ownError, responseError } from "../Errors.ts"
import { EventBuilder } from "../EventBuilder.ts"
import { decodeWhole, makeDecoder, type Reader } from "../Frames.ts"
import { asArray, asObject, asText, isObject } from "../Json.ts"
import type { MessageWriter } from "../MessageWriter.ts"
import type { DecodeOptions, StreamDecoder } from "../Protocol.ts"
import type { ReasoningWriter } from "../ReasoningWriter.ts"
import { fromChat } from "../Usage.ts"
import { callSignatureField, detailsField, mergeDetails, type Thought, thoughtOf } from "./Reasoning.ts"
import { ToolFragments } from "./ToolFragments.ts"

type Finish = "stop" | "tools" | "length" | "filter" | "error" | "overloaded"

/** Finish reasons in use, in lower case; what is not here is `completed`, with a trace in the events. */
const finishes: ReadonlyMap<string, Finish> = new Map(Object.entries<Finish>({
  stop: "stop",
  end_turn: "stop",
  eos: "stop",
  eos_token: "stop",
  end: "stop",
  complete: "stop",
  completed: "stop",
  finished: "stop",
  stop_sequence: "stop",
  tool_calls: "tools",
  tool_call: "tools",
  tool_use: "tools",
  function_call: "tools",
  length: "length",
  max_tokens: "length",
  max_output_tokens: "length",
  model_length: "length",
  model_context_window_exceeded: "length",
  content_filter: "filter",
  safety: "filter",
  refusal: "filter",
  sensitive: "filter",
  prohibited_content: "filter",
  blocklist: "filter",
  recitation: "filter",
  spii: "filter",
  error: "error",
  network_error: "error",
  abort: "error",
  malformed_function_call: "error",
  insufficient_system_resource: "overloaded"
}))

class ChunkReader implements Reader {
  readonly builder: EventBuilder
  readonly #calls: ToolFragments
  #message: MessageWriter | undefined
  #reasoning: ReasoningWriter | undefined
  #field: string | undefined
  #details: Array<JsonObject> = []
  #finish: string | undefined
  #refused = false
  #deltas = false

  constructor(options: DecodeOptions) {
    this.builder = new EventBuilder({ ...options, sequential: true })
    this.#calls = new ToolFragments(this.builder)
  }

  event(data: JsonObject, frame: SseFrame): void {
    const error = errorWithin(data) ?? (data["object"] === "error" ? complaintOf(data) : undefined)
    if (error !== undefined) {
      // a gateway that lost its upstream says so in one chunk together with the finish reason "error"
      this.#count(data["usage"])
      return this.builder.fail(responseError(error))
    }
    const choices = data["choices"]
    const usage = data["usage"] ?? asObject(data["x_groq"])?.["usage"]
    const counted = isObject(usage)
    if (!Array.isArray(choices) && !counted) return this.builder.opaque(frame.event, frame.data)
    // some gateways open with a chunk that has neither choices nor an id
    const id = asText(data["id"])
    if (id !== undefined || asArray(choices).length > 0) this.builder.start(id, asText(data["model"]))
    // usage is read before choices are looked at (invariant 9)
    if (counted) this.#count(usage)
    for (const choice of asArray(choices)) {
      if (isObject(choice) && (typeof choice["index"] !== "number" || choice["index"] <= 0)) this.#choice(choice, frame)
    }
    if (counted && this.#finish !== undefined) this.conclude()
  }

  sentinel(): void {
    if (this.#finish !== undefined) return this.conclude()
    // the sentinel alone ends an answer of which something came; a call without its end was cut
    if (this.builder.wrote && !this.#calls.unfinished()) {
      this.#finish = "stop"
      return this.conclude()
    }
    this.builder.fail(ownError("truncated", "upstream stream ended early: [DONE] came without a finish reason"))
  }

  settled(): boolean {
    return this.#finish !== undefined
  }

  conclude(): void {
    if (this.#finish === undefined) return
    this.#sealReasoning()
    this.#calls.release()
    const kind = finishes.get(this.#finish.toLowerCase())
    if (kind === undefined) this.builder.opaque(null, JSON.stringify({ finish_reason: this.#finish }))
    switch (kind) {
      case "length":
        return this.builder.incomplete("max_output_tokens", "max_tokens")
      case "filter":
        return this.builder.incomplete("content_filter", "refusal")
      case "error":
        return this.builder.fail(responseError({ message: `the provider ended the answer with "${this.#finish}"` }))
      case "overloaded":
        return this.builder.fail(
          responseError({
            message: "the provider ran out of resources for this answer",
            code: "insufficient_system_resource"
          })
        )
      case "tools":
        this.#signatures()
        return this.builder.complete("tool_use")
      default:
        this.#signatures()
        return this.builder.complete(this.#refused ? "refusal" : "end_turn")
    }
  }

  whole(body: JsonObject): void {
    this.builder.start(asText(body["id"]), asText(body["model"]))
    this.#count(body["usage"])
    for (const choice of asArray(body["choices"])) {
      if (!isObject(choice)) continue
      const message = asObject(choice["message"])
      if (message !== undefined) this.#delta(message, null)
      this.#finish = asText(choice["finish_reason"]) ?? this.#finish
      // one answer was asked for; some servers put text and calls of it into two choices
    }
    this.#finish ??= "stop"
    this.conclude()
  }

  #count(usage: unknown): void {
    const counts = fromChat(usage)
    if (counts === null) return
    this.builder.usage = counts
  }

  #choice(choice: JsonObject, frame: SseFrame): void {
    const delta = asObject(choice["delta"])
    if (delta !== undefined) {
      this.#deltas = true
      this.#delta(delta, frame)
    } else {
      // a server that sends the whole message as its only chunk
      const message = this.#deltas ? undefined : asObject(choice["message"])
      if (message !== undefined) this.#delta(message, frame)
    }
    const finish = asText(choice["finish_reason"])
    if (finish === undefined) return
    this.#finish = finish
    // some servers count inside the choice that ends the answer
    this.#count(choice["usage"])
    const error = asObject(choice["error"])
    if (error !== undefined && finishes.get(finish.toLowerCase()) === "error") {
      this.builder.fail(responseError(complaintOf(error) ?? { message: "" }))
    }
  }

  #delta(delta: JsonObject, frame: SseFrame | null): void {
    const thought = thoughtOf(delta)
    if (thought !== undefined) this.#think(thought)
    const content = delta["content"]
    if (typeof content === "string") this.#text(content)
    else if (Array.isArray(content)) this.#parts(content)
    const refusal = asText(delta["refusal"])
    if (refusal !== undefined) {
      this.#refused = true
      this.#writer().refusal(refusal)
    }
    for (const annotation of asArray(delta["annotations"])) {
      if (isObject(annotation)) this.#writer().annotate(annotation)
    }
    const calls = delta["tool_calls"]
    if (Array.isArray(calls)) {
      for (const call of calls) if (isObject(call)) this.#call(call, frame)
    }
    const legacy = asObject(delta["function_call"])
    if (legacy !== undefined) this.#call({ index: 0, function: legacy }, frame)
  }

  /** Content as parts, with thinking among them. */
  #parts(parts: ReadonlyArray<unknown>): void {
    for (const part of parts) {
      if (typeof part === "string") this.#text(part)
      if (!isObject(part)) continue
      if (part["type"] === "thinking") {
        const inner = part["thinking"]
        const text = typeof inner === "string"
          ? inner
          : asArray(inner).map((piece) => asText(asObject(piece)?.["text"]) ?? "").join("")
        if (text !== "") this.#think({ text, field: undefined, details: [] })
      } else if (part["type"] === "refusal") {
        this.#refused = true
        this.#writer().refusal(asText(part["refusal"]) ?? "")
      } else this.#text(asText(part["text"]) ?? "")
    }
  }

  #text(text: string): void {
    if (text !== "") this.#writer().text(text)
  }

  #writer(): MessageWriter {
    if (this.#message === undefined || this.#message.ended) {
      this.#sealReasoning()
      this.#calls.release()
      this.#message = this.builder.message()
    }
    return this.#message
  }

  #think({ details, field, text }: Thought): void {
    if (text === "" && details.length === 0) return
    if (this.#reasoning === undefined || this.#reasoning.ended) {
      this.#calls.release()
      this.#reasoning = this.builder.reasoning()
      this.#details = []
      this.#field = field
    }
    this.#field ??= field
    mergeDetails(this.#details, details)
    this.#reasoning.summary(text)
  }

  /** What a replay needs is put on an item before anything follows it. */
  #sealReasoning(): void {
    const item = this.#reasoning
    if (item === undefined) return
    this.#reasoning = undefined
    if (this.#details.length > 0) {
      item.seal({ field: detailsField, encrypted_content: JSON.stringify(this.#details) })
    } else if (this.#field !== undefined) item.seal({ field: this.#field })
    item.end()
  }

  #call(raw: JsonObject, frame: SseFrame | null): void {
    this.#sealReasoning()
    if (!this.#calls.push(raw) && frame !== null) this.builder.opaque(frame.event, frame.data)
  }

  /** After the calls: the item's id is the call's. */
  #signatures(): void {
    for (const { call_id, signature } of this.#calls.signatures()) {
      const item = this.builder.reasoning(call_id)
      item.seal({ signature, field: callSignatureField })
      item.end()
    }
  }
}

/** @since 0.1.0 @category decoding */
export const streamDecoder = (options: DecodeOptions): StreamDecoder => makeDecoder(new ChunkReader(options))

/** @since 0.1.0 @category decoding */
export const decodeResponse = (body: unknown, options: DecodeOptions): ReadonlyArray<ResponseEvent> => {
  const reader = new ChunkReader(options)
  return decodeWhole(body, reader.builder, (completion) => {
    if (Array.isArray(completion["choices"]) && completion["choices"].length > 0) reader.whole(completion)
  })
}
