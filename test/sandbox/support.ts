/** A world to break out of, and drivers that try it as root and as an ordinary user. */
import * as Effect from "effect/Effect"
import { buildSync } from "esbuild"
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import type { SandboxStatus } from "../../src/sandbox/Sandbox.ts"

export interface Request {
  /** Holds `home`, `config`, `state`, ... */
  readonly base: string
  readonly root: string
  readonly sandbox: unknown
  readonly settings?: Record<string, unknown>
  readonly methods: ReadonlyArray<string>
  readonly env?: Record<string, string>
  readonly commands: ReadonlyArray<string>
  readonly os?: string
  /** All at once. */
  readonly together?: boolean
  readonly resolve?: Record<string, ReadonlyArray<string>>
  readonly reachable?: ReadonlyArray<string>
}

export interface Answer {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly refused: string | null
  readonly timed_out?: boolean
}

export interface Reply {
  readonly status: SandboxStatus
  readonly notice: string | null
  readonly answers: ReadonlyArray<Answer>
}

/** Bundles the driver where everybody may read it. */
export const bundle = (directory: string): string => {
  const file = path.join(directory, "driver.mjs")
  buildSync({
    entryPoints: [fileURLToPath(new URL("driver.ts", import.meta.url))],
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    mainFields: ["module", "main"],
    outfile: file,
    logLevel: "error"
  })
  fs.chmodSync(file, 0o644)
  return file
}

const own = os.userInfo()

/** Root and an ordinary user where we are root; else only ourselves. */
export const users: ReadonlyArray<{ readonly name: string; readonly uid: number }> = own.uid === 0
  ? [{ name: "root", uid: 0 }, { name: "an ordinary user", uid: 65_534 }]
  : [{ name: `user ${own.uid}`, uid: own.uid }]

/** bubblewrap is a Debian package of its own; without it only util-linux can be tried. */
export const methods: ReadonlyArray<string> = spawnSync("bwrap", ["--version"]).status === 0
  ? ["bubblewrap", "unshare"]
  : ["unshare"]
if (methods.length === 1) process.stderr.write("bubblewrap is not installed (apt-get install bubblewrap): not tried\n")

/** argv that runs a program as that user. */
export const as = (uid: number, argv: ReadonlyArray<string>): readonly [string, ReadonlyArray<string>] => {
  const [program = "", ...args] = uid === own.uid
    ? argv
    : ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--", ...argv]
  return [program, args]
}

/** `extra` are files that the driver inherits as descriptors 3 and up, close-on-exec off. */
export const drive = (
  driver: string,
  uid: number,
  request: Request,
  extra: ReadonlyArray<number> = []
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const [program, args] = as(uid, [process.execPath, driver, JSON.stringify(request)])
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe", ...extra],
      cwd: "/",
      env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" }
    })
    let out = ""
    let err = ""
    child.stdout?.on("data", (chunk) => (out += String(chunk)))
    child.stderr?.on("data", (chunk) => (err += String(chunk)))
    child.once("close", (code) => {
      if (code === 0) resolve(JSON.parse(out) as Reply)
      else reject(new Error(`driver: ${code} ${err}`))
    })
  })

export interface World {
  readonly base: string
  /** The workspace. */
  readonly root: string
  /** What must stay as it is; same owner. */
  readonly outside: string
}

/** Not below /tmp: a private /tmp would hide what is to be attacked. */
export const place = (): string => fs.realpathSync(fs.mkdtempSync("/var/tmp/sandbox-test-"))

export const world = (above: string, name: string, uid: number, options: { readonly git?: boolean } = {}): World => {
  const base = path.join(above, name)
  const root = path.join(base, "work")
  const outside = path.join(base, "outside")
  for (const at of [root, outside, `${root}-evil`, path.join(base, "home", ".ssh"), path.join(base, "config")]) {
    fs.mkdirSync(at, { recursive: true })
  }
  fs.writeFileSync(path.join(base, "home", ".ssh", "id"), "SECRET")
  fs.writeFileSync(path.join(base, "home", ".netrc"), "SECRET")
  fs.writeFileSync(path.join(base, "config", "credentials.json"), "SECRET")
  if (options.git !== false) {
    spawnSync("git", ["init", "-q", root])
    fs.writeFileSync(path.join(root, ".git", "hooks", "old"), "old")
  }
  if (uid !== own.uid) spawnSync("chown", ["-R", `${uid}:${uid}`, base])
  fs.chmodSync(above, 0o755)
  return { base, root, outside }
}

/** A world of our own for checks in this process; goes with the scope. */
export const scratchWorld = Effect.acquireRelease(
  Effect.sync(() => {
    const above = place()
    return { above, ...world(above, "world", own.uid) }
  }),
  ({ above }) => Effect.sync(() => fs.rmSync(above, { recursive: true, force: true }))
)
