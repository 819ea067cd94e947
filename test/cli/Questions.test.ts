import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as McpText from "../../src/cli/McpText.ts"
import * as Questions from "../../src/cli/Questions.ts"
import { mcp as slashMcp } from "../../src/cli/slash/Mcp.ts"
import type { Talk } from "../../src/cli/slash/Slash.ts"
import { styleFor } from "../../src/cli/Style.ts"
import type { QuestionField, UserAnswer, UserQuestion } from "../../src/domain/UserQuestion.ts"
import type { McpFormField } from "../../src/mcp/Connection.ts"
import { checkValue, readForm } from "../../src/mcp/Elicitation.ts"
import type { Line } from "../../src/platform/Terminal.ts"
import { McpAccess } from "../../src/tools/McpAccess.ts"

const style = styleFor({ vars: new Map() }, false)

const form = (properties: object, required: ReadonlyArray<string> = []): UserQuestion => {
  const read = readForm({ message: "Tell\u001b[31m me", requestedSchema: { type: "object", properties, required } })
  return {
    kind: "form",
    from: "server",
    message: "ok" in read ? read.ok.message : "",
    fields: "ok" in read ? read.ok.fields as ReadonlyArray<QuestionField> : [],
    check: (field, value) => checkValue(field as McpFormField, value)
  }
}

const asked = (question: UserQuestion, typed: ReadonlyArray<string | Exclude<Line["type"], "line">>) =>
  Effect.gen(function*() {
    const said: Array<string> = []
    let at = 0
    let interrupted = false
    const answer: UserAnswer = yield* Questions.ask(
      {
        err: (text) => Effect.sync(() => void said.push(text)),
        readLine: (prompt) =>
          Effect.sync((): Line => {
            said.push(prompt)
            const next = typed[at++] ?? "end"
            return next === "interrupt" || next === "end" ? { type: next } : { type: "line", text: next }
          })
      },
      style,
      question,
      Effect.sync(() => {
        interrupted = true
      })
    )
    return { answer, interrupted, text: said.join("") }
  })

describe("forms of servers at the terminal", () => {
  const all = form({
    name: { type: "string", title: "Your name", minLength: 2 },
    mail: { type: "string", format: "email" },
    age: { type: "integer", minimum: 1, default: 7 },
    sure: { type: "boolean" },
    one: { type: "string", oneOf: [{ const: "r", title: "Red" }, { const: "g", title: "Green" }] },
    many: { type: "array", items: { type: "string", enum: ["a", "b", "c"] }, maxItems: 2 }
  }, ["name", "sure"])

  it.effect("1.12 every kind of field; what does not fit is asked again; nothing is sent before it was seen", () =>
    Effect.gen(function*() {
      const { answer, text } = yield* asked(all, [
        "maybe",
        "y",
        "",
        "x",
        "Ada",
        "no mail",
        "ada@example.com",
        "",
        "perhaps",
        "yes",
        "green",
        "1,2,3",
        "1, c",
        "y"
      ])
      assert.deepStrictEqual(answer, {
        action: "accept",
        content: { name: "Ada", mail: "ada@example.com", sure: true, one: "g", many: ["a", "c"] }
      })
      assert.include(text, "server")
      assert.include(text, "Your name")
      assert.include(text, "at least 2 characters")
      assert.include(text, "valid email")
      assert.include(text, "empty = 7")
      assert.include(text, "send this to server?")
      assert.notInclude(text, "\u001b")
    }))

  it.effect("accept, decline and cancel are three things", () =>
    Effect.gen(function*() {
      const short = form({ name: { type: "string" } })
      for (
        const [typed, action] of [
          [["n"], "decline"],
          [["c"], "cancel"],
          [["end"], "cancel"],
          [["y", "end"], "cancel"],
          [["y", "x", "n"], "cancel"],
          [["y", "x", "y"], "accept"]
        ] as const
      ) assert.strictEqual((yield* asked(short, typed)).answer.action, action, typed.join(" "))
      const stopped = yield* asked(short, ["y", "interrupt"])
      assert.isTrue(stopped.interrupted)
      assert.strictEqual(stopped.answer.action, "cancel")
      assert.deepStrictEqual((yield* asked(form({}), ["y"])).answer, { action: "accept", content: {} })
    }))

  it.effect("1.12 an address is shown whole, with its host", () =>
    Effect.gen(function*() {
      const url = "https://real.example/path?next=https://other.example/"
      const { answer, text } = yield* asked(
        { kind: "url", from: "server", message: "Log in", url, host: "real.example" },
        ["?", "y"]
      )
      assert.strictEqual(answer.action, "accept")
      assert.include(text, url)
      assert.include(text, "at real.example")
    }))
})

describe("/mcp", () => {
  it("states, what is wrong, prompts as commands", () => {
    const text = McpText.serversText(
      [
        { server: "a", kind: "stdio", required: false, phase: "ready", tools: 3, era: "modern", version: "2026-07-28" },
        {
          server: "b",
          kind: "http",
          required: true,
          phase: "needs_login",
          tools: 0,
          error: { code: "needs_login", message: "log in \u001b[1m" }
        },
        { server: "c", kind: "stdio", required: false, phase: "idle", tools: 0 }
      ],
      [{
        name: "mcp__a__p",
        description: "does p",
        arguments: [{ name: "x", required: true }, { name: "y", required: false }]
      }],
      style
    )
    assert.include(text, "3 tools, 2026-07-28 (modern)")
    assert.include(text, "needs login")
    assert.include(text, "not started")
    assert.include(text, "/mcp__a__p x [y]  does p")
    assert.notInclude(text, "\u001b")
    assert.include(McpText.serversText([], [], style), "mcp add")
  })

  it.effect("restart takes the whole of a name with blanks", () =>
    Effect.gen(function*() {
      const restarted: Array<string> = []
      const said: Array<string> = []
      const talk = { style, say: (text: string) => Effect.sync(() => void said.push(text)) } as unknown as Talk
      const access = Layer.map(McpAccess.layerNone, (context) =>
        Context.add(context, McpAccess, {
          ...Context.get(context, McpAccess),
          restart: (server) => Effect.sync(() => restarted.push(server) > 0 && server === "q n")
        }))
      for (const typed of ["restart q n", " restart  q n ", "restart", "restart q"]) {
        yield* Effect.provide(slashMcp(typed, talk), access)
      }
      assert.deepStrictEqual(restarted, ["q n", "q n", "q"])
      assert.match(said[2] ?? "", /^\/mcp shows/u)
      assert.match(said.at(-1) ?? "", /^no MCP server q is active here/u)
    }))
})
