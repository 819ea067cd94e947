// Set-up for `npm start` and `npm test` on a fresh clone: installs what is missing, builds what is stale. Node only.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 20 || (major === 20 && minor < 18)) {
  process.stderr.write(
    `hanzo-dev needs Node.js 20.18 or later, this is ${process.versions.node}. Install a newer Node.js and try again.\n`
  )
  process.exit(2)
}

const hash = (files) => {
  const sum = createHash("sha256")
  for (const file of files) sum.update(relative(root, file)).update("\0").update(readFileSync(file)).update("\0")
  return sum.digest("hex")
}

const walk = (dir) =>
  existsSync(dir)
    ? readdirSync(dir, { withFileTypes: true })
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) =>
        entry.isDirectory() ? walk(join(dir, entry.name)) : entry.isFile() ? [join(dir, entry.name)] : []
      )
    : []

const stamp = (file) => existsSync(file) ? readFileSync(file, "utf8") : ""

/** Runs a command with its output on stderr: stdout belongs to what comes after the set-up. */
export const run = (command, args, options = {}) => {
  const result = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2], ...options })
  if (result.error !== undefined) {
    process.stderr.write(`could not start ${command}: ${result.error.message}\n`)
    process.exit(1)
  }
  if (result.status !== 0) {
    process.stderr.write(`${command} ${args.join(" ")} failed (exit ${result.status ?? result.signal})\n`)
    process.exit(result.status ?? 1)
  }
}

export const install = () => {
  const wanted = hash([join(root, "package-lock.json")])
  const file = join(root, "node_modules", ".hanzo-installed")
  if (stamp(file) === wanted) return
  process.stderr.write("installing dependencies (npm ci --ignore-scripts) ...\n")
  const npm = process.env.npm_execpath
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
  if (npm !== undefined && npm.endsWith(".js")) run(process.execPath, [npm, ...args])
  else run("npm", args, { shell: process.platform === "win32" })
  writeFileSync(file, wanted)
}

export const build = () => {
  const wanted = hash([
    join(root, "package.json"),
    join(root, "package-lock.json"),
    join(root, "tsconfig.json"),
    ...walk(join(root, "src")),
    ...walk(join(root, ".ci")),
    ...walk(join(root, "test-vectors"))
  ])
  const file = join(root, "dist", ".built")
  if (stamp(file) === wanted) return
  process.stderr.write("building ...\n")
  run(process.execPath, [join(root, ".ci", "build.mjs")])
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, wanted)
}

export const prepare = () => {
  install()
  build()
}
