/**
 * How a child starts: its own process group, and nothing inherited beyond descriptors 0-2 (reading 0, G5).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import { fromCause, type ProcessError } from "./ProcessError.ts"
import type { SpawnInput } from "./Processes.ts"
import * as ProcessGroups from "./ProcessGroups.ts"

/**
 * Descriptors above 2 that a child would inherit. Node opens its own close-on-exec; these are the ones our own parent
 * left open for us, so they are looked for once. Known on Linux only.
 */
const inheritable = (): ReadonlyArray<number> => {
  const closeOnExec = 0o2000000
  try {
    return fs.readdirSync("/proc/self/fd").map(Number).filter((fd) => {
      if (fd < 3 || fd > 1023) return false
      try {
        const flags = /^flags:\s*([0-7]+)/mu.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1]
        return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
      } catch {
        return false
      }
    })
  } catch {
    return []
  }
}

let leaks: { readonly fds: ReadonlyArray<number>; readonly blank: number } | undefined

/** Entries for descriptors 3 and up: nothing, and /dev/null over what would leak. */
const blanked = (): Array<"ignore" | number> => {
  if (leaks === undefined) {
    const fds = inheritable()
    leaks = { fds, blank: fds.length === 0 ? -1 : fs.openSync("/dev/null", "r+") }
  }
  const { blank, fds } = leaks
  return Array.from({ length: Math.max(2, ...fds) - 2 }, (_, i) => fds.includes(i + 3) ? blank : "ignore")
}

/**
 * A process in a group of its own, which is registered, with pipes for its output.
 *
 * @since 0.1.0
 * @category constructors
 */
export const start = (input: SpawnInput): Effect.Effect<childProcess.ChildProcess, ProcessError> =>
  Effect.async((resume) => {
    try {
      const [program, ...args] = input.argv
      const child = childProcess.spawn(program, args, {
        cwd: input.cwd,
        env: Object.fromEntries(input.env),
        detached: true,
        shell: false,
        windowsHide: true,
        stdio: [input.stdin === undefined || input.stdin === "closed" ? "ignore" : "pipe", "pipe", "pipe", ...blanked()]
      })
      if (child.pid === undefined) {
        child.once("error", (cause) => resume(Effect.fail(fromCause(input, cause))))
      } else {
        ProcessGroups.register(child.pid)
        child.on("error", () => undefined)
        resume(Effect.succeed(child))
      }
    } catch (cause) {
      resume(Effect.fail(fromCause(input, cause)))
    }
  })
