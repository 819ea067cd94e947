/**
 * Changes that a language server wants made, under the Guard (readings 2.3, 7.5): all of it or nothing, only what rules
 * allow, only over the text that the server was asked about.
 */
import { assert, describe, it } from "@effect/vitest"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import { Workspace } from "../../src/domain/Workspace.ts"
import { uriOf } from "../../src/lsp/Uri.ts"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Files } from "../../src/platform/Files.ts"
import type { TurnInput } from "../../src/provider/Scenario.ts"
import { Changes } from "../../src/tools/Changes.ts"
import { FileState } from "../../src/tools/FileState.ts"
import * as Edits from "../../src/tools/lsp/Edits.ts"
import { Paths } from "../../src/tools/Paths.ts"
import { ToolFailure } from "../../src/tools/Tool.ts"
import * as Agents from "../support/lsp/agent.ts"
import * as Servers from "../support/lsp/servers.ts"
import { gone } from "../support/processes.ts"

const limit = { timeout: 180_000 }

const call = (args: object): TurnInput => ({
  calls: [{ name: "lsp", arguments: { path: "a.txt", line: 1, ...args } }]
})
const rename = call({ action: "rename", character: 1, new_name: "GOOD" })
const fix = call({ action: "code_action", new_name: "fix" })

const range = (line: number, from: number, to: number) => ({
  start: { line, character: from },
  end: { line, character: to }
})
const put = (newText: string, from = 0, to = 3) => ({ range: range(0, from, to), newText })

const files = { "a.txt": "BAD one\n", "secret/b.txt": "BAD two\n", "c.txt": "BAD three\n" }

const untouched = (root: string) => {
  for (const [file, text] of Object.entries(files)) {
    assert.strictEqual(fs.readFileSync(path.join(root, file), "utf8"), text, file)
  }
}

/** The outputs of the calls, with a server that answers as told. */
const inProject = (
  options: (root: string) => object,
  more: { readonly settings?: object; readonly turns: ReadonlyArray<TurnInput>; readonly mode?: "plan" },
  test: (root: string, outputs: ReadonlyArray<string>) => void
) =>
  Effect.scoped(Effect.gen(function*() {
    const root = yield* Servers.project(files)
    fs.writeFileSync(`${root}.outside`, "BAD four\n")
    const pids = `${root}.pids`
    const events = yield* Agents.run(root, {
      servers: {
        hostile: { command: Servers.hostile({ pids, ...options(root) }).argv, extensions: [".txt"] }
      },
      turns: [...more.turns, { text: "done" }],
      ...(more.settings === undefined ? {} : { settings: more.settings })
    }, more.mode === undefined ? {} : { permission_mode: more.mode })
    assert.strictEqual(Agents.end(events)?.type, "run.completed")
    test(root, Agents.outputs(events))
    for (const pid of Servers.pidsIn(pids)) assert.isTrue(yield* gone(pid))
  }))

const at = (root: string, file: string) => uriOf(path.join(root, file))

/** As the answer to a rename, and as a fix of this title. */
const answering = (edit: (root: string) => object) => (root: string) => ({
  edit: edit(root),
  actions: [{ title: "fix", edit: edit(root) }]
})

describe.concurrent("all of it or nothing", () => {
  const refused: ReadonlyArray<readonly [string, (root: string) => object, string]> = [
    [
      "edits that overlap",
      (root) => ({ changes: { [at(root, "c.txt")]: [put("x")], [at(root, "a.txt")]: [put("x"), put("y", 2, 5)] } }),
      "The server's edits of a.txt overlap. Nothing was changed."
    ],
    [
      "a range that ends before it begins",
      (root) => ({ changes: { [at(root, "a.txt")]: [{ range: range(0, 5, 2), newText: "x" }] } }),
      "overlap. Nothing was changed."
    ],
    [
      "a file that is not there",
      (root) => ({ changes: { [at(root, "a.txt")]: [put("x")], [at(root, "new.txt")]: [put("x", 0, 0)] } }),
      "This change touches new.txt, which does not exist. Nothing was changed."
    ],
    [
      "one file under two spellings",
      (root) => ({ changes: { [at(root, "a.txt")]: [put("x")], [`file://${root}/%61.txt`]: [put("y")] } }),
      "This change names a.txt twice. Nothing was changed."
    ],
    [
      "something that is no file",
      (root) => ({ changes: { [at(root, "a.txt")]: [put("x")], "untitled:Untitled-1": [put("x")] } }),
      "This change touches untitled:Untitled-1, which is no file. Nothing was changed."
    ],
    ...[
      ["create", (root: string) => ({ kind: "create", uri: at(root, "new.txt") })],
      ["rename", (root: string) => ({ kind: "rename", oldUri: at(root, "c.txt"), newUri: at(root, "d.txt") })],
      ["delete", (root: string) => ({ kind: "delete", uri: at(root, "c.txt") })]
    ].map(([kind, operation]) =>
      [
        `a file to ${String(kind)}`,
        (root: string) => ({
          documentChanges: [
            { textDocument: { uri: at(root, "a.txt"), version: null }, edits: [put("x")] },
            typeof operation === "function" ? operation(root) : operation
          ]
        }),
        `This change cannot be applied: it would ${String(kind)} file://`
      ] as const
    )
  ]
  for (const [name, edit, says] of refused) {
    it.live(name, () =>
      inProject(answering(edit), { turns: [rename, fix] }, (root, outputs) => {
        assert.strictEqual(outputs.length, 2)
        for (const output of outputs) {
          assert.match(output, /^ERROR /)
          assert.include(output, says)
        }
        untouched(root)
        assert.isFalse(fs.existsSync(`${root}/new.txt`))
      }), limit)
  }

  it.live("insertions at one place, the whole document, beyond the end", () =>
    inProject(
      answering((root) => ({
        changes: {
          [at(root, "a.txt")]: [put("1", 4, 4), put("2", 4, 4)],
          [at(root, "c.txt")]: [{ range: { ...range(0, 0, 0), end: { line: 99, character: 99 } }, newText: "all\r\n" }]
        }
      })),
      { turns: [rename] },
      (root, [output = ""]) => {
        assert.include(output, "Renamed to GOOD in 2 files:\nM a.txt (+1 -1)\nM c.txt (+1 -1)")
        assert.strictEqual(fs.readFileSync(`${root}/a.txt`, "utf8"), "BAD 12one\n")
        assert.strictEqual(fs.readFileSync(`${root}/c.txt`, "utf8"), "all\r\n")
      }
    ), limit)

  it.live("a file that cannot be written: those before it are taken back", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = yield* Servers.project(files)
      yield* Effect.gen(function*() {
        const changes = yield* Changes
        const paths = yield* Paths
        const plan = Edits.plan({
          unsupported: null,
          files: ["a.txt", "c.txt", "secret/b.txt"].map((file) => ({
            uri: at(root, file),
            edits: [{ range: range(0, 0, 3), new_text: "GOOD" }],
            text: null
          }))
        }, { changes, paths })
        const stuck: typeof changes = {
          ...changes,
          write: (session_id, file, ...rest) =>
            file.endsWith("b.txt")
              ? Effect.fail(new ToolFailure({ message: "no space left" }))
              : changes.write(session_id, file, ...rest)
        }
        const error = yield* Effect.flip(Edits.apply("s", yield* plan, stuck))
        assert.strictEqual(error.message, "The change was not applied; nothing was changed. no space left")
        untouched(root)
        yield* Edits.apply("s", yield* plan, changes)
        assert.strictEqual(fs.readFileSync(`${root}/secret/b.txt`, "utf8"), "GOOD two\n")
      }).pipe(
        Effect.provide(Changes.layer.pipe(
          Layer.provideMerge(Layer.merge(Paths.layer, FileState.layer)),
          Layer.provide(Layer.mergeAll(
            AtomicFile.layer,
            NodePath.layer,
            Layer.succeed(Workspace, { root, cwd: root }),
            Dirs.layerTest(`${root}.home`)
          )),
          Layer.provideMerge(Files.layer)
        ))
      )
    })), limit)
})

describe("only what rules allow", () => {
  const both = answering((root) => ({
    changes: { [at(root, "a.txt")]: [put("x")], [at(root, "secret/b.txt")]: [put("y")] }
  }))
  it.live("one file of many is denied: none is changed", () =>
    inProject(
      both,
      {
        settings: {
          permissions: [{ tool_pattern: "lsp(secret/*)", mode: "deny" }, { tool_pattern: "*", mode: "allow" }]
        },
        turns: [rename, fix]
      },
      (root, outputs) => {
        for (const output of outputs) assert.include(output, "ERROR denied by rule \"lsp(secret/*)\"")
        untouched(root)
      }
    ), limit)

  it.live("a rule over every tool holds too, however the server spells the path", () =>
    inProject(
      answering((root) => ({ changes: { [`file://${root}/x/../%73ecret/./b.txt`]: [put("y")] } })),
      {
        settings: {
          permissions: [{ tool_pattern: "*(secret/*)", mode: "deny" }, { tool_pattern: "*", mode: "allow" }]
        },
        turns: [rename, fix]
      },
      (root, outputs) => {
        for (const output of outputs) assert.include(output, "ERROR denied by rule \"*(secret/*)\"")
        untouched(root)
      }
    ), limit)

  it.live("nobody can be asked: nothing is changed; what only looks goes on", () =>
    inProject(
      both,
      {
        settings: { permissions: [{ tool_pattern: "*", mode: "prompt" }] },
        turns: [rename, fix]
      },
      (root, outputs) => {
        for (const output of outputs) assert.match(output, /^ERROR /)
        untouched(root)
      }
    ), limit)

  it.live(
    "plan mode: fixes are listed and not applied",
    () =>
      inProject(
        both,
        { mode: "plan", turns: [call({ action: "code_action" }), fix] },
        (root, [list = "", applied = ""]) => {
          assert.strictEqual(list, "fix")
          assert.match(applied, /^ERROR /)
          untouched(root)
        }
      ),
    limit
  )

  it.live("a file outside the workspace, in a sandbox", () =>
    inProject(
      answering((root) => ({ changes: { [at(root, "a.txt")]: [put("x")], [uriOf(`${root}.outside`)]: [put("y")] } })),
      { settings: { sandbox: { mode: "workspace" } }, turns: [rename, fix] },
      (root, outputs) => {
        for (const output of outputs) assert.match(output, /^ERROR /)
        untouched(root)
        assert.strictEqual(fs.readFileSync(`${root}.outside`, "utf8"), "BAD four\n")
      }
    ), limit)
})

describe("only over the text that was asked about", () => {
  it.live("8.4 an edit of an older version", () =>
    inProject(
      () => ({ version_off: 7 }),
      { turns: [rename] },
      (root, [output = ""]) => {
        assert.include(output, "answered with an edit of an older text of")
        untouched(root)
      }
    ), limit)

  it.live("a file that changes between the question and the change", () =>
    inProject(
      answering((root) => ({ changes: { [at(root, "c.txt")]: [put("x")], [at(root, "a.txt")]: [put("x")] } })),
      {
        // after the server has been asked, and the rules; before the tool. Files that a hook names are protected
        settings: {
          hooks: [{ event: "pre_tool_use", tool_pattern: "lsp", command: "echo meanwhile >> \"$(printf a.%s txt)\"" }]
        },
        turns: [rename]
      },
      (root, [output = ""]) => {
        assert.include(output, "ERROR a.txt has changed since the server was asked. Nothing was changed; ask again.")
        assert.strictEqual(fs.readFileSync(`${root}/a.txt`, "utf8"), "BAD one\nmeanwhile\n")
        assert.strictEqual(fs.readFileSync(`${root}/c.txt`, "utf8"), files["c.txt"])
      }
    ), limit)

  it.live("a text that the server cannot have seen as it is: not UTF-8", () =>
    Effect.scoped(Effect.gen(function*() {
      const root = yield* Servers.project(files)
      const latin = Buffer.from("BAD \xe9\xe8 one\n", "latin1")
      fs.writeFileSync(`${root}/c.txt`, latin)
      const edit = { changes: { [at(root, "c.txt")]: [put("x", 5, 6)] } }
      const events = yield* Agents.run(root, {
        servers: { hostile: { command: Servers.hostile({ edit }).argv, extensions: [".txt"] } },
        turns: [rename, { text: "done" }]
      })
      const [output = ""] = Agents.outputs(events)
      assert.include(output, "ERROR c.txt is not the text that the server's edits are for")
      assert.isTrue(fs.readFileSync(`${root}/c.txt`).equals(latin))
    })), limit)
})
