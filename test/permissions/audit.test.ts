import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { maxBytes, maxFiles, PermissionAudit } from "../../src/permissions/Audit.ts"
import { AppendLog } from "../../src/platform/AppendLog.ts"
import { Dirs } from "../../src/platform/Dirs.ts"

const scratch = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "audit-")))),
  (root) => Effect.sync(() => fs.rmSync(root, { recursive: true, force: true }))
)

const entry = (over: Partial<Parameters<PermissionAudit["Type"]["record"]>[0]> = {}) => ({
  tool_name: "bash",
  mode: "allow" as const,
  rule_matched: null,
  session_id: "ses_1",
  decided_by: "default",
  reason: null,
  call_id: "c",
  tier: null,
  ...over
})

const mode = (file: string): number => fs.statSync(file).mode & 0o777

describe("the record of permissions (7.8)", () => {
  it.scoped("one JSON line each, only for the user's eyes, filtered when read", () =>
    Effect.gen(function*() {
      const root = yield* scratch
      yield* Effect.gen(function*() {
        const audit = yield* PermissionAudit
        assert.deepStrictEqual(yield* audit.read(), { records: [], steps: [], broken: 0 })
        yield* audit.record(entry({ call_id: "1", reason: "a\nb \u2028" }))
        yield* TestClock.adjust("1 hour")
        yield* audit.record(entry({ call_id: "2", tool_name: "mcp__a__b", session_id: "ses_2" }))
        const lines = fs.readFileSync(audit.file, "utf8").split("\n")
        assert.strictEqual(lines.length, 3)
        assert.deepStrictEqual(JSON.parse(lines[0] ?? ""), {
          timestamp: "1970-01-01T00:00:00.000Z",
          step: "permission",
          ...entry({ call_id: "1", reason: "a\nb \u2028" })
        })
        assert.deepStrictEqual([mode(audit.file), mode(path.dirname(audit.file))], [0o600, 0o700])
        const ids = (filter: Parameters<typeof audit.read>[0]) =>
          Effect.map(audit.read(filter), ({ records }) => records.map((record) => record.call_id))
        assert.deepStrictEqual(yield* ids({}), ["1", "2"])
        assert.deepStrictEqual(yield* ids({ session_id: "ses_2" }), ["2"])
        assert.deepStrictEqual(yield* ids({ tool: "mcp__*" }), ["2"])
        assert.deepStrictEqual(yield* ids({ since: 1 }), ["2"])
        assert.deepStrictEqual(yield* ids({ since: 3_600_001 }), [])
      }).pipe(Effect.provide(Layer.provide(PermissionAudit.layer, Dirs.layerTest(root))))
    }))

  it.scoped("what became of a call: one write, a line each step, old lines beside them", () =>
    Effect.gen(function*() {
      const root = yield* scratch
      yield* Effect.gen(function*() {
        const audit = yield* PermissionAudit
        const call = { tool_name: "bash", session_id: "ses_1", call_id: "1" }
        // As it was written before there were steps.
        fs.mkdirSync(path.dirname(audit.file), { recursive: true })
        const old = { timestamp: "1969-01-01T00:00:00.000Z", ...entry({ call_id: "0" }) }
        fs.writeFileSync(audit.file, `${JSON.stringify(old)}\n`)
        yield* audit.record(entry({ call_id: "1" }))
        const given = {
          secret: "hunter2",
          ...{ step: "hook", at: 1, event: "pre_tool_use", hook: 0, decision: "allow", duration_ms: 5 } as const
        }
        yield* audit.recordSteps(call, [
          given,
          {
            step: "sandbox",
            at: 2,
            decision: "allowed",
            enforcement: "bubblewrap",
            sandbox_mode: "workspace",
            rule: null
          },
          { step: "run", at: 3, outcome: "error", duration_ms: 12 }
        ])
        yield* audit.recordSteps(call, [])
        const lines = fs.readFileSync(audit.file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line))
        assert.deepStrictEqual(lines.slice(2), [
          {
            timestamp: "1970-01-01T00:00:00.001Z",
            step: "hook",
            ...call,
            event: "pre_tool_use",
            hook: 0,
            decision: "allow",
            duration_ms: 5
          },
          {
            timestamp: "1970-01-01T00:00:00.002Z",
            step: "sandbox",
            ...call,
            decision: "allowed",
            enforcement: "bubblewrap",
            sandbox_mode: "workspace",
            rule: null
          },
          { timestamp: "1970-01-01T00:00:00.003Z", step: "run", ...call, outcome: "error", duration_ms: 12 }
        ])
        const { broken, records, steps } = yield* audit.read()
        assert.deepStrictEqual(records.map((record) => [record.call_id, record.step]), [
          ["0", undefined],
          ["1", "permission"]
        ])
        assert.deepStrictEqual([steps.map(({ step }) => step), broken], [["hook", "sandbox", "run"], 0])
        assert.deepStrictEqual((yield* audit.read({ tool: "read" })).steps, [])
        assert.deepStrictEqual((yield* audit.read({ since: 3 })).steps.map(({ step }) => step), ["run"])
        fs.appendFileSync(audit.file, `${JSON.stringify({ ...lines[4], outcome: "unheard of" })}\n`)
        assert.strictEqual((yield* audit.read()).broken, 1)
      }).pipe(Effect.provide(Layer.provide(PermissionAudit.layer, Dirs.layerTest(root))))
    }))

  it.scoped("a torn line and foreign lines spoil no other; a mode that is too open is closed", () =>
    Effect.gen(function*() {
      const root = yield* scratch
      yield* Effect.gen(function*() {
        const audit = yield* PermissionAudit
        yield* audit.record(entry({ call_id: "1" }))
        fs.appendFileSync(audit.file, "{}\n{\"timestamp\":")
        fs.chmodSync(audit.file, 0o644)
        yield* audit.record(entry({ call_id: "2" }))
        fs.appendFileSync(audit.file, "{\"half")
        const { broken, records } = yield* audit.read()
        assert.deepStrictEqual(records.map((record) => record.call_id), ["1", "2"])
        assert.strictEqual(broken, 2)
        assert.strictEqual(mode(audit.file), 0o600)
      }).pipe(Effect.provide(Layer.provide(PermissionAudit.layer, Dirs.layerTest(root))))
    }))

  it.scoped("10 MiB, five files: the oldest goes", () =>
    Effect.gen(function*() {
      const root = yield* scratch
      yield* Effect.gen(function*() {
        const audit = yield* PermissionAudit
        for (let n = 1; n <= maxFiles + 1; n++) {
          yield* audit.record(entry({ call_id: String(n) }))
          // A file as large as it may get, without the time that writing it record by record takes.
          if (n <= maxFiles) {
            const text = fs.readFileSync(audit.file, "utf8")
            fs.writeFileSync(audit.file, `${text}${" ".repeat(maxBytes - text.length - 1)}\n`)
          }
        }
        const directory = path.dirname(audit.file)
        assert.deepStrictEqual(fs.readdirSync(directory).sort(), [
          "permissions.jsonl",
          "permissions.jsonl.1",
          "permissions.jsonl.2",
          "permissions.jsonl.3",
          "permissions.jsonl.4"
        ])
        for (const name of fs.readdirSync(directory)) {
          assert.isAtMost(fs.statSync(path.join(directory, name)).size, maxBytes)
          assert.strictEqual(mode(path.join(directory, name)), 0o600)
        }
        const { records } = yield* audit.read()
        assert.deepStrictEqual(records.map((record) => record.call_id), ["2", "3", "4", "5", "6"])
      }).pipe(Effect.provide(Layer.provide(PermissionAudit.layer, Dirs.layerTest(root))))
    }))

  it.scoped("what cannot be written is an error that names the file; a link is not followed", () =>
    Effect.gen(function*() {
      const root = yield* scratch
      const log = yield* AppendLog
      const append = (file: string) => log.append({ file, line: "x", max_bytes: 100, max_files: 2 })
      fs.writeFileSync(path.join(root, "plain"), "")
      fs.symlinkSync(path.join(root, "plain"), path.join(root, "link"))
      fs.mkdirSync(path.join(root, "directory"))
      for (const name of ["plain/x/y", "link", "directory"]) {
        const error = yield* Effect.flip(append(path.join(root, name)))
        assert.include(error.message, path.join(root, name))
      }
      assert.strictEqual(fs.readFileSync(path.join(root, "plain"), "utf8"), "")
    }).pipe(Effect.provide(AppendLog.layer)))

  it.scoped("several processes write and move files: no line is lost or cut", () =>
    Effect.gen(function*() {
      const root = yield* scratch
      const file = path.join(root, "log")
      const writer = fileURLToPath(new URL("./appender.ts", import.meta.url))
      const lines = 200
      const processes = [1, 2, 3]
      execFileSync("/bin/sh", [
        "-c",
        `${processes.map((id) => `"$0" "$1" "$2" ${id} ${lines} &`).join("\n")}\nwait`,
        path.join(import.meta.dirname, "..", "..", "node_modules", ".bin", "vite-node"),
        writer,
        file
      ])
      const log = yield* AppendLog
      const found = yield* log.read(file, 1000)
      const wanted = processes.flatMap((id) => Array.from({ length: lines }, (_, n) => `${id}-${n}-${"x".repeat(50)}`))
      assert.deepStrictEqual(found.toSorted(), wanted.toSorted())
      assert.isAbove(fs.readdirSync(root).length, 5)
      assert.isFalse(fs.existsSync(`${file}.lock`))
    }).pipe(Effect.provide(AppendLog.layer)))
})
