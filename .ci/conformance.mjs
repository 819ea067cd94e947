// `node .ci/conformance.mjs`: installs the MCP conformance suites into a folder of their own, where the tests find them
// (.cache/mcp-conformance, or $MCP_CONFORMANCE_DIR). They are no dependencies of this package: one needs a newer Node than
// the package does, and brings it along.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = process.env.MCP_CONFORMANCE_DIR || join(root, ".cache", "mcp-conformance")

const suites = {
  "0.1.13": ["@modelcontextprotocol/conformance@0.1.13"],
  "0.2.0-alpha.12": ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22"]
}

for (const [version, packages] of Object.entries(suites)) {
  const place = join(folder, version)
  const done = join(place, "installed")
  if (existsSync(done)) continue
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, "package.json"), "{\"private\": true}\n")
  // The package `node` fetches its binary as a package too, in an install script.
  const npm = spawnSync(
    "npm",
    ["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts=false", "--prefix", place, ...packages],
    { cwd: place, stdio: ["ignore", "ignore", "pipe"], encoding: "utf8", shell: process.platform === "win32" }
  )
  if (npm.status !== 0) {
    process.stderr.write(`could not install ${packages.join(" and ")}: ${npm.stderr ?? npm.error}\n`)
    process.exitCode = 1
    continue
  }
  writeFileSync(done, `${packages.join(" ")}\n`)
}
