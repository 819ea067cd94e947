/**
 * Tool calls of a Chat Completions stream, put together from fragments of every known habit (protocols, section 5,
 * invariants 3 and 4; section 17, rows 1 to 9 and 41).
 *
 * @since 0.1.0
 */
import type { JsonObject } from "../../domain/Json.ts"
import type { CallWriter } from "../CallWriter.ts"
import type { EventBuilder } from "../EventBuilder.ts"
import { asIndex, asObject, asText, isBlank, isObject } from "../Json.ts"

interface Call {
  readonly writer: CallWriter
  /** The upstream's own id, as far as it came. */
  id: string | undefined
  /** `{}` in the opener may be a placeholder for arguments that follow; it waits for the next fragment. */
  placeholder: boolean
  signature: string | undefined
}

interface Fragment {
  readonly index: number | undefined
  readonly id: string | undefined
  readonly name: string | undefined
  readonly text: string
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : isObject(value) && Object.keys(value).length > 0 ? JSON.stringify(value) : ""

const fragmentOf = (raw: JsonObject): Fragment => {
  const custom = asObject(raw["custom"])
  const body = asObject(raw["function"]) ?? custom ?? {}
  return {
    index: asIndex(raw["index"]),
    id: asText(raw["id"]),
    name: asText(body["name"]),
    text: textOf(custom === undefined ? body["arguments"] : body["input"])
  }
}

/** Is the fragment more of this call? */
const continues = (call: Call, { id, name, text }: Fragment): boolean => {
  const { writer } = call
  if (id !== undefined && call.id !== undefined && id !== call.id) {
    // another id is another call, but for servers that number every fragment anew
    return name === undefined && !writer.whole() && writer.received !== ""
  }
  if (name === undefined) return true
  if (writer.name === "") return true
  if (name !== writer.name) return false
  // name repeated: the same call goes on until its arguments are whole
  if (!(writer.whole() || call.placeholder) || isBlank(text)) return true
  // the whole call said twice under one id is one call; without an id it is two
  return id !== undefined && id === call.id && text === writer.received
}

/** @since 0.1.0 @category models */
export class ToolFragments {
  readonly #builder: EventBuilder
  readonly #calls: Array<Call> = []
  readonly #byIndex = new Map<number, Call>()
  readonly #byId = new Map<string, Call>()

  constructor(builder: EventBuilder) {
    this.#builder = builder
  }

  /** Takes one entry of `tool_calls`; false when it fits nowhere. */
  push(raw: JsonObject): boolean {
    const fragment = fragmentOf(raw)
    if (fragment.id === undefined && fragment.name === undefined && fragment.text === "" && this.#calls.length === 0) {
      return true
    }
    const found = this.#find(fragment)
    const signature = asText(asObject(asObject(raw["extra_content"])?.["google"])?.["thought_signature"])
    const call = found ?? this.#open(fragment, asObject(raw["custom"]) !== undefined, signature)
    if (signature !== undefined) call.signature = signature
    if (found !== undefined) {
      if (call.id === undefined && fragment.id !== undefined) {
        call.id = fragment.id
        this.#byId.set(fragment.id, call)
      }
      call.writer.identify({ name: fragment.name, callId: fragment.id })
    }
    return this.#arguments(call, fragment.text, found === undefined)
  }

  /** Placeholders become the arguments; nothing more will come for these calls. */
  release(): void {
    for (const call of this.#calls) this.#release(call)
  }

  /** Has a call arguments that are not whole, so that only a finish reason could say that it is meant so? */
  unfinished(): boolean {
    return this.#calls.some((call) => !call.writer.ended && !call.writer.whole() && !call.placeholder)
  }

  /** Signatures that calls brought along, by the id under which the call is known. */
  signatures(): ReadonlyArray<{ readonly call_id: string; readonly signature: string }> {
    return this.#calls.flatMap(({ signature, writer }) =>
      signature === undefined || writer.callId === undefined ? [] : [{ call_id: writer.callId, signature }]
    )
  }

  #find(fragment: Fragment): Call | undefined {
    const { id, index, name } = fragment
    const known = id === undefined ? undefined : this.#byId.get(id)
    if (index !== undefined) {
      const at = this.#byIndex.get(index)
      // a new index with a name is a new call, whatever its id
      if (at === undefined) return name === undefined ? known : undefined
      // servers that number every call 0 tell them apart by id
      const exact = known !== undefined && at.id !== id ? known : at
      return continues(exact, fragment) ? exact : undefined
    }
    if (known !== undefined) return continues(known, fragment) ? known : undefined
    const last = this.#calls[this.#calls.length - 1]
    return last !== undefined && continues(last, fragment) ? last : undefined
  }

  #open(fragment: Fragment, custom: boolean, signature: string | undefined): Call {
    for (const other of this.#calls) this.#release(other)
    const callId = fragment.id ?? (signature === undefined ? undefined : this.#builder.mintCallId())
    const writer = this.#builder.call({
      kind: custom ? "custom" : "function",
      name: fragment.name,
      callId,
      idMayFollow: true
    })
    const call: Call = { writer, id: fragment.id, placeholder: false, signature }
    this.#calls.push(call)
    if (fragment.index !== undefined) this.#byIndex.set(fragment.index, call)
    if (fragment.id !== undefined) this.#byId.set(fragment.id, call)
    return call
  }

  #arguments(call: Call, text: string, opener: boolean): boolean {
    if (text === "") return true
    const { writer } = call
    // the whole call said again
    if (!opener && writer.whole() && (isBlank(text) || text === writer.received)) return true
    if (writer.ended) return false
    if (call.placeholder) {
      call.placeholder = false
      if (!text.trimStart().startsWith("{")) writer.arguments("{}")
      else if (text === "{}") {
        call.placeholder = true
        return true
      }
    } else if (opener && text === "{}") {
      call.placeholder = true
      return true
    }
    writer.arguments(text)
    return true
  }

  #release(call: Call): void {
    if (!call.placeholder) return
    call.placeholder = false
    call.writer.arguments("{}")
  }
}
