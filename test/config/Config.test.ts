import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type ConfigFlags, type ConfigService, load } from "../../src/config/Config.ts"
import { waiting } from "../../src/config/Definitions.ts"
import { settle as settleAll } from "../../src/config/Load.ts"
import { merge, type TieredRule } from "../../src/config/Merge.ts"
import { HanzoConfig } from "../../src/config/Schema.ts"
import { patternProblem } from "../../src/config/RulePatterns.ts"
import * as Tiers from "../../src/config/Tiers.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"

const user = (text: string) => Tiers.fromText("user", "/settings.json", text)

const issues = (text: string): ReadonlyArray<string> =>
  user(text).issues.map(({ code, column, key, line, severity }) => `${severity} ${code} ${key} ${line}:${column}`)

const settle = (text: string) => merge([Tiers.defaults, user(text)])

/** Where the values come from is worked out when it is read. */
const read = (merged: ReturnType<typeof merge>) => ({
  ...merged,
  origins: new Map(merged.origins),
  sources: new Map(merged.sources),
  units: new Map(merged.units)
})

/** Rules without their places. */
const bare = (rules: ReadonlyArray<TieredRule>) =>
  rules.map(({ mode, tier, tool_pattern }) => ({ tool_pattern, mode, tier }))

const withHome = <A, E>(
  body: (root: string, fs: FileSystem.FileSystem) => Effect.Effect<A, E, FileSystem.FileSystem>
): Effect.Effect<A, E | PlatformError> =>
  Effect.scoped(Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    return yield* body(yield* fs.makeTempDirectoryScoped(), fs)
  })).pipe(Effect.provide(NodeFileSystem.layer))

const loadIn = (
  root: string,
  vars: Record<string, string> = {},
  flags: ConfigFlags = {}
): Effect.Effect<ConfigService, never, FileSystem.FileSystem> =>
  load({ flags, managed_file: `${root}/managed-settings.json` }).pipe(
    Effect.provide(Layer.merge(Dirs.layerTest(root), Environment.layerTest({ vars })))
  )

describe("defaults", () => {
  it("are a complete, valid configuration", () => {
    const { config, origins, rules } = merge([Tiers.defaults])
    assert.isTrue(Schema.is(HanzoConfig)(config))
    assert.strictEqual(config.model, "claude-sonnet-4-20250514")
    assert.strictEqual(config.reserve_recent, 3)
    assert.deepEqual(rules, [])
    assert.deepEqual(new Set(origins.values()), new Set(["default"]))
  })
})

describe("4.5 warnings and 4.6 errors", () => {
  it("have code, key, line and column", () => {
    const table: ReadonlyArray<readonly [text: string, expected: ReadonlyArray<string>]> = [
      ["{\"modle\": \"x\"}", ["warning unknown_key modle 1:2"]],
      ["{\"$schema\": \"x\"}", []],
      ["{\"model\": \"a\",\n \"model\": \"b\"}", ["warning duplicate_key model 2:2"]],
      ["{\"maxTokens\": 5}", []],
      ["{\"maxTokens\": 5,\n\"max_tokens\": 6}", ["warning duplicate_key max_tokens 1:2"]],
      ["{\"audit_required\": \"true\"}", ["error wrong_type audit_required 1:20"]],
      ["{\"audit_required\": 1}", ["error wrong_type audit_required 1:20"]],
      ["{\"max_tokens\": \"10\"}", ["error wrong_type max_tokens 1:16"]],
      ["{\"max_tokens\": -1}", ["error invalid_value max_tokens 1:16"]],
      ["{\"max_tokens\": 1e400}", ["error invalid_value max_tokens 1:16"]],
      ["{\"max_tokens\": null}", []],
      ["{\"reserve_recent\": 1.5}", ["error invalid_value reserve_recent 1:20"]],
      ["{\"input_mode\": \"Vim\"}", ["error invalid_value input_mode 1:16"]],
      ["{\"input_mode\": 7}", ["error wrong_type input_mode 1:16"]],
      ["{\"env\": {\"A\": 1, \"B\": \"x\"}}", ["error wrong_type env.A 1:15"]],
      ["{\"providers\": {\"p\": {\"protocol\": \"grpc\", \"base_url\": 3}}}", [
        "error invalid_value providers.p.protocol 1:34",
        "error wrong_type providers.p.base_url 1:54"
      ]],
      ["{\"providers\": {\"p\": {\"models\": {\"m\": {\"price\": {\"input\": 1}}}}}}", [
        "error invalid_value providers.p.models.m.price.output 1:48"
      ]],
      ["{\"providers\": {\"p\": {\"baseUrl\": \"http://x\", \"apiKeyEnv\": \"K\"}}}", []],
      ["{\"hooks\": {}}", ["error wrong_type hooks 1:11"]],
      ["{\"hooks\": [1, null]}", ["error wrong_type hooks.0 1:12", "error wrong_type hooks.1 1:15"]],
      ["{\"mcp_servers\": {\"a\": []}}", ["error wrong_type mcp_servers.a 1:23"]],
      ["{\"lsp\": {\"servers\": {\"a\": {\"settings\": {\"b\": {\"c\": 1, \"c\": 2}}}}}}", [
        "warning duplicate_key lsp.servers.a.settings.b.c 1:55"
      ]],
      ["{\"permissions\": {\"read\": \"ALLOW\"}}", ["error invalid_value permissions.read 1:26"]],
      ["{\"permissions\": {\"read\": \"ask\"}}", ["error invalid_value permissions.read 1:26"]],
      ["{\"permissions\": {\"read\": null}}", ["error wrong_type permissions.read 1:26"]],
      ["{\"permissions\": {\"read\": true}}", ["error wrong_type permissions.read 1:26"]],
      ["{\"permissions\": \"allow\"}", ["error wrong_type permissions 1:17"]],
      ["{\"permissions\": [{\"tool_pattern\": \"a\"}]}", ["error invalid_value permissions.0.mode 1:18"]],
      ["{\"permissions\": [{\"mode\": \"deny\"}]}", ["error invalid_value permissions.0.tool_pattern 1:18"]],
      ["{\"permissions\": [{\"toolPattern\": \"read\", \"mode\": \"deny\"}]}", []],
      ["{\"permissions\": [{\"tool_pattern\": 1, \"mode\": \"deny\", \"x\": 1}]}", [
        "error wrong_type permissions.0.tool_pattern 1:35",
        "warning unknown_key permissions.0.x 1:54"
      ]],
      ["{\"permissions\": [\"read\"]}", ["error wrong_type permissions.0 1:18"]],
      ["[1]", ["error not_an_object null 1:1"]],
      ["{\"model\": }", ["error bad_json null 1:11"]]
    ]
    for (const [text, expected] of table) assert.deepEqual(issues(text), expected, text)
  })

  it("all of them are reported, and what is right still counts", () => {
    const text = "{\"model\": \"m\", \"max_tokens\": \"x\", \"theme\": 1, \"input_mode\": \"vim\"}"
    assert.deepEqual(issues(text), ["error wrong_type max_tokens 1:30", "error wrong_type theme 1:44"])
    const { config } = settle(text)
    assert.deepEqual([config.model, config.max_tokens, config.theme, config.input_mode], ["m", null, "auto", "vim"])
  })

  it("no message and no frame carries a value", () => {
    const text =
      "{\"api_key\": {\"x\": \"sk-1\"}, \"input_mode\": \"sk-2\", \"env\": {\"T\": [\"sk-3\"]}, \"x\": \"sk-4\"}"
    const found = user(text).issues
    assert.strictEqual(found.length, 4)
    assert.notInclude(JSON.stringify(found), "sk-")
  })

  it("4.7 sensitive keys of a checkout are ignored with a warning, and its non-object is one too", () => {
    const project = Tiers.fromText("project", "/p/.hanzo/settings.json", "{\"apiKey\": \"sk-1\", \"model\": \"m\"}")
    assert.deepEqual(project.issues.map(({ code, key, severity }) => [severity, code, key]), [
      ["warning", "sensitive_ignored", "api_key"]
    ])
    assert.deepEqual([...project.values.keys()], ["model"])
    assert.notInclude(JSON.stringify([...project.values]), "sk-1")
    assert.deepEqual(Tiers.fromText("local", "/f", "[]").issues.map((issue) => [issue.severity, issue.code]), [
      ["warning", "not_an_object"]
    ])
  })
})

describe("7.1, 7.2 rules", () => {
  it("a map keeps the order of the file, integer-like keys and __proto__ too", () => {
    const text =
      "{\"permissions\": {\"z*\": \"deny\", \"10\": \"allow\", \"__proto__\": \"prompt\", \"2\": \"deny\", \"\": \"allow\"}}"
    assert.deepEqual(bare(settle(text).rules), [
      { tool_pattern: "z*", mode: "deny", tier: "user" },
      { tool_pattern: "10", mode: "allow", tier: "user" },
      { tool_pattern: "__proto__", mode: "prompt", tier: "user" },
      { tool_pattern: "2", mode: "deny", tier: "user" },
      { tool_pattern: "", mode: "allow", tier: "user" }
    ])
  })

  it("7.4 flags come first (all --deny, then all --allow), then local, project, user", () => {
    const of = (tier: "user" | "project" | "local", pattern: string) =>
      Tiers.fromText(tier, "/f", `{"permissions": {"${pattern}": "allow"}}`)
    const flags = Tiers.fromFlags({ allow: ["a1", "a2"], deny: ["d1", "d2"] })
    const { config, rules } = merge([of("user", "u"), flags, of("project", "p"), Tiers.defaults, of("local", "l")])
    assert.deepEqual(rules.map(({ mode, tier, tool_pattern }) => `${tier} ${mode} ${tool_pattern}`), [
      "flag deny d1",
      "flag deny d2",
      "flag allow a1",
      "flag allow a2",
      "local allow l",
      "project allow p",
      "user allow u"
    ])
    assert.deepEqual(config.permissions[0], { tool_pattern: "d1", mode: "deny" })
  })
})

/** Every text that is no error as a pattern. */
const anyPattern = FastCheck.string().filter((text) => patternProblem(text)?.severity !== "error")

describe("4.3 merge", () => {
  const tiers = (user: string, project: string) =>
    merge([
      Tiers.defaults,
      Tiers.fromText("user", "/u", user),
      Tiers.fromText("project", "/p", project)
    ])

  it("objects merge, arrays and scalars are replaced, null lets the lower tier show", () => {
    const { config, sources } = tiers(
      "{\"env\": {\"A\": \"1\", \"B\": \"2\"}, \"model\": \"u\", \"theme\": \"t\", \"sandbox\": {\"allowed_paths\": [\"a\"], \"mode\": \"off\"}}",
      "{\"env\": {\"B\": \"3\", \"C\": \"\"}, \"model\": null, \"theme\": \"\", \"sandbox\": {\"allowed_paths\": [], \"mode\": null}}"
    )
    assert.deepEqual({ ...config.env }, { A: "1", B: "3", C: "" })
    assert.strictEqual(config.model, "u")
    assert.strictEqual(config.theme, "")
    assert.deepEqual({ ...config.sandbox }, { allowed_paths: [], mode: "off" })
    assert.deepEqual(sources.get("env.B"), [
      { tier: "project", file: "/p", line: 1, value: "3" },
      { tier: "user", file: "/u", line: 1, value: "2" }
    ])
  })

  it("D7 hooks add up", () => {
    const hook = (command: string) => `{"hooks": [{"event": "stop", "command": "${command}"}]}`
    const { config, origins } = tiers(hook("u"), hook("p"))
    assert.deepEqual(config.hooks.map((hook) => hook["command"]), ["u", "p"])
    assert.deepEqual([origins.get("hooks.0"), origins.get("hooks.1")], ["user", "project"])
  })

  it("4.8, D6 a definition replaces a lower one as a unit; overlay keys of all tiers stay", () => {
    const { config } = tiers(
      "{\"mcp_servers\": {\"a\": {\"command\": \"x\", \"env\": {\"T\": \"secret\"}, \"disabled\": true}}, \"providers\": {\"p\": {\"base_url\": \"u\", \"api_key\": \"k\"}}}",
      "{\"mcp_servers\": {\"a\": {\"command\": \"y\"}}, \"providers\": {\"p\": {\"base_url\": \"evil\"}}}"
    )
    assert.deepEqual(JSON.parse(JSON.stringify(config.mcp_servers)), { a: { disabled: true, command: "y" } })
    assert.deepEqual(JSON.parse(JSON.stringify(config.providers)), { p: { base_url: "evil" } })
    const overlay = tiers(
      "{\"mcp_servers\": {\"a\": {\"command\": \"x\"}}}",
      "{\"mcp_servers\": {\"a\": {\"disabled\": true}}}"
    )
    assert.deepEqual(JSON.parse(JSON.stringify(overlay.config.mcp_servers)), { a: { command: "x", disabled: true } })
  })

  it("the environment lies over a provider field by field", () => {
    const { config, origins } = merge([
      Tiers.defaults,
      user("{\"providers\": {\"hanzo\": {\"base_url\": \"u\", \"headers\": {\"h\": \"v\"}}}}"),
      Tiers.fromEnvironment({ vars: new Map([["HANZO_BASE_URL", "http://e"], ["HANZO_MODEL", ""]]) })
    ])
    assert.deepEqual(JSON.parse(JSON.stringify(config.providers)), {
      hanzo: { base_url: "http://e", headers: { h: "v" } }
    })
    assert.strictEqual(origins.get("providers.hanzo.base_url"), "env")
    assert.strictEqual(origins.get("model"), "default")
  })

  const settings = FastCheck.record({
    model: FastCheck.option(FastCheck.string()),
    env: FastCheck.dictionary(FastCheck.string(), FastCheck.string(), { maxKeys: 4 }),
    auth: FastCheck.dictionary(FastCheck.string(), FastCheck.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }),
    permissions: FastCheck.dictionary(anyPattern, FastCheck.constantFrom("allow", "deny", "prompt"), {
      maxKeys: 4
    })
  }, { requiredKeys: [] }).map((value) => JSON.stringify(value))

  it.prop("every value has its origin, whatever is asked first", [settings, settings], ([a, b]) => {
    const tiers = () => [Tiers.defaults, user(a), Tiers.fromText("local", "/l", b)]
    const asked = merge(tiers())
    for (const [key, tier] of merge(tiers()).origins) {
      assert.strictEqual(asked.origins.get(key), tier, key)
      assert.strictEqual(merge(tiers()).origins.get(key), tier, key)
      const [first] = asked.sources.get(key) ?? []
      assert.strictEqual(first?.tier, tier, key)
      const value: unknown = Reflect.get(asked.config, key)
      if (key in asked.config && (typeof value !== "object" || value === null)) assert.strictEqual(first?.value, value)
    }
    assert.isTrue(["model", "theme", "api_key"].every((key) => asked.origins.has(key)))
    assert.isFalse(asked.origins.has("no such key"))
  })

  it.prop("an empty tier changes nothing, in any place", [settings, settings], ([a, b]) => {
    const of = (tier: "user" | "project", text: string) => Tiers.fromText(tier, "/f", text)
    const without = merge([Tiers.defaults, of("user", a), of("project", b)])
    const withEmpty = merge([
      Tiers.fromText("local", "/l", "// nothing"),
      of("project", b),
      Tiers.fromFlags({}),
      of("user", a),
      Tiers.fromEnvironment({ vars: new Map() }),
      Tiers.defaults
    ])
    assert.deepEqual(read(withEmpty), read(without))
  })

  it.prop("every accepted tier merges to a valid configuration", [settings], ([text]) => {
    assert.deepEqual(user(text).issues.filter((issue) => issue.severity === "error"), [])
    const { config } = settle(text)
    assert.isTrue(Schema.is(HanzoConfig)(config))
  })

  it.prop("any JSON value never crashes and never makes an invalid configuration", [
    FastCheck.json({ maxDepth: 4 }),
    FastCheck.constantFrom("permissions", "hooks", "providers", "mcp_servers", "env", "max_tokens", "model", "sandbox")
  ], ([json, key]) => {
    assert.isTrue(Schema.is(HanzoConfig)(settle(`{"${key}": ${json}}`).config))
    settle(json)
  })
})

describe("4.3 the merge as an operation on tiers", () => {
  const name = FastCheck.constantFrom("a", "b", "c.d", "__proto__")
  const maybe = <A>(arbitrary: FastCheck.Arbitrary<A>) => FastCheck.option(arbitrary)
  const server = FastCheck.oneof(
    FastCheck.record({
      command: FastCheck.constantFrom("x", "y"),
      env: FastCheck.dictionary(name, FastCheck.string(), { maxKeys: 2 }),
      disabled: maybe(FastCheck.boolean()),
      call_timeout_ms: FastCheck.constantFrom(1, 2)
    }, { requiredKeys: ["command"] }),
    FastCheck.record({
      disabled: maybe(FastCheck.boolean()),
      call_timeout_ms: FastCheck.constantFrom(1, 2),
      include_tools: FastCheck.array(FastCheck.string(), { maxLength: 2 })
    }, { requiredKeys: [] })
  )
  const hook = FastCheck.constantFrom("h1", "h2", "h3").map((command) => ({ event: "stop", command }))
  const settings = FastCheck.record({
    model: maybe(FastCheck.constantFrom("m", "n", "")),
    reserve_recent: maybe(FastCheck.nat(9)),
    env: maybe(FastCheck.dictionary(name, maybe(FastCheck.string()), { maxKeys: 3 })),
    sandbox: FastCheck.record({
      mode: maybe(FastCheck.constantFrom("off", "workspace")),
      allowed_paths: FastCheck.array(FastCheck.constantFrom("a", "b"), { maxLength: 2 }),
      network: FastCheck.oneof(FastCheck.constantFrom("on", "off"), FastCheck.constant({ allow: ["x"] }))
    }, { requiredKeys: [] }),
    mcp_servers: FastCheck.dictionary(name, server, { maxKeys: 3 }),
    providers: FastCheck.dictionary(
      name,
      FastCheck.record({
        base_url: FastCheck.constantFrom("http://a", "http://b"),
        headers: FastCheck.dictionary(name, FastCheck.string(), { maxKeys: 2 }),
        connect_ms: FastCheck.nat(3)
      }, { requiredKeys: [] }),
      { maxKeys: 2 }
    ),
    hooks: FastCheck.array(hook, { maxLength: 2 }),
    permissions: FastCheck.array(
      FastCheck.record({
        tool_pattern: FastCheck.constantFrom("read", "bash(x)", "__proto__"),
        mode: FastCheck.constantFrom("allow", "deny", "prompt")
      }),
      { maxLength: 3 }
    )
  }, { requiredKeys: [] }).map((value) => JSON.stringify(value))

  /** Two tiers as one: their merge, written out again. */
  const together = (low: string, high: string): string =>
    JSON.stringify(
      merge([Tiers.fromText("user", "/u", low), Tiers.fromText("project", "/p", high)]).config
    )
  const shown = (of: string): unknown => {
    const { config, rules } = merge([Tiers.defaults, Tiers.fromText("user", "/u", of)])
    return { config: JSON.parse(JSON.stringify(config)), rules: bare(rules) }
  }

  it.prop("is associative", [settings, settings, settings], ([a, b, c]) => {
    assert.deepEqual(shown(together(together(a, b), c)), shown(together(a, together(b, c))))
  }, { fastCheck: { numRuns: 300 } })

  it.prop("and three tiers at once are the same", [settings, settings, settings], ([a, b, c]) => {
    const { config } = merge([
      Tiers.defaults,
      Tiers.fromText("user", "/u", a),
      Tiers.fromText("project", "/p", b),
      Tiers.fromText("local", "/l", c)
    ])
    const folded = shown(together(together(a, b), c)) as { readonly config: unknown }
    assert.deepEqual(JSON.parse(JSON.stringify(config)), folded.config)
  })

  it.prop("the empty tier is its identity", [settings], ([a]) => {
    assert.deepEqual(shown(together(a, "{}")), shown(a))
    assert.deepEqual(shown(together("{}", a)), shown(a))
  })
})

describe("4.6 many complaints", () => {
  it("1,000 are told one by one, the others counted; a server among those does not run", () => {
    const servers = Array.from({ length: 1_500 }, (_, i) => [`s${i}`, { command: "x", env: i === 3 ? {} : { A: i } }])
    const unknown = Array.from({ length: 1_007 }, (_, i) => [`unknown${i}`, 1])
    const tier = Tiers.fromText(
      "user",
      "/u",
      JSON.stringify({ mcp_servers: Object.fromEntries(servers), ...Object.fromEntries(unknown) })
    )
    const { errors, mcp_servers, warnings } = settleAll([Tiers.defaults, tier], waiting([tier]), true)
    assert.lengthOf(errors, 1_001)
    assert.deepInclude(errors.find(({ code }) => code === "too_many_issues"), {
      tier: "user",
      file: "/u",
      message: "499 more errors of these settings are not listed"
    })
    assert.lengthOf(warnings, 1_001)
    assert.include(warnings.map(({ message }) => message), "7 more warnings of these settings are not listed")
    assert.deepStrictEqual(mcp_servers, ["s3"])
  })
})

describe("4.1, 4.4 files", () => {
  it.effect("a missing, empty or comment-only file is absent", () =>
    withHome((root, fs) =>
      Effect.gen(function*() {
        for (const text of [null, "", "// nothing\n"]) {
          if (text !== null) {
            yield* fs.makeDirectory(`${root}/config`, { recursive: true })
            yield* fs.writeFileString(`${root}/config/settings.json`, text)
          }
          const { config, errors, origins, warnings } = yield* loadIn(root)
          assert.deepEqual([errors, warnings, origins.get("model")], [[], [], "default"])
          assert.strictEqual(config.input_mode, "default")
        }
      })
    ))

  it.effect("a directory, an oversized file and a file that is not UTF-8 are errors that name it", () =>
    withHome((root, fs) =>
      Effect.gen(function*() {
        const file = `${root}/config/settings.json`
        yield* fs.makeDirectory(file, { recursive: true })
        assert.deepEqual((yield* loadIn(root)).errors.map(({ code, file }) => [code, file]), [["unreadable", file]])
        yield* fs.remove(file, { recursive: true })
        yield* fs.writeFileString(file, " ".repeat(4 * 1024 * 1024 + 1))
        assert.deepEqual((yield* loadIn(root)).errors.map(({ code, file }) => [code, file]), [["too_large", file]])
        yield* fs.writeFile(file, Uint8Array.of(0x7b, 0xff, 0x7d))
        assert.deepEqual((yield* loadIn(root)).errors.map(({ code, file }) => [code, file]), [["not_utf8", file]])
      })
    ))

  it.effect("environment lies over the file, flags over the environment; empty variables are unset", () =>
    withHome((root, fs) =>
      Effect.gen(function*() {
        yield* fs.makeDirectory(`${root}/config`)
        yield* fs.writeFileString(`${root}/config/settings.json`, "{\"model\": \"file\", \"api_key\": \"sk-file\"}")
        const plain = yield* loadIn(root, { HANZO_MODEL: "", HANZO_API_KEY: "" })
        assert.deepEqual([plain.config.model, plain.config.api_key], ["file", "sk-file"])
        const env = yield* loadIn(root, { HANZO_MODEL: "env", HANZO_API_KEY: "sk-env" })
        assert.deepEqual([env.config.model, env.config.api_key], ["env", "sk-env"])
        const flag = yield* loadIn(root, { HANZO_MODEL: "env" }, { settings: { model: "flag" }, deny: ["bash"] })
        assert.deepEqual([flag.config.model, flag.origins.get("model")], ["flag", "flag"])
        assert.deepEqual(flag.sources.get("model")?.map(({ tier, value }) => [tier, value]), [
          ["flag", "flag"],
          ["env", "env"],
          ["user", "file"],
          ["default", "claude-sonnet-4-20250514"]
        ])
        assert.deepEqual(flag.rules, [{ tool_pattern: "bash", mode: "deny", tier: "flag" }])
      })
    ))

  it.effect("the old place is read with a notice while the new file is missing", () =>
    withHome((root, fs) =>
      Effect.gen(function*() {
        yield* fs.makeDirectory(`${root}/home/.hanzo`, { recursive: true })
        yield* fs.writeFileString(`${root}/home/.hanzo/settings.json`, "{\"model\": \"old\"}")
        const old = yield* loadIn(root)
        assert.strictEqual(old.config.model, "old")
        assert.deepEqual(old.warnings.map((warning) => warning.code), ["legacy_file"])
        yield* fs.makeDirectory(`${root}/config`)
        yield* fs.writeFileString(`${root}/config/settings.json`, "{\"model\": \"new\"}")
        const current = yield* loadIn(root)
        assert.deepEqual([current.config.model, current.warnings], ["new", []])
      })
    ))
})
