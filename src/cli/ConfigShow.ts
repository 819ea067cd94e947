/**
 * `hanzo-dev config show` and `config path` (reading 4.10): the settings in force, where they come from, no secret.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { line } from "../codec/TerminalText.ts"
import { Config, type ConfigService, type Issue, type Source, type Tier } from "../config/Config.ts"
import { Terminal } from "../platform/Terminal.ts"
import { columns, issueText, print, printJson, stderrStyle } from "./Output.ts"
import type { ConfigShow } from "./Schemas.ts"
import type * as Spec from "./Spec.ts"

/** Members whose values may all be secrets. */
const secretMaps: ReadonlySet<string> = new Set(["env", "headers", "oauth_credentials"])

const secretWord = /(?:^|_|-)(?:api_?key|key|token|secret|password|passwd|credentials?|authorization|auth|cookie)$/i

/** Names that end like a secret and are none. */
const harmless: ReadonlySet<string> = new Set(["auth", "api_key_env"])

const isSecretName = (name: string): boolean => !harmless.has(name) && secretWord.test(name)

/** User and password of an address, and secrets among its parameters. */
const withoutUserInfo = (text: string): string =>
  text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#@]*@/i, "$1***@").replaceAll(
    /([?&][^=&#]*(?:key|token|secret|password)[^=&#]*=)[^&#]*/gi,
    "$1***"
  )

/** The value with every secret as `set (TIER)`. @since 0.1.0 @category encoding */
export const masked = (value: unknown, path: ReadonlyArray<string>, tierOf: (path: string) => Tier): unknown => {
  const name = path.at(-1) ?? ""
  if (value === null || value === undefined || value === "") return value
  const inSecretMap = path.slice(0, -1).some((part) => secretMaps.has(part))
  if (typeof value !== "object") {
    return inSecretMap || isSecretName(name)
      ? `set (${tierOf(path.join("."))})`
      : typeof value === "string"
      ? withoutUserInfo(value)
      : value
  }
  if (path.join(".") === "oauth_credentials") {
    return Object.keys(value).length === 0 ? value : `set (${tierOf(path.join("."))})`
  }
  if (Array.isArray(value)) return value.map((item, index) => masked(item, [...path, String(index)], tierOf))
  const object: Record<string, unknown> = Object.create(null)
  for (const [key, member] of Object.entries(value)) object[key] = masked(member, [...path, key], tierOf)
  return object
}

/** The tier of a key, or of the nearest entry it belongs to. */
const tierIn = (config: ConfigService) => (path: string): Tier => {
  for (let key = path; key !== ""; key = key.slice(0, Math.max(0, key.lastIndexOf(".")))) {
    const tier = config.origins.get(key)
    if (tier !== undefined) return tier
  }
  for (const [key, tier] of config.origins) if (key.startsWith(`${path}.`)) return tier
  return "default"
}

const maskedSource = (key: string, source: Source): Source => ({
  ...source,
  value: masked(source.value, key.split("."), () => source.tier)
})

const withoutFrame = (issue: Issue): Issue => {
  const { frame: _frame, ...rest } = issue
  return rest
}

/** The document of `config show --json`. @since 0.1.0 @category encoding */
export const document = (config: ConfigService, origin: boolean): ConfigShow => ({
  v: 1,
  file: config.user_file,
  settings: masked(config.config, [], tierIn(config)) as Record<string, unknown>,
  ...(origin
    ? {
      origins: Object.fromEntries(
        [...config.sources].map(([key, sources]) => [key, sources.map((source) => maskedSource(key, source))])
      )
    }
    : {}),
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

/** Runs with broken settings too (reading 4.6); the exit code says whether they are sound. @since 0.1.0 @category combinators */
export const show = Effect.fn("Cli.config.show")(function*(values: Spec.Values<typeof Spec.configShow>) {
  const config = yield* Config
  const terminal = yield* Terminal
  const style = yield* stderrStyle
  if (values.json) yield* printJson(document(config, values.origin))
  else {
    const problems = [
      ...config.warnings.map((issue) => issueText(issue, style.yellow("warning:"))),
      ...config.errors.map((issue) => issueText(issue, style.red("error:")))
    ]
    if (problems.length > 0) yield* terminal.err(`${problems.join("\n")}\n`)
    yield* values.origin
      ? print(originRows(config))
      : print(`${JSON.stringify(document(config, false).settings, null, 2)}\n`)
  }
  return config.errors.length > 0 ? 2 : 0
})

/** @since 0.1.0 @category combinators */
export const path = Effect.fn("Cli.config.path")(function*() {
  const config = yield* Config
  yield* print(`${config.user_file}\n`)
  return 0
})
