/**
 * Whether a request may be too long, found without weighing a single text: the compactor is loaded only behind this
 * gate. Pure but for the state that the driver fiber owns.
 *
 * @since 0.1.0
 */
import type { CompactorService } from "../compactor/Compactor.ts"
import type { Message, Part } from "../domain/Message.ts"
import type { Usage } from "../domain/Usage.ts"

/** @since 0.1.0 @category models */
export interface CompactionGate {
  readonly compactor: CompactorService
  /** Tokens the conversation may take. */
  readonly max_tokens: number
  /** What the provider counted at the last answer, the answer included; null = nothing, or not of this conversation. */
  measured: { readonly tokens: number; readonly messages: number } | null
  /** Compactions of the turn of the user that is on (reading 5.9). */
  turn: {
    /** The input that began it. */
    readonly input: number
    passes: number
    /** How often outputs were shortened. */
    shortened: number
    /** Of those running, the ones that saved too little. */
    poor: number
    /** Results were emptied in this turn already. */
    emptied: boolean
    off: boolean
  }
  /** Compactions of the run, for the keys of their entries. */
  count: number
}

/** @since 0.1.0 @category constructors */
export const make = (compactor: CompactorService, max_tokens: number): CompactionGate => ({
  compactor,
  max_tokens,
  measured: null,
  turn: { input: -1, passes: 0, shortened: 0, poor: 0, emptied: false, off: false },
  count: 0
})

const partBound = (part: Part): number => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.length
    case "tool_call":
      return part.name.length + part.arguments.length
    case "image":
      return 1600
    case "file":
      return 1601 + part.data.length / 40
  }
}

/** More than any estimate of the message: a token for each code unit. */
const bound = (message: Message): number => {
  if (message.token_count !== undefined) return Math.max(0, message.token_count)
  let all = 5
  if (typeof message.content === "string") all += message.content.length
  else for (const part of message.content) all += partBound(part)
  for (const call of message.tool_calls ?? []) all += call.name.length + call.arguments.length
  return all
}

/** False where the next request is below the trigger for certain. @since 0.1.0 @category combinators */
export const mayExceed = (gate: CompactionGate, system: Message, messages: ReadonlyArray<Message>): boolean => {
  const { max_tokens, measured } = gate
  let most = measured === null ? bound(system) : measured.tokens
  for (let i = measured?.messages ?? 0; i < messages.length; i++) {
    if (10 * most > 9 * max_tokens) return true
    const message = messages[i]
    if (message !== undefined) most += bound(message)
  }
  return 10 * most > 9 * max_tokens
}

/** The provider's own count of the conversation as it stands after an answer. @since 0.1.0 @category combinators */
export const measure = (gate: CompactionGate, usage: Usage | null, messages: number): void => {
  if (usage === null) return
  const prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
  if (prompt > 0) gate.measured = { tokens: prompt + usage.output_tokens, messages }
}
