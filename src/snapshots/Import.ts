/**
 * Writes a snapshot: one stream to `git fast-import`, which takes contents as they are and moves the reference only when
 * all of it has come. Whoever is killed in the middle leaves nothing but unused objects.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import type { ProcessesService, RunningProcess } from "../platform/Processes.ts"
import { type Git, gitFailure, processFailure } from "./Git.ts"
import type { SnapshotError } from "./Snapshots.ts"
import { quoted, repositoryPath } from "./Manifest.ts"

/** @since 0.1.0 @category models */
export interface Writer {
  readonly text: (text: string) => Effect.Effect<void, SnapshotError>
  readonly bytes: (bytes: Uint8Array) => Effect.Effect<void, SnapshotError>
}

const blockBytes = 256 * 1024

const make = (child: RunningProcess): Writer & { readonly flush: Effect.Effect<void, SnapshotError> } => {
  let waiting: Array<Uint8Array> = []
  let size = 0
  const encoder = new TextEncoder()
  const flush = Effect.suspend(() => {
    if (size === 0) return Effect.void
    const all = new Uint8Array(size)
    let at = 0
    for (const piece of waiting) {
      all.set(piece, at)
      at += piece.byteLength
    }
    waiting = []
    size = 0
    return Effect.mapError(child.write(all), processFailure)
  })
  const bytes: Writer["bytes"] = (piece) =>
    Effect.suspend(() => {
      waiting.push(piece)
      size += piece.byteLength
      return size >= blockBytes ? flush : Effect.void
    })
  return { bytes, text: (text) => bytes(encoder.encode(text)), flush }
}

const decoder = new TextDecoder()

const textOf = (stream: Stream.Stream<Uint8Array>): Effect.Effect<string> =>
  Effect.map(
    Stream.runFold(stream, "", (text, bytes) => (text + decoder.decode(bytes)).slice(0, 100_000)),
    (text) => text
  )

/**
 * `prepare` runs while git starts, `write` puts the commands; the commit in it ends with `ls ""`. `meanwhile` is done while
 * git ends. Gives the tree that it made, and what `meanwhile` gives.
 *
 * @since 0.1.0
 * @category combinators
 */
export const importWith = <A, B>(
  processes: ProcessesService,
  git: Git,
  steps: {
    readonly prepare: Effect.Effect<A, SnapshotError>
    readonly write: (writer: Writer, prepared: A) => Effect.Effect<void, SnapshotError>
    readonly meanwhile: (prepared: A) => B
  }
): Effect.Effect<readonly [tree: string, meanwhile: B], SnapshotError> =>
  Effect.scoped(Effect.gen(function*() {
    const args = ["fast-import", "--quiet", "--done", "--date-format=raw"]
    const child = yield* Effect.mapError(processes.spawn(git.input({ args, stdin: "pipe" })), processFailure)
    const prepared = yield* steps.prepare
    const output = yield* Effect.fork(Effect.all([textOf(child.stdout), textOf(child.stderr)], { concurrency: 2 }))
    const writer = make(child)
    // What it said when it stopped reading tells more than that it did.
    const written = yield* Effect.exit(
      Effect.zipRight(steps.write(writer, prepared), Effect.zipRight(writer.text("done\n"), writer.flush))
    )
    yield* child.endInput
    const meanwhile = Exit.isSuccess(written) ? steps.meanwhile(prepared) : null
    const status = yield* child.exit
    const [stdout, stderr] = yield* output
    if (status.code !== 0) return yield* gitFailure(args, { ...status, stderr: new TextEncoder().encode(stderr) })
    yield* written
    const tree = /^040000 tree ([0-9a-f]{40,64})\t/mu.exec(stdout)?.[1]
    return tree === undefined || meanwhile === null
      ? yield* gitFailure(args, { ...status, stderr: new TextEncoder().encode("it named no tree") })
      : [tree, meanwhile] as const
  }))

/** What changes of the tree that the commit begins with. @since 0.1.0 @category models */
export interface Commit {
  readonly ref: string
  readonly seconds: number
  /** One line. */
  readonly message: string
  /** The tree that it begins with; null = an empty one. */
  readonly base: string | null
  readonly removed: ReadonlyArray<string>
  readonly set: ReadonlyArray<
    { readonly path: string; readonly mode: "100644" | "100755" | "120000"; readonly oid: string }
  >
  readonly manifest: string
}

/** @since 0.1.0 @category encoding */
export const writeCommit = (writer: Writer, commit: Commit): Effect.Effect<void, SnapshotError> =>
  Effect.gen(function*() {
    const encoder = new TextEncoder()
    const data = (text: string) => {
      const bytes = encoder.encode(text)
      return Effect.zipRight(
        writer.text(`data ${bytes.byteLength}\n`),
        Effect.zipRight(writer.bytes(bytes), writer.text("\n"))
      )
    }
    yield* writer.text(
      `commit ${commit.ref}\ncommitter snapshots <snapshots@localhost> ${commit.seconds} +0000\n`
    )
    yield* data(commit.message)
    if (commit.base !== null) yield* writer.text(`M 040000 ${commit.base} ""\n`)
    let lines = ""
    for (const path of commit.removed) lines += `D ${quoted(repositoryPath(path))}\n`
    for (const { mode, oid, path } of commit.set) lines += `M ${mode} ${oid} ${quoted(repositoryPath(path))}\n`
    yield* writer.text(lines)
    yield* writer.text("M 100644 inline manifest\n")
    yield* data(commit.manifest)
    yield* writer.text("ls \"\"\n\n")
  })

/** A blob by its content. @since 0.1.0 @category encoding */
export const writeBlob = (
  writer: Writer,
  size: number,
  content: Effect.Effect<Uint8Array | null>
): Effect.Effect<void, SnapshotError> =>
  Effect.gen(function*() {
    yield* writer.text(`blob\ndata ${size}\n`)
    for (let piece = yield* content; piece !== null; piece = yield* content) yield* writer.bytes(piece)
    yield* writer.text("\n")
  })
