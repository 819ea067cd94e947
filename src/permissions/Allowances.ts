/**
 * What a command or a skill in use wants allowed while it is in use. Such patterns stand behind every rule of the settings:
 * they answer a question that no rule has asked, and lift neither a deny, nor a rule that asks, nor what no rule can say for
 * sure. Optional: without the service there are none.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"

/** @since 0.1.0 @category models */
export interface Allowance {
  /** Of a permission rule. */
  readonly tool_pattern: string
  /** Who wants it, in words: `the command /deploy`. */
  readonly by: string
}

/** @since 0.1.0 @category models */
export interface AllowancesService {
  /** For the session, until `clear`. */
  readonly add: (session_id: string, allowances: ReadonlyArray<Allowance>) => Effect.Effect<void>
  /** The run that used them is over. */
  readonly clear: (session_id: string) => Effect.Effect<void>
  /** Those of any of the sessions. */
  readonly of: (session_ids: ReadonlyArray<string>) => ReadonlyArray<Allowance>
}

/** @since 0.1.0 @category services */
export class Allowances extends Context.Tag("@hanzo/dev/permissions/Allowances")<Allowances, AllowancesService>() {
  static readonly layer: Layer.Layer<Allowances> = Layers.sync(Allowances, () => {
    const all = new Map<string, ReadonlyArray<Allowance>>()
    return {
      add: (session_id, allowances) =>
        Effect.sync(() => {
          if (allowances.length > 0) all.set(session_id, [...all.get(session_id) ?? [], ...allowances])
        }),
      clear: (session_id) => Effect.sync(() => void all.delete(session_id)),
      of: (session_ids) => all.size === 0 ? [] : [...new Set(session_ids)].flatMap((id) => all.get(id) ?? [])
    }
  })
}
