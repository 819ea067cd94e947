/**
 * Where telemetry goes, from the variables of OpenTelemetry and the settings; pure.
 *
 * A variable counts before the user's settings, what is managed counts before both. Headers are secrets: those of the
 * settings go to the address of the settings alone. https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 *
 * @since 0.1.0
 */
import type { TelemetryConfig } from "./Schema.ts"

/** One signal. @since 0.1.0 @category models */
export interface TelemetryEndpoint {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeout_ms: number
}

/** @since 0.1.0 @category models */
export interface TelemetryTarget {
  /** Null = this signal goes nowhere. */
  readonly traces: TelemetryEndpoint | null
  readonly metrics: TelemetryEndpoint | null
  /** Of the resource, `service.name` among them. */
  readonly resource: Readonly<Record<string, string>>
  /** Prompts, answers, arguments and results are part of the spans. */
  readonly content: boolean
  /** The trace that this program is started in (W3C `traceparent`). */
  readonly parent: { readonly trace_id: string; readonly span_id: string } | null
}

/** `problem`: one line on why what is configured cannot be used. @since 0.1.0 @category models */
export interface TelemetryChoice {
  readonly target: TelemetryTarget | null
  readonly problem: string | null
}

type Vars = ReadonlyMap<string, string>
type Signal = "traces" | "metrics"

const of = (vars: Vars, name: string): string | undefined => {
  const value = vars.get(name)?.trim()
  return value === "" ? undefined : value
}

const truthy = (text: string | undefined): boolean => text?.toLowerCase() === "true"

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** `key=value,key=value`, percent-encoded as in W3C Baggage; members that are none are left out. */
const pairs = (text: string | undefined): Readonly<Record<string, string>> => {
  const found: Record<string, string> = {}
  for (const member of (text ?? "").split(",")) {
    const at = member.indexOf("=")
    const name = decoded(member.slice(0, Math.max(0, at)).trim())
    if (name !== "") found[name] = decoded(member.slice(at + 1).trim())
  }
  return found
}

const upper = { traces: "TRACES", metrics: "METRICS" } as const
const prefix = "OTEL_EXPORTER_OTLP_"

const headersOfVars = (vars: Vars, signal: Signal): Readonly<Record<string, string>> =>
  pairs(of(vars, `${prefix}${upper[signal]}_HEADERS`) ?? of(vars, `${prefix}HEADERS`))

const bareToken = (value: string): string => value.replace(/^(?:bearer|basic|token)\s+/iu, "")

/** Values of headers, wherever they stand: no tool and no span may carry one. @since 0.1.0 @category combinators */
export const telemetrySecrets = (vars: Vars, settings: TelemetryConfig): ReadonlyArray<string> =>
  [
    ...Object.values(settings.headers ?? {}),
    ...Object.values(headersOfVars(vars, "traces")),
    ...Object.values(headersOfVars(vars, "metrics"))
  ].flatMap((value) => [value, bareToken(value)]).filter((value) => value.length >= 4)

const traceparent = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/u

const parentOf = (vars: Vars): TelemetryTarget["parent"] => {
  const found = traceparent.exec(of(vars, "TRACEPARENT") ?? "")
  const [, trace_id = "", span_id = ""] = found ?? []
  return found === null || /^0+$/u.test(trace_id) || /^0+$/u.test(span_id) ? null : { trace_id, span_id }
}

const validUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol)

const noAddress = "is no http or https address, so that nothing is sent there; for example http://127.0.0.1:4318"

/** Keys of the settings that hold an address, and what is wrong with such a one. @since 0.1.0 @category decoding */
export const addressComplaint = (key: string, value: unknown): string | null =>
  /^(?:traces_|metrics_)?endpoint$/u.test(key) && typeof value === "string" && !validUrl(value)
    ? noAddress
    : null

const joined = (base: string, path: string): string => {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/+$/u, "")}/${path}`
  return url.href
}

const contentWords: ReadonlySet<string> = new Set(["true", "span_only", "span_and_event"])

/**
 * `managed` says whether a key of `telemetry` comes from managed settings.
 *
 * @since 0.1.0
 * @category constructors
 */
export const choose = (
  vars: Vars,
  settings: TelemetryConfig,
  managed: (key: keyof TelemetryConfig) => boolean
): TelemetryChoice => {
  const none: TelemetryChoice = { target: null, problem: null }
  if (settings.enabled === false) return none
  if (truthy(of(vars, "OTEL_SDK_DISABLED")) && !(settings.enabled === true && managed("enabled"))) return none
  const problems: Array<string> = []

  const addressOf = (signal: Signal): { readonly url: string; readonly own: boolean; readonly name: string } | null => {
    const path = `v1/${signal}`
    const key = `${signal}_endpoint` as const
    const fromSettings = () => {
      const exact = settings[key]
      if (exact !== undefined) return { url: exact, own: true, name: `telemetry.${key}` }
      return settings.endpoint === undefined
        ? null
        : { url: settings.endpoint, base: path, own: true, name: "telemetry.endpoint" }
    }
    const fromVars = () => {
      const exact = of(vars, `${prefix}${upper[signal]}_ENDPOINT`)
      if (exact !== undefined) return { url: exact, own: false, name: `${prefix}${upper[signal]}_ENDPOINT` }
      const base = of(vars, `${prefix}ENDPOINT`)
      return base === undefined ? null : { url: base, base: path, own: false, name: `${prefix}ENDPOINT` }
    }
    const first = managed(key) || managed("endpoint")
    const found: { url: string; base?: string; own: boolean; name: string } | null = first
      ? fromSettings()
      : fromVars() ?? fromSettings()
    if (found === null) return null
    if (!validUrl(found.url)) {
      // what is wrong with the settings, their check has said
      if (!found.own) problems.push(`${found.name} ${noAddress}`)
      return null
    }
    return { ...found, url: found.base === undefined ? found.url : joined(found.url, found.base) }
  }

  const endpointOf = (signal: Signal): TelemetryEndpoint | null => {
    if (of(vars, `OTEL_${upper[signal]}_EXPORTER`)?.toLowerCase() === "none") return null
    const address = addressOf(signal)
    if (address === null) return null
    const name = of(vars, `${prefix}${upper[signal]}_PROTOCOL`) === undefined
      ? `${prefix}PROTOCOL`
      : `${prefix}${upper[signal]}_PROTOCOL`
    const protocol = of(vars, name)?.toLowerCase()
    // http/protobuf has the same address as http/json, gRPC has another one
    if (!address.own && protocol !== undefined && !protocol.startsWith("http/")) {
      problems.push(
        `${name} is ${JSON.stringify(protocol.slice(0, 40))}, and telemetry is sent as http/json only: it is off`
      )
      return null
    }
    const timeout = Number(of(vars, `${prefix}${upper[signal]}_TIMEOUT`) ?? of(vars, `${prefix}TIMEOUT`) ?? "")
    return {
      url: address.url,
      headers: { ...(address.own ? settings.headers ?? {} : {}), ...headersOfVars(vars, signal) },
      timeout_ms: Number.isFinite(timeout) && timeout > 0 ? timeout : 10_000
    }
  }

  const traces = endpointOf("traces")
  const metrics = endpointOf("metrics")
  const problem = problems[0] ?? null
  if (traces === null && metrics === null) return { target: null, problem }
  const given = pairs(of(vars, "OTEL_RESOURCE_ATTRIBUTES"))
  const asked = of(vars, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")?.toLowerCase()
  return {
    target: {
      traces,
      metrics,
      resource: {
        ...settings.resource_attributes,
        ...given,
        "service.name": of(vars, "OTEL_SERVICE_NAME") ?? given["service.name"] ?? settings.service_name ??
          settings.resource_attributes?.["service.name"] ?? "hanzo-dev"
      },
      content: managed("capture_content") || asked === undefined
        ? settings.capture_content === true
        : contentWords.has(asked),
      parent: parentOf(vars)
    },
    problem
  }
}
