/**
 * Whether git has taken up the local settings, which are one person's own (reading 4.1).
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment } from "../platform/Environment.ts"
import { Processes } from "../platform/Processes.ts"
import type { Issue } from "./Issue.ts"
import type { ConfigService } from "./Config.ts"

/** A warning when the local settings are tracked; git that is missing, or that finds no repository, has none. @since 0.1.0 @category combinators */
export const trackedLocal = (
  { files: { local }, trust: { root } }: Pick<ConfigService, "files" | "trust">
): Effect.Effect<ReadonlyArray<Issue>, never, Processes | Environment> =>
  Effect.gen(function*() {
    if (local === null || root === null) return []
    const processes = yield* Processes
    const environment = yield* Environment
    const found = yield* Effect.option(processes.run({
      // no program that the repository names is started: fsmonitor and hooks are off
      argv: [
        "git",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "ls-files",
        "--error-unmatch",
        "--",
        ".hanzo/settings.local.json"
      ],
      cwd: root,
      env: childEnvironment(environment.vars, { set: { LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" } }),
      timeout: Duration.seconds(5),
      max_bytes: 4096
    }))
    if (found._tag === "None" || found.value.code !== 0) return []
    return [{
      code: "tracked_local",
      tier: "local",
      file: local,
      key: null,
      line: null,
      column: null,
      message: "git tracks this file, which is meant for you alone; git rm --cached takes it out of the repository"
    }]
  })
