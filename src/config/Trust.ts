/**
 * Which workspaces the user trusts, and with what in them (reading 4.9): `<config home>/trust.json`.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import * as Layers from "../domain/Layers.ts"
import { once } from "../domain/Once.ts"
import { AtomicFile } from "../platform/AtomicFile.ts"
import { Dirs } from "../platform/Dirs.ts"
import type { FileError } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import { type Definition, definitionHash, type DefinitionKind, definitionKinds, definitionText } from "./Definitions.ts"

/**
 * What was trusted, and when (seconds since the epoch). `hash` is that of all definitions with the root; those of the
 * single ones, and their texts without secrets, serve to show what has changed.
 *
 * @since 0.1.0
 * @category models
 */
export interface TrustRecord {
  readonly hash: string
  readonly trusted_at: number
  readonly definitions: ReadonlyArray<{
    readonly kind: DefinitionKind
    readonly tier: "project" | "local"
    readonly key: string
    readonly hash: string
    readonly text: string
  }>
}

/** The file; keys nobody knows survive a rewrite. */
interface Parsed {
  readonly [key: string]: unknown
  readonly workspaces?: { readonly [root: string]: unknown } | undefined
}

const decodeFile = once(() => {
  const TrustFile: Schema.Schema<Parsed> = Schema.Struct(
    { workspaces: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })) },
    Schema.Record({ key: Schema.String, value: Schema.Unknown })
  )
  return Schema.decodeUnknownEither(Schema.parseJson(TrustFile))
})

const decodeRecord = once(() => {
  const Kind: Schema.Schema<DefinitionKind> = Schema.Literal(...definitionKinds)
  const Record: Schema.Schema<TrustRecord> = Schema.Struct({
    hash: Schema.String,
    trusted_at: Schema.Number,
    definitions: Schema.Array(Schema.Struct({
      kind: Kind,
      tier: Schema.Literal("project", "local"),
      key: Schema.String,
      hash: Schema.String,
      text: Schema.String
    }))
  })
  return Schema.decodeUnknownEither(Record)
})

/**
 * `unreadable`: the file cannot be read, or is no trust file. `unwritable`: it cannot be written. Nothing is trusted
 * then, and nothing is overwritten.
 *
 * @since 0.1.0
 * @category errors
 */
export class TrustError extends TaggedError("@hanzo/dev/config/TrustError")("TrustError", () => ({
  reason: Schema.Literal("unreadable", "unwritable"),
  file: Schema.String,
  message: Schema.String
})) {}

const parse = (text: string): Either.Either<Parsed, string> =>
  text.trim() === ""
    ? Either.right({})
    : Either.mapLeft(decodeFile()(text), () => "it is damaged; remove it, and workspaces are asked about again")

/** The record of a workspace in the text of the file; a record that cannot be read is none. @since 0.1.0 @category decoding */
export const recordIn = (text: string, root: string): Either.Either<TrustRecord | null, string> =>
  Either.map(parse(text), ({ workspaces = {} }) =>
    Object.hasOwn(workspaces, root)
      ? Either.getOrElse(decodeRecord()(workspaces[root]), () => null)
      : null)

/** The text of the file with another record of a workspace; null removes it. @since 0.1.0 @category encoding */
export const withRecord = (
  text: string,
  root: string,
  record: TrustRecord | null
): Either.Either<string, string> =>
  Either.map(parse(text), (file) => {
    const { [root]: _old, ...others } = file.workspaces ?? {}
    const workspaces = record === null ? others : { ...others, [root]: record }
    return `${JSON.stringify({ version: 1, ...file, workspaces }, null, 2)}\n`
  })

/** @since 0.1.0 @category constructors */
export const recordOf = (
  hash: string,
  definitions: ReadonlyArray<Definition>,
  trusted_at: number
): TrustRecord => ({
  hash,
  trusted_at,
  definitions: definitions.map((definition) => ({
    kind: definition.kind,
    tier: definition.tier,
    key: definition.key,
    hash: definitionHash(definition),
    text: definitionText(definition)
  }))
})

/** One thing of the question: what it is and what it does, without secrets. @since 0.1.0 @category models */
export interface TrustItem {
  readonly kind: DefinitionKind
  readonly tier: "project" | "local"
  readonly key: string
  readonly line: number | null
  readonly text: string
  /** Against what was trusted before; null = nothing was. */
  readonly change: "new" | "changed" | "same" | null
  /** What it was, when it has changed. */
  readonly before?: string
}

/** What a person is asked, as data. @since 0.1.0 @category models */
export interface TrustQuestion {
  /** Canonical. */
  readonly root: string
  readonly hash: string
  readonly items: ReadonlyArray<TrustItem>
  /** Trusted before and not there any more. */
  readonly removed: ReadonlyArray<{ readonly tier: "project" | "local"; readonly key: string; readonly text: string }>
}

/** @since 0.1.0 @category constructors */
export const questionOf = (
  root: string,
  hash: string,
  definitions: ReadonlyArray<Definition>,
  record: TrustRecord | null
): TrustQuestion => {
  const place = ({ key, tier }: { readonly key: string; readonly tier: string }): string => `${tier} ${key}`
  const old = new Map((record?.definitions ?? []).map((one) => [place(one), one]))
  const now = new Set(definitions.map(place))
  return {
    root,
    hash,
    items: definitions.map((definition) => {
      const { key, kind, line, tier } = definition
      const before = old.get(place(definition))
      const change = record === null
        ? null
        : before === undefined
        ? "new"
        : before.hash === definitionHash(definition)
        ? "same"
        : "changed"
      return {
        kind,
        tier,
        key,
        line,
        text: definitionText(definition),
        change,
        ...(change === "changed" && before !== undefined ? { before: before.text } : {})
      }
    }),
    removed: (record?.definitions ?? []).filter((one) => !now.has(place(one))).map(({ key, text, tier }) => ({
      tier,
      key,
      text
    }))
  }
}

/** @since 0.1.0 @category models */
export interface TrustService {
  /** Trusts a workspace with exactly these definitions. */
  readonly grant: (
    workspace: { readonly root: string; readonly hash: string; readonly definitions: ReadonlyArray<Definition> }
  ) => Effect.Effect<void, TrustError>
  /** Forgets a workspace; true = it was trusted. */
  readonly revoke: (root: string) => Effect.Effect<boolean, TrustError>
}

/** A holder that has not let go for this long has ended, in milliseconds; what it does takes a few. */
const staleMs = 10_000

/** Between two attempts to take the lock. */
const pause = "20 millis"

/** The file of trust below a config home. @since 0.1.0 @category constructors */
export const trustFile = (config_home: string): string => `${config_home}/trust.json`

/** Largest file of trust, in bytes. @since 0.1.0 @category constants */
export const maxTrustBytes = 16 * 1024 * 1024

const make = Effect.gen(function*() {
  const atomic = yield* AtomicFile
  const files = yield* Files
  const dirs = yield* Dirs
  const file = trustFile(dirs.config)

  const unwritable = (error: FileError): TrustError =>
    new TrustError({ reason: "unwritable", file, message: `trust cannot be remembered: ${error.message}` })

  /** Made only where there is none, so that one process at a time holds it. */
  const acquire = (lock: string): Effect.Effect<void, FileError> =>
    atomic.write(lock, "", { mode: 0o600, create_parents: 0o700, expect: "absent" }).pipe(
      Effect.asVoid,
      Effect.catchAll((error) =>
        error.reason !== "exists" ? Effect.fail(error) : Effect.gen(function*() {
          const now = yield* Clock.currentTimeMillis
          const held = yield* Effect.orElseSucceed(files.stat(lock), () => null)
          if (held !== null && now - Number(held.mtime_ns / 1_000_000n) > staleMs) {
            yield* Effect.ignore(files.remove(lock, held))
          } else yield* Effect.sleep(pause)
          return yield* acquire(lock)
        })
      )
    )

  const rewrite = (
    path: string,
    edit: (text: string) => Either.Either<string | null, string>
  ): Effect.Effect<void, TrustError> =>
    Effect.gen(function*() {
      const there = (yield* Effect.mapError(files.stat(path), unwritable)) !== null
      const old = there ? yield* Effect.mapError(files.read(path, maxTrustBytes), unwritable) : null
      const edited = edit(old === null ? "" : new TextDecoder().decode(old.bytes))
      if (Either.isLeft(edited)) {
        return yield* new TrustError({ reason: "unreadable", file, message: `${file}: ${edited.left}` })
      }
      if (edited.right === null) return
      yield* Effect.mapError(atomic.write(path, edited.right, { mode: 0o600, create_parents: 0o700 }), unwritable)
    })

  /** The file may be a link, or lie behind one: what it leads to is what is locked and written. */
  const change = (edit: (text: string) => Either.Either<string | null, string>): Effect.Effect<void, TrustError> =>
    Effect.flatMap(Effect.mapError(files.canonical(file), unwritable), ({ path }) =>
      Effect.acquireUseRelease(
        Effect.interruptible(Effect.mapError(acquire(`${path}.lock`), unwritable)),
        () => rewrite(path, edit),
        () => Effect.ignore(files.remove(`${path}.lock`))
      ))

  const service: TrustService = {
    grant: ({ definitions, hash, root }) =>
      Effect.flatMap(
        Clock.currentTimeMillis,
        (now) => change((text) => withRecord(text, root, recordOf(hash, definitions, Math.floor(now / 1000))))
      ),
    revoke: (root) =>
      Effect.suspend(() => {
        let known = false
        return Effect.map(
          change((text) =>
            Either.flatMap(recordIn(text, root), (record) => {
              known = record !== null
              return record === null ? Either.right(null) : withRecord(text, root, null)
            })
          ),
          () => known
        )
      })
  }
  return service
})

/** @since 0.1.0 @category services */
export class Trust extends Context.Tag("@hanzo/dev/config/Trust")<Trust, TrustService>() {
  static readonly layer: Layer.Layer<Trust, never, AtomicFile | Files | Dirs> = Layers.effect(Trust, make)
}
