/** Language servers that could fetch types by themselves do not: what they would call stands in their PATH and is watched. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { Lsp } from "../../src/lsp/Lsp.ts"
import * as Rooms from "../support/lsp/room.ts"
import * as Servers from "../support/lsp/servers.ts"

const patience = 120_000

const source = (round: number): string => `const { chunk } = require("lodash")\nexports.x${round} = chunk([1], 1)\n`

/** Rounds of a change and its diagnostics until `npm` is called, -1 when it never is. */
const untilNpm = (servers: Readonly<Record<string, object>>, rounds: number) =>
  Effect.scoped(Effect.gen(function*() {
    const root = yield* Servers.project({
      "package.json": "{\"dependencies\":{\"lodash\":\"4.17.21\"}}",
      "a.js": source(0)
    })
    const bin = path.join(path.dirname(root), "bin")
    const calls = path.join(path.dirname(root), "npm-calls")
    fs.mkdirSync(bin)
    fs.writeFileSync(path.join(bin, "npm"), `#!/bin/sh\necho "$@" >> '${calls}'\nexit 1\n`, { mode: 0o755 })
    const search = `${bin}:${process.env["PATH"] ?? ""}`
    return yield* Effect.gen(function*() {
      const lsp = yield* Lsp
      for (let round = 1; round <= rounds; round++) {
        Servers.write(root, "a.js", source(round))
        const { ready } = yield* lsp.diagnostics(`${root}/a.js`, patience)
        assert.isTrue(ready)
        if (fs.existsSync(calls)) return round
      }
      return -1
    }).pipe(Effect.provide(Rooms.layerOf(root, { servers, path: search })))
  }))

describe("types are not fetched", () => {
  const command = Servers.real.typescript7.argv

  it.live("TypeScript 7", () =>
    Effect.gen(function*() {
      const asked = yield* untilNpm({
        typescript: { command, settings: { "js/ts": { tsserver: { automaticTypeAcquisition: { enabled: true } } } } }
      }, 200)
      assert.isAbove(asked, 0, "who asks for it gets it, so that the watching is worth something")
      assert.strictEqual(yield* untilNpm({ typescript: { command } }, asked * 3 + 10), -1)
    }), { timeout: 300_000 })
})
