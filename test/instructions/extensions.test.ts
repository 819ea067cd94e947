import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as path from "node:path"
import { argumentsOf } from "../../src/codec/CommandTemplate.ts"
import type { Invocation } from "../../src/instructions/Catalogue.ts"
import { filled } from "../../src/instructions/Catalogue.ts"
import { Config } from "../../src/config/Config.ts"
import { layer, within, world } from "./support.ts"

const command = (front: string, body: string): string => `---\n${front}\n---\n${body}\n`

const textOf = (found: Invocation | { readonly refusal: string } | null): string =>
  found === null
    ? "none"
    : "refusal" in found
    ? `refused: ${found.refusal}`
    : found.pieces.map((piece) =>
      piece.kind === "text" ? piece.text : piece.kind === "shell" ? `!(${piece.command})` : `@(${piece.path})`
    ).join("")

describe("commands", () => {
  it.scoped("are named by their folders, the project's before the user's; collisions are told", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "project/.hanzo/commands/review.md": command("description: ours\nargument-hint: [file]", "Review $1"),
        "project/.hanzo/commands/git/log.md": "# Log\nShow $ARGUMENTS",
        "project/.claude/commands/review.md": "theirs",
        "config/commands/review.md": "mine",
        "config/commands/only.md": command("model: scripted/x\nagent: plan", "mine"),
        "config/commands/.hidden.md": "no",
        "config/commands/bad name.md": "no",
        "config/commands/notes.txt": "no",
        "project/.hanzo/commands/mcp__x.md": "no"
      })
      yield* within(made, ({ commands, invocation }) =>
        Effect.gen(function*() {
          const { all, problems } = yield* commands
          assert.deepStrictEqual(
            all.map((
              { agent, argument_hint, description, model, name, own }
            ) => [name, own, description, argument_hint, model, agent]),
            [
              ["git:log", false, "Log", "", null, null],
              ["only", true, "mine", "", "scripted/x", "plan"],
              ["review", false, "ours", "[file]", null, null]
            ]
          )
          assert.deepStrictEqual(problems.map((problem) => problem.split(":")[0]).toSorted(), [
            ".claude/commands/review.md",
            ".hanzo/commands/mcp__x.md",
            path.join(made.config, "commands/bad name.md"),
            path.join(made.config, "commands/review.md")
          ])
          assert.strictEqual(textOf(yield* invocation("/review a.ts")), "Review a.ts")
          assert.strictEqual(textOf(yield* invocation("/project:review a.ts")), "Review a.ts")
          assert.strictEqual(textOf(yield* invocation("/git:log 'a b' c")), "# Log\nShow 'a b' c")
          assert.strictEqual(textOf(yield* invocation("/only and this\nmore")), "mine\n\nand this\n\nmore")
          assert.strictEqual(textOf(yield* invocation("/etc/hosts is wrong")), "none")
          assert.strictEqual(textOf(yield* invocation("/none")), "none")
          assert.strictEqual(textOf(yield* invocation("review")), "none")
        }))
    }))

  it.scoped("front matter that cannot be read leaves the command out, with file and line", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "config/commands/a.md": "---\ndescription: x\n",
        "config/commands/b.md": command("description: \"x", "y"),
        "config/commands/c.md": command("x: &anchor y", "y"),
        "config/commands/d.md": new Uint8Array([0x61, 0xff]),
        "config/commands/e.md": "x".repeat(300 * 1024),
        "config/commands/f.md": command("__proto__: x\ndescription: fine", "y")
      })
      const { all, problems } = yield* within(made, ({ commands }) => commands)
      assert.deepStrictEqual(all.map(({ name }) => name), ["f"])
      assert.deepStrictEqual(problems.map((problem) => /commands\/(\w\.md:?\d*):/.exec(problem)?.[1]), [
        "a.md:1",
        "b.md:2",
        "c.md:2",
        "d.md",
        "e.md"
      ])
    }))

  it.scoped("what leads out of the project by a link is not read", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "outside/x.md": "OUTSIDE",
        "outside/skill/SKILL.md": command("description: x", "OUTSIDE")
      })
      made.link("project/.hanzo/commands/x.md", path.join(made.top, "outside/x.md"))
      made.link("project/.hanzo/skills/s", path.join(made.top, "outside/skill"))
      made.link("project/.claude/commands", path.join(made.top, "outside"))
      yield* within(made, ({ commands, skills }) =>
        Effect.gen(function*() {
          const found = [yield* commands, yield* skills]
          assert.deepStrictEqual(found.map(({ all }) => all.length), [0, 0])
          assert.lengthOf(found.flatMap(({ problems }) => problems).filter((each) => each.includes("leads out")), 3)
        }))
    }))
})

describe("trust (4.9)", () => {
  const shell = command("allowed-tools: bash(git *)", "!`git status`")

  const trusted = (made: Parameters<typeof layer>[0]) =>
    Effect.provide(Effect.map(Config, ({ trust }) => trust), layer(made))

  it.scoped("a command of the project with a shell line waits; the user's own does not; text never does", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "project/.hanzo/commands/deploy.md": shell,
        "project/.hanzo/commands/text.md": "Only text, @file.md",
        "config/commands/mine.md": shell
      })
      yield* within(made, ({ invocation }) =>
        Effect.gen(function*() {
          assert.match(textOf(yield* invocation("/deploy")), /^refused: \/deploy does not run: .*not trusted/)
          assert.strictEqual(textOf(yield* invocation("/text")), "Only text, @(file.md)")
          assert.strictEqual(textOf(yield* invocation("/mine")), "!(git status)")
        }))
      const { definitions, status } = yield* trusted(made)
      assert.strictEqual(status, "untrusted")
      assert.deepStrictEqual(definitions.map(({ key, kind }) => [kind, key]), [[
        "command",
        ".hanzo/commands/deploy.md"
      ]])
    }))

  it.scoped("trusted, it runs; one byte later, in the same process, it waits again", () =>
    Effect.gen(function*() {
      const made = yield* world({ "project/.hanzo/commands/deploy.md": shell })
      const { hash } = yield* trusted(made)
      yield* within(made, ({ invocation }) =>
        Effect.gen(function*() {
          const before = yield* invocation("/deploy")
          assert.strictEqual(textOf(before), "!(git status)")
          assert.deepStrictEqual(before !== null && "allows" in before ? before.allows : [], ["bash(git *)"])
          made.put("project/.hanzo/commands/deploy.md", shell.replace("status", "push"))
          assert.match(textOf(yield* invocation("/deploy")), /has changed since this workspace was trusted/)
          made.put("project/.hanzo/commands/new.md", shell)
          assert.match(textOf(yield* invocation("/new")), /was not there when this workspace was trusted/)
          made.put("project/.hanzo/commands/deploy.md", shell)
          assert.strictEqual(textOf(yield* invocation("/deploy")), "!(git status)")
        }), { trust: { hash } })
    }))

  it.scoped("a skill of the project is read without trust, and allows nothing", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "project/.agents/skills/pdf/SKILL.md": command(
          "name: pdf\ndescription: PDF\nallowed-tools: Bash(rm *)",
          "Do it"
        ),
        "config/skills/own/SKILL.md": command("name: own\ndescription: mine\nallowed-tools: [read, Bash]", "Do it")
      })
      yield* within(made, ({ skill }) =>
        Effect.gen(function*() {
          assert.deepInclude((yield* skill("pdf")) as object, { allows: [] })
          assert.deepInclude((yield* skill("own")) as object, { allows: ["read", "bash"] })
        }))
      yield* within(
        made,
        ({ skill }) =>
          Effect.map(skill("pdf"), (found) => assert.deepInclude(found as object, { allows: ["bash(rm *)"] })),
        {
          trust: "all"
        }
      )
    }))
})

describe("skills", () => {
  it.scoped("are listed in short, loaded whole, their files within their folder", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "project/.hanzo/skills/pdf/SKILL.md": command(
          "name: pdf\ndescription: Work with PDF files",
          "BODY of the skill"
        ),
        "project/.hanzo/skills/pdf/ref/a.md": "REFERENCE",
        "project/.hanzo/skills/pdf/.secret": "SECRET",
        "project/.hanzo/skills/none/SKILL.md": "no front matter, so no description",
        "project/.hanzo/skills/empty/readme.md": "no skill",
        "project/secret.txt": "SECRET",
        "config/skills/pdf/SKILL.md": command("description: hidden by the nearer", "x")
      })
      made.link("project/.hanzo/skills/pdf/out", path.join(made.root, "secret.txt"))
      yield* within(made, ({ has_skills, invocation, read, skill, skills }) =>
        Effect.gen(function*() {
          assert.isTrue(has_skills)
          const { all, problems } = yield* skills
          assert.deepStrictEqual(all.map(({ name }) => name), ["pdf"])
          assert.lengthOf(problems, 2)
          const { text } = yield* read()
          assert.include(text, "- pdf: Work with PDF files (project)")
          assert.notInclude(text, "BODY")
          const whole = yield* skill("pdf")
          assert.include(JSON.stringify(whole), "BODY of the skill")
          assert.include(JSON.stringify(whole), "- ref/a.md")
          assert.deepStrictEqual(yield* skill("pdf", "ref/a.md"), { text: "REFERENCE", allows: [] })
          for (const file of ["out", "../../../secret.txt", "/etc/passwd", "ref", "gone", "", "ref/../../pdf2/x"]) {
            assert.property(yield* skill("pdf", file), "problem", file)
          }
          assert.isNull(yield* skill("nothing"))
          assert.match(textOf(yield* invocation("/skill pdf make one")), /BODY of the skill[\s\S]*make one$/)
          assert.match(textOf(yield* invocation("/pdf")), /BODY of the skill/)
          assert.match(textOf(yield* invocation("/skill nothing")), /refused: .*the skills are pdf/)
        }))
    }))

  it.scoped("links make no other files a skill's: none is listed, none is shown, hidden ones neither", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "project/.hanzo/skills/pdf/SKILL.md": command("description: x", "BODY \u001b[2J \u{e0041}\u{e0042}"),
        "project/.hanzo/skills/pdf/own/a.md": "A",
        "project/.hanzo/skills/pdf/.env": "SECRET",
        "project/.env": "SECRET",
        "project/src/a.ts": "code",
        "project/SKILL.md": command("description: all of it", "ROOT"),
        "project/.hanzo/SKILL.md": command("description: all of it", "ROOT"),
        "outside/list.txt": "SECRET"
      })
      const { top } = made
      made.link("project/.hanzo/skills/pdf/outside", path.join(top, "outside"))
      made.link("project/.hanzo/skills/pdf/source", "../../../src")
      made.link("project/.hanzo/skills/pdf/one.txt", path.join(top, "outside/list.txt"))
      made.link("project/.hanzo/skills/pdf/inner", "own")
      made.link("project/.hanzo/skills/pdf/env", ".env")
      made.link("project/.hanzo/skills/all", "../..")
      made.link("project/.hanzo/skills/some", "..")
      yield* within(made, ({ skill, skills }) =>
        Effect.gen(function*() {
          const { all, problems } = yield* skills
          assert.deepStrictEqual(all.map(({ name }) => name), ["pdf"])
          assert.lengthOf(problems.filter((each) => each.includes("its folder is a link")), 2)
          const found = yield* skill("pdf")
          const text = found !== null && "text" in found ? found.text : ""
          assert.deepStrictEqual(
            text.split("\n").filter((each) => each.startsWith("- ")),
            ["- inner/a.md", "- own/a.md"]
          )
          assert.notInclude(text, "\u001b")
          assert.include(text, "[2 hidden characters]")
          for (const file of ["outside/list.txt", "one.txt", "source/a.ts", ".env", "env", "../../../.env"]) {
            assert.property(yield* skill("pdf", file), "problem", file)
          }
        }))
    }))

  it.scoped("a command or skill is no other file under its name", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "project/.env": "SECRET=1",
        "project/.git/config": "[x]\n\ty = SECRET",
        "project/keys.txt": command("description: keys", "SECRET"),
        "project/docs/review.md": "REVIEW"
      })
      for (const [name, target] of [["a", ".env"], ["b", ".git/config"], ["ok", "docs/review.md"]] as const) {
        made.link(`project/.hanzo/commands/${name}.md`, path.join(made.root, target))
      }
      made.link("project/.hanzo/skills/s/SKILL.md", path.join(made.root, "keys.txt"))
      yield* within(made, ({ commands, skill, skills }) =>
        Effect.gen(function*() {
          const found = yield* commands
          assert.deepStrictEqual(found.all.map(({ name }) => name), ["ok"])
          assert.lengthOf(found.problems.filter((each) => each.includes("no .md file")), 2)
          assert.lengthOf((yield* skills).problems, 1)
          assert.isNull(yield* skill("s"))
        }))
    }))

  it.scoped("a file that a rule denies `read` of is not shown", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "config/skills/a/SKILL.md": command("description: x", "see b.md"),
        "config/skills/a/b.md": "SECRET"
      })
      const found = yield* within(made, ({ skill }) => skill("a", "b.md"), { denies: (at) => at.endsWith("/b.md") })
      assert.deepStrictEqual(found, { problem: "a rule denies read of b.md" })
    }))
})

describe("arguments", () => {
  const words = FastCheck.array(FastCheck.string({ unit: "grapheme-ascii" }).filter((text) => !/[\0\r\n]/.test(text)), {
    maxLength: 3
  })

  it.prop("never become an insert: what runs and what is read stands in the template", [words], ([given]) => {
    const raw = given.join(" ")
    const made = filled({ body: "a $ARGUMENTS b !`echo $1` @docs/x.md $2", body_line: 5, shown: "x.md" }, raw, "")
    if ("problem" in made) return assert.fail(made.problem)
    assert.deepStrictEqual(made.pieces.map(({ kind }) => kind), ["text", "shell", "text", "file", "text"])
    const [, shell] = made.pieces
    const [first = ""] = argumentsOf(raw).words
    assert.strictEqual(
      shell?.kind === "shell" ? shell.command : "",
      `echo '${first.replaceAll("'", "'\\''")}'`
    )
    assert.strictEqual(shell?.kind === "shell" ? shell.line : 0, 5)
  })

  it.prop("that stand nowhere in the template are not lost", [FastCheck.string({ minLength: 1 })], ([raw]) => {
    const made = filled({ body: "fixed", body_line: 1, shown: "x.md" }, raw, "")
    if ("problem" in made) return assert.fail(made.problem)
    assert.strictEqual(
      made.pieces.map((piece) => piece.kind === "text" ? piece.text : "").join(""),
      raw.trim() === "" ? "fixed" : `fixed\n\n${raw.trim()}`
    )
  })

  it.prop("any template is filled with any arguments", [FastCheck.string(), FastCheck.string(), FastCheck.string()], (
    [body, raw, rest]
  ) => {
    const made = filled({ body, body_line: 1, shown: "x.md" }, raw, rest)
    if ("problem" in made) assert.match(made.problem, /^x\.md:\d+: /)
    else assert.include(made.pieces.map((piece) => piece.kind === "text" ? piece.text : "").join(""), rest.trim())
  })

  it("an insert of a file whose name is an argument wants one", () => {
    assert.deepStrictEqual(filled({ body: "@$1", body_line: 3, shown: "x.md" }, "", ""), {
      problem: "x.md:3: @$1 names no file; the command takes arguments"
    })
  })
})
