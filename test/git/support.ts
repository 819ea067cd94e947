/** Real repositories with a bare remote, in a home of their own. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Git } from "../../src/git/Git.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { GitFiles } from "../../src/platform/GitFiles.ts"
import { Processes } from "../../src/platform/Processes.ts"

export interface Place {
  /** Everything is below it. */
  readonly root: string
  /** The working tree. */
  readonly repo: string
  /** The bare remote; exists when asked for. */
  readonly remote: string
  /** First on PATH. */
  readonly bin: string
  readonly vars: Record<string, string>
  /** Runs git, trims its output. */
  readonly git: (...args: ReadonlyArray<string>) => string
  readonly gitIn: (cwd: string, ...args: ReadonlyArray<string>) => string
  /** The exit code alone. */
  readonly gitCode: (...args: ReadonlyArray<string>) => number
  readonly write: (name: string, text: string) => void
  readonly read: (name: string) => string
  readonly hook: (name: string, script: string) => void
  /** A program of this name, first on PATH. */
  readonly program: (name: string, script: string) => void
  readonly index: () => string
  readonly head: () => string
}

export interface PlaceOptions {
  /** `none`: no repository; `unborn`: no commit; default: one commit of `a.txt` and `b.txt` on `main`. */
  readonly start?: "none" | "unborn" | "commit"
  /** With the bare remote as `origin`, and `main` pushed there. */
  readonly remote?: boolean
  readonly vars?: Record<string, string>
}

export const place = (options: PlaceOptions = {}): Effect.Effect<Place, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => make(options)),
    ({ root }) => Effect.sync(() => fs.rmSync(root, { recursive: true, force: true, maxRetries: 10 }))
  )

const make = (options: PlaceOptions): Place => {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-gitroom-")))
  const repo = path.join(root, "project")
  const remote = path.join(root, "remote.git")
  const bin = path.join(root, "bin")
  for (const folder of [repo, bin, path.join(root, "home")]) fs.mkdirSync(folder)
  const vars: Record<string, string> = {
    PATH: `${bin}:${process.env["PATH"] ?? "/usr/bin:/bin"}`,
    HOME: path.join(root, "home"),
    TMPDIR: os.tmpdir(),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: path.join(root, "gitconfig"),
    GIT_CEILING_DIRECTORIES: root,
    ...options.vars
  }
  fs.writeFileSync(
    path.join(root, "gitconfig"),
    "[user]\n\tname = Test\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n"
  )
  const gitIn = (cwd: string, ...args: ReadonlyArray<string>): string =>
    execFileSync("git", args, { cwd, env: vars, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trimEnd()
  const git = (...args: ReadonlyArray<string>): string => gitIn(repo, ...args)
  const write = (name: string, text: string): void => {
    const file = path.join(repo, name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
  }
  const executable = (file: string, script: string): void => {
    fs.writeFileSync(file, script.startsWith("#!") ? script : `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  if (options.start !== "none") git("init", "-q")
  if (options.start === undefined || options.start === "commit") {
    write("a.txt", "one\n")
    write("b.txt", "one\n")
    git("add", "-A")
    git("commit", "-qm", "feat: begin")
    if (options.remote === true) {
      gitIn(root, "init", "-q", "--bare", "remote.git")
      git("remote", "add", "origin", remote)
      git("push", "-q", "origin", "main")
    }
  }
  return {
    root,
    repo,
    remote,
    bin,
    vars,
    git,
    gitIn,
    gitCode: (...args) => spawnSync("git", args, { cwd: repo, env: vars }).status ?? -1,
    write,
    read: (name) => fs.readFileSync(path.join(repo, name), "utf8"),
    hook: (name, script) => executable(path.join(repo, ".git/hooks", name), script),
    program: (name, script) => executable(path.join(bin, name), script),
    index: () => fs.readFileSync(path.join(repo, ".git/index")).toString("hex"),
    head: () => git("rev-parse", "HEAD")
  }
}

/** The service in the working tree, or elsewhere. */
export const at = (here: Place, cwd: string = here.repo): Layer.Layer<Git> =>
  Git.layer.pipe(
    Layer.provide(Layer.mergeAll(
      Processes.layer,
      GitFiles.layer,
      Environment.layerTest({ vars: here.vars, cwd, home: here.root }),
      Layer.succeed(Workspace, { root: cwd, cwd })
    ))
  )

/** A test in a place of its own. */
export const inPlaceOf = <E>(
  options: PlaceOptions,
  body: (here: Place) => Effect.Effect<void, E, Scope.Scope>
): Effect.Effect<void, E> => Effect.scoped(Effect.flatMap(place(options), body))

/** The same, with the service in its working tree. */
export const inPlace = <E>(
  options: PlaceOptions,
  body: (here: Place) => Effect.Effect<void, E, Git | Scope.Scope>
): Effect.Effect<void, E> =>
  Effect.scoped(Effect.flatMap(place(options), (here) => Effect.provide(body(here), at(here))))
