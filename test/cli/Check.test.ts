import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { check, type Checked, decode, encode } from "../../src/cli/Check.ts"
import * as Parser from "../../src/cli/Parser.ts"
import { read } from "../../src/cli/Values.ts"
import * as Spec from "../../src/cli/Spec.ts"

const shown = (checked: Checked): string => {
  switch (checked.kind) {
    case "command":
      return `ok ${checked.argv.map((token) => token.startsWith(".") ? `'${decode(token)}'` : token).join(" ")}`
        .trimEnd()
    case "help":
      return `help ${checked.path.join(" ")}`.trimEnd()
    case "version":
      return "version"
    case "error":
      return `error ${
        checked.lines.filter((each) => !each.startsWith("see ") && !each.startsWith("to run")).join(" | ")
      }`
  }
}

const table: ReadonlyArray<readonly [argv: ReadonlyArray<string>, expected: string]> = [
  // commands
  [[], "ok"],
  [["run", "fix it"], "ok run 'fix it'"],
  [["run"], "ok run"],
  [["run", "-"], "ok run '-'"],
  [["run", "--", "-"], "ok run '-'"],
  [["run", "--", "--model"], "ok run '--model'"],
  [["run", "--", "--", "x"], "error hanzo-dev run does not take the argument \"x\"; put the prompt in quotes"],
  [["run", ""], "ok run ''"],
  [["sessions", "list"], "ok sessions list"],
  [["sessions", "show", "ses_1"], "ok sessions show 'ses_1'"],
  [["sessions", "show"], "error hanzo-dev sessions show needs ID: Id of the session, or a unique beginning of it."],
  [["vectors"], "error hanzo-dev vectors needs a command: eval, check"],
  [["sessions", "lst"], "error hanzo-dev sessions has no command \"lst\"; did you mean list?"],
  [["vectors", "--json"], "error hanzo-dev vectors needs a command before \"--json\": eval, check"],
  [["rnu", "x"], "error there is no command \"rnu\"; did you mean run?"],
  [["fix", "it"], "error there is no command \"fix\""],
  [["start"], "ok start"],
  [["completions", "bash"], "ok completions 'bash'"],
  [["completions"], "error hanzo-dev completions needs SHELL: bash, zsh or fish."],
  [["doctor", "extra"], "error hanzo-dev doctor does not take the argument \"extra\""],
  [["-m", "x", "run"], "error options go after the command: hanzo-dev run ..."],
  // help and version
  [["--help"], "help"],
  [["-h"], "help"],
  [["run", "--help"], "help run"],
  [["run", "-h"], "help run"],
  [["run", "--modle", "--help"], "help run"],
  [["run", "x", "--help"], "help run"],
  [["run", "--", "--help"], "ok run '--help'"],
  [["sessions", "--help"], "help sessions"],
  [["sessions", "list", "--help"], "help sessions list"],
  [["help", "run"], "help run"],
  [["help"], "help"],
  [["help", "nothing"], "error there is no command \"nothing\""],
  [["--version"], "version"],
  [["run", "--version"], "version"],
  [["run", "--", "--version"], "ok run '--version'"],
  // texts
  [["run", "-m", "a/b", "x"], "ok run --model 'a/b' 'x'"],
  [["run", "-m=a/b", "x"], "ok run --model 'a/b' 'x'"],
  [["run", "--model", "a/b", "x"], "ok run --model 'a/b' 'x'"],
  [["run", "--model=a/b=c", "x"], "ok run --model 'a/b=c' 'x'"],
  [["run", "x", "--model", "a/b"], "ok run --model 'a/b' 'x'"],
  [["run", "--model", "run", "yes"], "ok run --model 'run' 'yes'"],
  [["run", "-m"], "error --model needs a value"],
  [["run", "-m", "--allow", "x"], "error --model needs a value"],
  [["run", "-m", "--", "x"], "error --model needs a value"],
  [
    ["run", "-m", "--frobnicate"],
    "error --model needs a value; for a value that begins with dashes write --model=--frobnicate"
  ],
  [["run", "-m", ""], "error --model needs a value that is not empty"],
  [["run", "--model="], "error --model needs a value that is not empty"],
  [["run", "--system-prompt-append", ""], "ok run --system-prompt-append ''"],
  [["run", "--system-prompt-append", "- be brief"], "ok run --system-prompt-append '- be brief'"],
  [["run", "--system-prompt-append", "-1"], "ok run --system-prompt-append '-1'"],
  [["run", "--system-prompt-append=--x"], "ok run --system-prompt-append '--x'"],
  [["run", "--deny", "-"], "ok run --deny '-'"],
  [["run", "-m", "a", "-m", "b"], "error --model was given more than once"],
  [["run", "--allow", "a", "--deny", "b", "--allow", "c"], "ok run --allow 'a' --deny 'b' --allow 'c'"],
  [["run", "--allow", "bash(git *)"], "ok run --allow 'bash(git *)'"],
  // switches
  [["run", "--no-session", "yes"], "ok run --no-session 'yes'"],
  [["run", "--no-session=true"], "error --no-session takes no value"],
  [["run", "--no-session", "--no-session"], "error --no-session was given more than once"],
  // choices and numbers
  [["run", "--output-format", "json"], "ok run --output-format json"],
  [
    ["run", "--output-format", "jsn"],
    "error --output-format must be one of text, json, stream-json, not \"jsn\"; did you mean json?"
  ],
  [
    ["run", "--output-format", "JSON"],
    "error --output-format must be one of text, json, stream-json, not \"JSON\"; did you mean json?"
  ],
  [["run", "--permission-mode=bypass"], "ok run --permission-mode bypass"],
  [
    ["run", "--permission-mode", "yolo"],
    "error --permission-mode must be one of default, plan, accept-edits, bypass, not \"yolo\""
  ],
  [["run", "--max-turns", "5"], "ok run --max-turns 5"],
  [["run", "--max-turns", "0"], "error --max-turns must be a whole number from 1 to 100000, not \"0\""],
  [["run", "--max-turns", "-5"], "error --max-turns must be a whole number from 1 to 100000, not \"-5\""],
  [["run", "--max-turns", "1.5"], "error --max-turns must be a whole number from 1 to 100000, not \"1.5\""],
  [["run", "--max-turns", "1e3"], "error --max-turns must be a whole number from 1 to 100000, not \"1e3\""],
  [["run", "--max-turns", "0x10"], "error --max-turns must be a whole number from 1 to 100000, not \"0x10\""],
  [["run", "--max-cost", "0.25"], "ok run --max-cost 0.25"],
  [["run", "--max-cost", "3."], "ok run --max-cost 3."],
  [["run", "--max-cost", "-1"], "error --max-cost must be a number, 0 or more, not \"-1\""],
  [["run", "--max-cost", "NaN"], "error --max-cost must be a number, 0 or more, not \"NaN\""],
  [["run", "--max-cost", "Infinity"], "error --max-cost must be a number, 0 or more, not \"Infinity\""],
  // unknown options
  [["run", "--modle", "x"], "error hanzo-dev run has no option \"--modle\"; did you mean --model?"],
  [["run", "--Model", "x"], "error hanzo-dev run has no option \"--Model\"; did you mean --model?"],
  [["run", "--xyzzyplugh"], "error hanzo-dev run has no option \"--xyzzyplugh\""],
  [["run", "-x"], "error hanzo-dev run has no option \"-x\"; did you mean -m?"],
  [["run", "fix -v now"], "ok run 'fix -v now'"],
  [
    ["run", "--max-turns", "x", "--modle", "y"],
    "error --max-turns must be a whole number from 1 to 100000, not \"x\" | hanzo-dev run has no option \"--modle\"; did you mean --model?"
  ],
  [["run", "--\u001b[31m"], "error hanzo-dev run has no option \"--\u241b[31m\""],
  // excluding, later
  [["run", "--continue", "--session", "x"], "error --continue and --session exclude each other"],
  [["run", "--no-session", "--continue"], "error --continue and --no-session exclude each other"],
  [["run", "--record", "x"], "error --record comes with a later version of hanzo-dev"],
  [["run", "--fork", "x", "--continue", "y"], "error --continue and --fork exclude each other"],
  [["run", "--record", "f", "p"], "error --record comes with a later version of hanzo-dev"],
  [["run", "--replay=f"], "error --replay comes with a later version of hanzo-dev"],
  [["acp"], "error hanzo-dev acp comes with a later version of hanzo-dev"],
  [["proxy", "start", "--x"], "error hanzo-dev proxy comes with a later version of hanzo-dev"],
  [["proxy", "--port", "1"], "error hanzo-dev proxy comes with a later version of hanzo-dev"],
  [["config", "schema"], "ok config schema"],
  [["config", "show", "--origin", "--json"], "ok config show --origin --json"],
  [["vectors", "check", "--domain", "sse", "--domain", "pkce"], "ok vectors check --domain 'sse' --domain 'pkce'"]
]

describe("options are checked before parsing (architecture section 5)", () => {
  it(`${table.length} command lines`, () => {
    for (const [argv, expected] of table) {
      const found = shown(check(argv))
      assert.strictEqual(found, expected, JSON.stringify(argv))
    }
  })

  it("every mistake ends with where to read on", () => {
    for (const argv of [["run", "--x"], ["sessions", "lst"], ["doctor", "a"]]) {
      const checked = check(argv)
      assert.strictEqual(checked.kind, "error")
      if (checked.kind === "error") assert.match(checked.lines.at(-1) ?? "", /^see hanzo-dev .*--help$/)
    }
  })

  it("every command of the table is found by its path", () => {
    for (const command of Spec.commands) {
      const checked = check([...command.path, ...command.args.map(() => "x")])
      assert.strictEqual(checked.kind, "command")
      if (checked.kind === "command") assert.deepEqual(checked.command.path, command.path)
    }
  })

  it.prop("never throws, and a mistake always has a line to read", [
    FastCheck.array(
      FastCheck.oneof(
        FastCheck.string(),
        FastCheck.constantFrom(
          "run",
          "sessions",
          "list",
          "--",
          "-",
          "-m",
          "--allow",
          "--json",
          "--max-turns",
          "5",
          "x",
          "--help",
          "--="
        )
      ),
      { maxLength: 8 }
    )
  ], ([argv]) => {
    const checked = check(argv)
    if (checked.kind === "error") assert.isAbove(checked.lines.length, 0)
  })
})

const anyText = FastCheck.string({
  unit: FastCheck.oneof(
    FastCheck.constantFrom(..."abz09 -_.=/\\\"'\n\t\r,*()$", "true", "--", "\u{1F600}", "\u00e4", "\u0000", "\ud800"),
    FastCheck.string({ minLength: 1, maxLength: 1 })
  )
})

describe("what is checked is what the parser sees", () => {
  it.prop("a text survives its encoding and never looks like an option", [anyText], ([text]) => {
    assert.strictEqual(decode(encode(text)), text)
    assert.match(encode(text), /^\.[A-Za-z0-9/_]*$/)
  })

  it.effect.prop("any values reach the command exactly as given", [
    FastCheck.record({
      model: FastCheck.option(anyText.filter((text) => text !== ""), { nil: undefined }),
      append: FastCheck.option(anyText, { nil: undefined }),
      allow: FastCheck.array(anyText.filter((text) => text !== ""), { maxLength: 3 }),
      deny: FastCheck.array(anyText.filter((text) => text !== ""), { maxLength: 3 }),
      turns: FastCheck.option(FastCheck.integer({ min: 1, max: 100_000 }), { nil: undefined }),
      cost: FastCheck.option(FastCheck.constantFrom("0", "1.5", ".25", "3."), { nil: undefined }),
      memory: FastCheck.boolean(),
      prompt: FastCheck.option(anyText, { nil: undefined })
    })
  ], ([given]) =>
    Effect.gen(function*() {
      const checked = check([
        "run",
        ...(given.model === undefined ? [] : [`--model=${given.model}`]),
        ...given.allow.map((rule) => `--allow=${rule}`),
        ...given.deny.map((rule) => `--deny=${rule}`),
        ...(given.append === undefined ? [] : [`--system-prompt-append=${given.append}`]),
        ...(given.turns === undefined ? [] : ["--max-turns", String(given.turns)]),
        ...(given.cost === undefined ? [] : ["--max-cost", given.cost]),
        ...(given.memory ? ["--no-session"] : []),
        ...(given.prompt === undefined ? [] : ["--", given.prompt])
      ])
      assert.strictEqual(checked.kind, "command")
      if (checked.kind !== "command") return
      const values = yield* Parser.parse(Spec.run, checked.argv)
      assert.deepEqual(read(Spec.run, checked.argv), values)
      assert.deepEqual(
        {
          model: values.model,
          append: values["system-prompt-append"],
          allow: [...values.allow],
          deny: [...values.deny],
          turns: values["max-turns"],
          cost: values["max-cost"],
          memory: values["no-session"],
          args: [...values.args]
        },
        {
          model: given.model,
          append: given.append,
          allow: given.allow,
          deny: given.deny,
          turns: given.turns,
          cost: given.cost === undefined ? undefined : Number(given.cost),
          memory: given.memory,
          args: given.prompt === undefined ? [] : [given.prompt]
        }
      )
    }), { fastCheck: { numRuns: 40 } })
})
