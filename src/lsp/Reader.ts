/**
 * Files as language servers are told them: UTF-8 text, at most 2 MiB (reading 8.4), read again when they changed on disk.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { FileStamp } from "../platform/FileCalls.ts"
import type { FilesService } from "../platform/Files.ts"

/** Bytes of a file that a server is told. @since 0.1.0 @category constants */
export const maxFileBytes = 2 * 1024 * 1024

/** @since 0.1.0 @category models */
export type Read =
  | { readonly _tag: "Same" }
  | { readonly _tag: "Text"; readonly text: string; readonly stamp: FileStamp }
  | { readonly _tag: "None"; readonly why: "missing" | "too_large" | "not_text" | "unreadable" }

/** `known`: the version that the caller has; null = none, or it must be read again. @since 0.1.0 @category models */
export type Reader = (path: string, known: FileStamp | null) => Effect.Effect<Read>

const same = (a: FileStamp, b: FileStamp): boolean =>
  a.size === b.size && a.mtime_ns === b.mtime_ns && a.ino === b.ino && a.dev === b.dev

const none = (why: "missing" | "too_large" | "not_text" | "unreadable"): Read => ({ _tag: "None", why })

/** Over canonical paths; what leads elsewhere is unreadable. @since 0.1.0 @category constructors */
export const make = (files: FilesService): Reader => (path, known) =>
  Effect.gen(function*() {
    const stamp = yield* files.stat(path)
    if (stamp === null) return none("missing")
    if (known !== null && same(stamp, known)) return { _tag: "Same" } as const
    const content = yield* files.read(path, maxFileBytes)
    if (content.bytes.subarray(0, 8192).includes(0)) return none("not_text")
    return { _tag: "Text", text: new TextDecoder("utf-8").decode(content.bytes), stamp: content.stamp } as const
  }).pipe(
    Effect.catchAll((error) =>
      Effect.succeed(
        none(error.reason === "too_large" ? "too_large" : error.reason === "not_found" ? "missing" : "unreadable")
      )
    )
  )
