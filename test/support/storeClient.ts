/**
 * A process that wants the key of `anthropic`: `storeClient.cjs SERVER MODE` says `ready`, waits for the end of its
 * input, then says `key TOKEN` and what the server's resource answers to it, or one line of JSON. `MODE` kill ends it by
 * SIGKILL between the server's answer and the rename. The directories come from the environment.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as fs from "node:fs"
import * as http from "node:http"
import { ofText } from "../../src/config/Load.ts"
import { Credentials } from "../../src/credentials/Credentials.ts"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import { nodeCalls } from "../../src/platform/FileCalls.ts"
import { Files } from "../../src/platform/Files.ts"
import { Http } from "../../src/platform/Http.ts"
import { layer as platform } from "../../src/platform/NodePlatform.ts"
import { Processes } from "../../src/platform/Processes.ts"

const [server = "", mode = ""] = process.argv.slice(2)
const say = (line: string): void => void fs.writeSync(1, `${line}\n`)

const { config } = ofText(JSON.stringify({
  auth: {
    providers: {
      anthropic: {
        token_endpoint: `${server}/token`,
        authorization_endpoint: `${server}/authorize`,
        client_id: "client"
      }
    }
  }
}))

const files = mode === "kill"
  ? AtomicFile.layerCalls({
    ...nodeCalls,
    rename: (from, to) => {
      if (to.endsWith("/credentials.json")) process.kill(process.pid, "SIGKILL")
      return nodeCalls.rename(from, to)
    }
  })
  : AtomicFile.layer

const status = (token: string) =>
  Effect.async<number>((resume) => {
    http.get(`${server}/resource`, { headers: { authorization: `Bearer ${token}` } }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode ?? 0))
    })
  })

const program = Effect.gen(function*() {
  const credentials = yield* Credentials
  say("ready")
  yield* Effect.async<void>((resume) => {
    process.stdin.resume().on("end", () => resume(Effect.void))
  })
  const found = yield* credentials.keyFor("anthropic", config)
  if (Option.isNone(found)) return say("none")
  const token = Redacted.value(found.value.key)
  say(`key ${token}`)
  say(`resource ${yield* status(token)}`)
}).pipe(
  Effect.catchAll((error) => Effect.sync(() => say(JSON.stringify({ reason: error.reason, message: error.message })))),
  Effect.provide(
    Credentials.layer.pipe(
      Layer.provide(Layer.mergeAll(files, Files.layer, Processes.layer, Http.layer)),
      Layer.provide(platform)
    )
  )
)

void Effect.runPromise(program).then(() => process.exit(0))
