import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as LogLevel from "effect/LogLevel"
import * as Queue from "effect/Queue"
import { userInfo } from "node:os"
import { Dirs, fromEnvironment } from "../../src/platform/Dirs.ts"
import { Environment, variable } from "../../src/platform/Environment.ts"
import * as Log from "../../src/platform/Log.ts"
import { directoryFault, homeFault, homeOf } from "../../src/platform/Home.ts"
import { exitCodeOf, type SignalName, Signals } from "../../src/platform/Signals.ts"

const of = (vars: Record<string, string>) => fromEnvironment({ vars: new Map(Object.entries(vars)), home: "/home/me" })

describe("4.1, D12 the program's own directories", () => {
  it("HANZO_*_HOME, else an absolute XDG directory, else the usual place", () => {
    assert.deepEqual(of({}), {
      config: "/home/me/.config/hanzo",
      data: "/home/me/.local/share/hanzo",
      state: "/home/me/.local/state/hanzo",
      cache: "/home/me/.cache/hanzo",
      home: "/home/me"
    })
    assert.strictEqual(of({ XDG_CONFIG_HOME: "/x" }).config, "/x/hanzo")
    assert.strictEqual(of({ XDG_CONFIG_HOME: "relative" }).config, "/home/me/.config/hanzo")
    assert.strictEqual(of({ XDG_CONFIG_HOME: "" }).config, "/home/me/.config/hanzo")
    assert.strictEqual(of({ XDG_DATA_HOME: "/x", HANZO_DATA_HOME: "/y" }).data, "/y")
    assert.strictEqual(of({ HANZO_STATE_HOME: "/s/../t" }).state, "/t")
    assert.strictEqual(of({ HANZO_CACHE_HOME: "" }).cache, "/home/me/.cache/hanzo")
  })

  it("no relative or empty variable leads into the working directory, and the program says so", () => {
    assert.strictEqual(of({ HANZO_CONFIG_HOME: "./c" }).config, "/home/me/.config/hanzo")
    for (const name of ["HANZO_CONFIG_HOME", "HANZO_DATA_HOME", "HANZO_STATE_HOME", "HANZO_CACHE_HOME"]) {
      assert.include(homeFault({ HOME: "/home/me", [name]: "s" }) ?? "", `${name} is a relative path`)
    }
    assert.isNull(homeFault({ HOME: "/home/me", HANZO_CONFIG_HOME: "/c", HANZO_DATA_HOME: "" }))
    assert.strictEqual(homeOf("/home/me"), "/home/me")
    for (const home of ["", ".", "a/b"]) {
      const before = process.env["HOME"]
      process.env["HOME"] = home
      try {
        assert.strictEqual(homeOf(home), userInfo().homedir)
      } finally {
        process.env["HOME"] = before
      }
    }
  })

  it("a current directory that is gone is told with what to do", () => {
    assert.isNull(directoryFault(() => "/work"))
    const gone = directoryFault(() => {
      throw new Error("ENOENT: uv_cwd")
    })
    assert.include(gone ?? "", "go to another one")
  })

  it.effect("the layers agree", () =>
    Effect.gen(function*() {
      const dirs = yield* Dirs
      assert.strictEqual(dirs.config, "/c")
    }).pipe(Effect.provide(Layer.provide(Dirs.layer, Environment.layerTest({ vars: { HANZO_CONFIG_HOME: "/c" } })))))

  it("4.2 an empty variable counts as unset", () => {
    const environment = { vars: new Map([["A", ""], ["B", "x"]]) }
    assert.deepEqual(["A", "B", "C"].map((name) => variable(environment, name)), [undefined, "x", undefined])
  })
})

describe("the log", () => {
  it("knows its levels; a word that is none means warnings", () => {
    assert.strictEqual(Log.levelOf("DEBUG"), LogLevel.Debug)
    assert.strictEqual(Log.levelOf("none"), LogLevel.None)
    assert.strictEqual(Log.levelOf(undefined), LogLevel.Warning)
    assert.strictEqual(Log.levelOf("loud"), LogLevel.Warning)
  })

  it("neutralises what it writes", () => {
    const lines: Array<string> = []
    Effect.runSync(
      Effect.logError("a\u001b[2Jb").pipe(Effect.provide(Log.only(Log.make((line) => void lines.push(line)))))
    )
    assert.strictEqual(lines.length, 1)
    assert.notInclude(lines[0], "\u001b")
    assert.match(lines[0] ?? "", /\n$/)
  })
})

describe("signals", () => {
  it("have their exit codes", () => {
    assert.deepEqual((["SIGINT", "SIGTERM", "SIGHUP"] as const).map(exitCodeOf), [130, 143, 143])
  })

  it.effect("go to the latest subscriber, and to nobody's end when there is none", () => {
    let raise: (signal: SignalName) => Effect.Effect<void> = () => Effect.void
    return Effect.gen(function*() {
      const signals = yield* Signals
      yield* Effect.scoped(Effect.gen(function*() {
        const outer = yield* signals.subscribe
        yield* Effect.scoped(Effect.gen(function*() {
          const inner = yield* signals.subscribe
          yield* raise("SIGINT")
          assert.strictEqual(yield* Queue.take(inner), "SIGINT")
        }))
        yield* raise("SIGTERM")
        assert.strictEqual(yield* Queue.take(outer), "SIGTERM")
      }))
      yield* raise("SIGHUP")
      assert.strictEqual(yield* signals.unhandled, "SIGHUP")
    }).pipe(Effect.provide(Signals.layerTest((connected) => {
      raise = connected
    })))
  })
})
