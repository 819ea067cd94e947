/**
 * Answers of language servers, read leniently: what cannot be read is left out, nothing throws (readings 8.1, 8.2).
 * Positions come out in the server's units.
 *
 * @since 0.1.0
 */
import { isJsonObject, type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import type { CodeSymbol, Diagnostic, Location, Position, Range, Severity, TextEdit } from "./Types.ts"

const nothing: Position = { line: 0, character: 0 }

/** UTF-16 units that are kept of a message, and of a hover. */
const maxMessage = 8_000
const maxHover = 32_000
/** Of a name, a title, a source. @since 0.1.0 @category constants */
export const maxName = 1_000
/** Longer URIs name no file. @since 0.1.0 @category constants */
export const maxUri = 16_384
/** The largest number of the protocol (LSP 3.17, uinteger). */
const maxUnit = 2 ** 31 - 1

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * At most so many UTF-16 units; a copy, so that the whole text need not be kept for the part.
 *
 * @since 0.1.0
 * @category combinators
 */
export const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${decoder.decode(encoder.encode(text.slice(0, most - 1)))}\u2026`

const isUnit = (value: unknown): value is number => typeof value === "number" && Number.isInteger(value) && value >= 0

const readPosition = (value: unknown): Position | null => {
  if (!isJsonObject(value)) return null
  const line = own(value, "line")
  const character = own(value, "character")
  return isUnit(line) && isUnit(character)
    ? { line: Math.min(line, maxUnit), character: Math.min(character, maxUnit) }
    : null
}

/** @since 0.1.0 @category decoding */
export const readRange = (value: unknown): Range | null => {
  if (!isJsonObject(value)) return null
  const start = readPosition(own(value, "start"))
  const end = readPosition(own(value, "end"))
  return start === null || end === null ? null : { start, end }
}

const readLocation = (value: unknown): Location | null => {
  if (!isJsonObject(value)) return null
  const uri = own(value, "uri") ?? own(value, "targetUri")
  if (typeof uri !== "string" || uri === "" || uri.length > maxUri) return null
  const range = readRange(own(value, "range") ?? own(value, "targetSelectionRange") ?? own(value, "targetRange"))
  return range === null ? null : { uri, range }
}

/** Location, Location[], LocationLink[] (its targetSelectionRange) or null. @since 0.1.0 @category decoding */
export const readLocations = (value: unknown): ReadonlyArray<Location> =>
  (Array.isArray(value) ? value : [value]).flatMap((one) => readLocation(one) ?? [])

const entities: Readonly<Record<string, string>> = { nbsp: " ", lt: "<", gt: ">", amp: "&", quot: "\"" }

/** Escapes and entities of one line that is no code. */
const plain = (line: string): string =>
  line.split(/(`+[^`]*`+)/u).map((part, index) =>
    index % 2 === 1
      ? part
      : part.replaceAll(
        /\\([!-/:-@[-`{-~])|&(nbsp|lt|gt|amp|quot);/gu,
        (_, escaped, entity) => typeof escaped === "string" ? escaped : entities[String(entity)] ?? ""
      )
  ).join("")

/** Fences of Markdown are dropped, their content stays as it is. */
const flatten = (markdown: string): string => {
  let fenced = false
  return markdown.split("\n").flatMap((line) => {
    if (/^\s*(?:```|~~~)/u.test(line)) {
      fenced = !fenced
      return []
    }
    return fenced ? [line] : [plain(line)]
  }).join("\n")
}

const maxNested = 10

/** A string is Markdown; with a language it is code; MarkupContent says what it is. */
const marked = (value: unknown, depth = 0): string => {
  if (typeof value === "string") return flatten(cut(value, maxHover))
  if (Array.isArray(value)) {
    if (depth > maxNested) return ""
    return value.slice(0, 100).map((one) => marked(one, depth + 1)).filter((text) => text.trim() !== "").join("\n\n")
  }
  if (!isJsonObject(value)) return ""
  const text = own(value, "value")
  if (typeof text !== "string") return ""
  return own(value, "kind") === "markdown" ? flatten(cut(text, maxHover)) : cut(text, maxHover)
}

/** String, MarkedString(s) or MarkupContent as text; null = nothing (reading 8.2). @since 0.1.0 @category decoding */
export const readHover = (value: unknown): string | null => {
  if (!isJsonObject(value)) return null
  const text = cut(marked(own(value, "contents")), maxHover).replaceAll(/\r\n?/gu, "\n").replaceAll(/\n{3,}/gu, "\n\n")
    .trim()
  return text === "" ? null : text
}

const messageOf = (value: unknown): string => cut(typeof value === "string" ? value : marked(value), maxMessage)

/** At most `most`, of more the worst. @since 0.1.0 @category decoding */
export const readDiagnostics = (uri: string, value: unknown, most: number): ReadonlyArray<Diagnostic> => {
  if (!Array.isArray(value)) return []
  const out: Array<Diagnostic> = []
  const counts: Record<Severity, number> = { 1: 0, 2: 0, 3: 0, 4: 0 }
  for (const one of value) {
    if (!isJsonObject(one)) continue
    const given = own(one, "severity")
    const severity: Severity = given === 2 || given === 3 || given === 4 ? given : 1
    if (counts[severity] >= most) continue
    const message = messageOf(own(one, "message"))
    if (message === "") continue
    const source = own(one, "source")
    const code = own(one, "code")
    const plain = isJsonObject(code) ? own(code, "value") : code
    counts[severity]++
    out.push({
      uri,
      // a diagnostic without a usable place is about the file
      range: readRange(own(one, "range")) ?? { start: nothing, end: nothing },
      severity,
      message,
      source: typeof source === "string" ? cut(source, maxName) : "",
      ...(typeof plain === "string" || typeof plain === "number" ? { code: cut(String(plain), maxName) } : {})
    })
  }
  return out.length <= most ? out : out.toSorted((a, b) => a.severity - b.severity).slice(0, most)
}

const kinds = [
  "file",
  "module",
  "namespace",
  "package",
  "class",
  "method",
  "property",
  "field",
  "constructor",
  "enum",
  "interface",
  "function",
  "variable",
  "constant",
  "string",
  "number",
  "boolean",
  "array",
  "object",
  "key",
  "null",
  "enum member",
  "struct",
  "event",
  "operator",
  "type parameter"
]

const kindOf = (value: unknown): string => typeof value === "number" ? kinds[value - 1] ?? "symbol" : "symbol"
const textOf = (value: unknown): string => typeof value === "string" ? cut(value, maxName) : ""
const uriOf = (value: unknown): string => typeof value === "string" && value.length <= maxUri ? value : ""

/** A call hierarchy item, or a symbol with `uri` and `range`. @since 0.1.0 @category decoding */
export const readItem = (value: unknown): CodeSymbol | null => {
  if (!isJsonObject(value)) return null
  const name = own(value, "name")
  const uri = own(value, "uri")
  const range = readRange(own(value, "range"))
  if (typeof name !== "string" || typeof uri !== "string" || uri.length > maxUri || range === null) return null
  return {
    name: cut(name, maxName),
    kind: kindOf(own(value, "kind")),
    uri,
    range,
    selection: readRange(own(value, "selectionRange")) ?? range,
    container: textOf(own(value, "detail"))
  }
}

const maxDepth = 50

/** DocumentSymbol[] (flattened, parents first), SymbolInformation[], WorkspaceSymbol[] or null. @since 0.1.0 @category decoding */
export const readSymbols = (uri: string, value: unknown, most: number): ReadonlyArray<CodeSymbol> => {
  const out: Array<CodeSymbol> = []
  const visit = (items: unknown, container: string, depth: number): void => {
    if (!Array.isArray(items) || depth > maxDepth) return
    for (const one of items) {
      if (out.length >= most) return
      if (!isJsonObject(one)) continue
      const given = own(one, "name")
      if (typeof given !== "string") continue
      const name = cut(given, maxName)
      const location = own(one, "location")
      const place = isJsonObject(location) ? location : null
      const at = place === null ? uri : uriOf(own(place, "uri"))
      const range = readRange(place === null ? own(one, "range") : own(place, "range"))
      if (at === "" || (range === null && place === null)) continue
      const whole = range ?? { start: nothing, end: nothing }
      out.push({
        name,
        kind: kindOf(own(one, "kind")),
        uri: at,
        range: whole,
        selection: readRange(own(one, "selectionRange")) ?? whole,
        container: container === "" ? textOf(own(one, "containerName")) : container
      })
      visit(own(one, "children"), container === "" ? name : cut(`${container}.${name}`, maxName), depth + 1)
    }
  }
  visit(value, "", 0)
  return out
}

const readEdits = (value: unknown): ReadonlyArray<TextEdit> | null => {
  if (!Array.isArray(value)) return null
  const edits: Array<TextEdit> = []
  for (const one of value) {
    if (!isJsonObject(one)) return null
    const range = readRange(own(one, "range"))
    const new_text = own(one, "newText")
    // an edit that cannot be read spoils all of them: half a change is worse than none
    if (range === null || typeof new_text !== "string") return null
    edits.push({ range, new_text })
  }
  return edits
}

/** A workspace edit as it was said. @since 0.1.0 @category models */
export interface SaidEdit {
  readonly files: ReadonlyArray<{
    readonly uri: string
    readonly edits: ReadonlyArray<TextEdit>
    /** Of the document they are for; null = not said, as 0 is by some servers. */
    readonly version: number | null
  }>
  readonly unsupported: string | null
}

/** `changes` or `documentChanges`; null = there is no edit, or one that cannot be read. @since 0.1.0 @category decoding */
export const readWorkspaceEdit = (value: unknown): SaidEdit | null => {
  if (!isJsonObject(value)) return null
  const files = new Map<string, { readonly edits: Array<TextEdit>; version: number | null }>()
  let unsupported: string | null = null
  const add = (uri: unknown, edits: unknown, version: unknown): boolean => {
    const read = readEdits(edits)
    if (typeof uri !== "string" || uri.length > maxUri || read === null) return false
    const file = files.get(uri) ?? { edits: [], version: null }
    for (const edit of read) file.edits.push(edit)
    if (typeof version === "number" && version > 0) file.version = Math.min(version, file.version ?? Infinity)
    files.set(uri, file)
    return true
  }
  const documents = own(value, "documentChanges")
  if (Array.isArray(documents)) {
    for (const one of documents) {
      if (!isJsonObject(one)) return null
      const kind = own(one, "kind")
      if (typeof kind === "string") {
        const at = uriOf(own(one, "uri")) || uriOf(own(one, "oldUri"))
        unsupported ??= `it would ${cut(kind, 40)} ${at}`
        continue
      }
      const document = own(one, "textDocument")
      if (!isJsonObject(document)) return null
      if (!add(own(document, "uri"), own(one, "edits"), own(document, "version"))) return null
    }
  } else {
    const changes = own(value, "changes")
    if (isJsonObject(changes)) {
      for (const [uri, edits] of Object.entries(changes)) if (!add(uri, edits, null)) return null
    }
  }
  return {
    files: Array.from(files, ([uri, file]) => ({ uri, ...file })).filter(({ edits }) => edits.length > 0),
    unsupported
  }
}

/** What a diagnostic report says; null = it cannot be read. @since 0.1.0 @category decoding */
export const readReport = (
  value: unknown
): {
  readonly unchanged: boolean
  readonly items: unknown
  readonly result_id: string | null
  readonly related: JsonRpcObject
} | null => {
  if (!isJsonObject(value)) return null
  const kind = own(value, "kind")
  const id = own(value, "resultId")
  const related = own(value, "relatedDocuments")
  // a full report without its list says nothing, not even "none"
  if (kind !== "unchanged" && (kind !== "full" || !Array.isArray(own(value, "items")))) return null
  return {
    unchanged: kind === "unchanged",
    items: own(value, "items"),
    result_id: typeof id === "string" && id.length <= maxMessage ? id : null,
    related: isJsonObject(related) ? related : {}
  }
}
