/** Commands, skills and instruction files in the conversation: called, listed, completed, shown, added to, edited. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { check } from "../../src/cli/Check.ts"
import * as Conversation from "../../src/cli/Conversation.ts"
import * as CustomCommands from "../../src/cli/CustomCommands.ts"
import * as Parser from "../../src/cli/Parser.ts"
import * as Prompter from "../../src/cli/Prompter.ts"
import * as Spec from "../../src/cli/Spec.ts"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import type { Line, LineOptions } from "../../src/platform/Terminal.ts"
import { bench, type BenchOptions } from "../cli/support.ts"
import { layer, type World, world } from "./support.ts"

const talk = (
  made: World,
  typed: ReadonlyArray<string>,
  options: BenchOptions = {},
  argv: ReadonlyArray<string> = []
) =>
  Effect.gen(function*() {
    let next = 0
    const completed: Array<ReadonlyArray<string>> = []
    const on = bench({
      ...options,
      environment: {
        cwd: made.root,
        stdin_is_tty: true,
        stdout_is_tty: true,
        stderr_is_tty: true,
        vars: { NO_COLOR: "1", PATH: process.env["PATH"] ?? "", VISUAL: "sh -c 'printf edited >> \"$1\"' x" }
      },
      terminal: {
        readLine: (_: string, asked?: LineOptions): Effect.Effect<Line> =>
          Effect.suspend(() => {
            const text = typed[next++]
            if (text === undefined) return Effect.succeed<Line>({ type: "end" })
            if (!text.endsWith("\t")) return Effect.succeed<Line>({ type: "line", text })
            return Effect.map(asked?.complete?.(text.slice(0, -1)) ?? Effect.succeed([]), (found): Line => {
              completed.push(found)
              return { type: "line", text: "" }
            })
          })
      }
    })
    const checked = check(argv)
    if (checked.kind !== "command") throw new Error(JSON.stringify(checked))
    const values = yield* Parser.parse(Spec.conversation, checked.argv)
    yield* Effect.provide(
      Effect.flatMap(Prompter.shared, (shared) => Conversation.execute(values, shared)),
      Layer.merge(Layer.provideMerge(AtomicFile.layer, layer(made)), on.layer)
    )
    return { on, completed, out: on.out.join(""), err: on.err.join("") }
  })

const front = (text: string, body: string): string => `---\n${text}\n---\n${body}\n`

const files = {
  "config/commands/git/log.md": front("description: Show the log\nargument-hint: '[count]'", "Log of $1"),
  "config/commands/help.md": "hidden by the program's",
  "config/commands/big.md": front("description: Other\nmodel: other/model\nagent: solve", "Think"),
  "config/commands/odd.md": front("model: unknown", "x"),
  "config/skills/pdf/SKILL.md": front("description: PDF files", "BODY")
}

describe("commands of the user's own", () => {
  it.scoped("are called by their names, with their model and agent; others stay what they were", () =>
    Effect.gen(function*() {
      const made = yield* world(files)
      const { err, on } = yield* talk(made, [
        "/git:log 5",
        "/user:help me",
        "/big",
        "/pdf now",
        "/git:lgo",
        "/nothing",
        "/odd",
        "/etc/hosts is wrong",
        "/git:log 1\nand more"
      ])
      assert.deepStrictEqual(
        on.inputs.map(({ command, delegate, model, prompt }) => [
          prompt,
          command?.name ?? null,
          model ?? null,
          delegate?.agent ?? null
        ]),
        [
          ["/git:log 5", "git:log", null, null],
          ["/user:help me", "help", null, null],
          ["/big", "big", "other/model", "solve"],
          ["/pdf now", "pdf", null, null],
          ["/etc/hosts is wrong", null, null, null],
          ["/git:log 1\nand more", "git:log", null, null]
        ]
      )
      assert.match(err, /there is no command \/git:lgo; did you mean \/git:log\?/)
      assert.match(err, /there is no command \/nothing/)
      assert.match(err, /odd\.md: there is no model unknown/)
    }))

  it.scoped("stand in /help with what is hidden, and Tab completes them", () =>
    Effect.gen(function*() {
      const made = yield* world(files)
      const { completed, out } = yield* talk(made, ["/help", "/gi\t", "/skill p\t", "/no such\t", "/\t"])
      assert.match(out, /\/git:log \[count\] +Show the log\n/)
      assert.match(out, /\/skill pdf +PDF files\n/)
      assert.match(out, /help\.md: \/help is a command of the program; call this one by \/user:help/)
      assert.deepStrictEqual(completed.slice(0, 3), [["/git:log "], ["/skill pdf "], []])
      assert.include(completed[3] ?? [], "/memory ")
    }))

  it.scoped("with --max-cost a model without a price is refused before it is asked", () =>
    Effect.gen(function*() {
      const made = yield* world(files)
      const on = bench({ price: false })
      const found = yield* Effect.provide(
        CustomCommands.called("/big", { "max-cost": 1 }),
        Layer.merge(layer(made), on.layer)
      )
      assert.match(JSON.stringify(found), /--max-cost needs a price/)
    }))
})

describe("/memory", () => {
  it.scoped("shows what is in force, adds a note, and opens the editor", () =>
    Effect.gen(function*() {
      const made = yield* world({ "project/AGENTS.md": "# Rules\n\nUse tabs.\r\n@./gone.md" })
      const { err, out } = yield* talk(made, [
        "/memory",
        "/memory add Prefer small commits\nand say why",
        "/memory user Mine",
        "/memory edit 1",
        "/memory edit 9",
        "/memory what",
        "/skills"
      ])
      assert.match(
        out,
        /1 {2}.*config\/AGENTS\.md.*not there yet\n {2}2 {2}AGENTS\.md.*of the project's root, \d+ bytes/
      )
      assert.include(out, "AGENTS.md:4: @./gone.md is not there")
      assert.strictEqual(
        fs.readFileSync(path.join(made.root, "AGENTS.md"), "utf8"),
        "# Rules\n\nUse tabs.\r\n@./gone.md\r\n\r\n- Prefer small commits\r\n  and say why\r\n"
      )
      assert.strictEqual(fs.readFileSync(path.join(made.config, "AGENTS.md"), "utf8"), "- Mine\nedited")
      assert.include(err, "there is no file 9")
      assert.include(out, "there are no skills")
    }))

  it.scoped("does not wait for a pipe in place of a file", () =>
    Effect.gen(function*() {
      const made = yield* world()
      execFileSync("mkfifo", [path.join(made.root, "AGENTS.md"), path.join(made.config, "AGENTS.md")])
      const { err } = yield* talk(made, ["/memory", "/memory add more", "/memory user more", "/memory edit"])
      assert.lengthOf(err.match(/AGENTS\.md is no file/g) ?? [], 3)
    }))

  it.scoped("writes nothing by a link of the checkout but to another text of the project", () =>
    Effect.gen(function*() {
      for (
        const [target, written] of [
          ["home/.profile", false],
          ["home/gone", false],
          ["project/gone.md", false],
          ["project/.git/config", false],
          ["project/.hanzo/commands/a.md", false],
          ["project/src.ts", false],
          ["outside/b.md", false],
          ["project/CLAUDE.md", true]
        ] as const
      ) {
        const made = yield* world(target.includes("gone") ? {} : { [target]: "as it was" })
        made.link("project/AGENTS.md", path.join(made.top, target))
        const { err, out } = yield* talk(made, ["/memory add more", "/memory edit"])
        const at = path.join(made.top, target)
        if (written) {
          assert.include(fs.readFileSync(at, "utf8"), "- more\nedited", target)
          continue
        }
        assert.strictEqual(err.split("is a link to").length, 3, `${target} ${err}`)
        assert.notInclude(out, "added")
        assert.strictEqual(
          fs.existsSync(at) ? fs.readFileSync(at, "utf8") : "",
          target.includes("gone") ? "" : "as it was"
        )
      }
    }))
})
