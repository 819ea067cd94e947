// `npm run bench [NAME...]`: measures, prints a table, writes bench/results/NAME.json. Peers that are not there are skipped, and it says so.
import * as esbuild from "esbuild"
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { arch, cpus, platform, totalmem } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { prepare, root } from "./prepare.mjs"

prepare()
const chosen = process.argv.slice(2)
const names = readdirSync(join(root, "bench"))
  .filter((file) => file.endsWith(".ts") && file !== "Bench.ts" && !file.startsWith("_"))
  .map((file) => file.slice(0, -3))
  .filter((name) => chosen.length === 0 || chosen.includes(name))
  // First: starting a process takes the longer the more memory this one has taken, and that would flatter the ratios.
  .sort((a, b) => Number(b === "process") - Number(a === "process"))
const out = join(root, ".cache", "bench")
rmSync(out, { recursive: true, force: true })
await esbuild.build({
  absWorkingDir: root,
  entryPoints: names.map((name) => `bench/${name}.ts`),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.18",
  minify: true,
  external: ["@photostructure/sqlite", "node:sqlite", "linkedom", "turndown", "@mozilla/readability"],
  alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
  define: { __HANZO_VERSION__: "\"bench\"" },
  banner: { js: "import { createRequire as __cr } from \"node:module\"; const require = __cr(import.meta.url);" },
  logLevel: "warning"
})

const target = (t) => "at_least" in t ? `>= ${t.at_least}` : `<= ${t.at_most}`
let missed = 0
for (const name of names) {
  const { run } = await import(pathToFileURL(join(out, `${name}.mjs`)).href)
  const results = await run({ root, skip: (what) => process.stdout.write(`  skipped: ${what}\n`) })
  process.stdout.write(`${name}\n`)
  for (const r of results) {
    if (!r.ok) missed++
    process.stdout.write(
      `  ${r.ok ? "ok  " : "MISS"} ${r.name.padEnd(64)} ${String(r.value).padStart(10)} ${r.unit.padEnd(6)} (${
        target(r.target)
      })${r.peer === undefined ? "" : `  vs ${r.peer}`}\n`
    )
  }
  mkdirSync(join(root, "bench", "results"), { recursive: true })
  const machine = {
    node: process.versions.node,
    platform: platform(),
    arch: arch(),
    cpus: cpus().length,
    memory_gib: Math.round(totalmem() / 2 ** 30)
  }
  writeFileSync(
    join(root, "bench", "results", `${name}.json`),
    JSON.stringify({ name, machine, results }, null, 2) + "\n"
  )
}
process.exit(missed === 0 ? 0 : 1)
