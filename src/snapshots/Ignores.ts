/**
 * What the ignore rules of git say of the workspace: those of its files, of its repository and of the person. Asked of the
 * repository of the snapshots, so that nothing the project configures runs.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { latin1Of, octetsOf } from "../platform/ByteTree.ts"
import type { DirsService } from "../platform/Dirs.ts"
import { type EnvironmentService, variable } from "../platform/Environment.ts"
import * as Kept from "../platform/KeptFiles.ts"
import { type Git, gitFailure } from "./Git.ts"
import type { SnapshotError } from "./Snapshots.ts"

/** @since 0.1.0 @category models */
export interface Ignores {
  /** Stamps of the rules that lie outside of the tree. */
  readonly outer: () => string
  /** Stamp of the project's index; "" = it has none. */
  readonly projectIndex: () => string
  /** Brings the rules of the project's repository over. Throws the system's error. */
  readonly refresh: () => void
  readonly matched: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, SnapshotError>
  /** Files of the project's index that the rules match; none where that index cannot be read. */
  readonly tracked: Effect.Effect<ReadonlySet<string>, SnapshotError>
}

const names = (output: Uint8Array): ReadonlyArray<string> => latin1Of(output).split("\0").filter((name) => name !== "")

/** `excludes`: the person's own rules, as `core.excludesFile` names them. @since 0.1.0 @category constructors */
export const make = (
  git: Git,
  places: { readonly root: string; readonly repo: string; readonly excludes: string }
): Ignores => {
  const project = () => Kept.projectRepository(places.root)
  const config = [`core.excludesFile=${places.excludes}`]
  let copied: string | null = null
  return {
    outer: () => `${Kept.stampOf(project()?.exclude ?? "")} ${Kept.stampOf(places.excludes)} ${places.excludes}`,
    projectIndex: () => Kept.stampOf(project()?.index ?? ""),
    refresh: () => {
      const rules = Kept.readText(project()?.exclude ?? "") ?? ""
      if (rules === copied) return
      Kept.replaceText(`${places.repo}/info/exclude`, rules)
      copied = rules
    },
    matched: (paths) =>
      Effect.gen(function*() {
        if (paths.length === 0) return new Set<string>()
        // in front of a name that begins with a colon there must be something
        const args = ["check-ignore", "--no-index", "-z", "--stdin"]
        const stdin = octetsOf(paths.map((path) => `./${path}\0`).join(""))
        const done = yield* git.run({ args, stdin, work_tree: true, config })
        return done.code === 0 || done.code === 1
          ? new Set(names(done.stdout).map((name) => name.slice(2)))
          : yield* gitFailure(args, done)
      }),
    tracked: Effect.suspend(() => {
      const index = project()?.index
      if (index === undefined || Kept.stampOf(index) === "") return Effect.succeed(new Set<string>())
      return Effect.map(
        git.run({
          args: ["ls-files", "-c", "-i", "--exclude-standard", "-z"],
          work_tree: true,
          config,
          variables: { GIT_INDEX_FILE: index }
        }),
        (done) => new Set(done.code === 0 ? names(done.stdout) : [])
      )
    })
  }
}

/** Where the rules of the person are, as far as can be told without running git. @since 0.1.0 @category combinators */
export const personalRules = (environment: EnvironmentService, dirs: DirsService): string => {
  const base = variable(environment, "XDG_CONFIG_HOME") ?? `${dirs.home}/.config`
  for (const file of [`${dirs.home}/.gitconfig`, `${base}/git/config`]) {
    const named = /^[ \t]*excludes[Ff]ile[ \t]*=[ \t]*"?([^"\n]+?)"?[ \t]*$/mu.exec(Kept.readText(file) ?? "")?.[1]
    if (named !== undefined) return named.startsWith("~/") ? `${dirs.home}/${named.slice(2)}` : named
  }
  return `${base}/git/ignore`
}
