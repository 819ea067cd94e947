/**
 * Changes that a server works out: renames and fixes. Nothing is changed here.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { isJsonObject, own } from "../codec/JsonRpc.ts"
import type { Conversation } from "./Conversation.ts"
import { LspError } from "./LspError.ts"
import type { Navigation } from "./Navigation.ts"
import { rangeFromServer, rangeToServer } from "./Positions.ts"
import * as Results from "./Results.ts"
import type { CodeAction, Diagnostic, FileEdits, Position, Range, WorkspaceEdit } from "./Types.ts"
import { pathOf } from "./Uri.ts"

/** @since 0.1.0 @category models */
export class Changing {
  readonly #with: Conversation
  readonly #navigation: Navigation

  constructor(conversation: Conversation, navigation: Navigation) {
    this.#with = conversation
    this.#navigation = navigation
  }

  /** Of the documents that are open: an edit that comes after one of them has changed is for another text. */
  #versions(): ReadonlyMap<string, number> {
    const { documents } = this.#with
    return new Map(
      documents.paths().flatMap((path) => {
        const open = documents.get(path)
        return open === undefined ? [] : [[path, open.version]]
      })
    )
  }

  #workspaceEdit(
    value: unknown,
    asked: ReadonlyMap<string, number>
  ): Effect.Effect<WorkspaceEdit | null, LspError> {
    return Effect.gen(this, function*() {
      if (value === null || value === undefined) return null
      const { capabilities: { encoding }, documents, server } = this.#with
      const fail = (message: string) =>
        new LspError({ reason: "protocol", server, message: `the language server ${server} answered with ${message}` })
      const edit = Results.readWorkspaceEdit(value)
      if (edit === null) return yield* fail("an edit that cannot be read")
      let { unsupported } = edit
      const files: Array<FileEdits> = []
      for (const { edits, uri, version } of edit.files) {
        const path = pathOf(uri)
        const open = path === null ? undefined : documents.get(path)
        if (open !== undefined && open.version !== (version ?? asked.get(open.path) ?? open.version)) {
          return yield* fail(`an edit of an older text of ${open.path}; ask again`)
        }
        const lines = yield* documents.linesOf(uri)
        // without the text nobody can tell which characters are meant
        if (lines === null && encoding !== "utf-16") {
          unsupported ??= `it would change ${uri}, which is not there, no text, or larger than 2 MiB`
        }
        files.push({
          uri,
          edits: lines === null
            ? edits
            : edits.map((one) => ({ ...one, range: rangeFromServer(encoding, lines, one.range) })),
          text: lines?.text ?? null
        })
      }
      return { files, unsupported }
    })
  }

  /** Nothing is changed by it; null = there is nothing to rename. */
  rename(uri: string, position: Position, new_name: string): Effect.Effect<WorkspaceEdit | null, LspError> {
    return Effect.gen(this, function*() {
      let asked = this.#versions()
      const value = yield* this.#navigation.at("textDocument/rename", uri, position, { newName: new_name }, () => {
        asked = this.#versions()
      })
      return yield* this.#workspaceEdit(value, asked)
    })
  }

  /** With their edits, as far as the server gives them without running something itself. */
  codeActions(
    uri: string,
    range: Range,
    about: ReadonlyArray<Diagnostic> = []
  ): Effect.Effect<ReadonlyArray<CodeAction>, LspError> {
    return Effect.gen(this, function*() {
      yield* this.#with.need("textDocument/codeAction")
      const document = yield* this.#with.document(uri)
      const { encoding } = this.#with.capabilities
      const asked = this.#versions()
      const value = yield* this.#with.request("textDocument/codeAction", {
        textDocument: { uri: document.uri },
        range: rangeToServer(encoding, document.lines, range),
        context: {
          triggerKind: 1,
          diagnostics: about.map((one) => ({
            range: rangeToServer(encoding, document.lines, one.range),
            severity: one.severity,
            message: one.message,
            ...(one.source === "" ? {} : { source: one.source }),
            ...(one.code === undefined ? {} : { code: /^\d{1,9}$/u.test(one.code) ? Number(one.code) : one.code })
          }))
        }
      })
      const actions: Array<CodeAction> = []
      // in all, not for each of them
      const until = (yield* Clock.currentTimeMillis) + this.#with.timeout_ms
      for (const one of (Array.isArray(value) ? value : []).slice(0, 50)) {
        if (!isJsonObject(one)) continue
        const title = own(one, "title")
        const disabled = own(one, "disabled")
        if (typeof title !== "string" || isJsonObject(disabled) || typeof own(one, "command") === "string") continue
        const kind = own(one, "kind")
        let edit = own(one, "edit")
        if (edit === undefined && this.#with.capabilities.resolvesActions && own(one, "data") !== undefined) {
          const left = until - (yield* Clock.currentTimeMillis)
          const resolved = yield* Effect.either(this.#with.request("codeAction/resolve", one, Math.max(1, left)))
          if (resolved._tag === "Right" && isJsonObject(resolved.right)) edit = own(resolved.right, "edit")
        }
        actions.push({
          title: Results.cut(title, Results.maxName),
          kind: typeof kind === "string" ? Results.cut(kind, Results.maxName) : "",
          preferred: own(one, "isPreferred") === true,
          // one that cannot be read is none: the others stand
          edit: yield* Effect.orElseSucceed(this.#workspaceEdit(edit, asked), () => null)
        })
      }
      return actions
    })
  }
}
