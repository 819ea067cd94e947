/**
 * Which files a call of a file tool is about, as the call names them; pure.
 *
 * @since 0.1.0
 */

const patched = (patch: string): ReadonlyArray<string> =>
  [...patch.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ b\/)(.+)$/gm)]
    .flatMap(([, path]) => path === undefined || path.trim() === "" ? [] : [path.trim()])

/** Files that a call changes. @since 0.1.0 @category combinators */
export const changedBy = (tool: string, input: Readonly<Record<string, unknown>>): ReadonlyArray<string> => {
  const { patch, path } = input
  return tool === "apply_patch"
    ? typeof patch === "string" ? patched(patch) : []
    : (tool === "write" || tool === "edit") && typeof path === "string" && path !== ""
    ? [path]
    : []
}

/** Files that a call reads or changes. @since 0.1.0 @category combinators */
export const touchedBy = (tool: string, input: Readonly<Record<string, unknown>>): ReadonlyArray<string> =>
  tool === "read" && typeof input["path"] === "string" && input["path"] !== ""
    ? [input["path"]]
    : changedBy(tool, input)
