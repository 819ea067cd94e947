/**
 * From a base URL and a protocol to the address requests go to. Pure; one rule list, host presets as data rows.
 *
 * The rules, in order: (1) trimmed, http or https only, no user or password, fragment dropped, trailing slashes cut,
 * the query stays behind the appended path; (2) `root: "exact"` appends the endpoint directly; (3) a path that ends in
 * an endpoint names its own root; (4) host presets decide path and offer; (5) a last segment `v<N>`, `v<N>alpha`,
 * `v<N>beta` or `openai`, and the path end `api/gateway`, take the endpoint directly; (6) everything else gets `/v1`
 * first. Resolving an address again changes nothing.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import type { ProtocolName } from "../protocol/Protocol.ts"

/**
 * `bad_url`: not an http or https address, or one with a user or password in it. `protocol_not_offered`: the host is
 * known and does not speak that protocol. Messages show origin and path, never a query or user information.
 *
 * @since 0.1.0
 * @category errors
 */
export class EndpointError extends TaggedError("@hanzo/dev/provider/EndpointError")(
  "EndpointError",
  () => ({ reason: Schema.Literal("bad_url", "protocol_not_offered"), message: Schema.String })
) {}

/** @since 0.1.0 @category models */
export interface EndpointInput {
  readonly base_url: string
  readonly protocol: ProtocolName
  /** `exact`: the endpoint is appended to the path as given, no `/v1`, no preset. */
  readonly root?: "auto" | "exact"
}

/**
 * Where requests go. `root` is the path that the endpoint hangs on (no trailing slash, `""` = the host itself), `query`
 * begins with `?` or is empty. `auth` names the header that takes the key when it is not the protocol's own.
 *
 * @since 0.1.0
 * @category models
 */
export interface Endpoint {
  readonly url: string
  /** `https://host:port`, what a key is bound to. */
  readonly origin: string
  readonly root: string
  readonly query: string
  readonly auth?: "api-key"
}

const endpoints: Readonly<Record<ProtocolName, string>> = {
  anthropic: "/messages",
  responses: "/responses",
  chat: "/chat/completions"
}

/** Longest first: a side path is cut before the endpoint it hangs on. */
const endings = ["/messages/count_tokens", "/responses/compact", "/chat/completions", "/responses", "/messages"]

/**
 * A host with rules of its own. In `host` a `*` stands for one label. `strip` is a trailing part that means the same as
 * leaving it away; `empty` is the root when no path is left; `below` maps what the root begins with to the root it
 * becomes; `offers` is what the root gets behind it for each protocol, `null` = not offered.
 */
interface Preset {
  readonly host: string
  readonly strip: string
  readonly empty: string
  readonly offers: Readonly<Record<ProtocolName, string | null>>
  readonly cut: Readonly<Partial<Record<ProtocolName, string>>>
  readonly auth?: "api-key"
}

const direct = { anthropic: "", responses: "", chat: "" }

const copilot = { strip: "/v1", empty: "", offers: { ...direct, anthropic: "/v1" }, cut: {} }

const presets: ReadonlyArray<Preset> = [
  {
    host: "*.openai.azure.com",
    strip: "",
    empty: "/openai/v1",
    offers: { ...direct, anthropic: null },
    cut: { responses: "/deployments/" },
    auth: "api-key"
  },
  {
    host: "chatgpt.com",
    strip: "",
    empty: "/backend-api/codex",
    offers: { anthropic: null, responses: "", chat: null },
    cut: {}
  },
  { host: "api.githubcopilot.com", ...copilot },
  { host: "api.*.githubcopilot.com", ...copilot }
]

const matchesHost = (pattern: string, host: string): boolean => {
  const want = pattern.split(".")
  const have = host.split(".")
  return want.length === have.length && want.every((label, i) => label === "*" || label === have[i])
}

const version = /^v\d+(?:alpha|beta)?$/

const withoutTrailingSlashes = (path: string): string => {
  let end = path.length
  while (end > 0 && path.charCodeAt(end - 1) === 47) end--
  return path.slice(0, end)
}

/** A version written twice (`/v1/v1`) is a slip of who wrote the address: one of the two goes. */
const withoutDoubleVersion = (path: string): string => {
  const segments = path.split("/")
  return segments.filter((segment, i) => !(version.test(segment) && segment === segments[i - 1])).join("/")
}

const cutEndpoint = (path: string): { readonly path: string; readonly cut: boolean } => {
  let rest = path
  for (;;) {
    const ending = endings.find((candidate) => rest.endsWith(candidate))
    if (ending === undefined) return { path: rest, cut: rest !== path }
    rest = withoutTrailingSlashes(rest.slice(0, -ending.length))
  }
}

const takesEndpointDirectly = (path: string): boolean => {
  const last = path.slice(path.lastIndexOf("/") + 1)
  return version.test(last) || last === "openai" || path.endsWith("/api/gateway")
}

const bad = (message: string) => Either.left(new EndpointError({ reason: "bad_url", message }))

const parse = (text: string): Either.Either<URL, EndpointError> => {
  const trimmed = text.trim()
  if (!/^https?:\/\//i.test(trimmed) || !URL.canParse(trimmed)) {
    return bad("the base URL is no http or https address; write it in full, for example https://api.example.com/v1")
  }
  const url = new URL(trimmed)
  return url.username !== "" || url.password !== ""
    ? bad(`the base URL of ${url.origin} holds a user or password; remove it and set api_key or api_key_env instead`)
    : Either.right(url)
}

/** The root below which a host of its own rules serves a protocol; `null` = it does not. */
const presetRoot = (preset: Preset, path: string, protocol: ProtocolName): string | null => {
  const offer = preset.offers[protocol]
  if (offer === null) return null
  const marker = preset.cut[protocol]
  const at = marker === undefined ? -1 : path.indexOf(marker)
  const kept = at === -1 ? path : path.slice(0, at)
  let root = cutEndpoint(withoutTrailingSlashes(kept)).path
  while (preset.strip !== "" && root.endsWith(preset.strip)) {
    root = cutEndpoint(withoutTrailingSlashes(root.slice(0, -preset.strip.length))).path
  }
  return (root === "" ? preset.empty : root) + offer
}

/**
 * @since 0.1.0
 * @category combinators
 */
export const resolve = (input: EndpointInput): Either.Either<Endpoint, EndpointError> =>
  Either.flatMap(parse(input.base_url), (url) => {
    const given = cutEndpoint(withoutTrailingSlashes(url.pathname))
    const exact = input.root === "exact"
    const preset = exact ? undefined : presets.find((row) => matchesHost(row.host, url.hostname))
    const path = exact ? given.path : withoutDoubleVersion(given.path)
    const root = preset !== undefined
      ? presetRoot(preset, path, input.protocol)
      : exact || given.cut || takesEndpointDirectly(path)
      ? path
      : `${path}/v1`
    if (root === null) {
      return Either.left(
        new EndpointError({
          reason: "protocol_not_offered",
          message:
            `${url.origin}${url.pathname} does not speak the ${input.protocol} protocol; set another protocol for ` +
            "this provider"
        })
      )
    }
    return Either.right({
      url: url.origin + root + endpoints[input.protocol] + url.search,
      origin: url.origin,
      root,
      query: url.search,
      ...(preset?.auth === undefined ? {} : { auth: preset.auth })
    })
  })

/**
 * Addresses beside the endpoint: the list of models, token counting (Messages), compaction (Responses).
 *
 * @since 0.1.0
 * @category combinators
 */
export const sidePath = (endpoint: Endpoint, path: "models" | "messages/count_tokens" | "responses/compact"): string =>
  `${endpoint.origin}${endpoint.root}/${path}${endpoint.query}`

/**
 * A client's own query merged in behind the target's; a parameter the target sets wins. For hops between equal
 * protocols only.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withQuery = (url: string, query: string): string => {
  const merged = new URL(url)
  const fixed = new Set(merged.searchParams.keys())
  let changed = false
  for (const [name, value] of new URLSearchParams(query)) {
    if (fixed.has(name)) continue
    merged.searchParams.append(name, value)
    changed = true
  }
  return changed ? merged.href : url
}

/** A loopback address: such a server needs no key. @since 0.1.0 @category combinators */
export const isLoopback = (origin: string): boolean => {
  if (!URL.canParse(origin)) return false
  const host = new URL(origin).hostname
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host)
}
