/**
 * Requests that wait for their answers: ids, time limits, and how all of them end at once.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { JsonRpcId } from "../codec/JsonRpc.ts"
import { sleep } from "../domain/Backoff.ts"
import { JsonRpcError } from "./JsonRpcPeer.ts"

/** Waits for what comes of a request. @since 0.1.0 @category combinators */
export const outcomeOf = <E>(request: PendingRequest<E>): Effect.Effect<unknown, JsonRpcError | E> =>
  Effect.async((resume) => {
    if (request.outcome !== null) resume(request.outcome)
    else request.wake = resume
  })

/** Times are milliseconds of the Clock. @since 0.1.0 @category models */
export interface PendingRequest<E> {
  readonly id: number
  readonly method: string
  /** It may have reached the other side. */
  out: boolean
  /** What came of it, once. */
  outcome: Effect.Effect<unknown, JsonRpcError | E> | null
  /** Whoever waits for that. */
  wake: ((outcome: Effect.Effect<unknown, JsonRpcError | E>) => void) | null
  /** Moves on by the time the clock was held. */
  started: number
  /** The start, the last sign of life, or the end of the last hold. */
  last: number
  /** Who holds the clock. */
  holds: number
  heldSince: number
}

/**
 * What an id in an answer means: the request that waits for it; `spelled` = as a string of its digits; or nothing, `late`
 * if it was one of ours once.
 *
 * @since 0.1.0
 * @category models
 */
export type Claim<E> =
  | { readonly _tag: "Found"; readonly request: PendingRequest<E>; readonly spelled: boolean }
  | { readonly _tag: "Unknown"; readonly late: boolean }

/** @since 0.1.0 @category models */
export class Pending<E> {
  #next = 1
  readonly #byId = new Map<number, PendingRequest<E>>()
  readonly #now: () => number

  /** `now`: milliseconds of the Clock in force. */
  constructor(now: () => number) {
    this.#now = now
  }

  open(method: string): PendingRequest<E> {
    const now = this.#now()
    const request: PendingRequest<E> = {
      id: this.#next++,
      method,
      out: false,
      outcome: null,
      wake: null,
      started: now,
      last: now,
      holds: 0,
      heldSince: 0
    }
    this.#byId.set(request.id, request)
    return request
  }

  /** What came of a request, unless something has come of it before. */
  settle(request: PendingRequest<E>, outcome: Effect.Effect<unknown, JsonRpcError | E>): void {
    this.#byId.delete(request.id)
    if (request.outcome !== null) return
    request.outcome = outcome
    request.wake?.(outcome)
  }

  close(request: PendingRequest<E>): void {
    this.#byId.delete(request.id)
  }

  claim(id: JsonRpcId): Claim<E> {
    const spelled = typeof id === "string"
    const number = !spelled ? id : /^[1-9]\d{0,15}$/u.test(id) ? Number(id) : 0
    const request = this.#byId.get(number)
    return request === undefined
      ? { _tag: "Unknown", late: Number.isInteger(number) && number > 0 && number < this.#next }
      : { _tag: "Found", request, spelled }
  }

  find(id: JsonRpcId): PendingRequest<E> | undefined {
    const claim = this.claim(id)
    return claim._tag === "Found" ? claim.request : undefined
  }

  touch(request: PendingRequest<E>): void {
    request.last = this.#now()
  }

  /** Until the returned function is called, the time does not count. */
  hold(request: PendingRequest<E>): () => void {
    if (request.holds++ === 0) request.heldSince = this.#now()
    let held = true
    return () => {
      if (!held) return
      held = false
      if (--request.holds > 0) return
      const now = this.#now()
      request.started += now - request.heldSince
      request.last = now
    }
  }

  list(): ReadonlyArray<{ readonly id: number; readonly method: string }> {
    return [...this.#byId.values()].map(({ id, method }) => ({ id, method }))
  }

  /** Every request fails with what `error` makes of it. */
  failAll(error: (request: PendingRequest<E>) => JsonRpcError | E): void {
    const all = [...this.#byId.values()]
    this.#byId.clear()
    for (const request of all) this.settle(request, Effect.fail(error(request)))
  }
}

const passed = (
  request: { readonly method: string },
  reason: "timeout" | "max_timeout",
  limit_ms: number
): JsonRpcError =>
  new JsonRpcError({
    reason,
    method: request.method,
    limit_ms,
    message: reason === "timeout"
      ? `no answer to ${request.method} within ${limit_ms} ms`
      : `${request.method} took more than ${limit_ms} ms in all`
  })

/** Milliseconds; absent = none. @since 0.1.0 @category models */
export interface Limits {
  readonly timeout: number
  readonly max_timeout: number
}

/** How long a request may still wait; with `error` it is over. Time in which the clock was held does not count. */
const remaining = (
  request: Omit<PendingRequest<never>, "out" | "outcome" | "wake">,
  { max_timeout, timeout }: Limits,
  now: number
): { readonly left: number; readonly error?: JsonRpcError } => {
  // Released at the earliest now, it has all of its idle time and what the hold left of the whole.
  const held = request.holds > 0
  const toIdle = held ? timeout : timeout - (now - request.last)
  const toMax = max_timeout - ((held ? request.heldSince : now) - request.started)
  if (toMax <= 0) return { left: 0, error: passed(request, "max_timeout", max_timeout) }
  if (toIdle <= 0) return { left: 0, error: passed(request, "timeout", timeout) }
  return { left: Math.min(toIdle, toMax) }
}

/**
 * The time limits of all requests: `timeout` since the start or the last sign of life, `max_timeout` since the start. One
 * timer for all, set to the earliest end there may be; a request that is answered in time costs none.
 *
 * @since 0.1.0
 * @category models
 */
export class Deadlines<E> {
  readonly #limits = new Map<PendingRequest<E>, Limits>()
  readonly #pending: Pending<E>
  #until = Infinity
  #wake: () => void = () => undefined

  constructor(pending: Pending<E>) {
    this.#pending = pending
  }

  add(request: PendingRequest<E>, limits: Limits): void {
    this.#limits.set(request, limits)
    const until = request.last + Math.min(limits.timeout, limits.max_timeout)
    if (until < this.#until) this.#wake()
  }

  delete(request: PendingRequest<E>): void {
    this.#limits.delete(request)
  }

  /** Fails what is over its time, for ever. */
  readonly keep: Effect.Effect<never> = Effect.gen(this, function*() {
    for (;;) {
      const now = yield* Clock.currentTimeMillis
      let next = Infinity
      for (const [request, limits] of this.#limits) {
        const { error, left } = remaining(request, limits, now)
        if (error === undefined) next = Math.min(next, left)
        else {
          this.#limits.delete(request)
          this.#pending.settle(request, Effect.fail(error))
        }
      }
      this.#until = now + next
      const woken = Effect.async<void>((resume) => {
        this.#wake = () => resume(Effect.void)
      })
      yield* next === Infinity ? woken : Effect.raceFirst(woken, sleep(next))
      this.#wake = () => undefined
    }
  })
}
