/** Runs of the agent that see what language servers say (reading 8.10), and go on when those misbehave. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as fs from "node:fs"
import type { TurnInput } from "../../src/provider/Scenario.ts"
import * as Agents from "../support/lsp/agent.ts"
import * as Servers from "../support/lsp/servers.ts"
import { eventually, gone } from "../support/processes.ts"

const limit = { timeout: 300_000 }

const edit = (path: string, old_string: string, new_string: string): TurnInput => ({
  calls: [{ name: "edit", arguments: { path, old_string, new_string } }]
})

const repairs = [
  {
    name: "pyright",
    servers: { pyright: { command: Servers.real.pyright.argv } },
    files: { "pyrightconfig.json": "{}", "price.py": "def total(prices: list[int]) -> int:\n    return sum(prices)\n" },
    file: "price.py",
    good: "return sum(prices)",
    bad: "return str(sum(prices))",
    says: "\"str\" is not assignable to"
  },
  {
    name: "TypeScript 7",
    servers: { typescript: { command: Servers.real.typescript7.argv } },
    files: {
      "tsconfig.json": JSON.stringify({ compilerOptions: { strict: true, noEmit: true } }),
      "price.ts": "export const total = (prices: ReadonlyArray<number>): number => prices.length\n"
    },
    file: "price.ts",
    good: "prices.length",
    bad: "String(prices.length)",
    says: "Type 'string' is not assignable to type 'number'"
  }
] as const

describe("8.10 a type error that an edit brings is seen in the next turn, and repaired", () => {
  for (const { bad, file, files, good, name, says, servers } of repairs) {
    for (const mode of ["off", "workspace"]) {
      it.live(`${name}, sandbox ${mode}`, () =>
        Effect.scoped(Effect.gen(function*() {
          const root = yield* Servers.project(files)
          const systems: Array<string> = []
          const note: TurnInput["when"] = ({ system }) => {
            systems.push(system)
            return true
          }
          const events = yield* Agents.run(root, {
            servers,
            // the servers may lie below /tmp, as these sources may
            settings: { sandbox: { mode, private_tmp: false } },
            turns: [
              { when: note, calls: [{ name: "read", arguments: { path: file } }] },
              { when: note, ...edit(file, good, bad) },
              {
                when: note,
                // a model that was not told would not know that there is something to repair
                expect: ({ system }) => system.includes(says) ? [] : [`the context says nothing of "${says}"`],
                ...edit(file, bad, good)
              },
              { when: note, text: "done" }
            ]
          })
          const end = Agents.end(events)
          assert.strictEqual(end?.type, "run.completed", JSON.stringify(end))
          const [, broken = "", repaired = ""] = Agents.outputs(events)
          assert.match(
            broken,
            new RegExp(`\\[diagnostics\\] this change brought 1 error to ${file}:\n${file}:\\d+:\\d+ error`)
          )
          assert.include(broken, says)
          assert.match(repaired, new RegExp(`\\[diagnostics\\] gone from ${file}: 1 error`))
          const [first = "", second = "", third = "", fourth = ""] = systems
          for (const quiet of [first, second, fourth]) assert.notInclude(quiet, says)
          assert.match(third, new RegExp(`- ${file}:\\d+:\\d+ error.*\\(new\\)`))
          assert.include(third, "Symbols you touched:")
          assert.strictEqual(third.indexOf(first), 0, "the beginning of the prompt stays as it was")
          assert.strictEqual(fs.readFileSync(`${root}/${file}`, "utf8"), files[file as keyof typeof files])
          assert.deepStrictEqual(Agents.notices(events), [])
        })), limit)
    }
  }
})

const hostile = (root: string, options: object) => ({
  hostile: {
    command: Servers.hostile({ pids: `${root}.pids`, log: `${root}.log`, ...options }).argv,
    extensions: [".txt"],
    initialize_timeout_ms: 1_500,
    request_timeout_ms: 1_500
  }
})

const call = (name: string, args: object): TurnInput => ({
  calls: [{ name, arguments: args as Record<string, unknown> }]
})

describe.concurrent("8.8 a server that misbehaves: the agent goes on, the user sees one line, nothing is left", () => {
  const ways = [
    ["cuts its headers anywhere", { cut: 3 }, 0],
    ["says a wrong length", { length_off: -1 }, 1],
    ["sends a huge message", { huge: 80_000_000 }, 1],
    ["never answers", { silent_on: ["initialize"] }, 1],
    ["never answers about a file", { push: false, silent_on: ["textDocument/documentSymbol"] }, 1],
    ["crashes on didOpen", { crash_on: "textDocument/didOpen" }, 1],
    ["ignores exit and TERM", { ignore_exit: true, ignore_term: true, silent_on: ["shutdown"] }, 0],
    ["floods", { flood: 3_000 }, 0],
    ["asks for 100 settings", { register: true }, 0],
    ["writes words to stdout", { noise: "Starting...\r\n\r\n" }, 1],
    ["ends at once", { exit_at_start: 3 }, 1],
    ["reads no more", { deaf: true, ignore_exit: true }, 1],
    ["has only errors", { errors: [{ code: -32_603, message: "no\u001b[2J\nway" }, { code: 1, message: "2" }] }, 0],
    ["has only errors for who asks", { push: false, pull: true, errors: [{ code: -32_603, message: "no" }] }, 1],
    ["answers null", { push: false, pull: true, junk: [null] }, 1],
    ["answers nonsense", { junk: [null, 7, "x", [[]], { uri: 7 }, { kind: "full", items: 7 }] }, 0],
    ["speaks of others, of older texts, of no places", { slander: true }, 0],
    ["registers and takes back, shows and edits", { fickle: 20 }, 0],
    ["reports progress of megabytes", { progress: 5_000_000 }, 0],
    ["is killed in the middle", { die_on: "textDocument/documentSymbol" }, 1],
    ["has children that will not go", { children: true, ignore_term: true }, 0]
  ] as const
  // only who never answers is waited for in vain: the machine may be busy
  const silent: ReadonlySet<string> = new Set(
    ["says a wrong length", "never answers", "never answers about a file", "reads no more"]
  )
  const patient = { initialize_timeout_ms: 60_000, request_timeout_ms: 60_000 }
  for (const [name, options, lines] of ways) {
    it.live(name, () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* Servers.project({ "a.txt": "one\n" })
        const events = yield* Agents.run(root, {
          ...(silent.has(name) ? { limits: { first_answer_ms: 2_000, settle_ms: 300 } } : {}),
          servers: { hostile: { ...hostile(root, options).hostile, ...(silent.has(name) ? {} : patient) } },
          turns: [
            call("read", { path: "a.txt" }),
            edit("a.txt", "one", "BAD two"),
            edit("a.txt", "BAD two", "three"),
            { text: "done" }
          ]
        })
        assert.strictEqual(Agents.end(events)?.type, "run.completed")
        const [, second = "", third = ""] = Agents.outputs(events)
        assert.include(second, "Edited a.txt")
        assert.include(third, "Edited a.txt")
        assert.strictEqual(Agents.notices(events).length, lines, Agents.notices(events).join("\n"))
        for (const line of Agents.notices(events)) {
          assert.notMatch(line, /\p{Cc}/u)
          assert.isAtMost(line.length, 2_000)
        }
        assert.strictEqual(fs.readFileSync(`${root}/a.txt`, "utf8"), "three\n")
        for (const pid of Servers.pidsIn(`${root}.pids`)) assert.isTrue(yield* gone(pid))
      })), limit)
  }

  it.live("a run that is cancelled while a server starts leaves nothing", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = yield* Servers.project({ "a.txt": "one\n" })
      const fiber = yield* Effect.fork(Agents.run(root, {
        servers: {
          hostile: { ...hostile(root, { silent_on: ["initialize"] }).hostile, initialize_timeout_ms: 100_000 }
        },
        turns: [edit("a.txt", "one", "two"), { text: "done" }]
      }))
      assert.isTrue(yield* eventually(() => Servers.pidsIn(`${root}.pids`).length > 0, 60_000))
      yield* Fiber.interrupt(fiber)
      for (const pid of Servers.pidsIn(`${root}.pids`)) assert.isTrue(yield* gone(pid))
    })), limit)
})

describe("2.3, 7.5 the lsp tool", () => {
  const files = { "a.txt": "BAD one\n", "secret/b.txt": "BAD two\n" }
  const rename = call("lsp", { action: "rename", path: "a.txt", line: 1, character: 1, new_name: "GOOD" })

  const inProject = (
    options: (root: string) => object,
    settings: object,
    turns: ReadonlyArray<TurnInput>,
    test: (root: string, outputs: ReadonlyArray<string>) => void
  ) =>
    Effect.scoped(Effect.gen(function*() {
      const root = yield* Servers.project(files)
      const events = yield* Agents.run(root, {
        servers: hostile(root, options(root)),
        settings,
        turns: [...turns, { text: "done" }]
      })
      assert.strictEqual(Agents.end(events)?.type, "run.completed")
      test(root, Agents.outputs(events))
    }))

  it.live(
    "rename writes what the server answered, and says what that did",
    () =>
      inProject(() => ({}), {}, [rename], (root, [output = ""]) => {
        assert.include(output, "Renamed to GOOD in 1 file:\nM a.txt (+1 -1)")
        assert.include(output, "+GOOD one")
        assert.include(output, "[diagnostics] gone from a.txt: 1 error")
        assert.strictEqual(fs.readFileSync(`${root}/a.txt`, "utf8"), "GOOD one\n")
      }),
    limit
  )

  it.live("its subjects are the files it would touch: a rule that denies one of them denies the call", () =>
    inProject(
      (root) => ({ rename_uri: `file://${root}/secret/b.txt` }),
      { permissions: [{ tool_pattern: "lsp(secret/*)", mode: "deny" }, { tool_pattern: "*", mode: "allow" }] },
      [call("lsp", { action: "hover", path: "a.txt", line: 1 }), rename],
      (root, [hover = "", output = ""]) => {
        assert.include(hover, "const a: 1")
        assert.include(output, "ERROR denied by rule \"lsp(secret/*)\"")
        assert.strictEqual(fs.readFileSync(`${root}/secret/b.txt`, "utf8"), files["secret/b.txt"])
      }
    ), limit)

  it.live("places in files that a rule denies it are left out", () =>
    inProject(
      () => ({ definition: "locations" }),
      { permissions: [{ tool_pattern: "lsp(c.txt)", mode: "deny" }, { tool_pattern: "*", mode: "allow" }] },
      [
        call("lsp", { action: "diagnostics", path: "a.txt" }),
        call("write", { path: "c.txt", content: "BAD three\n" }),
        call("lsp", { action: "diagnostics", path: "." })
      ],
      (_, [first = "", written = "", all = ""]) => {
        assert.include(first, "a.txt:1:1 error")
        assert.include(written, "[diagnostics] this change brought 1 error to c.txt")
        assert.include(all, "a.txt:1:1 error")
        assert.notInclude(all, "c.txt")
      }
    ), limit)

  it.live("in a sandbox, files outside the workspace are not touched", () =>
    inProject(
      (root) => ({ rename_uri: `file://${root}.outside` }),
      { sandbox: { mode: "workspace" } },
      [rename],
      (root, [output = ""]) => {
        fs.writeFileSync(`${root}.outside`, "")
        assert.match(output, /^ERROR /)
      }
    ), limit)

  it.live(
    "files made, moved or removed by a rename: nothing of it is applied",
    () =>
      inProject(() => ({ resource_edit: true }), {}, [rename], (root, [output = ""]) => {
        assert.include(output, "ERROR This change cannot be applied: it would create file:///tmp/evil")
        assert.strictEqual(fs.readFileSync(`${root}/a.txt`, "utf8"), files["a.txt"])
      }),
    limit
  )

  it.live("fixes are listed, and applied by their title", () =>
    inProject(
      () => ({}),
      {},
      [
        call("lsp", { action: "code_action", path: "a.txt", line: 1 }),
        call("lsp", { action: "code_action", path: "a.txt", line: 1, new_name: "Make it good" }),
        call("lsp", { action: "code_action", path: "a.txt", line: 1, new_name: "Make it GOOD" })
      ],
      (root, [list = "", wrong = "", done = ""]) => {
        assert.strictEqual(list, "Make it GOOD (quickfix) [preferred]")
        assert.include(wrong, "ERROR There is no fix of this title; the fixes are:\nMake it GOOD")
        assert.include(done, "Applied \"Make it GOOD\" in 1 file")
        assert.strictEqual(fs.readFileSync(`${root}/a.txt`, "utf8"), "GOOD one\n")
      }
    ), limit)

  it.live("definition, references, symbols, diagnostics; what is missing in a call is said", () =>
    inProject(
      () => ({ definition: "locations" }),
      {},
      [
        call("lsp", { action: "definition", path: "a.txt", line: 1 }),
        call("lsp", { action: "references", path: "a.txt", line: 1, character: 2 }),
        call("lsp", { action: "symbols", path: "a.txt" }),
        call("lsp", { action: "diagnostics", path: "a.txt" }),
        call("lsp", { action: "diagnostics", path: "." }),
        call("lsp", { action: "definition", path: "a.txt" }),
        call("lsp", { action: "rename", path: "a.txt", line: 1 }),
        call("lsp", { action: "hover", path: "nope.txt", line: 1 }),
        call("lsp", { action: "fly", path: "a.txt" })
      ],
      (_, outputs) => {
        const [definition, references, symbols, diagnostics, all, no_line, no_name, no_file, no_action] = outputs
        assert.strictEqual(definition, "a.txt:2:3\n/other place/100%.txt:2:3")
        assert.strictEqual(references, definition)
        assert.strictEqual(symbols, "No symbols.")
        assert.strictEqual(diagnostics, "a.txt:1:1 error E1: BAD is not allowed [hostile]")
        assert.strictEqual(all, diagnostics)
        assert.include(no_line, "ERROR definition needs a line")
        assert.include(no_name, "ERROR rename needs new_name")
        assert.include(no_file, "ERROR nope.txt does not exist")
        assert.include(no_action, "ERROR invalid input for lsp")
      }
    ), limit)

  it.live("in plan mode nothing is renamed", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = yield* Servers.project(files)
      const events = yield* Agents.run(root, { servers: hostile(root, {}), turns: [rename, { text: "done" }] }, {
        permission_mode: "plan"
      })
      assert.match(Agents.outputs(events)[0] ?? "", /^ERROR /)
      assert.strictEqual(fs.readFileSync(`${root}/a.txt`, "utf8"), files["a.txt"])
    })), limit)
})
