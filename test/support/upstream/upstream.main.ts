/**
 * The scripted upstream as a program: prints `PORT <n>`, serves until SIGTERM or SIGINT (or, with `--stdin`, the end of stdin).
 *
 *   node upstream.js [--options JSON] [--options-file FILE] [--log FILE] [--stdin]
 *
 * `--log` is written as one JSON line a request when the program ends; `GET /__upstream/log` gives it at any time.
 */
import * as fs from "node:fs"
import type { UpstreamOptions } from "./Options.ts"
import { startUpstream } from "./Server.ts"

const argument = (name: string): string | undefined => {
  const at = process.argv.indexOf(name)
  return at < 0 ? undefined : process.argv[at + 1]
}

const main = async (): Promise<void> => {
  const file = argument("--options-file")
  const text = file === undefined ? argument("--options") ?? "{}" : fs.readFileSync(file, "utf8")
  const upstream = await startUpstream(JSON.parse(text) as UpstreamOptions)
  process.stdout.write(`PORT ${upstream.port}\n`)
  let ending = false
  const end = (): void => {
    if (ending) return
    ending = true
    const log = argument("--log")
    if (log !== undefined) fs.writeFileSync(log, upstream.log.map((entry) => JSON.stringify(entry) + "\n").join(""))
    void upstream.close().then(() => process.exit(0))
  }
  process.on("SIGTERM", end)
  process.on("SIGINT", end)
  if (process.argv.includes("--stdin")) process.stdin.on("end", end).resume()
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`)
  process.exit(2)
})
