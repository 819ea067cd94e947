/**
 * What a subagent knows of the files beside its task (reading 14.3): those the person has named with `@`, else the names
 * of the last ones the session has read or changed; the workspace's root; a summary of `git status`.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { withoutTrailing } from "../codec/Trailing.ts"
import { ofSummary } from "../compactor/Facts.ts"
import type { Message } from "../domain/Message.ts"
import { toolCallsOf } from "../domain/MessageParts.ts"
import { typedIn } from "../domain/Piped.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Permissions } from "../permissions/Permissions.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment } from "../platform/Environment.ts"
import { Files, formatBytes } from "../platform/Files.ts"
import { Spawner } from "../platform/Spawner.ts"
import { Sandbox } from "../sandbox/Sandbox.ts"
import { touchedBy } from "./TouchedFiles.ts"

/** @since 0.1.0 @category constants */
export const maxRecent = 20

/** Bytes of one file that was named, and of all of them; what is larger is named only. */
const maxFileBytes = 64 * 1024
const maxAllBytes = 256 * 1024

const maxStatusLines = 40

const pathsOf = (name: string, json: string): ReadonlyArray<string> => {
  try {
    const input: unknown = JSON.parse(json)
    return typeof input === "object" && input !== null ? touchedBy(name, { ...input }) : []
  } catch {
    return []
  }
}

/**
 * The files a conversation has read or changed, the latest last, at most `limit`: as its calls name them, relative to
 * `cwd` where they are below it. Calls that failed have touched nothing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const recentFiles = (
  messages: ReadonlyArray<Message>,
  cwd: string,
  limit: number = maxRecent
): ReadonlyArray<string> => {
  const failed = new Set(
    messages.flatMap((message) =>
      message.role === "tool" && message.is_error === true ? [message.tool_call_id ?? ""] : []
    )
  )
  const found = new Set<string>()
  const add = (path: string): void => {
    const name = path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path.replace(/^(?:\.\/)+/, "")
    found.delete(name)
    found.add(name)
  }
  for (const message of messages) {
    if (message.kind === "summary") {
      const { files_modified, files_read } = ofSummary(message)
      for (const path of [...files_read, ...files_modified]) add(path)
    }
    if (message.role !== "assistant") continue
    for (const call of toolCallsOf(message)) {
      if (!failed.has(call.id)) { for (const path of pathsOf(call.name, call.arguments)) add(path) }
    }
  }
  return [...found].slice(-limit)
}

/** Words behind an `@`, in order, each once; in quotes where there are blanks. @since 0.1.0 @category decoding */
export const mentions = (text: string): ReadonlyArray<string> => [
  ...new Set(
    [...text.matchAll(/(?:^|[\s([{"'])@(?:"([^"\n]+)"|([^\s"'`]+))/gu)].flatMap(([, quoted, plain]) => {
      const path = quoted ?? plain ?? ""
      return path === "" ? [] : [path]
    })
  )
]

/** Without what ends a sentence. */
const candidates = (mention: string): ReadonlyArray<string> => {
  const trimmed = withoutTrailing(mention, ".,;:!?)]}>")
  return trimmed === mention || trimmed === "" ? [mention] : [mention, trimmed]
}

const fenced = (text: string): string => {
  const longest = (text.match(/`+/g) ?? []).reduce((max, run) => Math.max(max, run.length), 0)
  const mark = "`".repeat(Math.max(3, longest + 1))
  return `${mark}\n${text}${text.endsWith("\n") || text === "" ? "" : "\n"}${mark}`
}

interface Named {
  readonly texts: ReadonlyArray<string>
  readonly problems: ReadonlyArray<string>
}

/** The person has named them, in what was typed, so nobody asks; what a rule denies or the sandbox refuses is left out all the same. */
const named = (task: string): Effect.Effect<Named> =>
  Effect.gen(function*() {
    const wanted = mentions(typedIn(task))
    const [files, workspace] = [yield* Effect.serviceOption(Files), yield* Effect.serviceOption(Workspace)]
    if (wanted.length === 0 || Option.isNone(files) || Option.isNone(workspace)) return { texts: [], problems: [] }
    const permissions = Option.getOrNull(yield* Effect.serviceOption(Permissions))
    const sandbox = Option.getOrNull(yield* Effect.serviceOption(Sandbox))
    const { cwd, root } = workspace.value
    const texts: Array<string> = []
    const problems: Array<string> = []
    let left = maxAllBytes
    for (const mention of wanted) {
      for (const path of candidates(mention)) {
        const found = yield* Effect.option(files.value.canonical(path.startsWith("/") ? path : `${cwd}/${path}`))
        if (Option.isNone(found)) continue
        const at = found.value.path
        const stamp = yield* Effect.orElseSucceed(files.value.stat(at), () => null)
        if (stamp === null) continue
        const subject = at === root ? "." : at.startsWith(`${root}/`) ? at.slice(root.length + 1) : at
        if (permissions?.evaluate("read", subject).mode === "deny") {
          problems.push(`@${path} was not attached: a rule denies reading it`)
        } else {
          const verdict = sandbox === null ? null : yield* sandbox.judgePath(at, "read")
          if (verdict !== null && !verdict.allowed) problems.push(`@${path} was not attached: ${verdict.message}`)
          else if (stamp.kind !== "file") texts.push(`${subject} (a directory)`)
          else {
            const content = yield* Effect.either(files.value.read(at, Math.min(left, maxFileBytes)))
            const text = content._tag === "Left" ? null : new TextDecoder().decode(content.right.bytes)
            if (content._tag === "Left" || text === null) {
              texts.push(`${subject} (not shown: ${
                content._tag === "Left" && content.left.reason === "too_large"
                  ? `it is larger than ${formatBytes(Math.min(left, maxFileBytes))}`
                  : "it cannot be read"
              })`)
            } else if (text.includes("\0")) texts.push(`${subject} (not shown: it is no text)`)
            else {
              left -= content.right.bytes.length
              texts.push(`${subject}:\n${fenced(text)}`)
            }
          }
        }
        break
      }
    }
    return { texts, problems }
  })

/** Names of settings that `git config --show-scope --name-only -z` lists for the repository itself. */
const namesOfItsOwn = (listed: string): ReadonlyArray<string> => {
  const fields = listed.split("\0")
  return fields.flatMap((name, index) => {
    const scope = fields[index - 1]
    return index % 2 === 1 && scope !== "global" && scope !== "system" ? [name] : []
  })
}

/** Of the repository, through the sandbox; null = there is none, or nobody can say. */
const gitStatus = (root: string): Effect.Effect<string | null> =>
  Effect.gen(function*() {
    const spawner = yield* Effect.serviceOption(Spawner)
    const environment = yield* Effect.serviceOption(Environment)
    if (Option.isNone(spawner) || Option.isNone(environment)) return null
    const { vars } = environment.value
    const drop = [...vars.keys()].filter((name) => name.startsWith("GIT_"))
    const git = (args: ReadonlyArray<string>, set: Readonly<Record<string, string>> = {}) =>
      Effect.option(spawner.value.run({
        argv: ["git", ...args],
        cwd: root,
        env: childEnvironment(vars, { drop, set }),
        timeout: Duration.seconds(5),
        max_bytes: 64 * 1024
      }))
    // nothing that a repository's own settings name is started, and nothing in it is written
    const filters = yield* git([
      "config",
      "-z",
      "--show-scope",
      "--name-only",
      "--get-regexp",
      "^filter\\..*\\.(clean|smudge|process|required)$"
    ])
    // 1 = there are none
    if (Option.isNone(filters) || filters.value.truncated || (filters.value.code !== 0 && filters.value.code !== 1)) {
      return null
    }
    const names = new TextDecoder().decode(filters.value.stdout)
    // a name that is no text could not be given back
    if (names.includes("\ufffd")) return null
    const off = [
      ["core.fsmonitor", "false"],
      ["core.quotePath", "false"],
      ...namesOfItsOwn(names).map((name) => [name, name.endsWith(".required") ? "false" : ""] as const)
    ].flatMap(([name = "", value = ""], index): ReadonlyArray<readonly [string, string]> => [
      [`GIT_CONFIG_KEY_${index}`, name],
      [`GIT_CONFIG_VALUE_${index}`, value]
    ])
    const done = yield* git(
      // for a git that reads no settings from its environment
      ["--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--short", "--branch", "--ignore-submodules=all"],
      { GIT_CONFIG_COUNT: String(off.length / 2), ...Object.fromEntries(off) }
    )
    if (Option.isNone(done) || done.value.code !== 0) return null
    const lines = new TextDecoder().decode(done.value.stdout).trimEnd().split("\n")
    return lines.length <= maxStatusLines
      ? lines.join("\n")
      : `${lines.slice(0, maxStatusLines).join("\n")}\n... ${lines.length - maxStatusLines} more`
  })

/** @since 0.1.0 @category models */
export interface FileContext {
  readonly text: string
  /** What the person has named and is not in it, in words. */
  readonly problems: ReadonlyArray<string>
}

/**
 * The context of a task. `said` is what the person has typed; null = the task is a model's, whose `@` names nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (messages: ReadonlyArray<Message>, said: string | null): Effect.Effect<FileContext> =>
  Effect.gen(function*() {
    const workspace = Option.getOrNull(yield* Effect.serviceOption(Workspace))
    const { problems, texts } = said === null ? { texts: [], problems: [] } : yield* named(said)
    const recent = texts.length > 0 || workspace === null ? [] : recentFiles(messages, workspace.cwd)
    const status = workspace === null ? null : yield* gitStatus(workspace.root)
    const sections = [
      ...(workspace === null ? [] : [`Workspace root: ${workspace.root}`]),
      ...(texts.length === 0 ? [] : [`Files that were named:\n\n${texts.join("\n\n")}`]),
      ...(recent.length === 0
        ? []
        : [`Files read or changed in this session, the latest last:\n${recent.map((path) => `- ${path}`).join("\n")}`]),
      ...(status === null ? [] : [`git status:\n${fenced(status)}`])
    ]
    return { text: sections.join("\n\n"), problems }
  })
