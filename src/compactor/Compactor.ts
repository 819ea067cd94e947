/**
 * Keeps a conversation within its budget of tokens (HIP-301 section 5). What does the work is loaded at the first use.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { Config, type ConfigService } from "../config/Config.ts"
import { ApiClient, type ApiClientService, type SendOptions } from "../domain/ApiClient.ts"
import * as Layers from "../domain/Layers.ts"
import type { Message } from "../domain/Message.ts"
import type { Usage } from "../domain/Usage.ts"
import type { CompactionError } from "./CompactionError.ts"

/** What is absent is that of the settings. @since 0.1.0 @category models */
export interface CompactOptions {
  /** Null and 0 = never. */
  readonly max_tokens?: number | null
  /** Latest turns that stay as they are; 0 = the last message of the user and the newest group of calls. */
  readonly reserve_recent?: number
  /** Older results inside the reserved turns become the placeholder where those turns alone are too much. */
  readonly within_turn?: boolean
  /** Also below the trigger. */
  readonly force?: boolean
  /** What the summary should dwell on. */
  readonly focus?: string
  /** The model of the summary and how it is asked. */
  readonly send?: SendOptions
  /** Counts of the messages, where they are known. */
  readonly counts?: ReadonlyArray<number>
}

/**
 * HIP-301's result. `summary_at` is the index of the summary in `messages`; `fallback`: it is a digest, or nothing, for
 * the model gave no summary that fits. `kept` and `replaced` are indices of the input; `tokens` are counts of reading
 * 5.2; `usage` is that of the summary call.
 *
 * @since 0.1.0
 * @category models
 */
export interface CompactionResult {
  readonly messages: ReadonlyArray<Message>
  readonly compacted_count: number
  readonly tokens_saved: number
  readonly over_budget: boolean
  readonly summary_at: number | null
  readonly fallback: boolean
  readonly tokens_before: number
  readonly tokens_after: number
  readonly unchanged: boolean
  readonly kept: ReadonlyArray<number>
  readonly replaced: ReadonlyArray<number>
  readonly usage: Usage | null
}

/** @since 0.1.0 @category models */
export interface CompactorService {
  /** Tokens that a conversation with a model may take, by the settings and the model's window; null = no limit. */
  readonly budget: (context_window: number | undefined) => number | null
  readonly reserve_recent: number
  /**
   * The conversation within its budget, or flagged. The input is not changed. Fails only with numbers that mean
   * nothing; a model that gives no summary within 60 seconds is replaced by a digest.
   */
  readonly compact: (
    messages: ReadonlyArray<Message>,
    options?: CompactOptions
  ) => Effect.Effect<CompactionResult, CompactionError>
}

const make = (
  { config, origins }: Pick<ConfigService, "config" | "origins">,
  api: ApiClientService,
  window: boolean
): CompactorService => {
  const { max_tokens, reserve_recent } = config
  const named = !window || origins.get("max_tokens") !== "default"
  return {
    budget: (context_window) => (named ? max_tokens : context_window ?? null) || null,
    reserve_recent,
    compact: (messages, options = {}) =>
      Effect.flatMap(
        Effect.promise(() => import("./SessionCompactor.ts")),
        ({ SessionCompactor }) => new SessionCompactor(max_tokens, reserve_recent, api).compact(messages, options)
      )
  }
}

/** @since 0.1.0 @category services */
export class Compactor extends Context.Tag("@hanzo/dev/compactor/Compactor")<Compactor, CompactorService>() {
  /** As HIP-301 has it: without `max_tokens` in the settings nothing is ever compacted. */
  static readonly layer: Layer.Layer<Compactor, never, Config | ApiClient> = Layers.effect(
    Compactor,
    Effect.gen(function*() {
      return make(yield* Config, yield* ApiClient, false)
    })
  )

  /** The command line's: where the settings do not name `max_tokens`, the window of the model counts (D19). */
  static readonly layerWindow: Layer.Layer<Compactor, never, Config | ApiClient> = Layers.effect(
    Compactor,
    Effect.gen(function*() {
      return make(yield* Config, yield* ApiClient, true)
    })
  )
}
