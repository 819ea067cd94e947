import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import type { ProtocolName } from "../../src/protocol/Protocol.ts"
import { isLoopback, resolve, sidePath, withQuery } from "../../src/provider/EndpointResolver.ts"
import vectors from "./endpoints.json" with { type: "json" }

const protocols: ReadonlyArray<ProtocolName> = ["chat", "responses", "anthropic"]

const segment = FastCheck.constantFrom(
  "v1",
  "v2beta",
  "openai",
  "api",
  "gateway",
  "messages",
  "responses",
  "chat",
  "completions",
  "compact",
  "count_tokens",
  "deployments",
  "d",
  "anthropic",
  "",
  "%2F"
)
const host = FastCheck.constantFrom(
  "h",
  "r.openai.azure.com",
  "chatgpt.com",
  "api.githubcopilot.com",
  "api.pro.githubcopilot.com",
  "127.0.0.1:1"
)
const bases = FastCheck.tuple(
  FastCheck.constantFrom("http", "https"),
  host,
  FastCheck.array(segment, { maxLength: 6 }),
  FastCheck.constantFrom("", "?key=k", "?a=1&b=%20", "#f")
).map(([scheme, name, path, tail]) => `${scheme}://${name}/${path.join("/")}${tail}`)

describe("EndpointResolver", () => {
  for (const row of vectors.resolved) {
    const root = row.root === "exact" ? "exact" : "auto"
    it(`${row.base_url}${root === "exact" ? " (exact)" : ""}`, () => {
      for (const protocol of protocols) {
        const result = resolve({ base_url: row.base_url, protocol, root })
        const expected = row[protocol]
        if (expected === null) {
          assert.isTrue(Either.isLeft(result) && result.left.reason === "protocol_not_offered", protocol)
        } else assert.strictEqual(Either.isRight(result) ? result.right.url : "refused", expected)
      }
    })
  }

  for (const row of vectors.refused) {
    it(`refused: ${JSON.stringify(row.base_url)}`, () => {
      const result = resolve({ base_url: row.base_url, protocol: "chat" })
      assert.isTrue(Either.isLeft(result))
      if (Either.isLeft(result)) {
        assert.strictEqual(result.left.reason, row.reason)
        assert.notInclude(result.left.message, "user:pass")
      }
    })
  }

  for (const row of vectors.side_paths) {
    it(`side path ${row.url}`, () => {
      const protocol = protocols.find((name) => name === row.protocol) ?? "chat"
      const path = (["models", "messages/count_tokens", "responses/compact"] as const).find((p) => p === row.path)
      const endpoint = Either.getOrThrow(resolve({ base_url: row.base_url, protocol }))
      assert.strictEqual(sidePath(endpoint, path ?? "models"), row.url)
    })
  }

  it.prop(
    "resolving twice changes nothing; no /v1/v1, no doubled endpoint",
    [bases, FastCheck.constantFrom(...protocols), FastCheck.constantFrom("auto" as const, "exact" as const)],
    ([base_url, protocol, root]) => {
      const once = resolve({ base_url, protocol, root })
      if (Either.isLeft(once)) return once.left.reason === "protocol_not_offered"
      const twice = resolve({ base_url: once.right.url, protocol, root })
      const path = new URL(once.right.url).pathname
      return Either.isRight(twice) && twice.right.url === once.right.url &&
        (root === "exact" || !/\/(v\d+(?:alpha|beta)?)\/\1(?:\/|$)/.test(path)) &&
        !/\/(messages|responses|completions)\/\1$/.test(path)
    },
    { fastCheck: { numRuns: 1000 } }
  )

  it.prop(
    "an address resolved for one protocol serves as base of another",
    [
      FastCheck.constantFrom("https://h", "https://h/api", "https://h/openai", "https://r.openai.azure.com"),
      FastCheck.constantFrom("chat" as const, "responses" as const),
      FastCheck.constantFrom("chat" as const, "responses" as const)
    ],
    ([base_url, first, second]) => {
      const via = Either.getOrThrow(resolve({ base_url, protocol: first })).url
      return Either.getOrThrow(resolve({ base_url: via, protocol: second })).url ===
        Either.getOrThrow(resolve({ base_url, protocol: second })).url
    }
  )

  it("errors show no query and no user information", () => {
    const refused = resolve({ base_url: "https://chatgpt.com/x?key=sekret", protocol: "chat" })
    assert.isTrue(Either.isLeft(refused) && !refused.left.message.includes("sekret"))
  })

  it("a client's query is merged, the target's parameters win", () => {
    assert.strictEqual(withQuery("https://h/v1/messages", "?beta=true"), "https://h/v1/messages?beta=true")
    assert.strictEqual(withQuery("https://h/v1?key=k", "key=evil&beta=true"), "https://h/v1?key=k&beta=true")
    assert.strictEqual(withQuery("https://h/v1?key=k", ""), "https://h/v1?key=k")
  })

  it("loopback origins", () => {
    for (const origin of ["http://127.0.0.1:11434", "http://localhost:1", "http://[::1]:80", "http://127.9.9.9"]) {
      assert.isTrue(isLoopback(origin), origin)
    }
    for (const origin of ["http://127.0.0.1.evil.example", "https://10.0.0.1", "http://localhost.example", "x"]) {
      assert.isFalse(isLoopback(origin), origin)
    }
  })
})
