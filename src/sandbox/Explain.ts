/**
 * What lies behind the system's words when a sandboxed command fails (reading 10.4): the kernel says `Read-only file
 * system` or `Operation not permitted`; which rule that is, is said here. Pure.
 *
 * @since 0.1.0
 */
import type { SandboxSettings } from "./Settings.ts"

/** `paths` are named beside the words, as they stand there; `lines` need no path. @since 0.1.0 @category models */
export interface Explained {
  /** Each refused by the kernel, or not to be seen. */
  readonly paths: ReadonlyArray<string>
  readonly lines: ReadonlyArray<string>
}

/** `touch: cannot touch 'PATH': Read-only file system` and its like, of shells, tools and runtimes. */
const named = new RegExp(
  `(?:'([^'\\n]+)'|"([^"\\n]+)"|((?:~|\\.{0,2})/[^:'"\\n]+|[^\\s:'"()[\\]][^:'"\\n]*))` +
    ":? (Read-only file system|No such file or directory|Directory nonexistent|Permission denied|Device or resource busy|Is a directory)",
  "gu"
)
/** Node and others put the words first: `EROFS: read-only file system, open 'PATH'`. */
const behind = /\b(EROFS|ENOENT|EBUSY): [^\n']{1,80}'([^'\n]+)'/gu
const python = /\[Errno (30|2|16)\] [^\n']{1,60}'([^'\n]+)'/gu

const privileges =
  /(?:\b(?:mount|umount|unshare|nsenter|setns|pivot_root|chroot|mknod|setcap|bwrap|newuidmap|losetup|modprobe|sysctl|setpriv|su|sudo|chown|reboot)\b[^\n]*(?:not permitted|[Pp]ermission denied|must be superuser|only root|No space left on device|Read-only file system|not allowed|effective uid is not 0|no new privileges))|must be superuser|no new privileges/u

const bits = /(?:chmod|install|cp|tar|chgrp)\b[^\n]*Operation not permitted/u

const unreachable =
  /(?:[Cc]ould not resolve|Name or service not known|[Tt]emporary failure in name resolution|Network is unreachable|ENETUNREACH|EAI_AGAIN|ENOTFOUND|getaddrinfo|HTTP code 403 from proxy|response 403|CONNECT tunnel failed|Failed to connect to|Connection refused|ECONNREFUSED)/u

const max_paths = 8

/** Words that say it even below a command that went on to succeed. @since 0.1.0 @category combinators */
export const saysRefused = (output: string): boolean =>
  /read-only file system/iu.test(output) || bits.test(output) || /must be superuser/u.test(output)

/** @since 0.1.0 @category constructors */
export const explain = (
  output: string,
  settings: Pick<SandboxSettings, "mode" | "network">
): Explained => {
  const paths = new Set<string>()
  const add = (path: string | undefined): void => {
    const plain = (path ?? "").replace(/^line \d+$/u, "").trim()
    if (plain !== "" && !plain.includes("\0") && paths.size < max_paths) paths.add(plain)
  }
  for (const [, single, double, bare] of output.matchAll(named)) add(single ?? double ?? bare)
  for (const [, , path] of output.matchAll(behind)) add(path)
  for (const [, , path] of output.matchAll(python)) add(path)
  const lines: Array<string> = []
  const mode = `mode ${settings.mode}`
  if (privileges.test(output)) {
    lines.push(
      `mounts, namespaces, devices and privileges of the system are out of a command's reach, also as root (rule privileges, ${mode})`
    )
  }
  if (bits.test(output)) {
    lines.push(`no file gets a set-user-ID or set-group-ID bit, and owners stay as they are (rule privileges, ${mode})`)
  }
  if (settings.network !== "on" && unreachable.test(output)) {
    const reached = settings.network === "off" ? "nothing" : settings.network.allow.join(", ") || "nothing"
    lines.push(`commands reach ${reached} on the network, by the setting sandbox.network (rule network, ${mode})`)
  }
  return { paths: [...paths], lines }
}
