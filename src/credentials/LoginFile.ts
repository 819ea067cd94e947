/**
 * The file of logins on the disk (readings 6.10, G4): read, kept to its owner, changed under its lock, written whole.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import { AtomicFile, type WriteOptions } from "../platform/AtomicFile.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Environment } from "../platform/Environment.ts"
import type { FileStamp } from "../platform/FileCalls.ts"
import type { FileError } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import { FileLock, type HeldLock } from "../platform/FileLock.ts"
import { CredentialError } from "./CredentialError.ts"
import * as CredentialFile from "./CredentialFile.ts"
import type { CredentialStoreService, StoreNeeds } from "./CredentialStore.ts"
import { fileIn } from "./Expiry.ts"
import type { ProviderCredential } from "./ProviderCredential.ts"

/** What is on the disk. @since 0.1.0 @category models */
export interface Content {
  /** Canonical. */
  readonly path: string
  readonly text: string
  /** Null = there is no file yet. */
  readonly stamp: FileStamp | null
}

/** @since 0.1.0 @category models */
export interface LoginFile extends Pick<CredentialStoreService, "file" | "ready" | "store" | "remove"> {
  /** Costs one look when there is none. */
  readonly read: Effect.Effect<Content, CredentialError>
  readonly entriesOf: (text: string) => Effect.Effect<ReadonlyMap<string, CredentialFile.Entry>, CredentialError>
  readonly loginIn: (
    text: string,
    provider: string
  ) => Effect.Effect<Option.Option<ProviderCredential>, CredentialError>
  /** With a provider the fault is in its entry alone. */
  readonly corrupt: (problem: CredentialFile.Problem, provider?: string) => CredentialError
  /** One process at a time. */
  readonly locked: <A>(body: (held: HeldLock) => Effect.Effect<A, CredentialError>) => Effect.Effect<A, CredentialError>
  /** Under the lock: this login over the one of before. */
  readonly put: (credential: ProviderCredential) => Effect.Effect<void, CredentialError>
  /** Could another login be stored now? */
  readonly roomFor: (content: Content, undone?: string) => Effect.Effect<void, CredentialError>
}

const dirname = (path: string): string => path.slice(0, Math.max(path.lastIndexOf("/"), 1))

const maxBytes = 4 * 1024 * 1024
const attempts = 8
const lockWait = Duration.minutes(2)

/** @since 0.1.0 @category constructors */
export const make: Effect.Effect<LoginFile, never, StoreNeeds | FileLock> = Effect.gen(function*() {
  const atomic = yield* AtomicFile
  const files = yield* Files
  const fs = yield* FileSystem.FileSystem
  const lock = yield* FileLock
  const { os, vars } = yield* Environment
  /** Nobody chose the directory. */
  const own = !vars.get("HANZO_CONFIG_HOME")
  const { config: home } = yield* Dirs
  const file = fileIn(home)
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

  const broken = (reason: "unreadable" | "unwritable", file_error: FileError): CredentialError =>
    new CredentialError({ reason, message: file_error.message })
  const unreadable = (error: FileError) => broken("unreadable", error)

  const corrupt: LoginFile["corrupt"] = ({ column, line, message }, provider) =>
    new CredentialError({
      reason: "corrupt",
      ...(provider === undefined ? {} : { provider }),
      message: `${file}, line ${line}, column ${column}: ${message}; correct the file or move it away, nothing is ` +
        `overwritten`
    })

  const wide = ({ mode }: FileStamp): boolean => os !== "win32" && (mode & 0o077) !== 0

  /** Nobody else may read the file (reading 6.10). */
  const tightened = (path: string, stamp: FileStamp): Effect.Effect<FileStamp, CredentialError> =>
    Effect.gen(function*() {
      if (!wide(stamp)) return stamp
      const said = stamp.mode.toString(8).padStart(4, "0")
      yield* Effect.ignore(fs.chmod(path, 0o600))
      const now = yield* Effect.mapError(files.stat(path), unreadable)
      if (now === null || wide(now)) {
        return yield* new CredentialError({
          reason: "insecure",
          message: `${path} holds logins and others may read it (mode ${said}), which could not be changed; make it ` +
            `yours alone (chmod 600), or move it to a file system that knows permissions`
        })
      }
      yield* Effect.logWarning(
        `${path} holds logins and others could read it (mode ${said}); it is readable for you alone now`
      )
      return now
    })

  /** Each directory once. */
  const looked = new Set<string>()

  /**
   * The directory of the file. The program's own one is made private; in another one, that somebody chose, it is said
   * when others may write there, since they could put another file in its place.
   */
  const closed = (path: string): Effect.Effect<void> =>
    Effect.gen(function*() {
      const directory = dirname(path)
      if (os === "win32" || looked.has(directory)) return
      looked.add(directory)
      const found = yield* files.stat(directory)
      if (found === null || !wide(found)) return
      const said = found.mode.toString(8).padStart(4, "0")
      if (own && directory === home && (yield* Effect.isSuccess(fs.chmod(directory, 0o700)))) {
        return yield* Effect.logWarning(
          `${directory} holds logins and was open to others (mode ${said}); it is yours alone now`
        )
      }
      if ((found.mode & 0o022) === 0 || (found.mode & 0o1000) !== 0) return
      yield* Effect.logWarning(
        `others may write in ${directory} (mode ${said}) and put another file in the place of your logins; make it yours ` +
          `alone (chmod 700)`
      )
    }).pipe(Effect.ignore)

  /** The file as it stands; costs one look when there is none. */
  const read: Effect.Effect<Content, CredentialError> = Effect.gen(function*() {
    const there = yield* files.stat(file).pipe(
      Effect.catchAll((error) => error.reason === "not_a_directory" ? Effect.succeed(null) : Effect.fail(error)),
      Effect.mapError(unreadable)
    )
    if (there === null) return { path: file, text: "", stamp: null }
    const { kind, path } = yield* Effect.mapError(files.canonical(file), unreadable)
    if (kind === null) return { path, text: "", stamp: null }
    const found = yield* Effect.mapError(files.stat(path), unreadable)
    if (found !== null && found.kind === "file") {
      yield* closed(path)
      yield* tightened(path, found)
    }
    const { bytes, stamp } = yield* Effect.mapError(files.read(path, maxBytes), unreadable)
    const text = yield* Effect.try({
      try: () => decoder.decode(bytes),
      catch: () => corrupt({ line: 1, column: 1, message: "the file is not UTF-8" })
    })
    return { path, text, stamp }
  })

  const entriesOf = (text: string): Effect.Effect<ReadonlyMap<string, CredentialFile.Entry>, CredentialError> => {
    const parsed = CredentialFile.parse(text)
    return "problem" in parsed ? Effect.fail(corrupt(parsed.problem)) : Effect.succeed(parsed.entries)
  }

  const loginIn = (
    text: string,
    provider: string
  ): Effect.Effect<Option.Option<ProviderCredential>, CredentialError> =>
    Effect.flatMap(entriesOf(text), (entries) => {
      const entry = entries.get(provider)
      if (entry === undefined) return Effect.succeedNone
      return "problem" in entry ? Effect.fail(corrupt(entry.problem, provider)) : Effect.succeedSome(entry.credential)
    })

  const locked = <A>(body: (held: HeldLock) => Effect.Effect<A, CredentialError>): Effect.Effect<A, CredentialError> =>
    Effect.scoped(
      lock.acquire(file, { create_parents: 0o700, timeout: lockWait }).pipe(
        Effect.mapError((error) =>
          new CredentialError({
            reason: error.reason === "busy" ? "busy" : "unwritable",
            message: `the logins in ${file} cannot be changed: ${error.message}`
          })
        ),
        Effect.flatMap(body)
      )
    )

  const options = (stamp: FileStamp | null): WriteOptions => ({
    mode: 0o600,
    create_parents: 0o700,
    expect: stamp ?? "absent",
    approved: true
  })

  /** Under the lock: a program that knows nothing of it may still write in between, then the change is made again. */
  const change = <A>(
    edit: (content: Content) => Effect.Effect<{ readonly text: string; readonly result: A }, CredentialError>
  ): Effect.Effect<A, CredentialError> => {
    const attempt = (left: number): Effect.Effect<A, CredentialError> =>
      Effect.gen(function*() {
        const content = yield* read
        const { result, text } = yield* edit(content)
        if (text === content.text) return result
        // a file that is not there yet may lie behind a linked directory
        const { path } = content.stamp === null ? yield* Effect.mapError(files.canonical(file), unreadable) : content
        return yield* atomic.write(path, text, options(content.stamp)).pipe(
          Effect.as(result),
          Effect.catchAll((error) =>
            (error.reason === "changed" || error.reason === "exists") && left > 0
              ? attempt(left - 1)
              : Effect.fail(broken("unwritable", error))
          )
        )
      })
    return attempt(attempts)
  }

  const put = (credential: ProviderCredential): Effect.Effect<void, CredentialError> =>
    change(({ text }) =>
      Effect.as(entriesOf(text), { text: CredentialFile.withLogin(text, credential), result: undefined })
    )

  const store: LoginFile["store"] = (credential, { replace_corrupt = false } = {}) =>
    Effect.gen(function*() {
      const problem = CredentialFile.nameProblem(credential.provider)
      if (problem !== null) return yield* new CredentialError({ reason: "invalid_name", message: problem })
      const write = change(({ text }) =>
        Effect.as(loginIn(text, credential.provider), {
          text: CredentialFile.withLogin(text, credential),
          result: { kept: null }
        })
      )
      /** The old file keeps its bytes under another name; the new one holds what of it is sound. */
      const replace = (error: CredentialError) =>
        Effect.gen(function*() {
          const { kind, path } = yield* Effect.mapError(files.canonical(file), unreadable)
          if (kind !== "file") return yield* error
          const { bytes, stamp } = yield* Effect.mapError(files.read(path, maxBytes), unreadable)
          const kept = `${path}.corrupt-${yield* Clock.currentTimeMillis}`
          yield* Effect.mapError(
            atomic.write(kept, bytes, { mode: 0o600, expect: "absent" }),
            (file_error) => broken("unwritable", file_error)
          )
          const parsed = CredentialFile.parse(new TextDecoder().decode(bytes))
          const others = "problem" in parsed
            ? ""
            : CredentialFile.withoutLogin(new TextDecoder().decode(bytes), credential.provider)
          yield* Effect.mapError(
            atomic.write(path, CredentialFile.withLogin(others, credential), options(stamp)),
            (file_error) => broken("unwritable", file_error)
          )
          return { kept }
        })
      return yield* locked(() =>
        Effect.uninterruptible(
          replace_corrupt ? Effect.catchIf(write, ({ reason }) => reason === "corrupt", replace) : write
        )
      )
    })

  const remove: LoginFile["remove"] = (provider) =>
    Effect.gen(function*() {
      // nothing there: no lock file is left in a directory that may not even exist
      if (!(yield* Effect.flatMap(read, ({ text }) => entriesOf(text))).has(provider)) return false
      return yield* locked(() =>
        change(({ text }) =>
          Effect.map(entriesOf(text), (entries) =>
            entries.has(provider)
              ? { text: CredentialFile.withoutLogin(text, provider), result: true }
              : { text, result: false })
        )
      )
    })

  /**
   * A refresh uses up the refresh token, so the answer must find its place: a directory that takes no new files and a
   * full disk are found out before anything is asked.
   */
  const roomFor: LoginFile["roomFor"] = ({ path, text }, undone = "the login was not refreshed, since the new one") => {
    const probe = `${path.slice(0, path.lastIndexOf("/"))}/.credentials.json.room`
    return atomic.write(probe, new Uint8Array(text.length + 16_384), { mode: 0o600 }).pipe(
      Effect.zipRight(files.remove(probe)),
      Effect.mapError((error) =>
        new CredentialError({
          reason: "unwritable",
          message: `${undone} could not be stored in ${path}: ${error.why}`
        })
      ),
      Effect.uninterruptible
    )
  }

  const ready: LoginFile["ready"] = locked(() =>
    Effect.gen(function*() {
      const { kind, path } = yield* Effect.mapError(files.canonical(file), unreadable)
      const stamp = kind === null ? null : yield* Effect.mapError(files.stat(path), unreadable)
      const text = " ".repeat(Math.min(Number(stamp?.size ?? 0), maxBytes))
      yield* roomFor({ path, text, stamp }, "nothing was done, since what comes of it")
    })
  )

  const service: LoginFile = { file, read, entriesOf, loginIn, corrupt, locked, put, ready, store, remove, roomFor }
  return service
})
