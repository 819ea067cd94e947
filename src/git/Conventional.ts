/**
 * Messages of commits (reading 12, "message"): `type(scope)!: subject`, the first line of at most 72 characters, an empty
 * line before more (Conventional Commits 1.0.0). Pure.
 *
 * @since 0.1.0
 */

/** Characters of the first line, as code points. @since 0.1.0 @category constants */
export const longestSubject = 72

/** @since 0.1.0 @category constants */
export const types: ReadonlyArray<string> = [
  "feat",
  "fix",
  "docs",
  "style",
  "refactor",
  "perf",
  "test",
  "build",
  "ci",
  "chore",
  "revert"
]

const form = /^([A-Za-z][A-Za-z0-9_-]*)(?:\([^()\r\n]+\))?!?: (\S.*)$/u

/** Why the message is not in this form, in words; null = it is. @since 0.1.0 @category combinators */
export const problemOf = (message: string): string | null => {
  const [subject = "", second, ...rest] = message.split("\n")
  if (subject.trim() === "") return "the message is empty"
  const match = form.exec(subject)
  if (match === null) return "the first line is not of the form \"type(scope): subject\""
  if (!types.includes(match[1] ?? "")) return `"${match[1] ?? ""}" is none of the types ${types.join(", ")}`
  const length = [...subject].length
  if (length > longestSubject) return `the first line has ${length} characters, more than ${longestSubject}`
  if (second !== undefined && second.trim() !== "" && [second, ...rest].some((line) => line.trim() !== "")) {
    return "an empty line is missing between the first line and the rest"
  }
  return null
}

/** Line ends as LF, no space at the end of lines, no empty lines around and no two running. @since 0.1.0 @category combinators */
export const tidy = (message: string): string =>
  message.replaceAll(/\r\n?/gu, "\n").split("\n").map((line) => line.trimEnd()).join("\n").replaceAll(
    /\n{3,}/gu,
    "\n\n"
  )
    .replace(/^\n+/u, "").trimEnd()

/** What a terminal would act upon, and marks that make a line read otherwise than it is; line ends and tabs stay. */
const unseen = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/**
 * The message in what a model said: without a fence around it, without words before the line that has the form, without
 * quotes around a single line, without control characters, which stay in a history for good.
 *
 * @since 0.1.0
 * @category decoding
 */
export const fromAnswer = (answer: string): string => {
  const whole = tidy(answer.replaceAll(unseen, ""))
  const fenced = /^[ \t]*(`{3,}|~{3,})[^\n]*\n([\s\S]*?)\n[ \t]*\1[ \t]*$/mu.exec(whole)
  const inside = tidy(fenced?.[2] ?? whole)
  const lines = inside.split("\n")
  const at = lines.findIndex((line) => form.test(line) && types.includes(form.exec(line)?.[1] ?? ""))
  const found = tidy(at < 0 ? inside : lines.slice(at).join("\n"))
  const quoted = /^(["'`])([^\n]*)\1$/u.exec(found)
  return quoted === null ? found : tidy(quoted[2] ?? "")
}

/** As many code points of a text as fit. @since 0.1.0 @category combinators */
export const cut = (text: string, limit: number): string => {
  const points = [...text]
  return points.length <= limit ? text : `${points.slice(0, Math.max(0, limit - 1)).join("")}\u2026`
}

/** Cuts the text that a person edits at git's line of scissors. @since 0.1.0 @category constants */
export const scissors = "# ------------------------ >8 ------------------------"

/** What stands above the scissors. @since 0.1.0 @category decoding */
export const aboveScissors = (text: string): string => {
  const lines = text.replaceAll(/\r\n?/gu, "\n").split("\n")
  const at = lines.findIndex((line) => line.trimEnd() === scissors)
  return tidy((at < 0 ? lines : lines.slice(0, at)).join("\n"))
}
