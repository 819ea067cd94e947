/**
 * From stored entries to the conversation of the next request: pure.
 *
 * @since 0.1.0
 */
import type { Message, Part } from "../domain/Message.ts"
import { partsOf } from "../domain/MessageParts.ts"

/** An entry that counts. @since 0.1.0 @category models */
export interface LiveEntry {
  readonly key: string
  readonly run_id: string
  readonly turn: number
  readonly message: Message
}

/** What is needed of a stored entry. @since 0.1.0 @category models */
export interface HistoryEntry extends LiveEntry {
  readonly withdrawn: boolean
  readonly hidden?: number
  readonly replaces?: ReadonlyArray<string>
}

/** A message of the conversation with the keys of the entries it was made of, in order. @since 0.1.0 @category models */
export interface JoinedMessage {
  readonly message: Message
  readonly keys: ReadonlyArray<string>
}

/**
 * Entries that count, in the order of the conversation. A compaction entry stands where the first of what it replaces
 * stood, and takes over its place in a turn when it stands for a tool result.
 */
const effective = (entries: ReadonlyArray<HistoryEntry>): ReadonlyArray<HistoryEntry> => {
  const live = entries.filter((entry) => !entry.withdrawn && entry.hidden === undefined)
  const replaced = new Set(live.flatMap((entry) => entry.replaces ?? []))
  if (replaced.size === 0) return live
  const places = new Map<string, { readonly at: number; readonly entry: HistoryEntry }>()
  const out: Array<{ readonly at: number; readonly entry: HistoryEntry }> = []
  live.forEach((entry, index) => {
    let place = { at: index, entry }
    for (const key of entry.replaces ?? []) {
      const earlier = places.get(key)
      if (earlier !== undefined && earlier.at < place.at) {
        const turn = entry.message.role === "tool" ? { run_id: earlier.entry.run_id, turn: earlier.entry.turn } : {}
        place = { at: earlier.at, entry: { ...entry, ...turn } }
      }
    }
    places.set(entry.key, place)
    if (!replaced.has(entry.key)) out.push(place)
  })
  // The sort is stable: what stands at one place keeps the order in which it was stored.
  return out.sort((a, b) => a.at - b.at).map(({ entry }) => entry)
}

const join = (items: ReadonlyArray<LiveEntry>): JoinedMessage => {
  const keys = items.map((item) => item.key)
  const first = items[0]
  if (first !== undefined && items.length === 1) return { message: first.message, keys }
  const counts = items.map((item) => item.message.token_count)
  const counted = counts.every((count) => count !== undefined)
  return {
    keys,
    message: {
      role: "assistant",
      content: items.flatMap((item) => partsOf(item.message)),
      ...(counted ? { token_count: counts.reduce<number>((all, count) => all + (count ?? 0), 0) } : {})
    }
  }
}

const callIds = (parts: ReadonlyArray<Part>): ReadonlyArray<string> =>
  parts.flatMap((part) => part.type === "tool_call" ? [part.id] : [])

/** One turn: its assistant items as one message, then the results in the order of their calls, then what the user said. */
const turn = (entries: ReadonlyArray<LiveEntry>): ReadonlyArray<JoinedMessage> => {
  const before: Array<JoinedMessage> = []
  const items: Array<LiveEntry> = []
  const results: Array<LiveEntry> = []
  const after: Array<JoinedMessage> = []
  for (const entry of entries) {
    if (entry.message.role === "assistant" && entry.message.kind !== "summary") items.push(entry)
    else if (entry.message.role === "tool") results.push(entry)
    else {
      ;(items.length === 0 && results.length === 0 ? before : after).push({
        message: entry.message,
        keys: [entry.key]
      })
    }
  }
  const answer = items.length === 0 ? [] : [join(items)]
  const order = new Map(answer.flatMap(({ message }) => callIds(partsOf(message))).map((id, index) => [id, index]))
  const rank = (entry: LiveEntry): number => order.get(entry.message.tool_call_id ?? "") ?? order.size
  const settled = [...results]
    .sort((a, b) => rank(a) - rank(b))
    .map((entry): JoinedMessage => ({ message: entry.message, keys: [entry.key] }))
  return [...before, ...answer, ...settled, ...after]
}

/**
 * Entries that count, in the order of the conversation: neighbours of one run and turn joined into one assistant message
 * with its parts in order, the tool messages behind it in the order of its calls. An assistant message that was stored
 * whole comes back as it was.
 *
 * @since 0.1.0
 * @category combinators
 */
export const grouped = (entries: ReadonlyArray<LiveEntry>): ReadonlyArray<JoinedMessage> => {
  const out: Array<JoinedMessage> = []
  let group: Array<LiveEntry> = []
  for (const entry of entries) {
    const first = group[0]
    if (first !== undefined && (first.run_id !== entry.run_id || first.turn !== entry.turn)) {
      out.push(...turn(group))
      group = []
    }
    group.push(entry)
  }
  out.push(...turn(group))
  return out
}

/**
 * The conversation out of everything stored: withdrawn and hidden entries left out, replaced ones too, the rest `grouped`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const joined = (entries: ReadonlyArray<HistoryEntry>): ReadonlyArray<JoinedMessage> =>
  grouped(effective(entries))
