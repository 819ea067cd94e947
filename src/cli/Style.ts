/**
 * Colours for people. Everything takes text that is safe for a terminal already.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 @category models */
export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

const paint = (on: number, off: number) => (text: string): string =>
  text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`

const same = (text: string): string => text

/** @since 0.1.0 @category constants */
export const coloured: Style = {
  bold: paint(1, 22),
  dim: paint(2, 22),
  red: paint(31, 39),
  green: paint(32, 39),
  yellow: paint(33, 39),
  cyan: paint(36, 39)
}

/** @since 0.1.0 @category constants */
export const colourless: Style = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same }

/** Colours on a terminal, unless `NO_COLOR` is set (no-color.org) or the terminal is dumb. @since 0.1.0 @category constructors */
export const styleFor = (
  environment: { readonly vars: ReadonlyMap<string, string> },
  is_tty: boolean
): Style =>
  is_tty && (environment.vars.get("NO_COLOR") ?? "") === "" && environment.vars.get("TERM") !== "dumb"
    ? coloured
    : colourless

/** The text without colours. @since 0.1.0 @category encoding */
export const plain = (text: string): string => text.replaceAll(/\u001b\[[0-9;]*m/g, "")
