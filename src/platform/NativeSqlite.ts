/**
 * The compiled part of `@photostructure/sqlite`, which alone is used of it, without the package's own search for it: that
 * takes longer than opening a database. Linux with glibc; anywhere else, or when it is not where this version of the
 * package has it, the package itself is asked.
 *
 * @since 0.1.0
 */
import * as fs from "node:fs"
import * as path from "node:path"

const musl = (): boolean => fs.existsSync("/etc/alpine-release")

/** What the addon exports; undefined = it is not there, or cannot be loaded. @since 0.1.0 @category constructors */
export const load = (from: string): unknown => {
  if (process.platform !== "linux" || musl()) return undefined
  const inside = path.join(
    "node_modules",
    "@photostructure",
    "sqlite",
    "prebuilds",
    `linux-${process.arch}`,
    "@photostructure+sqlite.glibc.node"
  )
  for (let at = from; path.dirname(at) !== at; at = path.dirname(at)) {
    const file = path.join(at, inside)
    if (!fs.existsSync(file)) continue
    try {
      const module = { exports: {} as unknown }
      process.dlopen(module, file)
      return module.exports
    } catch {
      return undefined
    }
  }
  return undefined
}
