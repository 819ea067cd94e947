/**
 * What is mounted where in this process's own view: `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { access, readFile } from "node:fs/promises"

/**
 * `at` is the mount point as a plain path. `accessible`: a path leads to it; false when another mount covers it or the
 * way to it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Mount {
  readonly id: number
  readonly parent: number
  readonly at: string
  /** Per-mount options: `rw`, `nosuid`, `relatime`, ... */
  readonly options: ReadonlyArray<string>
  readonly type: string
  readonly accessible: boolean
}

const plain = (text: string): string =>
  text.replace(/\\([0-7]{3})/gu, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

/**
 * A path as mountinfo and fstab(5) write it: blank, tab, line break and backslash as octal escapes.
 *
 * @since 0.1.0
 * @category encoding
 */
export const escapeMountPath = (path: string): string =>
  path.replace(/[ \t\n\\]/gu, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`)

const isBelow = (above: string, path: string): boolean => above === "/" ? path !== "/" : path.startsWith(`${above}/`)

/** The lines of a mountinfo file; a line that is none is left out. @since 0.1.0 @category decoding */
export const parseMounts = (text: string): ReadonlyArray<Mount> => {
  const found = text.split("\n").flatMap((line) => {
    const fields = line.split(" ")
    const [id, parent, , , at, options] = fields
    const dash = fields.indexOf("-", 6)
    if (id === undefined || parent === undefined || at === undefined || options === undefined || dash < 0) return []
    return [{
      id: Number(id),
      parent: Number(parent),
      at: plain(at),
      options: options.split(","),
      type: fields[dash + 1] ?? ""
    }]
  })
  const known = new Map(found.map((mount) => [mount.id, mount]))
  // The way into a mount leads through its parent, unless a sibling covers a directory above it.
  const onTheWay = (mount: (typeof found)[number], seen: ReadonlySet<number> = new Set()): boolean => {
    if (seen.has(mount.id)) return false
    if (found.some((other) => other.id !== mount.id && other.parent === mount.parent && isBelow(other.at, mount.at))) {
      return false
    }
    const above = mount.parent === mount.id ? undefined : known.get(mount.parent)
    return above === undefined || onTheWay(above, new Set([...seen, mount.id]))
  }
  return found.map((mount) => ({
    ...mount,
    accessible: onTheWay(mount) && !found.some((other) => other.parent === mount.id && other.at === mount.at)
  }))
}

/** Empty where the system has no such table. @since 0.1.0 @category constructors */
export const readMounts: Effect.Effect<ReadonlyArray<Mount>> = Effect.promise(() =>
  readFile("/proc/self/mountinfo", "utf8").then(parseMounts, () => [])
)

/** The mount that holds an absolute path. @since 0.1.0 @category combinators */
export const mountOf = (mounts: ReadonlyArray<Mount>, path: string): Mount | undefined =>
  mounts.filter((mount) => mount.accessible && (mount.at === path || isBelow(mount.at, path)))
    .reduce<Mount | undefined>(
      (best, mount) => best === undefined || mount.at.length > best.at.length ? mount : best,
      undefined
    )

const attempt = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

const elsewhere = (needle: string): boolean => {
  const seen = new Set([attempt(() => readlinkSync("/proc/self/ns/mnt"))])
  return (attempt(() => readdirSync("/proc")) ?? []).some((name) => {
    if (!/^\d+$/u.test(name)) return false
    const space = attempt(() => readlinkSync(`/proc/${name}/ns/mnt`))
    if (seen.has(space)) return false
    seen.add(space)
    return attempt(() => readFileSync(`/proc/${name}/mountinfo`, "utf8"))?.includes(needle) === true
  })
}

/**
 * Does a process in another mount namespace, as far as they can be seen, have something mounted on this path? Looks
 * again for 200 ms: the kernel takes a moment to end the namespaces of a process that was killed.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isMountedElsewhere = (path: string): Effect.Effect<boolean> =>
  Effect.uninterruptible(Effect.promise(async () => {
    const needle = ` ${escapeMountPath(path)} `
    for (let left = 10; elsewhere(needle); left--) {
      if (left === 0) return true
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return false
  }))

/**
 * Mount points that this user may not enter, whoever mounted them (FUSE without `allow_other`): nothing can be done to
 * them, and nothing can be done through them.
 *
 * @since 0.1.0
 * @category combinators
 */
export const unreachableMounts = (mounts: ReadonlyArray<Mount>): Effect.Effect<ReadonlySet<string>> =>
  Effect.promise(async () => {
    const found = await Promise.all(
      mounts.filter((mount) => mount.accessible && mount.type.startsWith("fuse")).map((mount) =>
        access(mount.at).then(() => [], () => [mount.at])
      )
    )
    return new Set(found.flat())
  })
