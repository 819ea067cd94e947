/** The tiers of a workspace on disk: where they are read from, what they come to, how they are written. */
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import { AllowAlways } from "../../src/config/AllowAlways.ts"
import { assign } from "../../src/config/Assign.ts"
import type { ConfigService } from "../../src/config/Config.ts"
import * as Document from "../../src/config/Document.ts"
import { allow, type Edited, set } from "../../src/config/Edit.ts"
import { parseKey } from "../../src/config/KeyPath.ts"
import { ignoring, SettingsWriter } from "../../src/config/SettingsWriter.ts"
import { patternProblem } from "../../src/config/RulePatterns.ts"
import * as Tiers from "../../src/config/Tiers.ts"
import { trackedLocal } from "../../src/config/Tracked.ts"
import { Trust } from "../../src/config/Trust.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { asConfig, inPlace } from "./support.ts"

const textOf = (edited: Edited): string => {
  if ("problem" in edited) throw new Error(edited.problem)
  return edited.text
}

describe("4.1, 4.2 tiers", () => {
  it.effect("managed, flags, environment, local, project, user, defaults, each from its place", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(
          place.managed,
          "{\"permissions\": {\"mcp__m\": \"deny\", \"mcp__x\": \"allow\"}, \"model\": \"managed\"}"
        )
        yield* place.write(place.user, "{\"model\": \"user\", \"theme\": \"user\", \"max_tokens\": 1}")
        yield* place.write(
          place.project,
          "{\"model\": \"project\", \"theme\": \"project\", \"permissions\": {\"mcp__p\": \"deny\"}}"
        )
        yield* place.write(place.local, "{\"model\": \"local\"}")
        const config = yield* place.load({ flags: { deny: ["mcp__f"] } })
        assert.deepEqual([config.config.model, config.config.theme, config.config.max_tokens], ["env", "project", 1])
        assert.deepEqual(config.sources.get("model")?.map(({ tier, value }) => `${tier} ${String(value)}`), [
          "env env",
          "local local",
          "project project",
          "user user",
          "default claude-sonnet-4-20250514"
        ])
        assert.deepEqual(config.rules.map(({ tier, tool_pattern }) => `${tier} ${tool_pattern}`), [
          "managed mcp__m",
          "flag mcp__f",
          "project mcp__p"
        ])
        assert.deepEqual(config.warnings.map(({ code, key, tier }) => [code, tier, key]), [
          ["managed_not_deny", "managed", "permissions.mcp__x"],
          ["managed_not_deny", "managed", "model"]
        ])
        assert.deepEqual(config.sources.get("theme")?.[0], {
          tier: "project",
          file: place.project,
          line: 1,
          value: "project"
        })
      }), { vars: { HANZO_MODEL: "env" } }))

  it.effect("the home directory is no project; a config home inside the project is no second tier", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(`${place.home}/.hanzo/settings.json`, "{\"env\": {\"A\": \"1\"}}")
        const home = yield* place.load({ root: place.home })
        assert.deepEqual([home.trust.status, home.config.env["A"], home.files.project, home.files.local], [
          "nothing",
          "1",
          null,
          null
        ])
      })
    ))

  it.effect("4.6 an error of any tier is told; the other tiers are not silently used instead", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.user, "{\"theme\": 1}")
        yield* place.write(place.project, "{\"theme\": }")
        yield* place.write(place.local, "[]")
        const { errors, warnings } = yield* place.load()
        assert.deepEqual(errors.map(({ code, file, line }) => [code, file, line]), [
          ["wrong_type", place.user, 1],
          ["bad_json", place.project, 1]
        ])
        assert.deepEqual(warnings.map(({ code, file }) => [code, file]), [["not_an_object", place.local]])
      })
    ))

  it.effect("a directory or a pipe in place of a project file is an error, a file in place of .hanzo is none", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        yield* fs.makeDirectory(place.project, { recursive: true })
        execFileSync("sh", ["-c", "mkfifo \"$0\"", place.local])
        assert.deepEqual((yield* place.load()).errors.map(({ code, tier }) => [code, tier]), [
          ["unreadable", "project"],
          ["unreadable", "local"]
        ])
        yield* fs.remove(`${place.root}/.hanzo`, { recursive: true })
        yield* fs.writeFileString(`${place.root}/.hanzo`, "")
        assert.deepEqual((yield* place.load()).errors, [])
      })
    ))

  it.effect("4.10 a change on disk is seen, an own one can be acknowledged, and the running version stays", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.user, "{\"theme\": \"a\"}")
        const config = yield* place.load()
        assert.isNull(yield* config.changed)
        yield* place.write(place.project, "{\"theme\": \"b\"}")
        const first = yield* config.changed
        assert.isString(first)
        assert.strictEqual(yield* config.changed, first)
        assert.strictEqual(config.config.theme, "a")
        assert.strictEqual((yield* config.reload).config.theme, "b")
        yield* config.acknowledge
        assert.isNull(yield* config.changed)
        yield* place.write(place.project, "{\"theme\": \"bb\"}")
        assert.isString(yield* config.changed)
        const fs = yield* FileSystem.FileSystem
        yield* fs.remove(place.project)
        assert.isString(yield* config.changed)
      })
    ))
})

describe("4.10 edits", () => {
  it("keep comments, order, indentation, unknown keys, line ends and the mark", () => {
    const text =
      "\uFEFF// mine\r\n{\r\n\t\"zeta\": 1, // not known\r\n\t\"model\": \"a\",\r\n\t/* t */ \"theme\": \"x\",\r\n}\r\n"
    assert.strictEqual(textOf(set(text, ["model"], "b")), text.replace("\"a\"", "\"b\""))
    assert.strictEqual(
      textOf(set(text, ["max_tokens"], 5)),
      text.replace("\"theme\": \"x\",\r\n", "\"theme\": \"x\",\r\n\t\"max_tokens\": 5,\r\n")
    )
  })

  it("an empty file, one of comments, null parents, other spellings, arrays of rules", () => {
    const table: ReadonlyArray<readonly [text: string, path: ReadonlyArray<string>, value: unknown, expected: string]> =
      [
        ["", ["model"], "m", "{\n  \"model\": \"m\"\n}\n"],
        ["// c\n", ["env", "A"], "1", "// c\n{\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n"],
        ["{\"maxTokens\": 1}", ["max_tokens"], 2, "{\"maxTokens\": 2}"],
        ["{\"model\": \"m\"}", ["model"], null, "{\"model\": null}"],
        ["{\"env\": {}}", ["env", "__proto__"], "1", "{\n  \"env\": {\n    \"__proto__\": \"1\"\n  }\n}"]
      ]
    for (const [text, path, value, expected] of table) {
      const edited = textOf(set(text, path, value))
      assert.strictEqual(edited.replaceAll(/\s/g, ""), expected.replaceAll(/\s/g, ""), text)
    }
    const rules = textOf(
      set("{\"permissions\": [{\"tool_pattern\": \"a\", \"mode\": \"deny\"}]}", ["permissions", "b"], "allow")
    )
    assert.deepEqual(JSON.parse(rules), {
      permissions: [{ tool_pattern: "a", mode: "deny" }, { tool_pattern: "b", mode: "allow" }]
    })
    assert.deepEqual(JSON.parse(textOf(set("{\"providers\": null}", ["providers", "a", "base_url"], "u"))), {
      providers: { a: { base_url: "u" } }
    })
    for (const text of ["{", "[]", "{\"model\": 1, \"model\": 2}", "{\"env\": 1}"]) {
      assert.property(set(text, text.includes("model") ? ["model"] : ["env", "A"], "x"), "problem", text)
    }
  })

  const value = FastCheck.jsonValue({ maxDepth: 2 })
  const base = FastCheck.record({
    env: FastCheck.option(FastCheck.dictionary(FastCheck.string(), FastCheck.string(), { maxKeys: 3 })),
    theme: FastCheck.string(),
    odd: value
  }, { requiredKeys: [] })
  const layout = FastCheck.constantFrom<Array<(text: string) => string>>(
    (text) => text,
    (text) => `// before\n${text}\n// after\n`,
    (text) => text.replace(/^\{/, "{ /* first */ ")
  )

  it.prop("one value is another one afterwards and nothing else is", [
    base,
    FastCheck.string(),
    FastCheck.string(),
    layout,
    FastCheck.constantFrom(0, 2, "\t")
  ], ([before, name, text, wrap, indent]) => {
    const source = wrap(JSON.stringify(before, null, indent))
    const edited = textOf(set(source, ["env", name], text))
    const root = Document.parse(edited).root
    assert.isNotNull(root)
    if (root === null) return
    const env = { ...before.env, [name]: text }
    const expected = JSON.parse(JSON.stringify({ ...before, env })) as unknown
    assert.deepEqual(JSON.parse(JSON.stringify(Document.toValue(root))), expected)
    assert.strictEqual(edited.includes("// before"), source.includes("// before"))
    assert.strictEqual(edited.includes("/* first */"), source.includes("/* first */"))
  }, { fastCheck: { numRuns: 300 } })

  const anyPattern = FastCheck.string().filter((text) => patternProblem(text)?.severity !== "error")

  it.prop("an allowed pattern comes first and no other rule changes", [
    FastCheck.dictionary(anyPattern, FastCheck.constantFrom("deny", "prompt"), { maxKeys: 4 }),
    anyPattern,
    FastCheck.boolean()
  ], ([rules, pattern, list]) => {
    const permissions = list ? Object.entries(rules).map(([tool_pattern, mode]) => ({ tool_pattern, mode })) : rules
    const text = textOf(allow(JSON.stringify({ permissions }), pattern))
    const after = Tiers.fromText("local", "/l", text).rules.map(({ mode, tool_pattern }) => [tool_pattern, mode])
    const before = Object.entries(rules).filter(([other]) => other !== pattern)
    assert.deepEqual(after.filter(([other]) => other !== pattern), before)
    assert.deepEqual(after.filter(([other]) => other === pattern), [[pattern, "allow"]])
    if (!Object.hasOwn(rules, pattern)) assert.deepEqual(after[0], [pattern, "allow"])
  }, { fastCheck: { numRuns: 300 } })

  it("keys as they are typed", () => {
    const table: ReadonlyArray<readonly [key: string, expected: ReadonlyArray<string> | RegExp]> = [
      ["model", ["model"]],
      ["maxTokens", ["max_tokens"]],
      ["providers.fake.base_url", ["providers", "fake", "base_url"]],
      ["providers.\"a.b\".models.\"gpt-4.1\".price.input", ["providers", "a.b", "models", "gpt-4.1", "price", "input"]],
      ["permissions.bash(git status*).x", ["permissions", "bash(git status*).x"]],
      ["permissions.\"a b\"", ["permissions", "a b"]],
      ["lsp.servers.ts.settings.any.thing", ["lsp", "servers", "ts", "settings", "any", "thing"]],
      ["hooks.0.command", ["hooks", "0", "command"]],
      ["modle", /did you mean "model"/],
      ["providers.x.base_ulr", /providers\.x has no key "base_ulr"; did you mean "base_url"/],
      ["model.x", /model has no key "x"/],
      ["a..b", /no key/],
      ["\"open", /no key/],
      ["", /no key/]
    ]
    for (const [key, expected] of table) {
      const found = parseKey(key)
      if (expected instanceof RegExp) assert.match("problem" in found ? found.problem : "", expected, key)
      else assert.deepEqual("path" in found ? found.path : found.problem, expected, key)
    }
  })

  it.prop("any key can be typed", [FastCheck.string()], ([key]) => void parseKey(key))

  it("a value is text or JSON, whichever the setting takes, and never makes an error", () => {
    const table: ReadonlyArray<readonly [path: ReadonlyArray<string>, raw: string, expected: unknown]> = [
      [["model"], "a/b", "a/b"],
      [["model"], "123", "123"],
      [["model"], "true", "true"],
      [["model"], "null", null],
      [["max_tokens"], "5", 5],
      [["audit_required"], "true", true],
      [["sandbox", "allowed_paths"], "[\"a\"]", ["a"]],
      [["sandbox", "network"], "off", "off"],
      [["mcp_servers", "a"], "{\"command\": [\"x\"]}", { command: ["x"] }],
      [["env", "A"], "1", "1"],
      [["permissions", "read"], "allow", "allow"]
    ]
    for (const [path, raw, expected] of table) {
      const text = textOf(assign("user", "/u", "", path, raw))
      const value = path.reduce<unknown>(
        (at, key) => (at as Record<string, unknown>)[key],
        JSON.parse(text)
      )
      assert.deepEqual(value, expected, `${path.join(".")} ${raw}`)
    }
    const refused: ReadonlyArray<readonly [path: ReadonlyArray<string>, raw: string, why: RegExp]> = [
      [["max_tokens"], "many", /max_tokens must be a number/],
      [["max_tokens"], "-1", /whole number, 0 or more/],
      [["input_mode"], "Vim", /one of "vim"/],
      [["permissions", "read"], "ALLOW", /lower case/],
      [["mcp_servers", "a", "args"], "[\"x\"]", /neither command nor url/]
    ]
    for (const [path, raw, why] of refused) {
      const edited = assign("user", "/u", "", path, raw)
      assert.match("problem" in edited ? edited.problem : "", why)
    }
    const project = assign("project", "/p", "", ["api_key"], "sk-1")
    assert.match("problem" in project ? project.problem : "", /counts only in the user's own settings/)
    // an error that was there before does not stand in the way of another key, nor of its own correction
    assert.property(assign("user", "/u", "{\"theme\": 1}", ["model"], "m"), "text")
    assert.property(assign("user", "/u", "{\"theme\": 1}", ["theme"], "t"), "text")
  })
})

describe("writing", () => {
  it("the ignore file gets its line once, also after a line that shows the file again", () => {
    assert.strictEqual(ignoring(""), "settings.local.json\n")
    assert.strictEqual(ignoring("*.log"), "*.log\nsettings.local.json\n")
    for (const text of ["settings.local.json\n", "a\r\n/settings.local.json\r\n"]) {
      assert.strictEqual(ignoring(text), text)
    }
    assert.strictEqual(
      ignoring("settings.local.json\n!settings.local.json\n"),
      "settings.local.json\n!settings.local.json\nsettings.local.json\n"
    )
  })

  it.effect("modes; a local file is ignored by git before it is there; links are not followed", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const writer = yield* SettingsWriter
        const { files } = yield* place.load()
        const put = (tier: "user" | "project" | "local") =>
          writer.change(files, tier, (text) => set(text, ["theme"], tier))
        execFileSync("git", ["init", "-q"], { cwd: place.root })
        for (const tier of ["user", "project", "local"] as const) yield* put(tier)
        const mode = (file: string) => Effect.map(fs.stat(file), (info) => info.mode & 0o777)
        assert.deepEqual([yield* mode(place.user), yield* mode(place.local)], [0o600, 0o600])
        assert.strictEqual((yield* place.load()).config.theme, "local")
        const status = () =>
          execFileSync("git", ["status", "--porcelain", "-uall"], { cwd: place.root, encoding: "utf8" })
        assert.notInclude(status(), "settings.local.json")
        assert.include(status(), ".hanzo/settings.json")

        // a checkout that brings a link: what it leads to is not written
        yield* fs.remove(place.local)
        yield* place.write(`${place.home}/precious`, "{}")
        yield* fs.symlink(`${place.home}/precious`, place.local)
        assert.strictEqual((yield* Effect.flip(put("local"))).reason, "refused")
        assert.strictEqual(yield* place.read(`${place.home}/precious`), "{}")
        yield* fs.remove(`${place.root}/.hanzo`, { recursive: true })
        yield* fs.makeDirectory(`${place.home}/dir`)
        yield* fs.symlink(`${place.home}/dir`, `${place.root}/.hanzo`)
        assert.strictEqual((yield* Effect.flip(put("project"))).reason, "refused")
        assert.deepEqual(yield* fs.readDirectory(`${place.home}/dir`), [])

        // the user's own file may be a link
        yield* fs.rename(place.user, `${place.home}/dotfile`)
        yield* fs.symlink(`${place.home}/dotfile`, place.user)
        yield* writer.change(files, "user", (text) => set(text, ["theme"], "again"))
        assert.include(yield* place.read(`${place.home}/dotfile`), "again")
      })
    ))

  it.live("4.1 a local file that git tracks is a warning", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const config = yield* place.load()
        const look = Effect.provide(
          Effect.map(trackedLocal(config), (issues) => issues.map(({ code, file }) => [code, file])),
          Processes.layer
        )
        assert.deepEqual(yield* look, [])
        const git = (...argv: ReadonlyArray<string>) => execFileSync("git", [...argv], { cwd: place.root })
        git("init", "-q")
        yield* place.write(place.local, "{}")
        assert.deepEqual(yield* look, [])
        git("add", "-f", ".hanzo/settings.local.json")
        assert.deepEqual(yield* look, [["tracked_local", place.local]])
        git("rm", "-q", "--cached", ".hanzo/settings.local.json")
        assert.deepEqual(yield* look, [])
      }), { vars: { PATH: process.env["PATH"] ?? "" } }))
})

describe("7.7 always", () => {
  const always = (config: ConfigService, pattern: string) =>
    Effect.flatMap(AllowAlways, (service) => service.persistAllow({ tool_pattern: pattern, mode: "allow" })).pipe(
      Effect.provide(AllowAlways.layer.pipe(Layer.provide(asConfig(config))))
    )

  it.effect("the rule is written before the others, trusted, and counts at the next start", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.local, "{\n  // mine\n  \"permissions\": {\"bash(git *)\": \"prompt\"}\n}\n")
        const config = yield* place.load()
        yield* always(config, "bash(git status)")
        yield* always(config, "write(a.txt)")
        assert.isNull(yield* config.changed)
        const next = yield* place.load()
        assert.strictEqual(next.trust.status, "trusted")
        assert.deepEqual(next.rules.map(({ mode, tool_pattern }) => `${mode} ${tool_pattern}`), [
          "allow write(a.txt)",
          "allow bash(git status)",
          "prompt bash(git *)"
        ])
        assert.include(yield* place.read(place.local), "// mine")
        assert.include(yield* place.read(`${place.root}/.hanzo/.gitignore`), "settings.local.json")
      })
    ))

  it.effect("it grows a trusted workspace, and an array of rules", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const trust = yield* Trust
        yield* place.write(place.project, "{\"env\": {\"A\": \"1\"}}")
        yield* place.write(place.local, "{\"permissions\": [{\"tool_pattern\": \"x\", \"mode\": \"allow\"}]}")
        const config = yield* place.load()
        yield* trust.grant({ ...config.trust, root: place.root })
        const trusted = yield* config.reload
        yield* always(trusted, "bash(ls)")
        const next = yield* place.load()
        assert.deepEqual([next.trust.status, next.config.env["A"]], ["trusted", "1"])
        assert.deepEqual(next.rules.map(({ tool_pattern }) => tool_pattern), ["bash(ls)", "x"])
      })
    ))

  it.effect("what is not trusted is not trusted along with a rule", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.project, "{\"env\": {\"A\": \"1\"}}")
        const untrusted = yield* place.load()
        assert.strictEqual((yield* Effect.flip(always(untrusted, "bash(ls)"))).reason, "untrusted")
        // for this run only is not for good
        const run = yield* place.load({ trust: "all" })
        assert.strictEqual((yield* Effect.flip(always(run, "bash(ls)"))).reason, "untrusted")
        // what was written into the files after the start, by the agent say, is not either
        yield* place.write(place.project, "{}")
        const config = yield* place.load()
        yield* place.write(place.project, "{\"hooks\": [{\"event\": \"stop\", \"command\": \"evil\"}]}")
        assert.strictEqual((yield* Effect.flip(always(config, "bash(ls)"))).reason, "untrusted")
        assert.strictEqual((yield* place.load()).trust.status, "untrusted")
        const fs = yield* FileSystem.FileSystem
        assert.isFalse(yield* fs.exists(place.local))
      })
    ))

  it.effect("no workspace, no allow, a broken file: the words say why", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        const home = yield* place.load({ root: place.home })
        assert.strictEqual((yield* Effect.flip(always(home, "x"))).reason, "no_workspace")
        yield* place.write(place.local, "{broken")
        const config = yield* place.load()
        const refused = yield* Effect.flip(always(config, "x"))
        assert.deepEqual([refused.reason, yield* place.read(place.local)], ["failed", "{broken"])
        assert.include(refused.message, place.local)
      })
    ))
})
