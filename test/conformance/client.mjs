// `node test/conformance/client.mjs URL`: bundles client.ts when it or what it is made of has changed, and runs it.
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as wait } from "node:timers/promises"
import { fileURLToPath, pathToFileURL } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(dirname(here))
const cache = join(root, ".cache", "conformance-client")
const outfile = join(cache, "client.mjs")
const madeOf = join(cache, "client.json")
const lock = join(cache, "building")
const patienceMillis = 20_000

const stampOf = (files) => {
  const stamp = createHash("sha256")
  for (const file of files) {
    const { mtimeMs, size } = statSync(join(root, file), { throwIfNoEntry: false }) ?? {}
    stamp.update(`${file} ${mtimeMs} ${size}\n`)
  }
  return stamp.digest("hex")
}

const isFresh = () => {
  if (!existsSync(outfile) || !existsSync(madeOf)) return false
  try {
    const { files, stamp } = JSON.parse(readFileSync(madeOf, "utf8"))
    return stampOf(files) === stamp
  } catch {
    return false
  }
}

const build = async () => {
  const esbuild = await import("esbuild")
  const draft = join(cache, `draft-${process.pid}.mjs`)
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [join(here, "client.ts")],
    outfile: draft,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node20.18",
    banner: { js: "import { createRequire as __r } from \"node:module\"; const require = __r(import.meta.url);" },
    alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
    external: ["@photostructure/sqlite", "node:sqlite"],
    metafile: true,
    logLevel: "warning"
  })
  const files = Object.keys(metafile.inputs).filter((file) => !file.includes("node_modules"))
  renameSync(draft, outfile)
  writeFileSync(madeOf, JSON.stringify({ files, stamp: stampOf(files) }))
}

mkdirSync(cache, { recursive: true })
const began = Date.now()
while (!isFresh()) {
  // Scenarios run side by side: the first one builds, the others wait for it, but not for ever.
  try {
    mkdirSync(lock)
  } catch {
    if (Date.now() - began > patienceMillis) rmSync(lock, { recursive: true, force: true })
    else await wait(50)
    continue
  }
  try {
    await build()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
  break
}
if (process.argv[2] !== undefined) await import(pathToFileURL(outfile).href)
