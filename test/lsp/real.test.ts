/** Real servers on small projects (readings 8.1 to 8.6, 8.9). Waits are for answers, never for a time. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type { LspClient } from "../../src/lsp/LspClient.ts"
import { uriOf } from "../../src/lsp/Uri.ts"
import { Files } from "../../src/platform/Files.ts"
import { Processes } from "../../src/platform/Processes.ts"
import * as Servers from "../support/lsp/servers.ts"
import { gone } from "../support/processes.ts"

const layer = Layer.mergeAll(Processes.layer, Files.layer, Logger.remove(Logger.defaultLogger))
const patience = 120_000
const limit = { timeout: 300_000 }

/** Odd on purpose: blanks, a percent sign, letters beyond ASCII. */
const odd = "my project 100% füß 😀"

const withClient = <A, E>(
  files: Readonly<Record<string, string>>,
  server: Servers.RealServer,
  test: (client: LspClient, root: string) => Effect.Effect<A, E>,
  more: Parameters<typeof Servers.startAt>[2] = {}
) =>
  Effect.scoped(Effect.gen(function*() {
    const root = yield* Servers.project(files, odd)
    let pid = 0
    yield* Effect.scoped(Effect.gen(function*() {
      const client = yield* Servers.startAt(root, server, more)
      pid = client.pid
      yield* test(client, root)
    }))
    assert.isAbove(pid, 0)
    assert.isTrue(yield* gone(pid), "nothing of the server runs")
  })).pipe(Effect.provide(layer))

const messages = (client: LspClient, path: string) =>
  Effect.map(client.diagnostics(uriOf(path), patience), ({ diagnostics, ready }) => ({
    ready,
    said: diagnostics.map((one) =>
      [one.range.start.line, one.range.start.character, one.severity, one.message] as const
    )
  }))

/** The offset of a text, as a position of the protocol in UTF-16 units. */
const at = (text: string, needle: string, nth = 0) => {
  let index = -1
  for (let n = 0; n <= nth; n++) index = text.indexOf(needle, index + 1)
  assert.isAtLeast(index, 0, needle)
  const before = text.slice(0, index).split("\n")
  return { line: before.length - 1, character: (before.at(-1) ?? "").length }
}

const python = {
  "pyrightconfig.json": "{}",
  "lib/tools.py": "def add(a: int, b: int) -> int:\r\n\t\"\"\"Adds 😀.\"\"\"\r\n\treturn a + b\r\n",
  "main file.py":
    "from lib.tools import add\r\n\r\ndef run() -> str:\r\n\ts = \"😀😀\"; value: int = add(1, 2)\r\n\treturn value\r\n"
}

const py = python["main file.py"]

const pyright = (name: string, more: Parameters<typeof Servers.startAt>[2]) =>
  it.live(`pyright, ${name}`, () =>
    withClient(python, Servers.real.pyright, (client, root) =>
      Effect.gen(function*() {
        const main = `${root}/main file.py`
        const first = yield* messages(client, main)
        assert.isTrue(first.ready)
        assert.strictEqual(first.said.length, 1)
        const [line, character, severity, message] = first.said[0] ?? []
        assert.deepStrictEqual({ line, character }, { line: 4, character: 8 })
        assert.strictEqual(severity, 1)
        assert.include(message ?? "", "int")

        const use = at(py, "add(1")
        const definition = yield* client.gotoDefinition(uriOf(main), use.line, use.character)
        assert.strictEqual(definition?.uri, uriOf(`${root}/lib/tools.py`))
        assert.deepStrictEqual(definition?.range.start, { line: 0, character: 4 })
        const references = yield* client.findReferences(uriOf(main), use.line, use.character)
        assert.strictEqual(references.length, 3)
        assert.isTrue(
          references.some(({ range, uri }) =>
            uri === uriOf(main) && range.start.line === use.line && range.start.character === use.character
          )
        )
        assert.include((yield* client.hover(uriOf(main), use.line, use.character)) ?? "", "-> int")
        const symbols = yield* client.documentSymbols(uriOf(main))
        assert.isTrue(symbols.some(({ kind, name }) => name === "run" && kind === "function"))

        const renamed = yield* client.rename(uriOf(main), use, "plus")
        assert.deepStrictEqual(renamed?.files.map(({ uri }) => uri).sort(), [
          uriOf(`${root}/lib/tools.py`),
          uriOf(main)
        ])
        const calls = yield* client.callHierarchy(uriOf(`${root}/lib/tools.py`), { line: 0, character: 4 }, "incoming")
        assert.deepStrictEqual(calls.map(({ symbol }) => symbol.name), ["run"])

        // repaired on disk: read again, nothing left
        Servers.write(root, "main file.py", py.replace("-> str", "-> int"))
        assert.deepStrictEqual(yield* messages(client, main), { ready: true, said: [] })
        Servers.write(root, "main file.py", py)
        assert.deepStrictEqual(yield* messages(client, main), first)
      }), more), limit)

describe("8.5 pull and push", () => {
  pyright("diagnostics are pulled", {})
  pyright("diagnostics are pushed", { pull: false })
})

const typescript = {
  "tsconfig.json": JSON.stringify({ compilerOptions: { strict: true, noEmit: true, module: "nodenext" } }),
  "package.json": "{\"type\":\"module\"}",
  "src/shape.ts":
    "export interface Shape {\r\n\treadonly name: string // 😀\r\n}\r\nexport const area = (s: Shape): number => s.name.length\r\n",
  "src/use it.ts":
    "import { area } from \"./shape.js\"\r\n\r\nconst label = \"😀é\"; export const size: string = area({ name: label })\r\n"
}
const ts = typescript["src/use it.ts"]

for (
  const [name, server] of [["TypeScript 5", Servers.real.typescript5], [
    "TypeScript 7",
    Servers.real.typescript7
  ]] as const
) {
  it.live(
    `${name}: what is wrong, where it comes from, who uses it`,
    () =>
      withClient(typescript, server, (client, root) =>
        Effect.gen(function*() {
          const file = `${root}/src/use it.ts`
          const first = yield* messages(client, file)
          assert.isTrue(first.ready)
          const place = at(ts, "size")
          assert.deepStrictEqual(
            first.said.filter(([, , severity]) => severity === 1).map(([line, character]) => ({ line, character })),
            [place]
          )
          assert.include(first.said[0]?.[3] ?? "", "'number' is not assignable to type 'string'")

          const use = at(ts, "area({")
          const definition = yield* client.gotoDefinition(uriOf(file), use.line, use.character)
          assert.strictEqual(definition?.uri, uriOf(`${root}/src/shape.ts`))
          assert.deepStrictEqual(definition?.range.start, { line: 3, character: 13 })
          const references = yield* client.findReferences(uriOf(file), use.line, use.character)
          assert.isTrue(
            references.some(({ range, uri }) =>
              uri === uriOf(file) && range.start.line === use.line && range.start.character === use.character
            ),
            JSON.stringify(references)
          )
          assert.include((yield* client.hover(uriOf(file), use.line, use.character)) ?? "", "Shape")
          assert.isTrue((yield* client.documentSymbols(uriOf(file))).some((symbol) => symbol.name === "size"))
          const renamed = yield* client.rename(uriOf(file), use, "extent")
          assert.strictEqual(renamed?.unsupported, null)
          assert.strictEqual(renamed?.files.length, 2)

          Servers.write(root, "src/use it.ts", ts.replace(": string", ": number"))
          const second = yield* messages(client, file)
          assert.deepStrictEqual(second.said.filter(([, , severity]) => severity === 1), [])
          Servers.write(root, "src/use it.ts", ts)
          const third = yield* messages(client, file)
          assert.deepStrictEqual(third.said, first.said)
        })),
    limit
  )
}

const clang = {
  "compile_flags.txt": "-xc\n-std=c11\n-Wall\n",
  "lib/sum.h": "int sum(int a, int b); // \u{1F600}\r\n",
  "main \u{1F600}.c":
    "#include \"lib/sum.h\"\r\n\r\nint main(void) {\r\n\t/* \u{1F600}\u{1F600} */ int n = sum(1, 2);\r\n\tchar *s = n;\r\n\treturn undeclared + s[0];\r\n}\r\n"
}
const c = clang["main \u{1F600}.c"]

const noClangd = Servers.missing("clangd")
if (noClangd !== null) console.warn(`clangd is not tested: ${noClangd}`)

it.live.skipIf(noClangd !== null)(
  "clangd: pushed, UTF-16 though it ignores what is offered",
  () =>
    withClient(clang, Servers.real.clangd, (client, root) =>
      Effect.gen(function*() {
        const file = `${root}/main \u{1F600}.c`
        const first = yield* messages(client, file)
        assert.isTrue(first.ready)
        const place = at(c, "undeclared")
        const undeclared = first.said.find(([, , , message]) => message.includes("undeclared"))
        assert.deepStrictEqual(undeclared?.slice(0, 3), [place.line, place.character, 1])
        const use = at(c, "sum(1")
        const definition = yield* client.gotoDefinition(uriOf(file), use.line, use.character)
        assert.strictEqual(definition?.uri, uriOf(`${root}/lib/sum.h`))
        assert.deepStrictEqual(definition?.range.start, { line: 0, character: 4 })
        const references = yield* client.findReferences(uriOf(file), use.line, use.character)
        assert.isTrue(
          references.some(({ range }) => range.start.line === use.line && range.start.character === use.character)
        )
        assert.include((yield* client.hover(uriOf(file), use.line, use.character)) ?? "", "sum")
        assert.isTrue((yield* client.documentSymbols(uriOf(file))).some(({ name }) => name === "main"))

        Servers.write(
          root,
          "main \u{1F600}.c",
          c.replace("undeclared + s[0]", "n").replace("\tchar *s = n;\r\n", "")
        )
        assert.deepStrictEqual(yield* messages(client, file), { ready: true, said: [] })
        Servers.write(root, "main \u{1F600}.c", c)
        assert.deepStrictEqual(yield* messages(client, file), first)
      })),
  limit
)

const shell = {
  "lib.sh": "greet() {\n\techo \"\u{1F600} $1\"\n}\n",
  "run it.sh": "#!/bin/bash\nsource ./lib.sh\n# \u{1F600}\ngreet you\nsay() { echo \"$1\"; }\n\tsay x; say y\n"
}
const sh = shell["run it.sh"]

it.live(
  "bash-language-server: definition, references, hover, symbols",
  () =>
    withClient(shell, Servers.real.bash, (client, root) =>
      Effect.gen(function*() {
        const file = `${root}/run it.sh`
        assert.isTrue((yield* messages(client, file)).ready)
        const use = at(sh, "say x")
        const definition = yield* client.gotoDefinition(uriOf(file), use.line, use.character)
        assert.strictEqual(definition?.uri, uriOf(file))
        assert.strictEqual(definition?.range.start.line, at(sh, "say()").line)
        const references = yield* client.findReferences(uriOf(file), use.line, use.character)
        assert.deepStrictEqual(
          references.filter(({ uri }) => uri === uriOf(file)).map(({ range }) => range.start.character).toSorted((
            a,
            b
          ) => a - b),
          [0, 1, 8]
        )
        assert.isTrue((yield* client.documentSymbols(uriOf(file))).some(({ name }) => name === "say"))
        assert.include((yield* client.hover(uriOf(file), use.line, use.character)) ?? "", "say")
      })),
  limit
)

const noShellcheck = Servers.missing("shellcheck")
if (noShellcheck !== null) console.warn(`diagnostics of bash-language-server are not tested: ${noShellcheck}`)

it.live.skipIf(noShellcheck !== null)(
  "bash-language-server: what shellcheck says, at its place; gone when it is repaired",
  () => {
    const text = "#!/bin/bash\n# \u{1F600}\nf() {\n\techo $1\n}\nf \"é\"\n"
    return withClient({ "run 50%.sh": text }, Servers.real.bash, (client, root) =>
      Effect.gen(function*() {
        const file = `${root}/run 50%.sh`
        const first = yield* messages(client, file)
        assert.isTrue(first.ready)
        const place = at(text, "$1")
        assert.deepStrictEqual(first.said.map((one) => one.slice(0, 2)), [[place.line, place.character]])
        assert.include(first.said[0]?.[3] ?? "", "Double quote to prevent globbing")
        Servers.write(root, "run 50%.sh", text.replace("$1", "\"$1\""))
        assert.deepStrictEqual(yield* messages(client, file), { ready: true, said: [] })
        Servers.write(root, "run 50%.sh", text)
        assert.deepStrictEqual(yield* messages(client, file), first)
      }))
  },
  limit
)

it.live("vscode json: what a schema says, at its place; hover", () => {
  const text = "{\r\n\t\"\u{1F600}\": \"é\", \"size\": \"large\"\r\n}\r\n"
  const schema = { properties: { size: { type: "number", description: "How large it is." } } }
  return withClient({ "my 100% data.json": text }, {
    ...Servers.real.json,
    options: {
      ...Servers.real.json.options,
      settings: { json: { validate: { enable: true }, schemas: [{ fileMatch: ["*data.json"], schema }] } }
    }
  }, (client, root) =>
    Effect.gen(function*() {
      const file = `${root}/my 100% data.json`
      const first = yield* messages(client, file)
      assert.isTrue(first.ready)
      const place = at(text, "\"large\"")
      assert.deepStrictEqual(first.said.map((one) => one.slice(0, 2)), [[place.line, place.character]])
      assert.include(first.said[0]?.[3] ?? "", "number")
      const key = at(text, "size")
      assert.include((yield* client.hover(uriOf(file), key.line, key.character)) ?? "", "How large it is.")
      Servers.write(root, "my 100% data.json", text.replace("\"large\"", "3"))
      assert.deepStrictEqual(yield* messages(client, file), { ready: true, said: [] })
    }))
}, limit)

it.live("vscode json: what is no JSON, at its place; symbols", () => {
  const text = "{\r\n\t\"\u{1F600}\": 1, \"a\": tru,\r\n\t\"b\": [1, 2]\r\n}\r\n"
  return withClient({ "my data.json": text }, Servers.real.json, (client, root) =>
    Effect.gen(function*() {
      const file = `${root}/my data.json`
      const first = yield* messages(client, file)
      assert.isTrue(first.ready)
      const place = at(text, "tru")
      assert.deepStrictEqual(first.said[0]?.slice(0, 3), [place.line, place.character, 1])
      assert.deepStrictEqual((yield* client.documentSymbols(uriOf(file))).map(({ name }) => name), [
        "\u{1F600}",
        "b",
        "0",
        "1"
      ])
      Servers.write(root, "my data.json", text.replace("tru,", "true,"))
      assert.deepStrictEqual(yield* messages(client, file), { ready: true, said: [] })
    }))
}, limit)

it.live("vscode css: a property nobody knows; definition, references, hover", () => {
  const text = "/* \u{1F600} */ :root { --main: red; }\r\n\ta { colr: var(--main); color: var(--main) }\r\n"
  return withClient({ "s.css": text }, Servers.real.css, (client, root) =>
    Effect.gen(function*() {
      const file = `${root}/s.css`
      const first = yield* messages(client, file)
      assert.isTrue(first.ready)
      const place = at(text, "colr")
      assert.deepStrictEqual(first.said.map((one) => one.slice(0, 2)), [[place.line, place.character]])
      const use = at(text, "--main", 1)
      const definition = yield* client.gotoDefinition(uriOf(file), use.line, use.character)
      const declared = at(text, "--main")
      assert.strictEqual(definition?.range.start.line, declared.line)
      const references = yield* client.findReferences(uriOf(file), use.line, use.character)
      assert.strictEqual(references.length, 3)
      const colour = at(text, "color:")
      assert.include((yield* client.hover(uriOf(file), colour.line, colour.character)) ?? "", "color")
      const renamed = yield* client.rename(uriOf(file), use, "--other")
      assert.deepStrictEqual(
        renamed?.files.map(({ edits, text: meant, uri }) => [uri, edits.length, meant === text]),
        [[uriOf(file), 3, true]]
      )
      Servers.write(root, "s.css", text.replace("colr", "background"))
      assert.deepStrictEqual(yield* messages(client, file), { ready: true, said: [] })
      Servers.write(root, "s.css", text)
      assert.deepStrictEqual(yield* messages(client, file), first)
    }))
}, limit)
