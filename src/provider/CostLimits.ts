/**
 * What may be spent in a session and in a day (`limits` of the settings), looked up in the record before a request, so
 * that all processes share one limit.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { LimitsConfig, Price } from "../config/Schema.ts"
import * as LocalTime from "../platform/LocalTime.ts"
import type { SessionStoreService, StorageError } from "../storage/SessionStore.ts"
import type { ResolvedModel } from "./Models.ts"

/** `no_price` is a mistake in the settings, the others are limits that were reached. @since 0.1.0 @category models */
export interface LimitReached {
  readonly code: "no_price" | "max_cost_per_session" | "max_cost_per_day"
  readonly message: string
}

/** `warnings` are new ones: each limit is warned of once a session or day. @since 0.1.0 @category models */
export interface LimitCheck {
  readonly reached: LimitReached | null
  readonly warnings: ReadonlyArray<string>
}

/** @since 0.1.0 @category models */
export interface CostLimits {
  /** One or two sums over an index. `session_id` null = the request belongs to no session. */
  readonly check: (
    session_id: string | null,
    model: Pick<ResolvedModel, "name" | "provider" | "model" | "protocol" | "price">
  ) => Effect.Effect<LimitCheck, StorageError>
}

/** From this part of a limit on there is a warning. @since 0.1.0 @category constants */
export const warnAt = 0.8

/** US dollars: to the cent, or with as many digits as a small amount needs. @since 0.1.0 @category encoding */
export const usd = (amount: number): string =>
  `$${amount >= 1 ? amount.toFixed(2) : amount.toFixed(4).replace(/(\.\d\d\d*?)0+$/u, "$1")}`

/** Whatever is sent costs nothing. @since 0.1.0 @category combinators */
export const isFree = (price: Price): boolean =>
  [price, ...price.tiers ?? []].every((rates) =>
    [rates.input, rates.output, rates.cache_read, rates.cache_write, rates.reasoning].every((rate) => !rate)
  )

const nothing: LimitCheck = { reached: null, warnings: [] }

/** Null = nothing is limited. @since 0.1.0 @category constructors */
export const make = (limits: LimitsConfig, store: Pick<SessionStoreService, "spent">): CostLimits | null => {
  const { max_cost_per_day, max_cost_per_session } = limits
  if (max_cost_per_day === undefined && max_cost_per_session === undefined) return null
  const warned = new Set<string>()

  return {
    check: (session_id, model) =>
      Effect.gen(function*() {
        if (model.price === null) {
          if (model.protocol === "scripted") return nothing
          const key = `limits.${max_cost_per_session === undefined ? "max_cost_per_day" : "max_cost_per_session"}`
          return {
            reached: {
              code: "no_price",
              message: `${key} needs a price, and ${model.name} has none: set ` +
                `providers.${model.provider}.models["${model.model}"].price in the settings (input and output 0 for ` +
                `what costs nothing)`
            },
            warnings: []
          }
        }
        if (isFree(model.price)) return nothing
        const warnings: Array<string> = []
        let reached: LimitReached | null = null
        const look = (code: "max_cost_per_session" | "max_cost_per_day", limit: number, spent: number, what: {
          readonly id: string
          readonly words: string
          readonly remedy: string
        }): void => {
          if (spent >= limit) {
            reached ??= {
              code,
              message: `stopped: ${usd(spent)} of ${
                usd(limit)
              } were spent ${what.words} (limits.${code}); ${what.remedy}`
            }
          } else if (spent >= limit * warnAt && !warned.has(`${code} ${what.id}`)) {
            warned.add(`${code} ${what.id}`)
            warnings.push(`${usd(spent)} of ${usd(limit)} are spent ${what.words} (limits.${code})`)
          }
        }
        if (max_cost_per_session !== undefined && session_id !== null) {
          look("max_cost_per_session", max_cost_per_session, yield* store.spent({ session_id }), {
            id: session_id,
            words: "in this session",
            remedy: "begin a new session, or raise the limit"
          })
        }
        if (max_cost_per_day !== undefined) {
          const now = yield* Clock.currentTimeMillis
          const since = LocalTime.startOfDayOf(now)
          const day = LocalTime.dayOf(now)
          look("max_cost_per_day", max_cost_per_day, yield* store.spent({ since: since / 1000 }), {
            id: day,
            words: `today, ${day}`,
            remedy: "go on tomorrow, or raise the limit"
          })
        }
        return { reached, warnings }
      })
  }
}
