/**
 * What a run is told beside its task: instruction files (`AGENTS.md`), skills, and commands of the user's own. Files are
 * read anew whenever they are asked for; what is not there costs a look at each place, and loads nothing.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Config } from "../config/Config.ts"
import { placesOf, present } from "../config/ExtensionPlaces.ts"
import * as Layers from "../domain/Layers.ts"
import { once } from "../domain/Once.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Dirs } from "../platform/Dirs.ts"
import type { Catalogue, Command, Invocation, Skill } from "./Catalogue.ts"
import * as Places from "./Places.ts"
import type { Found } from "./Reading.ts"
import { ReadRules } from "./ReadRules.ts"
import type { InstructionFile } from "./Wording.ts"

/** What stands in the system prompt. `notices` are for the person. @since 0.1.0 @category models */
export interface InstructionSet {
  /** All of it as the model reads it; empty = there is nothing. */
  readonly text: string
  /** The same in its pieces, in order: joined by an empty line they are the text. */
  readonly parts: ReadonlyArray<InstructionPart>
  readonly files: ReadonlyArray<InstructionFile>
  readonly notices: ReadonlyArray<string>
}

/** `origin`: that of the file, `skills`, or `hanzo-dev` for what stands in front of the files. @since 0.1.0 @category models */
export interface InstructionPart {
  readonly origin: InstructionFile["origin"] | "skills" | "hanzo-dev"
  /** Absolute; null = it comes from no single file. */
  readonly path: string | null
  readonly text: string
}

/** A place of an instruction file, whether there is one or not. @since 0.1.0 @category models */
export interface MemoryFile {
  /** Absolute. */
  readonly path: string
  readonly shown: string
  readonly origin: "user" | "project" | "folder"
  readonly exists: boolean
}

/** @since 0.1.0 @category models */
export interface InstructionsService {
  /** The files, the skills' names and descriptions. With a session also what `compacted` has put there. Never fails. */
  readonly read: (session_id?: string) => Effect.Effect<InstructionSet>
  /**
   * Files of the project, by absolute path, that a tool has worked on: the instructions of their folders that this session
   * does not have yet, for the result of the tool; empty = none.
   */
  readonly touched: (
    session_id: string,
    paths: ReadonlyArray<string>
  ) => Effect.Effect<{ readonly text: string; readonly notices: ReadonlyArray<string> }>
  /** Results of tools were summarised: what `touched` gave out stands in the system prompt from now on. */
  readonly compacted: (session_id: string) => Effect.Effect<void>
  /** The places of instruction files that a person may edit, the general first. */
  readonly places: Effect.Effect<ReadonlyArray<MemoryFile>>
  /** There was a folder for skills when the workspace was built: the tool `skill` is offered. */
  readonly has_skills: boolean
  readonly skills: Effect.Effect<Catalogue<Skill>>
  /** A skill as the model reads it, or one of its files; null = there is no such skill. */
  readonly skill: (
    name: string,
    file?: string
  ) => Effect.Effect<
    { readonly text: string; readonly allows: ReadonlyArray<string> } | { readonly problem: string } | null
  >
  readonly commands: Effect.Effect<Catalogue<Command>>
  /**
   * A prompt that calls a command or a skill by `/NAME ARGUMENTS`, by `/project:NAME` or `/user:NAME`, or by
   * `/skill NAME`; null = it does not. What stands behind its first line goes to the end.
   */
  readonly invocation: (prompt: string) => Effect.Effect<Invocation | { readonly refusal: string } | null>
}

/** Bytes of all files in the system prompt, and of those that a session gets later. */
const maxBytes = 192 * 1024
const maxNestedBytes = 64 * 1024

/** Sessions whose folders are remembered. */
const maxSessions = 64

interface SessionState {
  /** Folders that were looked at. */
  readonly looked: Set<string>
  /** Found there, in order; those before `settled` stand in the system prompt. */
  readonly found: Array<Found>
  settled: number
  bytes: number
}

const call = once(() => /^\s*\/([\p{L}\p{N}][\p{L}\p{N}_.:-]*)(?:[ \t]+([^\n]*))?(?:\n([\s\S]*))?$/u)

const make = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const dirs = yield* Dirs
  const workspace = yield* Workspace
  const config = yield* Config
  const rules = Option.getOrNull(yield* Effect.serviceOption(ReadRules))
  const homes = { dirs, root: config.files.project === null ? null : workspace.root }
  const states = new Map<string, SessionState>()

  const there = (path: string): Effect.Effect<boolean> => Effect.orElseSucceed(fs.exists(path), () => false)
  const options = { ...workspace, home: dirs.home, config: dirs.config, denies: rules?.denies ?? (() => false) }
  const wording = Effect.promise(() => import("./Wording.ts"))
  const reading = Effect.promise(() => import("./Reading.ts"))
  const catalogue = Effect.promise(() => import("./Catalogue.ts"))

  /** The file of a folder; null = it has none. */
  const fileIn = (directory: string): Effect.Effect<string | null> =>
    Effect.gen(function*() {
      for (const name of Places.names) {
        if (yield* there(`${directory}/${name}`)) return `${directory}/${name}`
      }
      return null
    })

  const user: Effect.Effect<Found | null> = Effect.gen(function*() {
    for (const { directory, origin } of Places.userPlaces(dirs)) {
      const file = yield* fileIn(directory)
      if (file !== null) return { file, origin, own: true }
    }
    return null
  })

  const always: Effect.Effect<ReadonlyArray<Found>> = Effect.gen(function*() {
    const own = yield* user
    const found: Array<Found> = own === null ? [] : [own]
    for (const { directory, origin } of Places.projectPlaces(workspace)) {
      const file = yield* fileIn(directory)
      if (file !== null && file !== own?.file) found.push({ file, origin, own: false })
    }
    return found
  })

  const skillPlaces = placesOf("skill", homes)
  const has_skills = (yield* present(fs, skillPlaces)).length > 0

  const skills: InstructionsService["skills"] = has_skills
    ? Effect.flatMap(catalogue, (module) => module.skills(fs, homes, config))
    : Effect.succeed({ all: [], problems: [] })

  const commands: InstructionsService["commands"] = Effect.suspend(() =>
    Effect.flatMap(present(fs, placesOf("command", homes)), (places) =>
      places.length === 0
        ? Effect.succeed({ all: [], problems: [] })
        : Effect.flatMap(catalogue, (module) => module.commands(fs, homes, config)))
  )

  const stateOf = (session_id: string): SessionState => {
    const known = states.get(session_id)
    if (known !== undefined) return known
    const state: SessionState = { looked: new Set(), found: [], settled: 0, bytes: maxNestedBytes }
    const [oldest] = states.keys()
    if (states.size >= maxSessions && oldest !== undefined) states.delete(oldest)
    states.set(session_id, state)
    return state
  }

  const nothing: InstructionSet = { text: "", parts: [], files: [], notices: [] }

  const read: InstructionsService["read"] = (session_id) =>
    Effect.gen(function*() {
      const state = session_id === undefined ? undefined : states.get(session_id)
      const found = [...yield* always, ...state === undefined ? [] : state.found.slice(0, state.settled)]
      if (found.length === 0 && !has_skills) return nothing
      const { fileText, filesIntroduction, skillsText } = yield* wording
      const { files, notices } = found.length === 0
        ? { files: [], notices: [] }
        : yield* (yield* reading).gather(fs, found, { ...options, max_bytes: maxBytes })
      const listed = yield* skills
      const skillLines = skillsText(listed.all)
      const parts: ReadonlyArray<InstructionPart> = [
        ...(files.length === 0 ? [] : [{ origin: "hanzo-dev", path: null, text: filesIntroduction } as const]),
        ...files.map((file) => ({ origin: file.origin, path: file.path, text: fileText(file) })),
        ...(skillLines === "" ? [] : [{ origin: "skills", path: null, text: skillLines } as const])
      ]
      return {
        text: parts.map(({ text }) => text).join("\n\n"),
        parts,
        files,
        notices: [...notices, ...listed.problems]
      }
    })

  const touched: InstructionsService["touched"] = (session_id, paths) =>
    Effect.gen(function*() {
      const state = stateOf(session_id)
      const found: Array<Found> = []
      for (const path of paths) {
        for (const folder of Places.nestedFolders(workspace, path)) {
          if (state.looked.has(folder)) continue
          state.looked.add(folder)
          const file = yield* fileIn(folder)
          if (file !== null) found.push({ file, origin: "folder", own: false })
        }
      }
      if (found.length === 0) return { text: "", notices: [] }
      const { nestedText } = yield* wording
      const { gather } = yield* reading
      const known = new Set(
        (yield* gather(fs, [...yield* always, ...state.found], { ...options, max_bytes: maxBytes })).files.map((
          { path }
        ) => path)
      )
      const { files, notices } = yield* gather(fs, found, { ...options, max_bytes: state.bytes, known })
      state.found.push(...found)
      const text = nestedText(files)
      state.bytes -= text.length
      return { text, notices }
    })

  const skillNamed = (name: string) => Effect.map(skills, ({ all }) => all.find((each) => each.name === name))

  const invokedSkill = (skill: Skill, raw: string, rest: string): Effect.Effect<Invocation> =>
    Effect.map(Effect.flatMap(catalogue, ({ skillText }) => skillText(fs, skill)), (text) => ({
      kind: "skill",
      name: skill.name,
      shown: skill.shown,
      model: null,
      agent: null,
      allows: skill.allows,
      pieces: [{ kind: "text", text: [text, raw.trim(), rest.trim()].filter((each) => each !== "").join("\n\n") }]
    }))

  const invocation: InstructionsService["invocation"] = (prompt) =>
    Effect.gen(function*() {
      if (!prompt.trimStart().startsWith("/")) return null
      const found = call().exec(prompt)
      if (found === null) return null
      const [, name = "", raw = "", rest = ""] = found
      if (name === "skill") {
        const words = /^(\S*)\s*(.*)$/.exec(raw.trim())
        const wanted = words?.[1] ?? ""
        const skill = yield* skillNamed(wanted)
        if (skill !== undefined) return yield* invokedSkill(skill, words?.[2] ?? "", rest)
        const { all } = yield* skills
        return {
          refusal: all.length === 0
            ? "there are no skills here"
            : `there is no skill ${JSON.stringify(wanted.slice(0, 64))}; the skills are ${
              all.map((each) => each.name).join(", ")
            }`
        }
      }
      const { all } = yield* commands
      const qualified = /^(project|user):(.+)$/.exec(name)
      const command = all.find((each) => each.name === name) ??
        (qualified === null
          ? undefined
          : all.find((each) => each.name === qualified[2] && each.own === (qualified[1] === "user")))
      if (command !== undefined) {
        if (command.waits !== null) return { refusal: `/${name} does not run: ${command.waits}` }
        const { filled } = yield* catalogue
        const made = filled(command, raw, rest)
        if ("problem" in made) return { refusal: `/${name} does not run: ${made.problem}` }
        const { agent, allows, model, shown } = command
        return { kind: "command", name: command.name, shown, model, agent, allows, pieces: made.pieces }
      }
      const skill = yield* skillNamed(name)
      return skill === undefined ? null : yield* invokedSkill(skill, raw, rest)
    })

  const service: InstructionsService = {
    read,
    touched,
    compacted: (session_id) =>
      Effect.sync(() => {
        const state = states.get(session_id)
        if (state !== undefined) state.settled = state.found.length
      }),
    places: Effect.gen(function*() {
      const { shownPath } = yield* reading
      const own = yield* user
      const all: Array<MemoryFile> = []
      const add = (path: string, origin: MemoryFile["origin"], exists: boolean): void =>
        void all.push({ path, shown: shownPath(path, options), origin, exists })
      add(own?.file ?? `${dirs.config}/AGENTS.md`, "user", own !== null)
      for (const { directory, origin } of Places.projectPlaces(workspace)) {
        const file = yield* fileIn(directory)
        if (file !== null || origin === "project") add(file ?? `${directory}/AGENTS.md`, origin, file !== null)
      }
      return all
    }),
    has_skills,
    skills,
    skill: (name, file) =>
      Effect.gen(function*() {
        const skill = yield* skillNamed(name)
        if (skill === undefined) return null
        const { skillFile, skillText } = yield* catalogue
        if (file === undefined) return { text: yield* skillText(fs, skill), allows: skill.allows }
        const read = yield* skillFile(fs, skill, file, options.denies)
        return "problem" in read ? read : { text: read.text, allows: [] }
      }),
    commands,
    invocation
  }
  return service
})

/** @since 0.1.0 @category services */
export class Instructions extends Context.Tag("@hanzo/dev/instructions/Instructions")<
  Instructions,
  InstructionsService
>() {
  static readonly layer: Layer.Layer<Instructions, never, FileSystem.FileSystem | Dirs | Workspace | Config> = Layers
    .effect(Instructions, make)
}
