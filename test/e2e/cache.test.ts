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

  it("that is damaged, or that others could have written, is passed over", () => {
    withCopy((run, cache) => {
      const expected = run("config", "path")
      for (const file of cache()) {
        fs.writeFileSync(file, "no cache at all")
        assert.strictEqual(run("config", "path"), expected)
        assert.isAbove(fs.statSync(file).size, 10_000, "made anew")
        fs.chmodSync(file, 0o666)
        assert.strictEqual(run("config", "path"), expected)
        assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600, "replaced by one of our own")
      }
    })
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
