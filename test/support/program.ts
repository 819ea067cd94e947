/** Real processes for tests: a TypeScript program of the test folder, bundled once a test file. */
import * as esbuild from "esbuild"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

export const folder = (): string => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-program-")))

/** The program as one file that any node runs; gives its path. */
export const bundleProgram = (entry: URL, into: string): string => {
  const outfile = path.join(into, `${path.basename(entry.pathname, ".ts")}.cjs`)
  esbuild.buildSync({
    entryPoints: [entry.pathname],
    outfile,
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20.18",
    alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
    logLevel: "error"
  })
  return outfile
}
