// `node test/conformance/client.mjs URL`: bundles client.ts when it or what it is made of has changed, and runs it.
import * as esbuild from "esbuild"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(dirname(here))

const stamp = createHash("sha256")
for (const folder of [here, join(root, "src")]) {
  for (const name of readdirSync(folder, { recursive: true }).map(String).toSorted()) {
    if (!name.endsWith(".ts")) continue
    const { mtimeMs, size } = statSync(join(folder, name))
    stamp.update(`${name} ${mtimeMs} ${size}\n`)
  }
}
const cache = join(root, ".cache", "conformance-client")
const outfile = join(cache, `${stamp.digest("hex").slice(0, 16)}.mjs`)

if (!existsSync(outfile)) {
  mkdirSync(cache, { recursive: true })
  // Scenarios run side by side: each makes a file of its own and puts it in place whole.
  const draft = join(cache, `draft-${process.pid}.mjs`)
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: [join(here, "client.ts")],
    outfile: draft,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.18",
    packages: "external",
    logLevel: "warning"
  })
  renameSync(draft, outfile)
}
await import(pathToFileURL(outfile).href)
