// Runs the built program once, so that V8's code cache holds the functions that a usual start needs.
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"

const sse = (...chunks) => [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), "data: [DONE]\n\n"].join("")
const choice = (delta, finish_reason = null) => ({ id: "w", model: "w", choices: [{ index: 0, delta, finish_reason }] })
const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }
const textTurn = sse(choice({ role: "assistant", content: "ok" }), choice({}, "stop"), usage)
const call = (command) => ({
  index: 0,
  id: "w1",
  type: "function",
  function: { name: "bash", arguments: JSON.stringify({ command }) }
})
const toolTurn = sse(choice({ role: "assistant", tool_calls: [call("echo warm")] }), choice({}, "tool_calls"), usage)

/**
 * One command and an answer, what nearly every run does: whatever is in the cache is read by every start, and what is not
 * is compiled in a moment by those that need it. Failing is no failure of the build.
 */
export const warmUp = async (program) => {
  const home = mkdtempSync(join(tmpdir(), "hanzo-build-"))
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (text) => {
      body += text
    }).on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.end(body.includes("\"tool_call_id\"") ? textTurn : toolTurn)
    })
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  const dir = (name) => join(home, name)
  for (const name of ["config", "project"]) mkdirSync(dir(name))
  writeFileSync(
    join(dir("config"), "settings.json"),
    JSON.stringify({
      model: "warm/up",
      // who has servers keeps some of them for another day
      mcp_servers: {
        program: { command: ["warm"], disabled: true },
        address: { url: "http://warm/", disabled: true }
      },
      providers: { warm: { protocol: "chat", base_url: `http://127.0.0.1:${server.address().port}/v1` } }
    })
  )
  const run = () =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, [
        program,
        "run",
        "--allow",
        "bash",
        "--output-format",
        "stream-json",
        "warm up"
      ], {
        cwd: dir("project"),
        stdio: ["ignore", "pipe", "ignore"],
        env: {
          PATH: process.env.PATH ?? "",
          HOME: home,
          HANZO_CONFIG_HOME: dir("config"),
          HANZO_DATA_HOME: dir("data"),
          HANZO_STATE_HOME: dir("state"),
          HANZO_CACHE_HOME: dir("cache"),
          HANZO_CODE_CACHE: "build"
        }
      })
      child.stdout.resume()
      const limit = setTimeout(() => child.kill("SIGKILL"), 20_000)
      child.on("error", resolve)
      child.on("close", (code) => {
        clearTimeout(limit)
        resolve(code)
      })
    })
  const code = await run()
  server.close()
  server.closeAllConnections()
  rmSync(home, { recursive: true, force: true })
  if (code !== 0) process.stderr.write(`the program was built, but its trial run ended with ${code}\n`)
}
