import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { check } from "../../src/cli/Check.ts"
import { canConverse } from "../../src/cli/commands/Start.ts"
import * as ConfigShow from "../../src/cli/ConfigShow.ts"
import * as Parser from "../../src/cli/Parser.ts"
import * as Schemas from "../../src/cli/Schemas.ts"
import * as Sessions from "../../src/cli/Sessions.ts"
import * as SessionsExport from "../../src/cli/SessionsExport.ts"
import * as Spec from "../../src/cli/Spec.ts"
import { bench, session } from "./support.ts"

const valuesOf = <S extends Spec.CommandSpec>(spec: S, argv: ReadonlyArray<string>) => {
  const checked = check([...spec.path, ...argv])
  if (checked.kind !== "command") throw new Error(JSON.stringify(checked))
  return Parser.parse(spec, checked.argv)
}

describe("sessions", () => {
  const sessions = [
    session("ses_b"),
    session("ses_a", { title: "an \u001b[1m old one" }),
    session("ses_c", { workspace: "/else" })
  ]

  it.effect("list: those of the project, or all; people's and programs' form", () =>
    Effect.gen(function*() {
      const on = bench({ sessions })
      yield* Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsList, []), Sessions.list), on.layer)
      assert.match(
        on.out.join(""),
        /^ses_b +2023-11-14 22:15 +2 messages +\$0\.0100 +about ses_b\nses_a .*an \u241b\[1m old one\n$/
      )
      const all = bench({ sessions })
      yield* Effect.provide(
        Effect.flatMap(valuesOf(Spec.sessionsList, ["--all", "--json", "-n", "3"]), Sessions.list),
        all.layer
      )
      const listed = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.SessionsList))(all.out.join(""))
      assert.deepEqual(listed.sessions.map((each) => each.id), ["ses_b", "ses_a", "ses_c"])
    }))

  it.effect("list without any says so on stderr", () =>
    Effect.gen(function*() {
      const on = bench({})
      yield* Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsList, []), Sessions.list), on.layer)
      assert.deepEqual(on.out, [])
      assert.match(on.err.join(""), /no sessions of \/work\/project yet/)
    }))

  it.effect("show and export", () =>
    Effect.gen(function*() {
      const text = bench({ sessions })
      yield* Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsShow, ["ses_b"]), Sessions.show), text.layer)
      assert.include(text.out.join(""), "what is ses_b?")
      const json = bench({ sessions })
      yield* Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsShow, ["ses_b", "--json"]), Sessions.show), json.layer)
      const shown = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.SessionShow))(json.out.join(""))
      assert.deepEqual([shown.session.id, shown.runs.length, shown.entries.length], ["ses_b", 1, 1])
      const lines = bench({ sessions })
      yield* Effect.provide(
        Effect.flatMap(valuesOf(Spec.sessionsExport, ["ses_b"]), SessionsExport.execute),
        lines.layer
      )
      assert.deepEqual(
        lines.out.join("").trimEnd().split("\n").map((line) => (JSON.parse(line) as { readonly type: string }).type),
        ["session", "run", "entry"]
      )
      const markdown = bench({ sessions })
      yield* Effect.provide(
        Effect.flatMap(valuesOf(Spec.sessionsExport, ["ses_b", "--format", "markdown"]), SessionsExport.execute),
        markdown.layer
      )
      assert.match(markdown.out.join(""), /^# /)
      const md = bench({ sessions })
      yield* Effect.provide(
        Effect.flatMap(valuesOf(Spec.sessionsExport, ["ses_b", "--format", "md"]), SessionsExport.execute),
        md.layer
      )
      assert.deepEqual(md.out, markdown.out)
    }))

  it.effect("an id that fits none or several is exit 2", () =>
    Effect.gen(function*() {
      for (const id of ["ses_x", "ses_"]) {
        const on = bench({ sessions })
        const ended = yield* Effect.either(
          Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsShow, [id]), Sessions.show), on.layer)
        )
        assert.isTrue(Either.isLeft(ended) && ended.left.exit_code === 2)
      }
    }))

  it.effect("delete: --yes, a yes at the terminal, or nothing happens", () =>
    Effect.gen(function*() {
      const tty = { stdin_is_tty: true, stdout_is_tty: true }
      const remove = (argv: ReadonlyArray<string>, options: Parameters<typeof bench>[0]) =>
        Effect.gen(function*() {
          const on = bench({ sessions, ...options })
          const ended = yield* Effect.either(
            Effect.provide(Effect.flatMap(valuesOf(Spec.sessionsDelete, argv), Sessions.remove), on.layer)
          )
          return {
            code: Either.match(ended, { onLeft: (exit) => exit.exit_code, onRight: (code) => code }),
            deleted: on.deleted
          }
        })
      assert.deepEqual(yield* remove(["ses_b", "--yes"], {}), { code: 0, deleted: ["ses_b"] })
      assert.deepEqual(yield* remove(["ses_b"], {}), { code: 2, deleted: [] })
      const say = (text: string) => ({ readLine: () => Effect.succeed({ type: "line" as const, text }) })
      assert.deepEqual(yield* remove(["ses_b"], { environment: tty, terminal: say("y") }), {
        code: 0,
        deleted: ["ses_b"]
      })
      assert.deepEqual(yield* remove(["ses_b"], { environment: tty, terminal: say("") }), { code: 1, deleted: [] })
    }))
})

describe("4.10 config show", () => {
  const secret = "sk-do-not-show"
  const settings = JSON.stringify({
    api_key: secret,
    oauth_credentials: { access_token: secret },
    model: "m",
    env: { HOME_TOKEN: secret },
    providers: {
      p: {
        base_url: `https://user:${secret}@host/v1?api_key=${secret}`,
        api_key: secret,
        api_key_env: "P_KEY",
        headers: { "x-any": secret }
      }
    },
    mcp_servers: { s: { command: ["x"], env: { A: secret }, headers: { Authorization: secret } } },
    auth: { providers: { q: { client_secret: secret, client_id: "id" } } },
    permissions: { "bash(git *)": "allow" }
  })
  const show = (argv: ReadonlyArray<string>, text: string) =>
    Effect.gen(function*() {
      const on = bench({ settings: text })
      const code = yield* Effect.provide(Effect.flatMap(valuesOf(Spec.configShow, argv), ConfigShow.show), on.layer)
      return { code, out: on.out.join(""), err: on.err.join("") }
    })

  it.effect("no form shows a secret", () =>
    Effect.gen(function*() {
      for (const argv of [[], ["--json"], ["--origin"], ["--origin", "--json"]]) {
        const { code, err, out } = yield* show(argv, settings)
        assert.strictEqual(code, 0)
        assert.notInclude(out + err, secret, argv.join(" "))
        assert.include(out, "set (user)")
        assert.include(out, "P_KEY")
      }
    }))

  it.effect("json is valid and says where values come from and what they hide", () =>
    Effect.gen(function*() {
      const { out } = yield* show(["--origin", "--json"], settings)
      const shown = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.ConfigShow))(out)
      assert.strictEqual(shown.settings["api_key"], "set (user)")
      assert.deepEqual(shown.origins?.["model"], [
        { tier: "user", file: "settings.json", line: 1, value: "m" },
        { tier: "default", value: "claude-sonnet-4-20250514" }
      ])
      assert.deepEqual(shown.settings["permissions"], [{ tool_pattern: "bash(git *)", mode: "allow" }])
    }))

  it.effect("broken settings are shown without what was rejected, exit 2", () =>
    Effect.gen(function*() {
      const { code, err, out } = yield* show([], "{\"model\": 1, \"theme\": \"t\"}")
      assert.strictEqual(code, 2)
      assert.include(err, "model must be a text")
      assert.include(out, "\"theme\": \"t\"")
      assert.include(out, "claude-sonnet-4-20250514")
    }))
})

describe("start", () => {
  it.effect("a conversation needs both terminals and a model", () =>
    Effect.gen(function*() {
      const can = (stdin_is_tty: boolean, stdout_is_tty: boolean) =>
        Effect.provide(canConverse, bench({ environment: { stdin_is_tty, stdout_is_tty } }).layer)
      assert.deepEqual(yield* Effect.all([can(true, true), can(true, false), can(false, true)]), [true, false, false])
    }))
})
