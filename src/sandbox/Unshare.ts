/**
 * The same sandbox without bubblewrap, from util-linux (reading 10.5, step 2): a table of mounts for one run of `mount`,
 * a short script that moves into the new root, and a second user namespace around the command, without capabilities and
 * with no_new_privs, so that nothing of it can be taken back from inside.
 *
 * Each mount is handled on its own: the new root is a recursive copy whose every mount is made read-only, and before the
 * command starts the script looks again for one that is not.
 *
 * @since 0.1.0
 */
import { escapeMountPath, type Mount } from "../platform/MountTable.ts"
import { deviceNames, type SandboxFiles } from "../platform/SandboxFiles.ts"
import { isWithin } from "./CheckPath.ts"
import type { Plan } from "./Plan.ts"

/** Absolute paths of the programs that set it up. @since 0.1.0 @category models */
export interface UnsharePrograms {
  readonly shell: string
  readonly env: string
  readonly unshare: string
  readonly setpriv: string
  readonly mount: string
  readonly umount: string
  readonly pivot_root: string
  /** Sets the filter of system calls; null = it is missing. */
  readonly perl: string | null
}

/**
 * `first` is mounted before the script makes the mount points of files (`files`, relative to nothing), `second` after.
 * `writable` lists mount points (not `/`) that may stay writable, escaped and separated by blanks.
 *
 * @since 0.1.0
 * @category models
 */
export interface MountTables {
  readonly first: string
  readonly second: string
  readonly files: ReadonlyArray<string>
  readonly writable: string
}

const kept = (mount: Mount): ReadonlyArray<string> =>
  ["noexec", "noatime", "nodiratime", "relatime"].filter((option) => mount.options.includes(option))

/**
 * `unreachable` are mount points that this user cannot enter; `kernel_files` those of `/proc` that steer the kernel
 * (`/proc/sys`, ...), which the user root may write without any capability.
 *
 * @since 0.1.0
 * @category encoding
 */
export const mountTables = (
  plan: Plan,
  mounts: ReadonlyArray<Mount>,
  files: Pick<SandboxFiles, "root" | "devices" | "empty_directory" | "empty_file">,
  unreachable: ReadonlySet<string>,
  kernel_files: ReadonlyArray<string>
): MountTables => {
  const inside = (path: string): string => path === "/" ? files.root : files.root + path
  const row = (source: string, target: string, type: string, options: ReadonlyArray<string>): string =>
    `${escapeMountPath(source)} ${escapeMountPath(target)} ${type} ${options.join(",")} 0 0`
  const bind = (source: string, target: string, ...options: ReadonlyArray<string>): string =>
    row(source, inside(target), "none", ["rbind", ...options])
  const remount = (mount: Mount, ...options: ReadonlyArray<string>): string =>
    row("none", inside(mount.at), "none", ["remount", "bind", "nosuid", "nodev", ...kept(mount), ...options])
  const make = (kind: "file" | "directory"): ReadonlyArray<string> => kind === "directory" ? ["X-mount.mkdir"] : []
  const reachable = mounts.filter((mount) => mount.accessible && !unreachable.has(mount.at))
  const replaced = (path: string): boolean =>
    isWithin("/dev", path) || isWithin("/proc", path) && path !== "/proc" || plan.private_tmp && isWithin("/tmp", path)

  const base = [
    row("/", files.root, "none", ["rbind"]),
    ...reachable.filter((mount) => !replaced(mount.at)).map((mount) =>
      plan.root_writable ? remount(mount, ...mount.options.filter((option) => option === "ro")) : remount(mount, "ro")
    ),
    bind(files.devices, "/dev", "ro", "nosuid", "noexec"),
    ...deviceNames.map((name) => bind(`/dev/${name}`, `/dev/${name}`, "nosuid", "noexec")),
    row("devpts", inside("/dev/pts"), "devpts", ["newinstance", "ptmxmode=0666", "mode=620", "nosuid", "noexec"]),
    row("shm", inside("/dev/shm"), "tmpfs", ["mode=1777", "nosuid", "nodev"]),
    row("proc", inside("/proc"), "proc", ["nosuid", "nodev", "noexec"]),
    ...kernel_files.map((at) => row(inside(at), inside(at), "none", ["bind", "ro", "nosuid", "nodev", "noexec"]))
  ]
  const steps = plan.steps.flatMap(({ kind, path, step }): ReadonlyArray<string> => {
    const below = reachable.filter((mount) => mount.at !== path && isWithin(path, mount.at))
    switch (step) {
      case "tmpfs":
        return []
      case "writable":
        return [
          bind(path, path, ...make(kind), "nosuid", "nodev"),
          ...below.map((mount) => remount(mount, ...mount.options.filter((option) => option === "ro")))
        ]
      case "read_only":
        return [bind(path, path, ...make(kind), "ro", "nosuid", "nodev"), ...below.map((mount) => remount(mount, "ro"))]
      case "empty":
        return [bind(kind === "file" ? files.empty_file : files.empty_directory, path, "ro", "nosuid", "nodev")]
    }
  })
  if (plan.private_tmp) base.push(row("tmpfs", inside("/tmp"), "tmpfs", ["mode=1777", "nosuid", "nodev"]))
  // Only below the new /tmp is a file's mount point missing.
  const made = plan.steps.filter((step) =>
    plan.private_tmp && step.kind === "file" && isWithin("/tmp", step.path) && step.step === "writable"
  )
  const writable = [
    ...(plan.private_tmp ? ["/tmp"] : []),
    ...plan.write_roots.map((root) => root.path),
    ...unreachable,
    ...mounts.filter((mount) => !mount.accessible).map((mount) => mount.at)
  ].filter((at) => at !== "/")
  return {
    first: `${base.join("\n")}\n`,
    second: steps.length === 0 ? "" : `${steps.join("\n")}\n`,
    files: made.map((step) => inside(step.path)),
    writable: plan.root_writable ? "*" : writable.map(escapeMountPath).join(" ")
  }
}

/** Exit code of a sandbox that could not be set up. @since 0.1.0 @category constants */
export const setupFailed = 125

/**
 * Runs as process 1 of the new namespaces with all capabilities over them and nothing of the command's own environment
 * that could steer it; waits for the command, so that the kernel ends whatever is left with it.
 *
 * Arguments: root, first table, second table or "", number of file mount points, these, writable mount points, "user" or
 * "root", loopback ("" | "wanted" | "needed"), working directory, then the command that drops what is left.
 *
 * @since 0.1.0
 * @category constants
 */
export const setupScript = `fail() { printf 'hanzo-dev sandbox: cannot set up: %s\\n' "$1" >&2; exit ${setupFailed}; }
own=$PATH
set -f
PATH=/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin
root=$1 first=$2 second=$3 count=$4
shift 4
mount -n -a -T "$first" >&2 || fail 'the root could not be made read-only'
while [ "$count" -gt 0 ]; do
  mkdir -p "\${1%/*}" && : > "$1" || fail "no mount point for $1"
  count=$((count - 1))
  shift
done
if [ -n "$second" ]; then mount -n -a -T "$second" >&2 || fail 'a place could not be mounted'; fi
writable=$1 owner=$2 loopback=$3 directory=$4
shift 4
if [ -n "$loopback" ]; then
  ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null ||
    perl -e 'socket(my $s,2,2,0) or exit 1; my $r=pack("a16s","lo",0); ioctl($s,0x8913,$r) or exit 1;
      my (undef,$f)=unpack("a16s",$r); ioctl($s,0x8914,pack("a16s","lo",$f|1)) or exit 1' 2>/dev/null ||
    [ "$loopback" = wanted ] || fail 'the loopback device could not be brought up'
fi
if [ "$owner" = user ]; then
  echo 1 > /proc/sys/user/max_user_namespaces || fail 'user namespaces could not be limited'
fi
cd "$root" && pivot_root . . && umount -n -l . || fail 'the root could not be entered'
if [ "$writable" != '*' ]; then
  while read -r _ _ _ _ at options _; do
    case $options in rw|rw,*) ;; *) continue ;; esac
    case $at in /dev|/dev/*|/proc|/proc/*) continue ;; esac
    for known in $writable; do
      case $at in "$known"|"$known"/*) continue 2 ;; esac
    done
    fail "$at is still writable"
  done < /proc/self/mountinfo
fi
cd "$directory" || fail "no directory $directory"
PATH=$own
"$@"
exit $?
`

/** @since 0.1.0 @category models */
export interface UnshareInput {
  readonly tables: { readonly first: string; readonly second: string }
  readonly files: ReadonlyArray<string>
  readonly writable: string
  readonly root: string
  readonly isolate_network: boolean
  /** The command cannot do without a loopback device (the filtering proxy listens there). */
  readonly needs_loopback: boolean
  readonly cwd: string
  readonly env: ReadonlyMap<string, string>
  readonly identity: { readonly uid: number; readonly gid: number }
  /** No user namespace can be had, and we are root: the capabilities of this process set it up. */
  readonly as_root: boolean
  /** Of system calls. */
  readonly filter: Uint8Array | null
  readonly argv: ReadonlyArray<string>
}

/** Sets the filter for itself, then becomes the command. Arguments: number of the call, the filter in hexadecimal, command. */
const filterScript = `my $number = shift; my $filter = pack("H*", shift);
if (syscall($number, 1, 0, pack("Sx6P", length($filter) / 8, $filter)) != 0) {
  print STDERR "hanzo-dev sandbox: cannot set up: no filter of system calls: $!\\n"; exit ${setupFailed};
}
exec { $ARGV[0] } @ARGV or print STDERR "$ARGV[0]: $!\\n";
exit 126;`

/** Of `seccomp`, by the filter's first architecture. */
const seccompNumber = (filter: Uint8Array): string => filter[12] === 0x3e ? "317" : "277"

const hexadecimal = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/** @since 0.1.0 @category constructors */
export const unshareArgv = (
  programs: UnsharePrograms,
  input: UnshareInput
): readonly [string, ...ReadonlyArray<string>] => {
  const { gid, uid } = input.identity
  const second = input.as_root
    ? []
    : [programs.unshare, "--user", `--map-user=${uid}`, `--map-group=${gid}`, "--keep-caps"]
  const env = Array.from(input.env, ([name, value]) => `${name}=${value}`)
  return [
    programs.setpriv,
    "--pdeathsig",
    "KILL",
    programs.unshare,
    ...(input.as_root ? [] : ["--user", "--map-root-user"]),
    "--mount",
    "--propagation",
    "private",
    "--pid",
    "--fork",
    "--kill-child=KILL",
    "--ipc",
    "--uts",
    ...(input.isolate_network ? ["--net"] : []),
    programs.shell,
    "-c",
    setupScript,
    "sandbox",
    input.root,
    input.tables.first,
    input.tables.second,
    String(input.files.length),
    ...input.files,
    input.writable,
    input.as_root ? "root" : "user",
    input.isolate_network ? input.needs_loopback ? "needed" : "wanted" : "",
    input.cwd,
    ...second,
    programs.setpriv,
    "--no-new-privs",
    "--inh-caps=-all",
    "--ambient-caps=-all",
    "--bounding-set=-all",
    "--",
    ...(programs.perl === null || input.filter === null
      ? []
      : [programs.perl, "-e", filterScript, "--", seccompNumber(input.filter), hexadecimal(input.filter)]),
    ...(env.length === 0 ? [] : [programs.env, "--", ...env]),
    ...input.argv
  ]
}
