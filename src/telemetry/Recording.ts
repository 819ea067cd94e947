/**
 * The recorder with its exporter behind it. Loaded when an endpoint is configured.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as SecretMask from "../codec/SecretMask.ts"
import type { TelemetryTarget } from "../config/TelemetryTarget.ts"
import type { Recorder } from "../domain/Telemetry.ts"
import type { EnvironmentService } from "../platform/Environment.ts"
import type { HttpService } from "../platform/Http.ts"
import * as ChatSpans from "./ChatSpans.ts"
import * as Exporter from "./Exporter.ts"
import * as Histograms from "./Histograms.ts"
import type { Origin } from "./Otlp.ts"
import * as Spans from "./Spans.ts"
import * as WorkSpans from "./WorkSpans.ts"

declare const __HANZO_VERSION__: string | undefined

const version = typeof __HANZO_VERSION__ === "string" ? __HANZO_VERSION__ : "0.0.0"

/** @since 0.1.0 @category models */
export interface RecordingOptions {
  readonly target: TelemetryTarget
  readonly environment: Pick<EnvironmentService, "pid" | "os" | "node_version">
  readonly http: HttpService
  /** Known secrets; the same array as long as nothing is new. */
  readonly secrets: Effect.Effect<ReadonlyArray<string>>
}

const originOf = (
  { environment, target }: RecordingOptions,
  instance: string
): Origin => ({
  version,
  resource: {
    "service.version": version,
    "service.instance.id": instance,
    "process.pid": environment.pid,
    "process.runtime.name": "nodejs",
    "process.runtime.version": environment.node_version,
    "os.type": environment.os,
    "telemetry.sdk.name": "hanzo-dev",
    "telemetry.sdk.language": "nodejs",
    "telemetry.sdk.version": version,
    ...target.resource
  }
})

/** Lives in its scope, whose end sends what is left. @since 0.1.0 @category constructors */
export const make = (options: RecordingOptions): Effect.Effect<Recorder, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { http, secrets, target } = options
    const start = yield* Clock.currentTimeNanos
    const word = yield* Random.nextIntBetween(0, 0x1_0000_0000)
    const histograms = Histograms.make(start)
    let masked: { readonly of: ReadonlyArray<string>; readonly clean: (text: string) => string } | undefined
    const clean = Effect.map(secrets, (known) => {
      if (masked?.of !== known) {
        const mask = SecretMask.make(known)
        masked = { of: known, clean: mask === null ? (text) => text : mask.text }
      }
      return masked.clean
    })
    const exporter = yield* Exporter.make({
      target,
      origin: originOf(options, `${start.toString(16)}-${options.environment.pid}-${word.toString(16)}`),
      histograms,
      http,
      clean
    })
    const begin = Spans.make({ push: exporter.push, recorder: () => recorder, parent: target.parent })
    const shared = { begin, histograms, content: target.content }
    const recorder: Recorder = {
      chat: ChatSpans.make(shared),
      tool: WorkSpans.tool(shared),
      mcp: WorkSpans.mcp(shared),
      run: WorkSpans.run(shared)
    }
    return recorder
  })
