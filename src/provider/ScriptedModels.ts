/**
 * The scripted models that a session can name: by a file, by the library, built in, or of the project.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { nearest } from "../codec/Distance.ts"
import type { ApiClientService } from "../domain/ApiClient.ts"
import * as Layers from "../domain/Layers.ts"
import { Workspace } from "../domain/Workspace.ts"
import { fromPlatform, notAFile } from "../platform/FileError.ts"
import { builtinScenarios } from "./BuiltinScenarios.ts"
import { ModelError } from "./ModelError.ts"
import type * as Scenario from "./Scenario.ts"
import type { DocumentProblem } from "./ScenarioDocument.ts"

/** @since 0.1.0 @category models */
export interface ScriptedModelsService {
  /**
   * The model of a scenario, None when there is none of that name; the same name gives the same model. Fails with
   * `bad_scenario` (file, place, remedy).
   */
  readonly find: (name: string) => Effect.Effect<Option.Option<ApiClientService>, ModelError>
  /** Names that `find` knows, sorted. */
  readonly names: Effect.Effect<ReadonlyArray<string>>
}

const maxBytes = 8 * 1024 * 1024

/** The Schema of scenario files, loaded when the first one is read. */
const documents = Effect.promise(() => import("./ScenarioDocument.ts"))
/** What plays them: most runs never ask for it. */
const player = Effect.promise(() => import("./ScriptedModel.ts"))
const legalName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
const folder = (root: string): string => `${root}/.hanzo/scenarios`

/** The name under which `--scenario FILE` is found: the file's own, without `.json`. @since 0.1.0 @category combinators */
export const scenarioName = (file: string): string => (file.split(/[/\\]/).at(-1) ?? file).replace(/\.jsonc?$/i, "")

const describe = (file: string, problems: ReadonlyArray<DocumentProblem>): string =>
  `${file} is no scenario:\n${
    problems.map((problem) =>
      `  - ${problem.line === null ? "" : `line ${problem.line}, column ${problem.column}: `}${
        problem.place === "" ? "" : `${problem.place}: `
      }${problem.message}`
    ).join("\n")
  }\nCorrect the file; its form is in docs/scenarios.md and docs/schema/scenario.schema.json.`

/**
 * `scripted/NAME`: the given file under its own name, then the built-in scenarios, then
 * `.hanzo/scenarios/NAME.json` below the project's root.
 *
 * @since 0.1.0
 * @category services
 */
export class ScriptedModels extends Context.Tag("@hanzo/dev/provider/ScriptedModels")<
  ScriptedModels,
  ScriptedModelsService
>() {
  /** `file` is the absolute path of `--scenario FILE`. */
  static readonly layerWith = (options: {
    readonly file?: string
    /** Beside the built-in ones; the library's way to give scenarios with functions. */
    readonly scenarios?: ReadonlyArray<Scenario.Scenario>
  }): Layer.Layer<ScriptedModels, never, FileSystem.FileSystem | Workspace> =>
    Layers.effect(
      ScriptedModels,
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const { root } = yield* Workspace
        const models = new Map<string, ApiClientService>()
        const given = new Map((options.scenarios ?? []).map((scenario) => [scenario.name, scenario]))

        const bad = (message: string) => new ModelError({ reason: "bad_scenario", message })

        const read = (file: string, name: string): Effect.Effect<Option.Option<Scenario.Scenario>, ModelError> =>
          Effect.gen(function*() {
            const info = yield* fs.stat(file)
            if (info.type !== "File") {
              return yield* bad(`the scenario cannot be used: ${notAFile("read", file, info.type).message}`)
            }
            if (Number(info.size) > maxBytes) {
              return yield* bad(`${file} has ${info.size} bytes; a scenario has at most ${maxBytes}`)
            }
            const { fromText } = yield* documents
            const parsed = fromText(yield* fs.readFileString(file), name)
            if (Either.isLeft(parsed)) return yield* bad(describe(file, parsed.left))
            return Option.some(parsed.right)
          }).pipe(
            Effect.catchTag("BadArgument", "SystemError", (error) =>
              error._tag === "SystemError" && error.reason === "NotFound"
                ? Effect.succeed(Option.none())
                : Effect.fail(bad(`the scenario cannot be used: ${fromPlatform("read", file, error).message}`)))
          )

        const scenarioOf = (name: string): Effect.Effect<Option.Option<Scenario.Scenario>, ModelError> =>
          Effect.gen(function*() {
            const { file } = options
            if (file !== undefined && name === scenarioName(file)) {
              const scenario = yield* read(file, name)
              if (Option.isSome(scenario)) {
                return scenario
              }
              return yield* bad(`there is no file ${file}; give --scenario the path of a scenario`)
            }
            const fromLibrary = given.get(name)
            if (fromLibrary !== undefined) {
              return Option.some(fromLibrary)
            }
            const builtin = Object.hasOwn(builtinScenarios, name) ? builtinScenarios[name] : undefined
            if (builtin !== undefined) {
              const { fromValue } = yield* documents
              return yield* Either.match(fromValue(builtin, name), {
                onLeft: (problems) =>
                  Effect.fail(bad(
                    describe(
                      `the built-in scenario "${name}"`,
                      problems.map(([place, message]) => ({ place, message, line: null, column: null }))
                    )
                  )),
                onRight: (scenario) =>
                  Effect.succeed(Option.some(scenario))
              })
            }
            return legalName.test(name) ? yield* read(`${folder(root)}/${name}.json`, name) : Option.none()
          })

        const names = Effect.gen(function*() {
          const files = yield* fs.readDirectory(folder(root)).pipe(Effect.orElseSucceed((): Array<string> => []))
          const ofProject = files.filter((file) =>
            file.endsWith(".json")
          ).map(scenarioName)
          const all = [
            ...(options.file === undefined ? [] : [scenarioName(options.file)]),
            ...given.keys(),
            ...Object.keys(builtinScenarios),
            ...ofProject.filter((name) => legalName.test(name))
          ]
          return [...new Set(all)].sort()
        })

        return {
          find: (name) =>
            Effect.suspend(() => {
              const known = models.get(name)
              if (known !== undefined) return Effect.succeed(Option.some(known))
              return Effect.zipWith(scenarioOf(name), player, (scenario, module) =>
                Option.map(scenario, (scenario) => {
                  // A fiber that asked at the same time may have been first; its model has the cursors.
                  const client = models.get(name) ?? module.ScriptedModel.make(scenario).client
                  models.set(name, client)
                  return client
                }))
            }),
          names
        }
      })
    )

  /** Built-in scenarios and the project's folder. */
  static readonly layer: Layer.Layer<ScriptedModels, never, FileSystem.FileSystem | Workspace> = ScriptedModels
    .layerWith({})
}

/**
 * The error for a name that `find` does not know.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unknownScenario = (name: string, names: ReadonlyArray<string>): ModelError => {
  const close = nearest(name, names)
  return new ModelError({
    reason: "unknown_scenario",
    message: `there is no scenario "${name}"${close === undefined ? "" : `; did you mean "${close}"?`} ` +
      `Known are ${names.join(", ")}. Put one into .hanzo/scenarios/${
        legalName.test(name) ? name : "NAME"
      }.json of the ` +
      "project, or give a file with --scenario."
  })
}
