/** Runs of the agent that see what language servers say (reading 8.10), and go on when those misbehave. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import type { TurnInput } from "../../src/provider/Scenario.ts"
import * as Agents from "../support/lsp/agent.ts"
import * as Servers from "../support/lsp/servers.ts"
import { gone } from "../support/processes.ts"

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
            settings: { sandbox: { mode } },
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
