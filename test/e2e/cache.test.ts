import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import { makeHome, program } from "./support.ts"

/** The program without the code cache of the build, as on a machine with another version of Node. */
const withCopy = (
  use: (run: (...args: ReadonlyArray<string>) => string, cache: () => ReadonlyArray<string>, copy: string) => void
) => {
  const home = makeHome()
  try {
    const copy = path.join(home.dir, "bin")
    fs.mkdirSync(copy)
    for (const file of fs.readdirSync(path.dirname(program))) {
      if (!file.endsWith(".cache")) fs.copyFileSync(path.join(path.dirname(program), file), path.join(copy, file))
    }
    const folder = path.join(home.env["HANZO_CACHE_HOME"] ?? "", "code")
    use(
      (...args) => {
        const flags = args.filter((arg) => arg.startsWith("--no-"))
        const rest = args.filter((arg) => !arg.startsWith("--no-"))
        const ran = spawnSync(process.execPath, [...flags, path.join(copy, "hanzo-dev.js"), ...rest], {
          cwd: home.project,
          env: home.env,
          encoding: "utf8"
        })
        assert.strictEqual(ran.status, 0, ran.stderr)
        assert.strictEqual(ran.stderr, "")
        return ran.stdout
      },
      () => fs.existsSync(folder) ? fs.readdirSync(folder).sort().map((name) => path.join(folder, name)) : [],
      copy
    )
  } finally {
    home.remove()
  }
}

describe("the code cache", () => {
  it("is made by the first start, private to the user, and used by the second", () => {
    withCopy((run, cache) => {
      const first = run("config", "path")
      assert.strictEqual(cache().length, 2, "the check of the command line, and the commands")
      const before = cache().map((file) => fs.statSync(file))
      for (const { mode } of before) assert.strictEqual(mode & 0o777, 0o600)
      assert.strictEqual(run("config", "path"), first)
      const after = cache().map((file) => fs.statSync(file).ino)
      assert.deepStrictEqual(after, before.map(({ ino }) => ino), "a cache that fits is left as it is")
    })
  })

  it("of other flags of V8 is one of its own", () => {
    withCopy((run, cache) => {
      const first = run("config", "path")
      const plain = cache()
      assert.strictEqual(run("--no-opt", "config", "path"), first)
      assert.strictEqual(cache().length, 4)
      const inodes = () => cache().map((file) => fs.statSync(file).ino)
      const before = inodes()
      assert.strictEqual(run("--no-opt", "config", "path"), first)
      assert.strictEqual(run("config", "path"), first)
      assert.deepStrictEqual(inodes(), before)
      assert.includeMembers([...cache()], [...plain])
    })
  })

  it("is not made for help, nor by a start that has the one of the build", () => {
    withCopy((run, cache, copy) => {
      run("--help")
      run("--version")
      assert.deepStrictEqual(cache(), [])
      const bin = path.dirname(program)
      for (const file of fs.readdirSync(bin)) fs.copyFileSync(path.join(bin, file), path.join(copy, file))
      run("config", "path")
      assert.deepStrictEqual(cache(), [])
    })
  })

  it("that is damaged anywhere, or that others could have written, is passed over and made anew", () => {
    withCopy((run, cache) => {
      const expected = run("config", "path")
      for (const file of cache()) {
        const good = fs.readFileSync(file)
        const at = (part: number) => Math.floor(good.length * part)
        const changed = (change: (copy: Buffer) => unknown) => () => {
          const copy = Buffer.from(good)
          change(copy)
          return copy
        }
        // V8 looks at the length only. Of what follows, the old program ended by a signal, or never.
        const damages: ReadonlyArray<() => string | Buffer> = [
          () => "no cache at all",
          () => Buffer.alloc(0),
          () => good.subarray(0, 3),
          () => good.subarray(0, 24),
          () => good.subarray(0, at(0.5)),
          () => good.subarray(0, -1),
          () => good.subarray(0, -4),
          () => Buffer.concat([good, Buffer.alloc(4)]),
          changed((copy) => copy.fill(0)),
          ...[0.01, 0.2, 0.4, 0.6, 0.8].map((part) => changed((copy) => copy.fill(0, at(part), at(part) + 4096))),
          ...[0, 8, 20, 24, 25, 28, 31].map((byte) =>
            changed((copy) => copy.writeUInt8(copy.readUInt8(byte) ^ 0xff, byte))
          ),
          ...[0.1, 0.3, 0.5, 0.7, 0.9].map((part) =>
            changed((copy) => copy.writeUInt8(copy.readUInt8(at(part)) ^ 1, at(part)))
          ),
          changed((copy) => copy.writeUInt8(copy.readUInt8(copy.length - 1) ^ 1, copy.length - 1))
        ]
        for (const [index, damage] of damages.entries()) {
          const bytes = damage()
          fs.writeFileSync(file, bytes)
          assert.strictEqual(run("config", "path"), expected, `${index}`)
          const found = fs.readFileSync(file)
          assert.isAbove(found.length, 10_000, "made anew")
          assert.isFalse(found.equals(Buffer.from(bytes)), `made anew (${index})`)
        }
        fs.chmodSync(file, 0o666)
        assert.strictEqual(run("config", "path"), expected)
        assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600, "replaced by one of our own")
      }
    })
  }, 60_000)

  it("of a program that was replaced by one of the same length and date is passed over", () => {
    withCopy((run, cache, copy) => {
      const front = path.join(copy, "front.js")
      // What a package manager unpacks has one date, whatever the version.
      const dated = () => fs.utimesSync(front, 1_000_000_000, 1_000_000_000)
      dated()
      run("config", "path")
      const text = fs.readFileSync(front, "latin1")
      const other = text.replaceAll("Show this help", "Show THIS help")
      assert.notStrictEqual(other, text)
      fs.writeFileSync(front, other, "latin1")
      dated()
      const before = cache().map((file) => fs.statSync(file).ino)
      assert.include(run("--help"), "Show THIS help")
      run("config", "path")
      const after = cache().map((file) => fs.statSync(file).ino)
      assert.strictEqual(after.length, 2)
      assert.strictEqual(after.filter((ino) => before.includes(ino)).length, 1, "that of the commands")
      assert.include(run("--help"), "Show THIS help")
    })
  })

  it("does not hide that the program is not whole: the file and the remedy are told, without a stack", () => {
    withCopy((_run, _cache, copy) => {
      const start = (...args: ReadonlyArray<string>) =>
        spawnSync(process.execPath, [path.join(copy, "hanzo-dev.js"), ...args], { encoding: "utf8" })
      for (const name of ["commands.js", "front.js"]) {
        const file = path.join(copy, name)
        const whole = fs.readFileSync(file)
        const damages = [
          () => fs.rmSync(file),
          () => fs.mkdirSync(file),
          () => {
            fs.rmdirSync(file)
            fs.writeFileSync(file, whole.subarray(0, 1000))
          }
        ]
        for (const damage of damages) {
          damage()
          const { status, stderr, stdout } = start("config", "path")
          assert.deepStrictEqual([status, stdout], [1, ""])
          assert.match(stderr, /^hanzo-dev: the file [^\n]*; install the package again\n$/)
          assert.include(stderr, file)
          assert.strictEqual(start("--version").status, 0)
        }
        fs.writeFileSync(file, whole)
      }
    })
  })

  it("is kept of the latest versions only, in a folder in which nothing else is touched", () => {
    withCopy((run, cache) => {
      run("config", "path")
      const own = cache()
      const folder = path.dirname(own[0] ?? "")
      const old = Array.from({ length: 30 }, (_, i) => path.join(folder, `${i}.cache${i % 3 === 0 ? ".4711" : ""}`))
      for (const [i, file] of old.entries()) {
        fs.writeFileSync(file, "")
        fs.utimesSync(file, 1_000_000_000 + i, 1_000_000_000 + i)
      }
      fs.writeFileSync(path.join(folder, "notes.txt"), "")
      run("config", "path")
      assert.lengthOf(cache(), 33, "a start that writes nothing removes nothing")
      run("--no-opt", "config", "path")
      assert.lengthOf(cache(), 13)
      assert.includeMembers([...cache()], [...own, ...old.slice(-8), path.join(folder, "notes.txt")])
    })
  })

  it("of the build can be read by whoever can read the code, and written by its owner only", () => {
    const modeOf = (name: string): number => fs.statSync(path.join(path.dirname(program), name)).mode
    const caches = fs.readdirSync(path.dirname(program)).filter((name) => name.endsWith(".cache"))
    assert.lengthOf(caches, 2)
    for (const name of caches) {
      assert.strictEqual(modeOf(name) & 0o444, modeOf("commands.js") & 0o444)
      assert.strictEqual(modeOf(name) & 0o022, 0)
    }
  })

  it("is not missed when it cannot be written", () => {
    withCopy((run, cache) => {
      const expected = run("config", "path")
      const folder = path.dirname(cache()[0] ?? "")
      fs.rmSync(folder, { recursive: true })
      fs.writeFileSync(folder, "a file where the directory should be")
      assert.strictEqual(run("config", "path"), expected)
    })
  })
})
