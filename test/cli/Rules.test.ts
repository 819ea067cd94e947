/** `hanzo-dev permissions` and `hanzo-dev sandbox` without a process. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { check } from "../../src/cli/Check.ts"
import * as Parser from "../../src/cli/Parser.ts"
import * as Permissions from "../../src/cli/Permissions.ts"
import * as SandboxCommands from "../../src/cli/Sandbox.ts"
import * as Schemas from "../../src/cli/Schemas.ts"
import * as Spec from "../../src/cli/Spec.ts"
import { Config } from "../../src/config/Config.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { type AuditEntry, PermissionAudit } from "../../src/permissions/Audit.ts"
import { Explanation, RuleListing } from "../../src/permissions/Explain.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Files } from "../../src/platform/Files.ts"
import { ShellGrammar } from "../../src/platform/ShellGrammar.ts"
import { Terminal } from "../../src/platform/Terminal.ts"
import { Container } from "../../src/sandbox/Detect.ts"
import { Enforcement } from "../../src/sandbox/Enforcement.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"

const valuesOf = <S extends Spec.CommandSpec>(spec: S, argv: ReadonlyArray<string>) => {
  const checked = check([...spec.path, ...argv])
  if (checked.kind !== "command") throw new Error(JSON.stringify(checked))
  return Parser.parse(spec, checked.argv)
}

const settings = JSON.stringify({
  permissions: { "bash(git *)": "allow", "bash(rm *)": "deny", read: "allow" },
  sandbox: { mode: "workspace" }
})

interface Said {
  readonly out: Array<string>
  readonly err: Array<string>
}

const base = ({ err, out }: Said, text = settings, root = "/work/project") =>
  Layer.mergeAll(
    Config.layerText(text),
    Layer.succeed(Workspace, { root, cwd: root }),
    Terminal.layerTest({ out, err }),
    Environment.layerTest(),
    ShellGrammar.layer,
    Files.layer,
    Dirs.layerTest("/work/dirs")
  )

describe("7.9 permissions explain and list", () => {
  const explain = (argv: ReadonlyArray<string>, text?: string, root?: string) =>
    Effect.gen(function*() {
      const said: Said = { out: [], err: [] }
      const code = yield* valuesOf(Spec.permissionsExplain, argv).pipe(
        Effect.flatMap(Permissions.explain),
        Effect.provide(base(said, text, root))
      )
      return { code, out: said.out.join(""), err: said.err.join("") }
    })

  it.effect("a command line is read part by part, with the rule of each", () =>
    Effect.gen(function*() {
      const { code, out } = yield* explain(["bash", "git status && rm -rf x"])
      assert.strictEqual(code, 0)
      assert.match(out, /^deny: bash git status && rm -rf x\n/)
      assert.match(out, /allow +command +git status +rule bash\(git \*\)/)
      assert.match(out, /deny +command +rm -rf x +rule bash\(rm \*\)/)
    }))

  it.effect("--json is the document of the schema; a tool without a subject needs no grammar", () =>
    Effect.gen(function*() {
      const line = yield* explain(["--json", "bash", "git log | cat"])
      const document = yield* Schema.decodeUnknown(Schema.parseJson(Explanation))(line.out)
      assert.deepEqual(document.parts.map((part) => [part.text, part.mode]), [["git log", "allow"], ["cat", "prompt"]])
      const read = yield* Schema.decodeUnknown(Schema.parseJson(Explanation))((yield* explain(["read", "--json"])).out)
      assert.deepEqual([read.verdict.mode, read.subject], ["allow", null])
    }))

  it.effect("list: the rules in their order", () =>
    Effect.gen(function*() {
      const said: Said = { out: [], err: [] }
      yield* Effect.provide(
        Effect.flatMap(valuesOf(Spec.permissionsList, ["--json"]), Permissions.list),
        base(said)
      )
      const { rules } = yield* Schema.decodeUnknown(Schema.parseJson(RuleListing))(said.out.join(""))
      assert.deepEqual(rules.map((rule) => rule.tool_pattern), ["bash(git *)", "bash(rm *)", "read"])
    }))

  it.effect("4.6 broken settings: the errors on stderr, the answer without what was rejected, exit 2", () =>
    Effect.gen(function*() {
      const text = "{\"model\": 1, \"permissions\": {\"read\": \"allow\"}}"
      const { code, err, out } = yield* explain(["read"], text)
      assert.strictEqual(code, 2)
      assert.match(err, /error: .*model/)
      assert.match(out, /^allow: read\n/)
      const said: Said = { out: [], err: [] }
      const listed = yield* Effect.provide(
        Effect.flatMap(valuesOf(Spec.permissionsList, []), Permissions.list),
        base(said, text)
      )
      assert.strictEqual(listed, 2)
      assert.match(said.err.join(""), /error: .*model/)
      assert.match(said.out.join(""), /^allow +read/)
    }))

  it.scoped("7.5 paths are followed as the tools follow them, also those of redirections", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const root = yield* fs.realPath(yield* fs.makeTempDirectoryScoped())
      yield* fs.makeDirectory(`${root}/secret`)
      yield* fs.symlink("secret", `${root}/link`)
      const text = JSON.stringify({
        permissions: {
          "read(secret/*)": "deny",
          "write(secret/*)": "deny",
          read: "allow",
          write: "allow",
          "bash(echo *)": "allow"
        }
      })
      for (
        const [tool, subject, verdict] of [
          ["read", "secret/key", "deny"],
          ["read", "link/key", "deny"],
          ["read", `${root}/link/../secret/key`, "deny"],
          ["read", "./link/./key", "deny"],
          ["write", "link/new", "deny"],
          ["read", "link", "allow"],
          ["read", "other", "allow"],
          ["bash", "echo a > link/key", "deny"],
          ["bash", "echo a > other", "allow"]
        ] as const
      ) {
        const { out } = yield* explain([tool, subject], text, root)
        assert.strictEqual(out.split(":", 1)[0], verdict, `${tool} ${subject}`)
      }
    }).pipe(Effect.provide(NodeFileSystem.layer)))
})

describe("7.8 permissions audit", () => {
  const entry = (tool_name: string, session_id: string): AuditEntry => ({
    tool_name,
    mode: "allow",
    rule_matched: tool_name,
    session_id,
    decided_by: "rule",
    reason: null,
    call_id: "call_1",
    tier: "user"
  })
  const day = 86_400_000
  const audit = (argv: ReadonlyArray<string>) =>
    Effect.gen(function*() {
      const said: Said = { out: [], err: [] }
      const code = yield* Effect.gen(function*() {
        const record = yield* PermissionAudit
        yield* TestClock.setTime(day * 20_000)
        yield* record.record(entry("bash", "ses_aa"))
        yield* TestClock.adjust(day)
        yield* record.record(entry("mcp__x__y", "ses_ab"))
        return yield* Effect.flatMap(valuesOf(Spec.permissionsAudit, argv), Permissions.audit)
      }).pipe(
        Effect.map((code): number => code),
        Effect.catchTag("CliExit", (exit) => Effect.succeed(exit.exit_code)),
        Effect.provide(Layer.merge(base(said), PermissionAudit.layerMemory()))
      )
      return { code, out: said.out.join(""), err: said.err.join("") }
    })
  const tools = (argv: ReadonlyArray<string>) =>
    Effect.flatMap(audit(["--json", ...argv]), ({ out }) =>
      Effect.map(
        Schema.decodeUnknown(Schema.parseJson(Schemas.PermissionsAudit))(out),
        ({ records }) => records.map((each) => each.tool_name)
      ))

  it.effect("chooses by session, tool and time", () =>
    Effect.gen(function*() {
      assert.deepEqual(yield* tools([]), ["bash", "mcp__x__y"])
      assert.deepEqual(yield* tools(["--session", "ses_a"]), ["bash", "mcp__x__y"])
      assert.deepEqual(yield* tools(["--session", "ses_ab"]), ["mcp__x__y"])
      assert.deepEqual(yield* tools(["--tool", "mcp__*"]), ["mcp__x__y"])
      assert.deepEqual(yield* tools(["--since", "1h"]), ["mcp__x__y"])
      assert.deepEqual(yield* tools(["--since", "2d"]), ["bash", "mcp__x__y"])
      assert.deepEqual(yield* tools(["--since", "2024-10-05"]), ["mcp__x__y"])
    }))

  it.effect("as lines; nothing is said on stderr; no time is exit 2", () =>
    Effect.gen(function*() {
      const all = yield* audit([])
      assert.match(all.out, /^2024-10-04 00:00:00 +allow +bash +rule +bash \(user\) +ses_aa\n/)
      const none = yield* audit(["--tool", "nothing"])
      assert.deepEqual([none.out, none.code], ["", 0])
      assert.match(none.err, /nothing is recorded/)
      assert.strictEqual((yield* audit(["--since", "yesterday"])).code, 2)
    }))

  it.effect("what became of a call stands below its last line, and in --json as steps", () =>
    Effect.gen(function*() {
      const said: Said = { out: [], err: [] }
      const shown = Effect.gen(function*() {
        const record = yield* PermissionAudit
        const call = (call_id: string) => ({ tool_name: "bash", session_id: "ses_a", call_id })
        yield* TestClock.setTime(day * 20_000)
        yield* record.record({ ...entry("bash", "ses_a"), mode: "prompt" })
        yield* record.record(entry("bash", "ses_a"))
        yield* record.record({ ...entry("bash", "ses_a"), mode: "deny", call_id: "call_2" })
        yield* record.recordSteps(call("call_1"), [
          { step: "hook", at: 0, event: "pre_tool_use", hook: 0, decision: "allow", duration_ms: 5 },
          {
            step: "sandbox",
            at: 0,
            decision: "allowed",
            enforcement: "bubblewrap",
            sandbox_mode: "workspace",
            rule: null
          },
          { step: "run", at: 0, outcome: "ok", duration_ms: 12 },
          { step: "hook", at: 0, event: "post_tool_use", hook: 1, decision: "error", duration_ms: 3 }
        ])
        // Of a call whose evaluation has gone with an old file.
        yield* record.recordSteps(call("call_0"), [
          { step: "hook", at: 0, event: "pre_tool_use", hook: null, decision: "deny", duration_ms: null },
          { step: "sandbox", at: 0, decision: "refused", enforcement: "off", sandbox_mode: "off", rule: "protected" }
        ])
        yield* Effect.flatMap(valuesOf(Spec.permissionsAudit, []), Permissions.audit)
        const text = said.out.splice(0).join("")
        yield* Effect.flatMap(valuesOf(Spec.permissionsAudit, ["--json", "--session", "ses"]), Permissions.audit)
        return { text, json: said.out.join("") }
      })
      const { json, text } = yield* Effect.provide(shown, Layer.merge(base(said), PermissionAudit.layerMemory()))
      assert.deepEqual(text.split("\n").map((line) => line.replace(/ +/g, " ")), [
        "1970-01-01 00:00:00 - bash - - ses_a",
        " pre hook deny > sandbox refused (off, rule protected)",
        "2024-10-04 00:00:00 prompt bash rule bash (user) ses_a",
        "2024-10-04 00:00:00 allow bash rule bash (user) ses_a",
        " pre hook 0 allow (5 ms) > sandbox allowed (workspace, bubblewrap) > run ok (12 ms) > post hook 1 error (3 ms)",
        "2024-10-04 00:00:00 deny bash rule bash (user) ses_a",
        ""
      ])
      const { records, steps } = yield* Schema.decodeUnknown(Schema.parseJson(Schemas.PermissionsAudit))(json)
      assert.deepEqual([records.length, steps.map(({ step }) => step)], [
        3,
        ["hook", "sandbox", "run", "hook", "hook", "sandbox"]
      ])
    }))

  it("--since: a span or a date, and nothing else", () => {
    assert.strictEqual(Permissions.sinceOf("30m", 3_600_000), 1_800_000)
    assert.strictEqual(Permissions.sinceOf("1970-01-02T00:00:00Z", 0), day)
    for (const text of ["", "5", "h", "-1h", "1.5h", "5", "now", "2024-13-45"]) {
      assert.isNull(Permissions.sinceOf(text, 0), text)
    }
  })
})

describe("10.5 sandbox status", () => {
  const status = (
    argv: ReadonlyArray<string>,
    text: string,
    probes: Parameters<typeof Container.layerProbes>[0] = {}
  ) =>
    Effect.gen(function*() {
      const said: Said = { out: [], err: [] }
      const layer = Sandbox.layer.pipe(
        Layer.provide(Layer.mergeAll(
          Container.layerProbes(probes),
          Enforcement.layerFixed({
            method: null,
            reason: "bwrap is not installed. To change that: install it",
            probes: [{ name: "bubblewrap.found", ok: false, detail: "bwrap is not installed" }]
          }),
          Files.layer,
          NodePath.layer,
          Dirs.layerTest("/nowhere")
        )),
        Layer.provideMerge(base(said, text)),
        Layer.provideMerge(NodeFileSystem.layer)
      )
      const code = yield* Effect.provide(
        Effect.flatMap(valuesOf(Spec.sandboxStatus, argv), SandboxCommands.status),
        layer
      )
      return { code, out: said.out.join("") }
    })

  it.effect("says what is enforced, why it is not more, and which probe failed", () =>
    Effect.gen(function*() {
      const { code, out } = yield* status([], settings)
      assert.strictEqual(code, 0)
      assert.match(out, /^mode +workspace \(as set\)\nenforced by +path checks of file tools only/)
      assert.match(out, /\nwhy +bwrap is not installed\. To change that: install it\n/)
      assert.match(out, /\nprobe +bubblewrap\.found: bwrap is not installed\n/)
    }))

  it.effect("--json; off inside a container; a requirement that is not met", () =>
    Effect.gen(function*() {
      const decode = Schema.decodeUnknown(Schema.parseJson(Schemas.SandboxStatus))
      const off = yield* decode((yield* status(["--json"], "", { dockerenv: true })).out)
      assert.deepEqual([off.effective_mode, off.enforcement, off.refusal], ["off", "off", null])
      const required = JSON.stringify({ sandbox: { mode: "workspace", require_enforcement: true } })
      assert.match((yield* decode((yield* status(["--json"], required)).out)).refusal ?? "", /require_enforcement/)
      assert.match((yield* status([], required)).out, /\ncommands +do not run: the settings require/)
    }))
})

describe("sandbox exec on the command line", () => {
  it.effect("everything behind -- is the command, options of this program's names too", () =>
    Effect.gen(function*() {
      const { args, directory } = yield* valuesOf(Spec.sandboxExec, ["-C", "/d", "--", "ls", "-C", "--json", "a b", ""])
      assert.deepEqual([args, directory], [["ls", "-C", "--json", "a b", ""], "/d"])
    }))

  it("needs one", () => {
    assert.deepInclude(check(["sandbox", "exec"]), { kind: "error" })
    assert.deepInclude(check(["sandbox", "exec", "--"]), { kind: "error" })
  })
})
