/** Real child processes that write to a session database: the program of `writer.ts`, bundled once a test file. */
import * as esbuild from "esbuild"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const here = path.dirname(fileURLToPath(import.meta.url))
const modules = path.resolve(here, "../../node_modules")

export const temporary = (): string => fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-storage-"))

/** `driver: false` = the bundle finds no package, so that only a built-in driver is left. */
export const bundle = (folder: string, options: { readonly driver: boolean }): string => {
  const outfile = path.join(folder, "writer.mjs")
  esbuild.buildSync({
    entryPoints: [fileURLToPath(new URL("./writer.ts", import.meta.url))],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.18",
    external: ["@photostructure/sqlite", "node:sqlite"],
    logLevel: "warning"
  })
  if (options.driver) fs.symlinkSync(modules, path.join(folder, "node_modules"), "dir")
  return outfile
}

export interface Writer {
  readonly child: ChildProcess
  /** Lines so far. */
  readonly lines: ReadonlyArray<string>
  /** Resolves when the line is there; rejects when the process ends without it. */
  readonly line: (wanted: (line: string) => boolean) => Promise<string>
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>
}

export const start = (program: string, args: ReadonlyArray<string>, as_user?: number): Writer => {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    ...(as_user === undefined ? {} : { uid: as_user })
  })
  const lines: Array<string> = []
  const waiting = new Set<() => void>()
  let rest = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (data: string) => {
    const parts = (rest + data).split("\n")
    rest = parts.pop() ?? ""
    lines.push(...parts)
    for (const wake of waiting) wake()
  })
  child.stderr.setEncoding("utf8").on("data", (data: string) => stderr += data)
  let over = false
  const ended = new Promise<{ readonly code: number | null; readonly stderr: string }>((resolve) => {
    child.on("close", (code) => {
      over = true
      resolve({ code, stderr })
      for (const wake of waiting) wake()
    })
  })
  const line = (wanted: (line: string) => boolean) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const found = lines.find(wanted)
        if (found === undefined && !over) return
        waiting.delete(look)
        if (found === undefined) reject(new Error(`ended without the line: ${lines.join("|")} ${stderr}`))
        else resolve(found)
      }
      waiting.add(look)
      look()
    })
  return { child, lines, line, ended }
}
