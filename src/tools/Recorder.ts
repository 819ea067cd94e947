/**
 * Takes a command's output as it comes: text for the screen at once, beginning and end for the model, and, as soon as it
 * is too much for the model, all of it in a file.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { ToolResult } from "../domain/Tool.ts"
import * as Mask from "./Mask.ts"
import * as Output from "./Output.ts"
import type { OutputFile, OutputFilesService } from "./OutputFiles.ts"
import type { ToolRun } from "./Tool.ts"

/** @since 0.1.0 @category models */
export interface Recorded {
  readonly output: string
  readonly truncated?: NonNullable<ToolResult["truncated"]>
}

/** @since 0.1.0 @category models */
export interface Recorder {
  /** Takes bytes, wherever they were cut; answers with the text that is complete now. */
  readonly push: (bytes: Uint8Array) => Effect.Effect<string>
  /** The last text (an unfinished character), to be called once before `result`. */
  readonly end: Effect.Effect<string>
  readonly result: Effect.Effect<Recorded>
}

/**
 * A recorder whose file is named after the call and closed with the scope. What it gives and keeps is without known
 * secrets, before anything is cut out of the middle; a file is the bytes themselves as long as none is known.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeRecorder = (
  files: OutputFilesService,
  { call_id, mask = Mask.nothing }: Pick<ToolRun, "call_id" | "mask">,
  limits: Output.Limits = Output.defaultLimits
): Effect.Effect<Recorder, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
    const masked = mask.stream()
    const kept = (bytes: Uint8Array, text: string): Uint8Array => mask.empty ? bytes : new TextEncoder().encode(text)
    let window = Output.emptyWindow(limits)
    let held: Array<Uint8Array> = []
    let file: Option.Option<OutputFile> = Option.none()
    let spilled = false

    const take = (text: string): string => {
      window = Output.push(window, text)
      return text
    }
    const spill = Effect.gen(function*() {
      spilled = true
      file = yield* Scope.extend(files.create(call_id), scope)
      if (Option.isSome(file)) { for (const bytes of held) yield* file.value.write(bytes) }
      held = []
    })

    return {
      push: (bytes) =>
        Effect.suspend(() => {
          const text = take(masked.push(decoder.decode(bytes, { stream: true })))
          const part = kept(bytes, text)
          if (spilled) return Option.isSome(file) ? Effect.as(file.value.write(part), text) : Effect.succeed(text)
          held.push(part)
          return Output.fits(window) ? Effect.succeed(text) : Effect.as(spill, text)
        }),
      end: Effect.suspend(() => {
        const text = take(masked.push(decoder.decode()) + masked.flush())
        if (!mask.empty) {
          const rest = new TextEncoder().encode(text)
          if (!spilled) held.push(rest)
          else if (Option.isSome(file)) return Effect.as(file.value.write(rest), text)
        }
        return spilled || Output.fits(window) ? Effect.succeed(text) : Effect.as(spill, text)
      }),
      result: Effect.gen(function*() {
        if (Output.fits(window)) return { output: window.head }
        if (Option.isNone(file)) {
          return { output: Output.render(window, "the full output could not be kept").text }
        }
        const problem = yield* file.value.problem
        const where = `full output: ${file.value.path}${problem === undefined ? "" : ` (${problem})`}`
        const { omitted_bytes, text } = Output.render(window, where)
        return { output: text, truncated: { full_output_path: file.value.path, omitted_bytes } }
      })
    }
  })
