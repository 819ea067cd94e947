import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { type SnapshotKind, Snapshots } from "../../src/snapshots/Snapshots.ts"
import { picture, type Place, place } from "./support.ts"

const take = (kind: SnapshotKind, more: { readonly since?: string; readonly paths?: ReadonlyArray<string> } = {}) =>
  Effect.flatMap(Snapshots, (snapshots) =>
    Effect.map(
      snapshots.take({ session_id: "ses_1", key: "user:run_1:0", kind, ...more }),
      ({ snapshot }) => snapshot
    ))

const back = (snapshot_id: string) =>
  Effect.gen(function*() {
    const snapshots = yield* Snapshots
    const plan = yield* snapshots.plan({ session_id: "ses_1", snapshot_id, key: null })
    return { plan, ...(yield* plan.apply) }
  })

const withPlace = <A, E>(test: (at: Place) => Effect.Effect<A, E, Snapshots>, settings?: object) =>
  Effect.flatMap(place, (at) => Effect.provide(test(at), at.layer(settings)))

const repository = (at: Place) => {
  at.sh("git init -q -b main")
  at.write("a.txt", "one\n")
  at.write("b.txt", "two\n")
  at.write(".gitignore", "*.log\n/build/\n")
  at.sh("git add -A && git commit -qm one")
}

/** Index, HEAD and references of a repository, as bytes. */
const own = (at: Place, git = ".git") =>
  ["index", "HEAD"].map((name) => fs.readFileSync(at.at(`${git}/${name}`)).toString("base64")).join(" ") +
  at.sh("git for-each-ref")

/** Bytes that nothing makes shorter. */
const noise = (seed: number, length: number): Uint8Array => {
  let state = seed + 1
  return Uint8Array.from({ length }, () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 24)
}

describe("snapshots", () => {
  it.scoped("files, modes, links, empty folders, deletions and binary content come back outside of any repository", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        at.write("deep/a.bin", Uint8Array.from({ length: 5000 }, (_, n) => n % 256))
        at.write("run.sh", "#!/bin/sh\n", 0o750)
        at.write("secret", "s", 0o600)
        at.write("empty", "")
        fs.mkdirSync(at.at("hollow/inner"), { recursive: true })
        fs.chmodSync(at.at("hollow"), 0o700)
        fs.symlinkSync("run.sh", at.at("link"))
        fs.symlinkSync("/nowhere/at/all", at.at("dangling"))
        at.write(":(top)x", "magic")
        at.write("wörter und\nzeilen", "x")
        fs.writeFileSync(Buffer.concat([Buffer.from(`${at.root}/`), Buffer.from([0xff, 0xfe, 0x22, 0x5c])]), "no UTF-8")
        at.write(".gitmodules", "[submodule]\n")
        at.write("%odd/.git%x", "%")
        const before = picture(at.root)
        const first = yield* take("before")
        at.sh(
          "rm -rf deep hollow dangling; echo more >> run.sh; chmod 644 run.sh secret; rm link; mkdir link; echo x > link/x"
        )
        at.sh(
          "rm empty; ln -s secret empty; printf new > new; mkdir fresh; mv secret fresh/moved; rm .gitmodules; rm -r %odd"
        )
        yield* take("after", { since: first.id })
        const changed = picture(at.root)
        const { failed } = yield* back(first.id)
        assert.deepStrictEqual(failed, [])
        assert.deepStrictEqual(picture(at.root), before)
        const [, , present] = yield* Effect.flatMap(Snapshots, (snapshots) => snapshots.list("ses_1"))
        assert.strictEqual(present?.kind, "present")
        yield* back(present?.id ?? "")
        assert.deepStrictEqual(picture(at.root), changed)
      })
    ))

  it.scoped("a project's index, HEAD and references stay as they are, with a dirty index and filters of attributes", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        repository(at)
        at.write(".gitattributes", "*.txt text eol=crlf\n*.bin filter=evil\n")
        at.sh(`git config filter.evil.clean 'touch ${at.base}/ran; cat' && git config filter.evil.smudge false`)
        at.sh("git config core.autocrlf true; git config core.hooksPath hooks")
        at.write("mixed.txt", "a\r\nb\nc\r")
        at.write("x.bin", "content")
        at.write("a.txt", "staged\n")
        at.sh("git -c filter.evil.clean=cat add a.txt")
        at.write("a.txt", "unstaged\n")
        at.write("untracked", "u")
        const before = picture(at.root)
        const git = own(at)
        const first = yield* take("before")
        at.write("mixed.txt", "other")
        fs.rmSync(at.at("untracked"))
        fs.rmSync(at.at("x.bin"))
        fs.rmSync(at.at("b.txt"))
        yield* take("after", { since: first.id })
        yield* back(first.id)
        assert.deepStrictEqual(picture(at.root), before)
        assert.strictEqual(own(at), git)
        assert.isFalse(fs.existsSync(`${at.base}/ran`))
      })
    ))

  it.scoped("submodules, nested repositories and worktrees keep their repositories; their files come back", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        at.sh("git init -q -b main sub && cd sub && echo s > s && git add -A && git commit -qm s", at.base)
        repository(at)
        at.sh(`git -c protocol.file.allow=always submodule add -q ${at.base}/sub module && git commit -qm module`)
        at.sh("git init -q nested && cd nested && echo n > n && git add -A && git commit -qm n")
        const before = picture(at.root)
        const git = own(at)
        const inner = at.sh("cd nested && git rev-parse HEAD && cd ../module && git rev-parse HEAD")
        const first = yield* take("before")
        at.sh("echo changed > module/s; rm nested/n; echo m > nested/m")
        yield* take("after", { since: first.id })
        yield* back(first.id)
        assert.deepStrictEqual(picture(at.root), before)
        assert.strictEqual(own(at), git)
        assert.strictEqual(at.sh("cd nested && git rev-parse HEAD && cd ../module && git rev-parse HEAD"), inner)
      })
    ))

  it.scoped("a nested repository that was moved is told, and stays where it is", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        at.sh("git init -q nested && echo n > nested/n")
        const first = yield* take("before")
        at.sh("mv nested moved")
        yield* take("after", { since: first.id })
        const { failed } = yield* back(first.id)
        assert.deepStrictEqual(failed, [{ path: "moved", why: "the repository in it was left as it is" }])
        assert.strictEqual(at.read("nested/n"), "n\n")
        assert.isTrue(at.there("moved/.git/HEAD"))
      })
    ))

  it.scoped("works in a linked worktree", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        at.sh(
          "git init -q -b main main && cd main && echo a > a && echo '*.o' > .gitignore && git add -A && git commit -qm a",
          at.base
        )
        fs.rmdirSync(at.root)
        at.sh(`git worktree add -q ${at.root}`, `${at.base}/main`)
        at.write("x.o", "object")
        const before = picture(at.root)
        const first = yield* take("before")
        at.write("a", "changed")
        at.write("x.o", "by a tool")
        yield* take("after", { since: first.id })
        yield* back(first.id)
        assert.deepStrictEqual(picture(at.root), before)
        assert.strictEqual(at.sh("git status --porcelain"), "")
      })
    ))

  it.scoped("ignored files come back where a tool changed them, and only there", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        repository(at)
        at.write("tool.log", "1")
        at.write("person.log", "1")
        at.write("build/out", "1")
        const first = yield* take("before")
        at.write("tool.log", "2")
        fs.rmSync(at.at("build/out"))
        at.write("build/new", "n")
        const after = yield* take("after", { since: first.id })
        assert.strictEqual(after.changed, 3)
        at.write("person.log", "2")
        yield* back(first.id)
        assert.strictEqual(at.read("tool.log"), "1")
        assert.strictEqual(at.read("build/out"), "1")
        assert.isFalse(at.there("build/new"))
        assert.strictEqual(at.read("person.log"), "2")
      })
    ))

  it.scoped("an ignored file above 10 MiB is left alone, a tracked one that the rules match is not", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        repository(at)
        at.write("big.log", new Uint8Array(10 * 1024 * 1024 + 1))
        at.write("kept.log", "k")
        at.sh("git add -f kept.log")
        const first = yield* take("before")
        at.write("big.log", "small")
        at.write("kept.log", "changed by somebody")
        yield* back(first.id)
        assert.strictEqual(at.read("big.log"), "small")
        assert.strictEqual(at.read("kept.log"), "k")
      })
    ))

  it.scoped("a file that a tool is about to change in a folder that is left out is kept", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        const snapshots = yield* Snapshots
        repository(at)
        for (let n = 0; n < 1_001; n++) at.write(`build/${n}`, `${n}`)
        const first = yield* take("before")
        assert.isFalse(yield* snapshots.covers(at.at("build/7")))
        assert.isTrue(yield* snapshots.covers(at.at("a.txt")))
        assert.isTrue(yield* snapshots.covers(at.at("not/there/yet")))
        yield* take("before", { paths: [at.at("build/7"), at.at("build/fresh")] })
        assert.isTrue(yield* snapshots.covers(at.at("build/7")))
        at.write("build/7", "changed")
        at.write("build/8", "changed")
        at.write("build/fresh", "f")
        yield* take("after", { since: first.id })
        yield* back(first.id)
        assert.strictEqual(at.read("build/7"), "7")
        assert.isFalse(at.there("build/fresh"))
        assert.strictEqual(at.read("build/8"), "changed")
      })
    ))

  it.scoped("what a run that was killed has changed comes back too, and what somebody else changed is told", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        repository(at)
        at.write("x.log", "1")
        const first = yield* take("before")
        at.write("a.txt", "changed")
        at.write("x.log", "2")
        const { plan } = yield* back(first.id)
        assert.deepStrictEqual(plan.changes.map(({ change, path }) => [path, change]), [
          ["a.txt", "changed"],
          ["x.log", "changed"]
        ])
        assert.isTrue(plan.changes.every(({ conflict }) => conflict))
        assert.strictEqual(at.read("x.log"), "1")
      })
    ))

  it.scoped("nothing is written through a link, and what is changed between the plan and its end is left alone", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        const snapshots = yield* Snapshots
        at.write("dir/file", "mine")
        at.write("other", "o")
        const first = yield* take("before")
        fs.writeFileSync(`${at.base}/outside`, "outside")
        fs.mkdirSync(`${at.base}/elsewhere`)
        at.sh(`rm -r dir other; mkdir dir; ln -s ${at.base}/outside other`)
        yield* take("after", { since: first.id })
        const plan = yield* snapshots.plan({ session_id: "ses_1", snapshot_id: first.id, key: null })
        at.sh(`rmdir dir; ln -s ${at.base}/elsewhere dir`)
        const { failed } = yield* plan.apply
        assert.deepStrictEqual(failed.map(({ path }) => path), ["dir/file"])
        assert.strictEqual(at.read("other"), "o")
        assert.isFalse(fs.lstatSync(at.at("other")).isSymbolicLink())
        assert.strictEqual(fs.readFileSync(`${at.base}/outside`, "utf8"), "outside")
        assert.deepStrictEqual(fs.readdirSync(`${at.base}/elsewhere`), [])
      })
    ))

  it.scoped("names of one file come back as files of their own, and no name outside is touched", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        at.write("a", "1", 0o755)
        at.write("b", "1", 0o644)
        at.write("c", "c")
        const before = picture(at.root)
        const first = yield* take("before")
        fs.writeFileSync(`${at.base}/outside`, "c", { mode: 0o600 })
        at.sh("rm a c; ln b a; ln ../outside c")
        yield* take("after", { since: first.id })
        const { failed } = yield* back(first.id)
        assert.deepStrictEqual(failed, [])
        assert.deepStrictEqual(picture(at.root), before)
        assert.strictEqual(fs.statSync(`${at.base}/outside`).mode & 0o777, 0o600)
      })
    ))

  it.scoped("a change within the same moment and of the same size is seen", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        at.write("a", "1")
        const first = yield* take("before")
        for (let n = 2; n < 6; n++) {
          at.write("a", `${n}`)
          assert.strictEqual((yield* take("after")).changed, 1)
        }
        yield* back(first.id)
        assert.strictEqual(at.read("a"), "1")
      })
    ))

  it.scoped("rules that change are heeded", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        repository(at)
        at.write("x.tmp", "1")
        yield* take("before")
        at.write(".gitignore", "*.tmp\n")
        const second = yield* take("before")
        at.write("x.tmp", "2")
        at.write("new.tmp", "n")
        // nobody says that a tool did it
        yield* take("after")
        yield* back(second.id)
        assert.strictEqual(at.read("x.tmp"), "2")
        assert.isTrue(at.there("new.tmp"))
      })
    ))

  it.scoped("what is ignored no more, or from now on, comes back or goes as all others do", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        repository(at)
        at.write("build/out", "o")
        at.write("x.log", "x")
        const before = picture(at.root)
        const first = yield* take("before")
        at.write(".gitignore", "")
        at.write("made/new", "n")
        const second = yield* take("after", { since: first.id })
        // the person changes the rules between two messages
        at.write(".gitignore", "/made/\n")
        const third = yield* take("before")
        at.sh("rm -r build x.log")
        yield* take("after", { since: third.id })
        yield* back(second.id)
        assert.strictEqual(at.read("build/out") + at.read("x.log"), "ox")
        yield* back(first.id)
        assert.deepStrictEqual(picture(at.root), before)
      })
    ))

  it.scoped("another process that comes after the first takes over from its index", () =>
    Effect.gen(function*() {
      const at = yield* place
      at.write("a", "1")
      const first = yield* Effect.provide(take("before"), at.layer())
      at.write("a", "2")
      const second = yield* Effect.provide(take("after", { since: first.id }), at.layer())
      assert.strictEqual(second.changed, 1)
      fs.rmSync(at.at("a"))
      // a cache that cannot be read is as good as none
      const [key = ""] = fs.readdirSync(`${at.base}/data/snapshots`)
      fs.writeFileSync(`${at.base}/data/snapshots/${key}/index.json`, "{")
      yield* Effect.provide(back(first.id), at.layer())
      assert.strictEqual(at.read("a"), "1")
      assert.strictEqual(fs.statSync(`${at.base}/data/snapshots/${key}`).mode & 0o077, 0)
    }))

  it.scoped("a data directory inside of the workspace is no part of it", () =>
    Effect.gen(function*() {
      const at = yield* place
      at.write("a", "1")
      yield* Effect.provide(
        Effect.gen(function*() {
          const first = yield* take("before")
          assert.strictEqual(first.changed, 1)
          at.write("a", "2")
          assert.strictEqual((yield* take("after", { since: first.id })).changed, 1)
          yield* back(first.id)
          assert.strictEqual(at.read("a"), "1")
        }),
        at.layer({}, {}, at.at(".own"))
      )
    }))

  it.scoped("without git there is a message and nothing is lost", () =>
    Effect.gen(function*() {
      const at = yield* place
      at.write("a", "1")
      const error = yield* Effect.flip(Effect.provide(take("before"), at.layer({}, { PATH: `${at.base}/home` })))
      assert.strictEqual(error.reason, "no_git")
      assert.include(error.message, "install git")
    }))

  it.scoped("old snapshots go, and the oldest ones while there is too little room", () =>
    withPlace((at) =>
      Effect.gen(function*() {
        const snapshots = yield* Snapshots
        const ids: Array<string> = []
        for (let n = 0; n < 8; n++) {
          at.write("a", noise(n, 400_000))
          ids.push((yield* take("before")).id)
        }
        const gone = yield* snapshots.prune
        assert.isAbove(gone, 0)
        const left = yield* snapshots.list("ses_1")
        assert.strictEqual(left.length, 8 - gone)
        assert.deepStrictEqual(left.map(({ id }) => id), ids.slice(gone))
        const now = picture(at.root)
        yield* take("after")
        yield* back(ids[7] ?? "")
        assert.deepStrictEqual(picture(at.root), now)
        const error = yield* Effect.flip(back(ids[0] ?? ""))
        assert.strictEqual(error.reason, "not_found")
      }), { checkpoint_max_mb: 1, checkpoint_days: 0 }))
})
