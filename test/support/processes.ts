/** Looks at real processes: what `ps` says of a group, without zombies (nobody may have reaped them yet). */
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"

/** Process ids of the group that still run. */
export const alive = (group: number): ReadonlyArray<number> =>
  execFileSync("ps", ["-A", "-o", "pid=,pgid=,stat="], { encoding: "utf8" }).split("\n").flatMap((line) => {
    const [pid, pgid, stat] = line.trim().split(/\s+/)
    return Number(pgid) === group && stat !== undefined && !stat.startsWith("Z") ? [Number(pid)] : []
  })

/** Waits in real time until the condition holds; false after `limit_ms`. */
export const eventually = (condition: () => boolean, limit_ms = 5_000): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const end = Date.now() + limit_ms
    const look = (): void => {
      if (condition()) return resume(Effect.succeed(true))
      if (Date.now() > end) return resume(Effect.succeed(false))
      setTimeout(look, 10)
    }
    look()
  })

/** The group has ended; a process that was killed may take a moment to go. */
export const gone = (group: number): Effect.Effect<boolean> => eventually(() => alive(group).length === 0)
