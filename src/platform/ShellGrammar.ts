/**
 * The grammar of bash: a command line in, a plain syntax tree out. Two WebAssembly files, loaded when the first line
 * asks for them (about 15 ms once, 0.1 ms a line afterwards).
 *
 * The files lie in `dist/grammar` beside the built program, or in `node_modules` when the sources run as they are.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { setFlagsFromString } from "node:v8"
import { TaggedError } from "../domain/TaggedError.ts"
import * as Layers from "../domain/Layers.ts"

/**
 * A node of the tree. `start` and `end` count UTF-16 units of the line; `type` is the grammar's word for a named node and
 * the token itself for others.
 *
 * @since 0.1.0
 * @category models
 */
export interface ShellNode {
  readonly type: string
  readonly named: boolean
  /** The part it plays in its parent (`name`, `argument`, `redirect`, ...). */
  readonly field: string | null
  readonly text: string
  readonly start: number
  readonly end: number
  /** The grammar did not fit here: an error, or a token that is missing. */
  readonly broken: boolean
  readonly children: ReadonlyArray<ShellNode>
}

/** The tree of a command line; null = it cannot be parsed (too long, too deep, too slow). @since 0.1.0 @category models */
export type ShellParser = (line: string) => ShellNode | null

/** Longest line that is parsed, in UTF-16 units. @since 0.1.0 @category constants */
export const maxLineUnits = 65_536

/** Deepest tree. @since 0.1.0 @category constants */
export const maxTreeDepth = 250

const maxNodes = 200_000
const maxParseMs = 500

/** The grammar's files are not there (`missing`) or do not fit this program (`unusable`). @since 0.1.0 @category errors */
export class ShellGrammarError
  extends TaggedError("@hanzo/dev/platform/ShellGrammarError")("ShellGrammarError", () => ({
    reason: Schema.Literal("missing", "unusable"),
    detail: Schema.String
  }))
{
  override get message(): string {
    return `the shell grammar ${
      this.reason === "missing" ? "was not found" : "cannot be used"
    }; install the package again. Until then rules allow only command lines of plain words (${this.detail})`
  }
}

const runtimeFile = "web-tree-sitter.wasm"
const grammarFile = "tree-sitter-bash.wasm"

/** Where a file of the grammar may be: beside the build, then the package it comes from. */
const places = function*(file: string, module_url: string): Generator<string> {
  const here = dirname(fileURLToPath(module_url))
  for (const up of ["..", join("..", "..")]) yield join(here, up, "grammar", file)
  try {
    yield createRequire(module_url).resolve(`${file.slice(0, -".wasm".length)}/${file}`)
  } catch {
    // the package is not installed
  }
}

const codeOf = (cause: unknown): unknown =>
  typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined

const readFirst = (candidates: Iterable<string>): Uint8Array => {
  const tried: Array<string> = []
  for (const candidate of candidates) {
    try {
      return readFileSync(candidate)
    } catch (cause) {
      const code = codeOf(cause)
      if (code !== "ENOENT" && code !== "ENOTDIR") throw cause
      tried.push(candidate)
    }
  }
  throw new ShellGrammarError({ reason: "missing", detail: `looked for ${tried.join(", ")}` })
}

/** Set by the build of the program: a library leaves the flags of its process alone. */
declare const __HANZO_VERSION__: string | undefined

/**
 * The grammar is one large function. Optimising it takes a third of a second of a processor and 25 MB to save microseconds
 * a line. The flag counts when a module is compiled; left as it was, or modules of Node are compiled anew.
 */
const unoptimised = async <A>(compile: () => Promise<A>): Promise<A> => {
  if (typeof __HANZO_VERSION__ !== "string") return compile()
  setFlagsFromString("--liftoff-only")
  try {
    return await compile()
  } finally {
    setFlagsFromString("--no-liftoff-only")
  }
}

/** A parser of its own. Rejects with ShellGrammarError. @since 0.1.0 @category constructors */
export const makeParser = async (module_url: string = import.meta.url): Promise<ShellParser> => {
  try {
    const runtime = readFirst(places(runtimeFile, module_url))
    const grammar = readFirst(places(grammarFile, module_url))
    const { Language, Parser } = await import("web-tree-sitter")
    const language = await unoptimised(async () => {
      await Parser.init({ wasmBinary: runtime })
      return Language.load(grammar)
    })
    const parser = new Parser()
    parser.setLanguage(language)

    const copy = (line: string, cursor: Cursor): ShellNode | null => {
      let nodes = 0
      const node = (depth: number): ShellNode | null => {
        if (depth > maxTreeDepth || ++nodes > maxNodes) return null
        const {
          currentFieldName: field,
          endIndex: end,
          nodeIsMissing,
          nodeIsNamed: named,
          nodeType: type,
          startIndex: start
        } = cursor
        const children: Array<ShellNode> = []
        if (cursor.gotoFirstChild()) {
          do {
            const child = node(depth + 1)
            if (child === null) return null
            children.push(child)
          } while (cursor.gotoNextSibling())
          cursor.gotoParent()
        }
        return {
          type,
          named,
          field: field ?? null,
          text: line.slice(start, end),
          start,
          end,
          broken: nodeIsMissing || type === "ERROR",
          children
        }
      }
      return node(0)
    }

    return (line) => {
      if (line.length > maxLineUnits) return null
      const started = performance.now()
      const tree = parser.parse(line, null, { progressCallback: () => performance.now() - started > maxParseMs })
      if (tree === null) {
        // A parse that was stopped would go on with the next line.
        parser.reset()
        return null
      }
      const cursor = tree.walk()
      try {
        return copy(line, cursor)
      } finally {
        cursor.delete()
        tree.delete()
      }
    }
  } catch (cause) {
    if (cause instanceof ShellGrammarError) throw cause
    throw new ShellGrammarError({ reason: "unusable", detail: cause instanceof Error ? cause.message : String(cause) })
  }
}

/** What is used of the grammar's cursor. */
interface Cursor {
  readonly nodeType: string
  readonly nodeIsNamed: boolean
  readonly nodeIsMissing: boolean
  readonly currentFieldName: string | null
  readonly startIndex: number
  readonly endIndex: number
  gotoFirstChild(): boolean
  gotoNextSibling(): boolean
  gotoParent(): boolean
}

/** @since 0.1.0 @category models */
export interface ShellGrammarService {
  /** Loads at the first use and keeps the parser; a failure is kept too. */
  readonly parser: Effect.Effect<ShellParser, ShellGrammarError>
}

/** @since 0.1.0 @category services */
export class ShellGrammar extends Context.Tag("@hanzo/dev/platform/ShellGrammar")<ShellGrammar, ShellGrammarService>() {
  static readonly layer: Layer.Layer<ShellGrammar> = Layers.effect(
    ShellGrammar,
    Effect.map(
      Effect.cached(Effect.tryPromise({
        try: () => makeParser(),
        catch: (cause) =>
          cause instanceof ShellGrammarError
            ? cause
            : new ShellGrammarError({ reason: "unusable", detail: String(cause) })
      })),
      (parser) => ({ parser })
    )
  )

  /** A grammar that cannot be loaded, for tests. */
  static readonly layerMissing: Layer.Layer<ShellGrammar> = Layers.succeed(ShellGrammar, {
    parser: Effect.fail(new ShellGrammarError({ reason: "missing", detail: "there is none here" }))
  })
}
