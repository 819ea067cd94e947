/**
 * A small token endpoint with rotation and reuse detection, and something its tokens open: each refresh token is good
 * once, one that comes twice ends the whole family (RFC 9700, section 4.14.2).
 */
import * as http from "node:http"

export interface TokenServer {
  readonly url: string
  /** Refresh tokens in the order in which they came. */
  readonly refreshes: ReadonlyArray<string>
  readonly reused: () => boolean
  /** The refresh token that is good now. */
  readonly current: () => string
  /** Is this access token the one of the living family that was given last? */
  readonly opens: (token: string) => boolean
  readonly close: () => Promise<void>
}

export interface TokenServerOptions {
  readonly delay_ms?: number
  /** Seconds; default 3600. */
  readonly expires_in?: number
  /** Told of each access token before it is given. */
  readonly issued?: (access_token: string) => void
  /** Before the number of the token; default `access-` and `refresh-`. */
  readonly names?: { readonly access: string; readonly refresh: string }
  /** Answers in place of the token endpoint. */
  readonly answer?: (
    form: URLSearchParams,
    headers: http.IncomingHttpHeaders
  ) => { readonly status: number; readonly body: object } | null
}

export const startTokenServer = (options: TokenServerOptions = {}): Promise<TokenServer> => {
  const refreshes: Array<string> = []
  let generation = 0
  let reused = false
  const current = () => `${options.names?.refresh ?? "refresh-"}${generation}`
  const access = () => `${options.names?.access ?? "access-"}${generation}`
  const opens = (token: string) => !reused && token === access()
  const server = http.createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (text: string) => body += text).on("end", (): void => {
      const answer = (status: number, value: object): void =>
        void response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" }).end(
          JSON.stringify(value)
        )
      if (request.url === "/resource") {
        return answer(opens((request.headers.authorization ?? "").replace("Bearer ", "")) ? 200 : 401, {})
      }
      const form = new URLSearchParams(body)
      const other = options.answer?.(form, request.headers) ?? null
      if (other !== null) return answer(other.status, other.body)
      const given = form.get("refresh_token") ?? ""
      refreshes.push(given)
      if (form.get("grant_type") !== "refresh_token" || form.get("client_id") !== "client") {
        return answer(400, { error: "invalid_request" })
      }
      if (reused || given !== current()) {
        reused = true
        return answer(400, { error: "invalid_grant", error_description: "the token was used before" })
      }
      generation++
      options.issued?.(access())
      setTimeout(
        () =>
          answer(200, {
            access_token: access(),
            refresh_token: current(),
            token_type: "Bearer",
            expires_in: options.expires_in ?? 3600
          }),
        options.delay_ms ?? 0
      )
    })
  })
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resolve({
        url: `http://127.0.0.1:${port}`,
        refreshes,
        reused: () => reused,
        current,
        opens,
        close: () =>
          new Promise((done) => {
            server.closeAllConnections()
            server.close(() => done())
          })
      })
    })
  })
}
