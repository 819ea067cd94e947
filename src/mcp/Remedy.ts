/**
 * Commands that a message about a server names: what is shown can be pasted into a shell and runs there, whatever the server
 * is called.
 *
 * @since 0.1.0
 */
import { shellWord } from "../codec/ShellWord.ts"
import { line } from "../codec/TerminalText.ts"

/** `options`: their names and values, one word each. @since 0.1.0 @category encoding */
export const command = (
  action: "auth" | "enable" | "get" | "logs",
  server: string,
  options: ReadonlyArray<string> = []
): string => {
  const shown = line(server, 200)
  const name = shellWord(shown)
  const more = options.map((option) => shellWord(line(option, 80)))
  return ["hanzo-dev", "mcp", action, ...(shown.startsWith("-") ? [...more, "--", name] : [name, ...more])].join(" ")
}
