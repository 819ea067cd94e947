/** What goes into headers and what comes out of them (readings 1.2, 1.13). */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import type { JsonRpcObject } from "../../src/codec/JsonRpc.ts"
import { scopesFor } from "../../src/mcp/AuthLogins.ts"
import * as Challenge from "../../src/mcp/Challenge.ts"
import * as HttpWire from "../../src/mcp/HttpWire.ts"
import { isBareOrigin } from "../../src/mcp/IssuerMetadata.ts"
import * as ParamHeaders from "../../src/mcp/ParamHeaders.ts"
import { canonical, covers } from "../../src/mcp/ResourceMetadata.ts"

const decode = (value: string): string => {
  const found = /^=\?base64\?(.*)\?=$/su.exec(value)
  return found === null ? value : Buffer.from(found[1] ?? "", "base64").toString()
}

const schema = (properties: JsonRpcObject, more: JsonRpcObject = {}): JsonRpcObject => ({
  type: "object",
  properties,
  ...more
})
const annotated = (name: unknown, type: unknown = "string"): JsonRpcObject => ({ type, "x-mcp-header": name })

describe("Mcp-Param-*", () => {
  it("1.2 names by annotation, values as they are or wrapped; null and absent ones have no header", () => {
    const found = ParamHeaders.read(schema({
      region: annotated("Region"),
      count: annotated("Count", "integer"),
      on: annotated("On", "boolean"),
      plain: { type: "string" },
      deep: schema({ inner: annotated("Inner") }),
      missing: annotated("Missing"),
      nothing: annotated("Nothing")
    }))
    assert.isTrue("ok" in found)
    assert.deepStrictEqual(
      ParamHeaders.write("ok" in found ? found.ok : [], {
        region: "Hello, 世界",
        count: 42,
        on: false,
        plain: "not me",
        deep: { inner: "x" },
        nothing: null
      }),
      {
        "mcp-param-region": "=?base64?SGVsbG8sIOS4lueVjA==?=",
        "mcp-param-count": "42",
        "mcp-param-on": "false",
        "mcp-param-inner": "x"
      }
    )
  })

  it("1.2 a bad annotation is told, with the parameter's name", () => {
    const bad: ReadonlyArray<readonly [string, JsonRpcObject]> = [
      ["empty", schema({ a: annotated("") })],
      ["a blank", schema({ a: annotated("My Region") })],
      ["a colon", schema({ a: annotated("Region:x") })],
      ["not ASCII", schema({ a: annotated("Région") })],
      ["a line break", schema({ a: annotated("a\r\nb") })],
      ["no text", schema({ a: annotated(7) })],
      ["an object", schema({ a: annotated("A", "object") })],
      ["a number", schema({ a: annotated("A", "number") })],
      ["several types", schema({ a: annotated("A", ["string", "null"]) })],
      ["no type", schema({ a: { "x-mcp-header": "A" } })],
      ["twice", schema({ a: annotated("A"), b: annotated("a") })],
      ["the whole", { ...schema({}), "x-mcp-header": "A" }],
      ["in items", schema({ a: { type: "array", items: annotated("A") } })],
      ["in one of several", schema({ a: { oneOf: [schema({ b: annotated("A") })] } })],
      ["in a definition", schema({ a: { type: "string" } }, { $defs: { x: annotated("A") } })],
      ["behind a condition", schema({}, { if: schema({ a: annotated("A") }) })]
    ]
    for (const [what, each] of bad) assert.isTrue("why" in ParamHeaders.read(each), what)
  })

  it("1.2 a parameter that is called like the annotation, and values that only hold the word, are none", () => {
    const found = ParamHeaders.read(
      schema({ "x-mcp-header": { type: "string" }, a: { type: "object", default: { "x-mcp-header": "A" } } })
    )
    assert.deepStrictEqual(found, { ok: [] })
  })

  it.prop("1.2 every text comes back whole, and nothing that breaks a header goes out", {
    text: fc.fullUnicodeString()
  }, ({ text }) => {
    const value = ParamHeaders.headerValue(text)
    assert.match(value, /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/u)
    assert.strictEqual(decode(value), text)
  })

  it("1.2 what looks wrapped is wrapped", () => {
    const text = "=?base64?literal?="
    assert.strictEqual(ParamHeaders.headerValue(text), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=")
  })

  it.prop("1.2 whatever a schema is, reading it ends", { value: fc.jsonValue() }, ({ value }) => {
    const found = ParamHeaders.read({ type: "object", properties: value, allOf: value, $defs: value })
    assert.isTrue("ok" in found || "why" in found)
  })
})

describe("WWW-Authenticate", () => {
  it("1.13 the Bearer challenge among others, quoted or not, in any order", () => {
    assert.deepStrictEqual(
      Challenge.read(
        "Negotiate abc==, Basic realm=\"a, Bearer b\", bearer error=invalid_token , scope=\"a  b\"," +
          " resource_metadata=\"https://x/\\\"y\", Digest nonce=1"
      ),
      {
        error: "invalid_token",
        error_description: null,
        scopes: ["a", "b"],
        resource_metadata: "https://x/\"y",
        dpop: "no"
      }
    )
    assert.deepStrictEqual(Challenge.read("Bearer"), Challenge.none)
    assert.deepStrictEqual(Challenge.read("Basic realm=\"x\", scope=\"a\""), Challenge.none)
    assert.deepStrictEqual(Challenge.read(undefined), Challenge.none)
    assert.deepStrictEqual(Challenge.read("DPoP algs=\"ES256\", error=\"use_dpop_nonce\""), {
      ...Challenge.none,
      error: "use_dpop_nonce",
      dpop: "only"
    })
    assert.deepStrictEqual(
      Challenge.read("Bearer error=\"invalid_token\", scope=\"a\", DPoP error=\"use_dpop_nonce\", scope=\"b\""),
      { ...Challenge.none, error: "use_dpop_nonce", scopes: ["a"], dpop: "offered" }
    )
  })

  it.prop("1.13 never throws, always ends", { text: fc.string() }, ({ text }) => {
    Challenge.read(text)
    Challenge.read(`Bearer ${text}`)
  })
})

describe("resources and scopes", () => {
  it("1.13 a resource covers its own address and what is below it, on the same origin", () => {
    const yes = [
      ["https://x/mcp", "https://x/mcp"],
      ["https://x/mcp/", "https://x/mcp"],
      ["https://x", "https://x/mcp"],
      ["https://X/a", "https://x/a/b?c=d"],
      ["https://x:443/", "https://x/mcp"]
    ]
    const no = [
      ["https://x/mcp", "https://x/mcp2"],
      ["https://x/mcp/a", "https://x/mcp"],
      ["http://x/mcp", "https://x/mcp"],
      ["https://y/mcp", "https://x/mcp"],
      ["https://x.evil/mcp", "https://x/mcp"],
      ["https://x/mcp#f", "https://x/mcp"],
      ["nothing", "https://x/mcp"]
    ]
    for (const [resource = "", url = ""] of yes) assert.isTrue(covers(resource, url), `${resource} ${url}`)
    for (const [resource = "", url = ""] of no) assert.isFalse(covers(resource, url), `${resource} ${url}`)
    assert.strictEqual(canonical("https://X:443/#f"), "https://x")
    assert.strictEqual(canonical("https://x/mcp?a=b#f"), "https://x/mcp?a=b")
  })

  it("1.13 challenge, else what is supported, else none; offline_access exactly where there is one", () => {
    const server = { scopes_supported: ["a", "offline_access"] }
    assert.deepStrictEqual(scopesFor(server, ["a"], ["b"], []), ["a", "offline_access"])
    assert.deepStrictEqual(scopesFor(server, null, ["b"], ["c"]), ["c", "b", "offline_access"])
    assert.deepStrictEqual(scopesFor(server, null, null, []), [])
    assert.deepStrictEqual(scopesFor({ scopes_supported: ["a"] }, ["a", "offline_access"], null, []), ["a"])
    assert.deepStrictEqual(scopesFor({}, null, ["offline_access"], []), [])
  })

  it("1.13 only a name with a path may be called by its origin, and only by one that sends no iss", () => {
    assert.isTrue(isBareOrigin("https://x/tenant", { issuer: "https://x" }))
    assert.isFalse(isBareOrigin("https://x", { issuer: "https://x" }))
    assert.isFalse(isBareOrigin("https://x/tenant", { issuer: "https://x/" }))
    assert.isFalse(isBareOrigin("https://x/tenant", { issuer: "https://y" }))
    assert.isFalse(isBareOrigin("https://x/tenant", { issuer: "https://x/other" }))
    assert.isFalse(
      isBareOrigin("https://x/tenant", {
        issuer: "https://x",
        authorization_response_iss_parameter_supported: true
      })
    )
  })
})

describe("messages", () => {
  it("1.2 the version is a header from 2025-06-18 on and always in the modern era; a session only in the legacy one", () => {
    const state = { era: "legacy", version: "2025-03-26", session: "s" } as const
    assert.deepStrictEqual(HttpWire.stateHeaders(state), { "mcp-session-id": "s" })
    assert.deepStrictEqual(HttpWire.stateHeaders({ ...state, version: "2025-06-18" }), {
      "mcp-session-id": "s",
      "mcp-protocol-version": "2025-06-18"
    })
    assert.deepStrictEqual(HttpWire.stateHeaders({ era: "modern", version: "2026-07-28", session: "s" }), {
      "mcp-protocol-version": "2026-07-28"
    })
  })

  it("1.3 an error that names no request is that of the request it answers; other ids stay what they are", () => {
    const found = HttpWire.inboundOf(
      "[{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"m\"}},{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":1}]",
      4
    )
    assert.isTrue(found.answered)
    assert.deepStrictEqual(found.items.map(({ item, on }) => ["id" in item ? item.id : "", on]), [[4, 4], [9, 4]])
    assert.isFalse(HttpWire.inboundOf("{}", 4).answered)
    assert.isTrue(HttpWire.inboundOf("no", 4).noise)
    assert.isTrue(HttpWire.inboundOf("{\"id\":\"4\",\"result\":{}}", 4).answered)
  })

  it("1.1 addresses: http and https, without a password; messages show no query", () => {
    assert.isNull(HttpWire.addressProblem("https://x/mcp"))
    for (const bad of ["ftp://x", "x", "https://a:b@x/", "file:///etc"]) assert.isNotNull(HttpWire.addressProblem(bad))
    assert.strictEqual(HttpWire.shown("https://u:p@x/mcp?key=1#f"), "https://x/mcp")
  })
})
