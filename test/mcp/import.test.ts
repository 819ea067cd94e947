import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Tiers from "../../src/config/Tiers.ts"
import {
  matchesTemplate,
  mentions,
  mistypedMentions,
  promptArguments,
  promptCommand,
  words
} from "../../src/mcp/Arguments.ts"
import { define, expand } from "../../src/mcp/Definition.ts"
import { read } from "../../src/mcp/Import.ts"
import { McpError } from "../../src/mcp/McpError.ts"

const servers = (source: unknown, root = "/project") => {
  const found = read(typeof source === "string" ? source : JSON.stringify(source), root)
  return "problem" in found ? found : { ...found, servers: Object.fromEntries(found.servers) }
}

describe("servers from other clients' files", () => {
  const cases: ReadonlyArray<readonly [string, unknown, Record<string, object>]> = [
    [
      ".mcp.json",
      {
        mcpServers: {
          a: { command: "npx", args: ["-y", "x"], env: { K: "${K:-v}" } },
          b: { type: "http", url: "https://x/mcp", headers: { A: "b" } }
        }
      },
      {
        a: { command: "npx", args: ["-y", "x"], env: { K: "${K:-v}" } },
        b: { url: "https://x/mcp", headers: { A: "b" } }
      }
    ],
    ["claude.json of a project", {
      projects: {
        "/project": { mcpServers: { p: { command: "p" } } },
        "/other": { mcpServers: { o: { command: "o" } } }
      }
    }, { p: { command: "p" } }],
    ["comments and a comma", "{ // here\n \"mcpServers\": { \"a\": { \"command\": \"x\", }, } }", {
      a: { command: "x" }
    }],
    ["an editor's mcp.json", { servers: { a: { type: "stdio", command: "x", env: { T: "${env:TOKEN}" } } } }, {
      a: { command: "x", env: { T: "${TOKEN}" } }
    }],
    ["an editor's settings.json", { mcp: { servers: { a: { type: "sse", url: "https://x/sse" } } }, other: 1 }, {
      a: { type: "sse", url: "https://x/sse" }
    }],
    ["opencode", { mcp: { a: { type: "local", command: ["bun", "x"], environment: { A: "1" }, enabled: false } } }, {
      a: { command: ["bun", "x"], env: { A: "1" }, disabled: true }
    }],
    ["Zed", { context_servers: { a: { command: { path: "x", args: ["y"], env: { A: "1" } } } } }, {
      a: { command: "x", args: ["y"], env: { A: "1" } }
    }],
    [
      "Codex",
      [
        "model = \"o3\"",
        "[mcp_servers.docs]",
        "command = \"npx\"",
        "args = [\"-y\", \"docs\"] # all of it",
        "env_vars = [\"TOKEN\"]",
        "startup_timeout_sec = 20",
        "tool_timeout_sec = 1.5",
        "enabled_tools = [\"a\", \"b\"]",
        "[mcp_servers.docs.env]",
        "LEVEL = \"info\"",
        "[mcp_servers.\"the web\"]",
        "url = \"https://x/mcp\"",
        "bearer_token_env_var = \"WEB_TOKEN\"",
        "http_headers = { A = \"b\" }",
        "env_http_headers = { C = \"D\" }",
        "enabled = false",
        ""
      ].join("\n"),
      {
        docs: {
          command: "npx",
          args: ["-y", "docs"],
          env: { TOKEN: "${TOKEN:-}", LEVEL: "info" },
          connect_timeout_ms: 20_000,
          call_timeout_ms: 1_500,
          include_tools: ["a", "b"]
        },
        "the web": {
          url: "https://x/mcp",
          headers: { A: "b", C: "${D}", Authorization: "Bearer ${WEB_TOKEN}" },
          disabled: true
        }
      }
    ],
    ["Gemini", { mcpServers: { a: { httpUrl: "https://x/mcp" } } }, { a: { url: "https://x/mcp" } }]
  ]
  for (const [name, source, expected] of cases) {
    it(name, () => {
      const found = servers(source)
      assert.deepStrictEqual("servers" in found ? JSON.parse(JSON.stringify(found.servers)) : found, expected)
    })
  }

  it("what cannot be taken over is named", () => {
    const found = servers({
      mcpServers: { a: { command: "x", timeout: 5 }, b: {}, c: { command: "x", env: { K: "${input:key}" } } }
    })
    assert.deepStrictEqual("left_out" in found ? found.left_out.map((each) => each.split(":")[0]) : found, [
      "a",
      "b",
      "c"
    ])
    assert.include(JSON.stringify(servers("[mcp_servers.a]\ncommand = x")), "this is no TOML: line 2")
    assert.include(JSON.stringify(servers("{\n\"a\" = 1}")), "this is no JSON")
    assert.property(servers("{}"), "problem")
    assert.property(servers("{"), "problem")
    assert.match(JSON.stringify(servers("{\n\"mcpServers\": {\n\"a\": {\"command\": x}\n}}")), /no JSON: line 3: /)
    assert.deepInclude(servers({ mcpServers: { a: { command: "x" }, b: 5, c: null } }), {
      left_out: ["b: it is no definition", "c: it is no definition"]
    })
    assert.deepInclude(servers({ mcpServers: { a: { command: "x" }, b: { url: " " }, c: { url: "ftp://x/" } } }), {
      left_out: ["b: its address is no http or https address", "c: its address is no http or https address"]
    })
  })

  it.prop("whatever the file is, nothing that is taken over is refused by the settings", [
    FastCheck.jsonValue(),
    FastCheck.dictionary(
      FastCheck.string({ minLength: 1 }),
      FastCheck.record({
        command: FastCheck.oneof(FastCheck.string(), FastCheck.array(FastCheck.string()), FastCheck.jsonValue()),
        args: FastCheck.jsonValue(),
        env: FastCheck.jsonValue(),
        url: FastCheck.oneof(FastCheck.webUrl(), FastCheck.jsonValue()),
        env_vars: FastCheck.jsonValue(),
        http_headers: FastCheck.jsonValue(),
        env_http_headers: FastCheck.jsonValue(),
        bearer_token_env_var: FastCheck.jsonValue(),
        startup_timeout_sec: FastCheck.jsonValue(),
        tool_timeout_sec: FastCheck.jsonValue(),
        enabled_tools: FastCheck.jsonValue()
      }, { requiredKeys: [] })
    )
  ], ([anything, named]) => {
    for (const source of [anything, { mcpServers: named }, { mcp: named }, { servers: anything }]) {
      const found = read(JSON.stringify(source), "/project")
      if ("problem" in found) continue
      const text = JSON.stringify({ mcp_servers: Object.fromEntries(found.servers) })
      const errors = Tiers.fromText("user", "settings.json", text).issues.filter(({ severity }) => severity === "error")
      assert.deepStrictEqual(errors, [], text)
    }
  })
})

describe("what a person types", () => {
  it("1.14 prompt commands and their arguments", () => {
    assert.deepStrictEqual(promptCommand("/mcp__a__b one two"), { name: "mcp__a__b", rest: "one two" })
    assert.deepStrictEqual(promptCommand("  /mcp__a__b\n more\nlines "), { name: "mcp__a__b", rest: "more\nlines" })
    for (const text of ["/mcp", "/mcp restart", "say /mcp__a__b", "/mcp__a.b", "mcp__a__b"]) {
      assert.isNull(promptCommand(text))
    }
    assert.deepStrictEqual(words(`a "b c" 'd "e' f\\ g "" it's`), ["a", "b c", "d \"e", "f g", "", "it's"])
    const prompt = { arguments: [{ name: "city", required: true }, { name: "state", required: false }] }
    assert.deepStrictEqual(promptArguments(prompt, "Paris"), { ok: { city: "Paris" } })
    assert.deepStrictEqual(promptArguments(prompt, "state=Texas Paris"), { ok: { city: "Paris", state: "Texas" } })
    assert.deepStrictEqual(promptArguments(prompt, "Paris in Texas"), { ok: { city: "Paris", state: "in Texas" } })
    assert.deepStrictEqual(promptArguments(prompt, "other=1"), { ok: { city: "other=1" } })
    assert.property(promptArguments(prompt, ""), "why")
    assert.property(promptArguments({ arguments: [] }, "x"), "why")
  })

  it("1.14 mentions of resources", () => {
    const found = (text: string) => mentions(text, ["a", "a b", "files"]).map(({ server, uri }) => `${server} ${uri}`)
    assert.deepStrictEqual(found("see @files:file:///x/y.md, and (@a:z://1)."), ["files file:///x/y.md", "a z://1"])
    assert.deepStrictEqual(found("@a b:x://y @a:x://y @a:x://y"), ["a b x://y", "a x://y"])
    assert.deepStrictEqual(found("me@files:x @other:y @files: @a"), [])
  })

  it("1.14 mentions of a server that nearly has the name", () => {
    const found = (text: string) =>
      mistypedMentions(text, ["files", "docs", "a b"]).map(({ mention, server }) => `${mention} -> ${server}`)
    assert.deepStrictEqual(found("see @fils:file:///a.md, (@Doc:docs://x) and @fils:file:///a.md."), [
      "@fils:file:///a.md -> files",
      "@Doc:docs://x -> docs"
    ])
    for (
      const text of [
        "@files:file:///a",
        "@files:",
        "me@fils:file:///a",
        "@fils: file:///a",
        "@fils:12",
        "@other:x://y",
        "@a b:x:y",
        "@"
      ]
    ) {
      assert.deepStrictEqual(found(text), [], text)
    }
    assert.lengthOf(found(Array.from({ length: 50 }, (_, i) => `@fils:x://${i}`).join(" ")), 20)
  })

  it.prop("mentions are found wherever they stand, and nothing else is", [
    FastCheck.fullUnicodeString(),
    FastCheck.webUrl()
  ], ([around, uri]) => {
    const clean = around.replaceAll("@", "")
    const exact = uri.replace(/[.,;:!?)\]}'"`<>]+$/, "").replaceAll(/["'`<>\s]/g, "")
    assert.deepStrictEqual(mentions(`${clean} @s:${exact} ${clean}`, ["s"]), [{ server: "s", uri: exact }])
    assert.deepStrictEqual(mentions(clean, ["s"]), [])
  })

  it("1.14 addresses of templates", () => {
    assert.isTrue(matchesTemplate("demo://text/{id}", "demo://text/1"))
    assert.isTrue(matchesTemplate("file:///{+path}", "file:///a/b"))
    assert.isTrue(matchesTemplate("db://{table}/rows/{id}", "db://t/rows/5"))
    assert.isFalse(matchesTemplate("db://{table}/rows/{id}", "db://t/cols/5"))
    assert.isFalse(matchesTemplate("demo://text/{id}", "demo://blob/1"))
  })
})

describe("definitions", () => {
  const context = {
    root: "/project",
    variable: (name: string) => ({ A: "a", EMPTY: "" })[name],
    join: (root: string, path: string) => `${root}/${path}`
  }
  const reason = (config: object) => {
    try {
      define("s", config, context)
      return "none"
    } catch (error) {
      return error instanceof McpError ? error.message : String(error)
    }
  }

  it("1.1 variables, argv, directories", () => {
    const { way } = define("s", {
      command: ["node", "x y"],
      args: ["${A}", "${EMPTY:-b}", "${MISSING:-}", "$A", "${A}${A}"],
      env: { X: "${A}!" },
      cwd: "sub"
    }, context)
    assert.deepStrictEqual(way, {
      kind: "stdio",
      argv: ["node", "x y", "a", "b", "", "$A", "aa"],
      env: { X: "a!" },
      cwd: "/project/sub",
      sandbox: false
    })
    assert.deepInclude(define("s", { command: "a program with blanks" }, context).way, {
      argv: ["a program with blanks"],
      cwd: "/project"
    })
    assert.include(reason({ command: "x", args: ["${MISSING}"] }), "MISSING")
    assert.include(reason({ command: "x", env: { K: "${EMPTY}" } }), "env.K")
    assert.include(reason({ url: "https://${MISSING}/" }), "MISSING")
    for (const config of [{}, { command: "x", url: "https://x" }, { url: "ftp://x" }, { url: "no address" }]) {
      assert.notStrictEqual(reason(config), "none")
    }
  })

  it.prop("1.1 text without references stays as it is", [FastCheck.fullUnicodeString()], ([text]) => {
    const plain = text.replaceAll("${", "$")
    assert.strictEqual(expand(plain, { server: "s", key: "args" }, () => "x"), plain)
  })
})
