import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Stream from "effect/Stream"
import { Agent } from "../../src/agent/Agent.ts"
import { request, titleIn } from "../../src/agent/Titling.ts"
import { textOf } from "../../src/domain/MessageParts.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { agentLayer, apiError, type Request, type Step, textTurn, type Turn } from "./support.ts"

const asksForTitle = ({ messages }: Request): boolean =>
  textOf(messages[0] ?? { role: "user", content: "" }).includes("You name conversations")

/** Answers whichever request comes, in whatever order. */
const both = (title: ReadonlyArray<Step>): Turn => (one) => asksForTitle(one) ? title : textTurn("the answer")

const run = (settings: string, title: ReadonlyArray<Step>, meanwhile?: string) => {
  const requests: Array<Request> = []
  return Effect.gen(function*() {
    const agent = yield* Agent
    const store = yield* SessionStore
    const events = yield* Stream.runCollect(
      agent.run({ prompt: "please mend the parser of the settings" }).pipe(
        Stream.tap((event) =>
          event.type === "run.started" && meanwhile !== undefined
            ? store.setTitle(event.session_id, meanwhile)
            : Effect.void
        )
      )
    )
    const [session] = yield* store.list({})
    if (session === undefined) return assert.fail("there is no session")
    const again = yield* Stream.runCollect(agent.run({ prompt: "go on", session_id: session.id }))
    const spending = yield* store.spending({ per: "turn" })
    return {
      title: session.title,
      ended: [[...events].at(-1)?.type, [...again].at(-1)?.type],
      asked: requests.filter(asksForTitle),
      kinds: spending.map(({ purpose }) => purpose).toSorted()
    }
  }).pipe(
    Effect.provide(agentLayer({ turns: [both(title), both(title), both(title), both(title)], requests, settings }))
  )
}

describe("titles of sessions", () => {
  it.effect("are the first words of the prompt, without a request, unless the settings say otherwise", () =>
    Effect.gen(function*() {
      const found = yield* run("{}", textTurn("Never asked"))
      assert.strictEqual(found.title, "please mend the parser of the settings")
      assert.deepStrictEqual([found.asked.length, found.kinds], [0, ["turn", "turn"]])
    }))

  it.effect("come from the model, once, without tools, booked as what they are", () =>
    Effect.gen(function*() {
      const found = yield* run("{\"session_titles\": \"model\"}", textTurn("\"Mending the settings parser.\"\n\nmore"))
      assert.strictEqual(found.title, "Mending the settings parser")
      assert.deepStrictEqual(found.ended, ["run.completed", "run.completed"])
      assert.strictEqual(found.asked.length, 1)
      assert.deepStrictEqual(found.asked[0]?.tools, [])
      assert.deepStrictEqual(found.kinds, ["title", "turn", "turn"])
    }))

  it.effect("a request that fails, or says nothing, leaves the first words and the run alone", () =>
    Effect.gen(function*() {
      for (
        const title of [
          [{ fail: apiError("server", false) }],
          [{ die: "a defect" }],
          textTurn("  \n"),
          [{ type: "content_delta", text: "No" }, { type: "message_stop", stop_reason: "refusal" }]
        ] satisfies ReadonlyArray<ReadonlyArray<Step>>
      ) {
        const found = yield* run("{\"session_titles\": \"model\"}", title)
        assert.strictEqual(found.title, "please mend the parser of the settings")
        assert.deepStrictEqual(found.ended, ["run.completed", "run.completed"])
      }
    }))

  it("an answer becomes one line of 80 characters, without quotes and marks", () => {
    assert.strictEqual(titleIn("# **A title**"), "A title")
    assert.strictEqual(titleIn("Title: \u201cA title\u201d."), "A title")
    assert.strictEqual(titleIn("\n\n  `code`  \nsecond"), "code")
    assert.isNull(titleIn("\"\"\n"))
  })

  it.prop("whatever the model says", [FastCheck.string({ unit: "binary", maxLength: 300 })], ([answer]) => {
    const title = titleIn(answer)
    if (title === null) return
    assert.isAtMost([...title].length, 83)
    assert.notMatch(title, /[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
  })

  it("what is asked holds the first message, cut, as material", () => {
    assert.isNull(request([{ role: "user", content: [{ type: "image", media_type: "image/png", data: "" }] }]))
    const asked = request([{ role: "user", content: "x".repeat(10_000) }, { role: "user", content: "second" }])
    const said = textOf(asked?.[1] ?? { role: "user", content: "" })
    assert.isBelow(said.length, 2200)
    assert.notInclude(said, "second")
  })
})
