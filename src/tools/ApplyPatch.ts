/**
 * `apply_patch`: changes to several files at once, all or none.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { success } from "../domain/ToolExecutor.ts"
import { type FileContent, Files } from "../platform/Files.ts"
import { Changes } from "./Changes.ts"
import { defineTool } from "./Define.ts"
import { decode, encode, isText } from "./edit/Text.ts"
import { unifiedDiff } from "./edit/UnifiedDiff.ts"
import { FileState } from "./FileState.ts"
import { parsePatch } from "./patch/Parse.ts"
import type { Patch } from "./patch/Patch.ts"
import { type FileVersion, type Outcome, type Plan, planPatch } from "./patch/Plan.ts"
import { Paths, type ResolvedPath } from "./Paths.ts"
import { ToolFailure } from "./Tool.ts"

const Input = () =>
  Schema.Struct({
    patch: Schema.String.annotations({
      description:
        "*** Begin Patch, then for each file *** Add File: PATH (lines with +), *** Delete File: PATH, or *** Update File: " +
        "PATH with optional *** Move to: PATH and hunks (@@ ANCHOR, then lines that begin with a blank, - or +), then " +
        "*** End Patch; or a unified diff as of git diff."
    })
  })

/** Diff lines of one answer. */
const max_diff_lines = 200

/** A change that is on disk, with all that is needed to take it back. */
interface Step {
  readonly outcome: Outcome
  readonly before: FileContent | null
  /** Directories that this step made begin below this one. */
  readonly existing: string
}

const paths_of = (patch: Patch): ReadonlyArray<string> =>
  patch.changes.flatMap((change) =>
    change.kind === "update" && change.move_to !== undefined ? [change.path, change.move_to] : [change.path]
  )

const bytesOf = (version: FileVersion): Uint8Array | undefined =>
  isText(version.content) ? encode(version.content) : undefined

/** @since 0.1.0 @category constructors */
export const makeApplyPatchTool = Effect.gen(function*() {
  const paths = yield* Paths
  const files = yield* Files
  const state = yield* FileState
  const changes = yield* Changes

  const report = (plan: Plan): string => {
    const lines: Array<string> = []
    const diffs: Array<string> = []
    let left = max_diff_lines
    const target_of = new Map(plan.moves.filter((move) => !move.copy).map((move) => [move.from, move.to]))
    const source_of = new Map(plan.moves.map((move) => [move.to, move]))
    const textOf = (version: FileVersion | null | undefined): string =>
      version?.content !== undefined && isText(version.content) ? version.content.text : ""
    const by_path = new Map(plan.outcomes.map((outcome) => [outcome.path, outcome]))
    for (const { after, before, path } of plan.outcomes) {
      const name = paths.display(path)
      const move = source_of.get(path)
      if (after === null) {
        if (target_of.get(path) === undefined) lines.push(`D ${name}`)
        continue
      }
      const old = move === undefined ? before : by_path.get(move.from)?.before ?? null
      const diff = unifiedDiff(textOf(old), textOf(after), { max_lines: Math.max(1, left) })
      const mode = old !== null && old.mode !== after.mode && after.mode !== undefined
        ? ` mode ${after.mode.toString(8)}`
        : ""
      const counts = ` (+${diff.added} -${diff.removed})${mode}`
      if (move !== undefined) {
        lines.push(`${move.copy ? "C" : "R"} ${paths.display(move.from)} -> ${name}${diff.text === "" ? "" : counts}`)
      } else lines.push(before === null ? `A ${name} (+${diff.added})` : `M ${name}${counts}`)
      if (before === null && move === undefined || diff.text === "") continue
      if (left > 0) diffs.push(`--- ${name}\n${diff.text}`)
      left -= diff.text.split("\n").length
    }
    const notes = plan.notes.map((note) => `Note: ${note}`)
    return [
      `Applied the patch to ${lines.length === 1 ? "1 file" : `${lines.length} files`}:`,
      ...lines,
      ...notes,
      ...diffs
    ]
      .join("\n")
  }

  /** Takes the steps back, last first; what could not be taken back is named. */
  const undo = (session_id: string, steps: ReadonlyArray<Step>): Effect.Effect<ReadonlyArray<string>> =>
    Effect.forEach([...steps].reverse(), ({ before, existing, outcome }) =>
      Effect.gen(function*() {
        const current = yield* changes.load(outcome.path)
        if (before !== null) {
          yield* changes.write(session_id, outcome.path, before.bytes, current, "part", before.stamp.mode)
          return undefined
        }
        if (current !== null) yield* changes.remove(session_id, outcome.path, current)
        for (let at = parent(outcome.path); at.length > existing.length; at = parent(at)) {
          if (!(yield* files.removeEmptyDirectory(at))) break
        }
        return undefined
      }).pipe(
        Effect.catchAll((error) => Effect.succeed(`${paths.display(outcome.path)}: ${error.message}`))
      )).pipe(Effect.map((results) => results.filter((one): one is string => one !== undefined)))

  const parent = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf("/")))

  return defineTool({
    name: "apply_patch",
    description:
      "Changes, creates, deletes and moves several files at once, all or none: every hunk is checked before anything is " +
      "written. Removed lines must match exactly; context may differ in white space. Give enough context, or an @@ " +
      "anchor line, that each hunk fits at one place only.",
    input: Input,
    kind: "edit",
    read_only: false,
    prepare: ({ patch: text }) =>
      Effect.gen(function*() {
        const fail = (message: string) => new ToolFailure({ message })
        const parsed = parsePatch(text)
        if (Either.isLeft(parsed)) return yield* fail(parsed.left)
        const patch = parsed.right
        const targets = new Map<string, ResolvedPath>()
        for (const written of paths_of(patch)) {
          if (!targets.has(written)) targets.set(written, yield* paths.resolve(written, "a path of the patch"))
        }
        for (const change of patch.changes) {
          const target = targets.get(change.path)
          const goes = change.kind === "delete" || (change.kind === "update" && change.move_to !== undefined)
          if (goes && target?.is_link === true) {
            return yield* fail(
              `${change.path} is a symbolic link to ${target.display}; delete or move links with bash, or name the file itself.`
            )
          }
        }
        const all = Array.from(new Map(Array.from(targets.values(), (target) => [target.path, target])).values())
        const canonical = (written: string): string => targets.get(written)?.path ?? written

        return {
          subjects: all.map((target) => target.subject),
          inside_workspace: all.every((target) => target.inside),
          run: ({ session_id }) =>
            Effect.gen(function*() {
              const loaded = new Map<string, FileContent | null>()
              const versions = new Map<string, FileVersion | null>()
              const problems: Array<string> = []
              for (const { path } of all) {
                const content = yield* changes.load(path)
                loaded.set(path, content)
                versions.set(
                  path,
                  content === null ? null : { content: decode(content.bytes), mode: content.stamp.mode }
                )
                if (content !== null) {
                  yield* changes.check(session_id, path, content, false).pipe(
                    Effect.catchAll((error) => Effect.sync(() => void problems.push(error.message)))
                  )
                }
              }
              const planned = planPatch(patch, canonical, versions)
              if (Either.isLeft(planned)) problems.push(...planned.left)
              const work: Array<{ readonly outcome: Outcome; readonly bytes: Uint8Array | undefined }> = []
              for (const outcome of Either.isRight(planned) ? planned.right.outcomes : []) {
                const moved = Either.isRight(planned)
                  ? planned.right.moves.find((move) => move.to === outcome.path)?.from
                  : undefined
                const binary = outcome.after !== null && !isText(outcome.after.content)
                const bytes = outcome.after === null
                  ? undefined
                  : binary && moved !== undefined
                  ? loaded.get(moved)?.bytes
                  : bytesOf(outcome.after)
                if (outcome.after !== null && bytes === undefined) {
                  problems.push(
                    `${paths.display(outcome.path)}: the new text cannot be written in the file's encoding` +
                      (isText(outcome.after.content) ? ` (${outcome.after.content.encoding})` : "")
                  )
                }
                work.push({ outcome, bytes })
              }
              if (Either.isLeft(planned) || problems.length > 0) {
                const list = problems.map((problem) => `- ${problem}`).join("\n")
                return yield* fail(`The patch was not applied; nothing was changed.\n${list}`)
              }
              // New content first: whatever fails then, nothing has been removed yet.
              work.sort((a, b) => Number(a.outcome.after === null) - Number(b.outcome.after === null))
              const steps: Array<Step> = []
              const writeAll = Effect.forEach(work, ({ bytes, outcome }) => {
                const before = loaded.get(outcome.path) ?? null
                const existing = all.find((target) => target.path === outcome.path)?.existing ?? outcome.path
                const done = Effect.sync(() => void steps.push({ outcome, before, existing }))
                const mode = outcome.after?.mode
                if (bytes === undefined) {
                  return before === null
                    ? Effect.void
                    : Effect.zipRight(changes.remove(session_id, outcome.path, before), done)
                }
                return Effect.zipRight(changes.write(session_id, outcome.path, bytes, before, "part", mode), done)
              }, { discard: true })
              return yield* Effect.uninterruptible(writeAll.pipe(
                Effect.map(() => success(report(planned.right))),
                Effect.catchAll((error) =>
                  Effect.flatMap(undo(session_id, steps), (left) =>
                    fail(
                      left.length === 0
                        ? `The patch was not applied; nothing was changed.\n- ${error.message}`
                        : `The patch failed: ${error.message}\nNot everything could be taken back:\n${
                          left.map((line) => `- ${line}`).join("\n")
                        }`
                    ))
                )
              ))
            }).pipe(state.exclusive(all.map((target) => target.path)))
        }
      })
  })
})
