/**
 * The log: to stderr for a person to read, or to the file that `HANZO_LOG_FILE` names as logfmt; never to stdout
 * (effect-style 3.6, rule 9).
 *
 * `HANZO_LOG_LEVEL` is one of all, trace, debug, info, warning, error, fatal, none; without it only warnings and worse
 * are written. Values of credential variables stand in no line.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as HashSet from "effect/HashSet"
import * as Inspectable from "effect/Inspectable"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { appendFileSync, writeSync } from "node:fs"
import * as path from "node:path"
import { neutralise } from "../codec/TerminalText.ts"
import * as Layers from "../domain/Layers.ts"
import { Environment, variable } from "./Environment.ts"
import { redactor } from "./Redaction.ts"

/** The level of a word, case ignored; warnings for a word that names none. @since 0.1.0 @category decoding */
export const levelOf = (word: string | undefined): LogLevel.LogLevel =>
  LogLevel.allLevels.find((level) => level._tag.toLowerCase() === word?.toLowerCase()) ?? LogLevel.Warning

/** A logger that hands each line to `write`. @since 0.1.0 @category constructors */
export const make = (write: (line: string) => void): Logger.Logger<unknown, void> =>
  Logger.map(Logger.logfmtLogger, (line) => write(`${neutralise(line)}\n`))

const words: Readonly<Record<string, string>> = { WARN: "warning" }

/** What a person reads: the level, the message, the cause. Further lines stand back: a message cannot pass for another. */
const plainLogger: Logger.Logger<unknown, string> = Logger.make(({ annotations, cause, logLevel, message }) =>
  [
    `hanzo-dev: ${words[logLevel.label] ?? logLevel.label.toLowerCase()}:`,
    ...Arr.ensure(message).map((part) => Inspectable.toStringUnknown(part)),
    ...Array.from(annotations, ([key, value]) => `${key}=${Inspectable.toStringUnknown(value, 0)}`),
    ...(Cause.isEmpty(cause) ? [] : [`\n${Cause.pretty(cause, { renderErrorCause: true })}`])
  ].join(" ").replaceAll(/\r\n?|\n/gu, "\n  ")
)

/** The same for a person to read. @since 0.1.0 @category constructors */
export const makePlain = (write: (line: string) => void): Logger.Logger<unknown, void> =>
  Logger.map(plainLogger, (line) => write(`${neutralise(line)}\n`))

/** This logger in place of the default one. @since 0.1.0 @category layers */
export const only = (logger: Logger.Logger<unknown, void>): Layer.Layer<never> =>
  Logger.replace(Logger.defaultLogger, logger)

const quietly = (write: () => void): void => {
  try {
    write()
  } catch {
    // a log that cannot be written must not end what it reports on
  }
}

/** Takes the place of the default logger. @since 0.1.0 @category layers */
export const layer: Layer.Layer<never, never, Environment> = Layers.scopedDiscard(
  Effect.gen(function*() {
    const environment = yield* Environment
    const file = variable(environment, "HANZO_LOG_FILE")
    const place = file === undefined ? undefined : path.resolve(environment.cwd, file)
    const redact = redactor(environment.vars)
    const logger = place === undefined
      ? makePlain((line) => quietly(() => void writeSync(2, redact(line))))
      : make((line) => quietly(() => appendFileSync(place, redact(line), { mode: 0o600 })))
    yield* Effect.locallyScopedWith(
      FiberRef.currentLoggers,
      (all) => HashSet.add(HashSet.remove(all, Logger.defaultLogger), logger)
    )
    yield* Effect.locallyScoped(
      FiberRef.currentMinimumLogLevel,
      levelOf(variable(environment, "HANZO_LOG_LEVEL"))
    )
  })
)
