/**
 * Runs git on the repository of the snapshots and on nothing else: no configuration of the system, of the user or of the
 * project is read, no hook, filter, monitor, signature or collection of garbage ever runs.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { EnvironmentService } from "../platform/Environment.ts"
import type { ProcessError } from "../platform/ProcessError.ts"
import type { Completed, ProcessesService, SpawnInput } from "../platform/Processes.ts"
import { SnapshotError } from "./Snapshots.ts"

/** @since 0.1.0 @category models */
export interface GitInput {
  readonly args: ReadonlyArray<string>
  readonly stdin?: Uint8Array | "pipe"
  /** Looks at the files of the workspace: it is the work tree. */
  readonly work_tree?: boolean
  /** Settings of this call, `name=value`. */
  readonly config?: ReadonlyArray<string>
  readonly variables?: Readonly<Record<string, string>>
  readonly max_bytes?: number
}

/** @since 0.1.0 @category models */
export interface Git {
  readonly input: (input: GitInput) => SpawnInput
  /** Its output, whatever its exit code. */
  readonly run: (input: GitInput) => Effect.Effect<Completed, SnapshotError>
  /** Its output; another exit code than 0 fails with what it said. */
  readonly ok: (input: GitInput) => Effect.Effect<Completed, SnapshotError>
}

const settings = [
  "core.bare=true",
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.attributesFile=/dev/null",
  "core.autocrlf=false",
  "core.safecrlf=false",
  "core.quotePath=false",
  "core.sharedRepository=0600",
  "gc.auto=0",
  "maintenance.auto=false",
  "commit.gpgSign=false",
  "log.showSignature=false",
  "core.logAllRefUpdates=false",
  "advice.detachedHead=false"
]

/** No program of the workspace is ever taken for git. */
const pathOf = (environment: EnvironmentService, root: string): string =>
  (environment.vars.get("PATH") ?? "").split(":").filter((at) =>
    at.startsWith("/") && at !== root && !at.startsWith(root.endsWith("/") ? root : `${root}/`)
  ).join(":")

/** @since 0.1.0 @category constructors */
export const processFailure = (error: ProcessError): SnapshotError =>
  error.reason === "not_found" || error.reason === "not_executable"
    ? new SnapshotError({
      reason: "no_git",
      message: "there is no git on PATH, so files cannot be kept and put back: install git; " +
        "the conversation alone can be rewound"
    })
    : new SnapshotError({ reason: "failed", message: `snapshots: ${error.message}` })

const decoder = new TextDecoder()

/** What git said, in one line. @since 0.1.0 @category constructors */
export const gitFailure = (
  args: ReadonlyArray<string>,
  done: Pick<Completed, "stderr" | "code" | "signal">
): SnapshotError =>
  new SnapshotError({
    reason: "failed",
    message: `git ${args[0] ?? ""} on the repository of the snapshots ended with ${
      done.code ?? done.signal ?? "nothing"
    }: ${decoder.decode(done.stderr).trim().split("\n").slice(0, 3).join("; ").slice(0, 500) || "it said nothing"}`
  })

/** `repo` is the git directory, `home` the directory it lies in. @since 0.1.0 @category constructors */
export const make = (
  processes: ProcessesService,
  environment: EnvironmentService,
  places: { readonly root: string; readonly repo: string; readonly home: string }
): Git => {
  const shared: ReadonlyArray<readonly [string, string]> = [
    ["PATH", pathOf(environment, places.root)],
    ["HOME", places.home],
    ["XDG_CONFIG_HOME", places.home],
    ["LC_ALL", "C"],
    ["GIT_CONFIG_NOSYSTEM", "1"],
    ["GIT_CONFIG_SYSTEM", "/dev/null"],
    ["GIT_CONFIG_GLOBAL", "/dev/null"],
    ["GIT_ATTR_NOSYSTEM", "1"],
    ["GIT_TERMINAL_PROMPT", "0"],
    ["GIT_OPTIONAL_LOCKS", "0"],
    ["GIT_NO_REPLACE_OBJECTS", "1"]
  ]
  const flags = settings.flatMap((setting) => ["-c", setting])
  const spawnInput = (input: GitInput): SpawnInput => ({
    argv: [
      "git",
      ...flags,
      ...(input.work_tree === true ? ["-c", "core.bare=false"] : []),
      ...(input.config ?? []).flatMap((setting) => ["-c", setting]),
      `--git-dir=${places.repo}`,
      ...(input.work_tree === true ? [`--work-tree=${places.root}`] : []),
      ...input.args
    ],
    cwd: input.work_tree === true ? places.root : places.home,
    env: new Map([...shared, ...Object.entries(input.variables ?? {})]),
    grace: Duration.seconds(5),
    ...(input.stdin === undefined ? {} : { stdin: input.stdin })
  })
  const run: Git["run"] = (input) =>
    Effect.mapError(
      processes.run({ ...spawnInput(input), max_bytes: input.max_bytes ?? 256 * 1024 * 1024 }),
      processFailure
    )
  return {
    input: spawnInput,
    run,
    ok: (input) =>
      Effect.flatMap(
        run(input),
        (done) => done.code === 0 && !done.truncated ? Effect.succeed(done) : Effect.fail(gitFailure(input.args, done))
      )
  }
}
