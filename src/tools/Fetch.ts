/**
 * `fetch`: one page or document from the public web as text (reading 2.10, subject 7.5). What was approved is what is
 * fetched: a redirect to another host is reported, not followed, unless a rule allows that address too.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Layers from "../domain/Layers.ts"
import { isAddress, isPublicAddress } from "../codec/IpAddress.ts"
import type { ToolResult } from "../domain/Tool.ts"
import { failure, success } from "../domain/ToolExecutor.ts"
import { Permissions } from "../permissions/Permissions.ts"
import { Http, type HttpError, type HttpResponse, readAll, redirected } from "../platform/Http.ts"
import { defineTool } from "./Define.ts"
import { OutputFiles } from "./OutputFiles.ts"
import { bodyKind, decodeBody, mediaType, toMarkdown } from "./Readable.ts"
import { makeRecorder } from "./Recorder.ts"
import { ToolFailure, type ToolRun } from "./Tool.ts"

/** @since 0.1.0 @category models */
export interface FetchPolicyService {
  /** Loopback, private, link-local and metadata addresses too. */
  readonly allow_private: boolean
  /** Of the decompressed body. */
  readonly max_bytes: number
  /** For redirects and body together. */
  readonly timeout: Duration.Duration
  readonly max_redirects: number
}

const defaults: FetchPolicyService = {
  allow_private: false,
  max_bytes: 5 * 1024 * 1024,
  timeout: Duration.seconds(30),
  max_redirects: 5
}

/** @since 0.1.0 @category services */
export class FetchPolicy extends Context.Tag("@hanzo/dev/tools/FetchPolicy")<FetchPolicy, FetchPolicyService>() {
  /** Public addresses only, 5 MiB, 30 s, 5 redirects. */
  static readonly layer: Layer.Layer<FetchPolicy> = Layers.succeed(FetchPolicy, defaults)
  /** The same with other values. */
  static readonly layerWith = (policy: Partial<FetchPolicyService>): Layer.Layer<FetchPolicy> =>
    Layers.succeed(FetchPolicy, { ...defaults, ...policy })
}

/**
 * The address as rules see it and as it is fetched: parsed, without user info and fragment; `undefined` when it is no
 * http or https address. Numeric hosts come out dotted: `http://0x7f.1` is `http://127.0.0.1/`.
 *
 * @since 0.1.0
 * @category decoding
 */
export const fetchSubject = (text: string): string | undefined => {
  if (!URL.canParse(text.trim())) return undefined
  const url = new URL(text.trim())
  if ((url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "") return undefined
  url.username = ""
  url.password = ""
  url.hash = ""
  return url.href
}

/**
 * A redirect that stays with the host that was approved: same name but for `www.`, same port, never from https to http.
 *
 * @since 0.1.0
 * @category combinators
 */
export const staysWithHost = (from: string, to: string): boolean => {
  const [a, b] = [new URL(from), new URL(to)]
  const name = (url: URL): string => url.hostname.replace(/^www\./u, "")
  const upgrade = a.protocol === "http:" && b.protocol === "https:" && a.port === "" && b.port === ""
  return name(a) === name(b) && (upgrade || (a.protocol === b.protocol && a.port === b.port))
}

const size = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.max(1, Math.round(bytes / 1024))} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`

const fail = (message: string): Effect.Effect<never, ToolFailure> => Effect.fail(new ToolFailure({ message }))

const headers = {
  "user-agent": "hanzo-dev",
  accept: "text/markdown, text/html;q=0.9, application/json;q=0.9, text/plain;q=0.9, */*;q=0.1"
}

const input = () =>
  Schema.Struct({
    url: Schema.NonEmptyString.annotations({ description: "An http or https address." })
  })

/** @since 0.1.0 @category constructors */
export const makeFetchTool = Effect.gen(function*() {
  const http = yield* Http
  const files = yield* OutputFiles
  const policy = yield* FetchPolicy
  const permissions = yield* Permissions

  const mayConnect = (address: string): boolean => policy.allow_private || isPublicAddress(address)

  const forbiddenHost = (url: string): string | undefined => {
    const { hostname } = new URL(url)
    return isAddress(hostname) && !mayConnect(hostname.replace(/^\[(.*)\]$/su, "$1")) ? hostname : undefined
  }
  const refused = (host: string): string =>
    `${host} is a private, local or reserved address; fetch reaches the public Internet only`

  const explain = (error: HttpError, url: string): Effect.Effect<never, ToolFailure> =>
    fail(error.reason === "blocked" ? refused(new URL(url).hostname) : error.message)

  /** Follows redirects one by one; each target is looked at like the first address. */
  const arrive = (
    url: string,
    left: number
  ): Effect.Effect<
    { readonly response: HttpResponse; readonly url: string } | { readonly elsewhere: string },
    ToolFailure,
    Scope.Scope
  > =>
    Effect.gen(function*() {
      const host = forbiddenHost(url)
      if (host !== undefined) return yield* fail(refused(host))
      const request = { method: "GET", url, headers, allowAddress: mayConnect }
      const response = yield* Effect.catchAll(http.request(request), (error) => explain(error, url))
      const next = redirected(request, response)
      if (next === null) return { response, url }
      if (left === 0) return yield* fail(`more than ${policy.max_redirects} redirects, the last to ${next.url}`)
      const target = fetchSubject(next.url)
      if (target === undefined) return yield* fail(`${url} redirects to ${next.url}, which is no http or https address`)
      const verdict = permissions.evaluate("fetch", target)
      if (verdict.mode === "deny") {
        return yield* fail(
          `${url} redirects to ${target}, which a permission rule denies (${verdict.rule_matched ?? ""})`
        )
      }
      if (verdict.mode !== "allow" && !staysWithHost(url, target)) return { elsewhere: target }
      return yield* arrive(target, left - 1)
    })

  const read = (url: string, run: ToolRun): Effect.Effect<ToolResult, ToolFailure, Scope.Scope> =>
    Effect.gen(function*() {
      const arrived = yield* arrive(url, policy.max_redirects)
      if ("elsewhere" in arrived) {
        return success(
          `${url} redirects to another host: ${arrived.elsewhere}\nCall fetch with that address to read it.`
        )
      }
      const { response } = arrived
      const { charset, type } = mediaType(response.headers["content-type"])
      const { bytes, truncated } = yield* Effect.catchAll(
        readAll(response, policy.max_bytes),
        (error) => explain(error, arrived.url)
      )
      const kind = bodyKind(type, bytes)
      const ok = response.status >= 200 && response.status < 300
      if (kind === "binary") {
        const announced = Number(response.headers["content-length"])
        const length = truncated && announced > bytes.byteLength ? announced : bytes.byteLength
        const what = `${type === "" ? "unknown type" : type}, ${truncated ? "at least " : ""}${size(length)}`
        return failure(
          ok
            ? `${arrived.url} is not text (${what}); fetch returns text only. Download it with bash if it is needed.`
            : `HTTP ${response.status} from ${arrived.url} (${what})`
        )
      }
      const source = decodeBody(bytes, charset, kind)
      const text = kind === "html" ? yield* toMarkdown(source, arrived.url) : source
      const notes = [
        arrived.url === url ? "" : `[redirected to ${arrived.url}]\n`,
        truncated ? `[only the first ${size(policy.max_bytes)} were read]\n` : ""
      ].join("")
      const recorder = yield* makeRecorder(files, run)
      yield* recorder.push(new TextEncoder().encode(text))
      yield* recorder.end
      const recorded = yield* recorder.result
      const output = notes + (recorded.output === "" ? "(empty body)" : recorded.output)
      return {
        ...(ok ? success(output) : failure(`HTTP ${response.status} from ${arrived.url}`, output)),
        ...(recorded.truncated === undefined ? {} : { truncated: recorded.truncated })
      }
    })

  return defineTool({
    name: "fetch",
    description:
      "Reads a web page or document by its http(s) address and returns it as text; HTML becomes Markdown. Public addresses " +
      "only; no scripts are run, nothing is sent but the request.",
    input,
    kind: "network",
    read_only: true,
    prepare: ({ url: given }) => {
      const url = fetchSubject(given)
      if (url === undefined) return fail(`"url" is not an http or https address: ${given.slice(0, 200)}`)
      return Effect.succeed({
        subjects: [url],
        inside_workspace: false,
        run: (run) =>
          Effect.scoped(read(url, run)).pipe(
            Effect.timeoutFail({
              duration: policy.timeout,
              onTimeout: () =>
                new ToolFailure({ message: `${url} was not read within ${Duration.toSeconds(policy.timeout)} s` })
            })
          )
      })
    }
  })
})
