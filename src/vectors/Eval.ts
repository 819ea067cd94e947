/**
 * Our side of the adapter protocol (reading 18.4): a request a line in, an answer a line out, in the same order.
 *
 * @since 0.1.0
 */
import * as Channel from "effect/Channel"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Outcome, Registry } from "./Domain.ts"
import { isFields, Refusal } from "./Domain.ts"
import { domains, ready } from "./Domains.ts"
import { type BadLine, LineBuffer, maxLineBytes } from "./Lines.ts"

/** Deeper JSON is refused (reading 0, G3). */
const mostDepth = 200

const tooDeep = (json: string): boolean => {
  let depth = 0
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i)
    if (code === 0x22) {
      for (i++; i < json.length && json.charCodeAt(i) !== 0x22; i++) if (json.charCodeAt(i) === 0x5c) i++
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > mostDepth) return true
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return false
}

const failure = (code: string, message: string): Outcome => ({ error: { code, message } })

const outcomeOf = (registry: Registry, domain: string, input: unknown): Outcome => {
  const evaluate = registry.get(domain)
  if (evaluate === undefined) {
    return failure("unsupported", `no domain ${JSON.stringify(domain)}; known are ${[...registry.keys()].join(", ")}`)
  }
  try {
    return evaluate(input)
  } catch (error) {
    return error instanceof Refusal
      ? failure(error.code, error.message)
      : failure("internal", error instanceof Error ? error.message : String(error))
  }
}

const tooLong = `the answer is longer than a line may be (${maxLineBytes} bytes)`

const written = (id: string | null, outcome: Outcome): string => {
  try {
    const line = JSON.stringify({ id, ...outcome })
    if (line.length <= maxLineBytes) return line
  } catch {
    // longer than a string can be
  }
  return JSON.stringify({ id, ...failure("bad_request", tooLong) })
}

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/**
 * The answer to one request, both without their LF. Never throws: a malformed request is `bad_request` (id null when
 * it cannot be read), an unknown domain `unsupported`.
 *
 * @example
 * evalLine(`{"domain":"backoff","id":"1","input":{"base_ms":500,"max_ms":8000,"attempts":3}}`)
 * // {"id":"1","output":{"ceilings_ms":[500,1000,2000]}}
 *
 * @since 0.1.0
 * @category decoding
 */
export const evalLine = (line: string, registry: Registry = domains): string => {
  const request = parsed(line)
  if (!isFields(request)) return written(null, failure("bad_request", "the line is no JSON object"))
  const id = typeof request["id"] === "string" ? request["id"] : null
  const { domain } = request
  if (id === null) return written(null, failure("bad_request", "id must be a string"))
  if (typeof domain !== "string") return written(id, failure("bad_request", "domain must be a string"))
  if (!Object.hasOwn(request, "input")) return written(id, failure("bad_request", "input is missing"))
  if (tooDeep(line)) return written(id, failure("bad_request", `JSON nested deeper than ${mostDepth}`))
  return written(id, outcomeOf(registry, domain, request["input"]))
}

const unreadable = (line: BadLine): string =>
  written(
    null,
    failure(
      "bad_request",
      line.bad === "too_long" ? `the line is longer than ${maxLineBytes} bytes` : "the line is not UTF-8"
    )
  )

/**
 * The adapter over streams: bytes of requests in, bytes of answers out. One read gives one chunk, an element an answer;
 * nothing is kept but an unfinished line. Ends with its input, of which a last line without LF is answered too.
 *
 * @since 0.1.0
 * @category decoding
 */
export const evalStream =
  (registry: Registry = domains) =>
  <E, R>(requests: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> =>
    Stream.unwrap(Effect.map(ready, () => {
      type Reader = Channel.Channel<Chunk.Chunk<Uint8Array>, Chunk.Chunk<Uint8Array>, E, E, void, unknown>
      const buffer = new LineBuffer()
      const encoder = new TextEncoder()
      const emit = (lines: ReadonlyArray<string | BadLine>, next: Reader): Reader =>
        lines.length === 0 ? next : Channel.zipRight(
          Channel.write(Chunk.unsafeFromArray(
            lines.map((line) =>
              encoder.encode((typeof line === "string" ? evalLine(line, registry) : unreadable(line)) + "\n")
            )
          )),
          next
        )
      const reader: Reader = Channel.readWith({
        onInput: (reads: Chunk.Chunk<Uint8Array>) =>
          emit(Chunk.toReadonlyArray(reads).flatMap((bytes) => buffer.feed(bytes)), reader),
        onFailure: (error: E) => Channel.fail(error),
        onDone: () => emit(buffer.finish(), Channel.void)
      })
      return Stream.pipeThroughChannel(requests, reader)
    }))
