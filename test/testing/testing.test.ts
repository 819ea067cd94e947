/** The public test Layers, each used as a consumer would. */
import { BadArgument, type PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { Ids } from "../../src/domain/Ids.ts"
import { PermissionPrompter } from "../../src/domain/PermissionPrompter.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { Http } from "../../src/platform/Http.ts"
import { Processes, type SpawnInput } from "../../src/platform/Processes.ts"
import { Spawner } from "../../src/platform/Spawner.ts"
import { Models } from "../../src/provider/Models.ts"
import {
  FakeProcesses,
  layerDeterministic,
  layerModels,
  layerTemporaryWorkspace,
  makeGate,
  MemoryFiles,
  NoNetwork,
  RecordingPrompter,
  Scenario,
  ScriptedModel
} from "../../src/testing/index.ts"

describe("RecordingPrompter", () => {
  const ask = (tool: string) =>
    Effect.flatMap(PermissionPrompter, ([prompter]) =>
      prompter === undefined
        ? Effect.dieMessage("no prompter")
        : prompter.requestPermission(tool, { n: 1 }, { session_id: "ses_1" }))

  it.effect("answers in order, writes down, and denies when no answer is left", () =>
    Effect.gen(function*() {
      yield* ask("a")
      yield* ask("b")
      const last = yield* ask("c")
      assert.deepStrictEqual(last, {
        decision: "deny",
        reason: "RecordingPrompter: no answer is left for question 3 (c)"
      })
      const { asked } = yield* RecordingPrompter
      assert.deepStrictEqual((yield* asked).map((q) => [q.tool_name, q.input, q.context, q.decision.decision]), [
        ["a", { n: 1 }, { session_id: "ses_1" }, "allow"],
        ["b", { n: 1 }, { session_id: "ses_1" }, "escalate"],
        ["c", { n: 1 }, { session_id: "ses_1" }, "deny"]
      ])
    }).pipe(Effect.provide(RecordingPrompter.layer([{ decision: "allow" }, { decision: "escalate" }]))))

  it.effect("may answer by a function, also one that waits", () =>
    Effect.gen(function*() {
      const [prompter] = yield* PermissionPrompter
      assert.strictEqual(prompter?.name, "user")
      assert.deepStrictEqual(yield* ask("read"), { decision: "allow" })
      const fiber = yield* Effect.fork(ask("bash"))
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { decision: "deny", reason: "no" })
    }).pipe(Effect.provide(RecordingPrompter.layer(
      (question) =>
        question.tool_name === "read"
          ? { decision: "allow" }
          : Effect.as(Effect.sleep("1 seconds"), { decision: "deny", reason: "no" } as const),
      { name: "user" }
    ))))
})

it.effect("NoNetwork refuses and writes down, without path and query in the message (G2)", () =>
  Effect.gen(function*() {
    const http = yield* Http
    const error = yield* Effect.flip(
      Effect.scoped(http.request({ method: "GET", url: "https://example.com/a?key=secret" }))
    )
    assert.strictEqual(error.reason, "blocked")
    assert.strictEqual(error.message, "no network in tests: refused GET to https://example.com")
    const { attempts } = yield* NoNetwork
    assert.deepStrictEqual(yield* attempts, [{ method: "GET", url: "https://example.com/a?key=secret" }])
  }).pipe(Effect.provide(NoNetwork.layer)))

describe("layerModels", () => {
  it.effect("resolves the first, or by whole or bare name, and names what it knows", () =>
    Effect.gen(function*() {
      const { resolve } = yield* Models
      assert.strictEqual((yield* resolve()).name, "a/one")
      assert.strictEqual((yield* resolve("b/two")).price?.input, 3)
      assert.strictEqual((yield* resolve("two")).name, "b/two")
      const error = yield* Effect.flip(resolve("three"))
      assert.deepStrictEqual([error.reason, error.message], [
        "unknown_model",
        "no model three in this test; known are a/one, b/two"
      ])
    }).pipe(Effect.provide(layerModels([
      { name: "a/one", model: "one" },
      { name: "b/two", model: "two", price: { input: 3, output: 4 } }
    ]))))
})

describe("layerDeterministic", () => {
  const draw = Effect.gen(function*() {
    const ids = yield* Ids
    return [yield* ids.session, yield* ids.make("call"), yield* Random.nextInt, yield* Clock.currentTimeMillis] as const
  })
  it("gives the same ids, chance and time in every run, outside of any test runner", async () => {
    const first = await Effect.runPromise(Effect.provide(draw, layerDeterministic("seed")))
    const second = await Effect.runPromise(Effect.provide(draw, layerDeterministic("seed")))
    const other = await Effect.runPromise(Effect.provide(draw, layerDeterministic("another")))
    assert.deepStrictEqual(first, second)
    assert.deepStrictEqual([first[0], first[1], first[3]], ["ses_1", "call_2", 0])
    assert.notStrictEqual(first[2], other[2])
  })
})

it.effect("makeGate holds a scripted stream until it is opened", () =>
  Effect.gen(function*() {
    const gate = yield* makeGate
    const model = ScriptedModel.make(
      Scenario.make({ turns: [{ content: [{ text: "a" }, gate.piece, { text: "b" }] }] })
    )
    const seen: Array<string> = []
    const fiber = yield* model.client.sendMessage([{ role: "user", content: "x" }], []).pipe(
      Stream.runForEachChunk((events) =>
        Effect.sync(() => {
          for (const event of events) seen.push(event.type)
        })
      ),
      Effect.fork
    )
    yield* gate.reached
    assert.deepStrictEqual(seen, ["content_delta"])
    yield* gate.open
    yield* Fiber.join(fiber)
    assert.deepStrictEqual(seen, ["content_delta", "content_delta", "usage", "message_stop"])
  }))

describe("FakeProcesses", () => {
  const input = (...argv: readonly [string, ...ReadonlyArray<string>]): SpawnInput => ({
    argv,
    cwd: "/p",
    env: new Map()
  })
  const layer = FakeProcesses.layer({
    git: { output: [{ stdout: "on main\n" }, { stderr: "careful" }, { stdout: "more" }], code: 3 },
    slow: { output: [{ stdout: "one" }, { delay_ms: 1000 }, { stdout: "two" }] },
    server: { hang: true, output: [{ stdout: "ready" }] },
    killed: { signal: "SIGKILL" },
    broken: { error: "not_executable" },
    echo: (given) => ({ output: [{ stdout: given.argv.slice(1).join(" ") }] })
  })
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

  it.effect("runs to the end with both streams, by name or function", () =>
    Effect.gen(function*() {
      const { run } = yield* Processes
      const git = yield* run({ ...input("/usr/bin/git", "status"), max_bytes: 10 })
      assert.deepStrictEqual(
        [text(git.stdout), text(git.stderr), git.code, git.signal, git.timed_out, git.truncated],
        ["on main\nmo", "careful", 3, null, false, true]
      )
      assert.strictEqual(text((yield* run(input("echo", "a", "b"))).stdout), "a b")
      assert.deepInclude(yield* run(input("killed")), { code: null, signal: "SIGKILL" })
      const { started } = yield* FakeProcesses
      assert.deepStrictEqual((yield* started).map((process) => [process.input.argv[0], process.exit?.code]), [
        ["/usr/bin/git", 3],
        ["echo", 0],
        ["killed", null]
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("does not start what is not there or told to fail", () =>
    Effect.gen(function*() {
      const { run } = yield* Spawner
      assert.strictEqual((yield* Effect.flip(run(input("nothing")))).reason, "not_found")
      assert.strictEqual((yield* Effect.flip(run(input("toString")))).reason, "not_found")
      assert.strictEqual((yield* Effect.flip(run(input("broken")))).reason, "not_executable")
    }).pipe(Effect.provide(layer)))

  it.scoped("takes time by the Clock; a deadline and the scope end it", () =>
    Effect.gen(function*() {
      const { run, spawn } = yield* Processes
      const slow = yield* Effect.fork(run(input("slow")))
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(text((yield* Fiber.join(slow)).stdout), "onetwo")
      const late = yield* Effect.fork(run({ ...input("server"), timeout: Duration.seconds(5) }))
      yield* TestClock.adjust("5 seconds")
      assert.deepInclude(yield* Fiber.join(late), { code: null, signal: "SIGTERM", timed_out: true })
      const status = yield* Effect.scoped(
        Effect.map(spawn({ ...input("server"), stdin: "pipe" }), (running) => running.exit)
      )
      assert.deepInclude(yield* status, { signal: "SIGTERM", timed_out: false })
    }).pipe(Effect.provide(layer)))

  it.scoped("takes input while it runs, and stops", () =>
    Effect.gen(function*() {
      const { spawn } = yield* Processes
      const running = yield* spawn({ ...input("server"), stdin: "pipe" })
      yield* running.write(new TextEncoder().encode("hello "))
      yield* running.write(new TextEncoder().encode("there"))
      const first = yield* Deferred.make<string>()
      const reader = yield* running.stdout.pipe(
        Stream.runForEach((bytes) => Deferred.succeed(first, text(bytes))),
        Effect.fork
      )
      assert.strictEqual(yield* Deferred.await(first), "ready")
      yield* running.stop
      yield* Fiber.join(reader)
      assert.strictEqual((yield* Effect.flip(running.write(new Uint8Array(1)))).reason, "closed")
      const { started } = yield* FakeProcesses
      assert.deepStrictEqual((yield* started).map((process) => process.stdin), ["hello there"])
    }).pipe(Effect.provide(layer)))
})

it.scoped("layerTemporaryWorkspace holds the given files and is gone with its scope", () =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const root = yield* Effect.scoped(Effect.gen(function*() {
      const context = yield* Layer.build(layerTemporaryWorkspace({ "a/b.txt": "x", "c.bin": new Uint8Array([1, 2]) }))
      const { cwd, root } = yield* Effect.provide(Workspace, context)
      assert.strictEqual(root, cwd)
      assert.strictEqual(yield* fs.readFileString(`${root}/a/b.txt`), "x")
      assert.deepStrictEqual([...yield* fs.readFile(`${root}/c.bin`)], [1, 2])
      return root
    }))
    assert.isFalse(yield* fs.exists(root))
  }).pipe(Effect.provide(NodeFileSystem.layer)))

describe("MemoryFiles", () => {
  it.effect("reads what it was given and shows what was written", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      assert.strictEqual(yield* fs.readFileString("/p/x/../a.txt"), "one")
      yield* fs.writeFileString("/p/b.txt", "two")
      yield* fs.writeFileString("/p/b.txt", "+", { flag: "a" })
      yield* fs.rename("/p/b.txt", "/q/c.txt")
      yield* TestClock.adjust("5 seconds")
      yield* fs.truncate("/p/a.txt", 2)
      assert.strictEqual(Option.getOrThrow((yield* fs.stat("/p/a.txt")).mtime).getTime(), 5000)
      const { files } = yield* MemoryFiles
      assert.deepStrictEqual(yield* files, { "/p/a.txt": "on", "/q/c.txt": "two+", "/q/z.txt": "" })
    }).pipe(Effect.provide(MemoryFiles.layer({ "/p/a.txt": "one", "/q/z.txt": new Uint8Array(0) }))))

  it.scoped("streams, handles and temporary files", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const file = yield* fs.open("/t.txt", { flag: "w+" })
      yield* file.writeAll(new TextEncoder().encode("abcdef"))
      yield* file.seek(2, "start")
      assert.strictEqual(new TextDecoder().decode(Option.getOrThrow(yield* file.readAlloc(2))), "cd")
      const streamed = yield* Stream.runCollect(Stream.decodeText(fs.stream("/t.txt", { chunkSize: 2 })))
      assert.strictEqual(Chunk.join(streamed, ""), "abcdef")
      yield* Stream.run(Stream.make(new Uint8Array([65]), new Uint8Array([66])), fs.sink("/u.txt"))
      assert.strictEqual(yield* fs.readFileString("/u.txt"), "AB")
      const kept = yield* Effect.scoped(fs.makeTempFileScoped())
      assert.isFalse(yield* fs.exists(kept))
    }).pipe(Effect.provide(MemoryFiles.layer())))

  /** The same operations against a real directory: same outcomes, same tree. */
  const operations = FastCheck.array(
    FastCheck.tuple(
      FastCheck.constantFrom(
        "write",
        "append",
        "new",
        "mkdir",
        "mkdirp",
        "remove",
        "removeAll",
        "rename",
        "copy",
        "read",
        "list",
        "stat"
      ),
      FastCheck.constantFrom("a", "b", "a/x", "a/y/z", "b/x"),
      FastCheck.constantFrom("a", "c", "a/x", "c/x")
    ),
    { maxLength: 20 }
  )
  const perform = (root: string, [kind, one, other]: readonly [string, string, string]) =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = `${root}/${one}`
      switch (kind) {
        case "write":
          return yield* fs.writeFileString(path, `${one}${other}`)
        case "append":
          return yield* fs.writeFileString(path, "+", { flag: "a" })
        case "new":
          return yield* fs.writeFileString(path, "new", { flag: "wx" })
        case "mkdir":
          return yield* fs.makeDirectory(path)
        case "mkdirp":
          return yield* fs.makeDirectory(path, { recursive: true })
        case "remove":
          return yield* fs.remove(path)
        case "removeAll":
          return yield* fs.remove(path, { recursive: true, force: true })
        case "rename":
          return yield* fs.rename(path, `${root}/${other}`)
        case "copy":
          // libuv removes the target when the source is a directory; nobody should rely on that.
          if ((yield* fs.stat(path)).type === "Directory") return yield* Effect.void
          return yield* fs.copyFile(path, `${root}/${other}`)
        case "read":
          return yield* fs.readFileString(path)
        case "list":
          return (yield* fs.readDirectory(path, { recursive: true })).sort()
        default:
          return (yield* fs.stat(path)).type
      }
    })
  const outcomes = (
    root: string,
    steps: ReadonlyArray<readonly [string, string, string]>
  ): Effect.Effect<ReadonlyArray<unknown>, PlatformError, FileSystem.FileSystem> =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const seen: Array<unknown> = []
      for (const step of steps) {
        seen.push(
          yield* Effect.match(perform(root, step), {
            onSuccess: (value) => ["read", "list", "stat"].includes(step[0]) ? value : "done",
            onFailure: (error) =>
              error._tag === "SystemError" && (error.reason === "NotFound" || error.reason === "AlreadyExists")
                ? error.reason
                : "refused"
          })
        )
      }
      const tree = (yield* fs.readDirectory(root, { recursive: true })).sort()
      for (const name of tree) {
        const { type } = yield* fs.stat(`${root}/${name}`)
        seen.push([name, type === "File" ? yield* fs.readFileString(`${root}/${name}`) : type])
      }
      return seen
    })

  it.effect.prop("does what a real directory does", [operations], ([steps]) =>
    Effect.gen(function*() {
      const real = yield* Effect.scoped(Effect.flatMap(FileSystem.FileSystem, (fs) =>
        Effect.flatMap(fs.makeTempDirectoryScoped(), (root) =>
          outcomes(root, steps)))).pipe(
          Effect.provide(NodeFileSystem.layer)
        )
      const memory = yield* outcomes("/w", steps).pipe(Effect.provide(MemoryFiles.layer({ "/w/keep": "" })))
      const listed = memory.filter((entry) =>
        !(Array.isArray(entry) && entry[0] === "keep")
      )
      assert.deepStrictEqual(listed, real)
    }), { fastCheck: { numRuns: 60 } })

  it.effect("says what it does not do", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      assert.include((yield* Effect.flip(fs.symlink("/a", "/b"))).message, "links are not part of MemoryFiles")
      assert.notInstanceOf(yield* Effect.flip(fs.readLink("/a")), BadArgument)
    }).pipe(Effect.provide(MemoryFiles.layer())))
})
