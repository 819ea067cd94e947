/**
 * Questions of MCP servers to the person at the terminal: forms field by field, addresses shown whole (reading 1.12).
 * Who asks is named first; nothing is sent before the person has seen it all and said so.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { line, neutralise } from "../codec/TerminalText.ts"
import type { QuestionField, QuestionValue, UserAnswer, UserQuestion } from "../domain/UserQuestion.ts"
import type { Line, TerminalService } from "../platform/Terminal.ts"
import type { Style } from "./Style.ts"

const yes = /^y(?:es)?$|^true$|^on$|^1$/i
const no = /^no?$|^false$|^off$|^0$/i

const choiceOf = (choices: ReadonlyArray<{ readonly value: string; readonly title: string }>, typed: string) => {
  const number = /^[0-9]+$/.test(typed) ? choices[Number(typed) - 1] : undefined
  return number?.value ??
    choices.find(({ value }) => value === typed)?.value ??
    choices.find(({ title }) => title.toLowerCase() === typed.toLowerCase())?.value
}

/**
 * What was typed as the value of a field; undefined = left out, so that its default counts. `why` = ask again.
 *
 * @since 0.1.0
 * @category decoding
 */
export const valueOf = (
  field: QuestionField,
  text: string
): { readonly value: QuestionValue | undefined } | { readonly why: string } => {
  const typed = text.trim()
  if (typed === "") {
    return field.required && field.default === undefined ? { why: "this is needed" } : { value: undefined }
  }
  switch (field.kind) {
    case "boolean":
      return yes.test(typed) ? { value: true } : no.test(typed) ? { value: false } : { why: "y or n" }
    case "number":
    case "integer": {
      const number = Number(typed)
      return Number.isFinite(number) ? { value: number } : { why: "this must be a number" }
    }
    case "choice": {
      const value = choiceOf(field.choices, typed)
      return value === undefined ? { why: `a number from 1 to ${field.choices.length}` } : { value }
    }
    case "choices": {
      const values = typed.split(/\s*,\s*|\s+/).filter((word) => word !== "").map((word) =>
        choiceOf(field.choices, word)
      )
      const known = values.filter((value) => value !== undefined)
      return known.length === values.length
        ? { value: [...new Set(known)] }
        : { why: `numbers from 1 to ${field.choices.length}, with commas between them` }
    }
    case "string":
      return { value: text.replace(/\r?\n$/, "") }
  }
}

const limits = (field: QuestionField): string => {
  const parts: Array<string> = []
  if (field.kind === "string") {
    if (field.format !== undefined) parts.push(field.format)
    if (field.min_length !== undefined) parts.push(`at least ${field.min_length} characters`)
    if (field.max_length !== undefined) parts.push(`at most ${field.max_length} characters`)
  } else if (field.kind === "number" || field.kind === "integer") {
    parts.push(field.kind === "integer" ? "a whole number" : "a number")
    if (field.minimum !== undefined) parts.push(`from ${field.minimum}`)
    if (field.maximum !== undefined) parts.push(`to ${field.maximum}`)
  } else if (field.kind === "boolean") parts.push("y or n")
  else if (field.kind === "choices") {
    parts.push("numbers with commas")
    if (field.min_items !== undefined) parts.push(`at least ${field.min_items}`)
    if (field.max_items !== undefined) parts.push(`at most ${field.max_items}`)
  }
  if (!field.required) parts.push("may be left out")
  if (field.default !== undefined) parts.push(`empty = ${line(JSON.stringify(field.default), 80)}`)
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`
}

/** What stands above a field. @since 0.1.0 @category encoding */
export const fieldText = (field: QuestionField, style: Style): string =>
  [
    `  ${style.bold(line(field.title ?? field.name, 100))}${style.dim(limits(field))}`,
    ...(field.description === null ? [] : [`    ${line(field.description, 400)}`]),
    ...(field.kind === "choice" || field.kind === "choices"
      ? field.choices.map(({ title, value }, i) =>
        `    ${i + 1} ${line(title, 100)}${title === value ? "" : style.dim(` (${line(value, 60)})`)}`
      )
      : []),
    ""
  ].join("\n")

type Asked = { readonly text: string } | { readonly over: "cancel" | "interrupt" }

/** @since 0.1.0 @category constructors */
export const ask = (
  terminal: Pick<TerminalService, "err" | "readLine">,
  style: Style,
  question: UserQuestion,
  onInterrupt: Effect.Effect<void>
): Effect.Effect<UserAnswer> =>
  Effect.gen(function*() {
    const read = (prompt: string): Effect.Effect<Asked> =>
      Effect.map(terminal.readLine(prompt, { fresh: true }), (typed: Line) =>
        typed.type === "line" ? { text: typed.text } : { over: typed.type === "interrupt" ? "interrupt" : "cancel" })
    const over = (how: "cancel" | "interrupt"): Effect.Effect<UserAnswer> =>
      Effect.as(how === "interrupt" ? onInterrupt : Effect.void, { action: "cancel" } as const)

    yield* terminal.err(
      `\n${style.yellow("?")} the MCP server ${style.bold(line(question.from, 100))} asks:\n${
        neutralise(question.message).split("\n").map((each) =>
          `    ${each}`
        ).join("\n")
      }\n`
    )
    if (question.kind === "url") {
      yield* terminal.err(
        `  it wants you to open this address yourself, at ${style.bold(line(question.host, 200))}:\n    ${
          neutralise(question.url).replaceAll("\n", "")
        }\n`
      )
      for (;;) {
        const typed = yield* read("  y I do that, n no, c cancel > ")
        if ("over" in typed) return yield* over(typed.over)
        const word = typed.text.trim().toLowerCase()
        if (yes.test(word)) return { action: "accept" }
        if (no.test(word)) return { action: "decline" }
        if (word === "c" || word === "cancel") return { action: "cancel" }
      }
    }
    for (;;) {
      const typed = yield* read(
        question.fields.length === 0 ? "  y yes, n no, c cancel > " : "  y fill in, n no, c cancel > "
      )
      if ("over" in typed) return yield* over(typed.over)
      const word = typed.text.trim().toLowerCase()
      if (no.test(word)) return { action: "decline" }
      if (word === "c" || word === "cancel") return { action: "cancel" }
      if (yes.test(word)) break
    }
    const content = new Map<string, QuestionValue>()
    for (const field of question.fields) {
      yield* terminal.err(fieldText(field, style))
      for (;;) {
        const typed = yield* read("  > ")
        if ("over" in typed) return yield* over(typed.over)
        const found = valueOf(field, typed.text)
        const problem = "why" in found
          ? found.why
          : found.value === undefined
          ? null
          : question.check(field, found.value)
        if (problem === null && "value" in found) {
          if (found.value !== undefined) content.set(field.name, found.value)
          break
        }
        yield* terminal.err(`    ${line(problem ?? "", 200)}\n`)
      }
    }
    for (;;) {
      if (question.fields.length === 0) break
      const typed = yield* read(`  send this to ${line(question.from, 60)}? y/n > `)
      if ("over" in typed) return yield* over(typed.over)
      if (yes.test(typed.text.trim())) break
      if (no.test(typed.text.trim())) return { action: "cancel" }
    }
    return { action: "accept", content: Object.fromEntries(content) }
  })
