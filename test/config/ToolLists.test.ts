/** What is warned of in an entry of `mcp_servers`: keys of the other kind of server, entries of lists that match no tool. */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { fnmatchcase } from "../../src/codec/Fnmatch.ts"
import * as Tiers from "../../src/config/Tiers.ts"
import { nameComplaint, patternComplaint } from "../../src/config/ToolLists.ts"

const issues = (server: string) =>
  Tiers.fromText("user", "/s.json", `{"mcp_servers": {"a": ${server}}}`).issues.map(
    ({ code, column, key, line, severity }) => `${severity} ${code} ${key} ${line}:${column}`
  )

const messages = (server: object): string =>
  Tiers.fromText("user", "/s.json", JSON.stringify({ mcp_servers: { a: server } })).issues
    .map(({ message }) => message).join("\n")

describe("4.5 keys of the other kind of server", () => {
  it("are warned of, with the place of the key", () => {
    const table: ReadonlyArray<readonly [server: string, expected: ReadonlyArray<string>]> = [
      ["{\"command\": \"x\", \"oauth\": {\"client_id\": \"y\"}}", ["warning unused_key mcp_servers.a.oauth 1:40"]],
      ["{\"command\": \"x\",\n\"headers\": {\"a\": \"b\"}}", ["warning unused_key mcp_servers.a.headers 2:1"]],
      ["{\"command\": \"x\", \"oauth\": {\"grant\": \"enterprise\"}}", ["warning unused_key mcp_servers.a.oauth 1:40"]],
      ["{\"url\": \"https://x/\", \"args\": [\"y\"], \"cwd\": \"z\"}", [
        "warning unused_key mcp_servers.a.args 1:45",
        "warning unused_key mcp_servers.a.cwd 1:60"
      ]],
      ["{\"url\": \"https://x/\", \"env\": {\"A\": \"b\"}, \"sandbox\": true}", [
        "warning unused_key mcp_servers.a.env 1:45",
        "warning unused_key mcp_servers.a.sandbox 1:64"
      ]],
      // nothing is lost where nothing was said
      ["{\"url\": \"https://x/\", \"args\": [], \"env\": {}, \"sandbox\": false, \"cwd\": null}", []],
      ["{\"command\": \"x\", \"headers\": {}, \"oauth\": null}", []],
      ["{\"command\": \"x\", \"args\": [\"y\"], \"env\": {\"A\": \"b\"}, \"cwd\": \"z\", \"sandbox\": true}", []],
      ["{\"url\": \"https://x/\", \"headers\": {\"a\": \"b\"}, \"oauth\": {\"client_id\": \"y\"}}", []]
    ]
    for (const [server, expected] of table) assert.deepStrictEqual(issues(server), expected, server)
  })

  it("are no second complaint where the kind itself is wrong", () => {
    assert.deepStrictEqual(issues("{\"command\": \"x\", \"url\": \"https://x/\", \"oauth\": {}, \"args\": [\"y\"]}"), [
      "error invalid_value mcp_servers.a 1:23"
    ])
    assert.deepStrictEqual(issues("{\"oauth\": {\"client_id\": \"y\"}}"), [
      "error invalid_value mcp_servers.a.oauth 1:33"
    ])
  })
})

describe("4.5 entries of lists of tools that match no tool", () => {
  it("are warned of, each with its place, in definitions and what lies over them", () => {
    const lists =
      "\"include_tools\": [\"ok\", \"[a\",\n\"\"], \"excludeTools\": [\" b\"], \"tool_names\": {\"c*\": \"d\", \"e\": \"f\"}"
    assert.deepStrictEqual(issues(`{"command": "x", ${lists}}`), [
      "warning tools_never_match mcp_servers.a.include_tools.1 1:64",
      "warning tools_never_match mcp_servers.a.include_tools.2 2:1",
      "warning tools_never_match mcp_servers.a.exclude_tools.0 2:23",
      "warning tools_never_match mcp_servers.a.tool_names 2:45"
    ])
    assert.strictEqual(issues(`{${lists}}`).filter((issue) => issue.includes("tools_never_match")).length, 4)
  })

  it("say why and what to write", () => {
    const table: ReadonlyArray<readonly [pattern: string, words: string]> = [
      ["", "write \"*\""],
      [" read", "a blank at its beginning"],
      ["read\n", "a blank at its end"],
      ["mcp__files__read_*", "write \"read_*\""],
      ["mcp__files__", "without mcp__SERVER__"],
      ["mcp__*", "without mcp__SERVER__"],
      ["[abc", "a [ has no ]"],
      ["a[]", "a [ has no ]"],
      ["read[z-a]", "runs backwards"],
      ["{read,write}_file", "an entry for each"],
      ["read,write", "an entry for each"],
      ["^read$", "\"^\" is a plain character"],
      ["read|write", "\"|\" is a plain character"],
      ["read\\_file", "\"\\\\\" is a plain character"],
      ["read(a)", "\"(\" is a plain character"]
    ]
    for (const [pattern, words] of table) {
      assert.include(patternComplaint(pattern) ?? "", words, pattern)
      for (const key of ["include_tools", "exclude_tools"]) {
        assert.include(messages({ command: "x", [key]: [pattern] }), words, pattern)
      }
    }
    assert.include(nameComplaint("mcp__a__b") ?? "", "write \"b\"")
    assert.include(nameComplaint("read_*") ?? "", "no globs")
    assert.include(nameComplaint("") ?? "", "empty name")
  })

  it("are nothing that a server may call its tools", () => {
    const name = FastCheck.stringMatching(/^[A-Za-z0-9_./ :@é-]{1,20}$/u)
      .filter((text) => text.trim() === text && !text.startsWith("mcp__"))
    FastCheck.assert(FastCheck.property(name, (text) => {
      assert.isNull(patternComplaint(text), text)
      assert.isNull(nameComplaint(text), text)
    }))
    for (const pattern of ["*", "read_*", "?", "[a-c]*", "[!a]", "[^a]b", "[]]", "[,]", "[{|}]x", "*.get", "a/b"]) {
      assert.isNull(patternComplaint(pattern), pattern)
    }
  })

  it("never hide a pattern that matches a name of the letters, digits and marks that names have", () => {
    const pattern = FastCheck.string({ unit: FastCheck.constantFrom(..."ab-_.[]!*?^,{}"), maxLength: 8 })
    const name = FastCheck.string({ unit: FastCheck.constantFrom(..."ab-_."), minLength: 1, maxLength: 4 })
    FastCheck.assert(
      FastCheck.property(pattern, FastCheck.array(name, { minLength: 20, maxLength: 20 }), (text, names) => {
        if (patternComplaint(text) === null) return
        for (const each of names) assert.isFalse(fnmatchcase(each, text), `${text} ${each}`)
      }),
      { numRuns: 2_000 }
    )
  })
})
