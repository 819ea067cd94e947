import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as fs from "node:fs"
import * as path from "node:path"
import { success } from "../../src/domain/ToolExecutor.ts"
import { loggedWith } from "../support/logged.ts"
import { alive, eventually, gone } from "../support/processes.ts"
import { post, pre, recorded, withRunner } from "./support.ts"

const captureLog = () => {
  const lines: Array<string> = []
  const layer = loggedWith(({ cause, logLevel }, message) =>
    void lines.push(`${logLevel.label} ${message}${Cause.isEmpty(cause) ? "" : ` ${Cause.pretty(cause)}`}`)
  )
  return { lines, layer }
}

const read = (root: string, name: string): string => fs.readFileSync(path.join(root, name), "utf8")

const asked = { command: "ls" }

describe("HookRunner", () => {
  const bound = (
    command: string,
    before: Readonly<Record<string, string>>,
    after: (root: string) => void
  ) =>
    withRunner(
      [pre(command), pre(`${command} `, { event: "stop", tool_pattern: undefined } as object)],
      (runner, root) =>
        Effect.gen(function*() {
          for (const [file, text] of Object.entries(before)) {
            fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
            fs.writeFileSync(path.join(root, file), text, { mode: file.endsWith(".json") ? 0o644 : 0o755 })
          }
          const { context, events } = recorded()
          // A tool without a hook of its own binds them all the same.
          yield* runner.runPre("read", {}, context)
          after(root)
          const pre = yield* runner.runPre("bash", asked, context)
          const stop = yield* runner.runEvent(
            { event: "stop", status: "completed", exit_code: 0, result: "" },
            context
          )
          assert.deepStrictEqual(events.length, 2)
          return { pre, stop, reason: pre.reason.replaceAll(root, "R"), ran: fs.existsSync(path.join(root, "ran")) }
        })
    )
  const write = (file: string, text: string) => (root: string): void => {
    fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
    fs.writeFileSync(path.join(root, file), text, { mode: 0o755 })
  }
  const evil = "require('fs').writeFileSync('ran','')"

  const changes: ReadonlyArray<
    readonly [line: string, before: Readonly<Record<string, string>>, after: (root: string) => void, told: string]
  > = [
    ["node ./guard", { "guard/index.js": "" }, write("guard/index.js", evil), "R/guard/index.js has changed"],
    ["node ./guard", { "guard/index.js": "" }, write("guard/more.js", evil), "R/guard/more.js has appeared"],
    ["node ./guard", { "guard/index.js": "" }, write("guard.js", evil), "R/guard.js has appeared"],
    ["node ./guard", { "guard/index.js": "" }, write("guard.js", ""), "R/guard.js has appeared"],
    ["node h", { "h.js": "" }, write("h", evil), "R/h has appeared"],
    [
      "./check.sh",
      { "check.sh": "#!/bin/sh\nexit 0" },
      write("check.sh", "#!/bin/sh\ntouch ran"),
      "R/check.sh has changed"
    ],
    [
      "./check.sh",
      { "check.sh": "#!/bin/sh\nexit 0" },
      (root) => fs.rmSync(path.join(root, "check.sh")),
      "R/check.sh has gone"
    ],
    ["sh check", { check: "exit 0" }, write("check", "touch ran"), "R/check has changed"],
    ["./later.sh", {}, write("later.sh", "#!/bin/sh\ntouch ran"), "R/later.sh has appeared"],
    [
      "python3 -mpkg",
      { "pkg/__init__.py": "", "pkg/__main__.py": "" },
      write("pkg/__init__.py", "open('ran','w')"),
      "R/pkg/__init__.py has changed"
    ],
    ["make -s", { Makefile: "all:\n" }, write("GNUmakefile", "all:\n\ttouch ran\n"), "R/GNUmakefile has appeared"],
    [
      "awk -fg.awk </dev/null",
      { "g.awk": "BEGIN{exit 0}" },
      write("g.awk", "BEGIN{system(\"touch ran\")}"),
      "R/g.awk has changed"
    ],
    [
      "npx --no lint-it",
      { "node_modules/.bin/lint-it": "#!/bin/sh\n" },
      write("node_modules/.bin/lint-it", "#!/bin/sh\ntouch ran"),
      "R/node_modules/.bin/lint-it has changed"
    ]
  ]
  for (const [line, before, after, told] of changes) {
    it.live(`9.9: a program that is not what it was is not run: ${line}, ${told}`, () =>
      Effect.gen(function*() {
        const { pre, ran, reason, stop } = yield* bound(line, before, after)
        assert.deepStrictEqual([pre.decision, pre.exit_code, stop.decision, stop.exit_code], [
          "error",
          null,
          "error",
          null
        ])
        assert.include(reason, `denied by hook 0 (bash): ${told} since the session began, which its line runs`)
        assert.include(stop.reason, "since the session began")
        assert.isFalse(ran)
      }))
  }

  const unchanged: typeof changes = [
    ["node ./guard", { "guard/index.js": "" }, write("guard/index.js", ""), "the same content"],
    ["node ./guard", { "guard/index.js": "" }, (root) => fs.mkdirSync(path.join(root, "guard.js")), "a mount point"],
    [
      "./check.sh; echo x >> hook.log",
      { "check.sh": "#!/bin/sh\n", "hook.log": "" },
      write("hook.log", "y"),
      "its log"
    ],
    ["cat rules.json >/dev/null", { "rules.json": "{}" }, write("rules.json", "[]"), "data"]
  ]
  it.live("9.9: what a hook does to its own file is the user's doing", () =>
    withRunner([pre("sh own.sh")], (runner, root) =>
      Effect.gen(function*() {
        write("own.sh", "echo '#' >> own.sh")(root)
        const { context } = recorded()
        for (let times = 0; times < 3; times++) {
          assert.strictEqual((yield* runner.runPre("bash", asked, context)).decision, "allow")
        }
        write("own.sh", "exit 0")(root)
        assert.strictEqual((yield* runner.runPre("bash", asked, context)).decision, "error")
      })))

  for (const [line, before, after, what] of unchanged) {
    it.live(`9.9: ${what} does not stop a hook: ${line}`, () =>
      Effect.gen(function*() {
        const { pre, stop } = yield* bound(line, before, after)
        assert.deepStrictEqual([pre.decision, stop.decision], ["allow", "allow"], pre.reason + stop.reason)
      }))
  }

  it.live("9.3: 0 allows; no hook at all allows too", () =>
    withRunner([pre("exit 0"), pre("exit 1", { tool_pattern: "write" })], (runner) =>
      Effect.gen(function*() {
        const { context, events } = recorded()
        const outcome = yield* runner.runPre("bash", asked, context)
        assert.deepStrictEqual(
          [outcome.decision, outcome.reason, outcome.hook, outcome.exit_code, outcome.signal, outcome.timed_out],
          ["allow", "", 0, 0, null, false]
        )
        const untouched = yield* runner.runPre("read", asked, context)
        assert.deepStrictEqual([untouched.decision, untouched.hook, untouched.results], ["allow", -1, []])
        assert.strictEqual(events.length, 1)
      })))

  it.live("9.3, 9.4: 2 denies, stderr says why", () =>
    withRunner([pre("echo out; printf '  not here\\n\\n' >&2; exit 2")], (runner) =>
      Effect.gen(function*() {
        const { context, events } = recorded()
        const outcome = yield* runner.runPre("bash", asked, context)
        assert.deepStrictEqual([outcome.decision, outcome.reason, outcome.exit_code], ["deny", "not here", 2])
        const [event] = events
        assert.isTrue(event?.type === "hook.completed")
        if (event?.type === "hook.completed") {
          const { duration_ms, ...rest } = event
          assert.isAtLeast(duration_ms, 0)
          assert.deepStrictEqual(rest, {
            type: "hook.completed",
            call_id: "call_1",
            event: "pre_tool_use",
            hook: 0,
            decision: "deny",
            reason: "not here"
          })
        }
      })))

  it.live("9.4: a silent 2 denies all the same, and says which hook it was", () =>
    withRunner([pre("exit 2", { tool_pattern: "ba*" })], (runner) =>
      Effect.gen(function*() {
        const outcome = yield* runner.runPre("bash", asked, recorded().context)
        assert.deepStrictEqual([outcome.decision, outcome.reason], ["deny", "denied by hook 0 (ba*)"])
      })))

  it.live("9.4: stdout is the reason when stderr is empty, unless it is a JSON object", () =>
    withRunner([
      pre("echo from stdout; exit 2", { tool_pattern: "a" }),
      pre("echo '{\"decision\": \"allow\", \"additional_context\": \"x\"}'; exit 2", { tool_pattern: "b" }),
      pre("echo '{not json'; exit 2", { tool_pattern: "c" }),
      pre("echo '[1]'; exit 2", { tool_pattern: "d" })
    ], (runner) =>
      Effect.gen(function*() {
        const results = yield* Effect.forEach(
          ["a", "b", "c", "d"],
          (tool) => runner.runPre(tool, asked, recorded().context)
        )
        assert.deepStrictEqual(results.map(({ decision }) => decision), ["deny", "deny", "deny", "deny"])
        assert.deepStrictEqual(
          results.map(({ reason }) => reason),
          ["from stdout", "denied by hook 1 (b)", "{not json", "[1]"]
        )
        assert.deepStrictEqual(results.map(({ context }) => context), ["", "", "", ""])
      })))

  for (const code of [1, 3, 126, 127, 137, 255]) {
    it.live(`9.3: exit code ${code} blocks and is logged`, () => {
      const log = captureLog()
      return withRunner([pre(`echo secret-word >&2; exit ${code}`)], (runner) =>
        Effect.gen(function*() {
          const outcome = yield* runner.runPre("bash", asked, recorded().context)
          assert.deepStrictEqual([outcome.decision, outcome.exit_code, outcome.signal], ["error", code, null])
          assert.strictEqual(
            outcome.reason,
            `denied by hook 0 (bash): it ended with exit code ${code}, which is neither 0 (allow) nor 2 (deny): secret-word`
          )
          assert.deepStrictEqual(log.lines, [`WARN hook 0 (pre_tool_use, bash) of the settings: exit code ${code}`])
        }), { log: log.layer })
    })
  }

  it.live("9.3: a program that is not there or may not be run blocks", () =>
    withRunner(
      [pre("/no/such/program"), pre("./plain", { tool_pattern: "plain" })],
      (runner, root) =>
        Effect.gen(function*() {
          fs.writeFileSync(path.join(root, "plain"), "#!/bin/sh\nexit 0\n", { mode: 0o644 })
          const missing = yield* runner.runPre("bash", asked, recorded().context)
          assert.deepStrictEqual([missing.decision, missing.exit_code], ["error", 127])
          const plain = yield* runner.runPre("plain", asked, recorded().context)
          assert.deepStrictEqual([plain.decision, plain.exit_code], ["error", 126])
        })
    ))

  for (const signal of ["KILL", "TERM", "SEGV", "HUP", "INT"]) {
    it.live(`9.3: SIG${signal} blocks`, () =>
      withRunner([pre(`kill -${signal} $$; sleep 5`)], (runner) =>
        Effect.gen(function*() {
          const outcome = yield* runner.runPre("bash", asked, recorded().context)
          assert.deepStrictEqual(
            [outcome.decision, outcome.exit_code, outcome.signal, outcome.timed_out],
            ["error", null, `SIG${signal}`, false]
          )
          assert.strictEqual(outcome.reason, `denied by hook 0 (bash): it was ended by SIG${signal}`)
        })))
  }

  it.live("9.3: what cannot start blocks", () =>
    withRunner([pre("exit 0")], (runner, root) =>
      Effect.gen(function*() {
        fs.rmSync(root, { recursive: true })
        const { context, events } = recorded()
        const outcome = yield* runner.runPre("bash", asked, context)
        assert.deepStrictEqual([outcome.decision, outcome.exit_code, outcome.signal], ["error", null, null])
        assert.match(outcome.reason, /^denied by hook 0 \(bash\): cannot start \/bin\/sh: its working directory/)
        assert.strictEqual(events.length, 1)
      })))

  it.live("9.7: a hang is ended at its deadline with all its children, and blocks", () =>
    withRunner([pre("echo $$ > pid; sleep 60 & sh -c 'trap \"\" TERM; sleep 60' & wait", { timeout_ms: 1_000 })], (
      runner,
      root
    ) =>
      Effect.gen(function*() {
        const began = performance.now()
        const outcome = yield* runner.runPre("bash", asked, recorded().context)
        const took = performance.now() - began
        assert.deepStrictEqual([outcome.decision, outcome.timed_out], ["error", true])
        assert.strictEqual(outcome.reason, "denied by hook 0 (bash): it did not end within 1000 ms")
        assert.isAtLeast(took, 990)
        assert.isBelow(took, 20_000, "its children sleep for 60 s")
        assert.isTrue(yield* gone(Number(read(root, "pid"))))
      })))

  it.live("9.7: a hook that answers its TERM with a friendly 0 was still too late", () =>
    withRunner(
      [pre("trap 'exit 0' TERM; while :; do sleep 0.05; done", { timeout_ms: 200 })],
      (runner) =>
        Effect.gen(function*() {
          const outcome = yield* runner.runPre("bash", asked, recorded().context)
          assert.deepStrictEqual([outcome.decision, outcome.timed_out], ["error", true])
        })
    ))

  it.live("9.7: a grandchild that holds the pipe changes nothing, delays by about 100 ms and is killed", () =>
    withRunner([pre("echo $$ > pid; sleep 60 & exit 0")], (runner, root) =>
      Effect.gen(function*() {
        const began = performance.now()
        const outcome = yield* runner.runPre("bash", asked, recorded().context)
        assert.isBelow(performance.now() - began, 20_000, "its child sleeps for 60 s")
        assert.deepStrictEqual([outcome.decision, outcome.exit_code, outcome.timed_out], ["allow", 0, false])
        assert.isTrue(yield* gone(Number(read(root, "pid"))))
      })))

  it.live("9.7: the direct child's exit decides, not the grandchild that outlives the deadline", () =>
    withRunner([pre("sleep 60 & sleep 0.26; exit 0", { timeout_ms: 300 })], (runner) =>
      Effect.gen(function*() {
        const outcome = yield* runner.runPre("bash", asked, recorded().context)
        // On a machine so slow that the child itself was late, it was late.
        assert.strictEqual(outcome.decision, outcome.timed_out ? "error" : "allow")
        assert.strictEqual(outcome.exit_code === 0, !outcome.timed_out)
      })))

  it.live("9.4: 10 MB of output: drained, 4 KiB shown", () =>
    withRunner([
      pre("head -c 10000000 /dev/zero | tr '\\0' 'x'; head -c 10000000 /dev/zero | tr '\\0' 'y' >&2; exit 2"),
      pre("yes | head -c 10000000; exit 0", { tool_pattern: "quiet" })
    ], (runner) =>
      Effect.gen(function*() {
        const outcome = yield* runner.runPre("bash", asked, recorded().context)
        assert.strictEqual(outcome.decision, "deny")
        assert.strictEqual(new TextEncoder().encode(outcome.reason).length, 4_096)
        assert.match(outcome.reason, /^y{4093}…$/u)
        assert.strictEqual((yield* runner.runPre("quiet", asked, recorded().context)).decision, "allow")
      })))

  it.live("9.5, 9.6: 1 MiB of input is whole on stdin and cut in the environment", () =>
    withRunner([pre(
      "cat > stdin; printf %s \"$HANZO_TOOL_INPUT\" > env; printf %s \"$HOOK_TOOL_INPUT\" > alias; " +
        "printf %s \"$HANZO_TOOL_INPUT_TRUNCATED $HOOK_TOOL_INPUT_TRUNCATED $HANZO_TOOL_NAME_TRUNCATED\" > cut"
    )], (runner, root) =>
      Effect.gen(function*() {
        const input = { command: "é€😀".repeat(116_600) }
        const outcome = yield* runner.runPre("bash", input, recorded().context)
        assert.strictEqual(outcome.decision, "allow")
        assert.deepStrictEqual(JSON.parse(read(root, "stdin")), {
          hook_event_name: "pre_tool_use",
          session_id: "ses_1",
          cwd: root,
          tool_name: "bash",
          tool_input: input,
          tool_call_id: "call_1"
        })
        assert.isAbove(fs.statSync(path.join(root, "stdin")).size, 1024 * 1024)
        const json = JSON.stringify(input)
        for (const [file, name] of [["env", "HANZO_TOOL_INPUT"], ["alias", "HOOK_TOOL_INPUT"]] as const) {
          const given = read(root, file)
          assert.isTrue(json.startsWith(given))
          const bytes = new TextEncoder().encode(`${name}=${given}`).length
          assert.isBelow(bytes, 131_072)
          assert.isAtLeast(bytes, 131_068)
        }
        assert.strictEqual(read(root, "cut"), "1 1 ")
      })))

  it.live("9.5: a hook that does not read, or closes its input, is fine", () =>
    withRunner([pre("exit 0"), pre("exec 0<&-; sleep 0.1; exit 0")], (runner) =>
      Effect.gen(function*() {
        const outcome = yield* runner.runPre("bash", { command: "x".repeat(1024 * 1024) }, recorded().context)
        assert.deepStrictEqual(outcome.results.map(({ decision }) => decision), ["allow", "allow"])
      })))

  it.live("9.2, 9.6, G6: /bin/sh in the root with the names of the call and without credentials", () =>
    withRunner(
      [post("pwd > where; env > env")],
      (runner, root) =>
        Effect.gen(function*() {
          yield* runner.runPost("bash", asked, success("out\0put"), recorded().context)
          assert.strictEqual(read(root, "where").trim(), root)
          const env = new Map(
            read(root, "env").trim().split("\n").map((line): [string, string] => {
              const at = line.indexOf("=")
              return [line.slice(0, at), line.slice(at + 1)]
            })
          )
          const expected = {
            HANZO_HOOK_EVENT: "post_tool_use",
            HANZO_TOOL_NAME: "bash",
            HANZO_TOOL_INPUT: "{\"command\":\"ls\"}",
            HANZO_TOOL_OUTPUT: "output",
            HANZO_TOOL_OUTPUT_TRUNCATED: "1",
            HANZO_TOOL_IS_ERROR: "false",
            HANZO_SESSION_ID: "ses_1",
            HANZO_PROJECT_ROOT: root,
            HOOK_EVENT: "post_tool_use",
            HOOK_TOOL_NAME: "bash",
            HOOK_TOOL_INPUT: "{\"command\":\"ls\"}",
            HOOK_TOOL_OUTPUT: "output",
            HOOK_TOOL_IS_ERROR: "false",
            KEPT: "yes"
          }
          for (const [name, value] of Object.entries(expected)) assert.strictEqual(env.get(name), value, name)
          // Of an outer agent whose hook started this one.
          assert.isFalse(env.has("HANZO_TOOL_INPUT_TRUNCATED"))
        }),
      { vars: { KEPT: "yes", HANZO_TOOL_INPUT_TRUNCATED: "1", HANZO_TOOL_INPUT: "of another" } }
    ))

  it.live("9.8: user, project, local, in file order; the first that does not allow stops", () => {
    const say = (word: string, code = 0) => pre(`echo ${word} >> order; exit ${code}`, { tool_pattern: "*" })
    return withRunner([
      { hook: say("local"), tier: "local" },
      { hook: say("project-1"), tier: "project" },
      { hook: say("user-1"), tier: "user" },
      { hook: say("project-2", 1), tier: "project" },
      { hook: say("user-2"), tier: "user" }
    ], (runner, root) =>
      Effect.gen(function*() {
        const outcome = yield* runner.runPre("mcp__a__b", {}, recorded().context)
        assert.strictEqual(read(root, "order"), "user-1\nuser-2\nproject-1\nproject-2\n")
        assert.deepStrictEqual([outcome.decision, outcome.hook, outcome.results.length], ["error", 3, 4])
      }))
  })

  it.live("9.8: post hooks all run whatever the others say; their failures are logged", () => {
    const log = captureLog()
    return withRunner([
      post("echo 1 >> order; exit 2"),
      post("echo 2 >> order; kill -9 $$"),
      post("echo 3 >> order; echo '{\"additional_context\": \"lint: 2 problems\"}'"),
      post("echo 4 >> order; echo '{\"additional_context\": \"from a failure\"}'; exit 1")
    ], (runner, root) =>
      Effect.gen(function*() {
        const { context, events } = recorded()
        const outcome = yield* runner.runPost("bash", asked, success("x"), context)
        assert.strictEqual(read(root, "order"), "1\n2\n3\n4\n")
        assert.deepStrictEqual(outcome.results.map(({ decision }) => decision), ["deny", "error", "allow", "error"])
        assert.strictEqual(outcome.context, "lint: 2 problems")
        assert.strictEqual(events.length, 4)
        assert.deepStrictEqual(log.lines, [
          "WARN hook 0 (post_tool_use, bash) of the settings: exit code 2",
          "WARN hook 1 (post_tool_use, bash) of the settings: SIGKILL",
          "WARN hook 3 (post_tool_use, bash) of the settings: exit code 1"
        ])
      }), { log: log.layer })
  })

  it.live("9.4: additional_context of hooks that allow is told, in order; anything else on stdout is not", () =>
    withRunner([
      pre("echo '{\"additional_context\": \"one\", \"tool_input\": {\"command\": \"rm\"}}'"),
      pre("echo plain words"),
      pre("echo '{\"additional_context\": 7}'"),
      pre("printf '\\n {\"additional_context\": \"two\"} \\n'")
    ], (runner) =>
      Effect.gen(function*() {
        const outcome = yield* runner.runPre("bash", asked, recorded().context)
        assert.deepStrictEqual([outcome.decision, outcome.context], ["allow", "one\n\ntwo"])
      })))

  it.live("events about no tool: two can be denied, the others are only told", () =>
    withRunner(
      (["session_start", "user_prompt_submit", "pre_compact", "stop", "notification"] as const).flatMap((event) => [
        { event, command: `cat > ${event}; exit 2` },
        { event, command: `echo second >> ${event}-second` }
      ]),
      (runner, root) =>
        Effect.gen(function*() {
          const { context, events } = recorded(null)
          const results = yield* Effect.all([
            runner.runEvent({ event: "session_start", source: "new", model: "p/m" }, context),
            runner.runEvent({ event: "user_prompt_submit", prompt: "do it" }, context),
            runner.runEvent({ event: "pre_compact", trigger: "auto" }, context),
            runner.runEvent({ event: "stop", status: "completed", exit_code: 0, result: "done" }, context),
            runner.runEvent(
              {
                event: "notification",
                kind: "permission",
                message: "bash ls",
                tool_name: "bash",
                tool_call_id: "call_1"
              },
              context
            )
          ])
          assert.deepStrictEqual(results.map((outcome) => outcome.results.length), [2, 1, 1, 2, 2])
          assert.deepStrictEqual(results[1]?.reason, "denied by hook 2 (user_prompt_submit)")
          assert.deepStrictEqual(JSON.parse(read(root, "user_prompt_submit")), {
            hook_event_name: "user_prompt_submit",
            session_id: "ses_1",
            cwd: root,
            prompt: "do it"
          })
          assert.strictEqual(JSON.parse(read(root, "stop")).status, "completed")
          assert.isTrue(events.every((event) => event.type === "hook.completed" && event.call_id === null))
        })
    ))

  it.live("9.3: an interrupted hook is stopped with its children, logged, and answers nothing", () => {
    const log = captureLog()
    return withRunner([pre("echo $$ > pid; sleep 60 & wait")], (runner, root) =>
      Effect.gen(function*() {
        const { context, events } = recorded()
        const fiber = yield* Effect.fork(runner.runPre("bash", asked, context))
        const file = path.join(root, "pid")
        assert.isTrue(yield* eventually(() => fs.existsSync(file) && fs.readFileSync(file, "utf8").trim() !== ""))
        const group = Number(read(root, "pid"))
        assert.isAbove(alive(group).length, 0)
        yield* Fiber.interrupt(fiber)
        assert.isTrue(yield* gone(group))
        assert.deepStrictEqual(events, [])
        assert.deepStrictEqual(log.lines, ["WARN hook 0 (pre_tool_use, bash) of the settings: interrupted"])
      }), { log: log.layer })
  })
})
