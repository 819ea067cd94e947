/** Going back in a whole conversation: the runtime as it is composed, a model that runs what it is told. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { layerProcess, layerWorkspace } from "../../src/app/Runtime.ts"
import { check } from "../../src/cli/Check.ts"
import * as Conversation from "../../src/cli/Conversation.ts"
import * as Parser from "../../src/cli/Parser.ts"
import * as Prompter from "../../src/cli/Prompter.ts"
import * as Spec from "../../src/cli/Spec.ts"
import { textOf } from "../../src/domain/MessageParts.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Signals } from "../../src/platform/Signals.ts"
import { type Line, Terminal } from "../../src/platform/Terminal.ts"
import { make } from "../../src/provider/Scenario.ts"
import type { Snapshots } from "../../src/snapshots/Snapshots.ts"
import { SessionStore, type StorageError } from "../../src/storage/SessionStore.ts"
import { picture } from "./support.ts"

/** Runs the prompt as a command line; `say` alone is answered in words. */
const obedient = make({
  name: "obedient",
  order: "first_match",
  turns: [
    {
      when: ({ messages, prompt }) => messages.at(-1)?.role === "tool" || prompt.endsWith("say"),
      text: "done",
      repeat: "forever"
    },
    {
      when: ({ prompt }) => prompt.endsWith("write"),
      calls: [{ name: "write", arguments: { path: "written.log", content: "by a tool" } }],
      repeat: "forever"
    },
    { calls: [{ name: "bash", arguments: ({ prompt }) => ({ command: prompt }) }], repeat: "forever" }
  ]
})

interface Course {
  readonly out: string
  readonly err: string
  readonly root: string
}

/** A person who types these; functions look at the workspace between two lines. */
const converse = (
  typed: ReadonlyArray<string | ((root: string) => void)>,
  options: {
    readonly settings?: object
    readonly argv?: ReadonlyArray<string>
    readonly vars?: Record<string, string>
  } = {},
  after: (root: string) => Effect.Effect<void, StorageError, SessionStore | Snapshots> = () => Effect.void
): Effect.Effect<Course> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-rewind-")))
      fs.mkdirSync(path.join(home, "work"))
      return home
    }),
    (home) => {
      const root = path.join(home, "work")
      const out: Array<string> = []
      const err: Array<string> = []
      let next = 0
      const readLine = (): Effect.Effect<Line> =>
        Effect.sync(() => {
          for (;;) {
            const one = typed[next++]
            if (one === undefined) return { type: "end" }
            if (typeof one === "string") return { type: "line", text: one }
            one(root)
          }
        })
      const platform = Layer.mergeAll(
        NodeFileSystem.layer,
        NodePath.layer,
        Environment.layerTest({
          cwd: root,
          home,
          stdin_is_tty: true,
          stdout_is_tty: true,
          vars: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: home, NO_COLOR: "1", ...options.vars }
        }),
        Dirs.layerTest(home),
        Terminal.layerTest({ out, err, readLine }),
        Signals.layer,
        Logger.remove(Logger.defaultLogger)
      )
      const runtime = layerWorkspace({
        directory: root,
        settings: JSON.stringify({
          model: "scripted/obedient",
          permissions: { "*": "allow" },
          sandbox: { mode: "off" },
          ...options.settings
        }),
        scenarios: [obedient],
        prompters: []
      }).pipe(Layer.provideMerge(layerProcess({ memory: true })), Layer.provideMerge(platform))
      return Effect.gen(function*() {
        const checked = check(options.argv ?? [])
        if (checked.kind !== "command") throw new Error(JSON.stringify(checked))
        const values = yield* Parser.parse(Spec.conversation, checked.argv)
        yield* Effect.scoped(Effect.flatMap(Prompter.shared, (shared) => Conversation.execute(values, shared)))
        yield* after(root)
        return { out: out.join(""), err: err.join(""), root }
      }).pipe(Effect.provide(runtime), Effect.orDie)
    },
    (home) => Effect.sync(() => fs.rmSync(home, { recursive: true, force: true }))
  )

const is = (name: string, content: string | null) => (root: string) => {
  const at = path.join(root, name)
  assert.strictEqual(fs.existsSync(at) ? fs.readFileSync(at, "utf8") : null, content, name)
}

const said = Effect.gen(function*() {
  const store = yield* SessionStore
  const [session] = yield* store.list({})
  const history = session === undefined ? [] : yield* store.history(session.id)
  return history.filter(({ role }) => role === "user").map(textOf)
})

describe("going back in a conversation", () => {
  it.live("/undo takes the message and its files, /redo brings both back, step by step", () =>
    Effect.gen(function*() {
      const { err, out } = yield* converse(
        [
          "printf 1 > a",
          "printf 2 > a; printf b > b; mkdir -p d/e; ln -s a l",
          "/undo",
          is("a", "1"),
          is("b", null),
          (root) => assert.deepStrictEqual(Object.keys(picture(root)), ["a"]),
          "/undo",
          is("a", null),
          "/undo",
          "/redo",
          is("a", "1"),
          is("b", null),
          "/redo",
          is("a", "2"),
          is("b", "b"),
          (root) => assert.strictEqual(fs.readlinkSync(path.join(root, "l")), "a"),
          "/redo"
        ],
        {},
        () => Effect.map(said, (texts) => assert.strictEqual(texts.length, 2))
      )
      assert.strictEqual(err.includes("error"), false, err)
      assert.include(out, "the message was:\nprintf 2 > a")
      assert.include(out, "there is no message to take back")
      assert.include(out, "there is nothing to bring back")
    }), 60_000)

  it.live("/rewind goes to any message: both, only the files, only the conversation", () =>
    Effect.gen(function*() {
      const { out } = yield* converse(
        [
          "printf 1 > a",
          "say",
          "printf 2 > a",
          "printf 3 > a",
          "/rewind",
          "3",
          "f",
          is("a", "1"),
          "/redo",
          is("a", "3"),
          "/rewind 1 conversation",
          is("a", "3"),
          "/redo",
          "/rewind 2 both",
          is("a", "1"),
          "/rewind 9",
          "/rewind sideways",
          "/rewind",
          ""
        ],
        {},
        () => Effect.map(said, (texts) => assert.deepStrictEqual(texts, ["printf 1 > a", "say"]))
      )
      assert.include(out, "  1  ")
      assert.include(out, "nothing was changed")
    }), 60_000)

  it.live(
    "what the person changes meanwhile is asked about, and /redo has it; a new message ends the way forward",
    () =>
      Effect.gen(function*() {
        const { out } = yield* converse([
          "printf 1 > a",
          "printf 2 > a",
          (root) => fs.writeFileSync(path.join(root, "a"), "mine"),
          "/undo",
          "n",
          is("a", "mine"),
          "/undo",
          "y",
          is("a", "1"),
          "/redo",
          is("a", "mine"),
          "/undo",
          "y",
          "printf new > n",
          "/redo",
          is("a", "1"),
          is("n", "new")
        ])
        assert.include(out, "changed since by somebody else")
        assert.include(out, "there is nothing to bring back")
      }),
    60_000
  )

  it.live("the model is told with the next message when the files alone went back", () =>
    converse(
      ["printf 1 > a", "printf 2 > a", "/rewind 1 files", "say"],
      {},
      () =>
        Effect.map(said, (texts) => assert.match(texts.at(-1) ?? "", /set the files of the workspace back.*\n\nsay$/s))
    ), 60_000)

  it.live(
    "an ignored file that a tool writes comes back; nothing is kept where checkpoints are off",
    () =>
      Effect.gen(function*() {
        const begin = (root: string) => {
          fs.writeFileSync(path.join(root, ".gitignore"), "*.log\n")
          fs.writeFileSync(path.join(root, "written.log"), "before")
        }
        yield* converse([
          begin,
          "cat written.log",
          "write",
          "/undo",
          is("written.log", "before")
        ], { argv: ["--checkpoints"] })
        for (const off of [{ argv: ["--no-checkpoints"] }, { settings: { checkpoints: false } }]) {
          const { out } = yield* converse([begin, "printf 1 > a", "/undo", is("a", "1")], off, (root) =>
            Effect.sync(() =>
              assert.isFalse(fs.existsSync(path.join(root, "..", "data", "snapshots")))
            ))
          assert.include(out, "changed: the conversation\n")
        }
      }),
    60_000
  )

  it.live(
    "without git the run goes on, it is told once, and the conversation alone goes back",
    () =>
      Effect.gen(function*() {
        const { err, out } = yield* converse(
          ["printf 1 > a", "printf 2 > a", "/undo", is("a", "2")],
          { vars: { PATH: "/nowhere" } },
          () => Effect.map(said, (texts) => assert.strictEqual(texts.length, 1))
        )
        assert.include(out + err, "there is no git on PATH")
      }),
    60_000
  )
})
