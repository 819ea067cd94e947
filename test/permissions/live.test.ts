import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Config } from "../../src/config/Config.ts"
import type { AgentEventBody } from "../../src/domain/AgentEvent.ts"
import type { PermissionRule } from "../../src/domain/Permission.ts"
import {
  type PermissionDecision,
  PermissionPrompter,
  type PermissionPrompterService
} from "../../src/domain/PermissionPrompter.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { PermissionAudit } from "../../src/permissions/Audit.ts"
import { type PermissionRequest, Permissions } from "../../src/permissions/Permissions.ts"
import { PersistAllow } from "../../src/permissions/PersistAllow.ts"
import { Files } from "../../src/platform/Files.ts"
import { ShellGrammar } from "../../src/platform/ShellGrammar.ts"

type Answer = PermissionDecision | ((request: string) => Effect.Effect<PermissionDecision>)

const prompter = (name: string, ...answers: ReadonlyArray<Answer>) => {
  const asked: Array<string> = []
  let next = 0
  const service: PermissionPrompterService = {
    name,
    requestPermission: (tool, _input, context) =>
      Effect.suspend(() => {
        const what = `${tool} ${context.subject ?? ""}`.trim()
        asked.push(what)
        const answer = answers[Math.min(next++, answers.length - 1)]
        if (answer === undefined) throw new Error("nobody answers here")
        return typeof answer === "function" ? answer(what) : Effect.succeed(answer)
      })
  }
  return { asked, service }
}

const allow = (scope: "once" | "session" | "always"): PermissionDecision => ({ decision: "allow", scope })
const escalate: PermissionDecision = { decision: "escalate" }

interface Setting {
  readonly permissions?: unknown
  readonly settings?: Readonly<Record<string, unknown>>
  readonly prompters?: ReadonlyArray<PermissionPrompterService>
  readonly grammar?: Layer.Layer<ShellGrammar>
  readonly audit_fails?: boolean
  readonly persist?: (rule: PermissionRule) => Effect.Effect<void, { readonly message: string }>
  readonly root?: string
}

const layerOf = (setting: Setting) => {
  const root = setting.root ?? "/nowhere"
  const permissions = Permissions.layerOver.pipe(
    Layer.provideMerge(PermissionAudit.layerMemory({ fails: setting.audit_fails === true })),
    Layer.provide([
      Config.layerText(JSON.stringify({ permissions: setting.permissions ?? {}, ...setting.settings })),
      Layer.succeed(PermissionPrompter, setting.prompters ?? []),
      Layer.succeed(Workspace, { root, cwd: root }),
      setting.grammar ?? ShellGrammar.layer,
      Files.layer
    ])
  )
  return setting.persist === undefined
    ? permissions
    : Layer.provide(permissions, Layer.succeed(PersistAllow, { persistAllow: setting.persist }))
}

const events: Array<AgentEventBody> = []

const call = (tool_name: string, subjects: ReadonlyArray<string>, more: Partial<PermissionRequest> = {}) =>
  Effect.flatMap(Permissions, (permissions) =>
    permissions.authorize({
      tool_name,
      input: { secret_input: "hunter2" },
      subjects,
      kind: tool_name === "bash" ? "execute" : tool_name === "read" ? "read" : "edit",
      read_only: tool_name === "read",
      inside_workspace: tool_name !== "bash",
      session_id: "ses_1",
      call_id: "call_1",
      mode: "default",
      report: (event) => Effect.sync(() => void events.push(event)),
      ...more
    }))

const bash = (line: string, more: Partial<PermissionRequest> = {}) => call("bash", [line], more)
const records = Effect.flatMap(PermissionAudit, (audit) => audit.read())

describe("Permissions", () => {
  it.effect("rules decide, command lines through the grammar", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* bash("git status && git log"), { allowed: true, decided_by: "rule" })
      assert.deepInclude(yield* bash("git status; rm x"), { allowed: false, decided_by: "rule" })
      assert.deepInclude(yield* bash("git status; evil"), { allowed: false, decided_by: "no_prompter" })
      assert.deepInclude(yield* bash("git status # rm x"), { allowed: true })
      assert.strictEqual((yield* Permissions).evaluate("bash", "git log; git log").mode, "allow")
    }).pipe(Effect.provide(layerOf({ permissions: { "bash(rm *)": "deny", "bash(git *)": "allow" } }))))

  it.effect("without the grammar every line is asked about that is more than plain words, and no mode lifts that", () =>
    Effect.gen(function*() {
      const refused = yield* bash("git status; ls", { mode: "bypass" })
      assert.deepInclude(refused, { allowed: false, decided_by: "no_prompter" })
      assert.include(refused.allowed ? "" : refused.reason, "grammar")
      assert.deepInclude(yield* bash("rm x"), { allowed: false, decided_by: "rule" })
      assert.deepInclude(yield* bash("sudo rm x"), { allowed: false })
      assert.deepInclude(yield* bash("git status"), { allowed: true, decided_by: "rule" })
      const { evaluate } = yield* Permissions
      assert.deepStrictEqual(["git status", "rm x", "git 'status'"].map((line) => evaluate("bash", line).mode), [
        "allow",
        "deny",
        "prompt"
      ])
      assert.deepInclude(yield* call("read", ["a"], { mode: "bypass" }), { allowed: true, decided_by: "mode" })
    }).pipe(
      Effect.provide(
        layerOf({ permissions: { "bash(rm *)": "deny", bash: "allow" }, grammar: ShellGrammar.layerMissing })
      )
    ))

  it.effect("7.4: modes lift prompts and never a deny", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* call("write", ["a"], { mode: "accept-edits" }), { allowed: true, decided_by: "mode" })
      assert.deepInclude(yield* call("write", ["/a"], { mode: "accept-edits", inside_workspace: false }), {
        allowed: false
      })
      assert.deepInclude(yield* bash("evil", { mode: "accept-edits" }), { allowed: false })
      assert.deepInclude(yield* bash("evil", { mode: "bypass" }), { allowed: true, decided_by: "mode" })
      assert.deepInclude(yield* bash("evil '", { mode: "bypass" }), { allowed: false })
      for (const mode of ["bypass", "accept-edits", "plan", "default"] as const) {
        assert.deepInclude(yield* bash("ls; rm x", { mode }), { allowed: false, decided_by: "rule" })
      }
      assert.deepInclude(yield* bash("ls", { mode: "plan" }), { allowed: false, decided_by: "mode" })
      assert.deepInclude(yield* call("read", ["a"], { mode: "plan" }), { allowed: false, decided_by: "no_prompter" })
    }).pipe(Effect.provide(layerOf({ permissions: { "bash(rm *)": "deny", "bash(ls)": "allow" } }))))

  it.effect("7.6: a redirection leads where its links lead; accept-edits takes it for an edit", () => {
    const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "permissions-")))
    fs.mkdirSync(path.join(root, "out"))
    fs.symlinkSync("/etc", path.join(root, "link"))
    fs.symlinkSync(path.join(root, "out"), path.join(root, "alias"))
    return Effect.gen(function*() {
      assert.deepInclude(yield* bash("echo a > out/x"), { allowed: true })
      assert.deepInclude(yield* bash("echo a > alias/x"), { allowed: true })
      assert.deepInclude(yield* bash(`echo a > ${root}/out/x`), { allowed: true })
      assert.deepInclude(yield* bash("echo a > link/passwd"), { allowed: false, decided_by: "rule" })
      assert.deepInclude(yield* bash("echo a > /proc/self/root/etc/passwd"), { allowed: false, decided_by: "rule" })
      assert.deepInclude(yield* bash("echo a > other"), { allowed: false, decided_by: "no_prompter" })
      assert.deepInclude(yield* bash("echo a > other", { mode: "accept-edits" }), { allowed: true, decided_by: "mode" })
      for (
        const line of ["evil > other", "echo a > .git/hooks/pre-commit", "echo a > .hanzo/settings.json", "echo a > $x"]
      ) {
        assert.deepInclude(yield* bash(line, { mode: "accept-edits" }), { allowed: false }, line)
      }
      assert.deepInclude(yield* bash("echo a > /tmp/other", { mode: "accept-edits" }), { allowed: false })
    }).pipe(
      Effect.provide(layerOf({
        root,
        permissions: { "write(/etc/*)": "deny", "write(out/*)": "allow", "bash(echo *)": "allow" }
      })),
      Effect.ensuring(Effect.sync(() => fs.rmSync(root, { recursive: true })))
    )
  })

  it.effect("2.4: escalate passes on, a prompter that breaks too, none left denies", () => {
    const first = prompter("first", escalate)
    const broken = prompter("broken")
    const user = prompter("user", allow("once"), escalate)
    return Effect.gen(function*() {
      assert.deepStrictEqual(yield* bash("a"), { allowed: true, decided_by: "user" })
      assert.deepInclude(yield* bash("a"), { allowed: false, decided_by: "default" })
      assert.deepStrictEqual([first.asked, broken.asked, user.asked], [["bash a", "bash a"], ["bash a", "bash a"], [
        "bash a",
        "bash a"
      ]])
    }).pipe(Effect.provide(layerOf({ prompters: [first.service, broken.service, user.service] })))
  })

  it.effect("7.7: a deny with a message; other prompters are named in full", () => {
    const robot = prompter("robot", { decision: "deny", reason: "use make instead" })
    return Effect.gen(function*() {
      assert.deepStrictEqual(yield* bash("a"), {
        allowed: false,
        decided_by: "prompter:robot",
        reason: "use make instead"
      })
    }).pipe(Effect.provide(layerOf({ prompters: [robot.service] })))
  })

  it.effect("7.7: for this session: the line, and each command of it that was asked about", () => {
    const user = prompter("user", allow("session"), { decision: "deny", reason: "no" })
    return Effect.gen(function*() {
      assert.isTrue((yield* bash("ls && npm test && echo $x")).allowed)
      for (const line of ["ls && npm test && echo $x", "npm test", "npm test; ls"]) {
        assert.deepStrictEqual(yield* bash(line), { allowed: true, decided_by: "session" }, line)
      }
      // What was not said, what depends on a variable, and other sessions are asked about.
      for (const line of ["npm run", "echo $x", "npm test > f"]) assert.isFalse((yield* bash(line)).allowed, line)
      assert.isFalse((yield* bash("npm test", { session_id: "ses_2" })).allowed)
      assert.strictEqual(user.asked.length, 5)
    }).pipe(Effect.provide(layerOf({ permissions: { "bash(ls)": "allow" }, prompters: [user.service] })))
  })

  it.effect("7.7: a file tool for this session: the file, or the files below its directory", () => {
    const user = prompter("user", allow("session"), allow("session"), { decision: "deny", reason: "no" })
    return Effect.gen(function*() {
      assert.isTrue((yield* call("write", ["a"])).allowed)
      assert.isTrue((yield* call("write", ["src/a"])).allowed)
      for (const subject of ["a", "src/a", "src/b", "src/deep/c"]) {
        assert.deepInclude(yield* call("write", [subject]), { decided_by: "session" }, subject)
      }
      assert.deepInclude(yield* call("write", ["a", "src/x"]), { decided_by: "session" })
      for (const subjects of [["b"], ["src2/a"], ["a", "b"], ["src/.git/config"]]) {
        assert.isFalse((yield* call("write", subjects)).allowed, subjects.join())
      }
      assert.isFalse((yield* call("write", ["/b"], { inside_workspace: false })).allowed)
      assert.isFalse((yield* call("edit", ["a"])).allowed)
    }).pipe(Effect.provide(layerOf({ prompters: [user.service] })))
  })

  it.effect("7.7: an answer for this session lifts no rule that it was not asked under", () => {
    const user = prompter("user", allow("session"), { decision: "deny", reason: "no" })
    const permissions = { "write(src/prod/*)": "prompt", "*(*.key)": "prompt", "edit(*)": "prompt" }
    return Effect.gen(function*() {
      assert.isTrue((yield* call("write", ["src/a.txt"])).allowed)
      for (const subjects of [["src/prod/x"], ["src/x.key"], ["src/b", "src/prod/x"], ["src/prod/x", "src/b"]]) {
        assert.isFalse((yield* call("write", subjects)).allowed, subjects.join())
      }
      // Another name of the tool that a rule speaks about counts as well.
      assert.isFalse((yield* call("write", ["src/b"], { other_names: ["edit"] })).allowed)
      assert.deepInclude(yield* call("write", ["src/b"]), { decided_by: "session" })
    }).pipe(Effect.provide(layerOf({ permissions, prompters: [user.service] })))
  })

  it.effect("7.7: the question says how wide the answer is, and whether it can be kept", () => {
    const said: Array<readonly [covers: string | undefined, can_keep: boolean | undefined]> = []
    const service: PermissionPrompterService = {
      name: "user",
      requestPermission: (_tool, _input, { can_keep, session_covers }) =>
        Effect.sync(() => {
          said.push([session_covers, can_keep])
          return { decision: "allow", scope: "once" }
        })
    }
    return Effect.gen(function*() {
      yield* call("write", ["src/a"])
      yield* call("write", ["a"])
      yield* call("mcp__a__b", [])
      yield* bash("make; ls")
      yield* bash("ls *.md $HOME")
      yield* bash("make '")
      assert.deepStrictEqual(said, [
        ["write of the files below src/; not what another rule asks about", true],
        ["write of a; not what another rule asks about", true],
        ["every call of mcp__a__b", true],
        ["exactly this line, and the commands in it that are asked about", true],
        ["exactly this line", false],
        ["exactly this line, and the commands in it that are asked about", false]
      ])
    }).pipe(Effect.provide(layerOf({ prompters: [service], persist: () => Effect.void })))
  })

  it.effect("7.4: no mode lifts a question about what decides what runs later", () => {
    const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "permissions-")))
    fs.mkdirSync(path.join(root, "tools"))
    fs.writeFileSync(path.join(root, "tools", "real.sh"), "")
    fs.symlinkSync("tools/real.sh", path.join(root, "check.sh"))
    const settings = {
      hooks: [{ event: "pre_tool_use", tool_pattern: "*", command: "sh './check.sh' && scripts/b" }],
      mcp_servers: { s: { command: ["node", "server.js"] } }
    }
    return Effect.gen(function*() {
      const places = [
        ".git/hooks/pre-commit",
        ".git",
        "vendor/a/.git/config",
        ".GIT/hooks/x",
        ".hanzo/settings.json",
        "tools/real.sh",
        "scripts/b",
        "server.js"
      ]
      for (const mode of ["accept-edits", "bypass"] as const) {
        for (const place of places) {
          const refused = yield* call("write", [place], { mode })
          assert.deepInclude(refused, { allowed: false, decided_by: "no_prompter" }, place)
          assert.include(refused.allowed ? "" : refused.reason, `--allow ${JSON.stringify(`write(${place})`)}`)
          assert.isFalse((yield* call("apply_patch", ["a", place], { mode })).allowed, place)
          assert.isFalse((yield* bash(`echo a > ${place}`, { mode })).allowed, place)
          assert.isFalse((yield* bash(`sh -c 'echo a > ${place}'`, { mode })).allowed, place)
        }
        assert.isTrue((yield* call("write", ["scripts/c"], { mode })).allowed)
        assert.isTrue((yield* call("write", [".gitignore"], { mode })).allowed)
      }
      assert.isTrue((yield* call("read", [".git/config"], { mode: "bypass" })).allowed)
    }).pipe(
      Effect.provide(layerOf({ root, settings, permissions: { "bash(echo *)": "allow" } })),
      Effect.ensuring(Effect.sync(() => fs.rmSync(root, { recursive: true })))
    )
  })

  it.effect("7.4: no mode lifts a question about a line in which a deny may be hidden, and the refusal says what helps", () =>
    Effect.gen(function*() {
      for (
        const line of [
          "nohup /bin/r[m] x",
          "find . -exec sh -c 'r\"\"m x' \\;",
          "python3 -c 'x'",
          "echo a 5<>.env",
          "sh -c 'echo a > .env'",
          "ln -s .env q; echo a > q"
        ]
      ) {
        const refused = yield* bash(line, { mode: "bypass" })
        assert.deepInclude(refused, { allowed: false, decided_by: "no_prompter" }, line)
        const reason = refused.allowed ? "" : refused.reason
        assert.include(reason, "no rule that allows and no permission mode lifts this")
        assert.notInclude(reason, "--allow")
      }
    }).pipe(
      Effect.provide(
        layerOf({ permissions: { "bash(rm *)": "deny", "write(.env)": "deny", bash: "allow", write: "allow" } })
      )
    ))

  it.effect("7.7: always writes narrow rules for what was asked about", () => {
    const user = prompter("user", allow("always"))
    const written: Array<string> = []
    return Effect.gen(function*() {
      yield* bash("ls; npm test '[x]*' > f; A=1 make")
      // No rule can say what depends on a variable, or a line that cannot be read.
      yield* bash("npm test $x")
      yield* bash("make '")
      yield* call("write", ["src/[a].ts"])
      yield* call("mcp__a__b", [])
      assert.deepStrictEqual(written, [
        "bash(npm test [[]x][*])",
        "write(f)",
        "bash(A=1 make)",
        "write(src/[[]a].ts)",
        "mcp__a__b"
      ])
    }).pipe(
      Effect.provide(layerOf({
        permissions: { "bash(ls)": "allow" },
        prompters: [user.service],
        persist: (rule) => Effect.sync(() => void written.push(rule.tool_pattern))
      }))
    )
  })

  it.effect("7.7: what cannot be written holds for the session", () => {
    const user = prompter("user", allow("always"), { decision: "deny", reason: "no" })
    return Effect.gen(function*() {
      events.length = 0
      assert.isTrue((yield* bash("make")).allowed)
      assert.include(
        events.findLast((event) => event.type === "permission.decided")?.reason ?? "",
        "could not be written"
      )
      assert.deepInclude(yield* bash("make"), { allowed: true, decided_by: "session" })
    }).pipe(
      Effect.provide(layerOf({ prompters: [user.service], persist: () => Effect.fail({ message: "read-only" }) }))
    )
  })

  it.effect("parallel questions queue; the answer to one may settle the next", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const seen = yield* Deferred.make<void>()
      let open = 0
      let most = 0
      const user = prompter("user", () =>
        Effect.gen(function*() {
          most = Math.max(most, ++open)
          yield* Deferred.succeed(seen, undefined)
          yield* Deferred.await(gate)
          open--
          return allow("session")
        }))
      yield* Effect.gen(function*() {
        const fibers = yield* Effect.forEach(["a", "a", "b", "a"], (line) => Effect.fork(bash(line)))
        yield* Deferred.await(seen)
        yield* Deferred.succeed(gate, undefined)
        const results = yield* Effect.forEach(fibers, Fiber.join)
        assert.isTrue(results.every((result) => result.allowed))
        assert.deepStrictEqual(user.asked.toSorted(), ["bash a", "bash b"])
        assert.strictEqual(most, 1)
      }).pipe(Effect.provide(layerOf({ prompters: [user.service] })))
    }))

  it.effect("7.9: a rule that its own examples contradict is refused, by name", () =>
    Effect.gen(function*() {
      const rules = [{ tool_pattern: "bash(git *)", mode: "allow", match: ["git status"], not_match: ["git push"] }]
      const config = {
        ...(yield* Config),
        all_rules: rules.map((rule) => ({ ...rule, mode: "allow" as const, tier: "user" as const }))
      }
      const error = yield* Effect.flip(Layer.build(Permissions.layerOver.pipe(
        Layer.provide([
          Layer.succeed(Config, config),
          PermissionAudit.layerMemory(),
          Layer.succeed(PermissionPrompter, []),
          Layer.succeed(Workspace, { root: "/w", cwd: "/w" }),
          ShellGrammar.layer,
          Files.layer
        ])
      )))
      assert.strictEqual(error._tag, "PermissionRuleError")
      assert.include(error.message, "\"bash(git *)\" (user) matches what it must not match: \"git push\"")
      assert.notInclude(error.message, "git status")
    }).pipe(Effect.scoped, Effect.provide(Config.layerText("{}"))))
})

describe("7.8: every evaluation is recorded", () => {
  const summary = Effect.map(
    records,
    ({ records }) =>
      records.map(({ decided_by, mode, rule_matched, tier }) => ({ mode, decided_by, rule_matched, tier }))
  )

  it.effect("one record for what a rule decides, two with one call for a prompt", () => {
    const user = prompter("user", allow("session"), { decision: "deny", reason: "not now" })
    return Effect.gen(function*() {
      yield* bash("ls", { call_id: "1" })
      yield* bash("rm x", { call_id: "2" })
      yield* bash("make", { call_id: "3" })
      yield* bash("make", { call_id: "4" })
      yield* bash("evil", { call_id: "5" })
      yield* bash("evil", { call_id: "6", mode: "bypass" })
      yield* bash("ls", { call_id: "7", mode: "plan" })
      const none = { rule_matched: null, tier: null }
      assert.deepStrictEqual(yield* summary, [
        { mode: "allow", decided_by: "rule", rule_matched: "bash(ls)", tier: "user" },
        { mode: "deny", decided_by: "rule", rule_matched: "bash(rm *)", tier: "user" },
        { mode: "prompt", decided_by: "default", ...none },
        { mode: "allow", decided_by: "user", ...none },
        { mode: "prompt", decided_by: "default", ...none },
        { mode: "allow", decided_by: "session", ...none },
        { mode: "prompt", decided_by: "default", ...none },
        { mode: "deny", decided_by: "user", ...none },
        { mode: "prompt", decided_by: "default", ...none },
        { mode: "allow", decided_by: "mode", ...none },
        { mode: "deny", decided_by: "mode", rule_matched: "bash(ls)", tier: "user" }
      ])
      const { records: all } = yield* records
      assert.deepStrictEqual(all.map((each) => each.call_id), ["1", "2", "3", "3", "4", "4", "5", "5", "6", "6", "7"])
      assert.isTrue(all.filter((each) => each.mode === "deny").every((each) => each.reason !== null))
      assert.strictEqual(all.find((each) => each.call_id === "5" && each.mode === "deny")?.reason, "not now")
    }).pipe(
      Effect.provide(layerOf({ permissions: { "bash(rm *)": "deny", "bash(ls)": "allow" }, prompters: [user.service] }))
    )
  })

  it.effect("never what the tool was given", () =>
    Effect.gen(function*() {
      for (
        const line of ["cat hunter2", "hunter2 '", "if hunter2; (", "rm hunter2", "eval hunter2", "echo > hunter2"]
      ) {
        yield* bash(line)
        yield* bash(line, { mode: "bypass" })
        yield* bash(line, { mode: "plan" })
      }
      const { records: all } = yield* records
      assert.isAtLeast(all.length, 30)
      assert.notInclude(JSON.stringify(all), "hunter2")
    }).pipe(Effect.provide(layerOf({ permissions: { "bash(rm *)": "deny", "bash(eval *)": "prompt" } }))))

  it.effect("a rule that holds a known secret is recorded without it", () =>
    Effect.gen(function*() {
      const safe = (text: string): string => text.replaceAll("TOKEN-abc123", "***")
      events.length = 0
      yield* bash("echo TOKEN-abc123", { safe })
      yield* bash("rm TOKEN-abc123", { safe })
      const { records: all } = yield* records
      assert.deepStrictEqual(all.map(({ rule_matched }) => rule_matched), ["bash(echo ***)", "bash(rm ***)"])
      assert.notInclude(JSON.stringify([all, events]), "TOKEN-abc123")
    }).pipe(
      Effect.provide(
        layerOf({ permissions: { "bash(echo TOKEN-abc123)": "allow", "bash(rm TOKEN-abc123)": "deny" } })
      )
    ))

  it.effect("not writable: the call goes on, or is refused where the record is required", () =>
    Effect.gen(function*() {
      const lenient = layerOf({ permissions: { bash: "allow" }, audit_fails: true })
      assert.isTrue((yield* Effect.provide(bash("ls"), lenient)).allowed)
      for (const permissions of [{ bash: "allow" }, { bash: "prompt" }]) {
        const user = prompter("user", allow("once"))
        const strict = layerOf({
          permissions,
          audit_fails: true,
          settings: { audit_required: true },
          prompters: [user.service]
        })
        const refused = yield* Effect.provide(bash("ls"), strict)
        assert.include(refused.allowed ? "" : refused.reason, "audit_required")
        assert.deepStrictEqual(user.asked, [])
      }
    }))
})
