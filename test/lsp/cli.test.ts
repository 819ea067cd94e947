/** `hanzo-dev lsp ...` for people and for CI: what is printed, and the exit code. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { check } from "../../src/cli/Check.ts"
import type { CliExit } from "../../src/cli/Exit.ts"
import * as Lsp from "../../src/cli/Lsp.ts"
import * as Schemas from "../../src/cli/LspSchemas.ts"
import * as Parser from "../../src/cli/Parser.ts"
import * as Slash from "../../src/cli/slash/Lsp.ts"
import * as Spec from "../../src/cli/Spec.ts"
import { Lsp as Service } from "../../src/lsp/Lsp.ts"
import { uriOf } from "../../src/lsp/Uri.ts"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import { Terminal } from "../../src/platform/Terminal.ts"
import * as Rooms from "../support/lsp/room.ts"
import * as Servers from "../support/lsp/servers.ts"
import { gone } from "../support/processes.ts"

const limit = { timeout: 180_000 }

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

const valuesOf = <S extends Spec.CommandSpec>(spec: S, argv: ReadonlyArray<string>) => {
  const checked = check([...spec.path, ...argv])
  if (checked.kind !== "command") throw new Error(JSON.stringify(checked))
  return Parser.parse(spec, checked.argv)
}

type Services = Layer.Layer.Success<ReturnType<typeof Rooms.layerOf>> | AtomicFile | Terminal

const inProject = <E>(
  files: Readonly<Record<string, string>>,
  options: object,
  test: (
    run: <S extends Spec.CommandSpec>(
      spec: S,
      execute: (values: Spec.Values<S>) => Effect.Effect<number, CliExit, Services>,
      ...argv: ReadonlyArray<string>
    ) => Effect.Effect<Ended>,
    root: string
  ) => Effect.Effect<void, E>,
  path = "/usr/bin:/bin"
) =>
  Effect.scoped(Effect.gen(function*() {
    const root = yield* Servers.project(files)
    const servers = {
      hostile: { command: Servers.hostile(options).argv, extensions: [".txt"], language_ids: { ".txt": "plaintext" } },
      json: { disabled: true }
    }
    yield* test(
      (spec, execute, ...argv) => {
        const out: Array<string> = []
        const err: Array<string> = []
        return Effect.flatMap(valuesOf(spec, argv), execute).pipe(
          Effect.provide(
            Layer.mergeAll(
              Rooms.layerOf(root, { servers, path }),
              AtomicFile.layer,
              Terminal.layerTest({ out, err })
            )
          ),
          Effect.either,
          Effect.map((ended) => ({
            code: Either.isRight(ended) ? ended.right : ended.left.exit_code,
            out: out.join(""),
            err: err.join("") + (Either.isLeft(ended) ? ended.left.lines.join("\n") : "")
          }))
        )
      },
      root
    )
  }))

const files = { "a.txt": "fine\n\tBAD \u{1F600} BAD\n", "b.txt": "fine\n", "c.other": "x\n" }

const place = (line: number, character: number) => ({ line, character })
const outOfOrder = [
  { message: "third", severity: 3, source: "y", code: 7, range: { start: place(1, 0), end: place(1, 0) } },
  { message: "second", range: { start: place(0, 2), end: place(0, 3) } },
  { message: "first", severity: 2, source: "x", range: { start: place(0, 0), end: place(0, 3) } }
]

describe("lsp diagnostics", () => {
  it.live(
    "1 with an error, 0 without; FILE:LINE:COLUMN from 1",
    () =>
      inProject(files, {}, (run) =>
        Effect.gen(function*() {
          const wrong = yield* run(Spec.lspDiagnostics, Lsp.diagnostics, "a.txt", "b.txt")
          assert.deepStrictEqual(wrong, {
            code: 1,
            out:
              "a.txt:2:2: error: BAD is not allowed [hostile E1]\na.txt:2:9: error: BAD is not allowed [hostile E1]\n",
            err: ""
          })
          assert.deepStrictEqual(yield* run(Spec.lspDiagnostics, Lsp.diagnostics, "b.txt"), {
            code: 0,
            out: "",
            err: ""
          })
        })),
    limit
  )

  it.live(
    "2 when a server could not answer, or there is none, or no such file",
    () =>
      inProject(files, { push: false }, (run, root) =>
        Effect.gen(function*() {
          const silent = yield* run(Spec.lspDiagnostics, Lsp.diagnostics, "b.txt", "--timeout-ms", "1500")
          assert.strictEqual(silent.code, 2)
          assert.include(silent.err, "has not looked at")
          assert.include(silent.err, "does not mean that there are no errors")
          const none = yield* run(Spec.lspDiagnostics, Lsp.diagnostics, "c.other")
          assert.strictEqual(none.code, 2)
          assert.include(none.err, `no language server is known for ${root}/c.other`)
          const missing = yield* run(Spec.lspDiagnostics, Lsp.diagnostics, "nope.txt")
          assert.deepStrictEqual(missing, { code: 2, out: "", err: "there is no file nope.txt" })
          assert.include((yield* run(Spec.lspDiagnostics, Lsp.diagnostics, ".")).err, ". is no file")
        })),
    limit
  )

  it.live(
    "many files: an error is 1 whatever else is wrong; each is asked once, sorted by its places",
    () =>
      inProject(
        { ...files, "d.txt": "x\n" },
        { push_delay: 20, diagnostics: outOfOrder },
        (run, root) =>
          Effect.gen(function*() {
            fs.writeFileSync(`${root}/large.txt`, "x".repeat(2 * 1024 * 1024 + 1))
            fs.symlinkSync("b.txt", `${root}/link.txt`)
            const { code, err, out } = yield* run(
              Spec.lspDiagnostics,
              Lsp.diagnostics,
              "b.txt",
              "link.txt",
              "c.other",
              "large.txt",
              "./b.txt"
            )
            assert.strictEqual(code, 1)
            assert.strictEqual(
              out,
              "b.txt:1:1: warning: first [x]\nb.txt:1:3: error: second\nb.txt:2:1: info: third [y 7]\n"
            )
            assert.include(err, `${root}/large.txt is larger than 2 MiB, which language servers are not told\n`)
            assert.include(err, `no language server is known for ${root}/c.other\n`)
          })
      ),
    limit
  )

  it.live(
    "what only warns is 0; a file outside, a directory, a pipe, a place: 2 and why",
    () =>
      inProject(files, { diagnostics: [{ ...outOfOrder[2], severity: 2 }] }, (run, root) =>
        Effect.gen(function*() {
          assert.strictEqual((yield* run(Spec.lspDiagnostics, Lsp.diagnostics, "b.txt")).code, 0)
          execFileSync("mkfifo", [`${root}/pipe.txt`])
          fs.symlinkSync("nowhere.txt", `${root}/dangling.txt`)
          for (
            const [file, says] of [
              [process.execPath, `is outside the workspace ${root}; language servers look only inside`],
              [".", ". is no file"],
              ["pipe.txt", "pipe.txt is no file"],
              ["dangling.txt", "there is no file dangling.txt"],
              ["b.txt:1", "there is no file b.txt:1"]
            ] as const
          ) {
            const ended = yield* run(Spec.lspDiagnostics, Lsp.diagnostics, file)
            assert.deepStrictEqual([ended.code, ended.out], [2, ""], file)
            assert.include(ended.err, says)
          }
        })),
    limit
  )

  it.live(
    "a server that answers with an error, ends, or has nothing to say in time: 2, one line each",
    () =>
      Effect.forEach(
        [
          [{ pull: true, push: false, errors: [{ code: 1, message: "no\nlicence" }] }, "with an error: no"],
          [{ crash_on: "textDocument/didOpen" }, "ended (exit code 7); the last it wrote to stderr: going down"],
          [{ exit_at_start: 3 }, "ended (exit code 3)"]
        ] as const,
        ([options, says]) =>
          inProject(files, options, (run) =>
            Effect.gen(function*() {
              const { code, err, out } = yield* run(Spec.lspDiagnostics, Lsp.diagnostics, "b.txt", "--json")
              assert.strictEqual(code, 2)
              assert.strictEqual(err, "")
              const document = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.LspDiagnostics))(out)
              assert.isFalse(document.ok)
              assert.isFalse(document.files[0]?.ready)
              assert.include(document.files[0]?.problems[0]?.message, says)
            })),
        { discard: true }
      ),
    limit
  )

  it.live(
    "--json: HIP-301's diagnostics, positions from 0",
    () =>
      inProject(files, {}, (run, root) =>
        Effect.gen(function*() {
          const { code, out } = yield* run(Spec.lspDiagnostics, Lsp.diagnostics, "a.txt", "--json")
          assert.strictEqual(code, 1)
          const document = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.LspDiagnostics))(out)
          assert.isFalse(document.ok)
          assert.deepStrictEqual(document.files[0]?.diagnostics[1], {
            uri: uriOf(`${root}/a.txt`),
            range: { start: { line: 1, character: 8 }, end: { line: 1, character: 11 } },
            severity: 1,
            message: "BAD is not allowed",
            source: "hostile",
            code: "E1"
          })
        })),
    limit
  )
})

describe("lsp definition, references, hover, symbols, rename, status, doctor", () => {
  it.live(
    "places and texts; what is no place is said",
    () =>
      inProject(files, {}, (run, root) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* run(Spec.lspDefinition, Lsp.definition, "a.txt:1:1"), {
            code: 0,
            out: "a.txt:2:3\n",
            err: ""
          })
          const references = yield* run(Spec.lspReferences, Lsp.references, "a.txt:2", "--json")
          const { locations } = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.LspLocations))(references.out)
          assert.deepStrictEqual(locations.map(({ uri }) => uri), [uriOf(`${root}/a.txt`)])
          assert.deepStrictEqual(yield* run(Spec.lspHover, Lsp.hover, "a.txt:2:3"), {
            code: 0,
            out: "const a: 1\nwords\n",
            err: ""
          })
          assert.strictEqual((yield* run(Spec.lspSymbols, Lsp.symbols, "a.txt")).code, 0)
          const wrong = yield* run(Spec.lspHover, Lsp.hover, "a.txt")
          assert.strictEqual(wrong.code, 2)
          assert.include(wrong.err, "give FILE:LINE or FILE:LINE:COLUMN")
        })),
    limit
  )

  it.live(
    "a place nobody knows: 1; a server that never answers: 2",
    () =>
      inProject(files, { definition: "null", silent_on: ["textDocument/hover"] }, (run) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* run(Spec.lspDefinition, Lsp.definition, "a.txt:1:1"), {
            code: 1,
            out: "",
            err: ""
          })
          const silent = yield* run(Spec.lspHover, Lsp.hover, "a.txt:1:1", "--timeout-ms", "1500")
          assert.strictEqual(silent.code, 2)
        })),
    limit
  )

  it.live(
    "rename shows the change, and makes it unless it is a dry run",
    () =>
      inProject(files, {}, (run, root) =>
        Effect.gen(function*() {
          const dry = yield* run(Spec.lspRename, Lsp.rename, "a.txt:2:2", "GOOD", "--dry-run")
          assert.strictEqual(dry.code, 0)
          assert.include(dry.out, "Would change in 1 file:\nM a.txt (+1 -1)")
          assert.strictEqual(fs.readFileSync(`${root}/a.txt`, "utf8"), files["a.txt"])
          for (const name of ["", "two words", "a\nb", "\u202eabc"]) {
            const wrong = yield* run(Spec.lspRename, Lsp.rename, "a.txt:2:2", name)
            assert.deepStrictEqual([wrong.code, wrong.out], [2, ""])
            assert.include(wrong.err, "cannot be a name")
          }
          const real = yield* run(Spec.lspRename, Lsp.rename, "a.txt:2:2", "GOOD", "--json")
          const document = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.LspRename))(real.out)
          assert.deepStrictEqual(document, {
            v: 1,
            applied: true,
            files: [{ path: `${root}/a.txt`, added: 1, removed: 1 }]
          })
          assert.strictEqual(fs.readFileSync(`${root}/a.txt`, "utf8"), "fine\n\tGOOD \u{1F600} GOOD\n")
        })),
    limit
  )

  it.live(
    "a server that lacks the program it checks with: said, since it would say nothing is wrong",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const bin = yield* Servers.project({})
        fs.symlinkSync(process.execPath, `${bin}/node`)
        fs.symlinkSync(Servers.real.bash.argv[0], `${bin}/bash-language-server`)
        const says = "bash has no diagnostics without shellcheck; to install it: apt-get install shellcheck"
        yield* inProject({ "a.sh": "echo $1\n" }, {}, (run) =>
          Effect.gen(function*() {
            assert.include((yield* run(Spec.lspStatus, Lsp.status)).out, says)
            const doctor = yield* run(Spec.lspDoctor, Lsp.doctor)
            assert.strictEqual(doctor.code, 0, doctor.out)
            assert.include(doctor.out, `answers about a.sh; ${says}`)
            assert.deepStrictEqual(yield* run(Spec.lspDiagnostics, Lsp.diagnostics, "a.sh"), {
              code: 0,
              out: "",
              err: `${says}\n`
            })
          }), bin)
      })),
    limit
  )

  it.live(
    "status starts nothing and says what is missing; doctor starts what is there",
    () =>
      inProject({ ...files, "main.rs": "fn main() {}\n" }, {}, (run) =>
        Effect.gen(function*() {
          const status = yield* run(Spec.lspStatus, Lsp.status, "--json")
          const { servers } = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.LspStatus))(status.out)
          assert.deepStrictEqual(servers.map(({ server }) => server), ["hostile", "rust-analyzer"])
          assert.strictEqual(servers[1]?.install, "rustup component add rust-analyzer")
          assert.deepStrictEqual(servers.map(({ note }) => note), [null, null])
          const doctor = yield* run(Spec.lspDoctor, Lsp.doctor)
          assert.strictEqual(doctor.code, 1)
          assert.match(doctor.out, /^ok +hostile .*answers about [ab]\.txt\nFAIL +rust-analyzer .*rustup component add/)
        })),
    limit
  )
})

describe("/lsp in a conversation", () => {
  it.live(
    "shows how each server is; restart starts one anew, also one that ended too often",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const root = yield* Servers.project({ "a.txt": "BAD\n", "b.bad": "x\n" })
        const pids = `${root}.pids`
        const servers = {
          hostile: { command: Servers.hostile({ pids }).argv, extensions: [".txt"] },
          gone: { command: ["no-such-server"], extensions: [".bad"] }
        }
        yield* Effect.gen(function*() {
          const said: Array<string> = []
          const talk = { say: (text: string) => Effect.sync(() => void said.push(text)) }
          const type = (argument: string) => Effect.map(Slash.lsp(argument, talk), () => said.splice(0).join(""))
          assert.include(yield* type(""), "no language server has been needed yet")
          const service = yield* Service
          for (const file of ["a.txt", "b.bad"]) yield* service.diagnostics(`${root}/${file}`)
          const shown = yield* type("")
          assert.match(shown, /^hostile +ready +\. +1 file open$/m)
          assert.match(shown, /^gone +missing +\. +.*no-such-server/m)
          assert.include(yield* type("restart nothing"), "no language server nothing is known")
          assert.include(yield* type("stop"), "/lsp restart SERVER")
          assert.include(yield* type("restart hostile"), "hostile starts anew")
          assert.isTrue((yield* service.diagnostics(`${root}/a.txt`)).ready)
          assert.strictEqual(new Set(Servers.pidsIn(pids)).size, 2)
        }).pipe(Effect.provide(Rooms.layerOf(root, { servers })))
        for (const pid of Servers.pidsIn(pids)) assert.isTrue(yield* gone(pid))
      })),
    limit
  )
})
