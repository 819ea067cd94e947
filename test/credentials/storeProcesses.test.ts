import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { bundleProgram, folder } from "../support/program.ts"
import { startTokenServer, type TokenServer } from "../support/tokenServer.ts"

const root = folder()
let program = ""
beforeAll(() => {
  program = bundleProgram(new URL("../support/storeClient.ts", import.meta.url), root)
})
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

let server: TokenServer
let config = ""
let file = ""
let count = 0
beforeEach(async () => {
  server = await startTokenServer({ delay_ms: 150 })
  config = path.join(root, `h${++count}`)
  file = path.join(config, "credentials.json")
  fs.mkdirSync(config, { mode: 0o700 })
  write({ access_token: "access-0", refresh_token: "refresh-0", expires_at: 1 })
})
afterEach(() => server.close())

const write = (login: object) =>
  fs.writeFileSync(file, JSON.stringify({ other: { access_token: "o" }, anthropic: login }), { mode: 0o600 })

const stored = () => JSON.parse(fs.readFileSync(file, "utf8")).anthropic

interface Ended {
  readonly lines: ReadonlyArray<string>
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
}

/** Started and waiting; `go` lets it ask. */
const client = (
  options: { readonly mode?: string; readonly as_user?: number; readonly command?: ReadonlyArray<string> } = {}
) => {
  const argv = [...options.command ?? [], process.execPath, program, server.url, options.mode ?? ""]
  const child = spawn(argv[0] ?? "", argv.slice(1), {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], HOME: root, HANZO_CONFIG_HOME: config },
    ...(options.as_user === undefined ? {} : { uid: options.as_user, gid: options.as_user })
  })
  let stdout = ""
  let stderr = ""
  let isReady = (): void => {}
  const ready = new Promise<void>((resolve) => isReady = resolve)
  child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text)
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text
    if (stdout.startsWith("ready\n")) isReady()
  })
  const ended = new Promise<Ended>((resolve) =>
    child.on("close", (code, signal) => {
      isReady()
      resolve({ code, signal, stderr, lines: stdout.split("\n").slice(1, -1) })
    })
  )
  return { ready, ended, go: () => void child.stdin.end() }
}

const ask = async (options: Parameters<typeof client>[0] = {}): Promise<Ended> => {
  const one = client(options)
  await one.ready
  one.go()
  return one.ended
}

describe("real processes", () => {
  it("6.8: 20 at the same moment after expiry: one refresh, everybody has the token, the family lives", async () => {
    const all = Array.from({ length: 20 }, () => client())
    await Promise.all(all.map(({ ready }) => ready))
    for (const { go } of all) go()
    for (const { code, lines, stderr } of await Promise.all(all.map(({ ended }) => ended))) {
      assert.deepStrictEqual({ code, lines, stderr }, { code: 0, lines: ["key access-1", "resource 200"], stderr: "" })
    }
    assert.deepStrictEqual(server.refreshes, ["refresh-0"])
    assert.isFalse(server.reused())
    assert.deepStrictEqual([stored().access_token, stored().refresh_token], ["access-1", "refresh-1"])
    assert.closeTo(stored().expires_at, Date.now() / 1000 + 3600, 60)
    assert.deepStrictEqual(fs.readdirSync(config), ["credentials.json"])
    assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
    // and again, with the token that was rotated
    write({ ...stored(), expires_at: 1 })
    assert.deepStrictEqual((await ask()).lines, ["key access-2", "resource 200"])
    assert.isFalse(server.reused())
  })

  it("6.9: kill -9 between the answer and the rename: the old file is whole, nobody is blocked", async () => {
    const before = fs.readFileSync(file, "utf8")
    const killed = await ask({ mode: "kill" })
    assert.strictEqual(killed.signal, "SIGKILL")
    assert.deepStrictEqual(server.refreshes, ["refresh-0"])
    assert.strictEqual(fs.readFileSync(file, "utf8"), before)
    for (const name of fs.readdirSync(config)) {
      assert.strictEqual(fs.statSync(path.join(config, name)).mode & 0o077, 0, name)
    }
    // what was lost with it cannot be had again: that is said, and a new login is all it takes
    const [said = ""] = (await ask()).lines
    assert.deepStrictEqual(JSON.parse(said).reason, "needs_login")
    assert.notInclude(said, "refresh-0")
    assert.strictEqual(fs.readFileSync(file, "utf8"), before)
    write({ access_token: "access-1", expires_at: null })
    assert.strictEqual((await ask()).lines[0], "key access-1")
  })

  it("6.10: a directory that cannot be written: no refresh token is used up", async () => {
    const own = process.getuid?.() === 0
    fs.chmodSync(root, 0o755)
    if (own) {
      fs.chownSync(config, 65_534, 65_534)
      fs.chownSync(file, 65_534, 65_534)
    }
    fs.chmodSync(config, 0o500)
    const [said = ""] = (await ask(own ? { as_user: 65_534 } : {})).lines
    fs.chmodSync(config, 0o700)
    assert.strictEqual(JSON.parse(said).reason, "unwritable")
    assert.include(said, `${file}.lock`)
    assert.deepStrictEqual(server.refreshes, [])
    assert.strictEqual(stored().access_token, "access-0")
  })

  /** A file system of a few pages in a namespace of its own; some systems do not let a user make one. */
  const small = (
    script: string
  ) => ["unshare", "-rm", "sh", "-c", `mount -t tmpfs -o size=32k none "${config}" && ${script}`, "sh"]
  const mounts = spawnSync("unshare", ["-rm", "sh", "-c", "mount -t tmpfs -o size=32k none /mnt"]).status === 0

  it.runIf(mounts)("a full disk: no refresh token is used up, the old file is whole", async () => {
    const before = fs.readFileSync(file, "utf8")
    const keep = path.join(root, "keep.json")
    fs.copyFileSync(file, keep)
    const fill = `cp "${keep}" "${file}" && chmod 600 "${file}" && { head -c 100000 /dev/zero > "${config}/fill"; ` +
      `"$@"; cp "${file}" "${keep}"; }`
    const { lines } = await ask({ command: small(fill) })
    assert.strictEqual(JSON.parse(lines[0] ?? "").reason, "unwritable")
    assert.match(lines[0] ?? "", /no space left/u)
    assert.deepStrictEqual(server.refreshes, [])
    assert.strictEqual(fs.readFileSync(keep, "utf8"), before)
  })
})
