/**
 * What `--json` and `stream-json` print, as Schemas. `docs/schema/` holds their JSON Schemas; fields are only ever
 * added, so a reader ignores what it does not know.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { definitionKinds } from "../config/Definitions.ts"
import { HookEvent } from "../config/Schema.ts"
import { Message, Part } from "../domain/Message.ts"
import { JsonObject } from "../domain/Json.ts"
import { Usage } from "../domain/Usage.ts"
import { AuditRecord } from "../permissions/AuditRecord.ts"
import { StepRecord } from "../permissions/Steps.ts"

const IsolationMode = Schema.Literal("off", "workspace", "allowlist")

const v = Schema.Literal(1)

/** The one object of `run --output-format json`. `session_id` is null when no session came to be. @since 0.1.0 @category schemas */
export const RunResult = Schema.Struct({
  v,
  session_id: Schema.NullOr(Schema.String),
  status: Schema.Literal("completed", "failed", "cancelled"),
  exit_code: Schema.Number,
  result: Schema.String,
  usage: Usage,
  cost_usd: Schema.NullOr(Schema.Number),
  turns: Schema.Number,
  error: Schema.NullOr(Schema.Struct({
    code: Schema.String,
    message: Schema.String,
    status: Schema.optional(Schema.Number),
    request_id: Schema.optional(Schema.String),
    retry_after_ms: Schema.optional(Schema.Number)
  }))
})
/** @since 0.1.0 @category models */
export type RunResult = typeof RunResult.Type

/** One line of `run --input-format stream-json`. @since 0.1.0 @category schemas */
export const InputLine = Schema.Struct({
  type: Schema.Literal("user"),
  content: Schema.Union(Schema.String, Schema.Array(Part))
})

/** Times are seconds since the epoch, costs US dollars. @since 0.1.0 @category schemas */
export const SessionSummary = Schema.Struct({
  id: Schema.String,
  title: Schema.NullOr(Schema.String),
  preview: Schema.NullOr(Schema.String),
  workspace: Schema.String,
  provider: Schema.String,
  model: Schema.String,
  parent_session_id: Schema.NullOr(Schema.String),
  started_at: Schema.Number,
  last_active: Schema.Number,
  ended_at: Schema.NullOr(Schema.Number),
  end_reason: Schema.NullOr(Schema.String),
  message_count: Schema.Number,
  tool_call_count: Schema.Number,
  usage: Usage,
  cost_usd: Schema.NullOr(Schema.Number),
  is_archived: Schema.Boolean,
  is_pinned: Schema.Boolean
})

/** `sessions list --json`, the latest first. @since 0.1.0 @category schemas */
export const SessionsList = Schema.Struct({ v, sessions: Schema.Array(SessionSummary) })
/** @since 0.1.0 @category models */
export type SessionsList = typeof SessionsList.Type

const Run = Schema.Struct({
  id: Schema.String,
  session_id: Schema.String,
  status: Schema.Literal("running", "completed", "failed", "cancelled", "interrupted"),
  model: Schema.String,
  started_at: Schema.Number,
  ended_at: Schema.NullOr(Schema.Number),
  turns: Schema.Number,
  exit_code: Schema.NullOr(Schema.Number),
  error_code: Schema.NullOr(Schema.String),
  error_message: Schema.NullOr(Schema.String),
  usage: Usage,
  cost_usd: Schema.NullOr(Schema.Number)
})

const StoredEntry = Schema.Struct({
  id: Schema.Number,
  key: Schema.String,
  run_id: Schema.String,
  turn: Schema.Number,
  timestamp: Schema.Number,
  withdrawn: Schema.Boolean,
  hidden: Schema.optional(Schema.Number),
  finish_reason: Schema.optional(Schema.String),
  replaces: Schema.optional(Schema.Array(Schema.String)),
  message: Message
})

/** `sessions show --json`: everything stored of one session. @since 0.1.0 @category schemas */
export const SessionShow = Schema.Struct({
  v,
  session: SessionSummary,
  runs: Schema.Array(Run),
  entries: Schema.Array(StoredEntry)
})
/** @since 0.1.0 @category models */
export type SessionShow = typeof SessionShow.Type

const Tier = Schema.Literal("default", "user", "project", "local", "env", "flag", "managed")

/** @since 0.1.0 @category schemas */
export const ConfigIssue = Schema.Struct({
  code: Schema.String,
  tier: Tier,
  file: Schema.optional(Schema.String),
  key: Schema.NullOr(Schema.String),
  line: Schema.NullOr(Schema.Number),
  column: Schema.NullOr(Schema.Number),
  message: Schema.String
})

const Source = Schema.Struct({
  tier: Tier,
  file: Schema.optional(Schema.String),
  line: Schema.optional(Schema.Number),
  value: Schema.Unknown
})

const TrustStatus = Schema.Literal("nothing", "trusted", "this_run", "untrusted")

const definition = {
  kind: Schema.Literal(...definitionKinds),
  tier: Schema.Literal("project", "local"),
  key: Schema.String,
  line: Schema.NullOr(Schema.Number)
}

/**
 * `config show --json`. Secrets stand as `set (TIER)`. `origins`, with `--origin`, is by dotted key: the value in force,
 * then those it hides.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ConfigShow = Schema.Struct({
  v,
  file: Schema.String,
  settings: JsonObject,
  origins: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Array(Source) })),
  trust: Schema.optional(TrustStatus),
  pending_trust: Schema.optional(Schema.Array(Schema.Struct(definition))),
  warnings: Schema.Array(ConfigIssue),
  errors: Schema.Array(ConfigIssue)
})
/** @since 0.1.0 @category models */
export type ConfigShow = typeof ConfigShow.Type

/** `config get KEY --json`: the value in force, null when nobody has set it; secrets stand as `set (TIER)`. @since 0.1.0 @category schemas */
export const ConfigGet = Schema.Struct({
  v,
  key: Schema.String,
  value: Schema.Unknown,
  origin: Schema.NullOr(Tier)
})
/** @since 0.1.0 @category models */
export type ConfigGet = typeof ConfigGet.Type

/** `config validate --json`. @since 0.1.0 @category schemas */
export const ConfigValidate = Schema.Struct({
  v,
  ok: Schema.Boolean,
  warnings: Schema.Array(ConfigIssue),
  errors: Schema.Array(ConfigIssue)
})
/** @since 0.1.0 @category models */
export type ConfigValidate = typeof ConfigValidate.Type

/**
 * `config trust --json`: what of a workspace's settings needs trust. `text` says what it does, without secrets; `change`
 * is against what was trusted before, null when nothing was.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ConfigTrust = Schema.Struct({
  v,
  root: Schema.NullOr(Schema.String),
  status: TrustStatus,
  hash: Schema.String,
  items: Schema.Array(Schema.Struct({
    ...definition,
    text: Schema.String,
    change: Schema.NullOr(Schema.Literal("new", "changed", "same")),
    before: Schema.optional(Schema.String)
  })),
  removed: Schema.Array(Schema.Struct({ tier: definition.tier, key: Schema.String, text: Schema.String }))
})
/** @since 0.1.0 @category models */
export type ConfigTrust = typeof ConfigTrust.Type

/** `hooks list --json`: the hooks in force, in the order in which they run. @since 0.1.0 @category schemas */
export const HooksList = Schema.Struct({
  v,
  hooks: Schema.Array(Schema.Struct({
    hook: Schema.Number,
    event: HookEvent,
    tool_pattern: Schema.NullOr(Schema.String),
    timeout_ms: Schema.Number,
    command: Schema.String,
    tier: Tier,
    file: Schema.optional(Schema.String),
    line: Schema.optional(Schema.Number)
  }))
})
/** @since 0.1.0 @category models */
export type HooksList = typeof HooksList.Type

const HookDecision = Schema.Literal("allow", "deny", "error")

/** `hooks test --json`. `context` is what goes to the model; `hooks` are those that ran. @since 0.1.0 @category schemas */
export const HooksTest = Schema.Struct({
  v,
  event: HookEvent,
  decision: HookDecision,
  reason: Schema.String,
  context: Schema.String,
  hooks: Schema.Array(Schema.Struct({
    hook: Schema.Number,
    decision: HookDecision,
    reason: Schema.String,
    exit_code: Schema.NullOr(Schema.Number),
    signal: Schema.NullOr(Schema.String),
    timed_out: Schema.Boolean,
    duration_ms: Schema.Number,
    additional_context: Schema.NullOr(Schema.String)
  }))
})
/** @since 0.1.0 @category models */
export type HooksTest = typeof HooksTest.Type

/**
 * `permissions audit --json`: what was decided, the oldest first, and what became of the calls that were allowed: the steps
 * of one call (`session_id`, `call_id`) in the order in which they happened. `broken` lines of the record could not be read.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PermissionsAudit = Schema.Struct({
  v,
  file: Schema.String,
  records: Schema.Array(AuditRecord),
  steps: Schema.Array(StepRecord),
  broken: Schema.Number
})
/** @since 0.1.0 @category models */
export type PermissionsAudit = typeof PermissionsAudit.Type

/** `sandbox status --json`. `refusal` says why no command may start; null = they may. @since 0.1.0 @category schemas */
export const SandboxStatus = Schema.Struct({
  v,
  requested_mode: Schema.NullOr(IsolationMode),
  effective_mode: IsolationMode,
  enforcement: Schema.Literal("bubblewrap", "unshare", "path_check", "off"),
  network: Schema.Literal("isolated", "filtered", "shared"),
  reason: Schema.NullOr(Schema.String),
  refusal: Schema.NullOr(Schema.String),
  write_roots: Schema.Array(Schema.String),
  warnings: Schema.Array(Schema.String),
  probes: Schema.Array(Schema.Struct({ name: Schema.String, ok: Schema.Boolean, detail: Schema.String }))
})
/** @since 0.1.0 @category models */
export type SandboxStatus = typeof SandboxStatus.Type

const LoginKind = Schema.Literal("api_key", "login")

/**
 * `auth status --json`; never a key or token. `ok` is false, and the exit code 2, when there is neither key nor login;
 * `problem` says why the file of logins cannot be read. `providers` says what a request would carry, null = nothing;
 * `detection` which provider is taken when none is named, and why. Times in seconds since the epoch, null = unknown.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AuthStatus = Schema.Struct({
  v,
  ok: Schema.Boolean,
  file: Schema.String,
  problem: Schema.NullOr(Schema.String),
  logins: Schema.Array(Schema.Struct({
    provider: Schema.String,
    state: Schema.Literal("valid", "due", "needs_login"),
    expires_at: Schema.NullOr(Schema.Number),
    scopes: Schema.NullOr(Schema.Array(Schema.String)),
    client_id: Schema.NullOr(Schema.String),
    issuer: Schema.NullOr(Schema.String),
    resource: Schema.NullOr(Schema.String),
    refreshable: Schema.Boolean,
    problem: Schema.NullOr(Schema.String)
  })),
  broken: Schema.Array(Schema.Struct({ provider: Schema.String, message: Schema.String })),
  providers: Schema.Array(Schema.Struct({
    provider: Schema.String,
    uses: Schema.NullOr(Schema.Struct({
      kind: Schema.Literal("api_key", "api_key_command", "login"),
      source: Schema.String
    }))
  })),
  model: Schema.NullOr(Schema.Struct({ model: Schema.String, provider: Schema.String, origin: Tier })),
  detection: Schema.Struct({
    provider: Schema.NullOr(Schema.String),
    kind: Schema.NullOr(LoginKind),
    reason: Schema.String,
    candidates: Schema.Array(Schema.Struct({
      provider: Schema.String,
      kind: LoginKind,
      state: Schema.Literal("usable", "unusable", "absent"),
      outcome: Schema.Literal("wins", "would_work", "unusable", "absent"),
      source: Schema.NullOr(Schema.String),
      detail: Schema.String
    }))
  })
})
/** @since 0.1.0 @category models */
export type AuthStatus = typeof AuthStatus.Type

/** One thing looked at; `fix` says what to do about `warning` and `error`. @since 0.1.0 @category schemas */
export const DoctorCheck = Schema.Struct({
  group: Schema.Literal("program", "settings", "tools", "sandbox", "language servers", "logins", "models"),
  name: Schema.String,
  status: Schema.Literal("ok", "warning", "error"),
  detail: Schema.String,
  fix: Schema.NullOr(Schema.String)
})
/** @since 0.1.0 @category models */
export type DoctorCheck = typeof DoctorCheck.Type

/** `doctor --json`; `ok` is false, and the exit code 1, when a check is an error. @since 0.1.0 @category schemas */
export const DoctorReport = Schema.Struct({
  v,
  version: Schema.String,
  ok: Schema.Boolean,
  checks: Schema.Array(DoctorCheck)
})
/** @since 0.1.0 @category models */
export type DoctorReport = typeof DoctorReport.Type
