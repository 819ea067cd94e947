/**
 * The door to models for everything above: target and protocol are chosen here, the answer is a stream of canonical
 * events or their sum.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Layers from "../domain/Layers.ts"
import type { Credential } from "../credentials/Credentials.ts"
import { ApiError } from "../domain/Failure.ts"
import type { Message } from "../domain/Message.ts"
import type { Response, ResponseEvent } from "../domain/ResponseEvent.ts"
import type { SendOptions } from "../domain/ApiClient.ts"
import type { ToolDef } from "../domain/Tool.ts"
import type { Http } from "../platform/Http.ts"
import type { EncodeInput, Protocol, ProtocolName } from "../protocol/Protocol.ts"
import type { ModelError } from "./ModelError.ts"
import { type HttpTarget, Targets } from "./Targets.ts"
import * as Transport from "./Transport.ts"

/** `stream: false` asks the provider for the whole answer at once; the events are the same. @since 0.1.0 @category models */
export interface RunRequest {
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<ToolDef>
  readonly options?: SendOptions
  readonly stream?: boolean
}

/** @since 0.1.0 @category models */
export interface AgentRunGatewayService {
  /**
   * Canonical events of one attempt at the model that `options.model` names; exactly one terminal, or an ApiError when
   * nothing was streamed. One chunk a network read; leaving the stream closes the connection.
   */
  readonly stream: (request: RunRequest) => Stream.Stream<ResponseEvent, ApiError>
  /** The same for a target that is resolved already. */
  readonly streamTo: (target: HttpTarget, request: RunRequest) => Stream.Stream<ResponseEvent, ApiError>
  /** What `streamTo` streams, read by read; closing the scope closes the connection. */
  readonly openTo: (target: HttpTarget, request: RunRequest) => Effect.Effect<Transport.Pull, ApiError, Scope.Scope>
  /** The sum of the same events. A response that failed is an ApiError, also when a part of it had come. */
  readonly complete: (request: RunRequest) => Effect.Effect<Response, ApiError>
}

/** One module a protocol, loaded for the first request that speaks it. */
const protocols: Readonly<Record<ProtocolName, () => Promise<{ readonly protocol: Protocol }>>> = {
  anthropic: () => import("../protocol/AnthropicMessages.ts"),
  responses: () => import("../protocol/Responses.ts"),
  chat: () => import("../protocol/ChatCompletions.ts")
}

const loadProtocol = (name: ProtocolName): Effect.Effect<Protocol> =>
  Effect.map(Effect.promise(protocols[name]), (module) => module.protocol)

/** A model that cannot be reached by its name, as the failure of a request. @since 0.1.0 @category combinators */
export const fromModelError = (error: ModelError): ApiError =>
  new ApiError({
    reason: error.reason === "no_credential" ? "auth" : "bad_request",
    message: error.message,
    retryable: false,
    code: error.reason
  })

const keyWords = ({ kind, source }: Credential) => ({ bearer: kind === "login", key_source: source })

const requestKey = (credential: Credential): Transport.RequestKey => ({ key: credential.key, ...keyWords(credential) })

const encodeInput = (target: HttpTarget, request: RunRequest): EncodeInput => {
  const { effort, max_output_tokens, parallel_tool_calls, session_id, stop, temperature, tool_choice, top_p } =
    request.options ?? {}
  const { model } = target
  const wanted = effort ?? model.effort
  return {
    model: model.model,
    messages: request.messages,
    tools: request.tools,
    traits: model.traits,
    origin: model.origin,
    stream: request.stream ?? true,
    ...(max_output_tokens === undefined ? {} : { max_output_tokens }),
    ...(wanted === undefined ? {} : { effort: wanted }),
    ...(tool_choice === undefined ? {} : { tool_choice }),
    ...(parallel_tool_calls === undefined ? {} : { parallel_tool_calls }),
    ...(stop === undefined ? {} : { stop }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(session_id === undefined ? {} : { session_id })
  }
}

const make = Effect.gen(function*() {
  const targets = yield* Targets
  const transport = yield* Transport.make

  const openTo: AgentRunGatewayService["openTo"] = (target, request) =>
    Effect.flatMap(loadProtocol(target.model.protocol), (protocol) => {
      const input = encodeInput(target, request)
      const encoded = protocol.encodeRequest(input)
      return transport.open({
        protocol,
        provider: target.model.provider,
        endpoint: target.endpoint,
        headers: target.headers,
        key: Option.map(target.credential, ({ key }) => key),
        ...Option.match(target.credential, { onNone: () => ({}), onSome: keyWords }),
        renew: (key) =>
          Effect.mapBoth(target.renew(key), { onFailure: fromModelError, onSuccess: Option.map(requestKey) }),
        encoded,
        stream: input.stream,
        decode: { origin: input.origin, model: input.model, names: encoded.names },
        limits: target.model.limits,
        retry_headers: true
      })
    })

  const streamTo: AgentRunGatewayService["streamTo"] = (target, request) => Transport.streamOf(openTo(target, request))

  const stream: AgentRunGatewayService["stream"] = (request) =>
    Stream.unwrap(
      targets.resolve(request.options?.model).pipe(
        Effect.mapError(fromModelError),
        Effect.flatMap((target) =>
          target._tag === "Http"
            ? Effect.succeed(streamTo(target, request))
            : Effect.fail(
              new ApiError({
                reason: "bad_request",
                message: `${target.model.name} is played on this machine and has no stream of a provider`,
                retryable: false,
                provider: target.model.provider
              })
            )
        )
      )
    )

  const complete: AgentRunGatewayService["complete"] = (request) =>
    Effect.suspend(() => {
      let response: Response | null = null
      return Stream.runForEachChunk(stream(request), (chunk) =>
        Effect.sync(() => {
          for (const event of chunk) {
            if (
              event.type === "response.completed" || event.type === "response.incomplete" ||
              event.type === "response.failed"
            ) response = event.response
          }
        })).pipe(
          Effect.flatMap(() => response === null ? Effect.dieMessage("a stream without terminal") : toResult(response))
        )
    })

  return { stream, streamTo, openTo, complete }
})

const toResult = (response: Response): Effect.Effect<Response, ApiError> =>
  response.status === "failed" && response.error !== null
    ? Effect.fail(Transport.fromResponseError(response.error))
    : Effect.succeed(response)

/** @since 0.1.0 @category services */
export class AgentRunGateway extends Context.Tag("@hanzo/dev/provider/AgentRunGateway")<
  AgentRunGateway,
  AgentRunGatewayService
>() {
  static readonly layer: Layer.Layer<AgentRunGateway, never, Targets | Http> = Layers.effect(AgentRunGateway, make)
}
