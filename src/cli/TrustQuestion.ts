/**
 * The question whether a workspace is trusted (reading 4.9): what its settings bring, in full, before any of it runs.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { line, neutralise } from "../codec/TerminalText.ts"
import { Config, type ConfigService, type Issue } from "../config/Config.ts"
import { type DefinitionKind, definitionText } from "../config/Definitions.ts"
import { questionOf, Trust, type TrustError, type TrustItem, type TrustQuestion } from "../config/Trust.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import { CliExit, failed, usage } from "./Exit.ts"
import { issueText, printJson, stderrStyle } from "./Output.ts"
import type { ConfigTrust } from "./Schemas.ts"
import { program } from "./Spec.ts"
import type * as Spec from "./Spec.ts"
import type { Style } from "./Style.ts"

type Settings = Pick<ConfigService, "files" | "trust">

const command = `${program} config trust`

/** @since 0.1.0 @category constructors */
export const question = ({ trust: { definitions, hash, record, root } }: Settings): TrustQuestion =>
  questionOf(root ?? "", hash, definitions, record)

const fileOfTier = ({ files }: Settings, tier: "project" | "local"): string => files[tier] ?? tier

/** Commands, skills and agents are files of their own; their key names them. */
const isFile = (kind: DefinitionKind): boolean => kind === "command" || kind === "skill" || kind === "agent"

const indented = (text: string, by: string): string => neutralise(text).split("\n").map((each) => by + each).join("\n")

const itemText = ({ before, change, key, line: at, text }: TrustItem, style: Style): string => {
  const mark = change === "new" ? style.yellow(" (new)") : change === "changed" ? style.yellow(" (changed)") : ""
  const head = `  ${style.bold(line(key, 200))}${mark}${at === null ? "" : style.dim(`  line ${at}`)}`
  return [
    head,
    ...(before === undefined ? [] : [indented(before, "  - ")]),
    indented(text, before === undefined ? "    " : "  + ")
  ]
    .join("\n")
}

/** Everything that trust would cover, and what has changed since it was given. @since 0.1.0 @category encoding */
export const questionText = (config: Settings, style: Style): string => {
  const asked = question(config)
  const changed = config.trust.record !== null
  const parts = [
    changed
      ? `The settings of this project have changed since you trusted them:`
      : `The settings of this project bring things that run by themselves or loosen what you have set:`,
    `  ${line(asked.root, 1000)}`
  ]
  for (const tier of ["project", "local"] as const) {
    const items = asked.items.filter((item) => item.tier === tier && !isFile(item.kind))
    if (items.length === 0) continue
    parts.push("", style.dim(line(fileOfTier(config, tier), 1000)), ...items.map((item) => itemText(item, style)))
  }
  const extensions = asked.items.filter(({ kind }) => isFile(kind))
  if (extensions.length > 0) {
    parts.push("", style.dim("commands, skills and agents"), ...extensions.map((item) => itemText(item, style)))
  }
  if (asked.removed.length > 0) {
    parts.push("", style.dim("not there any more"))
    for (const { key, text } of asked.removed) parts.push(`  ${style.bold(line(key, 200))}`, indented(text, "  - "))
  }
  parts.push(
    "",
    "Trust covers exactly this; any change of it asks again. Scripts and programs behind these commands are not covered:",
    "whoever changes such a file changes what runs. The files it can tell from these lines are write-protected; a line that",
    "computes what it runs is your own affair.",
    ""
  )
  return parts.join("\n")
}

/** One warning for each thing that does not count. @since 0.1.0 @category combinators */
export const untrustedIssues = (config: Settings): ReadonlyArray<Issue> =>
  config.trust.status !== "untrusted" ? [] : config.trust.definitions.map((definition) => ({
    code: "untrusted",
    tier: definition.tier,
    file: isFile(definition.kind)
      ? `${config.trust.root ?? ""}/${definition.key}`
      : fileOfTier(config, definition.tier),
    key: definition.key,
    line: definition.line,
    column: null,
    message: `${definition.key} does not count, this workspace is not trusted (${
      definitionText(definition).split("\n")[0] ?? ""
    })`
  }))

/** So many are named one by one. */
const maxTold = 10

/** For whoever runs without a person: what does not count, and what to do about it. @since 0.1.0 @category combinators */
export const warnUntrusted: Effect.Effect<void, never, Config | Terminal | Environment> = Effect.gen(function*() {
  const config = yield* Config
  const issues = untrustedIssues(config)
  if (issues.length === 0) return
  const terminal = yield* Terminal
  const style = yield* stderrStyle
  const told = issues.slice(0, maxTold).map((issue) => issueText(issue, style.yellow("warning:")))
  const rest = issues.length - told.length
  yield* terminal.err(
    `${[...told, ...(rest === 0 ? [] : [`${style.yellow("warning:")} and ${rest} more`])].join("\n")}\n` +
      `  ${command} shows it and asks; --trust-workspace trusts it for one run\n`
  )
})

/** One line for a person who has seen the question, or can. @since 0.1.0 @category encoding */
export const untrustedNote = ({ trust: { definitions, status } }: Settings): string =>
  status === "untrusted"
    ? `${definitions.length} setting${definitions.length === 1 ? "" : "s"} of this project wait${
      definitions.length === 1 ? "s" : ""
    } for trust and ${definitions.length === 1 ? "does" : "do"} not count; ${command} shows what\n`
    : ""

const trustExit = (error: TrustError): CliExit => failed(error.message)

const isYes = (text: string): boolean => /^\s*y(es)?\s*$/iu.test(text)

const isNo = (text: string): boolean => /^\s*(no?)?\s*$/iu.test(text)

/** Asks until it is answered; nothing typed is no. */
const asked = (prompt: string): Effect.Effect<boolean, CliExit, Terminal> =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    while (true) {
      const answer = yield* terminal.readLine(prompt, { fresh: true })
      if (answer.type === "interrupt") return yield* new CliExit({ exit_code: ExitCode.interrupted, lines: [] })
      if (answer.type === "end") return false
      if (isYes(answer.text)) return true
      if (isNo(answer.text)) return false
    }
  })

/**
 * Before anything of a workspace is started: the settings as they count after the answer. Without something that waits,
 * nobody is asked; a refusal leaves the workspace usable without it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const askTrust = (
  config: ConfigService
): Effect.Effect<ConfigService, CliExit, Terminal | Environment | Trust> =>
  Effect.gen(function*() {
    const { definitions, hash, root, status } = config.trust
    if (status !== "untrusted" || root === null || config.errors.length > 0) return config
    const terminal = yield* Terminal
    yield* terminal.err(questionText(config, yield* stderrStyle))
    if (!(yield* asked("trust this? y/N > "))) {
      yield* terminal.err(untrustedNote(config))
      return config
    }
    const trust = yield* Trust
    yield* Effect.mapError(trust.grant({ root, hash, definitions }), trustExit)
    const next = yield* config.reload
    // whoever changed the files while the question stood there has not been answered
    return next.trust.status === "untrusted" ? yield* askTrust(next) : next
  })

const document = (config: ConfigService): ConfigTrust => {
  const { items, removed } = question(config)
  return { v: 1, root: config.trust.root, status: config.trust.status, hash: config.trust.hash, items, removed }
}

const statusText = ({ trust: { root, status } }: ConfigService): string =>
  root === null
    ? "the home directory is no project; nothing here needs trust\n"
    : status === "nothing"
    ? `${line(root, 1000)}: nothing in its settings needs trust\n`
    : status === "untrusted"
    ? `${line(root, 1000)}: not trusted\n`
    : `${line(root, 1000)}: trusted\n`

/** `config trust`. Exit code 1 when the answer is no. @since 0.1.0 @category combinators */
export const execute = Effect.fnUntraced(function*(values: Spec.Values<typeof Spec.configTrust>) {
  const config = yield* Config
  const terminal = yield* Terminal
  const environment = yield* Environment
  const trust = yield* Trust
  const { definitions, hash, root, status } = config.trust
  const style = yield* stderrStyle

  if (values.revoke) {
    const known = root !== null && (yield* Effect.mapError(trust.revoke(root), trustExit))
    const now = yield* config.reload
    if (values.json) yield* printJson(document(now))
    else yield* terminal.err(known ? `${line(root, 1000)} is not trusted any more\n` : "it was not trusted\n")
    return ExitCode.done
  }
  if (values.show || status === "nothing" || root === null || (status === "trusted" && !values.yes)) {
    if (values.json) yield* printJson(document(config))
    else {
      if (definitions.length > 0) yield* terminal.err(questionText(config, style))
      yield* terminal.err(statusText(config))
    }
    return ExitCode.done
  }
  if (!values.yes) {
    if (!environment.stdin_is_tty || !environment.stdout_is_tty) {
      return yield* usage(
        "trusting a workspace without a terminal needs --yes",
        `${command} --show says what it would trust`
      )
    }
    yield* terminal.err(questionText(config, style))
    if (!(yield* asked("trust this? y/N > "))) {
      yield* terminal.err("nothing was trusted\n")
      return ExitCode.failed
    }
  }
  yield* Effect.mapError(trust.grant({ root, hash, definitions }), trustExit)
  const now = yield* config.reload
  if (values.json) yield* printJson(document(now))
  else yield* terminal.err(statusText(now))
  return ExitCode.done
})
