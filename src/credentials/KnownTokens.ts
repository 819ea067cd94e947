/**
 * Every token that the file of logins holds or has held since the program began, and those that are in no file
 * (reading G2): what no tool may hand on.
 *
 * The text is searched for names that mean a secret, so that a file that is no sound JSON any more, and entries that
 * nobody here knows, keep no token from being known.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { isSecretName } from "../config/Secrets.ts"
import { sameStamp } from "../platform/AtomicFile.ts"
import { shortestSecret } from "../platform/ChildEnvironment.ts"
import type { FileStamp } from "../platform/FileCalls.ts"
import type { FilesService } from "../platform/Files.ts"

const maxBytes = 4 * 1024 * 1024

const unescaped = (text: string): string => {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text
  }
}

/**
 * The values of members whose names mean a secret, as they are and, where that differs, as they are written.
 *
 * @since 0.1.0
 * @category decoding
 */
export const tokensIn = (text: string): ReadonlyArray<string> => [
  ...new Set(
    [...text.matchAll(/"([^"\\\n]{1,100})"\s*:\s*"((?:[^"\\]|\\.)*)"/gsu)].flatMap(([, name = "", value = ""]) =>
      isSecretName(name.replaceAll(/([a-z])([A-Z])/gu, "$1_$2")) ? [unescaped(value).trim(), value] : []
    ).filter((value) => value.length >= shortestSecret)
  )
]

/** @since 0.1.0 @category models */
export interface KnownTokens {
  /**
   * Looks at the file each time and reads it when it is another one than before; the same array as long as nothing is
   * new. A file that cannot be read tells nothing.
   */
  readonly secrets: Effect.Effect<ReadonlyArray<string>>
  /** What is in no file. */
  readonly remember: (secrets: ReadonlyArray<string>) => Effect.Effect<void>
}

/** @since 0.1.0 @category constructors */
export const make = (files: FilesService, file: string): KnownTokens => {
  let seen: FileStamp | null = null
  let known: ReadonlyArray<string> = []
  const add = (found: ReadonlyArray<string>): void => {
    if (found.some((token) => !known.includes(token))) known = [...new Set([...known, ...found])]
  }
  const secrets = Effect.gen(function*() {
    if ((yield* files.stat(file)) === null) return known
    const { path } = yield* files.canonical(file)
    const stamp = yield* files.stat(path)
    if (stamp === null || (seen !== null && sameStamp(stamp, seen))) return known
    const { bytes } = yield* files.read(path, maxBytes)
    add(tokensIn(new TextDecoder().decode(bytes)))
    seen = stamp
    return known
  }).pipe(Effect.catchAll(() => Effect.sync(() => known)))
  return {
    secrets,
    remember: (values) =>
      Effect.sync(() => add(values.map((value) => value.trim()).filter((value) => value.length >= shortestSecret)))
  }
}
