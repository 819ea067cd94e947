import * as Logger from "effect/Logger"
import type * as Layer from "effect/Layer"

/**
 * The test clock warns through the same logger, by the wall clock: after five seconds in which a busy machine ran
 * nothing, such a line stands among those of the program.
 */
const ofTheTestClock = /^Warning: A test is (?:using time|advancing)/u

/** What the program logs goes to `write`, in place of the default logger. */
export const loggedWith = (
  write: (entry: Logger.Logger.Options<unknown>, message: string) => void
): Layer.Layer<never> =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.make((entry) => {
      const message = String(entry.message)
      if (!ofTheTestClock.test(message)) write(entry, message)
    })
  )

/** The messages that the program logs go to `lines`. */
export const logTo = (lines: Array<string>): Layer.Layer<never> => loggedWith((_, message) => void lines.push(message))
