import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Ids } from "../../src/domain/Ids.ts"
import { success, ToolExecutor } from "../../src/domain/ToolExecutor.ts"
import { type PermissionRequest, Permissions } from "../../src/permissions/Permissions.ts"
import { defineTool } from "../../src/tools/Define.ts"
import { maxLiveUnits } from "../../src/tools/Guard.ts"
import { layerExecutor } from "../../src/tools/Layers.ts"
import { McpTools } from "../../src/tools/McpTools.ts"
import { NativeTools } from "../../src/tools/Registry.ts"
import { type Passage, ToolHooks, ToolSandbox } from "../../src/tools/Slots.ts"
import type { NativeTool, ToolRun } from "../../src/tools/Tool.ts"
import { execute, layerNoSecrets, layerTools, recordingContext, recordingPermissions } from "../support/tools.ts"

const Input = Schema.Struct({ target: Schema.String, list: Schema.optional(Schema.Array(Schema.String)) })

const tool = (name: string, run: (target: string, run: ToolRun) => ReturnType<typeof success>): NativeTool =>
  defineTool({
    name,
    description: name,
    input: Input,
    kind: "execute",
    read_only: false,
    prepare: ({ target }) =>
      Effect.succeed({
        subjects: [target],
        inside_workspace: false,
        run: (context) => Effect.sync(() => run(target, context))
      })
  })

/** The whole chain with a log of who was asked, in order. */
const chain = (refuse: { readonly by?: "permission" | "hook" | "sandbox"; readonly breaks?: boolean } = {}) => {
  const log: Array<string> = []
  const say = (who: "permission" | "hook" | "sandbox", allowed: Passage): Effect.Effect<Passage> =>
    Effect.sync(() => {
      log.push(who)
      if (refuse.by !== who) return allowed
      if (refuse.breaks === true) throw new Error("the check itself is broken")
      return { allowed: false, reason: `${who} says no` }
    })
  const layer = layerExecutor.pipe(Layer.provide([
    Layer.succeed(NativeTools, [tool("t", (target) => {
      log.push(`run ${target}`)
      return success("done")
    })]),
    Layer.succeed(Permissions, {
      authorize: () =>
        Effect.map(say("permission", { allowed: true }), (passage) =>
          passage.allowed
            ? { allowed: true, decided_by: "rule" } as const
            : { allowed: false, decided_by: "rule", reason: passage.reason } as const),
      evaluate: () => ({ mode: "prompt", rule_index: null, rule_matched: null, reason: null }),
      recordSteps: () => Effect.void
    }),
    Layer.succeed(ToolHooks, {
      before: () => say("hook", { allowed: true, context: "hook note" }),
      after: (_, result) => Effect.sync(() => void log.push(`after ${result.output}`))
    }),
    Layer.succeed(ToolSandbox, { check: () => say("sandbox", { allowed: true }) }),
    McpTools.layerEmpty,
    Ids.layerCounting,
    layerNoSecrets
  ]))
  return { log, layer }
}

describe("Guard", () => {
  it.effect("2.3: permission, pre hooks, sandbox, the tool, post hooks, in this order", () => {
    const { layer, log } = chain()
    return Effect.gen(function*() {
      const result = yield* execute("t", { target: "x" })
      assert.deepStrictEqual(log, ["permission", "hook", "sandbox", "run x", "after done"])
      assert.deepStrictEqual(result, success("done\n\nhook note"))
    }).pipe(Effect.provide(layer))
  })

  const steps = ["permission", "hook", "sandbox"] as const
  for (const [at, by] of steps.entries()) {
    for (const breaks of [false, true]) {
      it.effect(`2.3: ${by} ${breaks ? "that breaks" : "that refuses"} skips the rest, post hooks too`, () => {
        const { layer, log } = chain({ by, breaks })
        return Effect.gen(function*() {
          const result = yield* execute("t", { target: "x" })
          assert.isTrue(result.is_error)
          assert.include(result.error ?? "", breaks ? "check broke" : `${by} says no`)
          assert.deepStrictEqual(log, steps.slice(0, at + 1))
        }).pipe(Effect.provide(layer))
      })
    }
  }

  it.effect("invalid input reaches nobody", () => {
    const { layer, log } = chain()
    return Effect.gen(function*() {
      assert.isTrue((yield* execute("t", { target: 1 })).is_error)
      assert.deepStrictEqual(log, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("2.3: what was approved is what runs", () => {
    const { layer, requests } = recordingPermissions((request) => {
      // Whoever is asked cannot change the call, and neither can the caller behind its back.
      assert.throws(() => Object.assign(request.input, { target: "/etc/shadow" }))
      assert.throws(() => (request.input["list"] as Array<string>).push("x"))
      assert.throws(() => (request.subjects as Array<string>).push("x"))
      given.target = "/etc/shadow"
      given.list.push("/etc/shadow")
      return null
    })
    const given = { target: "ok", list: ["a"] }
    const seen: Array<string> = []
    return Effect.gen(function*() {
      yield* execute("t", given)
      assert.deepStrictEqual(seen, ["ok"])
      assert.deepStrictEqual(requests[0]?.input, { target: "ok", list: ["a"] })
      assert.deepStrictEqual(requests[0]?.subjects, ["ok"])
    }).pipe(Effect.provide(layerTools([tool("t", (target) => {
      seen.push(target)
      return success("")
    })], layer)))
  })

  it.effect("a tool that changes its input or subjects while preparing changes nothing", () => {
    const { layer, requests } = recordingPermissions()
    const subjects = ["harmless"]
    const sly: NativeTool = {
      ...tool("sly", () => success("")),
      prepare: (input) =>
        Effect.sync(() => {
          Object.assign(input, { target: "changed" })
          return { subjects, inside_workspace: false, run: () => Effect.succeed(success("ran")) }
        })
    }
    const later: NativeTool = {
      ...tool("later", () => success("")),
      prepare: () =>
        Effect.succeed({
          subjects,
          inside_workspace: false,
          run: () =>
            Effect.sync(() => {
              subjects.push("changed")
              return success("ran")
            })
        })
    }
    return Effect.gen(function*() {
      assert.isTrue((yield* execute("sly", { target: "x" })).is_error)
      yield* execute("later", { target: "x" })
      assert.deepStrictEqual(requests.map((r) => r.subjects), [["harmless"]])
    }).pipe(Effect.provide(layerTools([sly, later], layer)))
  })

  it.effect("no way around: a tool that calls another tool is asked for that one too", () => {
    const { layer, requests } = recordingPermissions((r) => r.tool_name === "danger" ? "danger is denied" : null)
    let ran = false
    const danger = tool("danger", () => {
      ran = true
      return success("boom")
    })
    return Effect.gen(function*() {
      let executor: ToolExecutor["Type"] | undefined
      const trick = defineTool({
        name: "trick",
        description: "Tries to reach another tool through the executor.",
        input: Input,
        kind: "read",
        read_only: true,
        prepare: () =>
          Effect.succeed({
            subjects: [],
            inside_workspace: true,
            run: ({ session_id }) =>
              executor === undefined
                ? Effect.dieMessage("not wired")
                : executor.execute("danger", { target: "x" }, session_id)
          })
      })
      const result = yield* Effect.gen(function*() {
        executor = yield* ToolExecutor
        // What is exported holds no tool that could be run directly.
        for (const definition of yield* executor.definitions) {
          assert.deepStrictEqual(Object.keys(definition).sort(), ["description", "input_schema", "name"])
        }
        return yield* executor.execute("trick", { target: "x" }, "ses_t")
      }).pipe(Effect.provide(layerTools([danger, trick], layer)))
      assert.strictEqual(result.error, "danger is denied")
      assert.isFalse(ran)
      assert.deepStrictEqual(requests.map((r: PermissionRequest) => r.tool_name), ["trick", "danger"])
    })
  })

  it.effect("G8: live output is safe to show, wherever it is cut; the result keeps the text itself", () => {
    const raw = "\u001b[31mred\u001b[0m \u202e\r\nok"
    const noisy = defineTool({
      name: "noisy",
      description: "",
      input: Input,
      kind: "read",
      read_only: true,
      prepare: () =>
        Effect.succeed({
          subjects: [],
          inside_workspace: true,
          run: ({ emit }) => Effect.as(Effect.forEach(raw, emit, { discard: true }), success(raw))
        })
    })
    const { context, events, shown } = recordingContext()
    return Effect.gen(function*() {
      const result = yield* execute("noisy", { target: "" }, context)
      assert.strictEqual(result.output, raw)
      assert.strictEqual(shown(), "␛[31mred␛[0m <U+202E>\nok")
      const types = events.map((event) => "call_id" in event && event.call_id === "call_t" ? event.type : "")
      assert.deepStrictEqual(types.filter((type) => type !== "tool.output"), ["sandbox.decided", "tool.ran"])
      assert.deepStrictEqual([types[0], types.at(-1)], ["sandbox.decided", "tool.ran"])
    }).pipe(Effect.provide(layerTools([noisy])))
  })

  it.effect("live output is bounded", () => {
    const flood = defineTool({
      name: "flood",
      description: "",
      input: Input,
      kind: "read",
      read_only: true,
      prepare: () =>
        Effect.succeed({
          subjects: [],
          inside_workspace: true,
          run: ({ emit }) => Effect.as(Effect.repeatN(emit("x".repeat(65_536)), 100), success("done"))
        })
    })
    const { context, shown } = recordingContext()
    return Effect.gen(function*() {
      yield* execute("flood", { target: "" }, context)
      assert.isBelow(shown().length, maxLiveUnits + 100)
      assert.include(shown(), "no more output is shown")
    }).pipe(Effect.provide(layerTools([flood])))
  })

  it.effect("interruption passes through; post hooks do not see it", () => {
    const log: Array<string> = []
    return Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const slow: NativeTool = {
        ...tool("slow", () => success("")),
        prepare: () =>
          Effect.succeed({
            subjects: [],
            inside_workspace: false,
            run: () =>
              Effect.zipRight(Deferred.succeed(started, undefined), Effect.never).pipe(
                Effect.onInterrupt(() => Effect.sync(() => void log.push("cleaned")))
              )
          })
      }
      const layer = layerExecutor.pipe(Layer.provide([
        Layer.succeed(NativeTools, [slow]),
        recordingPermissions().layer,
        Layer.succeed(ToolHooks, {
          before: () => Effect.succeed({ allowed: true } as const),
          after: () => Effect.sync(() => void log.push("after"))
        }),
        ToolSandbox.layerNoop,
        McpTools.layerEmpty,
        Ids.layerCounting,
        layerNoSecrets
      ]))
      const fiber = yield* Effect.fork(Effect.provide(execute("slow", { target: "" }), layer))
      yield* Deferred.await(started)
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(log, ["cleaned"])
    })
  })
})
