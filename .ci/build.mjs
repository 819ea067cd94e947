// Builds dist/bin (the bundled command line) and dist/lib (unbundled modules with type declarations).
import * as esbuild from "esbuild"
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { builtins } from "./builtins.mjs"
import { warmUp } from "./warm-up.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

// Everything is made beside `dist` and put in its place at the end: a failed build leaves the old one whole.
const stage = join(root, ".cache", `dist-${process.pid}`)
const bin = join(stage, "bin")
rmSync(stage, { recursive: true, force: true })
mkdirSync(bin, { recursive: true })

/** @type {esbuild.BuildOptions} */
const bundle = {
  absWorkingDir: root,
  outdir: bin,
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node20.18",
  minify: true,
  charset: "ascii",
  legalComments: "none",
  // Loaded by a few commands, or at all only on some versions of Node: they stay packages of their own.
  external: ["@photostructure/sqlite", "node:sqlite", "linkedom", "turndown", "@mozilla/readability"],
  // Its other build is for ES modules only.
  alias: {
    "web-tree-sitter": join(root, "node_modules", "web-tree-sitter", "web-tree-sitter.cjs")
  },
  supported: { "dynamic-import": false },
  plugins: [builtins],
  logLevel: "warning"
}
const define = { __HANZO_VERSION__: JSON.stringify(version) }
// A function of what src/platform/CompiledModule.ts gives it.
const parameters = "(function (exports, require, module, __filename, __dirname, performance) {"
const moduleUrl = "const __module_url = require(\"node:url\").pathToFileURL(__filename).href;"
const tsc = spawnSync(process.execPath, [
  join(root, "node_modules", "typescript", "bin", "tsc"),
  "-p",
  join(root, ".ci", "tsconfig.build.json"),
  "--outDir",
  join(stage, "lib")
], {
  cwd: root,
  stdio: "inherit"
})
if (tsc.status !== 0) process.exit(tsc.status ?? 1)
if (!existsSync(join(stage, "lib", "index.js"))) process.exit(1)

const schemas = spawnSync(process.execPath, [join(root, ".ci", "input-schemas.mjs"), join(stage, "lib")], {
  cwd: root,
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"]
})
if (schemas.status !== 0) process.exit(schemas.status ?? 1)

await Promise.all([
  esbuild.build({
    ...bundle,
    entryPoints: { "hanzo-dev": "src/main.ts" },
    external: [...bundle.external, "./cli/Front.ts", "./cli/Main.ts"],
    define: { ...define, __HANZO_FRONT__: "\"front.js\"", __HANZO_COMMANDS__: "\"commands.js\"" }
  }),
  esbuild.build({
    ...bundle,
    banner: { js: parameters },
    footer: { js: "})" },
    entryPoints: { front: "src/cli/Front.ts" },
    external: [...bundle.external, "./Main.ts"],
    define
  }),
  esbuild.build({
    ...bundle,
    banner: { js: `${parameters}${moduleUrl}` },
    footer: { js: "})" },
    entryPoints: { commands: "src/cli/Main.ts" },
    define: {
      ...define,
      __HANZO_INPUT_SCHEMAS__: schemas.stdout,
      "import.meta.url": "__module_url",
      "import.meta.dirname": "__dirname"
    }
  })
])
// They are read one byte a character. esbuild escapes what is not ASCII in texts, not in regular expressions.
for (const file of ["hanzo-dev.js", "front.js", "commands.js"]) {
  const found = /.{0,40}[^\0-\x7f].{0,20}/.exec(readFileSync(join(bin, file), "utf8"))
  if (found === null) continue
  process.stderr.write(`${file} is not ASCII: write the character as an escape in ${found[0]}\n`)
  process.exit(1)
}
// The package is ES modules; these are scripts, which start faster.
writeFileSync(join(bin, "package.json"), "{ \"type\": \"commonjs\" }\n")
chmodSync(join(bin, "hanzo-dev.js"), 0o755)

// The shell grammar is data beside the code (src/platform/ShellGrammar.ts looks for it here).
const { resolve } = createRequire(import.meta.url)
const grammar = join(stage, "grammar")
mkdirSync(grammar)
for (const file of ["web-tree-sitter/web-tree-sitter.wasm", "tree-sitter-bash/tree-sitter-bash.wasm"]) {
  copyFileSync(resolve(file), join(grammar, basename(file)))
}

rmSync(join(root, "dist"), { recursive: true, force: true })
renameSync(stage, join(root, "dist"))
await warmUp(join(root, "dist", "bin", "hanzo-dev.js"))
