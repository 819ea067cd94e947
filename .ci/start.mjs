// `npm start`: sets up and runs the main job. With a provider configured and a terminal, the conversation; else the demo.
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { prepare, root } from "./prepare.mjs"

prepare()
const result = spawnSync(process.execPath, [
  join(root, "dist", "bin", "hanzo-dev.js"),
  "start",
  ...process.argv.slice(2)
], {
  stdio: "inherit",
  cwd: process.env.INIT_CWD ?? process.cwd()
})
process.exit(result.status ?? 1)
