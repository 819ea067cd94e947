/**
 * The message of a commit: given, ready, from a model, or a plain draft; read and edited by the person before it counts
 * (reading 12).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { line } from "../codec/TerminalText.ts"
import { Config } from "../config/Config.ts"
import { Credentials } from "../credentials/Credentials.ts"
import { ApiClient, type SendOptions } from "../domain/ApiClient.ts"
import type { Prepared } from "../git/Commits.ts"
import * as Conventional from "../git/Conventional.ts"
import * as Draft from "../git/Draft.ts"
import { Git } from "../git/Git.ts"
import { withoutIn } from "../git/LikelySecrets.ts"
import type { Generated } from "../git/Message.ts"
import type { Change } from "../git/MessagePrompt.ts"
import { Editor } from "../platform/Editor.ts"
import { Environment } from "../platform/Environment.ts"
import { GitFiles } from "../platform/GitFiles.ts"
import type { Line } from "../platform/Terminal.ts"
import { type CliExit, usage } from "./Exit.ts"
import * as GitText from "./GitText.ts"
import { answerOf } from "./GitWords.ts"
import type { Style } from "./Style.ts"

/** Writes a message; what keeps it from that is in the answer. @since 0.1.0 @category models */
export type Author = (change: Change) => Effect.Effect<Generated>

/** Where the person is. @since 0.1.0 @category models */
export interface Desk {
  readonly style: Style
  readonly show: (text: string) => Effect.Effect<void, CliExit>
  /** Null = nobody can be asked. */
  readonly ask: ((prompt: string) => Effect.Effect<Line>) | null
  /** Null = no model is wanted. */
  readonly author: Author | null
}

/** @since 0.1.0 @category models */
export interface Wish {
  readonly message: string | undefined
  /** Not only `type(scope): subject`. */
  readonly any_form: boolean
  readonly yes: boolean
  /** What a yes does, in words. */
  readonly doing: string
}

/** @since 0.1.0 @category models */
export interface Proposal {
  readonly message: string
  /** `git`: of a merge and the like; `kept`: left by an earlier try; `draft`: made of the names of the files. */
  readonly source: "given" | "git" | "kept" | "model" | "draft" | "edited"
  /** Why no model has written it, where one was asked. */
  readonly model_problem: string | null
}

/** @since 0.1.0 @category models */
export interface Decision {
  readonly kind: "commit" | "proposed" | "cancelled"
  readonly proposal: Proposal
}

/** Takes secrets out of a text that goes to a model: those that are known here, and what looks like one. @since 0.1.0 @category constructors */
export const cleaner: Effect.Effect<(text: string) => string, never, Config | Environment> = Effect.gen(function*() {
  const { config } = yield* Config
  const { vars } = yield* Environment
  const credentials = yield* Effect.serviceOption(Credentials)
  const [{ secretsOf }, { makeScrub }] = yield* Effect.promise(() =>
    Promise.all([import("../tools/Guard.ts"), import("../provider/Secrets.ts")])
  )
  const stored = Option.isNone(credentials) ? [] : yield* credentials.value.secrets(config)
  const known = makeScrub([...secretsOf(vars, config), ...stored])
  return (text) => withoutIn(known(text))
})

/** The author by the model of the surrounding services. @since 0.1.0 @category constructors */
export const author = (
  options: SendOptions
): Effect.Effect<Author, never, Config | Environment> =>
  Effect.gen(function*() {
    const context = yield* Effect.context<Config | Environment>()
    const api = yield* Effect.serviceOption(ApiClient)
    return (change) =>
      Option.isNone(api)
        ? Effect.succeed({ message: null, problem: "there is no model here", usages: [] })
        : Effect.gen(function*() {
          const { generate } = yield* Effect.promise(() => import("../git/Message.ts"))
          return yield* generate(api.value, change, yield* cleaner, { ...options, purpose: "commit_message" })
        }).pipe(Effect.provide(context))
  })

const generated = (desk: Desk, prepared: Prepared): Effect.Effect<Proposal, CliExit> =>
  Effect.gen(function*() {
    const draft = Draft.neutral(prepared.files)
    if (desk.author === null) return { message: draft, source: "draft", model_problem: null }
    yield* desk.show(desk.style.dim("the model writes a message ...\n"))
    const { message, problem } = yield* desk.author(prepared.change)
    if (message !== null) return { message, source: "model", model_problem: null }
    const why = problem ?? "it gave none"
    yield* desk.show(
      `${desk.style.yellow("note:")} no message from the model (${
        line(why.split("\n")[0] ?? "", 300)
      }); this is a plain one\n`
    )
    return { message: draft, source: "draft", model_problem: why }
  })

const given = (desk: Desk, wish: Wish, text: string): Effect.Effect<Proposal, CliExit> => {
  const message = Conventional.tidy(text)
  const problem = Conventional.problemOf(message)
  if (message === "") return Effect.fail(usage("the message is empty"))
  return problem === null || wish.any_form || (desk.ask !== null && !wish.yes)
    ? Effect.succeed({ message, source: "given", model_problem: null })
    : Effect.fail(usage(`the message cannot be taken: ${problem}`, "--any-form takes it all the same"))
}

/** The text as the person leaves it in the editor; `problem` = it could not be had. */
const edited = (
  prepared: Prepared,
  message: string
): Effect.Effect<{ readonly text: string } | { readonly problem: string }, never, Editor | GitFiles> =>
  Effect.scoped(Effect.gen(function*() {
    const files = yield* GitFiles
    const editor = yield* Editor
    const file = `${yield* files.scratch}/COMMIT_EDITMSG`
    const about = [
      "# Everything below this line is left out. An empty message cancels.",
      `# type(scope): subject, at most ${Conventional.longestSubject} characters; type: ${
        Conventional.types.join(", ")
      }`,
      "#",
      ...prepared.files.slice(0, 100).map(({ path, staged }) => `#   ${staged} ${GitText.name(path)}`)
    ]
    yield* files.writeText(file, `${message}\n\n${Conventional.scissors}\n${about.join("\n")}\n`)
    const code = yield* editor.open(file)
    if (code !== 0) {
      return { problem: `${editor.command} ended with ${code === null ? "a signal" : `exit code ${code}`}` }
    }
    const text = yield* files.readText(file)
    return text === null ? { problem: "the file of the message is gone" } : { text: Conventional.aboveScissors(text) }
  })).pipe(
    Effect.catchAll((error) => Effect.succeed({ problem: `the editor cannot be used: ${error.message}` }))
  )

const choices = (desk: Desk): string =>
  `  y yes, e edit, m TEXT another message, ${desk.author === null ? "" : "g ask the model, "}n no > `

/**
 * From what is prepared to a message that the person has accepted. A message that was edited and not used is kept for the
 * next time.
 *
 * @since 0.1.0
 * @category combinators
 */
export const decide = (
  desk: Desk,
  prepared: Prepared,
  wish: Wish
): Effect.Effect<Decision, CliExit, Git | Editor | GitFiles> =>
  Effect.gen(function*() {
    const { ask, show, style } = desk
    const git = yield* Git
    yield* show(GitText.preparedText(prepared, style))
    let proposal: Proposal = wish.message !== undefined
      ? yield* given(desk, wish, wish.message)
      : prepared.ready !== null
      ? { ...prepared.ready, model_problem: null }
      : yield* generated(desk, prepared)
    if (wish.yes || ask === null) {
      yield* show(GitText.messageText(proposal.message))
      return { kind: wish.yes ? "commit" : "proposed", proposal }
    }
    const replace = (text: string): boolean => {
      const message = Conventional.tidy(text)
      if (message !== "") proposal = { message, source: "edited", model_problem: proposal.model_problem }
      return message !== ""
    }
    const cancel = (how: string) =>
      Effect.gen(function*() {
        if (proposal.source === "edited") yield* git.keep(prepared, proposal.message)
        yield* show(`${how}; nothing was committed, and the index is as it was\n`)
        return { kind: "cancelled", proposal } as const
      })
    return yield* Effect.gen(function*() {
      let fresh = true
      while (true) {
        if (fresh) {
          if (proposal.source === "kept") yield* show(style.dim("the message of an earlier try:\n"))
          yield* show(GitText.messageText(proposal.message))
          const problem = proposal.source === "git" ? null : Conventional.problemOf(proposal.message)
          if (problem !== null) yield* show(`${style.yellow("note:")} ${line(problem, 300)}\n`)
          yield* show(`${wish.doing}?\n`)
        }
        fresh = false
        const typed = yield* ask(choices(desk))
        if (typed.type !== "line") return yield* cancel("left")
        const answer = answerOf(typed.text)
        switch (answer?.kind) {
          case "yes":
            return { kind: "commit", proposal } as const
          case "no":
            return yield* cancel("no")
          case "message":
            fresh = replace(answer.text)
            break
          case "generate":
            proposal = yield* generated(desk, prepared)
            fresh = true
            break
          case "edit": {
            const after = yield* edited(prepared, proposal.message)
            if ("problem" in after) yield* show(`${style.yellow("note:")} ${line(after.problem, 500)}\n`)
            else if (!replace(after.text)) return yield* cancel("the message is empty")
            fresh = true
          }
        }
      }
    }).pipe(
      Effect.onInterrupt(() => proposal.source === "edited" ? git.keep(prepared, proposal.message) : Effect.void)
    )
  })

/** Is there anything that a commit would say? A merge is something even when no file differs. @since 0.1.0 @category combinators */
export const isEmpty = ({ files, progress }: Prepared): boolean => files.length === 0 && progress !== "merge"

/** @since 0.1.0 @category encoding */
export const nothingText = ({ untracked }: Prepared): string =>
  untracked.length === 0
    ? "there is nothing to commit"
    : `there is nothing to commit; ${untracked.length} untracked file${
      untracked.length === 1 ? " is" : "s are"
    } not included (git add takes them in)`
