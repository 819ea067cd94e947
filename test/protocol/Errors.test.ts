import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { ApiErrorReason } from "../../src/domain/Failure.ts"
import { sanitise, stripMarkup } from "../../src/protocol/ErrorText.ts"
import type { ErrorAnswer } from "../../src/protocol/Protocol.ts"
import * as RetryAfter from "../../src/protocol/RetryAfter.ts"
import { protocols } from "./Support.ts"

const now = Date.UTC(2026, 0, 2, 3, 4, 5)
const answer = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): ErrorAnswer => ({
  status,
  headers,
  body: typeof body === "string" ? body : JSON.stringify(body),
  now
})
const decodeError = protocols.anthropic.decodeError
const a = (type: string, message: string) => ({ type: "error", error: { type, message }, request_id: "req_body" })
const o = (message: string, code: string | null = null, type = "invalid_request_error") => ({
  error: { message, type, param: null, code }
})

describe("errors by status and body (section 7)", () => {
  const table: ReadonlyArray<readonly [string, number, unknown, ApiErrorReason, boolean]> = [
    ["A 400", 400, a("invalid_request_error", "messages: at least one message is required"), "bad_request", false],
    ["A 401", 401, a("authentication_error", "invalid x-api-key"), "auth", false],
    ["A 402", 402, a("billing_error", "pay"), "quota", false],
    ["A 403", 403, a("permission_error", "no"), "auth", false],
    ["A 404", 404, a("not_found_error", "model: claude-0"), "not_found", false],
    ["A 413", 413, a("request_too_large", "Request exceeds the maximum size"), "too_large", false],
    [
      "A 429",
      429,
      a("rate_limit_error", "This request would exceed your rate limit of 400,000 input tokens per minute"),
      "rate_limited",
      true
    ],
    ["A 500", 500, a("api_error", "Internal server error"), "server", true],
    ["A 504", 504, a("timeout_error", "late"), "server", true],
    ["A 529", 529, a("overloaded_error", "Overloaded"), "overloaded", true],
    [
      "A context",
      400,
      a("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
      "context_too_long",
      false
    ],
    [
      "A context with max_tokens",
      400,
      a("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
      "context_too_long",
      false
    ],
    [
      "A credit",
      400,
      a("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
      "quota",
      false
    ],
    ["O 400", 400, o("Unknown parameter: 'x'.", "unknown_parameter"), "bad_request", false],
    ["O 401", 401, o("Incorrect API key provided", "invalid_api_key"), "auth", false],
    ["O 404 model", 404, o("The model `x` does not exist", "model_not_found"), "not_found", false],
    ["O 422", 422, o("bad"), "bad_request", false],
    ["O 429 rate", 429, o("Rate limit reached for gpt-x", "rate_limit_exceeded", "tokens"), "rate_limited", true],
    [
      "O 429 quota",
      429,
      o(
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota"
      ),
      "quota",
      false
    ],
    ["O 500", 500, o("The server had an error", null, "server_error"), "server", true],
    [
      "O 503 overloaded",
      503,
      o("The engine is currently overloaded, please try again later", null, "server_error"),
      "overloaded",
      true
    ],
    ["O 503", 503, o("down", null, "server_error"), "server", true],
    [
      "O context, Chat",
      400,
      o(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "context_length_exceeded"
      ),
      "context_too_long",
      false
    ],
    [
      "O context, Responses",
      400,
      o("Your input exceeds the context window of this model. Please adjust your input and try again.", null),
      "context_too_long",
      false
    ],
    ["O content policy", 400, o("rejected", "content_policy_violation"), "refused", false],
    [
      "vLLM context",
      400,
      {
        object: "error",
        message: "This model's maximum context length is 4096 tokens.",
        type: "BadRequestError",
        param: null,
        code: 400
      },
      "context_too_long",
      false
    ],
    [
      "llama.cpp context",
      400,
      {
        error: {
          code: 400,
          message: "the request exceeds the available context size, try increasing it",
          type: "exceed_context_size_error",
          n_ctx: 4096
        }
      },
      "context_too_long",
      false
    ],
    [
      "Gemini context",
      400,
      [{
        error: {
          code: 400,
          message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
          status: "INVALID_ARGUMENT"
        }
      }],
      "context_too_long",
      false
    ],
    [
      "xAI context",
      400,
      {
        code: "Client specified an invalid argument",
        error: "This model's maximum prompt length is 131072 but the request contains 140000 tokens."
      },
      "context_too_long",
      false
    ],
    ["Bedrock context", 400, { message: "Input is too long for requested model." }, "context_too_long", false],
    [
      "Mistral context",
      400,
      {
        object: "error",
        message:
          "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        type: "invalid_request_error"
      },
      "context_too_long",
      false
    ],
    [
      "LM Studio context",
      400,
      {
        error:
          "Trying to keep the first 9000 tokens when context overflows. However, the model is loaded with context length of only 4096 tokens, which is greater than the context length"
      },
      "context_too_long",
      false
    ],
    [
      "413 with a context",
      413,
      o("Prompt is too long for the context window", "context_length_exceeded"),
      "context_too_long",
      false
    ],
    [
      "a rate limit that speaks of tokens is no context",
      429,
      o(
        "Request too large: limit 30000 input tokens, requested 40000 exceeds the limit",
        "rate_limit_exceeded",
        "tokens"
      ),
      "rate_limited",
      true
    ],
    [
      "Gemini quota by the minute",
      429,
      {
        error: {
          code: 429,
          message: "You exceeded your current quota",
          status: "RESOURCE_EXHAUSTED",
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "12s" }]
        }
      },
      "rate_limited",
      true
    ],
    ["DeepSeek balance", 402, o("Insufficient Balance", "invalid_request_error", "unknown_error"), "quota", false],
    [
      "FastAPI detail",
      422,
      { detail: [{ loc: ["body", "messages"], msg: "field required", type: "missing" }] },
      "bad_request",
      false
    ],
    ["plain text", 502, "upstream connect error", "server", true],
    ["408", 408, "", "server", true],
    ["409", 409, "", "server", true],
    ["405", 405, "", "bad_request", false],
    ["a 200 that is HTML", 200, "<html><body>login</body></html>", "invalid_response", false],
    ["a 200 with an error of a gateway", 200, { error: { code: 429, message: "slow down" } }, "rate_limited", true],
    ["a code that every object has", 400, o("x", "constructor", "__proto__"), "bad_request", false],
    ["302", 302, "", "invalid_response", false]
  ]
  for (const [name, status, body, reason, retryable] of table) {
    it(`${name}: ${reason}`, () => {
      const error = decodeError(answer(status, body))
      assert.strictEqual(error.reason, reason)
      assert.strictEqual(error.retryable, retryable)
      assert.strictEqual(error.status, status)
      assert.notStrictEqual(error.message, "")
    })
  }

  it("the same answer is the same error in all three families", () => {
    for (const [, status, body] of table) {
      const first = protocols.anthropic.decodeError(answer(status, body))
      assert.deepStrictEqual(protocols.chat.decodeError(answer(status, body)), first)
      assert.deepStrictEqual(protocols.responses.decodeError(answer(status, body)), first)
    }
  })

  it("code, message and request id are kept; the header wins", () => {
    const error = decodeError(
      answer(429, a("rate_limit_error", "slow"), { "request-id": "req_header", "retry-after": "7" })
    )
    assert.deepInclude(error, {
      code: "rate_limit_error",
      message: "slow",
      request_id: "req_header",
      retry_after_ms: 7000
    })
    assert.strictEqual(decodeError(answer(429, a("rate_limit_error", "slow"))).request_id, "req_body")
    assert.strictEqual(decodeError(answer(500, "", { "x-request-id": "req_o" })).request_id, "req_o")
  })

  it("x-should-retry wins over status and code", () => {
    assert.isFalse(decodeError(answer(500, "", { "x-should-retry": "false" })).retryable)
    assert.isTrue(decodeError(answer(400, o("x"), { "x-should-retry": "true" })).retryable)
    assert.isTrue(decodeError(answer(503, "", { "x-should-retry": "maybe" })).retryable)
  })

  it("the words of an upstream behind a gateway are kept", () => {
    const error = decodeError(
      answer(502, {
        error: {
          code: 502,
          message: "Provider returned error",
          metadata: { raw: "CUDA out of memory", provider_name: "P" }
        }
      })
    )
    assert.strictEqual(error.message, "Provider returned error: CUDA out of memory")
  })
})

describe("bodies made fit for a person", () => {
  it("a page is stripped and capped", () => {
    const page =
      `<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>body{color:red}</style><script>alert("x")</script></head><body><h1>502</h1>${
        "nginx &amp; more ".repeat(500)
      }</body></html>`
    const { message, reason } = decodeError(answer(502, page))
    assert.strictEqual(reason, "server")
    assert.match(message, /^HTTP 502: 502 Bad Gateway 502 nginx & more/)
    assert.isAtMost(message.length, 320)
    assert.notMatch(message, /[<>]|color|alert/)
  })

  it("a long body is capped", () => {
    assert.isAtMost(decodeError(answer(500, "x".repeat(1_000_000))).message.length, 2_000)
    assert.isAtMost(decodeError(answer(500, o("y".repeat(1_000_000)))).message.length, 2_000)
  })

  it("an empty body still says something", () => {
    assert.strictEqual(decodeError(answer(503, "")).message, "HTTP 503 without a body")
  })

  it("control characters and bidi overrides are neutralised (G8)", () => {
    assert.strictEqual(sanitise("a\u001b[31mb\u202ec\u0000d"), "a [31mb c d")
  })

  const secrets = [
    "sk-abcdefghijklmnop1234",
    "sk-ant-api03-AbCd_efgh-ijkl",
    "sk-proj-abc_def-ghi",
    "Bearer abcdef1234567890",
    "gsk_abcdefghij0123456789",
    "xai-abcdefghij0123456789",
    "AIzaSyA1234567890abcdefghijklmn",
    "ghp_abcdefghijklmnopqrst",
    "AKIAABCDEFGHIJKLMNOP",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF123",
    "hf_abcdefghijklmnopqrstu"
  ]
  for (const secret of secrets) {
    it(`masks ${secret.slice(0, 8)}...`, () => {
      const bare = secret.replace("Bearer ", "")
      for (const text of [`key ${secret} is bad`, `{"error":"${secret}"}`, `(${secret})`]) {
        const { message } = decodeError(answer(401, text))
        assert.notInclude(message, bare)
        assert.include(message, "[redacted]")
      }
    })
  }

  it("masks api_key=, x-api-key: and the password of an address", () => {
    const masked = sanitise(
      "api_key=supersecretvalue x-api-key: anothersecret https://user:pass@h.example/v1?key=qwertyuiop"
    )
    for (const secret of ["supersecretvalue", "anothersecret", "user:pass", "qwertyuiop"]) {
      assert.notInclude(masked, secret)
    }
  })

  it("masks the key in OpenAI's own sentence", () => {
    const { message } = decodeError(
      answer(
        401,
        o(
          "Incorrect API key provided: abc123*****wxyz. You can find your API key at https://platform.openai.com/account/api-keys.",
          "invalid_api_key"
        )
      )
    )
    assert.notInclude(message, "abc123")
    assert.include(message, "You can find your API key")
  })

  it("leaves ordinary words alone", () => {
    for (
      const text of [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "missing api key",
        "invalid x-api-key",
        "task-based risk-averse",
        "The API key is invalid"
      ]
    ) {
      assert.strictEqual(sanitise(text), text)
    }
  })

  it.prop("never throws, always capped, on any body", [
    FastCheck.string({ unit: "binary" }),
    FastCheck.integer({ min: 100, max: 599 })
  ], ([body, status]) => {
    const error = decodeError(answer(status, body))
    assert.isAtMost(error.message.length, 2_100)
    assert.notMatch(stripMarkup(body), /<[a-z]+>/i)
  })

  it.prop("never throws on any JSON", [FastCheck.jsonValue()], ([value]) => {
    assert.isString(decodeError(answer(400, value)).message)
  })
})

describe("retry-after", () => {
  const table: ReadonlyArray<readonly [string, Readonly<Record<string, string>>, unknown, number | undefined]> = [
    ["seconds", { "retry-after": "20" }, "", 20_000],
    ["a fraction", { "retry-after": "1.5" }, "", 1_500],
    ["zero", { "retry-after": "0" }, "", 0],
    ["a date", { "retry-after": new Date(now + 9_000).toUTCString() }, "", 9_000],
    ["a date in the past", { "retry-after": new Date(now - 9_000).toUTCString() }, "", 0],
    ["milliseconds", { "retry-after-ms": "250" }, "", 250],
    ["both: the finer one", { "retry-after": "1", "retry-after-ms": "900" }, "", 900],
    ["rubbish", { "retry-after": "soon" }, "", undefined],
    ["negative", { "retry-after": "-5" }, "", undefined],
    ["rubbish, then milliseconds", { "retry-after": "soon", "retry-after-ms": "40" }, "", 40],
    ["message in seconds", {}, o("Please try again in 20s."), 20_000],
    ["message with a fraction", {}, o("Please try again in 1.234s. Visit x"), 1_234],
    ["message in milliseconds", {}, o("Please try again in 480ms."), 480],
    ["message with N s", {}, o("try again in 3 s"), 3_000],
    ["message in minutes and seconds", {}, o("Please try again in 6m0.5s."), 360_500],
    ["message in hours", {}, o("try again in 1h2m3s"), 3_723_000],
    ["message in words", {}, o("Retry after 30 seconds"), 30_000],
    ["please wait", {}, o("Please wait 2 minutes"), 120_000],
    ["RetryInfo", {}, { error: { code: 429, message: "m", details: [{ retryDelay: "34.5s" }] } }, 34_500],
    ["plain body", {}, "Too many requests, retry in 5s", 5_000],
    ["no wait", {}, o("Please try again later."), undefined],
    ["a header wins over the message", { "retry-after": "1" }, o("try again in 20s"), 1_000]
  ]
  for (const [name, headers, body, expected] of table) {
    it(name, () => {
      assert.strictEqual(decodeError(answer(429, body, headers)).retry_after_ms, expected)
    })
  }

  it.prop("any whole number of milliseconds in a message is read back", [
    FastCheck.integer({ min: 0, max: 86_400_000 })
  ], ([ms]) => {
    assert.strictEqual(RetryAfter.fromMessage(`Please try again in ${ms}ms.`), ms)
    assert.strictEqual(RetryAfter.fromMessage(`Rate limit. Please try again in ${ms}s. See docs`), ms * 1_000)
  })
})
