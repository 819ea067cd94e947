/**
 * `hanzo-dev sessions checkpoints` and `hanzo-dev sessions rewind`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Rewind from "../agent/Rewind.ts"
import { line } from "../codec/TerminalText.ts"
import { type FileChange, type SnapshotError, Snapshots } from "../snapshots/Snapshots.ts"
import { SessionStore, type SessionSummary, type StorageError } from "../storage/SessionStore.ts"
import type { SessionsCheckpoints, SessionsRewind } from "./CheckpointSchemas.ts"
import { type CliExit, failed, usage } from "./Exit.ts"
import { print, printJson } from "./Output.ts"
import { changesText, doneText, pointRows } from "./RewindText.ts"
import { storageExit } from "./Sessions.ts"
import type * as Spec from "./Spec.ts"

const exitOf = (error: StorageError | SnapshotError | CliExit): CliExit =>
  error._tag === "StorageError"
    ? storageExit(error)
    : error._tag === "SnapshotError"
    ? error.reason === "not_found" ? usage(error.message) : failed(error.message)
    : error

/** @since 0.1.0 @category combinators */
export const checkpoints = Effect.fn("Cli.sessions.checkpoints")(
  function*(session: SessionSummary, values: Spec.Values<typeof Spec.sessionsCheckpoints>) {
    const store = yield* SessionStore
    const snapshots = yield* Snapshots
    const seen = yield* Effect.mapError(Rewind.look({ store, snapshots }, session.id), exitOf)
    if (values.json) {
      yield* printJson(
        {
          v: 1,
          session_id: session.id,
          workspace: session.workspace,
          messages: seen.points.map(({ at, entry_id, key, snapshot_id, text }) => ({
            id: entry_id,
            key,
            at,
            text,
            checkpoint_id: snapshot_id
          })),
          checkpoints: seen.snapshots.map(({ at, changed, id, key, kind }) => ({ id, key, kind, at, changed })),
          redo: { conversation: seen.forward.conversation !== null, files: seen.forward.files !== null },
          problem: seen.problem
        } satisfies SessionsCheckpoints
      )
      return 0
    }
    yield* print(
      seen.points.length === 0
        ? "there is no message to go back to\n"
        : pointRows(seen.points, ({ entry_id }) => `${entry_id}`)
    )
    if (seen.problem !== null) yield* print(`the files: ${line(seen.problem, 500)}\n`)
    return 0
  }
)

/** @since 0.1.0 @category combinators */
export const rewind = Effect.fn("Cli.sessions.rewind")(
  function*(session: SessionSummary, values: Spec.Values<typeof Spec.sessionsRewind>) {
    const store = yield* SessionStore
    const services = { store, snapshots: yield* Snapshots }
    const seen = yield* Effect.mapError(Rewind.look(services, session.id), exitOf)
    const dry_run = values["dry-run"]
    let changes: ReadonlyArray<FileChange> = []
    const approve = (some: ReadonlyArray<FileChange>) => {
      changes = some
      return Effect.succeed(!dry_run)
    }
    const point = values.redo
      ? null
      : values.to === undefined
      ? seen.points.at(-1)
      : seen.points.find(({ entry_id }) => entry_id === values.to)
    if (point === undefined) {
      return yield* usage(
        values.to === undefined
          ? `session ${session.id} has no message to go back to`
          : `session ${session.id} has no message ${values.to} of yours in its conversation`,
        `hanzo-dev sessions checkpoints ${session.id} lists them`
      )
    }
    if (values.redo && seen.forward.conversation === null && seen.forward.files === null) {
      return yield* usage("there is nothing to bring back: nothing was rewound, or something has happened since")
    }
    if (values.files && point !== null && point.snapshot_id === null) {
      return yield* failed(
        seen.problem ?? "no checkpoint was made since that message: nothing is known to have changed the files"
      )
    }
    const done = yield* Effect.mapError(
      point === null
        ? Rewind.forward(services, session.id, seen.forward, approve)
        : Rewind.rewind(
          services,
          session.id,
          point,
          { conversation: !values.files, files: !values.conversation },
          approve
        ),
      exitOf
    )
    if (values.json) {
      yield* printJson(
        {
          v: 1,
          session_id: session.id,
          dry_run,
          to: point?.entry_id ?? null,
          conversation: done?.conversation ?? false,
          files: done?.files?.files ?? 0,
          changes: changes.map(({ change, conflict, path }) => ({ path, change, conflict })),
          failed: (done?.files?.failed ?? []).map(({ path, why }) => ({ path, why }))
        } satisfies SessionsRewind
      )
    } else {
      yield* print(
        changesText(changes) + (done === null ? "nothing was changed (--dry-run)\n" : doneText(done)) +
          (seen.problem === null || values.conversation ? "" : `the files: ${line(seen.problem, 500)}\n`)
      )
    }
    return (done?.files?.failed.length ?? 0) > 0 ? 1 : 0
  }
)
