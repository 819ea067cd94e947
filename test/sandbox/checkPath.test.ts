import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as fs from "node:fs"
import * as path from "node:path"
import { isWithin, judge, type PathPolicy } from "../../src/sandbox/CheckPath.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { layers } from "./driver.ts"
import { scratchWorld } from "./support.ts"

const sandboxIn = (
  sandbox: unknown,
  use: (world: { readonly base: string; readonly root: string; readonly outside: string }) => Effect.Effect<
    void,
    never,
    Sandbox
  >,
  more: { readonly settings?: Record<string, unknown>; readonly rootAs?: (root: string) => string } = {}
) =>
  Effect.gen(function*() {
    const made = yield* scratchWorld
    const request = {
      base: made.base,
      root: more.rootAs?.(made.root) ?? made.root,
      sandbox,
      methods: [],
      ...(more.settings === undefined ? {} : { settings: more.settings })
    }
    yield* Effect.provide(use(made), layers(request))
  })

const verdict = (given: string, operation: "read" | "write" = "read") =>
  Effect.map(
    Effect.flatMap(Sandbox, (sandbox) => sandbox.judgePath(given, operation)),
    (found) => found.allowed ? "allowed" : found.rule
  )

const expectAll = (
  rows: ReadonlyArray<readonly [string, "read" | "write", string]>
): Effect.Effect<void, never, Sandbox> =>
  Effect.gen(function*() {
    const found: Array<string> = []
    for (const [given, operation] of rows) found.push(`${operation} ${given}: ${yield* verdict(given, operation)}`)
    assert.deepStrictEqual(found, rows.map(([given, operation, expected]) => `${operation} ${given}: ${expected}`))
  })

describe("10.2 check_path in mode workspace", () => {
  it.scoped("every row of the table", () =>
    sandboxIn({ mode: "workspace" }, ({ base, outside, root }) => {
      fs.writeFileSync(path.join(root, "file"), "")
      fs.mkdirSync(path.join(root, "dir"))
      fs.mkdirSync(path.join(root, "%2e%2e"))
      fs.symlinkSync(outside, path.join(root, "out"))
      fs.symlinkSync("dir", path.join(root, "in"))
      fs.symlinkSync(path.join(outside, "not-there"), path.join(root, "dangling-out"))
      fs.symlinkSync("not-there", path.join(root, "dangling-in"))
      fs.symlinkSync("loop", path.join(root, "loop"))
      fs.symlinkSync(root, path.join(outside, "back"))
      const fd = fs.openSync(outside, fs.constants.O_RDONLY)
      const inside = fs.openSync(root, fs.constants.O_RDONLY)
      return Effect.ensuring(
        expectAll([
          ["file", "write", "allowed"],
          [".", "read", "allowed"],
          [root, "write", "allowed"],
          ["dir/../file", "read", "allowed"],
          [`${root}/./file`, "read", "allowed"],
          ["new/deep/file", "write", "allowed"],
          ["..", "read", "outside"],
          ["../outside/x", "write", "outside"],
          ["dir/../../outside/x", "write", "outside"],
          [`${root}-evil`, "read", "outside"],
          [`${root}-evil/x`, "write", "outside"],
          [`${root}/`, "read", "allowed"],
          [outside, "read", "outside"],
          ["/", "read", "outside"],
          ["/etc/passwd", "read", "outside"],
          ["~", "read", "outside"],
          ["~/notes", "write", "outside"],
          ["~name", "write", "allowed"],
          ["out", "read", "outside"],
          ["out/x", "write", "outside"],
          ["out/new/x", "write", "outside"],
          ["in/x", "write", "allowed"],
          ["in/../file", "read", "allowed"],
          ["out/back/file", "read", "allowed"],
          ["out/..", "read", "outside"],
          ["dangling-out", "write", "outside"],
          ["dangling-in", "write", "allowed"],
          ["loop", "read", "unresolvable"],
          ["file/x", "write", "unresolvable"],
          [`/proc/self/root${outside}`, "read", "outside"],
          [`/proc/self/root${root}/file`, "read", "allowed"],
          ["/proc/self/cwd/x", "write", "outside"],
          [`/proc/self/fd/${fd}/x`, "write", "outside"],
          [`/proc/self/fd/${inside}/file`, "write", "allowed"],
          ["/proc/self/fd/0", "write", "outside"],
          ["/dev/stdin", "read", "outside"],
          ["", "read", "invalid_path"],
          ["a\0b", "read", "invalid_path"],
          ["\0", "write", "invalid_path"],
          [`file://${root}/file`, "read", "invalid_path"],
          ["file:x", "read", "invalid_path"],
          ["https://a.example/x", "read", "invalid_path"],
          ["%2e%2e/outside", "write", "allowed"],
          ["a:b", "write", "allowed"],
          ["FILE", "read", "allowed"],
          ["e\u0301", "write", "allowed"],
          ["x".repeat(300), "write", "unresolvable"]
        ]),
        Effect.sync(() => {
          fs.closeSync(fd)
          fs.closeSync(inside)
          assert.deepStrictEqual(fs.readdirSync(outside), ["back"], base)
        })
      )
    }))

  it.scoped("a workspace reached through a link is itself, and relative paths start there, not at the process", () =>
    sandboxIn(
      { mode: "workspace" },
      ({ base, root }) =>
        expectAll([
          [path.join(base, "link", "x"), "write", "allowed"],
          [path.join(root, "x"), "write", "allowed"],
          ["x", "write", "allowed"],
          [path.join(base, "x"), "write", "outside"]
        ]),
      {
        rootAs: (root) => {
          const link = path.join(path.dirname(root), "link")
          fs.symlinkSync(root, link)
          return link
        }
      }
    ))

  it.scoped("protected places, existing or not, at any depth; reading them is fine", () =>
    sandboxIn({ mode: "workspace" }, ({ root }) => {
      fs.mkdirSync(path.join(root, "mod", ".git"), { recursive: true })
      fs.symlinkSync(".git/hooks", path.join(root, "h"))
      fs.mkdirSync(path.join(root, ".husky", "_"), { recursive: true })
      return expectAll([
        [".git/hooks/pre-commit", "write", "protected"],
        [".git/hooks", "write", "protected"],
        ["h/pre-commit", "write", "protected"],
        [".git/hooks/pre-commit", "read", "allowed"],
        [".git/config", "write", "protected"],
        [".git/config.worktree", "write", "protected"],
        [".git/commondir", "write", "protected"],
        [".git/modules/a/config", "write", "protected"],
        [".git/modules/a/b/hooks/x", "write", "protected"],
        [".git/worktrees/a/config.worktree", "write", "protected"],
        [".git/index", "write", "allowed"],
        [".git/COMMIT_EDITMSG", "write", "allowed"],
        ["sub/.git", "write", "protected"],
        ["sub/.git/hooks/x", "write", "protected"],
        ["mod/.git/config", "write", "protected"],
        [".hanzo/settings.json", "write", "protected"],
        [".hanzo/anything/else", "write", "protected"],
        [".hanzo", "write", "protected"],
        ["sub/.hanzo/settings.local.json", "write", "protected"],
        [".hanzo/settings.json", "read", "allowed"],
        [".hanzo-notes", "write", "allowed"],
        [".gitignore", "write", "allowed"],
        [".github/hooks/x", "write", "allowed"],
        ["hooks/x", "write", "allowed"],
        ["~/.hanzo/settings.json", "write", "protected"]
      ])
    }))

  it.scoped("a protected place that is a link is not written through, and neither is what it leads to", () =>
    sandboxIn({ mode: "workspace" }, ({ root }) => {
      fs.symlinkSync("elsewhere", path.join(root, ".hanzo"))
      fs.renameSync(path.join(root, ".git"), path.join(root, "repository"))
      fs.symlinkSync("repository", path.join(root, ".git"))
      return expectAll([
        [".hanzo", "write", "protected"],
        [".hanzo/settings.json", "write", "protected"],
        ["elsewhere/settings.json", "write", "protected"],
        [".git", "write", "protected"],
        [".git/hooks/pre-commit", "write", "protected"],
        ["repository/hooks/pre-commit", "write", "protected"],
        ["repository/config", "write", "protected"],
        ["free", "write", "allowed"]
      ])
    }))

  it.scoped("core.hooksPath of the repository and of the user, and what they include", () =>
    Effect.gen(function*() {
      const made = yield* scratchWorld
      fs.writeFileSync(path.join(made.root, ".git", "config"), "[core]\n\thooksPath = \"ci/my hooks\" # ours\n")
      fs.writeFileSync(path.join(made.base, "home", ".gitconfig"), "[includeIf \"gitdir:~/\"]\n path = more.cfg\n")
      fs.writeFileSync(path.join(made.base, "home", "more.cfg"), "[core] hooksPath = .husky/_\n")
      yield* Effect.provide(
        expectAll([
          ["ci/my hooks/pre-push", "write", "protected"],
          ["ci/other", "write", "allowed"],
          [".husky/pre-commit", "write", "protected"],
          [".husky/_/h", "write", "protected"]
        ]),
        layers({ base: made.base, root: made.root, sandbox: { mode: "workspace" }, methods: [] })
      )
    }))

  const lines: ReadonlyArray<readonly [string, string]> = [
    ["cd tools && ./h.sh", "tools/h.sh"],
    ["pushd tools; bash h.sh", "tools/h.sh"],
    ["bash -c 'cd tools && ./h.sh'", "tools/h.sh"],
    ["(cd tools; sh h2.sh)", "tools/h2.sh"],
    ["D=tools; $D/h3.sh", "tools/h3.sh"],
    ["D=tools; \"${D}/h3.sh\"", "tools/h3.sh"],
    ["env -C tools ./h.sh", "tools/h.sh"],
    ["\"`pwd`/tools/h.sh\"", "tools/h.sh"],
    ["$(pwd)/tools/h.sh", "tools/h.sh"],
    ["find tools -name h.sh -exec sh {} \\;", "tools/h.sh"],
    ["python3 -m mymod", "mymod.py"],
    ["python3 -m pack", "pack/__main__.py"],
    ["npm run check", "package.json"],
    ["make check", "Makefile"]
  ]
  const present = [...new Set(lines.map(([, file]) => file))]
  for (const [command, file] of lines) {
    it.scoped(`9.9 the program file behind: ${command}`, () =>
      sandboxIn(
        { mode: "workspace" },
        () =>
          expectAll([[file, "write", "protected"], ["tools/other.txt", "write", "allowed"], [
            "free",
            "write",
            "allowed"
          ]]),
        {
          settings: { hooks: [{ event: "stop", command }] },
          rootAs: (root) => {
            for (const one of [...present, "tools/other.txt"]) {
              fs.mkdirSync(path.dirname(path.join(root, one)), { recursive: true })
              fs.writeFileSync(path.join(root, one), "")
            }
            return root
          }
        }
      ))
  }

  // Line, the file to be made first, what must not be written then, what may be.
  const shapes: ReadonlyArray<
    readonly [line: string, present: ReadonlyArray<string>, closed: ReadonlyArray<string>, open: ReadonlyArray<string>]
  > = [
    ["node ./guard", ["guard/index.js"], ["guard/index.js", "guard/new.js", "guard.js", "guard.json", "guard/lib/x"], [
      "guardian.js",
      "x.js"
    ]],
    ["node guard src", ["guard/package.json", "src/a.ts"], ["guard/package.json", "guard.js"], ["src/a.ts", "src/new"]],
    ["node --enable-source-maps ./guard", ["guard/index.mjs"], ["guard/index.mjs", "guard/x"], []],
    ["node h", ["h.js"], ["h.js", "h"], ["hh.js"]],
    ["node tools/h.js src", ["tools/h.js", "src/x"], ["tools/h.js"], ["src/x", "tools/other.js"]],
    ["node .", ["index.js", "src/x.js"], ["index.js", "package.json"], ["src/x.js"]],
    ["node .", ["package.json", "src/x.js"], ["package.json", "index.js"], ["other.js"]],
    ["python3 tool", ["tool/__main__.py"], ["tool/__main__.py", "tool/lib.py"], ["tools/x"]],
    ["timeout 5 python3.12 -u tool data", ["tool/__main__.py", "data/x"], ["tool/new.py"], ["data/x"]],
    [
      "python3 -mpkg.mod",
      ["pkg/__init__.py", "pkg/mod.py"],
      ["pkg/__init__.py", "pkg/mod.py", "pkg/x.py", "pkg.py"],
      []
    ],
    ["python3 -Im pkg.mod", ["pkg/__init__.py", "pkg/mod.py"], ["pkg/__init__.py", "pkg/mod/__init__.py"], []],
    ["python3 -m a.b.c", ["a/b/c.py"], ["a/__init__.py", "a/b/__init__.py", "a/b/c.py", "a.py"], ["b/c.py"]],
    ["python3 -m mymod", ["mymod.py"], ["mymod.py", "mymod/__init__.py", "mymod.so"], ["mymod2.py"]],
    ["python3 -m pytest tests", ["tests/t.py"], ["pytest.py", "pytest/__init__.py"], ["tests/t.py", "tests/new.py"]],
    ["go run ./cmd/lint", ["cmd/lint/main.go"], ["cmd/lint/main.go", "cmd/lint/init.go", "go.mod"], ["cmd/x.go"]],
    ["run-parts tools", ["tools/1"], ["tools/1", "tools/2"], ["x"]],
    ["make -ftools/hook.mk", ["tools/hook.mk"], ["tools/hook.mk"], ["tools/x"]],
    ["make check", ["Makefile"], ["Makefile", "makefile", "GNUmakefile"], ["x.mk"]],
    ["make -Ctools", ["tools/Makefile"], ["tools/Makefile", "tools/GNUmakefile"], ["tools/x"]],
    ["awk -fguard.awk", ["guard.awk"], ["guard.awk"], ["x.awk"]],
    ["sed -nfx", ["x"], ["x"], ["y"]],
    ["ruby -r./lib.rb -e 1", ["lib.rb"], ["lib.rb"], ["x.rb"]],
    ["ruby -r./lib -e 1", ["lib.rb"], ["lib.rb"], ["x.rb"]],
    ["perl -Ilib -MFoo::Bar -e1", ["lib/Foo/Bar.pm"], ["lib/Foo/Bar.pm"], ["lib/x.pm"]],
    ["java -cp a.jar:build Main", ["a.jar", "build/Main.class"], ["a.jar", "build/Main.class"], ["build/x"]],
    ["npx --no lint-it", ["node_modules/.bin/lint-it"], ["node_modules/.bin/lint-it", "node_modules/.bin/new"], [
      "node_modules/x/index.js"
    ]],
    ["npx eslint .", ["package.json"], ["node_modules/.bin/eslint", "package.json", ".npmrc"], [
      "node_modules/x",
      "a.js"
    ]],
    ["npx eslint@9 src", ["node_modules/.bin/eslint", "src/x"], ["node_modules/.bin/eslint"], ["src/x"]],
    ["just check", ["justfile"], ["justfile", ".justfile"], ["x"]],
    ["cargo run", ["Cargo.toml"], ["Cargo.toml", ".cargo/config.toml", "build.rs"], ["src/main.rs"]],
    ["deno task check", ["deno.json"], ["deno.json", "deno.jsonc"], ["x.ts"]],
    ["docker compose up", ["docker-compose.yml"], ["docker-compose.yml", "docker-compose.override.yml"], ["x.yml"]],
    ["sh ./later.sh", [], ["later.sh"], ["other.sh"]],
    ["cd tools && node h", ["tools/h.js", "tools/x"], ["tools/h.js", "tools/h"], ["tools/x"]],
    ["eslint src", ["src/index.ts"], [], ["src/index.ts", "src/new.ts", "src.ts"]],
    ["tools/*.sh", ["tools/1.sh"], ["tools/1.sh", "tools/2.sh"], ["x.sh"]],
    ["for f in tools/*.sh; do sh $f; done", ["tools/1.sh", "x"], ["tools/1.sh", "tools/2.sh"], ["x"]],
    ["prettier --check src/*.js", ["src/1.js"], ["src/1.js"], ["src/2.js"]],
    ["node \\\n  ./guard", ["guard/index.js"], ["guard/index.js", "guard/new.js", "guard.js"], []],
    ["npx ./guard", ["guard/package.json"], ["guard/package.json", "guard/new.js"], []],
    ["./node_modules/.bin/lint .", ["node_modules/.bin/lint"], ["node_modules/.bin/lint", "node_modules/.bin/new"], []],
    ["cat >> hook.log", ["hook.log"], ["hook.log"], ["other.log"]]
  ]
  for (const [command, present, closed, open] of shapes) {
    for (const as of ["hook", "server"] as const) {
      const argv = command.split(" ")
      if (as === "server" && /[&>;*\\]/u.test(command)) continue
      it.scoped(`9.9 by the shape of its line, ${as}: ${command} with ${present.join(", ") || "nothing"}`, () =>
        sandboxIn({ mode: "off" }, () =>
          expectAll([
            ...closed.map((file) => [file, "write", "protected"] as const),
            ...open.map((file) => [file, "write", "allowed"] as const)
          ]), {
          settings: as === "hook"
            ? { hooks: [{ event: "stop", command }] }
            : { mcp_servers: { a: { command: argv } } },
          rootAs: (root) => {
            for (const one of present) {
              fs.mkdirSync(path.dirname(path.join(root, one)), { recursive: true })
              fs.writeFileSync(path.join(root, one), "")
            }
            return root
          }
        }))
    }
  }

  it.scoped("9.9 the package behind an installed program, and programs that PATH finds in the workspace", () =>
    Effect.gen(function*() {
      const rootAs = (root: string): string => {
        for (const one of ["node_modules/lint/bin/lint.js", "node_modules/lint/lib/x.js", "node_modules/free/x.js"]) {
          fs.mkdirSync(path.dirname(path.join(root, one)), { recursive: true })
          fs.writeFileSync(path.join(root, one), "")
        }
        fs.mkdirSync(path.join(root, "node_modules", ".bin"))
        fs.symlinkSync("../lint/bin/lint.js", path.join(root, "node_modules", ".bin", "lint"))
        fs.mkdirSync(path.join(root, "venv", "bin"), { recursive: true })
        fs.writeFileSync(path.join(root, "venv", "bin", "ruff"), "")
        fs.mkdirSync(path.join(root, "other", "bin"), { recursive: true })
        return root
      }
      yield* sandboxIn({ mode: "off" }, () =>
        expectAll([
          ["node_modules/lint/bin/lint.js", "write", "protected"],
          ["node_modules/lint/lib/x.js", "write", "protected"],
          ["node_modules/lint/new.js", "write", "protected"],
          ["node_modules/.bin/new", "write", "protected"],
          ["node_modules/free/x.js", "write", "allowed"]
        ]), { settings: { hooks: [{ event: "stop", command: "npx lint ." }] }, rootAs })
      yield* sandboxIn({ mode: "off" }, () =>
        expectAll([
          ["venv/bin/ruff", "write", "protected"],
          ["venv/bin/new", "write", "protected"],
          ["other/bin/ruff", "write", "protected"],
          ["other/bin/x", "write", "allowed"]
        ]), {
        settings: {
          hooks: [{ event: "stop", command: "ruff check" }],
          env: { PATH: "other/bin:venv/bin:/usr/bin:/bin" }
        },
        rootAs
      })
    }))

  it.scoped("9.9 the status says which directories a hook may run without our knowing", () =>
    sandboxIn({ mode: "workspace" }, ({ root }) =>
      Effect.gen(function*() {
        const { warnings } = yield* Effect.flatMap(Sandbox, (sandbox) => sandbox.status)
        const told = warnings.filter((one) => one.startsWith("the command of hook"))
        assert.strictEqual(told.length, 3, told.join("\n"))
        assert.include(told[0], `hook 1: it names the directory ${path.join(root, "src")}`)
        assert.include(told[1], `hook 2: it runs the directory ${root}, which holds the workspace`)
        assert.include(told[2], `hook 3: it runs programs of ${path.join(root, "node_modules", ".bin")}`)
      }), {
      settings: {
        hooks: ["eslint src", "node .", "npx x", "grep -r x src"].map((command) => ({ event: "stop", command }))
      },
      rootAs: (root) => {
        fs.mkdirSync(path.join(root, "src"))
        return root
      }
    }))

  it.scoped("9.9 an installed program behind its link stops no command", () =>
    sandboxIn({ mode: "workspace" }, () =>
      Effect.gen(function*() {
        const { warnings } = yield* Effect.flatMap(Sandbox, (sandbox) => sandbox.status)
        assert.notInclude(warnings.join(), "symbolic link")
        yield* expectAll([["node_modules/lint/x.js", "write", "protected"], [
          "node_modules/.bin/lint",
          "write",
          "protected"
        ]])
      }), {
      settings: { hooks: [{ event: "stop", command: "node_modules/.bin/lint ." }] },
      rootAs: (root) => {
        fs.mkdirSync(path.join(root, "node_modules", "lint"), { recursive: true })
        fs.mkdirSync(path.join(root, "node_modules", ".bin"))
        fs.writeFileSync(path.join(root, "node_modules", "lint", "x.js"), "")
        fs.symlinkSync("../lint/x.js", path.join(root, "node_modules", ".bin", "lint"))
        return root
      }
    }))

  it.scoped("9.9 the status says which hook computes what it runs", () =>
    sandboxIn({ mode: "workspace" }, () =>
      Effect.gen(function*() {
        const { warnings } = yield* Effect.flatMap(Sandbox, (sandbox) => sandbox.status)
        assert.deepStrictEqual(
          warnings.filter((one) => one.includes("computes what it runs")).map((one) => one.slice(0, 21)),
          [2, 3, 4, 5, 7].map((number) => `the command of hook ${number}`)
        )
      }), {
      settings: {
        hooks: [
          "./h.sh \"$1\" $X",
          "eval \"$X\"",
          "$GUARD",
          "sh $GUARD",
          "cd \"$DIR\" && ./h.sh",
          "$HANZO_PROJECT_ROOT/h.sh",
          "$X/h.sh"
        ].map((command) => ({ event: "stop", command }))
      }
    }))

  it.scoped("9.9 programs of hooks, MCP and language servers, also as arguments", () =>
    sandboxIn({ mode: "workspace" }, () =>
      expectAll([
        ["check.sh", "write", "protected"],
        ["tools/hook.js", "write", "protected"],
        ["server/main.py", "write", "protected"],
        ["lsp/srv", "write", "protected"],
        ["not-yet/run", "write", "protected"],
        ["tools/other.js", "write", "allowed"],
        ["node", "write", "allowed"],
        ["data.json", "write", "allowed"],
        ["check.sh", "read", "allowed"]
      ]), {
      settings: {
        hooks: [
          {
            event: "pre_tool_use",
            command: "FOO=1 ./check.sh --strict && node --require=./tools/hook.js",
            tool_pattern: "*"
          },
          { event: "stop", command: "./not-yet/run 'a b'" }
        ],
        mcp_servers: {
          a: { command: ["python3", "server/main.py", "data.json"] },
          b: { command: "x", args: ["lsp/srv"] }
        },
        lsp: { servers: { c: { command: ["lsp/srv"], extensions: [".c"] } } }
      },
      rootAs: (root) => {
        for (const file of ["check.sh", "tools/hook.js", "server/main.py", "lsp/srv"]) {
          fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
          fs.writeFileSync(path.join(root, file), "")
        }
        return root
      }
    }))

  it.scoped("a hard link is a warning, or refused where that is set", () =>
    Effect.gen(function*() {
      for (const deny of [false, true]) {
        yield* sandboxIn({ mode: "workspace", deny_hard_linked_writes: deny }, ({ outside, root }) => {
          fs.writeFileSync(path.join(outside, "a"), "")
          fs.linkSync(path.join(outside, "a"), path.join(root, "b"))
          fs.writeFileSync(path.join(root, "single"), "")
          return Effect.gen(function*() {
            const sandbox = yield* Sandbox
            const found = yield* sandbox.judgePath("b", "write")
            if (deny) assert.strictEqual(found.allowed ? "" : found.rule, "hard_link")
            else assert.include(found.allowed ? found.warning ?? "" : "", "2 names")
            assert.deepStrictEqual(
              yield* Effect.all([sandbox.checkPath("b"), sandbox.checkPath("single", "write")]),
              [true, true]
            )
          })
        })
      }
    }))

  it.scoped("what was cut from a long output may be read, and only read", () =>
    sandboxIn({ mode: "workspace" }, ({ base }) =>
      expectAll([
        [path.join(base, "state", "tool-output", "call_1.txt"), "read", "allowed"],
        [path.join(base, "state", "tool-output", "call_1.txt"), "write", "outside"],
        [path.join(base, "state", "audit"), "read", "outside"]
      ])))

  it.scoped("the message names the path and the rule", () =>
    sandboxIn({ mode: "workspace" }, ({ root }) =>
      Effect.gen(function*() {
        const sandbox = yield* Sandbox
        for (const [given, rule] of [["/etc/passwd", "outside"], [".hanzo/x", "protected"]] as const) {
          const found = yield* sandbox.judgePath(given, "write")
          assert.isFalse(found.allowed)
          if (found.allowed) return
          assert.include(found.message, path.resolve(root, given))
          assert.include(found.message, `rule ${rule}`)
        }
      })))
})

describe("10.1 the other modes", () => {
  it.scoped("allowlist: exactly the paths, relative to the workspace, ~ expanded", () =>
    sandboxIn(
      { mode: "allowlist", allowed_paths: ["src", "~/notes", "later/on", "a\0b"] },
      ({ base, root }) =>
        expectAll([
          ["src/x", "write", "allowed"],
          ["src", "read", "allowed"],
          ["srcs", "read", "outside"],
          ["x", "read", "outside"],
          [root, "read", "outside"],
          ["later/on/x", "write", "allowed"],
          ["later/x", "write", "outside"],
          [path.join(base, "home", "notes", "x"), "write", "allowed"],
          ["~/other", "read", "outside"],
          ["src/.git/config", "write", "protected"],
          ["src/../x", "write", "outside"]
        ])
    ))
  it.scoped("allowlist: empty allows nothing, . is the workspace", () =>
    Effect.gen(function*() {
      yield* sandboxIn({ mode: "allowlist" }, () => expectAll([["x", "read", "outside"], [".", "read", "outside"]]))
      yield* sandboxIn({ mode: "allowlist", allowed_paths: ["."] }, () => expectAll([["x", "write", "allowed"]]))
    }))
  it.scoped("allowlist: the link of an allowed path is followed once, at the start", () =>
    sandboxIn({ mode: "allowlist", allowed_paths: ["data"] }, ({ outside, root }) =>
      Effect.gen(function*() {
        assert.strictEqual(yield* verdict("data/x", "write"), "allowed")
        fs.rmdirSync(path.join(root, "data"))
        fs.symlinkSync(outside, path.join(root, "data"))
        assert.strictEqual(yield* verdict("data/x", "write"), "outside")
      }), {
      rootAs: (root) => {
        fs.mkdirSync(path.join(root, "data"))
        return root
      }
    }))
  it.scoped("credential places inside what is allowed stay closed, unless named", () =>
    Effect.gen(function*() {
      yield* sandboxIn({ mode: "allowlist", allowed_paths: ["~"] }, () =>
        expectAll([
          ["~/.claude/.credentials.json", "read", "credentials"],
          [
            "~/.mozilla/firefox/a.default/logins.json",
            "read",
            "credentials"
          ],
          ["~/.bash_history", "read", "credentials"],
          ["~/.claude/CLAUDE.md", "read", "allowed"],
          [
            "~/.ssh/id",
            "read",
            "credentials"
          ],
          ["~/.netrc", "read", "credentials"],
          [
            "~/x",
            "write",
            "allowed"
          ]
        ]))
      yield* sandboxIn({ mode: "allowlist", allowed_paths: ["~", "~/.ssh"] }, () =>
        expectAll([["~/.ssh/id", "read", "allowed"], ["~/.netrc", "read", "credentials"]]))
    }))
  it.scoped("6.10: logins and settings behind a link of the settings directory, their locks, the settings of before", () =>
    sandboxIn({ mode: "allowlist", allowed_paths: [".", "~"] }, () =>
      expectAll([
        ["dots/logins.json", "read", "credentials"],
        ["dots/logins.json", "write", "protected"],
        ["dots/logins.json.lock", "read", "credentials"],
        ["dots/logins.json.lock", "write", "protected"],
        ["dots/settings.json", "read", "credentials"],
        ["dots/settings.json", "write", "protected"],
        ["~/.hanzo/settings.json", "read", "credentials"],
        ["dots/other.json", "write", "allowed"],
        ["settings.json", "write", "allowed"]
      ]), {
      rootAs: (root) => {
        const config = path.join(path.dirname(root), "config")
        fs.mkdirSync(path.join(root, "dots"))
        fs.rmSync(path.join(config, "credentials.json"))
        fs.symlinkSync(path.join(root, "dots", "logins.json"), path.join(config, "credentials.json"))
        fs.writeFileSync(path.join(root, "dots", "settings.json"), "{}")
        fs.symlinkSync(path.join(root, "dots", "settings.json"), path.join(config, "settings.json"))
        return root
      }
    }))
  it.scoped("off: everything, but settings and programs are the user's in every mode (9.9)", () =>
    sandboxIn({ mode: "off" }, ({ base }) =>
      expectAll([
        ["/etc/passwd", "read", "allowed"],
        ["../outside/x", "write", "allowed"],
        [".git/hooks/x", "write", "allowed"],
        [".hanzo/scenarios/x", "write", "allowed"],
        [".hanzo/settings.json", "write", "protected"],
        [".hanzo/settings.local.json", "write", "protected"],
        [path.join(base, "config", "settings.json"), "write", "protected"],
        [path.join(base, "config", "trust.json"), "write", "protected"],
        [path.join(base, "config", "settings.json"), "read", "allowed"],
        ["~/.hanzo/settings.json", "write", "protected"],
        ["/etc/hanzo/managed-settings.json", "write", "protected"],
        ["", "read", "invalid_path"]
      ])))
})

describe("properties", () => {
  const policy: PathPolicy = {
    mode: "workspace",
    roots: ["/w"],
    read_roots: [],
    always_protected: ["/w/run.sh"],
    protected: [],
    credentials: [],
    deny_hard_linked_writes: false,
    fold_case: false,
    separator: "/"
  }
  const names = FastCheck.constantFrom("w", "w2", "a", ".git", "hooks", "config", ".hanzo", "x y", "run.sh", "W")
  const canonicalPaths = FastCheck.array(names, { maxLength: 6 }).map((parts) => `/${parts.join("/")}`)

  it.prop(
    "a path is inside exactly when its way from the root does not lead up",
    [canonicalPaths, canonicalPaths],
    ([a, b]) => {
      const relative = path.posix.relative(a, b)
      assert.strictEqual(isWithin(a, b), relative === "" || !relative.startsWith(".."))
    }
  )
  it.prop("nothing outside is ever allowed, nothing below .git/hooks or .hanzo written", [canonicalPaths], ([at]) => {
    const found = judge(policy, { path: at, kind: null, links: 1 }, "write")
    if (!found.allowed) return
    assert.isTrue(at === "/w" || at.startsWith("/w/"), at)
    assert.notMatch(at, /\/\.git\/(hooks|config)(\/|$)|\/\.hanzo(\/|$)|^\/w\/run\.sh(\/|$)/)
  })
  it.prop("writing is never easier than reading", [canonicalPaths], ([at]) => {
    const subject = { path: at, kind: "file", links: 1 } as const
    if (judge(policy, subject, "write").allowed) assert.isTrue(judge(policy, subject, "read").allowed)
  })
  it("where the file system folds case, so does the rule", () => {
    const folded = { ...policy, fold_case: true }
    for (const at of ["/w/.GIT/Hooks/x", "/w/.Hanzo/x", "/W/RUN.SH"]) {
      assert.isFalse(judge(folded, { path: at, kind: null, links: 1 }, "write").allowed, at)
    }
    assert.isTrue(judge(folded, { path: "/W/a", kind: null, links: 1 }, "write").allowed)
    assert.isFalse(judge(policy, { path: "/W/a", kind: null, links: 1 }, "write").allowed)
  })
})
