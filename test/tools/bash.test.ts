import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import { ToolExecutor } from "../../src/domain/ToolExecutor.ts"
import { Jobs, maxRunning, maxUnreadBytes } from "../../src/tools/Jobs.ts"
import { OutputFiles } from "../../src/tools/OutputFiles.ts"
import { alive, eventually, gone } from "../support/processes.ts"
import { execute, layerBelow, layerSystem, recordingContext, recordingPermissions, scratch } from "../support/tools.ts"

/** A scratch directory around a test, with the system tools working in it. */
const inScratch = <A, E>(
  test: (root: string) => Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof layerSystem>> | Scope.Scope>,
  options: Parameters<typeof layerSystem>[1] = {}
) =>
  Effect.acquireUseRelease(
    Effect.sync(scratch),
    ({ root }) => Effect.scoped(Effect.provide(test(root), layerSystem(root, options))),
    ({ remove }) => Effect.sync(remove)
  )

const jobId = (output: string): string => /job_\d+/u.exec(output)?.[0] ?? "no job id"

/** Process group that a command wrote into `work/pid` (`echo $$ > tmp; mv tmp pid`). */
const sayPid = "echo $$ > tmp; mv tmp pid; "
const pidIn = (root: string) =>
  Effect.gen(function*() {
    const file = path.join(root, "work", "pid")
    assert.isTrue(yield* eventually(() => fs.existsSync(file)))
    return Number(fs.readFileSync(file, "utf8"))
  })

describe("bash", () => {
  it.effect("output, working directory, bash itself", () =>
    inScratch((root) =>
      Effect.gen(function*() {
        const result = yield* execute("bash", { command: "pwd; [[ -n $BASH_VERSION ]] && echo bash; echo $((6*7))" })
        assert.deepStrictEqual(result, { output: `${root}/work\nbash\n42\n`, error: null, is_error: false })
      })
    ))

  it.effect("a code other than 0 is an error that keeps the output; so is a signal", () =>
    inScratch(() =>
      Effect.gen(function*() {
        const failed = yield* execute("bash", { command: "echo before; exit 3" })
        assert.deepStrictEqual(failed, { output: "before\n", error: "exit code 3", is_error: true })
        const killed = yield* execute("bash", { command: "echo before; kill -KILL $$" })
        assert.deepStrictEqual([killed.output, killed.error], ["before\n", "ended by signal SIGKILL"])
        const silent = yield* execute("bash", { command: "true" })
        assert.deepStrictEqual([silent.output, silent.is_error], ["(no output, exit code 0)", false])
        const typo = yield* execute("bash", { command: "echo 'unclosed" })
        assert.isTrue(typo.is_error)
        assert.include(typo.output, "unexpected EOF")
      })
    ))

  it.effect("stdout and stderr keep their order, and are shown as they come", () =>
    inScratch(() =>
      Effect.gen(function*() {
        const { context, shown } = recordingContext()
        const command = "for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done"
        const result = yield* execute("bash", { command }, context)
        const expected = [1, 2, 3, 4, 5].map((i) => `out${i}\nerr${i}\n`).join("")
        assert.strictEqual(result.output, expected)
        assert.strictEqual(shown(), expected)
      })
    ))

  it.effect("nobody answers: stdin is empty, no terminal, no pager, no editor", () =>
    inScratch(() =>
      Effect.gen(function*() {
        const result = yield* execute("bash", {
          command:
            "read -r x || echo closed; tty; echo $TERM $GIT_PAGER $GIT_EDITOR; cat; (exec </dev/tty) 2>/dev/null || echo no tty"
        })
        assert.strictEqual(result.output, "closed\nnot a tty\ndumb cat true\nno tty\n")
      })
    ))

  it.effect("G6: credentials of the environment do not reach the command, variables of the settings do", () =>
    inScratch(
      () =>
        Effect.gen(function*() {
          const result = yield* execute("bash", { command: "echo \"[$ANTHROPIC_API_KEY][$ODD][$KEEP][$MINE]\"" })
          assert.strictEqual(result.output, "[][][kept][set]\n")
        }),
      {
        vars: { ANTHROPIC_API_KEY: "sk-1", ODD: "sk-2", KEEP: "kept" },
        config: { env: { MINE: "set" }, providers: { p: { api_key_env: "ODD" } } }
      }
    ))

  it.effect("7.5: the subject is the command line", () => {
    const { layer, requests } = recordingPermissions(() => "no")
    return inScratch(
      () =>
        Effect.gen(function*() {
          const result = yield* execute("bash", { command: "touch made; ls" })
          assert.strictEqual(result.error, "no")
          assert.deepStrictEqual(
            requests.map((r) => [r.tool_name, r.subjects, r.kind, r.read_only, r.inside_workspace]),
            [
              ["bash", ["touch made; ls"], "execute", false, false]
            ]
          )
        }),
      { permissions: layer }
    )
  })

  it.effect("the time limit stops the whole group and keeps what came before", () =>
    inScratch((root) =>
      Effect.gen(function*() {
        const call = yield* Effect.fork(execute("bash", {
          command: `echo begun; ${sayPid} sleep 300 & sleep 300 | cat`,
          timeout_ms: 5_000
        }))
        const group = yield* pidIn(root)
        assert.isTrue(yield* eventually(() => alive(group).length >= 3))
        yield* TestClock.adjust("5 seconds")
        const result = yield* Fiber.join(call)
        assert.isTrue(result.is_error)
        assert.strictEqual(result.output, "begun\n")
        assert.include(result.error ?? "", "timed out after 5 s")
        assert.isTrue(yield* gone(group))
      })
    ))

  it.effect("limits of timeout_ms are told", () =>
    inScratch(() =>
      Effect.gen(function*() {
        for (const timeout_ms of [0, 600_001, 1.5, "5"]) {
          const result = yield* execute("bash", { command: "true", timeout_ms })
          assert.include(result.error ?? "", "\"timeout_ms\"")
        }
      })
    ))

  it.effect("interruption leaves no process", () =>
    inScratch((root) =>
      Effect.gen(function*() {
        const call = yield* Effect.fork(execute("bash", { command: `${sayPid} sleep 300 & sleep 300; true` }))
        const group = yield* pidIn(root)
        yield* Fiber.interrupt(call)
        assert.isTrue(yield* gone(group))
      })
    ))

  it.live("what a command leaves behind ends with the call and does not hold it up", () =>
    inScratch((root) =>
      Effect.gen(function*() {
        const begun = Date.now()
        const result = yield* execute("bash", {
          command: `${sayPid} sleep 300 & nohup sleep 301 >/dev/null 2>&1 & echo started`
        })
        assert.isBelow(Date.now() - begun, 20_000, "what is left behind sleeps for 300 s")
        assert.strictEqual(result.output, "started\n")
        assert.isTrue(yield* gone(yield* pidIn(root)))
      })
    ))

  it.effect("a flood of 10 MB: both ends for the model, all of it in a private file", () =>
    inScratch((root) =>
      Effect.gen(function*() {
        const { context } = recordingContext("call/../x")
        const result = yield* execute("bash", {
          command: "echo FIRST; head -c 10000000 /dev/zero | tr '\\0' 'x' | fold -w 99; echo; echo LAST"
        }, context)
        const file = result.truncated?.full_output_path ?? ""
        assert.strictEqual(file, path.join(root, "state", "tool-output", "call_.._x.txt"))
        const whole = fs.readFileSync(file, "utf8")
        assert.isTrue(whole.startsWith("FIRST\nxxx") && whole.endsWith("x\nLAST\n"))
        assert.isAtLeast(whole.length, 10_000_000)
        assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
        assert.strictEqual(fs.statSync(path.dirname(file)).mode & 0o777, 0o700)
        assert.isAtMost(result.output.length, 30_300)
        assert.isTrue(result.output.startsWith("FIRST\n") && result.output.endsWith("LAST\n"))
        assert.include(result.output, `full output: ${file}`)
        const kept = result.output.replace(/\[\.\.\. [^\]]*\]\n/u, "")
        assert.strictEqual(kept.length + (result.truncated?.omitted_bytes ?? 0), whole.length)
      })
    ))

  it.effect("the file keeps bytes as they came, the screen gets safe text", () =>
    inScratch(() =>
      Effect.gen(function*() {
        const { context, shown } = recordingContext()
        const command = "for i in $(seq 3000); do printf '\\033[31m\\377line\\033[0m\\n'; done"
        const result = yield* execute("bash", { command }, context)
        const file = fs.readFileSync(result.truncated?.full_output_path ?? "")
        assert.deepStrictEqual(file.subarray(0, 5), Buffer.from([0x1b, 0x5b, 0x33, 0x31, 0x6d]))
        assert.strictEqual(file[5], 0xff)
        assert.notInclude(shown(), "\u001b")
      })
    ))

  it.effect("characters cut between two writes arrive whole", () =>
    inScratch(() =>
      Effect.gen(function*() {
        const { context, shown } = recordingContext()
        const command =
          "printf '\\xf0\\x9f'; sleep 0.2; printf '\\x98'; sleep 0.2; printf '\\x80 \\xe2\\x82'; sleep 0.1; printf '\\xac'; printf '\\xe2'"
        const result = yield* execute("bash", { command }, context)
        assert.strictEqual(result.output, "😀 €\ufffd")
        assert.strictEqual(shown(), "😀 €\ufffd")
      })
    ))

  it.effect("a file that reached its limit says so", () =>
    Effect.acquireUseRelease(
      Effect.sync(scratch),
      ({ root }) =>
        Effect.scoped(Effect.gen(function*() {
          const files = yield* OutputFiles
          const made = yield* files.create("call")
          assert.strictEqual(made._tag, "Some")
          if (made._tag === "None") return
          yield* made.value.write(new Uint8Array(900_000))
          assert.isUndefined(yield* made.value.problem)
          yield* made.value.write(new Uint8Array(900_000))
          assert.strictEqual(fs.statSync(made.value.path).size, 1024 * 1024)
          assert.strictEqual(yield* made.value.problem, "it holds the first 1 MiB")
          // The same call twice does not overwrite the first file.
          const second = yield* files.create("call")
          assert.isTrue(second._tag === "Some" && second.value.path !== made.value.path)
        })).pipe(Effect.provide(Layer.provide(OutputFiles.layerLimit(1024 * 1024), layerBelow(root)))),
      ({ remove }) => Effect.sync(remove)
    ))

  it.effect("kept output is swept after seven days", () =>
    Effect.acquireUseRelease(
      Effect.sync(scratch),
      ({ root }) =>
        Effect.gen(function*() {
          const directory = path.join(root, "state", "tool-output")
          fs.mkdirSync(directory, { recursive: true })
          const now = 1_800_000_000
          yield* TestClock.setTime(now * 1000)
          for (const [name, days] of [["old.txt", 8], ["young.txt", 6]] as const) {
            fs.writeFileSync(path.join(directory, name), "x")
            fs.utimesSync(path.join(directory, name), now, now - days * 86_400)
          }
          yield* Effect.scoped(Effect.gen(function*() {
            yield* Layer.build(Layer.provide(OutputFiles.layer, layerBelow(root)))
            assert.isTrue(yield* eventually(() => !fs.existsSync(path.join(directory, "old.txt"))))
          }))
          assert.deepStrictEqual(fs.readdirSync(directory), ["young.txt"])
        }),
      ({ remove }) => Effect.sync(remove)
    ))

  it.effect("without a place to keep the output the result says so", () =>
    inScratch((root) =>
      Effect.gen(function*() {
        fs.writeFileSync(path.join(root, "state"), "in the way")
        const result = yield* execute("bash", { command: "seq 100000" })
        assert.isUndefined(result.truncated)
        assert.include(result.output, "the full output could not be kept")
        assert.isFalse(result.is_error)
      })
    ))

  it.effect("a command line over the system's limit is an error with a remedy", () =>
    inScratch(() =>
      Effect.gen(function*() {
        const result = yield* execute("bash", { command: `: ${"x".repeat(3_000_000)}` })
        assert.include(result.error ?? "", "put long text into a file")
        assert.isBelow((result.error ?? "").length, 300)
      })
    ))
})

describe("background jobs", () => {
  it.effect("start, read what is new, see the end", () =>
    inScratch((root) =>
      Effect.gen(function*() {
        const started = yield* execute("bash", {
          command: "echo one; until [ -e go ]; do sleep 0.02; done; echo two; exit 5",
          background: true
        })
        const id = jobId(started.output)
        assert.include(started.output, `started job ${id}`)
        const jobs = yield* Jobs
        const collected: Array<string> = []
        const readUntil = (words: string) =>
          Effect.gen(function*() {
            for (let i = 0; i < 500; i++) {
              const { output } = yield* execute("bash_output", { id })
              collected.push(output)
              if (output.includes(words)) return output
              yield* eventually(() => false, 10)
            }
            return collected.join("")
          })
        assert.strictEqual(yield* readUntil("one"), `one\n[job ${id} is running]`)
        assert.strictEqual((yield* execute("bash_output", { id })).output, `[job ${id} is running]`)
        fs.writeFileSync(path.join(root, "work", "go"), "")
        yield* readUntil("has ended")
        assert.strictEqual(collected.join("").split("two").length, 2)
        assert.include(collected.at(-1) ?? "", `[job ${id} has ended: exit code 5]`)
        assert.deepStrictEqual((yield* jobs.list).map((job) => [job.id, job.exit?.code]), [[id, 5]])
      })
    ))

  it.effect("bash_kill ends the group; output and state can still be read", () =>
    inScratch((root) =>
      Effect.gen(function*() {
        const started = yield* execute("bash", {
          command: `echo up; ${sayPid} sleep 300 & sleep 300; true`,
          background: true
        })
        const id = jobId(started.output)
        const group = yield* pidIn(root)
        const killed = yield* execute("bash_kill", { id })
        assert.strictEqual(killed.output, `job ${id} was stopped by bash_kill (ended by signal SIGTERM)`)
        assert.isTrue(yield* gone(group))
        assert.include((yield* execute("bash_output", { id })).output, "up\n[job")
        assert.include((yield* execute("bash_kill", { id })).output, "was stopped by bash_kill")
      })
    ))

  it.effect("a time limit holds for a job too", () =>
    inScratch((root) =>
      Effect.gen(function*() {
        const started = yield* execute("bash", {
          command: `${sayPid} sleep 300; true`,
          background: true,
          timeout_ms: 1000
        })
        const group = yield* pidIn(root)
        yield* TestClock.adjust("1 seconds")
        assert.isTrue(yield* gone(group))
        const jobs = yield* Jobs
        const ended = Effect.map(jobs.list, (all) => all[0]?.exit !== null)
        for (let i = 0; i < 200 && !(yield* ended); i++) yield* eventually(() => false, 10)
        assert.include((yield* execute("bash_output", { id: jobId(started.output) })).output, "reached its time limit")
      })
    ))

  it.effect("all jobs end with the workspace", () =>
    Effect.acquireUseRelease(
      Effect.sync(scratch),
      ({ root }) =>
        Effect.gen(function*() {
          const scope = yield* Scope.make()
          const context = yield* Layer.buildWithScope(layerSystem(root), scope)
          const groups: Array<number> = []
          for (const name of ["a", "b", "c"]) {
            const command = `echo $$ > ${name}.tmp; mv ${name}.tmp ${name}; sleep 300 & sleep 300; true`
            const started = yield* Effect.provide(execute("bash", { command, background: true }), context)
            assert.isFalse(started.is_error)
            const file = path.join(root, "work", name)
            assert.isTrue(yield* eventually(() => fs.existsSync(file)))
            groups.push(Number(fs.readFileSync(file, "utf8")))
          }
          assert.isTrue(yield* eventually(() => groups.every((group) => alive(group).length >= 2)))
          yield* Scope.close(scope, Exit.void)
          for (const group of groups) assert.isTrue(yield* gone(group))
        }),
      ({ remove }) => Effect.sync(remove)
    ))

  it.effect("unread output is bounded: the newest is kept, what was lost is counted", () =>
    inScratch((root) =>
      Effect.gen(function*() {
        const started = yield* execute("bash", {
          command: "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo LAST; touch done; sleep 300",
          background: true
        })
        assert.isTrue(yield* eventually(() => fs.existsSync(path.join(root, "work", "done"))))
        yield* execute("bash_kill", { id: jobId(started.output) })
        const { output } = yield* execute("bash_output", { id: jobId(started.output) })
        const lost = Number(/^\[(\d+) older bytes were not kept\]/u.exec(output)?.[1])
        assert.isAtLeast(lost, 5_000_000 - maxUnreadBytes)
        assert.include(output, "LAST\n[job")
        assert.isBelow(output.length, 31_000)
      })
    ))

  it.effect("the number of running jobs is bounded", () =>
    inScratch(() =>
      Effect.gen(function*() {
        const start = execute("bash", { command: "sleep 300", background: true })
        const started = yield* Effect.all(Array.from({ length: maxRunning }, () => start))
        assert.isTrue(started.every((result) => !result.is_error))
        assert.include((yield* start).error ?? "", `${maxRunning} background jobs are running`)
        yield* execute("bash_kill", { id: jobId(started[0]?.output ?? "") })
        assert.isFalse((yield* start).is_error)
      })
    ))

  it.effect("an unknown id names the known ones", () =>
    inScratch(() =>
      Effect.gen(function*() {
        for (const name of ["bash_output", "bash_kill"]) {
          assert.strictEqual(
            (yield* execute(name, { id: "job_9" })).error,
            "there is no job \"job_9\"; none was started"
          )
        }
        const started = yield* execute("bash", { command: "true", background: true })
        const result = yield* execute("bash_output", { id: "job_9" })
        assert.include(result.error ?? "", `known jobs: ${jobId(started.output)}`)
      })
    ))

  it.effect("2.10: what is read-only", () =>
    inScratch(() =>
      Effect.gen(function*() {
        const { definitions, isReadOnly } = yield* ToolExecutor
        const names = (yield* definitions).map((d) => d.name)
        assert.deepStrictEqual(names, ["bash", "bash_output", "bash_kill", "fetch", "todo"])
        assert.deepStrictEqual(names.filter((name) => isReadOnly(name, {})), ["bash_output", "fetch", "todo"])
      })
    ))
})
