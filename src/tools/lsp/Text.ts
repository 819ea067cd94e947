/**
 * What language servers answer, as the model and the user read it: lines and columns from 1, bounded. Pure.
 *
 * @since 0.1.0
 */
import { line as oneLine } from "../../codec/TerminalText.ts"
import { diagnosticText, worst } from "../../lsp/Enrichment.ts"
import type { CallSite, CodeAction, CodeSymbol, Diagnostic, Location } from "../../lsp/Types.ts"
import { pathOf } from "../../lsp/Uri.ts"

/** Entries of one answer. @since 0.1.0 @category constants */
export const maxEntries = 100

/** The display form of a path. @since 0.1.0 @category models */
export type Display = (path: string) => string

/** @since 0.1.0 @category encoding */
export const fileText = (uri: string, display: Display): string => {
  const path = pathOf(uri)
  return oneLine(path === null ? uri : display(path), 1000)
}

const cut = <A>(all: ReadonlyArray<A>, text: (one: A) => string): string => {
  const lines = all.slice(0, maxEntries).map(text)
  return [...lines, ...(all.length > maxEntries ? [`${all.length - maxEntries} more`] : [])].join("\n")
}

/** `src/a.ts:3:5`. @since 0.1.0 @category encoding */
export const locationText = ({ range: { start }, uri }: Location, display: Display): string =>
  `${fileText(uri, display)}:${start.line + 1}:${start.character + 1}`

/** With the lines they are in, where those are known. @since 0.1.0 @category encoding */
export const locationsText = (
  all: ReadonlyArray<Location>,
  display: Display,
  lineAt: (location: Location) => string
): string =>
  cut(all, (location) => {
    const line = oneLine(lineAt(location).trim(), 200)
    return locationText(location, display) + (line === "" ? "" : `: ${line}`)
  })

/** @since 0.1.0 @category encoding */
export const symbolsText = (all: ReadonlyArray<CodeSymbol>, display: Display | null): string =>
  cut(all, ({ container, kind, name, selection: { start }, uri }) => {
    const at = `${start.line + 1}:${start.character + 1}`
    const place = display === null ? at : `${fileText(uri, display)}:${at}`
    return `${place} ${kind} ${oneLine(container === "" ? name : `${container}.${name}`, 200)}`
  })

/** @since 0.1.0 @category encoding */
export const diagnosticsText = (all: ReadonlyArray<Diagnostic>, display: Display): string => {
  const shown = worst(all.map((one) => ({ one })), maxEntries)
  return [
    ...shown.map(({ one }) => `${fileText(one.uri, display)}:${diagnosticText(one)}`),
    ...(all.length > shown.length ? [`${all.length - shown.length} more`] : [])
  ].join("\n")
}

/** @since 0.1.0 @category encoding */
export const callsText = (all: ReadonlyArray<CallSite>, display: Display): string =>
  cut(all, ({ ranges, symbol }) => {
    const lines = ranges.slice(0, 10).map(({ start }) => start.line + 1).join(", ")
    return `${locationText({ uri: symbol.uri, range: symbol.selection }, display)} ${symbol.kind} ${
      oneLine(symbol.name, 200)
    }${lines === "" ? "" : ` (calls on line ${lines})`}`
  })

/** @since 0.1.0 @category encoding */
export const actionsText = (all: ReadonlyArray<CodeAction>): string =>
  cut(
    all,
    ({ edit, kind, preferred, title }) =>
      `${oneLine(title, 200)}${kind === "" ? "" : ` (${oneLine(kind, 60)})`}${preferred ? " [preferred]" : ""}${
        edit === null ? " [cannot be applied here: it is a command of the server]" : ""
      }`
  )
