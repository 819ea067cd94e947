/** Test layers of the command line: a scripted agent, a record in memory, one model. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Agent, type AgentService, type RunInput } from "../../src/agent/Agent.ts"
import { Config } from "../../src/config/Config.ts"
import type { AgentEvent, AgentEventBody } from "../../src/domain/AgentEvent.ts"
import { AgentError } from "../../src/domain/Failure.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { Environment, type EnvironmentService } from "../../src/platform/Environment.ts"
import { type SignalName, Signals } from "../../src/platform/Signals.ts"
import { Terminal, type TestTerminal } from "../../src/platform/Terminal.ts"
import { ModelError, Models, type ResolvedModel } from "../../src/provider/Models.ts"
import {
  SessionStore,
  type SessionStoreService,
  type SessionSummary,
  type SpendingRow,
  StorageError
} from "../../src/storage/SessionStore.ts"

export const usage = { input_tokens: 10, output_tokens: 5, cache_read_tokens: 0, cache_write_tokens: 0 }

/** Bodies with their envelope, `seq` from 0. */
export const events = (
  bodies: ReadonlyArray<AgentEventBody>,
  session_id = "ses_1",
  run_id = "run_1"
): ReadonlyArray<AgentEvent> => bodies.map((body, seq) => ({ v: 1, seq, session_id, run_id, ...body }))

export const started: AgentEventBody = {
  type: "run.started",
  model: "fake/model",
  cwd: "/work/project",
  permission_mode: "default",
  tools: ["bash"]
}

export const completed = (result: string, exit_code = 0): AgentEventBody => ({
  type: "run.completed",
  result,
  usage,
  cost_usd: 0.01,
  turns: 1,
  exit_code,
  stop_reason: "end_turn"
})

export const failedRun = (code: string, message: string, exit_code: number): AgentEventBody => ({
  type: "run.failed",
  result: "",
  usage,
  cost_usd: null,
  turns: 1,
  exit_code,
  error: { code, message }
})

export const cancelled = (reason: string): AgentEventBody => ({
  type: "run.cancelled",
  result: "half",
  usage,
  cost_usd: null,
  turns: 1,
  exit_code: 130,
  reason
})

export const answer = (text: string, item_id = "item_1"): ReadonlyArray<AgentEventBody> => [
  { type: "text.delta", item_id, text: text.slice(0, 3) },
  { type: "text.delta", item_id, text: text.slice(3) },
  { type: "item.completed", item_id, item: { type: "message", text } }
]

export const session = (id: string, over: Partial<SessionSummary> = {}): SessionSummary => ({
  id,
  title: null,
  preview: `about ${id}`,
  workspace: "/work/project",
  provider: "fake",
  model: "model",
  parent_session_id: null,
  started_at: 1_700_000_000,
  last_active: 1_700_000_100,
  ended_at: null,
  end_reason: null,
  message_count: 2,
  tool_call_count: 0,
  usage,
  cost_usd: 0.01,
  is_archived: false,
  is_pinned: false,
  ...over
})

const model: ResolvedModel = {
  name: "fake/model",
  provider: "fake",
  model: "model",
  protocol: "scripted",
  origin: "fake:scripted",
  traits: {} as ResolvedModel["traits"],
  price: { input: 1, output: 2 },
  limits: { connect_ms: 0, headers_ms: 0, idle_ms: 0 },
  retry: { max_retries: 0, base_ms: 0, max_ms: 0, retry_after_cap_ms: 0 }
}

const unused = (name: string) => () => Effect.die(`${name} is not expected here`)

export interface Bench {
  readonly out: Array<string>
  readonly err: Array<string>
  readonly inputs: Array<RunInput>
  readonly interrupts: Array<string>
  readonly deleted: Array<string>
  raise: (signal: SignalName) => Effect.Effect<void>
  readonly layer: Layer.Layer<Agent | Config | Models | SessionStore | Workspace | Terminal | Environment | Signals>
}

export interface BenchOptions {
  readonly spending?: ReadonlyArray<SpendingRow>
  /** What the agent does with each prompt, in order; the last one repeats. */
  readonly runs?: ReadonlyArray<(input: RunInput) => Stream.Stream<AgentEvent, AgentError>>
  readonly interrupt?: AgentService["interrupt"]
  readonly terminal?: Omit<TestTerminal, "out" | "err">
  readonly environment?: Partial<Omit<EnvironmentService, "vars">> & { readonly vars?: Record<string, string> }
  readonly sessions?: ReadonlyArray<SessionSummary>
  readonly settings?: string
  readonly price?: boolean
}

export const bench = (options: BenchOptions = {}): Bench => {
  const out: Array<string> = []
  const err: Array<string> = []
  const inputs: Array<RunInput> = []
  const interrupts: Array<string> = []
  const deleted: Array<string> = []
  const runs = options.runs ?? [() => Stream.fromIterable(events([started, ...answer("hello"), completed("hello")]))]
  const sessions = options.sessions ?? []
  const store: SessionStoreService = {
    create: unused("create"),
    get: unused("get"),
    find: (id) => {
      const found = sessions.filter((each) => each.id.startsWith(id))
      const only = found[0]
      return only !== undefined && found.length === 1
        ? Effect.succeed(only)
        : Effect.fail(new StorageError({ reason: "not_found", message: `no session ${id}` }))
    },
    latest: (workspace) => Effect.succeed(Option.fromNullable(sessions.find((each) => each.workspace === workspace))),
    list: (filter) =>
      Effect.succeed(
        sessions.filter((each) => filter.workspace === undefined || each.workspace === filter.workspace)
          .slice(0, filter.limit)
      ),
    delete: (id) => Effect.sync(() => void deleted.push(id)),
    setTitle: unused("setTitle"),
    archive: unused("archive"),
    pin: unused("pin"),
    hide: unused("hide"),
    unhide: unused("unhide"),
    hidden: unused("hidden"),
    fork: unused("fork"),
    adopt: unused("adopt"),
    search: unused("search"),
    expired: unused("expired"),
    prune: unused("prune"),
    vacuum: Effect.void,
    conversation: unused("conversation"),
    callIds: unused("callIds"),
    askToStop: unused("askToStop"),
    stopAsked: unused("stopAsked"),
    entries: (session_id) =>
      Effect.succeed([{
        id: 1,
        key: "user:run_1:0",
        run_id: "run_1",
        turn: 1,
        timestamp: 1_700_000_001,
        withdrawn: false,
        message: { role: "user", content: `what is ${session_id}?` }
      }]),
    history: unused("history"),
    append: unused("append"),
    withdraw: unused("withdraw"),
    beginRun: unused("beginRun"),
    endRun: unused("endRun"),
    runs: (session_id) =>
      Effect.succeed([{
        id: "run_1",
        session_id,
        status: "completed",
        model: "fake/model",
        started_at: 1_700_000_000,
        ended_at: 1_700_000_100,
        turns: 1,
        exit_code: 0,
        error_code: null,
        error_message: null,
        usage,
        cost_usd: 0.01
      }]),
    recover: Effect.succeed(0),
    beginAttempt: unused("beginAttempt"),
    endAttempt: unused("endAttempt"),
    recordCall: unused("recordCall"),
    spent: () => Effect.succeed(0),
    spending: () => Effect.succeed(options.spending ?? [])
  }
  const made: { raise: Bench["raise"] } = { raise: () => Effect.die("no signals yet") }
  const layer = Layer.mergeAll(
    Layer.succeed(Agent, {
      run: (input) => {
        const run = runs[Math.min(inputs.length, runs.length - 1)]
        inputs.push(input)
        return run === undefined ? Stream.empty : run(input)
      },
      interrupt: (session_id, reason) =>
        Effect.zipRight(
          Effect.sync(() => void interrupts.push(session_id)),
          options.interrupt?.(session_id, reason) ?? Effect.void
        ),
      send: () => Effect.succeed(false)
    }),
    Layer.succeed(Models, {
      resolve: (name) =>
        name === "unknown"
          ? Effect.fail(new ModelError({ reason: "unknown_model", message: "there is no model unknown" }))
          : Effect.succeed({ ...model, name: name ?? model.name, price: options.price === false ? null : model.price })
    }),
    Layer.succeed(SessionStore, store),
    Layer.succeed(Workspace, { root: "/work/project", cwd: "/work/project" }),
    Config.layerText(options.settings ?? ""),
    Terminal.layerTest({ ...options.terminal, out, err }),
    Environment.layerTest(options.environment ?? {}),
    Signals.layerTest((raise) => {
      made.raise = raise
    })
  )
  return { out, err, inputs, interrupts, deleted, raise: (signal) => made.raise(signal), layer }
}

/** What an agent does that could not start. */
export const refuses = (reason: AgentError["reason"], message: string) => (): Stream.Stream<AgentEvent, AgentError> =>
  Stream.fail(new AgentError({ reason, message }))
