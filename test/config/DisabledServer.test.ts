import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { waiting } from "../../src/config/Definitions.ts"
import { endOfDisabled } from "../../src/config/DisabledServer.ts"
import * as Document from "../../src/config/Document.ts"
import { settle } from "../../src/config/Load.ts"
import { set } from "../../src/config/Edit.ts"
import * as Tiers from "../../src/config/Tiers.ts"
import { DisabledServer } from "../../src/config/TreeReader.ts"

const recognised = (text: string): boolean => {
  const end = endOfDisabled(`[${text}, 1]`, 1)
  assert.include([-1, text.length + 1], end, text)
  return end !== -1
}

describe("a disabled server, told by a look at its text", () => {
  it.each([
    `{"command":"a","disabled":true}`,
    `{"command":["a"],"disabled":true}`,
    `{"type":"stdio","command":["a","b"],"args":[],"env":{},"cwd":"/x","required":false,"disabled":true}`,
    `{ "command" : "a" ,\r\n\t"args" : [ "\${A}" , "{}" , "[]" ] ,"env" : { "A" : "1" , "B" : "\${C:-}" } , "disabled" : true }`,
    `{"command":"a","env":{"disabled":"true","command":"x"},"disabled":true}`,
    `{"url":"http://127.0.0.1:8080/mcp","disabled":true}`,
    `{"type":"http","url":"https://mcp.example.com/v1/mcp","headers":{"Authorization":"Bearer \${T}"},"disabled":true}`
  ])("is recognised: %s", (text) => {
    assert.isTrue(recognised(text))
  })

  it("is recognised as mcp add and mcp disable write it", () => {
    const definitions = [
      { command: "npx", args: ["-y", "x"], env: { A: "1" }, cwd: "/tmp" },
      { type: "http", url: "https://a.example/mcp", headers: { Authorization: "Bearer ${T}" } }
    ]
    for (const definition of definitions) {
      const added = set("", ["mcp_servers", "a"], definition)
      const off = "problem" in added ? added : set(added.text, ["mcp_servers", "a", "disabled"], true)
      assert.isTrue(
        "text" in off && recognised(off.text.slice(off.text.indexOf("{", 25), off.text.lastIndexOf("}\n  }") + 1))
      )
    }
  })

  it.each([
    ["not disabled", `{"command":"a","disabled":false}`],
    ["not said", `{"command":"a"}`],
    ["an overlay", `{"disabled":true}`],
    ["both kinds", `{"command":"a","url":"http://a/","disabled":true}`],
    ["an empty command", `{"command":"","disabled":true}`],
    ["an empty list", `{"command":[],"disabled":true}`],
    ["an empty directory", `{"command":"a","cwd":"","disabled":true}`],
    ["another type", `{"type":"http","command":"a","disabled":true}`],
    ["another order", `{"disabled":true,"command":"a"}`],
    ["a key twice", `{"command":"a","disabled":true,"disabled":true}`],
    ["a name twice", `{"command":"a","env":{"A":"1","B":"2","A":"3"},"disabled":true}`],
    ["a header twice", `{"url":"http://a/","headers":{"A":"1","A" : "2"},"disabled":true}`],
    ["a name twice, far apart", `{"command":"a","env":{"A":"1","}":"{","B":"2", "A" :"3"},"disabled":true}`],
    ["an escape", `{"command":"\\u0061","disabled":true}`],
    ["a line feed", `{"command":"a\n","disabled":true}`],
    ["a key that is not known", `{"command":"a","comand":"b","disabled":true}`],
    ["another spelling", `{"command":"a","Disabled":true}`],
    ["null", `{"command":"a","args":null,"disabled":true}`],
    ["a number", `{"command":"a","env":{"A":1},"disabled":true}`],
    ["a comma at the end", `{"command":"a","disabled":true,}`],
    ["a comma at the end of a list", `{"command":["a",],"disabled":true}`],
    ["a comma at the end of the variables", `{"command":"a","env":{"A":"1",},"disabled":true}`],
    ["a comment", `{"command":"a",/**/"disabled":true}`],
    ["a space that JSON does not know", `{"command":"a",\u00a0"disabled":true}`],
    ["no address", `{"url":"ftp://a/","disabled":true}`],
    ["headers of a program", `{"command":"a","headers":{},"disabled":true}`],
    ["what is too large for a look", `{"command":"${"a".repeat(1_024)}","disabled":true}`],
    [
      "more variables than anybody sets",
      `{"command":"a","env":{${Array.from({ length: 100_000 }, (_, i) => `"A${i}":"1"`).join(",")}},"disabled":true}`
    ]
  ])("is read as ever: %s", (_, text) => {
    assert.isFalse(recognised(text))
  })

  it("ends with its text, whatever stands behind", () => {
    const url = `{"url":"http://a/","disabled":true}`
    const command = `{"command":"a","disabled":true}`
    for (const [first, second] of [[url, command], [command, url], [command, `{"command":"b"}`]] as const) {
      assert.strictEqual(endOfDisabled(`${first},"x":${second}}`, 0), first.length)
    }
    for (let end = 0; end < command.length; end++) assert.strictEqual(endOfDisabled(command.slice(0, end), 0), -1)
  })
})

const blank = FastCheck.constantFrom("", "", "", " ", "\n  ", "\r\n\t")
const plainText = FastCheck.constantFrom(
  "\"a\"",
  "\"A\"",
  "\"/bin/x y\"",
  "\"${A}\"",
  "\"{\\\\}\"",
  "\"}],\"",
  "\"\u{1F600}\""
)
const anyText = FastCheck.oneof(
  { weight: 12, arbitrary: plainText },
  { weight: 1, arbitrary: FastCheck.constantFrom("\"\"", "\"\\u0041\"", "\"__proto__\"", "null", "1", "{}", "[]") }
)

const list = FastCheck.tuple(blank, FastCheck.array(anyText, { maxLength: 3 }), blank).map(([a, items, b]) =>
  `[${a}${items.join(`${b},${a}`)}${b}]`
)
const texts = FastCheck.tuple(
  blank,
  FastCheck.array(FastCheck.tuple(FastCheck.constantFrom("A", "B", "a", "}", "command", "__proto__"), anyText), {
    maxLength: 3
  }),
  blank
).map(([a, pairs, b]) => `{${a}${pairs.map(([name, value]) => `"${name}"${b}:${a}${value}`).join(`${b},${a}`)}${b}}`)

const address = FastCheck.oneof(
  FastCheck.constantFrom(
    "http://a",
    "https://a.b-c.example:8080/x/../y~",
    "http://127.0.0.1:1/",
    "ftp://a/",
    "http://"
  ),
  FastCheck.stringMatching(/^https?:\/\/[a-z0-9.-]{0,12}(?::[0-9]{1,5})?(?:\/[\w.~/-]{0,6})?$/)
).map((text) => JSON.stringify(text))

const flag = FastCheck.constantFrom("true", "true", "true", "false", "\"true\"")
const usual = (name: string, value: FastCheck.Arbitrary<string>, freq: number) =>
  FastCheck.option(value, { freq }).map((text) => text === null ? [] : [[name, text] as const])

const definition = FastCheck.oneof(
  FastCheck.tuple(
    usual("type", FastCheck.constantFrom("\"stdio\"", "\"stdio\"", "\"stdio\"", "\"http\""), 1),
    usual("command", FastCheck.oneof(anyText, list), 20),
    usual("args", list, 1),
    usual("env", texts, 2),
    usual("cwd", anyText, 1),
    usual("required", flag, 1),
    usual("disabled", flag, 12)
  ).map((parts) => parts.flat()),
  FastCheck.tuple(
    usual("type", FastCheck.constantFrom("\"http\"", "\"sse\"", "\"stdio\""), 1),
    usual("url", address, 20),
    usual("headers", texts, 2),
    usual("required", flag, 1),
    usual("disabled", flag, 12)
  ).map((parts) => parts.flat())
)

/** Mostly as they are written; some in another order, with a key twice, spelled in another way or not known. */
const parts = FastCheck.tuple(definition, FastCheck.nat({ max: 30 }), FastCheck.nat({ max: 6 })).map(
  ([usual, how, at]) => {
    const chosen = usual[at % Math.max(1, usual.length)]
    if (chosen === undefined) return usual
    const [name, value] = chosen
    return how === 0
      ? usual.toReversed()
      : how === 1
      ? [...usual, chosen]
      : how === 2
      ? usual.map((each) =>
        each === chosen ? [`${name.charAt(0).toUpperCase()}${name.slice(1)}`, value] as const : each
      )
      : how === 3
      ? [...usual, ["connect_timeout_ms", "5"] as const]
      : usual
  }
)

/** Stands behind the opening brace of every server; what it becomes has its length, so that all places stay the same. */
const gap = "@@@@"

const server = FastCheck.tuple(parts, blank, blank).map(([all, a, b]) =>
  `{${gap}${all.map(([name, value]) => `"${name}"${b}:${a}${value}`).join(`${b},${a}`)}${b}}`
)

const settings = FastCheck.tuple(
  FastCheck.array(FastCheck.tuple(FastCheck.constantFrom("a", "b", "c", "\\u0061", "__proto__"), server), {
    maxLength: 4
  }),
  FastCheck.constantFrom("mcp_servers", "mcp_servers", "mcpServers"),
  blank
).map(([servers, key, a]) =>
  `{"${key}":${a}{${servers.map(([name, text]) => `${a}"${name}":${a}${text}`).join(",")}${a}}}`
)

describe("settings with disabled servers", () => {
  let looked = 0

  it.prop("are the same as if each of them were read and checked", [settings, settings, settings], (files) => {
    const all = (instead: string) => {
      const tiers = [
        Tiers.defaults,
        ...(["user", "project", "local"] as const).map((tier, i) =>
          Tiers.fromText(tier, `/${tier}`, files[i]?.replaceAll(gap, instead) ?? "")
        ),
        Tiers.fromFlags({ settings: { mcp_servers: { b: { required: true } } } })
      ]
      const split = waiting(tiers)
      return [true, false].map((trusted) => {
        const { config, errors, origins, sources, units, warnings, ...rest } = settle(tiers, split, trusted)
        return {
          ...rest,
          issues: [...errors, ...warnings].map(({ frame: _frame, ...issue }) => issue),
          definitions: split.definitions,
          config: { ...config },
          origins: [...origins],
          sources: [...sources],
          units: [...units]
        }
      })
    }
    for (const file of files) {
      const { root } = Document.parse(file.replaceAll(gap, "    "))
      if (root?.type !== "object") continue
      for (const { value } of root.members) {
        if (value.type === "object") {
          looked += value.members.filter(({ value }) => value instanceof DisabledServer).length
        }
      }
    }
    assert.deepStrictEqual(all("    "), all("/**/"))
  }, { fastCheck: { numRuns: 2_000 } })

  it("which is seen in what was tried", () => {
    assert.isAbove(looked, 500)
  })

  it("none of 200 is read before somebody asks for it", () => {
    const servers = Array.from(
      { length: 200 },
      (_, i) => [`s${i}`, { command: ["x", `${i}`], env: { A: "1" }, disabled: true }]
    )
    const text = JSON.stringify({ mcp_servers: Object.fromEntries(servers) }, null, 2)
    const tiers = [Tiers.defaults, Tiers.fromText("user", "/u", text)]
    const { config, errors, mcp_servers, sources, warnings } = settle(tiers, waiting(tiers), true)
    assert.deepStrictEqual([mcp_servers, errors, warnings], [[], [], []])
    assert.isFunction(Object.getOwnPropertyDescriptor(config, "mcp_servers")?.get)
    assert.deepStrictEqual(config.mcp_servers, JSON.parse(text).mcp_servers)
    assert.strictEqual(config.mcp_servers, config.mcp_servers)
    assert.deepInclude(sources.get("mcp_servers.s1.disabled")?.[0], { tier: "user", file: "/u", line: 21, value: true })
  })
})
