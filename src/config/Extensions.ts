/**
 * Files that extend the agent: commands and agents (`NAME.md`) and skills (folders with a `SKILL.md`), of the user and of a
 * checkout. Where they are, what is read of them, and which of a checkout wait for trust (reading 4.9): commands with shell
 * lines, everything that brings tools it wants allowed, and agents, which work by themselves.
 *
 * Without such folders this costs a look at each place.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { parse as parseTemplate } from "../codec/CommandTemplate.ts"
import { type FrontMatter, type FrontValue, parse as parseFront } from "../codec/FrontMatter.ts"
import { sha256Hex } from "../platform/Sha256.ts"
import type { Definition } from "./Definitions.ts"
import { type ExtensionHomes, type ExtensionKind, type ExtensionPlace, placesOf, present } from "./ExtensionPlaces.ts"

/** What was read; `problem` says why it cannot be used. @since 0.1.0 @category models */
export type ExtensionContent =
  | { readonly front: FrontMatter; readonly sha256: string }
  | { readonly problem: string; readonly line: number | null }

/** @since 0.1.0 @category models */
export interface ExtensionFile {
  readonly kind: ExtensionKind
  readonly tier: "project" | "user"
  /** Of a command or an agent its path without `.md`, joined by colons; of a skill its folder. */
  readonly name: string
  /** Absolute. */
  readonly file: string
  /** As people know it. */
  readonly shown: string
  readonly content: ExtensionContent
}

/** Largest file, in bytes. @since 0.1.0 @category constants */
export const maxExtensionBytes = 256 * 1024

/** Files of one folder, and folders below each other. */
const maxFiles = 500
const maxDepth = 4

const segment = /^[\p{L}\p{N}][\p{L}\p{N}_.-]*$/u

const decoder = new TextDecoder("utf-8", { fatal: true })

const contentOf = (bytes: Uint8Array): ExtensionContent => {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    return { problem: "it is not UTF-8; save it in that encoding", line: null }
  }
  if (text.includes("\0")) return { problem: "it is not text", line: null }
  const front = parseFront(text)
  return "problem" in front ? front : { front, sha256: sha256Hex(bytes) }
}

const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`)

/** What of a checkout leads out of it by a link is not read. */
const leadsOut = (
  fs: FileSystem.FileSystem,
  place: ExtensionPlace,
  root: string | null,
  path: string
): Effect.Effect<boolean> =>
  place.tier === "user" || root === null
    ? Effect.succeed(false)
    : Effect.match(fs.realPath(path), {
      onFailure: () => true,
      onSuccess: (real) => !isWithin(real, root)
    })

const read = (
  fs: FileSystem.FileSystem,
  place: ExtensionPlace,
  root: string | null,
  file: string
): Effect.Effect<ExtensionContent | null> =>
  Effect.gen(function*() {
    const info = yield* fs.stat(file)
    if (info.type !== "File") return { problem: "it is no file", line: null }
    if (yield* leadsOut(fs, place, root, file)) {
      return { problem: "it leads out of the project by a link; put a plain file there", line: null }
    }
    // what a command or skill says goes to the model: not a file of keys that a checkout gives another name to
    if (place.tier === "project" && !(yield* fs.realPath(file)).endsWith(".md")) {
      return { problem: "it is a link to a file that is no .md file; put a plain file there", line: null }
    }
    if (info.size > BigInt(maxExtensionBytes)) {
      return { problem: `it has ${info.size} bytes, the limit is ${maxExtensionBytes}`, line: null }
    }
    return contentOf(yield* fs.readFile(file))
  }).pipe(
    Effect.catchAll((error) =>
      Effect.succeed(
        error._tag === "SystemError" && error.reason === "NotFound"
          ? null
          : { problem: `it cannot be read: ${error._tag === "SystemError" ? error.reason : error.message}`, line: null }
      )
    )
  )

const listed = (fs: FileSystem.FileSystem, directory: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.orElseSucceed(
    Effect.map(fs.readDirectory(directory), (names) => names.filter((name) => !name.startsWith(".")).toSorted()),
    () => []
  )

const isFolder = (fs: FileSystem.FileSystem, path: string): Effect.Effect<boolean> =>
  Effect.orElseSucceed(Effect.map(fs.stat(path), ({ type }) => type === "Directory"), () => false)

const markdownIn = (
  fs: FileSystem.FileSystem,
  kind: "command" | "agent",
  place: ExtensionPlace,
  root: string | null
): Effect.Effect<ReadonlyArray<ExtensionFile>> =>
  Effect.gen(function*() {
    const found: Array<ExtensionFile> = []
    const visit = (below: ReadonlyArray<string>): Effect.Effect<void> =>
      Effect.gen(function*() {
        const directory = [place.directory, ...below].join("/")
        for (const entry of yield* listed(fs, directory)) {
          if (found.length >= maxFiles) return
          const file = `${directory}/${entry}`
          const shown = [place.shown, ...below, entry].join("/")
          const base = entry.endsWith(".md") ? entry.slice(0, -3) : entry
          if (!entry.endsWith(".md")) {
            if (below.length < maxDepth && segment.test(entry) && (yield* isFolder(fs, file))) {
              if (!(yield* leadsOut(fs, place, root, file))) yield* visit([...below, entry])
            }
            continue
          }
          const content = segment.test(base)
            ? yield* read(fs, place, root, file)
            : {
              problem: `its name is no name of ${
                kind === "command" ? "a command" : "an agent"
              }: letters, digits, _ . and -`,
              line: null
            }
          if (content !== null) {
            found.push({ kind, tier: place.tier, name: [...below, base].join(":"), file, shown, content })
          }
        }
      })
    yield* visit([])
    return found
  })

/** Whether an entry is a link to a folder that the place itself lies in: all there would be files of the skill. */
const holds = (fs: FileSystem.FileSystem, place: ExtensionPlace, entry: string): Effect.Effect<boolean> =>
  Effect.map(
    Effect.all([fs.realPath(place.directory), fs.realPath(`${place.directory}/${entry}`)]),
    ([directory, real]) => isWithin(directory, real)
  ).pipe(Effect.orElseSucceed(() => true))

const skillsIn = (
  fs: FileSystem.FileSystem,
  place: ExtensionPlace,
  root: string | null
): Effect.Effect<ReadonlyArray<ExtensionFile>> =>
  Effect.gen(function*() {
    const found: Array<ExtensionFile> = []
    for (const entry of yield* listed(fs, place.directory)) {
      if (found.length >= maxFiles) break
      const file = `${place.directory}/${entry}/SKILL.md`
      if (!segment.test(entry)) continue
      const given = yield* read(fs, place, root, file)
      const content = given !== null && !("problem" in given) && (yield* holds(fs, place, entry))
        ? { problem: "its folder is a link to one that holds all skills; put a plain folder there", line: null }
        : given
      if (content !== null) {
        found.push({
          kind: "skill",
          tier: place.tier,
          name: entry,
          file,
          shown: `${place.shown}/${entry}/SKILL.md`,
          content
        })
      }
    }
    return found
  })

/** Every file of a kind, the nearest place first, in the order of their names. Never fails. @since 0.1.0 @category combinators */
export const filesOf = (
  fs: FileSystem.FileSystem,
  kind: ExtensionKind,
  homes: ExtensionHomes,
  tier?: ExtensionPlace["tier"]
): Effect.Effect<ReadonlyArray<ExtensionFile>> =>
  Effect.gen(function*() {
    const places = placesOf(kind, homes).filter((place) => tier === undefined || place.tier === tier)
    const all: Array<ExtensionFile> = []
    for (const place of yield* present(fs, places)) {
      if (yield* leadsOut(fs, place, homes.root, place.directory)) {
        const problem = "it leads out of the project by a link; put a plain folder there"
        const { directory, shown } = place
        all.push({ kind, tier: place.tier, name: "", file: directory, shown, content: { problem, line: null } })
      } else {
        all.push(
          ...yield* kind === "skill"
            ? skillsIn(fs, place, homes.root)
            : markdownIn(fs, kind, place, homes.root)
        )
      }
    }
    return all
  })

/** Names that stand one a line, in brackets, or behind each other with commas or blanks. */
const names = (value: FrontValue | undefined): ReadonlyArray<string> => {
  if (value === undefined || value.kind === "other" || value.kind === "map") return []
  if (value.kind === "list") return value.items.map((item) => item.trim()).filter((item) => item !== "")
  const found: Array<string> = []
  let depth = 0
  let word = ""
  for (const character of value.text) {
    if (character === "(") depth++
    if (character === ")" && depth > 0) depth--
    if (depth === 0 && /[\s,]/.test(character)) {
      if (word !== "") found.push(word)
      word = ""
    } else word += character
  }
  return word === "" ? found : [...found, word]
}

/** What `allowed-tools` names, as it is written. @since 0.1.0 @category decoding */
export const allowedTools = ({ data }: Pick<FrontMatter, "data">): ReadonlyArray<string> =>
  names(data.get("allowed-tools") ?? data.get("allowed_tools"))

/** What `tools` of an agent names, as it is written; undefined = it names none, and the agent has all. @since 0.1.0 @category decoding */
export const agentTools = ({ data }: Pick<FrontMatter, "data">): ReadonlyArray<string> | undefined =>
  data.has("tools") ? names(data.get("tools")) : undefined

/** What a file of a checkout waits for trust with; null = it is text and nothing else. @since 0.1.0 @category combinators */
export const definitionOf = ({ content, kind, name, shown }: ExtensionFile): Definition | null => {
  if ("problem" in content) return null
  if (kind === "agent") {
    const tools = agentTools(content.front) ?? null
    return { kind, tier: "project", key: shown, line: null, value: { name, tools, sha256: content.sha256 } }
  }
  const allows = allowedTools(content.front)
  const runs = kind === "skill"
    ? []
    : parseTemplate(content.front.body).flatMap((piece) => piece.kind === "shell" ? [piece.command] : [])
  return allows.length === 0 && runs.length === 0
    ? null
    : { kind, tier: "project", key: shown, line: null, value: { name, runs, allows, sha256: content.sha256 } }
}

/**
 * Whether what the file brings beside its text counts: the user's own does; of a checkout exactly this content must have
 * been trusted.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isTrusted = (
  file: ExtensionFile,
  trust: { readonly status: string; readonly definitions: ReadonlyArray<Definition> }
): boolean => {
  const wanted = file.tier === "user" ? null : definitionOf(file)
  if (wanted === null) return true
  if (trust.status !== "trusted" && trust.status !== "this_run") return false
  const value = JSON.stringify(wanted.value)
  return trust.definitions.some((known) =>
    known.kind === wanted.kind && known.key === wanted.key && JSON.stringify(known.value) === value
  )
}

/** Everything of a checkout's extensions that waits for trust. @since 0.1.0 @category combinators */
export const waitingExtensions = (
  fs: FileSystem.FileSystem,
  homes: ExtensionHomes
): Effect.Effect<ReadonlyArray<Definition>> =>
  homes.root === null ? Effect.succeed([]) : Effect.map(
    Effect.all((["command", "skill", "agent"] as const).map((kind) => filesOf(fs, kind, homes, "project"))),
    (found) => found.flat().flatMap((file) => definitionOf(file) ?? [])
  )
