/** Events as bytes, in every form that the grammar of server-sent events allows. */
import type { UpstreamOptions, Wire } from "./Options.ts"
import type { WireEvent } from "./Plan.ts"

export const encodeEvent = (event: WireEvent, options: UpstreamOptions, last: boolean): Buffer => {
  const eol = options.line_end === "crlf" ? "\r\n" : options.line_end === "cr" ? "\r" : "\n"
  const space = options.no_space === true ? "" : " "
  const lines = [
    ...(event.event === undefined ? [] : [`event:${space}${event.event}`]),
    ...event.data.split("\n").map((line) => `data:${space}${line}`)
  ]
  const end = last && options.unterminated === true ? "" : eol + eol
  return Buffer.from(lines.join(eol) + end)
}

export const pingOf = (wire: Wire, options: UpstreamOptions): Buffer => {
  const eol = options.line_end === "crlf" ? "\r\n" : options.line_end === "cr" ? "\r" : "\n"
  return wire === "anthropic"
    ? encodeEvent({ event: "ping", data: JSON.stringify({ type: "ping" }) }, { ...options, unterminated: false }, false)
    : Buffer.from(`: keep-alive${eol}${eol}`)
}

/** Cuts before every continuation byte. */
export const tear = (bytes: Buffer): ReadonlyArray<Buffer> => {
  const parts: Array<Buffer> = []
  let start = 0
  for (let i = 1; i < bytes.length; i++) {
    if (((bytes[i] ?? 0) & 0xc0) === 0x80) {
      parts.push(bytes.subarray(start, i))
      start = i
    }
  }
  parts.push(bytes.subarray(start))
  return parts
}
