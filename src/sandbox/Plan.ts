/**
 * What a sandboxed command sees, as an ordered list of mounts over a read-only root (reading 10.5). Pure: the same list
 * becomes arguments of bubblewrap or a table for `mount`.
 *
 * @since 0.1.0
 */
import { isWithin } from "./CheckPath.ts"

/** @since 0.1.0 @category models */
export interface Place {
  /** Canonical. */
  readonly path: string
  readonly kind: "file" | "directory"
}

/** @since 0.1.0 @category models */
export interface PlanInput {
  /** Writable places; all exist. */
  readonly write_roots: ReadonlyArray<Place>
  /** Not to be written; all exist. */
  readonly read_only: ReadonlyArray<Place>
  /** Not to be made: their mount points exist, empty, for this command alone. */
  readonly masked: ReadonlyArray<Place>
  /** To be seen, read-only, wherever they are; all exist. */
  readonly exposed: ReadonlyArray<Place>
  /** Covered by nothing; all exist. */
  readonly hidden: ReadonlyArray<Place>
  readonly private_tmp: boolean
}

/**
 * | kind | mount |
 * | --- | --- |
 * | `tmpfs` | an empty, writable file system of its own |
 * | `writable` | the place itself, writable |
 * | `read_only` | the place itself, read-only |
 * | `empty` | an empty, read-only file or directory |
 *
 * @since 0.1.0
 * @category models
 */
export interface MountStep extends Place {
  readonly step: "tmpfs" | "writable" | "read_only" | "empty"
}

/** @since 0.1.0 @category models */
export interface Plan {
  /** Parents before what is below them; a later step lies over an earlier one. */
  readonly steps: ReadonlyArray<MountStep>
  /** The workspace is `/`: the root is not read-only. */
  readonly root_writable: boolean
  readonly write_roots: ReadonlyArray<Place>
  readonly private_tmp: boolean
}

const parentOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf("/")))

/** Directories between a root and a place below it, both left out. */
const between = (root: string, path: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let at = parentOf(path); at !== root && isWithin(root, at); at = parentOf(at)) found.push(at)
  return found
}

const depth = (path: string): number => path === "/" ? 0 : path.split("/").length

const rank: Readonly<Record<MountStep["step"], number>> = { tmpfs: 0, writable: 1, read_only: 2, empty: 3 }

/**
 * Directories above a read-only place are mounted on themselves: a mount point cannot be renamed, so the place cannot
 * be moved aside and made anew.
 *
 * @since 0.1.0
 * @category constructors
 */
export const plan = (input: PlanInput): Plan => {
  const closed = [...input.read_only, ...input.masked]
  // What was asked for by name is not hidden; what is protected stays protected, whoever asked for it.
  const write_roots = input.write_roots.filter((root) => !closed.some((place) => isWithin(place.path, root.path)))
  const hidden = input.hidden.filter((place) => !write_roots.some((root) => isWithin(place.path, root.path)))
  const holding = (path: string): Place | undefined => write_roots.find((root) => isWithin(root.path, path))
  const covered = (path: string): boolean => hidden.some((place) => isWithin(place.path, path))
  const private_tmp = input.private_tmp && holding("/tmp") === undefined

  const steps = new Map<string, MountStep>()
  const put = (step: MountStep): void => {
    const known = steps.get(step.path)
    if (known === undefined || rank[known.step] < rank[step.step]) steps.set(step.path, step)
  }
  if (private_tmp) put({ step: "tmpfs", path: "/tmp", kind: "directory" })
  for (const root of write_roots) if (root.path !== "/") put({ step: "writable", ...root })
  const close = (place: Place, step: "read_only" | "empty"): void => {
    const root = holding(place.path)
    if (root === undefined || covered(place.path)) return
    if (closed.some((other) => other.path !== place.path && isWithin(other.path, place.path))) return
    for (const path of between(root.path, place.path)) put({ step: "writable", path, kind: "directory" })
    put({ step, ...place })
  }
  for (const place of input.read_only) close(place, "read_only")
  for (const place of input.masked) close(place, "empty")
  for (const place of input.exposed) {
    const root = holding(place.path)
    for (const path of root === undefined ? [] : between(root.path, place.path)) {
      put({ step: "writable", path, kind: "directory" })
    }
    put({ step: "read_only", ...place })
  }
  for (const place of hidden) {
    if (hidden.some((other) => other.path !== place.path && isWithin(other.path, place.path))) continue
    // Below a private /tmp only what is writable is to be seen at all.
    if (private_tmp && isWithin("/tmp", place.path) && holding(place.path) === undefined) continue
    const root = holding(place.path)
    for (const path of root === undefined ? [] : between(root.path, place.path)) {
      put({ step: "writable", path, kind: "directory" })
    }
    put({ step: "empty", ...place })
  }
  return {
    steps: Array.from(steps.values()).sort((a, b) =>
      depth(a.path) - depth(b.path) || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)
    ),
    root_writable: write_roots.some((root) => root.path === "/"),
    write_roots,
    private_tmp
  }
}

/** Is this directory to be seen inside? @since 0.1.0 @category combinators */
export const isVisible = (made: Plan, path: string): boolean =>
  !made.steps.some((step) => step.step === "empty" && isWithin(step.path, path)) &&
  (!made.private_tmp || !isWithin("/tmp", path) || path === "/tmp" ||
    made.write_roots.some((root) => isWithin(root.path, path)))
