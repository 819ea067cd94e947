import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { check } from "../../src/cli/Check.ts"
import { completions, shells } from "../../src/cli/Completions.ts"
import { help, helpPaths } from "../../src/cli/Help.ts"
import { modulePaths } from "../../src/cli/Main.ts"
import { toCommand } from "../../src/cli/Parser.ts"
import { commands, later, program } from "../../src/cli/Spec.ts"
import { coloured, colourless, plain } from "../../src/cli/Style.ts"

const golden = fileURLToPath(new URL("golden/help.txt", import.meta.url))

const all = helpPaths.map((path) => `$ ${[program, ...path].join(" ")} --help\n${help(path, colourless)}`).join("\n")

/** Every page that a user reads. */
const pages = ["README.md", ...readdirSync(new URL("../../docs", import.meta.url)).map((name) => `docs/${name}`)]
  .filter((name) => name.endsWith(".md"))
  .map((name) => [name, readFileSync(new URL(`../../${name}`, import.meta.url), "utf8")] as const)

describe("the examples of the documentation", () => {
  it("name one session: all ids of some years begin alike, those of a minute in the first eight digits", () => {
    const ids = pages.flatMap(([name, text]) =>
      Array.from(text.matchAll(/\bses_\w[\w-]*/g), ([id]) => [name, id] as const)
    )
    assert.isAbove(ids.length, 0)
    for (const [name, id] of ids) assert.match(id, /^ses_[0-9a-f]{8}-[0-9a-f]{4}/, name)
  })
})

describe("help", () => {
  it("is as it was last read by a person (HANZO_UPDATE_GOLDEN=1 writes it anew)", () => {
    if (process.env["HANZO_UPDATE_GOLDEN"] === "1") writeFileSync(golden, all)
    assert.strictEqual(all, readFileSync(golden, "utf8"))
  })

  it("fits 100 columns, and colours change nothing but colours", () => {
    for (const line of all.split("\n")) assert.isAtMost(line.length, 100, line)
    for (const path of helpPaths) assert.strictEqual(plain(help(path, coloured)), help(path, colourless))
  })

  it("names every option and argument that the parser has, and no other", () => {
    for (const command of commands) {
      const document = Command.getHelp(toCommand(command, program, () => Effect.void), CliConfig.defaultConfig)
      const parsers = new Set(plain(HelpDoc.toAnsiText(document)).match(/(?<![\w-])--[a-z][a-z-]*/g))
      for (const builtIn of ["--completions", "--log-level", "--wizard"]) parsers.delete(builtIn)
      const ours = new Set(help(command.path, colourless).match(/(?<=^ {2}(?:-\w, | {4}))--[a-z][a-z-]*/gm))
      assert.deepEqual([...ours].toSorted(), [...parsers].toSorted(), command.path.join(" "))
    }
  })

  it("every command has a module, and nothing that comes later is listed", () => {
    assert.deepEqual(
      modulePaths.toSorted(),
      commands.map((command) => command.path.join(" ")).toSorted()
    )
    for (const path of later) assert.notMatch(all, new RegExp(`^ {2}${path.join(" ")}\\b`, "m"))
  })
})

describe("completions", () => {
  const complete = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
    const directory = mkdtempSync(join(tmpdir(), "hanzo-completion-"))
    try {
      const script = join(directory, "c.bash")
      writeFileSync(
        script,
        `${
          completions("bash")
        }\nCOMP_WORDS=(hanzo-dev "$@")\nCOMP_CWORD=$#\n_hanzo_dev\nprintf '%s\\n' "\${COMPREPLY[@]}"\n`
      )
      const ran = spawnSync("bash", [script, ...words], { encoding: "utf8", cwd: directory })
      assert.strictEqual(ran.stderr, "")
      return ran.stdout.trim().split("\n").filter((line) => line !== "").toSorted()
    } finally {
      rmSync(directory, { recursive: true })
    }
  }

  it("bash completes commands, options and their values", () => {
    assert.deepEqual(complete(["se"]), ["sessions"])
    assert.includeMembers([...complete(["sessions", ""])], [
      "--help",
      "delete",
      "export",
      "fork",
      "import",
      "list",
      "search"
    ])
    assert.deepEqual(complete(["sessions", "list", "--al"]), ["--all"])
    assert.deepEqual(complete(["run", "--output-format", ""]), ["json", "stream-json", "text"])
    assert.deepEqual(complete(["run", "--permission-mode", "a"]), ["accept-edits"])
    assert.deepEqual(complete(["run", "--max-t"]), ["--max-turns"])
    assert.deepEqual(complete(["run", "--model", ""]), [])
    assert.deepEqual(complete(["run", "--scenario", ""]), ["c.bash"])
    assert.deepEqual(complete(["completions", "z"]), ["zsh"])
    assert.deepEqual(complete(["auth", ""]), ["--help", "login", "logout", "refresh", "status", "token"])
    assert.deepEqual(complete(["auth", "login", "a"]), ["anthropic"])
    assert.deepEqual(complete(["auth", "login", "--"]), ["--api-key", "--device", "--help", "--no-browser", "--paste"])
    assert.notInclude(complete([""]), "start")
  })

  it("everything that any script offers is accepted by the check", () => {
    for (const shell of shells) {
      const text = completions(shell)
      const offered = new Set(text.match(/(?<![\w-])--[a-z][a-z-]+/g) ?? [])
      for (const option of offered) {
        const known = commands.some((command) =>
          command.options.some((each) => `--${each.name}` === option && each.later !== true)
        )
        assert.isTrue(known || option === "--help", `${shell} ${option}`)
      }
      for (const name of ["--record", "--replay", "--wizard"]) assert.notInclude(text, name)
    }
    assert.strictEqual(check(["completions", "bash"]).kind, "command")
  })
})
