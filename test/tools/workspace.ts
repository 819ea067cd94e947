/** A scratch workspace on the real file system, and the file tools over it. */
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { ToolResult } from "../../src/domain/Tool.ts"
import type { JsonObject } from "../../src/domain/Json.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Files } from "../../src/platform/Files.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { Spawner } from "../../src/platform/Spawner.ts"
import { FileTools } from "../../src/tools/FileTools.ts"
import { makeGrepToolJavaScript } from "../../src/tools/Grep.ts"
import type { NativeTool, ToolFailure } from "../../src/tools/Tool.ts"

/** A directory of its own that goes with the scope; canonical. */
export const scratch = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "files-")))),
  (at) => Effect.sync(() => fs.rmSync(at, { recursive: true, force: true }))
)

export interface World {
  /** Holds `project` (the workspace), `home` and whatever is outside. */
  readonly base: string
  readonly root: string
  readonly tool: (name: string) => NativeTool
  /** prepare and run, in session "s". */
  readonly call: (
    name: string,
    input: JsonObject,
    session?: string,
    denies?: (subject: string) => boolean
  ) => Effect.Effect<ToolResult, ToolFailure>
  readonly put: (name: string, content: string | Uint8Array) => string
  readonly text: (name: string) => string
}

const run = (session_id: string, denies?: (subject: string) => boolean) => ({
  session_id,
  call_id: "call_1",
  emit: () => Effect.void,
  ...(denies === undefined ? {} : { denies })
})

export const platform = (base: string, root: string, cwd: string, vars?: Record<string, string>) =>
  Layer.mergeAll(
    Layer.succeed(Workspace, { root, cwd }),
    Files.layer,
    AtomicFile.layer,
    Dirs.layerTest(base),
    Environment.layerTest({ vars: vars ?? { PATH: process.env["PATH"] ?? "/usr/bin:/bin" } }),
    Spawner.layerPlain.pipe(Layer.provide(Processes.layer)),
    Path.layer
  )

/** `cwd` relative to the workspace. */
export const world = (options: { readonly cwd?: string; readonly vars?: Record<string, string> } = {}) =>
  Effect.gen(function*() {
    const base = yield* scratch
    const root = path.join(base, "project")
    const cwd = path.join(root, options.cwd ?? ".")
    fs.mkdirSync(cwd, { recursive: true })
    fs.mkdirSync(path.join(base, "home"))
    const below = platform(base, root, cwd, options.vars)
    const context = yield* Layer.build(Layer.provideMerge(FileTools.layer, below))
    const tools = yield* Effect.provide(FileTools, context)
    const javascript = yield* Effect.provide(makeGrepToolJavaScript, context)
    const tool = (name: string): NativeTool => {
      const found = name === "grep_javascript" ? javascript : tools.find((one) => one.definition.name === name)
      if (found === undefined) throw new Error(`no tool ${name}`)
      return found
    }
    const made: World = {
      base,
      root,
      tool,
      call: (name, input, session = "s", denies) =>
        Effect.flatMap(tool(name).prepare(input), (prepared) => prepared.run(run(session, denies))),
      put: (name, content) => {
        const at = path.resolve(root, name)
        fs.mkdirSync(path.dirname(at), { recursive: true })
        fs.writeFileSync(at, content)
        return at
      },
      text: (name) => fs.readFileSync(path.resolve(root, name), "utf8")
    }
    return made
  })

/** The message of a call that must fail. */
export const failing = <A>(call: Effect.Effect<A, ToolFailure>): Effect.Effect<string> =>
  Effect.flatMap(Effect.either(call), (result) =>
    result._tag === "Left"
      ? Effect.succeed(result.left.message)
      : Effect.die(new Error(`succeeded: ${JSON.stringify(result.right)}`)))
