/**
 * What stops a run that would go on for ever; pure.
 *
 * @since 0.1.0
 */
import type { ToolResult } from "../domain/Tool.ts"
import type { TurnCall } from "./TurnMachine.ts"

/** How often the same call gave the same result, running (reading 2.8). @since 0.1.0 @category models */
export interface Repetition {
  readonly signature: string
  readonly count: number
}

/** @since 0.1.0 @category constants */
export const noRepetition: Repetition = { signature: "", count: 0 }

/** The third identical call with the identical result is where the loop asks. @since 0.1.0 @category constants */
export const repetitionLimit = 3

/** @since 0.1.0 @category combinators */
export const observe = (
  state: Repetition,
  settled: ReadonlyArray<{ readonly call: TurnCall; readonly result: ToolResult }>
): Repetition => {
  let { count, signature } = state
  for (const { call, result } of settled) {
    const next = JSON.stringify([call.name, call.arguments, result.is_error, result.output, result.error])
    count = next === signature ? count + 1 : 1
    signature = next
  }
  return { signature, count }
}
