/** The server: routes, keys, judgement, faults and the writing of bytes. Knows nothing of the project under test. */
import * as http from "node:http"
import type { AddressInfo, Socket } from "node:net"
import * as zlib from "node:zlib"
import { validateAnthropic } from "./AnthropicRules.ts"
import { anthropicEvents, anthropicWhole } from "./AnthropicWire.ts"
import { validateChat } from "./ChatRules.ts"
import { encodeEvent, pingOf, tear } from "./Bytes.ts"
import { chatEvents, chatWhole } from "./ChatWire.ts"
import { errorBody, failureEvents } from "./Errors.ts"
import type { Fault, LoggedRequest, Upstream, UpstreamOptions, Wire } from "./Options.ts"
import { type Plan, planOf } from "./Plan.ts"
import { validateResponses } from "./ResponsesRules.ts"
import { responsesEvents, responsesWhole } from "./ResponsesWire.ts"
import { isObject, type Obj, Violation } from "./Rules.ts"

interface Route {
  readonly kind: LoggedRequest["kind"]
  readonly wire: Wire | null
  readonly method: "POST" | "GET"
}

const route = (path: string): Route | null => {
  if (path.endsWith("/messages/count_tokens")) return { kind: "count_tokens", wire: "anthropic", method: "POST" }
  if (path.endsWith("/messages")) return { kind: "generate", wire: "anthropic", method: "POST" }
  if (path.endsWith("/chat/completions")) return { kind: "generate", wire: "chat", method: "POST" }
  if (path.endsWith("/responses")) return { kind: "generate", wire: "responses", method: "POST" }
  if (/\/models(\/[^/]+)?$/.test(path)) return { kind: "models", wire: null, method: "GET" }
  return null
}

const secretHeader = /^(authorization|x-api-key|api-key|x-goog-api-key|cookie|proxy-authorization)$/

const headersOf = (request: http.IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(request.headers).map((
      [name, value]
    ) => [name, Array.isArray(value) ? value.join(", ") : value ?? ""])
  )

const keysOf = (headers: Readonly<Record<string, string>>): ReadonlyArray<readonly [string, string]> => {
  const found: Array<readonly [string, string]> = []
  if (headers["x-api-key"] !== undefined) found.push(["x-api-key", headers["x-api-key"]])
  if (headers["api-key"] !== undefined) found.push(["api-key", headers["api-key"]])
  const bearer = /^Bearer (.+)$/i.exec(headers["authorization"] ?? "")
  if (bearer?.[1] !== undefined) found.push(["bearer", bearer[1]])
  return found
}

const cutKeys = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, secretHeader.test(name) ? `<cut ${value.length}>` : value])
  )

const readBody = (request: http.IncomingMessage): Promise<string> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")))
    request.on("error", reject)
    request.on("aborted", () => reject(new Error("aborted")))
  })

const latch = (): { readonly promise: Promise<void>; readonly resolve: () => void } => {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

export const startUpstream = async (options: UpstreamOptions = {}): Promise<Upstream> => {
  const log: Array<LoggedRequest> = []
  const waiters = new Set<() => void>()
  const changed = () => {
    for (const check of waiters) check()
  }
  let generations = 0
  let open = 0
  let gate = latch()
  const sockets = new Set<Socket>()

  const server = http.createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) {
        response.writeHead(500, { "content-type": "text/plain" }).end(`upstream broke: ${String(error)}`)
      } else response.destroy()
    })
  })
  server.keepAliveTimeout = 60_000
  server.on("connection", (socket) => {
    socket.setNoDelay(true)
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
  })

  const handle = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const address = new URL(request.url ?? "/", "http://127.0.0.1")
    const path = address.pathname
    if (path === "/__upstream/log") {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(log))
      return
    }
    if (path === "/__upstream/release") {
      release()
      response.writeHead(204).end()
      return
    }
    const headers = headersOf(request)
    const to = route(path)
    const closed = new Promise<void>((resolve) => response.once("close", () => resolve()))
    let text: string
    try {
      text = await readBody(request)
    } catch {
      return
    }
    let body: unknown = text
    let jsonError: string | null = null
    try {
      body = text === "" ? null : JSON.parse(text)
    } catch (error) {
      jsonError = String(error)
    }
    const generates = to?.kind === "generate" && request.method === "POST"
    const keys = keysOf(headers)
    const n = log.length + 1
    const entry: LoggedRequest = {
      n,
      generation: generates ? ++generations : null,
      kind: to?.kind ?? "other",
      wire: to?.wire ?? null,
      method: request.method ?? "",
      path,
      query: address.search.slice(1),
      headers: cutKeys(headers),
      auth: keys.map(([kind]) => kind),
      body,
      stream: isObject(body) && body["stream"] === true,
      turn: 0,
      status: 0,
      fault: null,
      violation: null,
      events_sent: 0,
      events_total: 0,
      client_closed: false,
      hanging: false,
      finished: false
    }
    log.push(entry)
    open++
    let destroyed = false
    const destroy = () => {
      destroyed = true
      response.destroy()
      request.socket.destroy()
    }
    response.once("close", () => {
      open--
      entry.finished = response.writableFinished
      entry.client_closed = !response.writableFinished && !destroyed
      changed()
    })
    changed()

    const requestId = `req_up${n}`
    const anthropic = to?.wire === "anthropic" || headers["anthropic-version"] !== undefined
    const idHeader = anthropic ? "request-id" : "x-request-id"
    const answer = (status: number, content: string, more: Readonly<Record<string, string>> = {}): void => {
      entry.status = status
      const bytes = Buffer.from(content)
      response.writeHead(status, {
        "content-type": "application/json",
        "content-length": String(bytes.length),
        [idHeader]: requestId,
        ...more
      })
      response.end(request.method === "HEAD" ? undefined : bytes)
    }
    const refuse = (violation: Violation): void => {
      entry.violation = violation.message
      answer(
        violation.status,
        errorBody(anthropic, violation.status, violation.message, requestId, {
          param: violation.param,
          ...(violation.code === null ? {} : { code: violation.code })
        })
      )
    }

    if (request.method === "HEAD") return answer(200, "")
    if (to === null || (to.wire !== null && options.wires !== undefined && !options.wires.includes(to.wire))) {
      return answer(404, errorBody(anthropic, 404, `Not found: ${request.method} ${path}`, requestId, { code: null }))
    }
    if (request.method !== to.method) {
      return answer(405, errorBody(anthropic, 405, `Method not allowed: ${request.method} ${path}`, requestId), {
        allow: to.method
      })
    }
    if (to.kind === "count_tokens" && options.count_tokens === false) {
      return answer(404, errorBody(true, 404, `Not found: ${path}`, requestId))
    }

    try {
      judgeKeys(keys, anthropic)
      if (to.kind === "models") return answer(200, JSON.stringify(modelList(path, anthropic)))
      if (jsonError !== null || !isObject(body)) {
        throw new Violation(`We could not parse the JSON body of your request. ${jsonError ?? "It is no object."}`)
      }
      if (options.validate !== false) judge(to, body, headers)
      if (options.models !== undefined && !options.models.includes(String(body["model"]))) {
        throw new Violation(`model: ${String(body["model"])} does not exist`, "model", "model_not_found", 404)
      }
    } catch (error) {
      if (error instanceof Violation) return refuse(error)
      throw error
    }
    if (!isObject(body)) return
    if (to.kind === "count_tokens") {
      return answer(200, JSON.stringify({ input_tokens: Math.ceil(text.length / 4) }))
    }
    const wire = to.wire ?? "chat"
    const fault = options.faults?.[String(entry.generation)] ?? options.faults?.["all"]
    entry.fault = fault?.kind ?? null
    if (fault !== undefined && (await early(fault, answer, destroy, closed, anthropic, requestId, entry))) return
    if (response.destroyed) return
    const plan = planOf(wire, body, options, entry.generation ?? 0, fault, 1_760_000_000)
    entry.turn = plan.turn
    await (entry.stream
      ? stream({ wire, plan, body, fault, entry, response, closed, destroy, headers, requestId, idHeader })
      : whole({ wire, plan, body, fault, entry, answer, destroy, closed }))
  }

  const judgeKeys = (keys: ReadonlyArray<readonly [string, string]>, anthropic: boolean): void => {
    if (options.auth === false) return
    if (keys.length === 0) {
      throw new Violation(
        anthropic ? "x-api-key header is required" : "You didn't provide an API key.",
        null,
        "missing_api_key",
        401
      )
    }
    if (keys.length > 1) {
      throw new Violation(`more than one key was sent: ${keys.map(([kind]) => kind).join(", ")}`)
    }
    if (options.keys !== undefined && !options.keys.includes(keys[0]?.[1] ?? "")) {
      throw new Violation(anthropic ? "invalid x-api-key" : "Incorrect API key provided.", null, "invalid_api_key", 401)
    }
  }

  const judge = (to: Route, body: Obj, headers: Readonly<Record<string, string>>): void => {
    if (!/^application\/json\b/.test(headers["content-type"] ?? "")) {
      throw new Violation(`content-type: application/json is required, got ${headers["content-type"] ?? "nothing"}`)
    }
    if (to.wire === "anthropic") validateAnthropic(body, headers, options, to.kind === "count_tokens")
    else if (to.wire === "chat") validateChat(body, options)
    else validateResponses(body, options)
  }

  const modelList = (path: string, anthropic: boolean): unknown => {
    const one = (id: string) =>
      anthropic
        ? { type: "model", id, display_name: id, created_at: "2026-01-01T00:00:00Z" }
        : { id, object: "model", created: 1_760_000_000, owned_by: "upstream" }
    const named = /\/models\/([^/]+)$/.exec(path)?.[1]
    if (named !== undefined) {
      const id = decodeURIComponent(named)
      if (options.models !== undefined && !options.models.includes(id)) {
        throw new Violation(`model: ${id} does not exist`, "model", "model_not_found", 404)
      }
      return one(id)
    }
    const data = (options.models ?? ["fake-model"]).map(one)
    return anthropic
      ? { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
      : { object: "list", data }
  }

  /** Faults that answer in place of the response; true = the request is dealt with. */
  const early = async (
    fault: Fault,
    answer: (status: number, content: string, more?: Readonly<Record<string, string>>) => void,
    destroy: () => void,
    closed: Promise<void>,
    anthropic: boolean,
    requestId: string,
    entry: LoggedRequest
  ): Promise<boolean> => {
    switch (fault.kind) {
      case "status":
        answer(
          fault.status,
          fault.body ??
            errorBody(anthropic, fault.status, fault.message ?? `scripted ${fault.status}`, requestId, {
              type: fault.type,
              ...(fault.code === undefined ? {} : { code: fault.code })
            }),
          {
            ...(fault.retry_after === undefined ? {} : { "retry-after": String(fault.retry_after) }),
            ...(fault.retry_after_ms === undefined ? {} : { "retry-after-ms": String(fault.retry_after_ms) }),
            ...(fault.should_retry === undefined ? {} : { "x-should-retry": String(fault.should_retry) }),
            ...(fault.content_type === undefined ? {} : { "content-type": fault.content_type }),
            ...fault.headers
          }
        )
        return true
      case "drop_before_headers":
        destroy()
        return true
      case "hang_before_headers":
        await hang(entry, closed)
        return false
      case "json_error":
        answer(
          200,
          errorBody(anthropic, 500, fault.message ?? "scripted failure", requestId, {
            type: fault.type,
            ...(fault.code === undefined ? {} : { code: fault.code })
          })
        )
        return true
      case "html":
        answer(
          fault.status ?? 200,
          "<!doctype html>\n<html><head><title>Sign in</title></head><body><h1>Captive portal</h1></body></html>\n",
          { "content-type": "text/html; charset=utf-8" }
        )
        return true
      case "empty":
        answer(fault.status ?? 200, "", { "content-type": entry.stream ? "text/event-stream" : "application/json" })
        return true
      case "broken_json":
        answer(200, "{\"id\": \"broken\", \"cont")
        return true
      default:
        return false
    }
  }

  const hang = async (entry: LoggedRequest, closed: Promise<void>): Promise<void> => {
    const released = gate.promise
    entry.hanging = true
    changed()
    await Promise.race([released, closed])
    entry.hanging = false
  }

  const wantsEncrypted = (body: Obj): boolean =>
    Array.isArray(body["include"]) && body["include"].includes("reasoning.encrypted_content")

  const whole = async (at: {
    readonly wire: Wire
    readonly plan: Plan
    readonly body: Obj
    readonly fault: Fault | undefined
    readonly entry: LoggedRequest
    readonly answer: (status: number, content: string) => void
    readonly destroy: () => void
    readonly closed: Promise<void>
  }): Promise<void> => {
    if (at.fault?.kind === "hang") await hang(at.entry, at.closed)
    if (at.fault?.kind === "drop" || at.fault?.kind === "truncate") return at.destroy()
    if (at.fault?.kind === "error_event") {
      return at.answer(500, errorBody(at.wire === "anthropic", 500, at.fault.message ?? "scripted failure", "req_up"))
    }
    const value = at.wire === "anthropic"
      ? anthropicWhole(at.plan)
      : at.wire === "chat"
      ? chatWhole(at.plan, options)
      : responsesWhole(at.plan, options, wantsEncrypted(at.body))
    at.answer(200, JSON.stringify(value))
  }

  const stream = async (at: {
    readonly wire: Wire
    readonly plan: Plan
    readonly body: Obj
    readonly fault: Fault | undefined
    readonly entry: LoggedRequest
    readonly response: http.ServerResponse
    readonly closed: Promise<void>
    readonly destroy: () => void
    readonly headers: Readonly<Record<string, string>>
    readonly requestId: string
    readonly idHeader: string
  }): Promise<void> => {
    const { entry, fault, response, wire } = at
    const includeUsage = isObject(at.body["stream_options"]) && at.body["stream_options"]["include_usage"] === true
    const events = wire === "anthropic"
      ? anthropicEvents(at.plan, options)
      : wire === "chat"
      ? chatEvents(at.plan, options, includeUsage)
      : responsesEvents(at.plan, options, wantsEncrypted(at.body))
    entry.events_total = events.length
    entry.status = 200
    const gzip = options.gzip === true && (at.headers["accept-encoding"] ?? "").includes("gzip")
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      [at.idHeader]: at.requestId,
      ...(gzip ? { "content-encoding": "gzip" } : {})
    })
    response.flushHeaders()
    changed()
    const zip = gzip ? zlib.createGzip() : null
    if (zip !== null) zip.pipe(response)
    const put = (bytes: Buffer): Promise<void> =>
      new Promise((resolve) => {
        if (response.destroyed || bytes.length === 0) return resolve()
        if (zip === null) response.write(bytes, () => resolve())
        else zip.write(bytes, () => zip.flush(zlib.constants.Z_SYNC_FLUSH, () => resolve()))
      })
    const write = async (bytes: Buffer): Promise<void> => {
      for (const part of options.split_utf8 === true ? tear(bytes) : [bytes]) await put(part)
    }
    let pending: Buffer = Buffer.alloc(0)
    const flush = async (): Promise<void> => {
      const rest = pending
      pending = Buffer.alloc(0)
      if (typeof options.chunk !== "number") return write(rest)
      for (let i = 0; i < rest.length; i += options.chunk) await write(rest.subarray(i, i + options.chunk))
    }
    const push = async (bytes: Buffer): Promise<void> => {
      if (options.chunk === undefined || options.chunk === "event") return write(bytes)
      pending = Buffer.concat([pending, bytes])
      if (options.chunk === "whole") return
      while (pending.length >= options.chunk && !response.destroyed) {
        const head = pending.subarray(0, options.chunk)
        pending = pending.subarray(options.chunk)
        await write(head)
      }
    }
    const cut = fault !== undefined && "after" in fault && fault.after !== undefined
      ? fault.after
      : Math.floor(events.length / 2)
    const cuts = fault?.kind === "drop" || fault?.kind === "truncate" || fault?.kind === "error_event" ||
      fault?.kind === "hang"
    if (options.bom === true) await push(Buffer.from([0xef, 0xbb, 0xbf]))
    for (let i = 0; i <= events.length && !response.destroyed; i++) {
      if (cuts && i === Math.min(cut, events.length)) {
        await flush()
        if (fault.kind === "drop") return at.destroy()
        if (fault.kind === "truncate") break
        if (fault.kind === "error_event") {
          for (const event of failureEvents(wire, fault, at.plan, i)) await push(encodeEvent(event, options, false))
          break
        }
        const timer = fault.pings === undefined
          ? undefined
          : setInterval(() => void put(pingOf(wire, options)), fault.pings)
        await hang(entry, at.closed)
        clearInterval(timer)
      }
      const event = events[i]
      if (event === undefined) break
      if (options.pings === true && i > 0) await push(pingOf(wire, options))
      await push(encodeEvent(event, options, i === events.length - 1))
      entry.events_sent++
      if (options.pace_ms !== undefined) await new Promise((resolve) => setTimeout(resolve, options.pace_ms))
    }
    await flush()
    if (response.destroyed) return
    if (zip === null) response.end()
    else zip.end()
  }

  const release = () => {
    gate.resolve()
    gate = latch()
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(options.port ?? 0, "127.0.0.1", resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    log,
    counts: () => ({
      requests: log.length,
      generations,
      violations: log.filter((entry) => entry.violation !== null).length,
      client_closed: log.filter((entry) => entry.client_closed).length,
      open
    }),
    violations: () =>
      log.flatMap((entry) => entry.violation === null ? [] : [`request ${entry.n}: ${entry.violation}`]),
    release,
    until: (predicate) =>
      new Promise((resolve) => {
        const check = () => {
          if (!predicate(log)) return
          waiters.delete(check)
          resolve()
        }
        waiters.add(check)
        check()
      }),
    close: () =>
      new Promise((resolve) => {
        release()
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      })
  }
}
