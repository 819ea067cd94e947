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
import { rangeToServer } from "./Positions.ts"
import * as Results from "./Results.ts"
import type { CodeAction, Diagnostic, Position, Range, WorkspaceEdit } from "./Types.ts"

/** @since 0.1.0 @category models */
export class Changing {
  readonly #with: Conversation
  readonly #navigation: Navigation

  constructor(conversation: Conversation, navigation: Navigation) {
    this.#with = conversation
    this.#navigation = navigation
  }

  #workspaceEdit(value: unknown): Effect.Effect<WorkspaceEdit | null, LspError> {
    return Effect.gen(this, function*() {
      if (value === null || value === undefined) return null
      const edit = Results.readWorkspaceEdit(value)
      if (edit === null) {
        return yield* new LspError({
          reason: "protocol",
          server: this.#with.server,
          message: `the language server ${this.#with.server} answered with an edit that cannot be read`
        })
      }
      const files = yield* this.#with.converted(edit.files, ({ uri }) => uri, ({ edits, uri }, range) => ({
        uri,
        edits: edits.map((one) => ({ ...one, range: range(one.range) }))
      }))
      return { ...edit, files }
    })
  }

  /** Nothing is changed by it; null = there is nothing to rename. */
  rename(uri: string, position: Position, new_name: string): Effect.Effect<WorkspaceEdit | null, LspError> {
    return Effect.flatMap(
      this.#navigation.at("textDocument/rename", uri, position, { newName: new_name }),
      (value) => this.#workspaceEdit(value)
    )
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
          edit: yield* Effect.orElseSucceed(this.#workspaceEdit(edit), () => null)
        })
      }
      return actions
    })
  }
}
