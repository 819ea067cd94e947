/**
 * Writes settings files: checked before they are written, whole or not at all (readings 4.1, 4.10, G4).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import * as Layers from "../domain/Layers.ts"
import { AtomicFile } from "../platform/AtomicFile.ts"
import type { FileError } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import type { Edited } from "./Edit.ts"
import type { SettingsFiles } from "./Load.ts"
import { maxFileBytes } from "./Tiers.ts"

/** The tiers that have a file of the user's. @since 0.1.0 @category models */
export type WritableTier = "user" | "project" | "local"

/**
 * | reason | meaning |
 * | --- | --- |
 * | `no_workspace` | the tier belongs to a workspace and there is none |
 * | `refused` | the change makes no valid settings, or the file has to be corrected first |
 * | `unreadable`, `unwritable` | the file system says no |
 *
 * @since 0.1.0
 * @category errors
 */
export class SettingsError extends TaggedError("@hanzo/dev/config/SettingsError")("SettingsError", () => ({
  reason: Schema.Literal("no_workspace", "refused", "unreadable", "unwritable"),
  message: Schema.String
})) {}

/** @since 0.1.0 @category models */
export interface SettingsWriterService {
  /**
   * Reads the tier's file (missing = empty), changes its text and writes it, provided that nobody else has written it
   * meanwhile; then it begins again. Nothing is written when the text stays as it is. Writing the local tier sees to it
   * that git ignores its file.
   */
  readonly change: (
    files: SettingsFiles,
    tier: WritableTier,
    edit: (text: string) => Edited
  ) => Effect.Effect<{ readonly file: string; readonly text: string }, SettingsError>
}

/** Where a tier's settings are, or would be. @since 0.1.0 @category combinators */
export const fileOf = (files: SettingsFiles, tier: WritableTier): string | null =>
  tier === "user" ? files.user : tier === "project" ? files.project : files.local

const attempts = 8

const ignored = "settings.local.json"

/** The text of `.hanzo/.gitignore` with the local settings in it. @since 0.1.0 @category combinators */
export const ignoring = (text: string): string => {
  const lines = text.split(/\r?\n/u).map((line) => line.trimEnd())
  const listed = lines.findLastIndex((line) => line === ignored || line === `/${ignored}`)
  const shown = lines.findLastIndex((line) => line === `!${ignored}` || line === `!/${ignored}`)
  if (listed > shown) return text
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${ignored}\n`
}

const make = Effect.gen(function*() {
  const atomic = yield* AtomicFile
  const files = yield* Files
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

  const failed = (reason: "unreadable" | "unwritable") => (error: FileError): SettingsError =>
    new SettingsError({ reason, message: error.message })

  /** `own`: no link on the way is followed, since a checkout brings the directory with it. */
  const rewrite = (
    file: string,
    own: boolean,
    mode: { readonly mode?: number; readonly create_parents: number },
    edit: (text: string) => Edited
  ): Effect.Effect<string, SettingsError> => {
    const attempt = (left: number): Effect.Effect<string, SettingsError> =>
      Effect.gen(function*() {
        const { kind, path } = yield* Effect.mapError(files.canonical(file), failed("unreadable"))
        if (own && path !== file) {
          return yield* new SettingsError({
            reason: "refused",
            message: `${file} leads to ${path} by a link; the settings of a workspace are written only inside it`
          })
        }
        const old = kind === null ? null : yield* Effect.mapError(files.read(path, maxFileBytes), failed("unreadable"))
        const before = yield* Effect.try({
          try: () => old === null ? "" : decoder.decode(old.bytes),
          catch: () =>
            new SettingsError({ reason: "refused", message: `${file} is not UTF-8; save it in that encoding` })
        })
        const edited = edit(before)
        if ("problem" in edited) {
          return yield* new SettingsError({ reason: "refused", message: `${file}: ${edited.problem}` })
        }
        if (edited.text === before) return before
        return yield* atomic.write(path, edited.text, {
          ...(old === null ? mode : {}),
          create_parents: mode.create_parents,
          expect: old === null ? "absent" : old.stamp,
          approved: true
        }).pipe(
          Effect.as(edited.text),
          Effect.catchAll((error) =>
            (error.reason === "changed" || error.reason === "exists") && left > 0
              ? attempt(left - 1)
              : Effect.fail(failed("unwritable")(error))
          )
        )
      })
    return attempt(attempts)
  }

  const service: SettingsWriterService = {
    change: (where, tier, edit) =>
      Effect.gen(function*() {
        const file = fileOf(where, tier)
        if (file === null) {
          return yield* new SettingsError({
            reason: "no_workspace",
            message: `there are no ${tier} settings here: the home directory is no project`
          })
        }
        // before the file itself: at no moment could git take it up
        if (tier === "local") {
          yield* rewrite(
            `${file.slice(0, file.lastIndexOf("/"))}/.gitignore`,
            true,
            { create_parents: 0o777 },
            (text) => ({ text: ignoring(text) })
          )
        }
        const text = yield* rewrite(
          file,
          tier !== "user",
          tier === "project"
            ? { create_parents: 0o777 }
            : { mode: 0o600, create_parents: tier === "user" ? 0o700 : 0o777 },
          edit
        )
        return { file, text }
      })
  }
  return service
})

/** @since 0.1.0 @category services */
export class SettingsWriter
  extends Context.Tag("@hanzo/dev/config/SettingsWriter")<SettingsWriter, SettingsWriterService>()
{
  static readonly layer: Layer.Layer<SettingsWriter, never, AtomicFile | Files> = Layers.effect(SettingsWriter, make)
}
