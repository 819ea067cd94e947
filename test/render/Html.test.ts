import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { parseHTML } from "linkedom"
import type { Part } from "../../src/domain/Message.ts"
import { htmlPieces } from "../../src/render/Html.ts"
import type { Transcript, TranscriptEntry } from "../../src/render/Transcript.ts"

const usage = { input_tokens: 1, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0 }

const transcript = (
  title: string,
  entries: ReadonlyArray<TranscriptEntry>,
  error: string | null = null
): Transcript => ({
  session: {
    id: "ses_1",
    title,
    preview: null,
    workspace: `/w/${title}`,
    provider: "p",
    model: title,
    parent_session_id: null,
    started_at: 1_700_000_000,
    last_active: 1_700_000_001,
    ended_at: 1_700_000_002,
    end_reason: title,
    message_count: entries.length,
    tool_call_count: 0,
    usage,
    cost_usd: 0.5,
    is_archived: false,
    is_pinned: false
  },
  runs: [{
    id: "run_1",
    session_id: "ses_1",
    status: error === null ? "completed" : "failed",
    model: "m",
    started_at: 1,
    ended_at: 2,
    turns: 1,
    exit_code: 0,
    error_code: null,
    error_message: error,
    usage,
    cost_usd: null
  }],
  entries
})
const entry = (
  id: number,
  message: TranscriptEntry["message"],
  more: Partial<TranscriptEntry> = {}
): TranscriptEntry => ({
  id,
  key: `k${id}`,
  run_id: "run_1",
  turn: id,
  timestamp: 1,
  withdrawn: false,
  message,
  ...more
})
const page = (one: Transcript): string => [...htmlPieces(one)].join("")

/** Every place where a text of a session gets into the page. */
const everywhere = (text: string): Transcript => {
  const parts: ReadonlyArray<Part> = [
    { type: "text", text },
    { type: "reasoning", text },
    { type: "tool_call", id: text, name: text, arguments: text },
    { type: "image", media_type: text, data: text },
    { type: "image", media_type: "image/png", data: text },
    { type: "image", media_type: "image/svg+xml", data: "PHN2Zz4=" },
    { type: "image", media_type: "image/png", url: text },
    { type: "file", media_type: text, data: text, filename: text }
  ]
  return transcript(text, [
    entry(1, { role: "user", content: parts }),
    entry(2, { role: "assistant", content: parts }),
    entry(3, { role: "tool", tool_call_id: text, tool_name: text, content: parts, is_error: true }),
    entry(4, { role: "user", kind: "summary", content: text })
  ], text)
}

const tags = new Set(
  ("html head meta title style body h1 h2 dl dt dd section div p details summary pre img").split(" ")
)
const attributes = new Set("lang charset http-equiv content name class open alt src".split(" "))

/** What the page is made of is ours alone, whatever was said. */
const harmless = (html: string): void => {
  const { document } = parseHTML(html)
  for (const element of document.querySelectorAll("*")) {
    assert.isTrue(tags.has(element.localName), element.localName)
    for (const { name, value } of element.attributes) {
      assert.isTrue(attributes.has(name), `${element.localName} ${name}`)
      if (name === "src") assert.match(value, /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/)
    }
  }
  assert.strictEqual(document.querySelectorAll("style").length, 1)
  assert.notMatch(document.querySelector("style")?.textContent ?? "", /url|@import|expression/i)
  assert.match(
    document.querySelector("meta[http-equiv]")?.getAttribute("content") ?? "",
    /^default-src 'none'; style-src 'unsafe-inline'; img-src data:/
  )
}

describe("a session as a page", () => {
  for (
    const text of [
      "<script>alert(1)</script>",
      "\"><img src=x onerror=alert(1)>",
      "</style><script>alert(1)</script>",
      "</title><script>alert(1)</script>",
      "</pre></details><iframe src=http://127.0.0.1/>",
      "<!-- --!> <svg onload=alert(1)>",
      "javascript:alert(1)",
      "https://example.com/track.png",
      "&lt;script&gt; &#60;b&#62;",
      "\u202e\u001b]8;;http://x\u0007"
    ]
  ) {
    it(`escapes ${JSON.stringify(text)}`, () => {
      const html = page(everywhere(text))
      harmless(html)
      assert.notMatch(html, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
    })
  }

  it.prop(
    "escapes whatever was said",
    [FastCheck.oneof(
      FastCheck.string({ unit: "binary", maxLength: 60 }),
      FastCheck.array(
        FastCheck.constantFrom("<", ">", "\"", "'", "`", "&", "=", "/", "script", "img", "src", "on", "--", "!", " "),
        { maxLength: 20 }
      )
        .map((pieces) => pieces.join(""))
    )],
    ([text]) => harmless(page(everywhere(text)))
  )

  it("shows what was said, and not what was withdrawn or hidden", () => {
    const { document } = parseHTML(page(transcript("a <b> title", [
      entry(1, { role: "user", content: "what is 1 < 2 & \"so\"?" }),
      entry(2, { role: "assistant", content: "broken off" }, { withdrawn: true }),
      entry(3, {
        role: "assistant",
        content: [{ type: "text", text: "It is." }, {
          type: "tool_call",
          id: "c",
          name: "bash",
          arguments: "{\"a\":1}"
        }]
      }),
      entry(4, { role: "tool", tool_call_id: "c", tool_name: "bash", content: "1\n".repeat(40) }),
      entry(5, { role: "user", content: [{ type: "image", media_type: "image/png", data: "iVBORw0KGgo=" }] }),
      entry(6, { role: "user", content: "gone back" }, { hidden: 6 })
    ])))
    assert.strictEqual(document.querySelector("h1")?.textContent, "a <b> title")
    assert.strictEqual(document.querySelector("section.user .said")?.textContent, "what is 1 < 2 & \"so\"?")
    assert.strictEqual(document.querySelector("details.call pre")?.textContent, "{\n  \"a\": 1\n}")
    assert.isTrue(document.querySelector("details.call")?.hasAttribute("open"))
    assert.isFalse(document.querySelector("details.result")?.hasAttribute("open"), "a long result is folded")
    assert.strictEqual(document.querySelector("img")?.getAttribute("src"), "data:image/png;base64,iVBORw0KGgo=")
    const all = document.body.textContent ?? ""
    assert.notInclude(all, "broken off")
    assert.notInclude(all, "gone back")
  })
})
