/**
 * The Permissions service: rules, then the mode of the run, then the chain of prompters. Every evaluation is recorded.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import { Config } from "../config/Config.ts"
import type { PermissionMode } from "../domain/Permission.ts"
import type { PermissionDecision } from "../domain/PermissionPrompter.ts"
import { PermissionPrompter } from "../domain/PermissionPrompter.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Files } from "../platform/Files.ts"
import { ShellGrammar } from "../platform/ShellGrammar.ts"
import { type Allowance, Allowances } from "./Allowances.ts"
import { PermissionAudit } from "./Audit.ts"
import { coverage, type RuledBy, rulesOf, SessionGrants } from "./Grants.ts"
import type { Authorization, PermissionRequest, PermissionsService } from "./Permissions.ts"
import { PersistAllow } from "./PersistAllow.ts"
import { managedNotDeny, PermissionPolicy, type PolicyVerdict, strictest } from "./Policy.ts"
import { isOwnPlace, programWords } from "./Protected.ts"
import { brokenExamples, examplesNeedShell, fromConfig, PermissionRuleError } from "./Rules.ts"
import { analyse, analysePlain, pathSubject, type ShellLine, type ShellSource } from "./Shell.ts"

/** Fails with PermissionRuleError when a rule's own examples contradict it. @since 0.1.0 @category constructors */
export const make = Effect.gen(function*() {
  const config = yield* Config
  const prompters = yield* PermissionPrompter
  const workspace = yield* Workspace
  const files = yield* Files
  const grammar = yield* ShellGrammar
  const audit = yield* PermissionAudit
  const persist = yield* Effect.serviceOption(PersistAllow)
  const allowances = Option.getOrNull(yield* Effect.serviceOption(Allowances))

  const rules = fromConfig(config)
  // What the synchronous `evaluate` reads lines with: nothing, until the grammar is there.
  let loaded: ShellSource = { missing: "the shell grammar is not loaded yet" }
  const shell: Effect.Effect<ShellSource> = Effect.suspend(() =>
    typeof loaded === "function" ? Effect.succeed(loaded) : grammar.parser.pipe(
      Effect.map((parser): ShellSource => parser),
      Effect.catchAll((error) => Effect.succeed<ShellSource>({ missing: error.message })),
      Effect.tap((source) => Effect.sync(() => void (loaded = source)))
    )
  )
  if (rules.some((rule) => rule.match !== undefined || rule.not_match !== undefined)) {
    const broken = brokenExamples(rules, examplesNeedShell(rules) ? yield* shell : undefined)
    if (broken.length > 0) return yield* PermissionRuleError.of(broken)
  }
  if (!config.warnings.some((issue) => issue.code === "managed_not_deny")) {
    for (const rule of managedNotDeny(rules)) {
      yield* Effect.logWarning(
        `managed_not_deny: the managed rule ${JSON.stringify(rule.tool_pattern)} is not a deny and does not count`
      )
    }
  }

  const options = { root: workspace.root, cwd: workspace.cwd }
  const policy = new PermissionPolicy(rules, options)
  const grants = new SessionGrants()
  // Questions queue one after another: parallel tools, one person.
  const asking = yield* Effect.makeSemaphore(1)
  const complained = yield* Ref.make(false)

  const unwritten = ({ message }: { readonly message: string }): Effect.Effect<void> =>
    Effect.flatMap(
      Ref.getAndSet(complained, true),
      (before) => before ? Effect.void : Effect.logWarning(`permission decisions are not recorded: ${message}`)
    )

  /** A rule may hold what was once given to a tool, word for word: known secrets are taken out of it. */
  const safely = (request: PermissionRequest, text: string | null): string | null =>
    text === null ? null : request.safe?.(text) ?? text

  /** True = written, or it need not be. */
  const record = (
    request: PermissionRequest,
    verdict: PolicyVerdict,
    mode: PermissionMode,
    decided_by: string,
    reason: string | null
  ): Effect.Effect<boolean> =>
    audit.record({
      tool_name: request.tool_name,
      mode,
      rule_matched: safely(request, verdict.rule_matched),
      session_id: request.session_id,
      decided_by,
      reason: safely(request, reason),
      call_id: request.call_id,
      tier: verdict.tier ?? null
    }).pipe(
      Effect.as(true),
      Effect.catchAll((error) => Effect.as(unwritten(error), !config.config.audit_required))
    )

  /** Where the redirections of a line lead; a path that cannot be followed is not known. */
  const resolved = (line: ShellLine): Effect.Effect<ReadonlyMap<string, string>> =>
    Effect.map(
      Effect.forEach(
        new Set(line.writes.flatMap(({ path }) => path === null ? [] : [path])),
        (path) =>
          files.canonical(path.startsWith("/") ? path : `${workspace.cwd}/${path}`).pipe(
            Effect.map((canonical) => [[path, pathSubject(canonical.path, workspace.root)] as const]),
            Effect.orElseSucceed(() => [])
          )
      ),
      (entries) => new Map(entries.flat())
    )

  const judge = (request: PermissionRequest, by: PermissionPolicy = policy): Effect.Effect<PolicyVerdict> =>
    Effect.gen(function*() {
      const [first, ...rest] = request.subjects
      if (request.tool_name !== "bash" || first === undefined) {
        return strictest([
          by.evaluate(request.tool_name, first),
          ...rest.map((subject) => by.evaluate(request.tool_name, subject)),
          ...(request.other_names ?? []).flatMap((name) =>
            [first, ...rest].map((subject) => by.evaluate(name, subject))
          )
        ])
      }
      const judged = (read: ShellLine): Effect.Effect<PolicyVerdict> =>
        read.writes.length === 0
          ? Effect.succeed(by.judge(read, () => null))
          : Effect.map(resolved(read), (paths) => by.judge(read, (path) => paths.get(path) ?? null))
      const line = (subject: string): Effect.Effect<PolicyVerdict> => {
        const plain = analysePlain(subject)
        return plain === null ? Effect.flatMap(shell, (source) => judged(analyse(subject, source))) : judged(plain)
      }
      return strictest([yield* line(first), ...(yield* Effect.forEach(rest, line))])
    })

  /** The rules with what is wanted behind them; made anew only when that changes. */
  let widened: { readonly key: string; readonly policy: PermissionPolicy } | null = null
  const withAllowances = (wanted: ReadonlyArray<Allowance>): PermissionPolicy => {
    const key = wanted.map(({ tool_pattern }) => tool_pattern).join("\n")
    if (widened?.key !== key) {
      const more = wanted.map(({ by, tool_pattern }) =>
        ({ tool_pattern, mode: "allow", reason: `wanted by ${by}`, tier: "extension" }) as const
      )
      widened = { key, policy: new PermissionPolicy([...rules, ...more], options) }
    }
    return widened.policy
  }

  /** What a command or skill in use answers to a question that no rule has asked; null = nothing. */
  const wantedBy = (request: PermissionRequest): Effect.Effect<PolicyVerdict | null> => {
    const wanted = allowances?.of([request.session_id, request.grants_session_id ?? request.session_id]) ?? []
    return wanted.length === 0
      ? Effect.succeed(null)
      : Effect.map(judge(request, withAllowances(wanted)), (verdict) => verdict.mode === "allow" ? verdict : null)
  }

  /** Files of the workspace that hooks and servers are started from. */
  const programs = yield* Effect.cached(
    Effect.map(
      Effect.suspend(() =>
        Effect.forEach(
          programWords(config.config),
          (word) =>
            files.canonical(word.startsWith("/") ? word : `${workspace.root}/${word}`).pipe(
              Effect.map((canonical) => pathSubject(canonical.path, workspace.root)),
              Effect.orElseSucceed(() => "")
            )
        )
      ),
      (subjects): ReadonlySet<string> => new Set(subjects.filter((subject) => subject !== "" && subject !== "."))
    )
  )

  /** The protected file that a call changes and that is asked about; null = there is none. */
  const protectedPlace = (request: PermissionRequest, verdict: PolicyVerdict): Effect.Effect<string | null> =>
    Effect.gen(function*() {
      const written = verdict.parts === undefined
        ? request.kind === "edit" ? request.subjects : []
        : verdict.parts.flatMap(({ kind, mode, text }) => kind === "write" && mode === "prompt" ? [text] : [])
      if (written.length === 0) return null
      const own = written.find(isOwnPlace)
      if (own !== undefined) return own
      const started = yield* programs
      return written.find((subject) => started.has(subject)) ?? null
    })

  /** Which rule asks about a subject of this call, the names that stand for it taken along. */
  const ruledBy = (request: PermissionRequest): RuledBy => (subject) =>
    [request.tool_name, ...(request.other_names ?? [])].map((name) => {
      const { mode, rule_index, rule_matched, tier } = policy.evaluate(name, subject)
      return mode === "prompt" && rule_index !== null ? JSON.stringify([tier ?? "", rule_index, rule_matched]) : ""
    }).join(" ")

  const ask = (
    request: PermissionRequest,
    verdict: PolicyVerdict
  ): Effect.Effect<{ readonly by: string; readonly decision: PermissionDecision }> =>
    Effect.gen(function*() {
      const subject = request.subjects.join(", ")
      const rule = verdict.rule_matched
      const session_covers = coverage(request, verdict)
      const can_keep = Option.isSome(persist) && rulesOf(request, verdict) !== null
      for (const prompter of prompters) {
        const decision = yield* prompter.requestPermission(request.tool_name, request.input, {
          session_id: request.session_id,
          call_id: request.call_id,
          ...(request.agent === undefined ? {} : { agent: request.agent }),
          ...(subject === "" ? {} : { subject }),
          ...(rule === null ? {} : { rule }),
          session_covers,
          can_keep
        }).pipe(
          // A prompter that fails has not answered (reading 2.4).
          Effect.catchAllDefect((defect) =>
            Effect.as(
              Effect.logError(`permission prompter ${prompter.name} failed: ${String(defect)}`),
              { decision: "escalate" } as const
            )
          )
        )
        if (decision.decision !== "escalate") {
          return { by: prompter.name === "user" ? "user" : `prompter:${prompter.name}`, decision }
        }
      }
      return { by: "default", decision: { decision: "deny", reason: "no prompter has decided" } as const }
    })

  /** Writes the rules of an "always"; what could not be kept is said in words. */
  const keep = (request: PermissionRequest, verdict: PolicyVerdict): Effect.Effect<string | null> =>
    Effect.gen(function*() {
      const wanted = rulesOf(request, verdict)
      if (wanted === null) return "allowed for this session; no rule can say exactly this"
      if (Option.isNone(persist)) return "allowed for this session; rules are not written here"
      return yield* Effect.forEach(wanted, (rule) => persist.value.persistAllow(rule), { discard: true }).pipe(
        Effect.as(null),
        Effect.catchAll((error) =>
          Effect.as(
            Effect.logWarning(`the permission rule could not be written: ${error.message}`),
            "allowed for this session; the rule could not be written"
          )
        )
      )
    })

  /** Every part that is asked about is a file in the workspace that a redirection writes. */
  const onlyEdits = (verdict: PolicyVerdict): boolean =>
    verdict.parts !== undefined &&
    verdict.parts.every((part) =>
      part.mode !== "prompt" ||
      (part.kind === "write" && part.grantable && !part.text.startsWith("/"))
    )

  const authorize = (request: PermissionRequest): Effect.Effect<Authorization> =>
    Effect.gen(function*() {
      const verdict = yield* judge(request)
      const report = (mode: PermissionMode, decided_by: string, reason: string | null): Effect.Effect<Authorization> =>
        Effect.as(
          request.report({
            type: "permission.decided",
            call_id: request.call_id,
            tool: request.tool_name,
            mode,
            decided_by,
            rule_matched: safely(request, verdict.rule_matched),
            reason: safely(request, reason)
          }),
          mode === "allow"
            ? { allowed: true, decided_by } as const
            : { allowed: false, decided_by, reason: reason ?? "denied" } as const
        )
      const unrecorded = report(
        "deny",
        "default",
        `the record of permissions cannot be written (${audit.file}) and audit_required is set; make it writable`
      )
      // Recorded first, then said: what nobody can record does not run where the record is required.
      const decide = (
        mode: PermissionMode,
        decided_by: string,
        reason: string | null,
        recorded: string | null = reason
      ): Effect.Effect<Authorization> =>
        Effect.flatMap(record(request, verdict, mode, decided_by, recorded), (written) =>
          written || mode === "deny" ? report(mode, decided_by, reason) : unrecorded)
      const decider = verdict.rule_index === null ? "default" : "rule"

      if (verdict.mode === "deny") {
        return yield* decide("deny", "rule", verdict.reason ?? `denied by rule ${JSON.stringify(verdict.rule_matched)}`)
      }
      const planned = request.mode === "plan" && !request.read_only
      const plan = "plan mode: nothing may be changed, only read-only tools run"
      if (verdict.mode === "allow") {
        return yield* planned ? decide("deny", "mode", plan) : decide("allow", decider, verdict.reason)
      }

      if (!(yield* record(request, verdict, "prompt", decider, verdict.reason))) {
        return yield* unrecorded
      }
      if (planned) {
        return yield* decide("deny", "mode", plan)
      }
      const place = verdict.unsure === true ? null : yield* protectedPlace(request, verdict)
      if (verdict.unsure !== true && place === null) {
        if (request.mode === "bypass") {
          return yield* decide("allow", "mode", "permission mode bypass")
        }
        if (
          request.mode === "accept-edits" &&
          ((request.kind === "edit" && request.inside_workspace) || onlyEdits(verdict))
        ) {
          return yield* decide("allow", "mode", "permission mode accept-edits")
        }
      }
      if (verdict.unsure !== true && place === null) {
        const wanted = yield* wantedBy(request)
        if (wanted !== null) {
          return yield* decide("allow", "extension", wanted.reason)
        }
      }
      const ruled = ruledBy(request)
      const grantee = request.grants_session_id ?? request.session_id
      const granted = () =>
        grants.has(grantee, request, verdict, ruled)
      if (granted()) return yield* decide("allow", "session", null)
      const why = verdict.why === undefined ? "" : ` (${verdict.why})`
      if (prompters.length === 0) {
        const exact = rulesOf(request, verdict)?.map(({ tool_pattern }) => `--allow ${JSON.stringify(tool_pattern)}`)
        const remedy = verdict.unsure === true
          ? "no rule that allows and no permission mode lifts this: write it as plain commands whose programs, options " +
            "and files stand there as they are, or run it where a person can be asked"
          : place !== null
          ? `${place} decides what runs later, so no permission mode lifts this; a rule does${
            exact === undefined ? "" : ` (${exact.join(" ")})`
          }`
          : `allow it with a rule (--allow ${JSON.stringify(request.tool_name)}) or a permission mode`
        return yield* decide(
          "deny",
          "no_prompter",
          `no_prompter: ${request.tool_name} needs permission${why} and nobody can be asked here; ${remedy}`,
          "no_prompter: nobody can be asked"
        )
      }
      return yield* asking.withPermits(1)(Effect.gen(function*() {
        // Somebody may have granted it while this question waited its turn.
        if (granted()) return yield* decide("allow", "session", null)
        const subject = request.subjects.join(", ")
        yield* request.report({
          type: "permission.asked",
          call_id: request.call_id,
          tool: request.tool_name,
          ...(subject === "" ? {} : { subject })
        })
        const { by, decision } = yield* ask(request, verdict)
        if (decision.decision === "allow") {
          if (decision.scope === "session" || decision.scope === "always") {
            grants.add(grantee, request, verdict, ruled)
          }
          const note = decision.scope === "always" ? yield* keep(request, verdict) : null
          return yield* decide("allow", by, note)
        }
        return yield* decide("deny", by, decision.decision === "deny" ? decision.reason : "no prompter has decided")
      }))
    })

  const service: PermissionsService = {
    authorize,
    recordSteps: (call, steps) => Effect.catchAll(audit.recordSteps(call, steps), unwritten),
    evaluate: (tool_name, subject) =>
      tool_name === "bash" && subject !== undefined
        ? policy.judge(analyse(subject, loaded))
        : policy.evaluate(tool_name, subject)
  }
  return service
})
