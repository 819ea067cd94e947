/**
 * The domain `permission`: rules and a call in, the verdict out (readings 7 and 18.6). Subjects of `bash` are read with the
 * shell grammar, which is loaded with this module.
 *
 * @since 0.1.0
 */
import { evaluate } from "../permissions/PermissionVectors.ts"
import type { ShellSource } from "../permissions/Shell.ts"
import { makeParser } from "../platform/ShellGrammar.ts"
import type { Domain } from "./Domain.ts"

const shell: ShellSource = await makeParser().catch((error: unknown) => ({
  missing: error instanceof Error ? error.message : String(error)
}))

/** @since 0.1.0 @category constructors */
export const permission: Domain = (input) => evaluate(input, shell)
