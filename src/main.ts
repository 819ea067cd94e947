#!/usr/bin/env node
/**
 * The program `hanzo-dev`. `--version` is answered before anything else is loaded, `--help` and mistakes on the command
 * line before the commands are (effect-style 3.6, rule 7).
 *
 * @since 0.1.0
 */
import { answer } from "./cli/Answer.ts"
import type * as Front from "./cli/Front.ts"
import type * as Commands from "./cli/Main.ts"

declare const __HANZO_VERSION__: string | undefined
/** Set by the build of the program, where these are compiled files beside this one. */
declare const __HANZO_FRONT__: string | undefined
declare const __HANZO_COMMANDS__: string | undefined

const argv = process.argv.slice(2)

const version = (): void =>
  answer(process.stdout, `${typeof __HANZO_VERSION__ === "string" ? __HANZO_VERSION__ : "0.0.0"}\n`, 0)

const front = async (): Promise<typeof Front> => {
  if (typeof __HANZO_FRONT__ === "string") {
    const { load } = await import("./platform/CompiledModule.ts")
    return load(__HANZO_FRONT__, false) as typeof Front
  }
  return import("./cli/Front.ts")
}

const commands = async (): Promise<typeof Commands> => {
  if (typeof __HANZO_COMMANDS__ === "string") {
    const { load } = await import("./platform/CompiledModule.ts")
    return load(__HANZO_COMMANDS__, true) as typeof Commands
  }
  return import("./cli/Main.ts")
}

const main = async (): Promise<void> => {
  const { main } = await front()
  return main(argv, version, commands)
}

/** Of an installation that is not whole the remedy is told, not a stack. */
const unusable = (error: unknown): void => {
  if (!(error instanceof Error) || error.name !== "UnusableFile") throw error
  answer(process.stderr, `hanzo-dev: ${error.message}\n`, 1)
}

if (argv.length === 1 && argv[0] === "--version") version()
else void main().catch(unusable)
