/**
 * What is printed before anything else of the program is loaded.
 *
 * @since 0.1.0
 */

/**
 * Prints and ends. A reader that has gone (`hanzo-dev --help | head -1`) is no error, a full disk is.
 *
 * @since 0.1.0
 * @category combinators
 */
export const answer = (stream: NodeJS.WriteStream, text: string, code: number): void => {
  process.exitCode = code
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (stream !== process.stdout || error.code === "EPIPE") process.exit(code)
    process.stderr.write(`hanzo-dev: stdout cannot be written: ${error.message}\n`, () => process.exit(1))
  })
  stream.write(text)
}
