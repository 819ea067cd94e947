/** One prompt through the whole runtime, with a tool of our own decisions: who may do what is asked of this function. */
import { Agent, layerProcess, layerWorkspace, NodePlatform, type PermissionPrompterService } from "@hanzo/dev"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

const readOnly: PermissionPrompterService = {
  name: "read-only",
  requestPermission: (tool) =>
    Effect.succeed(
      ["read", "glob", "grep"].includes(tool)
        ? { decision: "allow" }
        : { decision: "deny", reason: "this program only looks" }
    )
}

const runtime = layerWorkspace({ prompters: [readOnly] }).pipe(
  Layer.provideMerge(layerProcess({ memory: true })),
  Layer.provide(NodePlatform.layer)
)

const program = Effect.gen(function*() {
  const agent = yield* Agent
  yield* agent.run({ prompt: process.argv[2] ?? "What is in this project?" }).pipe(
    Stream.runForEach((event) =>
      Effect.sync(() => {
        if (event.type === "text.delta") process.stdout.write(event.text)
        if (event.type === "tool.started") process.stderr.write(`* ${event.tool}\n`)
        if (event.type === "run.failed") process.stderr.write(`${event.error.message}\n`)
      })
    )
  )
})

await Effect.runPromise(Effect.provide(program, runtime))
