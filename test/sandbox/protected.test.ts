/** Places inside the workspace that a command must not change, existing or not (readings 9.9, 10.2, 10.5). */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { bundle, drive, methods, place, type Reply, type Request, users, type World, world } from "./support.ts"

const above = place()
let driver = ""
beforeAll(() => {
  driver = bundle(above)
})
afterAll(() => fs.rmSync(above, { recursive: true, force: true }))

const own = (uid: number, at: string): void => void spawnSync("chown", ["-R", `${uid}:${uid}`, at])

/** Everything that is a file below a directory, with its text. */
const snapshot = (at: string): Record<string, string> => {
  const found: Record<string, string> = {}
  const walk = (directory: string): void => {
    for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
      const file = path.join(directory, entry.name)
      if (entry.isDirectory()) walk(file)
      else found[path.relative(at, file)] = fs.readFileSync(file, "latin1")
    }
  }
  if (fs.existsSync(at)) walk(at)
  return found
}

for (const user of users) {
  for (const method of methods) {
    describe(`${method}, as ${user.name}`, () => {
      const open = (name: string, options: { readonly git?: boolean } = {}): World =>
        world(above, `${method}-${user.uid}-${name}`, user.uid, options)
      const run = (at: World, commands: ReadonlyArray<string>, more: Partial<Request> = {}): Promise<Reply> =>
        drive(driver, user.uid, {
          base: at.base,
          root: at.root,
          sandbox: { mode: "workspace" },
          methods: [method],
          env: { W: at.root, OUT: at.outside, HOME: path.join(at.base, "home") },
          commands,
          ...more
        })

      it("git hooks and configuration: not written, not moved aside, not made anew", async () => {
        const at = open("git")
        fs.mkdirSync(path.join(at.root, ".hanzo"))
        fs.writeFileSync(path.join(at.root, ".hanzo", "settings.json"), "{}")
        own(user.uid, at.base)
        const before = { ...snapshot(path.join(at.root, ".git")), ...snapshot(path.join(at.root, ".hanzo")) }
        const { answers } = await run(at, [
          "echo x > .git/hooks/pre-commit",
          "echo x > .git/hooks/old",
          "rm -rf .git/hooks",
          "mv .git/hooks .git/h2",
          "mv .git .git2",
          "ln -s ../x .git/hooks/l",
          "echo x >> .git/config",
          "git config core.hooksPath /tmp",
          "rm -f .git/config",
          "echo x > .git/config.worktree",
          "rm .git/config.worktree",
          "echo x > .git/c && mv -f .git/c .git/config.worktree",
          "echo x > .git/c && mv -f .git/c .git/config",
          "umount .git/hooks .git/config .git",
          "unshare -Urm umount -l .git/hooks",
          "cd .git && mount --bind . . ; echo x > hooks/y",
          "echo x > .hanzo/settings.json",
          "mv .hanzo h && mkdir .hanzo",
          "rm -rf .hanzo",
          "ln .git/config c2 && echo x >> c2",
          "exec 5>>.git/config && echo x >&5"
        ])
        answers.forEach((answer, index) => assert.notStrictEqual(answer.code, 0, `command ${index}`))
        const after = { ...snapshot(path.join(at.root, ".git")), ...snapshot(path.join(at.root, ".hanzo")) }
        delete after["c"]
        assert.deepStrictEqual(after, before)
        assert.match(answers[0]?.stderr ?? "", /\.git\/hooks\/pre-commit: Read-only file system/)
      })

      it("missing ones cannot be made, and leave nothing behind", async () => {
        const at = open("missing", { git: false })
        const { answers } = await run(at, [
          "mkdir .hanzo/x || echo x > .hanzo/settings.json",
          "rmdir .hanzo && mkdir .hanzo",
          "mv .hanzo h",
          "git init -q . || mkdir .git/hooks",
          "rmdir .git && mkdir -p .git/hooks",
          "ls -A .hanzo .git"
        ])
        assert.deepStrictEqual(answers.slice(0, 5).map((answer) => answer.code === 0), [
          false,
          false,
          false,
          false,
          false
        ])
        assert.deepStrictEqual(fs.readdirSync(at.root), [])

        fs.mkdirSync(path.join(at.root, ".git"))
        fs.writeFileSync(path.join(at.root, ".git", "HEAD"), "ref: refs/heads/main\n")
        own(user.uid, at.base)
        await run(at, ["mkdir -p .git/hooks; echo x > .git/hooks/y; echo x > .git/config; true"])
        assert.deepStrictEqual(Object.keys(snapshot(path.join(at.root, ".git"))), ["HEAD"])
      })

      it("several at once: the mount points stay until the last one is through", async () => {
        const at = open("several", { git: false })
        const { answers } = await run(
          at,
          [0.05, 0.4, 0.1, 0.6, 0.2, 0.3].map((seconds) =>
            `sleep ${seconds}; mkdir .hanzo/x 2>&1; mkdir -p .git/hooks/x 2>&1; rmdir .hanzo .git 2>/dev/null; mkdir .hanzo`
          ),
          { together: true }
        )
        for (const answer of answers) {
          assert.strictEqual(answer.code, 1)
          assert.strictEqual(answer.stdout.match(/Read-only file system/g)?.length, 2, answer.stdout)
        }
        assert.deepStrictEqual(fs.readdirSync(at.root), [])
      })

      it("two programs in one workspace do not lift each other's mounts", async () => {
        const at = open("two", { git: false })
        const slow = run(at, ["sleep 2; mkdir .hanzo/x .git/x; true"])
        while (!fs.existsSync(path.join(at.root, ".hanzo"))) await new Promise((resolve) => setTimeout(resolve, 10))
        await run(at, ["true", "true"])
        const { answers } = await slow
        assert.strictEqual(answers[0]?.stderr.match(/Read-only file system/g)?.length, 2, answers[0]?.stderr)
        assert.deepStrictEqual(fs.readdirSync(at.root), [])
      })

      it("programs of hooks and servers, and core.hooksPath", async () => {
        const at = open("programs")
        fs.mkdirSync(path.join(at.root, "tools", "deep"), { recursive: true })
        fs.writeFileSync(path.join(at.root, "tools", "deep", "hook.sh"), "hook")
        fs.writeFileSync(path.join(at.root, ".git", "config"), "[core]\n\thooksPath = ci/hooks\n")
        own(user.uid, at.base)
        const { answers } = await run(at, [
          "echo x > tools/deep/hook.sh",
          "rm -f tools/deep/hook.sh",
          "mv tools/deep tools/d2",
          "mv tools t2",
          "echo x > n && mv -f n tools/deep/hook.sh",
          "mkdir -p ci/hooks && echo x > ci/hooks/pre-push",
          "echo x > check.sh",
          "echo x > tools/deep/other && echo x > tools/free"
        ], {
          settings: {
            hooks: [
              { event: "pre_tool_use", command: "tools/deep/hook.sh", tool_pattern: "*" },
              { event: "stop", command: "./check.sh" }
            ]
          }
        })
        assert.deepStrictEqual(answers.map((answer) => answer.code === 0), [
          false,
          false,
          false,
          false,
          false,
          false,
          false,
          true
        ])
        assert.strictEqual(fs.readFileSync(path.join(at.root, "tools", "deep", "hook.sh"), "utf8"), "hook")
        assert.deepStrictEqual(fs.readdirSync(at.root).sort(), [".git", "n", "tools"])
      })

      it("9.9 programs by the shape of a line: not changed, not added to, nothing put before them", async () => {
        const at = open("shapes", { git: false })
        const put = (file: string, text = "old"): void => {
          fs.mkdirSync(path.dirname(path.join(at.root, file)), { recursive: true })
          fs.writeFileSync(path.join(at.root, file), text, { mode: 0o755 })
        }
        const kept = ["guard/index.js", "h.js", "pkg/__init__.py", "pkg/mod.py", "Makefile", "g.awk", "tools/hook.mk"]
        for (const file of [...kept, "node_modules/.bin/lint-it", "srv/index.js", "srvpkg/__init__.py"]) put(file)
        own(user.uid, at.base)
        const before = snapshot(at.root)
        const { answers } = await run(at, [
          ...kept.map((file) => `echo x > ${file}`),
          "echo x > node_modules/.bin/lint-it",
          "echo x > srv/index.js",
          "echo x > srvpkg/__init__.py",
          "echo x > guard/new.js",
          "echo x > pkg/new.py",
          "echo x > guard.js || ls -d guard.js",
          "echo x > h || rmdir h",
          "mkdir -p pkg/sub",
          "echo x > pkg.py",
          "mv guard g2 || mv pkg p2 || mv node_modules nm || mv node_modules/.bin b || mv srv s2",
          "rm -rf guard",
          "echo x > n && mv -f n guard.js/x",
          "ln -s /tmp/x node_modules/.bin/other",
          // Nothing may stand there at all, so it is taken away afterwards.
          "rm -rf n b g2 p2 nm s2; echo x > GNUmakefile && ln -s guard makefile",
          "ls; echo x > free && mkdir -p node_modules/free && echo x > node_modules/free/x"
        ], {
          settings: {
            hooks: [
              "node ./guard",
              "node h",
              "python3 -Im pkg.mod",
              "make check",
              "awk -fg.awk",
              "make -ftools/hook.mk",
              "npx --no lint-it"
            ].map((command) => ({ event: "stop", command })),
            mcp_servers: { a: { command: ["node", "./srv"] }, b: { command: ["python3", "-Im", "srvpkg"] } }
          }
        })
        assert.deepStrictEqual(
          answers.map((answer) => answer.code === 0),
          answers.map((_, index) => index === 12 || index >= answers.length - 2),
          JSON.stringify(answers)
        )
        assert.match(answers[12]?.stderr ?? "", /guard\.js: Is a directory/)
        const link = path.join(at.root, "makefile.refused-1")
        assert.isTrue(fs.lstatSync(link).isSymbolicLink())
        fs.unlinkSync(link)
        const after = snapshot(at.root)
        for (const [file, text] of Object.entries(before)) assert.strictEqual(after[file], text, file)
        assert.deepStrictEqual(Object.keys(after).filter((file) => !(file in before)).sort(), [
          "GNUmakefile.refused-1",
          "free",
          "node_modules/free/x"
        ])
        assert.isFalse(fs.existsSync(path.join(at.root, "guard.js")))
      })

      it("a linked worktree: commits work, hooks and configuration of the shared directory do not change", async () => {
        const at = open("worktree")
        const git = (...args: ReadonlyArray<string>) => {
          const done = spawnSync(
            "git",
            ["-c", "user.name=n", "-c", "user.email=e", "-c", "safe.directory=*", ...args],
            {
              cwd: at.root,
              encoding: "utf8"
            }
          )
          assert.strictEqual(done.status, 0, done.stderr)
        }
        git("commit", "-q", "--allow-empty", "-m", "one")
        const tree = path.join(at.base, "tree")
        git("worktree", "add", "-q", tree)
        own(user.uid, at.base)
        const commit =
          "echo x > f && git add f && git -c user.name=n -c user.email=e commit -q -m two && git log --format=%s"
        const { answers, status } = await run({ ...at, root: tree }, [
          commit,
          "echo x > $OUT/../work/.git/hooks/x",
          "git config a.b c",
          "echo gitdir: /tmp > .git",
          "mv .git g",
          "echo x > $OUT/../work/other",
          "echo x > $OUT/../work/.git/config.worktree",
          "echo x > $OUT/../work/.git/worktrees/tree/config.worktree",
          "cd $OUT/../work/.git/worktrees && echo x > c && mv -f c tree/config.worktree",
          "c=$OUT/../work/.git/worktrees/tree/commondir; echo /tmp > $c"
        ])
        assert.deepStrictEqual(status.write_roots, [tree, path.join(at.root, ".git")])
        assert.strictEqual(answers[0]?.stdout, "two\none\n", answers[0]?.stderr)
        assert.deepStrictEqual(answers.slice(1).map((answer) => answer.code === 0), Array(9).fill(false))
        assert.isFalse(fs.existsSync(path.join(at.root, ".git", "config.worktree")))
        assert.isFalse(fs.existsSync(path.join(at.root, ".git", "worktrees", "tree", "config.worktree")))
      })

      it("a .git file that nobody points back to opens nothing", async () => {
        const at = open("forged", { git: false })
        const target = path.join(at.outside, "x", "worktrees", "y")
        fs.mkdirSync(target, { recursive: true })
        fs.writeFileSync(path.join(target, "HEAD"), "ref: refs/heads/main\n")
        fs.writeFileSync(path.join(target, "commondir"), "../..\n")
        fs.writeFileSync(path.join(at.root, ".git"), `gitdir: ${target}\n`)
        own(user.uid, at.base)
        const { answers, status } = await run(at, ["echo x > $OUT/x/y", "echo x > .git"])
        assert.deepStrictEqual(status.write_roots, [at.root])
        assert.deepStrictEqual(answers.map((answer) => answer.code), [1, 1])
      })

      it("broken and outward links never stop a command", async () => {
        const at = open("links", { git: false })
        for (const name of [".husky", "a"]) {
          fs.symlinkSync("/nowhere/at/all", path.join(at.root, name))
        }
        fs.symlinkSync(at.outside, path.join(at.base, "home", ".aws"))
        own(user.uid, at.base)
        const { answers, status } = await run(at, ["echo fine; ls -A ~/.aws; echo x > a || true"])
        assert.strictEqual(answers[0]?.stdout, "fine\n", answers[0]?.stderr)
        assert.strictEqual(status.enforcement, method)
        assert.notInclude(status.warnings.join(), "symbolic link")
      })

      it("a protected place that is a link: no command starts, and the status says which", async () => {
        const rows: ReadonlyArray<readonly [string, string, (root: string) => void]> = [
          [".hanzo", ".hanzo", (root) => fs.symlinkSync("h", path.join(root, ".hanzo"))],
          [".git", ".git", (root) => fs.renameSync(path.join(root, ".git"), path.join(root, "g"))],
          ["hooks", ".git/hooks", (root) => {
            fs.rmSync(path.join(root, ".git", "hooks"), { recursive: true })
            fs.symlinkSync("../hooks", path.join(root, ".git", "hooks"))
          }],
          ["program", "check.sh", (root) => {
            fs.writeFileSync(path.join(root, "real.sh"), "")
            fs.symlinkSync("real.sh", path.join(root, "check.sh"))
          }],
          ["above", "tools", (root) => {
            fs.mkdirSync(path.join(root, "scripts"))
            fs.writeFileSync(path.join(root, "scripts", "hook.sh"), "")
            fs.symlinkSync("scripts", path.join(root, "tools"))
          }]
        ]
        for (const [name, link, prepare] of rows) {
          const at = open(`link-${name}`)
          prepare(at.root)
          if (name === ".git") fs.symlinkSync("g", path.join(at.root, ".git"))
          own(user.uid, at.base)
          const { answers, status } = await run(at, ["echo x > ran"], {
            settings: {
              hooks: [
                { event: "pre_tool_use", command: "tools/hook.sh", tool_pattern: "*" },
                { event: "stop", command: "./check.sh" }
              ]
            }
          })
          const where = path.join(at.root, link)
          assert.include(answers[0]?.refused ?? "", `${where} is a symbolic link to a protected place (rule protected)`)
          assert.deepStrictEqual(
            status.warnings.filter((one) => one.startsWith(`${where} is a symbolic link`)).length,
            1
          )
          assert.isFalse(fs.existsSync(path.join(at.root, "ran")))
          assert.isTrue(fs.lstatSync(where).isSymbolicLink())
        }
      })

      it("more keys, our own sessions and the record of permissions are not to be seen", async () => {
        const at = open("records", { git: false })
        const secrets = [
          "home/.codex/auth.json",
          "home/.claude.json",
          "home/.m2/settings.xml",
          "home/.gradle/gradle.properties",
          "home/.gem/credentials",
          "home/.terraformrc",
          "home/.claude/.credentials.json",
          "home/.mozilla/firefox/x.default/logins.json",
          "home/.config/google-chrome/Default/Login Data",
          "home/.bash_history",
          "home/.zsh_history",
          "home/.python_history",
          "home/.config/configstore/firebase-tools.json",
          "home/.huggingface/token",
          "data/sessions.db",
          "state/audit/permissions.jsonl"
        ]
        for (const secret of [...secrets, "state/tool-output/x"]) {
          fs.mkdirSync(path.dirname(path.join(at.base, secret)), { recursive: true })
          fs.writeFileSync(path.join(at.base, secret), "SECRET")
        }
        own(user.uid, at.base)
        const { answers } = await run(at, [
          `for f in ${
            [...secrets, "state/tool-output/x"].map((secret) => `'${secret}'`).join(" ")
          }; do cat "$W/../$f"; done`
        ])
        assert.deepStrictEqual(answers.map((answer) => answer.stdout), ["SECRET"])
      })

      it("the home directory as workspace: keys and settings stay closed", async () => {
        const at = open("home", { git: false })
        const home = path.join(at.base, "home")
        const { answers } = await run({ ...at, root: home }, [
          "echo x > free; cat .ssh/id .netrc",
          "echo x > .ssh/authorized_keys",
          "mv .ssh s && mkdir .ssh",
          "echo x > .netrc"
        ])
        assert.deepStrictEqual(answers.map((answer) => [answer.code === 0, answer.stdout]), [
          [false, ""],
          [false, ""],
          [false, ""],
          [false, ""]
        ])
        assert.strictEqual(fs.readFileSync(path.join(home, ".ssh", "id"), "utf8"), "SECRET")
        assert.deepStrictEqual(fs.readdirSync(home).sort(), [".netrc", ".ssh", "free"])
      })
    })
  }
}
