/**
 * One attempt at a turn as a pure machine: stream events in, agent events and finished items out.
 *
 * @since 0.1.0
 */
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { Part } from "../domain/Message.ts"
import type { StreamEvent } from "../domain/StreamEvent.ts"
import type { Usage } from "../domain/Usage.ts"

/** A tool call as it will be stored, run and answered. @since 0.1.0 @category models */
export interface TurnCall {
  /** Unique in the session; differs from the provider's when that one was used before. */
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly input: Readonly<Record<string, unknown>>
  /** Why `arguments` is no JSON object; such a call is answered with this, never run. */
  readonly input_error?: string
}

/** A finished item: what is stored under `key` before its `item.completed` is offered. @since 0.1.0 @category models */
export interface TurnItem {
  readonly item_id: string
  readonly key: string
  readonly part: Part
}

/** @since 0.1.0 @category models */
export type TurnTerminal = Extract<StreamEvent, { type: "message_stop" } | { type: "error" }>

/** @since 0.1.0 @category models */
export interface TurnStep {
  readonly events: ReadonlyArray<AgentEventBody>
  readonly items: ReadonlyArray<TurnItem>
}

/** @since 0.1.0 @category models */
export interface TurnMachine {
  /** Events after the terminal are ignored. */
  readonly push: (events: Iterable<StreamEvent>) => TurnStep
  /** Closes an item that was cut short by an interrupt; text is kept, unfinished reasoning is not. */
  readonly cut: () => TurnStep
  readonly terminal: () => TurnTerminal | null
  readonly usage: () => Usage | null
  readonly calls: () => ReadonlyArray<TurnCall>
  /** Text of the message items so far. */
  readonly text: () => string
  readonly refused: () => boolean
  /** Ids of every item that was shown, finished or not, and the keys of those that were finished. */
  readonly shown: () => { readonly item_ids: ReadonlyArray<string>; readonly keys: ReadonlyArray<string> }
}

/** @since 0.1.0 @category models */
export interface TurnMachineOptions {
  /** A fresh item id, unique in the session. */
  readonly nextItemId: () => string
  /** The id under which a call is kept: the given one, or another when it was used before. */
  readonly claimCallId: (id: string) => string
}

interface OpenItem {
  readonly kind: "text" | "reasoning"
  readonly item_id: string
  readonly refusal: boolean
  chunks: Array<string>
}

/** @since 0.1.0 @category constructors */
export const make = (options: TurnMachineOptions): TurnMachine => {
  const itemIds: Array<string> = []
  const keys: Array<string> = []
  const calls: Array<TurnCall> = []
  let open: OpenItem | null = null
  let terminal: TurnTerminal | null = null
  let usage: Usage | null = null
  let text = ""
  let refused = false

  const finish = (
    item_id: string,
    key: string,
    part: Part,
    events: Array<AgentEventBody>,
    items: Array<TurnItem>
  ): void => {
    keys.push(key)
    items.push({ item_id, key, part })
    switch (part.type) {
      case "text":
        events.push({
          type: "item.completed",
          item_id,
          item: { type: "message", text: part.text, ...(open?.refusal === true ? { refusal: true } : {}) }
        })
        break
      case "reasoning":
        events.push({ type: "item.completed", item_id, item: part })
        break
      case "tool_call":
        events.push({
          type: "item.completed",
          item_id,
          item: { type: "tool_call", call_id: part.id, name: part.name, arguments: part.arguments }
        })
        break
    }
  }

  type Replay = Extract<StreamEvent, { type: "reasoning_delta" }>["replay"]

  const close = (events: Array<AgentEventBody>, items: Array<TurnItem>, replay?: Replay): void => {
    if (open === null) return
    const value = open.chunks.join("")
    const key = `item:${open.item_id}`
    if (open.kind === "text") {
      if (value !== "") finish(open.item_id, key, { type: "text", text: value }, events, items)
    } else if (value !== "" || replay !== undefined) {
      finish(
        open.item_id,
        key,
        { type: "reasoning", text: value, ...(replay === undefined ? {} : { replay }) },
        events,
        items
      )
    }
    open = null
  }

  const ensure = (
    kind: OpenItem["kind"],
    refusal: boolean,
    events: Array<AgentEventBody>,
    items: Array<TurnItem>
  ): OpenItem => {
    if (open !== null && open.kind === kind && open.refusal === refusal) return open
    close(events, items)
    const item_id = options.nextItemId()
    itemIds.push(item_id)
    open = { kind, item_id, refusal, chunks: [] }
    return open
  }

  const step = (event: StreamEvent, events: Array<AgentEventBody>, items: Array<TurnItem>): void => {
    switch (event.type) {
      case "content_delta": {
        if (event.text === "") return
        const item = ensure("text", event.refusal === true, events, items)
        item.chunks.push(event.text)
        text += event.text
        if (event.refusal === true) refused = true
        events.push({ type: "text.delta", item_id: item.item_id, text: event.text })
        return
      }
      case "reasoning_delta": {
        if (event.text === "" && event.replay === undefined) return
        const item = ensure("reasoning", false, events, items)
        if (event.text !== "") {
          item.chunks.push(event.text)
          events.push({ type: "reasoning.delta", item_id: item.item_id, text: event.text })
        }
        if (event.replay !== undefined) close(events, items, event.replay)
        return
      }
      case "tool_use": {
        close(events, items)
        const item_id = options.nextItemId()
        itemIds.push(item_id)
        const id = options.claimCallId(event.id)
        calls.push({
          id,
          name: event.name,
          arguments: event.arguments,
          input: event.input,
          ...(event.input_error === undefined ? {} : { input_error: event.input_error })
        })
        finish(
          item_id,
          `assistant:${id}`,
          { type: "tool_call", id, name: event.name, arguments: event.arguments },
          events,
          items
        )
        return
      }
      case "usage":
        usage = event.usage
        return
      case "message_stop":
        close(events, items)
        terminal = event
        return
      case "error":
        terminal = event
        return
    }
  }

  return {
    push: (input) => {
      const events: Array<AgentEventBody> = []
      const items: Array<TurnItem> = []
      for (const event of input) {
        if (terminal !== null) break
        step(event, events, items)
      }
      return { events, items }
    },
    cut: () => {
      const events: Array<AgentEventBody> = []
      const items: Array<TurnItem> = []
      if (open !== null && open.kind === "text") close(events, items)
      open = null
      return { events, items }
    },
    terminal: () => terminal,
    usage: () => usage,
    calls: () => calls,
    text: () => text,
    refused: () => refused,
    shown: () => ({ item_ids: itemIds, keys })
  }
}
