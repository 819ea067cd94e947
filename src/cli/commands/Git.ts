/** `hanzo-dev git ...`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ProjectRoot from "../../app/ProjectRoot.ts"
import { Config } from "../../config/Config.ts"
import { Git } from "../../git/Git.ts"
import { Editor } from "../../platform/Editor.ts"
import { GitFiles } from "../../platform/GitFiles.ts"
import type { NodePlatform } from "../../platform/NodePlatform.ts"
import { Processes } from "../../platform/Processes.ts"
import { modelLayer, withScenario } from "../Compose.ts"
import { command } from "../Entry.ts"
import { usage } from "../Exit.ts"
import * as GitCommands from "../Git.ts"
import * as GitMessage from "../GitMessage.ts"
import * as Spec from "../Spec.ts"

const layer = (directory: string | undefined) =>
  Git.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(
      Processes.layer,
      GitFiles.layer,
      Editor.layer,
      Layer.mapError(ProjectRoot.layer(directory), (error) => usage(error.message))
    ))
  )

type CommitValues = Spec.Values<typeof Spec.gitCommit>

/**
 * The author of messages of a command: settings, record and model are there only when a message is to be written, and
 * whatever is wrong with them is told instead of one.
 */
const authorOf = (values: CommitValues) =>
  Effect.gen(function*() {
    if (values["no-model"]) return null
    const { model, scenario } = yield* withScenario(values)
    const context = yield* Effect.context<NodePlatform>()
    const author: GitMessage.Author = (change) =>
      Effect.gen(function*() {
        const config = yield* Config
        if (config.errors.length > 0) {
          return yield* usage("the settings have errors; hanzo-dev config validate shows them")
        }
        const write = yield* GitMessage.author(model === undefined ? {} : { model })
        return yield* write(change)
      }).pipe(
        Effect.provide(modelLayer({ directory: values.directory, scenario })),
        Effect.catchAll((exit) => Effect.succeed({ message: null, problem: exit.message, usages: [] })),
        Effect.provide(context)
      )
    return author
  })

/** @since 0.1.0 @category constructors */
export const branch = command(
  Spec.gitBranch,
  (values) => Effect.provide(GitCommands.branch(values), layer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const commit = command(
  Spec.gitCommit,
  (values) =>
    Effect.flatMap(
      authorOf(values),
      (author) => Effect.provide(GitCommands.commit(values, author), layer(values.directory))
    )
)

/** @since 0.1.0 @category constructors */
export const commitPushPr = command(
  Spec.gitCommitPushPr,
  (values) =>
    Effect.flatMap(
      authorOf(values),
      (author) => Effect.provide(GitCommands.commitPushPr(values, author), layer(values.directory))
    )
)

/** @since 0.1.0 @category constructors */
export const worktree = command(
  Spec.gitWorktree,
  (values) => Effect.provide(GitCommands.worktree(values), layer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const diff = command(
  Spec.gitDiff,
  (values) => Effect.provide(GitCommands.diff(values), layer(values.directory))
)

/** @since 0.1.0 @category constructors */
export const stash = command(
  Spec.gitStash,
  (values) => Effect.provide(GitCommands.stash(values), layer(values.directory))
)
