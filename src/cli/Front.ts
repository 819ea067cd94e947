/**
 * Checks the command line: help and mistakes are answered here, and only a command that can run is loaded.
 *
 * @since 0.1.0
 */
import { startFault } from "../platform/Home.ts"
import { answer } from "./Answer.ts"
import { check } from "./Check.ts"
import type * as Commands from "./Main.ts"
import { coloured, colourless } from "./Style.ts"

/** Answers, or runs the command that `load` gives. @since 0.1.0 @category constructors */
export const main = async (
  argv: ReadonlyArray<string>,
  version: () => void,
  load: () => Promise<typeof Commands>
): Promise<void> => {
  const checked = check(argv)
  switch (checked.kind) {
    case "version":
      return version()
    case "help": {
      const { help } = await import("./Help.ts")
      const { stdout } = process
      return answer(stdout, help(checked.path, stdout.isTTY && stdout.hasColors() ? coloured : colourless), 0)
    }
    case "error": {
      const [first, ...rest] = checked.lines
      return answer(process.stderr, [`hanzo-dev: ${first}`, ...rest.map((line) => `  ${line}`), ""].join("\n"), 2)
    }
    case "command": {
      const fault = startFault()
      if (fault !== null) return answer(process.stderr, `hanzo-dev: ${fault}\n`, 2)
      const { run } = await load()
      return run(checked.command, checked.argv)
    }
  }
}
