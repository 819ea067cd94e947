/**
 * What was typed to a git command, read apart: the same for the conversation and for the command line. Pure.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 @category models */
export type WorktreeAction =
  | { readonly kind: "list" }
  | { readonly kind: "add"; readonly name: string }
  | { readonly kind: "remove"; readonly name: string }
  | { readonly kind: "wrong"; readonly why: string }

const forms = "worktree NAME or add NAME makes one, list shows them, remove NAME takes one away"

/** `add NAME` is there for a branch that is called `list`. @since 0.1.0 @category decoding */
export const worktreeAction = (words: ReadonlyArray<string>): WorktreeAction => {
  const [action = "", name] = words
  if (words.length > 2) return { kind: "wrong", why: `too many words: ${forms}` }
  switch (action) {
    case "":
    case "list":
      return name === undefined ? { kind: "list" } : { kind: "wrong", why: forms }
    case "add":
    case "remove":
      return name === undefined ? { kind: "wrong", why: `${action} needs a name: ${forms}` } : { kind: action, name }
    default:
      return name === undefined ? { kind: "add", name: action } : { kind: "wrong", why: forms }
  }
}

/** @since 0.1.0 @category models */
export type StashAction = "push" | "list" | "pop"

/** Null = none of them. @since 0.1.0 @category decoding */
export const stashAction = (text: string): StashAction | null =>
  text === "" || text === "push" ? "push" : text === "list" || text === "pop" ? text : null

/** What a person says to a message that is shown. @since 0.1.0 @category models */
export type Answer =
  | { readonly kind: "yes" }
  | { readonly kind: "edit" }
  | { readonly kind: "generate" }
  | { readonly kind: "no" }
  | { readonly kind: "message"; readonly text: string }

/** `m TEXT` is another message, also over several lines; null = ask again. @since 0.1.0 @category decoding */
export const answerOf = (text: string): Answer | null => {
  const [, word = "", rest = ""] = /^\s*(\S*)[^\S\n]*([\s\S]*?)\s*$/u.exec(text) ?? []
  const said = word.toLowerCase()
  if (said === "m" || said === "message") return rest === "" ? null : { kind: "message", text: rest }
  if (rest !== "") return null
  switch (said) {
    case "y":
    case "yes":
      return { kind: "yes" }
    case "e":
    case "edit":
      return { kind: "edit" }
    case "g":
    case "generate":
      return { kind: "generate" }
    case "n":
    case "no":
    case "c":
    case "cancel":
      return { kind: "no" }
    default:
      return null
  }
}
