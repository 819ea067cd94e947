/** `/memory`, `/memory add TEXT`, `/memory user TEXT`, `/memory edit [NUMBER]`. @since 0.1.0 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { line } from "../../codec/TerminalText.ts"
import { Instructions, type InstructionsService, type MemoryFile } from "../../instructions/Instructions.ts"
import { appended } from "../../instructions/Notes.ts"
import { AtomicFile } from "../../platform/AtomicFile.ts"
import { Editor } from "../../platform/Editor.ts"
import { fromPlatform } from "../../platform/FileError.ts"
import type { Talk } from "./Slash.ts"

const usage =
  "/memory shows the instruction files, /memory add TEXT and /memory user TEXT add a note to the project's or " +
  "your own, /memory edit [NUMBER] opens one in $VISUAL or $EDITOR\n"

const origins: Readonly<Record<string, string>> = {
  user: "your own, for every project",
  project: "of the project's root",
  folder: "of a folder on the way",
  import: "imported by another one"
}

const show = (instructions: InstructionsService, talk: Talk) =>
  Effect.gen(function*() {
    const places = yield* instructions.places
    const { files, notices } = yield* instructions.read(talk.session.get())
    const size = (text: string): string => `${new TextEncoder().encode(text).length} bytes`
    const numbered = places.map(({ exists, origin, path, shown }, index) => {
      const read = files.find((file) => file.path === path || file.shown === shown)
      return `  ${index + 1}  ${line(shown, 200)}  ${
        talk.style.dim(
          `${origins[origin] ?? origin}, ${
            read === undefined ? exists ? "not read" : "not there yet" : size(read.text)
          }`
        )
      }\n`
    })
    const others = files.filter(({ path, shown }) =>
      !places.some((place) => place.path === path || place.shown === shown)
    )
      .map(({ origin, shown, text }) =>
        `     ${line(shown, 200)}  ${talk.style.dim(`${origins[origin] ?? origin}, ${size(text)}`)}\n`
      )
    return yield* talk.say([
      files.length === 0 ? "no instruction files yet\n" : "in force, the general first:\n",
      ...numbered,
      ...others,
      ...notices.map((notice) => talk.style.yellow(`  ${line(notice, 500)}\n`)),
      talk.style.dim(usage)
    ].join(""))
  })

/**
 * Why nothing is written there; null = it may be. A file of a checkout may be a link: what it leads to is written only when
 * it is another text of the project.
 */
const refusal = (place: MemoryFile, root: string) =>
  Effect.gen(function*() {
    const fs = yield* Effect.serviceOption(FileSystem.FileSystem)
    if (Option.isNone(fs)) return null
    const info = yield* Effect.option(fs.value.stat(place.path))
    // a pipe would be waited for
    if (Option.isSome(info) && info.value.type !== "File") return `${line(place.shown, 200)} is no file`
    if (place.origin === "user") return null
    const link = yield* Effect.option(fs.value.readLink(place.path))
    if (Option.isNone(link)) return null
    const target = yield* Effect.option(fs.value.realPath(place.path))
    const below = Option.match(target, {
      onNone: () => null,
      onSome: (path) => path.startsWith(`${root}/`) ? path.slice(root.length) : null
    })
    return below !== null && below.endsWith(".md") && !below.includes("/.")
      ? null
      : `${line(place.shown, 200)} is a link to ${
        line(link.value, 200)
      }, which is no .md file of the project; nothing is ` +
        "written by it, put a plain file there"
  })

/** Written whole or not at all; what stands in the file stays as it is. */
const add = (place: MemoryFile, note: string, talk: Talk) =>
  Effect.gen(function*() {
    const fs = yield* Effect.serviceOption(FileSystem.FileSystem)
    const atomic = yield* Effect.serviceOption(AtomicFile)
    if (Option.isNone(fs) || Option.isNone(atomic)) return yield* talk.fail("files cannot be written here")
    const before = yield* Effect.either(
      place.exists ? fs.value.readFile(place.path) : Effect.succeed(new Uint8Array())
    )
    if (before._tag === "Left") return yield* talk.fail(fromPlatform("read", place.path, before.left).message)
    const made = appended(before.right, note)
    if ("problem" in made) return yield* talk.fail(`${place.shown} ${made.problem}; /memory edit opens it`)
    const written = yield* Effect.either(atomic.value.write(place.path, made.bytes, { create_parents: 0o755 }))
    return yield* written._tag === "Left"
      ? talk.fail(written.left.message)
      : talk.say(`added to ${line(place.shown, 200)}\n`)
  })

const edit = (place: MemoryFile, talk: Talk) =>
  Effect.gen(function*() {
    const editor = yield* Editor
    const atomic = yield* Effect.serviceOption(AtomicFile)
    // an editor cannot make the folder
    if (!place.exists && Option.isSome(atomic)) {
      const made = yield* Effect.either(
        atomic.value.write(place.path, "", { create_parents: 0o755, expect: "absent" })
      )
      if (made._tag === "Left" && made.left.reason !== "exists") return yield* talk.fail(made.left.message)
    }
    const ended = yield* Effect.either(editor.open(place.path))
    if (ended._tag === "Left") {
      return yield* talk.fail(`the editor ${line(editor.command, 200)} cannot be started: ${ended.left.message}`)
    }
    return yield* ended.right === 0
      ? talk.say(`${line(place.shown, 200)} is in force with the next message\n`)
      : talk.fail(
        `the editor ${line(editor.command, 200)} ended with ${
          ended.right === null ? "a signal" : `exit code ${ended.right}`
        }`
      )
  })

const command = (argument: string, talk: Talk) =>
  Effect.gen(function*() {
    const found = yield* Effect.serviceOption(Instructions)
    if (Option.isNone(found)) return yield* talk.say("there are no instruction files here\n")
    const instructions = found.value
    const [, word = "", rest = ""] = /^(\S*)\s*([\s\S]*)$/.exec(argument) ?? []
    if (word === "") return yield* show(instructions, talk)
    const places = yield* instructions.places
    const root = places.find(({ origin }) => origin === "project")?.path.replace(/\/[^/]*$/, "") ?? ""
    const of = (origin: MemoryFile["origin"]): MemoryFile | undefined => places.find((each) => each.origin === origin)
    switch (word) {
      case "add":
      case "user": {
        const place = of(word === "add" ? "project" : "user")
        if (rest.trim() === "" || place === undefined) return yield* talk.say(usage)
        const refused = yield* refusal(place, root)
        return yield* refused === null ? add(place, rest, talk) : talk.fail(refused)
      }
      case "edit": {
        const place = rest === "" ? of("project") : places[Number(rest) - 1]
        if (place === undefined) return yield* talk.fail(`there is no file ${line(rest, 40)}; /memory numbers them`)
        const refused = yield* refusal(place, root)
        return yield* refused === null ? edit(place, talk) : talk.fail(refused)
      }
      default:
        return yield* talk.say(usage)
    }
  })

/** @since 0.1.0 @category combinators */
export const memory = (argument: string, talk: Talk) => Effect.provide(command(argument, talk), Editor.layer)
