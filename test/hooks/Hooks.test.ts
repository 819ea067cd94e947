import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { listDocument } from "../../src/cli/Hooks.ts"
import { Config } from "../../src/config/Config.ts"
import { fromText } from "../../src/config/Tiers.ts"
import type { AgentEventBody } from "../../src/domain/AgentEvent.ts"
import { Ids } from "../../src/domain/Ids.ts"
import { success } from "../../src/domain/ToolExecutor.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { fitting, inputJson, maxVariableBytes, variables } from "../../src/hooks/HookInput.ts"
import { judge } from "../../src/hooks/HookOutput.ts"
import { Hooks } from "../../src/hooks/Hooks.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { FakeProcesses } from "../../src/testing/index.ts"
import { defineTool } from "../../src/tools/Define.ts"
import { layerHookSlot } from "../../src/tools/HookSlot.ts"
import { layerExecutor } from "../../src/tools/Layers.ts"
import { McpTools } from "../../src/tools/McpTools.ts"
import { NativeTools } from "../../src/tools/Registry.ts"
import { ToolSandbox } from "../../src/tools/Slots.ts"
import { allowAll, execute, layerNoSecrets } from "../support/tools.ts"
import { pre, recorded } from "./support.ts"

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

const unicode = FastCheck.string({ unit: "binary", maxLength: 60 })

describe("HookInput", () => {
  it.prop("9.6: a text is cut between code points and not shorter than it must be", [unicode, FastCheck.nat(200)], ([
    text,
    limit
  ]) => {
    const kept = fitting(text, limit)
    assert.isTrue(text.startsWith(kept))
    assert.isAtMost(bytesOf(kept), limit)
    const [next] = text.slice(kept.length)
    if (next !== undefined) assert.isAbove(bytesOf(kept + next), limit)
  })

  it.prop(
    "9.6: no variable reaches the limit or holds a NUL, and one that is not whole says so",
    [unicode, unicode, FastCheck.integer({ min: 40, max: 300 })],
    ([command, output, limit]) => {
      const env = variables(
        {
          event: "post_tool_use",
          tool_name: "bash",
          tool_input: { command },
          tool_call_id: "c",
          tool_output: output,
          tool_is_error: true
        },
        { session_id: "ses_1", root: "/work", cwd: "/work" },
        limit
      )
      const whole = { TOOL_INPUT: JSON.stringify({ command }), TOOL_OUTPUT: output }
      for (const [name, value] of Object.entries(env)) {
        assert.isBelow(bytesOf(`${name}=${value}`), limit)
        assert.notInclude(value, "\0")
      }
      for (const [name, value] of Object.entries(whole)) {
        for (const prefix of ["HANZO", "HOOK"]) {
          assert.strictEqual(env[`${prefix}_${name}_TRUNCATED`] === "1", env[`${prefix}_${name}`] !== value)
        }
      }
    }
  )

  it.prop("9.5: the input is one JSON object with the whole call", [FastCheck.object()], ([input]) => {
    const plain = JSON.parse(JSON.stringify(input)) as Record<string, unknown>
    const subject = { event: "pre_tool_use", tool_name: "t", tool_input: plain, tool_call_id: null } as const
    const json = inputJson(subject, { session_id: "ses_1", root: "/r", cwd: "/r/sub" })
    assert.notInclude(json, "\n")
    assert.deepStrictEqual(JSON.parse(json), {
      hook_event_name: "pre_tool_use",
      session_id: "ses_1",
      cwd: "/r/sub",
      tool_name: "t",
      tool_input: plain,
      tool_call_id: null
    })
  })

  it("9.6: the limit is the system's for one string", () => assert.strictEqual(maxVariableBytes, 131_072))
})

describe("HookOutput", () => {
  const bytes = FastCheck.oneof(
    FastCheck.uint8Array({ maxLength: 40 }),
    FastCheck.constantFrom("{\"decision\":\"allow\"}", "{\"additional_context\":\"x\"}", "{", " ", "").map((text) =>
      new TextEncoder().encode(text)
    )
  )
  it.prop(
    "9.3: the code alone decides, and what does not allow says why",
    [FastCheck.option(FastCheck.integer({ min: 0, max: 255 })), FastCheck.boolean(), bytes, bytes],
    ([code, timed_out, stdout, stderr]) => {
      const end = { code, signal: code === null ? "SIGKILL" : null, timed_out, stdout, stderr }
      const result = judge(pre("x"), 3, 5_000, end)
      assert.strictEqual(
        result.decision,
        timed_out ? "error" : code === 0 ? "allow" : code === 2 ? "deny" : "error"
      )
      if (result.decision === "allow") assert.strictEqual(result.reason, "")
      else {
        assert.notStrictEqual(result.reason.trim(), "")
        assert.isUndefined(result.additional_context)
      }
    }
  )

  it("9.4: a JSON object too long to be kept is no reason", () => {
    const stdout = new TextEncoder().encode(`{"a":"${"x".repeat(100_000)}"}`).subarray(0, 65_536)
    const end = { code: 2, signal: null, timed_out: false, stdout, stderr: new Uint8Array() }
    assert.strictEqual(judge(pre("x"), 0, 5_000, end).reason, "denied by hook 0 (bash)")
  })

  it("9.4: bytes that are not UTF-8, or cut within a character, do not break the reason", () => {
    const stderr = new Uint8Array([0xff, 0x61, 0xe2, 0x82])
    const end = { code: 2, signal: null, timed_out: false, stdout: new Uint8Array(), stderr }
    assert.strictEqual(judge(pre("x"), 0, 5_000, end).reason, "\ufffda\ufffd")
  })
})

describe("the settings of a hook (9.1)", () => {
  const issuesOf = (hook: object) =>
    fromText("user", "settings.json", JSON.stringify({ hooks: [hook] })).issues.map(
      ({ code, key, severity }) => `${severity} ${code} ${key}`
    )
  const good = { event: "pre_tool_use", command: "./check", tool_pattern: "bash", timeout_ms: 5000 }

  it("a whole one has nothing wrong with it", () => {
    assert.deepStrictEqual(issuesOf(good), [])
    for (const event of ["session_start", "user_prompt_submit", "pre_compact", "stop", "notification"]) {
      assert.deepStrictEqual(issuesOf({ event, command: "x" }), [])
    }
    for (const timeout_ms of [100, 600_000]) assert.deepStrictEqual(issuesOf({ ...good, timeout_ms }), [])
    assert.deepStrictEqual(issuesOf({ event: "post_tool_use", command: "x", toolPattern: "*", timeoutMs: null }), [])
  })

  it("each mistake is told once, where it is", () => {
    const { event: _event, ...noEvent } = good
    const { command: _command, ...noCommand } = good
    const { tool_pattern: _pattern, ...noPattern } = good
    const wrong: ReadonlyArray<readonly [object, string]> = [
      [noEvent, "error invalid_value hooks.0.event"],
      [noCommand, "error invalid_value hooks.0.command"],
      [noPattern, "error invalid_value hooks.0.tool_pattern"],
      [{ ...good, event: null }, "error invalid_value hooks.0.event"],
      [{ ...good, command: null }, "error invalid_value hooks.0.command"],
      [{ ...good, tool_pattern: null }, "error invalid_value hooks.0.tool_pattern"],
      [{ ...good, event: "pre_tool" }, "error invalid_value hooks.0.event"],
      [{ ...good, event: 1 }, "error wrong_type hooks.0.event"],
      [{ ...good, command: " " }, "error invalid_value hooks.0.command"],
      [{ ...good, command: ["ls"] }, "error wrong_type hooks.0.command"],
      [{ ...good, tool_pattern: 1 }, "error wrong_type hooks.0.tool_pattern"],
      [{ event: "stop", command: "x", tool_pattern: "*" }, "error invalid_value hooks.0.tool_pattern"],
      [{ ...good, timeout_ms: 0 }, "error invalid_value hooks.0.timeout_ms"],
      [{ ...good, timeout_ms: -5 }, "error invalid_value hooks.0.timeout_ms"],
      [{ ...good, timeout_ms: 600_001 }, "error invalid_value hooks.0.timeout_ms"],
      [{ ...good, timeout_ms: 1.5 }, "error invalid_value hooks.0.timeout_ms"],
      [{ ...good, timeout_ms: "5000" }, "error wrong_type hooks.0.timeout_ms"],
      [{ ...good, timeout_ms: 99 }, "warning milliseconds hooks.0.timeout_ms"],
      [{ ...good, timeout_ms: 5 }, "warning milliseconds hooks.0.timeout_ms"],
      [{ ...good, colour: 1 }, "warning unknown_key hooks.0.colour"]
    ]
    for (const [hook, issue] of wrong) assert.deepStrictEqual(issuesOf(hook), [issue], JSON.stringify(hook))
  })

  it("notque/vexjoy-agent#733: seconds taken for milliseconds are pointed out with the number to write", () => {
    const [issue] = fromText("user", "s.json", JSON.stringify({ hooks: [{ ...good, timeout_ms: 5 }] })).issues
    assert.strictEqual(
      issue?.message,
      "hooks.0 has 5 milliseconds to run; if seconds were meant, write 5000"
    )
  })
})

const layerHooks = (
  settings: string,
  processes: Layer.Layer<Processes> = Processes.layer,
  vars: Record<string, string> = {}
) =>
  Hooks.layer.pipe(Layer.provide(Layer.mergeAll(
    Config.layerText(settings),
    processes,
    Environment.layerTest({ vars: { PATH: "/usr/bin:/bin", ...vars } }),
    Layer.succeed(Workspace, { root: "/", cwd: "/" }),
    Logger.remove(Logger.defaultLogger)
  )))

describe("Hooks", () => {
  it.live("takes its hooks from the settings, with number and tier", () =>
    Effect.gen(function*() {
      const hooks = yield* Hooks
      assert.deepStrictEqual(hooks.hooks, [
        { hook: { event: "stop", command: "true" }, tier: "user", number: 0, timeout_ms: 5_000 },
        { hook: pre("exit 2", { timeout_ms: 700 }), tier: "user", number: 1, timeout_ms: 700 }
      ])
      assert.deepStrictEqual(
        [hooks.handles("stop"), hooks.handles("pre_tool_use"), hooks.handles("post_tool_use")],
        [true, true, false]
      )
      assert.strictEqual((yield* hooks.runPre("bash", {}, recorded().context)).reason, "denied by hook 1 (bash)")
    }).pipe(Effect.provide(layerHooks(
      JSON.stringify({ hooks: [{ event: "stop", command: "true" }, pre("exit 2", { timeout_ms: 700 })] })
    ))))

  it.effect("G6: keys of providers stay out of a hook's environment; `env` of the settings goes in", () => {
    const settings = JSON.stringify({
      hooks: [pre("true")],
      env: { STAGE: "test" },
      providers: { mine: { protocol: "chat", base_url: "http://127.0.0.1:1", api_key_env: "MY_ACCESS" } }
    })
    const processes = FakeProcesses.layer(() => ({}))
    return Effect.gen(function*() {
      const hooks = yield* Hooks
      yield* hooks.runPre("bash", {}, recorded().context)
      const [started] = yield* Effect.flatMap(FakeProcesses, (fake) => fake.started)
      assert.deepStrictEqual(started?.input.argv, ["/bin/sh", "-c", "true"])
      const env = started?.input.env ?? new Map<string, string>()
      assert.deepStrictEqual(
        ["KEPT", "STAGE", "OPENAI_API_KEY", "HANZO_API_KEY", "MY_ACCESS"].map((name) => env.get(name)),
        ["yes", "test", undefined, undefined, undefined]
      )
    }).pipe(
      Effect.provide(Layer.provideMerge(
        Hooks.layer.pipe(Layer.provide(Layer.mergeAll(
          Config.layerText(settings),
          Environment.layerTest({
            vars: { KEPT: "yes", OPENAI_API_KEY: "k", HANZO_API_KEY: "k", MY_ACCESS: "k" }
          }),
          Layer.succeed(Workspace, { root: "/", cwd: "/" })
        ))),
        processes
      ))
    )
  })

  it.live("9.6: a system that takes only a small environment gets a smaller one, the input stays whole", () => {
    const tooLong = FakeProcesses.layer((input) =>
      [...input.env.values()].some((value) => value.length > 10_000) ? { error: "too_long" } : {}
    )
    const input = { command: "x".repeat(300_000) }
    return Effect.gen(function*() {
      const hooks = yield* Hooks
      assert.strictEqual((yield* hooks.runPre("bash", input, recorded().context)).decision, "allow")
      const started = yield* Effect.flatMap(FakeProcesses, (fake) => fake.started)
      const last = started.at(-1)
      assert.deepStrictEqual(JSON.parse(last?.stdin ?? "").tool_input, input)
      assert.strictEqual(last?.input.env.get("HANZO_TOOL_INPUT_TRUNCATED"), "1")
    }).pipe(
      Effect.provide(Layer.provideMerge(
        Hooks.layer.pipe(Layer.provide(Layer.mergeAll(
          Config.layerText(JSON.stringify({ hooks: [pre("true")] })),
          Environment.layerTest(),
          Layer.succeed(Workspace, { root: "/", cwd: "/" })
        ))),
        tooLong
      ))
    )
  })

  for (
    const [what, settings] of [
      ["a wrong hook", JSON.stringify({ hooks: [{ ...pre("true"), timeout_ms: "1" }] })],
      ["a file that cannot be read", "{ \"hooks\": [ "]
    ] as const
  ) {
    it.live(`settings with ${what} deny what a hook could have denied`, () =>
      Effect.gen(function*() {
        const hooks = yield* Hooks
        const { context } = recorded()
        const denied = yield* hooks.runPre("read", {}, context)
        assert.strictEqual(denied.decision, "error")
        assert.match(denied.reason, /^denied: the hooks of the settings cannot be known: /)
        const prompt = yield* hooks.runEvent({ event: "user_prompt_submit", prompt: "x" }, context)
        assert.strictEqual(prompt.decision, "error")
        const stop = yield* hooks.runEvent({ event: "stop", status: "completed", exit_code: 0, result: "" }, context)
        assert.strictEqual(stop.decision, "allow")
      }).pipe(Effect.provide(layerHooks(settings))))
  }
})

describe("whose hooks run (4.9, 9.8, 9.9)", () => {
  const inWorkspace = (trust: "none" | "all") => {
    const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hooks-tiers-")))
    const root = path.join(home, "work")
    const settings = (word: string) => `{\n  "hooks": [\n    ${JSON.stringify(pre(`echo ${word} >> ran`))}\n  ]\n}\n`
    const write = (file: string, word: string): void => {
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(file, settings(word))
    }
    const paths = Layer.mergeAll(NodeFileSystem.layer, Dirs.layerTest(home), Environment.layerTest({ cwd: root, home }))
    const layer = Hooks.layer.pipe(
      Layer.provideMerge(Config.layerFor({ root, trust, managed_file: path.join(home, "none.json") })),
      Layer.provide(Layer.mergeAll(
        paths,
        Processes.layer,
        Layer.succeed(Workspace, { root, cwd: root }),
        Logger.remove(Logger.defaultLogger)
      ))
    )
    return Effect.acquireUseRelease(
      Effect.gen(function*() {
        const dirs = yield* Dirs
        write(path.join(root, ".hanzo", "settings.local.json"), "local")
        write(path.join(root, ".hanzo", "settings.json"), "project")
        write(path.join(dirs.config, "settings.json"), "user")
      }).pipe(Effect.provide(paths)),
      () =>
        Effect.gen(function*() {
          const hooks = yield* Hooks
          const { sources } = yield* Config
          const outcome = yield* hooks.runPre("bash", {}, recorded().context)
          assert.strictEqual(outcome.decision, "allow")
          return {
            ran: fs.readFileSync(path.join(root, "ran"), "utf8").trim().split("\n"),
            listed: listDocument(hooks.hooks, sources).hooks.map(({ file, hook, line, tier }) =>
              `${hook} ${tier} ${file === undefined ? "" : path.basename(file)}:${line}`
            )
          }
        }).pipe(Effect.provide(layer)),
      () => Effect.sync(() => fs.rmSync(home, { recursive: true, force: true }))
    )
  }

  it.live("anthropics/claude-code#62519: hooks that a checkout brings do not run before it is trusted", () =>
    Effect.gen(function*() {
      const { listed, ran } = yield* inWorkspace("none")
      assert.deepStrictEqual(ran, ["user"])
      assert.deepStrictEqual(listed, ["0 user settings.json:3"])
    }))

  it.live("in a trusted workspace: user, project, local, none instead of another", () =>
    Effect.gen(function*() {
      const { listed, ran } = yield* inWorkspace("all")
      assert.deepStrictEqual(ran, ["user", "project", "local"])
      assert.deepStrictEqual(listed, [
        "0 user settings.json:3",
        "1 project settings.json:3",
        "2 local settings.local.json:3"
      ])
    }))
})

describe("the hooks' slot", () => {
  it.live("2.3: pre hooks come before the sandbox; what it refuses has no post hooks", () => {
    const events: Array<AgentEventBody> = []
    const order: Array<string> = []
    const tool = defineTool({
      name: "bash",
      description: "",
      input: Schema.Struct({}),
      kind: "execute",
      read_only: false,
      prepare: () =>
        Effect.succeed({
          subjects: [],
          inside_workspace: false,
          run: () =>
            Effect.sync(() => {
              order.push("run")
              return success("")
            })
        })
    })
    const layer = layerExecutor.pipe(Layer.provide([
      Layer.succeed(NativeTools, [tool]),
      allowAll,
      layerNoSecrets,
      Layer.provide(
        layerHookSlot,
        layerHooks(JSON.stringify({ hooks: [pre("true"), { ...pre("true"), event: "post_tool_use" }] }))
      ),
      Layer.succeed(ToolSandbox, {
        check: () =>
          Effect.sync(() => {
            order.push(`sandbox after ${events.length} hook`)
            return { allowed: false, reason: "outside" } as const
          })
      }),
      McpTools.layerEmpty,
      Ids.layerCounting
    ]))
    return Effect.gen(function*() {
      const report = (event: AgentEventBody) => Effect.sync(() => void events.push(event))
      const result = yield* execute("bash", {}, { call_id: "call_1", report })
      assert.strictEqual(result.error, "outside")
      assert.deepStrictEqual(order, ["sandbox after 1 hook"])
      assert.deepStrictEqual(
        events.map((event) => event.type === "hook.completed" ? [event.event, event.call_id] : event.type),
        [["pre_tool_use", "call_1"], "sandbox.decided"]
      )
    }).pipe(Effect.provide(layer))
  })
})
