/** Scenarios by name: built in, from the project, from a file; the complaints about a bad one; the published schema. */
import * as PlatformError from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Ajv } from "ajv"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as nodeFs from "node:fs"
import * as path from "node:path"
import { Workspace } from "../../src/domain/Workspace.ts"
import { builtinScenarios } from "../../src/provider/BuiltinScenarios.ts"
import * as Scenario from "../../src/provider/Scenario.ts"
import { fromText, jsonSchema } from "../../src/provider/ScenarioDocument.ts"
import { operations, sources } from "../../src/provider/ScenarioTemplate.ts"
import { scenarioName, ScriptedModels, unknownScenario } from "../../src/provider/ScriptedModels.ts"

const files = (content: Readonly<Record<string, string>>) => {
  const missing = (pathOrDescriptor: string) =>
    Effect.fail(
      new PlatformError.SystemError({ module: "FileSystem", method: "stat", reason: "NotFound", pathOrDescriptor })
    )
  return FileSystem.layerNoop({
    stat: (file) =>
      content[file] === undefined
        ? missing(file)
        : Effect.succeed({ type: "File", size: FileSystem.Size(content[file].length) } as FileSystem.File.Info),
    readFileString: (file) => content[file] === undefined ? missing(file) : Effect.succeed(content[file]),
    readDirectory: (folder) =>
      Effect.succeed(
        Object.keys(content).filter((file) => path.dirname(file) === folder).map((file) => path.basename(file))
      )
  })
}

const models = (
  content: Readonly<Record<string, string>>,
  options: Parameters<typeof ScriptedModels.layerWith>[0] = {}
) =>
  ScriptedModels.layerWith(options).pipe(
    Layer.provide([files(content), Layer.succeed(Workspace, { root: "/p", cwd: "/p" })])
  )

const say = (name: string, prompt: string) =>
  Effect.gen(function*() {
    const { find } = yield* ScriptedModels
    const client = yield* Effect.flatten(find(name))
    const events = yield* Stream.runCollect(client.sendMessage([{ role: "user", content: prompt }], []))
    return Chunk.toReadonlyArray(events).reduce((all, e) => e.type === "content_delta" ? all + e.text : all, "")
  })

const project = {
  "/p/.hanzo/scenarios/mine.json": "{ // a comment\n \"turns\": [{ \"text\": \"mine\" }, { \"text\": \"second\" },] }",
  "/p/.hanzo/scenarios/hello.json": "{\"turns\": [{\"text\": \"not reached\"}]}",
  "/elsewhere/given.json": "{\"turns\": [{\"text\": \"given\"}]}"
}

describe("find", () => {
  it.effect("built-in scenarios come first", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* say("echo", "say this"), "say this")
      assert.strictEqual(yield* say("hello", "x"), "Hello from the scripted model.")
    }).pipe(Effect.provide(models(project))))

  it.effect("then the project's folder; the same name goes on where it was", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* say("mine", "x"), "mine")
      assert.strictEqual(yield* say("mine", "x"), "second")
    }).pipe(Effect.provide(models(project))))

  it.effect("a given file answers to its own name, a scenario of the library to its own", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* say("given", "x"), "given")
      assert.strictEqual(yield* say("typed", "four"), "4")
      const { names } = yield* ScriptedModels
      assert.deepStrictEqual(yield* names, ["echo", "given", "hello", "mine", "typed"])
    }).pipe(Effect.provide(models(project, {
      file: "/elsewhere/given.json",
      scenarios: [Scenario.make({ name: "typed", turns: [{ text: (c) => String(c.prompt.length) }] })]
    }))))

  it.effect("unknown names and names that lead out of the folder are not found", () =>
    Effect.gen(function*() {
      const { find, names } = yield* ScriptedModels
      for (const name of ["none", "../../elsewhere/given", "", "__proto__", "a/b", ".hidden"]) {
        assert.isTrue(Option.isNone(yield* find(name)), name)
      }
      const error = unknownScenario("ecko", yield* names)
      assert.strictEqual(error.reason, "unknown_scenario")
      assert.include(error.message, "did you mean \"echo\"?")
      assert.include(error.message, ".hanzo/scenarios/ecko.json")
    }).pipe(Effect.provide(models(project))))

  it.effect("a given file that is not there is an error, not a silence", () =>
    Effect.gen(function*() {
      const { find } = yield* ScriptedModels
      const error = yield* Effect.flip(find("lost"))
      assert.deepStrictEqual([error.reason, error.message], [
        "bad_scenario",
        "there is no file /elsewhere/lost.json; give --scenario the path of a scenario"
      ])
    }).pipe(Effect.provide(models(project, { file: "/elsewhere/lost.json" }))))

  it("the name of a file", () => {
    assert.deepStrictEqual(["/a/b.json", "c.jsonc", "d", "x.y.json"].map(scenarioName), ["b", "c", "d", "x.y"])
  })
})

describe("a bad scenario is refused with file, place and remedy", () => {
  const rows: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
    ["no JSON", "{\"turns\": [\n  {\"text\": \"a\" \"b\"}]}", ["line 2, column 16", "a comma is missing"]],
    ["empty", "", ["line 1, column 1: the file is empty"]],
    ["a missing key", "{}", ["turns: is missing"]],
    ["no turn", "{\"turns\": []}", ["turns: a scenario needs at least one turn"]],
    ["a wrong type", "{\n \"turns\": [{ \"chunk\": \"x\" }] }", ["line 2, column 23: turns[0].chunk: Expected number"]],
    ["an unknown key", "{\"turns\": [{\"txt\": \"a\"}]}", ["turns[0].txt: is unexpected"]],
    ["a call without a name", "{\"turns\": [{\"calls\": [{}]}]}", ["turns[0].calls[0].name: is missing"]],
    [
      "a bad template",
      "{\"turns\": [{\"text\": \"a\"},\n{\"calls\": [{\"name\": \"b\", \"arguments\": {\"x\": [\"{{promt}}\"]}}]}]}",
      ["line 2, column 46: turns[1].calls[0].arguments.x[0]: at character 1: unknown source \"promt\""]
    ],
    [
      "a bad pattern",
      "{\"turns\": [{\"when\": {\"any\": [{\"prompt\": {\"matches\": \"(\"}}]}}]}",
      ["turns[0].when.any[0].prompt.matches: Invalid regular expression"]
    ],
    ["two complaints at once", "{\"turns\": [{\"repeat\": 0}, {\"stop\": \"x\"}]}", [
      "turns[0].repeat",
      "turns[1].stop"
    ]]
  ]
  for (const [name, text, words] of rows) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { find } = yield* ScriptedModels
        const error = yield* Effect.flip(find("bad"))
        assert.strictEqual(error.reason, "bad_scenario")
        for (const word of ["/p/.hanzo/scenarios/bad.json is no scenario", "docs/scenarios.md", ...words]) {
          assert.isTrue(error.message.includes(word), `${word}\n---\n${error.message}`)
        }
      }).pipe(Effect.provide(models({ "/p/.hanzo/scenarios/bad.json": text }))))
  }
})

it("every example of docs/scenarios.md is a scenario", () => {
  const text = nodeFs.readFileSync(path.join(import.meta.dirname, "../../docs/scenarios.md"), "utf8")
  const examples = [...text.matchAll(/```json scenario\n([^]*?)```/g)].map((match) => match[1] ?? "")
  assert.isAtLeast(examples.length, 3)
  for (const example of examples) {
    const scenario = fromText(example, "example")
    assert.isTrue(Either.isRight(scenario), JSON.stringify(scenario))
  }
})

it("docs/scenarios.md names every source and operation", () => {
  const text = nodeFs.readFileSync(path.join(import.meta.dirname, "../../docs/scenarios.md"), "utf8")
  for (const name of [...Object.keys(sources), ...Object.keys(operations)]) {
    assert.match(text, new RegExp(`\\| .*\`${name}\\b.* \\|`), name)
  }
})

describe("the published schema", () => {
  const file = path.join(import.meta.dirname, "../../docs/schema/scenario.schema.json")
  it("is the one of the code (UPDATE_GOLDEN=1 writes it)", () => {
    const text = `${JSON.stringify(jsonSchema(), null, 2)}\n`
    if (process.env["UPDATE_GOLDEN"] === "1") nodeFs.writeFileSync(file, text)
    assert.strictEqual(nodeFs.readFileSync(file, "utf8"), text)
  })

  it("accepts the built-in scenarios and refuses what the program refuses", () => {
    const validate = new Ajv({ strict: false }).compile(jsonSchema())
    for (const scenario of Object.values(builtinScenarios)) assert.isTrue(validate(scenario))
    assert.isTrue(validate({
      turns: [{ when: { any: [{ prompt: { contains: ["a"], not: "b" } }] }, expect: { last: [{ role: "tool" }] } }]
    }))
    for (const wrong of [{}, { turns: [{ txt: "a" }] }, { turns: [{ calls: [{}] }] }, { turns: [{ stop: "x" }] }]) {
      assert.isFalse(validate(wrong), JSON.stringify(wrong))
    }
  })
})
