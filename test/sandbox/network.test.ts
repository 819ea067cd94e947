import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import * as path from "node:path"
import { makeFilterProxy } from "../../src/platform/FilterProxy.ts"
import { refusedHost, uselessPattern } from "../../src/sandbox/Network.ts"
import { settle } from "../../src/sandbox/Settings.ts"
import { bundle, drive, methods, place, users, world } from "./support.ts"

describe("10.5 names", () => {
  const rows: ReadonlyArray<readonly [string, string, number, boolean]> = [
    ["a.example", "a.example", 443, true],
    ["a.example", "A.Example.", 80, true],
    ["a.example", "b.a.example", 443, false],
    ["a.example", "xa.example", 443, false],
    ["a.example", "a.example.evil", 443, false],
    ["a.example", "a.example", 22, false],
    ["a.example:8443", "a.example", 8443, true],
    ["a.example:8443", "a.example", 443, false],
    ["*.a.example", "b.a.example", 443, true],
    ["*.a.example", "c.b.a.example", 443, true],
    ["*.a.example", "a.example", 443, false],
    ["*.a.example", "ba.example", 443, false],
    ["*.a.example:81", "b.a.example", 81, true],
    ["*", "anything.example", 443, true],
    ["*", "anything.example", 25, false],
    ["https://a.example", "a.example", 443, true],
    ["", "", 443, false],
    ["*.", "a", 443, false],
    ["192.0.2.1", "192.0.2.1", 80, true],
    ["a.example", "192.0.2.1", 80, false]
  ]
  for (const [pattern, host, port, expected] of rows) {
    it(`${JSON.stringify(pattern)} and ${host}:${port}`, () => {
      assert.strictEqual(refusedHost([pattern], host, port) === null, expected)
    })
  }
  const useless: ReadonlyArray<readonly [string, boolean]> = [
    ["127.0.0.1:18999", true],
    ["10.1.2.3", true],
    ["[::1]:8080", true],
    ["::1", true],
    ["localhost", true],
    ["localhost:3000", true],
    ["api.localhost", true],
    ["169.254.169.254", true],
    ["a.example/path", true],
    ["a b", true],
    ["", true],
    ["a.example:0", true],
    ["a.example:70000", true],
    ["*.*.example", true],
    ["a.example", false],
    ["https://a.example", false],
    ["a.example:8443", false],
    ["*.a.example:81", false],
    ["*", false],
    ["93.184.216.34:443", false],
    ["[2606:2800:220:1:248:1893:25c8:1946]:443", false],
    ["b\u00fccher.example", false]
  ]
  for (const [pattern, expected] of useless) {
    it(`${JSON.stringify(pattern)} ${expected ? "reaches nothing, and the status says so" : "may reach something"}`, () => {
      assert.strictEqual(uselessPattern(pattern) !== null, expected)
      const { warnings } = settle({ mode: "workspace", network: { allow: [pattern] } }, null)
      assert.strictEqual(warnings.some((one) => one.includes(JSON.stringify(pattern))), expected)
    })
  }
  it("no pattern, no name", () => assert.include(refusedHost([], "a.example", 443) ?? "", "a.example:443"))
})

const above = place()
let driver = ""
let upstream: http.Server
let echo: net.Server
let port = 0
let echoPort = 0
const seen: Array<http.IncomingMessage> = []

beforeAll(async () => {
  driver = bundle(above)
  upstream = http.createServer((request, response) => {
    seen.push(request)
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => response.end(`${request.method} ${request.url} ${Buffer.concat(parts).length}`))
  })
  echo = net.createServer((socket) => socket.pipe(socket))
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve))
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve))
  port = (upstream.address() as net.AddressInfo).port
  echoPort = (echo.address() as net.AddressInfo).port
})
afterAll(() => {
  upstream.close()
  echo.close()
  fs.rmSync(above, { recursive: true, force: true })
})

/** Sends bytes to the proxy's socket and gives what comes back until it closes or `enough` is there. */
const talk = (socket: string, bytes: string, enough?: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let out = ""
    const client = net.connect({ path: socket }, () => client.write(bytes))
    client.on("data", (part) => {
      out += String(part)
      if (enough !== undefined && out.includes(enough)) client.destroy()
    })
    client.once("close", () => resolve(out))
    client.once("error", reject)
  })

describe("the filtering proxy", () => {
  const names: Record<string, ReadonlyArray<string>> = {
    "good.example": ["127.0.0.1"],
    "private.example": ["10.0.0.7"],
    "mixed.example": ["10.0.0.7", "127.0.0.1"],
    "mapped.example": ["::ffff:10.0.0.7"],
    "gone.example": []
  }
  const proxied = <A>(use: (socket: string) => Promise<A>) =>
    Effect.gen(function*() {
      const socket = path.join(above, `s${Math.random().toString(36).slice(2, 8)}`)
      yield* makeFilterProxy({
        socket,
        refusal: (host, at) =>
          host.endsWith(".example") || host === "127.0.0.1" || host === "10.0.0.7"
            ? null
            : `${host}:${at} is not listed`,
        mayConnect: (address) => address === "127.0.0.1",
        resolve: (host) => Promise.resolve(names[host] ?? [])
      })
      return yield* Effect.promise(() => use(socket))
    })
  const request = (host: string, more = "") =>
    `GET http://${host}:${port}/a?b HTTP/1.1\r\nHost: other.example\r\nConnection: close, X-Own\r\n` +
    `Proxy-Authorization: Basic eA==\r\nX-Own: 1\r\nX-Kept: 1\r\n${more}\r\n`

  it.scoped("plain requests go to the approved address, under the approved name, without what was meant for the proxy", () =>
    proxied(async (socket) => {
      seen.length = 0
      assert.match(await talk(socket, request("good.example")), /^HTTP\/1\.1 200 [\s\S]*GET \/a\?b 0/)
      const [got] = seen
      assert.strictEqual(got?.headers.host, `good.example:${port}`)
      assert.deepStrictEqual(
        ["proxy-authorization", "x-own", "x-kept"].map((name) => got?.headers[name]),
        [undefined, undefined, "1"]
      )
      assert.match(
        await talk(
          socket,
          `POST http://good.example:${port}/p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello`
        ),
        /POST \/p 5/
      )
    }))

  it.scoped("a tunnel carries bytes both ways", () =>
    proxied(async (socket) => {
      const out = await talk(socket, `CONNECT good.example:${echoPort} HTTP/1.1\r\nHost: x\r\n\r\nping`, "ping")
      assert.match(out, /^HTTP\/1\.1 200 Connection Established\r\n\r\nping$/)
      assert.match(await talk(socket, `CONNECT mixed.example:${echoPort} HTTP/1.1\r\n\r\nping`, "ping"), / 200 /)
    }))

  it.scoped("names that are not listed, private addresses, dead names and nonsense are refused", () =>
    proxied(async (socket) => {
      seen.length = 0
      const tunnel = (target: string) => talk(socket, `CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)
      assert.match(await tunnel("evil.test:443"), / 403 [\s\S]*evil\.test:443 is not listed/)
      assert.match(await tunnel("private.example:443"), / 403 [\s\S]*private, local or reserved/)
      assert.match(await tunnel("mapped.example:443"), / 403 /)
      assert.match(await tunnel("10.0.0.7:443"), / 403 /)
      assert.match(await tunnel("gone.example:443"), / 502 /)
      assert.match(await tunnel("good.example"), / 400 /)
      assert.match(await tunnel("good.example:99999"), / 400 /)
      assert.match(await tunnel("user@good.example:443"), / 400 /)
      assert.match(await talk(socket, request("evil.test")), / 403 /)
      assert.match(await talk(socket, "GET /path HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\n\r\n"), / 400 /)
      assert.match(await talk(socket, "\0\0\0\r\n\r\n"), / 400 /)
      assert.strictEqual(seen.length, 0)
    }))

  it.effect("when it closes, so does every connection, and the socket is gone", () =>
    Effect.gen(function*() {
      let open: Promise<string> = Promise.resolve("")
      let socket = ""
      yield* Effect.scoped(proxied((at) => {
        socket = at
        open = talk(at, `CONNECT good.example:${echoPort} HTTP/1.1\r\n\r\n`)
        return new Promise((resolve) => setTimeout(resolve, 100))
      }))
      assert.include(yield* Effect.promise(() => open), "200")
      assert.isFalse(fs.existsSync(socket))
    }))
})

const node = JSON.stringify(process.execPath)
/** Connects directly, without any proxy. */
const direct = (host: string, at: number): string =>
  `${node} -e "require('net').connect(${at}, '${host}').on('connect', () => {console.log('connected'); process.exit(0)}).on('error', (e) => {console.log(e.code); process.exit(1)})"`
/** A server and a client on the loopback device inside. */
const loopback =
  `${node} -e "const n=require('net');const s=n.createServer((c)=>c.end('hi')).listen(0,'127.0.0.1',()=>n.connect(s.address().port,'127.0.0.1').on('data',(d)=>{console.log(String(d));process.exit(0)}))"`
/** A request through $HTTP_PROXY, by hand. */
const through = (line: string): string =>
  `${node} -e "const u=new URL(process.env.http_proxy);let o='';const c=require('net').connect(Number(u.port),u.hostname,()=>c.write('${line} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n'));c.on('data',(d)=>{o+=d;if(o.includes('Established'))c.destroy()}).on('close',()=>console.log(o))"`

for (const user of users) {
  for (const method of methods) {
    describe(`${method}, as ${user.name}`, () => {
      const run = (name: string, network: unknown, commands: ReadonlyArray<string>) => {
        const at = world(above, `${method}-${user.uid}-${name}`, user.uid)
        return drive(driver, user.uid, {
          base: at.base,
          root: at.root,
          sandbox: { mode: "workspace", network },
          methods: [method],
          env: { HOME: path.join(at.base, "home") },
          commands,
          resolve: { "good.example": ["127.0.0.1"], "private.example": ["10.0.0.7"], "rebound.example": ["127.0.0.1"] },
          reachable: ["127.0.0.1"]
        })
      }

      it("on: shared; off: nothing but a loopback device of its own", async () => {
        const on = await run("on", "on", [direct("127.0.0.1", port)])
        assert.deepStrictEqual([on.status.network, on.answers[0]?.stdout], ["shared", "connected\n"])
        const off = await run("off", "off", [direct("127.0.0.1", port), loopback, "cat /proc/net/dev | wc -l"])
        assert.strictEqual(off.status.network, "isolated", JSON.stringify(off.status))
        assert.deepStrictEqual(off.answers.map((answer) => answer.stdout), ["ECONNREFUSED\n", "hi\n", "3\n"])
      })

      it("{allow}: what is listed, through the proxy alone", async () => {
        const { answers, notice, status } = await run("allow", { allow: [`good.example:${port}`, "private.example"] }, [
          through(`GET http://good.example:${port}/x`),
          through(`CONNECT good.example:${port}`),
          through(`GET http://rebound.example:${port}/x`),
          through("CONNECT private.example:443"),
          through(`CONNECT 127.0.0.1:${port}`),
          direct("127.0.0.1", port),
          loopback,
          "exit 9",
          "kill -TERM $$",
          "no-such-thing"
        ])
        assert.strictEqual(status.network, "filtered", JSON.stringify(status))
        assert.include(notice ?? "", "good.example")
        const out = answers.map((answer) => answer.stdout)
        assert.match(out[0] ?? "", /^HTTP\/1\.1 200 [\s\S]*GET \/x 0/, answers[0]?.stderr)
        assert.match(out[1] ?? "", /200 Connection Established/)
        for (const index of [2, 3, 4]) assert.match(out[index] ?? "", /^HTTP\/1\.1 403 /, String(index))
        assert.deepStrictEqual(out.slice(5, 7), ["ECONNREFUSED\n", "hi\n"])
        assert.deepStrictEqual(answers.slice(7).map((answer) => answer.code), [9, 143, 127])
      })
    })
  }
}
