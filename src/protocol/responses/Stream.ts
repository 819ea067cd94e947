/**
 * OpenAI Responses: stream and whole answer into canonical events (protocols, section 5).
 *
 * @since 0.1.0
 */
import type { SseFrame } from "../../codec/Sse.ts"
import type { ResponseEvent } from "../../domain/ResponseEvent.ts"
import type { JsonObject } from "../../domain/Json.ts"
import { complaintOf, errorWithin, responseError } from "../Errors.ts"
import { CallWriter } from "../CallWriter.ts"
import { EventBuilder } from "../EventBuilder.ts"
import { decodeWhole, makeDecoder, type Reader } from "../Frames.ts"
import { type ItemEnd, type ItemWriter, OpaqueWriter } from "../ItemWriter.ts"
import { asArray, asIndex, asObject, asText, isBlank, isObject, parse } from "../Json.ts"
import { MessageWriter } from "../MessageWriter.ts"
import type { DecodeOptions, StreamDecoder } from "../Protocol.ts"
import { ReasoningWriter } from "../ReasoningWriter.ts"
import { fromResponses } from "../Usage.ts"

/** An item of the upstream. `muted`: another item has the same call; its fragments would be said twice. */
interface Slot {
  readonly writer: ItemWriter
  readonly type: string
  muted: boolean
}

const text = (value: unknown): string => typeof value === "string" ? value : ""

/** What `whole` has beyond `sent`; nothing when they disagree, since what was sent cannot be taken back. */
const rest = (whole: string, sent: string): string => whole.startsWith(sent) ? whole.slice(sent.length) : ""

const argumentsOf = (kind: "function" | "custom", item: JsonObject): string =>
  text(kind === "custom" ? item["input"] : item["arguments"])

const statusOf = (item: JsonObject): ItemEnd => item["status"] === "incomplete" ? "incomplete" : "completed"

class ResponseReader implements Reader {
  readonly builder: EventBuilder
  readonly #byIndex = new Map<number, Slot>()
  readonly #byId = new Map<string, Slot>()
  readonly #byCall = new Map<string, Slot>()
  readonly #slots: Array<Slot> = []
  /** Calls under an id that another call has, until it is clear whether they are the same. */
  readonly #again: Array<JsonObject> = []
  /** Where deltas go whose own item is of another kind or has ended. */
  readonly #strays = new Map<string, Slot>()
  #refused = false

  constructor(options: DecodeOptions) {
    this.builder = new EventBuilder({ ...options, sequential: false })
  }

  event(data: JsonObject, frame: SseFrame): void {
    const type = typeof data["type"] === "string" ? data["type"] : frame.event ?? ""
    switch (type) {
      case "response.output_text.delta": {
        const item = this.#message(data)
        return item?.text(text(data["delta"]), asIndex(data["content_index"]) ?? 0)
      }
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#arguments(data)
      case "response.reasoning_summary_text.delta":
        return this.#reasoning(data)?.summary(text(data["delta"]), asIndex(data["summary_index"]) ?? 0)
      case "response.reasoning_text.delta":
        return this.#reasoning(data)?.raw(text(data["delta"]), asIndex(data["content_index"]) ?? 0)
      case "response.refusal.delta": {
        this.#refused = true
        return this.#message(data)?.refusal(text(data["delta"]), asIndex(data["content_index"]) ?? 0)
      }
      case "response.output_text.annotation.added": {
        const annotation = data["annotation"]
        if (isObject(annotation)) this.#message(data)?.annotate(annotation, asIndex(data["content_index"]) ?? 0)
        return
      }
      case "response.output_item.added":
        this.#open(asObject(data["item"]) ?? {}, asIndex(data["output_index"]))
        return
      case "response.output_item.done": {
        const item = asObject(data["item"]) ?? {}
        return this.#done(this.#open(item, asIndex(data["output_index"])), item)
      }
      case "response.output_text.done":
        return this.#textDone(data, "text")
      case "response.refusal.done":
        return this.#textDone(data, "refusal")
      case "response.reasoning_summary_text.done":
        return this.#thoughtDone(data, "summary", asIndex(data["summary_index"]) ?? 0)
      case "response.reasoning_text.done":
        return this.#thoughtDone(data, "raw", asIndex(data["content_index"]) ?? 0)
      case "response.function_call_arguments.done":
        return this.#argumentsDone(data, text(data["arguments"]))
      case "response.custom_tool_call_input.done":
        return this.#argumentsDone(data, text(data["input"]))
      case "response.content_part.added":
      case "response.content_part.done":
      case "response.reasoning_summary_part.added":
      case "response.reasoning_summary_part.done":
        // the builder makes its own from what is in them
        return
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        return this.start(asObject(data["response"]) ?? {})
      case "response.completed":
      case "response.done":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled": {
        const response = asObject(data["response"])
        const named = type === "response.done" ? undefined : type.slice("response.".length)
        return this.terminal(response ?? {}, named)
      }
      case "error":
        return this.builder.fail(responseError(complaintOf(data) ?? { message: "" }))
    }
    const error = errorWithin(data)
    if (error !== undefined && !type.startsWith("response.")) this.builder.fail(responseError(error))
    else this.builder.opaque(frame.event, frame.data)
  }

  sentinel(): void {
    // tolerated; the terminal event is what counts
  }

  settled(): boolean {
    return false
  }

  conclude(): void {
    // there is no finish before the terminal event
  }

  start(response: JsonObject): void {
    this.builder.start(asText(response["id"]), asText(response["model"]))
  }

  /** `named` is the event's own end; a `completed` does not outrank a response that says otherwise of itself. */
  terminal(response: JsonObject, named: string | undefined): void {
    this.start(response)
    this.builder.usage = fromResponses(response["usage"]) ?? this.builder.usage
    const own = asText(response["status"])
    const cut = isObject(response["incomplete_details"]) ? "incomplete" : undefined
    const claimed = own === undefined || (own === "in_progress" && named !== undefined) ? named : own
    const status = named !== undefined && named !== "completed"
      ? named
      : claimed === "completed"
      ? cut ?? claimed
      : claimed
    // items that were only in the terminal, and what was not said of the others
    const counts = new Map<string, number>()
    for (const item of asArray(response["output"])) {
      if (!isObject(item)) continue
      const type = text(item["type"])
      const nth = counts.get(type) ?? 0
      counts.set(type, nth + 1)
      this.#done(this.#same(item, type, nth) ?? this.#open(item, undefined), item, status === "completed")
    }
    this.#resolveAgain()
    switch (status) {
      case "incomplete": {
        const reason = asText(asObject(response["incomplete_details"])?.["reason"])
        if (reason === "content_filter") return this.builder.incomplete("content_filter", "refusal")
        return this.builder.incomplete(
          "max_output_tokens",
          reason !== undefined && /context/i.test(reason) ? "context_window" : "max_tokens"
        )
      }
      case "failed": {
        const error = asObject(response["error"])
        return this.builder.fail(
          responseError(
            (error === undefined ? undefined : complaintOf({ error })) ?? {
              message: "the response failed, no reason was given"
            }
          )
        )
      }
      case "cancelled":
        return this.builder.fail({
          ...responseError({ message: "the response was cancelled at the provider" }),
          retryable: false
        })
      case "completed":
        return this.builder.complete(this.#refused ? "refusal" : "end_turn")
    }
    this.builder.fail({
      ...responseError({ message: `the provider answered with an unfinished response (status ${status ?? "absent"})` }),
      reason: "invalid_response",
      retryable: false
    })
  }

  /** An item of the terminal among those that were streamed: by its ids, else by its place among its kind. */
  #same(item: JsonObject, type: string, nth: number): Slot | undefined {
    const id = asText(item["id"])
    const call = asText(item["call_id"])
    const known = (call === undefined ? undefined : this.#byCall.get(call)) ??
      (id === undefined ? undefined : this.#byId.get(id))
    if (known !== undefined || call !== undefined) return known
    return this.#slots.filter((slot) => slot.type === type)[nth]
  }

  #open(item: JsonObject, index: number | undefined): Slot {
    const id = asText(item["id"])
    const type = text(item["type"])
    const callId = asText(item["call_id"])
    const at = index === undefined ? undefined : this.#byIndex.get(index)
    const named = id === undefined ? undefined : this.#byId.get(id)
    const called = callId === undefined ? undefined : this.#byCall.get(callId)
    if (at?.type === type && (callId === undefined || called?.writer === at.writer || named === at)) {
      if (id !== undefined && named === undefined) this.#byId.set(id, at)
      if (callId !== undefined && called === undefined) this.#byCall.set(callId, at)
      return at
    }
    if (called?.type === type) {
      // the same call under another item id or index: identity is the call id, its fragments are said once
      if (index === undefined && named === called) return called
      const twin: Slot = { writer: called.writer, type, muted: true }
      if (index !== undefined) this.#byIndex.set(index, twin)
      if (id !== undefined && named === undefined) this.#byId.set(id, twin)
      return twin
    }
    if (index === undefined && named?.type === type) return named
    const slot: Slot = { writer: this.#writer(item, type, id, callId), type, muted: false }
    this.#slots.push(slot)
    if (index !== undefined) this.#byIndex.set(index, slot)
    if (id !== undefined) this.#byId.set(id, slot)
    if (callId !== undefined) this.#byCall.set(callId, slot)
    return slot
  }

  #writer(item: JsonObject, type: string, id: string | undefined, callId: string | undefined): ItemWriter {
    switch (type) {
      case "message":
        return this.builder.message(id)
      case "reasoning":
        return this.builder.reasoning(id)
      case "function_call":
        return this.builder.call({
          itemId: id,
          callId,
          name: asText(item["name"]),
          namespace: asText(item["namespace"]),
          idMayFollow: true
        })
      case "custom_tool_call":
        return this.builder.call({ kind: "custom", itemId: id, callId, name: asText(item["name"]), idMayFollow: true })
    }
    return this.builder.opaqueItem(id, item)
  }

  /** The slot of an event: by index first, then by item id, then the last one. */
  #slot(data: JsonObject): Slot | undefined {
    const index = asIndex(data["output_index"])
    const id = asText(data["item_id"])
    const at = index === undefined ? undefined : this.#byIndex.get(index)
    const named = id === undefined ? undefined : this.#byId.get(id)
    if (at !== undefined && named !== undefined && at !== named) return named
    return at ?? named ?? (index === undefined && id === undefined ? this.#slots[this.#slots.length - 1] : undefined)
  }

  /**
   * The item a delta belongs to. One that was never announced is announced now; where the upstream names an item of
   * another kind, or one that has ended, the delta gets an item of its own.
   */
  #target(data: JsonObject, type: "message" | "reasoning"): Slot {
    const slot = this.#slot(data) ?? this.#open({ type, id: data["item_id"] }, asIndex(data["output_index"]))
    if (slot.type === type && !slot.writer.ended) return slot
    let stray = this.#strays.get(type)
    if (stray === undefined || stray.writer.ended) {
      stray = this.#open({ type }, undefined)
      this.#strays.set(type, stray)
    }
    return stray
  }

  #message(data: JsonObject): MessageWriter | undefined {
    const { writer } = this.#target(data, "message")
    return writer instanceof MessageWriter ? writer : undefined
  }

  #reasoning(data: JsonObject): ReasoningWriter | undefined {
    const { writer } = this.#target(data, "reasoning")
    return writer instanceof ReasoningWriter ? writer : undefined
  }

  #arguments(data: JsonObject): void {
    const slot = this.#slot(data)
    if (slot === undefined || !(slot.writer instanceof CallWriter)) {
      this.builder.opaque(null, JSON.stringify(data))
      return
    }
    if (!slot.muted) slot.writer.arguments(text(data["delta"]))
  }

  #argumentsDone(data: JsonObject, whole: string): void {
    const slot = this.#slot(data)
    if (slot === undefined || !(slot.writer instanceof CallWriter)) return
    const name = asText(data["name"])
    if (name !== undefined) slot.writer.identify({ name })
    this.#complete(slot.writer, whole)
  }

  /** Arguments that came only at the end, or the part of them that was not said yet. */
  #complete(writer: CallWriter, whole: string): void {
    if (isBlank(whole)) return
    writer.arguments(rest(whole, writer.received))
  }

  /** The same call confirmed is one call; another call under a used id is a call of its own (rows 9 and 41). */
  #saidAgain(writer: CallWriter, item: JsonObject): void {
    const whole = argumentsOf(writer.kind, item)
    const same = (asText(item["name"]) ?? writer.name) === writer.name
    if (isBlank(whole) && same) return
    if (same && sameArguments(writer.received, whole)) return writer.settle()
    if (same && !writer.ended && isBlank(writer.received)) {
      this.#complete(writer, whole)
      return writer.settle()
    }
    this.#again.push(item)
  }

  #resolveAgain(): void {
    const known = this.#slots.flatMap(({ writer }) => writer instanceof CallWriter ? [writer] : [])
    for (const item of this.#again.splice(0)) {
      const callId = asText(item["call_id"])
      const name = asText(item["name"])
      const type = text(item["type"])
      const kind = type === "custom_tool_call" ? "custom" : "function"
      const whole = argumentsOf(kind, item)
      if (known.some((call) => call.name === name && sameArguments(call.received, whole))) continue
      const first = callId === undefined ? undefined : this.#byCall.get(callId)?.writer
      if (first instanceof CallWriter && !first.ended && first.name === name && whole.startsWith(first.received)) {
        this.#complete(first, whole)
        first.settle()
        continue
      }
      const another = this.builder.call({ kind, itemId: asText(item["id"]), callId, name })
      another.arguments(whole)
      another.settle()
      known.push(another)
    }
  }

  #textDone(data: JsonObject, kind: "text" | "refusal"): void {
    const whole = text(data[kind])
    if (whole === "" || this.#slot(data)?.writer.ended === true) return
    const item = this.#message(data)
    if (item !== undefined) this.#finishText(item, kind, asIndex(data["content_index"]) ?? 0, whole)
  }

  #finishText(item: MessageWriter, kind: "text" | "refusal", key: number, whole: string): void {
    const more = rest(whole, item.textOf(key, kind))
    if (kind === "text") return item.text(more, key)
    if (whole !== "") this.#refused = true
    item.refusal(more, key)
  }

  #thoughtDone(data: JsonObject, kind: "summary" | "raw", key: number): void {
    const whole = text(data["text"])
    if (whole === "" || this.#slot(data)?.writer.ended === true) return
    const item = this.#reasoning(data)
    if (item !== undefined) this.#finishThought(item, kind, key, whole)
  }

  #finishThought(item: ReasoningWriter, kind: "summary" | "raw", key: number, whole: string): void {
    const more = rest(whole, item.textOf(kind, key))
    if (kind === "summary") item.summary(more, key)
    else item.raw(more, key)
  }

  /**
   * The item as the upstream has it at the end: what is in it and was not said is said now, once. Unless `final`, an
   * item that does not call itself completed stays open, for the terminal to say what became of it.
   */
  #done({ muted, writer }: Slot, item: JsonObject, final = true): void {
    if (writer instanceof CallWriter && (muted || writer.ended)) return this.#saidAgain(writer, item)
    if (writer.ended) return
    const ends = final || item["status"] === "completed"
    if (writer instanceof MessageWriter) {
      asArray(item["content"]).forEach((part, key) => {
        if (!isObject(part)) return
        if (part["type"] === "refusal") this.#finishText(writer, "refusal", key, text(part["refusal"]))
        else this.#finishText(writer, "text", key, text(part["text"]))
        asArray(part["annotations"]).slice(writer.annotationsOf(key)).forEach((annotation) => {
          if (isObject(annotation)) writer.annotate(annotation, key)
        })
      })
      return ends ? writer.end(statusOf(item)) : undefined
    }
    if (writer instanceof ReasoningWriter) {
      asArray(item["summary"]).forEach((part, key) => {
        this.#finishThought(writer, "summary", key, text(asObject(part)?.["text"]))
      })
      asArray(item["content"]).forEach((part, key) => {
        this.#finishThought(writer, "raw", key, text(asObject(part)?.["text"]))
      })
      const encrypted_content = asText(item["encrypted_content"])
      if (encrypted_content !== undefined) writer.seal({ encrypted_content })
      return ends ? writer.end(statusOf(item)) : undefined
    }
    if (writer instanceof CallWriter) {
      writer.identify({ name: asText(item["name"]), callId: asText(item["call_id"]) })
      this.#complete(writer, argumentsOf(writer.kind, item))
      if (item["status"] === "incomplete") return writer.end("incomplete")
      return ends ? writer.settle() : undefined
    }
    if (writer instanceof OpaqueWriter) writer.replace(item)
    writer.end()
  }
}

/** Are the arguments the same, however they are spaced? */
const sameArguments = (a: string, b: string): boolean => a === b || canonical(a) === canonical(b)

const canonical = (args: string): string => {
  if (isBlank(args)) return "{}"
  const value = parse(args)
  return value === undefined ? args : JSON.stringify(value)
}

/** @since 0.1.0 @category decoding */
export const streamDecoder = (options: DecodeOptions): StreamDecoder => makeDecoder(new ResponseReader(options))

/** @since 0.1.0 @category decoding */
export const decodeResponse = (body: unknown, options: DecodeOptions): ReadonlyArray<ResponseEvent> => {
  const reader = new ResponseReader(options)
  return decodeWhole(body, reader.builder, (response) => {
    if (Array.isArray(response["output"]) || asText(response["status"]) !== undefined) {
      reader.terminal(response, asText(response["status"]) === undefined ? "completed" : undefined)
    }
  })
}
