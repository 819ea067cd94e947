/**
 * The domain `permission`: rules and a call in, the verdict out (readings 7 and 18.6). Subjects of `bash` are read with the
 * shell grammar, which `ready` loads once; before that such a line counts as unparsable.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { evaluate } from "../permissions/PermissionVectors.ts"
import type { ShellSource } from "../permissions/Shell.ts"
import { makeParser } from "../platform/ShellGrammar.ts"
import type { Domain } from "./Domain.ts"

let shell: ShellSource | null = null
const unloaded: ShellSource = { missing: "the shell grammar is not loaded" }

/** @since 0.1.0 @category constructors */
export const permission: Domain = (input) => evaluate(input, shell ?? unloaded)

/** Loads the grammar; where it cannot be loaded, the reason is part of the verdicts. @since 0.1.0 @category constructors */
export const ready: Effect.Effect<void> = Effect.suspend(() =>
  shell !== null ? Effect.void : Effect.map(
    Effect.promise(() =>
      makeParser().catch((error: unknown): ShellSource => ({
        missing: error instanceof Error ? error.message : String(error)
      }))
    ),
    (loaded) => {
      shell = loaded
    }
  )
)
