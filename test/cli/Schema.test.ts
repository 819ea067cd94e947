import { assert, describe, it } from "@effect/vitest"
import { Ajv, type ValidateFunction } from "ajv"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as JSONSchema from "effect/JSONSchema"
import type * as Schema from "effect/Schema"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { AgentPrompt } from "../../src/cli/AgentPromptSchemas.ts"
import * as ConfigShow from "../../src/cli/ConfigShow.ts"
import { GitBranch, GitCommit, GitCommitPushPr, GitDiff, GitStash, GitWorktree } from "../../src/cli/GitSchemas.ts"
import { McpGet, McpList, McpStatus, McpTest } from "../../src/cli/McpSchemas.ts"
import * as Run from "../../src/cli/Run.ts"
import {
  LspDiagnostics,
  LspDoctor,
  LspHover,
  LspLocations,
  LspRename,
  LspStatus,
  LspSymbols
} from "../../src/cli/LspSchemas.ts"
import { AgentList } from "../../src/cli/AgentSchemas.ts"
import { UsageDocument } from "../../src/cli/UsageSchemas.ts"
import { SessionsCheckpoints, SessionsRewind } from "../../src/cli/CheckpointSchemas.ts"
import * as Schemas from "../../src/cli/Schemas.ts"
import { SessionMade, SessionsPrune, SessionsSearch } from "../../src/cli/SessionsSchemas.ts"
import { merge } from "../../src/config/Merge.ts"
import * as Tiers from "../../src/config/Tiers.ts"
import { AgentEvent, AgentEventBody } from "../../src/domain/AgentEvent.ts"
import { isTerminal } from "../../src/domain/RunEnd.ts"
import { Explanation, RuleListing } from "../../src/permissions/Explain.ts"
import { answer, cancelled, completed, events, failedRun, session, started } from "./support.ts"

const directory = fileURLToPath(new URL("../../docs/schema", import.meta.url))

interface Published {
  readonly title: string
  readonly schema: Schema.Schema.AnyNoContext
}

const published: Readonly<Record<string, Published>> = {
  "stream-json-event": { title: "One line of hanzo-dev run --output-format stream-json", schema: AgentEvent },
  "stream-json-input": { title: "One line of hanzo-dev run --input-format stream-json", schema: Schemas.InputLine },
  "agent-prompt": { title: "hanzo-dev agent prompt --json", schema: AgentPrompt },
  "run-result": { title: "The object of hanzo-dev run --output-format json", schema: Schemas.RunResult },
  "sessions-list": { title: "hanzo-dev sessions list --json", schema: Schemas.SessionsList },
  "sessions-show": { title: "hanzo-dev sessions show --json", schema: Schemas.SessionShow },
  "sessions-fork": { title: "hanzo-dev sessions fork --json", schema: SessionMade },
  "sessions-import": { title: "hanzo-dev sessions import --json", schema: SessionMade },
  "sessions-search": { title: "hanzo-dev sessions search --json", schema: SessionsSearch },
  "sessions-prune": { title: "hanzo-dev sessions prune --json", schema: SessionsPrune },
  "sessions-checkpoints": { title: "hanzo-dev sessions checkpoints --json", schema: SessionsCheckpoints },
  "sessions-rewind": { title: "hanzo-dev sessions rewind --json", schema: SessionsRewind },
  "config-show": { title: "hanzo-dev config show --json", schema: Schemas.ConfigShow },
  "config-get": { title: "hanzo-dev config get --json", schema: Schemas.ConfigGet },
  "config-validate": { title: "hanzo-dev config validate --json", schema: Schemas.ConfigValidate },
  "config-trust": { title: "hanzo-dev config trust --json", schema: Schemas.ConfigTrust },
  "hooks-list": { title: "hanzo-dev hooks list --json", schema: Schemas.HooksList },
  "hooks-test": { title: "hanzo-dev hooks test --json", schema: Schemas.HooksTest },
  "permissions-explain": { title: "hanzo-dev permissions explain --json", schema: Explanation },
  "permissions-list": { title: "hanzo-dev permissions list --json", schema: RuleListing },
  "permissions-audit": { title: "hanzo-dev permissions audit --json", schema: Schemas.PermissionsAudit },
  "sandbox-status": { title: "hanzo-dev sandbox status --json", schema: Schemas.SandboxStatus },
  "auth-status": { title: "hanzo-dev auth status --json", schema: Schemas.AuthStatus },
  "mcp-list": { title: "hanzo-dev mcp list --json", schema: McpList },
  "mcp-get": { title: "hanzo-dev mcp get --json", schema: McpGet },
  "mcp-status": { title: "hanzo-dev mcp status --json", schema: McpStatus },
  "mcp-test": { title: "hanzo-dev mcp test --json", schema: McpTest },
  "lsp-diagnostics": { title: "hanzo-dev lsp diagnostics --json", schema: LspDiagnostics },
  "lsp-locations": { title: "hanzo-dev lsp definition --json, lsp references --json", schema: LspLocations },
  "lsp-hover": { title: "hanzo-dev lsp hover --json", schema: LspHover },
  "lsp-symbols": { title: "hanzo-dev lsp symbols --json", schema: LspSymbols },
  "lsp-rename": { title: "hanzo-dev lsp rename --json", schema: LspRename },
  "lsp-status": { title: "hanzo-dev lsp status --json", schema: LspStatus },
  "lsp-doctor": { title: "hanzo-dev lsp doctor --json", schema: LspDoctor },
  "git-branch": { title: "hanzo-dev git branch --json", schema: GitBranch },
  "git-commit": { title: "hanzo-dev git commit --json", schema: GitCommit },
  "git-commit-push-pr": { title: "hanzo-dev git commit-push-pr --json", schema: GitCommitPushPr },
  "git-worktree": { title: "hanzo-dev git worktree --json", schema: GitWorktree },
  "git-diff": { title: "hanzo-dev git diff --json", schema: GitDiff },
  "git-stash": { title: "hanzo-dev git stash --json", schema: GitStash },
  "usage": { title: "hanzo-dev usage --json", schema: UsageDocument },
  "agent-list": { title: "hanzo-dev agent list --json", schema: AgentList },
  "doctor": { title: "hanzo-dev doctor --json", schema: Schemas.DoctorReport }
}

/** Fields are only ever added: a document with more than these is valid. */
const jsonSchema = ({ schema, title }: Published): object => {
  const definitions: Record<string, JSONSchema.JsonSchema7> = {}
  const body = JSONSchema.fromAST(schema.ast, { definitions, additionalPropertiesStrategy: "allow" })
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title,
    ...body,
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions })
  }
}

/** Without the ids that effect gives every "anything": several of one id in a document are no valid schema. */
const textOf = (each: Published): string =>
  `${JSON.stringify(jsonSchema(each), (key: string, value: unknown) => key === "$id" ? undefined : value, 2)}\n`

const validator = (name: string): ValidateFunction => {
  const text = readFileSync(join(directory, `${name}.schema.json`), "utf8")
  return new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(text) as object)
}

/** JSON has no infinite numbers, and no event has one. */
const isJson = (value: unknown): boolean => {
  let finite = true
  JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === "number" && !Number.isFinite(member)) finite = false
    return member
  })
  return finite
}

const valid = (validate: ValidateFunction, value: unknown): void => {
  assert.isTrue(validate(value), JSON.stringify(validate.errors?.slice(0, 3)))
}

describe("docs/schema", () => {
  it("is made from the Schemas (HANZO_UPDATE_GOLDEN=1 writes it anew)", () => {
    if (process.env["HANZO_UPDATE_GOLDEN"] === "1") {
      mkdirSync(directory, { recursive: true })
      for (const [name, each] of Object.entries(published)) {
        writeFileSync(join(directory, `${name}.schema.json`), textOf(each))
      }
    }
    for (const [name, each] of Object.entries(published)) {
      assert.strictEqual(readFileSync(join(directory, `${name}.schema.json`), "utf8"), textOf(each), name)
    }
  })

  it("no document is invalid for having a new field", () => {
    assert.notInclude(Object.values(published).map(textOf).join(), "\"additionalProperties\": false")
  })
})

describe("what is printed is valid", () => {
  it("every line of a run", () => {
    const line = validator("stream-json-event")
    const all = events([
      started,
      { type: "turn.started", turn: 1 },
      { type: "reasoning.delta", item_id: "r", text: "hm" },
      ...answer("a\u2028b"),
      { type: "item.withdrawn", item_ids: ["item_1"], reason: "cut" },
      { type: "retry", attempt: 1, max_attempts: 4, delay_ms: 10, reason: "overloaded", message: "busy" },
      { type: "notice", code: "n", message: "m" },
      completed("a")
    ])
    for (const text of Run.eventLines(all).trimEnd().split("\n")) valid(line, JSON.parse(text))
    assert.isFalse(line({ type: "text.delta", item_id: "i", text: "no envelope" }))
    assert.isFalse(line({ v: 1, seq: 0, session_id: "s", run_id: "r", type: "unheard.of" }))
  })

  let line: ValidateFunction | undefined
  it.prop("any event", [Arbitrary.make(AgentEventBody).filter(isJson)], ([body]) => {
    const [event] = events([body])
    assert.isDefined(event)
    line ??= validator("stream-json-event")
    if (event !== undefined) valid(line, JSON.parse(Run.eventLines([event])))
  }, { fastCheck: { numRuns: 200 } })

  it("the result of every ending", () => {
    const result = validator("run-result")
    for (const body of [completed("x"), failedRun("c", "m", 5), cancelled("why")]) {
      const [terminal] = events([body])
      if (terminal === undefined || !isTerminal(terminal)) throw new Error("no terminal event")
      valid(result, Run.resultOf({ session_id: "ses_1", terminal, signal: null, exit_code: 0 }))
    }
    valid(result, Run.resultOf({ session_id: null, terminal: null, signal: "SIGINT", exit_code: 130 }))
    valid(result, Run.resultOf({ session_id: null, terminal: null, signal: null, exit_code: 1 }))
  })

  it.prop("the settings, whatever they are", [FastCheck.json({ maxDepth: 3 })], ([text]) => {
    const user = Tiers.fromText("user", "/settings.json", text)
    const config = {
      ...merge([Tiers.defaults, user]),
      user_file: "/settings.json",
      warnings: [],
      errors: user.issues.map(Tiers.withoutSeverity)
    }
    valid(validator("config-show"), JSON.parse(JSON.stringify(ConfigShow.document(config, true))))
  }, { fastCheck: { numRuns: 30 } })

  it.effect("the sessions and the doctor", () =>
    Effect.sync(() => {
      valid(validator("sessions-list"), { v: 1, sessions: [session("a"), session("b", { cost_usd: null })] })
      valid(validator("doctor"), {
        v: 1,
        version: "0.1.0",
        ok: true,
        checks: [{ group: "tools", name: "git", status: "ok", detail: "2", fix: null }]
      })
      valid(validator("stream-json-input"), { type: "user", content: [{ type: "text", text: "a" }] })
    }))
})
