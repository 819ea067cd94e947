/**
 * Which tools a few words mean. Pure: words of the query against those of name, title, description and fields, rare words
 * more than common ones.
 *
 * @since 0.1.0
 */
import type { McpToolDefinition } from "../mcp/Catalogue.ts"

/** Tools of one answer. @since 0.1.0 @category constants */
export const maxFound = 8

/** Lower case, `createIssue` and `create_issue` alike; an ending that marks the plural is no difference. */
const wordsOf = (text: string): ReadonlyArray<string> =>
  text.replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2").toLowerCase().split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "").map((word) => word.length > 3 && word.endsWith("s") ? word.slice(0, -1) : word)

interface Weighed {
  readonly tool: McpToolDefinition
  readonly name: ReadonlyArray<string>
  readonly words: ReadonlyMap<string, number>
}

const fieldsOf = ({ input_schema }: McpToolDefinition): string => {
  const properties = input_schema["properties"]
  return typeof properties === "object" && properties !== null ? Object.keys(properties).join(" ") : ""
}

const weigh = (tool: McpToolDefinition): Weighed => {
  const words = new Map<string, number>()
  const put = (text: string, weight: number): void => {
    for (const word of wordsOf(text)) words.set(word, Math.max(words.get(word) ?? 0, weight))
  }
  put(fieldsOf(tool), 1)
  put(tool.description, 2)
  put(tool.title ?? "", 3)
  put(tool.server, 3)
  put(tool.raw_name, 4)
  return { tool, name: wordsOf(tool.raw_name), words }
}

/**
 * The best first, at most {@link maxFound}; a whole name finds its tool. Empty when no word of the query is known.
 *
 * @since 0.1.0
 * @category combinators
 */
export const search = (
  query: string,
  tools: ReadonlyArray<McpToolDefinition>
): ReadonlyArray<McpToolDefinition> => {
  const exact = tools.filter((tool) => tool.name === query.trim() || tool.raw_name === query.trim())
  const wanted = [...new Set(wordsOf(query))]
  const weighed = tools.map(weigh)
  const rarity = new Map(wanted.map((word) => {
    const having = weighed.filter(({ words }) => words.has(word)).length
    return [word, Math.log(1 + tools.length / (1 + having))] as const
  }))
  const scored = weighed.map(({ tool, words }) => {
    let score = 0
    for (const word of wanted) {
      const whole = words.get(word)
      const weight = whole ?? ([...words].some(([each]) => word.length > 2 && each.startsWith(word)) ? 1 : 0)
      score += weight * (rarity.get(word) ?? 0)
    }
    return { tool, score }
  }).filter(({ score }) => score > 0)
  const ranked = scored.toSorted((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
  return [...new Set([...exact, ...ranked.map(({ tool }) => tool)])].slice(0, maxFound)
}
