/**
 * Commands and skills as they can be used: checked, the nearest of a name, those that wait for trust marked. Loaded when
 * there are any.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { argumentsOf, fill, fillShell, parse, type Piece, takesArguments } from "../codec/CommandTemplate.ts"
import { type FrontMatter, textOf } from "../codec/FrontMatter.ts"
import { line } from "../codec/TerminalText.ts"
import type { ConfigService } from "../config/Config.ts"
import type { ExtensionHomes, ExtensionKind } from "../config/ExtensionPlaces.ts"
import { allowedTools, type ExtensionFile, filesOf, isTrusted } from "../config/Extensions.ts"
import { patternsOf } from "./AllowedTools.ts"
import { decode, visible } from "./Text.ts"

interface Entry {
  readonly name: string
  /** As people know the file. */
  readonly shown: string
  readonly file: string
  /** The user's own, not the checkout's. */
  readonly own: boolean
  readonly description: string
  /** Patterns of permission rules that it wants allowed, and may have. */
  readonly allows: ReadonlyArray<string>
  readonly body: string
  readonly body_line: number
}

/** @since 0.1.0 @category models */
export interface Command extends Entry {
  /** What is typed behind the name, for help. */
  readonly argument_hint: string
  readonly model: string | null
  readonly agent: string | null
  /** Why it does not run for now; null = it runs. */
  readonly waits: string | null
}

/** @since 0.1.0 @category models */
export interface Skill extends Entry {
  /** Absolute. */
  readonly directory: string
}

/** `problems`: what is left out or hidden and why, each with its file. @since 0.1.0 @category models */
export interface Catalogue<A> {
  readonly all: ReadonlyArray<A>
  readonly problems: ReadonlyArray<string>
}

/** A command or skill that was called by its name. @since 0.1.0 @category models */
export interface Invocation {
  readonly kind: ExtensionKind
  readonly name: string
  readonly shown: string
  readonly model: string | null
  readonly agent: string | null
  readonly allows: ReadonlyArray<string>
  /** With the arguments in them. */
  readonly pieces: ReadonlyArray<Piece>
}

type Trusted = Pick<ConfigService, "trust">

const waitingFor = (file: ExtensionFile, { trust }: Trusted): string =>
  trust.definitions.some(({ key, kind }) => kind === file.kind && key === file.shown) && trust.status !== "untrusted"
    ? `${file.shown} has changed since this workspace was trusted; /reload, or \`hanzo-dev config trust\`, shows it`
    : trust.status === "trusted" || trust.status === "this_run"
    ? `${file.shown} was not there when this workspace was trusted; /reload, or \`hanzo-dev config trust\`, shows it`
    : `${file.shown} comes with this project and runs something, and the project is not trusted; \`hanzo-dev config trust\` shows it and asks`

const field = (front: FrontMatter, ...keys: ReadonlyArray<string>): string => {
  for (const key of keys) {
    const text = textOf(front, key)
    if (text !== undefined) return text.trim()
    const value = front.data.get(key)
    if (value?.kind === "list") return value.items.map((item) => `[${item}]`).join(" ")
  }
  return ""
}

const entryOf = (file: ExtensionFile, front: FrontMatter, trusted: boolean) => ({
  shown: file.shown,
  file: file.file,
  own: file.tier === "user",
  allows: trusted ? allowedTools(front).flatMap(patternsOf) : [],
  body: front.body.trim(),
  body_line: front.body_line
})

const firstLine = (body: string): string =>
  line(body.split("\n").find((each) => each.trim() !== "")?.replace(/^#+\s*/, "") ?? "", 100)

const commandOf = (file: ExtensionFile, front: FrontMatter, config: Trusted): Command => {
  const trusted = isTrusted(file, config.trust)
  const or = (text: string): string | null => text === "" ? null : text
  return {
    ...entryOf(file, front, trusted),
    name: file.name,
    description: visible(field(front, "description")).text || firstLine(visible(front.body).text),
    argument_hint: field(front, "argument-hint", "argument_hint"),
    model: or(field(front, "model")),
    agent: or(field(front, "agent")),
    waits: trusted ? null : waitingFor(file, config)
  }
}

const skillName = /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u

const skillOf = (file: ExtensionFile, front: FrontMatter, config: Trusted): Skill | string => {
  const name = field(front, "name") || file.name
  const description = visible(field(front, "description")).text
  if (!skillName.test(name)) return "its name is no name of a skill: letters, digits, _ . and -, at most 64"
  if (description === "") return "it has no description, so that nobody knows when to use it"
  return {
    ...entryOf(file, front, isTrusted(file, config.trust)),
    name,
    description,
    body: visible(front.body.trim()).text,
    directory: file.file.slice(0, file.file.lastIndexOf("/"))
  }
}

const catalogue = <A extends Entry>(
  files: ReadonlyArray<ExtensionFile>,
  make: (file: ExtensionFile, front: FrontMatter) => A | string
): Catalogue<A> => {
  const all = new Map<string, A>()
  const problems: Array<string> = []
  for (const file of files) {
    const { content, kind, shown } = file
    if ("problem" in content) {
      problems.push(
        `${shown}${content.line === null ? "" : `:${content.line}`}: ${content.problem}; the ${kind} is left out`
      )
      continue
    }
    const made = make(file, content.front)
    if (typeof made === "string") {
      problems.push(`${shown}:1: ${made}; the ${kind} is left out`)
      continue
    }
    const nearer = all.get(made.name)
    if (nearer === undefined) all.set(made.name, made)
    else problems.push(`${shown}: the ${kind} ${made.name} of ${nearer.shown} is nearer and hides it`)
  }
  return { all: [...all.values()].toSorted((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0), problems }
}

/** Read anew at each call. @since 0.1.0 @category combinators */
export const commands = (
  fs: FileSystem.FileSystem,
  homes: ExtensionHomes,
  config: Trusted
): Effect.Effect<Catalogue<Command>> =>
  Effect.map(filesOf(fs, "command", homes), (files) => {
    /** Why a name cannot be a command's; null = it can. */
    const reserved = (name: string): string | null =>
      name.startsWith("mcp__")
        ? "names that begin with mcp__ are prompts of MCP servers"
        : name === "skill"
        ? "/skill calls the skills"
        : null
    return catalogue(files, (file, front) => reserved(file.name) ?? commandOf(file, front, config))
  })

/** Read anew at each call. @since 0.1.0 @category combinators */
export const skills = (
  fs: FileSystem.FileSystem,
  homes: ExtensionHomes,
  config: Trusted
): Effect.Effect<Catalogue<Skill>> =>
  Effect.map(
    filesOf(fs, "skill", homes),
    (files) => catalogue(files, (file, front) => skillOf(file, front, config))
  )

/** Files of a skill that are told. */
const maxListed = 100
const maxDepth = 3

/** Whether a file of a skill may be shown: in its folder, neither by a link out of it nor hidden. Both are canonical. */
const belongs = (directory: string, real: string): boolean =>
  real.startsWith(`${directory}/`) && !real.slice(directory.length).includes("/.")

/** What lies beside `SKILL.md`, relative to the folder; nothing that is never shown. */
const bundled = (fs: FileSystem.FileSystem, directory: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function*() {
    const found: Array<string> = []
    const base = yield* Effect.orElseSucceed(fs.realPath(directory), () => directory)
    const isOurs = (path: string): Effect.Effect<boolean> =>
      Effect.match(fs.realPath(path), { onFailure: () => false, onSuccess: (real) => belongs(base, real) })
    const visit = (below: string, depth: number): Effect.Effect<void> =>
      Effect.gen(function*() {
        const names = yield* Effect.orElseSucceed(fs.readDirectory(`${directory}${below}`), () => [])
        for (const name of names.toSorted()) {
          if (found.length >= maxListed) return
          if (name.startsWith(".")) continue
          const path = `${below}/${name}`
          if (!(yield* isOurs(`${directory}${path}`))) continue
          const info = yield* Effect.orElseSucceed(fs.stat(`${directory}${path}`), () => null)
          if (info?.type === "Directory" && depth < maxDepth) yield* visit(path, depth + 1)
          else if (info?.type === "File" && path !== "/SKILL.md") found.push(path.slice(1))
        }
      })
    yield* visit("", 0)
    return found
  })

/** A skill as the model reads it. @since 0.1.0 @category encoding */
export const skillText = (fs: FileSystem.FileSystem, skill: Skill): Effect.Effect<string> =>
  Effect.map(bundled(fs, skill.directory), (files) =>
    [
      `Skill ${skill.name}, ${
        skill.own ? "the user's own" : "of this project"
      } (${skill.shown}). Its folder is ${skill.directory}.`,
      skill.body,
      ...(files.length === 0 ? [] : [
        `Files in its folder, which the tool \`skill\` shows with \`file\`:\n${
          files.map((file) => `- ${file}`).join("\n")
        }${files.length < maxListed ? "" : "\n- and more"}`
      ])
    ].join("\n\n"))

/** Largest file of a skill that is shown, in bytes; and what of it is shown, in UTF-16 units. */
const maxSkillFile = 4 * 1024 * 1024
const maxShown = 100_000

/** A file of a skill, or why it cannot be shown. @since 0.1.0 @category combinators */
export const skillFile = (
  fs: FileSystem.FileSystem,
  skill: Skill,
  file: string,
  denies: (path: string) => boolean
): Effect.Effect<{ readonly text: string } | { readonly problem: string }> =>
  Effect.gen(function*() {
    const directory = yield* fs.realPath(skill.directory)
    const real = yield* fs.realPath(`${directory}/${file}`)
    if (!belongs(directory, real)) {
      return { problem: `${file} is no file in the folder of the skill ${skill.name}, or a hidden one` }
    }
    if (denies(real)) return { problem: `a rule denies read of ${file}` }
    const info = yield* fs.stat(real)
    if (info.type !== "File") return { problem: `${file} is no file` }
    if (info.size > BigInt(maxSkillFile)) {
      return { problem: `${file} has ${info.size} bytes, the limit is ${maxSkillFile}` }
    }
    const decoded = decode(yield* fs.readFile(real))
    if ("problem" in decoded) return { problem: `${file} ${decoded.problem}; its path is ${real}` }
    return {
      text: decoded.text.length <= maxShown
        ? decoded.text
        : `${decoded.text.slice(0, maxShown)}\n[cut here: the file has ${info.size} bytes; its path is ${real}]`
    }
  }).pipe(
    Effect.catchAll(() => Effect.succeed({ problem: `the skill ${skill.name} has no file ${file} that can be read` }))
  )

/** The arguments put in their places; what stands in none of them is not lost. @since 0.1.0 @category combinators */
export const filled = (
  { body, body_line, shown }: Pick<Command, "body" | "body_line" | "shown">,
  raw: string,
  rest: string
): { readonly pieces: ReadonlyArray<Piece> } | { readonly problem: string } => {
  const template = parse(body)
  const given = argumentsOf(raw)
  const pieces: Array<Piece> = []
  for (const piece of template) {
    if (piece.kind === "text") pieces.push({ kind: "text", text: fill(visible(piece.text).text, given) })
    else if (piece.kind === "shell") {
      const made = fillShell(piece.command, given)
      if ("problem" in made) return { problem: `${shown}:${body_line + piece.line - 1}: ${made.problem}` }
      pieces.push({ ...piece, line: body_line + piece.line - 1, command: made.command })
    } else {
      const path = fill(piece.path, given).trim()
      if (path === "") {
        return {
          problem: `${shown}:${body_line + piece.line - 1}: @${piece.path} names no file; the command takes arguments`
        }
      }
      pieces.push({ ...piece, line: body_line + piece.line - 1, path })
    }
  }
  if (given.raw !== "" && !takesArguments(template)) pieces.push({ kind: "text", text: `\n\n${given.raw}` })
  if (rest.trim() !== "") pieces.push({ kind: "text", text: `\n\n${rest.trim()}` })
  return { pieces }
}
