import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as TestServices from "effect/TestServices"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { FileLock, heartbeatMs, type LockOptions, staleMs } from "../../src/platform/FileLock.ts"
import { identify, type Liveness, ProcessIdentity } from "../../src/platform/ProcessIdentity.ts"
import { start } from "../storage/support.ts"
import { logTo } from "../support/logged.ts"
import { bundleProgram, folder } from "../support/program.ts"

const root = folder()
let program = ""
beforeAll(() => {
  program = bundleProgram(new URL("../support/lockHolder.ts", import.meta.url), root)
})
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

let count = 0
const place = (): string => {
  const dir = path.join(root, `t${++count}`)
  fs.mkdirSync(dir)
  const target = path.join(dir, "target")
  fs.writeFileSync(target, "0")
  return target
}

const acquire = (target: string, options?: LockOptions) =>
  Effect.flatMap(FileLock, (lock) => lock.acquire(target, options))

const left = (target: string) => fs.readdirSync(path.dirname(target)).sort()

/** A lock file as another process would have left it; `beat` in milliseconds. */
const foreign = (target: string, holder: object, beat: number) => {
  const file = `${target}.lock`
  fs.writeFileSync(
    file,
    JSON.stringify({ pid: 1, started: "", host: "elsewhere", token: "00000000000000aa", ...holder })
  )
  fs.utimesSync(file, beat / 1000, beat / 1000)
  return file
}

/** In real time, until a fiber sleeps by the test's clock. */
const asleep = Effect.repeat(
  Effect.zipRight(Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 2))), TestClock.sleeps()),
  { until: (sleeps) => [...sleeps].length > 0 }
)

const live = <A, E>(effect: Effect.Effect<A, E, FileLock>) =>
  effect.pipe(TestServices.provideLive, Effect.provide(FileLock.layer))

describe("FileLock", () => {
  it.effect("6.8: holder with pid, start time and host, for its owner alone; nothing is left behind", () =>
    live(Effect.gen(function*() {
      const target = place()
      yield* Effect.scoped(Effect.gen(function*() {
        const held = yield* acquire(target)
        assert.strictEqual(held.path, `${target}.lock`)
        assert.isTrue(yield* held.held)
        const { token, ...said } = JSON.parse(fs.readFileSync(held.path, "utf8"))
        assert.deepStrictEqual(said, { ...identify(process.pid), host: os.hostname() })
        assert.match(token, /^[0-9a-f]{16}$/)
        assert.strictEqual(fs.statSync(held.path).mode & 0o777, 0o600)
        assert.isBelow(Math.abs(Date.now() - fs.statSync(held.path).mtimeMs), 5_000)
      }))
      assert.deepStrictEqual(left(target), ["target"])
    })))

  it.effect("released on failure, defect and interruption; a waiter can be interrupted", () =>
    live(Effect.gen(function*() {
      const target = place()
      for (const end of [Effect.fail("no"), Effect.die("bug"), Effect.interrupt]) {
        yield* Effect.exit(Effect.scoped(Effect.zipRight(acquire(target), end)))
        assert.deepStrictEqual(left(target), ["target"])
      }
      yield* Effect.scoped(Effect.gen(function*() {
        yield* acquire(target)
        const waiter = yield* Effect.fork(Effect.scoped(acquire(target)))
        yield* Effect.sleep(50)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(waiter)))
        const error = yield* Effect.flip(Effect.scoped(acquire(target, { timeout: Duration.millis(60) })))
        assert.strictEqual(error.reason, "busy")
        assert.include(error.message, `process ${process.pid}`)
        assert.include(error.message, `${target}.lock`)
      }))
      assert.deepStrictEqual(left(target), ["target"])
    })))

  it.effect("all names of a file have one lock; missing directories are made on demand", () =>
    live(
      Effect.gen(function*() {
        const target = place()
        const link = path.join(root, `link${count}`)
        fs.symlinkSync(target, link)
        const held = yield* acquire(link)
        assert.strictEqual(held.path, `${target}.lock`)
        const below = path.join(path.dirname(target), "a/b/file")
        const error = yield* Effect.flip(acquire(below))
        assert.strictEqual(error.reason, "unwritable")
        assert.include(error.message, `${below}.lock`)
        yield* acquire(below, { create_parents: 0o700 })
        assert.strictEqual(fs.statSync(path.dirname(below)).mode & 0o777, 0o700)
        fs.mkdirSync(`${target}2.lock`)
        assert.strictEqual((yield* Effect.flip(acquire(`${target}2`))).reason, "unwritable")
      }).pipe(Effect.scoped)
    ))

  it.effect("a directory that takes no new files is said, with what to do", () =>
    Effect.promise(async () => {
      const target = place()
      fs.chmodSync(root, 0o755)
      fs.chmodSync(path.dirname(target), 0o555)
      const holder = start(program, [target, "hold"], process.getuid?.() === 0 ? 65_534 : undefined)
      const said = JSON.parse(await holder.line((line) => line.startsWith("{")))
      assert.strictEqual(said.reason, "unwritable")
      assert.include(said.message, `${target}.lock`)
      assert.include(said.message, "must be writable")
      holder.child.stdin?.end()
      await holder.ended
      fs.chmodSync(path.dirname(target), 0o755)
    }))

  it.effect("a process whose number was given away again, or that has ended, holds nothing; one elsewhere does", () =>
    live(Effect.gen(function*() {
      const self = identify(process.pid)
      const host = os.hostname()
      for (
        const gone of [{ pid: process.pid, started: `${self.started}0` }, { pid: 2 ** 22 - 1, started: self.started }]
      ) {
        const target = place()
        foreign(target, { host, ...gone }, Date.now())
        yield* Effect.scoped(acquire(target, { timeout: Duration.seconds(5) }))
        assert.deepStrictEqual(left(target), ["target"])
      }
      for (const alive of [{ host, ...self }, { host: "elsewhere", pid: 2 ** 22 - 1 }, { token: "../../etc/passwd" }]) {
        const target = place()
        foreign(target, alive, Date.now())
        const error = yield* Effect.flip(Effect.scoped(acquire(target, { timeout: Duration.millis(40) })))
        assert.strictEqual(error.reason, "busy")
        assert.deepStrictEqual(left(target), ["target", "target.lock"])
      }
    })))

  it.effect("a taker that was killed between claim and lock blocks nobody", () =>
    live(Effect.gen(function*() {
      const target = place()
      const host = os.hostname()
      const file = foreign(target, { host, pid: 2 ** 22 - 1 }, Date.now())
      fs.copyFileSync(file, `${file}.00000000000000aa`)
      fs.writeFileSync(
        `${file}.00000000000000aa`,
        JSON.stringify({ pid: 2 ** 22 - 2, started: "", host, token: "00000000000000bb" })
      )
      yield* Effect.scoped(acquire(target, { timeout: Duration.seconds(5) }))
      assert.deepStrictEqual(left(target), ["target"])
    })))

  describe("by the clock", () => {
    const identity = (liveness: Liveness) =>
      Layer.provide(
        FileLock.layerProcesses,
        Layer.succeed(ProcessIdentity, {
          self: Effect.succeed(identify(process.pid)),
          liveness: () => Effect.succeed(liveness)
        })
      )

    it.effect("heartbeat every 5 s while it is held, none after", () =>
      Effect.gen(function*() {
        const target = place()
        const scope = yield* Scope.make()
        const { path: file } = yield* Scope.extend(acquire(target), scope)
        const beats: Array<number> = []
        for (let i = 0; i < 3; i++) {
          beats.push(fs.statSync(file).mtimeMs)
          yield* TestClock.adjust(heartbeatMs)
        }
        assert.deepStrictEqual(beats, [0, heartbeatMs, 2 * heartbeatMs])
        yield* Scope.close(scope, Exit.void)
        // its descriptor may be another file's by now
        const reused = fs.openSync(path.join(path.dirname(target), "next"), "w")
        yield* TestClock.adjust(2 * heartbeatMs)
        assert.isAbove(fs.fstatSync(reused).mtimeMs, 1_000_000)
        fs.closeSync(reused)
      }).pipe(Effect.provide(identity("alive"))))

    it.effect("without a heartbeat for 30 s it is free, not before", () =>
      Effect.gen(function*() {
        const target = place()
        foreign(target, {}, 0)
        const waiter = yield* Effect.fork(Effect.scoped(acquire(target)))
        yield* asleep
        yield* TestClock.adjust(staleMs - 1_000)
        assert.isNull(yield* Fiber.poll(waiter).pipe(Effect.map((exit) => exit._tag === "Some" ? exit : null)))
        yield* TestClock.adjust(2_000)
        yield* Fiber.join(waiter)
      }).pipe(Effect.provide(identity("unknown"))))

    it.effect("one that was old already is watched for a heartbeat first; one that beats stays", () =>
      Effect.gen(function*() {
        const target = place()
        yield* TestClock.adjust(100_000)
        const file = foreign(target, {}, 0)
        const waiter = yield* Effect.fork(Effect.scoped(acquire(target)))
        yield* asleep
        yield* TestClock.adjust(heartbeatMs)
        assert.isTrue(fs.existsSync(file))
        // after a sleep of the machine the holder beats again
        fs.utimesSync(file, 105, 105)
        for (let at = 110; at < 200; at += 5) {
          yield* TestClock.adjust(heartbeatMs)
          fs.utimesSync(file, at, at)
        }
        assert.isTrue(fs.existsSync(file))
        yield* TestClock.adjust(staleMs + 1_000)
        yield* Fiber.join(waiter)

        foreign(target, {}, 0)
        const other = yield* Effect.fork(Effect.scoped(acquire(target)))
        yield* asleep
        yield* TestClock.adjust(7_000)
        yield* Fiber.join(other)
      }).pipe(Effect.provide(identity("unknown"))))

    it.effect("waiting for more than two seconds is told once, with who holds it", () => {
      const lines: Array<string> = []
      return Effect.gen(function*() {
        const target = place()
        yield* acquire(target)
        const other = yield* Effect.fork(
          Effect.flip(Effect.scoped(acquire(target, { timeout: Duration.seconds(4) })))
        )
        for (let passed = 0; passed < 1_800; passed += 200) {
          yield* asleep
          yield* TestClock.adjust(200)
        }
        assert.deepStrictEqual(lines, [])
        while (other.unsafePoll() === null) {
          yield* asleep
          yield* TestClock.adjust(200)
        }
        assert.strictEqual((yield* Fiber.join(other)).reason, "busy")
        assert.strictEqual(lines.length, 1)
        assert.include(lines[0], `waiting: ${target}.lock is held by process ${process.pid};`)
      }).pipe(Effect.scoped, Effect.provide(Layer.merge(identity("alive"), logTo(lines))))
    })

    it.effect("who lost it is told, and does not take it from the next one", () =>
      Effect.gen(function*() {
        const target = place()
        const scope = yield* Scope.make()
        const lost = yield* Scope.extend(acquire(target), scope)
        fs.rmSync(lost.path)
        const next = yield* Effect.scope
        const held = yield* Scope.extend(acquire(target), next)
        assert.deepStrictEqual([yield* lost.held, yield* held.held], [false, true])
        yield* Scope.close(scope, Exit.void)
        assert.isTrue(yield* held.held)
      }).pipe(Effect.scoped, Effect.provide(identity("alive"))))
  })

  const contend = async (target: string, processes: number, times: number) => {
    const all = Array.from({ length: processes }, () => start(program, [target, "count", String(times)]))
    await Promise.all(all.map(({ line }) => line((text) => text === "ready")))
    for (const { child } of all) child.stdin?.end()
    for (const { ended, lines } of all) {
      assert.deepStrictEqual(await ended, { code: 0, stderr: "" })
      // who waits long says so
      assert.deepStrictEqual(lines.filter((line) => !line.includes("waiting: ")), ["ready", "done"])
    }
    assert.strictEqual(fs.readFileSync(target, "utf8"), String(processes * times))
    assert.deepStrictEqual(left(target), ["target"])
  }

  it.effect("20 real processes at once: never two inside, nothing left behind", () =>
    Effect.promise(() => contend(place(), 20, 5)))

  it.effect("a holder ended by SIGKILL: 20 waiters find its lock, one at a time gets it", () =>
    Effect.promise(async () => {
      const target = place()
      const holder = start(program, [target, "hold"])
      await holder.line((line) => line === "held")
      holder.child.kill("SIGKILL")
      await holder.ended
      assert.deepStrictEqual(left(target), ["target", "target.lock"])
      await contend(target, 20, 2)
    }))

  it.effect("a holder that lives is waited for", () =>
    Effect.promise(async () => {
      const target = place()
      const holder = start(program, [target, "hold"])
      await holder.line((line) => line === "held")
      const next = start(program, [target, "hold"])
      await new Promise((resolve) => setTimeout(resolve, 300))
      assert.deepStrictEqual(next.lines, [])
      holder.child.stdin?.end()
      await next.line((line) => line === "held")
      next.child.stdin?.end()
      assert.strictEqual((await next.ended).code, 0)
      assert.deepStrictEqual(left(target), ["target"])
    }))
})
