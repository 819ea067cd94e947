/**
 * Runs commands under the sandbox as whoever starts it: `driver.mjs REQUEST`, the request as JSON, the answers as JSON
 * on stdout. So the same checks run as root and as an ordinary user.
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Path from "@effect/platform/Path"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as fs from "node:fs"
import { Config } from "../../src/config/Config.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Files } from "../../src/platform/Files.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { Spawner } from "../../src/platform/Spawner.ts"
import { Container } from "../../src/sandbox/Detect.ts"
import { Enforcement, type MethodKind } from "../../src/sandbox/Enforcement.ts"
import { layerEnforcing } from "../../src/sandbox/Enforcing.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import type { Answer, Request } from "./support.ts"

export const layers = (request: Omit<Request, "commands">) => {
  const vars = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", ...request.env }
  const base = Layer.mergeAll(
    NodeFileSystem.layer,
    Path.layer,
    Files.layer,
    // The answers go to stdout.
    Logger.remove(Logger.defaultLogger),
    Processes.layer,
    Dirs.layerTest(request.base),
    Environment.layerTest({ vars, home: `${request.base}/home`, pid: process.pid, os: request.os ?? "linux" }),
    Config.layerText(JSON.stringify({ sandbox: request.sandbox, ...request.settings })),
    Layer.succeed(Workspace, { root: request.root, cwd: request.root }),
    Container.layerProbes({})
  )
  const enforcement = Layer.provideMerge(Enforcement.layerOf(request.methods as ReadonlyArray<MethodKind>), base)
  const sandbox = Layer.provideMerge(
    Sandbox.layerWith(
      request.resolve === undefined ? {} : {
        resolve: (host) => Promise.resolve(request.resolve?.[host] ?? []),
        mayConnect: (address) => request.reachable?.includes(address) === true
      }
    ),
    enforcement
  )
  return Layer.provideMerge(layerEnforcing, sandbox)
}

const program = (request: Request) =>
  Effect.gen(function*() {
    const spawner = yield* Spawner
    const sandbox = yield* Sandbox
    const env = new Map(Object.entries({ PATH: process.env["PATH"] ?? "/usr/bin:/bin", ...request.env }))
    const answers: Array<Answer> = []
    const run = (command: string) =>
      Effect.gen(function*() {
        const done = yield* Effect.either(spawner.run({
          argv: ["/bin/bash", "-c", command],
          cwd: request.root,
          env,
          timeout: Duration.seconds(20)
        }))
        const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
        return done._tag === "Left"
          ? { code: null, stdout: "", stderr: "", refused: `${done.left.reason}: ${done.left.message}` }
          : {
            code: done.right.code,
            stdout: text(done.right.stdout),
            stderr: text(done.right.stderr),
            refused: null,
            timed_out: done.right.timed_out
          }
      })
    if (request.together === true) answers.push(...(yield* Effect.all(request.commands.map(run), { concurrency: 8 })))
    else for (const command of request.commands) answers.push(yield* run(command))
    const status = yield* sandbox.status
    const notice = yield* sandbox.notice
    return { status, notice, answers }
  }).pipe(Effect.provide(layers(request)))

const [given] = process.argv.slice(2)
if (given !== undefined && process.argv[1]?.endsWith("driver.mjs") === true) {
  Effect.runPromise(program(JSON.parse(given) as Request)).then(
    (answer) => fs.writeSync(1, JSON.stringify(answer)),
    (cause: unknown) => {
      fs.writeSync(2, String(cause))
      process.exitCode = 1
    }
  )
}
