/** A server that answers its first message late: `node sleepy.mjs MS [PIDFILE]`. Raw JSON lines, so that it starts fast. */
import { appendFileSync } from "node:fs"

const [late = "0", pidfile] = process.argv.slice(2)
if (pidfile !== undefined) appendFileSync(pidfile, `${process.pid}\n`)
let held = ""
const answer = (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const say = (rest) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...rest })}\n`)
  switch (method) {
    case "server/discover":
      return setTimeout(() => say({ error: { code: -32_601, message: "no" } }), Number(late))
    case "initialize":
      return say({
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "sleepy", version: "1" }
        }
      })
    case "tools/list":
      return say({ result: { tools: [{ name: "pid", inputSchema: { type: "object" } }] } })
    case "tools/call":
      return say({ result: { content: [{ type: "text", text: String(process.pid) }] } })
    default:
      return say({ error: { code: -32_601, message: "no" } })
  }
}
process.stdin.on("data", (bytes) => {
  const lines = (held + bytes).split("\n")
  held = lines.pop()
  for (const line of lines) if (line !== "") answer(line)
})
