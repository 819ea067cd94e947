/** Instruction files, a skill, commands and trust in the built program, with a scripted provider. */
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import type { Turn, TurnRequest } from "../support/upstream/index.ts"
import { type Home, providerFor, run, withUpstream } from "./support.ts"

const put = (home: Home, file: string, content: string): void => {
  fs.mkdirSync(path.dirname(path.join(home.project, file)), { recursive: true })
  fs.writeFileSync(path.join(home.project, file), content)
}

const front = (text: string, body: string): string => `---\n${text}\n---\n${body}\n`

/** The system prompt of a request in the wire format of Chat Completions. */
const systemOf = (body: unknown): string => {
  const { messages } = body as {
    readonly messages: ReadonlyArray<{ readonly role: string; readonly content: unknown }>
  }
  return messages.filter(({ role }) => role === "system" || role === "developer").map(({ content }) =>
    typeof content === "string" ? content : JSON.stringify(content)
  ).join("\n\n")
}

const ok: Turn = { blocks: [{ kind: "text", text: "ok" }] }

describe("instructions in the built program", () => {
  it("`agent prompt` prints what is sent, byte for byte", async () => {
    await withUpstream({ script: () => ok, usage: false }, async (upstream, home) => {
      home.settings({ ...providerFor("chat", upstream), custom_instructions: "Of the settings." })
      put(home, "AGENTS.md", "Use tabs.\r\nSee @docs/style.md\r\n")
      put(home, "docs/style.md", "\ufeffStyle.")
      put(home, ".hanzo/skills/pdf/SKILL.md", front("name: pdf\ndescription: Work with PDF files", "BODY"))
      fs.writeFileSync(path.join(home.env["HANZO_CONFIG_HOME"] ?? "", "AGENTS.md"), "Mine.")
      const append = ["--system-prompt-append", "Be brief."]
      const printed = await run(home, ["agent", "prompt", ...append])
      assert.strictEqual(printed.code, 0, printed.stderr)
      assert.deepStrictEqual(upstream.log, [], "no model is asked")
      const result = await run(home, ["run", ...append, "hi"])
      assert.strictEqual(result.code, 0, result.stderr)
      assert.strictEqual(`${systemOf(upstream.log[0]?.body)}\n`, printed.stdout)
      for (const text of ["Mine.", "Use tabs.\nSee", "Style.", "- pdf: Work", "Of the settings.", "Be brief."]) {
        assert.include(printed.stdout, text)
      }
      const document = JSON.parse((await run(home, ["agent", "prompt", "--json", ...append])).stdout) as {
        readonly prompt: string
        readonly parts: ReadonlyArray<{ readonly origin: string; readonly text: string }>
      }
      assert.strictEqual(`${document.prompt}\n`, printed.stdout)
      assert.strictEqual(document.parts.map(({ text }) => text).join("\n\n"), document.prompt)
      assert.deepStrictEqual(
        document.parts.map(({ origin }) => origin).filter((origin) => origin !== "sandbox"),
        ["hanzo-dev", "hanzo-dev", "user", "project", "import", "skills", "custom_instructions", "append"]
      )
    })
  })

  it("a command of the project: it waits, is trusted, runs, changes, and waits again", async () => {
    await withUpstream({ script: () => ok, usage: false }, async (upstream, home) => {
      home.settings(providerFor("chat", upstream))
      const file = ".hanzo/commands/git/greet.md"
      put(
        home,
        file,
        front("description: Greets\nallowed-tools: Bash(echo:*)", "Hello $1 from !`echo here $ARGUMENTS`")
      )
      const greet = () => run(home, ["run", "--command", "git:greet", "it's me"])

      const waiting = await greet()
      assert.strictEqual(waiting.code, 2)
      assert.match(waiting.stderr, /\/git:greet does not run: .*not trusted/)
      assert.deepStrictEqual(upstream.log, [])

      assert.strictEqual((await run(home, ["config", "trust", "--yes"])).code, 0)
      const trusted = await greet()
      assert.strictEqual(trusted.code, 0, trusted.stderr)
      assert.include(JSON.stringify(upstream.log.at(-1)?.body), "Hello it's from here it's me")

      put(home, file, front("allowed-tools: Bash", "!`touch gone`"))
      assert.strictEqual((await greet()).code, 2)
      const once = await run(home, ["run", "--trust-workspace", "--deny", "bash(touch *)", "--command", "git:greet"])
      assert.strictEqual(once.code, 1, once.stderr)
      assert.match(once.stderr, /greet\.md:4: !`touch gone` was refused/)
      assert.isFalse(fs.existsSync(path.join(home.project, "gone")))
      assert.lengthOf(upstream.log, 1)

      const unknown = await run(home, ["run", "--command", "gret"])
      assert.strictEqual(unknown.code, 2)
      assert.match(unknown.stderr, /there is no command "gret"[\s\S]*git:greet/)
    })
  })

  it("a skill is loaded on demand, with a file beside it, and a folder's instructions come with its first file", async () => {
    const script = ({ turn }: TurnRequest): Turn => {
      const calls: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
        ["skill", { name: "pdf" }],
        ["skill", { name: "pdf", file: "ref/a.md" }],
        ["read", { path: "sub/x.txt" }],
        ["skill", { name: "pfd" }]
      ]
      const next = calls[turn - 1]
      return next === undefined ? ok : { blocks: [{ kind: "call", name: next[0], arguments: next[1] }] }
    }
    await withUpstream({ script, usage: false }, async (upstream, home) => {
      home.settings(providerFor("chat", upstream))
      put(home, ".hanzo/skills/pdf/SKILL.md", front("name: pdf\ndescription: Work with PDF files", "BODY OF IT"))
      put(home, ".hanzo/skills/pdf/ref/a.md", "REFERENCE")
      put(home, "sub/AGENTS.md", "RULES OF SUB")
      put(home, "sub/x.txt", "x")
      const result = await run(home, [
        "run",
        "--allow",
        "skill",
        "--allow",
        "read",
        "--output-format",
        "stream-json",
        "go"
      ])
      assert.strictEqual(result.code, 0, result.stderr)
      const results = result.lines.filter(({ type }) => type === "tool.completed").map((line) => JSON.stringify(line))
      assert.include(results[0] ?? "", "BODY OF IT")
      assert.include(results[1] ?? "", "REFERENCE")
      assert.include(results[2] ?? "", "RULES OF SUB")
      assert.include(results[3] ?? "", "did you mean pdf?")
      assert.notInclude(systemOf(upstream.log[0]?.body), "BODY OF IT")
    })
  })
})
