/** The package as its user sees it: installed, compiled against with another compiler, run. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..")
const manifest = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as {
  readonly exports: Record<string, { readonly types: string; readonly default: string } | string>
}

let dir = ""
const run = (command: string, args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  spawnSync(command, args, { cwd: dir, encoding: "utf8", env: { ...process.env, HOME: dir, ...env } })

beforeAll(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-consumer-"))
  const modules = path.join(dir, "node_modules")
  fs.mkdirSync(path.join(modules, "@hanzo"), { recursive: true })
  fs.symlinkSync(root, path.join(modules, "@hanzo", "dev"))
  for (const name of ["effect", "@types"]) {
    fs.symlinkSync(path.join(root, "node_modules", name), path.join(modules, name))
  }
  fs.writeFileSync(path.join(dir, "package.json"), JSON.stringify({ type: "module" }))
  for (const file of fs.readdirSync(path.join(root, "examples"))) {
    if (file.endsWith(".ts")) fs.copyFileSync(path.join(root, "examples", file), path.join(dir, file))
  }
  fs.writeFileSync(
    path.join(dir, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        exactOptionalPropertyTypes: true,
        module: "NodeNext",
        target: "ES2022",
        types: ["node"],
        skipLibCheck: false,
        noEmitOnError: true,
        outDir: "out"
      },
      include: ["*.ts"]
    })
  )
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

describe("the library", () => {
  it("README shows examples/embed.ts as it stands", () => {
    const readme = fs.readFileSync(path.join(root, "README.md"), "utf8")
    const example = fs.readFileSync(path.join(root, "examples", "embed.ts"), "utf8")
    assert.include(readme, example.slice(example.indexOf("import")).trim())
  })

  it("the example compiles with TypeScript 5 and runs", { timeout: 120_000 }, () => {
    const compiled = run(process.execPath, [path.join(root, "node_modules/typescript-5/bin/tsc"), "-p", "."])
    assert.strictEqual(compiled.status, 0, compiled.stdout)
    const ran = run(process.execPath, ["out/embed.js", "say this back"], {
      HANZO_MODEL: "scripted/echo",
      HANZO_CONFIG_HOME: path.join(dir, "config"),
      HANZO_DATA_HOME: path.join(dir, "data")
    })
    assert.strictEqual(ran.status, 0, ran.stderr)
    assert.strictEqual(ran.stdout, "say this back")
  })

  it("every entry can be imported, exports something, and does nothing by itself", () => {
    const entries = Object.entries(manifest.exports).filter(([, target]) => typeof target !== "string").map(([name]) =>
      name
    )
    assert.isAbove(entries.length, 5)
    for (const entry of entries) {
      const before = fs.readdirSync(dir).sort()
      const specifier = entry === "." ? "@hanzo/dev" : `@hanzo/dev${entry.slice(1)}`
      const code = `const m = await import(${
        JSON.stringify(specifier)
      }); process.stdout.write(String(Object.keys(m).length))`
      const imported = run(process.execPath, ["--input-type=module", "-e", code])
      assert.strictEqual(imported.status, 0, `${entry}: ${imported.stderr}`)
      assert.strictEqual(imported.stderr, "", entry)
      assert.isAbove(Number(imported.stdout), 0, entry)
      assert.deepStrictEqual(fs.readdirSync(dir).sort(), before, `${entry} wrote something`)
    }
  })
})
