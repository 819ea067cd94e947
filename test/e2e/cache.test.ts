import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import { makeHome, program } from "./support.ts"

/** The program without the code cache of the build, as on a machine with another version of Node. */
const withCopy = (
  use: (run: (...args: ReadonlyArray<string>) => string, cache: () => ReadonlyArray<string>) => void
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
        const ran = spawnSync(process.execPath, [path.join(copy, "hanzo-dev.js"), ...args], {
          cwd: home.project,
          env: home.env,
          encoding: "utf8"
        })
        assert.strictEqual(ran.status, 0, ran.stderr)
        assert.strictEqual(ran.stderr, "")
        return ran.stdout
      },
      () => fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => path.join(folder, name)) : []
    )
  } finally {
    home.remove()
  }
}

describe("the code cache", () => {
  it("is made by the first start, private to the user, and used by the second", () => {
    withCopy((run, cache) => {
      const first = run("config", "path")
      const [file] = cache()
      assert.strictEqual(cache().length, 1)
      const before = fs.statSync(file ?? "")
      assert.strictEqual(before.mode & 0o777, 0o600)
      assert.strictEqual(run("config", "path"), first)
      assert.strictEqual(fs.statSync(file ?? "").ino, before.ino, "a cache that fits is left as it is")
    })
  })

  it("that is damaged, or that others could have written, is passed over", () => {
    withCopy((run, cache) => {
      const expected = run("config", "path")
      const file = cache()[0] ?? ""
      fs.writeFileSync(file, "no cache at all")
      assert.strictEqual(run("config", "path"), expected)
      fs.chmodSync(file, 0o666)
      assert.strictEqual(run("config", "path"), expected)
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600, "replaced by one of our own")
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
