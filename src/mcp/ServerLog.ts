/**
 * What a server writes to stderr, and to stdout without it being a message: the last 64 KiB are kept, and a file under
 * the state directory gets the lines (reading 1.3). Text is made safe for a terminal (G8), known secrets are blotted out (G2). A server that writes
 * without end costs a bounded amount of work: lines over a budget are counted, not written.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as TerminalText from "../codec/TerminalText.ts"
import type { AppendLogService } from "../platform/AppendLog.ts"

/** Bytes of stderr that are kept. @since 0.1.0 @category constants */
export const keptBytes = 65_536
/** Bytes of a log file before it moves aside; {@link logFiles} in all. @since 0.1.0 @category constants */
export const logBytes = 1_048_576
/** @since 0.1.0 @category constants */
export const logFiles = 2
/** Code points of a line in the file. */
const lineLength = 2_000
/** Lines written at once, and how many more each second brings. */
const burst = 500
const linesPerSecond = 100
/** Bytes of a line that is not over yet. */
const heldBytes = 8_192

/** @since 0.1.0 @category models */
export interface ServerLogInput {
  readonly log: AppendLogService
  /** Absolute. */
  readonly file: string
  readonly server: string
  /** Values that must not show; longer ones first. */
  readonly secrets: ReadonlyArray<string>
}

/** @since 0.1.0 @category models */
export interface ServerLog {
  readonly file: string
  readonly stderr: (bytes: Uint8Array) => Effect.Effect<void>
  /** A line of stdout that is no message. */
  readonly noise: (text: string) => Effect.Effect<void>
  /** A word of ours: when it started, how it ended. */
  readonly note: (text: string) => Effect.Effect<void>
  /** Writes what is held of the last line. */
  readonly flush: Effect.Effect<void>
  /** The last of stderr, safe to show. */
  readonly tail: () => string
}

/** A file name that is the server's, as far as its name can be one. @since 0.1.0 @category constructors */
export const fileName = (server: string, digest: string): string => {
  const plain = server.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64)
  return plain === server && plain !== "" ? `${plain}.log` : `${plain}-${digest.slice(0, 8)}.log`
}

/** @since 0.1.0 @category constructors */
export const make = (input: ServerLogInput): ServerLog => {
  const decoder = new TextDecoder("utf-8")
  const kept = new Uint8Array(keptBytes)
  let total = 0
  let held = ""
  let budget = burst
  let filledAt: number | null = null
  let left = 0
  let broken = false

  const clean = (text: string): string => {
    let safe = text
    for (const secret of input.secrets) safe = safe.replaceAll(secret, "***")
    return TerminalText.neutralise(safe)
  }

  const keep = (bytes: Uint8Array): void => {
    const last = bytes.subarray(Math.max(0, bytes.byteLength - keptBytes))
    const start = (total + bytes.byteLength - last.byteLength) % keptBytes
    const first = Math.min(last.byteLength, keptBytes - start)
    kept.set(last.subarray(0, first), start)
    kept.set(last.subarray(first), 0)
    total += bytes.byteLength
  }

  /** A log that cannot be written is said once; the server goes on. */
  const write = (line: string): Effect.Effect<void> =>
    broken ? Effect.void : input.log.append({ file: input.file, line, max_bytes: logBytes, max_files: logFiles }).pipe(
      Effect.catchAll((error) => {
        broken = true
        return Effect.logWarning(
          `MCP server ${input.server}: its log ${input.file} cannot be written: ${error.message}`
        )
      })
    )

  const stamp = (now: number): string => DateTime.formatIso(DateTime.unsafeMake(now))

  const lines = (all: ReadonlyArray<string>, from: "stderr" | "stdout" | "note"): Effect.Effect<void> =>
    all.length === 0 ? Effect.void : Effect.flatMap(Clock.currentTimeMillis, (now) => {
      budget = Math.min(burst, budget + (filledAt === null ? 0 : (now - filledAt) / 1000 * linesPerSecond))
      filledAt = now
      const count = from === "note" ? all.length : Math.min(all.length, Math.floor(budget))
      budget -= from === "note" ? 0 : count
      const missed = left
      left = count === 0 ? left + all.length : all.length - count
      const out = all.slice(0, count).map((line) =>
        `${stamp(now)} ${from} ${TerminalText.line(clean(line), lineLength)}`
      )
      if (count > 0 && missed > 0) out.unshift(`${stamp(now)} note ${missed} lines left out: too many at once`)
      return Effect.forEach(out, write, { discard: true })
    })

  return {
    file: input.file,
    stderr: (bytes) =>
      Effect.suspend(() => {
        keep(bytes)
        const parts = (held + decoder.decode(bytes, { stream: true })).split("\n")
        held = parts.pop() ?? ""
        if (held.length > heldBytes) {
          parts.push(held)
          held = ""
        }
        return lines(parts.filter((line) => line.trim() !== ""), "stderr")
      }),
    noise: (text) => lines([text.slice(0, heldBytes)], "stdout"),
    note: (text) => lines([text], "note"),
    flush: Effect.suspend(() => {
      const rest = held + decoder.decode()
      held = ""
      return rest.trim() === "" ? Effect.void : lines([rest], "stderr")
    }),
    tail: () => {
      const size = Math.min(total, keptBytes)
      const at = total % keptBytes
      const bytes = new Uint8Array(size)
      if (total <= keptBytes) bytes.set(kept.subarray(0, size))
      else {
        bytes.set(kept.subarray(at))
        bytes.set(kept.subarray(0, at), keptBytes - at)
      }
      return clean(new TextDecoder("utf-8").decode(bytes))
    }
  }
}
