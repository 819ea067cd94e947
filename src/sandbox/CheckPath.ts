/**
 * HIP-301's `check_path` as a pure decision over canonical paths (reading 10.2). Both sides are canonical before they
 * come here; they are compared by component, so that a sibling with the same beginning is outside.
 *
 * @since 0.1.0
 */
import type { IsolationMode } from "../config/Schema.ts"

/** @since 0.1.0 @category models */
export type PathOperation = "read" | "write"

/**
 * | rule | meaning |
 * | --- | --- |
 * | `invalid_path` | empty, NUL, a URI |
 * | `unresolvable` | links in a circle, a file where a directory must be, no permission to look |
 * | `outside` | not inside what the mode allows |
 * | `protected` | settings, git hooks and configuration, programs that run without asking |
 * | `credentials` | a place where keys and tokens are kept |
 * | `hard_link` | the file has other names, and `deny_hard_linked_writes` is on |
 *
 * @since 0.1.0
 * @category models
 */
export type PathRule = "invalid_path" | "unresolvable" | "outside" | "protected" | "credentials" | "hard_link"

/** `path` of an allowed verdict is the canonical one, to be used from here on. @since 0.1.0 @category models */
export type PathVerdict =
  | { readonly allowed: true; readonly path: string; readonly warning: string | null }
  | { readonly allowed: false; readonly path: string; readonly rule: PathRule; readonly message: string }

/** All paths canonical and absolute. @since 0.1.0 @category models */
export interface PathPolicy {
  readonly mode: IsolationMode
  /** Where files may be read and written; not looked at in mode `off`. */
  readonly roots: ReadonlyArray<string>
  /** Where they may be read besides: what this program has put down for them. */
  readonly read_roots: ReadonlyArray<string>
  /** Never written in any mode (reading 9.9): each with what is below it. */
  readonly always_protected: ReadonlyArray<string>
  /** Not written in any mode but `off`: each with what is below it. */
  readonly protected: ReadonlyArray<string>
  /** Neither read nor written in any mode but `off`. */
  readonly credentials: ReadonlyArray<string>
  readonly deny_hard_linked_writes: boolean
  /** The file system does not tell `A` from `a` (macOS, Windows). */
  readonly fold_case: boolean
  readonly separator: string
}

/** What is at the path now. @since 0.1.0 @category models */
export interface PathSubject {
  readonly path: string
  readonly kind: "file" | "directory" | "other" | null
  /** Names the file has; 1 when there is none. */
  readonly links: number
}

/** @since 0.1.0 @category combinators */
export const isWithin = (root: string, path: string, separator = "/"): boolean =>
  path === root || path.startsWith(root.endsWith(separator) ? root : root + separator)

/** Why a text can be no path; null = it can. @since 0.1.0 @category combinators */
export const invalidPath = (given: string): string | null => {
  if (given === "") return "it is empty"
  if (given.includes("\0")) return "it contains a NUL character"
  const scheme = /^([a-z][a-z0-9+.-]+):/iu.exec(given)?.[1]?.toLowerCase()
  return scheme !== undefined && (given.slice(scheme.length + 1).startsWith("//") || scheme === "file")
    ? `it is a URI (${scheme}:), give a plain file path`
    : null
}

/** Names under `.git` by which git runs programs or finds its configuration. */
const gitControl: ReadonlySet<string> = new Set(["hooks", "config", "config.worktree", "commondir"])

/** Which control file of git or of this program a path below a root is; null = none. */
const controlFile = (parts: ReadonlyArray<string>, kind: PathSubject["kind"]): string | null => {
  if (parts.includes(".hanzo")) return "the project's settings (.hanzo)"
  for (let at = parts.indexOf(".git"); at >= 0; at = parts.indexOf(".git", at + 1)) {
    const rest = parts.slice(at + 1)
    const [first] = rest
    if (first === undefined) {
      if (kind !== "directory") return "a .git file, which says where git finds its configuration"
    } else if (gitControl.has(first)) return first === "hooks" ? "git hooks" : "the configuration of git"
    else if ((first === "modules" || first === "worktrees") && rest.some((name) => gitControl.has(name))) {
      return "hooks or configuration of a git module or worktree"
    }
  }
  return null
}

const shown = (path: string): string => JSON.stringify(path)

/** @since 0.1.0 @category combinators */
export const judge = (policy: PathPolicy, subject: PathSubject, operation: PathOperation): PathVerdict => {
  const fold = (text: string): string => policy.fold_case ? text.toLowerCase() : text
  const path = fold(subject.path)
  const within = (root: string): boolean => isWithin(fold(root), path, policy.separator)
  const refuse = (rule: PathRule, why: string): PathVerdict => ({
    allowed: false,
    path: subject.path,
    rule,
    message:
      `${operation === "read" ? "reading" : "writing"} ${shown(subject.path)} is refused by the sandbox: ${why} ` +
      `(rule ${rule}, mode ${policy.mode})`
  })
  if (operation === "write" && policy.always_protected.some(within)) {
    return refuse(
      "protected",
      "settings, trust, credentials and programs that run by themselves are the user's to change"
    )
  }
  if (policy.mode !== "off") {
    const holding = policy.roots.filter(within)
    if (holding.length === 0 && !(operation === "read" && policy.read_roots.some(within))) {
      const roots = policy.roots.length === 0 ? "nothing" : policy.roots.map(shown).join(", ")
      return refuse("outside", `tools may use ${roots} only`)
    }
    if (policy.credentials.some(within)) return refuse("credentials", "keys and tokens are kept there")
    if (operation === "write") {
      if (policy.protected.some(within)) {
        return refuse("protected", "git hooks and configuration are the user's to change")
      }
      const outermost = holding.reduce((a, b) => b.length < a.length ? b : a)
      const parts = path.slice(fold(outermost).length).split(policy.separator).filter((part) => part !== "")
      const control = controlFile(parts, subject.kind)
      if (control !== null) return refuse("protected", `this is ${control}, the user's to change`)
    }
  }
  const linked = operation === "write" && subject.kind === "file" && subject.links > 1
  if (linked && policy.mode !== "off" && policy.deny_hard_linked_writes) {
    return refuse("hard_link", `the file has ${subject.links} names (hard links), and one may be outside`)
  }
  return {
    allowed: true,
    path: subject.path,
    warning: linked ? `${shown(subject.path)} has ${subject.links} names (hard links), and one may be elsewhere` : null
  }
}
