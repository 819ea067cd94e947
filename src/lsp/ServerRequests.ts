/**
 * Answers to what servers ask us (reading 8.6). Nothing here waits.
 *
 * @since 0.1.0
 */
import { ErrorCode, isJsonObject, type JsonRpcObject, type JsonRpcRequest, own } from "../codec/JsonRpc.ts"

/** @since 0.1.0 @category models */
export interface ServerRequestContext {
  /** By section. */
  readonly settings: JsonRpcObject
  readonly folders: ReadonlyArray<{ readonly uri: string; readonly name: string }>
  readonly register: (id: string, method: string, options: unknown) => void
  readonly unregister: (id: string) => void
  /** Diagnostics are to be asked for again. */
  readonly refreshDiagnostics: () => void
}

/** @since 0.1.0 @category models */
export type ServerAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly code: number; readonly message: string }

const answer = (result: unknown): ServerAnswer => ({ ok: true, result })

/** A section of dotted names; null = there is nothing under it. @since 0.1.0 @category combinators */
export const section = (settings: JsonRpcObject, name: unknown): unknown => {
  if (typeof name !== "string" || name === "") return settings
  // a key may hold dots itself
  const whole = own(settings, name)
  if (whole !== undefined) return whole
  let at: unknown = settings
  for (const part of name.split(".")) {
    at = isJsonObject(at) ? own(at, part) : undefined
    if (at === undefined) return null
  }
  return at
}

const listOf = (params: unknown, ...keys: ReadonlyArray<string>): ReadonlyArray<unknown> => {
  if (!isJsonObject(params)) return []
  for (const key of keys) {
    const value = own(params, key)
    if (Array.isArray(value)) return value
  }
  return []
}

/** @since 0.1.0 @category constructors */
export const answerTo = (
  request: Pick<JsonRpcRequest, "method" | "params">,
  context: ServerRequestContext
): ServerAnswer => {
  const { method, params } = request
  switch (method) {
    case "workspace/configuration":
      return answer(
        listOf(params, "items").map((item) =>
          section(context.settings, isJsonObject(item) ? own(item, "section") : undefined)
        )
      )
    case "client/registerCapability":
      for (const one of listOf(params, "registrations")) {
        if (!isJsonObject(one)) continue
        const id = own(one, "id")
        const registered = own(one, "method")
        if (typeof id === "string" && typeof registered === "string") {
          context.register(id, registered, own(one, "registerOptions"))
        }
      }
      return answer(null)
    case "client/unregisterCapability":
      // the protocol's own spelling has a letter too few
      for (const one of listOf(params, "unregisterations", "unregistrations")) {
        const id = isJsonObject(one) ? own(one, "id") : undefined
        if (typeof id === "string") context.unregister(id)
      }
      return answer(null)
    case "workspace/workspaceFolders":
      return answer(context.folders)
    case "workspace/applyEdit":
      return answer({ applied: false, failureReason: "edits are applied by the agent's own tools only" })
    case "workspace/diagnostic/refresh":
      context.refreshDiagnostics()
      return answer(null)
    case "window/showDocument":
      return answer({ success: false })
    case "window/workDoneProgress/create":
    case "window/showMessageRequest":
      return answer(null)
    default:
      return /^workspace\/[A-Za-z]+\/refresh$/u.test(method)
        ? answer(null)
        : { ok: false, code: ErrorCode.method_not_found, message: `${method} is not known here` }
  }
}
