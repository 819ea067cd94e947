#!/usr/bin/env node
/**
 * The program `hanzo-dev`. `--version`, `--help` and mistakes on the command line are answered before anything else is
 * loaded (effect-style 3.6, rule 7).
 *
 * @since 0.1.0
 */
import type * as Commands from "./cli/Main.ts"

declare const __HANZO_VERSION__: string | undefined
/** Set by the build of the program, where the commands are one compiled file beside this one. */
declare const __HANZO_COMMANDS__: string | undefined

const argv = process.argv.slice(2)

/** Prints and ends. A reader that has gone (`hanzo-dev --help | head -1`) is no error, a full disk is. */
const answer = (stream: NodeJS.WriteStream, text: string, code: number): void => {
  process.exitCode = code
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (stream !== process.stdout || error.code === "EPIPE") process.exit(code)
    process.stderr.write(`hanzo-dev: stdout cannot be written: ${error.message}\n`, () => process.exit(1))
  })
  stream.write(text)
}

const version = (): void =>
  answer(process.stdout, `${typeof __HANZO_VERSION__ === "string" ? __HANZO_VERSION__ : "0.0.0"}\n`, 0)

const commands = async (): Promise<typeof Commands> => {
  if (typeof __HANZO_COMMANDS__ === "string") {
    const { load } = await import("./platform/CompiledModule.ts")
    return load(__HANZO_COMMANDS__) as typeof Commands
  }
  return import("./cli/Main.ts")
}

const main = async (): Promise<void> => {
  const { check } = await import("./cli/Check.ts")
  const checked = check(argv)
  switch (checked.kind) {
    case "version":
      return version()
    case "help": {
      const { help } = await import("./cli/Help.ts")
      const { coloured, colourless } = await import("./cli/Style.ts")
      const { stdout } = process
      return answer(stdout, help(checked.path, stdout.isTTY && stdout.hasColors() ? coloured : colourless), 0)
    }
    case "error": {
      const [first, ...rest] = checked.lines
      return answer(process.stderr, [`hanzo-dev: ${first}`, ...rest.map((line) => `  ${line}`), ""].join("\n"), 2)
    }
    case "command": {
      const { directoryFault, homeFault } = await import("./platform/Home.ts")
      const fault = homeFault(process.env) ?? directoryFault(() => process.cwd())
      if (fault !== null) return answer(process.stderr, `hanzo-dev: ${fault}\n`, 2)
      const { run } = await commands()
      return run(checked.command, checked.argv)
    }
  }
}

if (argv.length === 1 && argv[0] === "--version") version()
else void main()
