/**
 * MCP servers as a conversation shows them.
 *
 * @since 0.1.0
 */
import { line } from "../codec/TerminalText.ts"
import * as Remedy from "../mcp/Remedy.ts"
import type { McpServerStatus } from "../mcp/ServerState.ts"
import type { PromptCommandInfo } from "../tools/McpAccess.ts"
import { columns } from "./Output.ts"
import type { Style } from "./Style.ts"

const phase = ({ phase: given }: McpServerStatus, style: Style): string =>
  given === "ready" ? style.green(given) : given === "idle" ? "not started" : style.yellow(given.replace("_", " "))

const detail = ({ era, error, tools, version }: McpServerStatus): string =>
  [
    ...(tools === 0 ? [] : [`${tools} ${tools === 1 ? "tool" : "tools"}`]),
    ...(version === undefined ? [] : [`${version} (${era})`]),
    ...(error === undefined ? [] : [line(error.message, 300)])
  ].join(", ")

/** Where to read more about a server that is not there; nothing for one that has no log, or wrote nothing. @since 0.1.0 @category encoding */
export const logsText = (server: string, kind: McpServerStatus["kind"], code: string): string =>
  kind !== "stdio" || code === "config" || code === "start_failed"
    ? ""
    : `  ${Remedy.command("logs", server)} shows what it wrote\n`

/** A server a line, then the prompts as commands. @since 0.1.0 @category encoding */
export const serversText = (
  servers: ReadonlyArray<McpServerStatus>,
  prompts: ReadonlyArray<PromptCommandInfo>,
  style: Style
): string => {
  if (servers.length === 0) return "there are no MCP servers; hanzo-dev mcp add adds one\n"
  const rows = columns(servers.map((server) => [line(server.server, 60), phase(server, style), detail(server)]))
  const commands = prompts.map((prompt) => {
    const args = prompt.arguments.map(({ name, required }) => required ? ` ${name}` : ` [${name}]`).join("")
    return `  /${prompt.name}${args === "" ? "" : ` ${line(args, 100)}`}${
      prompt.description === "" ? "" : style.dim(`  ${line(prompt.description, 120)}`)
    }\n`
  })
  return `${rows}${commands.join("")}`
}
