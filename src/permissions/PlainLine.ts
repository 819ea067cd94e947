/**
 * The syntax tree of a line that is one command of plain words, as the grammar of bash would give it: nothing in such a
 * line can be read in two ways, and `npm test` need not wait for the grammar to be loaded. Pure.
 *
 * That both trees mean the same is a property of the tests, over lines of every word that this program treats specially.
 *
 * @since 0.1.0
 */
import { maxLineUnits, type ShellNode } from "../platform/ShellGrammar.ts"
import { reservedWords } from "./ShellExpansions.ts"

/** The grammar takes some words with other characters, and a lone `=`, for something else. */
const plainLine = /^[A-Za-z0-9_./][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:@%+,=-]*)*$/
/** First words that are no names of commands to the grammar, beside the reserved ones. */
const special: ReadonlySet<string> = new Set(
  "declare typeset export readonly local unset unsetenv time coproc".split(" ")
)

const leaf = (type: string, field: string | null, text: string, start: number): ShellNode => ({
  type,
  named: true,
  field,
  text,
  start,
  end: start + text.length,
  broken: false,
  children: []
})

/** null = it is more than that. @since 0.1.0 @category decoding */
export const plainTree = (line: string): ShellNode | null => {
  if (line.length > maxLineUnits || !plainLine.test(line)) return null
  const [name = "", ...rest] = line.split(" ")
  if (reservedWords.has(name) || special.has(name)) return null
  const first: ShellNode = { ...leaf("command_name", "name", name, 0), children: [leaf("word", null, name, 0)] }
  const words = [first]
  let at = name.length
  for (const word of rest) {
    words.push(leaf("word", "argument", word, at + 1))
    at += word.length + 1
  }
  const command: ShellNode = { ...leaf("command", null, line, 0), children: words }
  return { ...leaf("program", null, line, 0), children: [command] }
}
