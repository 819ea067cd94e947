/**
 * What servers may ask of us and how it is answered (reading 1.12): roots, sampling with permission, forms and addresses
 * through the prompters, log messages. Nothing is answered for a server that no run of ours attends to.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as TerminalText from "../codec/TerminalText.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { ApiClientService } from "../domain/ApiClient.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { RunPermissionMode } from "../domain/Permission.ts"
import type { PermissionPrompterService } from "../domain/PermissionPrompter.ts"
import type { UserAnswer, UserQuestion } from "../domain/UserQuestion.ts"
import type { PermissionsService } from "../permissions/Permissions.ts"
import { JsonRpcRefusal } from "../rpc/JsonRpcPeer.ts"
import type { McpAsking, McpFormAnswer, McpFormField, McpHandlers, McpRoot } from "./Connection.ts"
import { checkValue } from "./Elicitation.ts"
import { maxSamplings, sample } from "./Sampling.ts"

/** The permission that sampling needs; its subject is the server's name. @since 0.1.0 @category constants */
export const samplingPermission = "mcp_sampling"

/** A run of the agent that servers may speak to. @since 0.1.0 @category models */
export interface McpRun {
  readonly session_id: string
  readonly mode: RunPermissionMode
  /** `provider/model` of the run: what answers sampling. */
  readonly model?: string
  /** The subagent whose run it is; absent = the session's own agent. */
  readonly agent?: string
  /** The session whose answers "for this session" hold too; absent = no other. */
  readonly grants_session_id?: string
  readonly api?: ApiClientService
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
}

/** A call of a tool, as far as questions of its server are about it. @since 0.1.0 @category models */
export interface McpToolCall {
  readonly session_id: string
  readonly call_id: string
  readonly mode: RunPermissionMode
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
  /** Live output of the call. */
  readonly emit: (text: string) => Effect.Effect<void>
}

/** @since 0.1.0 @category models */
export interface CallInFlight {
  readonly call: McpToolCall
  samplings: number
}

/** What answers; exchanged when the settings change. @since 0.1.0 @category models */
export interface AskingWorld {
  readonly roots: () => ReadonlyArray<McpRoot>
  readonly permissions: () => PermissionsService | null
  readonly prompters: () => ReadonlyArray<PermissionPrompterService>
  /** By the token that the call was given. */
  readonly call: (token: string) => CallInFlight | undefined
  /** Of a session; without one the latest that attends. */
  readonly run: (session_id: string | null) => McpRun | undefined
  /** To all runs that attend. Never waits. */
  readonly tell: (event: AgentEventBody) => void
  /** Takes secrets of the server's definition out of a text. */
  readonly safe: (server: string, text: string) => string
}

const rejected = (message: string): JsonRpcRefusal => new JsonRpcRefusal({ code: -1, message })

/** The call that a question belongs to; the first of those in flight when that is not certain. */
const callOf = (world: AskingWorld, { call, calls }: McpAsking): CallInFlight | undefined => {
  const token = call?.token ?? calls.find((each) => each.token !== null)?.token
  return token === undefined || token === null ? undefined : world.call(token)
}

const asText = (data: unknown): string => typeof data === "string" ? data : JSON.stringify(data) ?? ""

const ask = (
  world: AskingWorld,
  question: UserQuestion,
  inFlight: CallInFlight | undefined,
  run: McpRun
): Effect.Effect<UserAnswer> =>
  Effect.gen(function*() {
    for (const prompter of world.prompters()) {
      if (prompter.ask === undefined) continue
      const answer = yield* prompter.ask(question, {
        session_id: inFlight?.call.session_id ?? run.session_id,
        ...(inFlight === undefined ? {} : { call_id: inFlight.call.call_id }),
        ...(run.agent === undefined ? {} : { agent: run.agent }),
        subject: question.from
      }).pipe(
        // a prompter that fails has not answered
        Effect.catchAllDefect((defect) =>
          Effect.as(
            Effect.logError(`prompter ${prompter.name} failed: ${String(defect)}`),
            { action: "escalate" } as const
          )
        )
      )
      if (answer.action !== "escalate") return answer
    }
    world.tell({
      type: "notice",
      code: "mcp_elicitation",
      message: `MCP server ${question.from} asked for ${
        question.kind === "form" ? "input" : `a visit to ${question.host}`
      } (${TerminalText.line(question.message, 200)}); nobody could be asked, so it was cancelled`
    })
    return { action: "cancel" }
  })

/** Everything a connection is told about its client, for one server. @since 0.1.0 @category constructors */
export const handlers = (server: string, world: AskingWorld): McpHandlers => {
  const idle = { samplings: 0 }

  const elicitForm: McpHandlers["elicitForm"] = ({ fields, message }, asking) =>
    Effect.gen(function*() {
      const inFlight = callOf(world, asking)
      const run = world.run(inFlight?.call.session_id ?? null)
      if (run === undefined) return { action: "cancel" } satisfies McpFormAnswer
      const answer = yield* ask(
        world,
        {
          kind: "form",
          from: server,
          message,
          fields,
          check: (field, value) => checkValue(field as McpFormField, value)
        },
        inFlight,
        run
      )
      return answer.action === "accept"
        ? { action: "accept", content: answer.content ?? {} } satisfies McpFormAnswer
        : { action: answer.action === "escalate" ? "cancel" : answer.action } satisfies McpFormAnswer
    })

  const elicitUrl: McpHandlers["elicitUrl"] = ({ host, message, url }, asking) =>
    Effect.gen(function*() {
      const inFlight = callOf(world, asking)
      const run = world.run(inFlight?.call.session_id ?? null)
      if (run === undefined) return "cancel"
      const answer = yield* ask(world, { kind: "url", from: server, message, url, host }, inFlight, run)
      return answer.action === "escalate" ? "cancel" : answer.action
    })

  const sampling: McpHandlers["sampling"] = (request, asking) =>
    Effect.gen(function*() {
      const inFlight = callOf(world, asking)
      const run = world.run(inFlight?.call.session_id ?? null)
      const permissions = world.permissions()
      if (run?.api === undefined || permissions === null) {
        return yield* rejected("rejected: no run of this client is on that could ask its model")
      }
      const count = inFlight ?? idle
      if (count.samplings >= maxSamplings) {
        return yield* rejected(`rejected: at most ${maxSamplings} requests to the model in one tool call`)
      }
      count.samplings++
      const authorization = yield* permissions.authorize({
        tool_name: samplingPermission,
        input: { server, ...request.params } as JsonObject,
        subjects: [server],
        kind: "network",
        read_only: false,
        inside_workspace: false,
        session_id: run.session_id,
        call_id: inFlight?.call.call_id ?? `sampling_${server}`,
        mode: inFlight?.call.mode ?? run.mode,
        ...(run.agent === undefined ? {} : { agent: run.agent }),
        ...(run.grants_session_id === undefined ? {} : { grants_session_id: run.grants_session_id }),
        report: inFlight?.call.report ?? run.report
      }).pipe(
        Effect.catchAllDefect((defect) =>
          Effect.as(
            Effect.logError(`the permission check of ${samplingPermission} broke: ${String(defect)}`),
            { allowed: false, decided_by: "default", reason: "the permission check broke" } as const
          )
        )
      )
      if (!authorization.allowed) return yield* rejected(`rejected: ${authorization.reason}`)
      return yield* Effect.mapError(
        sample(run.api, request, {
          ...(run.model === undefined ? {} : { model: run.model }),
          session_id: run.session_id
        }),
        rejected
      )
    })

  return {
    roots: Effect.sync(world.roots),
    sampling,
    sampling_tools: true,
    elicitForm,
    elicitUrl,
    onLog: ({ data, level, logger }) =>
      Effect.sync(() =>
        world.tell({
          type: "mcp.log",
          server,
          level,
          logger: logger === null ? null : TerminalText.line(logger, 100),
          text: TerminalText.neutralise(world.safe(server, asText(data)).slice(0, 4_000))
        })
      ),
    onResourceUpdated: (uri) =>
      Effect.sync(() =>
        world.tell({
          type: "notice",
          code: "mcp_resource_updated",
          message: `MCP server ${server}: the resource ${TerminalText.line(uri, 500)} has changed`
        })
      )
  }
}
