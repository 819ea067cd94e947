import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { isAddress, isPublicAddress } from "../../src/codec/IpAddress.ts"
import type { Permissions } from "../../src/permissions/Permissions.ts"
import { Http, HttpError } from "../../src/platform/Http.ts"
import {
  FetchPolicy,
  type FetchPolicyService,
  fetchSubject,
  makeFetchTool,
  staysWithHost
} from "../../src/tools/Fetch.ts"
import { OutputFiles } from "../../src/tools/OutputFiles.ts"
import { bodyKind, decodeBody, mediaType, plainText, toMarkdown } from "../../src/tools/Readable.ts"
import { allowAll, execute, layerBelow, layerTools, recordingPermissions, scratch } from "../support/tools.ts"

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void

/** A server on 127.0.0.1 and the address it listens at. */
const serve = (handler: Handler) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<http.Server>((resume) => {
        const server = http.createServer(handler)
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.async<void>((resume) => {
          server.closeAllConnections()
          server.close(() => resume(Effect.void))
        })
    ),
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  )

/** The fetch tool over real sockets (or a given Http), by default allowed to reach this machine. */
const withFetch = <A, E, R>(
  test: (root: string) => Effect.Effect<A, E, R>,
  options: {
    readonly policy?: Partial<FetchPolicyService>
    readonly permissions?: Layer.Layer<Permissions>
    readonly http?: Layer.Layer<Http>
  } = {}
) =>
  Effect.acquireUseRelease(
    Effect.sync(scratch),
    ({ root }) => {
      const below = layerBelow(root)
      const permissions = options.permissions ?? allowAll
      const services = Layer.mergeAll(
        Layer.provide(OutputFiles.layer, below),
        options.http ?? Layer.provide(Http.layer, below),
        FetchPolicy.layerWith({ allow_private: true, ...options.policy }),
        permissions
      )
      const layer = Layer.provide(
        Layer.unwrapEffect(Effect.map(makeFetchTool, (tool) => layerTools([tool], permissions))),
        services
      )
      return Effect.scoped(Effect.provide(test(root), layer))
    },
    ({ remove }) => Effect.sync(remove)
  )

const page = `<!doctype html><html><head><title>The title</title><script>evil()</script></head><body>
<h1>Heading</h1><p>Some <b>bold</b> text and a <a href="/next?a=1">link</a>, <a href="javascript:alert(1)">no link</a>.</p>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>x|y</td></tr></table>
<pre><code class="language-ts">const a = 1
  const b = 2</code></pre><img src="data:image/png;base64,AAAA"></body></html>`

describe("fetch", () => {
  it.effect("HTML becomes Markdown with absolute links, without scripts", () =>
    withFetch(() =>
      Effect.gen(function*() {
        const base = yield* serve((_, response) => {
          response.setHeader("content-type", "text/html; charset=utf-8")
          response.end(page)
        })
        const { is_error, output } = yield* execute("fetch", { url: `${base}/docs/page` })
        assert.isFalse(is_error)
        assert.include(output, "Heading")
        assert.include(output, `Some **bold** text and a [link](${base}/next?a=1), no link.`)
        assert.include(output, "| A | B |\n| --- | --- |\n| 1 | x\\|y |")
        assert.include(output, "```ts\nconst a = 1\n  const b = 2\n```")
        for (const gone of ["evil", "javascript:", "base64"]) assert.notInclude(output, gone)
      })
    ))

  it.effect("JSON and text stay what they are, in their character set", () =>
    withFetch(() =>
      Effect.gen(function*() {
        const base = yield* serve((request, response) => {
          if (request.url === "/json") {
            response.setHeader("content-type", "application/problem+json")
            response.end("{\"a\": [1,\n 2]}")
          } else if (request.url === "/latin") {
            response.setHeader("content-type", "text/plain; charset=ISO-8859-1")
            response.end(Buffer.from([0x67, 0x72, 0xfc, 0x6e]))
          } else response.end("no type at all")
        })
        assert.strictEqual((yield* execute("fetch", { url: `${base}/json` })).output, "{\"a\": [1,\n 2]}")
        assert.strictEqual((yield* execute("fetch", { url: `${base}/latin` })).output, "grün")
        assert.strictEqual((yield* execute("fetch", { url: `${base}/x` })).output, "no type at all")
      })
    ))

  it.effect("what is not text is refused with its type and size", () =>
    withFetch(() =>
      Effect.gen(function*() {
        const base = yield* serve((request, response) => {
          response.setHeader("content-type", request.url === "/png" ? "image/png" : "application/octet-stream")
          response.end(Buffer.alloc(300_000, 1))
        })
        assert.include((yield* execute("fetch", { url: `${base}/png` })).error ?? "", "not text (image/png, 293 KiB)")
        assert.include(
          (yield* execute("fetch", { url: `${base}/bin` })).error ?? "",
          "(application/octet-stream, 293 KiB)"
        )
      })
    ))

  it.effect("a status of failure is an error that keeps the body", () =>
    withFetch(() =>
      Effect.gen(function*() {
        const base = yield* serve((_, response) => {
          response.writeHead(404, { "content-type": "text/plain" })
          response.end("nothing here")
        })
        const result = yield* execute("fetch", { url: `${base}/x` })
        assert.deepStrictEqual([result.is_error, result.error, result.output], [
          true,
          `HTTP 404 from ${base}/x`,
          "nothing here"
        ])
      })
    ))

  it.effect("the size cap holds for the decompressed body, the rest is not read", () =>
    withFetch(() =>
      Effect.gen(function*() {
        const base = yield* serve((_, response) => {
          response.setHeader("content-type", "text/plain")
          const flood = (): void => {
            while (!response.destroyed && response.write("x".repeat(65_536)));
          }
          response.on("drain", flood)
          flood()
        })
        const result = yield* execute("fetch", { url: base })
        assert.include(result.output, "[only the first 1.0 MiB were read]")
        assert.strictEqual(fs.statSync(result.truncated?.full_output_path ?? "").size, 1024 * 1024)
      }), { policy: { max_bytes: 1024 * 1024 } }))

  it.effect("the time cap holds for head and body", () =>
    withFetch(() =>
      Effect.gen(function*() {
        let asked: () => void = () => undefined
        const base = yield* serve((request, response) => {
          if (request.url === "/body") response.write("begin")
          asked()
        })
        for (const where of ["/head", "/body"]) {
          const arrived = new Promise<void>((resolve) => {
            asked = resolve
          })
          const call = yield* Effect.fork(execute("fetch", { url: base + where }))
          yield* Effect.promise(() => arrived)
          yield* TestClock.adjust("30 seconds")
          assert.include((yield* Fiber.join(call)).error ?? "", "was not read within 30 s")
        }
      })
    ))

  it.effect("redirects of the same host are followed, five of them", () =>
    withFetch(() =>
      Effect.gen(function*() {
        const base = yield* serve((request, response) => {
          const n = Number(request.url?.slice(1))
          if (n > 0) response.writeHead(302, { location: `/${n - 1}#frag` }).end()
          else response.end("arrived")
        })
        assert.strictEqual((yield* execute("fetch", { url: `${base}/5` })).output, `[redirected to ${base}/0]\narrived`)
        assert.include((yield* execute("fetch", { url: `${base}/6` })).error ?? "", "more than 5 redirects")
      })
    ))

  it.effect("2.3: a redirect to another host is reported, not followed, unless a rule allows it; a deny stops it", () => {
    let verdict: "allow" | "deny" | "prompt" = "prompt"
    const asked: Array<string | undefined> = []
    const { layer } = recordingPermissions(() => null, (_, subject) => {
      asked.push(subject)
      return verdict
    })
    return withFetch(() =>
      Effect.gen(function*() {
        let hits = 0
        const other = yield* serve((_, response) => {
          hits++
          response.end("other host")
        })
        const base = yield* serve((request, response) => {
          response.writeHead(301, { location: request.url === "/file" ? "file:///etc/passwd" : `${other}/there` }).end()
        })
        const told = yield* execute("fetch", { url: base })
        assert.include(told.output, `redirects to another host: ${other}/there`)
        assert.deepStrictEqual([told.is_error, hits, asked], [false, 0, [`${other}/there`]])
        verdict = "deny"
        assert.include((yield* execute("fetch", { url: base })).error ?? "", "a permission rule denies")
        assert.strictEqual(hits, 0)
        verdict = "allow"
        assert.include((yield* execute("fetch", { url: base })).output, "other host")
        assert.include((yield* execute("fetch", { url: `${base}/file` })).error ?? "", "no http or https address")
      }), { permissions: layer })
  })

  const local = [
    "http://127.0.0.1/",
    "http://localhost/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://0.0.0.0/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://192.168.1.1./"
  ]
  it.effect("private, local and metadata addresses are refused in every spelling, also behind a name", () =>
    withFetch(() =>
      Effect.gen(function*() {
        for (const url of local) {
          const result = yield* execute("fetch", { url })
          assert.isTrue(result.is_error, url)
          assert.include(result.error ?? "", "private, local or reserved address", url)
        }
      }), { policy: { allow_private: false } }))

  it.effect("every redirect is looked at again", () => {
    const asked: Array<string> = []
    const layer = Layer.succeed(Http, {
      request: (request) =>
        Effect.gen(function*() {
          asked.push(request.url)
          // What a name resolves to is checked where the connection is made.
          if (request.allowAddress?.("10.1.2.3") !== false) return yield* Effect.dieMessage("private is allowed")
          if (request.url.includes("rebound")) {
            return yield* new HttpError({ reason: "blocked", message: "blocked" })
          }
          const to = request.url.endsWith("/name") ? "http://rebound.example/" : "http://169.254.169.254/"
          return {
            url: request.url,
            status: 302,
            headers: { location: to },
            read: Effect.succeedNone,
            body: undefined,
            release: Effect.void
          } as never
        })
    })
    return withFetch(() =>
      Effect.gen(function*() {
        const literal = yield* execute("fetch", { url: "http://93.184.216.34/x" })
        assert.include(literal.error ?? "", "169.254.169.254 is a private")
        const name = yield* execute("fetch", { url: "http://93.184.216.34/name" })
        assert.include(name.error ?? "", "rebound.example is a private")
        assert.deepStrictEqual(asked, [
          "http://93.184.216.34/x",
          "http://93.184.216.34/name",
          "http://rebound.example/"
        ])
      }), {
      policy: { allow_private: false },
      http: layer,
      permissions: recordingPermissions(() => null, () => "allow").layer
    })
  })

  it.effect("7.5: the subject is the parsed address without user info and fragment, and that is what is fetched", () => {
    const { layer, requests } = recordingPermissions()
    return withFetch(() =>
      Effect.gen(function*() {
        const seen: Array<string | undefined> = []
        const base = yield* serve((request, response) => {
          seen.push(request.headers.authorization, request.url)
          response.end("ok")
        })
        yield* execute("fetch", { url: `  ${base.replace("//", "//user:secret@")}/a/../b?q=1#frag` })
        assert.deepStrictEqual(requests[0]?.subjects, [`${base}/b?q=1`])
        assert.deepStrictEqual(seen, [undefined, "/b?q=1"])
      }), { permissions: layer })
  })

  it.effect("other schemes and no addresses are refused before anyone is asked", () => {
    const { layer, requests } = recordingPermissions()
    return withFetch(() =>
      Effect.gen(function*() {
        for (
          const url of [
            "file:///etc/passwd",
            "ftp://x.example/",
            "javascript:alert(1)",
            "example.com",
            "http://",
            "//x"
          ]
        ) {
          assert.include((yield* execute("fetch", { url })).error ?? "", "not an http or https address")
        }
        assert.deepStrictEqual(requests, [])
      }), { permissions: layer })
  })
})

describe("addresses", () => {
  const cases: ReadonlyArray<readonly [string, boolean]> = [
    ["8.8.8.8", true],
    ["1.1.1.1", true],
    ["172.15.0.1", true],
    ["172.16.0.1", false],
    ["172.31.255.255", false],
    ["172.32.0.1", true],
    ["100.63.255.255", true],
    ["100.64.0.1", false],
    ["100.100.100.200", false],
    ["168.63.129.16", false],
    ["168.63.129.17", true],
    ["198.17.255.255", true],
    ["198.19.0.1", false],
    ["223.255.255.255", true],
    ["224.0.0.1", false],
    ["255.255.255.255", false],
    ["2606:4700:4700::1111", true],
    ["2001:4860:4860::8888", true],
    ["::", false],
    ["::1", false],
    ["::ffff:8.8.8.8", true],
    ["::ffff:10.0.0.1", false],
    ["::ffff:a00:1", false],
    ["::127.0.0.1", false],
    ["64:ff9b::8.8.8.8", true],
    ["64:ff9b::10.0.0.1", false],
    ["2002:0a00:0001::", false],
    ["2002:0808:0808::", true],
    ["2001:db8::1", false],
    ["2001::1", false],
    ["fe80::1%eth0", false],
    ["fc00::1", false],
    ["fd00:ec2::254", false],
    ["ff02::1", false],
    ["localhost", false],
    ["", false],
    ["1.2.3", false],
    ["1.2.3.256", false],
    ["01.2.3.4", false],
    ["1::2::3", false],
    ["12345::", false]
  ]
  for (const [address, expected] of cases) {
    it(`${address === "" ? "(empty)" : address}: ${expected ? "public" : "not public"}`, () =>
      assert.strictEqual(isPublicAddress(address), expected))
  }

  it("an IPv4 address inside IPv6 is judged like itself", () => {
    FastCheck.assert(FastCheck.property(FastCheck.ipV4(), (v4) => {
      assert.strictEqual(isPublicAddress(`::ffff:${v4}`), isPublicAddress(v4))
      assert.isTrue(isAddress(v4) && isAddress(`[::ffff:${v4}]`))
    }))
    assert.isFalse(isAddress("example.com") || isAddress("a.b.c.d"))
  })

  it("same host: www, upgrade to https; not: other port, downgrade, other name", () => {
    assert.isTrue(staysWithHost("http://a.example/x", "http://a.example/y"))
    assert.isTrue(staysWithHost("http://a.example/", "https://www.a.example/"))
    assert.isFalse(staysWithHost("https://a.example/", "http://a.example/"))
    assert.isFalse(staysWithHost("http://a.example/", "http://a.example:8080/"))
    assert.isFalse(staysWithHost("http://a.example/", "http://evil.example/a.example"))
  })

  it("a subject parses to itself", () => {
    FastCheck.assert(FastCheck.property(FastCheck.webUrl({ withFragments: true, withQueryParameters: true }), (url) => {
      const subject = fetchSubject(url)
      assert.isString(subject)
      assert.strictEqual(fetchSubject(subject ?? ""), subject)
      assert.notInclude(subject, "#")
    }))
  })
})

describe("bodies as text", () => {
  it("media types and kinds", () => {
    assert.deepStrictEqual(mediaType("Text/HTML; a=b; Charset=\"UTF-8\""), { type: "text/html", charset: "utf-8" })
    assert.deepStrictEqual(mediaType(undefined), { type: "", charset: null })
    const bytes = new TextEncoder().encode("<!DOCTYPE html><p>x")
    assert.strictEqual(bodyKind("", bytes), "html")
    assert.strictEqual(bodyKind("text/plain", bytes), "text")
    assert.strictEqual(bodyKind("application/pdf", bytes), "binary")
    assert.strictEqual(bodyKind("application/octet-stream", new Uint8Array([1, 0, 2])), "binary")
    assert.strictEqual(bodyKind("application/octet-stream", new TextEncoder().encode("plain")), "text")
  })

  it("a page may name its own character set, an unknown one is UTF-8", () => {
    const latin = new Uint8Array([...new TextEncoder().encode("<meta charset=iso-8859-1>"), 0xfc])
    assert.strictEqual(decodeBody(latin, null, "html"), "<meta charset=iso-8859-1>ü")
    assert.strictEqual(decodeBody(new TextEncoder().encode("ü"), "no-such-set", "text"), "ü")
  })

  it("plain text of a page: no tags, no scripts, entities decoded, never a crash", () => {
    assert.strictEqual(
      plainText(
        "<head><title>t</title></head><p>a &amp; b<br>c</p><script>x < 1</script><!-- no --><b>1 < 2</b> &#x20ac;&#0;"
      ),
      "a & b\nc\n1 < 2 €\ufffd"
    )
    FastCheck.assert(FastCheck.property(
      FastCheck.string({
        unit: FastCheck.constantFrom("<", ">", "/", "p", "script", "!--", "-->", "&", ";", "#x41", " ", "\n")
      }),
      (html) => {
        assert.isString(plainText(html))
      }
    ))
  })

  it.effect("pages that would stall the converters come as plain text, quickly", () =>
    Effect.gen(function*() {
      const begun = Date.now()
      assert.strictEqual(yield* toMarkdown(`${"<div>".repeat(20_000)}deep`, "http://x.example/"), "deep")
      assert.include(yield* toMarkdown(`<p>${"<i>x</i>".repeat(40_000)}`, "http://x.example/"), "xxxx")
      assert.include(yield* toMarkdown(`<p>${"y".repeat(3_000_000)}`, "http://x.example/"), "yyyy")
      assert.isBelow(Date.now() - begun, 8_000)
    }))

  it.effect("a page with little prose keeps all of it", () =>
    Effect.gen(function*() {
      const items = Array.from({ length: 40 }, (_, i) => `<li><a href="/api/${i}">function${i}</a></li>`).join("")
      const text = yield* toMarkdown(`<title>API</title><ul>${items}</ul>`, "http://x.example/")
      assert.isTrue(text.startsWith("# API\n\n"))
      assert.include(text, "[function39](http://x.example/api/39)")
    }))
})
