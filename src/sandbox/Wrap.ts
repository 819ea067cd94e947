/**
 * From a command and a plan to the command that runs it inside, by whichever way this machine has.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { FileError } from "../platform/FileError.ts"
import { readMounts, unreachableMounts } from "../platform/MountTable.ts"
import type { SandboxFiles } from "../platform/SandboxFiles.ts"
import { bubblewrapArgv } from "./Bubblewrap.ts"
import type { Plan } from "./Plan.ts"
import { mountTables, unshareArgv, type UnsharePrograms } from "./Unshare.ts"

/** A way of enforcement that has been seen to hold. @since 0.1.0 @category models */
export type Method =
  | {
    readonly kind: "bubblewrap"
    readonly program: string
    readonly shell: string
    /** Of system calls; null = there is none for this machine, and commands can set set-user-ID bits. */
    readonly filter: Uint8Array | null
    /** Those of `/proc` that steer the kernel. */
    readonly kernel_files: ReadonlyArray<string>
  }
  | {
    readonly kind: "unshare"
    readonly programs: UnsharePrograms
    /** No user namespace can be had, and we are root. */
    readonly as_root: boolean
    readonly identity: { readonly uid: number; readonly gid: number }
    /** Null where `perl` is missing too: nothing of util-linux can set it. */
    readonly filter: Uint8Array | null
    readonly kernel_files: ReadonlyArray<string>
  }

/** @since 0.1.0 @category models */
export interface Command {
  readonly argv: ReadonlyArray<string>
  readonly cwd: string
  readonly env: ReadonlyMap<string, string>
}

/** @since 0.1.0 @category models */
export interface WrappedCommand {
  readonly argv: readonly [string, ...ReadonlyArray<string>]
  readonly env: ReadonlyMap<string, string>
}

/** Variables by which a loader or a shell runs code of others: they reach the command, not what is around it. */
const steering = new RegExp(
  "^(LD_|DYLD_|GLIBC_TUNABLES$|GCONV_PATH$|LOCPATH$|NLSPATH$|MALLOC_|BASH_ENV$|BASH_FUNC_|ENV$|SHELLOPTS$|BASHOPTS$|" +
    "IFS$|PS4$|PERL|LIBMOUNT_)",
  "u"
)

/** @since 0.1.0 @category combinators */
export const wrap = (
  method: Method,
  files: SandboxFiles,
  made: Plan,
  command: Command,
  network: { readonly isolate: boolean; readonly needs_loopback: boolean }
): Effect.Effect<WrappedCommand, FileError> =>
  Effect.gen(function*() {
    const held = new Map(Array.from(command.env).filter(([name]) => steering.test(name)))
    const env = new Map(Array.from(command.env).filter(([name]) => !steering.test(name)))
    if (method.kind === "bubblewrap") {
      const filter = method.filter === null ? null : { shell: method.shell, file: yield* files.tableOf(method.filter) }
      const argv = bubblewrapArgv(method.program, {
        filter,
        plan: made,
        isolate_network: network.isolate,
        cwd: command.cwd,
        env: held,
        empty_directory: files.empty_directory,
        empty_file: files.empty_file,
        kernel_files: method.kernel_files,
        argv: command.argv
      })
      return { argv, env }
    }
    const mounts = yield* readMounts
    const tables = mountTables(made, mounts, files, yield* unreachableMounts(mounts), method.kernel_files)
    // One run of `mount` where nothing has to be made in between.
    const split = tables.files.length > 0
    const first = yield* files.tableOf(split ? tables.first : tables.first + tables.second)
    const second = split && tables.second !== "" ? yield* files.tableOf(tables.second) : ""
    const argv = unshareArgv(method.programs, {
      tables: { first, second },
      files: tables.files,
      writable: tables.writable,
      root: files.root,
      isolate_network: network.isolate,
      needs_loopback: network.needs_loopback,
      cwd: command.cwd,
      env: held,
      identity: method.identity,
      as_root: method.as_root,
      filter: method.filter,
      argv: command.argv
    })
    return { argv, env }
  })
