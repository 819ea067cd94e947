/**
 * The official conformance suites against our client, with nothing that is expected to fail. They stand in a folder of
 * their own (`node .ci/conformance.mjs` installs them); where they do not, the test says so and is skipped.
 */
import { assert, describe, it } from "vitest"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..")
const folder = process.env["MCP_CONFORMANCE_DIR"] ?? path.join(root, ".cache", "mcp-conformance")
const { mcpConformanceClient } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as {
  readonly mcpConformanceClient: string
}

interface Run {
  readonly exit_code: number
  /** By scenario, those that count. */
  readonly passed: ReadonlyMap<string, number>
  readonly failed: ReadonlyArray<string>
  /** Scenarios that the suite runs and does not count, with its reason. */
  readonly unscored: ReadonlyArray<{ readonly scenario: string; readonly reason: string; readonly ok: boolean }>
  readonly text: string
}

/** A scenario alone takes a second; all of them at once on a busy machine take longer. */
const scenarioMillis = 60_000

/** The client's command is relative to the project; suites split it at blanks. */
const command = mcpConformanceClient.replace("test/conformance", path.join(root, "test/conformance"))

const run = (version: string, node: string, args: ReadonlyArray<string>): Promise<Run> => {
  const suite = path.join(folder, version, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
  const cwd = fs.mkdtempSync(path.join(os.tmpdir(), "conformance-"))
  return new Promise((resolve) =>
    execFile(
      node,
      [suite, "client", "--command", command, "--timeout", String(scenarioMillis), ...args],
      { cwd, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        fs.rmSync(cwd, { recursive: true, force: true })
        const text = `${stdout}\n${stderr}`
        const uncounted = new Set([...text.matchAll(/^ {2}[✓✗] (\S+) \(/gmu)].map(([, name]) => name))
        const lines = [...text.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gmu)]
          .filter(([, , name]) => !uncounted.has(name))
        resolve({
          exit_code: typeof error?.code === "number" ? error.code : error === null ? 0 : 1,
          passed: new Map(lines.map(([, , name = "", count]) => [name, Number(count)])),
          unscored: [...text.matchAll(/^ {2}([✓✗]) (\S+) \(([^)]*)\)/gmu)].map((
            [, mark, scenario = "", reason = ""]
          ) => ({ scenario, reason, ok: mark === "✓" })),
          failed: lines.filter(([, mark, , , count]) => mark !== "✓" || count !== "0").map(([, , name = ""]) => name),
          text
        })
      }
    )
  )
}

const missing = (version: string): string | null =>
  fs.existsSync(path.join(folder, version, "node_modules/@modelcontextprotocol/conformance/dist/index.js"))
    ? null
    : `@modelcontextprotocol/conformance ${version} is not in ${folder}; node .ci/conformance.mjs installs it`

const told = (version: string, ...more: ReadonlyArray<string>): boolean => {
  const why = missing(version) ?? more.find((file) => !fs.existsSync(file)) ?? null
  if (why !== null) process.stderr.write(`skipped: ${why}\n`)
  return why !== null
}

const newer = "0.2.0-alpha.12"
const node22 = path.join(folder, newer, "node_modules", "node", "bin", "node")

const grantsAndBindings = [
  "auth/client-credentials-jwt",
  "auth/client-credentials-basic",
  "auth/enterprise-managed-authorization",
  "auth/dpop",
  "auth/dpop-nonce",
  "auth/wif-jwt-bearer"
]

/** Scenarios run side by side and watch the clock: what failed then is asked again alone, and counts then. */
const alone = async (
  version: string,
  node: string,
  failed: ReadonlyArray<string>,
  more: ReadonlyArray<string>
): Promise<ReadonlyArray<string>> => {
  const still: Array<string> = []
  for (const scenario of failed) {
    const { exit_code, text } = await run(version, node, ["--scenario", scenario, ...more])
    // What is asked of a revision that has it not is left out, and no failure to the suite.
    if (exit_code !== 0 || text.includes("SKIPPED")) still.push(`${scenario}\n${text}`)
  }
  return still
}

describe("conformance of the MCP client", () => {
  it.skipIf(told("0.1.13"))("suite 0.1.13, core: all 19 scenarios, at least the checks of a full client", async () => {
    const { exit_code, failed, passed, text } = await run("0.1.13", process.execPath, ["--suite", "core"])
    assert.deepStrictEqual(await alone("0.1.13", process.execPath, failed, []), [])
    assert.strictEqual(passed.size, 19, text)
    if (failed.length > 0) return
    assert.isAtLeast([...passed.values()].reduce((sum, count) => sum + count, 0), 226)
    assert.strictEqual(exit_code, 0, text)
  }, 180_000)

  for (const [revision, scenarios] of [["2025-11-25", 18], ["2026-07-28", 32]] as const) {
    it.skipIf(told(newer, node22))(`suite ${newer}, what ${revision} requires: ${scenarios} scenarios`, async () => {
      const { exit_code, failed, passed, text, unscored } = await run(newer, node22, ["--requirements", revision])
      assert.deepStrictEqual(await alone(newer, node22, failed, ["--spec-version", revision]), [])
      assert.strictEqual(passed.size, scenarios, text)
      // What the suite does not count counts here. Extensions belong to no revision: they are asked without one.
      const broken = (extension: boolean) =>
        unscored.filter(({ ok, reason }) => !ok && (reason === "extension") === extension)
          .map(({ scenario }) => scenario)
      assert.deepStrictEqual(await alone(newer, node22, broken(false), ["--spec-version", revision]), [])
      assert.deepStrictEqual(await alone(newer, node22, broken(true), []), [])
      const extensions = unscored.filter(({ reason }) => reason === "extension").map(({ scenario }) => scenario)
      assert.includeMembers(extensions, grantsAndBindings, text)
      if (failed.length === 0) assert.strictEqual(exit_code, 0, text)
    }, 240_000)
  }
})
