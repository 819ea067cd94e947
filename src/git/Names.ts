/**
 * Names of branches (reading 12.0), judged before anything runs: what `git check-ref-format --branch` refuses, and `@{...}`,
 * which it would expand. Pure.
 *
 * @since 0.1.0
 */

/** Why this is no name for a branch, in words; null = it is one. git-check-ref-format(1). @since 0.1.0 @category combinators */
export const problemOf = (name: string): string | null => {
  if (name === "") return "the name is empty"
  if (name.startsWith("-")) return "a name must not begin with \"-\""
  if (name === "HEAD") return "HEAD is no name for a branch"
  // space, controls and the marks that git gives a meaning of its own
  if (/[\u0000-\u0020\u007f~^:?*[\\]/u.test(name)) {
    return "a name has no spaces, control characters or any of ~ ^ : ? * [ \\"
  }
  if (name.includes("..")) return "a name has no \"..\""
  if (name.includes("@{")) return "a name has no \"@{\""
  if (name.startsWith("/") || name.endsWith("/") || name.includes("//")) {
    return "a name neither begins nor ends with \"/\", nor has two of them running"
  }
  if (name.endsWith(".")) return "a name does not end with \".\""
  for (const part of name.split("/")) {
    if (part.startsWith(".")) return "no part of a name begins with \".\""
    if (part.endsWith(".lock")) return "no part of a name ends with \".lock\""
  }
  return null
}

/** The directory of a worktree, beside the repository: `/` becomes `-`. @since 0.1.0 @category combinators */
export const directoryOf = (repository: string, name: string): string => `${repository}-${name.replaceAll("/", "-")}`
