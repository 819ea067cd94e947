/**
 * One tier of settings: a file, the environment or the command line in, checked values, rules and issues out
 * (readings 4.2, 4.4).
 *
 * @since 0.1.0
 */
import type { PermissionMode } from "../domain/Permission.ts"
import { type EnvironmentService, variable } from "../platform/Environment.ts"
import { Check } from "./Check.ts"
import type { CheckedRoot, Entry } from "./Checked.ts"
import * as Document from "./Document.ts"
import { type FoundIssue, type Issue, nowhere, type Tier } from "./Issue.ts"
import { checkPattern, type LocatedRule } from "./RuleCheck.ts"

/** A value of one tier and its place. @since 0.1.0 @category models */
export interface Source {
  readonly tier: Tier
  readonly file?: string
  readonly line?: number
  readonly value: unknown
}

/** @since 0.1.0 @category models */
export interface TierValues extends CheckedRoot {
  readonly tier: Tier
  readonly file?: string
  readonly issues: ReadonlyArray<FoundIssue>
}

/** What reading a file gave. @since 0.1.0 @category models */
export type FileContent =
  | { readonly file: string; readonly bytes: Uint8Array }
  | { readonly file: string; readonly problem: { readonly code: string; readonly message: string } }

/** @since 0.1.0 @category combinators */
export const withoutSeverity = (found: FoundIssue): Issue => {
  const { severity: _severity, ...issue } = found
  return issue
}

/** Largest settings file, in bytes (reading 4.4). @since 0.1.0 @category constants */
export const maxFileBytes = 4 * 1024 * 1024

/** Issues in the order of their places, those without a place first. @since 0.1.0 @category combinators */
export const ordered = (issues: ReadonlyArray<FoundIssue>): ReadonlyArray<FoundIssue> =>
  issues.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))

const nothing: Omit<TierValues, "tier"> = {
  values: new Map(),
  rules: [],
  hooks: [],
  keys: [],
  invalid_servers: new Set(),
  overlays: new Map(),
  issues: []
}

/** A settings file; absent when it is missing, empty or only comments. @since 0.1.0 @category decoding */
export const fromFile = (tier: Tier, content: FileContent | null): TierValues => {
  if (content === null) return { ...nothing, tier }
  const { file } = content
  const broken = (code: string, message: string): TierValues => ({
    ...nothing,
    tier,
    file,
    issues: [{ severity: "error", code, tier, file, key: null, line: null, column: null, message }]
  })
  if ("problem" in content) return broken(content.problem.code, content.problem.message)
  if (content.bytes.length > maxFileBytes) {
    return broken("too_large", `the file has ${content.bytes.length} bytes, the limit is ${maxFileBytes}`)
  }
  let text: string
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content.bytes)
  } catch {
    return broken("not_utf8", "the file is not UTF-8; save it in that encoding")
  }
  return fromText(tier, file, text)
}

/** @since 0.1.0 @category decoding */
export const fromText = (tier: Tier, file: string, text: string): TierValues => {
  const document = Document.parse(text)
  const places = Document.places(document.text)
  const check = new Check(tier, file, places)
  if (document.problem !== null) {
    check.report("error", "bad_json", null, document.problem.offset, document.problem.message)
    return { ...nothing, tier, file, issues: check.found }
  }
  if (document.root === null) return { ...nothing, tier, file }
  const result = check.root(document.root)
  return { tier, file, ...result, issues: ordered(check.found) }
}

const fromSettings = (tier: Tier, settings: Readonly<Record<string, unknown>>): TierValues => {
  const check = new Check(tier, undefined, nowhere)
  const result = check.root(Document.fromValue(settings))
  return { tier, ...result, issues: check.found }
}

/** `HANZO_API_KEY`, `HANZO_MODEL`, `HANZO_BASE_URL`; an empty variable counts as unset (reading 4.2). @since 0.1.0 @category decoding */
export const fromEnvironment = (environment: Pick<EnvironmentService, "vars">): TierValues => {
  const api_key = variable(environment, "HANZO_API_KEY")
  const model = variable(environment, "HANZO_MODEL")
  const base_url = variable(environment, "HANZO_BASE_URL")
  return fromSettings("env", {
    ...(api_key === undefined ? {} : { api_key }),
    ...(model === undefined ? {} : { model }),
    ...(base_url === undefined ? {} : { providers: { hanzo: { base_url } } })
  })
}

/** All `deny` in their order, then all `allow` in theirs (reading 7.4). @since 0.1.0 @category decoding */
export const fromFlags = (
  flags: {
    readonly settings?: Readonly<Record<string, unknown>>
    readonly deny?: ReadonlyArray<string>
    readonly allow?: ReadonlyArray<string>
  }
): TierValues => {
  const tier = fromSettings("flag", flags.settings ?? {})
  const check = new Check("flag", undefined, nowhere)
  const rule = (mode: PermissionMode) => (tool_pattern: string): LocatedRule => ({
    tool_pattern,
    mode,
    key: `permissions.${tool_pattern}`,
    line: null
  })
  const named = [...(flags.deny ?? []), ...(flags.allow ?? [])]
  const unsound = new Set(named.filter((pattern) => !checkPattern(check, pattern, `permissions.${pattern}`, null)))
  return {
    ...tier,
    issues: [...tier.issues, ...check.found],
    rules: [...(flags.deny ?? []).map(rule("deny")), ...(flags.allow ?? []).map(rule("allow")), ...tier.rules]
      .filter(({ tool_pattern }) => !unsound.has(tool_pattern))
  }
}

const entryOf = (value: unknown): Entry =>
  typeof value === "object" && value !== null
    ? {
      kind: "object",
      members: new Map(Object.entries(value).map(([key, member]) => [key, entryOf(member)])),
      line: null
    }
    : { kind: "value", value, line: null }

/** The lowest tier: every setting's default (HIP-301 section 4). @since 0.1.0 @category constants */
export const defaults: TierValues = {
  ...nothing,
  tier: "default",
  values: new Map(
    Object.entries({
      api_key: null,
      api_key_command: null,
      oauth_credentials: null,
      model: "claude-sonnet-4-20250514",
      providers: {},
      mcp_servers: {},
      sandbox: {},
      lsp: { servers: {} },
      auth: { providers: {} },
      limits: {},
      telemetry: {},
      env: {},
      custom_instructions: "",
      input_mode: "default",
      theme: "auto",
      max_tokens: null,
      reserve_recent: 3,
      vim_timeout_ms: 500,
      auto_max_rounds: 1,
      session_titles: "words",
      session_retention: {},
      checkpoints: null,
      checkpoint_days: 30,
      checkpoint_max_mb: 2048,
      audit_required: false
    }).map(([key, value]): [string, Entry] => [key, entryOf(value)])
  )
}
