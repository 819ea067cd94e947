/**
 * The process groups this process answers for, and the last resort that ends them when it goes down without closing
 * its scopes.
 *
 * What holds: on `process.exit`, the normal end, an uncaught exception or an unhandled rejection, and on SIGINT,
 * SIGTERM, SIGHUP or SIGQUIT that nobody else handles, every registered group gets SIGKILL before this process is gone.
 * A signal somebody handles (the program's main fiber) is left to its orderly shutdown. SIGKILL of this process cannot
 * be seen; then only a sandbox that dies with its parent ends the children.
 *
 * The registry belongs to the operating-system process, so there is one; its listeners stand from the first group on.
 *
 * @since 0.1.0
 */
const groups = new Set<number>()

const fatal = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const

const killAll = (): void => {
  for (const group of groups) signalGroup(group, "SIGKILL")
  groups.clear()
}

const listeners = fatal.map((signal) => ({
  signal,
  listener: () => {
    // Looked at before the other listeners run (ours is prepended): one of them may remove itself.
    if (process.listenerCount(signal) > 1) return
    killAll()
    uninstall()
    process.kill(process.pid, signal)
  }
}))

let installed = false

const install = (): void => {
  if (installed) return
  installed = true
  process.on("exit", killAll)
  for (const { listener, signal } of listeners) process.prependListener(signal, listener)
}

const uninstall = (): void => {
  installed = false
  process.removeListener("exit", killAll)
  for (const { listener, signal } of listeners) process.removeListener(signal, listener)
}

/** @since 0.1.0 @category combinators */
export const register = (group: number): void => {
  groups.add(group)
  install()
}

/** @since 0.1.0 @category combinators */
export const unregister = (group: number): void => {
  groups.delete(group)
}

/**
 * Sends a signal to every process of a group; false when the group has none left (or none that may be signalled).
 *
 * @since 0.1.0
 * @category combinators
 */
export const signalGroup = (group: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(-group, signal)
  } catch {
    return false
  }
}
