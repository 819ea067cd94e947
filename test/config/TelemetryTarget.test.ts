/** Where telemetry goes: the variables of OpenTelemetry over the settings, what is managed over both. */
import { assert, describe, it } from "@effect/vitest"
import { choose, telemetrySecrets } from "../../src/config/TelemetryTarget.ts"
import type { TelemetryConfig } from "../../src/config/Schema.ts"
import * as Tiers from "../../src/config/Tiers.ts"

const of = (
  vars: Readonly<Record<string, string>>,
  settings: TelemetryConfig = {},
  managed: ReadonlyArray<keyof TelemetryConfig> = []
) => choose(new Map(Object.entries(vars)), settings, (key) => managed.includes(key))

const base = "OTEL_EXPORTER_OTLP_ENDPOINT"
const here = "http://127.0.0.1:4318"

describe("the check of the settings", () => {
  it("says where an address stands that is none", () => {
    const { issues } = Tiers.fromText(
      "user",
      "/s.json",
      "{\n  \"telemetry\": { \"endpoint\": \"nope\", \"traces_endpoint\": \"http://127.0.0.1:1/v1/traces\",\n" +
        "    \"metricsEndpoint\": \"ftp://x\", \"headers\": { \"endpoint\": \"x\" } }\n}"
    )
    assert.deepStrictEqual(issues.map(({ code, column, key, line, severity }) => [severity, code, key, line, column]), [
      ["warning", "invalid_value", "telemetry.endpoint", 2, 30],
      ["warning", "invalid_value", "telemetry.metrics_endpoint", 3, 24]
    ])
    assert.match(issues[0]?.message ?? "", /^telemetry\.endpoint is no http or https address/)
  })
})

describe("the target", () => {
  it("is none without an endpoint", () => {
    assert.deepStrictEqual(of({ OTEL_SERVICE_NAME: "x" }, { capture_content: true }), { target: null, problem: null })
  })

  it("a base address gets the paths, one of a signal is taken as it stands", () => {
    const { target } = of({ [base]: `${here}/a/`, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${here}/m` })
    assert.deepStrictEqual([target?.traces?.url, target?.metrics?.url], [`${here}/a/v1/traces`, `${here}/m`])
    assert.strictEqual(of({ [base]: `${here}/?k=v` }).target?.traces?.url, `${here}/v1/traces?k=v`)
  })

  it("a variable comes before the user's settings, and headers of the settings stay with their address", () => {
    const settings = { endpoint: "https://in.settings", headers: { key: "of-the-settings" } }
    const own = of({ OTEL_EXPORTER_OTLP_HEADERS: "more=of%20the%20variables" }, settings).target?.traces
    assert.deepStrictEqual(own, {
      url: "https://in.settings/v1/traces",
      headers: { key: "of-the-settings", more: "of the variables" },
      timeout_ms: 10_000
    })
    const other = of({ [base]: here, OTEL_EXPORTER_OTLP_TIMEOUT: "500" }, settings).target?.traces
    assert.deepStrictEqual(other, { url: `${here}/v1/traces`, headers: {}, timeout_ms: 500 })
  })

  it("what is managed comes before a variable", () => {
    assert.strictEqual(
      of({ [base]: here }, { endpoint: "https://managed" }, ["endpoint"]).target?.metrics?.url,
      "https://managed/v1/metrics"
    )
    assert.isNull(of({ [base]: here }, { enabled: false }, ["enabled"]).target)
    const asked = { [base]: here, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" }
    assert.isTrue(of(asked, { capture_content: false }).target?.content)
    assert.isFalse(of(asked, { capture_content: false }, ["capture_content"]).target?.content)
  })

  it("can be switched off, in whole or by signal", () => {
    assert.isNull(of({ [base]: here, OTEL_SDK_DISABLED: "true" }).target)
    assert.isNull(of({ [base]: here }, { enabled: false }).target)
    const { target } = of({ [base]: here, OTEL_METRICS_EXPORTER: "none" })
    assert.isNull(target?.metrics ?? null)
    assert.isNotNull(target?.traces ?? null)
  })

  it("says in one line why an endpoint cannot be used", () => {
    assert.match(of({ [base]: "localhost:4317" }).problem ?? "", /^OTEL_EXPORTER_OTLP_ENDPOINT is no http/)
    assert.deepStrictEqual(of({}, { endpoint: "ftp://x" }), { target: null, problem: null }, "its check has said it")
    const grpc = of({ [base]: here, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" })
    assert.isNull(grpc.target)
    assert.match(grpc.problem ?? "", /OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"/)
    assert.isNull(of({ [base]: here, OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf" }).problem)
  })

  it("takes part of a trace that is on only when its ids are sound", () => {
    const parent = (traceparent: string) => of({ [base]: here, TRACEPARENT: traceparent }).target?.parent ?? null
    const id = "4bf92f3577b34da6a3ce929d0e0e4736"
    assert.deepStrictEqual(parent(`00-${id}-00f067aa0ba902b7-00`), { trace_id: id, span_id: "00f067aa0ba902b7" })
    for (const wrong of ["", "x", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`, `00-${id}-${"0".repeat(16)}-01`]) {
      assert.isNull(parent(wrong))
    }
  })

  it("the name of the service: its own variable, then the attributes, then the settings", () => {
    const name = (vars: Readonly<Record<string, string>>, settings: TelemetryConfig = {}) =>
      of({ [base]: here, ...vars }, settings).target?.resource["service.name"]
    assert.strictEqual(name({}), "hanzo-dev")
    assert.strictEqual(name({}, { service_name: "s" }), "s")
    assert.strictEqual(name({ OTEL_RESOURCE_ATTRIBUTES: "service.name=a,b" }, { service_name: "s" }), "a")
    assert.strictEqual(name({ OTEL_RESOURCE_ATTRIBUTES: "service.name=a", OTEL_SERVICE_NAME: "n" }), "n")
  })

  it("G2 values of headers are secrets, with and without their scheme", () => {
    assert.includeMembers(
      [
        ...telemetrySecrets(
          new Map([["OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abcdefgh"]]),
          { headers: { "x-key": "ijklmnop" } }
        )
      ],
      ["Bearer abcdefgh", "abcdefgh", "ijklmnop"]
    )
  })
})
