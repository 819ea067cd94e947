/**
 * What we can do, said at `initialize`; and what a server can do, said there or registered later (LSP 3.17).
 *
 * @since 0.1.0
 */
import { isJsonObject, type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import type { PositionEncoding } from "./Types.ts"

/** @since 0.1.0 @category constants */
export const encodings: ReadonlyArray<PositionEncoding> = ["utf-16", "utf-8", "utf-32"]

/** `pull` false: the server is to push (some stop when they see that pulling is known). @since 0.1.0 @category constructors */
export const clientCapabilities = (pull: boolean): JsonRpcObject => ({
  general: {
    positionEncodings: encodings,
    staleRequestSupport: { cancel: true, retryOnContentModified: [] },
    markdown: { parser: "none" }
  },
  workspace: {
    applyEdit: true,
    configuration: true,
    workspaceFolders: true,
    didChangeConfiguration: { dynamicRegistration: true },
    didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
    workspaceEdit: { documentChanges: true, failureHandling: "abort", normalizesLineEndings: false },
    symbol: { dynamicRegistration: true },
    executeCommand: { dynamicRegistration: true },
    ...(pull ? { diagnostics: { refreshSupport: true } } : {})
  },
  textDocument: {
    synchronization: { dynamicRegistration: true, didSave: true },
    publishDiagnostics: { versionSupport: true, relatedInformation: false, codeDescriptionSupport: true },
    ...(pull ? { diagnostic: { dynamicRegistration: true, relatedDocumentSupport: true } } : {}),
    definition: { dynamicRegistration: true, linkSupport: true },
    implementation: { dynamicRegistration: true, linkSupport: true },
    references: { dynamicRegistration: true },
    hover: { dynamicRegistration: true, contentFormat: ["plaintext", "markdown"] },
    documentSymbol: { dynamicRegistration: true, hierarchicalDocumentSymbolSupport: true },
    callHierarchy: { dynamicRegistration: true },
    rename: { dynamicRegistration: true, prepareSupport: false },
    codeAction: {
      dynamicRegistration: true,
      isPreferredSupport: true,
      disabledSupport: true,
      dataSupport: true,
      resolveSupport: { properties: ["edit"] },
      codeActionLiteralSupport: {
        codeActionKind: { valueSet: ["", "quickfix", "refactor", "source", "source.organizeImports", "source.fixAll"] }
      }
    }
  },
  window: { workDoneProgress: true, showMessage: {}, showDocument: { support: false } }
})

/** Ways of pulling that are followed. */
const maxPulls = 8

interface Registration {
  readonly method: string
  readonly options: JsonRpcObject
}

/** One way of pulling diagnostics. @since 0.1.0 @category models */
export interface PullProvider {
  readonly identifier: string | null
  readonly workspace: boolean
  /** What documents it is for; null = all. */
  readonly selector: ReadonlyArray<unknown> | null
}

const providers: Readonly<Record<string, string>> = {
  "textDocument/definition": "definitionProvider",
  "textDocument/implementation": "implementationProvider",
  "textDocument/references": "referencesProvider",
  "textDocument/hover": "hoverProvider",
  "textDocument/documentSymbol": "documentSymbolProvider",
  "textDocument/prepareCallHierarchy": "callHierarchyProvider",
  "textDocument/rename": "renameProvider",
  "textDocument/codeAction": "codeActionProvider",
  "workspace/symbol": "workspaceSymbolProvider"
}

/** Methods that a server can have. @since 0.1.0 @category models */
export type Method =
  | "textDocument/definition"
  | "textDocument/implementation"
  | "textDocument/references"
  | "textDocument/hover"
  | "textDocument/documentSymbol"
  | "textDocument/prepareCallHierarchy"
  | "textDocument/rename"
  | "textDocument/codeAction"
  | "workspace/symbol"

const isEncoding = (value: unknown): value is PositionEncoding =>
  value === "utf-8" || value === "utf-16" || value === "utf-32"

/** @since 0.1.0 @category models */
export class ServerCapabilities {
  readonly encoding: PositionEncoding
  /** 0 none, 1 full, 2 incremental. */
  readonly sync: 0 | 1 | 2
  readonly open_close: boolean
  /** null = no didSave; true = with the text. */
  readonly save: { readonly include_text: boolean } | null
  readonly #static: JsonRpcObject
  readonly #registered = new Map<string, Registration>()

  constructor(result: unknown) {
    const whole = isJsonObject(result) ? result : {}
    const found = own(whole, "capabilities")
    this.#static = isJsonObject(found) ? found : {}
    const encoding = own(this.#static, "positionEncoding") ?? own(whole, "offsetEncoding")
    this.encoding = isEncoding(encoding) ? encoding : "utf-16"
    const sync = own(this.#static, "textDocumentSync")
    const kind = isJsonObject(sync) ? own(sync, "change") : sync
    this.sync = kind === 1 || kind === 2 ? kind : 0
    this.open_close = isJsonObject(sync) ? own(sync, "openClose") !== false : this.sync !== 0
    const save = isJsonObject(sync) ? own(sync, "save") : undefined
    this.save = save === true
      ? { include_text: false }
      : isJsonObject(save)
      ? { include_text: own(save, "includeText") === true }
      : null
  }

  register(id: string, method: string, options: unknown): void {
    if (this.#registered.size < 1_000 || this.#registered.has(id)) {
      this.#registered.set(id, { method, options: isJsonObject(options) ? options : {} })
    }
  }

  unregister(id: string): void {
    this.#registered.delete(id)
  }

  has(method: Method): boolean {
    const provider = own(this.#static, providers[method] ?? "")
    return (provider !== undefined && provider !== null && provider !== false) ||
      [...this.#registered.values()].some((one) => one.method === method)
  }

  /** Whether code actions come without their edits, to be asked for one by one. */
  get resolvesActions(): boolean {
    const provider = own(this.#static, "codeActionProvider")
    return (isJsonObject(provider) && own(provider, "resolveProvider") === true) ||
      [...this.#registered.values()].some((one) =>
        one.method === "textDocument/codeAction" && own(one.options, "resolveProvider") === true
      )
  }

  get pulls(): ReadonlyArray<PullProvider> {
    const of = (options: JsonRpcObject): PullProvider => {
      const identifier = own(options, "identifier")
      const selector = own(options, "documentSelector")
      return {
        identifier: typeof identifier === "string" ? identifier : null,
        workspace: own(options, "workspaceDiagnostics") === true,
        selector: Array.isArray(selector) ? selector : null
      }
    }
    const fixed = own(this.#static, "diagnosticProvider")
    const all = [
      ...(isJsonObject(fixed) ? [of(fixed)] : []),
      ...[...this.#registered.values()].filter((one) => one.method === "textDocument/diagnostic").map((one) =>
        of(one.options)
      )
    ]
    // registered twice it is one and the same
    const seen = new Set<string>()
    return all.filter(({ identifier, selector, workspace }) => {
      const key = JSON.stringify([identifier, workspace, selector])
      return seen.size >= maxPulls || seen.has(key) ? false : (seen.add(key), true)
    })
  }

  /** The server asked to be told of changed files. */
  get watches(): boolean {
    return [...this.#registered.values()].some((one) => one.method === "workspace/didChangeWatchedFiles")
  }
}

/** Whether a document is one of those a provider is for; patterns are taken to match. @since 0.1.0 @category combinators */
export const selects = (provider: PullProvider, language_id: string): boolean =>
  provider.selector === null ||
  provider.selector.some((filter) => {
    if (!isJsonObject(filter)) return filter === language_id || filter === "*"
    const language = own(filter, "language")
    const scheme = own(filter, "scheme")
    return (typeof language !== "string" || language === "*" || language === language_id) &&
      (typeof scheme !== "string" || scheme === "file")
  })
