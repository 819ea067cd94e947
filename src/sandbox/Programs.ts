/**
 * Which workspace files run without anybody asking: the programs of hooks, MCP servers and language servers (reading
 * 9.9). Whoever can write such a file decides what is executed outside the sandbox.
 *
 * @since 0.1.0
 */

/**
 * What is active, as the settings give it: command lines for a shell (hooks) and argument lists (servers).
 *
 * @since 0.1.0
 * @category models
 */
export interface ActiveCommands {
  readonly lines: ReadonlyArray<string>
  readonly argvs: ReadonlyArray<ReadonlyArray<string>>
}

/** `sure`: the text names a program or file for certain, so it is protected even before it exists. @since 0.1.0 @category models */
export interface ProgramCandidate {
  readonly text: string
  readonly sure: boolean
}

/** Simple commands of a line as words after quote removal, as far as that can be told without running it. */
const commandsIn = (line: string): ReadonlyArray<ReadonlyArray<string>> => {
  const found: Array<Array<string>> = [[]]
  const tokens = line.matchAll(
    /[;&|()<>\n`]|(?:[^\s'"\\;&|<>()`$]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|\$\{?[A-Za-z_]\w*\}?)+/gsu
  )
  for (const [token] of tokens) {
    if (/^[;&|()<>\n`]$/u.test(token)) {
      found.push([])
      continue
    }
    found.at(-1)?.push(token.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gsu, (_, single, double, escaped) => {
      const quoted: unknown = single ?? double ?? escaped
      return typeof quoted === "string" ? quoted.replace(/\\(["\\$`])/gu, "$1") : ""
    }))
  }
  return found
}

const isAssignment = (word: string): boolean => /^[A-Za-z_]\w*=/u.test(word)

/** Variables that a hook's command line may use for the project's root. */
const rootVariables = /^\$\{?(?:HANZO_PROJECT_ROOT|PWD)\}?(?=\/)/u

/**
 * Texts of active commands that may be files, relative to the project's root. Options (`--require=./x`) give what is
 * behind the `=` too.
 *
 * @since 0.1.0
 * @category combinators
 */
export const programCandidates = (commands: ActiveCommands): ReadonlyArray<ProgramCandidate> => {
  const found = new Map<string, boolean>()
  const add = (list: ReadonlyArray<string>): void => {
    const first = list.findIndex((word) => !isAssignment(word))
    list.forEach((word, index) => {
      const plain = word.replace(rootVariables, ".")
      for (const text of [plain, plain.slice(plain.indexOf("=") + 1)]) {
        if (text === "" || text.startsWith("-") || text.includes("\0") || text.includes("$")) continue
        const sure = index === first && text === plain && text.includes("/")
        found.set(text, (found.get(text) ?? false) || sure)
      }
    })
  }
  for (const line of commands.lines) for (const words of commandsIn(line)) add(words)
  for (const argv of commands.argvs) add(argv)
  return Array.from(found, ([text, sure]) => ({ text, sure }))
}

const text = (value: unknown): ReadonlyArray<string> => typeof value === "string" ? [value] : []

const list = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : text(value)

const member = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined

const values = (value: unknown): ReadonlyArray<unknown> =>
  typeof value === "object" && value !== null ? Object.values(value) : []

/** The commands that the settings name; a `command` with separate `args` is one list. @since 0.1.0 @category decoding */
export const commandsOf = (
  config: { readonly hooks: ReadonlyArray<unknown>; readonly mcp_servers: unknown; readonly lsp: unknown }
): ActiveCommands => ({
  lines: config.hooks.flatMap((hook) => text(member(hook, "command"))),
  argvs: [...values(config.mcp_servers), ...values(member(config.lsp, "servers"))]
    .map((server) => [...list(member(server, "command")), ...list(member(server, "args"))])
    .filter((argv) => argv.length > 0)
})
