/** MCP servers of others through the whole agent: a scripted model calls their tools as models do. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agent } from "../../src/agent/Agent.ts"
import type { PermissionPrompterService } from "../../src/domain/PermissionPrompter.ts"
import type { UserAnswer, UserQuestion } from "../../src/domain/UserQuestion.ts"
import { partsOf, textOf } from "../../src/domain/MessageParts.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Agents from "../support/mcp/agent.ts"
import * as Servers from "../support/mcp/servers.ts"
import { eventually, gone } from "../support/processes.ts"

const limit = { timeout: 60_000 }

const prompter = (
  answer: (question: UserQuestion) => UserAnswer,
  asked: Array<UserQuestion> = []
): PermissionPrompterService => ({
  name: "test",
  requestPermission: () => Effect.succeed({ decision: "escalate" }),
  ask: (question) =>
    Effect.sync(() => {
      asked.push(question)
      return answer(question)
    })
})

const output = (result: { readonly output: string } | undefined): string => result?.output ?? ""

describe("server-everything", () => {
  it.live(
    "1.12 text, images, links, structured content; progress and roots; every call through the Guard",
    () =>
      Effect.gen(function*() {
        const events = yield* Agents.runOnce({
          servers: { every: Agents.command(Servers.everything) },
          turns: Agents.calls(
            ["mcp__every__echo", { message: "hello" }],
            ["mcp__every__get-sum", { a: 2, b: 40 }],
            ["mcp__every__get-tiny-image"],
            ["mcp__every__get-resource-links", { count: 2 }],
            ["mcp__every__get-resource-reference", { resourceType: "Text", resourceId: 1 }],
            ["mcp__every__get-structured-content", { location: "New York" }],
            ["mcp__every__trigger-long-running-operation", { duration: 0.4, steps: 4 }],
            ["mcp__every__get-roots-list"],
            ["mcp__every__get-annotated-message", { messageType: "error", includeImage: true }],
            ["mcp__every__echo", { message: 5 }],
            ["mcp__every__nope"]
          )
        })
        const results = Agents.results(events)
        const [echo, sum, image, links, reference, structured, long, roots, annotated, wrong, nope] = results
        assert.strictEqual(output(echo), "Echo: hello")
        assert.include(output(sum), "42")
        assert.deepInclude(image?.parts?.[0] ?? {}, { type: "image", media_type: "image/png" })
        assert.strictEqual(links?.parts?.length, 2)
        assert.include(JSON.stringify(links?.parts), "resource link demo://resource/dynamic/")
        assert.include(output(reference), "[resource demo://resource/dynamic/text/1 (text/plain)]")
        assert.include(output(structured), "temperature")
        assert.include(output(long), "completed")
        const shown = Agents.ofType(events, "tool.output").map(({ text }) => text).join("")
        assert.match(shown, /\[[1-4] of 4\]/)
        assert.include(output(roots), "file:///")
        assert.deepInclude(annotated?.parts?.[0] ?? {}, { type: "image" })
        assert.strictEqual(wrong?.is_error, true)
        assert.include(wrong?.error, "message")
        assert.strictEqual(nope?.is_error, true)
        assert.include(nope?.error, "no MCP server offers it")
        // the tool that is not there is not even asked about
        assert.strictEqual(Agents.ofType(events, "permission.decided").length, results.length - 1)
        assert.strictEqual(Agents.ofType(events, "sandbox.decided").length, results.length - 1)
        assert.strictEqual(Agents.ofType(events, "run.completed").length, 1)
      }),
    limit
  )

  it.live("1.12 sampling with permission, forms of all kinds, addresses", () =>
    Effect.gen(function*() {
      const asked: Array<UserQuestion> = []
      const events = yield* Agents.runOnce({
        servers: { every: Agents.command(Servers.everything) },
        turns: Agents.calls(
          ["mcp__every__trigger-sampling-request", { prompt: "say", maxTokens: 10 }],
          ["mcp__every__trigger-elicitation-request"],
          ["mcp__every__trigger-url-elicitation", { url: "https://example.com/visit?x=1" }]
        ),
        options: {
          prompters: [prompter(
            (question) =>
              question.kind === "form"
                ? { action: "accept", content: { name: "Ada", check: true, integer: 7 } }
                : { action: "decline" },
            asked
          )]
        }
      })
      const [sampled, form, url] = Agents.results(events)
      assert.include(output(sampled), "sampled")
      const decided = Agents.ofType(events, "permission.decided").find(({ tool }) => tool === "mcp_sampling")
      assert.strictEqual(decided?.mode, "allow")
      assert.deepStrictEqual(asked.map(({ from, kind }) => [from, kind]), [["every", "form"], ["every", "url"]])
      const [question] = asked
      assert.strictEqual(
        question?.kind === "form" ? new Set(question.fields.map(({ kind }) => kind)).size : 0,
        6
      )
      assert.include(output(form), "Ada")
      // defaults are filled in
      assert.include(output(form), "It was a dark and stormy night.")
      assert.include(output(url).toLowerCase(), "decline")
    }), limit)

  it.live(
    "1.12 nobody to ask: forms and addresses are cancelled, sampling is refused, the run says so",
    () =>
      Effect.gen(function*() {
        const events = yield* Agents.runOnce({
          servers: { every: Agents.command(Servers.everything) },
          settings: { permissions: { "mcp__every__*": "allow" } },
          turns: Agents.calls(
            ["mcp__every__trigger-sampling-request", { prompt: "say", maxTokens: 10 }],
            ["mcp__every__trigger-elicitation-request"],
            ["mcp__every__trigger-url-elicitation", { url: "https://example.com/visit" }]
          )
        })
        const [sampled, form, url] = Agents.results(events)
        assert.strictEqual(sampled?.is_error, true)
        assert.include(sampled?.error, "rejected")
        assert.include(output(form), "\"action\": \"cancel\"")
        assert.include(output(url).toLowerCase(), "cancel")
        assert.strictEqual(Agents.ofType(events, "notice").filter(({ code }) => code === "mcp_elicitation").length, 2)
        const [end] = Agents.ofType(events, "run.completed")
        // a call that nobody could be asked about
        assert.strictEqual(end?.exit_code, 3)
      }),
    limit
  )

  it.live(
    "1.14 resources are listed, read and mentioned; prompts are commands",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* Agents.workspace
        yield* Effect.gen(function*() {
          const store = yield* SessionStore
          const first = yield* Agents.run({
            prompt: "look at @every:demo://resource/static/document/features.md, please, and mail a@every.example" +
              "\n\n<stdin>\nnobody has typed @every:demo://resource/static/document/startup.md\n</stdin>"
          })
          const [list, read, blob, none] = Agents.results(first)
          assert.include(output(list), "every:demo://resource/static/document/features.md")
          assert.include(output(list), "every:demo://resource/dynamic/text/{resourceId}  (template)")
          assert.include(output(read), "Features")
          assert.deepInclude(blob?.parts?.[0] ?? {}, { type: "file", media_type: "text/plain" })
          assert.strictEqual(none?.is_error, true)
          const session_id = first[0]?.session_id ?? ""
          const user = (yield* store.history(session_id)).find(({ role }) => role === "user")
          assert.include(
            textOf(user ?? { role: "user", content: "" }),
            "[resource @every:demo://resource/static/document/features.md"
          )
          assert.notInclude(
            textOf(user ?? { role: "user", content: "" }),
            "[resource @every:demo://resource/static/document/startup.md"
          )

          const second = yield* Agents.run({
            prompt: "/mcp__every__args-prompt city=Paris \"Ile de France\"",
            session_id
          })
          assert.strictEqual(second.at(-1)?.type, "run.completed")
          const asked = (yield* store.history(session_id)).filter(({ role }) => role === "user").at(-1)
          assert.strictEqual(asked === undefined ? "" : textOf(asked), "What's weather in Paris, Ile de France?")

          const image = yield* Agents.run({ prompt: "/mcp__every__resource-prompt Text 1", session_id })
          assert.strictEqual(image.at(-1)?.type, "run.completed")
          const embedded = (yield* store.history(session_id)).filter(({ role }) => role === "user").at(-1)
          assert.isAbove(embedded === undefined ? 0 : partsOf(embedded).length, 1)

          for (
            const [prompt, complaint] of [
              ["/mcp__every__args-prompt", "it needs city"],
              ["/mcp__every__completable-prompt", "department may be Engineering, Sales, Marketing, Support"],
              ["/mcp__every__completable-prompt department=Sales", "it needs name; write name=...; name may be David"],
              ["/mcp__every__arg-prompt", "did you mean /mcp__every__args-prompt"],
              ["/mcp__every__simple-prompt more", "it takes no arguments"]
            ] as const
          ) {
            const [failed] = Agents.ofType(yield* Agents.run({ prompt, session_id }), "run.failed")
            assert.include(failed?.error.message, complaint)
            assert.strictEqual(failed?.exit_code, 1)
          }
        }).pipe(Effect.provide(Agents.layerOf(root, {
          servers: { every: Agents.command(Servers.everything) },
          turns: Agents.calls(
            ["mcp_resources"],
            ["mcp_read", { uri: "every:demo://resource/static/document/features.md" }],
            ["mcp_read", { uri: "demo://resource/dynamic/blob/1" }],
            ["mcp_read", { uri: "nothing://of/this" }]
          )
        })))
      })),
    limit
  )
})

describe("other servers", () => {
  it.live(
    "server-filesystem and server-memory side by side, each with its own environment (G6)",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* Agents.workspace
        fs.writeFileSync(path.join(root, "note.txt"), "from the file")
        const events = yield* Effect.provide(
          Agents.run(),
          Agents.layerOf(root, {
            servers: {
              files: Agents.command(Servers.filesystem(root)),
              memory: Agents.command(Servers.memory, { env: { MEMORY_FILE_PATH: `${root}/memory.jsonl` } }),
              fake: Agents.command(Servers.fake(), { env: { OWN: "${GIVEN:-fallback}", KEY: "${SECRET_KEY}" } })
            },
            vars: { SECRET_KEY: "sk-123456789abcdef", OTHER_TOKEN: "tok-123456789abcdef", GIVEN: "given" },
            turns: Agents.calls(
              ["mcp__files__read_text_file", { path: `${root}/note.txt` }],
              ["mcp__files__read_text_file", { path: "/etc/hostname" }],
              ["mcp__memory__create_entities", {
                entities: [{ name: "Ada", entityType: "person", observations: ["wrote programs"] }]
              }],
              ["mcp__memory__search_nodes", { query: "Ada" }],
              ["mcp__fake__env"]
            )
          })
        )
        const [read, outside, created, found, env] = Agents.results(events)
        assert.strictEqual(output(read), "from the file")
        assert.strictEqual(outside?.is_error, true)
        assert.isFalse(created?.is_error ?? true, created?.error ?? "")
        assert.include(output(found), "wrote programs")
        assert.isTrue(fs.existsSync(`${root}/memory.jsonl`))
        // what its definition names reaches it, nothing else that is a secret; no secret reaches the model
        const vars = JSON.parse(output(env)) as Record<string, string>
        assert.strictEqual(vars["OWN"], "given")
        assert.strictEqual(vars["KEY"], "[redacted]")
        assert.notProperty(vars, "OTHER_TOKEN")
        assert.notProperty(vars, "SECRET_KEY")
      })),
    limit
  )
})

describe("nothing goes round the Guard", () => {
  const echo = Agents.calls(["mcp__fake__echo", { message: "hello" }])
  const servers = { fake: Agents.command(Servers.fake()) }

  it.live("2.3 a deny rule, no rule and nobody to ask, plan mode", () =>
    Effect.gen(function*() {
      for (
        const [settings, input, decided_by, exit_code] of [
          [{ permissions: { "mcp__fake__echo": "deny", "*": "allow" } }, {}, "rule", 0],
          [{ permissions: {} }, {}, "no_prompter", 3],
          [{ permissions: {} }, { permission_mode: "plan" }, "mode", 0]
        ] as const
      ) {
        const events = yield* Agents.runOnce({ servers, settings, turns: echo }, input)
        const [result] = Agents.results(events)
        assert.strictEqual(result?.is_error, true)
        assert.strictEqual(Agents.ofType(events, "permission.decided")[0]?.decided_by, decided_by)
        assert.strictEqual(Agents.ofType(events, "tool.ran").length, 0)
        assert.strictEqual(Agents.ofType(events, "run.completed")[0]?.exit_code, exit_code)
      }
    }), limit)

  it.live(
    "2.10 a server's word that a tool is read-only counts only where the user trusts it",
    () =>
      Effect.gen(function*() {
        for (const [trust_annotations, allowed] of [[false, false], [true, true]] as const) {
          const events = yield* Agents.runOnce({
            servers: { every: Agents.command(Servers.everything, { trust_annotations }) },
            turns: Agents.calls(["mcp__every__get-tiny-image"])
          }, { permission_mode: "plan" })
          // allowed by the rule: plan mode lets only read-only tools run
          assert.strictEqual(Agents.results(events)[0]?.is_error, !allowed)
        }
      }),
    limit
  )

  it.live("9 hooks stand before servers' tools too", () =>
    Effect.gen(function*() {
      const events = yield* Agents.runOnce({
        servers,
        settings: {
          hooks: [{ event: "pre_tool_use", tool_pattern: "mcp__*", command: "echo not this one >&2; exit 2" }]
        },
        turns: echo
      })
      assert.strictEqual(Agents.results(events)[0]?.error, "not this one")
      assert.strictEqual(Agents.ofType(events, "tool.ran").length, 0)
    }), limit)

  it.live(
    "1.8 rules for the shared name hold for each member, and the shared name calls none",
    () =>
      Effect.gen(function*() {
        const two = { "a.b": Agents.command(Servers.fake()), "a_b": Agents.command(Servers.fake()) }
        const member = (tools: ReadonlyArray<string>): string =>
          tools.find((name) => name.startsWith("mcp__a_b__pid_")) ?? "none"
        const turns = (second: string): Agents.Setting["turns"] => [
          {
            when: (conversation) => conversation.results.length === 0,
            calls: [{
              name: (conversation) => member(conversation.tools.map(({ name }) => name)),
              arguments: {}
            }]
          },
          { when: (conversation) => conversation.results.length === 1, calls: [{ name: second, arguments: {} }] },
          { text: "done" }
        ]
        const free = yield* Agents.runOnce({ servers: two, turns: turns("mcp__a_b__pid") })
        assert.isFalse(Agents.results(free)[0]?.is_error)
        assert.include(Agents.results(free)[1]?.error, "tool_name_collision")
        assert.include(Agents.results(free)[1]?.error, "mcp__a_b__pid_")
        assert.isTrue(Agents.ofType(free, "notice").some(({ code }) => code === "tool_name_collision"))
        const denied = yield* Agents.runOnce({
          servers: two,
          settings: { permissions: { "mcp__a_b__pid": "deny", "*": "allow" } },
          turns: turns("mcp__a_b__echo")
        })
        assert.strictEqual(Agents.results(denied)[0]?.is_error, true)
        assert.strictEqual(Agents.ofType(denied, "permission.decided")[0]?.rule_matched, "mcp__a_b__pid")
      }),
    limit
  )
})

describe("life of servers", () => {
  it.live("1.5 a degraded start says what is missing; what is required stops the run", () =>
    Effect.gen(function*() {
      const servers = {
        gone: Agents.command(["no-such-program-anywhere"]),
        ends: Agents.command(Servers.fake({ exit: 3 })),
        unset: Agents.command(Servers.fake(), { env: { A: "${NOT_SET_ANYWHERE}" } }),
        fake: Agents.command(Servers.fake())
      }
      const events = yield* Agents.runOnce({ servers, turns: Agents.calls(["mcp__fake__pid"], ["mcp__gone__x"]) })
      const failed = new Map(
        Agents.ofType(events, "mcp.server").filter(({ phase }) => phase === "failed").map((event) => [
          event.server,
          event.error
        ])
      )
      assert.sameMembers([...failed.keys()], ["gone", "ends", "unset"])
      assert.strictEqual(failed.get("gone")?.code, "start_failed")
      assert.strictEqual(failed.get("ends")?.code, "exited")
      assert.include(failed.get("ends")?.message, "KEY missing")
      assert.include(failed.get("unset")?.message, "NOT_SET_ANYWHERE")
      assert.isFalse(Agents.results(events)[0]?.is_error)
      assert.include(Agents.results(events)[1]?.error, "gone is failed")

      const required = yield* Agents.runOnce({
        servers: { gone: Agents.command(["no-such-program-anywhere"], { required: true }) },
        turns: Agents.calls()
      })
      const [end] = Agents.ofType(required, "run.failed")
      assert.strictEqual(end?.error.code, "mcp_required")
      assert.strictEqual(end?.exit_code, 1)
      assert.strictEqual(Agents.ofType(required, "turn.started").length, 0)
    }), limit)

  it.live(
    "1.5 a run that is stopped while a server starts has begun, was cancelled, and goes on with the next prompt",
    () =>
      Effect.gen(function*() {
        const pidfile = path.join(yield* Agents.workspace, "pids")
        yield* Effect.scoped(
          Effect.gen(function*() {
            const agent = yield* Agent
            const opened = yield* Deferred.make<string>()
            const stopped = yield* Effect.fork(Agents.run({
              onOpen: (session_id) => Deferred.unsafeDone(opened, Effect.succeed(session_id))
            }))
            const session_id = yield* Deferred.await(opened)
            yield* eventually(() => fs.existsSync(pidfile))
            yield* agent.interrupt(session_id, "interrupted")
            const events = yield* Fiber.join(stopped)
            assert.deepStrictEqual(
              events.map((event) => event.type === "mcp.server" ? `${event.server} ${event.phase}` : event.type),
              ["run.started", "mute connecting", "run.cancelled"]
            )
            assert.deepStrictEqual(new Set(events.map((event) => event.session_id)), new Set([session_id]))
            const next = yield* Agents.run({ session_id })
            assert.deepStrictEqual(Agents.ofType(next, "run.completed").map(({ result }) => result), ["done"])
          }).pipe(Effect.provide(Agents.layerOf(yield* Agents.workspace, {
            servers: { mute: Agents.command(Servers.fake({ silent: true, pidfile }), { connect_timeout_ms: 2_000 }) },
            turns: Agents.calls()
          })))
        )
        for (const pid of fs.readFileSync(pidfile, "utf8").trim().split("\n")) assert.isTrue(yield* gone(Number(pid)))
      }).pipe(Effect.scoped),
    limit
  )

  it.live(
    "1.5 one process for all sessions; it dies in a call; the next call starts it again; nothing is left",
    () =>
      Effect.gen(function*() {
        const pids: Array<number> = []
        yield* Effect.scoped(Effect.gen(function*() {
          const root = yield* Agents.workspace
          yield* Effect.gen(function*() {
            const agent = yield* Agent
            assert.isDefined(agent)
            const first = Agents.results(yield* Agents.run())
            const second = Agents.results(yield* Agents.run())
            pids.push(
              ...[...first, ...second].filter((result) => !result.is_error).map((result) => Number(result.output))
            )
            const [, died] = first
            assert.strictEqual(died?.is_error, true)
            assert.include(died?.error, "out of luck")
          }).pipe(Effect.provide(Agents.layerOf(root, {
            servers: { fake: Agents.command(Servers.fake()) },
            turns: Agents.calls(["mcp__fake__pid"], ["mcp__fake__die"], ["mcp__fake__pid"])
          })))
        }))
        assert.strictEqual(pids.length, 4)
        const [one, two, three, four] = pids
        assert.notStrictEqual(one, two)
        assert.strictEqual(two, three)
        assert.notStrictEqual(three, four)
        for (const pid of pids) assert.isTrue(yield* gone(pid))
      }),
    limit
  )

  it.live("1.10 a storm of list_changed: calls go on", () =>
    Effect.gen(function*() {
      const events = yield* Agents.runOnce({
        servers: { fake: Agents.command(Servers.fake()) },
        turns: Agents.calls(
          ["mcp__fake__storm", { times: 5_000 }],
          ["mcp__fake__echo", { x: 1 }],
          ["mcp__fake__heard"]
        )
      })
      const [storm, echo, heard] = Agents.results(events)
      assert.strictEqual(output(storm), "over")
      assert.strictEqual(output(echo), "{\"x\":1}")
      const lists = (JSON.parse(output(heard)) as ReadonlyArray<{ readonly method: string }>).filter(({ method }) =>
        method === "tools/list"
      )
      // at the start, and for calls that came while the list was known to have changed
      assert.isAtMost(lists.length, 4)
    }), limit)

  it.live("1.4 a call that takes too long is given up, the connection goes on", () =>
    Effect.gen(function*() {
      const events = yield* Agents.runOnce({
        servers: { fake: Agents.command(Servers.fake(), { call_timeout_ms: 300 }) },
        turns: Agents.calls(["mcp__fake__hang"], ["mcp__fake__echo", { still: "here" }])
      })
      const [hang, echo] = Agents.results(events)
      assert.include(hang?.error, "call_timeout_ms")
      assert.include(output(echo), "here")
    }), limit)
})
