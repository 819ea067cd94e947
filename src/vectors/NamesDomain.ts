/**
 * The domain `names`: servers and tools in, names out (readings 1.6 to 1.9 and 18.6).
 *
 * @since 0.1.0
 */
import { canonicalName, catalogue, McpNameError, type NamedTool } from "../mcp/Names.ts"
import { alias } from "../protocol/ToolNames.ts"
import { badRequest, count, type Domain, type Fields, fields, list, type Outcome, Refusal } from "./Domain.ts"

const text = (value: unknown, where: string): string => {
  if (typeof value !== "string") throw badRequest(`${where} must be a string`)
  return value
}

const named = (value: Fields, where: string): NamedTool => ({
  server: text(value["server"], `${where}.server`),
  tool: text(value["tool"], `${where}.tool`)
})

const outcome = (output: () => unknown): Outcome => {
  try {
    return { output: output() }
  } catch (cause) {
    if (cause instanceof McpNameError) return { error: { code: cause.reason, message: cause.message } }
    throw cause
  }
}

/** @since 0.1.0 @category constructors */
export const names: Domain = (value) => {
  const input = fields(value, "input")
  const { alias_limit, tools } = input
  if (tools !== undefined) {
    if (input["server"] !== undefined || input["tool"] !== undefined || alias_limit !== undefined) {
      throw badRequest("input has tools and more")
    }
    const given = list(tools, "input.tools").map((each, i) =>
      named(fields(each, `input.tools.${i}`), `input.tools.${i}`)
    )
    return outcome(() => catalogue(given))
  }
  if (input["server"] === undefined && input["tool"] === undefined) {
    throw new Refusal("unsupported", "input has neither server and tool nor tools")
  }
  const { server, tool } = named(input, "input")
  if (alias_limit === undefined) return outcome(() => ({ name: canonicalName(server, tool) }))
  const limit = count(alias_limit, "input.alias_limit", Number.MAX_SAFE_INTEGER)
  if (limit < 10) throw badRequest("input.alias_limit must be at least 10")
  return outcome(() => {
    const name = canonicalName(server, tool)
    return { name, alias: alias(name, limit) }
  })
}
