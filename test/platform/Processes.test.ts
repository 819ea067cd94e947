import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { spawn as nodeSpawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Processes, type SpawnInput } from "../../src/platform/Processes.ts"
import { Spawner } from "../../src/platform/Spawner.ts"
import { alive, eventually, gone } from "../support/processes.ts"

const env = new Map([["PATH", process.env["PATH"] ?? "/usr/bin:/bin"]])
const sh = (script: string, more: Partial<SpawnInput> = {}): SpawnInput => ({
  argv: ["/bin/sh", "-c", script],
  cwd: os.tmpdir(),
  env,
  ...more
})
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** Reads stdout up to the first line: a point in the child's life that a test can wait for. */
const firstLine = (stdout: Stream.Stream<Uint8Array>) =>
  stdout.pipe(Stream.decodeText(), Stream.splitLines, Stream.take(1), Stream.runCollect, Effect.map(Chunk.join("")))

describe("Processes", () => {
  it.effect("collects both streams and the exit code", () =>
    Effect.gen(function*() {
      const { run } = yield* Processes
      const done = yield* run(sh("echo out; echo err >&2; exit 3"))
      assert.deepStrictEqual([text(done.stdout), text(done.stderr)], ["out\n", "err\n"])
      assert.deepStrictEqual([done.code, done.signal, done.timed_out, done.truncated], [3, null, false, false])
    }).pipe(Effect.provide(Processes.layer)))

  it.effect("tells a signal apart from a code", () =>
    Effect.gen(function*() {
      const { run } = yield* Processes
      const done = yield* run(sh("kill -SEGV $$"))
      assert.deepStrictEqual([done.code, done.signal], [null, "SIGSEGV"])
    }).pipe(Effect.provide(Processes.layer)))

  it.effect("G5: argv is a list, no shell reads it", () =>
    Effect.gen(function*() {
      const { run } = yield* Processes
      const done = yield* run({ argv: ["printf", "%s|", "$HOME; echo x", "a b", ""], cwd: "/", env })
      assert.strictEqual(text(done.stdout), "$HOME; echo x|a b||")
    }).pipe(Effect.provide(Processes.layer)))

  it.effect("stdin is empty unless given, and bytes arrive whole", () =>
    Effect.gen(function*() {
      const { run } = yield* Processes
      assert.strictEqual(text((yield* run(sh("cat; echo end"))).stdout), "end\n")
      const big = new Uint8Array(3_000_000).fill(65)
      assert.strictEqual(text((yield* run(sh("wc -c", { stdin: big }))).stdout).trim(), "3000000")
      // A child that does not read its input is no error.
      assert.strictEqual((yield* run(sh("exit 0", { stdin: big }))).code, 0)
    }).pipe(Effect.provide(Processes.layer)))

  it.scoped("stdin as a pipe: written, answered, closed", () =>
    Effect.gen(function*() {
      const { spawn } = yield* Processes
      const cat = yield* spawn({ argv: ["cat"], cwd: "/", env, stdin: "pipe" })
      yield* cat.write(new TextEncoder().encode("one\n"))
      yield* cat.write(new TextEncoder().encode("two\n"))
      yield* cat.endInput
      const out = yield* Stream.runCollect(Stream.decodeText(cat.stdout))
      assert.strictEqual(Chunk.join(out, ""), "one\ntwo\n")
      assert.strictEqual((yield* cat.exit).code, 0)
      const late = yield* Effect.flip(cat.write(new Uint8Array([1])))
      assert.strictEqual(late.reason, "closed")
    }).pipe(Effect.provide(Processes.layer)))

  it.effect("typed errors name the program and the cause, never the arguments", () =>
    Effect.gen(function*() {
      const { run } = yield* Processes
      const fail = (input: Partial<SpawnInput>) =>
        Effect.map(Effect.flip(run({ argv: ["true"], cwd: "/", env, ...input })), (error) => error)
      const missing = yield* fail({ argv: ["no-such-program-here", "--password=hunter2"] })
      assert.strictEqual(missing.reason, "not_found")
      assert.include(missing.message, "no-such-program-here")
      assert.notInclude(missing.message, "hunter2")
      assert.strictEqual((yield* fail({ argv: ["/etc/passwd"] })).reason, "not_executable")
      const nowhere = yield* fail({ cwd: "/no/such/directory" })
      assert.strictEqual(nowhere.reason, "bad_directory")
      assert.include(nowhere.message, "/no/such/directory")
      assert.strictEqual((yield* fail({ argv: ["echo", "a\0b"] })).reason, "invalid")
      assert.strictEqual((yield* fail({ argv: ["echo", "x".repeat(4_000_000)] })).reason, "too_long")
    }).pipe(Effect.provide(Processes.layer)))

  it.effect("G5: the child has its own group and no descriptor beyond 0-2", () =>
    Effect.gen(function*() {
      const { run } = yield* Processes
      const held = fs.openSync("/etc/passwd", "r")
      // What our own parent left open for us (test runners do) is /dev/null in the child.
      const list = "for fd in /proc/$$/fd/*; do n=${fd##*/}; [ $n -gt 2 ] && readlink $fd; done"
      const done = yield* run({ argv: ["/bin/sh", "-c", `${list}; ps -o pgid= -p $$; echo $$`], cwd: "/", env })
      fs.closeSync(held)
      const lines = text(done.stdout).trim().split(/\s+/)
      assert.deepStrictEqual(lines.slice(0, -2).filter((target) => target !== "/dev/null"), [])
      assert.strictEqual(lines.at(-2), lines.at(-1))
    }).pipe(Effect.provide(Processes.layer)))

  it("G5: a descriptor that our own parent left open does not reach the child", async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), "parent-"))
    fs.writeFileSync(path.join(dir, "secret"), "secret")
    const secret = fs.openSync(path.join(dir, "secret"), "r")
    const seen = `
      const look = Effect.flatMap(Processes, ({ run }) => run({
        argv: ["/bin/sh", "-c", "cat /proc/$$/fd/40; readlink /proc/$$/fd/40"], cwd: "/", env: new Map([["PATH", process.env.PATH]])
      }))
      Effect.runPromise(Effect.provide(look, Processes.layer)).then((r) => process.stdout.write(r.stdout))`
    const parent = nodeSpawn(process.execPath, [await buildParent(dir, seen)], {
      stdio: ["ignore", "pipe", "inherit", ...Array.from({ length: 37 }, () => "ignore" as const), secret]
    })
    let out = ""
    parent.stdout?.on("data", (data) => void (out += String(data)))
    await new Promise((resolve) => parent.once("close", resolve))
    fs.closeSync(secret)
    fs.rmSync(dir, { recursive: true })
    assert.strictEqual(out, "/dev/null\n")
  })

  it.effect("the environment is exactly what was given", () =>
    Effect.gen(function*() {
      const { run } = yield* Processes
      const done = yield* run({ argv: ["/usr/bin/env"], cwd: "/", env: new Map([["A", "1"], ["B", "x=y"]]) })
      assert.deepStrictEqual(text(done.stdout).trim().split("\n").sort(), ["A=1", "B=x=y"])
    }).pipe(Effect.provide(Processes.layer)))

  it.effect("the deadline is kept by the Clock and ends the whole group", () =>
    Effect.gen(function*() {
      const { spawn } = yield* Processes
      const child = yield* spawn(sh("sleep 300 & sleep 300 & echo ready; wait", { timeout: Duration.minutes(10) }))
      yield* firstLine(child.stdout)
      yield* TestClock.adjust("9 minutes")
      assert.isAtLeast(alive(child.pid).length, 3)
      yield* TestClock.adjust("1 minutes")
      const status = yield* child.exit
      assert.deepStrictEqual(status, { code: null, signal: "SIGTERM", timed_out: true })
      assert.isTrue(yield* gone(child.pid))
    }).pipe(Effect.scoped, Effect.provide(Processes.layer)))

  it.effect("KILL follows when TERM is ignored and the grace is over", () =>
    Effect.gen(function*() {
      const { spawn } = yield* Processes
      const child = yield* spawn(
        sh("trap '' TERM; echo ready; while :; do sleep 0.05; done", { grace: Duration.seconds(30) })
      )
      yield* firstLine(child.stdout)
      const stopping = yield* Effect.fork(child.stop)
      yield* TestClock.adjust("29 seconds")
      assert.isAtLeast(alive(child.pid).length, 1)
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual((yield* Fiber.join(stopping)).signal, "SIGKILL")
      assert.isTrue(yield* gone(child.pid))
    }).pipe(Effect.scoped, Effect.provide(Processes.layer)))

  it.effect("G7: a deadline above the longest timer is cut into pieces", () =>
    Effect.gen(function*() {
      const { spawn } = yield* Processes
      const child = yield* spawn(sh("echo ready; exec sleep 300", { timeout: Duration.millis(5_000_000_000) }))
      yield* firstLine(child.stdout)
      yield* TestClock.adjust(Duration.millis(4_999_999_999))
      assert.strictEqual(alive(child.pid).length, 1)
      yield* TestClock.adjust("1 millis")
      assert.isTrue((yield* child.exit).timed_out)
    }).pipe(Effect.scoped, Effect.provide(Processes.layer)))

  it.effect("interruption of `run` leaves no process", () =>
    Effect.gen(function*() {
      const { run } = yield* Processes
      const dir = fs.mkdtempSync(path.join(os.tmpdir(), "processes-"))
      const fiber = yield* Effect.fork(run(sh(`sleep 300 & echo $$ > ${dir}/pid; mv ${dir}/pid ${dir}/ready; wait`)))
      assert.isTrue(yield* eventually(() => fs.existsSync(`${dir}/ready`)))
      const group = Number(fs.readFileSync(`${dir}/ready`, "utf8"))
      assert.isAtLeast(alive(group).length, 2)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(yield* gone(group))
      fs.rmSync(dir, { recursive: true })
    }).pipe(Effect.provide(Processes.layer)))

  it.live("a grandchild that holds the pipe delays the end by about 100 ms and is stopped", () =>
    Effect.gen(function*() {
      const { spawn } = yield* Processes
      const scope = yield* Scope.make()
      const child = yield* Scope.extend(spawn(sh("sleep 300 & echo done; exit 7")), scope)
      const begun = Date.now()
      const out = yield* Effect.fork(Stream.runCollect(Stream.decodeText(child.stdout)))
      const status = yield* child.exit
      const took = Date.now() - begun
      assert.strictEqual(status.code, 7)
      assert.strictEqual(Chunk.join(yield* Fiber.join(out), ""), "done\n")
      assert.isBelow(took, 20_000, "the grandchild sleeps for 300 s")
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(yield* gone(child.pid))
    }).pipe(Effect.provide(Processes.layer)))

  it.effect("the last words of a dead child are not lost to a slow reader", () =>
    Effect.gen(function*() {
      const { spawn } = yield* Processes
      const child = yield* spawn(sh("head -c 3000000 /dev/zero; printf END"))
      const gate = yield* Deferred.make<void>()
      let size = 0
      let tail = ""
      const reader = yield* Effect.fork(Stream.runForEachChunk(child.stdout, (chunk) =>
        Effect.gen(function*() {
          yield* Deferred.await(gate)
          for (const bytes of chunk) {
            size += bytes.byteLength
            tail = text(bytes).slice(-3)
          }
        })))
      yield* Effect.yieldNow()
      yield* Deferred.succeed(gate, undefined)
      yield* child.exit
      yield* Fiber.join(reader)
      assert.deepStrictEqual([size, tail], [3_000_003, "END"])
    }).pipe(Effect.scoped, Effect.provide(Processes.layer)))

  it.effect("output nobody reads is drained: the child ends, memory stays bounded", () =>
    Effect.gen(function*() {
      const { run, spawn } = yield* Processes
      const child = yield* spawn(sh("head -c 30000000 /dev/zero; head -c 30000000 /dev/zero >&2; exit 4"))
      assert.strictEqual((yield* child.exit).code, 4)
      const kept = yield* Stream.runFold(child.stdout, 0, (n, bytes) => n + bytes.byteLength)
      assert.isAtMost(kept, 1024 * 1024)
      const capped = yield* run(sh("head -c 30000000 /dev/zero", { stdin: "closed" }))
      assert.isTrue(capped.truncated)
      assert.strictEqual(capped.stdout.byteLength, 10 * 1024 * 1024)
    }).pipe(Effect.scoped, Effect.provide(Processes.layer)))

  it.effect("a reader that goes away does not stall the child", () =>
    Effect.gen(function*() {
      const { spawn } = yield* Processes
      const child = yield* spawn(sh("echo ready; head -c 5000000 /dev/zero; exit 9"))
      assert.strictEqual(yield* firstLine(child.stdout), "ready")
      assert.strictEqual((yield* child.exit).code, 9)
    }).pipe(Effect.scoped, Effect.provide(Processes.layer)))

  it.effect("`output` joins both streams and says which is which", () =>
    Effect.gen(function*() {
      const { spawn } = yield* Processes
      const child = yield* spawn(sh("echo a; echo b >&2"))
      const all = Chunk.toReadonlyArray(yield* Stream.runCollect(child.output))
      const of = (fd: number): string => all.filter((c) => c.fd === fd).map((c) => text(c.bytes)).join("")
      assert.deepStrictEqual([of(1), of(2)], ["a\n", "b\n"])
    }).pipe(Effect.scoped, Effect.provide(Processes.layer)))

  it.effect("Spawner.layerPlain is the same thing", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Spawner, yield* Processes)
    }).pipe(Effect.provide(Spawner.layerPlain), Effect.provide(Processes.layer)))
})

/** A parent of its own that starts a tree of processes through `Processes` and says their group. */
const parentSource = (body: string): string => `
  import * as Effect from "effect/Effect"
  import { Processes } from "./src/platform/Processes.ts"
  import { runMain } from "@effect/platform-node/NodeRuntime"
  const tree = Effect.scoped(Effect.gen(function*() {
    const { spawn } = yield* Processes
    const child = yield* spawn({
      argv: ["/bin/sh", "-c", "trap '' TERM; sleep 300 & sleep 300 & wait"], cwd: "/", env: new Map([["PATH", process.env.PATH]])
    })
    process.stdout.write(child.pid + "\\n")
    yield* Effect.never
  })).pipe(Effect.provide(Processes.layer))
  ${body}
`

const buildParent = async (dir: string, body: string): Promise<string> => {
  const { build } = await import("esbuild")
  const outfile = path.join(dir, "parent.mjs")
  await build({
    stdin: { contents: parentSource(body), resolveDir: path.resolve(import.meta.dirname, "../.."), loader: "ts" },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile,
    logLevel: "error",
    banner: { js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);` }
  })
  return outfile
}

describe("the parent's end (G5)", () => {
  const cases: ReadonlyArray<readonly [string, string, NodeJS.Signals | null]> = [
    ["SIGINT that nobody handles", "Effect.runFork(tree)", "SIGINT"],
    ["SIGTERM that nobody handles", "Effect.runFork(tree)", "SIGTERM"],
    ["SIGHUP that nobody handles", "Effect.runFork(tree)", "SIGHUP"],
    ["SIGINT with an orderly shutdown", "runMain(tree)", "SIGINT"],
    ["an uncaught exception", "Effect.runFork(tree); setTimeout(() => { throw new Error('boom') }, 300)", null],
    ["process.exit", "Effect.runFork(tree); setTimeout(() => process.exit(0), 300)", null]
  ]
  for (const [name, body, signal] of cases) {
    it(`${name} leaves no orphan`, async () => {
      const dir = fs.mkdtempSync(path.join(os.tmpdir(), "parent-"))
      try {
        const parent = nodeSpawn(process.execPath, [await buildParent(dir, body)], {
          stdio: ["ignore", "pipe", "ignore"]
        })
        const ended = new Promise<NodeJS.Signals | null>((resolve) => parent.once("exit", (_, by) => resolve(by)))
        const group = await new Promise<number>((resolve) => {
          let seen = ""
          parent.stdout.on("data", (data) => {
            seen += String(data)
            if (seen.includes("\n")) resolve(Number(seen))
          })
        })
        assert.isTrue(await Effect.runPromise(eventually(() => alive(group).length >= 3 || parent.exitCode !== null)))
        if (signal !== null) parent.kill(signal)
        const by = await ended
        if (signal !== null && body.startsWith("Effect.runFork")) assert.strictEqual(by, signal)
        assert.isTrue(await Effect.runPromise(gone(group)))
      } finally {
        fs.rmSync(dir, { recursive: true })
      }
    })
  }
})
