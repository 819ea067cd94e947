// `node test/conformance/client.mjs URL`: bundles client.ts when it or what it is made of has changed, and runs it.
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { setTimeout as wait } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import vm from "node:vm"

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(dirname(here))
const cache = join(root, ".cache", "conformance-client")
const outfile = join(cache, "client.cjs")
const madeOf = join(cache, "client.json")
/** What V8 has compiled of it, for the starts that follow. */
const compiled = join(cache, "client.v8")
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
  const draft = join(cache, `draft-${process.pid}.cjs`)
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [join(here, "client.ts")],
    outfile: draft,
    bundle: true,
    minify: true,
    format: "cjs",
    platform: "node",
    target: "node20.18",
    supported: { "dynamic-import": false },
    alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
    external: ["@photostructure/sqlite", "node:sqlite"],
    metafile: true,
    logLevel: "warning"
  })
  const files = Object.keys(metafile.inputs).filter((file) => !file.includes("node_modules"))
  rmSync(compiled, { force: true })
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

/** Scenarios are many short processes that share few cores: a start should cost little. */
const start = () => {
  const cachedData = existsSync(compiled) ? readFileSync(compiled) : undefined
  const script = new vm.Script(`(function (require, module, exports) {${readFileSync(outfile, "utf8")}\n})`, {
    filename: outfile,
    ...(cachedData === undefined ? {} : { cachedData })
  })
  if (cachedData === undefined || script.cachedDataRejected) {
    process.once("exit", () => {
      const draft = join(cache, `draft-${process.pid}.v8`)
      writeFileSync(draft, script.createCachedData())
      renameSync(draft, compiled)
    })
  }
  const module = { exports: {} }
  script.runInThisContext()(createRequire(outfile), module, module.exports)
}
if (process.argv[2] !== undefined) start()
