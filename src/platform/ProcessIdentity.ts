/**
 * Who a process is beyond its number, so that a later process can tell whether the owner of a record still lives.
 *
 * Shape: `{ pid: 4711, started: "<boot id>/<pid namespace>/<start ticks>" }` on Linux (proc(5)), the start time that
 * `ps` gives elsewhere, an empty string where neither is to be had.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"

/** @since 0.1.0 @category models */
export interface Identity {
  readonly pid: number
  readonly started: string
}

/**
 * `unknown`: the owner lives or lived in another process namespace (a container), which cannot be looked into.
 *
 * @since 0.1.0
 * @category models
 */
export type Liveness = "alive" | "gone" | "unknown"

/** @since 0.1.0 @category models */
export interface ProcessIdentityService {
  readonly self: Effect.Effect<Identity>
  readonly liveness: (identity: Identity) => Effect.Effect<Liveness>
}

const attempt = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

const text = (file: string): string | undefined => attempt(() => fs.readFileSync(file, "utf8"))

/** Start time of a live process; undefined = there is none (a zombie has ended too), "" = not to be found out. */
const startOf = (pid: number): string | undefined => {
  if (process.platform === "linux") {
    const stat = text(`/proc/${pid}/stat`)
    if (stat === undefined) return fs.existsSync("/proc/self/stat") ? undefined : ""
    // The name in parentheses may hold blanks and parentheses; fields are counted behind the last one.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19] ?? ""
  }
  if (process.platform === "win32") return ""
  const found = attempt(() =>
    execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], {
      encoding: "utf8",
      timeout: 2000,
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C" },
      stdio: ["ignore", "pipe", "ignore"]
    }).trim()
  )
  return found === "" ? undefined : found ?? ""
}

const place = (): string =>
  process.platform === "linux"
    ? `${(text("/proc/sys/kernel/random/boot_id") ?? "").trim()}/${
      attempt(() => fs.readlinkSync("/proc/self/ns/pid")) ?? ""
    }/`
    : ""

const answers = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

/** @since 0.1.0 @category combinators */
export const livenessOf = (identity: Identity): Liveness => {
  const here = place()
  if (here !== "") {
    const [boot, namespace] = here.split("/")
    const [ownerBoot, ownerNamespace] = identity.started.split("/")
    if (ownerBoot !== boot) return "gone"
    if (ownerNamespace !== namespace) return "unknown"
  }
  if (!answers(identity.pid)) return "gone"
  const started = startOf(identity.pid)
  if (started === undefined) return "gone"
  return started === "" || identity.started === "" || identity.started === `${here}${started}` ? "alive" : "gone"
}

/** @since 0.1.0 @category constructors */
export const identify = (pid: number): Identity => ({ pid, started: `${place()}${startOf(pid) ?? ""}` })

/** @since 0.1.0 @category services */
export class ProcessIdentity
  extends Context.Tag("@hanzo/dev/platform/ProcessIdentity")<ProcessIdentity, ProcessIdentityService>()
{
  static readonly layer: Layer.Layer<ProcessIdentity> = Layer.effect(
    ProcessIdentity,
    Effect.map(Effect.cached(Effect.sync(() => identify(process.pid))), (self) => ({
      self,
      liveness: (identity: Identity) => Effect.sync(() => livenessOf(identity))
    }))
  )
}
