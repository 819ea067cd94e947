/** Looks at real processes: what `ps` says of a group, without zombies (nobody may have reaped them yet). */
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"

/** Process ids of the group that still run. */
export const alive = (group: number): ReadonlyArray<number> =>
  execFileSync("ps", ["-A", "-o", "pid=,pgid=,stat="], { encoding: "utf8" }).split("\n").flatMap((line) => {
    const [pid, pgid, stat] = line.trim().split(/\s+/)
    return Number(pgid) === group && stat !== undefined && !stat.startsWith("Z") ? [Number(pid)] : []
  })

/**
 * True once `limit_ms` of real time have passed between the questions. What a machine that stands still takes out of them
 * does not count: whatever is waited for stood still with it.
 */
export const timer = (limit_ms: number): () => boolean => {
  let left = limit_ms
  let last = performance.now()
  return () => {
    const now = performance.now()
    left -= Math.min(now - last, 250)
    last = now
    return left <= 0
  }
}

/** Waits in real time until the condition holds; false after `limit_ms`. */
export const eventually = (condition: () => boolean, limit_ms = 5_000): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const over = timer(limit_ms)
    const look = (): void => {
      if (condition()) return resume(Effect.succeed(true))
      if (over()) return resume(Effect.succeed(false))
      setTimeout(look, 10)
    }
    look()
  })

/** The group has ended; a process that was killed may take a moment to go. */
export const gone = (group: number): Effect.Effect<boolean> => eventually(() => alive(group).length === 0)
