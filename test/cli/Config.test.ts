/** `config get|set|path|edit|validate|schema|trust`, the question of trust, `/reload`. */
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { check } from "../../src/cli/Check.ts"
import * as ConfigEdit from "../../src/cli/ConfigEdit.ts"
import * as ConfigShow from "../../src/cli/ConfigShow.ts"
import * as Conversation from "../../src/cli/Conversation.ts"
import type { CliExit } from "../../src/cli/Exit.ts"
import * as Parser from "../../src/cli/Parser.ts"
import * as Prompter from "../../src/cli/Prompter.ts"
import * as Schemas from "../../src/cli/Schemas.ts"
import * as Spec from "../../src/cli/Spec.ts"
import { colourless } from "../../src/cli/Style.ts"
import * as TrustQuestion from "../../src/cli/TrustQuestion.ts"
import { Config, type ConfigService } from "../../src/config/Config.ts"
import { settingsSchema, settingsSchemaText } from "../../src/config/JsonSchema.ts"
import * as Tiers from "../../src/config/Tiers.ts"
import { Editor } from "../../src/platform/Editor.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { ShellGrammar } from "../../src/platform/ShellGrammar.ts"
import { type Line, Terminal } from "../../src/platform/Terminal.ts"
import { inPlace, type Place } from "../config/support.ts"
import { bench } from "./support.ts"

const tty = { stdin_is_tty: true, stdout_is_tty: true, stderr_is_tty: true }

interface Said {
  readonly stdin?: string
  readonly typed?: ReadonlyArray<string | Line>
  readonly tty?: boolean
  readonly edits?: ReadonlyArray<string>
}

/** Runs a command over the files of a place, as they are now. */
const run = <S extends Spec.CommandSpec, R>(
  place: Place,
  spec: S,
  argv: ReadonlyArray<string>,
  execute: (values: Spec.Values<S>) => Effect.Effect<number, CliExit, R>,
  said: Said = {}
) =>
  Effect.gen(function*() {
    const out: Array<string> = []
    const err: Array<string> = []
    const checked = check([...spec.path, ...argv])
    if (checked.kind !== "command") throw new Error(JSON.stringify(checked))
    const typed = [...(said.typed ?? [])]
    const edits = [...(said.edits ?? [])]
    const layer = Layer.mergeAll(
      Config.layerOf(yield* place.load()),
      Processes.layer,
      ShellGrammar.layer,
      Terminal.layerTest({
        out,
        err,
        ...(said.stdin === undefined ? {} : { stdin: said.stdin }),
        readLine: () =>
          Effect.sync(() => {
            const next = typed.shift()
            return next === undefined ? { type: "end" } : typeof next === "string" ? { type: "line", text: next } : next
          })
      }),
      Environment.layerTest({
        cwd: place.root,
        ...(said.tty === true ? tty : {}),
        vars: { NO_COLOR: "1", PATH: process.env["PATH"] ?? "" }
      }),
      Editor.layerTest((file) =>
        Effect.sync(() => {
          const text = edits.shift()
          if (text === undefined) return 1
          writeFileSync(file, text)
          return 0
        })
      )
    )
    const code = yield* Effect.flatMap(Parser.parse(spec, checked.argv), execute).pipe(
      Effect.catchAll((exit: CliExit) =>
        Effect.sync(() => {
          err.push(...exit.lines)
          return exit.exit_code
        })
      ),
      Effect.provide(layer)
    )
    return { code, out: out.join(""), err: err.join("") }
  })

describe("config set and get", () => {
  it.effect("writes the tier that is named, keeps the file's form, and says what hides it", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.user, "{\n  // mine\n  \"odd\": 1,\n  \"theme\": \"a\"\n}\n")
        const set = (argv: ReadonlyArray<string>, said?: Said) => run(place, Spec.configSet, argv, ConfigEdit.set, said)
        const get = (argv: ReadonlyArray<string>) => run(place, Spec.configGet, argv, ConfigShow.get)
        assert.strictEqual((yield* set(["theme", "b"])).code, 0)
        assert.strictEqual(yield* place.read(place.user), "{\n  // mine\n  \"odd\": 1,\n  \"theme\": \"b\"\n}\n")
        assert.strictEqual((yield* set(["theme", "c", "--tier", "project"])).code, 0)
        assert.strictEqual((yield* set(["theme", "d", "--tier", "local"])).code, 0)
        assert.strictEqual((yield* get(["theme"])).out, "d\n")
        const hidden = yield* set(["theme", "e"])
        assert.match(hidden.err, /it does not count for now: .*settings\.local\.json:\d+ has another value/)
        assert.strictEqual((yield* set(["theme", "null", "--tier", "local"])).code, 0)
        assert.strictEqual((yield* get(["theme"])).out, "c\n")
        assert.include(yield* place.read(`${place.root}/.hanzo/.gitignore`), "settings.local.json")

        yield* set(["sandbox.allowed_paths", "[\"a\"]"])
        assert.deepEqual(JSON.parse((yield* get(["sandbox"])).out), { allowed_paths: ["a"] })
        assert.strictEqual((yield* get(["max_tokens"])).out, "null\n")
        yield* set(["permissions.bash(git status*)", "allow"])
        assert.strictEqual((yield* get(["permissions.bash(git status*)"])).out, "allow\n")
        const document = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.ConfigGet))(
          (yield* get(["theme", "--json"])).out
        )
        assert.deepEqual(document, { v: 1, key: "theme", value: "c", origin: "project" })
      })
    ))

  it.effect("a secret comes by stdin and is never shown", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const ran = yield* run(place, Spec.configSet, ["api_key", "-"], ConfigEdit.set, { stdin: "sk-secret\n" })
        assert.strictEqual(ran.code, 0)
        assert.notInclude(ran.out + ran.err, "sk-secret")
        assert.strictEqual((yield* place.load()).config.api_key, "sk-secret")
        const got = yield* run(place, Spec.configGet, ["api_key"], ConfigShow.get)
        assert.strictEqual(got.out, "set (user)\n")
      })
    ))

  it.effect("what would be wrong is refused, and nothing is written", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const text = "{\"theme\": \"a\"}"
        yield* place.write(place.user, text)
        const table: ReadonlyArray<readonly [argv: ReadonlyArray<string>, err: RegExp]> = [
          [["modle", "x"], /there is no setting "modle"; did you mean "model"/],
          [["max_tokens", "many"], /max_tokens must be a number/],
          [["max_tokens", "1e400"], /1e400 is too large a number/],
          [["theme.x", "1"], /theme has no key "x"/],
          [["permissions.read", "ALLOW"], /lower case/],
          [["api_key", "sk", "--tier", "project"], /counts only in the user's own settings/]
        ]
        for (const [argv, err] of table) {
          const ran = yield* run(place, Spec.configSet, argv, ConfigEdit.set)
          assert.strictEqual(ran.code, 2, argv.join(" "))
          assert.match(ran.err, err)
        }
        assert.strictEqual(yield* place.read(place.user), text)
        const fs = yield* FileSystem.FileSystem
        assert.isFalse(yield* fs.exists(place.project))
        yield* place.write(place.user, "{broken")
        assert.strictEqual((yield* run(place, Spec.configSet, ["theme", "b"], ConfigEdit.set)).code, 2)
        assert.strictEqual(yield* place.read(place.user), "{broken")
      })
    ))

  it.effect("a definition that is set in a project waits for trust, and that is said", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const ran = yield* run(
          place,
          Spec.configSet,
          ["mcp_servers.a", "{\"command\": [\"x\"]}", "--tier", "project"],
          ConfigEdit.set
        )
        assert.strictEqual(ran.code, 0)
        assert.match(ran.err, /1 setting of this project waits for trust and does not count/)
        assert.strictEqual((yield* place.load()).trust.status, "untrusted")
      })
    ))
})

describe("config path, validate, schema, show", () => {
  it.effect("path says where each tier is", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const path = (argv: ReadonlyArray<string>) =>
          Effect.map(run(place, Spec.configPath, argv, ConfigShow.path), ({ out }) => out)
        assert.strictEqual(yield* path([]), `${place.user}\n`)
        assert.strictEqual(yield* path(["--tier", "project"]), `${place.project}\n`)
        assert.strictEqual(yield* path(["--tier", "local"]), `${place.local}\n`)
      })
    ))

  it.effect("validate tells every error of every tier with its line, exit 2", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const validate = (...argv: ReadonlyArray<string>) => run(place, Spec.configValidate, argv, ConfigShow.validate)
        assert.deepEqual(yield* validate(), { code: 0, out: "the settings are valid\n", err: "" })
        yield* place.write(place.user, "{\n  \"theme\": 1\n}")
        yield* place.write(place.local, "{\"modle\": 1}")
        const text = yield* validate()
        assert.strictEqual(text.code, 2)
        assert.include(text.err, `error: ${place.user}:2:12: theme must be a text, this is a number (wrong_type)`)
        assert.include(text.err, `did you mean "model"?`)
        assert.include(text.err, "2 |   \"theme\": 1")
        const document = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.ConfigValidate))(
          (yield* validate("--json")).out
        )
        assert.deepEqual([document.ok, document.errors.length, document.warnings.length], [false, 1, 1])
      })
    ))

  it.effect("7.9 validate checks the examples of rules, as a run does", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const validate = (...argv: ReadonlyArray<string>) => run(place, Spec.configValidate, argv, ConfigShow.validate)
        const rule = (match: string, not_match: string) =>
          `{"permissions": [\n{"tool_pattern": "read", "mode": "allow"},\n{"tool_pattern": "bash(git *)", "mode": "allow", ` +
          `"match": [${JSON.stringify(match)}], "not_match": [${JSON.stringify(not_match)}]}]}`
        yield* place.write(place.user, rule("git log && git show", "git log; rm x"))
        assert.strictEqual((yield* validate()).code, 0)
        yield* place.write(place.user, rule("git log; rm x", "git show"))
        const text = yield* validate()
        assert.strictEqual(text.code, 2)
        assert.strictEqual(text.out, "")
        assert.include(
          text.err,
          `error: ${place.user}:3:1: permission rule "bash(git *)" does not match its example "git log; rm x"`
        )
        assert.include(text.err, `matches what it must not match: "git show"`)
        const document = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.ConfigValidate))(
          (yield* validate("--json")).out
        )
        assert.deepEqual([document.ok, document.errors.map(({ line }) => line)], [false, [3, 3]])
      })
    ))

  it.effect("show --origin names the file and what it hides, and what waits for trust", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.user, "{\"theme\": \"u\"}")
        yield* place.write(place.project, "{\n\"theme\": \"p\", \"env\": {\"A\": \"1\"}}")
        const { code, err, out } = yield* run(place, Spec.configShow, ["--origin"], ConfigShow.show)
        assert.strictEqual(code, 0)
        assert.match(out, /^theme +"p" +project .*\.hanzo\/settings\.json:2\n {2}hides +"u" +user .*settings\.json:1$/m)
        assert.match(err, /1 setting of this project waits for trust/)
        const { out: json } = yield* run(place, Spec.configShow, ["--json"], ConfigShow.show)
        const document = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.ConfigShow))(json)
        assert.deepEqual([document.trust, document.pending_trust], ["untrusted", [
          { kind: "env", tier: "project", key: "env.A", line: 2 }
        ]])
      })
    ))
})

describe("the JSON Schema of the settings", () => {
  const file = fileURLToPath(new URL("../../docs/schema/settings.schema.json", import.meta.url))
  const valid = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true, strictTypes: false }).compile(
    settingsSchema()
  )

  it("is published as it is made (HANZO_UPDATE_GOLDEN=1 writes it anew)", () => {
    if (process.env["HANZO_UPDATE_GOLDEN"] === "1") writeFileSync(file, settingsSchemaText())
    assert.strictEqual(readFileSync(file, "utf8"), settingsSchemaText())
  })

  it("takes what the program takes, and refuses what it refuses", () => {
    const table: ReadonlyArray<readonly [settings: unknown, sound: boolean]> = [
      [{}, true],
      [{ $schema: "x", unknown: 1 }, true],
      [{ max_tokens: 0 }, true],
      [{ model: null, max_tokens: null, env: { A: null } }, true],
      [{ permissions: { read: "allow" } }, true],
      [{ permissions: [{ tool_pattern: "a", mode: "deny", reason: null, match: ["x"] }] }, true],
      [{ permissions: { read: "ask" } }, false],
      [{ permissions: [{ mode: "deny" }] }, false],
      [{ max_tokens: "5" }, false],
      [{ max_tokens: -1 }, false],
      [{ input_mode: "Vim" }, false],
      [{ mcp_servers: { a: { command: "x" }, b: { command: ["x"] }, c: { disabled: true } } }, true],
      [{ mcp_servers: { a: { command: [] } } }, false],
      [{ lsp: { servers: { ts: { settings: { any: { thing: 1 } } } } } }, true],
      [{ lsp: {}, auth: {} }, true],
      [{ sandbox: { network: { allow: ["a"] } } }, true],
      [{ sandbox: { network: "some" } }, false],
      [{ hooks: [{ event: "stop", command: "x" }] }, true],
      [{ hooks: [{ event: "never", command: "x" }] }, false],
      [{ providers: { p: { models: { m: { price: { input: 1, output: 2 } } } } } }, true],
      [{ providers: { p: { models: { m: { price: { input: 1 } } } } } }, false]
    ]
    for (const [settings, sound] of table) {
      const text = JSON.stringify(settings)
      assert.strictEqual(valid(settings), sound, `${text} ${JSON.stringify(valid.errors)}`)
      const errors = Tiers.fromText("user", "/u", text).issues.filter(({ severity }) => severity === "error")
      assert.strictEqual(errors.length === 0, sound, text)
    }
  })

  it.prop("never refuses what the program takes", [
    FastCheck.jsonValue({ maxDepth: 3 }),
    FastCheck.constantFrom(
      "permissions",
      "hooks",
      "providers",
      "mcp_servers",
      "env",
      "max_tokens",
      "model",
      "sandbox",
      "lsp",
      "auth"
    )
  ], ([value, key]) => {
    const text = JSON.stringify({ [key]: value })
    if (Tiers.fromText("user", "/u", text).issues.some(({ severity }) => severity === "error")) return
    assert.isTrue(valid(JSON.parse(text)), `${text} ${JSON.stringify(valid.errors)}`)
  }, { fastCheck: { numRuns: 300 } })
})

describe("config edit", () => {
  const edit = (place: Place, argv: ReadonlyArray<string>, said: Said) =>
    run(place, Spec.configEdit, argv, ConfigEdit.edit, said)

  it.effect("a sound file is kept; a new one gets its mode", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const ran = yield* edit(place, [], { edits: ["{\"theme\": \"x\"}"] })
        assert.deepEqual(ran, { code: 0, out: "", err: "" })
        assert.strictEqual((yield* place.load()).config.theme, "x")
        assert.strictEqual((yield* fs.stat(place.user)).mode & 0o777, 0o600)
        assert.strictEqual((yield* edit(place, ["--tier", "local"], { edits: ["{}"] })).code, 0)
        assert.isTrue(yield* fs.exists(`${place.root}/.hanzo/.gitignore`))
      })
    ))

  it.effect("a broken one is told, and edited again, taken back or kept", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.user, "{\"theme\": \"before\"}")
        const again = yield* edit(place, [], {
          tty: true,
          edits: ["{\"theme\": 1}", "{\"theme\": \"y\"}"],
          typed: ["e"]
        })
        assert.strictEqual(again.code, 0)
        assert.match(again.err, /theme must be a text/)
        const back = yield* edit(place, [], { tty: true, edits: ["{broken"], typed: ["what?", "b"] })
        assert.deepEqual([back.code, yield* place.read(place.user)], [0, "{\"theme\": \"y\"}"])
        const kept = yield* edit(place, [], { tty: true, edits: ["{broken"], typed: ["k"] })
        assert.deepEqual([kept.code, yield* place.read(place.user)], [2, "{broken"])
      })
    ))

  it.effect("without a person the errors are told, exit 2; an editor that fails is an error", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* edit(place, [], { edits: ["{\"theme\": 1}"] })).code, 2)
        const failed = yield* edit(place, [], { edits: [] })
        assert.strictEqual(failed.code, 1)
        assert.match(failed.err, /ended with exit code 1/)
      })
    ))
})

const brings = JSON.stringify({
  env: { A: "\u001b[31m1" },
  hooks: [{ event: "stop", command: "./notify.sh" }],
  mcp_servers: { s: { url: "https://user:pass@example.com/mcp", headers: { Authorization: "Bearer t0p" } } }
})

describe("config trust", () => {
  it.effect("--show says of a base_url that a login and keys go along", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const providers = { corp: { base_url: "https://elsewhere.example/v1" }, other: { protocol: "chat" } }
        yield* place.write(place.project, JSON.stringify({ providers }))
        const { err } = yield* run(place, Spec.configTrust, ["--show"], TrustQuestion.execute)
        assert.match(
          err,
          /base_url: https:\/\/elsewhere\.example\/v1\n.*your stored login and the keys .* are sent there/u
        )
        assert.strictEqual(err.split("are sent there").length, 2)
      })
    ))

  const trust = (place: Place, argv: ReadonlyArray<string>, said: Said = {}) =>
    run(place, Spec.configTrust, argv, TrustQuestion.execute, said)

  it.effect("shows, asks, remembers, takes back", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        assert.match((yield* trust(place, ["--show"])).err, /nothing in its settings needs trust/)
        yield* place.write(place.project, brings)
        const shown = yield* trust(place, ["--show"])
        assert.include(shown.err, "runs at stop: ./notify.sh")
        assert.include(shown.err, "Scripts and programs behind these commands are not covered")
        assert.notInclude(shown.err, "t0p")
        assert.notInclude(shown.err, "user:pass")
        assert.notInclude(shown.err, "\u001b")
        const no = yield* trust(place, [], { tty: true, typed: ["what", ""] })
        assert.deepEqual([no.code, (yield* place.load()).trust.status], [1, "untrusted"])
        const yes = yield* trust(place, [], { tty: true, typed: ["yes"] })
        assert.deepEqual([yes.code, (yield* place.load()).trust.status], [0, "trusted"])
        assert.strictEqual((yield* trust(place, ["--revoke"])).code, 0)
        assert.strictEqual((yield* place.load()).trust.status, "untrusted")
        assert.strictEqual((yield* trust(place, [])).code, 2)
        const json = yield* trust(place, ["--yes", "--json"])
        const document = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.ConfigTrust))(json.out)
        assert.deepEqual([document.status, document.items.map(({ key }) => key)], [
          "trusted",
          ["env.A", "hooks.0", "mcp_servers.s"]
        ])
      })
    ))

  it.effect("what has changed is shown against what it was", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.project, brings)
        yield* trust(place, ["--yes"])
        yield* place.write(place.project, brings.replace("./notify.sh", "./other.sh").replace("\"env\"", "\"x\""))
        const text = TrustQuestion.questionText(yield* place.load(), colourless)
        assert.include(text, "have changed since you trusted them")
        assert.match(
          text,
          /hooks\.0 \(changed\).*\n {2}- runs at stop: \.\/notify\.sh\n {2}\+ runs at stop: \.\/other\.sh/
        )
        assert.match(text, /not there any more\n {2}env\.A\n/)
      })
    ))
})

describe("the question before a conversation", () => {
  const ask = (config: ConfigService, typed: ReadonlyArray<string | Line>, before?: (asked: number) => void) => {
    const err: Array<string> = []
    const left = [...typed]
    let count = 0
    return TrustQuestion.askTrust(config).pipe(
      Effect.map((now): string => now.trust.status),
      Effect.catchAll((exit: CliExit) => Effect.succeed(`exit ${exit.exit_code}`)),
      Effect.provide(Layer.merge(
        Environment.layerTest({ ...tty, vars: { NO_COLOR: "1" } }),
        Terminal.layerTest({
          err,
          readLine: () =>
            Effect.sync(() => {
              before?.(count++)
              const next = left.shift()
              return next === undefined
                ? { type: "end" }
                : typeof next === "string"
                ? { type: "line", text: next }
                : next
            })
        })
      )),
      Effect.map((status) => ({ status, err: err.join("") }))
    )
  }

  it.effect("yes, no, nothing, the end, Ctrl-C", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        assert.deepEqual(yield* ask(yield* place.load(), []), { status: "nothing", err: "" })
        yield* place.write(place.project, brings)
        const config = yield* place.load()
        for (const typed of [["n"], [""], ["perhaps", "no"], []]) {
          const { err, status } = yield* ask(config, typed)
          assert.strictEqual(status, "untrusted")
          assert.match(err, /3 settings of this project wait for trust and do not count/)
        }
        assert.strictEqual((yield* ask(config, [{ type: "interrupt" }])).status, "exit 130")
        assert.strictEqual((yield* place.load()).trust.status, "untrusted")
        assert.strictEqual((yield* ask(config, ["y"])).status, "trusted")
        assert.strictEqual((yield* place.load()).trust.status, "trusted")
      })
    ))

  it.effect("whoever changes the file while the question stands there is asked about too", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.project, brings)
        const config = yield* place.load()
        const swap = (asked: number): void => {
          if (asked === 0) writeFileSync(place.project, brings.replace("./notify.sh", "./evil.sh"))
        }
        const { err, status } = yield* ask(config, ["y", "n"], swap)
        assert.strictEqual(status, "untrusted")
        assert.include(err, "./evil.sh")
      })
    ))
})

describe("/reload", () => {
  const talk = (config: ConfigService, typed: ReadonlyArray<string | (() => string)>, going: Conversation.Going = {}) =>
    Effect.gen(function*() {
      const left = [...typed]
      const on = bench({
        environment: { ...tty, vars: { NO_COLOR: "1" } },
        terminal: {
          readLine: () =>
            Effect.sync((): Line => {
              const next = left.shift()
              return next === undefined
                ? { type: "end" }
                : { type: "line", text: typeof next === "string" ? next : next() }
            })
        }
      })
      const checked = check([])
      if (checked.kind !== "command") throw new Error("no command")
      const shared = yield* Prompter.shared
      const values = yield* Parser.parse(Spec.conversation, checked.argv)
      const end = yield* Conversation.execute(values, shared, going).pipe(
        Effect.provide(Layer.merge(on.layer, Config.layerOf(config)))
      )
      return { end, on, out: on.out.join(""), err: on.err.join("") }
    })

  it.effect("a change is announced once, and applied with the session and the model going on", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.user, "{\"theme\": \"a\"}")
        const config = yield* place.load()
        const change = (): string => {
          writeFileSync(place.user, "{\"theme\": \"bb\"}")
          return "hello"
        }
        const { end, out } = yield* talk(config, ["/model x/y", change, "again", "/reload", "never"])
        assert.strictEqual(out.split("the settings have changed on disk; /reload applies them").length, 2)
        if (typeof end === "number") throw new Error("it ended")
        assert.strictEqual(end.config.config.theme, "bb")
        assert.deepEqual(end.going, { reloaded: true, session_id: "ses_1", model: "x/y" })

        const next = yield* talk(end.config, ["more"], end.going)
        assert.strictEqual(next.end, 0)
        assert.include(next.out, "the settings are applied")
        assert.deepEqual(next.on.inputs.map(({ model, session_id }) => [session_id, model]), [["ses_1", "x/y"]])
      })
    ))

  it.effect("4.10 an invalid new version keeps the running values and says so", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.user, "{\"theme\": \"a\"}")
        const config = yield* place.load()
        yield* place.write(place.user, "{\"theme\": 17}")
        const { end, err, on } = yield* talk(config, ["/reload", "still here"])
        assert.strictEqual(end, 0)
        assert.match(err, /theme must be a text/)
        assert.include(err, "the settings have errors; those that are running stay")
        assert.deepEqual(on.inputs.map(({ prompt }) => prompt), ["still here"])
        assert.strictEqual(config.config.theme, "a")
      })
    ))
})
