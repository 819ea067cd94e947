/**
 * Places whose files decide what runs without being asked for: git's own, the settings, the programs of hooks and servers.
 * No permission mode answers a question about them (reading 7.4). Pure.
 *
 * @since 0.1.0
 */
import type { HanzoConfig } from "../config/Schema.ts"

const ownPlace = /(?:^|\/)\.(?:git|hanzo)(?:\/|$)/i

/** `subject` as rules see a path. @since 0.1.0 @category combinators */
export const isOwnPlace = (subject: string): boolean => ownPlace.test(subject)

/** Words that may name a program or a script in the commands of hooks and servers. @since 0.1.0 @category combinators */
export const programWords = (
  config: Pick<HanzoConfig, "hooks" | "mcp_servers" | "lsp">
): ReadonlyArray<string> => {
  const lines = config.hooks.map(({ command }) => command)
  const argvs = [...Object.values(config.mcp_servers), ...Object.values(config.lsp.servers)].flatMap((server) => {
    const { command } = server
    const args: unknown = "args" in server ? server.args : []
    return [...(typeof command === "string" ? [command] : command ?? []), ...(Array.isArray(args) ? args : [])]
  })
  const words = [...lines.flatMap((line) => line.split(/[\s'"`;|&()<>$={}]+/)), ...argvs.map(String)]
  return [...new Set(words)].filter((word) => /[./]/.test(word) && !/^[a-z]+:\/\//i.test(word) && word.length <= 4096)
}
