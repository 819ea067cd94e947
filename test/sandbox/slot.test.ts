/** The sandbox in the way of tools, and what happens where the kernel enforces nothing. */
import * as Path from "@effect/platform/Path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { spawn } from "node:child_process"
import type { Config } from "../../src/config/Config.ts"
import type { Environment } from "../../src/platform/Environment.ts"
import type * as Scope from "effect/Scope"
import { Workspace } from "../../src/domain/Workspace.ts"
import { failure, success } from "../../src/domain/ToolExecutor.ts"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import { Files } from "../../src/platform/Files.ts"
import { Spawner } from "../../src/platform/Spawner.ts"
import { Enforcement } from "../../src/sandbox/Enforcement.ts"
import { sandboxExec, sandboxStatus } from "../../src/sandbox/Enforcing.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { layerSandboxSlot } from "../../src/tools/SandboxSlot.ts"
import { type GuardedCall, ToolSandbox } from "../../src/tools/Slots.ts"
import { layers } from "./driver.ts"
import { methods, type Request, scratchWorld } from "./support.ts"

const call = (tool_name: string, subjects: ReadonlyArray<string>, more: Partial<GuardedCall> = {}): GuardedCall => ({
  tool_name,
  input: {},
  subjects,
  kind: "other",
  read_only: ["read", "glob", "grep"].includes(tool_name),
  inside_workspace: false,
  session_id: "s",
  call_id: "c",
  report: () => Effect.void,
  ...more
})

const reasonOf = (given: GuardedCall) =>
  Effect.map(
    Effect.flatMap(ToolSandbox, (slot) => slot.check(given)),
    (passage) => passage.allowed ? "allowed" : passage.reason
  )

const inWorld = <A, E = never>(
  sandbox: unknown,
  use: (
    world: { readonly base: string; readonly root: string; readonly outside: string }
  ) => Effect.Effect<A, E, Sandbox | ToolSandbox | Spawner | Files | Environment | Config | Workspace | Scope.Scope>,
  more: Partial<Request> = {}
) =>
  Effect.gen(function*() {
    const made = yield* scratchWorld
    const base = layers({ base: made.base, root: made.root, sandbox, methods: [], ...more })
    return yield* Effect.provide(use(made), Layer.provideMerge(layerSandboxSlot, base))
  })

describe("10.4 one policy", () => {
  it.scoped("file tools: every path of the call, read or written; the reason names path and rule", () =>
    inWorld({ mode: "workspace" }, ({ outside, root }) =>
      Effect.gen(function*() {
        for (const tool of ["read", "glob", "grep", "write", "edit", "apply_patch"]) {
          assert.strictEqual(yield* reasonOf(call(tool, ["a/b"])), "allowed", tool)
          const reason = yield* reasonOf(call(tool, ["a", path.join(outside, "x")]))
          assert.include(reason, path.join(outside, "x"), tool)
          assert.include(reason, "rule outside", tool)
        }
        assert.strictEqual(yield* reasonOf(call("read", [".git/config"])), "allowed")
        assert.include(yield* reasonOf(call("edit", [".git/config"])), path.join(root, ".git", "config"))
        assert.include(yield* reasonOf(call("edit", [".git/config"])), "rule protected")
        assert.strictEqual(yield* reasonOf(call("todo", ["/etc/passwd"])), "allowed")
      })))

  it.scoped("what a person approved by name may be read outside, never written", () =>
    inWorld({ mode: "workspace" }, ({ outside }) =>
      Effect.gen(function*() {
        const at = path.join(outside, "x")
        for (const decided_by of ["user", "session", "prompter:editor"]) {
          assert.strictEqual(yield* reasonOf(call("read", [at], { decided_by })), "allowed")
          assert.include(yield* reasonOf(call("write", [at], { decided_by })), "rule outside")
        }
        for (const decided_by of ["rule", "mode", "default"]) {
          assert.include(yield* reasonOf(call("read", [at], { decided_by })), "rule outside")
        }
      })))

  it.scoped("what holds a call is said for what it is: path, name, kernel or nothing", () =>
    Effect.gen(function*() {
      const holds = (sandbox: Record<string, unknown>, method: string | null) =>
        inWorld(sandbox, ({ root }) =>
          Effect.gen(function*() {
            const slot = yield* ToolSandbox
            const of = (given: GuardedCall) =>
              Effect.map(slot.check(given), (passage) => {
                assert.strictEqual(passage.hold?.mode, sandbox["mode"])
                return passage.allowed ? passage.hold?.enforcement : `${passage.hold?.enforcement}: ${passage.rule}`
              })
            return yield* Effect.all([
              of(call("read", ["a"])),
              of(call("write", ["a"])),
              of(call("write", [path.join(root, ".hanzo", "settings.json")])),
              of(call("bash", ["true"])),
              of(call("fetch", ["https://a.example/"])),
              of(call("mcp__x__y", []))
            ])
          }), { methods: method === null ? [] : [method] })
      const paths = ["path_check", "path_check", "path_check: protected"] as const
      const open = { mode: "workspace" }
      assert.deepStrictEqual(yield* holds(open, null), [...paths, "none", "none", "none"])
      for (const method of methods) {
        assert.deepStrictEqual(yield* holds(open, method), [...paths, method, "none", "none"], method)
      }
      assert.deepStrictEqual(yield* holds({ ...open, network: "off" }, null), [
        ...paths,
        "none: network",
        "host_check: network",
        "none"
      ])
      assert.deepStrictEqual(
        (yield* holds({ ...open, require_enforcement: true }, null))[3],
        "none: require_enforcement"
      )
      assert.deepStrictEqual(yield* holds({ mode: "off" }, null), [
        "off",
        "path_check",
        "path_check: protected",
        "off",
        "off",
        "off"
      ])
    }))

  it.scoped("fetch follows the network setting", () =>
    Effect.gen(function*() {
      const fetches = (network: unknown) =>
        inWorld({ mode: "workspace", network }, () =>
          Effect.forEach(
            ["https://a.example/x", "https://b.example/", "http://a.example:8080/"],
            (url) => Effect.map(reasonOf(call("fetch", [url])), (reason) => reason === "allowed")
          ))
      assert.deepStrictEqual(yield* fetches("on"), [true, true, true])
      assert.deepStrictEqual(yield* fetches("off"), [false, false, false])
      assert.deepStrictEqual(yield* fetches({ allow: ["a.example"] }), [true, false, false])
    }))

  it.scoped("a hard link is said beside the result", () =>
    inWorld({ mode: "workspace" }, ({ outside, root }) => {
      fs.writeFileSync(path.join(outside, "a"), "")
      fs.linkSync(path.join(outside, "a"), path.join(root, "b"))
      return Effect.gen(function*() {
        const slot = yield* ToolSandbox
        const passage = yield* slot.check(call("write", ["b"]))
        assert.include(passage.allowed ? passage.context ?? "" : "", "hard links")
      })
    }))

  for (const method of methods) {
    it.scoped(`what the kernel refused to a command is explained, path and rule: ${method}`, () =>
      inWorld({ mode: "workspace", network: "off" }, ({ outside, root }) =>
        Effect.gen(function*() {
          const { remark } = yield* ToolSandbox
          const spawner = yield* Spawner
          const beside = fs.mkdtempSync("/tmp/beside-")
          yield* Effect.addFinalizer(() => Effect.sync(() => fs.rmSync(beside, { recursive: true })))
          const env = new Map([["PATH", process.env["PATH"] ?? "/usr/bin:/bin"]])
          const said = (command: string) =>
            Effect.gen(function*() {
              const done = yield* spawner.run({ argv: ["/bin/bash", "-c", `exec 2>&1; ${command}`], cwd: root, env })
              const output = new TextDecoder().decode(done.stdout)
              const failed = done.code !== 0
              const result = failed ? failure("exit code 1", output) : success(output)
              return remark === undefined ? "" : (yield* remark(call("bash", ["x"]), result)) ?? ""
            })
          const rows: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
            [`touch '${outside}/x y'`, [`${outside}/x y`, "rule outside"]],
            ["echo x > .git/hooks/y", [path.join(root, ".git", "hooks", "y"), "rule protected"]],
            ["echo x > .git/hooks/y || true", [path.join(root, ".git", "hooks", "y"), "rule protected"]],
            [`node -e 'fs.writeFileSync("${outside}/z","")'`, [`${outside}/z`, "rule outside"]],
            [`python3 -c 'open("${outside}/z","w")'`, [`${outside}/z`, "rule outside"]],
            [`echo x > ${beside}/x`, [`${beside}/x`, "rule outside", "a /tmp of their own"]],
            ["mount -o remount,rw /", ["rule privileges"]],
            ["unshare -Urm true", ["rule privileges"]],
            ["cp /bin/true t; chmod 4755 t; true", ["rule privileges", "set-user-ID"]],
            ["cp /bin/true t && chmod 4755 t", ["rule privileges", "set-user-ID"]],
            [
              "node -e 'require(`net`).connect(80,`192.0.2.1`).on(`error`,(e)=>{console.log(e.message);process.exit(1)})'",
              [
                "rule network",
                "sandbox.network"
              ]
            ],
            ["cat missing; echo fine > fine", []],
            ["cat missing", []],
            ["false", []],
            ["echo 'Operation not permitted'", []]
          ]
          for (const [command, expected] of rows) {
            const text = yield* said(command)
            if (expected.length === 0) assert.strictEqual(text, "", command)
            for (const one of expected) assert.include(text, one, command)
            for (const line of text.split("\n")) assert.match(line, /^(\[sandbox\] .*rule \w+.*)?$/, command)
          }
        }), { methods: [method] }))

    it.scoped(`9.9 what a command made where nothing may be is moved aside, and the model is told: ${method}`, () =>
      inWorld({ mode: "workspace" }, ({ root }) =>
        Effect.gen(function*() {
          const { remark } = yield* ToolSandbox
          const spawner = yield* Spawner
          const env = new Map([["PATH", "/usr/bin:/bin"]])
          yield* spawner.run({ argv: ["/bin/sh", "-c", "echo x > GNUmakefile"], cwd: root, env })
          const told = remark === undefined ? null : yield* remark(call("bash", ["x"]), success(""))
          const at = path.join(root, "GNUmakefile")
          assert.include(told ?? "", `${at} was moved to ${at}.refused-1`)
          assert.include(told ?? "", "rule protected")
          assert.isFalse(fs.existsSync(at))
          assert.isNull(remark === undefined ? null : yield* remark(call("bash", ["x"]), success("")))
        }), { methods: [method], settings: { hooks: [{ event: "stop", command: "make check" }] } }))
  }

  it.scoped("without the kernel's help nothing is said of it", () =>
    inWorld({ mode: "workspace" }, () =>
      Effect.gen(function*() {
        const { remark } = yield* ToolSandbox
        const output = "touch: cannot touch '/etc/x': Read-only file system"
        assert.isNull(remark === undefined ? "" : yield* remark(call("bash", ["x"]), failure("exit code 1", output)))
      })))
})

describe("10.5 without enforcement", () => {
  const ran = Effect.gen(function*() {
    const spawner = yield* Spawner
    const { root } = yield* Effect.map(Workspace, (workspace) => workspace)
    const done = yield* Effect.either(
      spawner.run({ argv: ["/bin/sh", "-c", "echo ran"], cwd: root, env: new Map([["PATH", "/usr/bin:/bin"]]) })
    )
    return done._tag === "Left"
      ? `${done.left.reason}: ${done.left.message}`
      : new TextDecoder().decode(done.right.stdout)
  })

  const without = (sandbox: unknown) =>
    Effect.gen(function*() {
      const made = yield* scratchWorld
      const base = layers({ base: made.base, root: made.root, sandbox, methods: [] })
      return yield* Effect.provide(
        Effect.all({
          status: sandboxStatus,
          ran,
          bash: reasonOf(call("bash", ["true"])),
          notice: Effect.flatMap(Sandbox, (sandbox) => sandbox.notice)
        }),
        Layer.provideMerge(layerSandboxSlot, base)
      )
    })

  it.scoped("paths are checked, and the status says that this is all", () =>
    Effect.gen(function*() {
      const { bash, notice, ran, status } = yield* without({ mode: "workspace" })
      assert.deepStrictEqual(
        [status.requested_mode, status.effective_mode, status.enforcement, status.network],
        ["workspace", "workspace", "path_check", "shared"]
      )
      assert.isNotNull(status.reason)
      assert.deepStrictEqual([ran, bash], ["ran\n", "allowed"])
      assert.include(notice ?? "", "not held back by the kernel")
    }))

  it.scoped("require_enforcement, network off and {allow} refuse commands, with the reason", () =>
    Effect.gen(function*() {
      for (
        const [setting, word] of [
          [{ require_enforcement: true }, "require_enforcement"],
          [{ network: "off" }, "sandbox.network"],
          [{ network: { allow: ["a.example"] } }, "sandbox.network"]
        ] as const
      ) {
        const { bash, notice, ran, status } = yield* without({ mode: "workspace", ...setting })
        assert.strictEqual(status.enforcement, "path_check")
        assert.match(ran, /^refused: /)
        for (const text of [ran, bash, notice ?? ""]) assert.include(text, word)
      }
    }))

  it.scoped("off: nothing is wrapped or refused, and the status says who asked", () =>
    Effect.gen(function*() {
      const { bash, notice, ran, status } = yield* without({ mode: "off", network: "off", require_enforcement: true })
      assert.deepStrictEqual([status.enforcement, status.network, ran, bash, notice], [
        "off",
        "shared",
        "ran\n",
        "allowed",
        null
      ])
      assert.strictEqual(status.warnings.length, 1)
    }))

  it.scoped("another system than Linux: paths only, said so", () =>
    Effect.gen(function*() {
      const made = yield* scratchWorld
      const base = layers({
        base: made.base,
        root: made.root,
        sandbox: { mode: "workspace" },
        methods: ["bubblewrap"],
        os: "darwin"
      })
      const { method, reason } = yield* Effect.provide(
        Effect.flatMap(Enforcement, (enforcement) => enforcement.available(false)),
        base
      )
      assert.isNull(method)
      assert.include(reason ?? "", "darwin")
    }))
})

describe("10.5 with enforcement, what does not start", () => {
  it.scoped("a missing program and a missing directory are told as without a sandbox", () =>
    inWorld({ mode: "workspace" }, ({ root }) =>
      Effect.gen(function*() {
        const spawner = yield* Spawner
        const env = new Map([["PATH", "/usr/bin:/bin"]])
        const failing = (argv: readonly [string], cwd: string) =>
          Effect.map(Effect.flip(spawner.run({ argv, cwd, env })), (error) => error.reason)
        assert.strictEqual(yield* failing(["no-such-program"], root), "not_found")
        assert.strictEqual(yield* failing(["/bin/true"], `${root}/none`), "bad_directory")
        const hidden = fs.mkdtempSync("/tmp/sandbox-hidden-")
        assert.strictEqual(yield* failing(["/bin/true"], hidden), "refused")
        fs.rmdirSync(hidden)
      }), { methods: ["bubblewrap", "unshare"] }))
})

describe("10.7 sandbox exec", () => {
  it.scoped("runs as a tool would: inside, without credentials, with the command's exit code", () =>
    inWorld({ mode: "workspace" }, ({ outside, root }) =>
      Effect.gen(function*() {
        const child = yield* sandboxExec([
          "/bin/sh",
          "-c",
          `pwd; echo "[$API_TOKEN]"; echo x > ${outside}/x; exit 7`
        ])
        const text = yield* Stream.mkString(Stream.decodeText(child.stdout))
        assert.deepStrictEqual([text, (yield* child.exit).code], [`${root}\n[]\n`, 7])
        assert.deepStrictEqual(fs.readdirSync(outside), [])
      }), { methods: ["bubblewrap", "unshare"], env: { API_TOKEN: "secret" } }))
})

describe("10.3 swapped between check and use", () => {
  it.scoped(
    "10,000 rounds: a directory that becomes a link outside; reads and writes go where they were approved or fail",
    () =>
      Effect.gen(function*() {
        const base = fs.mkdtempSync(fs.existsSync("/dev/shm") ? "/dev/shm/swap-" : "/tmp/swap-")
        yield* Effect.addFinalizer(() => Effect.sync(() => fs.rmSync(base, { recursive: true, force: true })))
        const [root, outside] = [path.join(base, "work"), path.join(base, "outside")]
        for (const at of [path.join(root, "d"), path.join(root, "real"), outside]) fs.mkdirSync(at, { recursive: true })
        fs.writeFileSync(path.join(outside, "f"), "secret")
        fs.writeFileSync(path.join(root, "d", "f"), "ours")
        // Swaps d between a directory and a link outside as fast as it can, until told to stop.
        const script =
          `const fs=require("fs");const [d,r,o]=process.argv.slice(1);process.stdin.on("data",()=>process.exit());
        process.stdout.write("go\\n");(function turn(){for(let i=0;i<200;i++){fs.renameSync(d,r+"/k");fs.symlinkSync(o,d);fs.unlinkSync(d);fs.renameSync(r+"/k",d)}setImmediate(turn)})()`
        const swapper = yield* Effect.acquireRelease(
          Effect.async<ReturnType<typeof spawn>>((resume) => {
            const child = spawn(process.execPath, [
              "-e",
              script,
              path.join(root, "d"),
              path.join(root, "real"),
              outside
            ], {
              stdio: ["pipe", "pipe", "inherit"]
            })
            child.stdout.once("data", () => resume(Effect.succeed(child)))
          }),
          (child) => Effect.sync(() => void child.kill("SIGKILL"))
        )
        yield* Effect.gen(function*() {
          const sandbox = yield* Sandbox
          const files = yield* Files
          const atomic = yield* AtomicFile
          const counts = { read: 0, written: 0, refused: 0, moved: 0 }
          for (let round = 0; round < 10_000; round++) {
            const write = round % 4 === 0
            const verdict = yield* sandbox.judgePath("d/f", write ? "write" : "read")
            if (!verdict.allowed) {
              counts.refused++
              continue
            }
            if (write) {
              const done = yield* Effect.either(atomic.write(verdict.path, "ours", { approved: true }))
              if (done._tag === "Right") counts.written++
              else counts.moved++
            } else {
              const done = yield* Effect.either(files.read(verdict.path, 1000))
              if (done._tag === "Right") {
                assert.strictEqual(new TextDecoder().decode(done.right.bytes), "ours")
                counts.read++
              } else counts.moved++
            }
          }
          assert.isNull(swapper.exitCode)
          assert.deepStrictEqual([fs.readFileSync(path.join(outside, "f"), "utf8"), fs.readdirSync(outside)], [
            "secret",
            ["f"]
          ])
          assert.isAbove(counts.read + counts.written, 0, JSON.stringify(counts))
          assert.isAbove(counts.refused + counts.moved, 0, JSON.stringify(counts))
        }).pipe(
          Effect.provide(Layer.mergeAll(
            layers({ base, root, sandbox: { mode: "workspace" }, methods: [] }),
            AtomicFile.layer,
            Path.layer
          ))
        )
      }),
    120_000
  )
})
