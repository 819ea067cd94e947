/**
 * `hanzo-dev config show|get|path|validate|schema` (reading 4.10): the settings in force, where they come from, no secret.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { line, neutralise } from "../codec/TerminalText.ts"
import { Config, type ConfigService, type Issue, type Source, type Tier } from "../config/Config.ts"
import { settingsSchemaText } from "../config/JsonSchema.ts"
import { parseKey } from "../config/KeyPath.ts"
import { masked } from "../config/Secrets.ts"
import { fileOf } from "../config/SettingsWriter.ts"
import { trackedLocal } from "../config/Tracked.ts"
import { ExitCode } from "../domain/Failure.ts"
import { brokenExamples, brokenText, examplesNeedShell, fromConfig } from "../permissions/Rules.ts"
import type { ShellSource } from "../permissions/Shell.ts"
import { Environment } from "../platform/Environment.ts"
import { ShellGrammar } from "../platform/ShellGrammar.ts"
import { Terminal } from "../platform/Terminal.ts"
import { usage } from "./Exit.ts"
import { columns, issueText, print, printJson, soundConfig, stderrStyle } from "./Output.ts"
import type { ConfigGet, ConfigShow, ConfigValidate } from "./Schemas.ts"
import type * as Spec from "./Spec.ts"
import type { Style } from "./Style.ts"
import { untrustedNote } from "./TrustQuestion.ts"

const setIn = (tierOf: (path: string) => Tier) => (path: string): string => `set (${tierOf(path)})`

/** The tier of a key, or of the nearest entry it belongs to. */
const tierIn = (config: Pick<ConfigService, "origins">) => (path: string): Tier => {
  for (let key = path; key !== ""; key = key.slice(0, Math.max(0, key.lastIndexOf(".")))) {
    const tier = config.origins.get(key)
    if (tier !== undefined) return tier
  }
  for (const [key, tier] of config.origins) if (key.startsWith(`${path}.`)) return tier
  return "default"
}

const maskedSource = (key: string, source: Source): Source => ({
  ...source,
  value: masked(source.value, key.split("."), setIn(() => source.tier))
})

const withoutFrame = (issue: Issue): Issue => {
  const { frame: _frame, ...rest } = issue
  return rest
}

type Shown =
  & Pick<ConfigService, "config" | "errors" | "origins" | "sources" | "user_file" | "warnings">
  & Partial<Pick<ConfigService, "trust">>

/** The document of `config show --json`. @since 0.1.0 @category encoding */
export const document = (config: Shown, origin: boolean): ConfigShow => ({
  v: 1,
  file: config.user_file,
  settings: masked(config.config, [], setIn(tierIn(config))) as Record<string, unknown>,
  ...(origin
    ? {
      origins: Object.fromEntries(
        [...config.sources].map(([key, sources]) => [key, sources.map((source) => maskedSource(key, source))])
      )
    }
    : {}),
  ...(config.trust === undefined ? {} : {
    trust: config.trust.status,
    pending_trust: config.trust.status === "untrusted"
      ? config.trust.definitions.map(({ key, kind, line, tier }) => ({ kind, tier, key, line }))
      : []
  }),
  warnings: config.warnings.map(withoutFrame),
  errors: config.errors.map(withoutFrame)
})

const place = ({ file, line, tier }: Source): string =>
  file === undefined ? tier : `${tier} ${file}${line === undefined ? "" : `:${line}`}`

const originRows = (config: ConfigService): string =>
  columns(
    [...config.sources].toSorted(([a], [b]) => a < b ? -1 : 1).flatMap(([key, sources]) =>
      sources.map((source, index) => {
        const shown = maskedSource(key, source)
        return [
          index === 0 ? line(key, 80) : `  hides`,
          line(JSON.stringify(shown.value) ?? "", 80),
          line(place(shown), 200)
        ]
      })
    )
  )

const problemsText = (config: Pick<ConfigService, "errors" | "warnings">, style: Style): string =>
  [
    ...config.warnings.map((issue) => issueText(issue, style.yellow("warning:"))),
    ...config.errors.map((issue) => issueText(issue, style.red("error:")))
  ].map((text) => `${text}\n`).join("")

/** Runs with broken settings too (reading 4.6); the exit code says whether they are sound. @since 0.1.0 @category combinators */
export const show = Effect.fn("Cli.config.show")(function*(values: Spec.Values<typeof Spec.configShow>) {
  const config = yield* Config
  const terminal = yield* Terminal
  const style = yield* stderrStyle
  if (values.json) yield* printJson(document(config, values.origin))
  else {
    yield* terminal.err(problemsText(config, style))
    yield* terminal.err(untrustedNote(config))
    yield* values.origin
      ? print(originRows(config))
      : print(`${JSON.stringify(document(config, false).settings, null, 2)}\n`)
  }
  return config.errors.length > 0 ? ExitCode.usage : ExitCode.done
})

const valueAt = ({ config, rules }: ConfigService, path: ReadonlyArray<string>): unknown => {
  if (path[0] === "permissions" && path[1] !== undefined) {
    return rules.find((rule) => rule.tool_pattern === path[1])?.mode
  }
  return path.reduce<unknown>(
    (at, key) => typeof at === "object" && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined,
    config
  )
}

/** A text as it is, everything else as JSON; a setting that nobody has set is `null`. @since 0.1.0 @category combinators */
export const get = Effect.fn("Cli.config.get")(function*(values: Spec.Values<typeof Spec.configGet>) {
  const config = yield* soundConfig
  const environment = yield* Environment
  const found = parseKey(values.args[0] ?? "")
  if ("problem" in found) return yield* usage(found.problem)
  const key = found.path.join(".")
  const value = masked(valueAt(config, found.path), found.path, setIn(tierIn(config))) ?? null
  if (values.json) {
    yield* printJson({ v: 1, key, value, origin: value === null ? null : tierIn(config)(key) } satisfies ConfigGet)
  } else {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2)
    yield* print(`${environment.stdout_is_tty ? neutralise(text) : text}\n`)
  }
  return ExitCode.done
})

/** @since 0.1.0 @category combinators */
export const path = Effect.fn("Cli.config.path")(function*(values: Spec.Values<typeof Spec.configPath>) {
  const config = yield* Config
  const file = fileOf(config.files, values.tier ?? "user")
  if (file === null) return yield* usage("the home directory is no project; only --tier user has a file here")
  yield* print(`${file}\n`)
  return ExitCode.done
})

/** Rules whose own examples contradict them, with which no run starts (reading 7.9). */
const exampleIssues = (config: ConfigService): Effect.Effect<ReadonlyArray<Issue>, never, ShellGrammar> =>
  Effect.gen(function*() {
    const rules = fromConfig(config)
    const grammar = yield* ShellGrammar
    const shell = examplesNeedShell(rules)
      ? yield* Effect.catchAll(grammar.parser, (error) => Effect.succeed<ShellSource>({ missing: error.message }))
      : undefined
    return brokenExamples(rules, shell).map((broken): Issue => ({
      code: "invalid_value",
      tier: config.all_rules.find((rule) => rule === broken.rule)?.tier ?? "user",
      ...(broken.rule.file === undefined ? {} : { file: broken.rule.file }),
      key: `permissions.${broken.rule.tool_pattern}`,
      line: broken.rule.line ?? null,
      column: null,
      message: `${brokenText(broken)}; correct the pattern or the example`
    }))
  })

/** Exit code 2 when a tier has errors. @since 0.1.0 @category combinators */
export const validate = Effect.fn("Cli.config.validate")(function*(values: Spec.Values<typeof Spec.configValidate>) {
  const config = yield* Config
  const terminal = yield* Terminal
  const warnings = [...config.warnings, ...(yield* trackedLocal(config))]
  const errors = [...config.errors, ...(yield* exampleIssues(config))]
  const ok = errors.length === 0
  if (values.json) {
    yield* printJson(
      {
        v: 1,
        ok,
        warnings: warnings.map(withoutFrame),
        errors: errors.map(withoutFrame)
      } satisfies ConfigValidate
    )
  } else {
    yield* terminal.err(problemsText({ warnings, errors }, yield* stderrStyle))
    yield* terminal.err(untrustedNote(config))
    if (ok) yield* print("the settings are valid\n")
  }
  return ok ? ExitCode.done : ExitCode.usage
})

/** @since 0.1.0 @category combinators */
export const schema = Effect.fn("Cli.config.schema")(function*() {
  yield* print(settingsSchemaText())
  return ExitCode.done
})
