/**
 * Memory of a process with all its descendants, by proc(5); where there is no such file system nothing is known.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"

const attempt = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Resident bytes, shared pages counted in each; null = not to be found out. @since 0.1.0 @category constructors */
export const residentBytes = (pid: number): Effect.Effect<number | null> =>
  Effect.sync(() => {
    const names = attempt(() => fs.readdirSync("/proc"))
    if (names === undefined) return null
    const children = new Map<number, Array<number>>()
    const pages = new Map<number, number>()
    for (const name of names) {
      if (!/^\d+$/u.test(name)) continue
      const stat = attempt(() => fs.readFileSync(`/proc/${name}/stat`, "utf8"))
      if (stat === undefined) continue
      // The name in parentheses may hold blanks; fields are counted behind the last one: 1 is the parent, 21 the pages.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
      const parent = Number(fields[1])
      pages.set(Number(name), Number(fields[21]))
      const siblings = children.get(parent)
      if (siblings === undefined) children.set(parent, [Number(name)])
      else siblings.push(Number(name))
    }
    if (!pages.has(pid)) return null
    let sum = 0
    const todo = [pid]
    for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
      sum += pages.get(at) ?? 0
      todo.push(...children.get(at) ?? [])
    }
    return sum * 4096
  })
