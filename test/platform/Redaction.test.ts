import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Environment } from "../../src/platform/Environment.ts"
import * as Log from "../../src/platform/Log.ts"
import { redactor } from "../../src/platform/Redaction.ts"
import { bundleProgram, folder } from "../support/program.ts"

const secret = "sk-0123456789/abc+def"

describe("the last look (G2)", () => {
  it("values of credential variables, also percent-encoded and as in JSON; nothing else", () => {
    const redact = redactor(
      new Map([["UP_API_KEY", secret], ["DB_PASSWORD", "with \"quotes\" in it"], ["HOME", "/home/user"]])
    )
    assert.strictEqual(
      redact(`a ${secret} b ${encodeURIComponent(secret)} c ${JSON.stringify("with \"quotes\" in it")} d /home/user`),
      "a [redacted] b [redacted] c \"[redacted]\" d /home/user"
    )
  })

  it.scopedLive("the log at its finest level", () =>
    Effect.gen(function*() {
      const directory = yield* Effect.acquireRelease(
        Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-log-"))),
        (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
      )
      const file = path.join(directory, "log")
      const environment = Environment.layerTest({
        vars: { UP_API_KEY: secret, HANZO_LOG_FILE: file, HANZO_LOG_LEVEL: "all" }
      })
      yield* Effect.logTrace(`sent ${secret}`).pipe(
        Effect.zipRight(Effect.logError(`broke with ${secret}`)),
        Effect.annotateLogs("key", secret),
        Effect.provide(Layer.provide(Log.layer, environment))
      )
      const text = fs.readFileSync(file, "utf8")
      assert.include(text, "sent [redacted]")
      assert.include(text, "broke with [redacted]")
      assert.notInclude(text, secret.slice(0, 12))
    }))

  it("a defect that holds a key: its stack trace does not", () => {
    const root = folder()
    try {
      const program = bundleProgram(new URL("../support/defect.ts", import.meta.url), root)
      const { status, stderr, stdout } = spawnSync(process.execPath, [program], {
        encoding: "utf8",
        env: { PATH: process.env["PATH"], HOME: root, UP_API_KEY: secret }
      })
      assert.deepStrictEqual([status, stdout], [1, ""])
      assert.match(stderr, /internal error: .*the key \[redacted\] is odd/u)
      assert.notInclude(stderr, secret.slice(0, 12))
    } finally {
      fs.rmSync(root, { recursive: true, force: true })
    }
  })
})
