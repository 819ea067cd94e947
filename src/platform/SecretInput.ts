/**
 * A secret that a person types: nothing of it is shown, not even its length.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { StringDecoder } from "node:string_decoder"
import * as Layers from "../domain/Layers.ts"
import type { Line } from "./Terminal.ts"

/** @since 0.1.0 @category models */
export interface SecretInputService {
  /** Asks on the terminal; the prompt goes to stderr. Only where stdin is a terminal; calls must not overlap. */
  readonly read: (prompt: string) => Effect.Effect<Line>
}

/** What has been typed so far; `pending` is the beginning of an escape sequence. @since 0.1.0 @category models */
export interface Typed {
  readonly text: string
  readonly pending: string
  readonly done: Line | null
}

/** @since 0.1.0 @category constants */
export const nothingTyped: Typed = { text: "", pending: "", done: null }

const maxUnits = 65_536
/** A whole escape sequence, such as an arrow key or the marks around a paste. */
// oxlint-disable-next-line no-control-regex
const sequence = /^\u001b(?:\[[0-?]*[ -/]*[@-~]|O[@-~]|[^[O])/u
// oxlint-disable-next-line no-control-regex
const opening = /^\u001b(?:\[[0-?]*[ -/]*|O)?$/u

/**
 * Keys as a terminal without its line editor sends them. Enter ends it; backspace, Ctrl-U and Ctrl-W correct it; Ctrl-C
 * interrupts; Ctrl-D on nothing is the end. Escape sequences are no part of it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const typed = (before: Typed, keys: string): Typed => {
  if (before.done !== null) return before
  let text = before.text
  let rest = before.pending + keys
  while (rest !== "") {
    if (rest.startsWith("\u001b")) {
      const whole = sequence.exec(rest)
      if (whole === null) return { text, pending: opening.test(rest) ? rest.slice(0, 64) : "", done: null }
      rest = rest.slice(whole[0].length)
      continue
    }
    const [key = ""] = rest
    rest = rest.slice(key.length)
    if (key === "\r" || key === "\n") return { text: "", pending: "", done: { type: "line", text } }
    if (key === "\u0003") return { text: "", pending: "", done: { type: "interrupt" } }
    if (key === "\u0004") {
      if (text === "") return { text: "", pending: "", done: { type: "end" } }
    } else if (key === "\u007f" || key === "\b") text = [...text].slice(0, -1).join("")
    else if (key === "\u0015" || key === "\u0017") text = ""
    else if (key >= " " && text.length < maxUnits) text += key
  }
  return { text, pending: "", done: null }
}

const read = (prompt: string): Effect.Effect<Line> =>
  Effect.async<Line>((resume) => {
    const { stderr, stdin } = process
    const decoder = new StringDecoder("utf8")
    let state = nothingTyped
    const close = (): void => {
      stdin.off("data", onData)
      stdin.off("end", onEnd)
      stdin.off("error", onEnd)
      stdin.setRawMode(false)
      stdin.pause()
      stderr.write("\n")
    }
    const answer = (line: Line): void => {
      close()
      resume(Effect.succeed(line))
    }
    const onData = (bytes: Buffer): void => {
      state = typed(state, decoder.write(bytes))
      if (state.done !== null) answer(state.done)
    }
    const onEnd = (): void => answer({ type: "end" })
    // before the prompt: what is typed as soon as it stands there must not be shown
    stdin.setRawMode(true)
    stdin.on("data", onData)
    stdin.once("end", onEnd)
    stdin.once("error", onEnd)
    stdin.resume()
    stderr.write(prompt)
    return Effect.sync(close)
  })

/** @since 0.1.0 @category services */
export class SecretInput extends Context.Tag("@hanzo/dev/platform/SecretInput")<SecretInput, SecretInputService>() {
  static readonly layer: Layer.Layer<SecretInput> = Layers.succeed(SecretInput, { read })

  /** Answers with the given lines, in order, then with the end of input. */
  static readonly layerTest = (lines: ReadonlyArray<Line>): Layer.Layer<SecretInput> =>
    Layers.sync(SecretInput, () => {
      const left = [...lines]
      return { read: () => Effect.sync(() => left.shift() ?? { type: "end" }) }
    })
}
