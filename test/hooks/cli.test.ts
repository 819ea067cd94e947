import { assert, describe, it } from "@effect/vitest"
import { Ajv } from "ajv"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { check } from "../../src/cli/Check.ts"
import type { CliExit } from "../../src/cli/Exit.ts"
import * as HooksCommands from "../../src/cli/Hooks.ts"
import * as Parser from "../../src/cli/Parser.ts"
import * as Spec from "../../src/cli/Spec.ts"
import { Config } from "../../src/config/Config.ts"
import { Ids } from "../../src/domain/Ids.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { Hooks } from "../../src/hooks/Hooks.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { Terminal } from "../../src/platform/Terminal.ts"
import { post, pre } from "./support.ts"

const hooks = [
  pre("grep -q rm && { echo 'no \u001b[31mrm' >&2; exit 2; } || exit 0"),
  post("cat >&2; exit 9", { timeout_ms: 2_000 }),
  { event: "user_prompt_submit", command: "grep -q secret && exit 2; echo '{\"additional_context\": \"be brief\"}'" },
  { event: "stop", command: "true" }
]

const hanzo = (argv: ReadonlyArray<string>, settings: string = JSON.stringify({ hooks })) => {
  const out: Array<string> = []
  const err: Array<string> = []
  const layer = Hooks.layer.pipe(Layer.provideMerge(Layer.mergeAll(
    Config.layerText(settings),
    Processes.layer,
    Environment.layerTest({ vars: { PATH: "/usr/bin:/bin" } }),
    Layer.succeed(Workspace, { root: "/", cwd: "/" }),
    Terminal.layerTest({ out, err }),
    Ids.layerCounting,
    Logger.remove(Logger.defaultLogger)
  )))
  const checked = check(["hooks", ...argv])
  if (checked.kind !== "command") throw new Error(JSON.stringify(checked))
  const program: Effect.Effect<number, CliExit, Layer.Layer.Success<typeof layer>> = argv[0] === "list"
    ? Effect.flatMap(Parser.parse(Spec.hooksList, checked.argv), HooksCommands.list)
    : Effect.flatMap(Parser.parse(Spec.hooksTest, checked.argv), HooksCommands.test)
  return Effect.map(Effect.either(Effect.provide(program, layer)), (result) => ({
    exit_code: Either.isLeft(result) ? result.left.exit_code : result.right,
    refusal: Either.isLeft(result) ? result.left.message : "",
    out: out.join(""),
    err: err.join("")
  }))
}

const document = (text: string, schema: string): unknown => {
  const file = fileURLToPath(new URL(`../../docs/schema/${schema}.schema.json`, import.meta.url))
  const validate = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(file, "utf8")) as object)
  const value: unknown = JSON.parse(text)
  assert.isTrue(validate(value), JSON.stringify(validate.errors))
  return value
}

describe("hooks list", () => {
  it.live("those in force, in their order, for people and for programs", () =>
    Effect.gen(function*() {
      const text = yield* hanzo(["list"], "{\n \"hooks\": [\n  { \"event\": \"stop\", \"command\": \"true\" }\n ]\n}")
      assert.deepStrictEqual([text.exit_code, text.out], [0, "0  stop    5000 ms  user settings.json:3  true\n"])
      const json = yield* hanzo(["list", "--json"])
      const { hooks: listed } = document(json.out, "hooks-list") as {
        readonly hooks: ReadonlyArray<Record<string, unknown>>
      }
      assert.deepStrictEqual(listed.length, 4)
      assert.deepStrictEqual(listed[1], {
        hook: 1,
        event: "post_tool_use",
        tool_pattern: "bash",
        timeout_ms: 2_000,
        command: "cat >&2; exit 9",
        tier: "user",
        file: "settings.json",
        line: 1
      })
    }))

  it.live("none is said on stderr; broken settings are told and nothing else happens", () =>
    Effect.gen(function*() {
      const none = yield* hanzo(["list"], "{}")
      assert.deepStrictEqual([none.exit_code, none.out, none.err], [0, "", "no hooks are in force\n"])
      const broken = yield* hanzo(["list"], "{\"hooks\": [{}]}")
      assert.deepStrictEqual([broken.exit_code, broken.out], [2, ""])
      assert.include(broken.err, "hooks.0 needs the key \"event\"")
    }))
})

describe("hooks test", () => {
  it.live("runs them: 0 when they allow, 1 when they do not, and why", () =>
    Effect.gen(function*() {
      const fine = yield* hanzo(["test", "pre_tool_use", "bash", "{\"command\": \"ls\"}"])
      assert.strictEqual(fine.exit_code, 0)
      assert.match(fine.out, /^hook 0: allow \(\d+ ms\)\n$/)
      const denied = yield* hanzo(["test", "pre_tool_use", "bash", "{\"command\": \"rm -r .\"}"])
      assert.strictEqual(denied.exit_code, 1)
      assert.match(denied.out, /^hook 0: deny \(\d+ ms\)\n {2}no ␛\[31mrm\n$/)
      const nobody = yield* hanzo(["test", "pre_tool_use", "read"])
      assert.deepStrictEqual([nobody.exit_code, nobody.out], [0, "no hook in force is for this\n"])
    }))

  it.live("the JSON document holds every hook that ran", () =>
    Effect.gen(function*() {
      const ran = yield* hanzo(["test", "post_tool_use", "bash", "{}", "--output", "hello", "--json"])
      assert.strictEqual(ran.exit_code, 1)
      const told = document(ran.out, "hooks-test") as {
        readonly decision: string
        readonly hooks: ReadonlyArray<Record<string, unknown>>
      }
      const { duration_ms, reason, ...rest } = told.hooks[0] ?? {}
      assert.isAtLeast(Number(duration_ms), 0)
      assert.deepStrictEqual([told.decision, rest], [
        "error",
        { hook: 1, decision: "error", exit_code: 9, signal: null, timed_out: false, additional_context: null }
      ])
      assert.include(String(reason), "\"tool_output\":\"hello\"")
    }))

  it.live("events about no tool take their JSON alone", () =>
    Effect.gen(function*() {
      const fine = yield* hanzo(["test", "user_prompt_submit", "{\"prompt\": \"hello\"}"])
      assert.strictEqual(fine.exit_code, 0)
      assert.match(fine.out, /^hook 2: allow \(\d+ ms\)\n {2}to the model: be brief\n$/)
      const denied = yield* hanzo(["test", "user_prompt_submit", "{\"prompt\": \"a secret\"}"])
      assert.deepStrictEqual(denied.exit_code, 1)
      assert.strictEqual((yield* hanzo(["test", "stop"])).exit_code, 0)
    }))

  it.live("what makes no sense is exit 2 with the remedy", () =>
    Effect.gen(function*() {
      const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
        [["pre_tool"], /no event pre_tool; did you mean pre_tool_use\?[\s\S]*events: pre_tool_use, /],
        [["pre_tool_use"], /pre_tool_use needs the name of a tool/],
        [["pre_tool_use", "bash", "[]"], /this is not a JSON object: \[\]/],
        [["pre_tool_use", "bash", "{"], /this is not a JSON object/],
        [["pre_tool_use", "bash", "{}", "--output", "x"], /--output is for post_tool_use/],
        [["stop", "bash", "{}"], /stop is about no tool/],
        [["stop", "{\"status\": \"done\"}"], /stop: status: /],
        [["user_prompt_submit", "{\"prompt\": 1}"], /user_prompt_submit: prompt: /]
      ]
      for (const [argv, message] of wrong) {
        const refused = yield* hanzo(["test", ...argv])
        assert.deepStrictEqual([refused.exit_code, refused.out], [2, ""], argv.join(" "))
        assert.match(refused.refusal, message)
      }
    }))
})
