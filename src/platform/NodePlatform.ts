/**
 * Everything the program needs from Node, and the way a program of this package runs on it.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import { closeSync, fstatSync, writeSync } from "node:fs"
import { isatty } from "node:tty"
import { neutralise } from "../codec/TerminalText.ts"
import { bounded } from "./Directories.ts"
import { direct } from "./DirectFiles.ts"
import { Dirs } from "./Dirs.ts"
import { Environment } from "./Environment.ts"
import { inOrder, sync } from "../domain/Layers.ts"
import * as Log from "./Log.ts"
import * as NodeFiles from "./NodeFiles.ts"
import * as NodePaths from "./NodePaths.ts"
import { redactor } from "./Redaction.ts"
import { exitCodeOf, Signals } from "./Signals.ts"
import { Terminal } from "./Terminal.ts"

/** @since 0.1.0 @category models */
export type NodePlatform = FileSystem.FileSystem | Path.Path | Environment | Dirs | Terminal | Signals

const files = sync(FileSystem.FileSystem, () => direct(bounded(NodeFiles.make())))

/** @since 0.1.0 @category layers */
export const layer: Layer.Layer<NodePlatform> = inOrder(
  Environment.layer,
  files,
  NodePaths.layer,
  Dirs.layer,
  Terminal.layer,
  Signals.layer,
  Log.layer
)

const complain = (text: string): void => {
  try {
    writeSync(2, text)
  } catch {
    // nobody reads stderr
  }
}

/**
 * At its end Node puts back the modes of the terminals that it began with, and aborts where one has gone meanwhile. What
 * is closed it leaves alone.
 */
const closeLostTerminals = (): void => {
  for (const fd of [0, 1, 2]) {
    try {
      if (fstatSync(fd).isCharacterDevice() && !isatty(fd)) closeSync(fd)
    } catch {
      // it is closed
    }
  }
}

/**
 * Runs a program to its exit code and ends the process with it. A signal that the program does not take itself
 * interrupts it: its scopes close, then the process ends with 130 or 143. A defect is printed to stderr, exit code 1.
 *
 * @since 0.1.0
 * @category constructors
 */
export const runMain = (program: Effect.Effect<number, never, NodePlatform>): void => {
  process.once("exit", closeLostTerminals)
  let redact = (text: string): string => text
  const interruptible = Effect.gen(function*() {
    const signals = yield* Signals
    redact = redactor((yield* Environment).vars)
    return yield* Effect.raceFirst(program, Effect.map(signals.unhandled, exitCodeOf))
  })
  const fiber = Effect.runFork(Effect.provide(interruptible, layer))
  fiber.addObserver((exit) => {
    if (Exit.isSuccess(exit)) process.exit(exit.value)
    if (Cause.isInterruptedOnly(exit.cause)) process.exit(130)
    complain(`hanzo-dev: internal error: ${neutralise(redact(Cause.pretty(exit.cause)))}\n`)
    process.exit(1)
  })
}
