/**
 * What this kernel lets us enforce, found out by trying it with the real flags, once a process (reading 10.5). A way that
 * starts but does not hold is not used.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { setIdFilter } from "../codec/Seccomp.ts"
import * as Layers from "../domain/Layers.ts"
import { Environment } from "../platform/Environment.ts"
import { mountOf, readMounts } from "../platform/MountTable.ts"
import { Processes } from "../platform/Processes.ts"
import { identity, machine, makeSandboxFiles, type SandboxFiles } from "../platform/SandboxFiles.ts"
import { plan } from "./Plan.ts"
import type { UnsharePrograms } from "./Unshare.ts"
import { type Method, wrap } from "./Wrap.ts"

/** `ok: false` with its detail says why a way is not used. @since 0.1.0 @category models */
export interface ProbeResult {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}

/** `method` null: only paths can be checked, for this `reason`. @since 0.1.0 @category models */
export interface Available {
  readonly method: Method | null
  readonly reason: string | null
  readonly probes: ReadonlyArray<ProbeResult>
}

/** @since 0.1.0 @category models */
export interface EnforcementService {
  /** With or without a network namespace of its own. Never fails; the same answer for the life of the process. */
  readonly available: (isolate_network: boolean) => Effect.Effect<Available>
}

/** Ways of enforcement in the order they are tried. @since 0.1.0 @category models */
export type MethodKind = "bubblewrap" | "unshare" | "unshare_root"

/** Where the programs that build the sandbox may be: nowhere a workspace could put its own. */
const directories = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin", "/run/current-system/sw/bin"]

const kernelFiles = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"]

/** Tries to get out; arguments: writable place, outside place, its mount point, a name. Says what it could do. */
const attack = `inside=$1 outside=$2 mount=$3 name=$4
( echo x > "$inside/inside" ) 2>/dev/null
( echo x > "$outside/plain" ) 2>/dev/null
( mount -o remount,bind,rw / ; mount -o remount,bind,rw "$mount"; echo x > "$outside/remount" ) >/dev/null 2>&1
unshare -Urm sh -c 'mount -o remount,bind,rw /; mount -o remount,bind,rw "$2"; echo x > "$1/nested"' sh "$outside" "$mount" >/dev/null 2>&1
unshare -U true >/dev/null 2>&1 && echo namespace
( echo x > "/dev/shm/$name" ) 2>/dev/null
v=$(cat /proc/sys/kernel/printk) && ( echo "$v" > /proc/sys/kernel/printk ) 2>/dev/null && echo kernel
[ -e "/proc/$5/status" ] && [ "$5" -gt 1000 ] && echo processes
( : > "$inside/bits"; chmod 4755 "$inside/bits"; [ -u "$inside/bits" ] ) 2>/dev/null && echo bits; rm -f "$inside/bits"
echo end
`

const one = (name: string, ok: boolean, detail: string): ProbeResult => ({ name, ok, detail })

/** Why user namespaces are refused, and what to change. */
const namespaceRemedy = (fs: FileSystem.FileSystem): Effect.Effect<string> =>
  Effect.gen(function*() {
    const value = (file: string): Effect.Effect<string> =>
      fs.readFileString(file).pipe(Effect.map((text) => text.trim()), Effect.orElseSucceed(() => ""))
    if ((yield* value("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")) === "1") {
      return "AppArmor refuses user namespaces to programs without a profile: install the bubblewrap package with its " +
        "AppArmor profile, or set kernel.apparmor_restrict_unprivileged_userns=0"
    }
    if ((yield* value("/proc/sys/kernel/unprivileged_userns_clone")) === "0") {
      return "the kernel refuses user namespaces to ordinary users: set kernel.unprivileged_userns_clone=1"
    }
    if ((yield* value("/proc/sys/user/max_user_namespaces")) === "0") {
      return "user namespaces are switched off: set user.max_user_namespaces to 1000 or more"
    }
    return "install bubblewrap (the package is called bubblewrap), or, inside a container, start it so that it may make " +
      "namespaces"
  })

interface Candidate {
  readonly kind: MethodKind
  readonly method: Method | null
  readonly missing: string
}

const make = (kinds: ReadonlyArray<MethodKind>) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const environment = yield* Environment
    const processes = yield* Processes

    const find = (name: string): Effect.Effect<string | null> =>
      Effect.map(
        Effect.findFirst(
          directories.map((directory) => `${directory}/${name}`),
          (file) => Effect.orElseSucceed(fs.exists(file), () => false)
        ),
        (found) => found._tag === "Some" ? found.value : null
      )

    const unsharePrograms: Effect.Effect<UnsharePrograms | string> = Effect.gen(function*() {
      const [shell, env, unshare, setpriv, mount, umount, pivot_root, perl = null] = yield* Effect.all(
        ["sh", "env", "unshare", "setpriv", "mount", "umount", "pivot_root", "perl"].map(find),
        { concurrency: "unbounded" }
      )
      return shell && env && unshare && setpriv && mount && umount && pivot_root
        ? { shell, env, unshare, setpriv, mount, umount, pivot_root, perl }
        : "unshare, setpriv, mount or pivot_root of util-linux is missing"
    })

    const candidate = (kind: MethodKind): Effect.Effect<Candidate> =>
      Effect.gen(function*() {
        const filter = setIdFilter(machine())
        const kernel_files = yield* Effect.filter(
          kernelFiles,
          (file) => Effect.orElseSucceed(fs.exists(file), () => false)
        )
        if (kind === "bubblewrap") {
          const program = yield* find("bwrap")
          const shell = yield* find("sh")
          return program === null || shell === null
            ? { kind, method: null, missing: "bwrap is not installed" }
            : { kind, method: { kind: "bubblewrap", program, shell, filter, kernel_files }, missing: "" }
        }
        const own = identity()
        const programs = yield* unsharePrograms
        if (own === null || typeof programs === "string") {
          return { kind, method: null, missing: typeof programs === "string" ? programs : "no user ids here" }
        }
        if (kind === "unshare_root" && own.uid !== 0) return { kind, method: null, missing: "only for the user root" }
        return {
          kind,
          method: {
            kind: "unshare",
            programs,
            as_root: kind === "unshare_root",
            identity: own,
            filter: programs.perl === null ? null : filter,
            kernel_files
          },
          missing: ""
        }
      })

    const outsidePlace: Effect.Effect<string | null, never, Scope.Scope> = Effect.option(
      fs.makeTempDirectoryScoped({ directory: "/var/tmp", prefix: "hanzo-probe-" })
    ).pipe(Effect.map((found) => found._tag === "Some" ? found.value : null))

    const tryOut = (
      { kind, method, missing }: Candidate,
      files: SandboxFiles,
      isolate: boolean
    ): Effect.Effect<ReadonlyArray<ProbeResult>, never, Scope.Scope> =>
      Effect.gen(function*() {
        const found = (check: string, ok: boolean, detail: string): ProbeResult => one(`${kind}.${check}`, ok, detail)
        if (method === null) return [found("found", false, missing)]
        const outside = yield* outsidePlace
        if (outside === null) return [found("start", false, "no place to try it in: /var/tmp cannot be written")]
        const { temporary } = files
        const name = `hanzo-probe-${environment.pid}`
        yield* Effect.ignore(fs.remove(`${temporary}/inside`))
        const mounts = yield* readMounts
        const argv = [
          "/bin/sh",
          "-c",
          attack,
          "sh",
          temporary,
          outside,
          mountOf(mounts, outside)?.at ?? "/",
          name,
          String(environment.pid)
        ]
        const command = { argv, cwd: temporary, env: new Map([["PATH", directories.join(":")]]) }
        const made = plan({
          write_roots: [{ path: temporary, kind: "directory" }],
          read_only: [],
          masked: [],
          exposed: [],
          hidden: [],
          private_tmp: true
        })
        const ran = yield* Effect.either(
          wrap(method, files, made, command, { isolate, needs_loopback: false }).pipe(
            Effect.flatMap((wrapped) =>
              processes.run({ ...wrapped, cwd: temporary, timeout: Duration.seconds(10), max_bytes: 65_536 })
            )
          )
        )
        if (ran._tag === "Left") return [found("start", false, ran.left.message)]
        const said = new TextDecoder().decode(ran.right.stdout).split("\n")
        const exists = (file: string): Effect.Effect<boolean> => Effect.orElseSucceed(fs.exists(file), () => true)
        const started = ran.right.code === 0 && said.includes("end")
        if (!started) {
          const words = new TextDecoder().decode(ran.right.stderr).trim().split("\n").slice(-3).join(" ").slice(0, 400)
          return [found("start", false, words === "" ? `it ended with code ${ran.right.code ?? "none"}` : words)]
        }
        const leaked = yield* exists(`/dev/shm/${name}`)
        if (leaked) yield* Effect.ignore(fs.remove(`/dev/shm/${name}`))
        const held = (check: string, broken: boolean, what: string): ProbeResult =>
          found(check, !broken, broken ? `a command could ${what}` : "held")
        return [
          found("start", true, "started"),
          found("inside_write", yield* exists(`${temporary}/inside`), "writes inside the workspace"),
          held("outside_write", yield* exists(`${outside}/plain`), "write outside"),
          held("remount", yield* exists(`${outside}/remount`), "write outside after a remount"),
          held("nested_remount", yield* exists(`${outside}/nested`), "write outside from a nested namespace"),
          held("nested_namespace", said.includes("namespace"), "make a user namespace of its own"),
          held("dev_shm", leaked, "write to the shared memory of others"),
          held("kernel", said.includes("kernel"), "write to files that steer the kernel"),
          ...(method.filter === null
            ? []
            : [held("set_id", said.includes("bits"), "make a program that others run under this user")]),
          held("processes", said.includes("processes"), "see processes outside")
        ]
      })

    const findOut = (isolate: boolean): Effect.Effect<Available> =>
      Effect.gen(function*() {
        if (environment.os !== "linux") {
          const reason = `the kernel of ${environment.os} offers nothing that is used here; paths are checked only`
          return { method: null, reason, probes: [one("kernel", false, reason)] }
        }
        const files = yield* Effect.either(makeSandboxFiles)
        if (files._tag === "Left") {
          return { method: null, reason: files.left.message, probes: [one("files", false, files.left.message)] }
        }
        const probes: Array<ProbeResult> = []
        for (const kind of kinds) {
          const tried = yield* candidate(kind)
          const results = yield* Effect.scoped(tryOut(tried, files.right, isolate))
          probes.push(...results)
          if (results.every((result) => result.ok)) return { method: tried.method, reason: null, probes }
          // A kernel that takes no filter still holds the rest; the status says what is missing.
          const [first] = results
          if (tried.method === null || tried.method.filter === null || first?.ok !== false) continue
          const without = { ...tried, method: { ...tried.method, filter: null } }
          const again = yield* Effect.scoped(tryOut(without, files.right, isolate))
          if (!again.every((result) => result.ok)) continue
          probes.push(...again)
          return { method: without.method, reason: null, probes }
        }
        const why = probes.filter((probe) => !probe.ok).map((probe) => `${probe.name}: ${probe.detail}`).join("; ")
        return { method: null, reason: `${why}. To change that: ${yield* namespaceRemedy(fs)}`, probes }
      }).pipe(Effect.scoped)

    const shared = yield* Effect.cached(Effect.uninterruptible(findOut(false)))
    const isolated = yield* Effect.cached(Effect.uninterruptible(findOut(true)))
    return { available: (isolate_network: boolean) => isolate_network ? isolated : shared }
  })

type Needs = FileSystem.FileSystem | Environment | Processes

/** One a process. @since 0.1.0 @category services */
export class Enforcement extends Context.Tag("@hanzo/dev/sandbox/Enforcement")<Enforcement, EnforcementService>() {
  /** bubblewrap, else unshare in a user namespace, else, for root, unshare without one. */
  static readonly layer: Layer.Layer<Enforcement, never, Needs> = Layers.effect(
    Enforcement,
    make(["bubblewrap", "unshare", "unshare_root"])
  )

  /** These ways only; none = path checks. */
  static readonly layerOf = (kinds: ReadonlyArray<MethodKind>): Layer.Layer<Enforcement, never, Needs> =>
    Layers.effect(Enforcement, make(kinds))

  /** A fixed answer. */
  static readonly layerFixed = (available: Available): Layer.Layer<Enforcement> =>
    Layers.succeed(Enforcement, { available: () => Effect.succeed(available) })
}
