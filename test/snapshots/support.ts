/** Real trees with a data directory of their own. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Config } from "../../src/config/Config.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { Snapshots } from "../../src/snapshots/Snapshots.ts"

export interface Place {
  readonly base: string
  readonly root: string
  readonly vars: Record<string, string>
  readonly at: (name: string) => string
  readonly write: (name: string, content: string | Uint8Array, mode?: number) => void
  readonly read: (name: string) => string
  readonly there: (name: string) => boolean
  readonly sh: (line: string, cwd?: string) => string
  readonly layer: (settings?: object, vars?: Record<string, string>, data?: string) => Layer.Layer<Snapshots>
}

export const place = Effect.acquireRelease(
  Effect.sync((): Place => {
    const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-snapshots-")))
    const root = path.join(base, "project")
    for (const folder of [root, path.join(base, "home")]) fs.mkdirSync(folder)
    const vars: Record<string, string> = {
      PATH: process.env["PATH"] ?? "/usr/bin:/bin",
      HOME: path.join(base, "home"),
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_AUTHOR_NAME: "a",
      GIT_AUTHOR_EMAIL: "a@example",
      GIT_COMMITTER_NAME: "a",
      GIT_COMMITTER_EMAIL: "a@example"
    }
    const at = (name: string) => path.join(root, name)
    return {
      base,
      root,
      vars,
      at,
      write: (name, content, mode) => {
        fs.mkdirSync(path.dirname(at(name)), { recursive: true })
        fs.writeFileSync(at(name), content)
        if (mode !== undefined) fs.chmodSync(at(name), mode)
      },
      read: (name) => fs.readFileSync(at(name), "utf8"),
      there: (name) => fs.lstatSync(at(name), { throwIfNoEntry: false }) !== undefined,
      sh: (line, cwd = root) => execFileSync("sh", ["-c", line], { cwd, env: vars, encoding: "utf8", stdio: "pipe" }),
      layer: (settings = {}, more = {}, data = base) =>
        Snapshots.layer.pipe(Layer.provide(Layer.mergeAll(
          Layer.succeed(Workspace, { root, cwd: root }),
          Dirs.layerTest(data),
          Environment.layerTest({ cwd: root, home: path.join(base, "home"), vars: { ...vars, ...more } }),
          Processes.layer,
          Layer.orDie(Config.layerText(JSON.stringify(settings)))
        )))
    }
  }),
  ({ base }) => Effect.sync(() => execFileSync("sh", ["-c", `chmod -R u+rwX "$0"; rm -rf "$0"`, base]))
)

/** Everything below a directory but `.git` folders: kind, mode and content. */
export const picture = (root: string, skip: (name: string) => boolean = () => false): Record<string, string> => {
  const out: Record<string, string> = {}
  const walk = (directory: Buffer, name: string): void => {
    for (const entry of fs.readdirSync(directory, { encoding: "buffer" }).sort(Buffer.compare)) {
      const one = `${name}${entry.toString("latin1")}`
      if (entry.toString("latin1") === ".git" || skip(one)) continue
      const at = Buffer.concat([directory, Buffer.from("/"), entry])
      const stat = fs.lstatSync(at)
      const mode = (stat.mode & 0o7777).toString(8)
      if (stat.isSymbolicLink()) out[one] = `link ${fs.readlinkSync(at, { encoding: "buffer" }).toString("latin1")}`
      else if (stat.isDirectory()) {
        out[one] = `directory ${mode}`
        walk(at, `${one}/`)
      } else if (stat.isFile()) out[one] = `file ${mode} ${fs.readFileSync(at).toString("base64")}`
    }
  }
  walk(Buffer.from(root), "")
  return out
}
