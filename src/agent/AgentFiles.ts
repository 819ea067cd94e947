/**
 * Agents that stand in files: `NAME.md` in the `agents` folder of the user and of a checkout, front matter and the role in
 * words. A checkout's wait for trust. What a file says can only take away: tools are a part of those that whoever starts
 * the agent has, limits are the smaller ones.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { nearest } from "../codec/Distance.ts"
import { type FrontMatter, type FrontValue, textOf } from "../codec/FrontMatter.ts"
import { line } from "../codec/TerminalText.ts"
import { Config, type ConfigService } from "../config/Config.ts"
import { agentTools, type ExtensionFile, filesOf, isTrusted } from "../config/Extensions.ts"
import type { RunPermissionMode } from "../domain/Permission.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Dirs } from "../platform/Dirs.ts"
import type { ToolAccess, ToolLimit } from "../tools/ToolAccess.ts"
import { type AgentDefinition, builtIns } from "./AgentDefinition.ts"

/** The agents there are, and what is left out and why, each with its file. @since 0.1.0 @category models */
export interface Agents {
  /** The built-in ones first, then by name. */
  readonly agents: ReadonlyArray<AgentDefinition>
  readonly problems: ReadonlyArray<string>
}

/** Why a file is no agent, and where in it. */
class Unsound {
  readonly problem: string
  readonly line: number
  constructor(problem: string, at: number) {
    this.problem = problem
    this.line = at
  }
}

/** Keys that are read. */
const keys = ["name", "description", "tools", "model", "permission-mode", "max-turns", "max-cost-usd"]

/** Keys that files of other programs have and that mean nothing here. */
const foreign = new Set(["color", "mode", "temperature", "mcp-servers", "skills", "icon", "tags", "version", "license"])

const validName = /^[\p{L}\p{N}][\p{L}\p{N}_.:-]{0,63}$/u

/** Names that other agents have for the same tools. */
const otherNames: Readonly<Record<string, ReadonlyArray<string>>> = {
  edit: ["edit", "apply_patch"],
  multiedit: ["edit", "apply_patch"],
  notebookedit: ["edit", "apply_patch"],
  ls: ["glob"],
  webfetch: ["fetch"],
  todowrite: ["todo"],
  todoread: ["todo"],
  bashoutput: ["bash_output"],
  killshell: ["bash_kill"],
  agent: ["task"]
}

/** A name that is written with a capital is another program's. */
const ownNames = (written: string): ReadonlyArray<string> => {
  const lower = written.toLowerCase()
  return Object.hasOwn(otherNames, lower) && lower !== "edit"
    ? otherNames[lower] ?? [lower]
    : /^[A-Z][A-Za-z]*$/.test(written)
    ? otherNames[lower] ?? [lower]
    : [written]
}

/** Limits out of what `tools` names: names, globs over names, `read-only`. */
const accessOf = (named: ReadonlyArray<string> | undefined, at: number): ToolAccess | Unsound => {
  if (named === undefined) return []
  if (named.length === 0 || (named.length === 1 && named[0] === "none")) return ["none"]
  const limits: Array<ToolLimit> = []
  const patterns: Array<string> = []
  for (const each of named) {
    if (/[()]/.test(each)) {
      return new Unsound(
        `tools names tools, and ${
          JSON.stringify(line(each, 80))
        } is a rule; name the tool, and deny the rest with a rule ` +
          "under permissions",
        at
      )
    }
    if (each === "none") return new Unsound("tools has none and other names; leave one of them out", at)
    if (each === "read-only" || each === "read_only") limits.push("read_only")
    else patterns.push(...ownNames(each))
  }
  return patterns.length === 0 ? limits : [...limits, patterns]
}

const lineOf = (value: FrontValue | undefined): number => value?.line ?? 1

/** A key in either spelling. */
const valueOf = (front: FrontMatter, key: string): { readonly text: string | undefined; readonly line: number } => {
  const found = [key, key.replaceAll("-", "_")].find((each) => front.data.has(each)) ?? key
  return { text: textOf(front, found)?.trim(), line: lineOf(front.data.get(found)) }
}

const numberOf = (front: FrontMatter, key: string, whole: boolean): number | null | Unsound => {
  const { line: at, text } = valueOf(front, key)
  if (text === undefined || text === "") return null
  const found = Number(text)
  return Number.isFinite(found) && found > 0 && (!whole || Number.isSafeInteger(found))
    ? found
    : new Unsound(
      `${key} is ${JSON.stringify(line(text, 40))}; it is a ${whole ? "whole number" : "number"} above 0`,
      at
    )
}

const modes: Readonly<Record<string, RunPermissionMode>> = {
  "plan": "plan",
  "default": "default",
  "accept-edits": "accept-edits",
  "acceptEdits": "accept-edits",
  "bypass": "bypass",
  "bypassPermissions": "bypass"
}

const modeOf = (front: FrontMatter): RunPermissionMode | null | Unsound => {
  const value = valueOf(front, "permission-mode")
  const { line: at, text } = value.text === undefined ? valueOf(front, "permissionMode") : value
  if (text === undefined || text === "") return null
  return (Object.hasOwn(modes, text) ? modes[text] : undefined) ??
    new Unsound(
      `permission-mode is ${JSON.stringify(line(text, 40))}; it is plan, default, accept-edits or bypass`,
      at
    )
}

/** Keys that other files, or those of other programs, limit tools by: an agent that lost them would have all. */
const limiting: ReadonlyMap<string, string> = new Map([
  ["allowed-tools", "name the tools that the agent has under tools"],
  [
    "disallowed-tools",
    "name the tools that the agent has under tools, or deny the others with a rule under permissions"
  ],
  ["denied-tools", "name the tools that the agent has under tools, or deny the others with a rule under permissions"],
  ["permissions", "rules stand in the settings; name the tools that the agent has under tools"]
])

/** A key that was meant to be one of ours: what it limits must not be lost. */
const mistaken = (front: FrontMatter): Unsound | null => {
  for (const [key, value] of front.data) {
    const plain = key.replaceAll("_", "-")
    const limit = limiting.get(plain.replaceAll(/[A-Z]/g, (letter) => `-${letter}`).toLowerCase())
    if (limit !== undefined) return new Unsound(`the key ${line(key, 40)} is none of an agent's; ${limit}`, value.line)
    if (keys.includes(plain) || foreign.has(plain) || key === "permissionMode") continue
    const near = nearest(plain, keys)
    if (near !== undefined) return new Unsound(`there is no key ${line(key, 40)}; did you mean ${near}?`, value.line)
  }
  return null
}

const firstLine = (body: string): string =>
  line(body.split("\n").find((each) => each.trim() !== "")?.replace(/^#+\s*/, "") ?? "", 100)

/** A file as an agent; pure. @since 0.1.0 @category decoding */
export const read = (
  file: Pick<ExtensionFile, "name" | "file" | "tier">,
  front: FrontMatter
): AgentDefinition | Unsound => {
  const wrong = mistaken(front)
  if (wrong !== null) return wrong
  const called = valueOf(front, "name")
  const name = called.text === undefined || called.text === "" ? file.name : called.text
  if (!validName.test(name)) {
    return new Unsound("its name is no name of an agent: letters, digits, _ . : and -, at most 64", called.line)
  }
  const prefix = front.body.trim()
  if (prefix === "") {
    return new Unsound("it says nothing below its front matter; write the agent's role there", front.body_line)
  }
  const access = accessOf(agentTools(front), lineOf(front.data.get("tools")))
  const permission_mode = modeOf(front)
  const max_turns = numberOf(front, "max-turns", true)
  const max_cost_usd = numberOf(front, "max-cost-usd", false)
  for (const each of [access, permission_mode, max_turns, max_cost_usd]) if (each instanceof Unsound) return each
  const model = valueOf(front, "model").text
  return {
    name,
    description: valueOf(front, "description").text || firstLine(prefix),
    source: file.tier,
    file: file.file,
    prefix,
    access: access instanceof Unsound ? [] : access,
    model: model === undefined || model === "" || model === "inherit" ? null : model,
    permission_mode: permission_mode instanceof Unsound ? null : permission_mode,
    max_turns: max_turns instanceof Unsound ? null : max_turns,
    max_cost_usd: max_cost_usd instanceof Unsound ? null : max_cost_usd,
    chain: false
  }
}

const untrusted = (shown: string, { trust }: Pick<ConfigService, "trust">): string =>
  trust.status === "trusted" || trust.status === "this_run"
    ? `${shown} is not as it was when this workspace was trusted; /reload, or \`hanzo-dev config trust\`, shows it`
    : `${shown} comes with this project, and the project is not trusted; \`hanzo-dev config trust\` shows it and asks`

/**
 * All of them as files say it; pure. The user's own come first: a checkout takes no name from them, and nobody takes one
 * of the built-in agents.
 *
 * @since 0.1.0
 * @category combinators
 */
export const collect = (files: ReadonlyArray<ExtensionFile>, config: Pick<ConfigService, "trust">): Agents => {
  const found = new Map<string, AgentDefinition & { readonly shown: string }>()
  const problems: Array<string> = []
  const own = files.filter(({ tier }) => tier === "user")
  for (const file of [...own, ...files.filter(({ tier }) => tier !== "user")]) {
    const { content, shown } = file
    if ("problem" in content) {
      problems.push(
        `${shown}${content.line === null ? "" : `:${content.line}`}: ${content.problem}; the agent is left out`
      )
      continue
    }
    const agent = read(file, content.front)
    if (agent instanceof Unsound) {
      problems.push(`${shown}:${agent.line}: ${agent.problem}; the agent is left out`)
      continue
    }
    if (builtIns.some(({ name }) => name === agent.name)) {
      problems.push(
        `${shown}: ${agent.name} is the name of a built-in agent; the agent is left out, give it another name`
      )
      continue
    }
    const other = found.get(agent.name)
    if (other !== undefined) {
      problems.push(`${shown}: the agent ${agent.name} of ${other.shown} hides it; give it another name`)
      continue
    }
    if (isTrusted(file, config.trust)) found.set(agent.name, { ...agent, shown })
    else problems.push(`the agent ${agent.name} is left out: ${untrusted(shown, config)}`)
  }
  const all = [...found.values()].map(({ shown: _shown, ...agent }): AgentDefinition => agent)
  return { agents: [...builtIns, ...all.toSorted((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0)], problems }
}

/** Read anew at each call; where a program has no settings or no files there are the built-in ones. @since 0.1.0 @category constructors */
export const load: Effect.Effect<Agents> = Effect.gen(function*() {
  const fs = yield* Effect.serviceOption(FileSystem.FileSystem)
  const dirs = yield* Effect.serviceOption(Dirs)
  const config = yield* Effect.serviceOption(Config)
  const workspace = yield* Effect.serviceOption(Workspace)
  if (Option.isNone(fs) || Option.isNone(dirs) || Option.isNone(config)) return { agents: builtIns, problems: [] }
  const root = config.value.files.project === null || Option.isNone(workspace) ? null : workspace.value.root
  const files = yield* filesOf(fs.value, "agent", { root, dirs: dirs.value })
  return collect(files, config.value)
})
