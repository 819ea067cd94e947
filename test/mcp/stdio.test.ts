/** Servers that misbehave over stdio (readings 1.1 to 1.5, G5, G6, G8). Waits are for causes, never for a time. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as path from "node:path"
import type { McpConnection, McpLogMessage } from "../../src/mcp/Connection.ts"
import { AppendLog } from "../../src/platform/AppendLog.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { alive, eventually, gone } from "../support/processes.ts"
import * as Servers from "../support/mcp/servers.ts"

const layer = Layer.mergeAll(Processes.layer, AppendLog.layer, Logger.remove(Logger.defaultLogger))

const pidOf = (connection: McpConnection): Effect.Effect<number> => Effect.map(connection.report, ({ pid }) => pid ?? 0)

/** Connects, tests, closes; then nothing of the server may run, whatever happened in between. */
const withServer = <A, E>(
  connect: ReturnType<typeof Servers.connectTo>,
  test: (connection: McpConnection) => Effect.Effect<A, E>
) =>
  Effect.gen(function*() {
    let pid = 0
    yield* Effect.scoped(Effect.gen(function*() {
      const connection = yield* connect
      pid = yield* pidOf(connection)
      yield* test(connection)
    }))
    assert.isAbove(pid, 0)
    assert.isTrue(yield* gone(pid), "the server's process group has ended")
  }).pipe(Effect.provide(layer))

const call = (connection: McpConnection, name: string, args: Record<string, unknown> = {}) =>
  Effect.map(connection.callTool(name, args), Servers.textOf)

describe("eras", () => {
  const probes = [
    ["an error", { probe: "error" }, "2025-11-25"],
    ["an error without id", { probe: "stray" }, "2025-11-25"],
    ["silence", { probe: "silent" }, "2025-11-25"],
    ["an answer that is no discovery", { probe: "lax" }, "2025-11-25"],
    ["an end of the process: started once more", { probe: "exit" }, "2025-11-25"],
    ["a version it chose", { version: "2024-11-05" }, "2024-11-05"],
    ["a version it named in a refusal", { version: "2025-03-26", reject: ["2025-11-25"] }, "2025-03-26"]
  ] as const
  for (const [name, options, version] of probes) {
    it.live(`1.2 legacy by ${name}`, () =>
      Effect.scoped(Effect.gen(function*() {
        const pidfile = path.join(yield* Servers.scratch, "pids")
        yield* withServer(Servers.connectTo(Servers.fake({ ...options, pidfile })), (connection) =>
          Effect.gen(function*() {
            assert.strictEqual(connection.era, "legacy")
            assert.strictEqual(connection.version, version)
            assert.strictEqual(yield* call(connection, "echo", { x: 1 }), "{\"x\":1}")
          }))
        const pids = fs.readFileSync(pidfile, "utf8").trim().split("\n").map(Number)
        assert.strictEqual(pids.length, "probe" in options && options.probe === "exit" ? 2 : 1)
        for (const pid of pids) {
          assert.isTrue(yield* gone(pid))
        }
      })))
  }

  it.live("1.2 what was found out is remembered: no probe", () =>
    withServer(
      Servers.connectTo(Servers.fake({ probe: "exit" }), { era: "legacy" }),
      (connection) =>
        Effect.gen(function*() {
          const heard = JSON.parse(yield* call(connection, "heard")) as ReadonlyArray<{ readonly method: string }>
          assert.deepStrictEqual(heard.map(({ method }) => method), [
            "initialize",
            "notifications/initialized",
            "tools/call"
          ])
        })
    ))

  it.live("1.2 no version in common names both sides", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Servers.connectTo(Servers.fake({ version: "1999-01-01" }))))
      assert.strictEqual(error.reason, "unsupported_protocol_version")
      assert.include(error.message, "1999-01-01")
      assert.include(error.message, "2024-11-05")
    }).pipe(Effect.provide(layer)))

  it.live("1.4 a server that never answers: the connect limit, named, and nothing left", () =>
    Effect.scoped(Effect.gen(function*() {
      const pidfile = path.join(yield* Servers.scratch, "pids")
      const error = yield* Effect.flip(Effect.scoped(Servers.connectTo(
        Servers.fake({ probe: "error", silent: true, pidfile }),
        { limits: { connect_timeout_ms: 400 } }
      )))
      assert.strictEqual(error.reason, "connect_timeout")
      assert.strictEqual(error.limit_ms, 400)
      assert.include(error.message, "initialize")
      assert.include(error.message, "connect_timeout_ms")
      for (const pid of fs.readFileSync(pidfile, "utf8").trim().split("\n").map(Number)) {
        assert.isTrue(yield* gone(pid))
      }
    })).pipe(Effect.provide(layer)))

  it.live("1.1 a program that is not there, a directory that is not there", () =>
    Effect.gen(function*() {
      const missing = yield* Effect.flip(Effect.scoped(Servers.connectTo(["no-such-program-here"])))
      assert.strictEqual(missing.reason, "start_failed")
      assert.include(missing.message, "no-such-program-here")
      const nowhere = yield* Effect.flip(
        Effect.scoped(Servers.connectTo(Servers.fake(), {}, { cwd: "/no/such/place" }))
      )
      assert.strictEqual(nowhere.reason, "start_failed")
      assert.include(nowhere.message, "/no/such/place")
    }).pipe(Effect.provide(layer)))

  it.live("1.5 a server that ends at once: its exit code and its last words", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Servers.connectTo(Servers.fake({ exit: 78 }))))
      assert.strictEqual(error.reason, "exited")
      assert.include(error.message, "78")
      assert.include(error.message, "KEY missing")
    }).pipe(Effect.provide(layer)))
})

describe("messages", () => {
  it.live("1.3 answers out of order, doubled, with the id as a string, in a batch", () =>
    withServer(Servers.connectTo(Servers.fake()), (connection) =>
      Effect.gen(function*() {
        const numbers = [1, 2, 3, 4, 5]
        const answers = yield* Effect.forEach(numbers, (n) => call(connection, "swap", { n, of: 5 }), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(answers, numbers.map(String))
        assert.strictEqual(yield* call(connection, "twice"), "first")
        assert.strictEqual(yield* call(connection, "spell"), "spelled")
        assert.strictEqual(yield* call(connection, "batch"), "batched")
        assert.strictEqual(yield* call(connection, "echo", { ok: true }), "{\"ok\":true}")
      })))

  it.live("1.3 lines before the first message that are none are logged and skipped, made safe (G8)", () =>
    withServer(Servers.connectTo(Servers.fake({ noise: true })), (connection) =>
      Effect.gen(function*() {
        assert.strictEqual(yield* call(connection, "echo", {}), "{}")
        const { log_file } = yield* connection.report
        const log = fs.readFileSync(log_file ?? "", "utf8")
        assert.include(log, "stdout Server listening on stdio")
        assert.include(log, "stdout {half a mess")
        assert.notInclude(log, "\u001b")
        assert.include(log, "\u241b[31mred")
      })))

  it.live("1.3 a message of 100 MB: the connection ends with its reason, calls in flight too, memory stays", () =>
    withServer(Servers.connectTo(Servers.fake()), (connection) =>
      Effect.gen(function*() {
        const other = yield* Effect.fork(Effect.flip(connection.callTool("hang", {})))
        const before = process.memoryUsage().rss
        const error = yield* Effect.flip(connection.callTool("big", { bytes: 100_000_000 }))
        assert.strictEqual(error.reason, "message_too_large")
        assert.include(error.message, "33554432")
        assert.strictEqual((yield* Fiber.join(other)).reason, "message_too_large")
        assert.strictEqual((yield* connection.closed).reason, "message_too_large")
        assert.strictEqual((yield* Effect.flip(connection.callTool("echo", {}))).reason, "message_too_large")
        // 32 MiB in a buffer that doubles: a few copies of the limit at most.
        assert.isBelow(process.memoryUsage().rss - before, 300_000_000)
        // Stopped at once, not when the scope closes.
        assert.isTrue(yield* gone(yield* pidOf(connection)))
      })))

  it.live("1.3 a message of 30 MiB passes; the limit is the definition's", () =>
    Effect.gen(function*() {
      yield* withServer(Servers.connectTo(Servers.fake()), (connection) =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(connection.callTool("big", { bytes: 30 * 1024 * 1024 }))
          // It is a result, but none of a call.
          assert.strictEqual(error.reason, "protocol")
          assert.strictEqual(yield* call(connection, "echo", {}), "{}")
        }))
      yield* withServer(Servers.connectTo(Servers.fake(), {}, { max_message_bytes: 10_000 }), (connection) =>
        Effect.gen(function*() {
          assert.strictEqual(
            (yield* Effect.flip(connection.callTool("big", { bytes: 20_000 }))).reason,
            "message_too_large"
          )
        }))
    }))

  it.live("1.3 stderr without end is drained: the last 64 KiB are kept, the file is capped", () =>
    withServer(Servers.connectTo(Servers.fake()), (connection) =>
      Effect.gen(function*() {
        assert.strictEqual(yield* call(connection, "flood", { lines: 20_000 }), "flooded")
        const report = yield* connection.report
        assert.isAtMost(Buffer.byteLength(report.stderr), 65_536)
        const log = report.log_file ?? ""
        assert.isAtMost(fs.statSync(log).size, 2_000_000)
        assert.strictEqual(fs.statSync(log).mode & 0o777, 0o600)
        assert.isAbove(fs.readFileSync(log, "utf8").split("\n").length, 100)
      })))

  it.live("1.10 a thousand list_changed: every one is handed on, in order, and the answer after them comes through", () =>
    Effect.gen(function*() {
      let count = 0
      const connect = Servers.connectTo(Servers.fake(), {
        handlers: { onListChanged: () => Effect.sync(() => void count++) }
      })
      yield* withServer(connect, (connection) =>
        Effect.gen(function*() {
          assert.strictEqual(yield* call(connection, "storm", { times: 1_000 }), "over")
          assert.strictEqual(count, 1_000)
          yield* call(connection, "storm", { times: 20_000 })
          assert.strictEqual(count, 21_000)
        }))
    }))

  it.live("1.3 requests of the server: unknown ones -32601, ping at once, ids echoed as they are", () =>
    withServer(Servers.connectTo(Servers.fake()), (connection) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(JSON.parse(yield* call(connection, "ask", { method: "what/ever", id: "a-b" })), {
          jsonrpc: "2.0",
          id: "a-b",
          error: { code: -32_601, message: "method not found: what/ever" }
        })
        assert.deepStrictEqual(JSON.parse(yield* call(connection, "ask", { method: "ping", id: 0 })), {
          jsonrpc: "2.0",
          id: 0,
          result: {}
        })
        for (const method of ["roots/list", "sampling/createMessage", "elicitation/create"]) {
          const answer = JSON.parse(yield* call(connection, "ask", { method })) as {
            readonly error: { readonly code: number }
          }
          assert.strictEqual(answer.error.code, -32_601)
        }
      })))

  it.live("1.12 an error of the server is an error with its code, its words made safe", () =>
    withServer(Servers.connectTo(Servers.fake()), (connection) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(connection.callTool("boom", {}))
        assert.strictEqual(error.reason, "rpc")
        assert.strictEqual(error.code, -32_603)
        assert.deepStrictEqual(error.data, { deep: true })
        assert.notInclude(error.message, "\u001b")
        assert.include(error.message, "boom")
      })))
})

describe("limits and cancellation", () => {
  it.live("1.4 a call over its limit: told on the wire, the limit named, the connection usable", () =>
    Effect.gen(function*() {
      const logs = yield* Queue.unbounded<McpLogMessage>()
      const connect = Servers.connectTo(Servers.fake(), {
        limits: { call_timeout_ms: 200 },
        handlers: { onLog: (message) => Queue.offer(logs, message) }
      })
      yield* withServer(connect, (connection) =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(connection.callTool("hang", {}))
          assert.strictEqual(error.reason, "call_timeout")
          assert.strictEqual(error.limit_ms, 200)
          assert.include(error.message, "call_timeout_ms")
          assert.strictEqual((yield* Queue.take(logs)).data, "hanging")
          assert.include(String((yield* Queue.take(logs)).data), "cancelled")
          assert.strictEqual(yield* call(connection, "echo", { after: true }), "{\"after\":true}")
          assert.deepStrictEqual(connection.calls(), [])
        }))
    }))

  it.live("1.4 an interrupted call is cancelled on the server", () =>
    Effect.gen(function*() {
      const logs = yield* Queue.unbounded<McpLogMessage>()
      const connect = Servers.connectTo(Servers.fake(), {
        handlers: { onLog: (message) => Queue.offer(logs, message) }
      })
      yield* withServer(connect, (connection) =>
        Effect.gen(function*() {
          const fiber = yield* Effect.fork(connection.callTool("hang", {}, { token: "t" }))
          yield* Queue.take(logs)
          assert.deepStrictEqual(connection.calls(), [{ tool: "hang", token: "t" }])
          yield* Fiber.interrupt(fiber)
          assert.include(String((yield* Queue.take(logs)).data), "cancelled")
          assert.deepStrictEqual(connection.calls(), [])
        }))
    }))

  it.live("1.4 progress reaches its call before the answer", () =>
    withServer(Servers.connectTo(Servers.fake()), (connection) =>
      Effect.gen(function*() {
        const steps: Array<unknown> = []
        const result = yield* connection.callTool("progress", { steps: 50 }, {
          onProgress: (progress) => Effect.sync(() => void steps.push(progress))
        })
        assert.strictEqual(Servers.textOf(result), "done")
        assert.strictEqual(steps.length, 50)
        assert.deepStrictEqual(steps[1], { progress: 2, total: 50, message: "step 2" })
      })))

  it.live("2025-11-25 tasks: progress that stands right behind the task reaches its call", () =>
    withServer(Servers.connectTo(Servers.fake({ tasks: true })), (connection) =>
      Effect.gen(function*() {
        const seen: Array<number> = []
        yield* connection.listTools
        const onProgress = ({ progress }: { readonly progress: number }) => Effect.sync(() => void seen.push(progress))
        assert.strictEqual(Servers.textOf(yield* connection.callTool("task", {}, { onProgress })), "from a task")
        assert.deepStrictEqual(seen, [1])
        assert.deepStrictEqual(connection.calls(), [])
      })))

  it.live("1.3 a server that reads no more holds up writers, not the program; interruption works", () =>
    withServer(Servers.connectTo(Servers.fake({ ignore: "stdin" })), (connection) =>
      Effect.gen(function*() {
        yield* call(connection, "unread")
        const blocked = yield* Effect.forEach(
          [1, 2, 3],
          () => Effect.fork(connection.callTool("echo", { text: "x".repeat(1_000_000) }))
        )
        yield* Effect.repeat(Effect.yieldNow(), { until: () => connection.calls().length === 3 })
        // The program goes on meanwhile, and none of them gets through.
        yield* Effect.sleep("50 millis")
        assert.strictEqual(connection.calls().length, 3)
        for (const fiber of blocked) yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(connection.calls(), [])
        // What is given up does not pile up either.
        const before = process.memoryUsage()
        for (let i = 0; i < 200; i++) {
          const fiber = yield* Effect.fork(connection.callTool("echo", { text: "x".repeat(1_000_000) }))
          yield* Effect.repeat(Effect.yieldNow(), { until: () => connection.calls().length === 1 })
          yield* Fiber.interrupt(fiber)
        }
        const { arrayBuffers } = process.memoryUsage()
        assert.isBelow(arrayBuffers - before.arrayBuffers, 100_000_000)
      })))
})

describe("ends", () => {
  it.live("1.5 a server that dies in a call: the call fails with its exit and last words, later ones at once", () =>
    withServer(Servers.connectTo(Servers.fake()), (connection) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(connection.callTool("die", {}))
        assert.strictEqual(error.reason, "exited")
        assert.include(error.message, "exit code 3")
        assert.include(error.message, "panic: out of luck")
        assert.strictEqual((yield* Effect.flip(connection.callTool("echo", {}))).reason, "exited")
        assert.strictEqual((yield* connection.closed).reason, "exited")
      })))

  it.live("1.5 a server that closes its stdout and lives on is found out and stopped", () =>
    withServer(Servers.connectTo(Servers.fake({ ignore: "stdin" })), (connection) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(connection.callTool("closeout", {}))
        assert.strictEqual(error.reason, "closed")
        assert.include(error.message, "closed its stdout")
        assert.isTrue(yield* gone(yield* pidOf(connection)))
      })))

  it.live("1.5, G5 children that hold the pipes and ignore TERM are gone too", () =>
    withServer(Servers.connectTo(Servers.fake({ children: 3 })), (connection) =>
      Effect.gen(function*() {
        const pid = yield* pidOf(connection)
        assert.isAbove(alive(pid).length, 3)
        assert.strictEqual(yield* call(connection, "echo", {}), "{}")
      })))

  it.live("1.5 children of a server that died", () =>
    withServer(Servers.connectTo(Servers.fake({ children: 2 })), (connection) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* Effect.flip(connection.callTool("die", {}))).reason, "exited")
      })))

  it.live("1.5 stop: input closed is enough for a good server", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const connection = yield* Scope.extend(Servers.connectTo(Servers.fake()), scope)
      const open = yield* Effect.fork(Effect.flip(connection.callTool("hang", {})))
      yield* Effect.repeat(Effect.yieldNow(), { until: () => connection.calls().length === 1 })
      const began = performance.now()
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(open)).reason, "closed")
      assert.isBelow(performance.now() - began, 1_500)
      assert.deepStrictEqual(alive(yield* pidOf(connection)), [])
    }).pipe(Effect.provide(layer)))

  it.live("1.5 close: when it returns, nothing of the server runs", () =>
    withServer(Servers.connectTo(Servers.fake({ children: 1 })), (connection) =>
      Effect.gen(function*() {
        const pid = yield* pidOf(connection)
        yield* connection.close
        assert.isTrue(yield* gone(pid))
        assert.strictEqual((yield* Effect.flip(connection.callTool("echo", {}))).reason, "closed")
      })))

  it.live("1.5 stop: one that ignores its input and TERM gets 2 s, then TERM, 3 s, then KILL", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const connection = yield* Scope.extend(Servers.connectTo(Servers.fake({ ignore: "term" })), scope)
      const pid = yield* pidOf(connection)
      const began = performance.now()
      yield* Scope.close(scope, Exit.void)
      const took = performance.now() - began
      assert.isAbove(took, 4_900)
      assert.isBelow(took, 30_000, "it would never end by itself")
      assert.deepStrictEqual(alive(pid), [])
    }).pipe(Effect.provide(layer)))

  it.live("G5 an interrupted start leaves nothing", () =>
    Effect.scoped(Effect.gen(function*() {
      const pidfile = path.join(yield* Servers.scratch, "pids")
      const fiber = yield* Effect.fork(Effect.scoped(Servers.connectTo(Servers.fake({ probe: "silent", pidfile }))))
      yield* Effect.repeat(Effect.sleep("5 millis"), {
        until: () => fs.existsSync(pidfile) && fs.readFileSync(pidfile, "utf8").endsWith("\n")
      })
      yield* Fiber.interrupt(fiber)
      assert.isTrue(yield* gone(Number(fs.readFileSync(pidfile, "utf8"))))
    })).pipe(Effect.provide(layer)))
})

describe("1.5 a server that ends at once", () => {
  /** What the log says, without its times. */
  const logged = (root: string): ReadonlyArray<string> =>
    fs.readFileSync(path.join(root, "test.log"), "utf8").trimEnd().split("\n").map((line) => line.replace(/^\S+ /u, ""))
  const sh = (script: string) => ["/bin/sh", "-c", script] as const
  const scripts = [
    ["as fast as it can", "echo why it failed >&2; exit 3"],
    ["having closed its stdin first", "exec 0<&-; echo why it failed >&2; exit 3"],
    ["having read what it was asked", "read line; echo why it failed >&2; exit 3"],
    ["with a child that holds its pipes", "sleep 60 & echo why it failed >&2; exit 3"]
  ] as const
  for (const [how, script] of scripts) {
    it.live(
      `${how}, 20 times: exit code and last words in the message, in the log those of every start`,
      () =>
        Effect.scoped(Effect.gen(function*() {
          const logs = yield* Servers.scratch
          for (let n = 0; n < 20; n++) {
            const error = yield* Effect.flip(Effect.scoped(Servers.connectTo(sh(script), {}, { logs })))
            assert.strictEqual(error.reason, "exited")
            assert.strictEqual(
              error.message,
              "the MCP server test ended (exit code 3); the last it wrote to stderr: why it failed"
            )
          }
          const lines = logged(logs)
          // each is started once more, as a legacy server
          assert.strictEqual(lines.length, 120)
          for (let n = 0; n < lines.length; n += 3) {
            assert.match(lines[n] ?? "", /^note started \/bin\/sh, process \d+$/u)
            assert.deepStrictEqual(lines.slice(n + 1, n + 3), ["stderr why it failed", "note exit code 3"])
          }
        })).pipe(Effect.provide(layer)),
      { timeout: 60_000 }
    )
  }

  it.live("the pipe breaks before the process has ended: it was not sent, and that is known with the exit code", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Servers.connectTo(
        sh("echo why it failed >&2; exit 3"),
        { era: "legacy" },
        { spawned: (running) => ({ ...running, post: (_, done) => process.nextTick(done, false) }) }
      )))
      assert.deepStrictEqual([error.reason, error.sent], ["exited", false])
      assert.include(error.message, "ended (exit code 3); the last it wrote to stderr: why it failed")
    }).pipe(Effect.provide(layer)))

  it.live("the pipe breaks and the process goes on: it says so, and is stopped", () =>
    Effect.scoped(Effect.gen(function*() {
      const logs = yield* Servers.scratch
      let pid = 0
      const error = yield* Effect.flip(Effect.scoped(Servers.connectTo(sh("exec sleep 60"), { era: "legacy" }, {
        logs,
        spawned: (running) => {
          pid = running.pid
          return { ...running, post: (_, done) => process.nextTick(done, false) }
        }
      })))
      assert.deepStrictEqual([error.reason, error.sent], ["closed", false])
      assert.include(error.message, "no longer reads its stdin and is being stopped; it wrote nothing to stderr")
      assert.isTrue(yield* gone(pid))
      assert.strictEqual(logged(logs).at(-1), "note ended by SIGTERM")
    })).pipe(Effect.provide(layer)))

  it.live("what it writes when its stdin is closed, and when it is told to end, is in the log", () =>
    Effect.scoped(Effect.gen(function*() {
      const logs = yield* Servers.scratch
      const way = yield* Servers.transport(sh("read line; echo bye >&2; exit 4"), { logs })
      yield* Effect.scoped(way.open)
      assert.deepStrictEqual(logged(logs).slice(1), ["stderr bye", "note exit code 4"])
      const script = "trap 'echo told >&2; exit 5' TERM; echo waits >&2; while :; do sleep 0.1; done"
      const stubborn = yield* Servers.transport(sh(script), { logs })
      yield* Effect.scoped(Effect.zipRight(stubborn.open, eventually(() => logged(logs).at(-1) === "stderr waits")))
      assert.deepStrictEqual(logged(logs).slice(-2), ["stderr told", "note exit code 5"])
    })).pipe(Effect.provide(layer)))
})

describe("what a child knows", () => {
  it.live("G6 no credentials, what the definition names; argv is no shell line; 1.1", () =>
    Effect.gen(function*() {
      const vars = new Map([["PATH", process.env["PATH"] ?? ""], ["OPENAI_API_KEY", "sk-parent"], ["HOME", "/home/x"], [
        "KEYVAR",
        "v"
      ]])
      const connect = Servers.connectTo(Servers.fake({ note: "$HOME `id` ; exit" }), {}, {
        vars,
        env: { SERVICE_TOKEN: "tok-12345678", PLAIN: "yes" }
      })
      yield* withServer(connect, (connection) =>
        Effect.gen(function*() {
          const env = JSON.parse(yield* call(connection, "env")) as Record<string, string>
          assert.notProperty(env, "OPENAI_API_KEY")
          assert.strictEqual(env["SERVICE_TOKEN"], "tok-12345678")
          assert.strictEqual(env["PLAIN"], "yes")
          assert.strictEqual(env["HOME"], "/home/x")
        }))
    }))

  it.live("G2 a secret of the definition that the server writes to stderr shows nowhere", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = yield* Servers.scratch
      const program = "process.stderr.write('using ' + process.env.SERVICE_TOKEN + '\\n'); process.exit(4)"
      const error = yield* Effect.flip(Effect.scoped(Servers.connectTo(
        [process.execPath, "-e", program],
        {},
        { env: { SERVICE_TOKEN: "tok-12345678" }, cwd: root }
      )))
      assert.include(error.message, "using ***")
      assert.notInclude(JSON.stringify(error), "tok-12345678")
    })).pipe(Effect.provide(layer)))
})
