import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fc from "effect/FastCheck"
import * as fs from "node:fs"
import * as path from "node:path"
import { canonicalPath } from "../../src/platform/CanonicalPath.ts"
import { nodeCalls } from "../../src/platform/FileCalls.ts"
import { Files } from "../../src/platform/Files.ts"
import { isInside, Paths, refusal } from "../../src/tools/Paths.ts"
import { failing, platform, scratch } from "./workspace.ts"

const withPaths = (cwd: string) =>
  Effect.gen(function*() {
    const base = yield* scratch
    const root = path.join(base, "project")
    fs.mkdirSync(path.join(root, cwd), { recursive: true })
    fs.mkdirSync(path.join(base, "home"))
    const layer = Paths.layer.pipe(Layer.provide(platform(base, root, path.join(root, cwd))))
    const paths = yield* Effect.provide(Paths, yield* Layer.build(layer))
    return { base, root, paths }
  })

describe("10.2 paths", () => {
  it("refuses empty text, NUL and URIs; a colon alone is no URI", () => {
    assert.isDefined(refusal(""))
    assert.isDefined(refusal("a\0b"))
    for (const uri of ["file:/etc/passwd", "file:///etc", "FILE:x", "https://h/p", "vscode-remote://x", "data:,x"]) {
      assert.include(refusal(uri) ?? "", "URI", uri)
    }
    for (const plain of ["a:b", "c:\\d", "10:30.log", "%2e%2e/x", "~", "~name", "x/file:y"]) {
      assert.isUndefined(refusal(plain), plain)
    }
  })

  it("compares by component", () => {
    assert.isTrue(isInside("/w/p", "/w/p"))
    assert.isTrue(isInside("/w/p", "/w/p/a"))
    assert.isFalse(isInside("/w/p", "/w/p2/a"))
    assert.isFalse(isInside("/w/p", "/w"))
    assert.isTrue(isInside("/", "/etc"))
  })

  it.scoped("7.5: subject relative to the root with /, absolute outside; relative input starts at cwd", () =>
    Effect.gen(function*() {
      const { base, paths, root } = yield* withPaths("pkg")
      const at = (input: string) => Effect.map(paths.resolve(input), (r) => [r.path, r.subject, r.inside, r.display])
      assert.deepStrictEqual(yield* at("a.ts"), [`${root}/pkg/a.ts`, "pkg/a.ts", true, "a.ts"])
      assert.deepStrictEqual(yield* at("../b/./c"), [`${root}/b/c`, "b/c", true, `${root}/b/c`])
      assert.deepStrictEqual(yield* at(".."), [root, ".", true, root])
      assert.deepStrictEqual(yield* at("."), [`${root}/pkg`, "pkg", true, "."])
      assert.deepStrictEqual(yield* at(root + "/pkg//x/"), [`${root}/pkg/x`, "pkg/x", true, "x"])
      assert.deepStrictEqual(yield* at("../../out"), [`${base}/out`, `${base}/out`, false, `${base}/out`])
      assert.deepStrictEqual(yield* at(`${root}2/x`), [`${root}2/x`, `${root}2/x`, false, `${root}2/x`])
      assert.deepStrictEqual((yield* at("~"))[0], `${base}/home`)
      assert.deepStrictEqual((yield* at("~/n/m"))[0], `${base}/home/n/m`)
      assert.deepStrictEqual((yield* at("~name"))[0], `${root}/pkg/~name`)
      assert.deepStrictEqual((yield* at("%2e%2e/x"))[1], "pkg/%2e%2e/x")
      for (const bad of ["", "a\0", "file:///etc/passwd"]) {
        assert.match(yield* failing(paths.resolve(bad, "glob")), /^glob (?:is|contains)/u)
      }
    }))

  it.scoped("the real target decides: links, parents that are links, dangling ones, .. after a link", () =>
    Effect.gen(function*() {
      const { base, paths, root } = yield* withPaths(".")
      fs.mkdirSync(path.join(base, "outside", "deep"), { recursive: true })
      fs.writeFileSync(path.join(base, "outside", "secret"), "x")
      fs.symlinkSync(path.join(base, "outside", "secret"), path.join(root, "to-file"))
      fs.symlinkSync("../outside/deep", path.join(root, "to-dir"))
      fs.symlinkSync("../outside/none", path.join(root, "dangling"))
      fs.symlinkSync("missing/inner", path.join(root, "inward"))
      const at = (input: string) => Effect.map(paths.resolve(input), (r) => [r.path, r.inside])
      assert.deepStrictEqual(yield* at("to-file"), [`${base}/outside/secret`, false])
      assert.deepStrictEqual(yield* at("to-dir/new/file"), [`${base}/outside/deep/new/file`, false])
      assert.deepStrictEqual(yield* at("dangling"), [`${base}/outside/none`, false])
      assert.deepStrictEqual(yield* at("inward"), [`${root}/missing/inner`, true])
      // Not the workspace itself, as text arithmetic would have it.
      assert.deepStrictEqual(yield* at("to-dir/../secret"), [`${base}/outside/secret`, false])
      assert.deepStrictEqual(yield* at("no/../../outside"), [`${base}/outside`, false])
      assert.isTrue((yield* paths.resolve("to-file")).is_link)
      assert.isFalse((yield* paths.resolve("to-dir/x")).is_link)
      assert.strictEqual((yield* paths.resolve("a/b/c")).existing, root)
    }))

  it.scoped("names through /proc lead to what they stand for", () =>
    Effect.gen(function*() {
      const { base, paths, root } = yield* withPaths(".")
      fs.writeFileSync(path.join(root, "f"), "x")
      fs.writeFileSync(path.join(base, "g"), "x")
      const fd = fs.openSync(path.join(base, "g"), "r")
      const at = (input: string) => Effect.map(paths.resolve(input), (r) => [r.path, r.inside])
      assert.deepStrictEqual(yield* at(`/proc/self/root${root}/f`), [`${root}/f`, true])
      assert.deepStrictEqual(yield* at(`/proc/self/fd/${fd}`), [`${base}/g`, false])
      assert.deepStrictEqual(yield* at("/proc/self/cwd"), [fs.realpathSync("."), false])
      fs.symlinkSync(`/proc/self/root${base}/g`, path.join(root, "sneaky"))
      assert.deepStrictEqual(yield* at("sneaky"), [`${base}/g`, false])
      fs.closeSync(fd)
    }))

  it.scoped("a workspace that is reached by a link is fine; circles and files on the way are told", () =>
    Effect.gen(function*() {
      const { base, paths, root } = yield* withPaths(".")
      fs.symlinkSync("project", path.join(base, "alias"))
      fs.symlinkSync("b", path.join(root, "a"))
      fs.symlinkSync("a", path.join(root, "b"))
      fs.writeFileSync(path.join(root, "f"), "x")
      assert.strictEqual((yield* paths.resolve(`${base}/alias/x`)).subject, "x")
      assert.match(yield* failing(paths.resolve("a")), /circle/u)
      assert.match(yield* failing(paths.resolve("f/g")), /is a file, not a directory/u)
      assert.match(yield* failing(paths.resolve("f/..")), /is a file, not a directory/u)
    }))

  it.scoped("what exists resolves as the system resolves it, whatever the links", () =>
    Effect.gen(function*() {
      const base = yield* scratch
      const names = ["a", "b", "c"]
      const target = fc.array(fc.constantFrom(...names, "..", "."), { minLength: 1, maxLength: 4 }).map((p) =>
        p.join("/")
      )
      const entry = fc.record({
        at: fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }),
        link: fc.option(target)
      })
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(entry, { maxLength: 8 }), target, async (entries, given) => {
            const root = fs.mkdtempSync(path.join(base, "t"))
            for (const { at, link } of entries) {
              try {
                fs.mkdirSync(path.join(root, ...at.slice(0, -1)), { recursive: true })
                if (link === null) fs.mkdirSync(path.join(root, ...at))
                else fs.symlinkSync(link, path.join(root, ...at))
              } catch {
                // The place is taken, or a link goes round in a circle: the tree is what it is.
              }
            }
            const asked = `${root}/${given}`
            let expected: string | undefined
            try {
              expected = fs.realpathSync.native(asked)
            } catch {
              expected = undefined
            }
            const found = await Effect.runPromise(Effect.either(canonicalPath(nodeCalls, asked)))
            if (expected !== undefined) {
              return found._tag === "Right" && found.right.path === expected && found.right.kind !== null
            }
            // By name a part that is missing may be left again by .., which the system does not do.
            const by_name = [given, ...entries.map((one) => one.link ?? "")].some((text) => text.includes(".."))
            return found._tag === "Left" || found.right.kind === null || by_name
          }),
          { numRuns: 150 }
        )
      )
    }))
})

describe("10.3 use after check", () => {
  it.scoped("a path that leads elsewhere by now is not read, listed or removed", () =>
    Effect.gen(function*() {
      const files = yield* Files
      const base = yield* scratch
      fs.mkdirSync(path.join(base, "in"))
      fs.mkdirSync(path.join(base, "out"))
      fs.writeFileSync(path.join(base, "in", "f"), "mine")
      fs.writeFileSync(path.join(base, "out", "f"), "secret")
      const approved = (yield* files.canonical(path.join(base, "in", "f"))).path
      fs.renameSync(path.join(base, "in"), path.join(base, "was"))
      fs.symlinkSync("out", path.join(base, "in"))
      assert.strictEqual((yield* Effect.flip(files.read(approved, 100))).reason, "moved")
      assert.strictEqual((yield* Effect.flip(files.remove(approved))).reason, "not_a_directory")
      assert.strictEqual((yield* Effect.flip(files.list(path.join(base, "in")))).reason, "not_a_directory")
      assert.strictEqual(fs.readFileSync(path.join(base, "out", "f"), "utf8"), "secret")
      fs.symlinkSync("f", path.join(base, "out", "l"))
      assert.strictEqual((yield* Effect.flip(files.read(path.join(base, "out", "l"), 100))).reason, "moved")
    }).pipe(Effect.provide(Files.layer)))

  it.scoped("reading: limits, pipes that would block, files that say they have no size", () =>
    Effect.gen(function*() {
      const files = yield* Files
      const base = yield* scratch
      const at = path.join(base, "f")
      fs.writeFileSync(at, "x".repeat(1000))
      assert.strictEqual((yield* files.read(at, 1000)).bytes.length, 1000)
      assert.strictEqual((yield* Effect.flip(files.read(at, 999))).reason, "too_large")
      assert.strictEqual((yield* Effect.flip(files.read("/dev/zero", 10))).reason, "not_regular")
      const proc = yield* files.read((yield* files.canonical("/proc/self/status")).path, 100_000)
      assert.isAbove(proc.bytes.length, 100)
      const content = yield* files.read(at, 1000)
      assert.strictEqual(content.sha256, files.digest(content.bytes))
      fs.writeFileSync(at, "other")
      assert.strictEqual((yield* Effect.flip(files.remove(at, content.stamp))).reason, "changed")
    }).pipe(Effect.provide(Files.layer)))
})
