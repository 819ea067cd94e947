/** A run and the runs it starts as one: one set of servers and hooks, stopped at any moment (readings 14.4, 14.6). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agent } from "../../src/agent/Agent.ts"
import { isTerminal } from "../../src/domain/RunEnd.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Servers from "../support/mcp/servers.ts"
import { call, children, inWorld, run, type Script, unsettled } from "./subagentsSupport.ts"

const said = (text: string) => ({ text })

const lines = (file: string): ReadonlyArray<string> =>
  fs.existsSync(file) ? fs.readFileSync(file, "utf8").trimEnd().split("\n") : []

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

describe("14.4: one set for all", () => {
  it.live("MCP servers are started once, and not for each subagent", () =>
    Effect.gen(function*() {
      const mark = `/var/tmp/subagents-mcp-${process.pid}`
      yield* inWorld({
        settings: {
          sandbox: { mode: "off" },
          mcp_servers: {
            one: { command: ["sh", "-c", `echo started >> ${mark}; exec ${Servers.fake().map(quoted).join(" ")}`] }
          }
        },
        script: {
          main: [
            call("mcp__one__echo", { text: "main" }),
            {
              calls: ["first", "second"].map((prompt) => ({ name: "task", arguments: { agent: "code", prompt } }))
            },
            said("all")
          ],
          code: [call("mcp__one__echo", { text: "child" }), said("done")]
        }
      }, (world) =>
        Effect.gen(function*() {
          const { terminal } = yield* run({ prompt: "go" })
          assert.strictEqual(terminal.result, "all")
          assert.lengthOf(world.of("code"), 4)
          for (const { tools } of world.of("code")) assert.include(tools, "mcp__one__echo")
          assert.lengthOf(lines(mark), 1)
        })).pipe(Effect.ensuring(Effect.sync(() => fs.rmSync(mark, { force: true }))))
    }))

  it.live("hooks of the session run for the session, those of tools for every tool", () =>
    inWorld({
      settings: {
        sandbox: { mode: "off" },
        hooks: [
          ...["session_start", "user_prompt_submit", "stop"].map((event) => ({
            event,
            command: `echo ${event} >> hooked`
          })),
          { event: "post_tool_use", tool_pattern: "glob", command: "echo tool >> hooked" }
        ]
      },
      script: {
        main: [{ calls: [{ name: "task", arguments: { agent: "code", prompt: "x" } }] }, said("all")],
        code: [call("glob", { pattern: "*" }), said("done")]
      }
    }, (world) =>
      Effect.gen(function*() {
        yield* run({ prompt: "go" })
        assert.deepStrictEqual(
          lines(path.join(world.root, "hooked")),
          ["session_start", "user_prompt_submit", "tool", "stop"]
        )
      })))
})

/** A chain whose code starts an agent of its own, which calls tools. */
const chain: Script = {
  plan: [said("THE PLAN")],
  code: [
    call("glob", { pattern: "*" }),
    { calls: [{ name: "task", arguments: { agent: "solve", prompt: "look" } }] },
    call("bash", { command: "echo x > made" }),
    said("c")
  ],
  solve: [
    { calls: [{ name: "read", arguments: { path: "a" } }, { name: "glob", arguments: { pattern: "*" } }] },
    said("s")
  ],
  review: [call("read", { path: "a" }), said("VERDICT: PASS")]
}

describe("14.6: stopped at any moment", () => {
  const input = { prompt: "make it", delegate: { agent: "auto" } }
  const settled = (session_id: string) =>
    Effect.gen(function*() {
      const store = yield* SessionStore
      for (const id of [session_id, ...(yield* children).map((child) => child.id)]) {
        for (const { status } of yield* store.runs(id)) assert.notStrictEqual(status, "running", id)
        assert.deepStrictEqual(yield* unsettled(id), [], id)
      }
    })

  for (const how of ["interrupt", "close"] as const) {
    it.live(
      `${how}, after every seventh event of a whole chain: nothing runs, every call has one result`,
      () =>
        inWorld({ files: { a: "1\n" }, script: chain }, () =>
          Effect.gen(function*() {
            const agent = yield* Agent
            const whole = yield* run(input)
            assert.strictEqual(whole.terminal.exit_code, 0)
            assert.isAbove(whole.events.length, 60)
            for (let n = 1; n < whole.events.length; n += 7) {
              let session_id = ""
              let count = 0
              let ended = 0
              let begun = 0
              yield* Stream.runForEach(
                how === "close" ? Stream.take(agent.run(input), n) : agent.run(input),
                (event) => {
                  session_id = event.session_id
                  if (isTerminal(event)) ended++
                  if (event.type === "subagent.started") begun++
                  if (event.type === "subagent.completed") begun--
                  if (event.type === "subagent.event" && event.event.type === "tool.started") begun++
                  if (event.type === "subagent.event" && event.event.type === "tool.completed") begun--
                  return how === "interrupt" && ++count === n
                    ? Effect.asVoid(Effect.forkDaemon(agent.interrupt(session_id)))
                    : Effect.void
                }
              )
              if (how === "interrupt") assert.strictEqual(ended, 1, `after ${n}`)
              yield* settled(session_id)
              if (how === "interrupt") assert.strictEqual(begun, 0, "what has begun is told to have ended")
              const store = yield* SessionStore
              yield* store.delete(session_id)
            }
            assert.lengthOf(yield* children, 4)
          })),
      120_000
    )
  }
})
