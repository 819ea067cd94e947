/**
 * The domain `backoff`: ceilings and delays of attempts (readings 16.1 to 16.3 and 18.6).
 *
 * @since 0.1.0
 */
import { Backoff, ceiling, delay, InvalidBackoff, milliseconds } from "../domain/Backoff.ts"
import { badRequest, count, type Domain, type Fields, fields, list, Refusal } from "./Domain.ts"

const mostAttempts = 1_000_000

const policyOf = (input: Fields): { readonly base_ms: number; readonly max_ms: number } => {
  try {
    return { base_ms: milliseconds(input["base_ms"], "base_ms"), max_ms: milliseconds(input["max_ms"], "max_ms") }
  } catch (error) {
    throw error instanceof InvalidBackoff ? new Refusal(error.reason, error.message) : error
  }
}

const indices = (attempts: unknown): ReadonlyArray<number> => {
  if (!Array.isArray(attempts)) {
    return Array.from({ length: count(attempts, "input.attempts", mostAttempts) }, (_, n) => n)
  }
  return attempts.map((n, i) => count(n, `input.attempts.${i}`, Number.MAX_SAFE_INTEGER))
}

const draws = (value: unknown, needed: number): ReadonlyArray<number> | null => {
  if (value === undefined) return null
  const rng = list(value, "input.rng").map((r, i) => {
    if (typeof r !== "number" || !(r >= 0 && r < 1)) throw badRequest(`input.rng.${i} must be a number in [0, 1)`)
    return r
  })
  if (rng.length < needed) throw badRequest(`input.rng has ${rng.length} numbers, ${needed} are needed`)
  return rng
}

const answer = (ceilings_ms: ReadonlyArray<number>, delays_ms: ReadonlyArray<number> | null) => ({
  output: delays_ms === null ? { ceilings_ms } : { ceilings_ms, delays_ms }
})

/** @since 0.1.0 @category constructors */
export const backoff: Domain = (value) => {
  const input = fields(value, "input")
  const policy = policyOf(input)
  if (input["attempts"] !== undefined && input["ops"] === undefined) {
    const ceilings = indices(input["attempts"]).map((n) => ceiling(policy.base_ms, policy.max_ms, n))
    const rng = draws(input["rng"], ceilings.length)
    return answer(ceilings, rng === null ? null : ceilings.map((ceiling_ms, i) => delay(ceiling_ms, rng[i] ?? 0)))
  }
  if (input["ops"] !== undefined && input["attempts"] === undefined) {
    const ops = list(input["ops"], "input.ops")
    const rng = draws(input["rng"], ops.filter((op) => op === "next").length)
    let drawn = 0
    const machine = new Backoff({ ...policy, random: () => rng?.[drawn++] ?? 0 })
    const ceilings: Array<number> = []
    const delays: Array<number> = []
    for (const [i, op] of ops.entries()) {
      if (op === "next") {
        ceilings.push(machine.nextCeiling())
        delays.push(machine.nextDelay())
      } else if (op === "reset") machine.reset()
      else throw badRequest(`input.ops.${i} must be "next" or "reset"`)
    }
    return answer(ceilings, rng === null ? null : delays)
  }
  throw new Refusal("unsupported", "input needs either attempts or ops")
}
