// Builds dist/bin (the bundled command line) and dist/lib (unbundled modules with type declarations).
import * as esbuild from "esbuild"
import { spawnSync } from "node:child_process"
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bin = join(root, "dist", "bin")
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

rmSync(join(root, "dist"), { recursive: true, force: true })

await esbuild.build({
  absWorkingDir: root,
  entryPoints: { "hanzo-dev": "src/main.ts" },
  outdir: bin,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.18",
  minify: true,
  keepNames: false,
  legalComments: "none",
  chunkNames: "chunks/[name]-[hash]",
  external: ["@photostructure/sqlite", "node:sqlite"],
  // its CommonJS build loads its parts in a way that no bundler follows
  alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
  define: { __HANZO_VERSION__: JSON.stringify(version) },
  banner: { js: "import { createRequire as __cr } from \"node:module\"; const require = __cr(import.meta.url);" },
  logLevel: "warning"
})
chmodSync(join(bin, "hanzo-dev.js"), 0o755)

// The shell grammar is data beside the code (src/platform/ShellGrammar.ts looks for it here).
const { resolve } = createRequire(import.meta.url)
const grammar = join(root, "dist", "grammar")
mkdirSync(grammar)
for (const file of ["web-tree-sitter/web-tree-sitter.wasm", "tree-sitter-bash/tree-sitter-bash.wasm"]) {
  copyFileSync(resolve(file), join(grammar, basename(file)))
}

const tsc = spawnSync(process.execPath, [
  join(root, "node_modules", "typescript", "bin", "tsc"),
  "-p",
  join(root, ".ci", "tsconfig.build.json")
], {
  cwd: root,
  stdio: "inherit"
})
if (tsc.status !== 0) process.exit(tsc.status ?? 1)
if (!existsSync(join(root, "dist", "lib", "index.js"))) process.exit(1)
