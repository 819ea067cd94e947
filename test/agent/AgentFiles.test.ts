/** Agents in files: what is read, what is refused, what waits for trust. */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { builtIns, changesNothing } from "../../src/agent/AgentDefinition.ts"
import { type Agents, collect } from "../../src/agent/AgentFiles.ts"
import { sha256Hex } from "../../src/codec/Sha256.ts"
import { parse } from "../../src/codec/FrontMatter.ts"
import { definitionOf, type ExtensionFile } from "../../src/config/Extensions.ts"
import type { TrustState } from "../../src/config/Load.ts"

const file = (name: string, text: string, tier: "user" | "project" = "user"): ExtensionFile => {
  const front = parse(text)
  const shown = tier === "user" ? `~/agents/${name}.md` : `.hanzo/agents/${name}.md`
  return {
    kind: "agent",
    tier,
    name,
    file: `/${shown}`,
    shown,
    content: "problem" in front ? front : { front, sha256: sha256Hex(text) }
  }
}

const trust = (status: TrustState["status"], definitions: ReadonlyArray<ExtensionFile> = []): TrustState => ({
  status,
  root: "/work",
  hash: "",
  definitions: definitions.flatMap((each) => definitionOf(each) ?? []),
  record: null
})

const all = (files: ReadonlyArray<ExtensionFile>, state = trust("nothing")): Agents => collect(files, { trust: state })

const only = (text: string) => {
  const { agents, problems } = all([file("x", text)])
  return { agent: agents[builtIns.length], problems }
}

describe("agents in files", () => {
  it("front matter is read, the body is the role", () => {
    const { agent, problems } = only(
      "---\nname: reviewer\ndescription: Reviews changes\ntools: [read, grep]\nmodel: a/b\npermission-mode: plan\n" +
        "max-turns: 7\nmax-cost-usd: 0.5\ncolor: red\n---\n\nYou review.\n"
    )
    assert.deepStrictEqual(problems, [])
    assert.deepStrictEqual(agent, {
      name: "reviewer",
      description: "Reviews changes",
      source: "user",
      file: "/~/agents/x.md",
      prefix: "You review.",
      access: [["read", "grep"]],
      model: "a/b",
      permission_mode: "plan",
      max_turns: 7,
      max_cost_usd: 0.5,
      chain: false
    })
  })

  it("a file without front matter is an agent with all tools of whoever starts it", () => {
    const { agent } = only("# Looks after things\n\nYou look.")
    assert.deepStrictEqual(
      [agent?.name, agent?.description, agent?.access, agent?.model, agent?.max_turns],
      ["x", "Looks after things", [], null, null]
    )
  })

  it("tools: names of other programs, globs, read-only, none", () => {
    const table: ReadonlyArray<readonly [string, unknown]> = [
      ["tools: Read, Edit, Bash", [["read", "edit", "apply_patch", "bash"]]],
      ["tools: [mcp__a__*, edit]", [["mcp__a__*", "edit"]]],
      ["tools: read-only", ["read_only"]],
      ["tools: read-only, r*", ["read_only", ["r*"]]],
      ["tools: none", ["none"]],
      ["tools: []", ["none"]],
      ["tools:", ["none"]]
    ]
    for (const [written, access] of table) {
      const { agent, problems } = only(`---\n${written}\n---\nYou are.`)
      assert.deepStrictEqual(agent?.access, access, `${written} ${problems.join()}`)
    }
  })

  it("what cannot be read as it was meant is left out, with file, line and remedy", () => {
    const table: ReadonlyArray<readonly [string, string, number]> = [
      ["---\nname: x\ntool: read\n---\nYou.", "there is no key tool; did you mean tools?", 3],
      ["---\ntools: bash(git *)\n---\nYou.", "is a rule", 2],
      ["---\nallowed-tools: read\n---\nYou.", "name the tools that the agent has under tools", 2],
      ["---\nallowedTools: read\n---\nYou.", "allowedTools is none of an agent's", 2],
      ["---\nname: x\ndisallowedTools: Bash\n---\nYou.", "deny the others with a rule", 3],
      ["---\ndenied_tools: bash\n---\nYou.", "deny the others with a rule", 2],
      ["---\npermissions:\n  bash: deny\n---\nYou.", "rules stand in the settings", 2],
      ["---\nmaxTurns: 3\n---\nYou.", "did you mean max-turns?", 2],
      ["---\nTools: read\n---\nYou.", "did you mean tools?", 2],
      ["---\ntools: none, read\n---\nYou.", "tools has none and other names", 2],
      ["---\nmax-turns: many\n---\nYou.", "max-turns is \"many\"", 2],
      ["---\nmax-turns: 1.5\n---\nYou.", "whole number above 0", 2],
      ["---\nmax-cost-usd: -1\n---\nYou.", "number above 0", 2],
      ["---\npermission-mode: yolo\n---\nYou.", "plan, default, accept-edits or bypass", 2],
      ["---\nname: a b\n---\nYou.", "is no name of an agent", 2],
      ["---\nname: x\n---\n", "write the agent's role there", 4]
    ]
    for (const [text, problem, line] of table) {
      const { agent, problems } = only(text)
      assert.isUndefined(agent, text)
      assert.include(problems[0], problem)
      assert.include(problems[0], `~/agents/x.md:${line}:`)
    }
  })

  it("nobody takes the name of a built-in one, a checkout none of the user's own", () => {
    const own = file("mine", "You are mine.")
    const theirs = file("mine", "You are theirs.", "project")
    const { agents, problems } = all(
      [theirs, own, file("code", "You are another.")],
      trust("trusted", [theirs])
    )
    assert.deepStrictEqual(agents.slice(builtIns.length).map(({ prefix }) => prefix), ["You are mine."])
    assert.include(problems.join("\n"), "code is the name of a built-in agent")
    assert.include(problems.join("\n"), "the agent mine of ~/agents/mine.md hides it")
  })

  it("a checkout's counts when exactly this content is trusted (4.9)", () => {
    const theirs = file("reviewer", "You review.", "project")
    const names = (state: TrustState) => all([theirs], state).agents.slice(builtIns.length).map(({ name }) => name)
    assert.deepStrictEqual(names(trust("untrusted", [theirs])), [])
    assert.deepStrictEqual(names(trust("trusted", [theirs])), ["reviewer"])
    assert.deepStrictEqual(names(trust("this_run", [theirs])), ["reviewer"])
    assert.deepStrictEqual(names(trust("trusted", [file("reviewer", "You did something else.", "project")])), [])
    assert.include(all([theirs], trust("untrusted", [theirs])).problems.join(), "hanzo-dev config trust")
  })

  it("an agent works beside others only when nothing it may use can change anything", () => {
    const table: ReadonlyArray<readonly [string, boolean]> = [
      ["tools: read, grep", true],
      ["tools: read-only", true],
      ["tools: none", true],
      ["tools: read, lsp", false],
      ["tools: read, task", false],
      ["tools: r*", false],
      ["model: a", false]
    ]
    for (const [written, alone] of table) {
      const { agent } = only(`---\n${written}\n---\nYou.`)
      assert.strictEqual(agent === undefined ? null : changesNothing(agent), alone, written)
    }
  })

  it.prop("any text is an agent or a problem, and the built-in ones stay", [FastCheck.string(), FastCheck.string()], (
    [front, body]
  ) => {
    const { agents, problems } = all([file("x", `---\n${front}\n---\n${body}`)])
    assert.deepStrictEqual(agents.slice(0, builtIns.length), builtIns)
    assert.strictEqual(agents.length - builtIns.length + problems.length, 1)
  })
})
