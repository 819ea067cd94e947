/**
 * The arguments of bubblewrap for a plan (reading 10.5, step 1): everything read-only, own process, IPC, host-name and
 * user namespaces, no capability, a new session, an end with the parent, and no further user namespaces, since from
 * within one a mount point of ours could be taken away.
 *
 * @since 0.1.0
 */
import type { Plan } from "./Plan.ts"

/** @since 0.1.0 @category models */
export interface WrapInput {
  readonly plan: Plan
  /** A network namespace of its own, with a loopback device only. */
  readonly isolate_network: boolean
  readonly cwd: string
  /** Variables that must not reach the programs that set the sandbox up. */
  readonly env: ReadonlyMap<string, string>
  readonly empty_directory: string
  readonly empty_file: string
  /** Those of `/proc` that steer the kernel: the user root may write them without any capability. */
  readonly kernel_files: ReadonlyArray<string>
  /** Of system calls, in a file; a shell opens it. */
  readonly filter: { readonly shell: string; readonly file: string } | null
  readonly argv: ReadonlyArray<string>
}

const filterDescriptor = "9"

/** @since 0.1.0 @category constructors */
export const bubblewrapArgv = (program: string, input: WrapInput): readonly [string, ...ReadonlyArray<string>] => {
  const { plan } = input
  const { filter } = input
  return [
    ...(filter === null
      ? [program] as const
      : [
        filter.shell,
        "-c",
        `exec ${filterDescriptor}<"$1" || exit 125; shift; exec "$@"`,
        "sandbox",
        filter.file,
        program,
        "--seccomp",
        filterDescriptor
      ] as const),
    "--unshare-user",
    "--disable-userns",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    ...(input.isolate_network ? ["--unshare-net"] : []),
    "--cap-drop",
    "ALL",
    "--new-session",
    "--die-with-parent",
    plan.root_writable ? "--bind" : "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    ...input.kernel_files.flatMap((at) => ["--ro-bind", at, at]),
    ...plan.steps.flatMap(({ kind, path, step }): ReadonlyArray<string> => {
      switch (step) {
        case "tmpfs":
          return ["--perms", "1777", "--tmpfs", path]
        case "writable":
          return ["--bind", path, path]
        case "read_only":
          return ["--ro-bind", path, path]
        case "empty":
          return ["--ro-bind", kind === "file" ? input.empty_file : input.empty_directory, path]
      }
    }),
    ...Array.from(input.env).flatMap(([name, value]) => ["--setenv", name, value]),
    "--chdir",
    input.cwd,
    "--",
    ...input.argv
  ]
}
