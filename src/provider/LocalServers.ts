/**
 * Model servers on this machine, on the ports they use by default: Ollama, LM Studio, llama.cpp. Looked for only when
 * asked, with short limits.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import { Http, readAll } from "../platform/Http.ts"

/** `provider` is the name under which its models are addressed. @since 0.1.0 @category models */
export interface LocalServer {
  readonly provider: string
  readonly title: string
  readonly base_url: string
  /** As `GET /v1/models` lists them; may be empty. */
  readonly models: ReadonlyArray<string>
}

/** The servers that are known by their port. @since 0.1.0 @category constants */
export const knownServers: ReadonlyArray<Omit<LocalServer, "models">> = [
  { provider: "ollama", title: "Ollama", base_url: "http://127.0.0.1:11434" },
  { provider: "lmstudio", title: "LM Studio", base_url: "http://127.0.0.1:1234" },
  { provider: "llamacpp", title: "llama.cpp", base_url: "http://127.0.0.1:8080" }
]

/** @since 0.1.0 @category models */
export interface LocalServersService {
  /** Servers that answer now, in the order of `knownServers`. */
  readonly detect: Effect.Effect<ReadonlyArray<LocalServer>>
}

const probeLimits = { connect_ms: 300, headers_ms: 700, idle_ms: 700 }
const maxBytes = 1 << 20

/**
 * The ids of a model list in the form `{"data": [{"id"}]}`; `null` when the text is no such list.
 *
 * @since 0.1.0
 * @category decoding
 */
export const modelIds = (text: string): ReadonlyArray<string> | null => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== "object" || value === null || !("data" in value)) return null
  // Ollama without models answers `null` in place of an empty list.
  if (value.data === null) return []
  if (!Array.isArray(value.data)) return null
  return (value.data as ReadonlyArray<unknown>).flatMap((entry) =>
    typeof entry === "object" && entry !== null && "id" in entry && typeof entry.id === "string" ? [entry.id] : []
  )
}

/** @since 0.1.0 @category constructors */
export const detectWith = (
  servers: ReadonlyArray<Omit<LocalServer, "models">>
): Effect.Effect<ReadonlyArray<LocalServer>, never, Http> =>
  Effect.gen(function*() {
    const http = yield* Http
    const probe = (server: Omit<LocalServer, "models">) =>
      Effect.scoped(Effect.gen(function*() {
        const response = yield* http.request({
          method: "GET",
          url: `${server.base_url}/v1/models`,
          headers: { accept: "application/json" },
          limits: probeLimits,
          fresh: true
        })
        if (response.status !== 200) return []
        const models = modelIds(new TextDecoder().decode((yield* readAll(response, maxBytes)).bytes))
        return models === null ? [] : [{ ...server, models }]
      })).pipe(Effect.orElseSucceed((): ReadonlyArray<LocalServer> => []))
    return (yield* Effect.all(servers.map(probe), { concurrency: "unbounded" })).flat()
  })

/** @since 0.1.0 @category services */
export class LocalServers extends Context.Tag("@hanzo/dev/provider/LocalServers")<
  LocalServers,
  LocalServersService
>() {
  static readonly layer: Layer.Layer<LocalServers, never, Http> = Layers.effect(
    LocalServers,
    Effect.map(Http, (http) => ({ detect: Effect.provideService(detectWith(knownServers), Http, http) }))
  )

  /** Finds none, without looking. */
  static readonly layerNone: Layer.Layer<LocalServers> = Layers.succeed(LocalServers, { detect: Effect.succeed([]) })
}
