/**
 * Reading a list of a server to its end (reading 1.11): page after page, until there is no cursor any more. A cursor that
 * comes twice, and page 1,001, end it with an error that keeps what was read.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { isJsonObject, type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import { maxPages, type McpListing } from "./Connection.ts"
import type { McpError } from "./McpError.ts"
import type { Session } from "./Session.ts"
import * as Wire from "./Wire.ts"

/**
 * `page` fetches one page; `key` is the member of its result that holds the entries.
 *
 * @since 0.1.0
 * @category combinators
 */
export const listAll = <A>(
  session: Session,
  page: (params: JsonRpcObject) => Effect.Effect<unknown, McpError>,
  method: string,
  key: string,
  entry: (value: unknown) => Wire.Read<A>
): Effect.Effect<McpListing<A>, McpError> =>
  Effect.gen(function*() {
    const items: Array<A> = []
    const dropped: Array<string> = []
    const seen = new Set<string>()
    let cursor: string | null = null
    let pages = 0
    let ttl_ms = Infinity
    const until = (problem: McpError | null): McpListing<A> => ({
      items,
      problem,
      dropped,
      ttl_ms: Number.isFinite(ttl_ms) ? ttl_ms : 0,
      pages
    })

    for (;;) {
      const fetched: { readonly ok: unknown } | { readonly error: McpError } = yield* page(
        cursor === null ? {} : { cursor }
      ).pipe(Effect.match({ onSuccess: (ok) => ({ ok }), onFailure: (error) => ({ error }) }))
      const failed = "error" in fetched
        ? fetched.error
        : isJsonObject(fetched.ok) && Array.isArray(own(fetched.ok, key))
        ? null
        : session.error("protocol", `${method} gave a result without ${key}`)
      if (failed !== null || "error" in fetched || !isJsonObject(fetched.ok)) {
        return pages === 0 && failed !== null ? yield* failed : until(failed)
      }
      pages++
      for (const value of Wire.list(fetched.ok, key)) {
        const one = entry(value)
        if ("ok" in one) items.push(one.ok)
        else dropped.push(one.why)
      }
      ttl_ms = Math.min(ttl_ms, Math.max(0, Wire.number(fetched.ok, "ttlMs") ?? 0))
      const next: unknown = own(fetched.ok, "nextCursor")
      // An empty string is a cursor like any other.
      if (typeof next !== "string") break
      if (seen.has(next)) {
        return until(
          session.error("repeated_cursor", `${method} gave the cursor ${Wire.shown(next)} twice; page ${pages}`)
        )
      }
      if (pages === maxPages) {
        return until(session.error("too_many_pages", `${method} goes on after ${maxPages} pages`))
      }
      seen.add(next)
      cursor = next
    }
    if (dropped.length > 0) {
      yield* Effect.logWarning(
        `MCP server ${session.server}: left out of ${method}: ${dropped.slice(0, 10).join("; ")}${
          dropped.length > 10 ? `; and ${dropped.length - 10} more` : ""
        }`
      )
    }
    return until(null)
  })
