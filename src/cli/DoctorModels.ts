/**
 * What `hanzo-dev doctor` says of models: which providers a request could go to as things stand, and why not to others.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { line } from "../codec/TerminalText.ts"
import { Config } from "../config/Config.ts"
import type { CredentialError } from "../credentials/CredentialError.ts"
import { Credentials, variablesOf } from "../credentials/Credentials.ts"
import { Environment, variable } from "../platform/Environment.ts"
import { Http, readAll } from "../platform/Http.ts"
import { type Endpoint, isLoopback } from "../provider/EndpointResolver.ts"
import { LocalServers, modelIds } from "../provider/LocalServers.ts"
import type { ModelError } from "../provider/ModelError.ts"
import { entryOf, namesOf, type ProviderEntry, scripted } from "../provider/Providers.ts"
import { type HttpTarget, Targets } from "../provider/Targets.ts"
import { bad, ok } from "./DoctorCheck.ts"
import type { DoctorCheck } from "./Schemas.ts"

const probeLimits = { connect_ms: 300, headers_ms: 1_000, idle_ms: 1_000 }
const maxBytes = 1 << 20

const modelsText = (models: ReadonlyArray<string>): string =>
  models.length === 0 ? "no models" : line(models.slice(0, 5).join(", "), 200)

/** Does anything answer there, and with which models? Any answer of HTTP counts. No key is sent. */
const probe = ({ origin, root }: Endpoint): Effect.Effect<ReadonlyArray<string> | "answers" | "silent", never, Http> =>
  Effect.scoped(Effect.gen(function*() {
    const http = yield* Http
    const response = yield* http.request({
      method: "GET",
      url: `${origin}${root}/models`,
      headers: { accept: "application/json" },
      limits: probeLimits,
      fresh: true
    })
    if (response.status !== 200) return "answers" as const
    return yield* readAll(response, maxBytes).pipe(
      Effect.map(({ bytes }) => modelIds(new TextDecoder().decode(bytes)) ?? ("answers" as const)),
      Effect.orElseSucceed(() => "answers" as const)
    )
  })).pipe(Effect.orElseSucceed(() => "silent" as const))

/** First line: what. The others: what to do. */
const unusable = (name: string, error: ModelError, source: string | null): DoctorCheck => {
  const [what = "", ...remedies] = error.message.split("\n")
  return bad(
    "models",
    name,
    "warning",
    `not usable: ${line(what, 500)}${source === null ? "" : ` (a key is set: ${source})`}`,
    line(remedies.filter((remedy) => !remedy.startsWith("or name a model")).join("; "), 500)
  )
}

/** Something is set up and gives no key. */
const keyless = (name: string, { message }: CredentialError): DoctorCheck => {
  const [what = "", ...remedies] = message.split("; ")
  return bad("models", name, "warning", `not usable: ${line(what, 500)}`, line(remedies.join("; "), 500))
}

const usable = (entry: ProviderEntry, target: HttpTarget): Effect.Effect<DoctorCheck, never, Http> =>
  Effect.gen(function*() {
    const { credential, endpoint } = target
    const key = Option.match(credential, {
      onNone: () => "no key is needed",
      onSome: ({ source }) => `a key is set (${source})`
    })
    if (!isLoopback(endpoint.origin)) return ok("models", entry.name, `usable: ${key}`)
    const found = yield* probe(endpoint)
    const address = line(`${endpoint.origin}${endpoint.root}`, 200)
    if (found === "silent") {
      return bad(
        "models",
        entry.name,
        "warning",
        `${key}, but nothing answers at ${address}`,
        `start the model server, or correct ${
          entry.settings.base_url === undefined ? "its address" : `providers.${entry.name}.base_url`
        }`
      )
    }
    return ok(
      "models",
      entry.name,
      `usable: ${key}, ${address} answers${found === "answers" ? "" : `: ${modelsText(found)}`}`
    )
  })

/** @since 0.1.0 @category constructors */
export const modelChecks: Effect.Effect<
  ReadonlyArray<DoctorCheck>,
  never,
  Config | Credentials | LocalServers | Environment | Targets | Http
> = Effect.gen(function*() {
  const { config } = yield* Config
  const credentials = yield* Credentials
  const environment = yield* Environment
  const targets = yield* Targets
  const checks: Array<DoctorCheck> = []
  const reached = new Set<string>()
  const told = new Set<string>()
  for (const name of namesOf(config)) {
    const entry = entryOf(name, config, environment)
    if (entry === null || name === scripted) continue
    const looked = yield* Effect.either(credentials.keyFor(name, config))
    if (Either.isLeft(looked)) {
      // a file of logins that cannot be read is one finding, not one a provider
      if (told.has(looked.left.message)) continue
      told.add(looked.left.message)
      const shared = looked.left.provider === undefined && looked.left.reason !== "command_failed"
      checks.push(keyless(shared ? "logins" : name, looked.left))
      continue
    }
    const credential = looked.right
    const led = entry.base_url_variable !== null && variable(environment, entry.base_url_variable) !== undefined
    if (!Object.hasOwn(config.providers, name) && Option.isNone(credential) && !led) continue
    const target = yield* Effect.either(targets.resolve(`${name}/${entry.default_model ?? "MODEL"}`))
    if (Either.isLeft(target)) {
      checks.push(unusable(name, target.left, Option.getOrNull(Option.map(credential, ({ source }) => source))))
    } else if (target.right._tag === "Http") {
      reached.add(target.right.endpoint.origin)
      checks.push(yield* usable(entry, target.right))
    }
  }
  for (const server of yield* (yield* LocalServers).detect) {
    if (reached.has(server.base_url)) continue
    checks.push(
      ok("models", server.provider, `${server.title} answers at ${server.base_url}: ${modelsText(server.models)}`)
    )
  }
  const model = yield* Effect.either(targets.resolve())
  if (Either.isRight(model)) {
    return [...checks, ok("models", "model", `${line(model.right.model.name, 200)} is used when none is named`)]
  }
  if (checks.length > 0) return [...checks, unusable("model", model.left, null)]
  const variables = ["anthropic", "openai"].flatMap((name) => variablesOf(name, config))
  return [
    bad(
      "models",
      "provider",
      "warning",
      "no provider is configured, no local model server answers",
      `set ${[...variables, "or HANZO_API_KEY and HANZO_BASE_URL"].join(", ")}; or start Ollama, LM Studio or llama.cpp`
    )
  ]
})
