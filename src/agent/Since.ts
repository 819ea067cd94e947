/**
 * What has changed in a workspace since a moment, as a diff (reading 14.5). A repository of our own in a temporary
 * directory takes the two states; the project's own repository is read for its index and objects at most, and nothing of
 * its settings is.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment } from "../platform/Environment.ts"
import { Files } from "../platform/Files.ts"
import { Processes } from "../platform/Processes.ts"

/** @since 0.1.0 @category models */
export interface Since {
  /** The diff up to now; null = it cannot be told. */
  readonly diff: Effect.Effect<string | null>
}

const unknown: Since = { diff: Effect.succeed(null) }

/** Outside of a repository more files than this are not looked through. */
const maxFiles = 5_000

const maxDiffBytes = 256 * 1024

/** Of the list of an index, in bytes. */
const maxIndexBytes = 64 * 1024 * 1024

/** Paths of repositories within, out of `ls-files --stage -z`, each with a NUL behind it; bytes, as paths may be no text. */
const linksIn = (listed: Uint8Array): Uint8Array => {
  const mode = new TextEncoder().encode("160000 ")
  const paths: Array<number> = []
  for (let from = 0; from < listed.length;) {
    const found = listed.indexOf(0, from)
    const end = found < 0 ? listed.length : found
    const tab = listed.indexOf(9, from)
    if (tab > 0 && tab < end && mode.every((byte, index) => listed[from + index] === byte)) {
      for (const byte of listed.subarray(tab + 1, end)) paths.push(byte)
      paths.push(0)
    }
    from = end + 1
  }
  return new Uint8Array(paths)
}

/** Takes the state of the directory as it is now. @since 0.1.0 @category constructors */
export const begin = (root: string): Effect.Effect<Since, never, Scope.Scope> =>
  Effect.gen(function*() {
    const fs = Option.getOrNull(yield* Effect.serviceOption(FileSystem.FileSystem))
    const processes = Option.getOrNull(yield* Effect.serviceOption(Processes))
    const environment = Option.getOrNull(yield* Effect.serviceOption(Environment))
    const files = Option.getOrNull(yield* Effect.serviceOption(Files))
    if (fs === null || processes === null || environment === null || files === null) return unknown
    const made = yield* Effect.option(fs.makeTempDirectoryScoped({ prefix: "hanzo-since-" }))
    if (Option.isNone(made)) return unknown
    const git = `${made.value}/git`
    const { vars } = environment
    const env = childEnvironment(vars, {
      drop: [...vars.keys()].filter((name) => name.startsWith("GIT_")),
      set: { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", GIT_TERMINAL_PROMPT: "0" }
    })
    const bytesOf = (
      args: ReadonlyArray<string>,
      max_bytes: number,
      stdin?: Uint8Array
    ): Effect.Effect<{ readonly bytes: Uint8Array; readonly truncated: boolean } | null> =>
      processes.run({
        argv: ["git", ...args],
        cwd: root,
        env,
        timeout: Duration.seconds(20),
        max_bytes,
        ...(stdin === undefined ? {} : { stdin })
      }).pipe(
        Effect.map((done) => done.code === 0 ? { bytes: done.stdout, truncated: done.truncated } : null),
        Effect.orElseSucceed(() => null)
      )
    const run = (args: ReadonlyArray<string>): Effect.Effect<string | null> =>
      Effect.map(bytesOf(args, maxDiffBytes), (done) => done === null ? null : new TextDecoder().decode(done.bytes))
    const inside = ["--git-dir", git, "--work-tree", root, "-c", "core.quotePath=false", "-c", "core.fsmonitor=false"]

    const own = `${root}/.git`
    const isDirectory = (path: string): Effect.Effect<boolean> =>
      Effect.orElseSucceed(Effect.map(fs.stat(path), (info) => info.type === "Directory"), () => false)
    const there = yield* Effect.orElseSucceed(fs.exists(own), () => false)
    if (!there) {
      const walked = yield* files.walk({ directory: root, pattern: "**" }).pipe(
        Effect.timeoutOption("2 seconds"),
        Effect.orElseSucceed(() => Option.none())
      )
      if (Option.isNone(walked) || walked.value.files.length > maxFiles) return unknown
    }
    if ((yield* run(["init", "-q", "--bare", git])) === null) return unknown
    if (yield* isDirectory(`${own}/objects`)) {
      // what the index knows already is not read again
      yield* Effect.ignore(fs.writeFileString(`${git}/objects/info/alternates`, `${own}/objects\n`))
      yield* Effect.ignore(fs.copyFile(`${own}/index`, `${git}/index`))
    }
    /** Git asks a repository that it knows of within for its state, which runs what the settings of that one name. */
    const forgetLinks: Effect.Effect<boolean> = Effect.gen(function*() {
      const listed = yield* bytesOf([...inside, "ls-files", "--stage", "-z"], maxIndexBytes)
      if (listed === null || listed.truncated) return false
      const links = linksIn(listed.bytes)
      return links.length === 0 ||
        (yield* bytesOf([...inside, "update-index", "-z", "--force-remove", "--stdin"], 4096, links)) !== null
    })
    const tree: Effect.Effect<string | null> = Effect.gen(function*() {
      if (!(yield* forgetLinks)) return null
      const added = yield* run([...inside, "add", "-A"])
      const written = added === null ? null : yield* run([...inside, "write-tree"])
      return written === null ? null : written.trim()
    })
    let before = yield* tree
    if (before === null) {
      // an index of a form that stands on other files
      yield* Effect.ignore(fs.remove(`${git}/index`))
      before = yield* tree
    }
    if (before === null) return unknown
    const first = before
    return {
      diff: Effect.flatMap(tree, (now) =>
        now === null
          ? Effect.succeed(null)
          : run([...inside, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "-M", first, now]))
    }
  })
